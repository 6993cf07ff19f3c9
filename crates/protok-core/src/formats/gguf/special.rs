//! What each token of a GGUF vocabulary is for, after llama.cpp's corrections by spelling.

use super::Header;
use crate::error::{Error, Result};
use crate::spec::{AddedToken, PieceKind};
use crate::vocab::SeededMap;

/// Longer tokens are not looked for.
const MOST_BYTES: usize = 1024;

pub(super) const TYPES: &str = "tokenizer.ggml.token_type";

/// Tokens that end a text are control tokens, whatever the file says.
const ENDS: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
];

/// For each role around infilled code, the keys that name it and the spellings of which the first
/// in a hash table becomes a control token, where no key does.
const INFILLING: &[(&[&str], &[&str])] = &[
    (
        &["fim_pre_token_id", "prefix_token_id"],
        &[
            "<|fim_prefix|>",
            "<fim-prefix>",
            "<fim_prefix>",
            "<｜fim▁begin｜>",
            "<PRE>",
            "▁<PRE>",
            "<|code_prefix|>",
            "<|prefix|>",
        ],
    ),
    (
        &["fim_suf_token_id", "suffix_token_id"],
        &[
            "<|fim_suffix|>",
            "<fim-suffix>",
            "<fim_suffix>",
            "<｜fim▁hole｜>",
            "<SUF>",
            "▁<SUF>",
            "<|code_suffix|>",
            "<|suffix|>",
        ],
    ),
    (
        &["fim_mid_token_id", "middle_token_id"],
        &[
            "<|fim_middle|>",
            "<fim-middle>",
            "<fim_middle>",
            "<｜fim▁end｜>",
            "<MID>",
            "▁<MID>",
            "<|code_middle|>",
            "<|middle|>",
        ],
    ),
    (&["fim_pad_token_id"], &["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"]),
    (
        &["fim_rep_token_id"],
        &["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"],
    ),
    (&["fim_sep_token_id"], &["<|file_sep|>"]),
];

/// The kinds of all tokens as the file lists them; none for those whose kind is not defined.
pub(super) fn listed(header: &Header<'_>) -> Result<Vec<Option<PieceKind>>> {
    match header.metadata.integers(TYPES)? {
        None => Ok(vec![Some(PieceKind::Normal); header.tokens]),
        Some(types) if types.len() < header.tokens => {
            Err(Error::artifact(TYPES, "There are fewer types than tokens."))
        }
        Some(types) => Ok(types
            .iter()
            .take(header.tokens)
            .map(|kind| match kind {
                1 => Some(PieceKind::Normal),
                2 => Some(PieceKind::Unknown),
                3 => Some(PieceKind::Control),
                4 => Some(PieceKind::UserDefined),
                5 => Some(PieceKind::Unused),
                6 => Some(PieceKind::Byte),
                _ => None,
            })
            .collect()),
    }
}

/// The kinds of all tokens, after llama.cpp's corrections.
///
/// # Errors
/// Where it depends on the order of a hash table.
pub(super) fn kinds(header: &Header<'_>, ids: &SeededMap<&str, u32>) -> Result<Vec<PieceKind>> {
    // Undefined ones are unused as well: no text makes them a token of their own.
    let listed = listed(header)?.into_iter();
    let mut kinds: Vec<_> = listed.map(|kind| kind.unwrap_or(PieceKind::Unused)).collect();
    let id = |token: &str| ids.get(token).map(|&id| id as usize);
    for (keys, spellings) in INFILLING {
        let named = keys.iter().map(|key| header.token(key, None)).collect::<Result<Vec<_>>>()?;
        if named.iter().any(Option::is_some) {
            continue;
        }
        let found: Vec<(usize, &str)> =
            spellings.iter().filter_map(|token| id(token).map(|id| (id, *token))).collect();
        let plain = found.iter().find(|(id, _)| kinds[*id] != PieceKind::Control);
        match (found.as_slice(), plain) {
            (_, None) => {}
            ([(id, _)], _) => kinds[*id] = PieceKind::Control,
            (_, Some((_, token))) => {
                return Err(Error::artifact(
                    TYPES,
                    format!("llama.cpp may or may not take {token:?} for a control token."),
                )
                .value(*token)
                .hint(format!("Add tokenizer.ggml.{}, or mark it as control.", keys[0])));
            }
        }
    }
    for end in ENDS {
        if let Some(id) = id(end) {
            kinds[id] = PieceKind::Control;
        }
    }
    let has = |token: &str| id(token).is_some();
    for token in ["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"] {
        if let Some(id) = id(token) {
            kinds[id] = PieceKind::UserDefined;
        }
    }
    let calls = has("<|call|>") || has("<|calls|>");
    if let Some(end) = id("<|end|>")
        && calls
        && (has("<|return|>") || has("<|flush|>"))
    {
        kinds[end] = PieceKind::UserDefined;
    }
    if let Some(end) = id("</s>")
        && has("<|tool_response>")
    {
        kinds[end] = PieceKind::Normal;
    }
    Ok(kinds)
}

