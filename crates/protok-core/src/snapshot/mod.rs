//! A tokenizer as it was loaded, in a file that is quick to read.
//!
//! A snapshot holds the [`Spec`] with its vocabulary and merges as flat arrays, what the files say
//! beside it, and what is costly to find out about the vocabulary ([`Known`]). It does not hold
//! tables: those are built from the arrays as they are from a file, so that nothing in a snapshot
//! can make them unsound. Reading one is linear in its size.
//!
//! A snapshot belongs to a [`Key`]: the content of all files, what the caller of load decides, and
//! the engine that wrote it. [`read`] refuses one of another key, and one that is not as it was
//! written. That is a check against accidents. Whoever may write the file can write one that
//! passes it, and so another tokenizer; but none that makes the engine read where nothing is.

mod container;
mod digest;
mod key;
mod spec;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::formats::Info;
use crate::model::bpe::{Prepared, Rules};
use crate::pipeline::{CompileOptions, Known, Pipeline};
use crate::spec::Spec;

use container::{Container, Sections};

pub use container::seal;
pub use key::{Content, Key, key};

/// The part of a snapshot that is JSON.
#[derive(Serialize, Deserialize)]
struct Head {
    info: Info,
    spec: spec::Head,
    distinct: bool,
}

const HEAD: u32 = 1;
const TARGETS: u32 = 2;
const RULES: u32 = 3;
const TABLES: u32 = 4;

/// Writes a tokenizer down.
///
/// # Errors
/// If it cannot be written so that it is read back the same.
pub fn write(pipeline: &Pipeline, info: &Info, key: &Key) -> Result<Vec<u8>> {
    let known = pipeline.known();
    let mut sections = Sections::default();
    let head = Head {
        info: info.clone(),
        spec: spec::write(pipeline.spec(), &mut sections),
        distinct: known.distinct,
    };
    let head = serde_json::to_vec(&head).map_err(|error| bad(format!("{error}")))?;
    sections.push(HEAD, &head);
    if let Some(Prepared { rules, tables }) = &known.bpe {
        match rules {
            Rules::Listed(targets) => sections.push_u32s(TARGETS, targets.iter().copied()),
            Rules::ByRank(rules) => {
                sections.push_u32s(RULES, rules.iter().flat_map(|rule| [rule.0, rule.1, rule.2]));
            }
        }
        sections.push_u32s(TABLES, tables.iter().flatten().copied());
    }
    let bytes = sections.finish(key);
    let (same_info, same_spec, same_known) = parse(&bytes, key)?;
    if same_info != *info || same_spec != *pipeline.spec() || same_known != known {
        return Err(bad("It is not read back the same"));
    }
    Ok(bytes)
}

/// Reads a tokenizer that [`write`] wrote for this key.
///
/// # Errors
/// [`crate::ErrorKind::Artifact`] if it is not as it was written, or of another key.
pub fn read(
    bytes: &[u8],
    key: &Key,
    control_tokens: Option<Vec<String>>,
    cache_bytes: Option<usize>,
) -> Result<(Pipeline, Info)> {
    let (info, spec, known) = parse(bytes, key)?;
    let template_literals = info.template_literals();
    let options = CompileOptions { control_tokens, template_literals, cache_bytes };
    Ok((Pipeline::compile_known(spec, &options, &known)?, info))
}

fn parse(bytes: &[u8], key: &Key) -> Result<(Info, Spec, Known)> {
    let container = Container::open(bytes, key)?;
    let head = container.get(HEAD).ok_or_else(|| bad("It has no head"))?;
    let head: Head = serde_json::from_slice(head).map_err(|error| bad(format!("{error}")))?;
    let spec = spec::read(head.spec, &container)?;
    let rules = match (container.u32s(TARGETS)?, container.u32s(RULES)?) {
        (Some(targets), None) => Some(Rules::Listed(targets)),
        (None, Some(rules)) if rules.len() % 3 == 0 => {
            let rules = rules.chunks_exact(3).map(|rule| (rule[0], rule[1], rule[2]));
            Some(Rules::ByRank(rules.collect()))
        }
        (None, None) => None,
        _ => return Err(bad("Its rules cannot be read")),
    };
    let bpe = match (rules, container.u32s(TABLES)?) {
        (Some(rules), Some(flat)) => {
            let mut tables = Box::new([[0; 256]; 4]);
            if flat.len() != 4 * 256 {
                return Err(bad("Its tables are cut off"));
            }
            for (table, flat) in tables.iter_mut().zip(flat.chunks_exact(256)) {
                table.copy_from_slice(flat);
            }
            Some(Prepared { rules, tables })
        }
        (None, None) => None,
        _ => return Err(bad("Rules and tables belong together")),
    };
    Ok((head.info, spec, Known { distinct: head.distinct, bpe }))
}

/// What is wrong with a snapshot.
fn bad(what: impl std::fmt::Display) -> Error {
    Error::artifact("snapshot", format!("The snapshot cannot be used: {what}."))
        .hint("It can be deleted; the next load writes it again.")
}

#[cfg(test)]
mod tests;
