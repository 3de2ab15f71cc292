//! `bisect` on a small repository: its driver is `noop`, and the form in which it answers decides how much it allocates.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::builds::{in_workshop, workshop};
use crate::support::{Running, drivers, refused, stderr, stdout, words, worker};

/// Commits in their order: subject, and the file `form`.
const COMMITS: [(&str, &str); 7] = [
    ("Begin", "pending"),
    ("Rename a field", "pending"),
    ("Write documentation", "pending"),
    ("Break the build", "broken"),
    ("Mend the build", "pending"),
    ("Answer through a channel", "oneshot"),
    ("Tidy up", "oneshot"),
];
/// The place of the cause in [`COMMITS`].
const CAUSE: usize = 5;

/// Builds the driver of the checkout that the package names. The build of the commit whose subject is in the file `wait` lasts.
const BUILDS: &str = r#"
    place=$(sed -n '/^\[dependencies.honest\]/,/^$/s/^path = "\(.*\)"$/\1/p' "$9")
    form=$(cat "$place/form")
    if [ "$(git -C "$place" log -1 --format=%s)" = "$(cat "$here/wait")" ]; then touch "$here/builds"; sleep 100; fi
    if [ "$form" = broken ]; then
        echo '{"reason":"compiler-message","package_id":"x#honest@1.2.3","message":{"level":"error","message":"no method `x`"}}'; exit 101
    fi
    sed "s/FORM/$form/" "$here/worker" > "$here/built"
    chmod +x "$here/built"
    echo "{\"reason\":\"compiler-artifact\",\"executable\":\"$here/built\"}"
"#;

/// Passes the job on to `noop` with the form of the commit in the place of another one. What does so is not measured.
const WORKER: &str = r#"#!/bin/sh
exec 3<&0
pipe=FOLDER/pipe-$$
mkfifo $pipe
env -u LD_PRELOAD -u CQLDYNO_ALLOCATIONS sed -u 's/"form":"ready"/"form":"FORM"/' <&3 >$pipe &
exec NOOP <$pipe 3<&-
"#;

/// A workshop in `folder` with the repository `driver`, whose commits have tags `c0` to `c6`.
fn repository(folder: &Path) {
    drivers();
    workshop(folder, BUILDS);
    // Nobody but `noop` may send nothing.
    let adapter = fs::read_to_string(folder.join("sources/drivers/honest/Cargo.toml")).unwrap();
    let own = folder.join("sources/drivers/noop");
    fs::create_dir_all(own.join("src")).unwrap();
    fs::write(own.join("Cargo.toml"), adapter.replace("driver-honest", "driver-noop")).unwrap();
    fs::write(own.join("src/main.rs"), "fn main() {}\n").unwrap();
    let noop = worker("noop").unwrap().canonicalize().unwrap();
    let text = WORKER.replace("FOLDER", &folder.display().to_string()).replace("NOOP", &noop.display().to_string());
    fs::write(folder.join("worker"), text).unwrap();
    fs::write(folder.join("wait"), "").unwrap();
    let driver = folder.join("driver");
    fs::create_dir(&driver).unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false"];
        let output = Command::new("git").arg("-C").arg(&driver).args(identity).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    fs::write(driver.join("Cargo.toml"), "[package]\nname = \"honest\"\n").unwrap();
    for (place, (subject, form)) in COMMITS.iter().enumerate() {
        fs::write(driver.join("form"), form).unwrap();
        git(&["add", "."]);
        git(&["commit", "--quiet", "--allow-empty", "-m", subject]);
        git(&["tag", &format!("c{place}")]);
    }
}

/// `cqldyno bisect` between two tags, kept in `out`.
fn bisect(folder: &Path, [good, bad]: [&str; 2], out: &str) -> Command {
    let driver = format!("noop@path:{}+form=ready", folder.join("driver").display());
    let asked = ["bisect", &driver, "--good", good, "--bad", bad, "--meter", "allocations", "-n", "1k", "-c", "8"];
    in_workshop(folder, &[&asked[..], &["--out", out]].concat())
}

