use cqldyno_driver_api::{ErrorKind, Rows, Value};
use cqldyno_protocol::{Mode, TapeTypes};
use cqldyno_scenarios::{Column, Issue, Operation, Scenario, Statement, Workload, builtins};

use super::reel::Due;
use super::*;
use crate::binding::Columns;
use crate::cell::columns_of;

fn job(scenario: &Scenario, path: &std::path::Path) -> Job {
    let of = |columns: &[Column]| columns.iter().map(|column| column.kind.cql()).collect();
    let types = |one: &Statement| TapeTypes {
        values: of(&one.values),
        columns: one.expect.as_ref().map(|expect| of(&expect.columns)).unwrap_or_default(),
    };
    let statements = scenario.statements.iter().map(types).collect();
    Job {
        mode: Mode::Load,
        scenario: scenario.clone(),
        count: 90,
        turns: 1,
        warmup: 20,
        concurrency: 1,
        rate: None,
        seed: 7,
        runtime: cqldyno_protocol::Runtime::Current,
        target: Vec::new(),
        credentials: None,
        tls: None,
        datacenter: None,
        connections: 1,
        consistency: cqldyno_driver_api::Consistency::One,
        page_size: 5_000,
        request_timeout_ms: None,
        settings: cqldyno_driver_api::Settings::Equal,
        options: Default::default(),
        progress_ms: 0,
        trace: None,
        slice: None,
        tape: Some(Tape { path: path.to_path_buf(), statements }),
    }
}

/// What the load generator binds for an issue.
fn bound<'a>(statement: &Statement, columns: &Columns, key: u64, room: &'a mut [u8]) -> Vec<Value<'a>> {
    let (mut values, answer) = (Vec::new(), statement.answer());
    match statement.operation {
        Operation::Prepare => {}
        Operation::Batch => {
            let first = key * answer.most();
            columns.bind_rows(first..first + answer.rows(key), &mut values, room);
        }
        _ => drop(columns.bind_into(key, &mut values, room).len()),
    }
    values
}

#[test]
fn a_tape_has_what_the_load_generator_binds_and_expects_for_every_builtin_scenario() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for scenario in builtins() {
        let job = job(&scenario, file.path());
        let tape = job.tape.clone().unwrap();
        let workload = Workload::new(&scenario, job.count, job.warmup, job.seed).unwrap();
        write(&job, &tape, &workload).unwrap();
        let mut player = Player::open(&job, &tape).unwrap();
        let (warmup, first, second) = (player.read(0..20), player.read(0..45), player.read(45..90));
        let columns: Vec<_> = (0..scenario.statements.len()).map(|at| columns_of(&job, &workload, at)).collect();
        let check = |reel: &Reel, ticket: u64, Issue { statement, key }: Issue| {
            let (one, (values, expect)) = (&scenario.statements[statement], &columns[statement]);
            assert_eq!(reel.statement(ticket), statement, "{}", scenario.name);
            let mut played = Vec::new();
            reel.bind(ticket, &mut played);
            let mut room = vec![0; values.room() * usize::try_from(one.answer().most()).unwrap()];
            assert_eq!(played, bound(one, values, key, &mut room), "{} {ticket}", scenario.name);
            let mut rows = Rows::new();
            expect.iter().for_each(|expect| expect.fill(key, &mut rows));
            assert_eq!(reel.check(ticket, false, &mut rows, "a"), Ok(()), "{} {ticket}", scenario.name);
            rows.clear();
            assert_eq!(reel.check(ticket, true, &mut rows, "a"), Ok(()), "{} {ticket}", scenario.name);
            // One row more.
            rows.push_null();
            rows.end_row();
            assert!(reel.check(ticket, false, &mut rows, "a").is_err());
        };
        let (warmup, first, second) = (warmup.unwrap(), first.unwrap(), second.unwrap());
        (0..20).for_each(|ticket| check(&warmup, ticket, workload.warmup_issue(ticket)));
        (0..45).for_each(|ticket| check(&first, ticket, workload.issue(ticket)));
        (45..90).for_each(|ticket| check(&second, ticket, workload.issue(ticket)));
        let message = player.read(90..91).unwrap_err().message;
        assert!(message.ends_with("ends before its ticket 90 does; give a whole one"), "{message}");
    }
}

