//! The example for GitHub Actions: what it does is what the executable does.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::pr::Checkout;
use crate::support::{CQLDYNO, executable, stderr, stdout};

/// A step that runs something: its name and its script.
type Step = (String, String);

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/ci").join(name);
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The steps of the workflow and of the action that it uses.
fn steps() -> Vec<Value> {
    let (workflow, action) = (read("github-actions.yml"), read("action.yml"));
    let of = |steps: &Value| steps.as_array().unwrap().clone();
    [of(&workflow["jobs"]["judge"]["steps"]), of(&action["runs"]["steps"])].concat()
}

fn scripts() -> Vec<Step> {
    let run = |step: &Value| Some((step["name"].as_str()?.to_owned(), step["run"].as_str()?.to_owned()));
    steps().iter().filter_map(run).collect()
}

/// The only step that uses such an action, or the last of them.
fn using(action: &str) -> Value {
    let is_it = |step: &Value| step["uses"].as_str().is_some_and(|uses| uses.starts_with(action));
    steps().into_iter().rfind(is_it).unwrap()
}

#[test]
fn every_step_that_runs_something_is_a_script_that_bash_reads() {
    let steps = scripts();
    assert!(steps.len() >= 5, "{steps:?}");
    for (name, script) in steps {
        let output = Command::new("bash").args(["-n", "-c", &script]).output().unwrap();
        assert!(output.status.success(), "{name}: {}", stderr(&output));
    }
}

#[test]
fn nothing_is_to_be_filled_in_and_what_was_built_is_kept() {
    let ours = using("actions/checkout@");
    for (key, value) in [("repository", "${{ vars.CQLDYNO_REPOSITORY || "), ("ref", "${{ vars.CQLDYNO_REF }}")] {
        assert!(ours["with"][key].as_str().unwrap().starts_with(value), "{ours:?}");
    }
    assert_eq!(ours["with"]["path"].as_str(), Some("cqldyno"));
    using("./cqldyno/reports/ci");
    let cache = &using("actions/cache@")["with"];
    let kept: Vec<&str> = cache["path"].as_str().unwrap().lines().collect();
    assert_eq!(kept, ["~/.cargo/registry", "~/.cargo/git", "${{ steps.sources.outputs.root }}/target", "cache"]);
    assert!(cache["key"].as_str().unwrap().starts_with("cqldyno-${{ steps.sources.outputs.key }}-"), "{cache:?}");
    let action = read("action.yml");
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    for (name, input) in action["inputs"].as_object().unwrap() {
        assert!(!input["description"].is_null() && !input["default"].is_null(), "{name:?}");
    }
}

#[test]
fn a_pull_request_that_is_dearer_fails_the_step_that_judges_it_and_its_comment_is_shown() {
    let (steps, action) = (steps(), read("action.yml"));
    let checkout = Checkout::new();
    let folder = checkout.folder();
    fs::create_dir_all(folder.join("cqldyno/target/release")).unwrap();
    fs::create_dir_all(folder.join("cqldyno/reports/ci")).unwrap();
    symlink(CQLDYNO, folder.join("cqldyno/target/release/cqldyno")).unwrap();
    // As the runner does it, with the defaults of the action but for those that make it short.
    executable(&folder.join("gh"), "echo \"$*\" > called; cat comment.md >> called");
    let value = |text: &str| -> Option<String> {
        let input = text.strip_prefix("${{ inputs.")?.strip_suffix(" }}")?;
        Some(action["inputs"][input]["default"].as_str()?.to_owned())
    };
    let carry_out = |wanted: &str| -> Output {
        let step = steps.iter().rfind(|step| step["name"].as_str() == Some(wanted)).unwrap();
        let script = step["run"].as_str().unwrap();
        let short = script.replace("--within \"$WITHIN\"", "--exact --scenario tiny.toml");
        let short = short.replace("${{ github.event.pull_request.number }}", "7");
        assert!(wanted != "Judge" || short != *script, "{script}");
        let mut command = Command::new("bash");
        command.args(["-e", "-c", &short]).current_dir(folder).stdin(Stdio::null());
        for (name, text) in step["env"].as_object().into_iter().flatten() {
            command.envs(value(text.as_str().unwrap()).map(|value| (name, value)));
        }
        checkout.variables(&mut command);
        command.env("GITHUB_ACTION_PATH", folder.join("cqldyno/reports/ci"));
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
