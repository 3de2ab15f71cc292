//! gocql, whose workers `make test` builds where Go is.

use std::fs;
use std::path::Path;

use crate::support::{cqldyno, json, says_hello, script, stderr, stdout, words, worker};
use cqldyno_reports::{Cell, Measure};

/// Whether gocql's workers are here; says that the test is skipped if not.
fn is_here() -> bool {
    let is_here = ["gocql", "gocql-1.7.0"].iter().all(|name| worker(name).is_some());
    if !is_here {
        eprintln!("Skipped: gocql was not built. Install Go, and run `make test`.");
    }
    is_here
}

/// A comparison without noise limits that is kept in `folder`: its exit code, what it showed, said and kept, and its cells.
fn compare(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, Vec<Cell>) {
    let limits = ["--limits", "noise=none", "--pass", "none", "--notes", "--out", "kept"];
    let output = cqldyno(folder, &[&["compare"][..], arguments, &limits].concat()).output().unwrap();
    let kept = |name: &str| fs::read_to_string(folder.join("kept").join(name)).unwrap_or_default();
    let (run, lines) = (kept("run.json"), kept("cells.jsonl"));
    let cells = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output.status.code(), words(&(stdout(&output) + &stderr(&output) + &run + &lines)), cells)
}

#[track_caller]
fn check(cells: &[Cell], contender: &str, scenario: &str) {
    let of = |cell: &&Cell| cell.contender == contender && cell.scenario == scenario;
    let found: Vec<&Cell> = cells.iter().filter(of).collect();
    assert!(!found.is_empty(), "{contender} {scenario}");
    for cell in found {
        assert_eq!((cell.failed.as_deref(), cell.void.as_deref()), (None, None), "{contender} {scenario}");
        let [statements, verified, counted] =
            ["statements", "verified", "server_executes"].map(|id| cell.measures[id].get());
        assert!(statements > Some(0.0) && verified == statements, "{cell:?}");
        // Pages are EXECUTEs of their own, and batches are none.
        assert!(!["writes", "reads", "mixed"].contains(&scenario) || counted == statements, "{cell:?}");
    }
}

#[test]
fn both_releases_run_every_scenario_that_they_declare_and_the_server_agrees() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scenarios = ["writes", "reads", "mixed", "rows", "types", "payload-1k", "batch", "unprepared", "connect"];
    let mut arguments = vec!["gocql@1.7.0", "gocql", "floor", "--count", "400", "--blocks", "1", "--warmup", "200"];
    arguments.extend(["--connections", "2"]);
    arguments.extend(scenarios.iter().flat_map(|scenario| ["--scenario", scenario]));
    let (code, shown, cells) = compare(folder.path(), &arguments);
    assert_eq!(code, Some(0), "{shown}");
    for contender in ["gocql@1.7.0", "gocql"] {
        scenarios.iter().for_each(|scenario| check(&cells, contender, scenario));
    }
    assert!(shown.contains("gocql@1.7.0 is used from Go and runs on go ") && shown.contains("gocql@2."), "{shown}");
    assert!(shown.contains("Its worker does not say which load generator it has"), "{shown}");
}

#[test]
fn its_instructions_are_counted_under_callgrind_while_it_collects_garbage() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["gocql", "--scenario", "writes", "--arrangement", "current", "--count", "20k", "--blocks", "1"];
    let (code, shown, cells) = compare(folder.path(), &[&arguments[..], &["--pass", "instructions"]].concat());
    assert_eq!(code, Some(0), "{shown}");
    let counted = cells.iter().find_map(|cell| cell.measures.get("callgrind_instructions_per_statement"));
    match counted.and_then(Measure::get) {
        Some(instructions) => assert!(instructions > 1_000.0, "{instructions}"),
        None => assert!(shown.contains("Instructions cannot be counted with callgrind"), "{shown}"),
    }
}

#[test]
fn its_allocations_are_those_that_its_runtime_records() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["gocql", "--scenario", "writes", "--count", "2k", "--blocks", "1", "--pass", "allocations"];
    let (code, shown, cells) = compare(folder.path(), &arguments);
    assert_eq!(code, Some(0), "{shown}");
    let of = |id: &str| cells.iter().find_map(|cell| cell.measures.get(id));
    match of("allocations_per_statement").and_then(Measure::get) {
        Some(allocations) => {
            let bytes = of("allocated_bytes_per_statement").and_then(Measure::get);
            assert!(allocations > 1.0 && bytes > Some(16.0), "{allocations} {bytes:?}");
        }
        None => assert!(shown.contains("Allocations cannot be counted"), "{shown}"),
    }
}

