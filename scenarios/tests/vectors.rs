//! Statements, keys and values for load generators in other languages to test against: `scenarios/vectors.json`.
//!
//! `CQLDYNO_WRITE_VECTORS=1 cargo test -p cqldyno-scenarios --test vectors` writes it again.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::num::NonZeroU64;

use cqldyno_scenarios::{Blobs, Column, Issue, Kind, Operation, Scenario, Statement, Texts, Workload, builtin};
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors.json");
const COUNT: u64 = 1_001;
const WARMUP: u64 = 30;

/// Every kind of column and every order but Zipf's, whose logarithms differ between languages in the last bit.
const ALL: &str = r#"
name = "all"
about = "Columns of every kind, by every number, with nulls and in primary keys."
schema = [
    "CREATE KEYSPACE IF NOT EXISTS a WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE a.keys (id uuid, name text, code text, raw blob, v bigint, PRIMARY KEY (id, name, code, raw))",
    """CREATE TABLE a.rows (pk bigint, place int, name text, other text, data blob, score double, id uuid, at timestamp, \
       is boolean, note text, PRIMARY KEY (pk, place))""",
    "CREATE TABLE a.line (pk bigint, place int, PRIMARY KEY (pk, place))",
]

[[statement]]
name = "insert"
weight = 3
cql = "INSERT INTO a.keys (id, name, code, raw, v) VALUES (?, ?, ?, ?, ?)"
values = [
    { type = "uuid", plus = 4 },
    { type = "text", length = 9, plus = 5 },
    { type = "text", length = 17, unicode = true },
    { type = "blob", length = 5, plus = -6 },
    { type = "bigint", times = -9_000_000_000_000_000_000, plus = 7 },
]

[[statement]]
name = "select"
keys = 50
order = "uniform"
cql = "SELECT place, name, other, data, score, id, at, is, note FROM a.rows WHERE pk = ?"
values = [{ type = "bigint", times = -3, plus = 1 }]

[statement.expect]
rows = 7
columns = [
    { type = "int", by = "place", times = 1_000_000_007 },
    { type = "text", length = 24, unicode = true, plus = 1 },
    { type = "text", length = 33, nulls = 0.4 },
    { type = "blob", length = 32, plus = 2 },
    { type = "double", times = 3, plus = -5, null_every = 3 },
    { type = "uuid", by = "key" },
    { type = "timestamp", times = 1_000, plus = 1_700_000_000_000 },
    { type = "boolean", times = 5 },
    { type = "null" },
]

[statement.load]
cql = "INSERT INTO a.rows (pk, place) VALUES (?, ?)"
values = [{ type = "bigint", by = "key", times = -3, plus = 1 }, { type = "int", by = "place", times = 1_000_000_007 }]

[[statement]]
name = "in-sequence"
order = "sequential"
weight = 2
cql = "INSERT INTO a.line (pk, place) VALUES (?, ?)"
values = [{ type = "partition", rows = 4 }, { type = "int", times = 11 }]
"#;

fn scenarios() -> Vec<Scenario> {
    let names = ["writes", "reads", "mixed", "rows", "payload-1k", "batch"];
    let own = Scenario::from_toml(ALL, "all").unwrap();
    names.iter().map(|name| builtin(name).unwrap().shifted(41)).chain([own]).collect()
}

/// The value in the row with this number, with its type in front; a double by its bits, bytes in hexadecimal.
fn value(column: &Column, row: u64, rows: u64) -> String {
    let number = column.by.number(row, NonZeroU64::new(rows).unwrap());
    if column.is_null(number) {
        return "null".to_owned();
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let room = &mut vec![0; column.length()][..];
    match column.kind {
        Kind::Bigint { times, plus } => format!("bigint {}", Kind::number(number, times, plus)),
        Kind::Int { times, plus } => format!("int {}", Kind::number(number, times, plus) as i32),
        Kind::Double { times, plus } => {
            format!("double {:016x}", (Kind::number(number, times, plus) as f64).to_bits())
        }
        Kind::Boolean { times, plus } => format!("boolean {}", Kind::number(number, times, plus) & 1),
        Kind::Timestamp { times, plus } => format!("timestamp {}", Kind::number(number, times, plus)),
        Kind::Uuid { plus } if column.unique => format!("uuid {}", hex(&Kind::unique_uuid(number, plus))),
        Kind::Uuid { plus } => format!("uuid {}", hex(&Kind::uuid(number, plus))),
        Kind::Text { length, plus, unicode } => {
            let texts = if unicode { Texts::unicode(length, plus) } else { Texts::letters(length, plus) };
            let text = if column.unique { texts.unique().of(number, room) } else { texts.of(number) };
            format!("text {text}")
        }
        Kind::Blob { length, plus } => {
            let blobs = Blobs::new(length, plus);
            format!("blob {}", hex(if column.unique { blobs.unique().of(number, room) } else { blobs.of(number) }))
        }
        Kind::Partition { rows } => format!("bigint {}", Kind::partition(number, rows)),
        Kind::Null {} => "null".to_owned(),
    }
}

/// What is bound and what must come back for the last row of a key.
fn row(statement: &Statement, Issue { key, .. }: Issue) -> Value {
    let rows = statement.rows();
    let last = key * rows + rows - 1;
    let (row, together) = if statement.operation == Operation::Batch { (last, rows) } else { (key, 1) };
    let values: Vec<String> = statement.values.iter().map(|column| value(column, row, together)).collect();
    let expected = statement.expect.as_ref().map(|expect| &expect.columns[..]).unwrap_or_default();
    let expected: Vec<String> = expected.iter().map(|column| value(column, last, rows)).collect();
    json!({ "values": values, "expected": expected })
}

fn vector(scenario: &Scenario, seed: u64) -> Value {
    let workload = Workload::new(scenario, COUNT, WARMUP, seed).unwrap();
    let pair = |issue: Issue| json!([issue.statement, issue.key]);
    let tickets: Vec<Value> = (0..COUNT).step_by(37).map(|ticket| pair(workload.issue(ticket))).collect();
    let warmup: Vec<Value> = (0..WARMUP).map(|ticket| pair(workload.warmup_issue(ticket))).collect();
    let issues = (0..COUNT).step_by(37 * 4).map(|ticket| workload.issue(ticket));
    let rows: Vec<Value> = issues.map(|issue| row(&scenario.statements[issue.statement], issue)).collect();
    json!({
        "scenario": scenario, "count": COUNT, "warmup": WARMUP, "seed": seed,
        "every_37th_ticket": tickets, "warmup_tickets": warmup, "row_of_every_148th_ticket": rows,
    })
}

#[test]
fn the_committed_vectors_are_what_the_scenarios_give() {
    let seeds = [1, 0x9e37_79b9_7f4a_7c15];
    let vectors: Vec<Value> = scenarios().iter().flat_map(|one| seeds.map(|seed| vector(one, seed))).collect();
    let lines: Vec<String> = vectors.iter().map(Value::to_string).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    if std::env::var_os("CQLDYNO_WRITE_VECTORS").is_some() {
        fs::write(FILE, &text).unwrap();
    }
    let committed = fs::read_to_string(FILE).unwrap();
    assert!(committed == text, "{FILE} is out of date; CQLDYNO_WRITE_VECTORS=1 writes it again");
}
