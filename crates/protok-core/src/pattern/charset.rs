//! Sets of characters, and the names that patterns give them.
//!
//! A set is a sorted list of ranges (`regex-syntax`'s `ClassUnicode`), so union, intersection and
//! complement are linear in the number of ranges. The tables are those of Unicode 16.
//!
//! Oniguruma's named sets are listed here only if they were compared with Oniguruma 6.9.10, code
//! point by code point. Its `\w` is a curiosity: outside brackets (and in `\b`) it holds the six
//! characters ² ³ ¹ ¼ ½ ¾, inside brackets it does not.

use std::sync::LazyLock;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// A set of characters.
pub(super) type CharSet = ClassUnicode;

/// Names whose meaning `regex-syntax` and Oniguruma share, in small letters without separators.
const SHARED_NAMES: &str = " ascii asciihexdigit alpha alphabetic any assigned c cased \
casedletter lc cc cf closepunctuation cn cntrl co connectorpunctuation control currencysymbol dash \
dashpunctuation decimalnumber defaultignorablecodepoint diacritic digit emoji emojimodifier \
emojipresentation enclosingmark extendedpictographic extender finalpunctuation format hexdigit \
idcontinue idstart ideographic initialpunctuation joincontrol l letter letternumber ll lm lo lower \
lowercase lowercaseletter lt lu m mark math mathsymbol mc me mn modifierletter modifiersymbol n nd \
nl no nonspacingmark number openpunctuation other otherletter othernumber otherpunctuation \
othersymbol p pc pd pe pf pi po privateuse ps punct punctuation s sc separator sk sm so space \
spaceseparator spacingmark symbol titlecaseletter unassigned unifiedideograph upper uppercase \
uppercaseletter variationselector whitespace xidcontinue xidstart z zl zp lineseparator \
paragraphseparator zs adlam arabic armenian bengali bopomofo braille cherokee common coptic \
cyrillic devanagari ethiopic georgian gothic greek gujarati gurmukhi han hangul hebrew hiragana \
inherited javanese kannada katakana khmer lao latin malayalam mongolian myanmar nko ogham oriya \
runic sinhala syriac tamil telugu thaana thai tibetan yi ";

/// Oniguruma's names that are spelled out of others.
const COMPOSED_NAMES: [(&str, &str); 5] = [
    ("alnum", r"[\p{Alphabetic}\p{Nd}]"),
    ("blank", r"[\p{Zs}\t]"),
    ("graph", r"[^\s\p{Cc}\p{Cn}]"),
    ("print", r"[[^\s\p{Cc}\p{Cn}]\p{Zs}]"),
    ("xdigit", "[0-9A-Fa-f]"),
];

const WORD: &str = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]";
const BARE_WORD: &str = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾]";

/// The set that a pattern of one class stands for in `regex-syntax`, if it is one.
pub(super) fn class(pattern: &str, ignore_case: bool) -> Option<CharSet> {
    let hir = ParserBuilder::new().case_insensitive(ignore_case).build().parse(pattern).ok()?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none()).map(single)
        }
        _ => None,
    }
}

/// What llama.cpp's tables have of a set: they are those of Unicode 15.1, and what was assigned
/// later has no property. No character has changed its category since.
pub(super) fn of_llama_cpp(mut set: CharSet) -> CharSet {
    static ASSIGNED: LazyLock<CharSet> = LazyLock::new(|| constant(r"\p{age=15.1}"));
    set.intersect(&ASSIGNED);
    set
}

/// A class that is known to parse; the empty set otherwise.
fn constant(pattern: &str) -> CharSet {
    class(pattern, false).unwrap_or_else(CharSet::empty)
}

/// The set of one character.
pub(super) fn single(c: char) -> CharSet {
    range(c, c)
}

/// The set of a range of characters.
pub(super) fn range(low: char, high: char) -> CharSet {
    CharSet::new([ClassUnicodeRange::new(low, high)])
}

/// All characters.
pub(super) fn any() -> CharSet {
    range('\0', char::MAX)
}

/// All characters but the line feed.
pub(super) fn not_newline() -> CharSet {
    negated(single('\n'))
}

/// The complement.
pub(super) fn negated(mut set: CharSet) -> CharSet {
    set.negate();
    set
}

