//! Lightweight transactions: IF, what `[applied]` says, and that nothing comes between a condition and its write.

use super::client::{BatchStatement, Client, Parameters, bigint, node};
use cqldyno_cluster::Node;

fn wide(node: &Node) -> Client {
    let mut client = Client::in_keyspace(node);
    client.run("CREATE TABLE w (pk int, ck int, s int STATIC, v int, w text, PRIMARY KEY (pk, ck))");
    client
}

/// The columns' names and, for each row, its values: ints as numbers and `[applied]` as 0 or 1.
fn answer(client: &mut Client, query: &str) -> (String, Vec<Vec<Option<i64>>>) {
    let rows = client.rows(query);
    let number = |cell: &Option<Vec<u8>>| {
        cell.as_ref().map(|bytes| bytes.iter().fold(0i64, |number, byte| number << 8 | i64::from(*byte)))
    };
    let names = rows.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(" ");
    (names, rows.rows.iter().map(|row| row.iter().map(number).collect()).collect())
}

fn assert_applied(client: &mut Client, query: &str) {
    assert_eq!(answer(client, query), ("[applied]".to_owned(), vec![vec![Some(1)]]), "{query}");
}

fn assert_refused(client: &mut Client, query: &str, columns: &str, rows: &[&[Option<i64>]]) {
    let (names, found) = answer(client, query);
    assert_eq!(names, columns, "{query}");
    assert_eq!(found, rows, "{query}");
}

const NO: Option<i64> = Some(0);

#[test]
fn a_row_is_inserted_once_and_the_second_answer_shows_it() {
    let node = node();
    let mut client = wide(&node);
    assert_applied(&mut client, "INSERT INTO w (pk, ck, v) VALUES (1, 2, 3) IF NOT EXISTS");
    let again = "INSERT INTO w (pk, ck, v) VALUES (1, 2, 4) IF NOT EXISTS";
    let row = [NO, Some(1), Some(2), None, Some(3), None];
    assert_refused(&mut client, again, "[applied] pk ck s v w", &[&row]);
    let prepared = client.prepare("INSERT INTO w (pk, ck, v) VALUES (1, 2, 5) IF NOT EXISTS");
    assert!(prepared.columns.is_empty(), "the columns depend on what is there");
    let skipping = Parameters { skip_metadata: true, ..Parameters::default() };
    assert_eq!(client.execute_with(&prepared.id, &skipping).rows().columns.len(), 6);
    assert_eq!(answer(&mut client, "SELECT v FROM w").1, [[Some(3)]]);
}

#[test]
fn conditions_compare_with_what_is_there_and_show_it_in_their_order() {
    let node = node();
    let mut client = wide(&node);
    client.run("INSERT INTO w (pk, ck, v, w) VALUES (1, 1, 10, 'a')");
    let update = |condition: &str| format!("UPDATE w SET v = 10 WHERE pk = 1 AND ck = 1 IF {condition}");
    for condition in ["v = 10", "v > 9", "v >= 10", "v < 11", "v <= 10", "v != 9", "v IN (1, 10)", "w = 'a' AND v = 10"]
    {
        assert_applied(&mut client, &update(condition));
    }
    for condition in ["v = 9", "v > 10", "v >= 11", "v < 10", "v <= 9", "v != 10", "v IN (1, 9)", "v IN ()", "v = null"]
    {
        assert_refused(&mut client, &update(condition), "[applied] v", &[&[NO, Some(10)]]);
    }
    assert_refused(&mut client, &update("w = 'a' AND v = 9"), "[applied] w v", &[&[NO, Some(97), Some(10)]]);
    assert_applied(&mut client, &update("s = null AND v != null"));
    let (code, text) = client.query(&update("v < null")).error();
    assert_eq!((code, text.as_str()), (0x2200, "Invalid comparison with null for operator \"<\""));
}

#[test]
fn what_is_not_there_is_no_row_of_the_answer() {
    let node = node();
    let mut client = wide(&node);
    let nothing: &[&[Option<i64>]] = &[&[NO]];
    assert_refused(&mut client, "UPDATE w SET v = 1 WHERE pk = 1 AND ck = 1 IF EXISTS", "[applied]", nothing);
    assert_refused(&mut client, "UPDATE w SET v = 1 WHERE pk = 1 AND ck = 1 IF v = 1", "[applied]", nothing);
    assert_refused(&mut client, "DELETE FROM w WHERE pk = 1 AND ck = 1 IF EXISTS", "[applied]", nothing);
    client.run("INSERT INTO w (pk, s) VALUES (1, 6)");
    assert_refused(&mut client, "UPDATE w SET v = 1 WHERE pk = 1 AND ck = 1 IF EXISTS", "[applied]", nothing);
    assert_refused(
        &mut client,
        "UPDATE w SET v = 1 WHERE pk = 1 AND ck = 1 IF s = 9",
        "[applied] s",
        &[&[NO, Some(6)]],
    );
    assert_applied(&mut client, "UPDATE w SET v = 1 WHERE pk = 1 AND ck = 1 IF s = 6");
    assert_applied(&mut client, "DELETE FROM w WHERE pk = 1 AND ck = 1 IF v = 1");
    assert_eq!(answer(&mut client, "SELECT ck, v FROM w").1, [[None, None]]);
}

