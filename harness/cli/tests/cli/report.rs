//! Runs that were kept, through the executable.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{cqldyno, json, refused, run, stderr, stdout};

/// The latest run with every cell run once that is published with the sources.
fn published() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/published");
    let dates = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    dates.map(|date| date.join("classic")).filter(|path| path.is_dir()).max().unwrap()
}

/// A copy of a run, which may be changed.
fn copy() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["run.json", "cells.jsonl"] {
        fs::copy(published().join(name), folder.path().join(name)).unwrap();
    }
    let path = folder.path().to_str().unwrap().to_owned();
    let document = run(&["report", &path, "--format", "json"]);
    fs::write(folder.path().join("result.json"), document.stdout).unwrap();
    (folder, path)
}

#[test]
fn a_run_that_was_kept_is_shown_as_it_was_from_its_folder_and_from_its_json() {
    let (_folder, path) = copy();
    let from_folder = run(&["report", &path, "--format", "markdown"]);
    assert_eq!(from_folder.status.code(), Some(0), "{}", stderr(&from_folder));
    assert!(stdout(&from_folder).contains("| scylla@"), "{}", stdout(&from_folder));
    let document = format!("{path}/result.json");
    assert_eq!(stdout(&run(&["report", &document, "--format", "markdown"])), stdout(&from_folder));
}

#[test]
fn wide_and_notes_show_more() {
    let (_folder, path) = copy();
    let lines = |flags: &[&str]| stdout(&run(&[&["report", &path], flags].concat())).lines().count();
    let (short, wide, notes) = (lines(&[]), lines(&["--wide"]), lines(&["--notes"]));
    assert!(short < wide && short < notes && lines(&["--wide", "--notes"]) > wide, "{short}, {wide}, {notes}");
    assert!(stdout(&run(&["report", &path])).contains("--wide") && short <= 60, "{short} lines");
}

