//! `cqldyno conform`: workers that keep to the protocol, and such as break it in one place each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use cqldyno_bench::Check;
use cqldyno_protocol::{ParentMessage, WorkerMessage, decode};
use serde_json::Value;

use crate::support::{cqldyno, drivers, executable, refused, run, stderr, stdout, words, worker};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The example in Python.
fn example() -> PathBuf {
    Path::new(ROOT).join("drivers/example-python/cqldyno-driver-example-python")
}

fn conform(worker: &Path, arguments: &[&str]) -> Output {
    run(&[&["conform", worker.to_str().unwrap()][..], arguments].concat())
}

#[track_caller]
fn conforms(worker: &Path) -> String {
    let output = conform(worker, &[]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.ends_with("It conforms.\n"), "{text}");
    text
}

/// What is said of one check, in one line.
fn said(text: &str, check: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("  {check} ")));
    let first = lines.next().unwrap_or_default().trim_start().trim_start_matches(check).to_owned();
    words(&lines.take_while(|line| line.starts_with("    ")).fold(first, |all, line| all + " " + line))
}

#[test]
fn every_worker_of_a_comparison_conforms() {
    for driver in drivers() {
        let text = conforms(&worker(driver).unwrap());
        assert!(text.starts_with(&format!("cqldyno-driver-{driver}: {driver}@")), "{text}");
        let is_noop = driver == "noop";
        for check in ["connections", "rows"] {
            assert_eq!(said(&text, check), if is_noop { "left out: noop sends nothing." } else { "ok" }, "{text}");
        }
        for check in ["turns", "stop", "rate", "histogram"] {
            assert_eq!(said(&text, check), "ok", "{text}");
        }
    }
}

#[test]
fn the_example_in_python_conforms_and_is_short() {
    let text = conforms(&example());
    assert_eq!(said(&text, "turns"), "ok");
    assert_eq!(said(&text, "rate"), "left out: It refuses a rate, which is optional.");
    assert!(fs::read_to_string(example()).unwrap().lines().count() < 150);
}

/// Its tape of usual length ends before anybody can stop it.
#[test]
fn a_worker_that_sends_nothing_and_plays_tapes_is_stopped_before_the_end_of_a_longer_one() {
    let mut text = fs::read_to_string(example()).unwrap();
    for (piece, by) in [
        ("\"capabilities\": [\"paging\"]", "\"capabilities\": [\"paging\", \"offline\"]"),
        ("[Connection(*node.rsplit(\":\", 1)) for node in job[\"target\"] * job[\"connections\"]]", "[]"),
        (
            "[[each.request(9, as_bytes(one[\"cql\"].encode())) for each in connections][0] for one in job[\"scenario\"][\"statement\"]]",
            "[bytes(6) for _ in job[\"scenario\"][\"statement\"]]",
        ),
        ("            while begins is not None and not wrong:", "            while False:"),
        (
            "wrong := wrong or tape.wrong(ticket, statement, due, rows)",
            "len(todo) % 64 == 0 and SELECTOR.select(0) and hear(\"stop\") and todo.clear()",
        ),
    ] {
        assert_eq!(text.matches(piece).count(), 1, "{piece}");
        text = text.replace(piece, by);
    }
    let folder = tempfile::tempdir().unwrap();
    let worker = folder.path().join("cqldyno-driver-quick-noop");
    executable(&worker, "");
    fs::write(&worker, text).unwrap();
    let text = conforms(&worker);
    assert_eq!(["stop", "time"].map(|check| said(&text, check)), ["ok", "ok"], "{text}");
}

#[test]
fn gocql_conforms_where_it_is_built() {
    match worker("gocql") {
        Some(worker) => drop(conforms(&worker)),
        None => eprintln!("Skipped: gocql was not built. Install Go, and run `make test`."),
    }
}

/// Fails unless the worker deviates in this check with these words.
#[track_caller]
fn deviates(worker: &Path, arguments: &[&str], check: &str, sentence: &str) {
    let output = conform(worker, &[arguments, &["--only", check, "--stall", "3s"]].concat());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}{}", stderr(&output));
    assert!(said(&text, check).contains(sentence), "{arguments:?}: {check} should say {sentence:?}: {text}");
    assert!(text.lines().last().unwrap().starts_with("It does not conform: "), "{text}");
}

