//! ALTER TABLE and ALTER TYPE: rows keep what they have, and no statement uses columns as they were.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::client::{Answer, Client, Parameters, Prepared, int, node, text};

const UNPREPARED: i32 = 0x2500;

/// The first column of each row as ints.
fn ints(client: &mut Client, query: &str) -> Vec<Option<i32>> {
    let cell = |cell: &Option<Vec<u8>>| cell.as_ref().map(|cell| i32::from_be_bytes(cell[..].try_into().unwrap()));
    client.rows(query).rows.iter().map(|row| cell(&row[0])).collect()
}

#[test]
fn rows_keep_their_values_when_columns_come_and_go() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE one (pk int PRIMARY KEY, b int, d text)");
    client.run("CREATE TABLE many (pk int, ck int, s int static, b int, d text, PRIMARY KEY (pk, ck))");
    for pk in 0..200 {
        client.run(&format!("INSERT INTO one (pk, b, d) VALUES ({pk}, {}, 'd')", pk * 2));
        client.run(&format!("INSERT INTO many (pk, ck, s, b, d) VALUES ({}, {pk}, 7, {}, 'd')", pk % 3, pk * 2));
    }
    client.run("DELETE FROM one WHERE pk = 3");
    client.run("DELETE b FROM one WHERE pk = 4");
    client.run("UPDATE one SET d = 'only' WHERE pk = 1000");
    for table in ["one", "many"] {
        client.run(&format!("ALTER TABLE {table} ADD (a int, c list<int>)"));
    }
    client.run("ALTER TABLE many ADD r text static");
    assert_eq!(ints(&mut client, "SELECT b FROM one WHERE pk = 5"), [Some(10)]);
    assert_eq!(ints(&mut client, "SELECT b FROM one WHERE pk = 4"), [None]);
    assert_eq!(ints(&mut client, "SELECT b FROM one WHERE pk = 3"), []);
    assert_eq!(ints(&mut client, "SELECT s FROM many WHERE pk = 1 AND ck = 1"), [Some(7)]);
    client.run("UPDATE one SET a = 1, c = [2] WHERE pk = 5");
    client.run("UPDATE many SET a = 1, r = 'r' WHERE pk = 1 AND ck = 1");
    for table in ["one", "many"] {
        client.run(&format!("ALTER TABLE {table} DROP b"));
        client.run(&format!("ALTER TABLE {table} DROP d"));
    }
    assert_eq!(ints(&mut client, "SELECT a FROM one WHERE pk = 5"), [Some(1)]);
    assert_eq!(ints(&mut client, "SELECT a FROM many WHERE pk = 1 AND ck = 1"), [Some(1)]);
    assert_eq!(ints(&mut client, "SELECT s FROM many WHERE pk = 1 AND ck = 4"), [Some(7)]);
    assert_eq!(ints(&mut client, "SELECT pk FROM one WHERE pk = 1000"), [], "it had nothing else");
    assert_eq!(client.rows("SELECT pk FROM one").rows.len(), 199);
    client.run("ALTER TABLE one ADD d text");
    assert_eq!(client.rows("SELECT d FROM one WHERE pk = 6").rows, [[None]], "what was dropped does not come back");
    let rows = node.stats().rows_by_table;
    assert_eq!((rows["ks.one"], rows["ks.many"]), (199, 200));
}

#[test]
fn a_prepared_statement_is_forgotten_when_its_columns_change_and_else_kept() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE t (pk int PRIMARY KEY, v int)");
    client.run("CREATE TABLE other (pk int PRIMARY KEY)");
    let other = client.prepare("SELECT * FROM ks.other");
    let mut select = client.prepare("SELECT * FROM ks.t WHERE pk = ?");
    client.run("INSERT INTO t (pk, v) VALUES (1, 2)");
    for (alteration, columns) in
        [("ADD w text", &["pk", "v", "w"][..]), ("DROP v", &["pk", "w"]), ("RENAME pk TO key", &["key", "w"])]
    {
        client.run(&format!("ALTER TABLE t {alteration}"));
        assert_eq!(client.execute(&select.id, &[int(1)]).error().0, UNPREPARED, "{alteration}");
        let key = columns[0];
        let again = client.prepare(&format!("SELECT * FROM ks.t WHERE {key} = ?"));
        assert!(again.columns.iter().map(|column| &*column.name).eq(columns.iter().copied()), "{alteration}");
        assert_eq!(client.execute(&again.id, &[int(1)]).rows().rows[0].len(), columns.len());
        select = again;
    }
    assert_eq!(client.query("ALTER TABLE t ADD IF NOT EXISTS w text"), Answer::Void);
    assert!(matches!(client.execute(&select.id, &[int(1)]), Answer::Rows(_)));
    assert!(matches!(client.execute(&other.id, &[]), Answer::Rows(_)));
}

#[test]
fn what_is_written_while_tables_are_altered_is_there_afterwards() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE one (pk int PRIMARY KEY, v text)");
    client.run("CREATE TABLE many (pk int, ck int, v text, PRIMARY KEY (pk, ck))");
    let inserts = ["INSERT INTO ks.one (pk, v) VALUES (?, ?)", "INSERT INTO ks.many (pk, ck, v) VALUES (1, ?, ?)"];
    let is_done = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (node, is_done) = (&node, &is_done);
                scope.spawn(move || {
                    let mut client = Client::connect(node);
                    let mut prepared: Vec<Prepared> = inserts.iter().map(|insert| client.prepare(insert)).collect();
                    let mut row = writer;
                    while !is_done.load(Ordering::Relaxed) {
                        for (at, insert) in inserts.iter().enumerate() {
                            let parameters = Parameters::values(&[int(row), text(&format!("value {row}"))]);
                            let mut answer = client.execute_with(&prepared[at].id, &parameters);
                            while matches!(answer, Answer::Error { code: UNPREPARED, .. }) {
                                prepared[at] = client.prepare(insert);
                                answer = client.execute_with(&prepared[at].id, &parameters);
                            }
                            assert_eq!(answer, Answer::Void);
                        }
                        row += 3;
                    }
                    (writer..row).step_by(3).collect::<Vec<i32>>()
                })
            })
            .collect();
        for turn in 0..20 {
            for table in ["one", "many"] {
                // Before and after the written column.
                for name in ["a", "z"] {
                    client.run(&format!("ALTER TABLE {table} ADD {name}{turn} int"));
                }
                client.run(&format!("ALTER TABLE {table} DROP a{turn}"));
            }
        }
        is_done.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<i32>>()
    });
    assert!(!written.is_empty());
    for (query, what) in
        [("SELECT v FROM one WHERE pk = ", "one"), ("SELECT v FROM many WHERE pk = 1 AND ck = ", "many")]
    {
        for row in &written {
            let found = client.rows(&format!("{query}{row}")).rows;
            assert_eq!(found, [[Some(format!("value {row}").into_bytes())]], "row {row} of {what}");
        }
    }
}
