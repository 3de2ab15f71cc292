//! Statements, keys and values for load generators in other languages to test against: `scenarios/vectors.json`.
//!
//! `CQLDYNO_WRITE_VECTORS=1 cargo test -p cqldyno-scenarios --test scenarios vectors` writes it again.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::num::NonZeroU64;

use cqldyno_scenarios::{
    Amount, Answer, Blobs, By, Column, Issue, Kind, Operation, Scenario, Statement, Texts, Workload, builtin,
};
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors.json");
const COUNT: u64 = 1_001;
const WARMUP: u64 = 30;

/// Every kind of column and every order but `zipf` and `latest`, whose logarithms differ between languages in the last bit.
const ALL: &str = r#"
name = "all"
about = "Columns of every kind, by every number, with nulls and in primary keys."
schema = [
    "CREATE KEYSPACE IF NOT EXISTS a WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE a.keys (id uuid, name text, code text, raw blob, v bigint, PRIMARY KEY (id, name, code, raw))",
    """CREATE TABLE a.rows (pk bigint, place int, name text, other text, data blob, score double, id uuid, at timestamp, \
       is boolean, note text, PRIMARY KEY (pk, place))""",
    "CREATE TABLE a.lengths (name text, short ascii, long text, raw blob, PRIMARY KEY (name))",
    "CREATE TABLE a.line (pk bigint, place int, PRIMARY KEY (pk, place))",
    """CREATE TABLE a.types (at timeuuid, name ascii, a tinyint, b smallint, c float, d varint, e decimal, f date, g time, h inet, \
       i inet, j duration, k list<int>, l set<text>, m map<blob, double>, n tuple<ascii, boolean>, o list<frozen<set<uuid>>>, \
       p vector<float, 3>, q bigint, PRIMARY KEY (at, name))""",
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

[[statement]]
name = "types"
weight = 4
cql = "INSERT INTO a.types (at, name, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
values = [
    { type = "timeuuid", plus = 3 },
    { type = "ascii", length = 8, plus = 1 },
    { type = "tinyint", times = 7, plus = -100 },
    { type = "smallint", times = 1_001 },
    { type = "float", times = 3, plus = 1 },
    { type = "varint", times = -9_000_000_000_000_000_000, plus = 7 },
    { type = "decimal", times = -31, scale = 3 },
    { type = "date", times = 1_000_003, plus = -7 },
    { type = "time", times = 86_399_999_999_999, plus = -1 },
    { type = "inet", times = 65_537 },
    { type = "inet", times = 65_537, v6 = true },
    { type = "duration", times = 1_000_000_007 },
    { type = "list", of = { type = "int", times = -5 }, length = 3 },
    { type = "set", of = { type = "text", length = 6, plus = 2 }, length = 4, nulls = 0.2 },
    { type = "map", keys = { type = "blob", length = 4 }, of = { type = "double", times = 2 }, length = 2, null_every = 5 },
    { type = "tuple", of = [{ type = "ascii", length = 3 }, { type = "boolean" }] },
    { type = "list", of = { type = "set", of = { type = "uuid" }, length = 2 }, length = 2 },
    { type = "vector", length = 3, times = 5 },
]

[[statement]]
name = "counters"
cql = "UPDATE a.counters SET c = c + ?, d = ? WHERE pk = ?"
values = [
    { type = "counter", times = 3 },
    { type = "udt", of = [{ type = "varint" }, { type = "tuple", of = [{ type = "time", times = -1 }] }] },
    { type = "bigint" },
]

[[statement]]
name = "lengths"
keys = 500
order = "hotspot"
cql = "INSERT INTO a.lengths (name, short, long, raw) VALUES (?, ?, ?, ?)"
values = [
    { type = "text", length = "uniform(9..20)", plus = 2 },
    { type = "ascii", length = "exponential(0..40)" },
    { type = "text", length = "gaussian(10..40)", plus = 3, compressible = 0.3 },
    { type = "blob", length = "uniform(0..90)", compressible = 0.11 },
]

[[statement]]
name = "middle"
keys = 5_000
order = "gaussian"
cql = "SELECT place, name FROM a.rows WHERE pk = ? LIMIT 3"
values = [{ type = "bigint", times = -3, plus = 1 }]

[statement.expect]
rows = 3
stored = 9
from = 6
descending = true
columns = [{ type = "int", by = "place" }, { type = "text", length = 24, by = "key" }]

[statement.load]
cql = "INSERT INTO a.rows (pk, place) VALUES (?, ?)"
values = [{ type = "bigint", by = "key", times = -3, plus = 1 }, { type = "int", by = "place" }]

[[statement]]
name = "some"
keys = 300
order = "uniform"
cql = "SELECT place, name FROM a.rows WHERE pk = ?"
values = [{ type = "bigint" }]

[statement.expect]
rows = "zipf(1..40)"
columns = [{ type = "int", by = "place" }, { type = "list", of = { type = "text", length = "zipf(0..9)" }, length = "uniform(1..5)" }]

[statement.load]
cql = "INSERT INTO a.rows (pk, place) VALUES (?, ?)"
values = [{ type = "bigint", by = "key" }, { type = "int", by = "place" }]

[[statement]]
name = "part"
keys_of = "some-more"
cql = "SELECT place, name FROM a.rows WHERE pk = ? AND place >= ? AND place <= ? AND name IN ? LIMIT ?"
values = [
    { type = "bigint" },
    { type = "int", by = "place", at = 0 },
    { type = "int", by = "place", at = -1 },
    { type = "each", of = { type = "text", length = 9 } },
    { type = "int", by = "rows" },
]

[statement.expect]
rows = "uniform(1..9)"
from = "exponential(0..8)"
stored = "gaussian(10..30)"
columns = [{ type = "int", by = "place" }]

[[statement]]
name = "some-more"
cql = "SELECT place FROM a.rows WHERE pk = ? LIMIT 7"
values = [{ type = "bigint" }]

[statement.expect]
rows = 7
last = true
stored = "gaussian(10..30)"
columns = [{ type = "int", by = "place" }]

[statement.load]
cql = "INSERT INTO a.rows (pk, place) VALUES (?, ?)"
values = [{ type = "bigint", by = "key" }, { type = "int", by = "place" }]

[[statement]]
name = "batch"
operation = "batch"
size = "uniform(2..10)"
cql = "INSERT INTO a.line (pk, place) VALUES (?, ?)"
values = [{ type = "bigint", by = "key" }, { type = "int", by = "place" }]

[[statement]]
name = "update"
keys_of = "counters"
adds = 0
order = "exponential"
cql = "UPDATE a.counters SET c = c + ? WHERE pk = ?"
values = [{ type = "counter", times = 3 }, { type = "bigint" }]
"#;

fn scenarios() -> Vec<Scenario> {
    let names = ["writes", "reads", "mixed", "rows", "payload-1k", "batch"];
    let own = Scenario::from_toml(ALL, "all").unwrap();
    names.iter().map(|name| builtin(name).unwrap().shifted(41)).chain([own]).collect()
}

/// The value in the row with this number, with its type in front; a float or double by its bits, bytes in hexadecimal.
fn value(column: &Column, row: u64, rows: u64) -> String {
    let number = column.by.number(row, NonZeroU64::new(rows).unwrap());
    if column.is_null(number) {
        return "null".to_owned();
    }
    written(&column.kind, number, column.unique, column.compressible)
}

fn written(kind: &Kind, number: u64, unique: bool, compressible: Option<f64>) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text = |texts: Texts, length: Amount| {
        let mut room = vec![0; length.most()];
        let texts = compressible.map_or(texts, |share| texts.compressible(share));
        if unique { texts.unique().of(number, &mut room).to_owned() } else { texts.of(number).to_owned() }
    };
    let elements = |length: Amount, kinds: &[&Kind], unique: &[bool]| {
        let count = length.of(number, kind.plus());
        let numbers = (0..count).map(|index| Kind::element(number, length.most(), index));
        let mut each: Vec<String> = numbers
            .map(|number| {
                let parts = kinds.iter().zip(unique).map(|(kind, one)| written(kind, number, *one, None));
                parts.collect::<Vec<_>>().join(", ")
            })
            .collect();
        // Sets and maps have no order of their own.
        if unique.contains(&true) {
            each.sort();
        }
        each.join(", ")
    };
    let name = if matches!(kind, Kind::Ascii { .. }) { "text" } else { kind.name() };
    let found = match *kind {
        Kind::Bigint { times, plus } | Kind::Timestamp { times, plus } | Kind::Varint { times, plus } => {
            Kind::number(number, times, plus).to_string()
        }
        Kind::Counter { times, plus } => Kind::number(number, times, plus).to_string(),
        Kind::Int { times, plus } | Kind::Date { times, plus } => {
            (Kind::number(number, times, plus) as i32).to_string()
        }
        Kind::Smallint { times, plus } => (Kind::number(number, times, plus) as i16).to_string(),
        Kind::Tinyint { times, plus } => (Kind::number(number, times, plus) as i8).to_string(),
        Kind::Double { times, plus } => format!("{:016x}", (Kind::number(number, times, plus) as f64).to_bits()),
        Kind::Float { times, plus } => format!("{:08x}", (Kind::number(number, times, plus) as f32).to_bits()),
        Kind::Boolean { times, plus } => (Kind::number(number, times, plus) & 1).to_string(),
        Kind::Decimal { times, plus, scale } => format!("{} {scale}", Kind::number(number, times, plus)),
        Kind::Time { times, plus } => Kind::time(number, times, plus).to_string(),
        Kind::Duration { times, plus } => {
            let (months, days, nanoseconds) = Kind::duration(number, times, plus);
            format!("{months} {days} {nanoseconds}")
        }
        Kind::Inet { times, plus, v6 } => Kind::inet(number, times, plus, v6).to_string(),
        Kind::Uuid { plus } if unique => hex(&Kind::unique_uuid(number, plus)),
        Kind::Uuid { plus } => hex(&Kind::uuid(number, plus)),
        Kind::Timeuuid { plus } => hex(&Kind::timeuuid(number, plus)),
        Kind::Text { length, plus, unicode: true } => text(Texts::unicode(length.most(), plus), length),
        Kind::Text { length, plus, unicode: false } | Kind::Ascii { length, plus } => {
            text(Texts::letters(length, plus), length)
        }
        Kind::Blob { length, plus } => {
            let (blobs, mut room) = (Blobs::new(length, plus), vec![0; length.most()]);
            let blobs = compressible.map_or(blobs, |share| blobs.compressible(share));
            hex(if unique { blobs.unique().of(number, &mut room) } else { blobs.of(number) })
        }
        Kind::List { ref of, length } => elements(length, &[of], &[false]),
        Kind::Set { ref of, length } => elements(length, &[of], &[true]),
        Kind::Map { ref keys, ref of, length } => elements(length, &[keys, of], &[true, false]),
        Kind::Tuple { ref of } | Kind::Udt { ref of } => {
            elements(1.into(), &of.iter().collect::<Vec<_>>(), &vec![false; of.len()])
        }
        Kind::Vector { length, times, plus } => {
            elements((length.get() as usize).into(), &[&Kind::Float { times, plus }], &[false])
        }
        Kind::Partition { rows } => Kind::partition(number, rows).to_string(),
        Kind::Each { .. } | Kind::Token {} => unreachable!("only bound values are lists of each, or tokens"),
        Kind::Null {} => return "null".to_owned(),
    };
    match kind.all().len() > 1 || matches!(kind, Kind::Vector { .. }) {
        true => format!("{name} [{found}]"),
        false => format!("{name} {found}"),
    }
}

