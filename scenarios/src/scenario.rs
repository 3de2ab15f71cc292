//! The scenario as a user writes it.

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::form;
use crate::operation::DEFAULT_BATCH;
use crate::{By, Column, Limits, Operation, Order};

/// The most values that one statement may bind, and the most columns of a row that is expected.
pub const MAX_VALUES: usize = 32;

/// The most bytes that the texts and blobs of one statement, or of one row, may have together: a frame of the protocol has at
/// most 16 MiB here, and 64 KiB of that are left for everything else in it.
pub const MAX_VALUE_BYTES: usize = (16 << 20) - (64 << 10);

/// The most rows that may be expected of one statement.
pub const MAX_ROWS: u64 = 1 << 20;

/// Exponents of [`Order::Zipf`].
pub(crate) const MIN_EXPONENT: f64 = 0.01;
pub(crate) const MAX_EXPONENT: f64 = 10.0;

/// What is asked of every contender: schema, statements, their mix, their values and what must come back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A word of lower-case letters, digits and hyphens.
    pub name: String,
    /// One sentence for `cqldyno scenarios`.
    pub about: String,
    /// CQL that makes the tables, executed in order before the data are loaded; must be repeatable.
    pub schema: Vec<String>,
    /// The most that makes sense of it; absent for no limits.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
    /// The most rows of a page, where the plan does not ask for fewer; absent for those that the plan asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    /// What is issued, at least one.
    #[serde(rename = "statement")]
    pub statements: Vec<Statement>,
}

/// One statement of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// A word for tables and messages.
    pub name: String,
    /// The text that is prepared; tables are named with their keyspace.
    pub cql: String,
    /// The share of the statements, relative to the other statements of the scenario.
    #[serde(default = "one")]
    pub weight: u32,
    /// What it is issued as.
    #[serde(default, skip_serializing_if = "Operation::is_execute")]
    pub operation: Operation,
    /// Rows of a batch, at most [`MAX_BATCH`](crate::MAX_BATCH) and [`DEFAULT_BATCH`] where it is absent; for
    /// [`Operation::Batch`] alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// One generator a bind marker, at most [`MAX_VALUES`]; none for [`Operation::Prepare`]. In a batch the row `j` of the statement
    /// with key `k` has the values of the key `k * size + j`.
    pub values: Vec<Column>,
    /// How many keys it has; absent for as many as it is issued in the window. Where they are fewer they come again and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<u64>,
    /// The order in which they come.
    #[serde(default, skip_serializing_if = "Order::is_permuted")]
    pub order: Order,
    /// Of [`Order::Zipf`] alone, above 0; absent for [`DEFAULT_EXPONENT`](crate::DEFAULT_EXPONENT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// What must come back; absent for a statement that returns no rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
    /// How the rows that this statement reads come into the table before the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// How a row that this statement wrote is read again after the window. A statement that has this writes one new row a key, or the
    /// rows of a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBack>,
}

/// The rows that a statement must return.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// How many rows must come back: those of the key, in the order of their places. Absent for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// One generator a column of each row that must come back, in the order of the result's columns.
    pub columns: Vec<Column>,
}

/// A statement that loads one row: it is executed for every row that the scenario's statement reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The INSERT.
    pub cql: String,
    /// One generator a bind marker, at most [`MAX_VALUES`].
    pub values: Vec<Column>,
    /// Whether what is loaded differs from cell to cell: a number that is drawn for each cell is added to every value that
    /// the statement expects back and does not bind itself ([`Scenario::shifted`]). Who knows the key then still does not know
    /// the row, and has to read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shift: bool,
}

/// A SELECT of the one row that a statement wrote for a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadBack {
    /// The SELECT.
    pub cql: String,
    /// One generator a bind marker, at most [`MAX_VALUES`].
    pub values: Vec<Column>,
    /// One generator a column of the one row that must come back.
    pub columns: Vec<Column>,
}

fn one() -> u32 {
    1
}

/// A scenario that cannot be used, and why.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A mistake in the TOML form.
    #[error("the scenario {origin} cannot be read, line {line}, column {column}: {message}\n{excerpt}")]
    Mistake {
        /// The file, or the name of a built-in scenario.
        origin: String,
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
        /// What was found and what is allowed there.
        message: String,
        /// The line with carets below what is meant.
        excerpt: String,
    },
    /// A scenario that came another way than from TOML and cannot be run.
    #[error("the scenario {origin} cannot be run: {message}")]
    Invalid {
        /// What names the scenario.
        origin: String,
        /// What was found and what to do.
        message: String,
    },
}

impl Statement {
    /// Rows that one issue of it writes or reads: those of a batch, or those that are expected.
    pub fn rows(&self) -> u64 {
        match self.operation {
            Operation::Batch => self.size.unwrap_or(DEFAULT_BATCH),
            _ => self.expect.as_ref().and_then(|expect| expect.rows).unwrap_or(1),
        }
    }
}

