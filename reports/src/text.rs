//! Words as they stand on a terminal and in a file, whatever they hold.

use tabled::grid::util::string::get_char_width;
pub use tabled::grid::util::string::get_string_width as width_of;

/// `text` on one line, with what would move the cursor, change colours or turn the direction of writing escaped.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' | '\t' => out.push(' '),
            c if c.is_control() || is_invisible(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Zero-width and direction-turning characters (Unicode's Bidi_Control and the zero-width spaces).
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{61c}')
}

/// Text without any meaning of its own in Markdown or HTML, and without mentions of users (`scylla@1.9.0` is none).
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' | '$' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

/// `text` in lines of at most `width` columns, broken between words where that is possible; lines after the first
/// begin with `indent` spaces.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let width = width.max(indent + 20);
    let next = format!("\n{}", " ".repeat(indent));
    let (mut out, mut used) = (String::new(), 0);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if used > 0 && used + 1 + width_of(word) > width {
            out.push_str(&next);
            used = indent;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        for c in word.chars() {
            if used + get_char_width(c) > width {
                out.push_str(&next);
                used = indent;
            }
            out.push(c);
            used += get_char_width(c);
        }
    }
    out
}

/// The parts in a sentence: `a, b and c`.
pub fn list(parts: &[String]) -> String {
    match parts {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => parts.concat(),
    }
}

/// The values by their keys, both in the order in which they come.
pub fn grouped<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Each of the values once, in the order in which they come.
pub fn unique<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    grouped(values.into_iter().map(|value| (value, ()))).into_iter().map(|(value, _)| value).collect()
}

/// A name and what belongs to it beside each other: `value` is wrapped to a column that begins after `column` and a space.
pub fn pair(name: &str, value: &str, column: usize, width: usize) -> String {
    let next = format!("\n{}", " ".repeat(column + 1));
    let value = wrap(value, width.saturating_sub(column + 1), 0).replace('\n', &next);
    format!("{name:<column$} {value}").trim_end().to_owned()
}

/// A contender's label in lines: before each `+`, and where a part has more than `longest` characters.
pub fn label_lines(label: &str, longest: usize) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for c in label.chars() {
        if used > 0 && (c == '+' || used + get_char_width(c) > longest) {
            lines.push('\n');
            used = 0;
        }
        lines.push(c);
        used += get_char_width(c);
    }
    lines
}

/// As much of the text as has room.
pub fn cut(text: &str, room: usize) -> String {
    if width_of(text) <= room {
        return text.to_owned();
    }
    let mut shown = String::new();
    for c in text.chars() {
        if width_of(&shown) + get_char_width(c) >= room {
            break;
        }
        shown.push(c);
    }
    shown.trim_end().to_owned() + "…"
}

/// As much of a hash as tells it from others.
pub fn short_hash(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// With a capital first.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// With a capital first and one full stop at the end.
pub fn sentence(text: &str) -> String {
    format!("{}{}", capital(text), if text.ends_with('.') { "" } else { "." })
}

/// A number and its noun, for example `1 block` or `3 blocks`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", crate::quantity::whole(number as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_play_tricks_on_a_terminal_is_escaped() {
        assert_eq!(plain("a\u{1b}[31mb\r\nc\td\u{202e}e"), "a\\u{1b}[31mb\\u{d} c d\\u{202e}e");
        assert_eq!(plain("  größe  "), "größe");
    }

    #[test]
    fn lines_break_between_words_and_are_indented() {
        assert_eq!(wrap("[1] one two three four five six", 24, 4), "[1] one two three four\n    five six");
        assert_eq!(
            wrap(&"x".repeat(50), 24, 4),
            format!("{0}\n    {1}\n    {2}", "x".repeat(24), "x".repeat(20), "x".repeat(6))
        );
    }

    #[test]
    fn pairs_stand_in_two_columns() {
        let text = pair("target", "a cluster of three nodes somewhere", 8, 32);
        assert_eq!(text, "target   a cluster of three\n         nodes somewhere");
        assert_eq!(pair("", "x", 3, 80), "    x");
    }

    #[test]
    fn labels_break_before_a_plus_and_where_they_are_too_long() {
        assert_eq!(label_lines("cassandra-cpp@3.0.2+lib=scylla-2.16.2", 30), "cassandra-cpp@3.0.2\n+lib=scylla-2.16.2");
        assert_eq!(label_lines("abcdef", 4), "abcd\nef");
    }
}
