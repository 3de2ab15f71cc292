//! INSERT, UPDATE, DELETE, SELECT, BATCH, TRUNCATE.

use super::client::{Answer, BatchStatement, Bind, Client, Parameters, bigint, int, node, text};
use cqldyno_cluster::Node;

fn bench(node: &Node) -> Client {
    let mut client = Client::in_keyspace(node);
    client.run("CREATE TABLE bench (pk bigint PRIMARY KEY, v1 bigint, v2 bigint)");
    client
}

fn wide(node: &Node) -> Client {
    let mut client = Client::in_keyspace(node);
    client.run(
        "CREATE TABLE wide (a int, b text, c int, d text, s text STATIC, v int, w text, PRIMARY KEY ((a, b), c, d)) \
         WITH CLUSTERING ORDER BY (c DESC, d ASC)",
    );
    client
}

fn ints(client: &mut Client, query: &str) -> Vec<i32> {
    let number = |cell: &Option<Vec<u8>>| i32::from_be_bytes(cell.as_deref().unwrap().try_into().unwrap());
    client.rows(query).rows.iter().map(|row| number(&row[0])).collect()
}

fn count(client: &mut Client, table: &str) -> i64 {
    let rows = client.rows(&format!("SELECT COUNT(*) FROM {table}"));
    assert_eq!(rows.columns[0].name, "count");
    i64::from_be_bytes(rows.rows[0][0].as_deref().unwrap().try_into().unwrap())
}

#[test]
fn a_row_that_was_inserted_is_read_back() {
    let node = node();
    let mut client = bench(&node);
    client.run("INSERT INTO bench (pk, v1, v2) VALUES (7, 14, -21)");
    let rows = client.rows("SELECT v2, pk FROM bench WHERE pk = 7");
    assert_eq!(rows.cell(0, "pk"), Some(&7i64.to_be_bytes()[..]));
    assert_eq!(rows.cell(0, "v2"), Some(&(-21i64).to_be_bytes()[..]));
    assert!(client.rows("SELECT * FROM bench WHERE pk = 8").rows.is_empty());
}

#[test]
fn null_deletes_a_cell_and_unset_leaves_it() {
    let node = node();
    let mut client = bench(&node);
    let insert = client.prepare("INSERT INTO bench (pk, v1, v2) VALUES (?, ?, ?)");
    let cells = |client: &mut Client| client.rows("SELECT v1, v2 FROM bench WHERE pk = 1").rows[0].clone();
    let bytes = |value: i64| Some(value.to_be_bytes().to_vec());
    assert_eq!(client.execute(&insert.id, &[bigint(1), bigint(2), bigint(3)]), Answer::Void);
    assert_eq!(client.execute(&insert.id, &[bigint(1), Bind::Unset, Bind::Null]), Answer::Void);
    assert_eq!(cells(&mut client), [bytes(2), None]);
    assert_eq!(client.execute(&insert.id, &[bigint(1), Bind::Null, Bind::Unset]), Answer::Void);
    // The row was inserted, so it is there even without cells.
    assert_eq!(cells(&mut client), [None, None]);
    for bad in [Bind::Null, Bind::Unset] {
        assert_eq!(client.execute(&insert.id, &[bad, bigint(1), bigint(1)]).error().0, 0x2200);
    }
    let (_, message) = client.execute(&insert.id, &[int(1), bigint(1), bigint(1)]).error();
    assert_eq!(message, "Expected 8 or 0 byte long (4)");
}

#[test]
fn an_update_alone_makes_no_row_that_outlives_its_cells() {
    let node = node();
    let mut client = bench(&node);
    client.run("UPDATE bench SET v1 = 5 WHERE pk = 1");
    assert_eq!(client.rows("SELECT * FROM bench").rows.len(), 1);
    client.run("DELETE v1 FROM bench WHERE pk = 1");
    assert!(client.rows("SELECT * FROM bench").rows.is_empty());
}

