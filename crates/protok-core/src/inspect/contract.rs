//! What comes back when a text is encoded and decoded.
//!
//! Texts that find a loss if there is one are encoded, with control tokens read as text, and
//! decoded. What comes back is the text itself, the text as the normalizer rewrites it, or
//! neither; then the loss is put down to the stage that it came from, with the text as witness.
//! Without any loss, the spec decides whether there can be none: where no stage rewrites, drops
//! or adds anything and every byte has a token.

use crate::added_tokens::SpecialPolicy;
use crate::decode::DecodeOptions;
use crate::error::{ErrorKind, Result};
use crate::model::unknown_token;
use crate::pipeline::Pipeline;
use crate::pipeline::encode::EncodeOptions;
use crate::spec::{Decoder, Model, Normalizer};
use crate::text::aligned::AlignedText;

use super::losses;
use super::spelling::Spelling;

/// What comes back from a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every text comes back.
    Lossless,
    /// Every text comes back as the normalizer rewrites it.
    Normalized,
    /// Some texts come back otherwise.
    Lossy,
}

/// A text that does not come back, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Loss {
    /// The stage.
    pub stage: &'static str,
    /// What it does.
    pub cause: String,
    /// The text.
    pub text: String,
    /// What came back; none if the text was refused.
    pub decoded: Option<String>,
}

/// See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Contract {
    /// What comes back.
    pub verdict: Verdict,
    /// What the normalizer does to a text for good.
    pub normalizations: Vec<String>,
    /// What else happens, each stage and cause once.
    pub losses: Vec<Loss>,
    /// Whether the spec itself says that nothing else is lost.
    pub by_construction: bool,
    /// Whether any bytes can be encoded, not only text.
    pub any_bytes: bool,
    /// So many texts were tried.
    pub probes: usize,
}

/// Texts that find what gets lost.
const PROBES: &[&str] = &[
    "",
    "a",
    "The cat sat on the mat.",
    "Zürich ÀÉÎ",
    "e\u{301}a\u{308}",
    "ŒÆSSßﬁ²①",
    "İıΣΑΣ",
    "a b",
    "a  b",
    " a",
    "a ",
    "  a   b  ",
    " ",
    "   ",
    "a\tb",
    "a\nb",
    "a\r\nb",
    "a\u{a0}b",
    "a\u{2003}b",
    "a\u{3000}b",
    "\u{feff}a",
    "a\u{1}b",
    "a\0b",
    "a\u{200b}b\u{ad}c",
    "a\u{200d}b",
    "\u{e000}",
    "\u{fffd}",
    "don't",
    "I 'm , is n't . !",
    "a.b,c!?",
    "(a) [b] {c} \"d\"",
    "a-b_c/d\\e",
    "3.14 1,000,000 2026-11-30",
    "①Ⅷ½",
    "中文 字",
    "한국어 조선말",
    "日本語ですガｶﾞ",
    "ไทย हिन्दी",
    "مرحبا שלום",
    "🐈 👩\u{200d}👩\u{200d}👧 🇨🇭",
    "\u{16a0}\u{a66e}\u{12000}",
    "\u{378}",
    "\u{10ffff}",
    "x\u{2581}y",
    "\u{2581}",
    "Ġa Ċ",
    "##a a##",
    "a</w> b",
    "<0x41>",
    "<unk> <s> </s> [UNK] [CLS]",
    "<|endoftext|>",
    "def f(x):\n    return x  # ok\n",
    "antidisestablishmentarianism",
];
/// Longer than WordPiece reads.
const LONG_WORD: usize = 300;

/// The round trip of a tokenizer.
pub(super) fn of(pipeline: &Pipeline, spelling: &Spelling) -> Result<Contract> {
    let normalizations = losses::normalizations(pipeline.spec());
    let mut probes: Vec<String> = PROBES.iter().map(|&probe| probe.to_owned()).collect();
    probes.push("a".repeat(LONG_WORD));
    probes.extend(added_token_probes(pipeline));
    let mut shown: Vec<&str> = Vec::new();
    let mut marks_read = false;
    let mut found: Vec<Loss> = Vec::new();
    for text in &probes {
        match round_trip(pipeline, spelling, text)? {
            Outcome::Same => {}
            Outcome::Normalized(steps) => {
                shown.extend(steps);
                marks_read |= spelling.mark.is_some_and(|mark| text.contains(mark));
            }
            Outcome::Lost(loss) => {
                let known = |other: &Loss| (other.stage, &other.cause) == (loss.stage, &loss.cause);
                if !found.iter().any(known) {
                    found.push(loss);
                }
            }
        }
    }
    let mut named: Vec<String> = Vec::new();
    for (step, does) in &normalizations {
        if shown.contains(step) && !named.contains(does) {
            named.push(does.clone());
        }
    }
    if let Some(mark) = spelling.mark.filter(|_| marks_read) {
        named.push(format!("U+{:04X} as a blank", mark as u32));
    }
    let verdict = match (found.is_empty(), named.is_empty()) {
        (true, true) => Verdict::Lossless,
        (true, false) => Verdict::Normalized,
        (false, _) => Verdict::Lossy,
    };
    Ok(Contract {
        verdict,
        normalizations: named,
        losses: found,
        by_construction: verdict != Verdict::Lossy && is_sound(pipeline),
        any_bytes: pipeline.reads_bytes(),
        probes: probes.len(),
    })
}

