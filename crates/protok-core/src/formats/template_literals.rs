//! What a chat template writes by itself: its literal text, and the strings in its expressions.
//!
//! This reads Jinja only as far as that needs: where tags begin and end, and where strings do.
//! A token that stands in one of these literals is a control token of the artifact, flagged
//! special or not, since the template uses it to mark what is said by whom.

/// The literals of a template, in order. Comments have none.
#[must_use]
pub fn literals(template: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some(open) =
        rest.find("{{").into_iter().chain(rest.find("{%")).chain(rest.find("{#")).min()
    {
        push(&mut found, &rest[..open]);
        let tag = &rest[open..];
        let close = match tag.as_bytes()[1] {
            b'{' => "}}",
            b'%' => "%}",
            _ => {
                rest = tag.find("#}").map_or("", |end| &tag[end + 2..]);
                continue;
            }
        };
        rest = strings(&tag[2..], close, &mut found);
    }
    push(&mut found, rest);
    found
}

fn push(found: &mut Vec<String>, text: &str) {
    if !text.is_empty() {
        found.push(text.to_owned());
    }
}

/// Collects the strings of a tag and returns what follows it.
fn strings<'a>(tag: &'a str, close: &str, found: &mut Vec<String>) -> &'a str {
    let mut at = 0;
    while let Some(c) = tag[at..].chars().next() {
        if tag[at..].starts_with(close) {
            return &tag[at + close.len()..];
        }
        at += c.len_utf8();
        if c != '\'' && c != '"' {
            continue;
        }
        let mut text = String::new();
        let mut chars = tag[at..].char_indices();
        let mut end = tag.len();
        while let Some((offset, inner)) = chars.next() {
            if inner == c {
                end = at + offset + 1;
                break;
            }
            match (inner, inner == '\\') {
                (_, true) => match chars.next().map(|(_, escaped)| escaped) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(escaped) => text.push(escaped),
                    None => {}
                },
                (plain, false) => text.push(plain),
            }
        }
        push(found, &text);
        at = end;
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_strings_but_no_comments_or_names() {
        let template = "{# <c> #}<a>{% if x == '<b>' %}{{ bos + \"<\\nd'>\" }}{%- endif -%}<e>";
        assert_eq!(literals(template), ["<a>", "<b>", "<\nd'>", "<e>"]);
        assert_eq!(literals("a{{ 'unclosed"), ["a", "unclosed"]);
        assert_eq!(literals("{% if %"), Vec::<String>::new());
        assert_eq!(literals(""), Vec::<String>::new());
    }
}
