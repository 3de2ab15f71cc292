//! A folder of runs, through the executable.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{json, refused, run, stderr, stdout, words};

/// The latest run with every cell run once that is published with the sources.
fn published() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/published");
    let dates = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    dates.map(|date| date.join("classic")).filter(|path| path.is_dir()).max().unwrap()
}

/// A folder with the same run twice, nested by date, and its path.
fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for at in ["2026/11/first", "second"] {
        let to = folder.path().join(at);
        fs::create_dir_all(&to).unwrap();
        for name in ["run.json", "cells.jsonl"] {
            fs::copy(published().join(name), to.join(name)).unwrap();
        }
    }
    let path = folder.path().to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn nested_runs_are_one_history_in_every_format() {
    let (_folder, path) = folder();
    for (format, part) in [
        ("table", "2026/11/first, second"),
        ("markdown", "| scylla |"),
        ("csv", "1,second,"),
        ("json", "\"cpu_per_statement\""),
        ("html", "<svg"),
    ] {
        let output = run(&["history", &path, "--format", format, "--by", "version"]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", stderr(&output));
        let text = stdout(&output);
        assert!(words(&text).contains(part), "{format}: {text}");
    }
    let whole = json(&run(&["history", &path, "--format", "json"]));
    assert_eq!(whole["groups"].as_array().unwrap().len(), 1);
    assert_eq!(whole["groups"][0]["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_damaged_run_and_one_of_another_version_are_named_and_the_others_shown() {
    let (folder, path) = folder();
    fs::write(folder.path().join("second/cells.jsonl"), "{}\n").unwrap();
    fs::create_dir(folder.path().join("later")).unwrap();
    fs::write(folder.path().join("later/run.json"), "{\"schema\": 99}").unwrap();
    fs::write(folder.path().join("later/cells.jsonl"), "").unwrap();
    let output = run(&["history", &path, "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    assert!(error.contains("second cannot be used: its cell"), "{error}");
    assert!(error.contains("later cannot be used: the run has schema version 99"), "{error}");
    let whole = json(&output);
    assert_eq!(whole["groups"][0]["runs"][0]["name"], "2026/11/first");
    assert_eq!(whole["left_out"].as_array().unwrap().len(), 2);
    let csv = stdout(&run(&["history", &path, "--format", "csv"]));
    assert!(csv.lines().any(|line| line.starts_with(",later,") && line.contains("Left out: the run ")), "{csv}");
    fs::remove_dir_all(folder.path().join("2026")).unwrap();
    let output = run(&["history", &path]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains("none of the runs in"), "{}", stderr(&output));
}

#[test]
fn a_folder_without_runs_and_none_at_all_are_refused_with_what_to_name() {
    let folder = tempfile::tempdir().unwrap();
    let error = refused(&["history", folder.path().to_str().unwrap()]);
    assert!(error.contains("holds a run (a run.json)"), "{error}");
    assert!(refused(&["history", "/nowhere"]).contains("there is no folder /nowhere"));
}

/// The history of what was published on some days, from machines of two kinds: two versions of each scenario, and two counts.
#[test]
fn the_published_runs_are_told_apart_in_words() {
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/published");
    let folder = tempfile::tempdir().unwrap();
    for date in ["2026-11-20", "2026-11-22", "2026-11-24", "2026-11-25"] {
        for run in fs::read_dir(published.join(date)).unwrap().map(|entry| entry.unwrap().path()) {
            let to = folder.path().join(date).join(run.file_name().unwrap());
            let held = fs::read_dir(&run).into_iter().flatten().map(|entry| entry.unwrap().path());
            for file in held.filter(|file| file.is_file()) {
                fs::create_dir_all(&to).unwrap();
                fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
            }
        }
    }
    let shown = |by: &str| {
        let text = words(&stdout(&run(&["history", folder.path().to_str().unwrap(), "--by", by])));
        let plain = text.replace(", 1024 in flight with delay", "");
        assert!(!plain.contains("1 connections") && !plain.contains("1024 in flight"), "{text}");
        for processor in ["Group 1 The processor: AMD EPYC", "Group 2 The processor: Intel(R) Xeon(R) Processor"] {
            assert!(text.contains(processor), "{processor}: {text}");
        }
        text
    };
    let text = shown("date");
    let group = text.split("Group 2").next().unwrap();
    let place = |part: &str| group.find(part).unwrap_or_else(|| panic!("{part}: {group}"));
    assert!(place("writes on") < place("reads on") && place("reads on") < place("mixed on"), "{group}");
    assert!(place(" on multi:2: CPU") < place(" on current: CPU"), "{group}");
    shown("version");
}
