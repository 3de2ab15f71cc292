//! A prepared statement: what the executor runs, without a name left to look up.
//!
//! The analyzer makes it from text and the catalog. A plan holds its [`Table`], and columns are indexes into
//! [`Table::columns`]. Values are bind markers (an index into the values of an EXECUTE), constants that were serialised at
//! prepare time, or terms to compute, off the hot path.

mod condition;
mod evaluate;

use std::sync::Arc;

use bytes::Bytes;
use md5::{Digest, Md5};

use crate::cql::{self, Describe, Operator};
use crate::schema::{Ddl, Table};
use crate::types::{self, ColumnSpec, CqlType};

pub use crate::cql::ModificationKind;
pub use evaluate::{EvaluatedFilter, time_uuid};

#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// The bind marker of this index; its value is to be validated against the marker's type.
    Marker(u16),
    /// A literal, serialised and validated at prepare time; `None` is null.
    Constant(Option<Bytes>),
    Computed(Box<Computed>),
}

/// A value that follows from nothing in the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// `now()`: a version 1 UUID of the current time.
    Now,
    /// `uuid()`: a version 4 UUID.
    Uuid,
    /// `currentTimestamp()` and `toTimestamp(now())`: milliseconds since 1970 as a bigint.
    CurrentTimestamp,
    /// `currentDate()` and `toDate(now())`.
    CurrentDate,
    /// `currentTime()`
    CurrentTime,
}

/// A function that makes a moment of one type from one of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    ToDate,
    ToTimestamp,
    ToUnixTimestamp,
    MinTimeuuid,
    MaxTimeuuid,
}

/// Each with its names, without and with a `_`, what it makes, and the types that it takes.
static CONVERSIONS: [(Conversion, [&str; 2], CqlType, &[CqlType]); 5] = [
    (Conversion::ToDate, ["todate", "to_date"], CqlType::Date, &[CqlType::Timeuuid, CqlType::Timestamp]),
    (Conversion::ToTimestamp, ["totimestamp", "to_timestamp"], CqlType::Timestamp, &[CqlType::Timeuuid, CqlType::Date]),
    (
        Conversion::ToUnixTimestamp,
        ["tounixtimestamp", "to_unix_timestamp"],
        CqlType::Bigint,
        &[CqlType::Timeuuid, CqlType::Timestamp, CqlType::Date],
    ),
    (Conversion::MinTimeuuid, ["mintimeuuid", "min_timeuuid"], CqlType::Timeuuid, &[CqlType::Timestamp]),
    (Conversion::MaxTimeuuid, ["maxtimeuuid", "max_timeuuid"], CqlType::Timeuuid, &[CqlType::Timestamp]),
];

impl Conversion {
    /// The function of this name in lower case.
    pub fn named(name: &str) -> Option<Conversion> {
        CONVERSIONS.iter().find(|(_, names, ..)| names.contains(&name)).map(|row| row.0)
    }

    pub fn result(self) -> CqlType {
        CONVERSIONS[self as usize].2.clone()
    }

