//! `compare` from end to end, through the real executables.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use crate::schema::check_schema;
use crate::support::{
    Running, Serving, cqldyno, drivers, json, run, says_hello, script, stderr, stdout, words, workers_and,
};
use cqldyno_reports::measure::{DEFINITIONS, SYSCALLS, SYSCALLS_PER_STATEMENT};
use nix::sys::signal::Signal;
use serde_json::Value;

const COUNT: u64 = 20_000;

fn cells(whole: &Value) -> &Vec<Value> {
    whole["cells"].as_array().unwrap()
}

fn value(cell: &Value, id: &str) -> f64 {
    cell["measures"][id]["value"].as_f64().unwrap_or_else(|| panic!("{id} of {cell}"))
}

#[test]
fn every_driver_runs_every_scenario_and_the_server_agrees() {
    let drivers = drivers();
    let folder = tempfile::tempdir().unwrap();
    let count = COUNT.to_string();
    let mut arguments = vec!["compare"];
    arguments.extend(&drivers);
    arguments.extend([
        "--count",
        &count,
        "--concurrency",
        "256",
        "--connections",
        "2",
        "--warmup",
        "2k",
        "--limits",
        "noise=none",
        "--blocks",
        "1",
        "--out",
        "kept",
    ]);
    arguments.extend(["--format", "json"]);
    let output = cqldyno(folder.path(), &arguments).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}\n{}", stdout(&output));
    assert!(said.contains("This takes about "), "{said}");
    let whole = json(&output);
    assert_eq!(cells(&whole).len(), drivers.len() * 3 * 2);
    let doctor = words(&stdout(&run(&["doctor", "--all"])));
    for cell in cells(&whole) {
        check_cell(cell, &doctor);
    }
    let asked: BTreeSet<(&str, &str)> = cells(&whole)
        .iter()
        .map(|cell| (cell["contender"].as_str().unwrap(), cell["scenario"].as_str().unwrap()))
        .collect();
    for driver in &drivers {
        for scenario in ["writes", "reads", "mixed"] {
            assert!(asked.contains(&(driver, scenario)), "{driver} {scenario}");
        }
    }
    check_kept(&folder.path().join("kept"), cells(&whole).len());
}

