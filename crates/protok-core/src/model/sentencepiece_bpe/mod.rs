//! SentencePiece's byte-pair encoding.
//!
//! A piece starts as characters and user-defined symbols (the longest that fits; they never
//! join). Two neighbours may join if the text that they spell together is a piece, whatever it
//! was joined from; the best score goes first, the leftmost of equals. What came out as an
//! `unused` piece is cut again where it was joined, and characters without a piece become byte
//! tokens or the unknown token.
//!
//! Joining works on numbers: every piece, and every character that pieces are made of, is a
//! symbol, and [`merge`] looks pairs of symbols up. Where no piece reaches across the start of a
//! word, words join independently, so a text is cut there first, and words that were seen before
//! come from the cache.
//!
//! Source: the BPE model of SentencePiece 0.2.3.

pub mod merge;
pub mod reference;

use rustc_hash::{FxHashMap, FxHashSet};

use super::bpe::pairs::Pairs;
use super::output::{Emitter, NONE, Output, Unknown, byte_tokens};
use super::random::Random;
use super::trie::Trie;
use super::unigram::{check_lengths, unknown_id};
use super::{Engine, Scratch, Symbol, Unit};
use crate::error::{Error, Result};
use crate::spec::{self, PieceKind};
use crate::vocab::Vocab;

pub use merge::MergeScratch;
use merge::Rules;

/// The mark that stands for a blank.
const MARK: &[u8] = "\u{2581}".as_bytes();

/// Pieces of this many bytes are refused, as SentencePiece does.
const TOO_LONG: usize = 8000;

/// How often an unused piece is cut before it is taken as it is.
const MOST_CUTS: u32 = 100;

/// A compiled SentencePiece BPE model.
#[derive(Debug)]
pub struct SentencePieceBpe {
    rules: Rules,
    /// User-defined pieces; the value is the symbol.
    user_defined: Trie,
    /// Single characters: their symbol.
    characters: FxHashMap<char, u32>,
    /// By symbol; the last four stand for characters in no piece, by their bytes.
    symbols: Vec<SymbolInfo>,
    cut: Cut,
    unknown: Unknown,
    /// By id, for the reference path.
    pieces: Vec<Option<(PieceKind, f32)>>,
}

#[derive(Debug, Clone, Copy)]
struct SymbolInfo {
    /// The token, or the unknown token.
    id: u32,
    bytes: u32,
    unused: bool,
}

/// Where pieces never reach across.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Nowhere,
    /// Before a mark after something else.
    BeforeMark,
    /// After a mark before something else.
    AfterMark,
}

impl SentencePieceBpe {
    /// Compiles a model. No token of `banned` can come out of it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] where scores, kinds or the unknown token do not fit the
    /// vocabulary.
    pub fn compile(
        spec: &spec::SentencePieceBpe,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
    ) -> Result<Self> {
        check_lengths(spec.vocab.len(), Some(&spec.scores), &spec.kinds)?;
        let unknown = Unknown {
            id: unknown_id(&spec.vocab, spec.unk_id)?.unwrap_or(NONE),
            bytes: spec.byte_fallback.then(|| byte_tokens(vocab, banned)),
            unit: Unit::Character,
        };
        let mut texts: Vec<(&str, u32)> = Vec::with_capacity(spec.vocab.len());
        let mut symbols = Vec::with_capacity(spec.vocab.len());
        let mut scores = Vec::with_capacity(spec.vocab.len());
        let mut user_defined = Vec::new();
        let mut pieces = vec![None; vocab.size()];
        for (place, (token, id)) in spec.vocab.iter().enumerate() {
            let at = || format!("model.vocab[{place}]");
            if token.len() >= TOO_LONG {
                return Err(Error::artifact(at(), "The piece is too long."));
            }
            let score = spec.scores[place] as f32;
            if score.is_nan() {
                return Err(Error::artifact(at(), "The score is not a number."));
            }
            let kind = spec.kinds.get(place).copied().unwrap_or_default();
            let is_text =
                matches!(kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused);
            if !is_text || banned.contains(&id) || vocab.id(token) != Some(id) || token.is_empty() {
                continue;
            }
            if token == b"\0" && kind == PieceKind::Unused {
                continue;
            }
            let text = std::str::from_utf8(token)
                .map_err(|_| Error::artifact(at(), "The piece is not UTF-8."))?;
            let symbol = symbols.len() as u32;
            if kind == PieceKind::UserDefined {
                user_defined.push((token, symbol));
            }
            pieces[id as usize] = Some((kind, score));
            texts.push((text, symbol));
            scores.push(score);
            let unused = kind == PieceKind::Unused;
            symbols.push(SymbolInfo { id, bytes: token.len() as u32, unused });
        }
        let has_unused = symbols.iter().any(|symbol| symbol.unused);
        let cut = if has_unused { Cut::Nowhere } else { Cut::of(&texts) };
        let mut characters = FxHashMap::default();
        for &(text, symbol) in &texts {
            let mut chars = text.chars();
            if let (Some(c), None) = (chars.next(), chars.next()) {
                characters.insert(c, symbol);
            }
        }
        for &(text, _) in &texts {
            for c in text.chars() {
                characters.entry(c).or_insert_with(|| {
                    let bytes = c.len_utf8() as u32;
                    symbols.push(SymbolInfo { id: unknown.id, bytes, unused: false });
                    symbols.len() as u32 - 1
                });
            }
        }
        let all = Trie::new(texts.iter().map(|&(text, symbol)| (text.as_bytes(), symbol)))?;
        let unused = if has_unused {
            symbols.iter().map(|symbol| symbol.unused).collect()
        } else {
            Vec::new()
        };
        let rules = rules(&texts, &scores, &characters, &all, &user_defined, unused);
        symbols.extend((1..=4).map(|bytes| SymbolInfo { id: unknown.id, bytes, unused: false }));
        Ok(Self {
            rules,
            user_defined: Trie::new(user_defined)?,
            characters,
            symbols,
            cut,
            unknown,
            pieces,
        })
    }