impl Scenario {
    /// Reads the TOML form; `origin` names it in messages.
    ///
    /// # Errors
    /// The first mistake: text that is not TOML, a field that is missing, unknown or of the wrong kind, or content that cannot be
    /// run.
    pub fn from_toml(text: &str, origin: &str) -> Result<Scenario, ScenarioError> {
        form::read(text, origin)
    }

    /// Checks what the types do not say, for a scenario that came another way than from TOML; `origin` names it in
    /// messages.
    ///
    /// # Errors
    /// When the scenario has no runnable content.
    pub fn validate(&self, origin: &str) -> Result<(), ScenarioError> {
        self.check().map_err(|Fault { message, .. }| ScenarioError::Invalid { origin: origin.to_owned(), message })
    }

    /// The pages in which the answer of `statement` comes, [`Scenario::page_size`] being in force; 1 where it is absent.
    ///
    /// A page that is full is never the last one: Cassandra learns only by looking that there is no more.
    pub fn pages(&self, statement: &Statement) -> u64 {
        let rows = statement.expect.as_ref().map_or(1, |_| statement.rows());
        match self.page_size {
            Some(page_size) if rows > 1 => rows / u64::from(page_size.max(1)) + 1,
            _ => 1,
        }
    }

    /// The scenario with `by` added to whatever its loads shift ([`Load::shift`]), in what is loaded and in what is expected
    /// alike; the loads of the result shift nothing more.
    pub fn shifted(&self, by: i64) -> Scenario {
        let mut scenario = self.clone();
        for statement in &mut scenario.statements {
            let (Some(expect), Some(load)) = (&mut statement.expect, &mut statement.load) else { continue };
            if !load.shift {
                continue;
            }
            // Where a key has several rows, what they have in common by it is what the statement binds for it.
            let bound: Vec<Column> = match expect.rows {
                Some(2..) => statement.values.iter().map(|value| Column { by: By::Key, ..value.clone() }).collect(),
                _ => statement.values.clone(),
            };
            let shifts = |column: &Column| !bound.contains(column) && load.values.contains(column);
            let shifted: Vec<Column> = expect.columns.iter().filter(|column| shifts(column)).cloned().collect();
            load.shift = false;
            for column in expect.columns.iter_mut().chain(&mut load.values).filter(|column| shifted.contains(column)) {
                column.shift(by);
            }
        }
        scenario
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn a_shift_changes_what_is_loaded_and_expected_alike_and_never_what_is_bound() {
        for name in ["reads", "mixed"] {
            let scenario = crate::builtin(name).unwrap();
            let shifted = scenario.shifted(1_000);
            let select = &shifted.statements[0];
            let (expect, load) = (select.expect.as_ref().unwrap(), select.load.as_ref().unwrap());
            assert_eq!(expect.columns, load.values);
            assert_eq!(select.values, scenario.statements[0].values);
            assert_eq!(expect.columns[0], Kind::Bigint { times: 1, plus: 0 }.into(), "the key is bound");
            assert_eq!(expect.columns[1], Kind::Bigint { times: 2, plus: 1_000 }.into());
            assert_eq!(expect.columns[2], Kind::Bigint { times: 3, plus: 1_000 }.into());
            assert_eq!(shifted.statements[1..], scenario.statements[1..], "nothing else is loaded");
            assert_eq!(shifted.shifted(1), shifted, "it is done once");
        }
        let writes = crate::builtin("writes").unwrap();
        assert_eq!(writes.shifted(1_000), writes);
    }

    #[test]
    fn the_key_that_several_rows_have_in_common_is_not_shifted_and_what_each_has_for_itself_is() {
        let example = Scenario::from_toml(include_str!("../example.toml"), "x").unwrap().shifted(1_000);
        let day = &example.statements[2];
        let (expect, load) = (day.expect.as_ref().unwrap(), day.load.as_ref().unwrap());
        assert_eq!(expect.columns, load.values);
        let plus = |column: &Column| match column.kind {
            Kind::Bigint { plus, .. } | Kind::Timestamp { plus, .. } | Kind::Double { plus, .. } => plus,
            Kind::Blob { plus, .. } => plus,
            _ => -1,
        };
        assert_eq!(load.values.iter().map(plus).collect::<Vec<_>>(), [0, 0, 1_000, 1_000]);
    }

    #[test]
    fn rows_come_in_pages_of_which_the_last_is_never_full() {
        let rows = crate::builtin("rows").unwrap();
        let pages = |page_size| Scenario { page_size, ..rows.clone() }.pages(&rows.statements[0]);
        assert_eq!([Some(30), Some(50), Some(99), Some(100), Some(101), None].map(pages), [4, 3, 2, 2, 1, 1]);
        let reads = Scenario { page_size: Some(1), ..crate::builtin("reads").unwrap() };
        assert_eq!(reads.pages(&reads.statements[0]), 1);
    }
}
