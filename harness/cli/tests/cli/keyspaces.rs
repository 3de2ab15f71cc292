//! The keyspaces of a run on a cluster that is not ours: its own, and gone when the run has ended, however it ended.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use cqldyno_reports::Run;
use nix::sys::signal::Signal;

use crate::support::{Running, Serving, cqldyno, drivers, refused, stderr};

const HOW: [&str; 9] =
    ["--scenario", "writes", "--limits", "noise=none", "--pass", "none", "--concurrency", "64", "--warmup"];
/// A name that a run has with `keep` alone.
const OTHERS: &str = "cqldyno_0";

/// A short comparison of two contenders on this cluster, kept in `kept`.
fn compared(folder: &Path, address: &str, further: &[&str]) -> Output {
    let _ = std::fs::remove_dir_all(folder.join("kept"));
    let asked = ["compare", "floor", "scylla", "--target", address, "--count", "2k", "--blocks", "1", "--out", "kept"];
    cqldyno(folder, &[&asked[..], &HOW, &["0"], further].concat()).output().unwrap()
}

/// A long comparison that is sent this signal when `is_time`.
fn ended_by(
    signal: Signal,
    folder: &Path,
    address: &str,
    further: &[&str],
    is_time: impl Fn(&Path) -> bool,
) -> Option<i32> {
    let _ = std::fs::remove_dir_all(folder.join("kept"));
    let asked = ["compare", "floor", "scylla", "--target", address, "--count", "2k", "--blocks", "2000", "--quiet"];
    let mut command = cqldyno(folder, &[&asked[..], &HOW, &["0", "--out", "kept"], further].concat());
    let mut running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let began = Instant::now();
    while !is_time(&folder.join("kept")) {
        assert!(began.elapsed() < Duration::from_secs(60), "it did not get there");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal(signal);
    running.code()
}

fn has_cells(kept: &Path) -> bool {
    std::fs::read_to_string(kept.join("cells.jsonl")).is_ok_and(|text| text.lines().count() > 1)
}

fn resumed(folder: &Path, further: &[&str]) -> Output {
    cqldyno(folder, &[&["compare", "--resume", "kept", "--within", "2s"], further].concat()).output().unwrap()
}

fn kept(folder: &Path) -> Run {
    Run::from_json(&std::fs::read_to_string(folder.join("kept/run.json")).unwrap()).unwrap()
}

fn recorded(folder: &Path) -> Vec<String> {
    kept(folder).plan.keyspaces
}

/// The file of the run with these keyspaces in it.
fn record(folder: &Path, mut run: Run, keyspaces: &[String]) {
    run.plan.keyspaces = keyspaces.to_vec();
    std::fs::write(folder.join("kept/run.json"), serde_json::to_string(&run).unwrap()).unwrap();
}

/// What the cluster answers, as text.
fn answer(address: &str, cql: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut exchange = |opcode: u8, body: &[u8]| {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        stream.write_all(&[&[4, 0, 0, 0, opcode], &length[..], body].concat()).unwrap();
        let mut header = [0; 9];
        stream.read_exact(&mut header).unwrap();
        let mut answer = vec![0; u32::from_be_bytes(header[5..].try_into().unwrap()) as usize];
        stream.read_exact(&mut answer).unwrap();
        let text = String::from_utf8_lossy(&answer).into_owned();
        assert_ne!(header[4], 0, "{text}");
        text
    };
    exchange(1, b"\0\x01\0\x0bCQL_VERSION\0\x053.0.0");
    let length = u32::try_from(cql.len()).unwrap().to_be_bytes();
    exchange(7, &[&length[..], cql.as_bytes(), &[0, 1, 0]].concat())
}

/// The keyspaces on the cluster whose names could be a run's, in their order.
fn keyspaces(address: &str) -> Vec<String> {
    let text = answer(address, "SELECT keyspace_name FROM system_schema.keyspaces");
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut names: Vec<String> = words.filter(|word| word.starts_with("cqldyno")).map(str::to_owned).collect();
    names.sort_unstable();
    names
}

fn create(address: &str, keyspace: &str) {
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
    answer(address, &format!("CREATE KEYSPACE {keyspace} WITH replication = {replication}"));
}

#[test]
fn keyspaces_of_a_run_are_gone_after_its_end_however_it_ended_and_those_of_others_stay() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let (folder, address) = (tempfile::tempdir().unwrap(), serving.address.as_str());
    let folder = folder.path();
    create(address, OTHERS);
    let is_clean = || assert_eq!((recorded(folder), keyspaces(address)), (Vec::new(), vec![OTHERS.to_owned()]));
    let output = compared(folder, address, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    is_clean();
    assert_eq!(ended_by(Signal::SIGINT, folder, address, &[], has_cells), Some(130));
    is_clean();
    let output = compared(folder, address, &["--consistency", "THREE"]);
    assert_eq!(output.status.code(), Some(1), "one node has no three replicas: {}", stderr(&output));
    is_clean();
}

#[test]
fn a_run_that_is_ended_while_it_makes_a_keyspace_drops_it() {
    drivers();
    let serving = Serving::start(&["--delay", "200ms"], &[]);
    let (folder, address) = (tempfile::tempdir().unwrap(), serving.address.as_str());
    // Floor waits for the answer, or makes the next one.
    let is_made = |_: &Path| !keyspaces(address).is_empty();
    assert_eq!(ended_by(Signal::SIGINT, folder.path(), address, &[], is_made), Some(130));
    assert!(!has_cells(&folder.path().join("kept")));
    assert_eq!((recorded(folder.path()), keyspaces(address)), (Vec::new(), Vec::new()));
}

#[test]
fn keyspaces_that_are_to_be_kept_may_exist_and_stay() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let (folder, address) = (tempfile::tempdir().unwrap(), serving.address.as_str());
    for options in [",keep", ",keep", ""] {
        let output = compared(folder.path(), &format!("{address}{options}"), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(keyspaces(address), ["cqldyno_0", "cqldyno_1"], "{options:?}");
    }
}

#[test]
fn a_run_that_was_killed_goes_on_in_its_keyspaces_and_drops_them() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let (folder, address) = (tempfile::tempdir().unwrap(), serving.address.as_str());
    let folder = folder.path();
    assert_eq!(ended_by(Signal::SIGKILL, folder, address, &[], has_cells), None);
    let own = recorded(folder);
    assert_eq!((own.len(), &own), (3, &keyspaces(address)), "of two contenders and the control");
    let other = tempfile::tempdir().unwrap();
    let output = compared(other.path(), address, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(keyspaces(address), own, "another run has others");
    resumed(folder, &[]);
    assert_eq!((recorded(folder), keyspaces(address)), (Vec::new(), Vec::new()));
}

#[test]
fn a_keyspace_that_a_run_did_not_make_is_refused_and_stays_whatever_it_is_called() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let (folder, address) = (tempfile::tempdir().unwrap(), serving.address.as_str());
    let folder = folder.path();
    assert_eq!(ended_by(Signal::SIGKILL, folder, address, &[], has_cells), None);
    let own = recorded(folder);
    record(folder, kept(folder), &[]);
    let output = resumed(folder, &[]);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains(&format!("the schema statement CREATE KEYSPACE {}", own[0])), "{error}");
    assert_eq!((recorded(folder), keyspaces(address)), (Vec::new(), own));
}

