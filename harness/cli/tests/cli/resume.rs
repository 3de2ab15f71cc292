//! A run survives: kill -9, a file cut in half, a full disk; and it is not gone on with where something changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::support::{
    CQLDYNO, Running, Serving, cqldyno, drivers, json, refused, says_hello, script, stderr, stdout, workers_and,
};
use cqldyno_reports::{Cell, Run};
use nix::sys::signal::Signal;

fn kept_run(folder: &Path) -> Run {
    Run::from_json(&std::fs::read_to_string(folder.join("kept/run.json")).unwrap()).unwrap()
}

fn kept_cells(folder: &Path) -> Vec<Cell> {
    let text = std::fs::read_to_string(folder.join("kept/cells.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whole lines of `cells.jsonl`, as far as it is there.
fn lines(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("kept/cells.jsonl")).map_or(0, |text| text.matches('\n').count())
}

fn resume(folder: &Path, further: &[&str]) -> Output {
    cqldyno(folder, &[&["compare", "--resume", "kept"], further].concat()).output().unwrap()
}

/// A comparison of floor and noop in four blocks with a control, killed with kill -9 when `least` cells are kept.
fn killed(folder: &Path, least: usize) {
    let arguments = ["compare", "floor", "noop", "--reference", "floor", "--scenario", "writes", "--count", "20k"];
    let mut command = cqldyno(folder, &arguments);
    command.args(["--warmup", "1k", "--blocks", "4", "--limits", "noise=none", "--pass", "none", "--out", "kept"]);
    let mut running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let started = Instant::now();
    while lines(folder) < least {
        assert!(started.elapsed() < Duration::from_secs(60), "no cell was kept");
        assert!(running.0.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(1));
    }
    running.signal(Signal::SIGKILL);
    assert_eq!(running.code(), None);
}

#[test]
fn a_run_of_an_earlier_version_is_refused_by_what_it_lacks() {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/published/2026-11-20/classic");
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    for file in ["run.json", "cells.jsonl"] {
        std::fs::copy(from.join(file), kept.join(file)).unwrap();
    }
    let output = resume(folder.path(), &[]);
    let said = stderr(&output);
    let why = "kept cannot go on: it does not hold the scenario writes; run the comparison again";
    assert!(output.status.code() == Some(1) && said.contains(why), "{said}");
}

/// A comparison in turns and one in cells on a cluster that dies: what they measured is there, and a new cluster goes on with it.
#[test]
fn a_target_that_dies_ends_the_run_at_once_with_its_table_and_the_run_goes_on_with_another() {
    drivers();
    for (how, kept) in [(&["--turn", "5k"][..], 6), (&["--count", "5k", "--blocks", "12"], 3)] {
        let folder = tempfile::tempdir().unwrap();
        // Below the ports that the kernel gives to others, so that it is still free when the target comes back.
        let port = (20_000 + std::process::id() % 10_000).to_string();
        let serving = Serving::at(&port, &[], &[]);
        let asked =
            ["compare", "scylla", "floor", "--target", &serving.address, "--scenario", "writes", "--warmup", "0"];
        let further = ["--limits", "noise=none", "--pass", "none", "--out", "kept"];
        let mut command = cqldyno(folder.path(), &[&asked[..], &further, how].concat());
        let out = |name: &str| std::fs::File::create(folder.path().join(name)).unwrap();
        let mut running = Running(command.stdout(out("out")).stderr(out("err")).spawn().unwrap());
        while lines(folder.path()) < kept {
            let said = std::fs::read_to_string(folder.path().join("err")).unwrap();
            assert!(running.0.try_wait().unwrap().is_none(), "it ended before its cells were kept: {said}");
            std::thread::sleep(Duration::from_millis(1));
        }
        let address = serving.address.clone();
        drop(serving);
        let code = running.code();
        let [table, said] = ["out", "err"].map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap());
        assert_eq!(code, Some(1), "{said}");
        let why = format!(
            "the target {address} no longer answers, so the run ended: nothing accepts a connection at {address}"
        );
        assert_eq!((said.matches(&why).count(), said.matches("onnection refused").count()), (1, 1), "{said}");
        assert!(said.contains("Go on with `cqldyno compare --resume kept`."), "{said}");
        assert!(table.contains("scylla") && table.contains("writes"), "{table}");
        let cells = kept_cells(folder.path());
        assert!(cells.len() >= kept && cells.iter().all(Cell::counts), "{cells:?}");
        let run = kept_run(folder.path());
        assert!(run.interrupted && run.checksum.is_some(), "{run:?}");

        let error = stderr(&resume(folder.path(), &["--within", "1s"]));
        assert!(error.contains("nothing accepts a connection at"), "{error}");
        // What it knows to be its own is gone.
        let _serving = Serving::at(&port, &[], &[]);
        let output = resume(folder.path(), &["--within", "1s"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let (all, run) = (kept_cells(folder.path()), kept_run(folder.path()));
        assert!(all.len() > cells.len() && all[..cells.len()] == cells[..], "{}", stderr(&output));
        assert_eq!((run.interrupted, run.plan.keyspaces.as_slice()), (false, &[][..]));
    }
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_block_under_way_and_a_cell_cut_in_half_runs_again() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path(), 4);
    let cells = folder.path().join("kept/cells.jsonl");
    let text = std::fs::read_to_string(&cells).unwrap();
    let whole: Vec<&str> = text.lines().take(4).collect();
    // Three whole cells, which are one block, and half a cell of the second block.
    std::fs::write(&cells, format!("{}\n{}", whole[..3].join("\n"), &whole[3][..whole[3].len() / 2])).unwrap();

    let output = resume(folder.path(), &["--format", "json"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("was cut off") && said.contains("3 turns are there already."), "{said}");
    let run = kept_run(folder.path());
    assert_eq!((run.resumed.len(), run.interrupted, run.ended.is_some()), (1, false, true));
    let cells = kept_cells(folder.path());
    assert_eq!(cells.len(), 12, "the first block is not run again");
    for block in 1..=4 {
        let mut who: Vec<&str> =
            cells.iter().filter(|cell| cell.block == block).map(|cell| cell.contender.as_str()).collect();
        who.sort_unstable();
        assert_eq!(who, ["floor", "floor#control", "noop"], "block {block}");
    }
    assert_eq!(json(&output)["cells"].as_array().unwrap().len(), 12);
    assert!(run.contenders.iter().any(|row| row.id == "floor#control" && row.control));

    let before = files(&folder.path().join("kept"));
    let again = resume(folder.path(), &[]);
    let said = stderr(&again);
    assert_eq!(again.status.code(), Some(0), "{said}");
    assert!(said.contains("nothing was left to do") && !said.contains("are there already"), "{said}");
    assert!(stdout(&again).contains("floor"));
    let after = files(&folder.path().join("kept"));
    for (path, is) in &after {
        assert_eq!(before.get(path), Some(is), "{} was touched", path.display());
    }
    assert_eq!(after.len(), before.len());
}

/// Every file below the folder, with what is in it and when it was written.
fn files(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => {
                let written = entry.metadata().unwrap().modified().unwrap();
                found.insert(entry.path(), (std::fs::read(entry.path()).unwrap(), written));
            }
        }
    }
    found
}

#[test]
fn a_run_that_ended_without_some_of_its_cells_is_gone_on_with() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path(), 4);
    assert_eq!(resume(folder.path(), &[]).status.code(), Some(0));
    // As an older cqldyno left it, which kept no checksum.
    let path = folder.path().join("kept/run.json");
    let mut run: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    run.as_object_mut().unwrap().remove("checksum");
    std::fs::write(&path, run.to_string()).unwrap();
    let cells = folder.path().join("kept/cells.jsonl");
    let text = std::fs::read_to_string(&cells).unwrap();
    let last = text.lines().count() - 1;
    std::fs::write(&cells, text.lines().take(last).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let output = resume(folder.path(), &[]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("turns are there already") && !said.contains("nothing was left to do"), "{said}");
    assert!(kept_cells(folder.path()).len() > last, "the last block was run again");
}

