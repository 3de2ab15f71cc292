//! Help, and arguments that are refused with exit code 2 and a sentence that says what to write.

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

#[test]
fn an_unknown_flag_is_refused_with_the_nearest_or_with_none() {
    let error = refused(&["compare", "--cuont", "1k"]);
    let sentence = "Error: `cqldyno compare` has no flag --cuont. Did you mean `--count`? `cqldyno compare --help` lists its flags\n";
    assert_eq!(error, sentence);
    for far in ["--nope", "--fast", "--versions-of", "-z"] {
        let error = refused(&["compare", far]);
        assert!(!error.contains("Did you mean") && !error.contains("-- -"), "{error}");
        assert!(error.contains(&format!("`cqldyno compare` has no flag {far}. `cqldyno compare --help`")), "{error}");
    }
    let early = refused(&["--quick", "compare"]);
    assert!(early.contains("has no flag --quick. Did you mean `compare --quick`?"), "{early}");
    let error = refused(&["doctor", "now"]);
    assert_eq!(
        error,
        "Error: `cqldyno doctor` takes no argument \"now\"; `cqldyno doctor --help` lists what it takes\n"
    );
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
fn a_flag_that_is_gone_is_refused_with_what_to_write_instead() {
    for (gone, instead) in [
        (&["--tokens", "16"][..], "write --nodes 24,tokens=256"),
        (&["--racks", "3"], "write --nodes 24,racks=3"),
        (&["--datacenter", "dc1"], "write --target 10.0.0.1,10.0.0.2,datacenter=dc1"),
        (&["--replication", "3"], "write --target 10.0.0.1,10.0.0.2,replication=3"),
        (&["--keep"], "write --target 10.0.0.1,10.0.0.2,keep"),
        (&["--tls-ca", "x"], "write --tls ca=FILE"),
        (&["--tls-cert", "x"], "write --tls ca=FILE,cert=FILE,key=FILE"),
        (&["--tls-key", "x"], "write --tls ca=FILE,cert=FILE,key=FILE"),
        (&["--noise-share", "none"], "write --limits noise=10%"),
        (&["--stall", "5s"], "write --limits stall=30s"),
        (&["--memory", "4G"], "write --limits memory=4G"),
        (&["--no-counting"], "write --pass none"),
        (&["--counting-count", "5k"], "leave it out: how many statements are counted follows from the size of the run"),
        (&["--nap", "1ms"], "start the cluster with `cqldyno serve --nap TIME`, and name its address with --target"),
        (&["--page-size", "10"], "write scylla+page-size=N, for each contender"),
        (&["--time"], "write --within 20min, which adds CPU time to NAME@all"),
        (&["--whole"], "write --turn all"),
    ] {
        let error = refused(&[&["compare", "noop"], gone].concat());
        assert_eq!(error, format!("Error: `cqldyno compare` no longer has the flag {}; {instead}\n", gone[0]));
    }
    assert!(refused(&["serve", "--tokens", "16"]).contains("`cqldyno serve` no longer has the flag --tokens; write"));
    assert!(refused(&["report", "--keep"]).contains("`cqldyno report` has no flag --keep."), "it never had one");
    assert_eq!(
        refused(&["run", "noop", "--wide"]),
        "Error: there is no command `run` any more; write `cqldyno compare NAME`, which runs one driver, too\n"
    );
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
fn a_command_that_is_not_there_is_refused_with_those_that_are() {
    let error = refused(&["comapre"]);
    assert_eq!(
        error,
        "Error: there is no command \"comapre\". Did you mean `compare`? `cqldyno --help` lists the commands\n"
    );
    assert!(!refused(&["frobnicate"]).contains("Did you mean"));
}

#[test]
fn numbers_that_are_none_are_refused_with_how_to_write_them() {
    for flag in ["--count", "--concurrency", "--blocks", "--connections", "--warmup", "--seed"] {
        let error = refused(&["compare", flag, "many"]);
        assert!(error.contains(flag) && error.contains("write a whole number"), "{error}");
    }
    for flag in ["--count", "--concurrency", "--blocks", "--connections"] {
        let error = refused(&["compare", flag, "0"]);
        assert!(error.contains("write a whole number from 1 on, such as 500000"), "{error}");
    }
    for blocks in ["100001", "99999999999"] {
        let error = refused(&["compare", "--blocks", blocks]);
        assert!(
            error.contains("at most 100000 generations; ask for fewer, or for longer turns with --turn"),
            "{error}"
        );
    }
    assert!(refused(&["compare", "--limits", "stall=soon"]).contains("write a time from 1s to a day"));
    assert!(refused(&["compare", "-n", "0"]).contains("'--count <N>'"));
    assert!(refused(&["compare", "-c", "0"]).contains("'--concurrency <N>'"));
}

#[test]
fn an_unknown_scenario_is_refused_with_those_there_are_and_the_nearest() {
    let error = refused(&["compare", "--scenario", "raeds"]);
    assert!(error.contains("there is no scenario \"raeds\": there are writes, reads, mixed"), "{error}");
    assert!(error.contains("Did you mean `reads`?"), "{error}");
    assert!(!refused(&["compare", "--scenario", "tpc"]).contains("Did you mean"));
    assert!(refused(&["scenarios", "write"]).contains("Did you mean `writes`?"));
}

#[test]
fn a_scenario_file_that_cannot_be_read_or_run_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.toml");
    let error = refused(&["compare", "--scenario", missing.to_str().unwrap()]);
    assert!(error.contains("missing.toml cannot be read: No such file"), "{error}");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "name = \"mine\"\nabuot = \"\"\n").unwrap();
    let error = refused(&["compare", "--scenario", file.to_str().unwrap()]);
    assert!(
        error.contains("mine.toml")
            && error.contains("line 2")
            && error.contains("must have about. Did you mean `about`?"),
        "{error}"
    );
    std::fs::write(&file, "name = \"mine\"\nabout = \"\"\nschema = []\nstatement = []\n").unwrap();
    assert!(refused(&["compare", "noop", "--scenario", file.to_str().unwrap()]).contains("has no [[statement]]"));
}

