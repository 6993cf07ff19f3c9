//! Many texts at once, on all cores.
//!
//! Results are put together in the order of the texts (see [`crate::parallel`]).

use crate::encoding::{Encoding, Part, Source};
use crate::error::{Error, Result};
use crate::parallel::map_groups;
use crate::postprocess::Item;

use super::Pipeline;
use super::encode::EncodeOptions;
use super::input::{Input, Text, in_pair, size};

/// The ids of many texts in one buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// All ids.
    pub values: Vec<u32>,
    /// Where each text starts in `values`, and where the last one ends.
    pub row_offsets: Vec<i64>,
    /// How each row is made up, but for its ids; empty where every row is the template around
    /// one whole text.
    pub rows: Vec<Encoding>,
    /// Whether the template's control tokens are in it.
    pub add_special_tokens: bool,
}

/// Says which text of a batch an error is about.
fn in_batch(error: Error, index: usize) -> Error {
    Error { item: u32::try_from(index).ok(), ..error.within(&format!("texts[{index}]")) }
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
        let mut groups = map_groups(inputs, size, threads, |inputs, start| {
            self.with_scratch(&options.special, |scratch| {
                scratch.expect(inputs.iter().map(size).sum());
                let mut group = Batch::empty(options.add_special_tokens);
                for (index, input) in (start..).zip(inputs) {
                    self.encode_row(input, options, scratch, &mut group)
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
        let described = groups.iter().any(|group| !group.rows.is_empty());
        for group in groups {
            if described && group.rows.is_empty() {
                let rows = (0..group.len()).map(|index| self.plain_row(&group, index));
                batch.rows.extend(rows.map(|row| Encoding { ids: Vec::new(), ..row }));
            }
            let base = batch.values.len() as i64;
            batch.values.extend_from_slice(&group.values);
            batch.row_offsets.extend(group.row_offsets[1..].iter().map(|offset| base + offset));
            batch.rows.extend(group.rows);
        }
        Ok(batch)
    }

    fn encode_row(
        &self,
        (text, pair): &Input<'_>,
        options: &EncodeOptions,
        scratch: &mut crate::model::Scratch,
        batch: &mut Batch,
    ) -> Result<()> {
        if pair.is_some() || options.truncation.is_some() {
            let mut row =
                self.assemble(1 + usize::from(pair.is_some()), options, |index, out| {
                    let text = if index == 0 { text } else { pair.as_ref().unwrap_or(text) };
                    self.encode_with(text, options, scratch, out)
                        .map_err(|error| in_pair(error, index))
                })?;
            // Rows before it that needed no description get one now.
            while batch.rows.len() < batch.len() {
                let earlier = self.plain_row(batch, batch.rows.len());
                batch.rows.push(Encoding { ids: Vec::new(), ..earlier });
            }
            batch.values.append(&mut row.ids);
            batch.rows.push(row);
        } else {
            let described = !batch.rows.is_empty();
            for item in self.template.items(1, options.add_special_tokens) {
                match item {
                    Item::Token { id, .. } => batch.values.push(*id),
                    Item::Text { .. } => {
                        self.encode_with(text, options, scratch, &mut batch.values)?;
                    }
                }
            }
            if described {
                let ids = &batch.values[batch.row_offsets[batch.len()] as usize..];
                batch.rows.push(Encoding {
                    parts: self.plain_parts(ids.len(), batch.add_special_tokens),
                    ..Encoding::default()
                });
            }
        }
        batch.row_offsets.push(batch.values.len() as i64);
        Ok(())
    }

    /// The encoding of one row of a batch.
    #[must_use]
    pub fn row(&self, batch: &Batch, index: usize) -> Encoding {
        match batch.rows.get(index) {
            Some(row) => Encoding { ids: batch.row_ids(index).to_vec(), ..row.clone() },
            None => self.plain_row(batch, index),
        }
    }

    fn plain_row(&self, batch: &Batch, index: usize) -> Encoding {
        let ids = batch.row_ids(index).to_vec();
        let parts = self.plain_parts(ids.len(), batch.add_special_tokens);
        Encoding { ids, parts, overflow: Vec::new() }
    }

    /// The parts of a row of `length` ids that is the template around one whole text.
    fn plain_parts(&self, length: usize, add_special_tokens: bool) -> Vec<Part> {
        let text = length - self.template.added(1, add_special_tokens);
        let mut start = 0;
        self.template
            .items(1, add_special_tokens)
            .map(|item| {
                let (length, source, type_id) = match item {
                    Item::Token { type_id, .. } => (1, Source::Template, *type_id),
                    Item::Text { index, type_id } => (text, Source::Text(*index), *type_id),
                };
                start += length;
                Part { start: start - length, end: start, source, type_id, first: 0 }
            })
            .collect()
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
        let groups = map_groups(
            texts,
            |text| text.len(),
            threads,
            |texts, start| {
                self.with_scratch(&options.special, |scratch| {
                    let mut ids = Vec::new();
                    let mut counts = Vec::with_capacity(texts.len());
                    for (index, text) in (start..).zip(texts) {
                        ids.clear();
                        self.encode_with(&Text::Whole(text), options, scratch, &mut ids)
                            .map_err(|error| in_batch(error, index))?;
                        counts.push((ids.len() + added) as i64);
                    }
                    Ok(counts)
                })
            },
        )?;
        Ok(groups.concat())
    }
}

/// How to make a batch rectangular.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Padding {
    /// The length, or that of the longest row.
    pub length: Option<usize>,
    /// The length is raised to a multiple of this.
    pub multiple_of: usize,
    /// Pad on the left.
    pub left: bool,
    /// The id to pad with.
    pub pad_id: u32,
    /// The type id of padding.
    pub pad_type_id: u32,
}

/// A rectangular batch: one value for every row and column, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padded {
    /// The number of columns.
    pub length: usize,
    /// The ids.
    pub ids: Vec<i64>,
    /// 0 where a row is padded.
    pub attention_mask: Vec<i64>,
    /// The type ids.
    pub type_ids: Vec<i64>,
    /// 1 for the template's tokens and where a row is padded.
    pub special_mask: Vec<i64>,
}

impl Pipeline {
    /// Makes a batch rectangular.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a row that is longer than the length asked for.
    pub fn pad(&self, batch: &Batch, padding: Padding) -> Result<Padded> {
        let longest = (0..batch.len()).map(|row| batch.row_ids(row).len()).max().unwrap_or(0);
        if let Some(length) = padding.length
            && longest > length
        {
            let row = (0..batch.len()).find(|&row| batch.row_ids(row).len() > length);
            return Err(Error::input(format!(
                "A row has {longest} tokens, more than the length {length} to pad to."
            ))
            .at(format!("batch[{}]", row.unwrap_or(0)))
            .value(longest.to_string())
            .hint("Encode with max_length, or pad to \"longest\"."));
        }
        let length = padding.length.unwrap_or(longest).next_multiple_of(padding.multiple_of.max(1));
        let size = length * batch.len();
        let mut padded = Padded {
            length,
            ids: Vec::with_capacity(size),
            attention_mask: Vec::with_capacity(size),
            type_ids: Vec::with_capacity(size),
            special_mask: Vec::with_capacity(size),
        };
        for index in 0..batch.len() {
            let row = self.row(batch, index);
            let missing = length - row.ids.len();
            if padding.left {
                padded.fill(missing, padding);
            }
            padded.ids.extend(row.ids.iter().map(|&id| i64::from(id)));
            padded.attention_mask.extend(std::iter::repeat_n(1, row.ids.len()));
            padded.type_ids.extend(row.spread(|part| i64::from(part.type_id)));
            let special = |part: &Part| i64::from(part.source == Source::Template);
            padded.special_mask.extend(row.spread(special));
            if !padding.left {
                padded.fill(missing, padding);
            }
        }
        Ok(padded)
    }
}

impl Padded {
    fn fill(&mut self, count: usize, padding: Padding) {
        self.ids.extend(std::iter::repeat_n(i64::from(padding.pad_id), count));
        self.attention_mask.extend(std::iter::repeat_n(0, count));
        self.type_ids.extend(std::iter::repeat_n(i64::from(padding.pad_type_id), count));
        self.special_mask.extend(std::iter::repeat_n(1, count));
    }
}

impl Batch {
    fn empty(add_special_tokens: bool) -> Self {
        Self { values: Vec::new(), row_offsets: vec![0], rows: Vec::new(), add_special_tokens }
    }

    /// The ids of a row.
    #[must_use]
    pub fn row_ids(&self, index: usize) -> &[u32] {
        let (start, end) = (self.row_offsets[index], self.row_offsets[index + 1]);
        &self.values[start as usize..end as usize]
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
