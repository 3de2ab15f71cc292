//! The catalog: keyspaces, tables and columns, and how DDL changes them.

mod catalog;

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::plan::ColumnSpec;
use crate::types::CqlType;

pub(crate) use catalog::name_uuid;
pub use catalog::{Catalog, Change, SchemaChange};

/// What a column is in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnKind {
    /// Component of the partition key.
    PartitionKey,
    /// Clustering column.
    Clustering,
    /// One value a partition.
    Static,
    /// One value a row.
    Regular,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name as it is stored: lower case unless it was quoted.
    pub name: Arc<str>,
    /// The type.
    pub ty: CqlType,
    /// The kind.
    pub kind: ColumnKind,
    /// For clustering columns: whether the order is DESC.
    pub descending: bool,
}

/// Number of a table within a node's life: given once, never used again, not even for a table of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// A table. Columns are ordered as `SELECT *` gives them: partition key, clustering, static and regular by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The node's own handle of the table.
    pub id: TableId,
    /// The id as system_schema.tables has it.
    pub uuid: Uuid,
    /// The keyspace.
    pub keyspace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// All columns: partition key, then clustering, then static, then regular columns.
    pub columns: Vec<Column>,
    /// How many of them are the partition key: `columns[..partition_key_len]`.
    pub partition_key_len: usize,
    /// How many clustering columns follow it.
    pub clustering_len: usize,
    /// How many static columns follow those; the rest is regular.
    pub static_len: usize,
    /// Whether its rows are made up when asked for (the system tables).
    pub is_virtual: bool,
    /// The options that were given WITH the table, as text, by name.
    pub options: BTreeMap<String, String>,
}

impl Table {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        self.columns.iter().enumerate().find(|(_, column)| &*column.name == name)
    }

    /// The partition key's columns.
    pub fn partition_key(&self) -> &[Column] {
        self.columns.get(..self.partition_key_len).unwrap_or_default()
    }

    /// Index of the first clustering column.
    pub fn clustering_start(&self) -> usize {
        self.partition_key_len
    }

    /// The clustering columns.
    pub fn clustering(&self) -> &[Column] {
        self.columns.get(self.partition_key_len..self.static_start()).unwrap_or_default()
    }

    /// Index of the first static column.
    pub fn static_start(&self) -> usize {
        self.partition_key_len + self.clustering_len
    }

    /// Index of the first regular column.
    pub fn regular_start(&self) -> usize {
        self.static_start() + self.static_len
    }

    /// What a result or a bind marker says about the column of this index; it must be one of the table's.
    pub fn spec(&self, column: &Column) -> ColumnSpec {
        ColumnSpec {
            keyspace: self.keyspace.clone(),
            table: self.name.clone(),
            name: column.name.clone(),
            ty: column.ty.clone(),
        }
    }
}

/// A keyspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyspace {
    /// The name.
    pub name: Arc<str>,
    /// The replication map with its class in full (`org.apache.cassandra.locator.SimpleStrategy`).
    pub replication: BTreeMap<String, String>,
    /// `durable_writes`.
    pub durable_writes: bool,
    /// Its tables by name.
    pub tables: BTreeMap<String, Arc<Table>>,
}
