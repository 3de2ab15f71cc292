//! `cqldyno faults`: errors, lost and doubled statements as figures.

use serde_json::Value;

use crate::support::{cqldyno, json, refused, stderr};

/// One statement in ten gets an error for a while, and one in twenty no answer.
const DAY: &str = r#"
name = "mine"
about = "Some requests are refused, and some answers are lost."

[[script]]
do = "error"
after = 100
error = "overloaded"
kind = "execute"
one_in = 10

[[script]]
do = "drop"
after = 100
kind = "execute"
one_in = 20
"#;

fn figure(cell: &Value, id: &str) -> f64 {
    cell["measures"][id]["value"].as_f64().unwrap_or_else(|| panic!("{id}: {cell:#}"))
}

#[test]
fn failed_statements_are_counted_and_no_acknowledged_row_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.toml"), DAY).unwrap();
    let words =
        "faults scylla --day calm,./mine.toml --rate 1000 --lasts 1s --request-timeout 3s --out run --format json";
    let words: Vec<&str> = words.split(' ').collect();
    let output = cqldyno(folder.path(), &words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let kept = std::fs::read_to_string(folder.path().join("run/run.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let command = "cqldyno faults scylla --day calm,mine.json --rate 1000 --lasts 1s --blocks 1 --request-timeout 3000ms --arrangement multi:2 \
                   --nodes 3";
    assert_eq!(kept["command"], command);
    let cells = json(&output)["cells"].as_array().unwrap().clone();
    let of = |day: &str| cells.iter().find(|cell| cell["scenario"] == day).unwrap();
    let (calm, bad) = (of("calm"), of("mine"));
    for cell in [calm, bad] {
        assert_eq!((&cell["void"], &cell["failed"]), (&Value::Null, &Value::Null), "{cell:#}");
        let none = ["lost", "doubled", "unanswered"].map(|id| figure(cell, id));
        assert_eq!((none, figure(cell, "statements")), ([0.0; 3], 1_000.0), "{cell:#}");
    }
    assert_eq!((figure(calm, "errors"), figure(calm, "stored_though_failed")), (0.0, 0.0));
    assert_eq!(figure(calm, "read_back"), 500.0, "half of the statements insert");
    let kinds = bad["error_kinds"].as_array().unwrap();
    let count = |kind: &str| kinds.iter().find(|one| one["kind"] == kind).unwrap()["count"].as_u64().unwrap();
    // Each step counts EXECUTEs from 101 on; what is refused has no answer to lose.
    assert!((80..=91).contains(&count("overloaded")), "{kinds:?}");
    assert!((30..=45).contains(&count("request_timeout")), "{kinds:?}");
    assert_eq!(figure(bad, "errors"), (count("overloaded") + count("request_timeout")) as f64);
    let stored = figure(bad, "stored_though_failed");
    assert!(
        stored > 0.0 && stored <= count("request_timeout") as f64,
        "only what lost its answer was executed: {stored}"
    );
}

#[test]
fn a_day_that_is_not_there_or_wrong_is_refused_before_anything_runs() {
    let said = refused(&["faults", "--day", "nowhere"]);
    assert!(said.contains("there is no day \"nowhere\": there are calm, closed"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let refused = |text: String| {
        std::fs::write(&file, text).unwrap();
        refused(&["faults", "scylla", "--day", file.to_str().unwrap()])
    };
    let said = refused(DAY.replace("one_in = 20", "one_in = 0"));
    assert!(said.contains("line 16, column 10: one_in is 0, which is out of its range"), "{said}");
    let said = refused(DAY.replace("after = 100", "after = 100\nnode = 7"));
    assert!(said.contains("names node 7, and the embedded cluster has 3"), "{said}");
}