#[test]
fn a_run_with_nothing_left_but_keyspaces_drops_them() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let (folder, address) = (tempfile::tempdir().unwrap(), serving.address.as_str());
    let folder = folder.path();
    assert_eq!(compared(folder, address, &[]).status.code(), Some(0));
    let (run, cells) = (kept(folder), folder.join("kept/cells.jsonl"));
    let before = std::fs::read(&cells).unwrap();
    // Killed before it had dropped them, and ended without.
    for ended in [None, run.ended] {
        create(address, "cqldyno_own_0");
        record(folder, Run { ended, ..run.clone() }, &["cqldyno_own_0".to_owned()]);
        let output = resumed(folder, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!((recorded(folder), keyspaces(address)), (Vec::new(), Vec::new()), "{}", stderr(&output));
        assert_eq!(std::fs::read(&cells).unwrap(), before);
    }
    assert_eq!(kept(folder).ended, run.ended);
}

#[test]
fn after_a_refused_login_there_is_no_other_and_the_keyspaces_that_stay_are_named() {
    drivers();
    let serving = Serving::start(&["--user", "ada"], &[("CQLDYNO_PASSWORD", "correct-horse")]);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("right"), "correct-horse").unwrap();
    std::fs::write(folder.join("wrong"), "another-stallion").unwrap();
    let with = |password| ["--user", "ada", "--password-file", password];
    assert_eq!(ended_by(Signal::SIGKILL, folder, &serving.address, &with("right"), has_cells), None);
    let own = recorded(folder);
    let output = resumed(folder, &with("wrong"));
    let error = stderr(&output);
    assert_eq!((output.status.code(), error.matches("bad credentials").count()), (Some(1), 1), "{error}");
    assert_eq!(recorded(folder), own);
    assert!(
        error.contains(&format!("may still be on {}: {}, {} and {}.", serving.address, own[0], own[1], own[2])),
        "{error}"
    );
    resumed(folder, &with("right"));
    assert_eq!(recorded(folder), [""; 0]);
}

