//! The catalog: keyspaces, types, tables and columns, how CREATE defines them, and how DDL changes them.

mod alteration;
mod catalog;
mod definition;
mod options;
mod text;
mod user_types;

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::cql::{TableAlteration, TypeAlteration};
use crate::types::{ColumnSpec, CqlType, UserType};

pub use catalog::{Altered, Catalog, ChangeType, Changed, SchemaChange, name_uuid};
pub use definition::{check_modifiable, define_keyspace, define_table, is_of_the_system};
pub use options::{MAX_TTL, TableOptions};
pub use user_types::{UserTypes, define_type};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnKind {
    PartitionKey,
    Clustering,
    /// One value per partition.
    Static,
    /// One value per row.
    Regular,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name as it is stored: lower case unless it was quoted.
    pub name: Arc<str>,
    pub ty: CqlType,
    pub kind: ColumnKind,
    pub descending: bool,
}

/// A column that ALTER TABLE dropped: one of its name may come back with the same type only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedColumn {
    pub name: Arc<str>,
    pub ty: CqlType,
    pub kind: ColumnKind,
    /// When it was dropped, in milliseconds since 1970.
    pub millis: i64,
}

/// The number of a table during a node's life. It is never used again, not even for a table of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// A table. Columns are ordered as `SELECT *` gives them: partition key, clustering, static and regular by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub id: TableId,
    /// Changes whenever statements on the table are no longer right.
    pub version: u32,
    pub uuid: Uuid,
    pub keyspace: Arc<str>,
    pub name: Arc<str>,
    pub columns: Vec<Column>,
    pub partition_key_len: usize,
    pub clustering_len: usize,
    pub static_len: usize,
    /// A system table: its rows are made for each query.
    pub is_virtual: bool,
    pub options: TableOptions,
    pub dropped: Vec<DroppedColumn>,
}

impl Table {
    /// Whether its columns outside the key are counters.
    pub fn has_counters(&self) -> bool {
        self.columns.iter().any(|column| column.ty == CqlType::Counter)
    }

    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        self.columns.iter().enumerate().find(|(_, column)| &*column.name == name)
    }

    pub fn partition_key(&self) -> &[Column] {
        self.columns.get(..self.partition_key_len).unwrap_or_default()
    }

    pub fn clustering(&self) -> &[Column] {
        self.columns.get(self.partition_key_len..self.static_start()).unwrap_or_default()
    }

    pub fn static_start(&self) -> usize {
        self.partition_key_len + self.clustering_len
    }

    pub fn regular_start(&self) -> usize {
        self.static_start() + self.static_len
    }

    pub fn static_columns(&self) -> &[Column] {
        self.columns.get(self.static_start()..self.regular_start()).unwrap_or_default()
    }

    pub fn regular_columns(&self) -> &[Column] {
        self.columns.get(self.regular_start()..).unwrap_or_default()
    }

    pub fn is_static(&self, column: usize) -> bool {
        (self.static_start()..self.regular_start()).contains(&column)
    }

    /// What a result or a bind marker says about something that is no column.
    pub fn special(&self, name: &str, ty: CqlType) -> ColumnSpec {
        ColumnSpec::special((&self.keyspace, &self.name), name, ty)
    }

    /// What a result or a bind marker says about one of the table's columns.
    pub fn spec(&self, column: &Column) -> ColumnSpec {
        ColumnSpec {
            keyspace: self.keyspace.clone(),
            table: self.name.clone(),
            name: column.name.clone(),
            ty: column.ty.clone(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Keyspace {
    pub name: Arc<str>,
    /// The replication map with its class in full (`org.apache.cassandra.locator.SimpleStrategy`).
    pub replication: BTreeMap<String, String>,
    pub durable_writes: bool,
    pub tables: BTreeMap<String, Arc<Table>>,
    pub types: UserTypes,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ddl {
    /// It is changed, or has what is changed.
    pub keyspace: String,
    pub definition: Definition,
    /// Whether `IF [NOT] EXISTS` allows that there is nothing to change.
    pub conditional: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    CreateKeyspace(Keyspace),
    AlterKeyspace(Keyspace),
    DropKeyspace,
    /// The catalog gives the table its ids.
    CreateTable(Box<Table>),
    /// What follows from the table as it is when it is altered.
    AlterTable(String, TableAlteration),
    DropTable(String),
    CreateType(Arc<UserType>),
    /// What follows from the type as it is when it is altered.
    AlterType(String, TypeAlteration),
    DropType(String),
}
