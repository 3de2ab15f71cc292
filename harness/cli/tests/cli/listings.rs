//! `scenarios`, `drivers` and `doctor`.

use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::Value::Null;

use crate::support::{CQLDYNO, cqldyno, drivers, json, run, script, stderr, stdout, words, worker, workers_and};

/// Where nobody is who may nothing (nobody's id on Linux).
const NOBODY: u32 = 65_534;

#[test]
fn scenarios_are_listed_and_printed_as_toml_that_can_be_run_again() {
    let text = stdout(&run(&["scenarios"]));
    let names = [
        "writes",
        "reads",
        "mixed",
        "rows",
        "types",
        "payload-1k",
        "payload-16k",
        "batch",
        "prepare",
        "unprepared",
        "connect",
    ];
    for name in names {
        assert!(text.lines().any(|line| line.starts_with(name)), "{text}");
    }
    assert!(text.lines().any(|line| line.starts_with("node-stopped")), "days, too: {text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "in a pipe, too: {text}");
    let several = run(&["scenarios", "payload"]);
    assert_eq!(several.status.code(), Some(2));
    assert!(stderr(&several).contains("payload stands for several scenarios; print one of payload-1k, payload-16k"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.toml"), stdout(&run(&["scenarios", "reads"]))).unwrap();
    drivers();
    let arguments =
        ["compare", "noop", "--scenario", "mine.toml", "--count", "1000", "--format", "json", "--pass", "none"];
    let output = cqldyno(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(json(&output)["cells"][0]["scenario"], "reads");
}

#[test]
fn a_new_scenario_runs_as_it_is_and_overwrites_nothing() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let of = |arguments: &[&str]| cqldyno(folder.path(), arguments).output().unwrap();
    let output = of(&["scenario", "new", "My-Sensors.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("cqldyno compare --scenario My-Sensors.toml"), "{}", stdout(&output));
    let written = std::fs::read_to_string(folder.path().join("My-Sensors.toml")).unwrap();
    assert!(
        written.starts_with("# Run it: cqldyno compare --scenario ") && !written.contains("beside this file"),
        "{written}"
    );
    let asked =
        ["compare", "floor", "noop", "--scenario", "My-Sensors.toml", "-n", "3000", "--quick", "--format", "json"];
    let output = of(&asked);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("--quick gives figures in about 30 s, without intervals"), "{}", stderr(&output));
    for cell in json(&output)["cells"].as_array().unwrap() {
        assert_eq!((&cell["scenario"], &cell["failed"], &cell["void"]), (&"my-sensors".into(), &Null, &Null), "{cell}");
    }
    std::fs::write(folder.path().join("mine.toml"), "mine").unwrap();
    let again = of(&["scenarios", "new", "mine.toml"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("mine.toml exists and is not overwritten; name a new file"), "{}", stderr(&again));
    assert_eq!(std::fs::read_to_string(folder.path().join("mine.toml")).unwrap(), "mine");
    assert_eq!(of(&["scenario", "new", "no/such/folder.toml"]).status.code(), Some(2));
}

#[test]
fn the_commented_example_runs_unchanged() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/example.toml");
    let asked =
        ["compare", "floor", "noop", "--scenario", file, "--count", "3000", "--blocks", "1", "--format", "json"];
    let output = cqldyno(folder.path(), &asked).args(["--pass", "none"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let cells = json(&output)["cells"].clone();
    for cell in cells.as_array().unwrap() {
        assert_eq!((&cell["scenario"], &cell["failed"], &cell["void"]), (&"example".into(), &Null, &Null), "{cell}");
    }
    assert_eq!(cells.as_array().unwrap().len(), 2);
}

#[test]
fn drivers_are_listed_with_their_versions_and_what_they_run_on() {
    for arguments in [&["drivers"][..], &["drivers", "--all"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        for driver in drivers() {
            let is_it = |line: &str| line == driver || line.starts_with(&format!("{driver}@"));
            assert!(text.lines().any(is_it), "{driver}: {text}");
        }
        if arguments.len() == 1 {
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.lines().count() <= 32, "it fits a screen: {text}");
        } else {
            assert!(text.contains("tokio 1."), "{text}");
        }
    }
}

#[test]
fn the_drivers_fit_a_screen_and_say_what_can_be_set_and_built() {
    drivers();
    let text = words(&stdout(&run(&["drivers"])));
    assert!(
        text.contains("options routing, compression, api, schema,") && text.contains(", built on demand"),
        "{text}"
    );
    assert!(text.contains("`cqldyno drivers NAME` explains options"), "{text}");
    let all = words(&stdout(&run(&["drivers", "--all"])));
    assert!(all.contains(">=1.0.0, <2.0.0 or >=0.15.0, <1.0.0 or"), "{all}");
    let both = run(&["drivers", "scylla", "--all"]);
    assert_eq!(both.status.code(), Some(2), "{}", stderr(&both));
}

#[test]
fn a_driver_that_is_missing_or_broken_is_listed_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "broken", "echo 'libx.so.2: cannot open shared object file' >&2; exit 127");
    let mut command = cqldyno(folder.path(), &["drivers"]);
    let output = command.env("CQLDYNO_WORKERS", workers_and(folder.path())).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = words(&stdout(&output));
    assert!(text.contains("broken not available"), "{text}");
    assert!(text.contains("libx.so.2: cannot open shared object file"), "{text}");
}

#[test]
fn doctor_says_of_every_meter_and_every_driver_whether_it_is_there() {
    let output = run(&["doctor", "--all"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for name in
        ["processor", "cores", "memory", "kernel", "noise", "open files", "system calls", "CPU time", "libcassandra"]
            .into_iter()
            .chain(["siblings", "caches", "governor", "steal", "hypervisor"])
    {
        assert!(text.lines().any(|line| line.trim_start().starts_with(name)), "{name}: {text}");
    }
    for meter in &cqldyno_meter::ALL {
        let is_told = |line: &str| line.contains("available; needs ") || line.contains("not available: ");
        let mut lines = text.lines().filter(|line| line.trim_start().starts_with(meter.name));
        assert!(lines.any(is_told), "{}: {text}", meter.name);
        assert!(words(&text).contains(&format!("needs {}", meter.needs)), "{}: {text}", meter.name);
    }
    for driver in drivers() {
        assert!(
            text.lines().any(|line| line.trim_start().starts_with(driver) && line.contains("available: ")),
            "{text}"
        );
    }
}

#[test]
fn doctor_begins_with_what_is_missing_and_leaves_the_rest_to_all() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "broken", "echo 'libx.so.2: cannot open shared object file' >&2; exit 127");
    let doctor = |arguments: &[&str]| {
        let output =
            cqldyno(folder.path(), arguments).env("CQLDYNO_WORKERS", workers_and(folder.path())).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let (short, long) = (doctor(&["doctor"]), doctor(&["doctor", "--all"]));
    for text in [&short, &long] {
        let missing = text.split("\n\n").next().unwrap();
        assert!(
            missing.starts_with("Missing, or to change\n") && words(missing).contains("broken not available: "),
            "{text}"
        );
    }
    assert!(short.contains("other checks are in order; `cqldyno doctor --all` shows them.\n"), "{short}");
    assert!(!short.contains("\n  processor ") && long.contains("\nmachine\n  processor "), "{short}{long}");
}

#[test]
fn what_doctor_tells_an_unprivileged_user_stands_in_that_users_results() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    // Copies, because nobody may not be allowed to enter the folder of this project.
    let program = folder.path().join("cqldyno");
    std::fs::copy(CQLDYNO, &program).unwrap();
    std::fs::copy(worker("noop").unwrap(), folder.path().join("cqldyno-driver-noop")).unwrap();
    let is_root = nix::unistd::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(folder.path()).env_remove("CQLDYNO_WORKERS");
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().unwrap()
    };
    let doctor = as_nobody(&["doctor", "--all"]);
    assert_eq!(doctor.status.code(), Some(0), "{}", stderr(&doctor));
    let doctor = words(&stdout(&doctor));
    let output =
        as_nobody(&["compare", "noop", "--scenario=writes", "--count=10k", "--pass=syscalls", "--format=json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let whole = json(&output);
    let cell =
        |pass: &str| whole["cells"].as_array().unwrap().iter().find(|cell| cell["pass"] == pass).expect("a cell");
    for (pass, id, meter) in [
        ("counting", "syscalls", "system calls"),
        ("counting", "syscalls_per_statement", "system calls"),
        ("syscalls", "syscalls_by_name", "calls by name"),
    ] {
        let measure = &cell(pass)["measures"][id];
        match measure["unavailable"].as_str() {
            Some(reason) => {
                assert!(doctor.contains(&format!("not available: {}", words(reason))), "{reason} is not in: {doctor}");
            }
            None => {
                let available = format!("{meter} available");
                assert!(measure["value"].is_f64() && doctor.contains(&available), "{measure}: {doctor}")
            }
        }
    }
}
