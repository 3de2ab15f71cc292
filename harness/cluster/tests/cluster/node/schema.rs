//! DDL, its results and its events.

use super::client::{Answer, Client, REGISTER, SchemaChange, node, write_string};

fn change(change: &str, target: &str, keyspace: &str, table: Option<&str>) -> SchemaChange {
    SchemaChange {
        change: change.to_owned(),
        target: target.to_owned(),
        keyspace: keyspace.to_owned(),
        table: table.map(str::to_owned),
    }
}

const CREATE: &str = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";

#[test]
fn each_change_of_the_schema_is_a_result_and_an_event() {
    let node = node();
    let mut client = Client::connect(&node);
    let mut listener = Client::connect(&node);
    let mut body = vec![0, 1];
    write_string(&mut body, "SCHEMA_CHANGE");
    assert_eq!(listener.request(REGISTER, &body), Answer::Ready);
    for (statement, expected) in [
        (CREATE, change("CREATED", "KEYSPACE", "ks", None)),
        ("CREATE TABLE ks.t (pk bigint PRIMARY KEY)", change("CREATED", "TABLE", "ks", Some("t"))),
        ("DROP TABLE ks.t", change("DROPPED", "TABLE", "ks", Some("t"))),
        ("ALTER KEYSPACE ks WITH durable_writes = false", change("UPDATED", "KEYSPACE", "ks", None)),
        ("DROP KEYSPACE ks", change("DROPPED", "KEYSPACE", "ks", None)),
    ] {
        assert_eq!(client.query(statement), Answer::SchemaChange(expected.clone()), "{statement}");
        let event = listener.frame().unwrap();
        assert_eq!(event.stream, -1);
        assert_eq!(listener.read(&event), Answer::Event(expected), "{statement}");
    }
}

#[test]
fn who_asked_for_other_events_is_told_nothing_of_the_schema() {
    let node = node();
    let mut client = Client::connect(&node);
    let mut listener = Client::connect(&node);
    let mut body = vec![0, 1];
    write_string(&mut body, "STATUS_CHANGE");
    assert_eq!(listener.request(REGISTER, &body), Answer::Ready);
    assert!(matches!(client.query(CREATE), Answer::SchemaChange(_)));
    // The next frame is the answer to the next request, and no event before it.
    assert!(!listener.rows("SELECT key FROM system.local").rows.is_empty());
}

#[test]
fn what_if_exists_makes_no_change_is_void_and_no_event() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE t (pk bigint PRIMARY KEY)");
    for statement in [
        "CREATE TABLE IF NOT EXISTS t (pk bigint PRIMARY KEY)",
        "DROP TABLE IF EXISTS nosuch",
        "DROP KEYSPACE IF EXISTS nosuch",
        "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    ] {
        assert_eq!(client.query(statement), Answer::Void, "{statement}");
    }
}

#[test]
fn every_refusal_has_the_code_of_the_specification() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE t (pk bigint PRIMARY KEY)");
    for (statement, code) in [
        ("SELEC * FROM t", 0x2000),
        ("SELECT * FROM nosuch", 0x2200),
        ("SELECT nosuch FROM t", 0x2200),
        ("CREATE TABLE system.t (pk bigint PRIMARY KEY)", 0x2100),
        ("CREATE KEYSPACE k WITH replication = {'class': 'NoSuchStrategy'}", 0x2300),
        ("DROP TABLE nosuch", 0x2200),
        ("INSERT INTO t (pk) VALUES (?)", 0x2200),
    ] {
        assert_eq!(client.query(statement).error().0, code, "{statement}");
    }
    assert_eq!(client.query("SELECT * FROM nosuch").error().1, "table nosuch does not exist");
}

#[test]
fn an_already_exists_error_names_what_exists() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE t (pk bigint PRIMARY KEY)");
    let Answer::Error { code: 0x2400, rest, .. } = client.query("CREATE TABLE t (pk bigint PRIMARY KEY)") else {
        panic!("the table exists")
    };
    assert_eq!(rest, b"\0\x02ks\0\x01t");
    let Answer::Error { code: 0x2400, rest, .. } = client.query(CREATE) else { panic!("the keyspace exists") };
    assert_eq!(rest, b"\0\x02ks\0\0");
}

#[test]
fn the_schema_version_changes_with_ddl_and_only_then() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    let version = |client: &mut Client| client.rows("SELECT schema_version FROM system.local WHERE key='local'").rows;
    let before = version(&mut client);
    assert_eq!(version(&mut client), before);
    client.run("CREATE TABLE t (pk bigint PRIMARY KEY)");
    let created = version(&mut client);
    assert_ne!(created, before);
    client.run("INSERT INTO t (pk) VALUES (1)");
    assert_eq!(version(&mut client), created);
    client.run("DROP TABLE t");
    assert_ne!(version(&mut client), created);
}

#[test]
fn a_table_created_again_is_empty() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    for _ in 0..2 {
        client.run("CREATE TABLE t (pk bigint PRIMARY KEY, v int)");
        assert!(client.rows("SELECT * FROM t").rows.is_empty());
        client.run("INSERT INTO t (pk, v) VALUES (1, 2)");
        assert_eq!(client.rows("SELECT * FROM t").rows.len(), 1);
        client.run("DROP TABLE t");
    }
}

#[test]
fn use_sets_the_keyspace_of_one_connection() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE t (pk bigint PRIMARY KEY)");
    let mut other = Client::connect(&node);
    let (code, message) = other.query("SELECT * FROM t").error();
    assert_eq!(code, 0x2200);
    assert!(message.starts_with("No keyspace has been specified."), "{message}");
    assert_eq!(other.query("USE \"ks\""), Answer::SetKeyspace("ks".to_owned()));
    assert!(other.rows("SELECT * FROM t").rows.is_empty());
    assert_eq!(other.query("USE nosuch").error(), (0x2200, "Keyspace 'nosuch' does not exist".to_owned()));
}