/// The places of the rows that one issue writes or reads, and what is bound and what must come back for the last of them.
fn row(statement: &Statement, Issue { key, .. }: Issue) -> Value {
    let (answer, key) = ((statement.answer(), key), Answer::key(key));
    let (places, rows) = (answer.0.places(answer.1), answer.0.most());
    let last = key * rows + places.end - 1;
    let numbers: Vec<u64> = places.clone().map(|place| key * rows + place).collect();
    let bound = |column: &Column| match (&column.kind, column.at) {
        _ if statement.operation == Operation::Batch => value(column, last, rows),
        (Kind::Each { of }, _) => {
            let each = numbers.iter().map(|number| written(of, *number, column.unique, None)).collect::<Vec<_>>();
            format!("list [{}]", each.join(", "))
        }
        (_, Some(at)) => value(column, numbers[at.rem_euclid(numbers.len() as i64) as usize], rows),
        _ if column.by == By::Rows => value(column, numbers.len() as u64, rows),
        _ => value(column, key, 1),
    };
    let values: Vec<String> = statement.values.iter().map(bound).collect();
    let expected = statement.expect.as_ref().map(|expect| &expect.columns[..]).unwrap_or_default();
    let expected: Vec<String> = expected.iter().map(|column| value(column, last, rows)).collect();
    json!({ "places": [places.start, places.end], "values": values, "expected": expected })
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
