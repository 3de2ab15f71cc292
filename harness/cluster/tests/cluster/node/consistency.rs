//! Consistency levels, and what is refused at them.

use super::client::{Answer, Client, Parameters, bigint, node};
use cqldyno_cluster::{Node, NodeOptions, Topology};

const ANY: u16 = 0;
const ONE: u16 = 1;
const TWO: u16 = 2;
const QUORUM: u16 = 4;
const ALL: u16 = 5;
const SERIAL: u16 = 8;

fn at(consistency: u16) -> Parameters {
    Parameters { consistency, ..Parameters::default() }
}

fn with_replicas(node: &Node, factor: usize) -> Client {
    let mut client = Client::connect(node);
    client.run(&format!(
        "CREATE KEYSPACE r WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}"
    ));
    client.run("CREATE TABLE r.t (pk bigint PRIMARY KEY, v bigint)");
    client
}

fn unavailable(answer: Answer) -> (u16, i32, i32) {
    match answer {
        Answer::Error { code: 0x1000, rest, .. } => (
            u16::from_be_bytes([rest[0], rest[1]]),
            i32::from_be_bytes(rest[2..6].try_into().unwrap()),
            i32::from_be_bytes(rest[6..10].try_into().unwrap()),
        ),
        other => panic!("not unavailable: {other:?}"),
    }
}

#[test]
fn one_node_serves_one_of_three_replicas() {
    let node = node();
    let mut client = with_replicas(&node, 3);
    let insert = client.prepare("INSERT INTO r.t (pk, v) VALUES (?, ?)");
    let select = client.prepare("SELECT pk, v FROM r.t WHERE pk = ?");
    let write = |level| Parameters { values: vec![bigint(1), bigint(2)], ..at(level) };
    let read = |level| Parameters { values: vec![bigint(1)], ..at(level) };
    assert_eq!(unavailable(client.execute_with(&insert.id, &write(QUORUM))), (QUORUM, 2, 1));
    assert_eq!(unavailable(client.execute_with(&insert.id, &write(ALL))), (ALL, 3, 1));
    assert!(client.rows("SELECT * FROM r.t").rows.is_empty(), "what is refused is not written");
    assert_eq!(client.execute_with(&insert.id, &write(ONE)), Answer::Void);
    assert_eq!(client.execute_with(&insert.id, &write(ANY)), Answer::Void);
    assert_eq!(unavailable(client.execute_with(&select.id, &read(TWO))), (TWO, 2, 1));
    assert_eq!(unavailable(client.execute_with(&select.id, &read(SERIAL))), (QUORUM, 2, 1));
    assert_eq!(client.execute_with(&select.id, &read(ONE)).rows().rows.len(), 1);
    assert_eq!(unavailable(client.query_with("SELECT * FROM r.t", &at(QUORUM))), (QUORUM, 2, 1));
    let batch = "BEGIN BATCH INSERT INTO r.t (pk) VALUES (5); APPLY BATCH";
    assert_eq!(unavailable(client.query_with(batch, &at(QUORUM))), (QUORUM, 2, 1));
    let conditional = "INSERT INTO r.t (pk) VALUES (6) IF NOT EXISTS";
    assert_eq!(unavailable(client.query_with(conditional, &at(ONE))), (QUORUM, 2, 1));
}

#[test]
fn another_replication_is_seen_by_statements_that_were_prepared_before() {
    let node = node();
    let mut client = with_replicas(&node, 3);
    let insert = client.prepare("INSERT INTO r.t (pk, v) VALUES (?, ?)");
    let write = Parameters { values: vec![bigint(1), bigint(2)], ..at(QUORUM) };
    assert_eq!(unavailable(client.execute_with(&insert.id, &write)), (QUORUM, 2, 1));
    client.run("ALTER KEYSPACE r WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    assert_eq!(client.execute_with(&insert.id, &write), Answer::Void);
    client.run("ALTER KEYSPACE r WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}");
    assert_eq!(unavailable(client.execute_with(&insert.id, &write)), (QUORUM, 2, 1));
}

#[test]
fn three_nodes_serve_three_replicas() {
    let topology = Topology::new(3, 16, 1, None).unwrap();
    let node = Node::start(NodeOptions { topology, ..NodeOptions::default() }).unwrap();
    let mut client = with_replicas(&node, 3);
    for level in [ONE, TWO, 3, QUORUM, ALL] {
        assert_eq!(client.query_with("INSERT INTO r.t (pk) VALUES (1)", &at(level)), Answer::Void);
    }
}

#[test]
fn a_level_of_the_other_kind_is_invalid_with_cassandras_text() {
    let node = node();
    let mut client = with_replicas(&node, 1);
    let insert = client.prepare("INSERT INTO r.t (pk, v) VALUES (?, ?)");
    let serial = Parameters { values: vec![bigint(1), bigint(2)], ..at(SERIAL) };
    let select = "SELECT * FROM r.t WHERE pk = 1";
    let conditional = "INSERT INTO r.t (pk) VALUES (1) IF NOT EXISTS";
    for (answer, text) in [
        (client.query_with(select, &at(ANY)), "ANY ConsistencyLevel is only supported for writes"),
        (client.execute_with(&insert.id, &serial), "You must use conditional updates for serializable writes"),
        (
            client.query_with(conditional, &at(SERIAL)),
            "SERIAL is not supported as conditional update commit consistency. Use",
        ),
        (
            client.query_with(conditional, &Parameters { serial_consistency: Some(QUORUM), ..at(ONE) }),
            "Invalid consistency for conditional update. Must be one of SERIAL or LOCAL_SERIAL",
        ),
    ] {
        let (code, message) = answer.error();
        assert!(code == 0x2200 && message.starts_with(text), "{message}");
    }
    assert!(client.rows("SELECT * FROM r.t").rows.is_empty());
    assert!(client.query_with(select, &at(SERIAL)).rows().rows.is_empty());
    let local_serial = Parameters { serial_consistency: Some(9), ..at(ONE) };
    assert_eq!(client.query_with(conditional, &local_serial).rows().cell(0, "[applied]"), Some(&[1][..]));
}
