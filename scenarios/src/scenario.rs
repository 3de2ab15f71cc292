//! The scenario as a user writes it.

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::path::PathBuf;

use cqldyno_driver_api::words;
use cqldyno_script::{Step, Time};
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Selection};
use crate::cql::{self, Uses, created_if, keyspace_created_by, with_own_names, with_replication};
use crate::fault::Fault;
use crate::form;
use crate::operation::DEFAULT_BATCH;
use crate::replication::Replication;
use crate::{Amount, By, Column, Kind, Limits, Operation, Order, Submit, Workload};

/// The most values that a statement binds, and the most columns of an expected row.
pub const MAX_VALUES: usize = 256;

/// The most bytes of values that a statement or a row has: a frame holds 16 MiB, and 64 KiB are left for the rest.
pub const MAX_VALUE_BYTES: usize = (16 << 20) - (64 << 10);

/// The most rows that a statement may expect.
pub const MAX_ROWS: u64 = 1 << 20;

/// The most ranges of tokens.
pub(crate) const MAX_RANGES: u64 = 1 << 16;

/// Exponents of [`Order::Zipf`].
pub(crate) const MIN_EXPONENT: f64 = 0.01;
pub(crate) const MAX_EXPONENT: f64 = 10.0;

/// What every contender is asked: schema, statements, their mix, their values and the rows that must come back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A word of lower-case letters, digits and hyphens.
    pub name: String,
    /// One sentence for `cqldyno scenarios`.
    pub about: String,
    /// CQL that creates the tables, executed in order before rows are loaded; must be repeatable.
    pub schema: Vec<String>,
    /// The most that makes sense of it; absent for no limits.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub limits: Limits,
    /// The most rows of a page; absent for the plan's page size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    /// How statements are submitted.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub submit: Submit,
    /// What it has instead of the plan's; set by a sweep, never in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<Point>,
    /// What is issued, at least one.
    #[serde(rename = "statement")]
    pub statements: Vec<Statement>,
    /// What the embedded cluster does on purpose in every window. No worker is told of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub script: Vec<Step>,
    /// How long each worker is left idle after its turn, with its session open; absent for not at all. No worker is told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub idle: Option<Time>,
    /// The file whose rows say what is issued, in their order. No worker is told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub tape: Option<OwnRows>,
}

/// A file with rows of the user's own, one per execution of a statement. Tapes are made of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnRows {
    /// Where it is.
    pub path: PathBuf,
    /// How many rows it has; absent before it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// The SHA-256 of its content; absent before it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl OwnRows {
    /// One that was not read.
    pub fn at(path: PathBuf) -> OwnRows {
        OwnRows { path, rows: None, hash: None }
    }
}

/// One combination of the numbers of a sweep that a scenario is run with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Statements in flight.
    pub in_flight: u64,
    /// Data connections per node; absent for one per shard of the point, or the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Shards of each embedded node; absent for the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<u64>,
    /// Nanoseconds by which the embedded cluster delays each answer; absent for the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ns: Option<u64>,
}

/// One statement of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// A word for tables and messages.
    pub name: String,
    /// The text that is prepared; tables are named with their keyspace.
    pub cql: String,
    /// Its share of all statements, relative to the others.
    #[serde(default = "one")]
    pub weight: u32,
    /// How it is issued.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub operation: Operation,
    /// Rows of a batch, at most [`MAX_BATCH`](crate::MAX_BATCH); absent for [`DEFAULT_BATCH`]. For [`Operation::Batch`] alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Amount>,
    /// Whether a batch is a logged one. For [`Operation::Batch`] alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub logged: bool,
    /// One column per bind marker, at most [`MAX_VALUES`]; none for [`Operation::Prepare`]. Row `j` of a batch with key `k` has
    /// the values of the key `k * size + j`, with the greatest size if it is drawn.
    pub values: Vec<Column>,
    /// How many keys it has; absent for one per issue. Fewer keys come again and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<u64>,
    /// The statement whose keys it has, and so whose rows; absent for keys of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_of: Option<String>,
    /// How many rows the tables have more after it was executed with another key, fewer if below 0; absent for as many as it inserts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adds: Option<i64>,
    /// The order in which they come.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub order: Order,
    /// Of [`Order::Zipf`] alone, above 0; absent for [`DEFAULT_EXPONENT`](crate::DEFAULT_EXPONENT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// What must come back; absent for a statement that returns no rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
    /// How the rows that it reads or changes come into the table before the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// How a row that it wrote is read again after the window. Without `load`, an INSERT or UPDATE makes one new row per key, or
    /// the rows of a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBack>,
}