#[test]
fn the_block_under_way_starts_again_as_another_attempt_and_its_earlier_cells_stay() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path(), 4);
    let cells = folder.path().join("kept/cells.jsonl");
    let text = std::fs::read_to_string(&cells).unwrap();
    std::fs::write(&cells, text.lines().take(4).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let output = resume(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let attempts: Vec<(u32, u32)> = kept_cells(folder.path()).iter().map(|cell| (cell.block, cell.attempt)).collect();
    let expected =
        [(1, 1), (1, 1), (1, 1), (2, 1), (2, 2), (2, 2), (2, 2), (3, 1), (3, 1), (3, 1), (4, 1), (4, 1), (4, 1)];
    assert_eq!(attempts, expected);
}

#[test]
fn a_run_is_not_gone_on_with_where_something_changed_and_the_sentence_says_what() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path(), 1);
    let path = folder.path().join("kept/run.json");
    let run = std::fs::read_to_string(&path).unwrap();
    let began = kept_run(folder.path());
    let cells = folder.path().join("kept/cells.jsonl");
    let good = std::fs::read_to_string(&cells).unwrap();
    // A last line that was cut off stays, too, when the run is refused.
    let torn = format!("{good}{}", &good[..20]);
    std::fs::write(&cells, &torn).unwrap();
    let row = began.contenders.iter().find(|row| row.id == "noop").unwrap();
    assert_eq!((row.executable.len(), began.executable.len()), (64, 64), "SHA-256 in hexadecimal");
    for (found, other, words) in [
        (began.environment.kernel.as_str(), "Linux 1.0", "the kernel was Linux 1.0 and is Linux"),
        (
            &began.executable,
            &"0".repeat(64),
            "the build of cqldyno, and so of the embedded cluster, was 000000000000 and is",
        ),
        (&row.executable, &"0".repeat(64), "the worker's build of the contender noop was 000000000000 and is"),
        (&row.build, "b0", "the load generator's build of the contender floor was b0 and is"),
    ] {
        std::fs::write(&path, run.replace(found, other)).unwrap();
        let output = resume(folder.path(), &[]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(words), "{words}: {}", stderr(&output));
        assert_eq!(stdout(&output), "");
        assert_eq!(std::fs::read_to_string(&cells).unwrap(), torn, "{words}");
        assert!(!stderr(&output).contains("is dropped"), "{words}: {}", stderr(&output));
    }
    let mut elsewhere = began.clone();
    (elsewhere.plan.target.id, elsewhere.plan.target.embedded) = ("127.0.0.1:9".to_owned(), false);
    std::fs::write(&path, serde_json::to_string(&elsewhere).unwrap()).unwrap();
    let output = resume(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nothing accepts a connection at 127.0.0.1:9"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&cells).unwrap(), torn);
    std::fs::write(&path, &run[..run.len() / 2]).unwrap();
    assert!(stderr(&resume(folder.path(), &[])).contains("its run.json cannot be used"));
    std::fs::write(&path, &run).unwrap();
    std::fs::write(&cells, format!("nonsense\n{good}")).unwrap();
    let said = stderr(&resume(folder.path(), &[]));
    assert!(said.contains("line 1 of its cells.jsonl is damaged"), "{said}");
}