#[test]
fn a_schema_may_create_its_keyspace_without_a_condition() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let folder = tempfile::tempdir().unwrap();
    let text = cqldyno_scenarios::builtin_toml("writes").unwrap();
    let plain = text.replace("IF NOT EXISTS cqldyno", "shop").replace("cqldyno.", "shop.");
    assert!(plain.contains("CREATE KEYSPACE shop WITH"), "{plain}");
    std::fs::write(folder.path().join("shop.toml"), plain).unwrap();
    let asked = ["compare", "floor", "scylla", "--target", &serving.address, "--scenario", "shop.toml"];
    let how = ["--count", "2k", "--blocks", "2", "--limits", "noise=none", "--pass", "none"];
    let output = cqldyno(folder.path(), &[&asked[..], &how].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(keyspaces(&serving.address), [""; 0]);
}

#[test]
fn a_keyspace_of_a_scenario_has_a_name_of_ours_and_the_replicas_that_were_asked_for() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let folder = tempfile::tempdir().unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/example.toml");
    let target = format!("{},replication=datacenter1=2,keep", serving.address);
    let asked = ["compare", "floor", "--target", &target, "--scenario", example, "--count", "2k", "--blocks", "1"];
    let rest = ["--pass", "none", "--format", "json", "--out", "kept"];
    let output = cqldyno(folder.path(), &[&asked[..], &rest].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let whole = crate::support::json(&output);
    let schema = whole["run"]["scenarios"][0]["definition"]["schema"][0].as_str().unwrap();
    assert!(schema.contains("{'class': 'NetworkTopologyStrategy', 'datacenter1': 2}"), "{schema}");
    let command = whole["run"]["command"].as_str().unwrap();
    assert!(command.contains(&format!(" --target {target} ")), "{command}");
    let about = whole["run"]["plan"]["target"]["about"].as_str().unwrap();
    assert!(about.ends_with("a keyspace for each contender; replication datacenter1=2"), "{about}");
    assert_eq!(keyspaces(&serving.address), ["cqldyno_example_0"]);
}

#[test]
fn a_datacenter_without_the_address_is_named_with_the_one_that_has_it() {
    drivers();
    let serving = Serving::start(&[], &[]);
    let folder = tempfile::tempdir().unwrap();
    let output = compared(folder.path(), &format!("{},datacenter=elsewhere", serving.address), &[]);
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    let expected = format!(
        "the datacenter elsewhere was asked for, and {} is in datacenter1; name one or the other",
        serving.address
    );
    assert!(error.contains(&expected), "{error}");
    let output = compared(folder.path(), &format!("{},datacenter=datacenter1", serving.address), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn what_only_an_existing_cluster_has_is_refused_elsewhere_and_so_is_what_cannot_be_used() {
    for target in ["embedded", "cassandra"] {
        for (options, further, given) in [
            ("", &["--tls", "unverified"][..], "--tls"),
            ("", &["--tls", "ca=x"], "--tls"),
            (",datacenter=dc1", &[], "`datacenter`"),
            (",keep", &[], "`keep`"),
        ] {
            let error = refused(&[&["compare", "noop", "--target", &format!("{target}{options}")], further].concat());
            let expected = format!("{given} was given with the target {target}");
            assert!(error.contains(&expected) && error.contains("or name a cluster of yours with --target"), "{error}");
        }
    }
    let of = |further: &[&str]| refused(&[&["compare", "noop", "--target", "127.0.0.1"], further].concat());
    assert!(of(&["--tls"]).contains("--tls was given without a CA for the target 127.0.0.1"));
    assert!(of(&["--tls", "ca=/nowhere"]).contains("the CA file /nowhere cannot be read"));
    assert!(of(&["--tls", "unverified,cert=x"]).contains("`cert` was given without `key`"));
    assert!(of(&["--tls", "unverified,key=x"]).contains("`key` was given without `cert`"));
    assert!(of(&["--tls", "cert=x,key=x"]).contains("without `ca`, so no node would be verified"));
    let target = |options: &str| refused(&["compare", "noop", "--target", &format!("127.0.0.1,{options}")]);
    assert!(target("replication=three").contains("write the number of replicas, such as 3"));
    assert!(target("datacenter=").contains("has at least one character"));
    let datacenter = ["compare", "noop", "--target", "127.0.0.1,datacenter=dc1"];
    for default in [&["--settings", "default"][..], &["floor+settings=default"]] {
        let error = refused(&[&datacenter[..], default].concat());
        assert!(error.contains("a datacenter was given together with the settings `default`"), "{error}");
    }
}
