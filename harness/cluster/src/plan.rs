//! A resolved statement: what the executor runs, without a name left to look up.
//!
//! The analyzer makes these from text and the catalog; a plan holds the [`Table`] it was made for, and
//! columns are indexes into [`Table::columns`]. Values come as bind markers (an index into the values of an EXECUTE),
//! as constants that were serialised at prepare time, or, off the hot path, as something to be computed.

mod evaluate;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use crate::schema::{Keyspace, Table};
use crate::types::CqlType;

pub use evaluate::{EvaluatedFilter, EvaluatedRange, TokenRange};

/// One bound value of a request, borrowed from its frame (native_protocol_v4.spec section 3, `[value]`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Serialised bytes.
    Bytes(&'a [u8]),
    /// Length -1: null.
    Null,
    /// Length -2: not set, which leaves the column as it is.
    Unset,
}

/// Where the value of one place in a statement comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// The bind marker of this index; its value is to be validated against the marker's type.
    Marker(u16),
    /// A literal, serialised and validated at prepare time; `None` is null.
    Constant(Option<Bytes>),
    /// Anything else, to be evaluated for each execution .
    Computed(Box<Computed>),
}

/// A term that is neither a marker nor a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Computed {
    /// `now()`: a version 1 UUID of the current time.
    Now,
    /// `uuid()`: a version 4 UUID.
    Uuid,
    /// `currentTimestamp()` and `toTimestamp(now())`: milliseconds since 1970 as a bigint.
    CurrentTimestamp,
    /// A list literal with markers inside.
    List(Vec<Term>),
    /// A set literal with markers inside, of elements of the type.
    Set(CqlType, Vec<Term>),
    /// A map literal with markers inside, of keys of the type.
    Map(CqlType, Vec<(Term, Term)>),
    /// A tuple literal with markers inside.
    Tuple(Vec<Term>),
    /// `token(...)` of partition key components.
    Token(Vec<Term>),
}

/// A value after evaluation: as [`Value`], but perhaps owned.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluated<'a> {
    /// Serialised bytes.
    Bytes(Cow<'a, [u8]>),
    /// Null.
    Null,
    /// Not set.
    Unset,
}

/// A list of values for one column, as `IN` takes it.
#[derive(Clone, Debug, PartialEq)]
pub enum TermList {
    /// `IN (a, b, ?)`.
    Terms(Vec<Term>),
    /// `IN ?`: one marker whose value is a serialised list of the column's type.
    Marker(u16),
}

/// What one key column must be.
#[derive(Clone, Debug, PartialEq)]
pub enum OneOf {
    /// `= term`.
    Term(Term),
    /// `IN (...)`.
    In(TermList),
}

/// One end of a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// A value for each of the columns compared, first column first; one unless the relation was `(a, b) > (?, ?)`.
    pub terms: Box<[Term]>,
    /// Whether a value equal to the limit is inside.
    pub inclusive: bool,
}

/// A range in the natural order of values, whatever the clustering order of the column is.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Range {
    /// `>` or `>=`.
    pub lower: Option<Limit>,
    /// `<` or `<=`.
    pub upper: Option<Limit>,
}

/// The partitions that a statement is about.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionSelection {
    /// Exactly one: a term for each partition key component, in the key's order. The hot path.
    One(Box<[Term]>),
    /// The Cartesian product of these, in the key's order; at least one of them is an `IN`.
    Product(Box<[OneOf]>),
    /// All partitions whose token lies in the range (terms are bigints); both ends open: all partitions.
    Tokens(Range),
}

/// The rows within a partition that a statement is about.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ClusteringSelection {
    /// The leading clustering columns that are fixed, in the table's order.
    pub prefix: Box<[OneOf]>,
    /// A range on the column (or columns) right after the prefix.
    pub range: Option<Range>,
}

impl ClusteringSelection {
    /// Whether every row of the partition is meant.
    pub fn is_all(&self) -> bool {
        self.prefix.is_empty() && self.range.is_none()
    }
}

/// A comparison that rows must pass after they were found (`ALLOW FILTERING`, and relations on virtual tables).
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Index into [`Table::columns`].
    pub column: usize,
    /// How it compares.
    pub operator: Operator,
    /// With what: one value, or for [`Operator::In`] a list.
    pub value: OneOf,
}

/// A comparison in a WHERE clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `IN`
    In,
    /// `CONTAINS`: a collection has this element (for maps: this value).
    Contains,
    /// `CONTAINS KEY`: a map has this key.
    ContainsKey,
}

