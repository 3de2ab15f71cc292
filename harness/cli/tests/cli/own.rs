//! Scenarios of one's own: which rows of them are valid, what their notes say, and that the advice of a message works.

use std::path::Path;

use crate::support::{cqldyno, json, stderr, words};
use serde_json::Value;

const HEAD: &str = r#"
name = "own"
about = "A scenario of one's own."
schema = [
    "CREATE KEYSPACE IF NOT EXISTS own WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "DROP TABLE IF EXISTS own.items",
    "DROP TABLE IF EXISTS own.places",
    "DROP TABLE IF EXISTS own.days",
    "CREATE TABLE own.items (id bigint PRIMARY KEY, place bigint)",
    "CREATE TABLE own.places (place bigint PRIMARY KEY, id bigint)",
    "CREATE TABLE own.days (day text, at CLUSTERING, v bigint, PRIMARY KEY (day, at)) WITH CLUSTERING ORDER BY (at DIRECTION)",
]
"#;

/// A scenario of these statements; the clustering column of own.days has this type and direction.
fn scenario(clustering: &str, direction: &str, statements: &str) -> String {
    HEAD.replace("CLUSTERING,", &format!("{clustering},")).replace("DIRECTION", direction) + statements
}

/// The exit code of a comparison of `contenders` on it, what it says, and its cells.
fn compare(folder: &Path, text: &str, contenders: &[&str], count: &str) -> (Option<i32>, String, Vec<Value>) {
    std::fs::write(folder.join("own.toml"), text).unwrap();
    let load = ["--scenario", "own.toml", "--count", count, "--warmup", "30", "--blocks", "1", "--concurrency", "64"];
    let limits = ["--pass", "none", "--limits", "noise=none", "--format", "json"];
    let all = [&["compare"], contenders, &load, &limits].concat();
    let output = cqldyno(folder, &all).output().unwrap();
    if output.status.code() == Some(2) {
        return (Some(2), words(&stderr(&output)), Vec::new());
    }
    let cells = json(&output)["cells"].as_array().unwrap().clone();
    (output.status.code(), words(&stderr(&output)), cells)
}

/// The only cell of floor, which is valid.
#[track_caller]
fn valid(text: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let (code, said, mut cells) = compare(folder.path(), text, &["floor"], "300");
    assert_eq!((code, cells.len()), (Some(0), 1), "{said}");
    let cell = cells.remove(0);
    assert_eq!((&cell["void"], &cell["failed"]), (&Value::Null, &Value::Null), "{said}");
    cell
}

