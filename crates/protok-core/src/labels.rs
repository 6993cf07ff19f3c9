//! Entity spans to token labels, and back.
//!
//! A token belongs to an entity if they share a character. White space at the edges of a token
//! does not count, since most vocabularies glue a blank to the word after it. An entity falls on
//! token boundaries if the tokens that belong to it cover just it; only then do its labels give
//! it back, and every other entity is reported.
//!
//! Sources: Ramshaw and Marcus, "Text Chunking using Transformation-Based Learning" (1995) for
//! BIO; Ratinov and Roth, "Design Challenges and Misconceptions in Named Entity Recognition"
//! (2009) for BILOU.

use crate::error::{Error, Result};

/// How labels mark the edges of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `B-` on the first token, `I-` on the others.
    Bio,
    /// Also `L-` on the last, and `U-` on an only token.
    Bilou,
}

/// A labelled span, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// First byte.
    pub start: usize,
    /// Past the last byte.
    pub end: usize,
    /// Its label.
    pub label: String,
}

/// Why an entity does not come back from its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// The tokens that belong to it cover more than it.
    Boundary,
    /// All its tokens belong to an entity before it.
    Shared,
    /// No token belongs to it: it is empty, white space, or was truncated away.
    NoToken,
}

impl Misfit {
    /// The reason in a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Boundary => "boundary",
            Self::Shared => "shared",
            Self::NoToken => "no token",
        }
    }
}

/// The labels of all tokens, and the entities that they do not give back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// One label a token; `O` for none.
    pub labels: Vec<String>,
    /// The index of each entity that does not come back, the bytes that its labels stand for,
    /// and why.
    pub misfits: Vec<(usize, (usize, usize), Misfit)>,
}

/// A span without the white space at its edges.
#[must_use]
pub fn trim(text: &str, (start, end): (usize, usize)) -> (usize, usize) {
    let floor = text.floor_char_boundary(start);
    let ceil = text.ceil_char_boundary(end);
    let part = &text[floor..ceil];
    let trimmed = part.trim_start();
    let start = if trimmed.len() == part.len() { start } else { ceil - trimmed.len() };
    let trimmed = part.trim_end();
    let end = if trimmed.len() == part.len() { end } else { floor + trimmed.len() };
    if start < end { (start, end) } else { (start, start) }
}

/// Labels tokens, given as trimmed spans of the original in bytes; a token that no text
/// produced is an empty span.
///
/// # Errors
/// [`crate::ErrorKind::Input`] for entities that overlap.
pub fn label(tokens: &[(usize, usize)], entities: &[Entity], scheme: Scheme) -> Result<Labels> {
    let mut order: Vec<usize> = (0..entities.len()).collect();
    order.sort_by_key(|&index| (entities[index].start, entities[index].end));
    for pair in order.windows(2) {
        let (first, second) = (&entities[pair[0]], &entities[pair[1]]);
        if second.start < first.end {
            return Err(Error::input(format!(
                "Entities {} and {} overlap ({:?} and {:?}).",
                pair[0], pair[1], first.label, second.label
            ))
            .position(pair[1])
            .hint("One label a token cannot say both: label them in two passes."));
        }
    }
    let mut labels = vec!["O".to_owned(); tokens.len()];
    let mut misfits = Vec::new();
    let mut next = 0;
    for index in order {
        let entity = &entities[index];
        let (start, end) = (entity.start, entity.end);
        let touches = |&(from, to): &(usize, usize)| from < to && from < end && start < to;
        let first = tokens.iter().position(touches);
        let Some(first) = first.filter(|_| start < end) else {
            misfits.push((index, (start, start), Misfit::NoToken));
            continue;
        };
        let last = tokens.iter().rposition(touches).unwrap_or(first);
        // A token without text between two entities belongs to neither.
        let mut free = first.max(next);
        while free < last && tokens[free].0 == tokens[free].1 {
            free += 1;
        }
        if free > last {
            misfits.push((index, (start, start), Misfit::Shared));
            continue;
        }
        next = last + 1;
        for (at, label) in labels.iter_mut().enumerate().take(last + 1).skip(free) {
            if tokens[at].0 == tokens[at].1 {
                continue;
            }
            let mark = match scheme {
                Scheme::Bilou if free == last => 'U',
                Scheme::Bilou if at == last => 'L',
                _ if at == free => 'B',
                _ => 'I',
            };
            *label = format!("{mark}-{}", entity.label);
        }
        let covered = (tokens[free].0, tokens[last].1);
        if covered != (start, end) {
            misfits.push((index, covered, Misfit::Boundary));
        }
    }
    misfits.sort_by_key(|misfit| misfit.0);
    Ok(Labels { labels, misfits })
}