    /// Appends the symbols that a text starts from.
    fn start(&self, text: &str, out: &mut Vec<u32>) {
        let missing = self.symbols.len() as u32 - 4;
        let of =
            |c: char| self.characters.get(&c).copied().unwrap_or(missing + c.len_utf8() as u32 - 1);
        if self.user_defined.longest_key() == 0 {
            out.extend(text.chars().map(of));
            return;
        }
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let found = self.user_defined.longest(rest.as_bytes());
            let (length, symbol) = found.unwrap_or_else(|| (c.len_utf8(), of(c)));
            out.push(symbol);
            rest = rest.get(length..).unwrap_or("");
        }
    }

    /// Writes what symbols became; the first starts at byte `at`.
    fn write<O: Output>(
        &self,
        symbols: &[u32],
        mut at: usize,
        merged: &FxHashMap<u32, (u32, u32)>,
        emitter: &mut Emitter<'_, O>,
    ) -> Result<()> {
        let mut todo: Vec<(u32, u32)> = Vec::new();
        for &symbol in symbols {
            todo.push((symbol, 0));
            while let Some((symbol, cuts)) = todo.pop() {
                let info = self.symbols[symbol as usize];
                let mut id = info.id;
                if info.unused && cuts <= MOST_CUTS {
                    if let Some(&(left, right)) = merged.get(&symbol) {
                        todo.extend([(right, cuts + 1), (left, cuts + 1)]);
                        continue;
                    }
                    id = self.unknown.id;
                }
                let end = at + info.bytes as usize;
                emitter.emit(id, at, end)?;
                at = end;
            }
        }
        Ok(())
    }

    fn encode_part<O: Output>(
        &self,
        part: &str,
        at: usize,
        scratch: &mut MergeScratch,
        emitter: &mut Emitter<'_, O>,
    ) -> Result<()> {
        let mut symbols = std::mem::take(&mut scratch.symbols);
        symbols.clear();
        self.start(part, &mut symbols);
        self.rules.merge(&mut symbols, scratch);
        let written = self.write(&symbols, at, &scratch.merged, emitter);
        scratch.symbols = symbols;
        written
    }

    /// The tokens of a piece with merges left out at random (BPE-dropout), each with the bytes
    /// that it covers: a merge that comes up is dropped for good with the given chance.
    ///
    /// # Errors
    /// As [`Engine::encode`].
    pub fn sample(&self, piece: &[u8], chance: f64, random: &mut Random) -> Result<Vec<Symbol>> {
        let text = as_text(piece)?;
        let mut symbols = Vec::new();
        let mut scratch = MergeScratch::default();
        self.start(text, &mut symbols);
        self.rules
            .merge_with_dropout(&mut symbols, &mut scratch, &mut || random.uniform() < chance);
        let mut out = Vec::new();
        let mut emitter = Emitter::new(piece, &self.unknown, None, &mut out);
        self.write(&symbols, 0, &scratch.merged, &mut emitter)?;
        emitter.finish()?;
        Ok(out)
    }
}

fn as_text(piece: &[u8]) -> Result<&str> {
    std::str::from_utf8(piece).map_err(|_| Error::input("A piece of text is not UTF-8."))
}

impl Cut {
    fn of(texts: &[(&str, u32)]) -> Self {
        let crosses =
            |cut: Cut| texts.iter().any(|(text, _)| cut.next(text.as_bytes(), 0) < text.len());
        [Cut::BeforeMark, Cut::AfterMark]
            .into_iter()
            .find(|&cut| !crosses(cut))
            .unwrap_or(Cut::Nowhere)
    }