#[test]
fn the_greater_timestamp_wins_whatever_the_order() {
    let node = node();
    let mut client = bench(&node);
    let value = |client: &mut Client| client.rows("SELECT v1, writetime(v1) FROM bench WHERE pk = 1").rows;
    let row = |value: i64, time: i64| vec![Some(value.to_be_bytes().to_vec()), Some(time.to_be_bytes().to_vec())];
    client.run("INSERT INTO bench (pk, v1) VALUES (1, 10) USING TIMESTAMP 1000");
    client.run("INSERT INTO bench (pk, v1) VALUES (1, 9) USING TIMESTAMP 999");
    assert_eq!(value(&mut client), [row(10, 1000)]);
    let insert = client.prepare("INSERT INTO bench (pk, v1) VALUES (1, ?)");
    let at = |timestamp, value| Parameters {
        values: vec![bigint(value)],
        timestamp: Some(timestamp),
        ..Parameters::default()
    };
    assert_eq!(client.execute_with(&insert.id, &at(1001, 11)), Answer::Void);
    assert_eq!(client.execute_with(&insert.id, &at(500, 5)), Answer::Void);
    assert_eq!(value(&mut client), [row(11, 1001)]);
    client.run("DELETE FROM bench USING TIMESTAMP 1000 WHERE pk = 1");
    assert_eq!(value(&mut client), [row(11, 1001)]);
    client.run("DELETE FROM bench USING TIMESTAMP 2000 WHERE pk = 1");
    assert!(value(&mut client).is_empty());
    client.run("INSERT INTO bench (pk, v1) VALUES (1, 12) USING TIMESTAMP 1500");
    assert!(value(&mut client).is_empty());
    // Without a timestamp it is now, which is later than all of those.
    client.run("INSERT INTO bench (pk, v1) VALUES (1, 13)");
    assert_eq!(value(&mut client)[0][0], Some(13i64.to_be_bytes().to_vec()));
}

#[test]
fn rows_of_a_partition_come_in_clustering_order() {
    let node = node();
    let mut client = wide(&node);
    for c in [2, 5, -1, 3] {
        client.run(&format!("INSERT INTO wide (a, b, c, d, v) VALUES (1, 'x', {c}, 'd', {c})"));
    }
    let of = "FROM wide WHERE a = 1 AND b = 'x'";
    assert_eq!(ints(&mut client, &format!("SELECT c {of}")), [5, 3, 2, -1]);
    assert_eq!(ints(&mut client, &format!("SELECT c {of} ORDER BY c ASC")), [-1, 2, 3, 5]);
    assert_eq!(ints(&mut client, &format!("SELECT c {of} LIMIT 2")), [5, 3]);
    assert_eq!(ints(&mut client, &format!("SELECT c {of} AND c > -1 AND c <= 3")), [3, 2]);
    assert_eq!(ints(&mut client, &format!("SELECT c {of} AND c IN (2, 9, 5)")), [5, 2]);
    assert_eq!(ints(&mut client, &format!("SELECT c {of} AND c = 3 AND d = 'd'")), [3]);
    assert_eq!(ints(&mut client, &format!("SELECT c {of} AND c = 3 AND d > 'd'")), [0i32; 0]);
    assert_eq!(ints(&mut client, "SELECT c FROM wide WHERE v >= 3 ALLOW FILTERING"), [5, 3]);
    assert_eq!(ints(&mut client, "SELECT c FROM wide WHERE a IN (1, 2) AND b IN ('x', 'y') LIMIT 1"), [5]);
}

#[test]
fn static_columns_are_one_a_partition() {
    let node = node();
    let mut client = wide(&node);
    client.run("INSERT INTO wide (a, b, s) VALUES (1, 'x', 'first')");
    assert_eq!(client.rows("SELECT s, c FROM wide").rows, [[Some(b"first".to_vec()), None]]);
    client.run("INSERT INTO wide (a, b, c, d) VALUES (1, 'x', 1, 'd')");
    client.run("INSERT INTO wide (a, b, c, d, s) VALUES (1, 'x', 2, 'd', 'second')");
    let rows = client.rows("SELECT s FROM wide WHERE a = 1 AND b = 'x'").rows;
    assert_eq!(rows, [[Some(b"second".to_vec())], [Some(b"second".to_vec())]]);
    assert_eq!(client.rows("SELECT DISTINCT a, b, s FROM wide").rows.len(), 1);
    client.run("UPDATE wide SET s = 'third' WHERE a = 1 AND b = 'x'");
    client.run("DELETE s FROM wide WHERE a = 1 AND b = 'x'");
    assert_eq!(client.rows("SELECT s FROM wide WHERE a = 1 AND b = 'x' LIMIT 1").rows, [[None]]);
}