#[test]
fn a_contender_has_as_many_pages_as_its_own_page_size_asks() {
    let folder = tempfile::tempdir().unwrap();
    let own = [("floor", 4.0), ("floor+page-size=7", 15.0), ("floor+page-size=101", 1.0)];
    let mut arguments = vec!["compare"];
    arguments.extend(own.map(|(contender, _)| contender));
    arguments.extend([
        "--scenario",
        "rows",
        "--count",
        "200",
        "--warmup",
        "10",
        "--blocks",
        "1",
        "--limits",
        "noise=none",
    ]);
    arguments.extend(["--pass", "none", "--format", "json"]);
    let output = cqldyno(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let whole = json(&output);
    for (contender, pages) in own {
        let cell = cells(&whole).iter().find(|cell| cell["contender"] == contender);
        let cell = cell.unwrap_or_else(|| panic!("{contender} in {whole}"));
        assert!(cell["void"].is_null() && cell["failed"].is_null(), "{cell}");
        assert_eq!(value(cell, "server_executes"), 200.0 * pages, "{cell}");
    }
}

#[test]
fn every_driver_binds_and_decodes_every_type_that_all_of_them_know() {
    let drivers = drivers();
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = vec!["compare"];
    arguments.extend(&drivers);
    let limits = ["--count", "3k", "--concurrency", "64", "--warmup", "300", "--blocks", "1", "--limits", "noise=none"];
    arguments.extend(limits);
    arguments.extend(["--scenario", "types", "--pass", "none", "--format", "json"]);
    let output = cqldyno(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stderr(&output), stdout(&output));
    let whole = json(&output);
    assert_eq!(cells(&whole).len(), drivers.len());
    for cell in cells(&whole) {
        assert!(cell["failed"].is_null() && cell["void"].is_null(), "{cell}");
        assert_eq!(value(cell, "verified"), 3_000.0, "{cell}");
    }
}

/// The cell ended, nothing voids it, counts agree, and every measure is there or unavailable for a reason that doctor knows.
fn check_cell(cell: &Value, doctor: &str) {
    let asked = COUNT as f64;
    assert!(cell["failed"].is_null() && cell["void"].is_null(), "{cell}");
    assert_eq!(
        (value(cell, "statements"), value(cell, "verified"), value(cell, "errors")),
        (asked, asked, 0.0),
        "{cell}"
    );
    let issued: u64 = cell["issued_by_statement"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(issued, COUNT, "{cell}");
    let is_noop = cell["contender"] == "noop";
    if !is_noop {
        assert_eq!((value(cell, "server_executes"), value(cell, "connections")), (asked, 2.0), "{cell}");
        assert!(value(cell, "control_requests") >= 0.0);
    }
    for definition in
        DEFINITIONS.iter().filter(|definition| definition.pass.is_none_or(|pass| cell["pass"] == pass.name()))
    {
        let measure = &cell["measures"][definition.id];
        match measure["unavailable"].as_str() {
            Some(reason) => {
                let known = doctor.contains(&format!("not available: {}", words(reason)));
                assert!(known || is_noop, "{}: doctor does not say {reason:?}: {doctor}", definition.id);
            }
            None => {
                assert!(measure["value"].as_f64().is_some_and(|value| value >= 0.0), "{}: {measure}", definition.id);
                assert_eq!(measure["unit"], definition.unit.symbol(), "{}", definition.id);
            }
        }
    }
    if cell["pass"] == "counting" && doctor.contains("system calls available") {
        assert!(value(cell, SYSCALLS) > 0.0 && value(cell, SYSCALLS_PER_STATEMENT) > 0.0, "{cell}");
    }
}

fn check_kept(folder: &Path, cells: usize) {
    let lines = std::fs::read_to_string(folder.join("cells.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), cells);
    let run = cqldyno_reports::Run::from_json(&std::fs::read_to_string(folder.join("run.json")).unwrap()).unwrap();
    assert!(!run.interrupted && run.ended.is_some());
    let files =
        ["table.txt", "time.txt", "table.md", "cells.csv", "result.json", "bencher.json", "chart.svg", "page.html"];
    for file in files {
        assert!(folder.join(file).metadata().unwrap().len() > 0, "{file}");
    }
    check_schema(folder);
    for name in ["hdr", "logs"] {
        assert!(std::fs::read_dir(folder.join(name)).unwrap().count() > 0, "{name}");
    }
}

#[test]
fn this_machine_counts_system_calls_for_root_where_doctor_says_so() {
    let doctor = words(&stdout(&run(&["doctor", "--all"])));
    let known = ["system calls available", "system calls not available: "];
    assert!(known.iter().any(|text| doctor.contains(text)), "{doctor}");
    let id = Path::new("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id");
    if nix::unistd::geteuid().is_root() && id.exists() {
        assert!(doctor.contains("system calls available"), "{doctor}");
    }
}

#[test]
fn the_table_on_standard_output_names_what_was_run_and_every_contender() {
    drivers();
    let output = run(&[
        "compare",
        "floor",
        "noop",
        "--scenario",
        "writes",
        "--count",
        "5k",
        "--limits",
        "noise=none",
        "--blocks",
        "1",
        "--arrangement",
        "current,multi:1",
        "--wide",
        "--notes",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "5,000 statements",
        "1,024 in flight",
        "writes on current\n",
        "writes on multi:1\n",
        "Arrangement multi:1: ",
        "floor@",
        "noop@",
        "real",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn generations_are_shuffled_by_the_seed_and_have_a_control_that_no_flag_takes_away() {
    drivers();
    let orders = ["1", "1", "2"].map(|seed| {
        let mut arguments = vec!["compare", "floor", "noop", "--reference", "floor", "--scenario", "writes"];
        arguments.extend([
            "--count",
            "1k",
            "--warmup",
            "0",
            "--pass",
            "none",
            "--limits",
            "noise=none",
            "--seed",
            seed,
        ]);
        arguments.extend(["--format", "json", "--arrangement", "current,multi:1", "--blocks", "4"]);
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let whole = json(&output);
        assert_eq!(whole["run"]["plan"]["seed"].to_string(), seed);
        let of = |cell: &Value| (cell["arrangement"].to_string(), cell["contender"].to_string());
        let order: Vec<(String, String)> = cells(&whole).iter().map(of).collect();
        assert_eq!(order.len(), 4 * 2 * 3);
        for block in order.chunks(3) {
            assert!(block.iter().all(|(arrangement, _)| *arrangement == block[0].0), "{block:?}");
            let who: BTreeSet<&str> = block.iter().map(|(_, who)| who.as_str()).collect();
            assert_eq!(who, BTreeSet::from(["\"floor\"", "\"floor#control\"", "\"noop\""]));
        }
        order
    });
    assert_eq!(orders[0], orders[1]);
    assert_ne!(orders[0], orders[2]);
}

#[test]
fn default_settings_are_another_run_that_says_so_in_every_head() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = vec![
        "compare",
        "floor",
        "noop",
        "--scenario",
        "writes",
        "--count",
        "1k",
        "--limits",
        "noise=none",
        "--blocks",
        "1",
    ];
    arguments.extend(["--settings", "default", "--pass", "none", "--out", "kept"]);
    let output = cqldyno(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(words(&stdout(&output)).contains("default settings"), "{}", stdout(&output));
    assert!(stdout(&output).ends_with("page: kept/page.html\n"), "{}", stdout(&output));
    assert!(stderr(&output).ends_with("The run is kept in kept.\n"), "{}", stderr(&output));
    for file in ["table.txt", "table.md"] {
        let text = std::fs::read_to_string(folder.path().join("kept").join(file)).unwrap();
        assert!(words(&text).contains("default settings"), "{file}: {text}");
    }
    let run = std::fs::read_to_string(folder.path().join("kept/run.json")).unwrap();
    assert_eq!(cqldyno_reports::Run::from_json(&run).unwrap().plan.settings, "default");
}

#[test]
fn where_worker_and_server_share_the_cores_the_result_says_why() {
    drivers();
    let output =
        run(&["compare", "noop", "--scenario", "writes", "--count", "1k", "--pass", "none", "--format", "json"]);
    let whole = json(&output);
    let [arrangement] = whole["run"]["plan"]["arrangements"].as_array().unwrap().as_slice() else { panic!("{whole}") };
    let pinned = arrangement["id"].as_str().unwrap().starts_with("pinned+");
    match arrangement["note"].as_str() {
        None => assert!(pinned, "{arrangement}"),
        Some(note) => assert!(!pinned && note.contains("from 4 physical cores on"), "{note}"),
    }
    let head = run(&[
        "compare",
        "noop",
        "--scenario",
        "writes",
        "--count",
        "1k",
        "--limits",
        "noise=none",
        "--blocks",
        "1",
        "--pass",
        "none",
        "--notes",
    ]);
    assert_eq!(words(&stdout(&head)).contains("from 4 physical cores on"), !pinned);
    let cell = &cells(&whole)[0];
    let cores = arrangement["worker_cores"].as_array().unwrap().len() as f64;
    // The runtime's workers: beside them there is only the main thread, which waits.
    // What it used after the window is no part of that.
    let in_window = value(cell, "cpu") - value(cell, "cpu_after_turn");
    let expected = 100.0 * in_window / (value(cell, "wall") * cores.min(value(cell, "threads") - 1.0));
    assert!((value(cell, "worker_utilisation") - expected).abs() < 1e-9, "{cell}");
}

#[test]
fn wide_tells_the_whole_story_of_one_contender() {
    drivers();
    let output = run(&["compare", "floor", "--scenario", "mixed", "-n", "10k", "--wide", "--notes"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = words(&stdout(&output));
    for part in [
        "floor@",
        "timing pass",
        "counting pass",
        "server agrees yes: the worker issued 10,000 statements, the server counted 10,000",
        "a closed loop: this is throughput by Little's law",
        "5,000 statements `select`",
        "5,000 statements `insert`",
        "cpu per statement",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn quiet_says_nothing_on_standard_error() {
    drivers();
    let output = run(&["compare", "noop", "--scenario", "writes", "--count", "1k", "--pass", "none", "--quiet"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn a_cluster_with_a_password_is_compared_and_the_password_is_nowhere() {
    const SECRET: &str = "correct-horse-battery";
    let network: Vec<&str> = drivers().into_iter().filter(|name| *name != "noop").collect();
    let serving = Serving::start(&["--user", "ada"], &[("CQLDYNO_PASSWORD", SECRET)]);
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = vec!["compare", "-v"];
    arguments.extend(&network);
    arguments.extend([
        "--target",
        &serving.address,
        "--user",
        "ada",
        "--count",
        "5k",
        "--limits",
        "noise=none",
        "--blocks",
        "1",
        "--concurrency",
        "64",
    ]);
    arguments.extend(["--scenario", "mixed", "--out", "kept", "--format", "json"]);
    let with = |secret: &str| cqldyno(folder.path(), &arguments).env("CQLDYNO_PASSWORD", secret).output().unwrap();

    let output = with(SECRET);
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stderr(&output), stdout(&output));
    let whole = json(&output);
    for cell in cells(&whole) {
        assert!(cell["failed"].is_null() && cell["void"].is_null(), "{cell}");
        assert_eq!(value(cell, "verified"), 5_000.0);
        assert_eq!(value(cell, "connections"), 1.0, "{cell}");
        for id in ["control_requests", "server_executes"] {
            let reason = cell["measures"][id]["unavailable"].as_str();
            assert!(reason.is_some_and(|reason| reason.starts_with("The target is not ours")), "{id}: {cell}");
        }
    }
    assert_secret_is_nowhere(SECRET, &output, folder.path());

    std::fs::remove_dir_all(folder.path().join("kept")).unwrap();
    let wrong = "another-stallion-charger";
    let output = with(wrong);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(!stderr(&output).contains(wrong), "on standard error");
    assert_eq!(stderr(&output).matches("bad credentials").count(), 1, "{}", stderr(&output));
    assert!(!folder.path().join("kept").exists(), "a run without a cell leaves nothing");
}

#[test]
fn contenders_take_turns_on_a_cluster_that_is_not_ours_each_in_a_keyspace_of_its_own() {
    let network: Vec<&str> = drivers().into_iter().filter(|name| *name != "noop").collect();
    let serving = Serving::start(&[], &[]);
    let folder = tempfile::tempdir().unwrap();
    let asked = ["--target", &serving.address, "--scenario", "mixed", "--turn", "5k", "--within", "1s"];
    let how = ["--pass", "none", "--concurrency", "64", "--warmup", "1k", "--format", "json"];
    let output = cqldyno(folder.path(), &[&["compare"], &network[..], &asked, &how].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stderr(&output), stdout(&output));
    let whole = json(&output);
    assert_eq!(whole["run"]["plan"]["target"]["about"], "an existing cluster, with a keyspace for each contender");
    let turns: Vec<_> = cells(&whole).iter().filter(|cell| cell["contender"] == "scylla").collect();
    assert!(turns.len() > 1, "{turns:?}");
    for cell in turns {
        assert!(cell["failed"].is_null() && cell["void"].is_null(), "{cell}");
        assert_eq!((value(cell, "verified"), value(cell, "connections")), (5_000.0, 1.0), "{cell}");
    }
    let failed = |cell: &&serde_json::Value| !cell["failed"].is_null() || !cell["void"].is_null();
    assert_eq!(cells(&whole).iter().find(failed), None, "nobody met the rows of others");
}

fn assert_secret_is_nowhere(secret: &str, output: &Output, folder: &Path) {
    assert!(!stdout(output).contains(secret), "on standard output");
    assert!(!stderr(output).contains(secret), "on standard error");
    let mut folders = vec![folder.to_path_buf()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                let bytes = std::fs::read(&path).unwrap();
                assert!(
                    !bytes.windows(secret.len()).any(|window| window == secret.as_bytes()),
                    "in {}",
                    path.display()
                );
            }
        }
    }
    assert!(files > 4);
}

/// Processes with this mark in their environment.
fn marked(mark: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids =
        processes.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.parse::<u32>().is_ok());
    ids.filter(|id| {
        std::fs::read(format!("/proc/{id}/environ"))
            .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()))
    })
    .collect()
}

#[test]
fn ctrl_c_shows_what_is_finished_and_leaves_no_process_behind() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let hanging = folder.path().join("hanging");
    let text = format!(
        "{} echo '{{\"type\":\"ready\",\"settings\":[],\"threads\":1}}'; read go || exit; touch {}; exec sleep 600",
        says_hello("hangs", ""),
        hanging.display()
    );
    script(folder.path(), "hangs", &text);
    let mark = format!("CQLDYNO_TEST_MARK={}", folder.path().display());
    let mut command = cqldyno(folder.path(), &["compare", "noop", "hangs", "--scenario", "writes", "--count", "1k"]);
    command
        .args(["--format", "json", "--out", "kept", "--pass", "none", "--limits", "noise=none", "--blocks", "1"])
        .env("CQLDYNO_TEST_MARK", folder.path());
    command.env("CQLDYNO_WORKERS", workers_and(folder.path())).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    let started = Instant::now();
    while !hanging.exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "the second worker was not started");
        assert!(running.0.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(marked(&mark).len() >= 2, "the worker carries the mark");
    running.signal(Signal::SIGINT);
    // Read first: a pipe holds less than the whole result.
    let whole: Value = serde_json::from_reader(running.0.stdout.take().unwrap()).unwrap();
    assert_eq!(running.code(), Some(130));
    let left = marked(&mark);
    assert!(left.is_empty(), "processes are left: {left:?}");
    assert_eq!(whole["run"]["interrupted"], true);
    let [finished] = cells(&whole).as_slice() else { panic!("one cell was finished: {whole}") };
    assert_eq!((finished["contender"].as_str(), value(finished, "verified")), (Some("noop"), 1_000.0));
    let kept = std::fs::read_to_string(folder.path().join("kept/cells.jsonl")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(kept.trim_end()).unwrap(), *finished);
}

#[test]
fn a_folder_that_takes_no_more_files_does_not_cost_the_result() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("kept/table.txt");
    script(folder.path(), "spoils", &format!("mkdir -p {}; {} exit 3", in_the_way.display(), says_hello("spoils", "")));
    let mut command = cqldyno(folder.path(), &["compare", "noop", "spoils", "--scenario", "writes", "--count", "1k"]);
    command
        .args(["--pass", "none", "--limits", "noise=none", "--blocks", "1", "--out", "kept"])
        .env("CQLDYNO_WORKERS", workers_and(folder.path()));
    let output = command.output().unwrap();
    let (text, said) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(text.contains("spoils  failed") && text.contains("1k statements"), "{text}{said}");
    assert!(said.contains("Error: the result cannot be kept in") && said.contains("kept/table.txt"), "{said}");
}

#[test]
fn what_is_asked_of_the_embedded_node_and_the_drivers_is_named_in_the_head() {
    drivers();
    let mut arguments =
        vec!["compare", "floor", "--scenario", "writes", "--count", "1k", "--warmup", "0", "--pass", "none"];
    arguments.extend([
        "--answers",
        "each",
        "--delay",
        "2ms±25%",
        "--consistency",
        "one",
        "--request-timeout",
        "none",
        "--notes",
    ]);
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = words(&stdout(&output));
    for part in ["--answers each --delay 2ms±25%", " ONE, ", "no time limit", "after 0 to warm up"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_worker_that_misbehaves_is_a_row_with_the_reason_and_the_others_go_on() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "garbage", "echo 'Hello there, I am a worker.'; sleep 60");
    script(folder.path(), "crashes", &format!("{} echo 'out of luck' >&2; kill -SEGV $$", says_hello("crashes", "")));
    script(folder.path(), "quits", &format!("{} exit 3", says_hello("quits", "")));
    script(
        folder.path(),
        "hangs",
        &format!("{} echo '{{\"type\":\"ready\",\"settings\":[],\"threads\":1}}'; sleep 600", says_hello("hangs", "")),
    );
    let contenders = ["garbage", "crashes", "quits", "hangs", "noop"];
    let mut command = cqldyno(folder.path(), &["compare"]);
    command.args(contenders).args([
        "--scenario",
        "writes",
        "--count",
        "1k",
        "--limits",
        "noise=none,stall=1s",
        "--blocks",
        "1",
        "--format",
        "json",
    ]);
    let output = command.env("CQLDYNO_WORKERS", workers_and(folder.path())).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let whole = json(&output);
    let reason = |name: &str| {
        let of_row = whole["run"]["contenders"].as_array().unwrap().iter().find(|row| row["id"] == name).unwrap();
        let of_cell = cells(&whole).iter().find(|cell| cell["contender"] == name);
        let reason = of_row["unavailable"].as_str().or_else(|| of_cell?["failed"].as_str());
        reason.unwrap_or_else(|| panic!("{name}: {of_row} {of_cell:?}")).to_owned()
    };
    assert!(reason("garbage").contains("Hello there, I am a worker"), "{}", reason("garbage"));
    assert!(reason("crashes").contains("out of luck"), "{}", reason("crashes"));
    assert!(reason("quits").contains('3'), "{}", reason("quits"));
    assert!(reason("hangs").contains("1 s"), "{}", reason("hangs"));
    let noop: Vec<&Value> = cells(&whole).iter().filter(|cell| cell["contender"] == "noop").collect();
    assert!(!noop.is_empty() && noop.iter().all(|cell| cell["failed"].is_null() && value(cell, "verified") == 1_000.0));
}