#[test]
fn an_unknown_contender_is_refused_with_those_there_are_and_the_nearest() {
    let error = refused(&["compare", "scyla"]);
    assert!(error.contains("there is no driver \"scyla\": there are scylla, cdrs-tokio"), "{error}");
    assert!(error.contains("Did you mean `scylla`?"), "{error}");
    for arguments in [["compare", "elixir"], ["drivers", "elixir"]] {
        let error = refused(&arguments);
        assert!(error.contains("there is no driver \"elixir\": there are scylla, cdrs-tokio"), "{error}");
        assert!(
            error.contains("drivers/PROTOCOL.md says how to add one") && !error.contains("Did you mean"),
            "{error}"
        );
    }
    assert!(refused(&["compare", "Scylla"]).contains("lower-case letters"));
    assert!(refused(&["compare", "scylla@"]).contains("no version"));
    assert!(refused(&["compare", "scylla+fast"]).contains("+KEY=VALUE"));
}

#[test]
fn a_bad_arrangement_is_refused_with_the_forms_there_are() {
    for text in ["multi", "multi:0", "single", "pinned"] {
        let error = refused(&["compare", "--arrangement", text]);
        assert!(error.contains("current") && error.contains("multi:N"), "{error}");
    }
    let error = refused(&["compare", "noop", "--arrangement", "current,current"]);
    assert!(error.contains("current is asked for twice"), "{error}");
}

#[test]
fn a_format_that_is_none_is_refused_with_those_there_are() {
    assert!(refused(&["compare", "--format", "yaml"]).contains("table, time, markdown, csv, json, bencher, svg, html"));
    // What is no slip of the hand gets no tip.
    assert_eq!(
        refused(&["compare", "--format", "xml"]),
        "Error: --format cannot be \"xml\": write one of table, time, markdown, csv, json, bencher, svg, html\n"
    );
    assert!(!refused(&["completions", "tcsh"]).contains("Did you mean"));
    assert!(refused(&["completions", "bahs"]).ends_with("Did you mean `bash`?\n"));
}

