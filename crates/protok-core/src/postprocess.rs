//! Stage 5: puts the template's control tokens around the tokens of the texts.
//!
//! Every post-processor compiles to one [`Template`]: a list for one text and a list for two, of
//! control tokens and of places for a text's tokens.

use crate::error::{Error, Result};
use crate::spec::{self, SequenceName, TemplateItem};

/// One item of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A control token.
    Token {
        /// Its id.
        id: u32,
        /// Its type id.
        type_id: u32,
    },
    /// The tokens of text 0 or 1.
    Text {
        /// Which text.
        index: usize,
        /// The type id of its tokens.
        type_id: u32,
    },
}

/// See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    single: Vec<Item>,
    pair: Vec<Item>,
    /// Whether the windows of a text that overflow have its number for a type id. In the
    /// reference only the first window gets that of a `TemplateProcessing`.
    numbered_overflow: bool,
}

impl Default for Template {
    fn default() -> Self {
        Self {
            single: vec![Item::Text { index: 0, type_id: 0 }],
            pair: vec![Item::Text { index: 0, type_id: 0 }, Item::Text { index: 1, type_id: 1 }],
            numbered_overflow: false,
        }
    }
}

impl Template {
    /// Compiles the post-processor of a spec.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for a template that names an unknown control token, leaves
    /// out the text, or stands in a sequence with another one that adds tokens.
    pub fn compile(spec: Option<&spec::PostProcessor>) -> Result<Self> {
        let mut template = None;
        if let Some(spec) = spec {
            collect(spec, &mut template).map_err(|error| error.within("post_processor"))?;
        }
        Ok(template.unwrap_or_default())
    }

    /// The items for one text or two.
    pub fn items(&self, texts: usize, add_special_tokens: bool) -> impl Iterator<Item = &Item> {
        let items = if texts == 2 { &self.pair } else { &self.single };
        items.iter().filter(move |item| add_special_tokens || matches!(item, Item::Text { .. }))
    }

    /// The type id of an overflowing window of a text, for which its item says `type_id`.
    #[must_use]
    pub fn overflow_type(&self, index: usize, type_id: u32) -> u32 {
        if self.numbered_overflow { index as u32 } else { type_id }
    }

    /// The number of control tokens that are added to one text or two.
    #[must_use]
    pub fn added(&self, texts: usize, add_special_tokens: bool) -> usize {
        self.items(texts, add_special_tokens)
            .filter(|item| matches!(item, Item::Token { .. }))
            .count()
    }
}

fn collect(spec: &spec::PostProcessor, found: &mut Option<Template>) -> Result<()> {
    use spec::PostProcessor as Spec;
    let template = match spec {
        Spec::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, found)
                    .map_err(|error| error.within(&format!("processors[{index}]")))?;
            }
            return Ok(());
        }
        Spec::ByteLevel(_) => return Ok(()),
        Spec::Roberta(roberta) => {
            let (cls, sep) = (token(roberta.cls.1, 0), token(roberta.sep.1, 0));
            let (a, b) = (text(0, 0), text(1, 0));
            Template {
                single: vec![cls.clone(), a.clone(), sep.clone()],
                pair: vec![cls, a, sep.clone(), sep.clone(), b, sep],
                numbered_overflow: false,
            }
        }
        Spec::Bert(bert) => {
            let (cls, sep) = (token(bert.cls.1, 0), token(bert.sep.1, 0));
            let (a, b) = (text(0, 0), text(1, 1));
            Template {
                single: vec![cls.clone(), a.clone(), sep.clone()],
                pair: vec![cls, a, sep, b, token(bert.sep.1, 1)],
                numbered_overflow: false,
            }
        }
        Spec::Template(template) => Template {
            single: expand(template, &template.single, false)
                .map_err(|error| error.within("single"))?,
            pair: expand(template, &template.pair, true).map_err(|error| error.within("pair"))?,
            numbered_overflow: true,
        },
    };
    if found.replace(template).is_some() {
        return Err(Error::artifact("", "Two post-processors in one sequence add tokens.")
            .hint("The reference refuses such a sequence when it runs."));
    }
    Ok(())
}

fn token(id: u32, type_id: u32) -> Item {
    Item::Token { id, type_id }
}

fn text(index: usize, type_id: u32) -> Item {
    Item::Text { index, type_id }
}

/// So many tokens and texts may stand in a template, and a text so often.
const MOST_ITEMS: usize = 4096;
const MOST_TEXTS: usize = 16;

fn expand(spec: &spec::TemplateProcessing, items: &[TemplateItem], two: bool) -> Result<Vec<Item>> {
    let mut expanded = Vec::new();
    let mut texts = 0;
    for (at, item) in items.iter().enumerate() {
        if texts > MOST_TEXTS || expanded.len() > MOST_ITEMS {
            break;
        }
        match item {
            TemplateItem::Sequence { id, type_id } => {
                let index = usize::from(*id == SequenceName::B);
                if index == 1 && !two {
                    return Err(Error::artifact(
                        format!("[{at}]"),
                        "The template for one text has a place for a second one.",
                    ));
                }
                texts += 1;
                expanded.push(text(index, *type_id));
            }
            TemplateItem::SpecialToken { id, type_id } => {
                let Some((_, found)) = spec.special_tokens.iter().find(|(key, _)| key == id) else {
                    return Err(Error::artifact(
                        format!("[{at}]"),
                        format!("The template names {id:?}, which special_tokens does not hold."),
                    )
                    .value(id.clone()));
                };
                let ids = found.ids.iter().take(MOST_ITEMS + 1);
                expanded.extend(ids.map(|&id| token(id, *type_id)));
            }
        }
    }
    if texts > MOST_TEXTS || expanded.len() > MOST_ITEMS {
        return Err(Error::artifact("", "The template is too long.").hint(format!(
            "A template has at most {MOST_ITEMS} tokens, and {MOST_TEXTS} places for texts."
        )));
    }
    Ok(expanded)
}
