//! stub
use crate::error::{Error, Result};
use crate::spec::{self, Semantics};
/// stub
#[derive(Debug)]
pub struct Matcher(fancy_regex::Regex);
impl Matcher {
    /// stub
    pub fn compile(p: &str, _s: Semantics) -> Result<Self> { Ok(Self(fancy_regex::Regex::new(p).map_err(|e| Error::artifact("", e.to_string()))?)) }
    /// stub
    pub fn literal(p: &str) -> Self { Self(fancy_regex::Regex::new(&fancy_regex::escape(p)).expect("x")) }
    /// stub
    pub fn for_each_match(&self, text: &str, mut f: impl FnMut(usize, usize)) -> Result<()> {
        for m in self.0.find_iter(text) { let m = m.map_err(|e| Error::limit(e.to_string()))?; f(m.start(), m.end()); } Ok(())
    }
}
/// stub
#[derive(Debug)]
pub struct Splitter(Matcher, spec::SplitBehavior, bool);
impl Splitter {
    /// stub
    pub fn compile(s: &spec::Split) -> Result<Self> {
        let m = match &s.pattern { spec::Pattern::String(p) => Matcher::literal(p), spec::Pattern::Regex(p) => Matcher::compile(p, s.semantics)? };
        Ok(Self(m, s.behavior, s.invert)) }
    /// stub
    pub fn gpt2() -> Result<Self> { Ok(Self(Matcher::compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", Semantics::HuggingFace)?, spec::SplitBehavior::Isolated, false)) }
    /// stub
    pub fn digits(d: spec::Digits) -> Self { Self(Matcher::compile(if d.individual_digits {r"\p{N}"} else {r"\p{N}+"}, Semantics::HuggingFace).expect("x"), spec::SplitBehavior::Isolated, false) }
    /// stub
    pub fn engine(&self) -> &'static str { "stub" }
    /// stub
    pub fn split(&self, text: &str, out: &mut Vec<(usize, usize)>) -> Result<()> {
        let mut prev = 0; let mut all = vec![];
        self.0.for_each_match(text, |s, e| { if prev < s { all.push((prev, s, false)); } all.push((s, e, true)); prev = e; })?;
        if prev < text.len() { all.push((prev, text.len(), false)); }
        for (s, e, m) in all { if s < e && !(self.1 == spec::SplitBehavior::Removed && m != self.2) { out.push((s, e)); } }
        Ok(())
    }
    /// stub
    pub fn for_each_piece(&self, text: &str, mut f: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let mut v = vec![]; self.split(text, &mut v)?; for (s, e) in v { f(s, e)?; } Ok(())
    }
}