#[test]
fn every_way_to_misbehave_that_is_a_matter_of_the_protocol_is_named() {
    let misbehaving = worker("misbehaving").expect("`cargo test --workspace` builds it");
    let half = "2,000 of 4,000 statements failed: 2,000 of kind wrong row.";
    for (how, check, sentence) in [
        ("skips-decoding", "rows", half),
        ("decodes-one-column", "rows", half),
        ("makes-up-rows", "rows", half),
        (
            "answers-from-cache",
            "count",
            "The server counted 0 EXECUTEs of the statement select in the window and the worker",
        ),
        (
            "answers-from-cache",
            "connections",
            "0 connections carried the statements, and 2 to each of 1 node were asked for.",
        ),
        ("drops-every-thousandth", "count", "and the worker says that it issued 2,000."),
        ("retries-silently", "count", "and the worker says that it issued 2,000."),
        ("doubles", "count", "The server counted 4,000 EXECUTEs of the statement select in the window and the worker"),
        ("opens-more-connections", "connections", "3 connections carried the statements, and 2 to each of 1 node"),
        ("fails-at-once", "rows", "4,000 of 4,000 statements failed: 4,000 of kind overloaded."),
        ("writes-other-values", "rows", "of the inserted rows were read back by floor, and"),
        ("writes-few-rows", "count", "rows more than before the window, and 2,000 were to be inserted"),
        ("splits-batches", "operations", "unlogged BATCHes of the statement batch"),
        ("prepares-once", "operations", "The server counted 0 PREPAREs of the statement prepare"),
        ("reuses-its-session", "operations", "connections carried the statements, and"),
        ("halves-wall-time", "time", "The worker says that its window took"),
        ("begins-late", "time", "before the worker says that it began"),
        ("halves-cpu-time", "time", "s of CPU time in the window, its process clock says"),
        ("never-sleeps", "turns", "between two of its turns; it must sleep there."),
        ("exits-asleep", "turns", "exited with code 7; that was while it slept, before its turn."),
        ("executes-between-turns", "turns", "Over all its turns: The server counted"),
        ("hangs-in-warm-up", "ready", "said nothing new for 3 s and was ended; that was while it connected"),
        ("hangs", "window", "issued no statement for 3 s (the limit `stall`) and was ended in the window"),
        ("loses-an-answer", "window", "issued no statement for 3 s (the limit `stall`) and was ended in the window"),
        ("panics", "window", "The driver panicked"),
        ("aborts", "window", "was ended by SIGABRT"),
        ("exits", "window", "exited with code 7"),
        ("prints-garbage", "window", "broke the worker protocol where `progress` or `end` was expected"),
    ] {
        deviates(&misbehaving, &["--option", &format!("how={how}")], check, sentence);
    }
    let text = conforms(&misbehaving);
    assert_eq!(said(&text, "operations"), "ok", "{text}");
}

/// The example with one piece of its text replaced.
fn altered(folder: &Path, piece: &str, by: &str) -> PathBuf {
    let text = fs::read_to_string(example()).unwrap();
    assert_eq!(text.matches(piece).count(), 1, "{piece}");
    let path = folder.join("cqldyno-driver-altered");
    executable(&path, "");
    fs::write(&path, text.replace(piece, by)).unwrap();
    path
}

/// A histogram without a latency.
const EMPTY_HISTOGRAM: &str = "HISTEwAAAAAAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAA==";

#[test]
fn an_example_that_is_broken_in_one_place_deviates_there() {
    let folder = tempfile::tempdir().unwrap();
    let named = "\"issued_by_statement\": named}";
    let histogram = |text: &str| format!("\"issued_by_statement\": named, \"histogram\": \"{text}\"}}");
    let wrong_rows = "Of 300 rows 100 had another value in the last column and 100 were missing, and the worker says that 0 were wrong";
    for (piece, by, check, sentence) in [
        (
            "protocol=3",
            "protocol=4",
            "hello",
            "speaks version 4 of the worker protocol, and this cqldyno speaks version 3",
        ),
        (
            "settings=settings(), build",
            "settings=7, build",
            "hello",
            "broke the worker protocol where `hello` was expected",
        ),
        ("DIGEST[:8]", "\"\"", "hello", "`hello` has no name or no version of the driver"),
        ("fail(\"protocol\"", "fail(\"job\"", "order", "its kind must be `protocol`"),
        (
            "    os._exit(1)",
            "    os._exit(0)",
            "order",
            "had said `failed` and then exited with code 0; its exit code must be 1.",
        ),
        (" + list(job[\"options\"])", "", "refusal", "refuse unknown options with `failed` of kind `job`."),
        ("wrong or tape.wrong(ticket, statement, due, rows)", "wrong", "rows", wrong_rows),
        ("if check < 2 else []", "if check > 2 else []", "rows", "and the worker says that 100 were wrong"),
        // What the last ticket is due in the place of what the first is due, and so on.
        (
            "collections.deque(self.ticket(nth) for nth in range(*turn))",
            "(all := [self.ticket(nth) for nth in range(*turn)]) and collections.deque((*one[:3], other[3]) for one, other in zip(all, all[::-1]))",
            "ready",
            "errors of kind wrong_row, the first: ticket ",
        ),
        (
            "job[\"target\"] * job[\"connections\"]",
            "job[\"target\"]",
            "connections",
            "1 connections carried the statements, and 2 to",
        ),
        (
            "issued[statement] += 1",
            "issued[statement] += 2",
            "count",
            "4,000 statements were asked for and 8,000 were issued.",
        ),
        (
            "job[\"count\"] * (turn + 1) // turns",
            "7 * (turn + 1) // turns",
            "count",
            "4,000 statements were asked for and 7 were issued.",
        ),
        (named, &*histogram("????"), "histogram", "The worker's histogram is not base64"),
        (named, &*histogram("AAAA"), "histogram", "is no HdrHistogram in its V2 form"),
        (named, &*histogram(EMPTY_HISTOGRAM), "histogram", "latencies, and the worker says"),
        ("hear(\"stop\"): todo.clear()", "hear(\"stop\"): pass", "stop", "did not end its window within 3 s of `stop`"),
        (
            "range(turns := job.get(\"turns\", 1))",
            "range((turns := job.get(\"turns\", 1)) and 1)",
            "turns",
            "Turn 2 of 3: The worker cqldyno-driver-altered exited with code 0",
        ),
        ("turns := job.get(\"turns\", 1)", "turns := 1", "turns", "Turn 1 of 3:"),
        ("os._exit(0)", "os._exit(3)", "exit", "had said `done` and then exited with code 3"),
        (
            "int(used.ru_utime * 1e6)",
            "int(used.ru_utime * 0)",
            "time",
            "s of CPU time in the window, its process clock says",
        ),
    ] {
        deviates(&altered(folder.path(), piece, by), &[], check, sentence);
    }
    let turnless = conforms(&altered(folder.path(), "turns=True, ", ""));
    assert!(said(&turnless, "turns").starts_with("left out: It takes no turns, which are optional"), "{turnless}");
}

