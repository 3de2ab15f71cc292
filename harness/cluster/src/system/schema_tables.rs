//! The catalog as rows.

use std::iter::repeat;

use super::definitions::VIRTUAL_SCHEMA;
use super::row::RowBuilder;
use crate::schema::{Catalog, Column, ColumnKind, Keyspace, Table};

fn of_schema(catalog: &Catalog, is_virtual: bool) -> impl Iterator<Item = &Keyspace> {
    catalog.keyspaces().filter(move |keyspace| (&*keyspace.name == VIRTUAL_SCHEMA) == is_virtual)
}

fn all_tables(catalog: &Catalog, is_virtual: bool) -> impl Iterator<Item = &Table> {
    of_schema(catalog, is_virtual).flat_map(|keyspace| keyspace.tables.values().map(AsRef::as_ref))
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

/// The options are Cassandra's defaults, which tools show; only the comment is the table's own.
fn table_row(table: &Table) -> RowBuilder {
    RowBuilder::default()
        .cell("keyspace_name", &table.keyspace)
        .cell("table_name", &table.name)
        .cell("additional_write_policy", "99p")
        .cell("bloom_filter_fp_chance", 0.01)
        .map("caching", [("keys", "ALL"), ("rows_per_partition", "NONE")])
        .cell("comment", table.options.get("comment").map_or("", String::as_str))
        .map(
            "compaction",
            [
                ("class", "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy"),
                ("max_threshold", "32"),
                ("min_threshold", "4"),
            ],
        )
        .map("compression", [("chunk_length_in_kb", "16"), ("class", "org.apache.cassandra.io.compress.LZ4Compressor")])
        .cell("crc_check_chance", 1.0)
        .cell("dclocal_read_repair_chance", 0.0)
        .cell("default_time_to_live", 0)
        .map("extensions", [])
        .texts("flags", &["compound".to_owned()])
        .cell("gc_grace_seconds", 864_000)
        .cell("id", table.uuid)
        .cell("max_index_interval", 2048)
        .cell("memtable_flush_period_in_ms", 0)
        .cell("min_index_interval", 128)
        .cell("read_repair", "BLOCKING")
        .cell("read_repair_chance", 0.0)
        .cell("speculative_retry", "99p")
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
    RowBuilder::default()
        .cell("keyspace_name", &table.keyspace)
        .cell("table_name", &table.name)
        .cell("column_name", &column.name)
        .cell("clustering_order", order)
        .bytes("column_name_bytes", column.name.as_bytes().to_vec())
        .cell("kind", kind)
        .cell("position", position)
        .cell("type", &column.ty)
}

pub(super) fn virtual_keyspaces(catalog: &Catalog) -> Vec<RowBuilder> {
    of_schema(catalog, true).map(|keyspace| RowBuilder::default().cell("keyspace_name", &keyspace.name)).collect()
}

pub(super) fn virtual_tables(catalog: &Catalog) -> Vec<RowBuilder> {
    let row = |table: &Table| {
        RowBuilder::default()
            .cell("keyspace_name", &table.keyspace)
            .cell("table_name", &table.name)
            .cell("comment", "virtual schema")
    };
    all_tables(catalog, true).map(row).collect()
}