/// A regular or static column that is set to a value; null deletes the cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// Index into [`Table::columns`].
    pub column: usize,
    /// The new value.
    pub value: Term,
}

/// `INSERT`: writes the cells and makes the row exist even if all cells are null.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// The table.
    pub table: Arc<Table>,
    /// A term for each partition key component.
    pub partition: Box<[Term]>,
    /// A term for each clustering column; empty on a table with clustering columns when only static columns are written.
    pub clustering: Box<[Term]>,
    /// The other columns, in ascending order of index.
    pub assignments: Box<[Assignment]>,
    /// `USING TIMESTAMP`, microseconds as a bigint; wins over the timestamp of the request.
    pub timestamp: Option<Term>,
    /// `USING TTL`, seconds as an int.
    pub ttl: Option<Term>,
}

/// `UPDATE`: writes the cells; the row exists as long as one of them does.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The table.
    pub table: Arc<Table>,
    /// One partition, or several by `IN`; never [`PartitionSelection::Tokens`].
    pub partition: PartitionSelection,
    /// One for each clustering column; empty on a table with clustering columns when only static columns are written.
    pub clustering: Box<[OneOf]>,
    /// What is set, in ascending order of index.
    pub assignments: Box<[Assignment]>,
    /// `USING TIMESTAMP`, microseconds as a bigint.
    pub timestamp: Option<Term>,
    /// `USING TTL`, seconds as an int.
    pub ttl: Option<Term>,
}

/// `DELETE`: of cells, rows, a range of rows or partitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// The table.
    pub table: Arc<Table>,
    /// One partition, or several by `IN`; never [`PartitionSelection::Tokens`].
    pub partition: PartitionSelection,
    /// Which rows; all of them means the partition.
    pub clustering: ClusteringSelection,
    /// The cells to delete (indexes into [`Table::columns`]); empty: the whole rows.
    pub columns: Box<[usize]>,
    /// `USING TIMESTAMP`, microseconds as a bigint.
    pub timestamp: Option<Term>,
}

/// One column of a SELECT's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The column of this index.
    Column(usize),
    /// `COUNT(*)`, `COUNT(1)`: the number of rows, as a bigint.
    CountRows,
    /// `COUNT(column)`: the number of rows in which the column is not null, as a bigint.
    CountColumn(usize),
    /// `toJson(column)`: see the type.
    ToJson(usize),
    /// `token(partition key)`, as a bigint.
    Token,
    /// `writetime(column)`: microseconds as a bigint, null for a null cell.
    WriteTime(usize),
    /// `ttl(column)`: the seconds left as an int, null without a TTL.
    Ttl(usize),
}

/// `SELECT`.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// The table; if [`Table::is_virtual`], rows come from the system module.
    pub table: Arc<Table>,
    /// The columns of the result, as in [`Prepared::result_columns`].
    pub selectors: Box<[Selector]>,
    /// Whether the selectors count: then the result is one row over all that was found, and there are no pages.
    pub aggregate: bool,
    /// `DISTINCT`: one row a partition, of partition key and static columns.
    pub distinct: bool,
    /// Which partitions.
    pub partition: PartitionSelection,
    /// Which rows within them.
    pub clustering: ClusteringSelection,
    /// What rows must pass besides.
    pub filters: Box<[Filter]>,
    /// Whether rows are read against the table's clustering order.
    pub reversed: bool,
    /// `LIMIT`, an int above zero.
    pub limit: Option<Term>,
    /// `PER PARTITION LIMIT`, an int above zero.
    pub per_partition_limit: Option<Term>,
}

/// `TRUNCATE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// The table.
    pub table: Arc<Table>,
}

/// `USE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// The keyspace, as it is spelled in the catalog; it exists.
    pub keyspace: String,
}

