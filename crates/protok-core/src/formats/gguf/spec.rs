//! The Spec of each kind of tokenizer that llama.cpp has.

use base64::Engine as _;

use super::pre::Spelling;
use super::{Header, pre, special};
use crate::error::{Error, Result};
use crate::formats::{rwkv, vocab_txt};
use crate::spec::{
    Bpe, ByteLevel, Decoder, LlamaCppBlanks, LlamaCppDecoder, LlamaCppSpelling, LlamaCppWords,
    Merges, Model, Normalizer, Pattern, PieceKind, PostProcessor, PreTokenizer, Prepend, Replace,
    Semantics, SentencePieceBpe, SequenceName, Spec, Split, SplitBehavior, TemplateItem,
    TemplateProcessing, TemplateToken, TokenList, Unigram, WordPiece,
};
use crate::vocab::{SeededMap, SeededSet};

const TOKENS: &str = "tokenizer.ggml.tokens";
const MARK: &str = "\u{2581}";

/// Puts the tokenizer together.
///
/// # Errors
/// An artifact error with the key of what cannot run exactly.
pub(super) fn assemble(
    header: &Header<'_>,
    tokens: &[String],
    ids: &SeededMap<&str, u32>,
    kinds: &[PieceKind],
) -> Result<Spec> {
    let parts = Parts { header, tokens, ids, kinds };
    match header.model {
        "llama" => parts.sentencepiece(),
        "bert" => parts.bert(),
        "t5" => parts.unigram(),
        "gpt2" | "gemma4" | "whitespace" => parts.bpe(),
        "rwkv" => parts.rwkv(),
        other => Err(Error::artifact(
            "tokenizer.ggml.model",
            format!("The tokenizer model {other:?} cannot be loaded."),
        )
        .value(other)
        .hint("llama, bert, t5, gpt2, gemma4, whitespace and rwkv can; or load the model's own tokenizer files.")),
    }
}

struct Parts<'p> {
    header: &'p Header<'p>,
    tokens: &'p [String],
    ids: &'p SeededMap<&'p str, u32>,
    kinds: &'p [PieceKind],
}