#[test]
fn latest_is_the_run_in_cqldyno_runs_that_started_last() {
    let folder = tempfile::tempdir().unwrap();
    let of = |arguments: &[&str]| cqldyno(folder.path(), arguments).output().unwrap();
    for arguments in [&["report"][..], &["report", "latest"], &["check", "latest"], &["compare", "--resume", "latest"]]
    {
        let output = of(arguments);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{}", stderr(&output));
        assert!(stderr(&output).contains("there is no run in cqldyno-runs"), "{}", stderr(&output));
    }
    // Neither the greatest name nor the last one written.
    for (name, started) in [("z", "2026-01-02T03:04:05Z"), ("b", "2026-01-03T03:04:05Z"), ("a", "2026-01-01T03:04:05Z")]
    {
        let to = folder.path().join("cqldyno-runs").join(name);
        fs::create_dir_all(&to).unwrap();
        let mut run: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(published().join("run.json")).unwrap()).unwrap();
        run["started"] = started.into();
        fs::write(to.join("run.json"), run.to_string()).unwrap();
        fs::copy(published().join("cells.jsonl"), to.join("cells.jsonl")).unwrap();
    }
    fs::create_dir(folder.path().join("cqldyno-runs/zz-no-run")).unwrap();
    assert_eq!(of(&["report"]).status.code(), Some(0), "the latest run");
    let output = of(&["report", "latest", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(json(&output)["run"]["started"], "2026-01-03T03:04:05Z");
    assert!(stderr(&output).contains("The latest run is cqldyno-runs/b."), "{}", stderr(&output));
    let check = of(&["check", "latest", "--contender", "cdrs-tokio"]);
    assert!(stderr(&check).contains("The latest run is cqldyno-runs/b."), "{}", stderr(&check));
    let error = of(&["compare", "--resume", "latest"]);
    assert!(stderr(&error).contains("The latest run is cqldyno-runs/b."), "{}", stderr(&error));
}

#[test]
fn several_runs_stand_beside_each_other_without_ratios() {
    let (_one, first) = copy();
    let (_two, second) = copy();
    let output = run(&["report", &first, &second]);
    let text = stdout(&output);
    assert!(text.contains("No ratio is taken across runs") && !text.contains("reference's"), "{text}");
    assert!(refused(&["report", &first, &second, "--format", "time"]).contains("as `time`, which shows one"));
    assert!(
        refused(&["report", &first, &second, "--reference", "scylla"])
            .contains("several runs, which keep their own; name one")
    );
}

#[test]
fn several_runs_are_a_page_a_tidy_file_and_a_document_too() {
    let (_one, first) = copy();
    let (_two, second) = copy();
    let of = |format: &str| {
        let output = run(&["report", &first, &second, "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", stderr(&output));
        stdout(&output)
    };
    let page = of("html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("No ratio is taken across runs"), "{page}");
    assert!(page.contains(&first) && page.contains(&second), "{page}");
    let csv = of("csv");
    let rows = |name: &str| csv.lines().filter(|line| line.starts_with(&format!("{name},"))).count();
    assert!(csv.starts_with("run,contender,label,") && rows(&first) > 100 && rows(&first) == rows(&second), "{csv}");
    let document = of("json");
    crate::schema::check("runs", &document);
    let whole: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!((&whole["runs"][0]["name"], &whole["runs"][1]["name"]), (&first.into(), &second.into()));
}

#[test]
fn runs_of_one_plan_are_combined_and_one_that_is_named_twice_is_not() {
    let blocks = published().with_file_name("blocks");
    let first = blocks.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut later: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(blocks.join("run.json")).unwrap()).unwrap();
    later["started"] = "2026-12-24T03:04:05Z".into();
    later["environment"]["cpu"] = "Another 1".into();
    fs::write(folder.path().join("run.json"), later.to_string()).unwrap();
    fs::copy(blocks.join("cells.jsonl"), folder.path().join("cells.jsonl")).unwrap();
    let second = folder.path().to_str().unwrap();
    let text = stdout(&run(&["report", first, second]));
    assert!(text.contains("held") && text.contains("These runs differ in: processor."), "{text}");
    assert!(text.lines().count() < 60 && !text.contains("Each run by itself"), "{text}");
    assert!(stdout(&run(&["report", first, second, "--wide"])).contains("Each run by itself"));
    let document = stdout(&run(&["report", first, second, "--format", "json"]));
    crate::schema::check("runs", &document);
    let whole: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(whole["combined"]["reference"], "scylla");
    let text = stdout(&run(&["report", first, first]));
    assert!(text.replace("\n  ", " ").contains("are one and the same run") && !text.contains("held"), "{text}");
}

#[test]
fn another_reference_is_taken_and_an_unknown_one_refused_with_those_there_are() {
    let (_folder, path) = copy();
    for format in ["table", "time", "markdown", "csv", "json", "html"] {
        let output = run(&["report", &path, "--reference", "cdrs-tokio", "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", stderr(&output));
    }
    let whole = json(&run(&["report", &path, "--reference", "cdrs-tokio", "--format", "json"]));
    assert_eq!((&whole["reference"], &whole["run"]["plan"]["reference"]), (&"cdrs-tokio".into(), &"scylla".into()));
    crate::schema::check("document", &whole.to_string());
    let error = refused(&["report", &path, "--reference", "gocql"]);
    assert!(error.contains("\"gocql\" is none of the run's contenders: scylla, cdrs-tokio"), "{error}");
}

#[test]
fn what_is_no_run_is_refused_with_its_path() {
    let error = refused(&["report", "/nowhere"]);
    assert!(error.contains("there is no run /nowhere; name a run folder"), "{error}");
    let (folder, path) = copy();
    fs::write(folder.path().join("cells.jsonl"), "{}\n").unwrap();
    let output = run(&["report", &path]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains(&format!("the run {path} cannot be used: its cell")), "{}", stderr(&output));
    fs::write(folder.path().join("run.json"), "{\"schema\": 99}").unwrap();
    assert!(stderr(&run(&["report", &path])).contains("schema version 99"));
}

#[test]
fn a_check_of_a_run_with_one_block_is_refused_because_nothing_can_be_judged() {
    let (_folder, path) = copy();
    let said = refused(&["check", &path, "--contender", "cdrs-tokio"]);
    assert!(
        said.contains("needs at least 8 generations") && said.contains("there is 1; ask for more generations"),
        "{said}"
    );
    let against_itself = run(&["check", &path, "--against", &path]);
    assert_eq!(against_itself.status.code(), Some(0), "{}", stderr(&against_itself));
    assert!(refused(&["check", &path, "--threshold", "much"]).contains("write a share such as 5% or 0.05"));
    assert!(refused(&["check", &path, "--contender", "gocql"]).contains("\"gocql\" was to be checked"));
}

#[test]
fn a_run_of_a_scenario_from_a_file_is_repeated_with_the_file_that_the_run_holds() {
    let (folder, path) = copy();
    let file = |name: &str| folder.path().join(name);
    let text = fs::read_to_string(file("run.json")).unwrap();
    let mut asked: serde_json::Value = serde_json::from_str(&text).unwrap();
    let place = asked["scenarios"].as_array().unwrap().iter().position(|one| one["name"] == "writes").unwrap();
    asked["scenarios"][place]["name"] = "users".into();
    asked["scenarios"][place]["definition"]["name"] = "users".into();
    asked["checksum"].take();
    fs::write(file("run.json"), asked.to_string()).unwrap();
    let cells = fs::read_to_string(file("cells.jsonl")).unwrap();
    fs::write(file("cells.jsonl"), cells.replace("\"scenario\":\"writes\"", "\"scenario\":\"users\"")).unwrap();
    let definition = run(&["scenarios", "users", "--run", &path]);
    assert_eq!(definition.status.code(), Some(0), "{}", stderr(&definition));
    fs::write(folder.path().join("users.json"), &definition.stdout).unwrap();
    let page = stdout(&run(&["report", &path, "--format", "html"]));
    assert!(
        page.contains("--scenario users.json ") && page.contains("cqldyno scenarios users --run RUN &gt;users.json")
    );
    let plan =
        cqldyno(folder.path(), &["compare", "noop", "--scenario", "users.json", "--count", "1k", "--blocks", "1"])
            .output()
            .unwrap();
    assert_eq!(plan.status.code(), Some(0), "{}", stderr(&plan));
    for (arguments, said) in [
        (&["scenarios", "nobody", "--run", &path][..], "holds no scenario \"nobody\"; name one of users"),
        (&["scenarios", "users", "--run", "nowhere"], "there is no run nowhere"),
        (&["compare", "noop", "--scenario", "run.json"], "the scenario file run.json is no scenario in JSON"),
    ] {
        let output = cqldyno(folder.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn a_chart_is_a_file_and_the_others_of_the_run_are_named() {
    let (folder, path) = copy();
    let svg = |more: &[&str]| run(&[&["report", &path, "--format", "svg"], more].concat());
    let first = svg(&[]);
    assert!(stdout(&first).starts_with("<svg xmlns=") && stdout(&first).contains("CPU time per statement"));
    assert!(stderr(&first).contains("--chart picks another one:\n1  CPU time per statement"), "{}", stderr(&first));
    let second = svg(&["--chart", "2"]);
    assert!(stdout(&second).starts_with("<svg xmlns=") && stdout(&second) != stdout(&first));
    assert_eq!(stderr(&svg(&["--chart", "1"])).matches("--chart picks").count(), 0);
    let file = folder.path().join("a.svg");
    let kept = svg(&["--out", file.to_str().unwrap()]);
    assert_eq!((stdout(&kept).as_str(), fs::read_to_string(&file).unwrap()), ("", stdout(&first)));
    for (arguments, said) in [
        (&["--format", "svg", "--chart", "99"][..], "chart 99 was asked for, and the run has"),
        (&["--chart", "1"], "--chart was given for `table`, which shows no single chart; add --format svg"),
    ] {
        let error = refused(&[&["report", &path], arguments].concat());
        assert!(error.contains(said), "{error}");
    }
    let days = published().with_file_name("bad-days").to_str().unwrap().replace("2026-11-22", "2026-11-27");
    let error = refused(&["report", &days, "--format", "svg"]);
    assert!(error.contains("nothing to show as `svg`: it has no chart, only tables; use another format"), "{error}");
    assert!(refused(&["faults", "--format", "svg"]).contains("bad days have tables and no chart"));
}

#[test]
fn figures_are_had_in_bencher_s_format() {
    let (_folder, path) = copy();
    let metrics = json(&run(&["report", &path, "--format", "bencher"]));
    assert!(metrics["scylla/writes/multi:2"]["cpu-time"]["value"].as_f64().unwrap() > 0.0, "{metrics}");
}

#[test]
fn a_site_is_one_page_over_the_runs_below_the_folders_given() {
    let runs = tempfile::tempdir().unwrap();
    let (_folder, one) = copy();
    for name in ["a/monday", "a/tuesday"] {
        let to = runs.path().join(name);
        fs::create_dir_all(&to).unwrap();
        for file in ["run.json", "cells.jsonl"] {
            fs::copy(Path::new(&one).join(file), to.join(file)).unwrap();
        }
    }
    fs::write(runs.path().join("a/monday/page.html"), "").unwrap();
    let (path, site) = (runs.path().to_str().unwrap(), runs.path().join("site"));
    let made = |path: &str| run(&["report", path, path, "--site", site.to_str().unwrap()]);
    let output = made(path);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
    assert!(stderr(&output).contains("The page over 2 runs is "), "{}", stderr(&output));
    let page = fs::read_to_string(site.join("index.html")).unwrap();
    for link in ["<a href=\"../a/monday/page.html\">monday</a>", "<a href=\"../a/tuesday\">tuesday</a>"] {
        assert!(page.contains(link), "{link}: {page}");
    }
    fs::write(runs.path().join("a/tuesday/cells.jsonl"), "{}\n").unwrap();
    let output = made(path);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("Left out: the run ") && stderr(&output).contains("The page over 1 run is"));
    let said = |arguments: &[&str]| refused(&[&["report"], arguments].concat());
    let empty = site.to_str().unwrap();
    assert!(said(&[empty, "--site", empty]).contains("holds no run (a run.json); name run folders, or a folder"));
    assert!(said(&["/nowhere", "--site", empty]).contains("there is no run /nowhere"));
    assert!(said(&[path, "--site", empty, "--format", "csv"]).contains("they exclude each other"));
}
