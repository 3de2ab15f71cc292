//! The queries that drivers ask when they connect, and what they need to read from the answers.

use super::*;
use crate::analyze::analyze;
use crate::codec::request::QueryParameters;
use crate::execute::select::select;
use crate::prepared::CqlPlan;
use crate::types::{CqlType, Reader, Value};

type Row = Vec<Option<Vec<u8>>>;

fn catalog() -> Catalog {
    let mut catalog = super::catalog();
    for definition in [
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1} AND durable_writes = false",
        "CREATE TABLE ks.wide (a int, \"B\" text, c int, s text STATIC, v map<int, frozen<set<text>>>, \
         PRIMARY KEY ((a, \"B\"), c)) WITH CLUSTERING ORDER BY (c DESC)",
    ] {
        let CqlPlan::Ddl(ddl) = analyze(definition, &catalog, None).unwrap().plan else { panic!("no DDL") };
        catalog.apply(&ddl).unwrap();
    }
    catalog
}

fn query(text: &str, values: &[Value<'_>]) -> Vec<Row> {
    let catalog = catalog();
    let node = NodeIdentity::new("127.0.0.1".parse().unwrap(), 9042);
    let peer = NodeIdentity::new("127.0.0.2".parse().unwrap(), 9042);
    let prepared = analyze(text, &catalog, None).unwrap_or_else(|error| panic!("{text}: {error}"));
    let CqlPlan::Select(plan) = &prepared.plan else { panic!("{text} is no SELECT") };
    let store =
        store(&plan.table, &SystemView { node: &node, peers: &[peer], catalog: &catalog, traces: &[] }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let page = runtime.block_on(select(&store, plan, values, &QueryParameters::default())).unwrap();
    let mut reader = Reader::new(&page.values);
    let mut cell = |ty: &CqlType| {
        let cell = reader.bytes().unwrap();
        assert_eq!(cell.map_or(Ok(()), |bytes| ty.validate(bytes)), Ok(()), "{ty} in {text}");
        cell.map(<[u8]>::to_vec)
    };
    (0..page.count).map(|_| prepared.result_columns.iter().map(|spec| cell(&spec.ty)).collect()).collect()
}

fn texts(rows: &[Row]) -> Vec<String> {
    let text =
        |cell: &Option<Vec<u8>>| cell.as_ref().map_or("null".into(), |cell| String::from_utf8_lossy(cell).into_owned());
    rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_local_row_has_all_that_drivers_need() {
    let columns = "host_id, rpc_address, data_center, rack, tokens, cluster_name, schema_version, broadcast_address, \
                   listen_address, partitioner, release_version";
    let rows = query(&format!("SELECT {columns} FROM system.local WHERE key='local'"), &[]);
    assert_eq!(rows.len(), 1);
    assert!(rows[0].iter().all(Option::is_some));
    assert_eq!(query("SELECT * FROM system.local", &[])[0].iter().filter(|cell| cell.is_none()).count(), 1);
    assert!(query("SELECT key FROM system.local WHERE key = 'other'", &[]).is_empty());
}

#[test]
fn peers_are_the_other_nodes() {
    assert_eq!(query("SELECT peer, rpc_address, host_id, schema_version FROM system.peers", &[]).len(), 1);
    assert_eq!(query("SELECT * FROM system.peers_v2", &[]).len(), 1);
    assert_eq!(query("SELECT peer FROM system.peers WHERE peer = '127.0.0.2'", &[]).len(), 1);
    assert_eq!(query("SELECT peer FROM system.peers WHERE peer = ?", &[Value::Bytes(&[127, 0, 0, 9])]).len(), 0);
}

#[test]
fn columns_describe_a_table_with_kinds_positions_and_types() {
    let text = "SELECT column_name, kind, clustering_order, type FROM system_schema.columns \
                WHERE keyspace_name = 'ks' AND table_name = 'wide'";
    assert_eq!(
        texts(&query(text, &[])),
        [
            "B partition_key none text",
            "a partition_key none int",
            "c clustering desc int",
            "s static none text",
            "v regular none map<int, frozen<set<text>>>",
        ]
    );
    let text = "SELECT position FROM system_schema.columns WHERE keyspace_name = 'ks' AND table_name = 'wide' AND column_name IN ('B', 's')";
    let positions = query(text, &[]);
    assert_eq!(positions, [[Some(vec![0, 0, 0, 1])], [Some(vec![0xff; 4])]]);
}

#[test]
fn keyspaces_give_their_replication_as_json() {
    let text =
        "SELECT keyspace_name, toJson(replication) AS replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let rows = texts(&query(text, &[Value::Bytes(b"ks")]));
    let json = r#"{"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "1"}"#;
    assert_eq!(rows, [format!("ks {json}")]);
    let mut names = texts(&query("SELECT keyspace_name FROM system_schema.keyspaces", &[]));
    names.sort();
    assert_eq!(names, ["ks", "system", "system_schema", "system_traces"]);
}

#[test]
fn every_system_table_answers_and_describes_itself() {
    let catalog = catalog();
    for keyspace in catalog.keyspaces().filter(|keyspace| &*keyspace.name != "ks") {
        for table in keyspace.tables.values() {
            query(&format!("SELECT * FROM {}.{}", table.keyspace, table.name), &[]);
            let schema =
                if &*keyspace.name == "system_virtual_schema" { "system_virtual_schema" } else { "system_schema" };
            let text = format!("SELECT count(*) FROM {schema}.columns WHERE keyspace_name = ? AND table_name = ?");
            let count = query(&text, &[Value::Bytes(keyspace.name.as_bytes()), Value::Bytes(table.name.as_bytes())]);
            assert_eq!(count[0][0].as_deref(), Some(&(table.columns.len() as i64).to_be_bytes()[..]), "{}", table.name);
        }
    }
}

#[test]
fn restrictions_limits_and_tokens_hold_on_virtual_tables() {
    let all = query("SELECT table_name FROM system_schema.tables", &[]).len();
    assert_eq!(query("SELECT table_name FROM system_schema.tables LIMIT 2", &[]).len(), 2);
    assert_eq!(query("SELECT table_name FROM system_schema.tables LIMIT ?", &[Value::Bytes(&[0, 0, 0, 3])]).len(), 3);
    assert_eq!(query("SELECT DISTINCT keyspace_name FROM system_schema.tables", &[]).len(), 4);
    assert_eq!(query("SELECT table_name FROM system_schema.tables PER PARTITION LIMIT 1", &[]).len(), 4);
    let low = query("SELECT table_name FROM system_schema.tables WHERE token(keyspace_name) <= 0", &[]).len();
    let high = query("SELECT table_name FROM system_schema.tables WHERE token(keyspace_name) > 0", &[]).len();
    assert_eq!(low + high, all);
    let range = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'system' AND table_name > 'local' ORDER BY table_name DESC";
    assert_eq!(texts(&query(range, &[])), ["peers_v2", "peers"]);
}

#[test]
fn tables_that_only_scylla_has_do_not_exist() {
    for text in [
        "select keyspace_name, table_name, partitioner from system_schema.scylla_tables",
        "select keyspace_name, initial_tablets from system_schema.scylla_keyspaces",
    ] {
        assert_eq!(analyze(text, &catalog(), None).expect_err(text).code(), 0x2200);
    }
}
