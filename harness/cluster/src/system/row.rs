//! Rows of virtual tables, cell by cell.

use std::net::IpAddr;

use bytes::Bytes;
use uuid::Uuid;

use crate::schema::Column;
use crate::storage::clustering::put_component;
use crate::storage::table::{Place, Shards, TableStore};
use crate::storage::{Mutation, StorageFull};
use crate::token;
use crate::types::{self, CqlType, Value, write};

/// The cells of a row with their columns' names; the others are null.
#[derive(Default)]
pub(super) struct RowBuilder {
    cells: Vec<(&'static str, Bytes)>,
}

impl RowBuilder {
    fn set(mut self, name: &'static str, bytes: impl Into<Bytes>) -> Self {
        self.cells.push((name, bytes.into()));
        self
    }

    pub(super) fn text(self, name: &'static str, text: &str) -> Self {
        self.set(name, Bytes::copy_from_slice(text.as_bytes()))
    }

    pub(super) fn blob(self, name: &'static str, bytes: &[u8]) -> Self {
        self.set(name, Bytes::copy_from_slice(bytes))
    }

    pub(super) fn int(self, name: &'static str, value: i32) -> Self {
        self.set(name, value.to_be_bytes().to_vec())
    }

    pub(super) fn double(self, name: &'static str, value: f64) -> Self {
        self.set(name, value.to_be_bytes().to_vec())
    }

    pub(super) fn boolean(self, name: &'static str, value: bool) -> Self {
        self.set(name, vec![u8::from(value)])
    }

    pub(super) fn uuid(self, name: &'static str, value: Uuid) -> Self {
        self.set(name, value.as_bytes().to_vec())
    }

    pub(super) fn inet(self, name: &'static str, value: IpAddr) -> Self {
        match value {
            IpAddr::V4(v4) => self.set(name, v4.octets().to_vec()),
            IpAddr::V6(v6) => self.set(name, v6.octets().to_vec()),
        }
    }

    pub(super) fn texts(self, name: &'static str, texts: &[String]) -> Self {
        self.set(name, types::write_set(&CqlType::Text, texts.iter().map(String::as_bytes).collect()))
    }

    pub(super) fn map<'m>(self, name: &'static str, entries: impl IntoIterator<Item = (&'m str, &'m str)>) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())).collect();
        self.set(name, types::write_map(&CqlType::Text, entries))
    }

    pub(super) fn insert(self, store: &TableStore) -> Result<(), StorageFull> {
        let table = store.table();
        let cell =
            |column: &Column| self.cells.iter().find(|(name, _)| *name == &*column.name).map(|(_, cell)| &**cell);
        let mut key = Vec::new();
        token::routing_key(table.partition_key().iter().map(|column| cell(column).unwrap_or_default()), &mut key);
        let (mut sortable, mut clustering) = (Vec::new(), Vec::new());
        for column in table.clustering() {
            let component = cell(column).unwrap_or_default();
            put_component(&mut sortable, column, component);
            write::bytes(&mut clustering, Some(component));
        }
        let regular = table.columns.iter().skip(table.regular_start()).enumerate();
        let cells: Vec<_> = regular.map(|(at, column)| (at, cell(column).map_or(Value::Null, Value::Bytes))).collect();
        let mutation = Mutation { insert: true, delete: false, cells: &cells };
        let Place { shard, hash } = store.place(token::token(&key));
        match store.shards() {
            Shards::Rows(shards) => shards[shard].lock().mutate(hash, &key, &mutation, |_| 0),
            Shards::Partitions(shards) => {
                shards[shard].lock().mutate_row(hash, &key, (&sortable, &clustering), &mutation, |_| 0)
            }
        }
    }
}