#[test]
fn a_batch_of_one_partition_is_applied_as_a_whole_or_not_at_all() {
    let node = node();
    let mut client = wide(&node);
    let batch = |statements: &str| format!("BEGIN BATCH {statements} APPLY BATCH");
    let both = "INSERT INTO w (pk, ck, v) VALUES (2, 1, 1) IF NOT EXISTS; INSERT INTO w (pk, ck, v) VALUES (2, 2, 2);";
    assert_applied(&mut client, &batch(both));
    let row = [NO, Some(2), Some(1), None, Some(1), None];
    assert_refused(&mut client, &batch(both), "[applied] pk ck s v w", &[&row]);
    let conditions =
        "UPDATE w SET v = 5 WHERE pk = 2 AND ck = 1 IF v = 1; UPDATE w SET v = 6 WHERE pk = 2 AND ck = 2 IF v = 9;";
    let rows: &[&[Option<i64>]] = &[&[NO, Some(2), Some(1), Some(1)], &[NO, Some(2), Some(2), Some(2)]];
    assert_refused(&mut client, &batch(conditions), "[applied] pk ck v", rows);
    assert_eq!(answer(&mut client, "SELECT v FROM w WHERE pk = 2").1, [[Some(1)], [Some(2)]]);
    // What is deleted with it was there before.
    assert_applied(
        &mut client,
        &batch("UPDATE w SET v = 5 WHERE pk = 2 AND ck = 1 IF v = 1; DELETE FROM w WHERE pk = 2;"),
    );
    assert_eq!(answer(&mut client, "SELECT ck, v FROM w WHERE pk = 2").1, [[Some(1), Some(5)]]);
    client.run("CREATE TABLE other (pk int PRIMARY KEY, v int)");
    let condition = "UPDATE w SET v = 5 WHERE pk = 2 AND ck = 1 IF v = 5;";
    for (with, text) in [
        ("UPDATE w SET v = 6 WHERE pk = 3 AND ck = 2;", "Batch with conditions cannot span multiple partitions"),
        ("UPDATE other SET v = 6 WHERE pk = 2;", "Batch with conditions cannot span multiple tables"),
        (
            "INSERT INTO w (pk, ck) VALUES (2, 1) IF NOT EXISTS;",
            "Cannot mix IF conditions and IF NOT EXISTS for the same row",
        ),
    ] {
        assert_eq!(client.query(&batch(&format!("{condition} {with}"))).error(), (0x2200, text.to_owned()));
    }
}

#[test]
fn a_batch_of_prepared_statements_takes_conditions_too() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE t (pk bigint PRIMARY KEY, v bigint)");
    let insert = client.prepare("INSERT INTO t (pk, v) VALUES (?, ?) IF NOT EXISTS");
    let values = [bigint(1), bigint(2)];
    for applied in [1, 0] {
        let rows = client.batch(&[(BatchStatement::Id(&insert.id), &values)], None).rows();
        assert_eq!(rows.cell(0, "[applied]"), Some(&[applied][..]));
    }
}

#[test]
fn of_clients_that_count_together_none_loses_a_step() {
    const CLIENTS: usize = 4;
    const STEPS: i64 = 50;
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE counts (pk bigint PRIMARY KEY, v bigint)");
    client.run("INSERT INTO counts (pk, v) VALUES (1, 0)");
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = Client::in_keyspace(&node);
                let update = client.prepare("UPDATE counts SET v = ? WHERE pk = 1 IF v = ?");
                let (mut seen, mut done) = (0, 0);
                while done < STEPS {
                    let rows = client.execute(&update.id, &[bigint(seen + 1), bigint(seen)]).rows();
                    if rows.cell(0, "[applied]") == Some(&[1][..]) {
                        (seen, done) = (seen + 1, done + 1);
                    } else {
                        seen = i64::from_be_bytes(rows.cell(0, "v").unwrap().try_into().unwrap());
                    }
                }
            });
        }
    });
    let rows = client.rows("SELECT v FROM counts");
    assert_eq!(rows.cell(0, "v"), Some(&(CLIENTS as i64 * STEPS).to_be_bytes()[..]));
}

#[test]
fn a_row_whose_insert_was_applied_is_there_until_its_client_deletes_it() {
    const CLIENTS: i64 = 4;
    const ROUNDS: usize = 200;
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE locks (pk bigint PRIMARY KEY, owner bigint)");
    std::thread::scope(|scope| {
        for owner in 0..CLIENTS {
            let mut client = Client::in_keyspace(&node);
            scope.spawn(move || {
                let insert = client.prepare("INSERT INTO locks (pk, owner) VALUES (1, ?) IF NOT EXISTS");
                let select = client.prepare("SELECT owner FROM locks WHERE pk = 1");
                let delete = client.prepare("DELETE FROM locks WHERE pk = 1 IF EXISTS");
                let mut held = 0;
                while held < ROUNDS {
                    let inserted = client.execute(&insert.id, &[bigint(owner)]).rows();
                    if inserted.cell(0, "[applied]") == Some(&[1][..]) {
                        let found = client.execute(&select.id, &[]).rows();
                        assert_eq!(found.rows, [[Some(owner.to_be_bytes().to_vec())]]);
                        let deleted = client.execute(&delete.id, &[]).rows();
                        assert_eq!(deleted.cell(0, "[applied]"), Some(&[1][..]));
                        held += 1;
                    }
                }
            });
        }
    });
}
