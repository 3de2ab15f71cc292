//! The example for GitHub Actions: what it does is what the executable does.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use yaml_rust2::{Yaml, YamlLoader};

use crate::support::{stderr, stdout, worker};

const CQLDYNO: &str = env!("CARGO_BIN_EXE_cqldyno");

/// A step that runs something: its name and its script.
type Step = (String, String);

fn example() -> (Yaml, Vec<Step>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/ci/github-actions.yml");
    let mut documents = YamlLoader::load_from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(documents.len(), 1);
    let whole = documents.remove(0);
    let steps = whole["jobs"]["compare"]["steps"].as_vec().unwrap();
    let run = |step: &Yaml| Some((step["name"].as_str()?.to_owned(), step["run"].as_str()?.to_owned()));
    let steps = steps.iter().filter_map(run).collect();
    (whole, steps)
}

/// The folder of a runner in which both workers were built, each of them of `driver`.
fn built(driver: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("target-head/release")).unwrap();
    fs::create_dir_all(at("workers")).unwrap();
    symlink(CQLDYNO, at("target-head/release/cqldyno")).unwrap();
    let found: PathBuf = worker(driver).unwrap();
    for name in [driver.to_owned(), format!("{driver}-base"), format!("{driver}-head")] {
        symlink(&found, at(&format!("workers/cqldyno-driver-{name}"))).unwrap();
    }
    folder
}

/// As the runner does it, with the example's variables but for those that make it short.
fn carry_out(folder: &Path, whole: &Yaml, script: &str) -> Output {
    let mut command = Command::new("bash");
    command.args(["-e", "-c", script]).current_dir(folder).stdin(Stdio::null());
    for (name, value) in whole["env"].as_hash().unwrap() {
        let value = value.as_str().map_or_else(|| value.as_i64().unwrap().to_string(), str::to_owned);
        command.env(name.as_str().unwrap(), value);
    }
    command.envs([("DRIVER", "floor"), ("COUNT", "2k"), ("BLOCKS", "1"), ("GITHUB_STEP_SUMMARY", "summary.md")]);
    command.output().unwrap()
}

#[test]
fn every_step_that_runs_something_is_a_script_that_bash_reads() {
    let (_, steps) = example();
    assert!(steps.len() >= 6, "{steps:?}");
    for (name, script) in steps {
        let output = Command::new("bash").args(["-n", "-c", &script]).output().unwrap();
        assert!(output.status.success(), "{name}: {}", stderr(&output));
    }
}

#[test]
fn what_it_asks_of_cqldyno_compares_two_builds_of_a_driver_under_names_of_their_own() {
    let (whole, steps) = example();
    let folder = built("floor");
    let asks: Vec<Step> = steps.into_iter().filter(|(_, script)| script.contains("release/cqldyno ")).collect();
    let names: Vec<&str> = asks.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Compare", "Judge", "Make a page"]);
    for (name, script) in &asks {
        let output = carry_out(folder.path(), &whole, script);
        // One block has no interval, so there is nothing to judge.
        let expected = if name == "Judge" { 2 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{name}: {}{}", stdout(&output), stderr(&output));
        let said = stderr(&output);
        assert!(name != "Judge" || said.contains("the run cannot be judged"), "{said}");
    }
    let text = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
    assert!(text("run/page.html").contains("floor-head@"));
    let run = text("run/run.json");
    assert!(run.contains("Its worker is a build of its own under this name: cqldyno-driver-floor-head"), "{run}");
}
