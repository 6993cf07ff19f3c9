//! The templates that name a language, a task or a question, and those with ends of their own.

use super::arguments::{Value, refused_by_both};
use super::backend::Build;
use super::class::Class;
use super::languages;
use super::parts::template;
use super::token::{Special, Token};
use crate::error::Result;
use crate::formats::node::Node;

/// The token that Splinter puts after a question.
pub(super) const QUESTION: &str = "[QUESTION]";

/// The id of any token, or that of the unknown token.
fn id_or_unknown(build: &Build<'_>, token: &str) -> Result<u32> {
    match build.added.id_of_any(token) {
        Some(id) => Ok(id),
        None => build.token_and_id("unk_token").map(|(_, id)| id),
    }
}

/// The token of an id, as a template names it.
fn named(build: &Build<'_>, id: u32) -> Result<(String, u32)> {
    let token = build.added.token_of(id).ok_or_else(|| {
        refused_by_both("tokenizer_class", &format!("The class needs a token with the id {id}."))
    })?;
    Ok((token, id))
}

/// A string of the configuration, null for none.
fn text(build: &Build<'_>, name: &str) -> Result<Option<String>> {
    match build.arguments.get(name) {
        None | Some(Value::Json(Node::Null)) => Ok(None),
        Some(_) => build.arguments.text(name, "").map(Some),
    }
}

fn strings<const N: usize>(pieces: [&str; N]) -> Vec<String> {
    pieces.map(str::to_owned).to_vec()
}

/// The source language before or after the text.
pub(super) fn language(build: &mut Build<'_>) -> Result<()> {
    let class = build.class;
    let language = match (text(build, "src_lang")?, class) {
        (Some(code), Class::SeamlessM4t) if !code.contains("__") => format!("__{code}__"),
        (Some(code), _) => code,
        (None, Class::Nllb) => "eng_Latn".to_owned(),
        (None, Class::SeamlessM4t) if build.arguments.get("src_lang").is_some() => {
            return Err(refused_by_both("src_lang", "The class cannot do without a language."));
        }
        (None, Class::SeamlessM4t) => "__eng__".to_owned(),
        (None, _) => "en_XX".to_owned(),
    };
    let codes =
        languages::MBART.split_whitespace().chain(languages::MBART50_MORE.split_whitespace());
    if class == Class::MBart50 {
        if !codes.clone().any(|code| code == language) {
            return Err(refused_by_both("src_lang", "The class does not know the language."));
        }
        let known: Vec<String> =
            build.extra.iter().map(|token| token.as_str().to_owned()).collect();
        let missing = codes.filter(|code| !known.iter().any(|known| known == code));
        let special = |code| Special::Token(Token { special: true, ..Token::plain(code) });
        build.extra.extend(missing.map(special));
    }
    let id = id_or_unknown(build, &language)?;
    // NLLB's template has the name of a language that is no token, with the unknown token's id.
    let code = if class == Class::Nllb { (language, id) } else { named(build, id)? };
    let eos = build.token_and_id("eos_token")?;
    let ids = [(eos.0.as_str(), eos.1), (code.0.as_str(), code.1)];
    let after = class == Class::MBart
        || (class == Class::Nllb && build.arguments.truthy("legacy_behaviour", false)?);
    let (single, pair) = if after {
        (strings(["$A", &eos.0, &code.0]), strings(["$A", "$B", &eos.0, &code.0]))
    } else {
        (strings([&code.0, "$A", &eos.0]), strings([&code.0, "$A", "$B", &eos.0]))
    };
    build.post_processor = Some(template(&single, &pair, &ids)?);
    Ok(())
}