#[test]
fn both_releases_take_turns_and_keep_a_rate() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let turns = ["gocql@1.7.0", "gocql", "floor", "--scenario", "mixed", "--turn", "2k", "--within", "2s"];
    let (code, shown, cells) = compare(folder.path(), &turns);
    assert_eq!(code, Some(0), "{shown}");
    assert!(cells.iter().any(|cell| cell.contender == "gocql" && cell.round.is_some()), "{shown}");
    ["gocql@1.7.0", "gocql"].iter().for_each(|contender| check(&cells, contender, "mixed"));

    let folder = tempfile::tempdir().unwrap();
    let rate = ["gocql", "floor", "--scenario", "reads", "--count", "2k", "--blocks", "1", "--warmup", "200"];
    let rate = [&rate[..], &["--rate", "2k"]].concat();
    let (code, shown, cells) = compare(folder.path(), &rate);
    assert_eq!(code, Some(0), "{shown}");
    check(&cells, "gocql", "reads");
    let latency = cells.iter().find(|cell| cell.contender == "gocql" && cell.measures.contains_key("response_p99"));
    assert!(latency.is_some_and(|cell| cell.measures["response_p99"].get().is_some()), "{shown}");
}

/// The rows that a cell finds are not those that it expects, as if a driver made them up.
#[test]
fn a_wrong_row_voids_the_row_and_says_which_column() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let reads = cqldyno_scenarios::builtin_toml("reads").unwrap();
    let (before, loaded) = reads.split_once("[statement.load]").unwrap();
    let altered = format!("{before}[statement.load]{}", loaded.replace("times = 3", "times = 5"));
    fs::write(folder.path().join("altered.toml"), altered).unwrap();
    let arguments = ["gocql@1.7.0", "gocql", "--scenario", "altered.toml", "--count", "300", "--blocks", "1"];
    let arguments = [&arguments[..], &["--warmup", "0"]].concat();
    let (code, shown, cells) = compare(folder.path(), &arguments);
    assert_eq!(code, Some(1), "{shown}");
    for contender in ["gocql@1.7.0", "gocql"] {
        let cell = cells.iter().find(|cell| cell.contender == contender).unwrap();
        let void = cell.void.clone().unwrap_or_default();
        assert!(void.contains("299 of kind wrong row"), "only the row with key 0 is as altered: {contender}: {void:?}");
        let first = cell.error_kinds.iter().find(|line| line.kind == "wrong_row").unwrap();
        assert!(first.first.contains("column 3 should be bigint"), "{contender}: {first:?}");
    }
}

const HOT: &str = r#"
name = "hot"
about = "Reads one row, and changes the schema now and then."
schema = [
    "CREATE KEYSPACE IF NOT EXISTS hot WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}",
    "DROP TABLE IF EXISTS hot.row",
    "CREATE TABLE hot.row (id bigint PRIMARY KEY, v bigint)",
]
[[statement]]
name = "read"
weight = 50
keys = 1
cql = "SELECT v FROM hot.row WHERE id = ?"
values = [{ type = "bigint" }]
[statement.expect]
columns = [{ type = "bigint", times = 4 }]
[statement.load]
cql = "INSERT INTO hot.row (id, v) VALUES (?, ?)"
values = [{ type = "bigint" }, { type = "bigint", times = 4 }]
"#;

const CREATE: &str = r#"
[[statement]]
name = "create"
operation = "unprepared"
cql = "CREATE TABLE IF NOT EXISTS hot.other (id bigint PRIMARY KEY)"
values = []
"#;

#[test]
fn a_hot_replica_is_named_with_its_share_and_is_no_broken_pool() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hot.toml"), HOT).unwrap();
    let arguments =
        ["gocql", "--nodes", "3", "--scenario", "hot.toml", "--count", "500", "--blocks", "1", "--warmup", "0"];
    let (code, shown, cells) = compare(folder.path(), &arguments);
    assert_eq!(code, Some(0), "{shown}");
    check(&cells, "gocql", "hot");
    let is_named = |finding: &String| {
        finding.contains(
            " of 3 got 100 % of the EXECUTEs, and 2 of the driver's open connections carried none: its routing sends",
        )
    };
    assert!(cells[0].findings.iter().any(is_named), "{:?}", cells[0].findings);
}