words! {
    /// What is checked of several rows that come back.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum RowCheck {
        /// Every value, and the order of the rows.
        #[default]
        Order = "order",
        /// Every value, in any order of the rows.
        Content = "content",
        /// How many they are.
        Count = "count",
    }
}

/// The rows that a statement must return.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// How many rows must come back for a key, in the order of their places. Absent for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Amount>,
    /// How many rows a key has, of which these are a part; absent if all come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Amount>,
    /// The least place of the rows that come back; absent for 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Amount>,
    /// Whether these are the last rows of the key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// Into how many parts of one size all tokens are cut: the rows are those of all loaded keys with a token in the part of the key, which
    /// is the key modulo this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranges: Option<u64>,
    /// Whether the row with the greatest place comes first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub descending: bool,
    /// What of several rows is checked.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub check: RowCheck,
    /// One column per column of the result, in its order.
    pub columns: Vec<Column>,
}

/// An INSERT, or an UPDATE of a counter, that is executed for every row that the statement reads or changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The INSERT or UPDATE.
    pub cql: String,
    /// One generator a bind marker, at most [`MAX_VALUES`].
    pub values: Vec<Column>,
    /// Whether loaded rows differ from cell to cell. A number drawn for each cell is added to every expected value that the
    /// statement does not bind ([`Scenario::shifted`]). A driver that knows the key still has to read the row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shift: bool,
}

/// A SELECT of the one row that a statement wrote for a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadBack {
    /// The SELECT.
    pub cql: String,
    /// One generator a bind marker, at most [`MAX_VALUES`].
    pub values: Vec<Column>,
    /// One column per column of the one row that must come back.
    pub columns: Vec<Column>,
}

fn one() -> u32 {
    1
}

impl Expectation {
    /// How many rows come back for a key, at most.
    pub fn rows(&self) -> u64 {
        self.rows.map_or(1, |rows| rows.most() as u64)
    }

    /// How many rows a key has, at most.
    pub fn stored(&self) -> u64 {
        self.answer().most()
    }

    /// Which rows of a key come back.
    pub fn answer(&self) -> Answer {
        let rows = self.rows.unwrap_or(1.into());
        let selection = |_| Selection { rows, from: self.from.unwrap_or(0.into()), last: self.last };
        Answer { stored: self.stored.unwrap_or(rows), selection: self.stored.map(selection) }
    }
}

/// A scenario or a regression that cannot be used: what was found and what to do, with the place if it was read from TOML.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ScenarioError(pub(crate) String);

impl Statement {
    /// Rows that one issue writes or reads, at most: those of a batch, or the expected ones.
    pub fn rows(&self) -> u64 {
        match self.operation {
            Operation::Batch => self.stored(),
            _ => self.expect.as_ref().map_or(1, Expectation::rows),
        }
    }

    /// Which rows of a key one issue writes or reads.
    pub fn answer(&self) -> Answer {
        let all = |stored| Answer { stored, selection: None };
        match self.operation {
            Operation::Batch => all(self.size.unwrap_or(DEFAULT_BATCH.into())),
            _ => self.expect.as_ref().map_or(all(1.into()), Expectation::answer),
        }
    }

    /// Whether executions differ in how many rows they write or read.
    pub fn has_drawn_rows(&self) -> bool {
        let answer = self.answer();
        answer.stored.is_drawn() || answer.is_drawn()
    }

    /// Rows that a key has.
    pub(crate) fn amount(&self) -> Amount {
        self.answer().stored
    }

    /// The statement whose keys it has, if they are not its own.
    pub(crate) fn source(&self) -> Option<&str> {
        self.keys_of.as_deref()
    }

