//! From a [`Spec`] to BERT's `vocab.txt` and the `tokenizer_config.json` that completes it.

use serde_json::{Map, json};

use super::around;
use crate::error::{Error, Result};
use crate::formats::companions::CONFIG;
use crate::formats::companions_write::{added_tokens_decoder, roles, text};
use crate::formats::directory::{Files, Options, read};
use crate::formats::save::{Saving, check_same};
use crate::spec::{
    BertNormalizer, Model, Normalizer, PostProcessor, PreTokenizer, SequenceName, Spec,
    TemplateItem, TokenList,
};

const NAME: &str = "vocab.txt";

fn refused(place: impl Into<String>, what: &str) -> Error {
    Error::artifact(place, format!("A vocab.txt cannot say this: {what}."))
        .hint("Save it as huggingface.")
}

/// Writes the two files that their readers read as this tokenizer.
///
/// # Errors
/// An artifact error that names what they would read differently.
pub fn write(saving: &Saving<'_>) -> Result<Vec<(String, Vec<u8>)>> {
    let spec = saving.spec;
    let Model::WordPiece(model) = &spec.model else {
        return Err(refused("model", "it is no WordPiece model"));
    };
    let Some(Normalizer::Bert(flags)) = &spec.normalizer else {
        return Err(refused("normalizer", "it is not BERT's"));
    };
    if spec.pre_tokenizer != Some(PreTokenizer::Bert) {
        return Err(refused("pre_tokenizer", "it is not BERT's"));
    }
    for (field, unlike, what) in [
        ("continuing_subword_prefix", model.continuing_subword_prefix != "##", "it is not `##`"),
        ("max_input_chars_per_word", model.max_input_chars_per_word != 100, "it is not 100"),
    ] {
        if unlike {
            return Err(refused(format!("model.{field}"), what));
        }
    }
    if !flags.clean_text {
        return Err(refused("normalizer.clean_text", "control characters stay"));
    }
    let ends = spec.post_processor.as_ref().and_then(ends);
    let (cls, sep) = ends.ok_or_else(|| {
        refused("post_processor", "it is not one token before the text and one after it")
    })?;
    let vocabulary = lines(&model.vocab)?;
    let named = [("unk", model.unk_token.clone()), ("cls", cls), ("sep", sep)];
    let config = text(CONFIG, &config(saving, flags, &named).into())?;
    let files = [(NAME.to_owned(), vocabulary), (CONFIG.to_owned(), config)];
    let given: Files<'_> =
        files.iter().map(|(name, bytes)| (name.clone(), bytes.as_slice())).collect();
    let again = read(&given, &Options::default())?;
    // BERT's own template is this one.
    let template = match spec.post_processor.clone() {
        Some(PostProcessor::Bert(fields)) => Some(around(fields.cls, fields.sep)),
        other => other,
    };
    check_same(&Spec { post_processor: template, ..spec.clone() }, &again.spec, "A vocab.txt")?;
    Ok(files.into())
}

/// The tokens that the template for one text begins and ends with.
fn ends(processor: &PostProcessor) -> Option<(String, String)> {
    match processor {
        PostProcessor::Bert(fields) => Some((fields.cls.0.clone(), fields.sep.0.clone())),
        PostProcessor::Template(template) => match template.single.as_slice() {
            [
                TemplateItem::SpecialToken { id: cls, .. },
                TemplateItem::Sequence { id: SequenceName::A, .. },
                TemplateItem::SpecialToken { id: sep, .. },
            ] => Some((cls.clone(), sep.clone())),
            _ => None,
        },
        _ => None,
    }
}

fn lines(vocab: &TokenList) -> Result<Vec<u8>> {
    let sorted = vocab.clone().sorted_by_id();
    let mut out = Vec::new();
    for ((token, id), line) in sorted.iter().zip(0u32..) {
        let place = || format!("model.vocab[{line}]");
        if id != line {
            return Err(refused(place(), &format!("no token has the id {line}, or several do")));
        }
        let token =
            std::str::from_utf8(token).map_err(|_| refused(place(), "the token is not UTF-8"))?;
        // Some readers trim the lines at their ends.
        let cut = token.contains(['\n', '\r']) || token.trim_end() != token || token.is_empty();
        if cut {
            return Err(refused(place(), "the token is no whole line").value(token));
        }
        out.extend_from_slice(token.as_bytes());
        out.push(b'\n');
    }
    Ok(out)
}

fn config(
    saving: &Saving<'_>,
    flags: &BertNormalizer,
    named: &[(&str, String)],
) -> Map<String, serde_json::Value> {
    let own = named.iter().map(|(role, token)| ((*role).to_owned(), token.clone()));
    let others = saving.roles.iter().filter(|(role, _)| !named.iter().any(|(n, _)| n == role));
    let all: Vec<(String, String)> = own.chain(others.cloned()).collect();
    let mut config = Map::new();
    config.insert("tokenizer_class".to_owned(), json!("BertTokenizer"));
    config.insert("do_lower_case".to_owned(), json!(flags.lowercase));
    config.insert("tokenize_chinese_chars".to_owned(), json!(flags.handle_chinese_chars));
    config.insert("strip_accents".to_owned(), json!(flags.strip_accents));
    config.insert("clean_up_tokenization_spaces".to_owned(), json!(false));
    config.extend(roles(&all));
    config
        .insert("added_tokens_decoder".to_owned(), added_tokens_decoder(&saving.spec.added_tokens));
    config
}