#[test]
fn a_run_that_had_ended_is_not_gone_on_with_where_its_cells_were_changed_or_taken_away() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "compare",
        "noop",
        "--scenario",
        "writes",
        "--count",
        "1k",
        "--blocks",
        "1",
        "--pass",
        "none",
        "--out",
        "kept",
    ];
    assert_eq!(cqldyno(folder.path(), &arguments).output().unwrap().status.code(), Some(0));
    assert_eq!(resume(folder.path(), &[]).status.code(), Some(0), "as it is");
    let cells = folder.path().join("kept/cells.jsonl");
    let text = std::fs::read_to_string(&cells).unwrap();
    let changed = text.replacen("\"statements\":{\"value\":1000", "\"statements\":{\"value\":1001", 1);
    assert_ne!(changed, text);
    for other in [changed, String::new()] {
        std::fs::write(&cells, &other).unwrap();
        let output = resume(folder.path(), &[]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("its cells are not those that were measured"), "{said}");
        assert_eq!(std::fs::read_to_string(&cells).unwrap(), other, "nothing was written");
    }
}

#[test]
fn what_was_asked_is_not_asked_again_of_a_run_that_goes_on() {
    for (flag, value) in [
        ("--count", Some("1k")),
        ("--blocks", Some("2")),
        ("--scenario", Some("reads")),
        ("--seed", Some("2")),
        ("--arrangement", Some("current")),
        ("--limits", Some("memory=1G")),
        ("--settings", Some("default")),
        ("--until", Some("2%")),
        ("--pass", Some("none")),
        ("--publish", None),
        ("--quick", None),
        ("--out", Some("other")),
    ] {
        let error = refused(&[&["compare", "--resume", "kept", flag][..], value.as_slice()].concat());
        let sentence = format!(
            "Error: --resume was given together with {flag}, and the resumed run keeps what its run.json says; leave out one or the \
             other\n"
        );
        assert_eq!(error, sentence);
    }
    let named = refused(&["compare", "noop", "--resume", "kept"]);
    assert!(named.starts_with("Error: --resume was given together with a contender, and the resumed run"), "{named}");
    let several = refused(&["compare", "--resume", "kept", "--rate", "5", "--count", "1k", "--seed", "2"]);
    assert!(several.contains("together with --rate, --count and --seed, and"), "{several}");
    let folder = tempfile::tempdir().unwrap();
    let output = resume(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("its run.json cannot be read") && said.contains("name the folder of a run"), "{said}");
}

