//! `regress` and `prices`.

use std::path::Path;

use crate::support::{cqldyno, drivers, json, refused, run, stderr, stdout, words};

/// A regression of contenders that are always here: both issue as many statements.
const TINY: &str = r#"name = "tiny"
title = "Nothing at all."
source = "https://example.org/1"
published = "Nothing."

[[run]]
name = "one"
compare = "noop noop+form=ready --scenario writes --concurrency 16,64 --count 1000 --blocks 1"

[[run.expect]]
says = "Both issue as many statements."
meter = "statements"
at = 64
from = "noop"
to = "noop+form=ready"
direction = "stays"

[[run.expect]]
says = "A time is not judged by counts."
meter = "cpu_per_statement"
at = 64
from = "noop"
to = "noop+form=ready"
direction = "falls"
"#;

/// `cqldyno regress tiny.toml --exact` with TINY changed, in `folder`: exit code and result.
fn regress(folder: &Path, from: &str, to: &str, more: &[&str]) -> (Option<i32>, String) {
    std::fs::write(folder.join("tiny.toml"), TINY.replace(from, to)).unwrap();
    let output = cqldyno(folder, &[&["regress", "tiny.toml", "--exact", "-q"], more].concat()).output().unwrap();
    (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
}

#[test]
fn regressions_are_listed_on_a_line_each() {
    let text = stdout(&run(&["regress"]));
    assert!(text.lines().count() >= 8 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("unbuffered-io ") && text.contains("futures-unordered "), "{text}");
}

#[test]
fn a_regression_is_repeated_kept_and_written_into_its_page() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let (code, text) = regress(folder.path(), "", "", &["--out", "kept"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("  yes Both issue as many statements.") && !text.contains("A time is not judged"), "{text}");
    assert!(text.ends_with("tiny: reproduced (1 as expected).\n"), "{text}");
    let page = std::fs::read_to_string(folder.path().join("kept/page.html")).unwrap();
    assert!(page.contains("cqldyno regress tiny.toml --run one --exact"), "{page}");
    std::fs::write(folder.path().join("tiny.md"), "# Tiny\n<!-- measured -->\n<!-- end of what is measured -->\n")
        .unwrap();
    let (code, text) = regress(folder.path(), "stays", "rises", &["--from", "kept", "--page", "tiny.md"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.ends_with("tiny: not reproduced (1 not as expected).\n"), "{text}");
    let page = std::fs::read_to_string(folder.path().join("tiny.md")).unwrap();
    assert!(page.contains("**tiny: not reproduced (1 not as expected).**"), "{page}");
}

#[test]
fn what_cannot_be_measured_ends_with_its_reason_and_a_code_of_its_own() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let (code, text) =
        regress(folder.path(), "meter = \"statements\"", "meter = \"syscalls:sendto\"", &["--out", "kept"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(words(&text).contains("tiny: cannot be measured here (1 undecided). "), "{text}");
    let (code, text) = regress(folder.path(), "meter = \"statements\"", "meter = \"wall\"", &["--out", "other"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("cannot be measured here (no expectation is a count)"), "{text}");
}

#[test]
fn an_unknown_regression_and_a_bad_file_are_refused() {
    assert!(
        refused(&["regress", "unbuffered"])
            .contains("there is no regression \"unbuffered\"; `cqldyno regress` lists them")
    );
    assert!(refused(&["regress", "no/such.toml"]).contains("the regression no/such.toml cannot be read"));
    let folder = tempfile::tempdir().unwrap();
    let (code, text) = regress(folder.path(), "", "", &["--run", "two"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("tiny has no run \"two\"; it has one"), "{text}");
    let (code, text) = regress(folder.path(), "at = 64\n", "", &[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("the run one has an expectation of statements: the run has several numbers in flight: 16; 64; name one with `at`"),
        "{text}"
    );
    let (code, text) = regress(folder.path(), "\"statements\"", "\"nonsense\"", &[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("has an expectation of \"nonsense\", and there is no such meter"), "{text}");
}

#[test]
fn a_price_list_has_a_line_for_every_setting_and_can_be_shown_again() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let asked = [
        "prices",
        "noop",
        "--only",
        "form=ready",
        "--only",
        "timeout=30s",
        "--scenario",
        "writes",
        "-n",
        "2k",
        "--blocks",
        "1",
        "--out",
        "kept",
    ];
    let output = cqldyno(folder.path(), &asked).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("noop@") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let notes = "[1] An interval needs at least 8 generations. [2] The driver has no setting for it.";
    let of = |setting: &str| text.lines().find(|line| line.starts_with(setting)).unwrap_or_else(|| panic!("{text}"));
    assert!(of("form=ready ").contains("n/a [1]") && of("timeout=30s ").contains("n/a [2]"), "{text}");
    assert!(words(&text).contains(notes), "{text}");
    let again = cqldyno(folder.path(), &["prices", "noop", "--from", "kept", "--format", "json"]).output().unwrap();
    assert_eq!(json(&again)["places"][0]["changed"][0]["setting"], "form=ready");
    let twice = refused(&["prices", "noop+form=ready", "--only", "form=oneshot"]);
    assert!(twice.contains("has the option `form` twice; give it once"), "{twice}");
    let none = refused(&["prices", "noop", "--only", "page-size=0"]);
    assert!(none.contains("has page-size=0; write a number of rows from 1 to 2147483647"), "{none}");
    assert!(refused(&["prices", "noop", "--blocks", "5000000000"]).contains("a run has at most"));
    assert!(refused(&["prices", "nothing"]).contains("there is no driver \"nothing\""));
}
