//! Rows of virtual tables, cell by cell.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use uuid::Uuid;

use super::Row;
use crate::schema::Table;
use crate::types::{self, CqlType};

/// A row in the making: cells by the names of their columns; those that are not set are null.
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

    pub(super) fn map(self, name: &'static str, map: &BTreeMap<String, String>) -> Self {
        let entries = map.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())).collect();
        self.set(name, types::write_map(&CqlType::Text, entries))
    }

    pub(super) fn constants(self, name: &'static str, entries: &[(&str, &str)]) -> Self {
        let entries = entries.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())).collect();
        self.set(name, types::write_map(&CqlType::Text, entries))
    }

    /// The cells in the order of the table's columns.
    pub(super) fn into_cells(mut self, table: &Table) -> Row {
        let mut cell = |name: &str| {
            let index = self.cells.iter().position(|(cell, _)| *cell == name)?;
            Some(self.cells.swap_remove(index).1)
        };
        table.columns.iter().map(|column| cell(&column.name)).collect()
    }
}
