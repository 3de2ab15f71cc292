//! What drivers ask when they connect, in their words, and what they need of the answers.

use super::client::{Answer, Client, Parameters, REGISTER, Rows, node, text, write_string};
use cqldyno_cluster::Node;

fn with_table(node: &Node) -> Client {
    let mut client = Client::in_keyspace(node);
    client.run("CREATE TABLE bench (pk bigint PRIMARY KEY, v1 bigint, v2 bigint)");
    client
}

/// Checks that a column is there, has the type, and is null in no row.
fn assert_column(rows: &Rows, name: &str, option: &[u8]) {
    let at = rows.columns.iter().position(|column| column.name == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(rows.columns[at].ty, option, "{name}");
    assert!(rows.rows.iter().all(|row| row[at].is_some()), "{name} is null");
}

const TEXT: &[u8] = &[0, 0x0D];
const UUID: &[u8] = &[0, 0x0C];
const INET: &[u8] = &[0, 0x10];
const INT: &[u8] = &[0, 0x09];
const BOOLEAN: &[u8] = &[0, 0x04];
const TEXT_SET: &[u8] = &[0, 0x22, 0, 0x0D];
const TEXT_LIST: &[u8] = &[0, 0x20, 0, 0x0D];
const TEXT_MAP: &[u8] = &[0, 0x21, 0, 0x0D, 0, 0x0D];

#[test]
fn scylla_reads_topology_and_schema_by_prepared_statements() {
    let node = node();
    let mut client = with_table(&node);
    let ask = |client: &mut Client, query: &str| {
        let prepared = client.prepare(query);
        let parameters = Parameters { page_size: Some(1024), ..Parameters::default() };
        let rows = client.execute_with(&prepared.id, &parameters).rows();
        assert_eq!(prepared.columns, rows.columns);
        rows
    };
    assert!(
        ask(&mut client, "select host_id, rpc_address, data_center, rack, tokens from system.peers").rows.is_empty()
    );
    let query =
        "select host_id, rpc_address, data_center, rack, tokens, cluster_name from system.local WHERE key='local'";
    let local = ask(&mut client, query);
    assert_eq!(local.rows.len(), 1);
    for (name, ty) in [
        ("host_id", UUID),
        ("rpc_address", INET),
        ("data_center", TEXT),
        ("rack", TEXT),
        ("tokens", TEXT_SET),
        ("cluster_name", TEXT),
    ] {
        assert_column(&local, name, ty);
    }
    assert_eq!(local.cell(0, "rpc_address"), Some(&[127, 0, 0, 1][..]));
    let types = ask(&mut client, "select keyspace_name, type_name, field_names, field_types from system_schema.types");
    assert_column(&types, "field_names", TEXT_LIST);
    for query in [
        "select keyspace_name, table_name, partitioner from system_schema.scylla_tables",
        "select keyspace_name, initial_tablets from system_schema.scylla_keyspaces",
    ] {
        let refused = client.request(super::client::PREPARE, &super::client::prepare_body(query));
        assert_eq!(refused.error().0, 0x2200);
    }
    let query = "select keyspace_name, table_name, column_name, kind, position, type from system_schema.columns";
    let columns = ask(&mut client, query);
    assert_column(&columns, "position", INT);
    assert!(columns.rows.iter().any(|row| row[1].as_deref() == Some(b"bench") && row[5].as_deref() == Some(b"bigint")));
    let tables = ask(&mut client, "SELECT keyspace_name, table_name FROM system_schema.tables");
    assert!(tables.rows.iter().any(|row| row[1].as_deref() == Some(b"bench")));
    ask(&mut client, "SELECT keyspace_name, view_name, base_table_name FROM system_schema.views");
    let keyspaces = ask(&mut client, "select keyspace_name, replication, durable_writes from system_schema.keyspaces");
    assert_column(&keyspaces, "replication", TEXT_MAP);
    assert_column(&keyspaces, "durable_writes", BOOLEAN);
    let version = ask(&mut client, "SELECT schema_version FROM system.local WHERE key='local'");
    assert_column(&version, "schema_version", UUID);
}

#[test]
fn scylla_asks_for_keyspaces_it_uses_by_a_list() {
    let node = node();
    let mut client = with_table(&node);
    let query =
        "select keyspace_name, replication, durable_writes from system_schema.keyspaces where keyspace_name in ?";
    let prepared = client.prepare(query);
    let list = [&[0, 0, 0, 1, 0, 0, 0, 2][..], b"ks"].concat();
    let rows = client.execute(&prepared.id, &[super::client::Bind::Bytes(list)]).rows();
    assert_eq!(rows.rows.len(), 1);
}

#[test]
fn cdrs_tokio_reads_all_columns_and_replication_as_json() {
    let node = node();
    let mut client = with_table(&node);
    let local = client.rows("SELECT * FROM system.local");
    for (name, ty) in [
        ("broadcast_address", INET),
        ("rpc_address", INET),
        ("host_id", UUID),
        ("schema_version", UUID),
        ("tokens", TEXT_SET),
        ("data_center", TEXT),
        ("rack", TEXT),
        ("release_version", TEXT),
        ("partitioner", TEXT),
        ("rpc_port", INT),
    ] {
        assert_column(&local, name, ty);
    }
    let query = "SELECT keyspace_name, toJson(replication) AS replication FROM system_schema.keyspaces";
    let keyspaces = client.rows(query);
    assert_column(&keyspaces, "replication", TEXT);
    let one = Parameters::values(&[text("ks")]);
    let keyspace = client.query_with(&format!("{query} WHERE keyspace_name = ?"), &one).rows();
    assert_eq!(
        keyspace.cell(0, "replication"),
        Some(&br#"{"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "1"}"#[..])
    );
    // Drivers read peers from either table.
    assert!(client.rows("SELECT * FROM system.peers_v2").rows.is_empty());
    assert!(client.rows("SELECT * FROM system.peers").rows.is_empty());
    let mut events = vec![0, 3];
    for event in ["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"] {
        write_string(&mut events, event);
    }
    assert_eq!(client.request(REGISTER, &events), Answer::Ready);
}

#[test]
fn the_c_driver_reads_every_schema_table_and_those_of_one_table() {
    let node = node();
    let mut client = with_table(&node);
    client.rows("SELECT * FROM system.local WHERE key='local'");
    client.rows("SELECT * FROM system.peers");
    for table in ["keyspaces", "tables", "views", "columns", "indexes", "types", "functions", "aggregates"] {
        client.rows(&format!("SELECT * FROM system_schema.{table}"));
        client.rows(&format!("SELECT * FROM system_schema.{table} WHERE keyspace_name='ks'"));
    }
    for table in ["keyspaces", "tables", "columns"] {
        client.rows(&format!("SELECT * FROM system_virtual_schema.{table}"));
    }
    assert_eq!(
        client.rows("SELECT * FROM system_schema.tables WHERE keyspace_name='ks' AND table_name='bench'").rows.len(),
        1
    );
    let columns = client.rows("SELECT * FROM system_schema.columns WHERE keyspace_name='ks' AND table_name='bench'");
    assert_eq!(columns.rows.len(), 3);
    let query = "SELECT peer, rpc_address, host_id, schema_version FROM system.peers";
    assert!(client.rows(query).rows.is_empty());
    client.rows("SELECT schema_version FROM system.local WHERE key='local'");
}

#[test]
fn the_ids_of_a_node_outlive_its_restart() {
    let node = node();
    let host_id = |node: &Node| Client::connect(node).rows("SELECT host_id, rpc_port FROM system.local").rows;
    let before = host_id(&node);
    let node = node.restart().unwrap();
    assert_eq!(host_id(&node), before);
}