/// The notes of a cell about rows that were not counted.
fn not_counted(cell: &Value) -> Vec<&str> {
    let findings = cell["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    findings.iter().filter_map(Value::as_str).filter(|finding| finding.starts_with("New rows")).collect()
}

const BATCH: &str = r#"
[[statement]]
name = "pair"
cql = "BEGIN BATCH INSERT INTO own.items (id, place) VALUES (?, ?); INSERT INTO own.places (place, id) VALUES (?, ?); APPLY BATCH"
values = [{ type = "bigint" }, { type = "bigint", times = 3 }, { type = "bigint", times = 3 }, { type = "bigint" }]
[statement.read_back]
cql = "SELECT place FROM own.items WHERE id = ?"
values = [{ type = "bigint" }]
columns = [{ type = "bigint", times = 3 }]
"#;

const DELETE: &str = r#"
[[statement]]
name = "remove"
cql = "DELETE FROM own.places WHERE place = ? IF EXISTS"
values = [{ type = "bigint", plus = 10_000_000 }]
[statement.expect]
applied = true
[statement.load]
cql = "INSERT INTO own.places (place, id) VALUES (?, 0)"
values = [{ type = "bigint", plus = 10_000_000 }]
"#;

const UPDATE: &str = r#"
[[statement]]
name = "move"
keys = 50
order = "zipf"
cql = "UPDATE own.items SET place = ? WHERE id = ?"
values = [{ type = "bigint", times = 7 }, { type = "bigint" }]
[statement.load]
cql = "INSERT INTO own.items (id, place) VALUES (?, ?)"
values = [{ type = "bigint" }, { type = "bigint", times = 3 }]
[statement.read_back]
cql = "SELECT place FROM own.items WHERE id = ?"
values = [{ type = "bigint" }]
columns = [{ type = "bigint", times = 7 }]
"#;

#[test]
fn statements_whose_rows_cannot_be_counted_are_valid_and_their_notes_say_why() {
    let cell = valid(&scenario("int", "ASC", &[BATCH, DELETE].concat()));
    assert_eq!(
        not_counted(&cell),
        [
            "New rows in the tables were not counted, because the statement pair is a batch of several statements and the statement remove \
          deletes rows."
        ]
    );
    let plain = DELETE.replace(" IF EXISTS", "").replace("[statement.expect]\napplied = true\n", "");
    let cell = valid(&scenario("int", "ASC", &plain));
    assert_eq!(
        not_counted(&cell),
        ["New rows in the tables were not counted, because the statement remove deletes rows."]
    );
}

#[test]
fn an_update_of_loaded_rows_is_counted_and_what_it_cannot_expect_is_refused() {
    let update = scenario("int", "ASC", UPDATE);
    let cell = valid(&update);
    assert_eq!((not_counted(&cell), cell["measures"]["read_back"]["value"].as_f64().is_some()), (vec![], true));
    let expects = format!("{update}[statement.expect]\ncolumns = [{{ type = \"bigint\", times = 7 }}]\n");
    let (code, said, _) = compare(tempfile::tempdir().unwrap().path(), &expects, &["floor"], "300");
    assert_eq!(code, Some(2));
    assert!(
        said.contains("statement move writes without IF, so its answer has no row; leave [statement.expect] out"),
        "{said}"
    );
}

#[test]
fn named_markers_are_bound_by_their_places() {
    let cell =
        valid(&scenario("int", "ASC", &UPDATE.replace("place = ? WHERE id = ?", "place = :place WHERE id = :Id")));
    assert_eq!(cell["measures"]["verified"]["value"], 300.0);
}

const DAY: &str = r#"
[[statement]]
name = "newest"
keys = 20
cql = "SELECT at, v FROM own.days WHERE day = ? LIMIT 8"
values = [{ type = "text", length = 9 }]
[statement.expect]
rows = 8
columns = [COLUMN, { type = "bigint" }]
[statement.load]
cql = "INSERT INTO own.days (day, at, v) VALUES (?, ?, ?)"
values = [{ type = "text", length = 9, by = "key" }, COLUMN, { type = "bigint" }]
"#;

/// Why floor could not warm up.
#[track_caller]
fn failed(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (code, said, cells) = compare(folder.path(), text, &["floor"], "300");
    assert_eq!((code, cells.len()), (Some(1), 1), "{said}");
    cells[0]["failed"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[test]
fn rows_in_another_order_are_named_and_each_way_out_works() {
    let timeuuids = DAY.replace("COLUMN", "{ type = \"timeuuid\" }");
    let why = failed(&scenario("timeuuid", "DESC", &timeuuids));
    assert!(
        why.contains("statement newest: the 8 rows of key ")
            && why.contains("came in the reverse order of their places; add ORDER BY"),
        "{why}"
    );
    valid(&scenario("timeuuid", "DESC", &timeuuids.replace("LIMIT 8", "ORDER BY at ASC LIMIT 8")));
    valid(&scenario("timeuuid", "ASC", &timeuuids));
    let texts = DAY.replace("COLUMN", "{ type = \"text\", length = 9 }");
    let why = failed(&scenario("text", "ASC", &texts));
    let way_out = "order them by a clustering column whose values rise with the place, such as a bigint, a timestamp or a timeuuid";
    assert!(why.contains("came in another order than that of their places") && why.contains(way_out), "{why}");
    for kind in ["bigint", "timestamp"] {
        valid(&scenario(kind, "ASC", &DAY.replace("COLUMN", &format!("{{ type = \"{kind}\" }}"))));
    }
}

#[test]
fn by_in_a_statements_own_values_is_refused_and_leaving_it_out_works() {
    let day = DAY.replace("COLUMN", "{ type = \"bigint\", by = \"place\" }");
    let own = day.replacen("length = 9 }]", "length = 9, by = \"key\" }]", 1);
    let (code, said, _) =
        compare(tempfile::tempdir().unwrap().path(), &scenario("bigint", "ASC", &own), &["floor"], "300");
    assert_eq!(code, Some(2));
    assert!(
        said.contains("statement newest binds its own values once per key, so they follow from the key; leave by out"),
        "{said}"
    );
    valid(&scenario("bigint", "ASC", &day));
}

/// Partitions of drawn sizes: all their rows, parts and lists of them, scans, and batches.
const DRAWN: &str = r#"name = "own"
about = "Partitions of drawn sizes: parts of them, lists of them, scans of all, and batches."
page_size = 16
schema = [
    "CREATE KEYSPACE IF NOT EXISTS drawn WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "DROP TABLE IF EXISTS drawn.days",
    "DROP TABLE IF EXISTS drawn.notes",
    "DROP TABLE IF EXISTS drawn.more",
    "CREATE TABLE drawn.days (day text, at timestamp, v bigint, tags set<int>, note text, PRIMARY KEY (day, at)) WITH CLUSTERING ORDER BY (at DESC)",
    "CREATE TABLE drawn.notes (id text PRIMARY KEY, note blob)",
    "CREATE TABLE drawn.more (day bigint, at int, v text, PRIMARY KEY (day, at))",
]

[[statement]]
name = "all"
keys = 200
order = "zipf"
cql = "SELECT day, at, v, tags, note FROM drawn.days WHERE day = ?"
values = [{ type = "text", length = 9 }]
[statement.expect]
rows = "uniform(20..50)"
descending = true
columns = [{ type = "text", length = 9, by = "key" }, { type = "timestamp", by = "place" }, { type = "bigint" }, { type = "set", of = { type = "int" }, length = "zipf(1..9)" }, { type = "text", length = "uniform(100..300)", compressible = 0.25 }]
[statement.load]
cql = "INSERT INTO drawn.days (day, at, v, tags, note) VALUES (?, ?, ?, ?, ?)"
values = [{ type = "text", length = 9, by = "key" }, { type = "timestamp", by = "place" }, { type = "bigint" }, { type = "set", of = { type = "int" }, length = "zipf(1..9)" }, { type = "text", length = "uniform(100..300)", compressible = 0.25 }]

[[statement]]
name = "newest"
keys_of = "all"
order = "uniform"
cql = "SELECT v FROM drawn.days WHERE day = ? LIMIT ?"
values = [{ type = "text", length = 9 }, { type = "int", by = "rows" }]
[statement.expect]
stored = "uniform(20..50)"
rows = "exponential(1..40)"
last = true
descending = true
columns = [{ type = "bigint" }]

[[statement]]
name = "slice"
keys_of = "all"
order = "hotspot"
cql = "SELECT at, v FROM drawn.days WHERE day = ? AND at >= ? AND at <= ? ORDER BY at ASC"
values = [{ type = "text", length = 9 }, { type = "timestamp", by = "place", at = 0 }, { type = "timestamp", by = "place", at = -1 }]
[statement.expect]
stored = "uniform(20..50)"
rows = "uniform(1..30)"
from = "uniform(0..19)"
columns = [{ type = "timestamp", by = "place" }, { type = "bigint" }]

[[statement]]
name = "some"
keys_of = "all"
cql = "SELECT v FROM drawn.days WHERE day = ? AND at IN ?"
values = [{ type = "text", length = 9 }, { type = "each", of = { type = "timestamp" }, by = "place" }]
[statement.expect]
stored = "uniform(20..50)"
rows = "uniform(1..9)"
from = "uniform(0..9)"
check = "content"
columns = [{ type = "bigint" }]

[[statement]]
name = "two"
keys_of = "all"
cql = "SELECT v FROM drawn.days WHERE day = ? AND at IN (?, ?)"
values = [{ type = "text", length = 9 }, { type = "timestamp", by = "place", at = -1 }, { type = "timestamp", by = "place", at = 0 }]
[statement.expect]
stored = "uniform(20..50)"
rows = 2
from = "uniform(0..18)"
descending = true
columns = [{ type = "bigint" }]

[[statement]]
name = "scan"
keys_of = "all"
cql = "SELECT day, v FROM drawn.days WHERE token(day) > ? AND token(day) <= ?"
values = [{ type = "token", at = 0 }, { type = "token", at = -1 }]
[statement.expect]
rows = "uniform(20..50)"
ranges = 64
check = "content"
columns = [{ type = "text", length = 9, by = "key" }, { type = "bigint" }]

[[statement]]
name = "several"
keys = 100
order = "uniform"
cql = "SELECT id, note FROM drawn.notes WHERE id IN ?"
values = [{ type = "each", of = { type = "text", length = 8 } }]
[statement.expect]
rows = "uniform(2..10)"
check = "content"
columns = [{ type = "text", length = 8 }, { type = "blob", length = 50 }]
[statement.load]
cql = "INSERT INTO drawn.notes (id, note) VALUES (?, ?)"
values = [{ type = "text", length = 8 }, { type = "blob", length = 50 }]

[[statement]]
name = "logged"
operation = "batch"
size = "uniform(2..10)"
logged = true
cql = "INSERT INTO drawn.more (day, at, v) VALUES (?, ?, ?)"
values = [{ type = "bigint", by = "key" }, { type = "int", by = "place" }, { type = "text", length = 20 }]
[statement.read_back]
cql = "SELECT v FROM drawn.more WHERE day = ? AND at = ?"
values = [{ type = "bigint", by = "key" }, { type = "int", by = "place" }]
columns = [{ type = "text", length = 20 }]

[[statement]]
name = "spread"
operation = "batch"
keys = 40
order = "zipf"
size = "zipf(1..30)"
cql = "INSERT INTO drawn.more (day, at, v) VALUES (?, ?, ?)"
values = [{ type = "bigint", plus = 1_000_000_000 }, { type = "int" }, { type = "text", length = 20 }]
[statement.read_back]
cql = "SELECT v FROM drawn.more WHERE day = ? AND at = ?"
values = [{ type = "bigint", plus = 1_000_000_000 }, { type = "int" }]
columns = [{ type = "text", length = 20 }]
"#;

#[test]
fn parts_lists_and_scans_of_drawn_rows_and_batches_of_drawn_sizes_are_checked_and_counted() {
    let cell = valid(DRAWN);
    assert_eq!(cell["measures"]["verified"]["value"], 300.0);
    assert_eq!((not_counted(&cell), cell["measures"]["read_back"]["value"].as_f64().is_some()), (vec![], true));
}

#[test]
fn what_comes_back_otherwise_than_it_was_drawn_is_found() {
    let statement = |name: &str| {
        let from = DRAWN.find(&format!("[[statement]]\nname = \"{name}\"")).unwrap();
        let next = DRAWN[from + 1..].find("[[statement]]").map_or(DRAWN.len(), |at| from + 1 + at);
        &DRAWN[from..next]
    };
    let head = &DRAWN[..DRAWN.find("[[statement]]").unwrap()];
    for (name, from, to, said) in [
        ("newest", "by = \"rows\"", "times = 0, plus = 41", " expected, and "),
        ("slice", "\"place\", at = -1 }]", "\"place\", at = 0 }]", "rows were expected, and 1 row came back"),
        (
            "some",
            "{ type = \"bigint\" }]\n",
            "{ type = \"bigint\", plus = 1 }]\n",
            "are not those that it has, in whatever order",
        ),
        (
            "scan",
            "{ type = \"bigint\" }]\n",
            "{ type = \"bigint\", times = 2 }]\n",
            "of all tokens are not those that were loaded",
        ),
        ("scan", "ranges = 64", "ranges = 65", ""),
        ("scan", "at = -1", "at = 0", "rows were expected, and no row came back"),
    ] {
        let text = format!("{head}{}{}", statement("all"), statement(name).replacen(from, to, 1));
        match said {
            "" => drop(valid(&text)),
            said => {
                let found = failed(&text);
                assert!(found.contains(said), "{name}: {found}");
            }
        }
    }
}

const DDL: &str = r#"
[[statement]]
name = "create"
operation = "unprepared"
cql = "CREATE TABLE IF NOT EXISTS own.more (id bigint PRIMARY KEY)"
values = []
[[statement]]
name = "drop"
operation = "unprepared"
cql = "DROP TABLE IF EXISTS own.more"
values = []
[[statement]]
name = "read"
weight = 8
keys = 50
cql = "SELECT place FROM own.items WHERE id = ?"
values = [{ type = "bigint" }]
[statement.expect]
columns = [{ type = "bigint", times = 3 }]
[statement.load]
cql = "INSERT INTO own.items (id, place) VALUES (?, ?)"
values = [{ type = "bigint" }, { type = "bigint", times = 3 }]
"#;

#[test]
fn what_a_driver_reads_of_system_tables_after_changes_of_the_schema_is_a_figure() {
    let folder = tempfile::tempdir().unwrap();
    let text = scenario("int", "ASC", DDL);
    let (code, said, cells) = compare(folder.path(), &text, &["scylla"], "1000");
    assert_eq!((code, cells[0]["void"].as_str()), (Some(0), None), "{said}");
    let own = cells[0]["measures"]["own_statements_per_statement"]["value"].as_f64().unwrap();
    assert!(own > 0.0, "{own}");
}

#[test]
fn preparing_on_every_node_is_a_figure() {
    for scenario in ["connect", "prepare"] {
        let folder = tempfile::tempdir().unwrap();
        let load = [
            "--scenario",
            scenario,
            "--count",
            "20",
            "--warmup",
            "4",
            "--blocks",
            "1",
            "--nodes",
            "3",
            "--concurrency",
            "4",
        ];
        let limits = ["--pass", "none", "--limits", "noise=none", "--format", "json"];
        let all = [&["compare", "scylla"], &load[..], &limits].concat();
        let output = cqldyno(folder.path(), &all).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        for cell in json(&output)["cells"].as_array().unwrap() {
            let prepares = cell["measures"]["prepares_per_statement"]["value"].as_f64();
            assert!(cell["void"].is_null() && prepares == Some(3.0), "{cell}");
            for id in ["memory_per_session", "server_memory_per_session", "connections_left_open"] {
                assert_eq!(cell["measures"][id]["value"].is_f64(), scenario == "connect", "{cell}");
            }
        }
    }
}

/// A profile of a partition with rows that are read by LIMIT, updated and deleted; some keys come often.
const PROFILE: &str = "
keyspace: town
table: letters
table_definition: |
  CREATE TABLE letters (box text, sent timestamp, body blob, stamps list<int>, PRIMARY KEY (box, sent)) WITH CLUSTERING ORDER BY (sent DESC)
columnspec:
  - {name: box, size: fixed(10), population: gaussian(1..80)}
  - {name: sent, cluster: fixed(6)}
  - {name: body, size: exponential(1..300)}
queries:
  newest: {cql: select sent, body from letters where box = ? limit 4, fields: samerow}
  all: {cql: select * from letters where box = ?}
  frank: {cql: UPDATE letters SET stamps = ? WHERE box = ? AND sent = ?}
  burn: {cql: DELETE FROM letters WHERE box = ? AND sent = ?}
  by-body: {cql: select box from letters where body = ?}
";

#[test]
fn an_imported_profile_runs_with_its_answers_checked_and_its_rows_counted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letters.yaml"), PROFILE).unwrap();
    let output = cqldyno(folder.path(), &["scenarios", "import", "letters.yaml"]).output().unwrap();
    let (toml, said) = (String::from_utf8(output.stdout.clone()).unwrap(), words(&stderr(&output)));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("The operation by-body is left out: it does not name a partition by its key"), "{said}");
    let (code, said, cells) = compare(folder.path(), &toml, &["floor", "scylla"], "600");
    assert_eq!((code, cells.len()), (Some(0), 2), "{said}");
    for cell in &cells {
        assert_eq!((&cell["void"], &cell["failed"]), (&Value::Null, &Value::Null), "{said}");
        assert_eq!(not_counted(cell), [""; 0], "{cell}");
    }
    let refused =
        cqldyno(folder.path(), &["scenarios", "import", "letters.yaml", "--ops", "insert=1,write=2"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = words(&stderr(&refused));
    assert!(
        said.contains("it has no operation \"write\"; name some of insert, all, burn, by-body, frank, newest"),
        "{said}"
    );
}

/// Reads the second to the fifth of the nine rows of a key from the end, and updates the rows of the same keys.
const SLICES: &str = r#"
[[statement]]
name = "slice"
keys = 40
cql = "SELECT at, v FROM own.days WHERE day = ? AND at < ? ORDER BY at DESC LIMIT 4"
values = [{ type = "text", length = 9 }, { type = "bigint", times = 0, plus = 8 }]
[statement.expect]
rows = 4
stored = 9
from = 4
descending = true
columns = [{ type = "bigint", by = "place" }, { type = "bigint", by = "place", times = 5 }]
[statement.load]
cql = "INSERT INTO own.days (day, at, v) VALUES (?, ?, ?)"
values = [{ type = "text", length = 9, by = "key" }, { type = "bigint", by = "place" }, { type = "bigint", by = "place", times = 5 }]
"#;

const MEETING: &str = r#"
[[statement]]
name = "read"
keys = 40
order = "hotspot"
cql = "SELECT place FROM own.items WHERE id = ?"
values = [{ type = "bigint" }]
[statement.expect]
columns = [{ type = "bigint", times = 3 }]
[statement.load]
cql = "INSERT INTO own.items (id, place) VALUES (?, ?)"
values = [{ type = "bigint" }, { type = "bigint", times = 3 }]
[[statement]]
name = "update"
keys_of = "read"
adds = 0
order = "exponential"
cql = "UPDATE own.items SET place = ? WHERE id = ?"
values = [{ type = "bigint", times = 3 }, { type = "bigint" }]
"#;

#[test]
fn a_part_of_what_a_key_has_is_checked_in_either_order() {
    valid(&scenario("bigint", "ASC", SLICES));
    let folder = tempfile::tempdir().unwrap();
    let wrong = |from: &str, to: &str, error: &str| {
        let (code, said, cells) =
            compare(folder.path(), &scenario("bigint", "ASC", &SLICES.replace(from, to)), &["floor"], "300");
        assert_eq!(code, Some(1), "{said}");
        assert!(cells[0].to_string().contains(error), "{}", cells[0]);
    };
    wrong("from = 4", "from = 5", "was found");
    wrong("descending = true", "descending = false", "reverse order");
    wrong("LIMIT 4", "LIMIT 3", "4 rows were expected, and 3 rows came back");
}

#[test]
fn reads_and_updates_of_the_same_keys_meet() {
    let cell = valid(&scenario("int", "ASC", MEETING));
    assert_eq!(not_counted(&cell), [""; 0]);
    let folder = tempfile::tempdir().unwrap();
    let other = MEETING.replace(
        "[{ type = \"bigint\", times = 3 }, { type = \"bigint\" }]\n",
        "[{ type = \"bigint\", times = 4 }, { type = \"bigint\" }]\n",
    );
    let load = "values = [{ type = \"bigint\" }, { type = \"bigint\", times = 3 }]";
    assert!(other != MEETING && other.contains(load));
    let (code, said, cells) = compare(folder.path(), &scenario("int", "ASC", &other), &["floor"], "300");
    assert_eq!(code, Some(1), "{said}");
    assert!(cells[0].to_string().contains("should be bigint"), "the updates are seen by the reads: {}", cells[0]);
}

#[test]
fn deleted_rows_are_counted_where_the_statement_says_how_many() {
    let deletes = r#"
[[statement]]
name = "remove"
adds = -1
cql = "DELETE FROM own.places WHERE place = ?"
values = [{ type = "bigint", plus = 10_000_000 }]
[statement.load]
cql = "INSERT INTO own.places (place, id) VALUES (?, 0)"
values = [{ type = "bigint", plus = 10_000_000 }]
"#;
    assert_eq!(not_counted(&valid(&scenario("int", "ASC", deletes))), [""; 0]);
    let folder = tempfile::tempdir().unwrap();
    let (_, said, cells) =
        compare(folder.path(), &scenario("int", "ASC", &deletes.replace("-1", "0")), &["floor"], "300");
    assert!(!cells[0]["void"].is_null(), "{said}: {}", cells[0]);
}
