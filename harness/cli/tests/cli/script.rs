//! Scenarios with a script: what the embedded cluster does on purpose, and what a run says of it.

use std::io::{Read, Write};
use std::path::Path;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::{Serving, cqldyno, json, refused, stderr, words};

const SCENARIO: &str = r#"
name = "bad-day"
about = "Reads on a day that the script makes bad."
schema = [
    "CREATE KEYSPACE IF NOT EXISTS bad_day WITH replication = {'class': 'SimpleStrategy', 'replication_factor': RF}",
    "DROP TABLE IF EXISTS bad_day.items",
    "CREATE TABLE bad_day.items (id bigint PRIMARY KEY, v bigint)",
]

[[statement]]
name = "read"
cql = "SELECT v FROM bad_day.items WHERE id = ?"
values = [{ type = "bigint" }]
[statement.expect]
columns = [{ type = "bigint", times = 3 }]
[statement.load]
cql = "INSERT INTO bad_day.items (id, v) VALUES (?, ?)"
values = [{ type = "bigint" }, { type = "bigint", times = 3 }]
"#;

/// The comparison of the scenario with a script; what precedes the first step are fields of the scenario.
fn compared(folder: &Path, script: &str, more: &[&str]) -> std::process::Output {
    compared_of(&["floor", "scylla"], folder, script, more)
}

fn compared_of(contenders: &[&str], folder: &Path, script: &str, more: &[&str]) -> std::process::Output {
    let replicas = if more.contains(&"--nodes") { "3" } else { "1" };
    let (fields, steps) = script.split_at(script.find("[[script]]").unwrap_or(script.len()));
    std::fs::write(folder.join("bad-day.toml"), fields.to_owned() + &SCENARIO.replace("RF", replicas) + steps).unwrap();
    let load =
        ["--scenario", "bad-day.toml", "--count", "2000", "--warmup", "30", "--blocks", "1", "--concurrency", "16"];
    let limits = ["--pass", "none", "--limits", "noise=none", "--format", "json"];
    cqldyno(folder, &[&["compare"], contenders, &load[..], &limits, more].concat()).output().unwrap()
}

/// The cells of floor and scylla.
#[track_caller]
fn cells(script: &str, more: &[&str]) -> Vec<Value> {
    cells_of(&["floor", "scylla"], script, more)
}

#[track_caller]
fn cells_of(contenders: &[&str], script: &str, more: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let output = compared_of(contenders, folder.path(), script, more);
    let cells = json(&output)["cells"].as_array().unwrap().clone();
    for name in contenders {
        assert!(cells.iter().any(|cell| cell["contender"] == *name), "{}", stderr(&output));
    }
    cells
}

/// The finding about the step that begins like this.
#[track_caller]
fn told<'c>(cell: &'c Value, step: &str) -> &'c str {
    let findings = cell["findings"].as_array().unwrap();
    let start = format!("The script's step {step}");
    let mut about = findings.iter().filter_map(Value::as_str).filter(|finding| finding.starts_with(&start));
    about.next().unwrap_or_else(|| panic!("{findings:?}"))
}

#[track_caller]
fn valid(cell: &Value) {
    assert_eq!((&cell["void"], &cell["failed"]), (&Value::Null, &Value::Null), "{cell:#}");
}

