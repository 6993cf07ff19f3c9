//! The classes: which tokens they start with, and what they do once the tokens are added.

use super::backend::Build;
use super::class::Class;
use super::parts;
use super::parts::template;
use super::templates;
use super::token::{Special, Token};
use crate::error::Result;
use crate::spec::{BertProcessing, Normalizer, PostProcessor, RobertaProcessing};

/// The tokens of `bos`, `eos`, `unk`, `sep`, `pad`, `cls` and `mask` that a class starts with.
type Defaults = [Option<&'static str>; 7];

const NONE: Defaults = [None; 7];
const END: Option<&str> = Some("<|endoftext|>");

const fn all(tokens: [&'static str; 7]) -> Defaults {
    let [bos, eos, unk, sep, pad, cls, mask] = tokens;
    [Some(bos), Some(eos), Some(unk), Some(sep), Some(pad), Some(cls), Some(mask)]
}

const ROBERTA: Defaults = all(["<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"]);
const BERT: Defaults =
    [None, None, Some("[UNK]"), Some("[SEP]"), Some("[PAD]"), Some("[CLS]"), Some("[MASK]")];

/// All but those at some places.
const fn without(places: &[usize], mut tokens: Defaults) -> Defaults {
    let mut at = 0;
    while at < places.len() {
        tokens[places[at]] = None;
        at += 1;
    }
    tokens
}

impl Class {
    /// Whether the class builds the pipeline anew around the file's vocabulary and merges.
    pub(super) fn rebuilds(self) -> bool {
        !matches!(self, Class::Backend | Class::ConvBert | Class::FNet)
    }

    /// Whether the class has an argument for the padding token.
    pub(super) fn has_pad_token(self) -> bool {
        !matches!(
            self,
            Class::Backend | Class::Llama | Class::OpenAiGpt | Class::Reformer | Class::Whisper
        )
    }

    fn defaults(self) -> Defaults {
        match self {
            Class::Backend => NONE,
            Class::Albert | Class::FNet | Class::RemBert => {
                all(["[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"])
            }
            Class::Barthez
            | Class::Blenderbot
            | Class::Camembert
            | Class::MBart
            | Class::Nllb
            | Class::Roberta
            | Class::XlmRoberta => ROBERTA,
            Class::MBart50 => without(&[0], ROBERTA),
            Class::SeamlessM4t | Class::Xglm => without(&[6], ROBERTA),
            Class::Nougat => without(&[3, 5, 6], ROBERTA),
            Class::Pegasus => {
                [None, ROBERTA[1], ROBERTA[2], None, ROBERTA[4], None, Some("<mask_2>")]
            }
            Class::Reformer => [None, ROBERTA[1], ROBERTA[2], None, None, None, None],
            Class::Bert | Class::ConvBert | Class::Dpr | Class::Splinter => BERT,
            Class::BigBird => all(["<s>", "</s>", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"]),
            Class::Clip => [Some("<|startoftext|>"), END, END, None, END, None, None],
            Class::Cohere => all([
                "<BOS_TOKEN>",
                "<|END_OF_TURN_TOKEN|>",
                "<UNK>",
                "<SEP>",
                "<PAD>",
                "<CLS>",
                "<MASK_TOKEN>",
            ]),
            Class::Deberta | Class::DebertaV2 => {
                all(["[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"])
            }
            Class::Funnel => all(["<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"]),
            Class::Gemma | Class::Siglip2 => [
                Some("<bos>"),
                Some("<eos>"),
                Some("<unk>"),
                None,
                Some("<pad>"),
                None,
                Some("<mask>"),
            ],
            Class::CodeGen | Class::Gpt2 | Class::Whisper => {
                [END, END, END, None, None, None, None]
            }
            Class::GptNeoX => [END, END, END, None, Some("<|padding|>"), None, None],
            Class::Herbert => {
                [None, None, ROBERTA[2], ROBERTA[3], ROBERTA[4], ROBERTA[5], ROBERTA[6]]
            }
            Class::Llama => [Some("<s>"), Some("</s>"), Some("<unk>"), None, None, None, None],
            Class::MpNet => all(["<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"]),
            Class::OpenAiGpt => [None, None, Some("<unk>"), None, None, None, None],
            Class::Qwen2 | Class::Qwen35 => [None, END, END, None, END, None, None],
            Class::T5 => [None, Some("</s>"), Some("<unk>"), None, Some("<pad>"), None, None],
            Class::XlNet => all(["<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"]),
        }
    }

    /// The flags that a class gives a token that is only a string.
    fn flags(self, role: &str, text: &str) -> Option<Token> {
        let token = Token::plain(text);
        let left = Token { lstrip: true, ..token.clone() };
        match (self, role) {
            (Class::Camembert, "mask_token") => Some(Token { special: true, ..left }),
            (Class::Blenderbot, "mask_token") => Some(Token { normalized: Some(false), ..left }),
            (Class::Nllb, "mask_token") => {
                Some(Token { normalized: Some(true), special: true, ..left })
            }
            (Class::Whisper, "bos_token" | "eos_token" | "unk_token") => {
                Some(Token { normalized: Some(false), special: true, ..token })
            }
            (
                Class::Barthez
                | Class::BigBird
                | Class::MBart
                | Class::MBart50
                | Class::MpNet
                | Class::XlNet,
                "mask_token",
            ) => Some(left),
            (Class::BigBird | Class::MpNet, _) => Some(token),
            _ => None,
        }
    }
}

/// The token that a role has when the class is made.
pub(super) fn role(build: &Build<'_>, name: &str) -> Result<Option<Special>> {
    let place = super::arguments::ROLES.iter().position(|role| *role == name).unwrap_or_default();
    let token = build.arguments.role(name, build.class.defaults()[place])?;
    Ok(token.map(|token| match &token {
        Special::Text(text) => match build.class.flags(name, text) {
            Some(token) => Special::Token(token),
            None => token,
        },
        Special::Token(_) => token,
    }))
}

/// BERT's template.
pub(super) fn around(cls: &str, sep: &str, ids: &[(&str, u32)]) -> Result<PostProcessor> {
    let single = [format!("{cls}:0"), "$A:0".to_owned(), format!("{sep}:0")];
    let second = ["$B:1".to_owned(), format!("{sep}:1")];
    let pair: Vec<String> = single.iter().chain(&second).cloned().collect();
    template(&single, &pair, ids)
}

/// RoBERTa's template, as a `TemplateProcessing`.
fn doubled(build: &Build<'_>, first: &str, last: &str) -> Result<PostProcessor> {
    let ((first, first_id), (last, last_id)) =
        (build.token_and_id(first)?, build.token_and_id(last)?);
    let text = |text: &str| text.to_owned();
    let single = [first.clone(), text("$A"), last.clone()];
    let pair = [first.clone(), text("$A"), last.clone(), last.clone(), text("$B"), last.clone()];
    template(&single, &pair, &[(&first, first_id), (&last, last_id)])
}

/// What a class does once all tokens are added: its template, and its own touches.
pub(super) fn finish(build: &mut Build<'_>) -> Result<()> {
    match build.class {
        Class::Bert | Class::ConvBert | Class::Dpr | Class::DebertaV2 => {
            // Without the token, these classes fall back on an id, and name it "None".
            let (cls_id, sep_id) = if build.class == Class::DebertaV2 { (0, 0) } else { (2, 3) };
            let token = |role: &str, id: u32| {
                let Some(token) = build.token(role) else { return ("None".to_owned(), id) };
                (token.to_owned(), build.added.id(token).unwrap_or(id))
            };
            let ((cls, cls_id), (sep, sep_id)) =
                (token("cls_token", cls_id), token("sep_token", sep_id));
            build.post_processor = Some(around(&cls, &sep, &[(&cls, cls_id), (&sep, sep_id)])?);
        }
        Class::BigBird | Class::RemBert => {
            let ((cls, cls_id), (sep, sep_id)) =
                (build.token_and_id("cls_token")?, build.token_and_id("sep_token")?);
            build.post_processor = Some(around(&cls, &sep, &[(&cls, cls_id), (&sep, sep_id)])?);
            if build.class == Class::RemBert {
                build.add_special_tokens();
            }
        }
        Class::Funnel => {
            let ((cls, cls_id), (sep, sep_id)) =
                (build.token_and_id("cls_token")?, build.token_and_id("sep_token")?);
            let single = [format!("{cls}:2"), "$A:0".to_owned(), format!("{sep}:0")];
            let second = ["$B:1".to_owned(), format!("{sep}:1")];
            let pair: Vec<String> = single.iter().chain(&second).cloned().collect();
            let ids = [(cls.as_str(), cls_id), (sep.as_str(), sep_id)];
            build.post_processor = Some(template(&single, &pair, &ids)?);
        }
        Class::XlNet => {
            let ((cls, cls_id), (sep, sep_id)) =
                (build.token_and_id("cls_token")?, build.token_and_id("sep_token")?);
            let (sep_a, cls_end) = (format!("{sep}:0"), format!("{cls}:2"));
            let single = ["$A:0".to_owned(), sep_a.clone(), cls_end.clone()];
            let second = ["$B:1".to_owned(), format!("{sep}:1"), cls_end];
            let pair = ["$A:0".to_owned(), sep_a].into_iter().chain(second);
            let pair: Vec<String> = pair.collect();
            let ids = [(sep.as_str(), sep_id), (cls.as_str(), cls_id)];
            build.post_processor = Some(template(&single, &pair, &ids)?);
        }
        Class::T5 => {
            let (_, id) = build.token_and_id("eos_token")?;
            let text = |text: &str| text.to_owned();
            let single = ["$A", "</s>"].map(text);
            let pair = ["$A", "</s>", "$B", "</s>"].map(text);
            build.post_processor = Some(template(&single, &pair, &[("</s>", id)])?);
        }
        Class::XlmRoberta | Class::Camembert => {
            build.post_processor = Some(doubled(build, "bos_token", "eos_token")?);
        }
        Class::Deberta => {
            build.post_processor = Some(doubled(build, "cls_token", "sep_token")?);
        }
        Class::Roberta | Class::MpNet => {
            let by_number = |role: &str, id: u32| match build.token(role) {
                None if build.class == Class::MpNet => Ok(("None".to_owned(), id)),
                _ => build.token_and_id(role),
            };
            let (cls, sep) = (by_number("cls_token", 0)?, by_number("sep_token", 2)?);
            let roberta = build.class == Class::Roberta;
            let flag = |name, default| match roberta {
                true => build.arguments.flag(name, default),
                false => Ok(default),
            };
            let trim_offsets = flag("trim_offsets", true)?;
            let add_prefix_space = flag("add_prefix_space", false)?;
            let processing = RobertaProcessing { sep, cls, trim_offsets, add_prefix_space };
            build.post_processor = Some(PostProcessor::Roberta(processing));
        }
        Class::Clip => {
            let (cls, sep) = (build.token_and_id("bos_token")?, build.token_and_id("eos_token")?);
            let (trim_offsets, add_prefix_space) = (false, false);
            let processing = RobertaProcessing { sep, cls, trim_offsets, add_prefix_space };
            build.post_processor = Some(PostProcessor::Roberta(processing));
        }
        Class::Herbert => {
            let (sep, cls) = (build.need("sep_token")?, build.need("cls_token")?);
            let processing = BertProcessing { sep: (sep, 2), cls: (cls, 0) };
            build.post_processor = Some(PostProcessor::Bert(processing));
        }
        Class::GptNeoX => build.post_processor = Some(parts::bare_template()),
        Class::Cohere | Class::Reformer => build.add_special_tokens(),
        Class::MBart | Class::MBart50 | Class::Nllb | Class::SeamlessM4t => {
            templates::language(build)?;
        }
        Class::Whisper => templates::transcript(build)?,
        Class::Splinter => templates::question(build)?,
        Class::Pegasus | Class::Xglm | Class::Nougat => templates::ends(build)?,
        Class::Qwen2 => {
            let named = build.roles.iter().filter_map(|(_, token)| token.as_ref());
            let tokens: Vec<Token> = named
                .chain(&build.extra)
                .map(|token| Token { special: true, ..Token::plain(token.as_str()) })
                .collect();
            build.added.add(&tokens);
        }
        Class::Siglip2 => {
            let items = [Some(Normalizer::Lowercase), build.normalizer.take()];
            build.normalizer = Some(Normalizer::Sequence(items.into_iter().flatten().collect()));
        }
        _ => {}
    }
    Ok(())
}
