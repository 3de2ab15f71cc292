//! Rows of a user's own file, played by drivers and by workers in other languages.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{cqldyno, json, stderr, words, worker, workers_and};

const ROWS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tapefile/tests/rows");
const EXAMPLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../drivers/example-python/cqldyno-driver-example-python");

const HEAD: &str = r#"
name = "own"
about = "Rows of a file."
schema = [
    "CREATE KEYSPACE IF NOT EXISTS own WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "DROP TABLE IF EXISTS own.people",
    "CREATE TABLE own.people (id bigint PRIMARY KEY, name text, score float, visits int, at timestamp, kind ascii, tags list<text>)",
    "CREATE TYPE IF NOT EXISTS own.place (lat double, label text)",
    "DROP TABLE IF EXISTS own.types",
    """CREATE TABLE own.types (id uuid PRIMARY KEY, tiny tinyint, small smallint, big varint, ratio float, price decimal, raw blob, \
       ok boolean, day date, clock time, host inet, counts map<text, int>, place frozen<place>, span duration, vec vector<float, 3>, \
       nothing text)""",
    "DROP TABLE IF EXISTS own.log",
    "CREATE TABLE own.log (pk text, ck bigint, v double, PRIMARY KEY (pk, ck))",
    "DROP TABLE IF EXISTS own.points",
    "CREATE TABLE own.points (ck bigint PRIMARY KEY, w bigint)",
]
"#;

const PEOPLE: &str = r#"
tape = "pandas.parquet"
[[statement]]
name = "insert"
cql = "INSERT INTO own.people (id, name, score, visits, at, kind, tags) VALUES (?, ?, ?, ?, ?, ?, ?)"
[statement.read_back]
cql = "SELECT name, score, visits, at, kind, tags FROM own.people WHERE id = ?"
"#;

