//! The catalog as rows.

use std::iter::repeat;
use std::sync::Arc;

use super::definitions::VIRTUAL_SCHEMA;
use super::row::RowBuilder;
use crate::schema::{Catalog, Column, ColumnKind, DroppedColumn, Keyspace, Table};
use crate::types::UserType;

fn of_schema(catalog: &Catalog, is_virtual: bool) -> impl Iterator<Item = &Keyspace> {
    catalog.keyspaces().filter(move |keyspace| (&*keyspace.name == VIRTUAL_SCHEMA) == is_virtual)
}

fn all_tables(catalog: &Catalog, is_virtual: bool) -> impl Iterator<Item = &Table> {
    of_schema(catalog, is_virtual).flat_map(|keyspace| keyspace.tables.values().map(AsRef::as_ref))
}

fn named(table: &Table) -> RowBuilder {
    RowBuilder::default().cell("keyspace_name", &table.keyspace).cell("table_name", &table.name)
}

pub(super) fn keyspaces(catalog: &Catalog) -> Vec<RowBuilder> {
    let row = |keyspace: &Keyspace| {
        RowBuilder::default()
            .cell("keyspace_name", &keyspace.name)
            .cell("durable_writes", keyspace.durable_writes)
            .map("replication", keyspace.replication.iter().map(|(option, value)| (&**option, &**value)))
    };
    of_schema(catalog, false).map(row).collect()
}

pub(super) fn tables(catalog: &Catalog) -> Vec<RowBuilder> {
    all_tables(catalog, false).map(table_row).collect()
}

fn table_row(table: &Table) -> RowBuilder {
    let mut flags = vec!["compound".to_owned()];
    flags.extend(table.has_counters().then(|| "counter".to_owned()));
    let mut row = named(table)
        .cell("dclocal_read_repair_chance", 0.0)
        .texts("flags", &flags)
        .cell("id", table.uuid)
        .cell("read_repair_chance", 0.0);
    for name in ["caching", "compaction", "compression", "extensions"] {
        let entries = table.options.map(name).into_iter().flatten();
        row = row.map(name, entries.map(|(key, value)| (&**key, &**value)));
    }
    // As in Cassandra, the other options are null here.
    for name in [
        "additional_write_policy",
        "bloom_filter_fp_chance",
        "comment",
        "crc_check_chance",
        "default_time_to_live",
        "gc_grace_seconds",
        "max_index_interval",
        "memtable_flush_period_in_ms",
        "min_index_interval",
        "read_repair",
        "speculative_retry",
    ] {
        row = row.cell(name, table.options.text(name));
    }
    row
}

pub(super) fn columns(catalog: &Catalog, is_virtual: bool) -> Vec<RowBuilder> {
    let all = all_tables(catalog, is_virtual).flat_map(|table| table.columns.iter().enumerate().zip(repeat(table)));
    all.map(|((index, column), table)| column_row(table, index, column)).collect()
}

fn column_row(table: &Table, index: usize, column: &Column) -> RowBuilder {
    let (kind, position) = match column.kind {
        ColumnKind::PartitionKey => ("partition_key", index as i32),
        ColumnKind::Clustering => ("clustering", (index - table.partition_key_len) as i32),
        ColumnKind::Static => ("static", -1),
        ColumnKind::Regular => ("regular", -1),
    };
    let order = match (column.kind, column.descending) {
        (ColumnKind::Clustering, false) => "asc",
        (ColumnKind::Clustering, true) => "desc",
        _ => "none",
    };
    named(table)
        .cell("column_name", &column.name)
        .cell("clustering_order", order)
        .bytes("column_name_bytes", column.name.as_bytes().to_vec())
        .cell("kind", kind)
        .cell("position", position)
        .cell("type", &column.ty)
}

pub(super) fn dropped_columns(catalog: &Catalog) -> Vec<RowBuilder> {
    let row = |table: &Table, dropped: &DroppedColumn| {
        named(table)
            .cell("column_name", &dropped.name)
            .bytes("dropped_time", dropped.millis.to_be_bytes().to_vec())
            .cell("kind", if dropped.kind == ColumnKind::Static { "static" } else { "regular" })
            .cell("type", dropped.ty.clone().freeze())
    };
    all_tables(catalog, false).flat_map(|table| table.dropped.iter().map(move |dropped| row(table, dropped))).collect()
}

pub(super) fn types(catalog: &Catalog) -> Vec<RowBuilder> {
    let row = |ty: &Arc<UserType>| {
        let types: Vec<String> = ty.types.iter().map(ToString::to_string).collect();
        RowBuilder::default()
            .cell("keyspace_name", &ty.keyspace)
            .cell("type_name", &ty.name)
            .list("field_names", ty.names.iter().map(|name| &**name))
            .list("field_types", types.iter().map(String::as_str))
    };
    of_schema(catalog, false).flat_map(|keyspace| keyspace.types.values().map(row)).collect()
}

pub(super) fn virtual_keyspaces(catalog: &Catalog) -> Vec<RowBuilder> {
    of_schema(catalog, true).map(|keyspace| RowBuilder::default().cell("keyspace_name", &keyspace.name)).collect()
}

pub(super) fn virtual_tables(catalog: &Catalog) -> Vec<RowBuilder> {
    all_tables(catalog, true).map(|table| named(table).cell("comment", "virtual schema")).collect()
}