/// The set with every character's simple case variants.
pub(super) fn folded(mut set: CharSet) -> CharSet {
    // It fails only where regex-syntax was built without its case tables.
    let _ = set.try_case_fold_simple();
    set
}

/// Whether a set holds a character.
pub(super) fn contains(set: &CharSet, c: char) -> bool {
    set.ranges()
        .binary_search_by(|range| {
            if range.end() < c {
                std::cmp::Ordering::Less
            } else if range.start() > c {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

/// Whether two sets share a character.
pub(super) fn intersects(one: &CharSet, other: &CharSet) -> bool {
    let mut both = one.clone();
    both.intersect(other);
    !both.ranges().is_empty()
}

/// Oniguruma's `\p{name}`, outside brackets or within.
pub(super) fn oniguruma_property(name: &str, in_bracket: bool) -> Option<CharSet> {
    let name: String = name
        .chars()
        .filter(|c| !matches!(c, ' ' | '_' | '-'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    if name == "word" {
        return Some(oniguruma_word(in_bracket));
    }
    if let Some((_, pattern)) = COMPOSED_NAMES.iter().find(|(composed, _)| *composed == name) {
        return class(pattern, false);
    }
    let known = !name.is_empty() && SHARED_NAMES.split(' ').any(|shared| shared == name);
    known.then(|| class(&format!("\\p{{{name}}}"), false)).flatten()
}

/// Oniguruma's `[:name:]`.
pub(super) fn oniguruma_posix(name: &str) -> Option<CharSet> {
    match name {
        "alpha" | "alnum" | "ascii" | "blank" | "cntrl" | "digit" | "graph" | "lower" | "print"
        | "space" | "upper" | "xdigit" | "word" => oniguruma_property(name, true),
        "punct" => class(r"[\p{P}\p{S}]", false),
        _ => None,
    }
}

/// Oniguruma's `\w`.
pub(super) fn oniguruma_word(in_bracket: bool) -> CharSet {
    constant(if in_bracket { WORD } else { BARE_WORD })
}

/// Oniguruma's `\s`, `\d`, `\w`, `\h` and their complements.
pub(super) fn oniguruma_type(letter: char, in_bracket: bool) -> Option<CharSet> {
    let set = match letter.to_ascii_lowercase() {
        's' => constant(r"\s"),
        'd' => constant(r"\d"),
        'w' => oniguruma_word(in_bracket),
        'h' => constant("[0-9A-Fa-f]"),
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() { negated(set) } else { set })
}

/// The smallest simple case variant: equal for characters that match one another.
pub(super) fn canonical(c: char) -> char {
    folded(single(c)).ranges().first().map_or(c, ClassUnicodeRange::start)
}

/// The characters whose full case folding is several characters, each with that folding in
/// [`canonical`] spelling: `ß` with `SS`, `ﬁ` with `FI`.
///
/// They all lie in the two blocks searched here (CaseFolding.txt, status F).
fn long_foldings() -> &'static [(char, Vec<char>)] {
    static FOLDINGS: LazyLock<Vec<(char, Vec<char>)>> = LazyLock::new(|| {
        let mut foldings = Vec::new();
        for c in ('\u{80}'..='\u{1fff}').chain('\u{fb00}'..='\u{fb17}') {
            let (upper, lower): (Vec<_>, Vec<_>) =
                (c.to_uppercase().collect(), c.to_lowercase().collect());
            let long = if upper.len() > 1 { upper } else { lower };
            if long.len() > 1 {
                let folded = long.into_iter().flat_map(char::to_lowercase).map(canonical);
                foldings.push((c, folded.collect()));
            }
        }
        foldings.push(('\u{1e9e}', vec!['S', 'S']));
        foldings
    });
    &FOLDINGS
}

/// Whether a set holds a character whose full case folding is several characters.
pub(super) fn folds_to_several(set: &CharSet) -> bool {
    long_foldings().iter().any(|(c, _)| contains(set, *c))
}

/// Whether a string in canonical spelling ends with the folding of a single character.
pub(super) fn ends_with_folding(canonical: &[char]) -> bool {
    long_foldings().iter().any(|(_, folding)| canonical.ends_with(folding))
}