fn steps(folder: &Path, out: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(out).join("steps.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line.get("step").cloned()).collect()
}

fn seen(steps: &[Value]) -> Vec<(u64, String)> {
    steps.iter().map(|step| (step["at"].as_u64().unwrap(), step["seen"].as_str().unwrap().to_owned())).collect()
}

/// Starts a search and interrupts it while the commit of this subject is built: it says how to go on.
fn interrupted(folder: &Path, subject: &str, mut search: Command) {
    fs::write(folder.join("wait"), subject).unwrap();
    let _ = fs::remove_file(folder.join("builds"));
    let mut running = Running(search.stderr(Stdio::piped()).spawn().unwrap());
    while !folder.join("builds").exists() {
        assert!(running.0.try_wait().unwrap().is_none(), "it ended before the commit at which it is interrupted");
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal(Signal::SIGINT);
    assert_eq!(running.code(), Some(130));
    let mut said = String::new();
    running.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(words(&said).contains("Continue the search with `cqldyno bisect --resume kept`."), "{said}");
}

fn code(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}{}", stdout(output), stderr(output));
    words(&stdout(output))
}

#[test]
fn the_commit_that_changed_a_meter_is_found_past_one_that_does_not_build_and_after_an_interruption() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    repository(folder);
    interrupted(folder, COMMITS[0].0, bisect(folder, ["c0", "c6"], "kept"));
    assert_eq!(steps(folder, "kept"), [] as [Value; 0], "the first end was not built");
    interrupted(folder, COMMITS[1].0, in_workshop(folder, &["bisect", "--resume", "kept"]));
    let before = steps(folder, "kept");
    assert_eq!(seen(&before), [(6, "newer".to_owned()), (3, "skipped".to_owned())], "both ends are measured first");
    assert!(before[1]["why"].as_str().unwrap().contains("honest 1.2.3: no method `x`"), "{}", before[1]);

    fs::write(folder.join("wait"), "").unwrap();
    let output = in_workshop(folder, &["bisect", "--resume", "kept"]).output().unwrap();
    let text = code(&output, 0);
    let answer = format!("{} is the first with more allocations per statement: ", COMMITS[CAUSE].0);
    assert!(text.starts_with("noop ") && text.contains(&answer), "{text}");
    assert!(text.contains(&format!("{}. step version", COMMITS[CAUSE - 1].0)), "{text}");
    assert!(text.contains("no method `x`") && text.contains("Break the build n/a skipped"), "{text}");
    let after = steps(folder, "kept");
    assert_eq!(after[..2], before[..], "no step is taken twice");
    let places: Vec<u64> = seen(&after[2..]).iter().map(|(at, _)| *at).collect();
    assert_eq!(places, [1, 4, 5, 5], "the neighbours of the change are measured beside each other at the end");
    assert_eq!(after.last().unwrap()["beside"], 4);
    let again = in_workshop(folder, &["bisect", "--resume", "kept", "-q"]).output().unwrap();
    assert_eq!(code(&again, 0), text, "a search that is over is shown again");
    assert_eq!(steps(folder, "kept"), after);
}

#[test]
fn the_newer_end_may_be_the_good_one_and_equal_ends_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    repository(folder);
    let text = code(&bisect(folder, ["c6", "c4"], "kept").output().unwrap(), 0);
    assert!(text.contains(" Answer through a channel is the first with more allocations"), "{text}");
    assert!(text.contains("Mend the build (bad)"), "{text}");
    let text = code(&bisect(folder, ["c0", "c1"], "equal").output().unwrap(), 1);
    // Two runs of a busy machine may differ in some allocations.
    assert!(["do not differ in", "could not be told apart in"].iter().any(|said| text.contains(said)), "{text}");
    assert!(text.contains("allocations per statement (writes on current): "), "{text}");
    assert_eq!(seen(&steps(folder, "equal")), [(1, "unclear".to_owned())]);
}

#[test]
fn what_cannot_be_searched_is_refused_with_what_to_write() {
    assert!(
        refused(&["bisect", "scylla", "--good", "0.3", "--bad", "0.3.0"])
            .contains("\"0.3\" is no whole release of scylla")
    );
    let version = refused(&["bisect", "scylla@1.9.0", "--good", "0.3.1", "--bad", "0.3.0"]);
    assert!(
        version.contains("scylla@1.9.0 was asked for, and a search has two ends; write scylla, or scylla@path:DIR")
    );
    assert!(
        refused(&["bisect", "scyla", "--good", "0.3.1", "--bad", "0.3.0"]).contains("there is no driver \"scyla\"")
    );
    assert!(refused(&["bisect", "scylla", "--good", "0.3.1"]).contains("--bad"));
    assert!(refused(&["bisect", "--resume", "nowhere"]).contains("nowhere holds no search to continue"));
    let two = refused(&["bisect", "scylla", "--good", "0.3.1", "--bad", "0.3.0", "--scenario", "payload"]);
    assert!(two.contains("--scenario payload stands for several scenarios"), "{two}");

    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    repository(folder);
    let said = |ends: [&str; 2]| {
        let output = bisect(folder, ends, "kept").output().unwrap();
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{}", stderr(&output));
        words(&stderr(&output))
    };
    assert!(said(["c1", "c1"]).contains("--good c1 and --bad c1 are the same version; name two"));
    assert!(
        said(["c1", "none"]).contains("they have no commit, tag or branch \"none\"; name one that `git log` shows")
    );
    assert!(!folder.join("kept").exists(), "what is refused leaves nothing");
}

#[test]
fn a_search_that_goes_on_is_the_one_that_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let asked = r#"{"asked":{"driver":"scylla","good":"0.3.1","bad":"0.3.0","meter":"syscalls","scenario":"writes","arrangement":"current",
        "count":100000,"concurrency":1024,"within_s":300}}"#;
    let versions = r#"{"versions":{"versions":[["0.3.0","0.3.0"],["0.3.1","0.3.1"]],"good_is_newer":true}}"#;
    let log = format!("{}\n{versions}\n", asked.replace("\n        ", ""));
    fs::write(dir.path().join("steps.jsonl"), log).unwrap();
    let folder = dir.path().to_str().unwrap();
    let other =
        refused(&["bisect", "scylla", "--good", "0.3.1", "--bad", "0.3.0", "--meter", "cpu", "--resume", folder]);
    assert!(
        other.contains("has meter \"syscalls\", and meter \"cpu\" was asked for; leave all but --resume out"),
        "{other}"
    );
}