const TYPES: &str = r#"
[[statement]]
name = "insert"
cql = """INSERT INTO own.types (id, tiny, small, big, ratio, price, raw, ok, day, clock, host, counts, place, span, vec, nothing) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
[statement.read_back]
cql = "SELECT * FROM own.types WHERE id = ?"
"#;

const MIXED: &str = r#"
[[statement]]
name = "insert"
cql = "INSERT INTO own.log (pk, ck, v) VALUES (?, ?, ?)"
[statement.read_back]
cql = "SELECT v FROM own.log WHERE pk = ? AND ck = ?"
[[statement]]
name = "select"
cql = "SELECT w FROM own.points WHERE ck = ?"
[statement.load]
cql = "INSERT INTO own.points (ck, w) VALUES (?, ?)"
[[statement]]
name = "count"
cql = "SELECT ck FROM own.points WHERE ck = ?"
"#;

const PARTITIONS: &str = r#"
[[statement]]
name = "select"
cql = "SELECT ck, v FROM own.log WHERE pk = ? AND ck <= ?"
[statement.load]
cql = "INSERT INTO own.log (pk, ck, v) VALUES (?, ?, ?)"
"#;

/// A scenario of the tables above with a tape beside it.
fn put(folder: &Path, name: &str, statements: &str, file: &str) {
    let head = HEAD.replace("\"own\"\n", &format!("{name:?}\n"));
    fs::write(folder.join(format!("{name}.toml")), head + statements).unwrap();
    fs::copy(Path::new(ROWS).join(file), folder.join(file)).unwrap();
}

/// The exit code of a comparison, what it says, and its cells.
fn compare(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, Vec<Value>) {
    let limits =
        ["--pass", "none", "--limits", "noise=none", "--format", "json", "--concurrency", "32", "--warmup", "20"];
    let mut command = cqldyno(folder, &[&["compare"], arguments, &limits].concat());
    fs::create_dir_all(folder.join("tmp")).unwrap();
    command.env("TMPDIR", folder.join("tmp")).env("CQLDYNO_WORKERS", workers_and(folder));
    let output = command.output().unwrap();
    let cells = match output.status.code() {
        Some(0 | 1) => json(&output)["cells"].as_array().unwrap().clone(),
        _ => Vec::new(),
    };
    let left: Vec<_> = fs::read_dir(folder.join("tmp")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("tape")), "{left:?}");
    (output.status.code(), words(&stderr(&output)), cells)
}

fn number(cell: &Value, measure: &str) -> f64 {
    cell["measures"][measure]["value"].as_f64().unwrap_or_else(|| panic!("{measure}: {cell}"))
}

/// Drivers that are here, floor, noop, and a worker in another language.
fn contenders(folder: &Path) -> Vec<&'static str> {
    fs::copy(EXAMPLE, folder.join("cqldyno-driver-example-python")).unwrap();
    let here = ["scylla", "gocql"].into_iter().filter(|name| worker(name).is_some());
    here.chain(["floor", "noop", "example-python"]).collect()
}

#[test]
fn rows_of_files_are_played_by_drivers_in_any_language_and_every_answer_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "people", PEOPLE, "pandas.parquet");
    put(folder.path(), "types", TYPES, "types.arrow");
    put(folder.path(), "mixed", MIXED, "mixed.parquet");
    put(folder.path(), "partitions", PARTITIONS, "partitions.feather");
    let mut arguments = contenders(folder.path());
    let count = arguments.len();
    arguments.extend(["--scenario", "people.toml", "--scenario", "types.toml,tape=types.arrow"]);
    arguments.extend(["--scenario", "mixed.toml,tape=mixed.parquet,partitions.toml,tape=partitions.feather"]);
    let (code, said, cells) = compare(folder.path(), &arguments);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(cells.len(), count * 4, "{said}");
    for cell in &cells {
        assert_eq!((&cell["void"], &cell["failed"]), (&Value::Null, &Value::Null), "{cell}");
        assert_eq!(
            (number(cell, "verified"), number(cell, "statements")),
            (90.0, 90.0),
            "as many as the file has rows"
        );
        let back = match cell["scenario"].as_str().unwrap() {
            _ if cell["contender"] == "noop" => continue,
            "people" | "types" => 90.0,
            "mixed" => 30.0,
            _ => continue,
        };
        assert_eq!(number(cell, "read_back"), back, "{cell}");
    }
}

#[test]
fn a_count_beyond_the_last_row_begins_again_and_results_say_what_was_not_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "mixed", MIXED, "mixed.parquet");
    let scenario = ["floor", "--scenario", "mixed.toml,tape=mixed.parquet", "--blocks", "2", "--notes"];
    let (code, said, cells) = compare(folder.path(), &[&scenario[..], &["--count", "200"]].concat());
    assert_eq!((code, cells.len()), (Some(0), 2), "{said}");
    assert!(cells.iter().all(|cell| cell["void"].is_null() && number(cell, "verified") == 200.0), "{cells:?}");
    let run =
        fs::read_dir(folder.path().join("cqldyno-runs")).unwrap().next().unwrap().unwrap().path().join("run.json");
    let run: Value = serde_json::from_str(&fs::read_to_string(run).unwrap()).unwrap();
    let asked = run["scenarios"][0]["asked"].as_str().unwrap();
    assert!(
        asked.contains("are the 90 rows of ") && asked.contains("; after the last row the first one comes again."),
        "{asked}"
    );
    assert!(asked.contains("The rows of a statement count are counted, and not looked at."), "{asked}");
}

#[test]
fn an_answer_that_is_not_that_of_the_file_fails_the_cell() {
    let folder = tempfile::tempdir().unwrap();
    let other = MIXED.replace("SELECT w FROM", "SELECT ck AS w FROM");
    put(folder.path(), "mixed", &other, "mixed.parquet");
    let (code, said, cells) = compare(folder.path(), &["floor", "--scenario", "mixed.toml,tape=mixed.parquet"]);
    assert_eq!((code, cells.len()), (Some(1), 1), "{said}");
    assert!(cells[0]["failed"].as_str().unwrap_or_default().contains("of kind wrong row"), "{cells:?}");
}

#[test]
fn scenarios_of_one_name_that_submit_in_two_ways_play_the_tape_of_each() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "people", PEOPLE, "pandas.parquet");
    put(folder.path(), "mixed", MIXED, "mixed.parquet");
    let people = fs::read_to_string(folder.path().join("people.toml")).unwrap();
    fs::write(folder.path().join("people.toml"), people.replace("name = \"people\"", "name = \"mixed\"")).unwrap();
    let both = "mixed.toml,tape=mixed.parquet,people.toml+sequential";
    let (code, said, cells) = compare(folder.path(), &["floor", "--scenario", both]);
    assert_eq!((code, cells.len()), (Some(0), 2), "{said}");
    assert_ne!(cells[0]["scenario"], cells[1]["scenario"]);
    assert!(cells.iter().all(|cell| cell["void"].is_null() && number(cell, "verified") == 90.0), "{cells:?}");
}

#[test]
fn a_tape_without_a_scenario_or_in_a_command_that_plays_none_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "people", PEOPLE, "pandas.parquet");
    let (code, said, _) = compare(folder.path(), &["floor", "--scenario", "tape=pandas.parquet"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--scenario tape=pandas.parquet gives a tape to no scenario; name one before it"), "{said}");
    let (code, said, _) = compare(folder.path(), &["floor", "--scenario", "people.toml+spawn"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the way of submitting spawn plays no tape; use slots or sequential"), "{said}");
    let batched = PEOPLE.replace("[statement.read_back]", "operation = \"batch\"\n[statement.read_back]");
    put(folder.path(), "people", &batched, "pandas.parquet");
    let (code, said, _) = compare(folder.path(), &["floor", "--scenario", "people.toml"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("is issued as batch, and a row of a tape is one execution with its own values"), "{said}");
}
