//! What happens to a text on its way to ids, stage by stage, as the reference path did it.

use crate::added_tokens::Phase;
use crate::encoding::Source;
use crate::error::Result;
use crate::model::bpe::reference::MergeStep;
use crate::model::{Observer as ModelObserver, Symbol};
use crate::pipeline::Pipeline;
use crate::pipeline::encode::EncodeOptions;
use crate::pipeline::reference::{Observer, ReferenceToken};
use crate::text::aligned::AlignedText;
use crate::text::alphabet;

/// The trace of one text.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Trace {
    /// The text.
    pub original: String,
    /// Its stretches, in order: added tokens, and what went through the stages.
    pub sections: Vec<Section>,
    /// The result, with the template.
    pub tokens: Vec<Token>,
}

/// A stretch of the text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Section {
    /// Stage 1 found an added token.
    AddedToken {
        /// The token.
        token: Token,
        /// Whether it was found in the normalized text.
        normalized: bool,
    },
    /// Ordinary text.
    Text {
        /// The text as it came.
        text: String,
        /// Its bytes in the original.
        span: (u32, u32),
        /// What each normalizer that changed something made of it.
        steps: Vec<Step>,
        /// What the pre-tokenizer cut it into, and what the model made of that.
        pieces: Vec<Piece>,
    },
}

/// What a normalizer made of a text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Step {
    /// The normalizer.
    pub normalizer: &'static str,
    /// The text after it.
    pub text: String,
}

/// A piece and its tokens.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Piece {
    /// The text of the piece.
    pub text: String,
    /// The bytes of the original that it came from.
    pub span: (u32, u32),
    /// The symbols that merging starts from; empty if the piece was taken whole.
    pub symbols: Vec<Token>,
    /// The merges, in order.
    pub merges: Vec<Merge>,
    /// The tokens that are left.
    pub tokens: Vec<Token>,
}

/// A token.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// Its spelling in the vocabulary.
    pub token: String,
    /// The bytes of the original that it came from.
    pub span: (u32, u32),
    /// The text that it came from, 0 or 1; none for the template's.
    pub sequence: Option<usize>,
}

/// Two symbols became one.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Merge {
    /// The place of the left one among the symbols at that moment.
    pub at: usize,
    /// The rank of the pair: the lower, the earlier.
    pub rank: u32,
    /// The left symbol.
    pub left: String,
    /// The right symbol.
    pub right: String,
    /// What they became.
    pub result: String,
    /// Its id.
    pub id: u32,
}

impl Pipeline {
    /// Traces one text.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`].
    pub fn trace(&self, text: &str, options: &EncodeOptions) -> Result<Trace> {
        let mut recorder = Recorder { pipeline: self, sections: Vec::new(), piece: None };
        let tokens = self.encode_reference(text, &options.special, &mut recorder)?;
        let sections = recorder.sections;
        let encoding = self.assemble(1, options, |_, out| {
            out.extend(tokens.iter().map(|token| token.id));
            Ok(())
        })?;
        let mut result = Vec::with_capacity(encoding.ids.len());
        for part in &encoding.parts {
            for at in part.start..part.end {
                let (span, sequence) = match part.source {
                    Source::Template => ((0, 0), None),
                    Source::Text(index) => {
                        let token = tokens[part.first + at - part.start];
                        ((token.start, token.end), Some(index))
                    }
                };
                let id = encoding.ids[at];
                result.push(Token { id, token: self.spell(id), span, sequence });
            }
        }
        Ok(Trace { original: text.to_owned(), sections, tokens: result })
    }

    fn spell(&self, id: u32) -> String {
        match self.shown(id) {
            Some(token) if !token.contains('\u{fffd}') => token.into_owned(),
            // Bytes of a rank file that are not UTF-8 read better in the byte alphabet.
            _ => self.vocab().bytes(id).map(alphabet::encode).unwrap_or_default(),
        }
    }
}

struct Recorder<'a> {
    pipeline: &'a Pipeline,
    sections: Vec<Section>,
    piece: Option<AlignedText>,
}

impl Recorder<'_> {
    fn token(&self, symbol: Symbol, piece: &AlignedText) -> Token {
        let span = piece.span(symbol.start..symbol.end);
        let token = self.pipeline.spell(symbol.id);
        Token { id: symbol.id, token, span, sequence: Some(0) }
    }

    fn last_piece(&mut self) -> Option<&mut Piece> {
        match self.sections.last_mut() {
            Some(Section::Text { pieces, .. }) => pieces.last_mut(),
            _ => None,
        }
    }
}

impl ModelObserver for Recorder<'_> {
    fn symbols(&mut self, symbols: &[Symbol]) {
        let Some(piece) = self.piece.take() else { return };
        let tokens = symbols.iter().map(|&symbol| self.token(symbol, &piece)).collect();
        if let Some(last) = self.last_piece() {
            last.symbols = tokens;
        }
    }

    fn merge(&mut self, step: MergeStep) {
        let merge = Merge {
            at: step.at,
            rank: step.rank,
            left: self.pipeline.spell(step.left),
            right: self.pipeline.spell(step.right),
            result: self.pipeline.spell(step.result),
            id: step.result,
        };
        if let Some(last) = self.last_piece() {
            last.merges.push(merge);
        }
    }
}

impl Observer for Recorder<'_> {
    fn added_token(&mut self, token: ReferenceToken, phase: Phase) {
        let token = Token {
            id: token.id,
            token: self.pipeline.spell(token.id),
            span: (token.start, token.end),
            sequence: Some(0),
        };
        let normalized = phase == Phase::Normalized;
        self.sections.push(Section::AddedToken { token, normalized });
    }

    fn section(&mut self, text: &AlignedText) {
        self.sections.push(Section::Text {
            text: text.text().to_owned(),
            span: text.span(0..text.text().len()),
            steps: Vec::new(),
            pieces: Vec::new(),
        });
    }

    fn normalized(&mut self, step: &'static str, text: &AlignedText) {
        if let Some(Section::Text { steps, .. }) = self.sections.last_mut() {
            steps.push(Step { normalizer: step, text: text.text().to_owned() });
        }
    }

    fn piece(&mut self, piece: &AlignedText) {
        let recorded = Piece {
            text: piece.text().to_owned(),
            span: piece.span(0..piece.text().len()),
            symbols: Vec::new(),
            merges: Vec::new(),
            tokens: Vec::new(),
        };
        self.piece = Some(piece.clone());
        match self.sections.last_mut() {
            Some(Section::Text { pieces, .. }) => pieces.push(recorded),
            // After an added token in the normalized text the section goes on.
            _ => {
                let (text, span) = (recorded.text.clone(), recorded.span);
                let (steps, pieces) = (Vec::new(), vec![recorded]);
                self.sections.push(Section::Text { text, span, steps, pieces });
            }
        }
    }

    fn tokens(&mut self, tokens: &[Symbol], piece: &AlignedText) {
        let tokens = tokens.iter().map(|&symbol| self.token(symbol, piece)).collect();
        if let Some(last) = self.last_piece() {
            last.tokens = tokens;
        }
    }
}
