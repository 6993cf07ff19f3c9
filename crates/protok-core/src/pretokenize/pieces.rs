//! A compiled pre-tokenizer: steps that cut pieces or rewrite them, one after the other.
//!
//! GPT-2's byte alphabet is not written out where it comes last: a piece stays the bytes it is,
//! and the model reads them as the alphabet would spell them. Steps after it see its characters.
//!
//! The fast path, [`PreTokenizer::for_each_piece`], goes through the steps piece by piece, in
//! memory that the longest piece bounds; the reference, [`PreTokenizer::pieces_aligned`], takes
//! all pieces through one step after the other.

use crate::error::{Error, Result};
use crate::pattern::Matcher;
use crate::spec::{self, Semantics};
use crate::text::aligned::AlignedText;
use crate::text::alignment::Alignment;
use crate::text::alphabet;
use crate::text::edits::Edits;
use crate::text::seam::letters;

use super::Splitter;
use super::cut::Cut;
pub use super::rewrite::Place;
use super::rewrite::{Mark, head_after, spelled_length};

/// So many steps may follow one another: the fast path goes down one level for each.
const MOST_STEPS: usize = 256;

/// So often the byte alphabet may be written out: each time may double the text.
const MOST_SPELLED: usize = 4;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct PreTokenizer {
    steps: Vec<Step>,
    bytes: Option<ByteLevel>,
}

#[derive(Debug)]
enum Step {
    Cut(Cut),
    Mark(Mark),
    /// The byte alphabet, written out.
    Spell(ByteLevel),
}

#[derive(Debug)]
struct ByteLevel {
    add_prefix_space: bool,
    cut: Option<Splitter>,
}

/// What becomes of a [seam](crate::text::seam).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtSeams {
    /// A piece ends there, and the next begins.
    Cuts,
    /// A piece goes on, whatever is on either side.
    GoesOn,
    /// It is not known that what happens on one side does not depend on the other.
    Unknown,
}

/// The memory of one step.
#[derive(Debug, Default)]
struct Buffer {
    prefixed: String,
    text: String,
    edits: Edits,
}

/// How a section begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginning {
    /// How many of its bytes come from the start of the original ([`Alignment::head`]; 0 if
    /// [`PreTokenizer::asks_for_head`] says no).
    pub head: usize,
    /// Whether it goes on after bytes that are no text: nothing is put in front of it.
    pub goes_on: bool,
}

impl Beginning {
    /// A section that does not go on after bytes.
    #[must_use]
    pub fn of_text(head: usize) -> Self {
        Self { head, goes_on: false }
    }
}

/// What is known of the text that is cut.
#[derive(Clone, Copy)]
struct Trail<'a> {
    place: Place<'a>,
    /// Whether the place is asked for; else it means nothing after a step that rewrites.
    placed: bool,
    /// How many bytes at its start come from the start of the original.
    head: usize,
    /// See [`Beginning::goes_on`].
    goes_on: bool,
}

impl Trail<'_> {
    fn part(self, start: usize) -> Self {
        let place = if self.placed { self.place.advanced(start) } else { self.place };
        Self {
            place,
            head: self.head.saturating_sub(start),
            goes_on: self.goes_on && start == 0,
            ..self
        }
    }
}

