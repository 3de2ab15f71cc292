//! Counters beside those of EXECUTE, and those of many statements and connections.

use cqldyno_cluster::{Node, OperationSnapshot, Request, Snapshot};

use super::client::{Answer, BATCH, BatchStatement, Client, PREPARE, Parameters, bigint, node, prepare_body};

const TABLE: &str = "CREATE TABLE bench (pk bigint PRIMARY KEY, v1 bigint, v2 bigint)";
const INSERT: &str = "INSERT INTO ks.bench (pk, v1) VALUES (?, ?)";
const SELECT: &str = "SELECT v1 FROM ks.bench WHERE pk = ?";

fn of(snapshot: &Snapshot, request: Request, text: &str) -> Option<OperationSnapshot> {
    snapshot.operations.iter().find(|one| (one.request, one.text.as_str()) == (request, text)).cloned()
}

/// Of an unlogged batch of an insert with these keys.
fn unlogged(id: &[u8], keys: &[i64]) -> Vec<u8> {
    let mut body = vec![1];
    body.extend_from_slice(&(keys.len() as u16).to_be_bytes());
    for key in keys {
        body.extend_from_slice(&[1, 0, 16]);
        body.extend_from_slice(id);
        body.extend_from_slice(&[0, 2]);
        for value in [*key, *key] {
            body.extend_from_slice(&8i32.to_be_bytes());
            body.extend_from_slice(&value.to_be_bytes());
        }
    }
    body.extend_from_slice(&[0, 10, 0]);
    body
}

#[test]
fn prepares_queries_and_batches_are_counted_by_text_and_connection() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    let insert = client.prepare(INSERT);
    let other = Client::connect(&node);
    node.stats();
    for nth in 0..3 {
        client.prepare(&format!("{SELECT} /* {nth} */"));
        client.query_with(SELECT, &Parameters::values(&[bigint(nth)])).rows();
    }
    assert_eq!(client.request(BATCH, &unlogged(&insert.id, &[1, 2, 3, 4])), Answer::Void);
    assert_eq!(client.request(BATCH, &unlogged(&insert.id, &[5])), Answer::Void);
    let values = [bigint(6), bigint(6)];
    assert_eq!(client.batch(&[(BatchStatement::Id(&insert.id), &values)], None), Answer::Void);
    let snapshot = node.stats();
    let counts = |request, text| {
        let found = of(&snapshot, request, text).unwrap();
        assert_eq!(found.connections.len(), 1, "{found:?}");
        assert!(found.times.is_some_and(|times| times.first_ns <= times.last_ns));
        (found.count, found.rows)
    };
    assert_eq!(counts(Request::Prepare, SELECT), (3, 0));
    assert_eq!(counts(Request::Query, SELECT), (3, 0));
    assert_eq!(counts(Request::UnloggedBatch, INSERT), (2, 5));
    assert_eq!(counts(Request::LoggedBatch, INSERT), (1, 1));
    let before = of(&snapshot, Request::Prepare, INSERT).unwrap();
    assert_eq!((before.count, before.times, before.connections.len()), (1, None, 0), "before the last snapshot");
    assert_eq!(snapshot.rows, 6);
    drop(other);
}

fn prepare_many(client: &mut Client, range: std::ops::Range<usize>) {
    for chunk in range.collect::<Vec<_>>().chunks(500) {
        chunk.iter().for_each(|nth| {
            client.send(PREPARE, &prepare_body(&format!("{SELECT} /* {nth} */")));
        });
        chunk.iter().for_each(|_| {
            let frame = client.frame().unwrap();
            assert!(matches!(client.read(&frame), Answer::Prepared(_)));
        });
    }
}

#[test]
fn of_too_many_prepared_statements_the_unused_are_forgotten_and_those_in_use_stay() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    let (unused, used) = (client.prepare(SELECT), client.prepare(INSERT));
    let executes = |client: &mut Client, key| client.execute(&used.id, &[bigint(key), bigint(key)]) == Answer::Void;
    for key in 0..5 {
        assert!(executes(&mut client, key), "after {key} times 10,000 other statements");
        let first = 10_000 * key as usize;
        prepare_many(&mut client, first..first + 10_000);
    }
    assert!(matches!(client.execute(&unused.id, &[bigint(1)]), Answer::Error { code: 0x2500, .. }));
    let snapshot = node.stats();
    assert_eq!(of(&snapshot, Request::Prepare, SELECT).map(|prepares| prepares.count), Some(50_001));
    assert!(snapshot.prepared.len() < 2_000, "{} statements are told", snapshot.prepared.len());
    assert!(snapshot.prepared.values().any(|text| text == INSERT));
}

#[test]
fn connections_made_in_turn_are_counted_and_leave_nothing() {
    const CONNECTIONS: u64 = 3_000;
    let node = node();
    let mut first = Client::in_keyspace(&node);
    first.run(TABLE);
    first.prepare(INSERT);
    let connections_ever = node.stats().connections_ever;
    for key in 0..CONNECTIONS.cast_signed() {
        let mut client = Client::connect(&node);
        let insert = client.prepare(INSERT);
        assert_eq!(client.execute(&insert.id, &[bigint(key), bigint(key)]), Answer::Void);
    }
    let snapshot = settled(&node);
    assert_eq!(snapshot.connections_ever - connections_ever, CONNECTIONS);
    assert_eq!(snapshot.rows, CONNECTIONS);
    assert!(snapshot.connections.len() < 1_100, "{}", snapshot.connections.len());
    let prepares = of(&snapshot, Request::Prepare, INSERT).unwrap();
    assert_eq!(prepares.count, CONNECTIONS + 1);
    let listed = snapshot.connections.iter().filter(|connection| !connection.executes.is_empty()).count() as u64;
    let forgotten: u64 = snapshot.executes_forgotten_connections.values().sum();
    assert_eq!(listed + forgotten, CONNECTIONS, "each executed once");
    assert_eq!(prepares.connections.len() as u64 + prepares.forgotten_connections, CONNECTIONS);
}

/// What the node counted when only one connection is open.
fn settled(node: &Node) -> Snapshot {
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
    // The times and connections of the first snapshot are the ones that are looked at: the others tell nothing of them.
    while std::time::Instant::now() < patience {
        if node.open_connections() == 1 {
            return node.stats();
        }
        std::thread::yield_now();
    }
    panic!("connections are still open")
}
