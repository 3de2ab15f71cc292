//! The example for GitHub Actions: what it does is what the executable does.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use yaml_rust2::{Yaml, YamlLoader};

use crate::pr::Checkout;
use crate::support::{CQLDYNO, executable, stderr, stdout};

/// A step that runs something: its name and its script.
type Step = (String, String);

fn example() -> (Yaml, Vec<Step>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/ci/github-actions.yml");
    let mut documents = YamlLoader::load_from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(documents.len(), 1);
    let whole = documents.remove(0);
    let steps = whole["jobs"]["judge"]["steps"].as_vec().unwrap();
    let run = |step: &Yaml| Some((step["name"].as_str()?.to_owned(), step["run"].as_str()?.to_owned()));
    let steps = steps.iter().filter_map(run).collect();
    (whole, steps)
}

#[test]
fn every_step_that_runs_something_is_a_script_that_bash_reads() {
    let (_, steps) = example();
    assert!(steps.len() >= 5, "{steps:?}");
    for (name, script) in steps {
        let output = Command::new("bash").args(["-n", "-c", &script]).output().unwrap();
        assert!(output.status.success(), "{name}: {}", stderr(&output));
    }
}

#[test]
fn nothing_is_to_be_filled_in_and_what_was_built_is_kept() {
    let (whole, _) = example();
    let step = |action: &str| -> Vec<&Yaml> {
        let steps = whole["jobs"]["judge"]["steps"].as_vec().unwrap();
        steps.iter().filter(|step| step["uses"].as_str().is_some_and(|uses| uses.starts_with(action))).collect()
    };
    let ours = step("actions/checkout@")[1];
    assert_eq!(ours["id"].as_str(), Some("cqldyno"));
    for (key, value) in [("repository", "${{ vars.CQLDYNO_REPOSITORY || "), ("ref", "${{ vars.CQLDYNO_REF }}")] {
        assert!(ours["with"][key].as_str().unwrap().starts_with(value), "{ours:?}");
    }
    let cache = &step("actions/cache@")[0]["with"];
    let kept: Vec<&str> = cache["path"].as_str().unwrap().lines().collect();
    assert_eq!(kept, ["~/.cargo/registry", "~/.cargo/git", "cqldyno/target", "cache"]);
    assert_eq!(whole["env"]["CQLDYNO_CACHE"].as_str(), Some("${{ github.workspace }}/cache"));
    assert!(cache["key"].as_str().unwrap().starts_with("cqldyno-${{ steps.cqldyno.outputs.commit }}-"), "{cache:?}");
}

#[test]
fn a_pull_request_that_is_dearer_fails_the_step_that_judges_it_and_its_comment_is_shown() {
    let (whole, steps) = example();
    let checkout = Checkout::new();
    let folder = checkout.folder();
    fs::create_dir_all(folder.join("cqldyno/target/release")).unwrap();
    symlink(CQLDYNO, folder.join("cqldyno/target/release/cqldyno")).unwrap();
    // As the runner does it, with the example's variables but for those that GitHub sets and those that make it short.
    executable(&folder.join("gh"), "echo \"$*\" > called; cat comment.md >> called");
    let carry_out = |wanted: &str| -> Output {
        let (_, script) = steps.iter().find(|(name, _)| name == wanted).unwrap();
        let short = script.replace("--within \"$WITHIN\"", "--exact --scenario tiny.toml");
        let short = short.replace("${{ github.event.pull_request.number }}", "7");
        assert!(wanted != "Judge" || short != *script, "{script}");
        let mut command = Command::new("bash");
        command.args(["-e", "-c", &short]).current_dir(folder).stdin(Stdio::null());
        for (name, value) in whole["env"].as_hash().unwrap() {
            command.env(name.as_str().unwrap(), value.as_str().unwrap());
        }
        checkout.variables(&mut command);
        command.envs([("BASE", "base"), ("GITHUB_STEP_SUMMARY", "summary.md"), ("GITHUB_REPOSITORY", "a/driver")]);
        command.output().unwrap()
    };
    let judged = carry_out("Judge");
    assert_eq!(judged.status.code(), Some(1), "{}{}", stdout(&judged), stderr(&judged));
    assert_eq!(carry_out("Show").status.code(), Some(0));
    let summary = fs::read_to_string(folder.join("summary.md")).unwrap();
    assert!(summary.starts_with("honest at HEAD is dearer: "), "{summary}");
    assert_eq!(carry_out("Comment").status.code(), Some(0));
    let called = fs::read_to_string(folder.join("called")).unwrap();
    assert_eq!(called, format!("pr comment 7 --repo a/driver --body-file comment.md\n{summary}"));
    fs::remove_file(folder.join("called")).unwrap();
    fs::write(folder.join("comment.md"), "").unwrap();
    assert_eq!((carry_out("Comment").status.code(), folder.join("called").exists()), (Some(0), false));
    assert!(folder.join("runs/first/page.html").is_file() && folder.join("runs/second/page.html").is_file());
}