type Report<'r> = &'r mut dyn FnMut(&[u8], Place<'_>) -> Result<()>;

impl PreTokenizer {
    /// Compiles the pre-tokenizer of a spec. A rank file's pieces are bytes without any mark.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for a bad pattern or setting.
    pub fn compile(spec: Option<&spec::PreTokenizer>, semantics: Semantics) -> Result<Self> {
        let mut compiled = Self::default();
        if let Some(spec) = spec {
            compiled.add(spec).map_err(|error| error.within("pre_tokenizer"))?;
        }
        if matches!(semantics, Semantics::Tiktoken | Semantics::Mistral) {
            compiled.spell();
            compiled.bytes = Some(ByteLevel { add_prefix_space: false, cut: None });
        }
        let spelled = compiled.steps.iter().filter(|step| matches!(step, Step::Spell(_))).count();
        for (count, most, what) in [
            (compiled.steps.len(), MOST_STEPS, "There are too many steps."),
            (spelled, MOST_SPELLED, "The byte alphabet is written out too often."),
        ] {
            if count > most {
                return Err(Error::artifact("pre_tokenizer", what)
                    .hint(format!("At most {most} can run one after the other."))
                    .value(count.to_string()));
            }
        }
        Ok(compiled)
    }

    fn add(&mut self, spec: &spec::PreTokenizer) -> Result<()> {
        use spec::PreTokenizer as Spec;
        if let Spec::Sequence(items) = spec {
            for (index, item) in items.iter().enumerate() {
                self.add(item).map_err(|error| error.within(&format!("pretokenizers[{index}]")))?;
            }
            return Ok(());
        }
        // Whatever comes after the alphabet sees it written out.
        self.spell();
        match spec {
            Spec::ByteLevel(byte_level) => {
                self.bytes = Some(ByteLevel {
                    add_prefix_space: byte_level.add_prefix_space,
                    cut: byte_level.use_regex.then(Splitter::gpt2).transpose()?,
                });
            }
            Spec::Metaspace(metaspace) => self.steps.push(Step::Mark(Mark::compile(*metaspace))),
            spec => self.steps.extend(Cut::compile(spec)?.map(Step::Cut)),
        }
        Ok(())
    }

    fn spell(&mut self) {
        self.steps.extend(self.bytes.take().map(Step::Spell));
    }

    /// Whether pieces are read as bytes, so that any bytes can be encoded.
    #[must_use]
    pub fn yields_bytes(&self) -> bool {
        self.bytes.is_some()
    }

    /// Whether the pieces depend on where in the original a section stands, so that
    /// [`Self::for_each_piece`] must be told its `head`.
    #[must_use]
    pub fn asks_for_head(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Mark(mark) if mark.asks_for_start()))
    }

    /// What becomes of a [seam](crate::text::seam) whose blank is `blank`: what the last step does
    /// there that it reaches, the blank as the model sees it, and whether the first piece of a part
    /// may get something in front that it would not get within a text, or the other way round.
    #[must_use]
    pub fn at_seams(&self, blank: char) -> (AtSeams, char, bool) {
        let letters: Vec<char> = letters().collect();
        let (at, seen, _) = self.at_cut(&letters, blank, false);
        let puts = |step: &Step| match step {
            Step::Cut(_) => false,
            Step::Mark(_) => true,
            Step::Spell(bytes) => bytes.add_prefix_space,
        };
        let last = self.bytes.as_ref().is_some_and(|bytes| bytes.add_prefix_space);
        (at, seen, self.steps.iter().any(puts) || last)
    }

    /// What becomes of the place before `blank`, where one of `before` is in front and anything may
    /// be behind, and the blank as the model sees it; nothing where the piece behind might get
    /// something in front within a text.
    #[must_use]
    pub fn at_joint(&self, before: char, blank: char) -> Option<(AtSeams, char)> {
        let (at, seen, marked) = self.at_cut(&[before], blank, true);
        (!marked).then_some((at, seen))
    }

    /// Whether a piece certainly goes on between these characters, where [`Self::at_joint`] says that
    /// it does; there it says so as well where only the model does not care.
    #[must_use]
    pub fn never_cuts(&self, before: char, mut blank: char) -> bool {
        let mut none = |step: &Step| match step {
            Step::Cut(cut) => cut.looks_for_neither(before, blank),
            Step::Mark(mark) => {
                blank = if blank == ' ' { mark.mark() } else { blank };
                !mark.splits()
            }
            Step::Spell(_) => false,
        };
        self.steps.iter().all(&mut none) && self.bytes.is_none()
    }

    /// Whether pieces depend on where in a text they are.
    #[must_use]
    pub fn cares_for_ends(&self) -> bool {
        let puts = |step: &Step| match step {
            Step::Cut(cut) => cut.counts(),
            Step::Mark(_) => true,
            Step::Spell(bytes) => bytes.add_prefix_space,
        };
        self.steps.iter().any(puts)
            || self.bytes.as_ref().is_some_and(|bytes| bytes.add_prefix_space)
    }

    /// Whether it does the same before `blank` behind any letter as behind `a`: see
    /// [`Self::at_joint`].
    #[must_use]
    pub fn takes_letters_alike(&self, blank: char) -> bool {
        let bytes = self.bytes.as_ref().is_none_or(ByteLevel::is_plain);
        bytes
            && self.steps.iter().all(|step| match step {
                Step::Cut(cut) => cut.takes_letters_alike(blank),
                Step::Mark(_) => true,
                Step::Spell(_) => false,
            })
    }

    /// What the last step does that a cut reaches, the blank then, and whether some step puts a mark
    /// in front of a piece that starts with the blank.
    fn at_cut(&self, before: &[char], mut blank: char, anything: bool) -> (AtSeams, char, bool) {
        let (mut at, mut marked) = (AtSeams::GoesOn, false);
        let at_bytes = |bytes: &ByteLevel, blank: char, marked: &mut bool| {
            *marked |= bytes.add_prefix_space && blank != ' ';
            let cut = bytes.cut.as_ref();
            cut.map_or(AtSeams::GoesOn, |cut| cut.at_seams(before, blank, anything))
        };
        for step in &self.steps {
            let here = match step {
                Step::Cut(cut) => cut.at_seams(before, blank, anything),
                Step::Mark(mark) => {
                    blank = if blank == ' ' { mark.mark() } else { blank };
                    let at_mark = blank == mark.mark();
                    marked |= !at_mark;
                    if at_mark && mark.splits() { AtSeams::Cuts } else { AtSeams::GoesOn }
                }
                Step::Spell(bytes) => {
                    let at = at_bytes(bytes, blank, &mut marked);
                    blank = if blank == ' ' { '\u{120}' } else { blank };
                    at
                }
            };
            at = if at == AtSeams::GoesOn { here } else { at };
            let dropped = matches!(step, Step::Cut(cut) if cut.drops(blank));
            if at == AtSeams::Unknown || (here == AtSeams::Cuts && dropped) {
                return (at, blank, marked);
            }
        }
        if let Some(bytes) = &self.bytes {
            let here = at_bytes(bytes, blank, &mut marked);
            at = if at == AtSeams::GoesOn { here } else { at };
        }
        (at, blank, marked)
    }

    /// The engine of each pattern, in order.
    #[must_use]
    pub fn engines(&self) -> Vec<&'static str> {
        let of_bytes = |bytes: &ByteLevel| bytes.cut.as_ref().map(Splitter::engine);
        self.steps
            .iter()
            .filter_map(|step| match step {
                Step::Cut(cut) => cut.engine(),
                Step::Spell(bytes) => of_bytes(bytes),
                Step::Mark(_) => None,
            })
            .chain(self.bytes.as_ref().and_then(of_bytes))
            .collect()
    }

    /// Calls `report` with the bytes of each piece of a section, in order.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if a pattern reaches its bound, and what `report` returns.
    #[inline]
    pub fn for_each_piece(
        &self,
        text: &str,
        beginning: Beginning,
        mut report: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if let Some(cut) = self.only_pattern() {
            return cut.for_each_piece(text, |start, end| report(&text.as_bytes()[start..end]));
        }
        self.walk_section(text, beginning, false, &mut |piece, _| report(piece))
    }

    /// The pattern whose matches are the pieces of any section, if they tile it.
    #[inline]
    #[must_use]
    pub fn tiling(&self) -> Option<&Matcher> {
        self.only_pattern()?.tiling()
    }

    /// As [`Self::for_each_piece`], with the place that each piece has in the section.
    ///
    /// # Errors
    /// As there.
    pub fn for_each_placed_piece(
        &self,
        text: &str,
        beginning: Beginning,
        mut report: impl FnMut(&[u8], Place<'_>) -> Result<()>,
    ) -> Result<()> {
        if let Some(cut) = self.only_pattern() {
            return cut.for_each_piece(text, |start, end| {
                report(&text.as_bytes()[start..end], Place::Slice { start, inserted: 0 })
            });
        }
        if self.rewrites_once() {
            return self.walk_section(text, beginning, true, &mut report);
        }
        // Rewriting what was rewritten is rare enough to take the reference's way.
        let pieces = self.pieces_from(AlignedText::new(text, 0), beginning.goes_on, |piece| {
            piece.span(0..1).0 < beginning.head as u32
        })?;
        pieces.iter().try_for_each(|piece| report(piece.text().as_bytes(), Place::Aligned(piece)))
    }

    /// The pattern, if cutting there is all there is to do.
    #[inline]
    fn only_pattern(&self) -> Option<&Splitter> {
        match (self.steps.as_slice(), &self.bytes) {
            ([Step::Cut(Cut::Pattern(cut))], bytes)
                if bytes.as_ref().is_none_or(ByteLevel::is_plain) =>
            {
                Some(cut)
            }
            ([], Some(ByteLevel { add_prefix_space: false, cut: Some(cut) })) => Some(cut),
            _ => None,
        }
    }

    /// Whether no byte is rewritten twice.
    fn rewrites_once(&self) -> bool {
        let prefixes = |bytes: &ByteLevel| usize::from(bytes.add_prefix_space);
        let steps: usize = self
            .steps
            .iter()
            .map(|step| match step {
                Step::Cut(_) => 0,
                Step::Mark(_) => 1,
                Step::Spell(bytes) => 1 + prefixes(bytes),
            })
            .sum();
        steps + self.bytes.as_ref().map_or(0, prefixes) <= 1
    }

    fn walk_section(
        &self,
        text: &str,
        Beginning { head, goes_on }: Beginning,
        placed: bool,
        report: Report<'_>,
    ) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let mut buffers: Vec<Buffer> = self.steps.iter().map(|_| Buffer::default()).collect();
        let place = Place::Slice { start: 0, inserted: 0 };
        let trail = Trail { place, placed, head, goes_on };
        self.walk(&self.steps, &mut buffers, text, trail, report)
    }

    /// Takes a text through the steps that are left.
    fn walk(
        &self,
        steps: &[Step],
        buffers: &mut [Buffer],
        text: &str,
        trail: Trail<'_>,
        report: Report<'_>,
    ) -> Result<()> {
        let ([step, steps @ ..], [buffer, buffers @ ..]) = (steps, buffers) else {
            return match &self.bytes {
                None => report(text.as_bytes(), trail.place),
                Some(bytes) => {
                    bytes.for_each_piece(text, trail, &mut String::new(), |piece, trail| {
                        report(piece.as_bytes(), trail.place)
                    })
                }
            };
        };
        match step {
            Step::Cut(cut) => cut.for_each_piece(text, |start, end| {
                self.walk(steps, buffers, &text[start..end], trail.part(start), report)
            }),
            Step::Mark(mark) => {
                let Buffer { text: marked, edits, .. } = buffer;
                edits.clear();
                let before = mark.before(text, trail.head > 0, trail.goes_on);
                if trail.placed || trail.head > 0 {
                    mark.edits(text, before, edits);
                }
                marked.clear();
                mark.rewrite(text, before, marked);
                let alignment = trail.placed.then(|| Alignment::default().rewritten(edits));
                let trail = trail.rewritten(alignment.as_ref(), head_after(trail.head, edits));
                mark.for_each_piece(marked, |start, end| {
                    self.walk(steps, buffers, &marked[start..end], trail.part(start), report)
                })
            }
            Step::Spell(bytes) => {
                let Buffer { prefixed, text: spelled, edits } = buffer;
                bytes.for_each_piece(text, trail, prefixed, |piece, trail| {
                    edits.clear();
                    alphabet::spell(piece, edits);
                    spelled.clear();
                    spelled.push_str(&edits.apply(piece));
                    let alignment = trail.placed.then(|| Alignment::default().rewritten(edits));
                    let head = spelled_length(piece, trail.head.min(piece.len()));
                    let trail = trail.rewritten(alignment.as_ref(), head);
                    self.walk(steps, buffers, spelled, trail, report)
                })
            }
        }
    }

    /// The pieces of a section, each with where it came from.
    ///
    /// # Errors
    /// As [`Self::for_each_piece`].
    pub fn pieces_aligned(&self, text: AlignedText) -> Result<Vec<AlignedText>> {
        let starts = text.starts_original();
        self.pieces_from(text, false, |piece| starts && piece.starts_original())
    }

    /// The pieces of a text; `is_first` says whether one comes from the start of the original.
    fn pieces_from(
        &self,
        text: AlignedText,
        goes_on: bool,
        is_first: impl Fn(&AlignedText) -> bool,
    ) -> Result<Vec<AlignedText>> {
        let mut pieces = vec![text];
        pieces.retain(|piece| !piece.is_empty());
        for step in &self.steps {
            pieces = match step {
                Step::Cut(cut) => cut_aligned(&pieces, |text, ranges| cut.split(text, ranges))?,
                Step::Mark(mark) => {
                    for (index, piece) in pieces.iter_mut().enumerate() {
                        let mut edits = Edits::default();
                        let before =
                            mark.before(piece.text(), is_first(piece), goes_on && index == 0);
                        mark.edits(piece.text(), before, &mut edits);
                        piece.apply(&edits);
                    }
                    cut_aligned(&pieces, |text, ranges| {
                        mark.for_each_piece(text, |start, end| {
                            ranges.push((start, end));
                            Ok(())
                        })
                    })?
                }
                Step::Spell(bytes) => {
                    let mut pieces = bytes.pieces_aligned(pieces, goes_on)?;
                    for piece in &mut pieces {
                        let mut edits = Edits::default();
                        alphabet::spell(piece.text(), &mut edits);
                        piece.apply(&edits);
                    }
                    pieces
                }
            };
        }
        match &self.bytes {
            Some(bytes) => bytes.pieces_aligned(pieces, goes_on),
            None => Ok(pieces),
        }
    }
}

