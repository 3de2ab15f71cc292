//! What meters read off real workers beside time.

use crate::support::{cqldyno, drivers, json, run, stderr, stdout, words};
use serde_json::Value;

/// Those of scylla, floor and noop that have a worker here.
fn asked() -> Vec<&'static str> {
    drivers().into_iter().filter(|driver| ["scylla", "floor", "noop"].contains(driver)).collect()
}

/// Their cells, with system calls by name.
fn cells() -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = cqldyno(folder.path(), &["compare"]);
    command.args(asked()).args(["--scenario", "writes", "--count", "20k", "--blocks", "1"]);
    command.args(["--warmup", "2k", "--limits", "noise=none", "--pass", "syscalls", "--format", "json"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let whole = json(&output);
    let column = |id: &str| whole["run"]["measures"].as_array().unwrap().iter().any(|measure| measure["id"] == id);
    assert!(column("syscalls_by_name") && column("bytes_sent_per_statement"), "{}", whole["run"]["measures"]);
    whole["cells"].as_array().unwrap().clone()
}

/// The cell of a driver in a pass.
#[track_caller]
fn cell<'a>(cells: &'a [Value], driver: &str, pass: &str) -> &'a Value {
    let of =
        |cell: &&Value| cell["contender"].as_str().is_some_and(|id| id.starts_with(driver)) && cell["pass"] == pass;
    cells.iter().find(of).unwrap()
}

#[test]
fn what_statements_take_on_the_wire_and_which_system_calls_they_make_stands_in_the_cells() {
    let cells = cells();
    let value = |cell: &Value, id: &str| cell["measures"][id]["value"].as_f64();

    let floor = cell(&cells, "floor", "timing");
    // EXECUTE of three bigints: a header of 9 bytes, a prepared id of 16 behind its length, consistency, flags, and the values.
    let sent = value(floor, "bytes_sent_per_statement").unwrap();
    assert!((68.0..68.1).contains(&sent), "{sent} bytes a statement");
    let received = value(floor, "bytes_received_per_statement").unwrap();
    assert!((13.0..13.1).contains(&received), "an answer without rows has a header and its kind: {received} bytes");
    for (segments, statements) in [
        ("segments_sent_per_statement", "statements_per_segment_sent"),
        ("segments_received_per_statement", "statements_per_segment_received"),
    ] {
        let product = value(floor, segments).unwrap() * value(floor, statements).unwrap();
        assert!((product - 1.0).abs() < 1e-9, "{segments}: {product}");
    }
    let pss = value(floor, "pss").unwrap();
    assert!((1e5..1e9).contains(&pss), "{pss} bytes");
    let noop = &cell(&cells, "noop", "timing")["measures"]["bytes_sent_per_statement"]["unavailable"];
    assert_eq!(noop, "This contender sends nothing, so no server took part.");

    let doctor = words(&stdout(&run(&["doctor", "--all"])));
    for driver in asked() {
        let cell = cell(&cells, driver, "syscalls");
        if let Some(reason) = cell["measures"]["syscalls_by_name"]["unavailable"].as_str() {
            assert!(doctor.contains(&format!("not available: {}", words(reason))), "{reason} is not in: {doctor}");
            continue;
        }
        let all = value(cell, "syscalls_by_name").unwrap();
        let names = cell["breakdowns"]["syscalls"].as_object().unwrap();
        let each = |name: &str| names.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        let sum: f64 = names.values().filter_map(Value::as_f64).sum();
        assert!((sum - all).abs() < 1e-9, "{driver}: {sum} of {all}");
        let sends = each("sendto") + each("sendmsg") + each("write") + each("writev");
        assert!(sends > 0.0, "{driver} sends, or at least says that it has ended: {names:?}");
        assert!(cell["measures"]["wall"].is_null(), "a cell that counts has no times");
    }
}
