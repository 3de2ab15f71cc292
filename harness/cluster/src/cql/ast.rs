//! Statements as they were written, with names not yet looked up.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use crate::error::CqlError;
use crate::types::Literal;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableName {
    pub keyspace: Option<String>,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawTerm {
    /// `?` or `:name`: the index counts markers in the order of the text.
    Marker {
        index: u16,
        name: Option<String>,
    },
    Literal(Literal),
    Null,
    List(Vec<RawTerm>),
    /// `{a, b}`; `{}` may also be an empty map.
    Set(Vec<RawTerm>),
    Map(Vec<(RawTerm, RawTerm)>),
    Tuple(Vec<RawTerm>),
    /// `name(a, b)`, the name in lower case.
    Function(String, Vec<RawTerm>),
    /// A name where a value is expected, as in `v = v + 1`.
    Column(String),
    /// `a + b` or `a - b`, with the sign.
    Sum(char, Box<[RawTerm; 2]>),
    /// Any other arithmetic.
    Operation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equal,
    /// Only in conditions.
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    /// A collection has this element (for maps: this value).
    Contains,
    ContainsKey,
}

impl Operator {
    /// Whether two values in this order are as the operator asks; not for CONTAINS.
    pub fn takes(self, order: Ordering) -> bool {
        match self {
            Operator::Equal | Operator::In => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::Contains | Operator::ContainsKey => false,
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operator::Equal => "=",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::In => "IN",
            Operator::Contains => "CONTAINS",
            Operator::ContainsKey => "CONTAINS KEY",
        })
    }
}

/// `USING TIMESTAMP microseconds AND TTL seconds`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Using {
    pub timestamp: Option<RawTerm>,
    pub ttl: Option<RawTerm>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `IN (a, b)` has a tuple.
    Single(String, Operator, RawTerm),
    Multi(Vec<String>, Operator, RawTerm),
    Token(Vec<String>, Operator, RawTerm),
    /// Some other kind, with its refusal.
    Refused(CqlError),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawSelector {
    Column(String),
    /// `COUNT(*)`, `COUNT(1)`
    CountRows,
    /// `column.field`
    Field(String, String),
    /// `function(selector, ...)`, the function in lower case.
    Function(String, Vec<RawSelector>),
    /// What the node lacks, in the words of its refusal: `Arithmetic in a SELECT clause`.
    Unsupported(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderBy {
    pub column: String,
    pub descending: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select {
    pub json: bool,
    pub distinct: bool,
    /// The columns with their aliases; none for `*`.
    pub selectors: Vec<(RawSelector, Option<String>)>,
    pub table: TableName,
    pub relations: Vec<Relation>,
    pub group_by: bool,
    pub order_by: Vec<OrderBy>,
    pub per_partition_limit: Option<RawTerm>,
    pub limit: Option<RawTerm>,
    pub allow_filtering: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    pub table: TableName,
    pub json: bool,
    pub columns: Vec<String>,
    pub values: Vec<RawTerm>,
    pub condition: Option<Condition<Relation>>,
    pub using: Using,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModificationKind {
    Insert,
    Update,
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssignmentTarget {
    Column(String),
    /// `column[key]`
    Element(String, RawTerm),
    /// `column.field`
    Field(String, String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modification {
    pub kind: ModificationKind,
    pub table: TableName,
    pub using: Using,
    /// In a DELETE the cells with null; none for rows.
    pub assignments: Vec<(AssignmentTarget, RawTerm)>,
    pub relations: Vec<Relation>,
    pub condition: Option<Condition<Relation>>,
}

/// What must hold before a statement writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition<C> {
    /// `IF NOT EXISTS`
    NotExists,
    /// `IF EXISTS`
    Exists,
    /// `IF column = value AND ...`
    Columns(Vec<C>),
}

/// A single node treats logged and unlogged batches alike, but for what may be in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    Logged,
    Unlogged,
    Counter,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub kind: BatchKind,
    pub using: Using,
    pub statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyValue {
    Text(String),
    Map(BTreeMap<String, String>),
}

pub type Properties = Vec<(String, PropertyValue)>;

/// A type as it was written: `list<int>`, `frozen<ks.place>`, `vector<float, 3>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawType {
    /// The name of a type of the language, of `frozen`, or of a user-defined type.
    pub name: TableName,
    pub arguments: Vec<RawType>,
    /// Of a vector.
    pub dimension: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    pub name: String,
    pub ty: RawType,
    pub is_static: bool,
}

/// `PRIMARY KEY ((a, b), c, d)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimaryKey {
    pub partition: Vec<String>,
    pub clustering: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateTable {
    pub table: TableName,
    pub columns: Vec<ColumnDefinition>,
    pub primary_keys: Vec<PrimaryKey>,
    pub order: Vec<OrderBy>,
    pub compact_storage: bool,
    pub properties: Properties,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    Select(Select),
    Insert(Insert),
    Modify(Modification),
    Batch(Batch),
    Truncate(TableName),
    Use(String),
    Define {
        definition: Definition,
        conditional: bool,
    },
    Describe(Describe),
    /// A statement of CQL that this node does not have, by its first words (`CREATE INDEX`).
    Unsupported(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    CreateKeyspace(String, Properties),
    AlterKeyspace(String, Properties),
    DropKeyspace(String),
    CreateTable(CreateTable),
    AlterTable(TableName, TableAlteration),
    DropTable(TableName),
    CreateType(TableName, Vec<(String, RawType)>),
    AlterType(TableName, TypeAlteration),
    DropType(TableName),
}

/// What ALTER TABLE does; `conditional` is its own IF [NOT] EXISTS, about columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableAlteration {
    Add { columns: Vec<ColumnDefinition>, conditional: bool },
    Drop { columns: Vec<String>, conditional: bool },
    Rename(Vec<(String, String)>),
    With(Properties),
}

/// What ALTER TYPE does; `conditional` is its own IF [NOT] EXISTS, about fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeAlteration {
    Add { name: String, ty: RawType, conditional: bool },
    Rename { fields: Vec<(String, String)>, conditional: bool },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Describe {
    pub what: Described,
    /// `WITH INTERNALS`: what Cassandra makes of it by itself, too.
    pub internals: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Described {
    Cluster,
    /// All keyspaces; those of the system only if it is in full.
    Schema {
        full: bool,
    },
    /// The names of all elements of a kind.
    Names(Element),
    /// A keyspace, or the one in use; all that is in it unless it is the keyspace only.
    Keyspace {
        name: Option<String>,
        only: bool,
    },
    /// One element of this kind.
    One(Element, TableName),
    /// A keyspace or an element, whatever has the name.
    Any(TableName),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Keyspace,
    Table,
    Type,
    Function,
    Aggregate,
    Index,
    View,
}