#[test]
fn deletes_take_cells_rows_ranges_and_partitions() {
    let node = node();
    let mut client = wide(&node);
    for a in 1..=2 {
        for c in 1..=5 {
            client.run(&format!("INSERT INTO wide (a, b, c, d, v) VALUES ({a}, 'x', {c}, 'd', {c})"));
        }
    }
    let left = |client: &mut Client| ints(client, "SELECT c FROM wide WHERE a = 1 AND b = 'x' ORDER BY c");
    client.run("DELETE v FROM wide WHERE a = 1 AND b = 'x' AND c = 1 AND d = 'd'");
    assert_eq!(client.rows("SELECT v FROM wide WHERE a = 1 AND b = 'x' AND c = 1").rows, [[None]]);
    client.run("DELETE FROM wide WHERE a = 1 AND b = 'x' AND c = 2 AND d = 'd'");
    assert_eq!(left(&mut client), [1, 3, 4, 5]);
    client.run("DELETE FROM wide WHERE a = 1 AND b = 'x' AND c = 3");
    assert_eq!(left(&mut client), [1, 4, 5]);
    client.run("DELETE FROM wide WHERE a = 1 AND b = 'x' AND c > 4");
    assert_eq!(left(&mut client), [1, 4]);
    client.run("INSERT INTO wide (a, b, c, d) VALUES (1, 'x', 5, 'd')");
    assert_eq!(left(&mut client), [1, 4, 5]);
    client.run("DELETE FROM wide WHERE a = 1 AND b = 'x'");
    assert_eq!(left(&mut client), [0i32; 0]);
    assert_eq!(count(&mut client, "wide"), 5);
    client.run("DELETE FROM wide WHERE a IN (1, 2) AND b = 'x'");
    assert_eq!(count(&mut client, "wide"), 0);
}

#[test]
fn count_and_truncate_see_all_rows() {
    let node = node();
    let mut client = bench(&node);
    let insert = client.prepare("INSERT INTO bench (pk, v1) VALUES (?, ?)");
    for pk in 0..300 {
        let v1 = if pk % 3 == 0 { Bind::Null } else { bigint(pk) };
        assert_eq!(client.execute(&insert.id, &[bigint(pk), v1]), Answer::Void);
    }
    assert_eq!(count(&mut client, "bench"), 300);
    let rows = client.rows("SELECT count(1) AS n, count(v1) AS v FROM bench");
    assert_eq!(rows.cell(0, "n"), Some(&300i64.to_be_bytes()[..]));
    assert_eq!(rows.cell(0, "v"), Some(&200i64.to_be_bytes()[..]));
    assert_eq!(client.rows("SELECT * FROM bench").rows.len(), 300);
    assert_eq!(client.query("TRUNCATE TABLE bench"), Answer::Void);
    assert_eq!(count(&mut client, "bench"), 0);
    client.run("INSERT INTO bench (pk, v1) VALUES (1, 1)");
    assert_eq!(count(&mut client, "bench"), 1);
}

#[test]
fn tokens_divide_a_table_into_parts_without_gap_or_overlap() {
    let node = node();
    let mut client = bench(&node);
    for pk in 0..50 {
        client.run(&format!("INSERT INTO bench (pk) VALUES ({pk})"));
    }
    let low = client.rows("SELECT pk, token(pk) FROM bench WHERE token(pk) <= 0").rows;
    let high = client.rows("SELECT pk, token(pk) FROM bench WHERE token(pk) > 0").rows;
    assert_eq!(low.len() + high.len(), 50);
    for row in low.iter().chain(&high) {
        let token = cqldyno_cluster::token::token(row[0].as_deref().unwrap());
        assert_eq!(row[1].as_deref(), Some(&token.to_be_bytes()[..]));
    }
}

#[test]
fn a_batch_applies_all_of_it_or_nothing() {
    let node = node();
    let mut client = bench(&node);
    let insert = client.prepare("INSERT INTO bench (pk, v1) VALUES (?, ?)");
    let answer = client.batch(
        &[
            (BatchStatement::Id(&insert.id), &[bigint(1), bigint(10)]),
            (BatchStatement::Text("INSERT INTO bench (pk, v1) VALUES (?, 20)"), &[bigint(2)]),
            (BatchStatement::Text("UPDATE bench SET v2 = 5 WHERE pk = 1"), &[]),
        ],
        None,
    );
    assert_eq!(answer, Answer::Void);
    assert_eq!(count(&mut client, "bench"), 2);
    let answer = client.batch(
        &[
            (BatchStatement::Id(&insert.id), &[bigint(3), bigint(30)]),
            (BatchStatement::Id(&insert.id), &[int(3), bigint(30)]),
        ],
        None,
    );
    assert_eq!(answer.error().0, 0x2200);
    assert_eq!(count(&mut client, "bench"), 2);
    let (code, _) = client.batch(&[(BatchStatement::Text("SELECT * FROM bench"), &[])], None).error();
    assert_eq!(code, 0x2200);
    assert_eq!(client.batch(&[(BatchStatement::Id(b"no such id......"), &[])], None).error().0, 0x2500);
}