/// Whisper's start of a transcript: language, task, and whether there are times.
pub(super) fn transcript(build: &mut Build<'_>) -> Result<()> {
    let start = id_or_unknown(build, "<|startoftranscript|>")?;
    let mut prefix = vec![start];
    if let Some(language) = text(build, "language")? {
        let place = languages::whisper(&language)
            .ok_or_else(|| refused_by_both("language", "The class does not know the language."))?;
        prefix.push(start + 1 + place);
    }
    match text(build, "task")?.as_deref() {
        None => {}
        Some("transcribe") => prefix.push(id_or_unknown(build, "<|transcribe|>")?),
        Some("translate") => prefix.push(id_or_unknown(build, "<|translate|>")?),
        Some(_) => {
            return Err(refused_by_both("task", "The class knows transcribe and translate only."));
        }
    }
    if !build.arguments.truthy("predict_timestamps", false)? {
        prefix.push(id_or_unknown(build, "<|notimestamps|>")?);
    }
    let eos = build.token_and_id("eos_token")?;
    let prefix =
        prefix.into_iter().map(|id| named(build, id)).collect::<Result<Vec<(String, u32)>>>()?;
    let marks = prefix.iter().map(|(token, _)| format!("{token}:0"));
    let end = |type_id: u32| format!("{}:{type_id}", eos.0);
    let single: Vec<String> = marks.clone().chain(["$A:0".to_owned(), end(0)]).collect();
    let both = ["$A:0".to_owned(), "$B:1".to_owned(), end(1)];
    let pair: Vec<String> = marks.chain(both).collect();
    let tokens = [&eos].into_iter().chain(&prefix);
    let ids: Vec<(&str, u32)> = tokens.map(|(token, id)| (token.as_str(), *id)).collect();
    build.post_processor = Some(template(&single, &pair, &ids)?);
    Ok(())
}

/// Splinter's question, which ends with a mark and a full stop.
pub(super) fn question(build: &mut Build<'_>) -> Result<()> {
    // The class forgets another name that the configuration gave the token.
    build.roles.set("question_token", Some(Special::Text(QUESTION.to_owned())));
    if build.token("cls_token").is_none() || build.token("sep_token").is_none() {
        return Ok(());
    }
    let ((cls, cls_id), (sep, sep_id)) =
        (build.token_and_id("cls_token")?, build.token_and_id("sep_token")?);
    let question = (QUESTION, id_or_unknown(build, QUESTION)?);
    let dot = (".", id_or_unknown(build, ".")?);
    let (first, last) = (format!("{cls}:0"), format!("{sep}:0"));
    let end = format!("{sep}:1");
    let single = strings([&first, "$A:0", &last]);
    let pair = match text(build, "padding_side")?.as_deref() {
        None | Some("right") => strings([&first, "$A:0", QUESTION, ".", &last, "$B:1", &end]),
        Some(_) => strings([&first, "$A:0", &last, "$B:1", QUESTION, ".", &end]),
    };
    let ids = [(cls.as_str(), cls_id), (sep.as_str(), sep_id), question, dot];
    build.post_processor = Some(template(&single, &pair, &ids)?);
    Ok(())
}

/// Ends that are the same for every text.
pub(super) fn ends(build: &mut Build<'_>) -> Result<()> {
    let eos = build.token_and_id("eos_token")?;
    let end = eos.0.as_str();
    if build.class == Class::Pegasus {
        let (single, pair) = (strings(["$A", end]), strings(["$A", "$B", end]));
        build.post_processor = Some(template(&single, &pair, &[(end, eos.1)])?);
        return Ok(());
    }
    if build.token("bos_token").is_none() {
        return Err(refused_by_both("bos_token", "The class cannot do without this token."));
    }
    let bos = build.token_and_id("bos_token")?;
    let ids = [(bos.0.as_str(), bos.1), (end, eos.1)];
    let (single, pair) = match build.class {
        Class::Xglm => (strings([end, "$A"]), strings([end, "$A", end, end, "$B"])),
        _ => {
            let (first, last) = (format!("{}:0", bos.0), format!("{end}:0"));
            (strings([&first, "$A:0", &last]), strings(["$A:0", "$B:1"]))
        }
    };
    build.post_processor = Some(template(&single, &pair, &ids)?);
    Ok(())
}
