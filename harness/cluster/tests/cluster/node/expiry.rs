//! TTLs: how long they are, and that what has expired is gone without anybody's doing.

use std::time::{Duration, Instant};

use super::client::{Answer, Bind, Client, int, node};
use cqldyno_cluster::Node;

fn table(node: &Node) -> Client {
    let mut client = Client::in_keyspace(node);
    client.run("CREATE TABLE t (pk int PRIMARY KEY, v int, w int)");
    client.run(
        "CREATE TABLE d (pk int, ck int, s int STATIC, v int, PRIMARY KEY (pk, ck)) WITH default_time_to_live = 1000",
    );
    client
}

/// The seconds that each cell has left; `None` without a TTL.
fn left(client: &mut Client, query: &str) -> Vec<Option<i32>> {
    let second = |cell: &Option<Vec<u8>>| cell.as_deref().map(|bytes| i32::from_be_bytes(bytes.try_into().unwrap()));
    client.rows(query).rows.iter().flat_map(|row| row.iter().map(second)).collect()
}

fn is_about(left: Option<i32>, ttl: i32) -> bool {
    left.is_some_and(|left| left <= ttl && left > ttl - 60)
}

#[test]
fn each_cell_has_the_ttl_of_the_statement_that_wrote_it_or_the_tables() {
    let node = node();
    let mut client = table(&node);
    client.run("INSERT INTO t (pk, v, w) VALUES (1, 1, 1) USING TTL 100");
    client.run("UPDATE t USING TTL 0 SET w = 2 WHERE pk = 1");
    let cells = left(&mut client, "SELECT ttl(v), ttl(w) FROM t");
    assert!(is_about(cells[0], 100) && cells[1].is_none(), "{cells:?}");
    let insert = client.prepare("INSERT INTO d (pk, ck, v, s) VALUES (1, ?, 1, 1) USING TTL ?");
    for (ck, ttl) in [(1, Bind::Unset), (2, Bind::Null), (3, int(0)), (4, int(5_000))] {
        assert_eq!(client.execute(&insert.id, &[int(ck), ttl]), Answer::Void);
    }
    let cells = left(&mut client, "SELECT ttl(v) FROM d WHERE pk = 1");
    assert!(is_about(cells[0], 1_000) && is_about(cells[3], 5_000), "{cells:?}");
    assert_eq!(cells[1..3], [None, None]);
    assert!(is_about(left(&mut client, "SELECT ttl(s) FROM d LIMIT 1")[0], 5_000));
    let prepared = client.prepare("INSERT INTO d (pk, ck, v) VALUES (?, ?, ?)");
    assert_eq!(client.execute(&prepared.id, &[int(2), int(1), int(1)]), Answer::Void);
    assert!(is_about(left(&mut client, "SELECT ttl(v) FROM d WHERE pk = 2")[0], 1_000));
}

#[test]
fn a_default_ttl_holds_for_the_statements_that_run_in_groups() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE g (pk int PRIMARY KEY, v int) WITH default_time_to_live = 1000");
    let insert = client.prepare("INSERT INTO g (pk, v) VALUES (?, ?)");
    assert_eq!(client.execute(&insert.id, &[int(1), int(1)]), Answer::Void);
    assert!(is_about(left(&mut client, "SELECT ttl(v) FROM g")[0], 1_000));
}

#[test]
fn rows_and_cells_are_gone_when_their_time_is_up() {
    let node = node();
    let mut client = table(&node);
    client.run("INSERT INTO t (pk, v, w) VALUES (1, 1, 1) USING TTL 1");
    client.run("INSERT INTO t (pk, v) VALUES (2, 1)");
    client.run("UPDATE t USING TTL 1 SET w = 1 WHERE pk = 2");
    client.run("INSERT INTO d (pk, ck, v, s) VALUES (1, 1, 1, 1) USING TTL 1");
    client.run("INSERT INTO d (pk, ck, v) VALUES (1, 2, 1)");
    let select = client.prepare("SELECT pk, v, w FROM t WHERE pk = ?");
    let begun = Instant::now();
    while client.execute(&select.id, &[int(1)]).rows().rows.len() == 1 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the row does not expire");
        std::thread::sleep(Duration::from_millis(20));
    }
    let one = 1i32.to_be_bytes().to_vec();
    // The others were written later, perhaps in the next second.
    std::thread::sleep(Duration::from_millis(1_000));
    let two = 2i32.to_be_bytes().to_vec();
    assert_eq!(client.rows("SELECT pk, v, w FROM t").rows, [[Some(two.clone()), Some(one), None]]);
    assert_eq!(client.rows("SELECT ck, s FROM d").rows, [[Some(two), None]]);
    client.run("INSERT INTO t (pk, v) VALUES (1, 5)");
    assert_eq!(client.rows("SELECT v FROM t WHERE pk = 1").rows.len(), 1);
}

#[test]
fn a_ttl_that_cannot_be_is_refused_with_cassandras_text() {
    let node = node();
    let mut client = table(&node);
    for (ttl, text) in [
        ("-1", "A TTL must be greater or equal to 0, but was -1"),
        ("630720001", "ttl is too large. requested (630720001) maximum (630720000)"),
        (
            "630720000",
            "Request on table ks.t with ttl of 630720000 seconds exceeds maximum supported expiration date of 2038",
        ),
    ] {
        let (code, message) = client.query(&format!("INSERT INTO t (pk, v) VALUES (1, 1) USING TTL {ttl}")).error();
        assert!(code == 0x2200 && message.starts_with(text), "{message}");
    }
    assert_eq!(client.query("INSERT INTO t (pk, v) VALUES (1, 1) USING TTL 'x'").error().0, 0x2000);
    let (code, message) = client.query("CREATE TABLE e (pk int PRIMARY KEY) WITH default_time_to_live = -1").error();
    assert_eq!((code, message.as_str()), (0x2300, "default_time_to_live must be greater than or equal to 0 (got -1)"));
    assert!(client.rows("SELECT * FROM t").rows.is_empty());
}
