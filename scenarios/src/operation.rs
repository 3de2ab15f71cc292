//! How a statement is issued, and the limits of a scenario.

use cqldyno_driver_api::words;
use serde::{Deserialize, Serialize};

/// The most rows of a batch.
pub const MAX_BATCH: usize = 1_024;

/// Rows of a batch if the statement sets no size.
pub(crate) const DEFAULT_BATCH: usize = 64;

words! {
    /// How a statement is issued.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Operation {
        /// The statement is prepared before the window, and each issue is an EXECUTE.
        #[default]
        Execute = "execute",
        /// The statement is prepared before the window, and each issue is one BATCH of `size` rows.
        Batch = "batch",
        /// Each issue is a PREPARE of the text with a comment at its end that no other issue has.
        Prepare = "prepare",
        /// Each issue gives the driver text and values: a QUERY with values, or what the driver makes of that.
        Unprepared = "unprepared",
        /// Each issue connects, prepares the statement, executes it once and closes.
        Connect = "connect",
    }
}

/// The most that makes sense of a scenario whose statements take long. A cell has at most these; a plan that asks for less gets
/// less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Statements in the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Statements in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// Statements before the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<u64>,
    /// Statements in flight unless a number is asked for; absent for the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual: Option<u64>,
}

impl Limits {
    /// Those for a load whose number in flight nobody asked for.
    #[must_use]
    pub fn usual(self) -> Limits {
        Limits { concurrency: self.usual.or(self.concurrency), usual: None, ..self }
    }

    /// Those for a load whose number in flight was asked for.
    #[must_use]
    pub fn asked(self) -> Limits {
        Limits { usual: None, ..self }
    }

    /// `asked`, or the limit where that is less.
    pub fn count(&self, asked: u64) -> u64 {
        self.count.map_or(asked, |most| asked.min(most))
    }

    /// `asked`, or the limit where that is less.
    pub fn concurrency(&self, asked: usize) -> usize {
        self.concurrency.and_then(|most| usize::try_from(most).ok()).map_or(asked, |most| asked.min(most))
    }

    /// `asked`, or the limit where that is less.
    pub fn warmup(&self, asked: u64) -> u64 {
        self.warmup.map_or(asked, |most| asked.min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_named_as_it_is_written() {
        for operation in Operation::ALL {
            assert_eq!(serde_json::to_value(operation).unwrap(), operation.name());
        }
    }

    #[test]
    fn a_limit_holds_where_more_is_asked_for_and_gives_way_to_less() {
        let limits = Limits { count: Some(200), concurrency: Some(1), ..Limits::default() };
        assert_eq!((limits.count(1_000_000), limits.count(50)), (200, 50));
        assert_eq!((limits.concurrency(1_024), limits.warmup(20_000)), (1, 20_000));
        assert_eq!(Limits::default().count(7), 7);
        let several = Limits { concurrency: Some(1_000), usual: Some(1), ..limits };
        assert_eq!(several.usual(), limits);
        assert_eq!(several.asked().usual().concurrency, Some(1_000));
    }
}