impl Parts<'_> {
    fn flag(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.header.metadata.bool(&format!("tokenizer.ggml.{name}"))?.unwrap_or(default))
    }

    fn refuse_flag(&self, name: &str, only: bool) -> Result<()> {
        if self.flag(name, only)? == only {
            return Ok(());
        }
        Err(Error::artifact(
            format!("tokenizer.ggml.{name}"),
            "This setting has no meaning for this tokenizer model.",
        ))
    }

    fn vocab(&self) -> Result<TokenList> {
        let bytes = self.tokens.iter().map(String::len).sum();
        let mut vocab = TokenList::with_capacity(self.tokens.len(), bytes);
        for (token, id) in self.tokens.iter().zip(0u32..) {
            vocab
                .push(token.as_bytes(), id)
                .map_err(|error| Error::artifact(TOKENS, format!("{error}.")))?;
        }
        Ok(vocab)
    }

    fn decoder(&self, spelling: LlamaCppSpelling, strip: bool, clean: bool) -> Decoder {
        Decoder::LlamaCpp(LlamaCppDecoder {
            kinds: self.kinds.to_vec(),
            spelling,
            strip_first_blank: strip,
            clean_spaces: clean,
        })
    }

    fn spec(&self, model: Model, decoder: Decoder) -> Result<Spec> {
        Ok(Spec {
            semantics: Semantics::LlamaCpp,
            normalizer: None,
            pre_tokenizer: None,
            model,
            post_processor: None,
            decoder: Some(decoder),
            added_tokens: special::added_tokens(self.header, self.tokens, self.kinds)?,
            truncation: None,
            padding: None,
        })
    }

    /// The tokens that are put before and after a text.
    fn around(
        &self,
        add_bos: bool,
        bos: Option<u32>,
        add_eos: bool,
        eos: Option<u32>,
    ) -> Result<Option<PostProcessor>> {
        let mut special: Vec<(String, TemplateToken)> = Vec::new();
        let mut ends = Vec::new();
        for (name, add, id) in [("bos", add_bos, bos), ("eos", add_eos, eos)] {
            if !add {
                ends.push(None);
                continue;
            }
            let id = self.header.token(&format!("{name}_token_id"), id)?.ok_or_else(|| {
                Error::artifact(
                    format!("tokenizer.ggml.{name}_token_id"),
                    "The token is to be added to every text, but there is none.",
                )
            })?;
            let token = self.tokens[id as usize].clone();
            let entry =
                TemplateToken { id: token.clone(), ids: vec![id], tokens: vec![token.clone()] };
            if !special.iter().any(|(known, _)| *known == token) {
                special.push((token.clone(), entry));
            }
            ends.push(Some(token));
        }
        special.sort_by(|a, b| a.0.cmp(&b.0));
        if special.is_empty() {
            return Ok(None);
        }
        let end = |at: usize, type_id| {
            let token: Option<String> = ends.get(at).cloned().flatten();
            token.map(|id| TemplateItem::SpecialToken { id, type_id })
        };
        let text = |id, type_id| TemplateItem::Sequence { id, type_id };
        let a = text(SequenceName::A, 0);
        let single = end(0, 0).into_iter().chain([a.clone()]).chain(end(1, 0)).collect();
        let both = [a, text(SequenceName::B, 1)];
        let pair = end(0, 0).into_iter().chain(both).chain(end(1, 1)).collect();
        Ok(Some(PostProcessor::Template(TemplateProcessing {
            single,
            pair,
            special_tokens: special,
        })))
    }

    /// SPM: a blank before every section, then pieces joined by score.
    fn sentencepiece(&self) -> Result<Spec> {
        self.refuse_flag("remove_extra_whitespaces", false)?;
        let prefix = self.flag("add_space_prefix", true)?;
        self.need_byte_tokens()?;
        let escape = blanks_to_marks();
        let normalizer = match prefix {
            true => {
                let prepend = Normalizer::Prepend(Prepend { prepend: MARK.to_owned() });
                Normalizer::Sequence(vec![prepend, escape])
            }
            false => escape,
        };
        let model = Model::SentencePieceBpe(SentencePieceBpe {
            vocab: self.vocab()?,
            scores: self.scores()?,
            kinds: Vec::new(),
            unk_id: None,
            byte_fallback: true,
        });
        let decoder = self.decoder(LlamaCppSpelling::Marks, prefix, false);
        Ok(Spec {
            normalizer: Some(normalizer),
            post_processor: self.around(
                self.flag("add_bos_token", true)?,
                Some(1),
                self.flag("add_eos_token", false)?,
                Some(2),
            )?,
            ..self.spec(model, decoder)?
        })
    }

    /// The score of each token. Minus zero is zero to llama.cpp.
    fn scores(&self) -> Result<Vec<f64>> {
        const KEY: &str = "tokenizer.ggml.scores";
        match self.header.metadata.floats(KEY)? {
            None => Ok(vec![0.0; self.tokens.len()]),
            Some(scores) if scores.len() < self.tokens.len() => {
                Err(Error::artifact(KEY, "There are fewer scores than tokens."))
            }
            Some(scores) => {
                let scores = scores.iter().take(self.tokens.len());
                Ok(scores.map(|&score| f64::from(score + 0.0)).collect())
            }
        }
    }

    /// UGM: of all ways to cut a text, the one that scores most.
    fn unigram(&self) -> Result<Spec> {
        const CHARSMAP: &str = "tokenizer.ggml.precompiled_charsmap";
        // Its pieces were settled before any correction of kinds.
        let kinds = special::listed(self.header)?;
        let undefined = kinds.iter().position(Option::is_none);
        if let Some(place) = undefined {
            return Err(Error::artifact(
                format!("{}[{place}]", special::TYPES),
                "The type of the token is not known.",
            ));
        }
        let kinds: Vec<PieceKind> = kinds.into_iter().flatten().collect();
        let unk = self.header.token("unknown_token_id", Some(2))?.ok_or_else(|| {
            Error::artifact("tokenizer.ggml.unknown_token_id", "There is no unknown token.")
        })?;
        if !matches!(kinds[unk as usize], PieceKind::Unknown | PieceKind::Control) {
            return Err(Error::artifact(
                format!("{}[{unk}]", special::TYPES),
                "The unknown token is one that text yields.",
            )
            .hint("Mark it as unknown, type 2."));
        }
        let prefix = self.flag("add_space_prefix", false)?;
        let charsmap = self.header.metadata.bytes(CHARSMAP)?.filter(|map| !map.is_empty());
        let protected = self.tokens.iter().zip(&kinds);
        let protected = protected
            .filter(|(_, kind)| **kind == PieceKind::UserDefined)
            .map(|(token, _)| token.clone());
        let normalizer = Normalizer::LlamaCppBlanks(LlamaCppBlanks {
            precompiled_charsmap: charsmap
                .map(|map| base64::engine::general_purpose::STANDARD.encode(map)),
            add_space_prefix: prefix,
            remove_extra_whitespaces: self.flag("remove_extra_whitespaces", false)?,
            protected: protected.collect(),
        });
        let model = Model::Unigram(Unigram {
            vocab: self.vocab()?,
            scores: self.scores()?,
            kinds,
            unk_id: Some(unk as usize),
            byte_fallback: false,
        });
        let decoder = self.decoder(LlamaCppSpelling::Marks, prefix, false);
        Ok(Spec {
            normalizer: Some(normalizer),
            post_processor: self.around(
                self.flag("add_bos_token", false)?,
                None,
                self.flag("add_eos_token", true)?,
                Some(1),
            )?,
            ..self.spec(model, decoder)?
        })
    }

    /// WPM: words with a mark in front, each cut into the longest tokens.
    fn bert(&self) -> Result<Spec> {
        self.refuse_flag("add_space_prefix", false)?;
        let lowercase = self.flag("normalizer.lowercase", true)?;
        let strip_accents = self.flag("normalizer.strip_accents", lowercase)?;
        let role = |key: &str, default| {
            self.header.token(key, Some(default))?.ok_or_else(|| {
                Error::artifact(format!("tokenizer.ggml.{key}"), "The file has no such token.")
            })
        };
        let named = |id: u32| (self.tokens[id as usize].clone(), id);
        let bos = named(role("bos_token_id", 101)?);
        let sep = named(role("seperator_token_id", 102)?);
        let unk = role("unknown_token_id", 100)?;
        let model = Model::WordPiece(WordPiece {
            vocab: self.vocab()?,
            unk_token: self.tokens[unk as usize].clone(),
            continuing_subword_prefix: String::new(),
            max_input_chars_per_word: usize::MAX,
        });
        let decoder = self.decoder(LlamaCppSpelling::Marks, false, true);
        Ok(Spec {
            normalizer: Some(Normalizer::LlamaCppWords(LlamaCppWords { lowercase, strip_accents })),
            pre_tokenizer: Some(PreTokenizer::WhitespaceSplit),
            post_processor: Some(vocab_txt::around(bos, sep)),
            ..self.spec(model, decoder)?
        })
    }

    /// BPE: patterns one after the other, then merges.
    fn bpe(&self) -> Result<Spec> {
        let pre = pre::named(self.header.pre)?;
        self.refuse_flag("add_space_prefix", false)?;
        if (pre.spelling == Spelling::Words) != (self.header.model == "whitespace") {
            return Err(Error::artifact(
                "tokenizer.ggml.pre",
                format!(
                    "The pre-tokenizer {:?} does not go with the tokenizer model {:?}.",
                    self.header.pre, self.header.model
                ),
            )
            .hint("The two named \"whitespace\" go with one another only."));
        }
        let marks = matches!(pre.spelling, Spelling::Marks | Spelling::Gemma);
        let mut cuts: Vec<PreTokenizer> = pre
            .patterns
            .iter()
            .map(|pattern| {
                PreTokenizer::Split(Split {
                    pattern: Pattern::Regex((*pattern).to_owned()),
                    behavior: SplitBehavior::Isolated,
                    invert: false,
                    semantics: Semantics::LlamaCpp,
                })
            })
            .collect();
        let mut normalizer = None;
        match pre.spelling {
            Spelling::Alphabet => cuts.push(PreTokenizer::ByteLevel(ByteLevel {
                add_prefix_space: false,
                trim_offsets: false,
                use_regex: false,
            })),
            Spelling::Marks | Spelling::Gemma => normalizer = Some(blanks_to_marks()),
            Spelling::Words => {
                cuts.push(PreTokenizer::WhitespaceSplit);
                let lowercase = self.flag("normalizer.lowercase", false)?;
                normalizer = lowercase.then_some(Normalizer::Lowercase);
            }
        }
        let byte_fallback = match pre.spelling {
            Spelling::Alphabet => false,
            Spelling::Words if !self.byte_tokens().any(|id| id.is_some()) => false,
            Spelling::Marks | Spelling::Gemma | Spelling::Words => {
                self.need_byte_tokens()?;
                true
            }
        };
        let merges = self.merges()?;
        if byte_fallback {
            self.refuse_merged_bytes(&merges)?;
        }
        let model = Model::Bpe(Bpe {
            vocab: self.vocab()?,
            merges: Merges::Listed(merges),
            dropout: None,
            unk_token: None,
            continuing_subword_prefix: None,
            end_of_word_suffix: None,
            fuse_unk: false,
            byte_fallback,
            ignore_merges: pre.ignore_merges,
            whole_line_ends: pre.spelling == Spelling::Gemma,
        });
        let spelling = if marks { LlamaCppSpelling::Marks } else { LlamaCppSpelling::ByteAlphabet };
        let decoder = self.decoder(spelling, false, pre.clean_spaces);
        let end = (self.header.model != "gemma4").then_some(11);
        let add_bos = self.flag("add_bos_token", pre.add_bos)? || pre.spelling == Spelling::Gemma;
        Ok(Spec {
            normalizer,
            pre_tokenizer: Some(PreTokenizer::Sequence(cuts)),
            post_processor: self.around(add_bos, end, self.flag("add_eos_token", false)?, end)?,
            ..self.spec(model, decoder)?
        })
    }

    /// The token of each byte, where there is one.
    fn byte_tokens(&self) -> impl Iterator<Item = Option<u32>> {
        (0..=255u8).map(|byte| self.ids.get(format!("<0x{byte:02X}>").as_str()).copied())
    }

    fn need_byte_tokens(&self) -> Result<()> {
        let Some(byte) = self.byte_tokens().position(|id| id.is_none()) else { return Ok(()) };
        let token = format!("<0x{byte:02X}>");
        Err(Error::artifact(TOKENS, format!("The byte token {token} is missing.")).value(token))
    }

    /// llama.cpp spells bytes when all merges are done.
    fn refuse_merged_bytes(&self, merges: &[(u32, u32)]) -> Result<()> {
        let bytes: SeededSet<u32> = self.byte_tokens().flatten().collect();
        let merged = |&(left, right): &(u32, u32)| bytes.contains(&left) || bytes.contains(&right);
        let Some(place) = merges.iter().position(merged) else { return Ok(()) };
        Err(Error::artifact(
            format!("tokenizer.ggml.merges[{place}]"),
            "The merge has a byte token, which stands for text here.",
        ))
    }

    /// The merges; of a pair that is there twice the first counts.
    fn merges(&self) -> Result<Vec<(u32, u32)>> {
        const KEY: &str = "tokenizer.ggml.merges";
        let list = self.header.metadata.strings(KEY)?.ok_or_else(|| {
            Error::artifact(KEY, "The file has no merges, which this tokenizer needs.")
        })?;
        let mut merges = Vec::with_capacity(list.len());
        let mut seen = SeededSet::default();
        let mut joined = String::new();
        for (place, merge) in list.iter().enumerate() {
            let bad = |what: &str| Error::artifact(format!("{KEY}[{place}]"), what);
            let merge = std::str::from_utf8(merge).map_err(|_| bad("The merge is not UTF-8."))?;
            // A blank that the merge starts with belongs to its first token.
            let first = merge.chars().next().map_or(0, char::len_utf8);
            let Some(cut) = merge[first..].find(' ').map(|at| at + first) else {
                return Err(bad("The merge does not have two tokens.").value(merge));
            };
            let (left, right) = (&merge[..cut], &merge[cut + 1..]);
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            let id = |token: &str| self.ids.get(token).copied();
            let (Some(left), Some(right), Some(_)) = (id(left), id(right), id(&joined)) else {
                return Err(bad("A token of the merge is not in the vocabulary.").value(merge));
            };
            if seen.insert((left, right)) {
                merges.push((left, right));
            }
        }
        Ok(merges)
    }

    /// RWKV: the longest token again and again.
    fn rwkv(&self) -> Result<Spec> {
        let tokens: Vec<Vec<u8>> = self.tokens.iter().map(|token| rwkv_bytes(token)).collect();
        let single: SeededSet<u8> =
            tokens.iter().filter(|token| token.len() == 1).map(|token| token[0]).collect();
        if single.len() < 256 {
            return Err(Error::artifact(TOKENS, "The vocabulary does not have every byte.")
                .hint("Text could not be covered."));
        }
        let pairs = tokens.iter().map(Vec::as_slice).zip(0u32..);
        let plain = rwkv::spec(pairs, Semantics::LlamaCpp)?;
        self.spec(plain.model, self.decoder(LlamaCppSpelling::Bytes, false, false))
    }
}

fn blanks_to_marks() -> Normalizer {
    Normalizer::Replace(Replace {
        pattern: Pattern::String(" ".to_owned()),
        content: MARK.to_owned(),
    })
}

/// The bytes of a token of an RWKV vocabulary, which is escaped.
fn rwkv_bytes(token: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(token.len());
    let mut bytes = token.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(escape) = bytes.next() else { break };
        match escape {
            b't' => out.push(b'\t'),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b'x' => {
                let digit =
                    |byte: u8| byte.wrapping_sub(if byte >= b'a' { b'a' - 10 } else { b'0' });
                let (Some(high), Some(low)) = (bytes.next(), bytes.next()) else { break };
                out.push((digit(high) << 4).wrapping_add(digit(low)));
            }
            other => out.push(other),
        }
    }
    out
}
