//! Statements as they were written, with names not yet looked up.

use crate::plan::{BatchKind, Operator};
use crate::types::{CqlType, Literal};

/// A table's name, perhaps with its keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// The keyspace, if one was named.
    pub keyspace: Option<String>,
    /// The table.
    pub name: String,
}

/// A value as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawTerm {
    /// `?` or `:name`: the index counts markers in the order of the text.
    Marker {
        /// The index.
        index: u16,
        /// The name, if it has one.
        name: Option<String>,
    },
    /// A constant.
    Literal(Literal),
    /// `null`
    Null,
    /// `[a, b]`
    List(Vec<RawTerm>),
    /// `{a, b}`; `{}` may also be an empty map.
    Set(Vec<RawTerm>),
    /// `{a: b}`
    Map(Vec<(RawTerm, RawTerm)>),
    /// `(a, b)`
    Tuple(Vec<RawTerm>),
    /// `name(a, b)`, the name in lower case.
    Function(String, Vec<RawTerm>),
    /// A name where a value is expected, as in `v = v + 1`; refused later with its name.
    Column(String),
    /// `a + b`, `a - b`: refused later.
    Operation,
}

/// `USING TIMESTAMP t AND TTL s`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Using {
    /// Microseconds.
    pub timestamp: Option<RawTerm>,
    /// Seconds.
    pub ttl: Option<RawTerm>,
}

/// What a relation compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `column op term`
    Single(String, Operator, RawTerm),
    /// `column IN (a, b)`
    InTerms(String, Vec<RawTerm>),
    /// `column IN ?`
    InMarker(String, RawTerm),
    /// `(a, b) op (x, y)`
    Multi(Vec<String>, Operator, RawTerm),
    /// `token(a, b) op term`
    Token(Vec<String>, Operator, RawTerm),
    /// Some other kind, in a sentence that says what.
    Unsupported(&'static str),
}

/// A column of a SELECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawSelector {
    /// `name`
    Column(String),
    /// `COUNT(*)`, `COUNT(1)`
    CountRows,
    /// `function(name, ...)`, the function in lower case.
    Function(String, Vec<String>),
}

/// `ORDER BY column [ASC|DESC]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// The column.
    pub column: String,
    /// Whether DESC.
    pub descending: bool,
}

/// SELECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// `SELECT JSON`
    pub json: bool,
    /// `DISTINCT`
    pub distinct: bool,
    /// The columns with their aliases; none for `*`.
    pub selectors: Vec<(RawSelector, Option<String>)>,
    /// FROM.
    pub table: TableName,
    /// WHERE.
    pub relations: Vec<Relation>,
    /// Whether GROUP BY was there.
    pub group_by: bool,
    /// ORDER BY.
    pub order_by: Vec<OrderBy>,
    /// PER PARTITION LIMIT.
    pub per_partition_limit: Option<RawTerm>,
    /// LIMIT.
    pub limit: Option<RawTerm>,
    /// ALLOW FILTERING.
    pub allow_filtering: bool,
}

/// `IF EXISTS`, `IF NOT EXISTS` or `IF column = ...` after a modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistsCondition {
    /// None was given.
    None,
    /// One was given: a lightweight transaction.
    Given,
}

/// INSERT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    /// INTO.
    pub table: TableName,
    /// Whether it is `INSERT ... JSON`.
    pub json: bool,
    /// The columns.
    pub columns: Vec<String>,
    /// The values.
    pub values: Vec<RawTerm>,
    /// IF.
    pub condition: ExistsCondition,
    /// USING.
    pub using: Using,
}

/// What an assignment of an UPDATE sets, or a DELETE deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssignmentTarget {
    /// `column`
    Column(String),
    /// `column[key]` and `column.field`
    Element(String),
}

/// `target = value` of an UPDATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// What is set.
    pub target: AssignmentTarget,
    /// To what.
    pub value: RawTerm,
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The table.
    pub table: TableName,
    /// USING.
    pub using: Using,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub relations: Vec<Relation>,
    /// IF.
    pub condition: ExistsCondition,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The cells; none for rows.
    pub targets: Vec<AssignmentTarget>,
    /// FROM.
    pub table: TableName,
    /// USING.
    pub using: Using,
    /// WHERE.
    pub relations: Vec<Relation>,
    /// IF.
    pub condition: ExistsCondition,
}

/// BEGIN BATCH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Logged or not.
    pub kind: BatchKind,
    /// USING.
    pub using: Using,
    /// INSERT, UPDATE and DELETE.
    pub statements: Vec<Statement>,
}

/// The value of a property after WITH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyValue {
    /// A constant, as text.
    Text(String),
    /// A map of constants, as texts.
    Map(Vec<(String, String)>),
}

/// A column of CREATE TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: CqlType,
    /// `STATIC`
    pub is_static: bool,
}

/// PRIMARY KEY ((a, b), c, d).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimaryKey {
    /// The components of the partition key.
    pub partition: Vec<String>,
    /// The clustering columns.
    pub clustering: Vec<String>,
}

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTable {
    /// The table.
    pub table: TableName,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The columns.
    pub columns: Vec<ColumnDefinition>,
    /// Each PRIMARY KEY that was given.
    pub primary_keys: Vec<PrimaryKey>,
    /// CLUSTERING ORDER BY.
    pub order: Vec<OrderBy>,
    /// Whether COMPACT STORAGE was asked for.
    pub compact_storage: bool,
    /// The other properties.
    pub properties: Vec<(String, PropertyValue)>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// SELECT
    Select(Select),
    /// INSERT
    Insert(Insert),
    /// UPDATE
    Update(Update),
    /// DELETE
    Delete(Delete),
    /// BEGIN BATCH
    Batch(Batch),
    /// TRUNCATE
    Truncate(TableName),
    /// USE
    Use(String),
    /// CREATE KEYSPACE
    CreateKeyspace {
        /// The name.
        name: String,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// WITH.
        properties: Vec<(String, PropertyValue)>,
    },
    /// ALTER KEYSPACE
    AlterKeyspace {
        /// The name.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
        /// WITH.
        properties: Vec<(String, PropertyValue)>,
    },
    /// DROP KEYSPACE
    DropKeyspace {
        /// The name.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE TABLE
    CreateTable(CreateTable),
    /// DROP TABLE
    DropTable {
        /// The table.
        table: TableName,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// A statement of CQL that this node does not have, by its first words (`CREATE INDEX`).
    Unsupported(String),
}