/// Whether no stage but the normalizer can lose anything.
fn is_sound(pipeline: &Pipeline) -> bool {
    let spec = pipeline.spec();
    let plain = |token: &crate::spec::AddedToken| {
        !(token.lstrip || token.rstrip)
            && pipeline.added_tokens().decoded_form(token.id) == Some(token.content.as_str())
    };
    let added = pipeline.added_tokens();
    losses::of_pre_tokenizer(spec.pre_tokenizer.as_ref()).is_empty()
        && pipeline.reads_bytes()
        && matches!(spec.decoder, Some(Decoder::ByteLevel(_) | Decoder::Bytes))
        && added.tokens().iter().all(|token| added.is_control(token.id) || plain(token))
}

/// A text with an added token that takes white space with it or is spelled otherwise in the
/// normalized text, for the first of each.
fn added_token_probes(pipeline: &Pipeline) -> Vec<String> {
    let added = pipeline.added_tokens();
    let ordinary = || added.tokens().iter().filter(|token| !added.is_control(token.id));
    let strips = ordinary().find(|token| token.lstrip || token.rstrip);
    let rewritten =
        ordinary().find(|token| added.decoded_form(token.id) != Some(token.content.as_str()));
    let first = ordinary().next();
    let tokens = strips.into_iter().chain(rewritten).chain(first);
    tokens.map(|token| format!("a  {}  b", token.content)).collect()
}

enum Outcome {
    Same,
    /// The text came back as the normalizer rewrites it, by these steps.
    Normalized(Vec<&'static str>),
    Lost(Loss),
}

fn round_trip(pipeline: &Pipeline, spelling: &Spelling, text: &str) -> Result<Outcome> {
    let options = EncodeOptions {
        add_special_tokens: false,
        special: SpecialPolicy::Text,
        ..EncodeOptions::default()
    };
    let lost = |stage, cause: String, decoded| {
        Ok(Outcome::Lost(Loss { stage, cause, text: text.to_owned(), decoded }))
    };
    let mut ids = Vec::new();
    match pipeline.encode_text(text, &options, &mut ids) {
        Ok(()) => {}
        Err(error) if error.kind == ErrorKind::Limit => return Err(error),
        Err(error) => return lost("model", format!("refuses the text: {}", error.what), None),
    }
    let decoded = pipeline.decode(&ids, DecodeOptions::default())?;
    if decoded == text {
        return Ok(Outcome::Same);
    }
    let mut steps = Vec::new();
    let mut aligned = AlignedText::new(text, 0);
    pipeline.normalizer().apply_aligned(&mut aligned, |step, _| steps.push(step))?;
    let normalized = unmarked(pipeline, spelling, aligned.text());
    if decoded == normalized {
        return Ok(Outcome::Normalized(steps));
    }
    let spec = pipeline.spec();
    let unknown = unknown_token(&spec.model, pipeline.vocab());
    if unknown.is_some_and(|unknown| ids.contains(&unknown)) {
        let cause = format!(
            "gives {} for what the vocabulary lacks",
            unknown.and_then(|id| pipeline.token(id)).unwrap_or_default()
        );
        return lost("model", cause, Some(decoded));
    }
    if ids.iter().any(|&id| pipeline.added_tokens().get(id).is_some()) {
        let cause = "take white space with them, or come back normalized".to_owned();
        return lost("added tokens", cause, Some(decoded));
    }
    let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let dropped = losses::of_pre_tokenizer(spec.pre_tokenizer.as_ref());
    let tidied = losses::of_decoder(spec.decoder.as_ref());
    let causes = |parts: &[&str]| parts.join("; ");
    let only_blanks = solid(&decoded) == solid(&normalized);
    let lacks = matches!(&spec.model, Model::Bpe(bpe) if bpe.unk_token.is_none())
        && !pipeline.reads_bytes();
    match () {
        () if only_blanks && !dropped.is_empty() => {
            lost("pre-tokenizer", causes(&dropped), Some(decoded))
        }
        () if lacks => lost("model", "drops what it has no token for".to_owned(), Some(decoded)),
        () if !tidied.is_empty() => lost("decoder", causes(&tidied), Some(decoded)),
        () if !dropped.is_empty() => lost("pre-tokenizer", causes(&dropped), Some(decoded)),
        () => lost("model", "changes the text".to_owned(), Some(decoded)),
    }
}

/// A normalized text with its marks read as blanks again, without the one that was put in front.
fn unmarked(pipeline: &Pipeline, spelling: &Spelling, normalized: &str) -> String {
    let Some(mark) = spelling.mark.filter(|_| spelling.normalizer_marks) else {
        return normalized.to_owned();
    };
    let text = normalized.replace(mark, " ");
    let normalizer = pipeline.spec().normalizer.as_ref();
    match normalizer.map_or((false, false), |normalizer| puts_blank(normalizer, mark)) {
        (true, _) => text.strip_prefix(' ').unwrap_or(&text).to_owned(),
        (_, true) => text.strip_suffix(' ').unwrap_or(&text).to_owned(),
        _ => text,
    }
}

/// Whether a normalizer puts a blank in front, or after.
fn puts_blank(normalizer: &Normalizer, mark: char) -> (bool, bool) {
    match normalizer {
        Normalizer::Sequence(items) => items.iter().fold((false, false), |found, item| {
            let puts = puts_blank(item, mark);
            (found.0 || puts.0, found.1 || puts.1)
        }),
        Normalizer::Prepend(prepend) => (prepend.prepend == mark.to_string(), false),
        Normalizer::SentencePiece(rules) if rules.add_dummy_prefix => {
            (!rules.treat_whitespace_as_suffix, rules.treat_whitespace_as_suffix)
        }
        Normalizer::LlamaCppWords(_) => (true, false),
        Normalizer::LlamaCppBlanks(rules) => {
            (rules.add_space_prefix || rules.remove_extra_whitespaces, false)
        }
        _ => (false, false),
    }
}