    /// Whether its rows are there before the window.
    pub fn is_on_loaded_rows(&self) -> bool {
        self.load.is_some() || self.keys_of.is_some()
    }

    /// Rows that a key has, at most: as many as one issue writes or reads, or more of which it reads a part.
    pub fn stored(&self) -> u64 {
        self.amount().most() as u64
    }

    /// Whether it is an INSERT, an UPDATE, a DELETE, or a batch of these in one text.
    pub fn writes(&self) -> bool {
        cql::writes(&self.cql)
    }

    /// Whether it is a SELECT.
    pub fn reads(&self) -> bool {
        cql::begins_with(&self.cql, &["select"])
    }

    /// Whether it is a lightweight transaction, whose answer has a row although it writes.
    pub fn is_conditional(&self) -> bool {
        cql::is_conditional(&self.cql)
    }

    /// The first type, named as [`Kind::name`] does, of a bound value or an expected column for which `is_meant` holds.
    pub fn type_that(&self, is_meant: impl Fn(&'static str) -> bool) -> Option<&'static str> {
        let expected = self.expect.iter().flat_map(|expect| &expect.columns);
        let kinds = self.values.iter().chain(expected).flat_map(|column| column.kind.all());
        kinds.map(Kind::name).find(|name| is_meant(name))
    }
}

/// The column of stored rows that a statement binds by this value.
fn of_stored(value: &Column) -> Column {
    match &value.kind {
        Kind::Each { of } => Column { kind: (**of).clone(), ..value.clone() },
        _ if value.at.is_some() => Column { at: None, ..value.clone() },
        _ => Column { by: By::Key, ..value.clone() },
    }
}

impl Scenario {
    /// Reads the TOML form; `origin` names it in messages.
    ///
    /// # Errors
    /// The first mistake: text that is not TOML, a field that is missing, unknown or of the wrong kind, or content that cannot be
    /// run.
    pub fn from_toml(text: &str, origin: &str) -> Result<Scenario, ScenarioError> {
        form::read(text, origin, None)
    }

    /// The same with the rows of this file, whether or not the text names one.
    ///
    /// # Errors
    /// As [`Scenario::from_toml`].
    pub fn with_tape(text: &str, origin: &str, tape: PathBuf) -> Result<Scenario, ScenarioError> {
        form::read(text, origin, Some(tape))
    }

    /// Checks what the types do not say, for a scenario from elsewhere than TOML; `origin` names it in messages.
    ///
    /// # Errors
    /// When the scenario cannot be run.
    pub fn validate(&self, origin: &str) -> Result<(), ScenarioError> {
        let invalid = |fault: Fault| ScenarioError(format!("the scenario {origin} cannot be run: {}", fault.message));
        self.check().map_err(invalid)
    }

    /// The most pages in which the answer of `statement` comes; 1 if [`Scenario::page_size`] is absent.
    pub fn pages(&self, statement: &Statement) -> u64 {
        self.pages_of(statement, statement.expect.as_ref().map_or(1, |_| statement.rows()))
    }

    /// The pages in which so many rows come.
    ///
    /// A full page is never the last one, unless LIMIT is reached: Cassandra learns only from an empty page that there is no more.
    fn pages_of(&self, statement: &Statement, rows: u64) -> u64 {
        let is_bound = cql::has_limit(&statement.cql) && statement.values.iter().any(|value| value.by == By::Rows);
        let is_limit = is_bound || cql::limit(&statement.cql) == Some(rows);
        match self.page_size {
            // The server knows that no more is asked for.
            Some(page_size) if is_limit => rows.div_ceil(page_size.max(1).into()),
            Some(page_size)
                if statement.expect.as_ref().is_some_and(|expect| expect.ranges.is_some() || expect.stored() > 1) =>
            {
                rows / u64::from(page_size.max(1)) + 1
            }
            _ => 1,
        }
    }

    /// Rows that the issues of the statement at `index` wrote or read together, and the pages in which they came: the least and the most
    /// of each, which differ only if some issues of drawn rows are missing.
    pub fn issued(&self, workload: &Workload, index: usize, issued: u64) -> (RangeInclusive<u64>, RangeInclusive<u64>) {
        let Some(statement) = self.statements.get(index) else { return (0..=0, 0..=0) };
        if statement.expect.as_ref().is_some_and(|expect| expect.ranges.is_some()) {
            let rows = workload.rows_scanned(index);
            return (0..=issued * rows, issued..=issued * self.pages_of(statement, rows).max(1));
        }
        let of = |rows| (rows, self.pages_of(statement, if statement.expect.is_some() { rows } else { 1 }));
        if statement.has_drawn_rows() && workload.share(index) == issued {
            let each = workload.keys_issued(index).map(|key| of(statement.answer().rows(key)));
            let (rows, pages) = each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            return (rows..=rows, pages..=pages);
        }
        let least = if statement.has_drawn_rows() { 0 } else { statement.rows() };
        let [least, most] = [least, statement.rows()].map(of);
        (issued * least.0..=issued * most.0, issued * least.1..=issued * most.1)
    }

    /// The columns of the partition key of the rows that the scan at `index` reads, as they are loaded; `None` if that cannot be read.
    pub fn scanned(&self, index: usize) -> Option<Vec<&Column>> {
        let statement = self.statements.get(index)?;
        let source = statement.source().unwrap_or(&statement.name);
        let load = self.statements.iter().find(|one| one.name == source)?.load.as_ref()?;
        let tables = self.tables();
        let uses = Uses::of(&load.cql, &tables)?;
        let table = tables.iter().find(|table| table.name == uses.table)?;
        let is_same = Uses::of(&statement.cql, &tables).is_some_and(|scan| scan.table == table.name);
        let column = |name: &String| load.values.get(uses.bound.iter().position(|bound| bound.as_ref() == Some(name))?);
        table.key.get(..table.partition).filter(|_| is_same)?.iter().map(column).collect()
    }

    /// The keyspaces that its schema creates, each with the statement that does so and fails if there is one of that name.
    pub fn keyspaces(&self) -> Vec<(String, String)> {
        self.schema.iter().filter_map(|cql| Some((keyspace_created_by(cql)?, created_if(cql, "")?))).collect()
    }

    /// The scenario with other replicas in all keyspaces that its schema creates; `None` if it creates none with a replication.
    pub fn with_replication(&self, replication: &Replication) -> Option<Scenario> {
        let (mut scenario, map) = (self.clone(), replication.map());
        let mut replaced = 0;
        for cql in scenario.schema.iter_mut().filter(|cql| keyspace_created_by(cql).is_some()) {
            *cql = with_replication(cql, &map)?;
            replaced += 1;
        }
        (replaced > 0).then_some(scenario)
    }

    /// The scenario with keyspaces of its own in the place of those that its schema creates: their names begin with `cqldyno` and end
    /// with `suffix`. They may exist when the schema creates them. `None` unless all tables are in these, or if a name would be too long.
    pub fn with_own_keyspaces(&self, suffix: &str) -> Option<Scenario> {
        let keyspaces: Vec<String> = self.schema.iter().filter_map(|cql| keyspace_created_by(cql)).collect();
        let mut scenario = self.clone();
        let statements = scenario.statements.iter_mut().flat_map(|statement| {
            let load = statement.load.as_mut().map(|load| &mut load.cql);
            let read_back = statement.read_back.as_mut().map(|read_back| &mut read_back.cql);
            std::iter::once(&mut statement.cql).chain(load).chain(read_back)
        });
        for cql in statements.chain(&mut scenario.schema) {
            let own = with_own_names(cql, &keyspaces, suffix)?;
            *cql = created_if(&own, " IF NOT EXISTS").unwrap_or(own);
        }
        Some(scenario)
    }

    /// The scenario with `by` added to whatever its loads shift ([`Load::shift`]), in loaded and expected rows alike. Its own
    /// loads shift nothing more.
    pub fn shifted(&self, by: i64) -> Scenario {
        let mut scenario = self.clone();
        for statement in &mut scenario.statements {
            let (Some(expect), Some(load)) = (&mut statement.expect, &mut statement.load) else { continue };
            if !load.shift {
                continue;
            }
            // Rows of one key have in common what the statement binds for it.
            let bound: Vec<Column> = match expect.stored() {
                2.. => statement.values.iter().map(of_stored).collect(),
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