/// A change of the schema, for the catalog to apply.
#[derive(Clone, Debug, PartialEq)]
pub enum Ddl {
    /// `CREATE KEYSPACE`.
    CreateKeyspace {
        /// The new keyspace, without tables.
        keyspace: Keyspace,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
    },
    /// `ALTER KEYSPACE`.
    AlterKeyspace {
        /// The name, with the options it is to have.
        keyspace: Keyspace,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `DROP KEYSPACE`.
    DropKeyspace {
        /// The name.
        keyspace: String,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `CREATE TABLE`.
    CreateTable {
        /// The new table; its id is given by the catalog.
        table: Box<Table>,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
    },
    /// `DROP TABLE`.
    DropTable {
        /// The keyspace.
        keyspace: String,
        /// The table.
        table: String,
        /// `IF EXISTS`.
        if_exists: bool,
    },
}

/// How a batch is to be applied; a node of one's own treats them alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    /// `BEGIN BATCH`.
    Logged,
    /// `BEGIN UNLOGGED BATCH`.
    Unlogged,
}

/// `BEGIN BATCH ... APPLY BATCH` as text; the markers of all statements are counted through.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Logged or not.
    pub kind: BatchKind,
    /// [`Plan::Insert`], [`Plan::Update`] and [`Plan::Delete`] only.
    pub statements: Vec<Plan>,
    /// `BEGIN BATCH USING TIMESTAMP`: for all statements.
    pub timestamp: Option<Term>,
}

/// A statement ready to run.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// INSERT.
    Insert(Insert),
    /// UPDATE.
    Update(Update),
    /// DELETE.
    Delete(Delete),
    /// SELECT.
    Select(Select),
    /// BEGIN BATCH.
    Batch(Batch),
    /// TRUNCATE.
    Truncate(Truncate),
    /// USE.
    Use(Use),
    /// CREATE, ALTER and DROP.
    Ddl(Ddl),
}

/// A column of a result or a bind marker (native_protocol_v4.spec section 4.2.5.2, `<col_spec>`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// The keyspace.
    pub keyspace: Arc<str>,
    /// The table.
    pub table: Arc<str>,
    /// The column's name, its alias, or for a marker its name or the column it is for.
    pub name: Arc<str>,
    /// The type.
    pub ty: CqlType,
}

/// A statement resolved against the catalog: the plan and what PREPARED and ROWS say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// What to execute.
    pub plan: Plan,
    /// One for each bind marker, in order. A named marker used twice is one entry a use, as in Cassandra.
    pub bind_markers: Vec<ColumnSpec>,
    /// The markers that make up the partition key, in the key's order; empty when not all of it is bound by markers.
    pub partition_key_indexes: Vec<u16>,
    /// The columns of the rows that come back; empty unless the statement is a SELECT.
    pub result_columns: Vec<ColumnSpec>,
}

/// Why a statement is refused; each is an ERROR code of native_protocol_v4.spec section 9. The texts are Cassandra's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CqlError {
    /// 0x2000: the text is no statement.
    #[error("{0}")]
    Syntax(String),
    /// 0x2100: the user may not do this.
    #[error("{0}")]
    Unauthorized(String),
    /// 0x2200: a statement that is syntactically right and wrong otherwise.
    #[error("{0}")]
    Invalid(String),
    /// 0x2300: a refused option of a keyspace or table.
    #[error("{0}")]
    Config(String),
    /// 0x2400: there is one already.
    #[error("{}", already_exists(.keyspace, .table))]
    AlreadyExists {
        /// The keyspace.
        keyspace: String,
        /// The table; empty when it is the keyspace that exists.
        table: String,
    },
}

fn already_exists(keyspace: &str, table: &str) -> String {
    if table.is_empty() {
        format!("Cannot add existing keyspace \"{keyspace}\"")
    } else {
        format!("Cannot add already existing table \"{table}\" to keyspace \"{keyspace}\"")
    }
}

impl CqlError {
    /// The code that an ERROR frame carries.
    pub fn code(&self) -> i32 {
        match self {
            CqlError::Syntax(_) => 0x2000,
            CqlError::Unauthorized(_) => 0x2100,
            CqlError::Invalid(_) => 0x2200,
            CqlError::Config(_) => 0x2300,
            CqlError::AlreadyExists { .. } => 0x2400,
        }
    }

    /// A statement that is refused as invalid (0x2200).
    pub fn invalid(message: impl Into<String>) -> Self {
        CqlError::Invalid(message.into())
    }
}

impl Term {
    /// The value without an allocation, when it is a marker or a constant; `None` for a computed term. A marker beyond
    /// the values is unset (the count of values is checked once a request, before).
    #[inline]
    pub fn direct<'a>(&'a self, values: &[Value<'a>]) -> Option<Value<'a>> {
        match self {
            Term::Marker(index) => Some(values.get(usize::from(*index)).copied().unwrap_or(Value::Unset)),
            Term::Constant(Some(bytes)) => Some(Value::Bytes(bytes)),
            Term::Constant(None) => Some(Value::Null),
            Term::Computed(_) => None,
        }
    }
}
