//! Contenders that play a tape.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{cqldyno, json, says_hello, script, stderr, words, worker, workers_and};

/// What it says, and its cells, of a comparison whose temporary files go to `folder`.
fn compare(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, Vec<Value>) {
    let limits = ["--pass", "none", "--limits", "noise=none", "--format", "json", "--blocks", "1"];
    let mut command = cqldyno(folder, &[&["compare"], arguments, &limits].concat());
    fs::create_dir_all(folder.join("tmp")).unwrap();
    command.env("TMPDIR", folder.join("tmp")).env("CQLDYNO_WORKERS", workers_and(folder));
    let output = command.output().unwrap();
    let cells = match output.status.code() {
        Some(0 | 1) => json(&output)["cells"].as_array().unwrap().clone(),
        _ => Vec::new(),
    };
    let left: Vec<_> = fs::read_dir(folder.join("tmp")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let tapes = left.iter().filter(|name| name.to_string_lossy().contains("tape"));
    assert_eq!(tapes.count(), 0, "{left:?}");
    (output.status.code(), words(&stderr(&output)), cells)
}

fn number(cell: &Value, measure: &str) -> f64 {
    cell["measures"][measure]["value"].as_f64().unwrap_or_else(|| panic!("{measure}: {cell}"))
}

#[test]
fn a_tape_is_played_in_every_kind_of_scenario_and_the_server_agrees() {
    let scenarios = [
        ("writes", 600.0),
        ("reads", 600.0),
        ("mixed", 600.0),
        ("rows", 600.0),
        ("types", 600.0),
        ("payload-1k", 600.0),
        ("batch", 600.0),
        ("unprepared", 600.0),
        ("connect", 20.0),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = vec!["floor+tape=on", "noop+tape=on", "--count", "600", "--warmup", "100"];
    arguments.extend(scenarios.iter().flat_map(|(name, _)| ["--scenario", *name]));
    let (code, said, cells) = compare(folder.path(), &arguments);
    assert_eq!(code, Some(0), "{said}");
    let of_floor: Vec<&Value> = cells.iter().filter(|cell| cell["contender"] == "floor+tape=on").collect();
    for cell in &cells {
        assert_eq!((&cell["void"], &cell["failed"]), (&Value::Null, &Value::Null), "{cell}");
        assert_eq!(number(cell, "verified"), number(cell, "statements"), "{cell}");
    }
    for (scenario, _) in scenarios {
        assert!(of_floor.iter().any(|cell| cell["scenario"] == scenario), "{scenario}: {said}");
    }
}

#[test]
fn a_tape_is_played_at_a_rate_and_by_sessions_that_connect() {
    let folder = tempfile::tempdir().unwrap();
    let rate = ["floor+tape=on", "--scenario", "reads", "--count", "400", "--rate", "1000", "--pass", "latency"];
    let output = cqldyno(folder.path(), &[&["compare", "--limits", "noise=none", "--blocks", "1"][..], &rate].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn the_example_in_python_plays_what_scenarios_have() {
    let example =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../drivers/example-python/cqldyno-driver-example-python"));
    let folder = tempfile::tempdir().unwrap();
    fs::copy(example, folder.path().join("cqldyno-driver-example-python")).unwrap();
    let scenarios = ["writes", "reads", "mixed", "rows", "types", "payload-1k"];
    let mut arguments = vec!["example-python", "floor", "--count", "400", "--warmup", "50"];
    arguments.extend(scenarios.iter().flat_map(|name| ["--scenario", *name]));
    let (code, said, cells) = compare(folder.path(), &arguments);
    assert_eq!(code, Some(0), "{said}");
    let of_python: Vec<&Value> = cells.iter().filter(|cell| cell["contender"] == "example-python").collect();
    assert!(!of_python.is_empty() && of_python.len().is_multiple_of(scenarios.len()), "{said}");
    for cell in of_python {
        assert_eq!((&cell["void"], &cell["failed"]), (&Value::Null, &Value::Null), "{cell}");
        assert_eq!(number(cell, "verified"), 400.0, "{cell}");
    }
}

#[test]
fn a_worker_that_decodes_nothing_is_void_with_a_tape_too() {
    worker("misbehaving").expect("`cargo test --workspace` builds it");
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        ["misbehaving+how=skips-decoding+tape=on", "--scenario", "reads", "--count", "400", "--warmup", "500"];
    let (code, said, cells) = compare(folder.path(), &arguments);
    assert_eq!(code, Some(1), "{said}");
    for cell in cells {
        assert!(cell["void"].as_str().unwrap().contains("400 of kind wrong row"), "{cell}");
    }
}

#[test]
fn a_tape_that_cannot_be_had_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |contender: &str, more: &[&str]| {
        let (code, said, _) = compare(folder.path(), &[&[contender, "--scenario", "writes"], more].concat());
        assert_ne!(code, Some(0), "{said}");
        said
    };
    script(folder.path(), "own-generator", &(says_hello("own-generator", "") + "exit 3"));
    let said = refused("own-generator+tape=on", &["--count", "400"]);
    assert!(said.contains("has a load generator of its own that plays no tape; leave `tape` out"), "{said}");
    let said = refused("floor+tape=off", &["--count", "400"]);
    assert!(said.contains("has tape=off; write on, or leave it out"), "{said}");
    let said = refused("floor+tape=on", &["--count", "100M"]);
    assert!(said.contains("and at most 2 GiB are written; ask for fewer with --count"), "{said}");
}