#[test]
fn a_driver_prepares_again_what_a_node_forgot_and_its_rows_are_right() {
    let script = "[[script]]\ndo = \"forget\"\nevery = 500\none_in = 1\n\n[[script]]\ndo = \"event\"\nevent = \"schema\"\nafter = 1_000_000\n";
    for cell in cells(script, &[]) {
        valid(&cell);
        assert_eq!(cell["measures"]["verified"]["value"], 2000.0);
        assert!(!told(&cell, "forget, every 500 statements, ").contains("never"), "{cell:#}");
        assert!(told(&cell, "event (schema), after 1,000,000 statements, ").ends_with("never fired."));
        assert!(cell["breakdowns"]["script"]["1: forget, every 500 statements"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn statements_that_a_closed_connection_costs_void_no_row_and_are_counted_by_kind() {
    for step in ["close", "half-close"] {
        for cell in cells(&format!("[[script]]\ndo = \"{step}\"\nafter = 1_000\n"), &[]) {
            valid(&cell);
            assert!(told(&cell, step).contains("fired once and touched "), "{cell:#}");
            let errors = cell["error_kinds"].as_array().unwrap();
            let failed: u64 = errors.iter().map(|kind| kind["count"].as_u64().unwrap()).sum();
            assert_eq!(cell["measures"]["verified"]["value"].as_f64().unwrap() as u64, 2000 - failed);
        }
    }
}

#[test]
fn a_control_connection_that_closes_fails_no_statement() {
    for step in ["close", "half-close"] {
        for cell in cells(&format!("[[script]]\ndo = \"{step}\"\ncontrol = true\nafter = 1_000\n"), &[]) {
            valid(&cell);
            assert_eq!(cell["measures"]["verified"]["value"], 2000.0);
            let registers = cell["contender"] == "scylla";
            let touched = if registers { "touched 1 connection." } else { "touched 0 connections." };
            assert!(told(&cell, &format!("{step} (control)")).ends_with(touched), "{cell:#}");
        }
    }
}

#[test]
fn an_answer_that_never_comes_or_comes_after_the_time_limit_is_a_timeout_that_the_script_explains() {
    for step in ["drop", "delay"] {
        let by = if step == "delay" { "by = \"10min\"\n" } else { "" };
        let script = format!("[[script]]\ndo = \"{step}\"\nat = \"0s\"\nkind = \"execute\"\none_in = 500\n{by}");
        for cell in cells_of(&["scylla"], &script, &["--request-timeout", "3s"]) {
            valid(&cell);
            assert!(told(&cell, step).contains("fired once and touched "), "{cell:#}");
            let errors = cell["error_kinds"].as_array().unwrap();
            assert!(!errors.is_empty() && errors.iter().all(|kind| kind["kind"] == "request_timeout"), "{errors:?}");
            let failed: u64 = errors.iter().map(|kind| kind["count"].as_u64().unwrap()).sum();
            assert_eq!(cell["measures"]["verified"]["value"].as_f64().unwrap() as u64, 2000 - failed);
        }
    }
}

#[test]
fn errors_of_the_script_are_no_mistake_of_the_driver_and_other_ones_are() {
    let error = "[[script]]\ndo = \"error\"\nat = \"0s\"\nkind = \"execute\"\none_in = 100\nerror = \"overloaded\"\n";
    for cell in cells(error, &[]) {
        valid(&cell);
        let errors = cell["error_kinds"].as_array().unwrap();
        assert!(errors.iter().all(|kind| kind["kind"] == "overloaded"), "{errors:?}");
    }
}

#[test]
fn what_a_driver_does_in_the_idle_span_after_its_turn_is_a_figure() {
    let script = "idle = \"1s\"\n[[script]]\ndo = \"close\"\nat = \"500ms\"\n";
    let cells = cells(script, &["--pass", "syscalls"]);
    let of = |pass: &str| cells.iter().find(|cell| cell["contender"] == "scylla" && cell["pass"] == pass).unwrap();
    let (timed, counted) = (of("timing"), of("syscalls"));
    valid(timed);
    assert!(told(timed, "close").contains("fired once and touched "), "{timed:#}");
    assert!(timed["measures"]["connections_accepted"]["value"].as_f64().unwrap() >= 1.0, "{timed:#}");
    assert!(timed["measures"]["idle_cpu"]["value"].as_f64().unwrap() > 0.0, "{timed:#}");
    let receives = &counted["measures"]["receives_per_idle_second"];
    assert!(
        receives["value"].as_f64().is_some_and(|found| found > 0.0) || receives["unavailable"].is_string(),
        "{counted:#}"
    );
    assert!(timed["measures"]["receives_per_idle_second"].is_null());
}

#[test]
fn a_connection_that_is_made_just_after_the_window_is_counted_with_the_idle_span() {
    let cells = cells("idle = \"5s\"\n[[script]]\ndo = \"close\"\nafter = 1_990\n", &[]);
    let scylla = cells.iter().find(|cell| cell["contender"] == "scylla").unwrap();
    valid(scylla);
    assert!(scylla["measures"]["connections_accepted"]["value"].as_f64().unwrap() >= 1.0, "{scylla:#}");
}

#[test]
fn an_event_comes_many_times_in_one_write() {
    let script = "[[script]]\ndo = \"event\"\nevent = \"schema\"\nafter = 500\ntimes = 200\n";
    for cell in cells(script, &[]) {
        valid(&cell);
        let told = told(&cell, "event (schema), after 500 statements, fired once");
        let registers = cell["contender"] == "scylla";
        assert_eq!(told.contains("touched 1 connection."), registers, "{told}");
    }
}

#[test]
fn a_node_of_three_stops_and_starts() {
    let script =
        "[[script]]\ndo = \"stop\"\nnode = 2\nafter = 600\n\n[[script]]\ndo = \"start\"\nnode = 2\nafter = 1_200\n";
    for cell in cells(script, &["--nodes", "3"]) {
        assert_eq!(cell["failed"], Value::Null, "{cell:#}");
        assert!(told(&cell, "stop (node 2)").contains("fired once"));
        valid(&cell);
    }
}

#[test]
fn a_script_that_cannot_be_played_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let stop = "[[script]]\ndo = \"stop\"\nnode = 2\nafter = 600\n";
    for (script, more, expected) in [
        (stop, &[][..], "names node 2, and the embedded cluster has 1; ask for more with --nodes 2"),
        (
            stop,
            &["--target", "127.0.0.1:1"],
            "plays scripts on the embedded cluster only; leave --target 127.0.0.1:1 out",
        ),
        (
            "[[script]]\ndo = \"drop\"\nevery = 6\n",
            &[],
            "the step drop fires every so many statements and does not end; give it for, or use at or after",
        ),
        ("[[script]]\ndo = \"stop\"\nafter = 6\n", &[], "the step stop has no node, and cannot be without one"),
    ] {
        let output = compared(folder.path(), script, more);
        let said = words(&stderr(&output));
        assert!(output.status.code() == Some(2) && said.contains(expected), "{said}");
    }
}

#[test]
fn serve_plays_a_script_and_says_what_its_steps_did() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.toml");
    let file = file.to_str().unwrap();
    assert!(refused(&["serve", "--script", file]).contains("cannot be read: "));
    std::fs::write(file, "[[script]]\ndo = \"close\"\nnode = 3\nafter = 1\n").unwrap();
    assert!(words(&refused(&["serve", "--script", file])).contains("names node 3, and the embedded cluster has 1"));
    let drop = "[[script]]\ndo = \"drop\"\nafter = 1\nkind = \"options\"\n";
    std::fs::write(file, format!("[[script]]\ndo = \"close\"\nafter = 1_000\n{drop}")).unwrap();
    let mut serving = Serving::start(&["--script", file], &[]);
    let mut stream = std::net::TcpStream::connect(&serving.address).unwrap();
    let mut answer_to = |sent: &[[u8; 9]]| {
        stream.write_all(sent.as_flattened()).unwrap();
        let mut header = [0; 9];
        stream.read_exact(&mut header).unwrap();
        let [_, _, _, stream_id, opcode, length @ ..] = header;
        stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize]).unwrap();
        (stream_id, opcode)
    };
    // OPTIONS is no statement. QUERY is one before STARTUP, too, and after it no OPTIONS is answered.
    let (options, query, register) = (5, 7, 11);
    let request = |stream, opcode| [4, 0, 0, stream, opcode, 0, 0, 0, 0];
    assert_eq!(answer_to(&[request(1, options)]), (1, 6));
    assert_eq!(answer_to(&[request(2, query)]), (2, 0));
    assert_eq!(answer_to(&[request(3, options), request(4, register)]), (4, 0));
    serving.running.signal(Signal::SIGTERM);
    assert_eq!(serving.running.code(), Some(0));
    let rest = serving.rest();
    assert!(rest.contains("The script's step close, after 1,000 statements, never fired."), "{rest}");
    assert!(
        rest.contains("The script's step drop (options), after 1 statements, fired once and touched 1 answer."),
        "{rest}"
    );
}