#[test]
fn a_batch_has_one_timestamp() {
    let node = node();
    let mut client = bench(&node);
    let statements: [(BatchStatement<'_>, &[Bind]); 2] = [
        (BatchStatement::Text("INSERT INTO bench (pk, v1) VALUES (1, 1)"), &[]),
        (BatchStatement::Text("INSERT INTO bench (pk, v1) VALUES (2, 2)"), &[]),
    ];
    assert_eq!(client.batch(&statements, Some(77)), Answer::Void);
    let rows = client.rows("SELECT writetime(v1) FROM bench").rows;
    assert_eq!(rows, [[Some(77i64.to_be_bytes().to_vec())], [Some(77i64.to_be_bytes().to_vec())]]);
}

#[test]
fn a_batch_as_text_counts_its_markers_through() {
    let node = node();
    let mut client = bench(&node);
    let batch = client.prepare(
        "BEGIN BATCH INSERT INTO bench (pk, v1) VALUES (?, ?); UPDATE bench SET v2 = ? WHERE pk = ?; \
         DELETE v1 FROM bench WHERE pk = 9; APPLY BATCH",
    );
    assert_eq!(batch.markers.len(), 4);
    assert_eq!(client.execute(&batch.id, &[bigint(1), bigint(2), bigint(3), bigint(1)]), Answer::Void);
    let rows = client.rows("SELECT * FROM bench");
    assert_eq!(rows.cell(0, "v1"), Some(&2i64.to_be_bytes()[..]));
    assert_eq!(rows.cell(0, "v2"), Some(&3i64.to_be_bytes()[..]));
}

#[test]
fn values_of_a_query_are_bound_by_position_and_by_name() {
    let node = node();
    let mut client = bench(&node);
    let parameters = Parameters::values(&[bigint(4), bigint(5)]);
    assert_eq!(client.query_with("INSERT INTO bench (pk, v1) VALUES (?, ?)", &parameters), Answer::Void);
    let parameters =
        Parameters { values: vec![bigint(6), bigint(4)], names: vec!["new", "key"], ..Parameters::default() };
    assert_eq!(client.query_with("UPDATE bench SET v1 = :new WHERE pk = :key", &parameters), Answer::Void);
    let rows = client.rows("SELECT v1 FROM bench WHERE pk = 4");
    assert_eq!(rows.cell(0, "v1"), Some(&6i64.to_be_bytes()[..]));
    let few = Parameters::values(&[bigint(4)]);
    let (code, message) = client.query_with("INSERT INTO bench (pk, v1) VALUES (?, ?)", &few).error();
    assert_eq!(code, 0x2200, "{message}");
}

#[test]
fn in_takes_a_list_as_one_value() {
    let node = node();
    let mut client = bench(&node);
    for pk in 1..=4 {
        client.run(&format!("INSERT INTO bench (pk) VALUES ({pk})"));
    }
    let mut list = 3i32.to_be_bytes().to_vec();
    for pk in [4i64, 1, 9] {
        list.extend_from_slice(&[0, 0, 0, 8]);
        list.extend_from_slice(&pk.to_be_bytes());
    }
    let rows =
        client.query_with("SELECT pk FROM bench WHERE pk IN ?", &Parameters::values(&[Bind::Bytes(list)])).rows();
    assert_eq!(rows.rows.len(), 2);
}

#[test]
fn a_value_of_a_mebibyte_is_stored() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE blobs (pk text PRIMARY KEY, v blob)");
    let insert = client.prepare("INSERT INTO blobs (pk, v) VALUES (?, ?)");
    let blob = (0..1 << 20).map(|at| (at % 251) as u8).collect::<Vec<_>>();
    assert_eq!(client.execute(&insert.id, &[text("é"), Bind::Bytes(blob.clone())]), Answer::Void);
    let rows = client.rows("SELECT v FROM blobs WHERE pk = 'é'");
    assert_eq!(rows.cell(0, "v"), Some(&blob[..]));
}

#[test]
fn a_statement_that_names_too_many_rows_is_refused_whatever_it_does() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE grid (pk int, ck int, v int, PRIMARY KEY (pk, ck))");
    let list = (0..400).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
    for statement in [
        format!("UPDATE grid SET v = 1 WHERE pk IN ({list}) AND ck IN ({list})"),
        format!("DELETE FROM grid WHERE pk IN ({list}) AND ck IN ({list})"),
        format!("SELECT v FROM grid WHERE pk IN ({list}) AND ck IN ({list})"),
    ] {
        let (code, message) = client.query(&statement).error();
        assert_eq!(code, 0x2200);
        assert!(message.contains("160000 elements"), "{message}");
    }
    assert_eq!(count(&mut client, "grid"), 0);
}
