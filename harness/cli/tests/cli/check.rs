//! Runs judged for a CI, through the executable.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{cqldyno, refused, run, stderr, stdout};

/// The latest run with every cell run once that is published with the sources.
fn published() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/published");
    let dates = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    dates.map(|date| date.join("classic")).filter(|path| path.is_dir()).max().unwrap()
}

/// By how many thousandths a cell of each contender is off in each block.
const NOISE: [[f64; 12]; 2] = [
    [1.0, -7.0, 4.0, 9.0, -3.0, -8.0, 6.0, 2.0, -5.0, 7.0, -9.0, 3.0],
    [-4.0, 6.0, -1.0, 8.0, -9.0, 3.0, 5.0, -7.0, 2.0, -6.0, 9.0, -2.0],
];

/// A folder with a run of twelve blocks, made of a published one's first scenario and arrangement, in which cdrs-tokio costs so many
/// times what scylla costs. When the cell of a contender (0 or 1) in a block began is `minute`'s.
fn blocks(ratio: f64, minute: fn(u32, u32) -> u32) -> (tempfile::TempDir, String) {
    let text = |name: &str| fs::read_to_string(published().join(name)).unwrap();
    let mut whole: Value = serde_json::from_str(&text("run.json")).unwrap();
    let (scenario, arrangement) = (whole["scenarios"][0].clone(), whole["plan"]["arrangements"][0].clone());
    whole["scenarios"] = json!([scenario]);
    whole["plan"]["arrangements"] = json!([arrangement]);
    whole["plan"]["blocks"] = 12.into();
    let object = whole.as_object_mut().unwrap();
    object.remove("checksum");
    let contenders = object["contenders"].as_array_mut().unwrap();
    contenders.retain(|one| one["id"] == "scylla" || one["id"] == "cdrs-tokio");
    let cells: Vec<Value> = text("cells.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut lines = String::new();
    for block in 1..=12u32 {
        for (who, id) in (0..).zip(["scylla", "cdrs-tokio"]) {
            let is = |cell: &&Value| {
                cell["contender"] == id
                    && cell["scenario"] == scenario["name"]
                    && cell["arrangement"] == arrangement["id"]
                    && cell["pass"] == "timing"
            };
            let mut cell = cells.iter().find(is).unwrap().clone();
            let noise = 0.001 * NOISE[who as usize][block as usize - 1];
            let cost = if who == 0 { 2.0 } else { 2.0 * ratio };
            cell["measures"]["cpu_per_statement"]["value"] = (cost * (1.0 + noise)).into();
            cell["block"] = block.into();
            cell["started"] = format!("2026-01-02T03:{:02}:05Z", minute(block, who)).into();
            lines.push_str(&format!("{cell}\n"));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.json"), whole.to_string()).unwrap();
    fs::write(folder.path().join("cells.jsonl"), lines).unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    (folder, path)
}

/// Every block after the one before.
fn in_turns(block: u32, who: u32) -> u32 {
    2 * block + who
}

/// The exit code, and what is printed.
fn check(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(&[&["check"][..], arguments].concat());
    (output.status.code(), stdout(&output))
}

#[test]
fn a_contender_whose_whole_interval_lies_beyond_the_threshold_fails_the_check() {
    let (_folder, path) = blocks(1.5, in_turns);
    let (code, text) = check(&[&path]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.starts_with("### cqldyno check failed: 1 of 1 comparisons\n"), "{text}");
    assert!(
        text.contains("| **dearer** |") && text.contains("It costs 1.5") && text.contains("more than 5 % above"),
        "{text}"
    );
    let (code, text) = check(&[&path, "--threshold", "60%"]);
    assert_eq!((code, text.lines().next()), (Some(0), Some("### cqldyno check passed")), "{text}");
}

#[test]
fn a_terminal_is_shown_no_markdown() {
    let (_folder, path) = blocks(1.5, in_turns);
    let pty = nix::pty::openpty(None, None).unwrap();
    let mut child = cqldyno(Path::new("/"), &["check", &path]).stdout(pty.slave).env("TERM", "dumb").spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let mut text = [0; 1 << 14];
    let length = fs::File::from(pty.master).read(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text[..length]);
    assert!(text.contains("cqldyno check failed") && !text.contains("###") && !text.contains("| ---"), "{text}");
}

#[test]
fn inconclusive_passes_with_the_smallest_difference_and_fails_where_power_is_required() {
    let (_folder, path) = blocks(1.05, in_turns);
    let (code, text) = check(&[&path]);
    assert_eq!((code, text.lines().next()), (Some(0), Some("### cqldyno check inconclusive")), "{text}");
    assert!(text.contains("the smallest difference that this run could have found is"), "{text}");
    let (code, text) = check(&[&path, "--require-power", "0.1%"]);
    assert!(code == Some(1) && text.contains("**too weak**") && text.contains("0.1 % was required"), "{text}");
    assert_eq!(check(&[&path, "--require-power", "50%"]).0, Some(0));
}

#[test]
fn contenders_that_did_not_take_turns_in_one_run_are_refused() {
    let (_folder, path) = blocks(1.5, |block, who| 20 * who + block);
    let output = run(&["check", &path]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains("cdrs-tokio and scylla did not take turns in "), "{}", stderr(&output));
    let error = refused(&["check", &path, &path]);
    assert!(error.contains("2 runs were given") && error.contains("(--against)"), "{error}");
}

#[test]
fn a_baseline_of_another_machine_is_refused_with_every_difference() {
    let (folder, path) = blocks(1.0, in_turns);
    let (_other, baseline) = blocks(1.0, in_turns);
    let file = folder.path().join("run.json");
    let mut whole: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    whole["environment"]["cpu"] = "Another 1".into();
    whole["environment"]["kernel"] = "Linux 9".into();
    whole["plan"]["concurrency"] = 7.into();
    fs::write(&file, whole.to_string()).unwrap();
    let output = run(&["check", &path, "--against", &baseline]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    for part in ["the processor was ", "the kernel was ", "what was asked was ", "make a new baseline here"] {
        assert!(stderr(&output).contains(part), "{part}: {}", stderr(&output));
    }
}

#[test]
fn a_share_below_none_is_refused_with_how_to_write_one() {
    for flag in ["--threshold", "--require-power"] {
        let error = refused(&["check", "run.json", flag, "-1%"]);
        assert!(error.contains(flag) && error.contains("write a share such as 5% or 0.05"), "{error}");
    }
}

#[test]
fn help_tells_how_a_check_ends_for_a_file_that_cannot_be_used_and_how_counts_are_judged() {
    let help = crate::support::words(&stdout(&run(&["check", "--help"])));
    for part in
        ["a file is damaged or of another version", "nothing on standard output", "system calls of several threads"]
    {
        assert!(help.contains(part), "{part}: {help}");
    }
    let (folder, path) = blocks(1.0, in_turns);
    fs::write(folder.path().join("cells.jsonl"), "{}\n").unwrap();
    let output = run(&["check", &path]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{}", stderr(&output));
    assert_eq!(run(&["check", "/nowhere"]).status.code(), Some(2));
}
