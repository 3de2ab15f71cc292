//! The file is loaded by pandas as it comes from the package registry, without any argument.
//!
//! pandas is fetched once (some 60 MB with numpy) and kept in the target folder. If that fails, the test fails and says what to
//! do: on a machine without a registry `CQLDYNO_OFFLINE=1` leaves it out.

mod python_package;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use cqldyno_reports::measure::{SYSCALLS, WALL};
use cqldyno_reports::{Analysis, Cell, Look, Measure, Pass, Run, exporter, sample};

use self::python_package::python_package;

/// Set to leave out what needs a package registry.
const OFFLINE: &str = "CQLDYNO_OFFLINE";

const PACKAGE: &str = "pandas>=2";

const SCRIPT: &str = r#"
import json, sys
import pandas as pd
table = pd.read_csv(sys.argv[1])
kinds = {name: table[name].dtype.kind for name in table.columns}
wall = table[(table.measure == "wall") & table.counts & ~table.control]
print(json.dumps({
    "columns": list(table.columns),
    "kinds": kinds,
    "rows": len(table),
    "values": int(table.value.notna().sum()),
    "reasons": table[table.value.isna() & table.measure.notna()].unavailable.dropna().unique().tolist(),
    "both": int((table.value.notna() & table.unavailable.notna()).sum()),
    "failed": table.failed.dropna().unique().tolist(),
    "missing": table[table.scenario.isna()].label.tolist(),
    "labels": sorted(table.label.unique().tolist()),
    "medians": wall.groupby(["scenario", "contender"]).value.median().to_dict()[("writes", "scylla")],
    "sum": float(table[table.measure == "wall"].value.sum()),
}))
"#;

/// The folder with pandas, fetched if it is not there yet.
fn pandas() -> Result<PathBuf, String> {
    let executable = env::current_exe().map_err(|error| error.to_string())?;
    let target = executable.ancestors().nth(3).ok_or("the test lies in no target folder")?;
    python_package(target, &["python3"], ("pandas", PACKAGE), &["--only-binary", ":all:"])
}

/// A failed cell, a void one, a measure that is not there, and a name that needs quotes.
fn cells() -> (Run, Vec<Cell>) {
    let (run, mut cells) = sample::blocks(3);
    let is = |cell: &Cell, contender, block| {
        (cell.contender.as_str(), cell.scenario.as_str(), cell.block, cell.pass)
            == (contender, "writes", block, Pass::Timing)
    };
    for cell in &mut cells {
        if is(cell, "scylla", 1) {
            cell.measures.clear();
            cell.failed = Some("The worker ended with signal 11, \"at once\".".to_owned());
        }
        if is(cell, "cdrs-tokio", 2) {
            cell.void = Some("A statement failed.".to_owned());
        }
        if cell.contender == "noop" {
            cell.label = "noop, \"the\" one".to_owned();
        }
        if cell.pass == Pass::Counting && cell.contender == "floor" {
            let why = "The kernel does not let this user count system calls, run `cqldyno doctor`.";
            cell.measures.insert(SYSCALLS.to_owned(), Measure::unavailable(why));
        }
    }
    (run, cells)
}

#[test]
fn pandas_loads_the_file_without_arguments() {
    if env::var_os(OFFLINE).is_some() {
        eprintln!("left out, because {OFFLINE} is set: whether pandas loads the CSV file");
        return;
    }
    let packages = pandas().unwrap_or_else(|why| {
        panic!(
            "pandas could not be had, with which the CSV file is checked: {why}; give this machine Python 3 with pip and a package \
             registry once, or set {OFFLINE}=1 to leave this out"
        )
    });
    let (run, cells) = cells();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cells.csv");
    let text = exporter("csv").unwrap().one(&Analysis::new(&run, &cells), Look::default()).unwrap();
    fs::write(&file, &text).unwrap();
    let output = Command::new("python3").arg("-c").arg(SCRIPT).arg(&file).env("PYTHONPATH", packages).output().unwrap();
    assert!(output.status.success(), "pandas failed: {}", String::from_utf8_lossy(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["columns"], serde_json::json!(text.lines().next().unwrap().split(',').collect::<Vec<_>>()));
    // Floats where a contender that could not be asked has none.
    for (column, kind) in [("value", "f"), ("block", "f"), ("attempt", "f"), ("control", "b"), ("counts", "b")] {
        assert_eq!(found["kinds"][column], kind, "{column}: {found}");
    }
    let of = |keep: fn(&Measure) -> bool| {
        cells.iter().flat_map(|cell| cell.measures.values()).filter(|measure| keep(measure)).count()
    };
    assert_eq!(found["rows"], text.lines().count() - 1);
    assert_eq!(found["values"], of(|measure| matches!(measure, Measure::Value { .. })));
    assert_eq!(found["both"], 0);
    let reasons = found["reasons"].as_array().unwrap();
    let why = "The kernel does not let this user count system calls, run `cqldyno doctor`.";
    assert!(reasons.iter().any(|reason| reason == why), "{found}");
    assert_eq!(found["failed"], serde_json::json!(["The worker ended with signal 11, \"at once\"."]));
    assert_eq!(found["missing"], serde_json::json!(["cassandra-cpp"]));
    assert!(found["labels"].as_array().unwrap().iter().any(|label| label == "noop, \"the\" one"), "{found}");
    let walls: Vec<f64> = cells.iter().filter_map(|cell| cell.get(WALL)).collect();
    assert!((found["sum"].as_f64().unwrap() - walls.iter().sum::<f64>()).abs() < 1e-9, "{found}");
    assert!(found["medians"].as_f64().is_some_and(|median| median > 1.0), "{found}");
}
