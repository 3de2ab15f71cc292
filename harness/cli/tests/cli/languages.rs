//! Drivers in other languages, whose workers are built when they are first asked for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{cqldyno, stderr, stdout, words};

/// The drivers of the list that `make build` leaves out.
fn on_demand() -> Vec<&'static str> {
    let list = include_str!("../../../../drivers/LIST");
    let named = |line: &'static str| Some(line.split_once(" named on-demand")?.0);
    list.lines().filter(|line| !line.starts_with('#')).filter_map(named).collect()
}

/// The worker of `name` below the folder of workers built on demand.
fn built(cache: &Path, name: &str) -> Option<PathBuf> {
    let workers = fs::read_dir(cache.join("workers")).ok()?;
    workers.flatten().map(|one| one.path().join(format!("cqldyno-driver-{name}"))).find(|worker| worker.is_file())
}

/// Set where they may be built, which takes minutes: `make test-all` does, and CI.
const LANGUAGES: &str = "CQLDYNO_LANGUAGES";

#[test]
fn drivers_in_other_languages_are_built_play_tapes_and_check_every_row() {
    if std::env::var_os(LANGUAGES).is_none() {
        eprintln!("Skipped: {LANGUAGES} is not set; run `make test-all`.");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("languages");
    let names = on_demand();
    assert!(names.contains(&"java"), "{names:?}");
    let arguments =
        ["--count", "400", "--blocks", "1", "--scenario", "types", "--limits", "noise=none", "--pass", "none"];
    let arguments = [&["compare", "floor"][..], &names, &arguments, &["--out", "kept"]].concat();
    let compared = cqldyno(folder.path(), &arguments).env("CQLDYNO_CACHE", &cache).output().unwrap();
    let said = words(&(stdout(&compared) + &stderr(&compared)));
    for name in names {
        let Some(worker) = built(&cache, name) else {
            assert!(said.contains("was not found; install"), "{name}: {said}");
            eprintln!("Skipped: {name} cannot be built here.");
            continue;
        };
        // Times are not compared: a runtime that compiles goes on with it after a window, and longer on a busy machine.
        for check in ["refusal", "window", "count", "rows", "connections", "histogram"] {
            let output =
                cqldyno(folder.path(), &["conform", worker.to_str().unwrap(), "--only", check]).output().unwrap();
            assert!(output.status.success(), "{name} {check}: {}{}", stdout(&output), stderr(&output));
        }
    }
}
