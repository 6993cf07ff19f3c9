//! The result of encoding: ids, and where in them each text stands.

/// Where tokens came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The template.
    Template,
    /// Text 0 or 1.
    Text(usize),
}

/// A run of tokens with one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The first token.
    pub start: usize,
    /// Past the last token.
    pub end: usize,
    /// Where they came from.
    pub source: Source,
    /// Their type id.
    pub type_id: u32,
    /// The place of the first of them among the tokens of their text: more than 0 where the
    /// text was truncated on the left.
    pub first: usize,
}

/// The ids of one text or two, with the template's control tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoding {
    /// The ids.
    pub ids: Vec<u32>,
    /// Runs of tokens with one source, which cover the ids.
    pub parts: Vec<Part>,
    /// The windows that truncation cut off, each with the template.
    pub overflow: Vec<Encoding>,
}

impl Encoding {
    /// The ids of the text with an index, from its first on.
    #[must_use]
    pub fn ids_of(&self, text: usize) -> Option<&[u32]> {
        let part = self.parts.iter().find(|part| part.source == Source::Text(text))?;
        (part.first == 0).then(|| &self.ids[part.start..part.end])
    }

    /// One value a token, from the part that it is in.
    pub fn spread<'a, T: Clone + 'a>(
        &'a self,
        value: impl Fn(&Part) -> T + 'a,
    ) -> impl Iterator<Item = T> + 'a {
        self.parts
            .iter()
            .flat_map(move |part| std::iter::repeat_n(value(part), part.end - part.start))
    }
}