#[test]
fn flags_that_change_nothing_with_the_settings_default_are_refused() {
    for given in [["--connections", "2"], ["--request-timeout", "5s"], ["--consistency", "ONE"]] {
        for default in [&["--settings", "default"][..], &["floor+settings=default"]] {
            let contender = if default.len() == 2 { &["floor"][..] } else { &[] };
            let error = refused(&[&["compare"], contender, default, &given].concat());
            let expected = format!("{} was given together with the settings `default`", given[0]);
            assert!(error.contains(&expected) && error.contains("leave one of them out"), "{error}");
        }
    }
}

#[test]
fn a_reference_that_is_no_contender_is_refused() {
    let error = refused(&["compare", "noop", "--reference", "scylla"]);
    assert!(error.contains("\"scylla\" is none of the contenders: noop"), "{error}");
}

#[test]
fn times_that_mean_nothing_are_refused_with_their_bounds() {
    for time in ["0", "999ms", "1441min"] {
        let error = refused(&["compare", "noop", "--limits", &format!("stall={time}")]);
        assert!(error.contains("--limits") && error.contains("from 1s to a day"), "{error}");
    }
    for time in ["0", "10us", "1.5ms", "1441min"] {
        let error = refused(&["compare", "noop", "--request-timeout", time]);
        assert!(error.contains("from 1ms to a day (1440min), or `none`"), "{error}");
    }
    assert!(refused(&["compare", "noop", "--request-timeout", "never"]).contains("write a time such as"));
    assert!(refused(&["compare", "noop", "--delay", "2min"]).contains("a minute at most"));
    assert!(refused(&["compare", "noop", "--delay", "long"]).contains("write a time such as"));
    assert!(refused(&["compare", "noop", "--delay", "50s±50%"]).contains("a minute at most"));
    for command in [&["compare", "noop"][..], &["serve"]] {
        for (delay, how) in [
            ("±20%", "write a time such as"),
            ("1ms±20", "a percentage above 0% and up to 100%, as in 0.5ms±20% or 0.5ms+-20%, not \"20\""),
            ("1ms+-200%", "a percentage above 0% and up to 100%, as in 0.5ms±20% or 0.5ms+-20%, not \"200%\""),
            ("0±20%", "a delay of 0 has no jitter; write a time such as 0.5ms before ±20%, or leave ±20% out"),
        ] {
            let error = refused(&[command, &["--delay", delay]].concat());
            assert!(words(&error).contains(how), "{error}");
        }
    }
}

#[test]
fn a_consistency_or_a_way_of_answering_that_is_none_is_refused_with_those_there_are() {
    assert!(refused(&["compare", "--consistency", "SOME"]).contains("expected one of `ONE`, `TWO`, `THREE`"));
    assert!(refused(&["compare", "--answers", "later"]).contains("each or at most COUNT per write"));
    let reordered = refused(&["compare", "--answers", "reordered"]);
    assert!(reordered.contains("answers are reordered by `cqldyno serve --answers reordered` alone"), "{reordered}");
}

#[test]
fn what_only_the_embedded_node_does_is_refused_for_another_target() {
    let target = ["compare", "noop", "--target", "127.0.0.1:9042"];
    for (flag, value) in [("--answers", "each"), ("--delay", "1ms"), ("--nodes", "3,tokens=16")] {
        let error = refused(&[&target[..], &[flag, value]].concat());
        assert!(error.contains(&format!("{flag} was given with the target 127.0.0.1:9042")), "{error}");
        assert!(error.contains(&format!("`cqldyno serve {flag} {value}`")), "{error}");
    }
}

#[test]
fn a_target_that_is_no_address_is_refused() {
    assert!(refused(&["compare", "--target", "127.0.0.1:99999"]).contains("HOST[:PORT]"));
}