#[test]
fn a_full_disk_ends_the_run_with_the_tables_of_what_there_is() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("kept")).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("kept/cells.jsonl")).unwrap();
    let arguments = ["compare", "noop", "--scenario", "writes", "--count", "1k", "--pass", "none", "--out", "kept"];
    let output = cqldyno(folder.path(), &arguments).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(stdout(&output).contains("noop"), "{said}");
    assert!(said.contains("Error: the run could not be kept in") && said.contains("No space left on device"), "{said}");
}

#[test]
fn a_file_that_may_not_grow_ends_the_run_as_a_full_disk_does_and_it_can_be_gone_on_with() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    // Blocks of 512 bytes: run.json fits, and so do some cells.
    let limited = format!(
        "ulimit -f 56; exec {CQLDYNO} compare noop --scenario writes --count 1k --blocks 12 --limits noise=none --pass none --out kept"
    );
    let output =
        Command::new("sh").args(["-c", &limited]).current_dir(folder.path()).env_remove("RUST_LOG").output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("File too large") && said.contains("--resume kept"), "{said}");
    let there = kept_cells(folder.path()).len();
    assert!((1..12).contains(&there), "{there} cells");
    let report = cqldyno(folder.path(), &["report", "kept"]).output().unwrap();
    assert_eq!(report.status.code(), Some(0), "what was kept can be shown: {}", stderr(&report));
    assert!(stdout(&output).contains("noop"));
    let output = resume(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(kept_cells(folder.path()).len(), 12);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    script(folder.path(), "starts", &format!("touch {}; {}", started.display(), says_hello("starts", "")));
    let mut command = cqldyno(folder.path(), &["compare", "starts", "--out", "/dev/null/run"]);
    let output = command.env("CQLDYNO_WORKERS", workers_and(folder.path())).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains("could not be kept in /dev/null/run"), "{}", stderr(&output));
    assert!(!started.exists());
}

