//! Requests other than EXECUTE, counted for each statement's text.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use crate::cql::{Select, Statement, parse};

/// Texts that are distinguished; further ones are counted together without a text.
const MOST_TEXTS: usize = 1_024;

/// A longer text is counted without a text.
const LONGEST_TEXT: usize = 16 * 1024;

/// A request for a statement, other than EXECUTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// PREPARE.
    Prepare,
    /// QUERY, with values or without.
    Query,
    /// BATCH of kind unlogged or counter; its rows are its statements.
    UnloggedBatch,
    /// BATCH of kind logged.
    LoggedBatch,
}

/// The number of a text; 0 without one.
pub(crate) type TextNumber = u32;

/// Consecutive requests of one kind and text, before they are published.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) request: Request,
    pub(crate) text: TextNumber,
    pub(crate) count: u64,
    pub(crate) rows: u64,
}

/// A statement's text without white space and a comment at its end. Clients use such comments to make texts differ, and all of
/// them count as one statement.
pub fn without_comment(text: &str) -> &str {
    let text = text.trim();
    match text.strip_suffix("*/").and_then(|rest| rest.rfind("/*")) {
        Some(at) => text[..at].trim_end(),
        None => text,
    }
}

/// Whether the text is a SELECT from a system table, such as those by which drivers learn of nodes and schema.
pub fn reads_system_table(text: &str) -> bool {
    let of_system = |select: &Select| {
        select.table.keyspace.as_deref().is_some_and(|name| name == "system" || name.starts_with("system_"))
    };
    // Most texts need no parsing.
    let names_it = text.as_bytes().windows(6).any(|at| at.eq_ignore_ascii_case(b"system"));
    names_it && matches!(parse(text), Ok(Statement::Select(select)) if of_system(&select))
}

#[derive(Debug, Default)]
pub(crate) struct Texts {
    numbers: RwLock<HashMap<Arc<str>, TextNumber>>,
}

impl Texts {
    pub(crate) fn number(&self, text: &str) -> TextNumber {
        let text = without_comment(text);
        if let Some(number) = self.numbers.read().unwrap_or_else(PoisonError::into_inner).get(text) {
            return *number;
        }
        let mut numbers = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        if numbers.len() >= MOST_TEXTS || text.len() > LONGEST_TEXT {
            // Another thread may have added it since the first look.
            return numbers.get(text).copied().unwrap_or(0);
        }
        let next = numbers.len() as TextNumber + 1;
        *numbers.entry(text.into()).or_insert(next)
    }

    pub(crate) fn by_number(&self) -> HashMap<TextNumber, Arc<str>> {
        let numbers = self.numbers.read().unwrap_or_else(PoisonError::into_inner);
        numbers.iter().map(|(text, number)| (*number, text.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_at_the_end_makes_no_other_statement() {
        for text in ["SELECT 1", " SELECT 1 ", "SELECT 1 /* 7 */", "SELECT 1/**/\n"] {
            assert_eq!(without_comment(text), "SELECT 1");
        }
        assert_eq!(without_comment("SELECT /* x */ 1"), "SELECT /* x */ 1");
        assert_eq!(without_comment("SELECT ż */"), "SELECT ż */");
        assert_eq!(without_comment("*/"), "*/");
    }

    #[test]
    fn what_reads_a_system_table_is_told_from_what_only_names_one() {
        for text in ["SELECT * FROM system.local WHERE key='local'", "select a from system_schema.tables where a = ?"] {
            assert!(reads_system_table(text), "{text}");
        }
        for text in ["SELECT system FROM ks.local", "INSERT INTO system.local (a) VALUES (1)", "SELECT system.local"] {
            assert!(!reads_system_table(text), "{text}");
        }
    }

    #[test]
    fn texts_are_numbered_up_to_a_bound() {
        let texts = Texts::default();
        let one = texts.number("SELECT 1 /* a */");
        assert_eq!((texts.number("SELECT 1 /* b */"), texts.number("SELECT 2")), (one, one + 1));
        for number in 0..5_000 {
            texts.number(&format!("SELECT {number} FROM t"));
        }
        assert_eq!(texts.number("SELECT 4999 FROM t"), 0, "one too many");
        assert_eq!(texts.number(&"x".repeat(LONGEST_TEXT + 1)), 0);
        assert_eq!(texts.number("SELECT 1"), one);
        assert_eq!(texts.by_number().len(), MOST_TEXTS);
        assert_eq!(&*texts.by_number()[&one], "SELECT 1");
    }
}