#[test]
fn a_statement_that_it_cannot_prepare_is_executed_unprepared() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let compared = |text: &str| {
        fs::write(folder.path().join("create.toml"), text).unwrap();
        let arguments = ["gocql", "--scenario", "create.toml", "--count", "510", "--blocks", "1", "--warmup", "0"];
        let (code, shown, cells) = compare(folder.path(), &arguments);
        fs::remove_dir_all(folder.path().join("kept")).unwrap();
        (code, shown, cells)
    };
    let text = [&HOT.replace("'replication_factor': 3", "'replication_factor': 1"), CREATE].concat();
    let (code, shown, cells) = compared(&text);
    assert_eq!(code, Some(0), "{shown}");
    check(&cells, "gocql", "hot");
    let (code, shown, _) = compared(&text.replace("operation = \"unprepared\"\n", ""));
    assert_eq!(code, Some(1));
    let sentence =
        "could not be prepared: gocql prepares nothing but SELECT, INSERT, UPDATE, DELETE and BATCH; use operation";
    assert!(shown.contains(sentence), "{shown}");
}

const USER_TYPE: &str = r#"
name = "user-type"
about = "Inserts of a user-defined type, whose statement the node forgets."
schema = [
    "CREATE KEYSPACE user_type WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TYPE user_type.place (x int, name text)",
    "CREATE TABLE user_type.places (id bigint PRIMARY KEY, place frozen<place>)",
]

[[statement]]
name = "insert"
cql = "INSERT INTO user_type.places (id, place) VALUES (?, ?)"
values = [{ type = "bigint" }, { type = "udt", of = [{ type = "int" }, { type = "text", length = 9 }] }]
[statement.read_back]
cql = "SELECT place FROM user_type.places WHERE id = ?"
values = [{ type = "bigint" }]
columns = [{ type = "udt", of = [{ type = "int" }, { type = "text", length = 9 }] }]

[[script]]
do = "forget"
every = 100
"#;

#[test]
fn a_user_defined_type_is_whole_also_in_a_statement_that_is_sent_again() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("user-type.toml"), USER_TYPE).unwrap();
    let asked = ["gocql", "--scenario", "user-type.toml", "--count", "1000", "--blocks", "1", "--warmup", "50"];
    let (code, shown, cells) = compare(folder.path(), &asked);
    assert_eq!(code, Some(0), "{shown}");
    check(&cells, "gocql", "user-type");
    assert!(shown.contains("step forget, every 100 statements, fired"), "{shown}");
}

#[test]
fn what_it_cannot_do_and_a_release_that_is_not_built_have_a_sentence_each() {
    if !is_here() {
        return;
    }
    for (arguments, expected, sentence) in [
        (&["gocql", "--scenario", "prepare"][..], 0, "does not declare the capability `prepare`"),
        (
            &["gocql", "--scenario", "reads+spawn"],
            1,
            "the scenario reads+spawn submits statements as spawn; play it with slots",
        ),
        (
            &["gocql@1.6.0", "--scenario", "reads"],
            2,
            "gocql 1.6.0 was asked for, and no adapter of cqldyno speaks it: they",
        ),
        (&["gocql@git:https://host.invalid/gocql#main", "--scenario", "reads"], 1, "ask for one of `gocql`, `gocql@2."),
        (&["gocql@git:https://host.invalid/gocql#main", "--scenario", "reads"], 1, "`gocql@1.7.0`."),
        (&["gocql+colour=red", "--scenario", "reads"], 2, "has the key `colour`, which gocql@2."),
        (&["gocql+lto=fat", "--scenario", "reads"], 2, "has the key `lto`, which is for workers that cargo builds"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (code, shown, _) =
            compare(folder.path(), &[arguments, &["--count", "100", "--blocks", "1", "--warmup", "0"]].concat());
        assert_eq!(code, Some(expected), "{arguments:?}");
        assert!(shown.contains(sentence), "{arguments:?} should have {sentence:?}: {shown}");
    }
}

#[test]
fn a_release_is_served_by_the_worker_of_its_name_beside_that_of_the_driver() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "other-1.2.3", &says_hello("other", ""));
    script(folder.path(), "other", "echo 'this is not the one' >&2; exit 1");
    let compare = |contender: &str| {
        let asked =
            ["compare", contender, "--scenario", "writes", "--count", "100", "--blocks", "1", "--format", "json"];
        json(&cqldyno(folder.path(), &asked).env("CQLDYNO_WORKERS", folder.path()).output().unwrap())
    };
    let whole = compare("other@1.2.3");
    let contender = &whole["run"]["contenders"][0];
    assert_eq!((&contender["label"], &contender["unavailable"]), (&"other@1.2.3".into(), &serde_json::Value::Null));
    let listed = cqldyno(folder.path(), &["drivers", "--all"]).env("CQLDYNO_WORKERS", folder.path()).output().unwrap();
    let listed = words(&stdout(&listed));
    assert!(
        listed.contains("other releases here other@1.2.3") && listed.contains("compared only if it is named"),
        "{listed}"
    );
}