#[test]
fn workers_of_different_builds_are_refused_with_both() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "one", &says_hello("one", "b1"));
    script(folder.path(), "two", &says_hello("two", "b2"));
    script(folder.path(), "own", &says_hello("own", ""));
    let compare = |contenders: &[&str]| {
        let arguments = [
            &["compare"],
            contenders,
            &["--scenario", "writes", "--count", "1k", "--limits", "noise=none", "--blocks", "1"],
        ]
        .concat();
        let mut command = cqldyno(folder.path(), &arguments);
        command.args(["--pass", "none", "--notes"]).env("CQLDYNO_WORKERS", workers_and(folder.path())).output().unwrap()
    };
    let output = compare(&["one", "own", "two"]);
    let said = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{said}");
    assert!(said.contains("the workers of one@1.2.3 and two@1.2.3 do not have the same load generator"), "{said}");
    assert!(said.contains("b1 in the first and b2 in the second") && said.contains("make build"), "{said}");
    // Its worker ends before it is ready, but it is asked: a worker that names no build is not refused.
    let output = compare(&["one", "own"]);
    assert!(stdout(&output).contains("does not say which load generator it has"), "{}", stdout(&output));
}

#[test]
fn the_last_lines_have_the_warnings_that_stand_over_the_tables() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let asked = ["--scenario", "writes", "--count", "1k", "--blocks", "1", "--limits", "noise=none", "--pass", "none"];
    let arguments = [&["compare", "floor", "noop"], &asked[..], &["--out", "kept"]].concat();
    assert_eq!(cqldyno(folder.path(), &arguments).output().unwrap().status.code(), Some(0));
    // As it is on a machine that others use, which no test can ask for.
    let mut run = kept_run(folder.path());
    (run.plan.noise_share, run.checksum) = (Some(0.1), None);
    let mut cells = String::new();
    for mut cell in kept_cells(folder.path()) {
        let (cores, wall_s, others_s, steal_s, witness_us) = (1, 1.0, 0.5, 0.0, None);
        cell.cores =
            Some(cqldyno_reports::RoundCores::Found { cores, host: None, wall_s, others_s, steal_s, witness_us });
        cells += &(serde_json::to_string(&cell).unwrap() + "\n");
    }
    let kept = folder.path().join("kept");
    std::fs::write(kept.join("run.json"), serde_json::to_string(&run).unwrap()).unwrap();
    std::fs::write(kept.join("cells.jsonl"), cells).unwrap();
    let output = resume(folder.path(), &[]);
    assert!(stderr(&output).contains("nothing was left to do"), "{}", stderr(&output));
    let shown = crate::support::words(&stdout(&output));
    assert!(shown.contains("1 of 1 rounds does not count, because the cores were busy."), "{shown}");
}

/// Two bad days, twice, killed after the first of them.
#[test]
fn bad_days_that_were_killed_go_on_with_the_day_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let words = "faults floor --day calm,errors --blocks 2 --rate 500 --lasts 1s --request-timeout none --out kept";
    let mut command = cqldyno(folder.path(), &words.split(' ').collect::<Vec<_>>());
    let mut running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    while lines(folder.path()) < 1 {
        assert!(running.0.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(1));
    }
    running.signal(Signal::SIGKILL);
    assert_eq!(running.code(), None);
    let before = kept_cells(folder.path());
    assert!((1..4).contains(&before.len()), "{before:?}");
    let output = resume(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (all, run) = (kept_cells(folder.path()), kept_run(folder.path()));
    assert_eq!((run.interrupted, run.resumed.len(), run.plan.faults), (false, 1, true));
    let mut ran: Vec<(String, u32)> = all.iter().map(|cell| (cell.scenario.clone(), cell.block)).collect();
    ran.sort();
    let due = [("calm", 1), ("calm", 2), ("errors", 1), ("errors", 2)].map(|(day, block)| (day.to_owned(), block));
    assert_eq!((ran.as_slice(), &all[..before.len()] == before.as_slice()), (&due[..], true));
    for cell in &all {
        let figures = ["statements", "lost", "unanswered"].map(|id| cell.measures[id].get());
        assert_eq!(
            (&cell.void, &cell.failed, figures),
            (&None, &None, [Some(500.0), Some(0.0), Some(0.0)]),
            "{cell:?}"
        );
    }
}
