//! The definitions of the system tables, as CQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cql::{self, Definition, Statement};
use crate::schema::{Catalog, Keyspace, Table, define_table};

const SYSTEM: &[&str] = &[
    "CREATE TABLE local (key text PRIMARY KEY, bootstrapped text, broadcast_address inet, broadcast_port int, \
     cluster_name text, cql_version text, data_center text, gossip_generation int, host_id uuid, listen_address inet, \
     listen_port int, native_protocol_version text, partitioner text, rack text, release_version text, rpc_address inet, \
     rpc_port int, schema_version uuid, tokens set<text>, truncated_at map<uuid, blob>)",
    "CREATE TABLE peers (peer inet PRIMARY KEY, data_center text, host_id uuid, preferred_ip inet, rack text, \
     release_version text, rpc_address inet, schema_version uuid, tokens set<text>)",
    "CREATE TABLE peers_v2 (peer inet, peer_port int, data_center text, host_id uuid, native_address inet, \
     native_port int, preferred_ip inet, preferred_port int, rack text, release_version text, schema_version uuid, \
     tokens set<text>, PRIMARY KEY (peer, peer_port))",
];

const SYSTEM_SCHEMA: &[&str] = &[
    "CREATE TABLE keyspaces (keyspace_name text PRIMARY KEY, durable_writes boolean, replication frozen<map<text, text>>)",
    "CREATE TABLE tables (keyspace_name text, table_name text, additional_write_policy text, \
     allow_auto_snapshot boolean, bloom_filter_fp_chance double, caching frozen<map<text, text>>, cdc boolean, \
     comment text, compaction frozen<map<text, text>>, compression frozen<map<text, text>>, crc_check_chance double, \
     dclocal_read_repair_chance double, default_time_to_live int, extensions frozen<map<text, blob>>, \
     flags frozen<set<text>>, gc_grace_seconds int, id uuid, incremental_backups boolean, max_index_interval int, \
     memtable text, memtable_flush_period_in_ms int, min_index_interval int, read_repair text, \
     read_repair_chance double, speculative_retry text, PRIMARY KEY (keyspace_name, table_name))",
    "CREATE TABLE columns (keyspace_name text, table_name text, column_name text, clustering_order text, \
     column_name_bytes blob, kind text, position int, type text, PRIMARY KEY (keyspace_name, table_name, column_name))",
    "CREATE TABLE column_masks (keyspace_name text, table_name text, column_name text, \
     function_argument_nulls frozen<list<boolean>>, function_argument_types frozen<list<text>>, \
     function_argument_values frozen<list<text>>, function_keyspace text, function_name text, \
     PRIMARY KEY (keyspace_name, table_name, column_name))",
    "CREATE TABLE dropped_columns (keyspace_name text, table_name text, column_name text, dropped_time timestamp, \
     kind text, type text, PRIMARY KEY (keyspace_name, table_name, column_name))",
    "CREATE TABLE triggers (keyspace_name text, table_name text, trigger_name text, options frozen<map<text, text>>, \
     PRIMARY KEY (keyspace_name, table_name, trigger_name))",
    "CREATE TABLE views (keyspace_name text, view_name text, additional_write_policy text, \
     allow_auto_snapshot boolean, base_table_id uuid, base_table_name text, bloom_filter_fp_chance double, \
     caching frozen<map<text, text>>, cdc boolean, comment text, compaction frozen<map<text, text>>, \
     compression frozen<map<text, text>>, crc_check_chance double, dclocal_read_repair_chance double, \
     default_time_to_live int, extensions frozen<map<text, blob>>, gc_grace_seconds int, id uuid, \
     include_all_columns boolean, incremental_backups boolean, max_index_interval int, memtable text, \
     memtable_flush_period_in_ms int, min_index_interval int, read_repair text, read_repair_chance double, \
     speculative_retry text, where_clause text, PRIMARY KEY (keyspace_name, view_name))",
    "CREATE TABLE indexes (keyspace_name text, table_name text, index_name text, kind text, \
     options frozen<map<text, text>>, PRIMARY KEY (keyspace_name, table_name, index_name))",
    "CREATE TABLE types (keyspace_name text, type_name text, field_names frozen<list<text>>, \
     field_types frozen<list<text>>, PRIMARY KEY (keyspace_name, type_name))",
    "CREATE TABLE functions (keyspace_name text, function_name text, argument_types frozen<list<text>>, \
     argument_names frozen<list<text>>, body text, called_on_null_input boolean, language text, return_type text, \
     PRIMARY KEY (keyspace_name, function_name, argument_types))",
    "CREATE TABLE aggregates (keyspace_name text, aggregate_name text, argument_types frozen<list<text>>, \
     final_func text, initcond text, return_type text, state_func text, state_type text, \
     PRIMARY KEY (keyspace_name, aggregate_name, argument_types))",
];

const SYSTEM_VIRTUAL_SCHEMA: &[&str] = &[
    "CREATE TABLE keyspaces (keyspace_name text PRIMARY KEY)",
    "CREATE TABLE tables (keyspace_name text, table_name text, comment text, PRIMARY KEY (keyspace_name, table_name))",
    "CREATE TABLE columns (keyspace_name text, table_name text, column_name text, clustering_order text, \
     column_name_bytes blob, kind text, position int, type text, PRIMARY KEY (keyspace_name, table_name, column_name))",
];

/// The keyspace that describes itself in its own tables and not in system_schema.
pub(super) const VIRTUAL_SCHEMA: &str = "system_virtual_schema";

const KEYSPACES: [(&str, &[&str]); 3] =
    [("system", SYSTEM), ("system_schema", SYSTEM_SCHEMA), (VIRTUAL_SCHEMA, SYSTEM_VIRTUAL_SCHEMA)];

/// The catalog of a new node.
pub fn catalog() -> Catalog {
    Catalog::new(keyspaces())
}

fn keyspaces() -> Vec<Keyspace> {
    let local = BTreeMap::from([("class".to_owned(), "org.apache.cassandra.locator.LocalStrategy".to_owned())]);
    let keyspace = |(name, definitions): &(&str, &[&str])| Keyspace {
        name: (*name).into(),
        replication: local.clone(),
        durable_writes: true,
        tables: definitions.iter().filter_map(|definition| table(name, definition)).collect(),
    };
    KEYSPACES.iter().map(keyspace).collect()
}

fn table(keyspace: &str, definition: &str) -> Option<(String, Arc<Table>)> {
    // The definitions are constants, and a test covers all of them.
    let Ok(Statement::Define { definition: Definition::CreateTable(create), .. }) = cql::parse(definition) else {
        return None;
    };
    let mut table = define_table(&create, keyspace).ok()?;
    table.is_virtual = true;
    Some((table.name.to_string(), Arc::new(table)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_becomes_a_table() {
        for ((name, definitions), keyspace) in KEYSPACES.iter().zip(keyspaces()) {
            assert_eq!(definitions.len(), keyspace.tables.len(), "{name}");
        }
    }
}
