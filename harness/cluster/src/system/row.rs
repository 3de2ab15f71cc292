//! Rows of virtual tables, cell by cell.

use crate::schema::Column;
use crate::storage::clustering::put_component;
use crate::storage::record::FOREVER;
use crate::storage::table::{Place, TableStore};
use crate::storage::{Mutation, PartitionUpdate, StorageFull};
use crate::token;
use crate::types::{self, CqlType, Literal, LiteralKind, Value, write};

/// The cells of a row with their columns' names; the others are null.
#[derive(Default)]
pub(super) struct RowBuilder {
    cells: Vec<(&'static str, Cell)>,
}

enum Cell {
    /// A constant in CQL without quotes, for the column's type.
    Text(String),
    Bytes(Vec<u8>),
}

impl RowBuilder {
    pub(super) fn cell(mut self, name: &'static str, value: impl ToString) -> Self {
        self.cells.push((name, Cell::Text(value.to_string())));
        self
    }

    pub(super) fn bytes(mut self, name: &'static str, bytes: Vec<u8>) -> Self {
        self.cells.push((name, Cell::Bytes(bytes)));
        self
    }

    pub(super) fn texts(self, name: &'static str, texts: &[String]) -> Self {
        self.bytes(name, types::write_set(&CqlType::Text, texts.iter().map(String::as_bytes).collect()))
    }

    pub(super) fn list<'t>(self, name: &'static str, texts: impl ExactSizeIterator<Item = &'t str>) -> Self {
        self.bytes(name, types::write_list(texts.map(str::as_bytes)))
    }

    pub(super) fn map<'m>(self, name: &'static str, entries: impl IntoIterator<Item = (&'m str, &'m str)>) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())).collect();
        self.bytes(name, types::write_map(&CqlType::Text, entries))
    }

    pub(super) fn insert(self, store: &TableStore) -> Result<(), StorageFull> {
        let table = &store.table;
        let bytes = |column: &Column| match &self.cells.iter().find(|(name, _)| *name == &*column.name)?.1 {
            Cell::Text(text) => {
                column.ty.literal_bytes(&Literal { kind: LiteralKind::String, text: text.clone() }).ok()
            }
            Cell::Bytes(bytes) => Some(bytes.clone()),
        };
        let cells: Vec<Option<Vec<u8>>> = table.columns.iter().map(bytes).collect();
        let (primary, regular) = cells.split_at(table.regular_start());
        let mut components = primary.iter().map(|cell| cell.as_deref().unwrap_or_default());
        let mut key = Vec::new();
        token::routing_key(components.by_ref().take(table.partition_key_len), &mut key);
        let (mut sortable, mut clustering) = (Vec::new(), Vec::new());
        for (column, component) in table.clustering().iter().zip(components) {
            put_component(&mut sortable, column, component);
            write::bytes(&mut clustering, Some(component));
        }
        let cells = regular.iter().map(|cell| cell.as_deref().map_or(Value::Null, Value::Bytes));
        let cells: Vec<_> = cells.enumerate().collect();
        let mutation = Mutation { insert: true, delete: false, cells: &cells, until: FOREVER };
        let update = PartitionUpdate::Row((&sortable, &clustering), mutation);
        let Place { shard, hash } = store.place(token::token(&key));
        store.shards[shard].lock().apply((hash, &key), &update, |_| 0)
    }
}
