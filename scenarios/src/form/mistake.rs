//! A mistake in a text, and where it is.

use std::ops::Range;

use crate::ScenarioError;

/// What is wrong at which bytes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) span: Range<usize>,
    /// A full sentence without its full stop.
    pub(crate) message: String,
}

impl Mistake {
    /// The error about `text`, which is `what` and comes from `origin`.
    pub(crate) fn within(&self, what: &str, origin: &str, text: &str) -> ScenarioError {
        let (Place { line, column, excerpt }, message) = (Place::of(&self.span, text), &self.message);
        ScenarioError(format!("the {what} {origin} cannot be read, line {line}, column {column}: {message}\n{excerpt}"))
    }
}

/// A place in a text as a reader finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Counted from 1.
    pub(crate) line: usize,
    /// In characters, counted from 1.
    pub(crate) column: usize,
    /// The line, with carets below what is meant.
    pub(crate) excerpt: String,
}

/// The most characters of a line that are shown before and after its middle.
const SHOWN: usize = 100;

impl Place {
    /// Where `span` of `text` is.
    pub(crate) fn of(span: &Range<usize>, text: &str) -> Place {
        let start = (0..=span.start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let before = text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        let whole = text.get(line_start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        // What goes on in the next line is marked to the end of this one.
        let marked = text.get(start..span.end.min(line_start + whole.len())).map_or(1, |meant| meant.chars().count());
        let skipped = (column - 1).saturating_sub(SHOWN);
        let shown: String =
            whole.chars().skip(skipped).take(2 * SHOWN).map(|c| if c == '\t' { ' ' } else { c }).collect();
        let left = shown.chars().count().saturating_sub(column - 1 - skipped);
        let (margin, number) = (" ".repeat(line.to_string().len()), line);
        let carets = "^".repeat(marked.clamp(1, left.max(1)));
        let indent = " ".repeat(column - 1 - skipped);
        let excerpt = format!("{margin} |\n{number} | {shown}\n{margin} | {indent}{carets}");
        Place { line, column, excerpt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_characters_from_one_and_shown_with_carets() {
        let text = "a = 1\nüb = \"wörld\"\nc = 3";
        let start = text.find("\"w").unwrap();
        let place = Place::of(&(start..start + 8), text);
        assert_eq!((place.line, place.column), (2, 6));
        assert_eq!(place.excerpt, "  |\n2 | üb = \"wörld\"\n  |      ^^^^^^^");
    }

    #[test]
    fn what_goes_on_in_the_next_line_or_lies_behind_the_end_is_marked_in_one_line() {
        let text = "a = [\n 1,\n]\n";
        assert_eq!(Place::of(&(4..11), text).excerpt, "  |\n1 | a = [\n  |     ^");
        let place = Place::of(&(99..99), text);
        assert_eq!((place.line, place.column), (4, 1));
        assert_eq!(place.excerpt, "  |\n4 | \n  | ^");
    }

    #[test]
    fn of_a_long_line_only_the_part_around_the_place_is_shown() {
        let text = format!("{}X{}", "a".repeat(5_000), "b".repeat(5_000));
        let place = Place::of(&(5_000..5_001), &text);
        assert_eq!(place.column, 5_001);
        assert!(place.excerpt.len() < 500 && place.excerpt.contains("aX") && place.excerpt.ends_with(" ^"));
    }
}