    pub fn arguments(self) -> &'static [CqlType] {
        CONVERSIONS[self as usize].3
    }

    /// The name without a `_` in it.
    pub fn name(self) -> &'static str {
        CONVERSIONS[self as usize].1[0]
    }

    /// What it makes of a value of a type that it takes; `None` is null.
    pub fn of(self, ty: &CqlType, value: &[u8]) -> Option<Vec<u8>> {
        let millis = ty.unix_millis(value)?;
        Some(match self {
            Conversion::ToDate => types::date_of(millis).to_be_bytes().to_vec(),
            Conversion::ToTimestamp | Conversion::ToUnixTimestamp => millis.to_be_bytes().to_vec(),
            Conversion::MinTimeuuid => types::time_uuid_of(millis, false).to_vec(),
            Conversion::MaxTimeuuid => types::time_uuid_of(millis, true).to_vec(),
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Computed {
    Generated(Generated),
    /// A function of a value of this type.
    Converted(Conversion, CqlType, Term),
    /// A value of this collection, tuple, user-defined type or vector, frozen or not; of a map each key is before its value.
    Nested(CqlType, Vec<Term>),
    /// `token(...)` of partition key components.
    Token(Vec<Term>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum OneOf {
    Term(Term),
    /// `IN (a, b, ?)`.
    Terms(Vec<Term>),
    /// `IN ?`: the marker's value is a serialised list of the column's type.
    List(u16),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// A value for each of the columns compared, first column first; one unless the relation was `(a, b) > (?, ?)`.
    pub terms: Box<[Term]>,
    pub inclusive: bool,
}

/// A range in the natural order of values, whatever the clustering order of the column is.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Range {
    pub lower: Option<Limit>,
    pub upper: Option<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionSelection {
    /// Exactly one: a term for each partition key component, in the key's order. The hot path.
    One(Box<[Term]>),
    /// The Cartesian product of these, in the key's order; at least one of them is an `IN`.
    Product(Box<[OneOf]>),
    /// All partitions whose token lies in the range (terms are bigints); both ends open: all partitions.
    Tokens(Range),
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct ClusteringSelection {
    /// The leading clustering columns that are fixed, in the table's order.
    pub prefix: Box<[OneOf]>,
    /// A range on the column (or columns) right after the prefix.
    pub range: Option<Range>,
}

impl ClusteringSelection {
    pub fn is_all(&self) -> bool {
        self.prefix.is_empty() && self.range.is_none()
    }
}

/// A comparison that rows must pass after they were found (`ALLOW FILTERING`, and relations on virtual tables), or of a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    pub column: usize,
    pub operator: Operator,
    /// One value, or for [`Operator::In`] a list.
    pub value: OneOf,
}

/// A regular or static column that is set to a value; null deletes the cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub column: usize,
    pub value: Term,
    /// What the value does to the counter, collection or user-defined type that is there; `None`: it replaces what is there.
    pub edit: Option<Edit>,
}

/// A change of a counter, or of a part of a collection or user-defined type that is not frozen.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// `c = c + value`
    Append,
    /// `c = value + c`, of a list.
    Prepend,
    /// `c = c - value`; of a map the value is a set of keys.
    Remove,
    /// `c[element] = value`; null deletes the element.
    Element(Term),
    /// `c.field = value`, with the field's place.
    Field(usize),
}

/// What must hold before a statement writes.
pub type Condition = cql::Condition<Filter>;

/// INSERT, UPDATE or DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Modification {
    pub kind: ModificationKind,
    pub table: Arc<Table>,
    /// Never [`PartitionSelection::Tokens`].
    pub partition: PartitionSelection,
    /// Which rows. None in full if only static columns are written; all of them in a DELETE means the partition.
    pub clustering: ClusteringSelection,
    /// In ascending order of index; only elements are in it several times. In a DELETE all values are null, and there are none for whole rows.
    pub assignments: Box<[Assignment]>,
    pub condition: Option<Condition>,
    /// Microseconds as a bigint; wins over the timestamp of the request.
    pub timestamp: Option<Term>,
    pub ttl: Option<Term>,
}

impl Modification {
    /// Whether it deletes rows or partitions, and not only cells.
    pub fn deletes_rows(&self) -> bool {
        self.kind == ModificationKind::Delete && self.assignments.is_empty()
    }

    /// Whether it names all rows that it is about.
    pub fn names_rows(&self) -> bool {
        self.clustering.prefix.len() == self.table.clustering_len && self.clustering.range.is_none()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    Column(usize),
    /// `column.field` of a user-defined type, by their places.
    Field(usize, usize),
    /// `COUNT(*)`, `COUNT(1)`: the number of rows, as a bigint.
    CountRows,
    /// `COUNT(column)`: the number of rows in which the column is not null, as a bigint.
    CountColumn(usize),
    ToJson(usize),
    /// `token(partition key)`, as a bigint.
    Token,
    /// `writetime(column)`: microseconds as a bigint, null for a null cell.
    WriteTime(usize),
    /// `ttl(column)`: the seconds left as an int, null without a TTL.
    Ttl(usize),
    /// A function of one column.
    Converted(Conversion, usize),
    Generated(Generated),
}

impl Selector {
    pub fn is_count(&self) -> bool {
        matches!(self, Selector::CountRows | Selector::CountColumn(_))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// If [`Table::is_virtual`], rows come from the system module.
    pub table: Arc<Table>,
    pub selectors: Box<[Selector]>,
    /// Whether the selectors count: then the result is one row over all that was found, and there are no pages.
    pub aggregate: bool,
    /// One row per partition, of partition key and static columns.
    pub distinct: bool,
    pub partition: PartitionSelection,
    pub clustering: ClusteringSelection,
    pub filters: Box<[Filter]>,
    /// Whether rows are read against the table's clustering order.
    pub reversed: bool,
    pub limit: Option<Term>,
    pub per_partition_limit: Option<Term>,
}

/// `BEGIN BATCH ... APPLY BATCH` as text; the markers of all statements are counted through.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub statements: Vec<Modification>,
    pub timestamp: Option<Term>,
}

/// A statement ready to run.
#[derive(Clone, Debug, PartialEq)]
pub enum CqlPlan {
    /// INSERT, UPDATE or DELETE.
    Modify(Modification),
    /// SELECT.
    Select(Select),
    /// BEGIN BATCH.
    Batch(Batch),
    /// TRUNCATE.
    Truncate(Arc<Table>),
    /// USE of a keyspace that exists.
    Use(String),
    /// CREATE, ALTER and DROP.
    Ddl(Ddl),
    /// DESCRIBE, with the keyspace in use.
    Describe(Describe, Option<String>),
}

impl CqlPlan {
    /// The tables of the statement.
    pub fn tables(&self) -> Vec<&Arc<Table>> {
        match self {
            CqlPlan::Modify(plan) => vec![&plan.table],
            CqlPlan::Select(plan) => vec![&plan.table],
            CqlPlan::Truncate(table) => vec![table],
            CqlPlan::Batch(batch) => batch.statements.iter().map(|plan| &plan.table).collect(),
            CqlPlan::Use(_) | CqlPlan::Ddl(_) | CqlPlan::Describe(..) => Vec::new(),
        }
    }
}

/// A statement resolved against the catalog: the plan and what PREPARED and ROWS say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    pub plan: CqlPlan,
    /// One for each bind marker, in order. A named marker used twice is one entry per use, as in Cassandra.
    pub bind_markers: Vec<ColumnSpec>,
    /// The markers of the partition key, in the key's order; empty when not all of it is bound by markers.
    pub partition_key_indexes: Vec<u16>,
    /// The columns of the rows that come back; empty unless the statement is a SELECT.
    pub result_columns: Vec<ColumnSpec>,
}

/// The MD5 of keyspace and text, as in Cassandra.
pub type StatementId = [u8; 16];

pub fn statement_id(keyspace: Option<&str>, query: &str) -> StatementId {
    let mut md5 = Md5::new();
    md5.update(keyspace.unwrap_or_default());
    md5.update(query);
    md5.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Hex;

    #[test]
    fn ids_are_md5_of_keyspace_and_text() {
        let hex = |id: StatementId| Hex(&id).to_string();
        assert_eq!(hex(statement_id(Some("ks"), "SELECT 1")), hex(statement_id(None, "ksSELECT 1")));
        assert_eq!(hex(statement_id(None, "")), "d41d8cd98f00b204e9800998ecf8427e");
    }
}
