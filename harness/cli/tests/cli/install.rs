//! What an installation has: manual pages, workers that are built when they are first asked for, and the cache that they leave.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::builds::workshop;
use crate::support::{CQLDYNO, cqldyno, drivers, executable, json, run, stderr, stdout, words, worker};

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
    let named = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    named.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let output = cqldyno(folder.path(), &["man", "pages/man1"]).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
    let mut expected = BTreeSet::from(["cqldyno.1".to_owned()]);
    for name in commands(&stdout(&run(&["--help"]))) {
        let of_it = commands(&stdout(&run(&[name.as_str(), "--help"])));
        expected.extend(of_it.into_iter().map(|action| format!("cqldyno-{name}-{action}.1")));
        expected.insert(format!("cqldyno-{name}.1"));
    }
    assert!(expected.contains("cqldyno-compare.1") && expected.contains("cqldyno-cache-clean.1"), "{expected:?}");
    let files = fs::read_dir(folder.path().join("pages/man1")).unwrap();
    let files: BTreeSet<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, expected);
    let page = fs::read_to_string(folder.path().join("pages/man1/cqldyno-compare.1")).unwrap();
    assert!(page.contains(".TH ") && page.contains("Exit codes: 0 done"), "{page}");
    let refused = cqldyno(folder.path(), &["man", "pages/man1/cqldyno.1"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let why = stderr(&refused);
    assert!(
        why.contains("cannot be written into pages/man1/cqldyno.1: ") && why.contains("name another folder"),
        "{why}"
    );
}

#[test]
fn what_builds_left_is_listed_and_removed_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let of = |arguments: &[&str]| {
        let output = cqldyno(folder.path(), &[&["cache"], arguments].concat()).env("CQLDYNO_CACHE", &cache).output();
        let output = output.unwrap();
        (output.status.code(), words(&(stdout(&output) + &stderr(&output))))
    };
    let (code, said) = of(&[]);
    assert_eq!(code, Some(0));
    assert!(said.ends_with("/cache: 0 items, 0 MiB"), "{said}");
    let (code, said) = of(&["clean", "scylla"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("\"scylla\" is not in the cache ") && said.ends_with("it is empty."), "{said}");
    let put = |file: &str, text: &str| {
        fs::create_dir_all(cache.join(file).parent().unwrap()).unwrap();
        fs::write(cache.join(file), text).unwrap();
    };
    put("workers/1/built.json", r#"{"order":"scylla@0.3.1+lto=fat"}"#);
    put("workers/1/cqldyno-driver-scylla", &"x".repeat(3 << 20));
    put("workers/2/built.json", r#"{"order":"floor"}"#);
    put("cassandra/5.0.9/SHA256SUMS", "");
    put("target/lock", "");
    put("runs/kept/run.json", "");
    let (_, said) = of(&[]);
    assert!(said.contains("/cache: 4 items, 3 MiB") && said.contains(" scylla@0.3.1+lto=fat 3 MiB, used 2"), "{said}");
    let (code, said) = of(&["clean", "floor", "scyla"]);
    assert_eq!(code, Some(2));
    let known = "there are floor, scylla@0.3.1+lto=fat, cassandra@5.0.9, compiled.";
    assert!(said.contains("\"scyla\" is not in the cache") && said.contains(known), "{said}");
    let held = fs::File::open(cache.join("target/lock")).unwrap();
    held.try_lock().unwrap();
    let (code, said) = of(&["clean"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("another process builds into the cache or runs a worker from it now")
            && said.contains("try again"),
        "{said}"
    );
    drop(held);
    let (code, said) = of(&["clean", "scylla", "cassandra"]);
    assert_eq!(code, Some(0));
    assert!(said.starts_with("Removed from ") && said.ends_with("/cache: 2 items, 3 MiB."), "{said}");
    assert!(
        !cache.join("workers/1").exists()
            && !cache.join("cassandra/5.0.9").exists()
            && cache.join("workers/2").exists()
    );
    assert_eq!(of(&["clean"]).0, Some(0));
    assert!(of(&[]).1.ends_with("/cache: 0 items, 0 MiB") && cache.join("runs/kept/run.json").exists());
}

#[test]
fn a_driver_without_a_worker_beside_cqldyno_is_built_and_so_is_floor_which_loads_its_rows() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    // The stand-in for cargo builds the worker of the name that it is given.
    let builds = r#"for word; do case $word in cqldyno-driver-*) name=$word ;; esac; done
        echo "{\"reason\":\"compiler-artifact\",\"executable\":\"$here/$name\"}""#;
    workshop(folder.path(), builds);
    for name in ["scylla", "floor"] {
        let package = format!("cqldyno-driver-{name}");
        let adapter = folder.path().join("sources/drivers").join(name);
        fs::create_dir_all(adapter.join("src")).unwrap();
        fs::write(adapter.join("Cargo.toml"), format!("[package]\nname = \"{package}\"\n")).unwrap();
        fs::write(adapter.join("src/main.rs"), "fn main() {}\n").unwrap();
        executable(&folder.path().join(&package), &format!("exec {}", worker(name).unwrap().display()));
        fs::write(folder.path().join(&package).with_extension("d"), "").unwrap();
    }
    // An installation is the program alone.
    let program = folder.path().join("bin/cqldyno");
    fs::create_dir(program.parent().unwrap()).unwrap();
    fs::copy(CQLDYNO, &program).unwrap();
    let installed = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        let path = std::env::var("PATH").unwrap();
        command.args(arguments).current_dir(folder.path()).env_remove("CQLDYNO_WORKERS");
        command.env("PATH", format!("{}:{path}", folder.path().display()));
        command.env("CQLDYNO_SOURCES", folder.path().join("sources"));
        command.env("CQLDYNO_CACHE", folder.path().join("cache")).output().unwrap()
    };
    let listed = words(&stdout(&installed(&["drivers"])));
    assert!(!listed.contains("not available"), "{listed}");
    let asked = ["compare", "scylla", "--scenario", "reads", "-n", "2000", "--blocks", "1", "--pass", "none"];
    let output = installed(&[&asked[..], &["--format", "json", "--out", "kept"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("Built scylla in ") && said.contains("Built floor in "), "{said}");
    let cell = &json(&output)["cells"][0];
    assert!(cell["failed"].is_null() && cell["void"].is_null(), "{cell}");
    let again = installed(&[&asked[..], &["--out", "again"]].concat());
    assert!(!stderr(&again).contains("Built"), "both are in the cache: {}", stderr(&again));
    assert!(built(folder.path(), "floor") && built(folder.path(), "scylla"));

    let reason = folder.path().join("bin/cqldyno-driver-cdrs-tokio.reason");
    fs::write(reason, "No compiler was found.\n").unwrap();
    let output = installed(&["compare", "cdrs-tokio", "scylla", "-n", "100", "--blocks", "1", "--format", "json"]);
    let why = json(&output)["run"]["contenders"][0]["unavailable"].clone();
    assert!(why.as_str().unwrap().ends_with("it was not built: No compiler was found."), "{why}");
}

/// Whether the cache has a worker of this driver.
fn built(folder: &Path, name: &str) -> bool {
    let workers = fs::read_dir(folder.join("cache/workers")).unwrap();
    workers.flatten().any(|one| one.path().join(format!("cqldyno-driver-{name}")).is_file())
}
