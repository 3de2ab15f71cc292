//! A worker is the same whether `make build` builds it with the others or somebody builds it alone: cargo makes one set of
//! features a dependency for everything that one call builds, so each worker has a call of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use cqldyno_bench::COMPARED;

use crate::support::executable;

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The packages of every `cargo build` that `make build` calls, without building anything.
fn built_together() -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    executable(&folder.path().join("cargo"), &format!("echo \"$@\" >>{}", log.display()));
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("make")
        .args(["-C", WORKSPACE, "build", "-o", "native"])
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read_to_string(log).unwrap();
    let packages = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(2).filter(|pair| pair[0] == "-p").map(|pair| pair[1].to_owned()).collect()
    };
    log.lines().filter(|line| line.starts_with("build")).map(packages).collect()
}

/// The features of every package that is compiled when cargo is asked for `packages` in one call; a package that is compiled
/// twice, as for a build script, has both sets.
fn features(packages: &[String]) -> BTreeMap<String, BTreeSet<String>> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{p}|{f}"]);
    command.args(packages.iter().flat_map(|package| ["-p", package])).current_dir(Path::new(WORKSPACE));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        if let Some((package, features)) = line.trim_end_matches(" (*)").split_once('|') {
            found.entry(package.to_owned()).or_default().insert(features.to_owned());
        }
    }
    found
}

#[test]
fn building_the_workers_together_or_alone_gives_the_same_features() {
    let calls = built_together();
    for driver in COMPARED.iter() {
        let package = format!("cqldyno-driver-{driver}");
        let call = calls.iter().find(|call| call.contains(&package));
        let call = call.unwrap_or_else(|| panic!("`make build` does not build {package}: {calls:?}"));
        assert_eq!(features(call), features(std::slice::from_ref(&package)), "{package}");
        assert_eq!(call, &[package]);
    }
}

#[test]
fn one_call_for_two_workers_would_give_them_other_features() {
    let pair = ["cqldyno-driver-scylla".to_owned(), "cqldyno-driver-cdrs-tokio".to_owned()];
    let together = features(&pair);
    let alone = pair.iter().map(|one| features(std::slice::from_ref(one)));
    assert!(
        alone.into_iter().any(|alone| alone.iter().any(|(package, features)| together[package] != *features)),
        "the test beside this one could not fail"
    );
}
