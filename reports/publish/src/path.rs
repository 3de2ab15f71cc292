//! Paths of the machine that measured, which nothing published may name.

use std::borrow::Cow;

const EVERYWHERE: [&str; 4] = ["proc", "sys", "dev", "rustc"];

/// Words after the slash of a unit that a heading breaks: `us` above `/statement`.
const UNITS: [&str; 6] = ["statement", "segment", "read", "row", "idle", "session"];

/// The first absolute path of a machine in a text: it begins with a slash that ends no word, and is no `//` of an address.
pub(crate) fn machine_path(text: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(at) = text[from..].find('/').map(|at| from + at) {
        from = at + 1;
        if !begins(&text[..at]) {
            continue;
        }
        let end = text[at..]
            .find(|c: char| c.is_whitespace() || "\"'`),;|<>\\]}".contains(c))
            .map_or(text.len(), |end| at + end);
        // `file:///home` has two more.
        let slashes = text[at..end].len() - text[at..end].trim_start_matches('/').len();
        let path = &text[at + slashes - slashes.min(1)..end];
        if slashes != 2 && is_path(path) {
            return Some(path);
        }
    }
    None
}

/// What is wrong with a file of that text, after the file's name, if it names such a path.
pub(crate) fn of_the_machine(text: &str) -> Option<String> {
    let path = machine_path(text)?;
    Some(format!(": it names {path}, which is a folder of the machine that measured; nobody else has it."))
}

fn begins(before: &str) -> bool {
    let escaped = ["\\n", "\\t", "\\r"].iter().any(|escape| before.ends_with(escape));
    escaped || before.chars().next_back().is_none_or(|c| !(c.is_alphanumeric() || "._-~/<)]}+%$*\\".contains(c)))
}

/// Whether `path`, which begins with a slash, belongs to one machine only.
fn is_path(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let Some(first) = parts.next() else { return false };
    let is_alone = parts.next().is_none();
    first.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
        && first.chars().any(char::is_alphanumeric)
        && !(is_alone && (first.chars().count() == 1 || UNITS.contains(&first)))
        && !EVERYWHERE.contains(&first)
}

/// A page or drawing without scripts and styles, where a slash begins a pattern.
pub(crate) fn without_code(page: &str) -> Cow<'_, str> {
    let mut left = Cow::Borrowed(page);
    for (begin, end) in [("<script", "</script>"), ("<style", "</style>")] {
        let mut out = String::new();
        let mut rest: &str = &left;
        while let Some((before, inside)) = rest.split_once(begin) {
            out.push_str(before);
            rest = inside.split_once(end).map_or("", |(_, rest)| rest);
        }
        out.push_str(rest);
        left = Cow::Owned(out);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_however_it_is_written() {
        for (text, path) in [
            ("its log is in /home/ada/run.", "/home/ada/run."),
            ("file:///home/ada", "/home/ada"),
            ("[/home/ada]", "/home/ada"),
            ("(/home/ada)", "/home/ada"),
            ("see /tmp", "/tmp"),
            (r#"{"a":"/w/b"}"#, "/w/b"),
            (r#""it says:\n/home/ada""#, "/home/ada"),
            ("<td>/home/ada</td>", "/home/ada"),
            ("lib=/opt/lib", "/opt/lib"),
            ("a|/opt/lib", "/opt/lib"),
        ] {
            assert_eq!(machine_path(text), Some(path), "{text}");
        }
    }

    #[test]
    fn what_is_no_path_or_is_one_on_every_machine_is_none() {
        for text in [
            "at 1/s, 10/20/30, and I/O or n/a",
            "../lib/a.so and ./a/b and ~/a",
            "https://example.org/a/b and http://example.org",
            "[table](blocks/table.md)",
            "<a href=\"b\"/></a><br />",
            "/proc/self/stat, /sys, /dev/null, /rustc/abc/library",
            "a / b // c",
            "CPU us /statement | bytes /segment | statements /s | receives /idle s | bytes /session",
            "0.1,2.5,HISTFAAA/x+/yz//w=",
            "data:application/gzip;base64,H4sI/ab+/cd",
        ] {
            assert_eq!(machine_path(text), None, "{text}");
        }
    }

    #[test]
    fn patterns_of_a_script_are_none_and_what_stands_behind_it_is_looked_at() {
        let page = "<style>a{}</style><p>x</p><script>s.replace(/abc/g)</script><p>/home/ada</p>";
        assert_eq!(without_code(page), "<p>x</p><p>/home/ada</p>");
        assert_eq!(machine_path(&without_code(page)), Some("/home/ada"));
    }
}