impl<'a> Trail<'a> {
    /// After a stretch was rewritten.
    fn rewritten<'b>(self, alignment: Option<&'b Alignment>, head: usize) -> Trail<'b>
    where
        'a: 'b,
    {
        let place = match alignment {
            Some(alignment) if !alignment.is_identity() => {
                Place::Rewritten { alignment, at: 0, start: self.place.start() }
            }
            _ => self.place,
        };
        Trail { place, head, ..self }
    }
}

impl ByteLevel {
    /// Whether it changes nothing but how the model reads pieces.
    fn is_plain(&self) -> bool {
        !self.add_prefix_space && self.cut.is_none()
    }

    /// Calls `report` with each piece, not spelled yet.
    fn for_each_piece(
        &self,
        text: &str,
        mut trail: Trail<'_>,
        prefixed: &mut String,
        mut report: impl FnMut(&str, Trail<'_>) -> Result<()>,
    ) -> Result<()> {
        let text = if self.add_prefix_space && !trail.goes_on && !text.starts_with(' ') {
            prefixed.clear();
            prefixed.push(' ');
            prefixed.push_str(text);
            trail.head += usize::from(trail.head > 0);
            if let Place::Slice { inserted, .. } = &mut trail.place {
                *inserted += 1;
            }
            prefixed
        } else {
            text
        };
        match &self.cut {
            None => report(text, trail),
            Some(cut) => {
                cut.for_each_piece(text, |start, end| report(&text[start..end], trail.part(start)))
            }
        }
    }

    fn pieces_aligned(
        &self,
        mut pieces: Vec<AlignedText>,
        goes_on: bool,
    ) -> Result<Vec<AlignedText>> {
        if self.add_prefix_space {
            let mut edits = Edits::default();
            edits.replace(0, 0, " ");
            let prefixed = pieces.iter_mut().skip(usize::from(goes_on));
            for piece in prefixed.filter(|piece| !piece.text().starts_with(' ')) {
                piece.apply(&edits);
            }
        }
        match &self.cut {
            Some(cut) => cut_aligned(&pieces, |text, ranges| cut.split(text, ranges)),
            None => Ok(pieces),
        }
    }
}

fn cut_aligned(
    pieces: &[AlignedText],
    mut split: impl FnMut(&str, &mut Vec<(usize, usize)>) -> Result<()>,
) -> Result<Vec<AlignedText>> {
    let mut result = Vec::new();
    let mut ranges = Vec::new();
    for piece in pieces {
        ranges.clear();
        split(piece.text(), &mut ranges)?;
        result.extend(ranges.iter().map(|&(start, end)| piece.slice(start..end)));
    }
    Ok(result)
}
