//! Pages and the state between them.

use super::client::{Answer, Bind, Client, Parameters, Rows, int, node};
use cqldyno_cluster::Node;

fn partition_of(rows: i32, node: &Node) -> Client {
    let mut client = Client::in_keyspace(node);
    client.run("CREATE TABLE wide (pk int, c int, v text, PRIMARY KEY (pk, c))");
    let insert = client.prepare("INSERT INTO wide (pk, c, v) VALUES (?, ?, 'v')");
    for c in 0..rows {
        assert_eq!(client.execute(&insert.id, &[int(1), int(c)]), Answer::Void);
    }
    client
}

/// All pages of a prepared SELECT.
fn pages(client: &mut Client, id: &[u8], values: &[Bind], page_size: i32) -> Vec<Rows> {
    let mut pages = Vec::new();
    let mut parameters = Parameters { values: values.to_vec(), page_size: Some(page_size), ..Parameters::default() };
    loop {
        let page = client.execute_with(id, &parameters).rows();
        parameters.paging_state.clone_from(&page.paging_state);
        pages.push(page);
        if parameters.paging_state.is_none() {
            return pages;
        }
        assert!(pages.len() < 10_000, "the pages have no end");
    }
}

fn numbers(pages: &[Rows], column: usize) -> Vec<i32> {
    let number = |row: &Vec<Option<Vec<u8>>>| i32::from_be_bytes(row[column].as_deref().unwrap().try_into().unwrap());
    pages.iter().flat_map(|page| &page.rows).map(number).collect()
}

#[test]
fn a_partition_of_a_thousand_rows_comes_in_pages_of_a_hundred() {
    let node = node();
    let mut client = partition_of(1000, &node);
    let select = client.prepare("SELECT c FROM wide WHERE pk = ?");
    let found = pages(&mut client, &select.id, &[int(1)], 100);
    assert!(found.iter().all(|page| page.rows.len() <= 100));
    // Cassandra, too, learns only by looking that a full page was the last.
    assert!(found.len() == 11 && found[10].rows.is_empty());
    assert_eq!(numbers(&found, 0), (0..1000).collect::<Vec<_>>());
    let found = pages(&mut client, &select.id, &[int(1)], 333);
    assert_eq!(numbers(&found, 0), (0..1000).collect::<Vec<_>>());
}

#[test]
fn pages_keep_to_order_range_and_limit() {
    let node = node();
    let mut client = partition_of(100, &node);
    let select = client.prepare("SELECT c FROM wide WHERE pk = ? AND c >= 10 AND c < 95 ORDER BY c DESC LIMIT 50");
    let found = pages(&mut client, &select.id, &[int(1)], 7);
    assert_eq!(numbers(&found, 0), (45..95).rev().collect::<Vec<_>>());
}

#[test]
fn a_whole_table_comes_in_pages_that_miss_and_repeat_nothing() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE t (pk int PRIMARY KEY)");
    let insert = client.prepare("INSERT INTO t (pk) VALUES (?)");
    for pk in 0..500 {
        assert_eq!(client.execute(&insert.id, &[int(pk)]), Answer::Void);
    }
    let select = client.prepare("SELECT pk, token(pk) FROM t");
    for page_size in [1, 33, 499, 500, 501] {
        let found = pages(&mut client, &select.id, &[], page_size);
        let mut keys = numbers(&found, 0);
        keys.sort_unstable();
        assert_eq!(keys, (0..500).collect::<Vec<_>>(), "pages of {page_size}");
    }
}

#[test]
fn pages_go_on_after_writes_in_between() {
    let node = node();
    let mut client = partition_of(100, &node);
    let select = client.prepare("SELECT c FROM wide WHERE pk = 1");
    let mut parameters = Parameters { page_size: Some(10), ..Parameters::default() };
    let first = client.execute_with(&select.id, &parameters).rows();
    assert_eq!(numbers(std::slice::from_ref(&first), 0), (0..10).collect::<Vec<_>>());
    client.run("DELETE FROM wide WHERE pk = 1 AND c = 9");
    client.run("DELETE FROM wide WHERE pk = 1 AND c = 10");
    client.run("INSERT INTO wide (pk, c) VALUES (1, 5000)");
    parameters.paging_state = first.paging_state;
    parameters.page_size = Some(1000);
    let rest = client.execute_with(&select.id, &parameters).rows();
    assert_eq!(numbers(&[rest], 0), (11..100).chain([5000]).collect::<Vec<_>>());
}

#[test]
fn an_invalid_paging_state_is_a_protocol_error() {
    let node = node();
    let mut client = partition_of(10, &node);
    let parameters = Parameters { page_size: Some(5), paging_state: Some(vec![1, 2, 3]), ..Parameters::default() };
    assert_eq!(client.query_with("SELECT c FROM wide WHERE pk = 1", &parameters).error().0, 0x000A);
    assert_eq!(client.rows("SELECT c FROM wide WHERE pk = 1").rows.len(), 10);
}

#[test]
fn a_count_is_one_row_whatever_the_page_size() {
    let node = node();
    let mut client = partition_of(100, &node);
    let parameters = Parameters { page_size: Some(3), ..Parameters::default() };
    let rows = client.query_with("SELECT count(*) FROM wide", &parameters).rows();
    assert_eq!(rows.rows, [[Some(100i64.to_be_bytes().to_vec())]]);
    assert_eq!(rows.paging_state, None);
}

#[test]
fn static_columns_without_a_row_are_found_behind_many_deleted_rows() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE kept (pk int, c int, s text static, v text, PRIMARY KEY (pk, c))");
    client.run("UPDATE kept SET s = 'static' WHERE pk = 1");
    let insert = client.prepare("INSERT INTO kept (pk, c, v) VALUES (?, ?, 'v')");
    let delete = client.prepare("DELETE FROM kept WHERE pk = ? AND c = ?");
    // More than are looked at in one go.
    for c in 0..3_000 {
        client.execute(&insert.id, &[int(1), int(c)]);
        client.execute(&delete.id, &[int(1), int(c)]);
    }
    assert_eq!(client.rows("SELECT pk, s FROM kept WHERE pk = 1").rows.len(), 1);
    assert_eq!(client.rows("SELECT pk, s FROM kept").rows.len(), 1);
    client.execute(&insert.id, &[int(1), int(7)]);
    assert_eq!(
        client.rows("SELECT pk, c, s FROM kept WHERE pk = 1").rows.len(),
        1,
        "a row takes the place of the statics"
    );
}

#[test]
fn many_deletions_of_ranges_are_as_one() {
    let node = node();
    let mut client = partition_of(100, &node);
    let delete = client.prepare("DELETE FROM wide WHERE pk = 1 AND c >= ? AND c < ?");
    for c in (0..10_000).chain((0..100).rev()) {
        assert_eq!(client.execute(&delete.id, &[int(c), int(c + 50)]), Answer::Void);
    }
    assert_eq!(client.rows("SELECT c FROM wide WHERE pk = 1").rows.len(), 0);
}