#[test]
fn a_password_is_never_an_argument_and_a_user_needs_one() {
    assert!(refused(&["compare", "--password", "x"]).contains("--password"));
    let target = ["compare", "noop", "--target", "127.0.0.1:9042"];
    let error = refused(&[&target[..], &["--user", "ada"]].concat());
    assert!(error.contains("CQLDYNO_PASSWORD") && error.contains("--password-file"), "{error}");
    let error = refused(&[&target[..], &["--user", "ada", "--password-file", "/nowhere/at/all"]].concat());
    assert!(error.contains("/nowhere/at/all"), "{error}");
    assert!(refused(&[&target[..], &["--password-file", "/dev/null"]].concat()).contains("--user"));
    assert!(refused(&[&target[..], &["--user", ""]].concat()).contains("a user's name has at least one character"));
    let empty = [&target[..], &["--user", "ada", "--password-file", "/dev/null"]].concat();
    assert!(refused(&empty).contains("is empty"));
}

#[test]
fn a_share_of_noise_cores_and_memory_are_refused_with_how_to_write_them() {
    for share in ["0", "101%", "-1%", "much"] {
        let error = refused(&["compare", &format!("--limits=noise={share}")]);
        assert!(error.contains("write a share above 0, at most 100%") && error.contains("`none`"), "{error}");
    }
    let misspelt = refused(&["compare", "--limits", "noise=10%,stal=5s"]);
    assert!(
        misspelt.contains("\"stal=5s\" after `noise` is none of the options `noise`, `stall`, `memory`; write one")
    );
    assert!(refused(&["compare", "--limits", "-1%"]).contains("write noise=SHARE or noise=none, stall=TIME"));
    assert!(refused(&["compare", "--count", "-5"]).contains("write a whole number from 1 on, such as 500000"));
    assert!(refused(&["serve", "--threads", "-1"]).contains("write a whole number from 1 on, such as 500000"));
    for (flag, value, how) in [
        ("--target", "-1", "HOST[:PORT]"),
        ("--arrangement", "-1", "multi:N"),
        ("--pin", "-1", "for example `2-3/0-1`"),
        ("--consistency", "-1", "expected one of `ONE`, `TWO`, `THREE`"),
        ("--answers", "-each", "each or at most COUNT per write"),
    ] {
        let error = refused(&["compare", flag, value]);
        assert!(error.contains(how), "{flag}: {error}");
    }
    for (flag, value, how) in [
        ("--port", "-1", "write a port from 1 to 65535, or 0 for a free one"),
        ("--port", "70000", "write a port from 1 to 65535, or 0 for a free one"),
        ("--delay", "-1ms", "write a time such as"),
        ("--answers", "-each", "each, reordered or at most COUNT per write"),
    ] {
        let error = refused(&["serve", flag, value]);
        assert!(error.contains(how), "{flag}: {error}");
    }
    assert!(refused(&["compare", "--pin", "0,1"]).contains("for example `2-3/0-1`"));
    assert!(refused(&["compare", "noop", "--pin", "0/999"]).contains("the server core 999"));
    assert!(refused(&["compare", "noop", "--pin", "off", "--arrangement", "pinned+current"]).contains("--pin off"));
    assert!(
        refused(&["compare", "noop", "--limits", "memory=little"]).contains("write an amount of memory such as 512M")
    );
}

#[test]
fn a_run_for_publication_has_generations_and_a_count_of_its_own() {
    for (flag, value) in [("--count", "1M"), ("--blocks", "3")] {
        let error = refused(&["compare", "--publish", flag, value]);
        let sentence = format!(
            "Error: --publish was given together with {flag}, and a run for publication has a size of its own; leave out one or the \
             other\n"
        );
        assert_eq!(error, sentence);
    }
    let both = refused(&["compare", "--publish", "--count", "1M", "--blocks", "3"]);
    assert!(both.contains("together with --count and --blocks, and"), "{both}");
    let help = words(&stdout(&run(&["compare", "--help"])));
    for part in
        ["20 minutes on multi:2 and current", "`all` issues --count in one piece, as `time` would", "--resume <RUN>"]
    {
        assert!(help.contains(part), "{part}: {help}");
    }
}

#[test]
fn arguments_that_exclude_each_other_are_refused_in_a_sentence() {
    let error = refused(&["compare", "--quick", "--pass", "explain"]);
    assert_eq!(
        error,
        "Error: --quick was given together with --pass explain, which needs intervals; leave out one or the other\n"
    );
    let error = refused(&["compare", "--count", "1k", "--count", "2k"]);
    assert_eq!(error, "Error: --count was given more than once; give it once\n");
}