    /// The first cut in a text after byte `from`, or its end.
    fn next(self, text: &[u8], from: usize) -> usize {
        if self == Cut::Nowhere {
            return text.len();
        }
        let marks = memchr::memchr_iter(MARK[0], &text[from..]).map(|at| from + at);
        for mark in marks.filter(|&mark| text[mark..].starts_with(MARK)) {
            let (at, other) = match self {
                Cut::BeforeMark => (mark, text[..mark].ends_with(MARK)),
                _ => (mark + MARK.len(), text[mark + MARK.len()..].starts_with(MARK)),
            };
            if at > from && at < text.len() && !other {
                return at;
            }
        }
        text.len()
    }
}

/// All ways to make a piece out of two symbols, best score first.
fn rules(
    texts: &[(&str, u32)],
    scores: &[f32],
    characters: &FxHashMap<char, u32>,
    all: &Trie,
    user_defined: &[(&[u8], u32)],
    unused: Vec<bool>,
) -> Rules {
    let frozen: FxHashSet<u32> = user_defined.iter().map(|&(_, symbol)| symbol).collect();
    let mut found: Vec<(u32, u32, u32)> = Vec::with_capacity(texts.len() * 2);
    for &(text, symbol) in texts {
        let mut chars = text.chars();
        let (Some(first), Some(last)) = (chars.next(), chars.next_back()) else { continue };
        if frozen.contains(&symbol) {
            continue;
        }
        let right_of = |cut: usize| match text.len() - cut == last.len_utf8() {
            true => characters.get(&last).copied(),
            false => all.get(&text.as_bytes()[cut..]),
        };
        let mut add = |left: u32, cut: usize| {
            if let Some(right) = right_of(cut)
                && !frozen.contains(&left)
                && !frozen.contains(&right)
            {
                found.push((left, right, symbol));
            }
        };
        let cut = first.len_utf8();
        if let Some(&left) = characters.get(&first) {
            add(left, cut);
        }
        for (length, left) in all.prefixes(text.as_bytes()) {
            if length > cut && length < text.len() {
                add(left, length);
            }
        }
    }
    // Scores are no NaN; SentencePiece tells -0 from 0, and so does this order.
    found.sort_by(|a, b| scores[b.2 as usize].total_cmp(&scores[a.2 as usize]));
    let mut classes = Vec::with_capacity(found.len());
    for (at, rule) in found.iter().enumerate() {
        let same = at > 0
            && scores[rule.2 as usize].to_bits() == scores[found[at - 1].2 as usize].to_bits();
        classes.push(if same { classes[at - 1] } else { at as u32 });
    }
    Rules { pairs: Pairs::listed(&found), classes, unused }
}

impl Engine for SentencePieceBpe {
    fn encode(
        &self,
        piece: &[u8],
        _vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let text = as_text(piece)?;
        let Scratch { cache, sentencepiece, .. } = scratch;
        let mut emitter = Emitter::new(piece, &self.unknown, None, out);
        let mut start = 0;
        while start < piece.len() {
            let end = self.cut.next(piece, start);
            let part = &text[start..end];
            // A part with unknown text depends on its neighbours, which runs may join it to.
            let alone = !emitter.is_pending();
            if !(alone && cache.append_part(piece, start, end, emitter.out())) {
                let (before, unknown) = (emitter.out().len(), emitter.unknown_seen());
                self.encode_part(part, start, sentencepiece, &mut emitter)?;
                if alone && unknown == emitter.unknown_seen() {
                    cache.put(part.as_bytes(), &emitter.out()[before..]);
                }
            }
            start = end;
        }
        emitter.finish()
    }

    fn encode_spans(
        &self,
        piece: &[u8],
        _vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        let text = as_text(piece)?;
        let mut emitter = Emitter::new(piece, &self.unknown, None, out);
        let mut start = 0;
        while start < piece.len() {
            let end = self.cut.next(piece, start);
            self.encode_part(&text[start..end], start, &mut scratch.sentencepiece, &mut emitter)?;
            start = end;
        }
        emitter.finish()
    }

    fn encode_reference(&self, piece: &[u8], vocab: &Vocab, out: &mut Vec<Symbol>) -> Result<()> {
        reference::encode(self, as_text(piece)?, vocab, out)
    }

    fn can_yield(&self, ids: &FxHashSet<u32>, _vocab: &Vocab) -> bool {
        ids.iter().any(|&id| self.pieces.get(id as usize).is_some_and(Option::is_some))
    }
}

#[cfg(test)]
mod tests;