/// The tokens that are looked for in a text: control and unknown ones on request, user-defined
/// ones always.
///
/// # Errors
/// Where it is open which of two tokens llama.cpp finds.
pub(super) fn added_tokens(
    header: &Header<'_>,
    tokens: &[String],
    kinds: &[PieceKind],
) -> Result<Vec<AddedToken>> {
    let name = header.metadata.string("general.name")?.unwrap_or("").to_ascii_lowercase();
    let architecture = header.metadata.string("general.architecture")?.unwrap_or("");
    let pre = header.pre;
    let any = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let mask = if any(pre, &["jina-v2-de", "jina-v2-es", "jina-v2-code"])
        || any(architecture, &["nomic-bert-moe", "jina-bert-v3"])
    {
        Some("<mask>")
    } else {
        None
    };
    let phi = mask.is_none() && any(&name, &["phi-3", "phi3"]);
    let mask = mask.or((!phi && name.contains("modern-bert")).then_some("[MASK]"));
    let mut added = Vec::new();
    for ((content, kind), id) in tokens.iter().zip(kinds).zip(0u32..) {
        let special = matches!(kind, PieceKind::Control | PieceKind::Unknown);
        if special || *kind == PieceKind::UserDefined {
            let kept = ["<unk>", "<s>", "<|endoftext|>"].contains(&content.as_str());
            added.push(AddedToken {
                id,
                content: content.clone(),
                single_word: false,
                lstrip: mask == Some(content),
                rstrip: phi && !kept,
                normalized: false,
                special,
            });
        }
    }
    check_overlaps(&added)?;
    Ok(added)
}

/// llama.cpp looks for the longest token in the whole text, then for the next. Of two that are
/// as long, either may come first, which matters if one may start inside the other.
fn check_overlaps(added: &[AddedToken]) -> Result<()> {
    if let Some(token) = added.iter().find(|token| token.content.len() > MOST_BYTES) {
        return Err(Error::artifact(
            format!("tokenizer.ggml.tokens[{}]", token.id),
            format!("The token is looked for in texts, but has more than {MOST_BYTES} bytes."),
        ));
    }
    // The starts of tokens of each length: a token that has it, and another one.
    let mut starts: SeededMap<(usize, &str), (&str, Option<&str>)> = SeededMap::default();
    let parts = |text: &'_ str| text.char_indices().skip(1).map(|(at, _)| at).collect::<Vec<_>>();
    for token in added {
        let text = token.content.as_str();
        for at in parts(text) {
            let known = starts.entry((text.len(), &text[..at])).or_insert((text, None));
            if known.0 != text {
                known.1 = Some(text);
            }
        }
    }
    for token in added {
        let text = token.content.as_str();
        for at in parts(text) {
            let Some(&(first, second)) = starts.get(&(text.len(), &text[at..])) else { continue };
            if let Some(other) = [Some(first), second].into_iter().flatten().find(|o| *o != text) {
                return Err(Error::artifact(
                    "tokenizer.ggml.tokens",
                    format!("The tokens {text:?} and {other:?} may overlap in a text."),
                )
                .hint("What llama.cpp makes of that depends on more than the file says."));
            }
        }
    }
    Ok(())
}
