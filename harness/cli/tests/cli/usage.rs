//! Help, and what a command says of itself.

use crate::support::{cqldyno, refused, run, stderr, stdout, words};

#[test]
fn help_goes_to_standard_output_and_ends_with_examples() {
    for arguments in [
        vec!["--help"],
        vec!["compare", "--help"],
        vec!["report", "--help"],
        vec!["check", "--help"],
        vec!["drivers", "--help"],
        vec!["scenarios", "--help"],
        vec!["serve", "--help"],
        vec!["doctor", "--help"],
        vec!["history", "--help"],
        vec!["bisect", "--help"],
        vec!["pr", "--help"],
        vec!["completions", "--help"],
        vec!["scenario", "new", "--help"],
        vec!["help"],
        vec!["help", "compare"],
    ] {
        let output = run(&arguments);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(stderr(&output), "");
        assert!(text.contains("Examples:\n  cqldyno ") || text.contains("Examples:\n  sudo"), "{text}");
        assert!(!text.contains("__gate"), "{text}");
        assert!(text.contains("\nExit codes: 0 "), "{text}");
    }
}

#[test]
fn short_help_fits_a_terminal_of_80_by_40_and_points_to_the_long_one() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["compare", "report", "check", "history", "bisect", "pr", "drivers", "scenarios", "serve", "doctor"]
    {
        let output = cqldyno(folder.path(), &[command, "-h"]).env("COLUMNS", "80").output().unwrap();
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(text.lines().count() < 40, "{} lines: {text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains("--consistency"), "what few need is in the long help: {text}");
    }
    let compare = stdout(&run(&["compare", "-h"]));
    for part in ["\nWhat runs:\n", "\nHow much:\n", "\nOutput:\n", "-n, --count", "-c, --concurrency", "compare --help"]
    {
        assert!(compare.contains(part), "{part}: {compare}");
    }
    let long = stdout(&run(&["compare", "--help"]));
    assert!(long.contains("--consistency") && long.contains("\nDrivers and server:\n"), "{long}");
}

#[test]
fn help_names_the_variables_for_further_workers_and_for_what_is_built() {
    for arguments in [&["--help"][..], &["drivers", "--help"]] {
        let text = stdout(&run(arguments));
        assert!(text.contains("CQLDYNO_WORKERS") && text.contains("CQLDYNO_CACHE"), "{text}");
    }
}

#[test]
fn a_long_help_has_no_empty_lines_within_its_sections() {
    for command in ["compare", "serve"] {
        let text = stdout(&run(&["help", command]));
        let lines: Vec<&str> = text.lines().collect();
        let is_padding = |pair: &&[&str]| pair[0].is_empty() && pair[1].starts_with(' ');
        assert_eq!(lines.windows(2).find(is_padding), None, "{text}");
        assert!(lines.len() <= 180, "{} lines: {text}", lines.len());
    }
}

#[test]
fn without_a_command_the_short_help_is_printed() {
    let output = run(&[]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert_eq!(stdout(&output), stdout(&run(&["-h"])));
    for command in ["compare", "report", "check", "history", "drivers", "scenarios", "serve", "doctor", "completions"] {
        assert!(stdout(&output).lines().any(|line| line.starts_with(&format!("  {command} "))), "{command}");
    }
}

#[test]
fn completions_know_commands_flags_drivers_and_scenarios() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let script = stdout(&output);
        for word in ["compare", "scenarios", "concurrency", "cdrs-tokio", "payload-16k", "flamegraph", "markdown"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(refused(&["completions", "tcl"]).contains("bash"));
}

/// Options of `cqldyno compare`, of which people have more than enough.
#[test]
fn compare_has_at_most_40_flags() {
    let help = stdout(&run(&["compare", "--help"]));
    let is_flag =
        |line: &&str| line.trim_start().starts_with('-') && line.starts_with("  ") && !line.starts_with("          ");
    let flags: Vec<&str> = help.lines().filter(is_flag).collect();
    assert!((30..=40).contains(&flags.len()), "{}: {flags:#?}", flags.len());
}

#[test]
fn a_result_that_cannot_be_written_is_an_error_that_says_so() {
    for arguments in [&["scenarios"][..], &["compare", "-h"], &["doctor"], &["completions", "bash"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let output = cqldyno(folder.path(), arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let error = stderr(&output);
        assert!(
            error.starts_with("Error: The result could not be written to standard output: No space left"),
            "{error}"
        );
    }
}

#[test]
fn help_names_every_format_and_pass() {
    for arguments in [["compare", "--help"], ["report", "--help"]] {
        let text = words(&stdout(&run(&arguments)));
        for format in ["table", "time", "markdown", "csv", "json", "html"] {
            assert!(text.contains(&format!(" {format} ")), "{format}: {text}");
        }
    }
    let text = words(&stdout(&run(&["compare", "--help"])));
    for pass in ["counting", "latency", "syscalls", "allocations", "instructions", "flamegraph"] {
        assert!(text.contains(&format!("`{pass}`")), "{pass}: {text}");
    }
}

#[test]
fn the_version_says_how_it_was_built() {
    let text = stdout(&run(&["--version"]));
    assert!(text.starts_with("cqldyno 0.1.0 (") && text.contains("rustc 1."), "{text}");
    assert_eq!(stdout(&run(&["-V"])), "cqldyno 0.1.0\n");
}

#[test]
fn help_says_what_a_run_for_publication_is() {
    let help = words(&stdout(&run(&["compare", "--help"])));
    for part in
        ["20 minutes on multi:2 and current", "`all` issues --count in one piece, as `time` would", "--resume <RUN>"]
    {
        assert!(help.contains(part), "{part}: {help}");
    }
}