/// The entities that labels stand for. A label that continues nothing starts an entity.
///
/// # Errors
/// [`crate::ErrorKind::Input`] for a label that is not of the scheme, or too few labels.
pub fn entities(
    tokens: &[(usize, usize)],
    labels: &[String],
    scheme: Scheme,
) -> Result<Vec<Entity>> {
    if tokens.len() != labels.len() {
        return Err(Error::input(format!(
            "There are {} labels for {} tokens.",
            labels.len(),
            tokens.len()
        )));
    }
    let mut found: Vec<Entity> = Vec::new();
    let mut open = false;
    for (at, (label, &(start, end))) in labels.iter().zip(tokens).enumerate() {
        if label == "O" {
            // A token without text does not end an entity.
            open &= start == end;
            continue;
        }
        let known = match scheme {
            Scheme::Bio => "BI",
            Scheme::Bilou => "BILU",
        };
        let parsed = label
            .split_once('-')
            .filter(|(mark, name)| mark.len() == 1 && known.contains(mark) && !name.is_empty());
        let Some((mark, name)) = parsed else {
            return Err(Error::input(format!("The label {label:?} of token {at} is none."))
                .position(at)
                .value(label.clone())
                .hint("Labels are O, or B-, I- (and L-, U- in BILOU) with a name."));
        };
        match found.last_mut() {
            Some(entity) if open && (mark == "I" || mark == "L") && entity.label == name => {
                entity.end = end;
            }
            _ => found.push(Entity { start, end, label: name.to_owned() }),
        }
        open = mark == "B" || mark == "I";
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn entity(start: usize, end: usize, label: &str) -> Entity {
        Entity { start, end, label: label.into() }
    }

    #[test]
    fn there_and_back() {
        let tokens = [(0, 0), (0, 3), (4, 8), (8, 9), (10, 12), (0, 0)];
        let given = [entity(4, 9, "PER"), entity(10, 12, "LOC")];
        for (scheme, expected) in [
            (Scheme::Bio, ["O", "O", "B-PER", "I-PER", "B-LOC", "O"]),
            (Scheme::Bilou, ["O", "O", "B-PER", "L-PER", "U-LOC", "O"]),
        ] {
            let labels = label(&tokens, &given, scheme).unwrap();
            assert_eq!(labels.labels, expected);
            assert!(labels.misfits.is_empty());
            assert_eq!(entities(&tokens, &labels.labels, scheme).unwrap(), given);
        }
    }

    #[test]
    fn misfits_are_told() {
        let tokens = [(0, 3), (4, 8)];
        let given = [entity(1, 2, "A"), entity(2, 3, "B"), entity(9, 9, "C")];
        let labels = label(&tokens, &given, Scheme::Bio).unwrap();
        assert_eq!(labels.labels, ["B-A", "O"]);
        let kinds: Vec<_> = labels.misfits.iter().map(|m| (m.0, m.2)).collect();
        assert_eq!(kinds, [(0, Misfit::Boundary), (1, Misfit::Shared), (2, Misfit::NoToken)]);
        assert!(label(&tokens, &[entity(0, 3, "A"), entity(2, 5, "B")], Scheme::Bio).is_err());
        assert!(entities(&tokens, &["X".into(), "O".into()], Scheme::Bio).is_err());
    }

    #[test]
    fn a_token_without_text_starts_no_entity() {
        let tokens = [(0, 3), (3, 3), (4, 8)];
        let given = [entity(0, 1, "A"), entity(2, 8, "A")];
        for (scheme, expected) in
            [(Scheme::Bio, ["B-A", "O", "B-A"]), (Scheme::Bilou, ["U-A", "O", "U-A"])]
        {
            let labels = label(&tokens, &given, scheme).unwrap();
            assert_eq!(labels.labels, expected);
            assert_eq!(labels.misfits.len(), 2);
        }
    }

    #[test]
    fn trimming() {
        assert_eq!(trim("a  bc \u{a0}", (1, 6)), (3, 5));
        assert_eq!(trim(" 🐈", (0, 3)), (1, 3));
        assert_eq!(trim("   ", (1, 2)), (2, 2));
    }
}