#[test]
fn an_example_that_stays_silent_or_does_not_end_is_ended() {
    std::thread::scope(|scope| {
        for (piece, by, check, sentence) in [
            (
                "say(\"hello\",",
                "time.sleep(60); say(\"hello\",",
                "hello",
                "said nothing new for 20 s and was ended; that was before it had said `hello`",
            ),
            (
                "os._exit(2)",
                "time.sleep(60)",
                "parent",
                "ended before the last `ack`, and it closed its output and did not exit",
            ),
            ("os._exit(0)", "time.sleep(60)", "exit", "had said `done` and then closed its output and did not exit"),
        ] {
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                deviates(&altered(folder.path(), piece, by), &[], check, sentence);
            });
        }
    });
}

#[test]
fn what_is_no_worker_is_refused_and_nothing_is_reached_after_a_worker_that_says_no_hello() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("text"), "no program").unwrap();
    assert!(refused(&["conform", &path("none")]).contains("none cannot be read: No such file or directory"));
    assert!(refused(&["conform", &path("")]).contains(" is no file; name an executable file"));
    assert!(refused(&["conform", &path("text")]).contains("text is not executable; allow it with `chmod +x "));
    assert!(refused(&["conform", "x", "--option", "novalue"]).contains("write KEY=VALUE"));
    assert!(refused(&["conform", "x", "--only", "turn"]).contains("Did you mean `turns`?"));
    executable(&folder.path().join("mute"), "echo 'libx.so.2: cannot open shared object file' >&2; exit 127");
    let output = cqldyno(folder.path(), &["conform", "mute"]).output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
    assert!(said(&text, "hello").contains("libx.so.2: cannot open shared object file"), "{text}");
    assert_eq!(text.matches("not reached").count(), Check::ALL.len() - 1, "{text}");
}

/// The type of a line of a transcript, with whose it is; a title stays as it is.
fn kind(line: &str, schema: &jsonschema::Validator) -> String {
    let (whose, json) = line.split_once(' ').unwrap();
    let is_message = match whose {
        "worker" => decode::<WorkerMessage>(json).is_ok(),
        "parent" => decode::<ParentMessage>(json).is_ok(),
        _ => return line.to_owned(),
    };
    let message: Value = serde_json::from_str(json).unwrap();
    assert!(is_message && schema.is_valid(&message), "{line}");
    format!("{whose} {}", message["type"].as_str().unwrap())
}

#[test]
fn the_written_session_is_what_the_example_says_and_every_line_holds_against_the_schema() {
    let read = |file: &str| fs::read_to_string(Path::new(ROOT).join("drivers").join(file)).unwrap();
    let schema = serde_json::from_str(&read("protocol.schema.json")).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("transcript");
    let output = conform(&example(), &["--only", "turns", "--transcript", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let kinds = |transcript: &str| {
        let kinds = transcript.lines().map(|line| kind(line, &schema));
        // How often there is progress depends on the machine.
        kinds.filter(|kind| kind != "worker progress").collect::<Vec<_>>()
    };
    let written = kinds(&read("protocol.session.txt"));
    assert_eq!(written, kinds(&fs::read_to_string(file).unwrap()), "write it again as drivers/PROTOCOL.md says");
    for needed in ["worker hello", "parent job", "worker ready", "parent go", "worker end", "parent ack", "worker done"]
    {
        assert!(written.iter().any(|kind| kind == needed), "{needed}");
    }
}
