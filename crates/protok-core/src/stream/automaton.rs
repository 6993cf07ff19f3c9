//! Many strings at once: the automaton of A. Aho and M. Corasick (1975).
//!
//! Its state is the longest end of the text that begins one of the strings, which is just what
//! may not be let go of yet. Reading takes constant time a byte, however many strings there are.

use crate::error::{Error, Result};

/// The state in which no string has begun.
pub(super) const ROOT: u32 = 0;

/// A beginning of a string.
#[derive(Debug, Clone, Default)]
struct Node {
    /// What goes on from here, by rising byte.
    next: Vec<(u8, u32)>,
    /// The longest shorter beginning that this one ends with.
    shorter: u32,
    /// The length.
    depth: usize,
    /// The longest string that ends here.
    ends: Option<usize>,
}

/// The strings that are looked for.
#[derive(Debug, Clone)]
pub struct Automaton {
    nodes: Vec<Node>,
    strings: Vec<String>,
    /// Whether a byte begins a string.
    begins: [bool; 256],
}

impl Automaton {
    /// Looks for strings. Of equal ones the first counts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for an empty string, which would be everywhere.
    pub fn new(strings: &[String]) -> Result<Self> {
        let mut nodes = vec![Node::default()];
        for (index, string) in strings.iter().enumerate() {
            if string.is_empty() {
                return Err(Error::input("A stop string is empty: it would be found at once.")
                    .at(format!("stop[{index}]"))
                    .position(index)
                    .hint("Leave it out."));
            }
            let mut at = ROOT;
            for &byte in string.as_bytes() {
                at = match step_down(&nodes, at, byte) {
                    Some(next) => next,
                    None => {
                        let next = nodes.len() as u32;
                        let depth = nodes[at as usize].depth + 1;
                        nodes.push(Node { depth, ..Node::default() });
                        let children = &mut nodes[at as usize].next;
                        let place = children.partition_point(|child| child.0 < byte);
                        children.insert(place, (byte, next));
                        next
                    }
                };
            }
            nodes[at as usize].ends.get_or_insert(index);
        }
        link(&mut nodes);
        let mut begins = [false; 256];
        for &(byte, _) in &nodes[0].next {
            begins[usize::from(byte)] = true;
        }
        Ok(Self { nodes, strings: strings.to_vec(), begins })
    }

    /// The strings.
    #[must_use]
    pub fn strings(&self) -> &[String] {
        &self.strings
    }

    /// Reads on until a string ends: the state, how many bytes were read, and the string. Of
    /// several that end at one byte it is the longest.
    pub(super) fn read(&self, mut state: u32, bytes: &[u8]) -> (u32, usize, Option<usize>) {
        let mut at = 0;
        while at < bytes.len() {
            if state == ROOT {
                let rest = &bytes[at..];
                match rest.iter().position(|&byte| self.begins[usize::from(byte)]) {
                    Some(ahead) => at += ahead,
                    None => return (ROOT, bytes.len(), None),
                }
            }
            state = self.step(state, bytes[at]);
            at += 1;
            if let Some(index) = self.nodes[state as usize].ends {
                return (state, at, Some(index));
            }
        }
        (state, at, None)
    }

    /// How many bytes of the text may still begin a string.
    pub(super) fn depth(&self, state: u32) -> usize {
        self.nodes[state as usize].depth
    }

    fn step(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            match step_down(&self.nodes, state, byte) {
                Some(next) => return next,
                None if state == ROOT => return ROOT,
                None => state = self.nodes[state as usize].shorter,
            }
        }
    }
}

fn step_down(nodes: &[Node], state: u32, byte: u8) -> Option<u32> {
    let children = &nodes[state as usize].next;
    let place = children.binary_search_by_key(&byte, |child| child.0).ok()?;
    Some(children[place].1)
}

/// Finds the shorter beginnings, by rising length.
fn link(nodes: &mut [Node]) {
    let mut open = std::collections::VecDeque::from([ROOT]);
    while let Some(at) = open.pop_front() {
        for (byte, child) in nodes[at as usize].next.clone() {
            open.push_back(child);
            let mut shorter = at;
            let found = loop {
                if shorter == ROOT {
                    break ROOT;
                }
                shorter = nodes[shorter as usize].shorter;
                if let Some(next) = step_down(nodes, shorter, byte) {
                    break next;
                }
            };
            nodes[child as usize].shorter = found;
            let inherited = nodes[found as usize].ends;
            let ends = &mut nodes[child as usize].ends;
            *ends = ends.or(inherited);
        }
    }
}
