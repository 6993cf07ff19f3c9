//! Scripts as `tokenizers` knows them: those of Unicode 9, with four characters elsewhere.

use std::sync::LazyLock;

use super::unicode::class_ranges;

/// The scripts of Unicode 9.
const NAMES: &str = "Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum \
    Bassa_Vah Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid \
    Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Common Coptic Cuneiform \
    Cypriot Cyrillic Deseret Devanagari Duployan Egyptian_Hieroglyphs Elbasan Ethiopic Georgian \
    Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana \
    Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi \
    Kannada Katakana Kayah_Li Kharoshthi Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A \
    Linear_B Lisu Lycian Lydian Mahajani Malayalam Mandaic Manichaean Marchen Meetei_Mayek \
    Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar \
    Nabataean New_Tai_Lue Newa Nko Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian \
    Old_Permic Old_Persian Old_South_Arabian Old_Turkic Oriya Osage Osmanya Pahawh_Hmong \
    Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra \
    Sharada Shavian Siddham SignWriting Sinhala Sora_Sompeng Sundanese Syloti_Nagri Syriac \
    Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangut Telugu Thaana Thai Tibetan \
    Tifinagh Tirhuta Ugaritic Vai Warang_Citi Yi";

/// A script, by its place among those of Unicode 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Script(u8);

/// Ranges of characters with their script, in order.
type Ranges = Vec<(char, char, Script)>;

static RANGES: LazyLock<Ranges> = LazyLock::new(|| {
    let mut ranges: Ranges = NAMES
        .split_ascii_whitespace()
        .zip(0..)
        .flat_map(|(name, number)| {
            class_ranges(&match name {
                "Common" => format!(r"[[\p{{sc={name}}}&&\p{{age=9.0}}]\x{{589}}\x{{61C}}]"),
                "Devanagari" => format!(r"[[\p{{sc={name}}}&&\p{{age=9.0}}]\x{{953}}\x{{954}}]"),
                "Armenian" => format!(r"[[\p{{sc={name}}}&&\p{{age=9.0}}]--\x{{589}}]"),
                "Arabic" => format!(r"[[\p{{sc={name}}}&&\p{{age=9.0}}]--\x{{61C}}]"),
                "Inherited" => {
                    format!(r"[[\p{{sc={name}}}&&\p{{age=9.0}}]--[\x{{953}}\x{{954}}]]")
                }
                _ => format!(r"[\p{{sc={name}}}&&\p{{age=9.0}}]"),
            })
            .into_iter()
            .map(move |(low, high)| (low, high, Script(number)))
        })
        .collect();
    ranges.sort_unstable();
    ranges
});

/// The script of a character; none if Unicode 9 does not assign it.
#[must_use]
pub fn script(c: char) -> Option<Script> {
    let ranges = &*RANGES;
    let next = ranges.partition_point(|range| range.1 < c);
    ranges.get(next).filter(|range| range.0 <= c).map(|range| range.2)
}

/// The script that SentencePiece keeps a piece within: the kana count as Han, as does the mark
/// for a long vowel; the blank goes with anything, as does what has no script.
#[must_use]
pub fn piece_script(c: char) -> Option<Script> {
    static KANA_AND_HAN: LazyLock<[Option<Script>; 3]> =
        LazyLock::new(|| [script('あ'), script('ア'), script('一')]);
    let [hiragana, katakana, han] = *KANA_AND_HAN;
    match c {
        ' ' => None,
        'ー' => han,
        _ => match script(c) {
            kana if kana == hiragana || kana == katakana => han,
            script => script,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_disjoint() {
        assert!(RANGES.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn some_characters() {
        assert_eq!(script('a'), script('é'));
        assert_ne!(script('a'), script('а'));
        assert_eq!(script('\u{589}'), script('.'));
        assert_eq!(script('\u{953}'), script('अ'));
        assert_eq!(script('\u{20bf}'), None);
        assert_eq!(piece_script('ひ'), piece_script('漢'));
        assert_eq!(piece_script('ー'), piece_script('漢'));
        assert_eq!(piece_script(' '), None);
    }
}