fn scenario(statement: &str) -> Scenario {
    let schema = r#"name = "a"
        about = "A."
        schema = ["CREATE KEYSPACE a WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE a.b (pk bigint, ck bigint, v text, PRIMARY KEY (pk, ck))"]
        [[statement]]
        name = "s"
    "#;
    Scenario::from_toml(&format!("{schema}{statement}"), "a").unwrap()
}

const ROWS: &str = r#"
    cql = "SELECT ck, v FROM a.b WHERE pk = ?"
    values = [{ type = "bigint" }]
    keys = 3
    load = { cql = "INSERT INTO a.b (pk, ck, v) VALUES (?, ?, ?)", values = [{ type = "bigint", by = "key" }, { type = "bigint", by = "place" }, { type = "text", length = 100 }] }
    expect = { rows = 4, check = "CHECK", columns = [{ type = "bigint", by = "place" }, { type = "text", length = 100 }] }
"#;

/// The reel of the window, and the length of the tape.
fn played(scenario: &Scenario) -> (Reel, Vec<u8>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let job = job(scenario, file.path());
    let (tape, workload) = (job.tape.clone().unwrap(), Workload::new(scenario, 90, 20, 7).unwrap());
    write(&job, &tape, &workload).unwrap();
    let mut player = Player::open(&job, &tape).unwrap();
    player.read(0..20).unwrap();
    (player.read(0..90).unwrap(), std::fs::read(file.path()).unwrap())
}

#[test]
fn answers_of_keys_that_come_again_are_on_the_tape_once_and_long_texts_are_windows() {
    let (reel, tape) = played(&scenario(&ROWS.replace("CHECK", "order")));
    assert!(reel.tickets.iter().all(|one| matches!(one.due, Due::Pooled(_))) && reel.due.is_empty());
    let pool = u32::from_be_bytes(tape[8..12].try_into().unwrap()) as usize;
    // 110 tickets, and answers of three keys of the window and three of the warm-up.
    let ticket = 4 + 1 + 2 + 4 + 12 + 1 + 4;
    let answer = 4 + 1 + 1 + 8 + 4 * (12 + 12);
    assert_eq!(tape.len(), 12 + pool + 110 * ticket + 6 * answer);
}

#[test]
fn rows_are_compared_in_their_order_in_any_or_only_counted() {
    let shuffled = |reel: &Reel, ticket| {
        let (_, due) = reel.due(ticket).unwrap();
        let mut rows = Rows::new();
        for row in due.collect::<Vec<_>>().into_iter().rev() {
            (0..row.len()).for_each(|index| rows.push(row.get(index).unwrap()));
            rows.end_row();
        }
        rows
    };
    let (order, _) = played(&scenario(&ROWS.replace("CHECK", "order")));
    let error = order.check(5, false, &mut shuffled(&order, 5), "s").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongRow);
    assert_eq!(
        error.message(),
        "statement s: in row 1 of ticket 5 column 1 should be bigint 0, and bigint 3 was found"
    );
    let (content, _) = played(&scenario(&ROWS.replace("CHECK", "content")));
    assert_eq!(content.check(5, false, &mut shuffled(&content, 5), "s"), Ok(()));
    let other = (0..90).find(|ticket| order.bind_one(*ticket) != order.bind_one(5)).unwrap();
    let error = content.check(other, false, &mut shuffled(&content, 5), "s").unwrap_err();
    assert!(error.message().ends_with("are not those that are due, in whatever order"), "{error}");
    let (count, _) = played(&scenario(&ROWS.replace("CHECK", "count")));
    assert_eq!(count.check(5, false, &mut shuffled(&content, 5), "s"), Ok(()));
    let error = count.check(5, false, &mut Rows::new(), "s").unwrap_err();
    assert_eq!(error.message(), "statement s: for ticket 5 4 rows were due, and no row came back");
}

impl Reel {
    fn bind_one(&self, ticket: u64) -> Vec<Value<'_>> {
        let mut values = Vec::new();
        self.bind(ticket, &mut values);
        values
    }
}
