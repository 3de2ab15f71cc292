//! PREPARE and EXECUTE.

use super::client::{Answer, Bind, Client, EXECUTE, PREPARE, Parameters, bigint, execute_body, node, prepare_body};

const TABLE: &str = "CREATE TABLE bench (pk bigint PRIMARY KEY, v1 bigint, v2 bigint)";

#[test]
fn prepared_tells_markers_key_and_result() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    let insert = client.prepare("INSERT INTO ks.bench (v1, pk, v2) VALUES (?, ?, ?)");
    assert_eq!(insert.key, [1]);
    assert_eq!(insert.markers.iter().map(|marker| &*marker.name).collect::<Vec<_>>(), ["v1", "pk", "v2"]);
    assert!(insert.markers.iter().all(|marker| (&*marker.keyspace, &*marker.table) == ("ks", "bench")));
    assert!(insert.columns.is_empty());
    let select = client.prepare("SELECT v2, v1 AS one FROM bench WHERE pk = :key");
    assert_eq!(select.key, [0]);
    assert_eq!(select.markers[0].name, "key");
    assert_eq!(select.columns.iter().map(|column| &*column.name).collect::<Vec<_>>(), ["v2", "one"]);
    assert_eq!(client.prepare("SELECT * FROM bench").key, [0u16; 0]);
}

#[test]
fn an_id_stands_for_keyspace_and_text() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    let select = client.prepare("SELECT * FROM ks.bench");
    assert_eq!(client.prepare("SELECT * FROM ks.bench").id, select.id);
    assert_ne!(client.prepare("SELECT  * FROM ks.bench").id, select.id);
    let mut other = Client::connect(&node);
    assert!(matches!(other.execute(&select.id, &[]), Answer::Rows(_)));
    assert_ne!(other.prepare("SELECT * FROM ks.bench").id, select.id);
}

#[test]
fn metadata_are_left_out_only_when_asked() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    client.run("INSERT INTO bench (pk, v1, v2) VALUES (1, 2, 3)");
    let select = client.prepare("SELECT v1, v2 FROM bench WHERE pk = ?");
    let mut parameters = Parameters::values(&[bigint(1)]);
    let with = client.execute_with(&select.id, &parameters).rows();
    parameters.skip_metadata = true;
    let without = client.execute_with(&select.id, &parameters).rows();
    assert_eq!((with.columns.len(), without.columns.len()), (2, 0));
    assert_eq!(without.column_count, 2);
    assert_eq!(with.rows, without.rows);
}

#[test]
fn a_statement_is_unprepared_after_a_restart_and_can_be_prepared_again() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    let insert = client.prepare("INSERT INTO ks.bench (pk, v1) VALUES (?, ?)");
    assert_eq!(client.execute(&insert.id, &[bigint(1), bigint(2)]), Answer::Void);
    let address = node.address();
    let node = node.restart().unwrap();
    assert_eq!(node.address(), address);
    assert!(client.is_closed());
    let mut client = Client::connect(&node);
    let Answer::Error { code: 0x2500, rest, .. } = client.execute(&insert.id, &[bigint(1), bigint(2)]) else {
        panic!("the statement is not known any more")
    };
    assert_eq!(rest, [&16u16.to_be_bytes()[..], &insert.id].concat());
    client.query("USE ks");
    assert_eq!(client.prepare("INSERT INTO ks.bench (pk, v1) VALUES (?, ?)").id, insert.id);
    assert_eq!(client.execute(&insert.id, &[bigint(3), bigint(4)]), Answer::Void);
    assert_eq!(client.rows("SELECT * FROM bench").rows.len(), 2);
}

#[test]
fn a_statement_on_a_dropped_table_is_unprepared_even_if_the_table_is_back() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    let insert = client.prepare("INSERT INTO bench (pk, v1) VALUES (?, ?)");
    client.run("DROP TABLE bench");
    assert_eq!(client.execute(&insert.id, &[bigint(1), bigint(2)]).error().0, 0x2500);
    client.run(TABLE);
    assert_eq!(client.execute(&insert.id, &[bigint(1), bigint(2)]).error().0, 0x2500);
    client.prepare("INSERT INTO bench (pk, v1) VALUES (?, ?)");
    assert_eq!(client.execute(&insert.id, &[bigint(1), bigint(2)]), Answer::Void);
}

#[test]
fn an_id_that_was_never_given_is_unprepared() {
    let node = node();
    let mut client = Client::connect(&node);
    for id in [&b""[..], b"short", &[7; 16], &[7; 300]] {
        let Answer::Error { code: 0x2500, rest, .. } = client.execute(id, &[]) else { panic!("not known") };
        assert_eq!(rest[2..], *id);
    }
}

#[test]
fn the_number_of_values_must_be_that_of_the_markers() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    let insert = client.prepare("INSERT INTO bench (pk, v1) VALUES (?, ?)");
    for values in [&[][..], &[bigint(1)], &[bigint(1), bigint(2), bigint(3)]] {
        let (code, message) = client.execute(&insert.id, values).error();
        assert!(code == 0x2200 || code == 0x000A, "{code:#x} {message}");
    }
}

#[test]
fn many_requests_at_once_are_all_answered_on_their_streams() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    let insert = client.prepare("INSERT INTO bench (pk, v1, v2) VALUES (?, ?, ?)");
    let select = client.prepare("SELECT v1, v2 FROM bench WHERE pk = ?");
    let mut bytes = Vec::new();
    // Streams out of all of i16, inserts before the selects of the same keys, and other requests in between.
    let streams = (0..2000).map(|at: i32| (at * 16 - 16_000) as i16).collect::<Vec<_>>();
    for (at, stream) in streams.iter().enumerate() {
        let key = bigint(at as i64 / 2);
        let body = match at % 2 {
            0 => execute_body(&insert.id, &Parameters::values(&[key.clone(), key.clone(), Bind::Null])),
            _ => execute_body(&select.id, &Parameters::values(&[key])),
        };
        bytes.extend_from_slice(&super::client::frame(4, *stream, EXECUTE, &body));
        if at % 97 == 0 {
            bytes.extend_from_slice(&super::client::frame(4, i16::MAX, PREPARE, &prepare_body("nonsense")));
        }
    }
    client.send_bytes(&bytes);
    let mut answered = std::collections::BTreeMap::new();
    for _ in 0..2000 + 21 {
        let frame = client.frame().unwrap();
        let answer = client.read(&frame);
        if frame.stream == i16::MAX {
            assert_eq!(answer.error().0, 0x2000);
            continue;
        }
        assert!(answered.insert(frame.stream, answer).is_none(), "stream {} was answered twice", frame.stream);
    }
    for (at, stream) in streams.iter().enumerate() {
        match &answered[stream] {
            Answer::Void => assert_eq!(at % 2, 0),
            Answer::Rows(rows) => {
                let value = (at as i64 / 2).to_be_bytes().to_vec();
                assert_eq!(rows.rows, [[Some(value), None]], "statement {at}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_text_that_is_too_long_to_keep_is_not_prepared() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE t (pk bigint PRIMARY KEY, v text)");
    let text = format!("INSERT INTO t (pk, v) VALUES (?, '{}')", "x".repeat(1 << 20));
    let (code, message) = client.request(PREPARE, &prepare_body(&text)).error();
    assert_eq!(code, 0x2200);
    assert!(message.contains("at most 1048576"), "{message}");
}
