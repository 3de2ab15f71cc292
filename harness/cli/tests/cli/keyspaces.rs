//! The keyspaces of a run on a cluster that is not ours: never one that exists, and gone when the run has ended, however it ended.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use cqldyno_reports::Run;
use nix::sys::signal::Signal;

use crate::support::{Running, Serving, cqldyno, drivers, refused, stderr, stdout};

const HOW: [&str; 8] =
    ["--scenario", "writes", "--noise-share", "none", "--no-counting", "--concurrency", "64", "--warmup"];

/// A short comparison of floor with itself on this cluster, kept in `kept`.
fn compared(folder: &Path, address: &str, further: &[&str]) -> Output {
    let _ = std::fs::remove_dir_all(folder.join("kept"));
    let asked = ["compare", "floor", "--target", address, "--count", "2k", "--blocks", "1", "--out", "kept"];
    cqldyno(folder, &[&asked[..], &HOW, &["0"], further].concat()).output().unwrap()
}

fn exists(keyspace: &str, address: &str) -> String {
    format!(
        "Error: the keyspace {keyspace} exists already on the target {address}: a run that was killed left it, or it is somebody's. Go on \
         with that run (--resume), or drop the keyspace if nobody needs it, or give --keep to use it and leave it there\n"
    )
}

/// A long comparison that is sent this signal when it has its first cells.
fn ended_by(signal: Signal, folder: &Path, address: &str) -> Option<i32> {
    let _ = std::fs::remove_dir_all(folder.join("kept"));
    let asked =
        ["compare", "floor", "--target", address, "--count", "2k", "--blocks", "2000", "--out", "kept", "--quiet"];
    let mut command = cqldyno(folder, &[&asked[..], &HOW, &["0"]].concat());
    let mut running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let began = Instant::now();
    while std::fs::read_to_string(folder.join("kept/cells.jsonl")).map_or(0, |text| text.lines().count()) < 2 {
        assert!(began.elapsed() < Duration::from_secs(60), "no cell was kept");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal(signal);
    running.code()
}

fn keyspaces(folder: &Path) -> Vec<String> {
    Run::from_json(&std::fs::read_to_string(folder.join("kept/run.json")).unwrap()).unwrap().plan.keyspaces
}

#[test]
fn keyspaces_are_gone_after_a_run_and_after_one_that_was_ended_or_failed() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let (folder, address) = (tempfile::tempdir().unwrap(), serving.address.as_str());
    let folder = folder.path();
    // Each would be refused if the one before had left its keyspace.
    for _ in 0..2 {
        let output = compared(folder, address, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(keyspaces(folder), [""; 0]);
    }
    assert_eq!(ended_by(Signal::SIGINT, folder, address), Some(130));
    assert_eq!(keyspaces(folder), [""; 0]);
    let output = compared(folder, address, &["--consistency", "THREE"]);
    assert_eq!(output.status.code(), Some(1), "one node has no three replicas: {}", stderr(&output));
    let output = compared(folder, address, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_keyspace_that_exists_is_refused_unless_it_is_to_be_kept() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let (folder, address) = (tempfile::tempdir().unwrap(), serving.address.as_str());
    let folder = folder.path();
    for _ in 0..2 {
        let output = compared(folder, address, &["--keep"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let output = compared(folder, address, &[]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).ends_with(&exists("cqldyno_0", address)), "{}", stderr(&output));
    assert!(!folder.join("kept").exists(), "a run without a cell leaves nothing");
    let output = compared(folder, address, &["--keep"]);
    assert_eq!(output.status.code(), Some(0), "the refused run dropped nothing: {}", stderr(&output));
}

#[test]
fn a_run_that_was_killed_goes_on_in_the_keyspaces_that_it_had_made_and_drops_them() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let (folder, address) = (tempfile::tempdir().unwrap(), serving.address.as_str());
    let folder = folder.path();
    assert_eq!(ended_by(Signal::SIGKILL, folder, address), None);
    assert_eq!(keyspaces(folder), ["cqldyno_0"]);
    let other = tempfile::tempdir().unwrap();
    assert!(stderr(&compared(other.path(), address, &[])).ends_with(&exists("cqldyno_0", address)));
    let asked = ["compare", "--resume", "kept", "--quiet", "--within", "2s"];
    let mut running = Running(cqldyno(folder, &asked).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    running.code();
    assert_eq!(keyspaces(folder), [""; 0]);
    let output = compared(other.path(), address, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_keyspace_of_a_scenario_has_a_name_of_ours_and_the_replicas_that_were_asked_for() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let folder = tempfile::tempdir().unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/example.toml");
    let asked =
        ["compare", "floor", "--target", &serving.address, "--scenario", example, "--count", "2k", "--blocks", "1"];
    let rest = ["--no-counting", "--keep", "--replication", "datacenter1=2", "--format", "json", "--out", "kept"];
    let output = cqldyno(folder.path(), &[&asked[..], &rest].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let whole = crate::support::json(&output);
    let schema = whole["run"]["scenarios"][0]["definition"]["schema"][0].as_str().unwrap();
    assert!(schema.contains("{'class': 'NetworkTopologyStrategy', 'datacenter1': 2}"), "{schema}");
    let command = whole["run"]["command"].as_str().unwrap();
    assert!(command.contains("--replication datacenter1=2") && command.contains("--keep"), "{command}");
    let about = whole["run"]["plan"]["target"]["about"].as_str().unwrap();
    assert!(about.ends_with("a keyspace for each contender; replication datacenter1=2"), "{about}");
    // The name that its tables had.
    let output = cqldyno(folder.path(), &[&asked[..], &["--no-counting", "--out", "other"]].concat()).output().unwrap();
    assert!(stderr(&output).ends_with(&exists("cqldyno_example_0", &serving.address)), "{}", stderr(&output));
}

#[test]
fn a_datacenter_without_the_address_is_named_with_the_one_that_has_it() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let folder = tempfile::tempdir().unwrap();
    let output = compared(folder.path(), &serving.address, &["--datacenter", "elsewhere"]);
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    let expected = format!(
        "the datacenter elsewhere was asked for, and {} is in datacenter1; name one or the other",
        serving.address
    );
    assert!(error.contains(&expected), "{error}");
    let output = compared(folder.path(), &serving.address, &["--datacenter", "datacenter1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn what_only_an_existing_cluster_has_is_refused_elsewhere_and_so_is_what_cannot_be_used() {
    for target in ["embedded", "cassandra"] {
        for flag in [&["--tls"][..], &["--tls-ca", "x"], &["--tls-cert", "x"], &["--datacenter", "dc1"], &["--keep"]] {
            let error = refused(&[&["compare", "noop", "--target", target], flag].concat());
            let expected = format!("{} was given with the target {target}", flag[0]);
            assert!(error.contains(&expected) && error.contains("or name a cluster of yours with --target"), "{error}");
        }
    }
    let of = |further: &[&str]| refused(&[&["compare", "noop", "--target", "127.0.0.1"], further].concat());
    assert!(of(&["--tls-ca", "/nowhere"]).contains("the CA file /nowhere cannot be read"));
    assert!(of(&["--tls", "--tls-cert", "x"]).contains("--tls-cert was given without --tls-key"));
    assert!(of(&["--tls", "--tls-key", "x"]).contains("--tls-key was given without --tls-cert"));
    assert!(of(&["--tls-cert", "x", "--tls-key", "x"]).contains("without --tls-ca, so no node would be verified"));
    assert!(of(&["--replication", "three"]).contains("write the number of replicas, such as 3"));
    assert!(of(&["--datacenter", ""]).contains("has at least one character"));
}
