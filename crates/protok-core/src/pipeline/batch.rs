//! Many texts at once, on all cores.
//!
//! Results are put together in the order of the texts (see [`crate::parallel`]).

use crate::encoding::{Encoding, Part, Source};
use crate::error::{Error, Result};
use crate::parallel::map_groups;
use crate::postprocess::Item;

use super::Pipeline;
use super::encode::EncodeOptions;

/// One input of a batch: one text or two.
pub type Input<'a> = (&'a str, Option<&'a str>);

/// The ids of many texts in one buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// All ids.
    pub values: Vec<u32>,
    /// Where each text starts in `values`, and where the last one ends.
    pub row_offsets: Vec<i64>,
    /// For inputs of two texts, the number of tokens of the text that stands first.
    pub firsts: Vec<Option<u32>>,
    /// Whether the template's control tokens are in it.
    pub add_special_tokens: bool,
}

/// Says which text of a batch an error is about.
fn in_batch(error: Error, index: usize) -> Error {
    error.within(&format!("texts[{index}]"))
}

impl Pipeline {
    /// Encodes many inputs.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`], with the index of the text.
    pub fn encode_batch(
        &self,
        inputs: &[Input<'_>],
        options: &EncodeOptions,
        threads: usize,
    ) -> Result<Batch> {
        let size = |input: &Input<'_>| input.0.len() + input.1.map_or(0, str::len);
        let mut groups = map_groups(inputs, size, threads, |inputs, start| {
            self.with_scratch(|scratch| {
                let mut group = Batch::empty(options.add_special_tokens);
                for (index, input) in (start..).zip(inputs) {
                    self.encode_row(*input, options, scratch, &mut group)
                        .map_err(|error| in_batch(error, index))?;
                }
                Ok(group)
            })
        })?;
        if groups.len() == 1 {
            return Ok(groups.remove(0));
        }
        let mut batch = Batch::empty(options.add_special_tokens);
        batch.values.reserve_exact(groups.iter().map(|group| group.values.len()).sum());
        batch.row_offsets.reserve_exact(inputs.len());
        for group in groups {
            let base = batch.values.len() as i64;
            batch.values.extend_from_slice(&group.values);
            batch.row_offsets.extend(group.row_offsets[1..].iter().map(|offset| base + offset));
            batch.firsts.extend(group.firsts);
        }
        Ok(batch)
    }

    fn encode_row(
        &self,
        (text, pair): Input<'_>,
        options: &EncodeOptions,
        scratch: &mut crate::model::bpe::Scratch,
        batch: &mut Batch,
    ) -> Result<()> {
        let texts = 1 + usize::from(pair.is_some());
        let mut first = None;
        for item in self.template.items(texts, options.add_special_tokens) {
            match item {
                Item::Token { id, .. } => batch.values.push(*id),
                Item::Text { index, .. } => {
                    let text = if *index == 0 { text } else { pair.unwrap_or("") };
                    let before = batch.values.len();
                    self.encode_with(text, options, scratch, &mut batch.values)?;
                    first.get_or_insert(batch.values.len() - before);
                }
            }
        }
        batch.row_offsets.push(batch.values.len() as i64);
        batch.firsts.push(pair.and(first).map(|first| first as u32));
        Ok(())
    }

    /// The encoding of one row of a batch.
    #[must_use]
    pub fn row(&self, batch: &Batch, index: usize) -> Encoding {
        let range = batch.row_offsets[index] as usize..batch.row_offsets[index + 1] as usize;
        let ids = batch.values[range].to_vec();
        let first = batch.firsts[index].map(|first| first as usize);
        let texts = 1 + usize::from(first.is_some());
        let added = self.template.added(texts, batch.add_special_tokens);
        let mut left = ids.len() - added;
        let mut parts = Vec::with_capacity(3);
        let mut start = 0;
        for item in self.template.items(texts, batch.add_special_tokens) {
            let (length, source, type_id) = match item {
                Item::Token { type_id, .. } => (1, Source::Template, *type_id),
                Item::Text { index, type_id } => {
                    let length = first.filter(|_| left == ids.len() - added).unwrap_or(left);
                    left -= length;
                    (length, Source::Text(*index), *type_id)
                }
            };
            parts.push(Part { start, end: start + length, source, type_id });
            start += length;
        }
        Encoding { ids, parts }
    }

    /// The number of tokens of each text.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`], with the index of the text.
    pub fn count_batch(
        &self,
        texts: &[&str],
        options: &EncodeOptions,
        threads: usize,
    ) -> Result<Vec<i64>> {
        let added = self.template.added(1, options.add_special_tokens);
        let groups = map_groups(texts, |text| text.len(), threads, |texts, start| {
            self.with_scratch(|scratch| {
                let mut ids = Vec::new();
                let mut counts = Vec::with_capacity(texts.len());
                for (index, text) in (start..).zip(texts) {
                    ids.clear();
                    self.encode_with(text, options, scratch, &mut ids)
                        .map_err(|error| in_batch(error, index))?;
                    counts.push((ids.len() + added) as i64);
                }
                Ok(counts)
            })
        })?;
        Ok(groups.concat())
    }
}

impl Batch {
    fn empty(add_special_tokens: bool) -> Self {
        Self {
            values: Vec::new(),
            row_offsets: vec![0],
            firsts: Vec::new(),
            add_special_tokens,
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.row_offsets.len() - 1
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
