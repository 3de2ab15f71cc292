//! The gate: its program gets its input untouched and its cores, and does not start without a word.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn pass(arguments: &[&str], input: &[u8]) -> Output {
    let test = std::env::current_exe().unwrap();
    let program: PathBuf = test.parent().unwrap().parent().unwrap().join("examples/stand_in");
    assert!(program.exists(), "{} is missing: `cargo test -p cqldyno-bench` builds it", program.display());
    let mut child = Command::new(program)
        .arg(cqldyno_bench::gate::SUBCOMMAND)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A gate that refuses its arguments does not wait for the word.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn everything_behind_the_first_line_belongs_to_the_program() {
    let output = pass(&["cat"], b"open\none\ntwo\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ntwo\n");
    assert!(output.status.success());
}

#[test]
fn arguments_are_passed_on_and_options_behind_the_program_are_its_own() {
    let output = pass(&["echo", "--cores", "a b"], b"open\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "--cores a b\n");
}

#[test]
fn the_program_is_not_started_when_the_parent_goes_away_before_the_word() {
    let output = pass(&["echo", "started"], b"");
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
}

#[test]
fn another_word_or_program_is_refused_with_a_sentence() {
    let output = pass(&["echo", "started"], b"close\n");
    assert_eq!(output.status.code(), Some(cqldyno_bench::gate::EXIT_REFUSED));
    let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(sentence.contains("\"open\\n\"") && output.stdout.is_empty(), "{sentence}");
    let output = pass(&["/nowhere/worker"], b"open\n");
    assert_eq!(output.status.code(), Some(cqldyno_bench::gate::EXIT_REFUSED));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/worker cannot be started"));
}

#[test]
fn the_programs_loader_looks_first_in_the_folder_that_the_gate_is_told() {
    let output = pass(&["--library-folder", "/opt/some lib", "printenv", "LD_LIBRARY_PATH"], b"open\n");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.trim_end().split(':').next(), Some("/opt/some lib"), "{text}");
    let output = pass(&["--library-folder"], b"open\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no folder after --library-folder"));
}

#[test]
fn the_program_has_the_cores_that_it_was_given() {
    let core = cqldyno_meter::Environment::read().cores[0].to_string();
    let output = pass(&["--cores", &core, "grep", "Cpus_allowed_list", "/proc/self/status"], b"open\n");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.split_whitespace().last(), Some(core.as_str()), "{text}");
    let output = pass(&["--cores", "none", "echo"], b"open\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("give numbers with commas"));
}