#[test]
fn what_cannot_be_in_flight_is_refused_before_anything_starts() {
    let error = refused(&["compare", "scylla", "--concurrency", "40k"]);
    assert!(error.contains("--concurrency 40000 was asked for, and at most 32,767 can be in flight"), "{error}");
    assert!(refused(&["compare", "noop", "--concurrency", "2M"]).contains("at most 1,048,576 can be in flight"));
    let error = refused(&["compare", "scylla", "--connections", "10M"]);
    assert!(
        error.contains("--connections 10000000 was asked for, and at most 20,000 to a node are possible"),
        "{error}"
    );
}

#[test]
fn a_sweep_is_refused_where_it_makes_no_sense_and_bad_lists_with_how_to_write_them() {
    for (list, how) in [
        ("64,16", "write numbers that rise, such as 1,64,1024"),
        ("1,2,4,...", "write a number before `...` and one after it"),
        ("3,4,...,64", "write two numbers before `...`"),
        ("1,many", "write a whole number from 1 on"),
    ] {
        for flag in ["--concurrency", "--connections"] {
            let error = refused(&["compare", "noop", flag, list]);
            assert!(error.contains(flag) && error.contains(how), "{error}");
        }
    }
    let sweep = ["compare", "scylla", "--concurrency", "1,2,4,...,8192"];
    for (further, what) in [
        (&["--publish"][..], "--publish"),
        (&["--rate", "1k"], "--rate"),
        (&["--pass", "latency"], "--pass latency"),
        (&["--answers", "cassandra"], "--answers cassandra"),
    ] {
        let error = refused(&[&sweep[..], further].concat());
        let sentence = format!("were given together with {what}; give one number, or leave that out");
        assert!(error.contains(&sentence), "{error}");
    }
    assert!(refused(&[&sweep[..], &["--turn", "1k"]].concat()).contains("leave it out, or give one number in flight"));
    let error = refused(&[&sweep[..], &["--scenario", "batch"]].concat());
    assert!(error.contains("the scenario batch has at most 64 in flight, and --concurrency asks for 128"), "{error}");
    let error = refused(&["compare", "scylla", "--concurrency", "1,40k"]);
    assert!(error.contains("--concurrency 40000 was asked for, and at most 32,767 can be in flight"), "{error}");
}

#[test]
fn a_folder_with_other_files_is_refused_for_a_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes"), "mine").unwrap();
    let error = refused(&["compare", "noop", "--out", folder.path().to_str().unwrap()]);
    assert!(error.contains("has other files in it and no run; name a new or an empty folder with --out"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_length_of_turns_is_refused_where_there_is_one_per_generation() {
    let said = refused(&["compare", "floor", "noop", "--blocks", "2", "--turn", "20k"]);
    assert!(said.contains("--blocks was given together with --turn, and they exclude each other"), "{said}");
    assert!(refused(&["compare", "noop", "--turn", "all"]).contains("--turn all was given without --count"));
    assert!(refused(&["compare", "noop", "--turn", "most"]).contains("write a whole number from 1 on"));
}

#[test]
fn a_width_is_refused_where_the_size_is_fixed_and_where_it_is_none() {
    for (flag, value) in [("--count", Some("1k")), ("--blocks", Some("9")), ("--quick", None)] {
        let said = refused(&[&["compare", "floor", "noop", "--until", "2%", flag][..], value.as_slice()].concat());
        assert!(
            said.contains(flag) && said.contains("--until") && said.contains("; leave out one or the other"),
            "{said}"
        );
    }
    let publish = ["compare", "noop", "--target", "127.0.0.1:9042", "--publish"];
    let said = refused(&[&publish[..], &["--until", "2%"]].concat());
    assert_eq!(said, "Error: --until was given for a run of a fixed size; leave it out, or leave out --publish\n");
    for width in ["0.02", "2", "0%", "-2%", "51%", "nan%", "%", "narrow"] {
        let said = refused(&["compare", "noop", &format!("--until={width}")]);
        assert!(said.contains("--until") && said.contains("write a percentage from 0.1% to 50%"), "{width}: {said}");
    }
}
