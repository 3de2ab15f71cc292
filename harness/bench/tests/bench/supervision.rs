//! Workers that misbehave at every step, servers that fail, and the end of a run: each a row with a reason, and no process
//! left behind.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cqldyno_bench::{
    Access, Arrangement, BenchError, Cancel, CellStart, Deadlines, Finished, Observer, Plan, Programs, Silent, Stage,
    Target, resume, run,
};
use cqldyno_protocol::Credentials;
use cqldyno_reports::{Cell, Measure, Pass, Run, TurnsInfo};

/// The example `stand_in`, built beside this test.
fn stand_in() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples/stand_in");
    assert!(path.exists(), "{} is missing: `cargo test -p cqldyno-bench` builds it", path.display());
    path
}

struct Place {
    dir: tempfile::TempDir,
    programs: Programs,
}

impl Place {
    fn new(workers: &[&str]) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("bin");
        fs::create_dir(&folder).unwrap();
        for worker in workers.iter().chain(&["floor"]) {
            let link = folder.join(format!("cqldyno-driver-{worker}"));
            if !link.exists() {
                symlink(stand_in(), link).unwrap();
            }
        }
        symlink(stand_in(), folder.join("cqldyno")).unwrap();
        let programs = Programs { cqldyno: folder.join("cqldyno"), worker_folders: vec![folder] };
        Place { dir, programs }
    }

    /// With a server that behaves as its name says.
    fn served_by(mut self, way: &str) -> Place {
        self.programs.cqldyno.set_file_name(format!("cqldyno-{way}"));
        symlink(stand_in(), &self.programs.cqldyno).unwrap();
        self
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn run(&self, plan: &Plan) -> Finished {
        run(plan, &self.programs, &mut Silent, &Cancel::new()).unwrap()
    }

    fn plan(&self, contenders: &[&str]) -> Plan {
        let second = Duration::from_secs(1);
        let contenders = contenders.iter().map(|text| text.parse().unwrap()).collect();
        let mut plan = Plan::new(contenders, vec![cqldyno_scenarios::builtin("writes").unwrap()]);
        (plan.arrangements, plan.out) = (vec!["current".parse().unwrap()], Some(self.out()));
        // Long enough for a busy machine: only workers that hang use them up.
        plan.deadlines = Deadlines { hello: second * 30, ready: second * 30, stall: second * 30, done: second * 30 };
        (plan.concurrency, plan.warmup, plan.noise_share) = (4, 0, None);
        plan.passes.clear();
        plan.with_blocks(1, 1_000)
    }
}

/// One cell of the contender `name`; also checks that the honest contender beside it is not disturbed.
fn row_of(name: &str, change: impl FnOnce(&mut Plan)) -> Cell {
    let place = Place::new(&[name, "honest"]);
    let mut plan = place.plan(&[name, "honest"]);
    change(&mut plan);
    let finished = place.run(&plan);
    assert!(!finished.run.interrupted);
    let honest = finished.cells.iter().find(|cell| cell.contender == "honest").unwrap();
    assert_eq!((honest.failed.as_deref(), honest.void.as_deref()), (None, None));
    let kept = fs::read_to_string(place.out().join("cells.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), finished.cells.len());
    nothing_left(&place.out());
    finished.cells.into_iter().find(|cell| cell.contender == name).unwrap()
}

fn failure(name: &str) -> String {
    row_of(name, |_| {}).failed.unwrap_or_else(|| panic!("{name} did not fail"))
}

/// Every worker writes its process id to its log: none of them lives any more.
fn nothing_left(out: &Path) {
    for entry in fs::read_dir(out.join("logs")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        // The log of all turns says first whose line it is.
        let own =
            |line: &'_ str| line.rsplit_once(": ").map_or(line, |(_, own)| own).strip_prefix("pid ").map(str::to_owned);
        for pid in text.lines().filter_map(own) {
            assert!(!Path::new("/proc").join(&pid).exists(), "process {pid} is still there");
        }
    }
}

#[test]
fn an_honest_worker_has_every_measure_or_the_reason_why_not() {
    let place = Place::new(&["honest", "noop"]);
    let finished = place.run(&place.plan(&["honest", "noop"]).with(|one| one.passes = vec![Pass::Counting]));
    assert_eq!(finished.cells.len(), 4);
    let of = |contender: &str, pass| {
        finished.cells.iter().find(|cell| cell.contender == contender && cell.pass == pass).unwrap()
    };
    let (timing, counting) = (of("honest", Pass::Timing), of("honest", Pass::Counting));
    let noop = of("noop", Pass::Timing);
    assert_eq!((timing.failed.as_deref(), timing.void.as_deref()), (None, None));
    for cell in finished.cells.iter().filter(|cell| cell.measures.contains_key("verified")) {
        assert_eq!(cell.series.cpu_us.len(), 1, "a window below a second has one value: {cell:?}");
        assert_eq!(cell.series.server_cpu_us.len(), usize::from(cell.contender == "honest"), "{cell:?}");
    }
    assert_eq!(timing.measures["wall"], Measure::value(0.001, cqldyno_reports::Unit::Seconds));
    assert_eq!(timing.measures["throughput"].get(), Some(1e6));
    assert!(timing.measures["server_cpu"].get().is_some());
    assert_eq!(timing.measures["read_back"].get(), Some(1_000.0));
    assert_eq!((noop.failed.as_deref(), noop.void.as_deref()), (None, None));
    assert!(noop.measures["server_cpu"].reason().unwrap().contains("sends nothing"));
    assert!(noop.measures["read_back"].reason().unwrap().contains("sends nothing"));
    assert!(!timing.measures.contains_key("syscalls") && !counting.measures.contains_key("wall"));
    let calls = &counting.measures["syscalls"];
    match cqldyno_meter::SYSTEM_CALLS.probe() {
        // The one that says `end`; the next one may come after the counter was read.
        Ok(()) => assert!(calls.get().unwrap() >= 1.0, "{calls:?}"),
        Err(refusal) => {
            assert!(calls.reason().unwrap().contains(&refusal.to_string()), "{calls:?}");
            assert_eq!((&counting.log, counting.error_kinds.len()), (&None, 0), "no worker ran for it");
        }
    }
    let run = Run::from_json(&fs::read_to_string(place.out().join("run.json")).unwrap()).unwrap();
    assert_eq!(run, finished.run);
    assert_eq!(run.contenders[0].label, "honest@1.2.3");
}

/// The server of generations of two rounds.
const OF_TWO_ROUNDS: &str = "turns-2";

/// With turns of 500 statements, in generations of two rounds.
fn in_turns(plan: Plan) -> Plan {
    plan.with(|one| {
        (one.turns, one.total, one.noise_share) = (TurnsInfo { count: 500, rounds: 2 }, None, Some(0.1));
    })
}

#[test]
fn contenders_take_turns_that_have_readings_of_their_own_and_the_last_one_is_told_of_all() {
    let place = Place::new(&["honest", "other"]);
    let one = place.run(&Plan { out: Some(place.dir.path().join("one")), ..place.plan(&["honest"]) });
    let place = place.served_by(OF_TWO_ROUNDS);
    let two = place.run(&in_turns(place.plan(&["honest", "other"])));
    let of = |who: &str| two.cells.iter().filter(|cell| cell.contender == who).collect::<Vec<_>>();
    for turns in [of("honest"), of("other")] {
        let numbers: Vec<_> = turns.iter().map(|cell| (cell.block, cell.round, cell.more)).collect();
        assert_eq!(numbers, [(1, Some(1), true), (1, Some(2), false)]);
        assert!(turns.iter().all(|cell| cell.failed.is_none() && cell.void.is_none()), "{turns:?}");
        assert_eq!(turns[1].measures["read_back"].get(), Some(1_000.0), "of both turns");
        assert!(!turns[0].measures.contains_key("read_back"));
        assert!(turns[1].measures["idle_cpu"].get().is_some());
        for id in ["wall", "verified", "statements", "server_executes", "voluntary_switches"] {
            let sum: f64 = turns.iter().map(|cell| cell.get(id).unwrap()).sum();
            let times = if id == "voluntary_switches" { 2.0 } else { 1.0 };
            assert!((sum - times * one.cells[0].get(id).unwrap()).abs() < 1e-9, "{id}: {sum}");
        }
    }
    let order: Vec<Option<u32>> = two.cells.iter().map(|cell| cell.round).collect();
    assert_eq!(order, [1, 1, 2, 2].map(Some), "round after round");
    let cores: Vec<bool> = two.cells.iter().map(|cell| cell.cores.is_some()).collect();
    assert_eq!(cores, [false, true, false, true], "with the last turn of each round");
    assert!(one.cells[0].round == Some(1) && one.cells[0].cores.is_none(), "nobody asked what others used");
    let logs: Vec<_> = fs::read_dir(place.out().join("logs")).unwrap().map(|log| log.unwrap().file_name()).collect();
    assert!(logs.iter().all(|log| log == "turns.log" || log.to_str().unwrap().starts_with("hello-")), "{logs:?}");
    nothing_left(&place.out());
}

#[test]
fn a_worker_that_ends_after_its_first_turn_is_a_row_with_the_reason_and_the_others_go_on() {
    let place = Place::new(&["exit-at-done", "honest"]).served_by(OF_TWO_ROUNDS);
    let finished = place.run(&in_turns(place.plan(&["exit-at-done", "honest"])));
    let of = |who: &str| finished.cells.iter().filter(|cell| cell.contender == who).collect::<Vec<_>>();
    let failed = of("exit-at-done");
    assert_eq!((failed.len(), failed[0].round, failed[0].more), (1, Some(1), false));
    assert!(failed[0].failed.as_ref().unwrap().contains("exited with code 3"));
    assert_eq!(
        finished.cells.iter().filter(|cell| cell.cores.is_some()).count(),
        2,
        "whoever had the last turn of a round"
    );
    assert_eq!(of("honest").iter().filter(|cell| cell.counts()).count(), 2);
    nothing_left(&place.out());
}

#[test]
fn with_a_worker_that_takes_no_turns_contenders_live_one_after_the_other() {
    let place = Place::new(&["turnless", "honest"]);
    let plan = in_turns(place.plan(&["turnless", "honest"])).with(|one| one.blocks = 2);
    let finished = place.run(&plan);
    let shown: Vec<_> = finished.cells.iter().map(|cell| (cell.block, cell.round, cell.counts())).collect();
    assert_eq!(shown, [(1, Some(1), true), (1, Some(1), true), (2, Some(1), true), (2, Some(1), true)]);
    assert!(finished.cells.iter().all(|cell| cell.get("verified") == Some(1_000.0)), "all of a generation in one turn");
    assert!(finished.cells.iter().all(|cell| cell.cores.is_some()), "the round until then");
    let why = finished.run.scenarios[0].apart.as_ref().unwrap();
    assert!(
        why.starts_with("The contenders of writes live one after the other, because the worker of turnless"),
        "{why}"
    );
    nothing_left(&place.out());
}

#[test]
fn a_run_that_was_killed_in_a_generation_starts_it_again() {
    let place = Place::new(&["honest", "other"]).served_by(OF_TWO_ROUNDS);
    let finished = place.run(&in_turns(place.plan(&["honest", "other"])).with(|one| one.blocks = 2));
    assert_eq!(finished.cells.len(), 8);
    // As a kill leaves it: five turns on disk, and no end.
    let (file, json) = (place.out().join("cells.jsonl"), place.out().join("run.json"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.split_inclusive('\n').take(5).collect::<String>()).unwrap();
    let run = Run { ended: None, checksum: None, ..finished.run };
    fs::write(&json, serde_json::to_string(&run).unwrap()).unwrap();
    let again = resume(&place.out(), Access::default(), None, &place.programs, &mut Silent, &Cancel::new()).unwrap();
    let attempts: Vec<(u32, u32)> = again.cells.iter().map(|cell| (cell.block, cell.attempt)).collect();
    assert_eq!(attempts, [vec![(1, 1); 4], vec![(2, 1)], vec![(2, 2); 4]].concat());
    assert!(again.cells.iter().all(Cell::counts));
    nothing_left(&place.out());
}

#[test]
fn a_crash_is_a_row_with_the_signal_and_the_step() {
    for (step, words) in [("ready", "before `ready`"), ("window", "between `go` and `end`"), ("done", "before `done`")]
    {
        let sentence = failure(&format!("crash-at-{step}"));
        assert!(sentence.contains("was ended by SIGABRT") && sentence.contains(words), "{sentence}");
    }
}

#[test]
fn an_early_exit_is_a_row_with_the_code_and_the_last_words() {
    for step in ["ready", "window", "done"] {
        let sentence = failure(&format!("exit-at-{step}"));
        assert!(sentence.contains("exited with code 3") && sentence.contains("something went wrong"), "{sentence}");
    }
}

#[test]
fn a_bad_exit_after_the_last_message_is_a_finding_and_the_figures_stand() {
    let cell = row_of("exit-at-exit", |_| {});
    assert_eq!((cell.failed.as_deref(), cell.void.as_deref()), (None, None));
    assert!(cell.measures["throughput"].get().is_some());
    let found = cell.findings.iter().find(|finding| finding.contains("had said `done`")).unwrap();
    assert!(
        found.contains("exited with code 3; its log ends: pid ") && found.contains("something went wrong"),
        "{found}"
    );
}

#[test]
fn a_hang_is_ended_and_is_a_row_with_the_time() {
    // Long enough for the honest worker on a busy machine.
    const TIME: Duration = Duration::from_secs(4);
    let hang = |name: &'static str, change: fn(&mut Deadlines)| {
        let cell = row_of(name, |plan| change(&mut plan.deadlines));
        let sentence = cell.failed.unwrap();
        let how = match name.ends_with("-at-window") {
            true => "issued no statement for 4 s (the limit `stall`) and was ended in the window",
            false => "said nothing new for 4 s and was ended",
        };
        assert!(sentence.contains(how), "{sentence}");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| hang("hang-at-ready", |deadlines| deadlines.ready = TIME));
        // It is connected and has prepared: from then on it is the time of a stall.
        scope.spawn(|| hang("hang-at-warm-up", |deadlines| deadlines.stall = TIME));
        scope.spawn(|| hang("stall-at-warm-up", |deadlines| deadlines.stall = TIME));
        scope.spawn(|| hang("hang-at-window", |deadlines| deadlines.stall = TIME));
        scope.spawn(|| hang("hang-at-done", |deadlines| deadlines.done = TIME));
        // It talks all the time, but issues nothing.
        scope.spawn(|| hang("stall-at-window", |deadlines| deadlines.stall = TIME));
    });
}

#[test]
fn garbage_is_a_row_that_quotes_it() {
    for step in ["ready", "window", "done"] {
        let sentence = failure(&format!("garbage-at-{step}"));
        assert!(sentence.contains("Segmentation fault (core dumped)"), "{sentence}");
        assert!(sentence.contains("broke the worker protocol"), "{sentence}");
        assert!(sentence.contains("; its log ends: pid "), "{sentence}");
    }
    let sentence = failure("endless-at-ready");
    assert!(sentence.contains("a line of 16777217 bytes"), "{sentence}");
}

#[test]
fn messages_in_the_wrong_order_are_a_row_with_both() {
    let sentence = failure("order-at-window");
    assert!(sentence.contains("`progress` or `end` was expected and `ready` came; its log ends: pid "), "{sentence}");
    let sentence = failure("early-done-at-window");
    assert!(sentence.contains("`progress` or `end` was expected and `done` came"), "{sentence}");
}

#[test]
fn a_worker_that_cannot_be_introduced_is_an_unavailable_contender_and_the_others_run() {
    let names = ["crash-at-hello", "exit-at-hello", "garbage-at-hello", "hang-at-hello", "other-version"];
    let place = Place::new(&[&names[..], &["honest"]].concat());
    let mut plan = place.plan(&[&names[..], &["missing", "honest@9", "honest"]].concat());
    plan.deadlines.hello = Duration::from_secs(4);
    let finished = place.run(&plan);
    let why: Vec<&str> =
        finished.run.contenders.iter().map(|one| one.unavailable.as_deref().unwrap_or("available")).collect();
    let words = [
        "was ended by SIGABRT",
        "something went wrong; that was before it had said `hello`",
        "Segmentation fault (core dumped)",
        "said nothing new for 4 s",
        "speaks version 4 of the worker protocol, and this cqldyno speaks version 3",
        "There is no worker for missing",
        "Version 9 of honest was asked for, the worker cqldyno-driver-honest has 1.2.3",
        "available",
    ];
    for (sentence, words) in why.iter().zip(words) {
        assert!(sentence.to_lowercase().contains(&words.to_lowercase()), "{sentence:?} should have {words:?}");
    }
    assert_eq!(finished.cells.len(), 1, "only the honest one has cells");
    assert_eq!(finished.run.contenders[0].label, "crash-at-hello");
    nothing_left(&place.out());
}

#[test]
fn errors_wrong_rows_and_missing_statements_void_a_row() {
    let cell = row_of("wrong-rows", |_| {});
    assert_eq!(cell.void.as_deref(), Some("2 of 1,000 statements failed: 2 of kind wrong row."));
    assert_eq!(cell.error_kinds[0].first, "pk 1 came back as 2");
    let cell = row_of("short", |_| {});
    let void = cell.void.unwrap();
    assert!(
        void.starts_with("1,000 statements were asked for and 999 were issued. The server counted 1,000"),
        "{void}"
    );
}

#[test]
fn the_server_must_have_counted_what_the_worker_says_that_it_issued() {
    let claiming = |way: &str| {
        let place = Place::new(&["honest"]).served_by(way);
        place.run(&place.plan(&["honest"])).cells.remove(0)
    };
    let agreed = claiming("claim-1000");
    assert_eq!((agreed.failed.as_deref(), agreed.void.as_deref()), (None, None));
    assert_eq!(agreed.measures["connections"].get(), Some(1.0));
    let lied = claiming("claim-990");
    assert_eq!(
        lied.void.as_deref(),
        Some(
            "The server counted 990 EXECUTEs of the statement insert in the window and the worker says that it issued 1,000. \
             The server has 990 rows more than before the window, and 1,000 were to be inserted, each with a key of its own."
        )
    );
    assert_eq!(lied.measures["server_executes"].get(), Some(990.0));
    let sent_nothing = claiming("claim-0");
    assert!(sent_nothing.void.unwrap().contains("0 connections carried the statements"));
}

#[test]
fn only_noop_may_declare_that_it_sends_nothing() {
    let sentence = failure("offline");
    assert!(
        sentence.starts_with(
            "The worker cqldyno-driver-offline declares that it sends nothing (capability `offline`), and only noop"
        ),
        "{sentence}"
    );
}

#[test]
fn a_worker_that_grows_beyond_the_limit_is_ended_and_is_a_row_with_both_numbers() {
    for step in ["ready", "window"] {
        let cell = row_of(&format!("grow-at-{step}"), |plan| plan.memory_limit_bytes = Some(256 << 20));
        let sentence = cell.failed.unwrap();
        assert!(sentence.contains("MiB resident, more than the limit of 256.0 MiB, and was ended"), "{sentence}");
        assert!(sentence.contains("its log ends: pid "), "{sentence}");
    }
}

#[test]
fn a_worker_that_closes_its_output_is_a_row_with_its_last_words() {
    let sentence = failure("closed-at-window");
    assert!(sentence.contains("closed its output and did not exit; its log ends: pid "), "{sentence}");
    assert!(sentence.contains("no more words; that was in the window"), "{sentence}");
}

#[test]
fn a_worker_that_floods_its_log_is_not_held_up_and_leaves_a_log_that_is_not_endless() {
    let place = Place::new(&["flood-at-window"]);
    let finished = place.run(&place.plan(&["flood-at-window"]));
    let sentence = finished.cells[0].failed.as_deref().unwrap();
    assert!(sentence.contains("exited with code 3") && sentence.contains("the flood is over"), "{sentence}");
    assert!(sentence.len() < 2_000, "{}", sentence.len());
    let log = place.out().join(finished.cells[0].log.as_ref().unwrap());
    assert!((1 << 20..5 << 20).contains(&fs::metadata(log).unwrap().len()));
}

#[test]
fn a_server_that_fails_is_the_reason_of_the_row() {
    let failure = |way: &str| {
        let place = Place::new(&["honest"]).served_by(way);
        place.run(&place.plan(&["honest"])).cells.remove(0).failed.unwrap()
    };
    let sentence = failure("crash");
    assert!(sentence.starts_with("The embedded cluster") && sentence.contains("exited with code 9"), "{sentence}");
    assert!(sentence.contains("out of order"), "{sentence}");
    // That it is ended to hear its last words is not the reason.
    let sentence = failure("close");
    assert!(sentence.contains("to give its counters, and closed its output and did not exit"), "{sentence}");
    assert!(sentence.contains("; its log ends: no more words"), "{sentence}");
}

#[test]
fn a_server_that_is_stopped_is_the_reason_and_not_the_driver_that_waits_for_it() {
    let place = Place::new(&["hang-at-window"]).served_by("stop");
    let mut plan = place.plan(&["hang-at-window"]);
    plan.deadlines.stall = Duration::from_secs(1);
    let sentence = place.run(&plan).cells.remove(0).failed.unwrap();
    assert!(
        sentence.starts_with("The embedded cluster was stopped, as SIGSTOP does (state T of process "),
        "{sentence}"
    );
    assert!(!sentence.contains("hang-at-window"), "{sentence}");
    nothing_left(&place.out());
}

/// What lets a user in with this password.
fn login(password: &str) -> Access {
    let credentials = Credentials { user: "ada".to_owned(), password: password.to_owned() };
    Access { credentials: Some(credentials), ..Access::default() }
}

#[test]
fn the_first_refused_password_ends_the_run_without_another_login_and_leaves_what_drops_its_keyspace() {
    const PASSWORD: &str = "tr0ub4dor&3";
    let place = Place::new(&["refused", "honest"]);
    let access = login(PASSWORD);
    let node = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::parse(&node.local_addr().unwrap().to_string()).unwrap();
    let plan = Plan { access, target, ..place.plan(&["refused"]).with_blocks(5, 1_000) };
    let error = run(&plan, &place.programs, &mut Silent, &Cancel::new()).unwrap_err();
    let sentence = error.to_string();
    assert!(matches!(error, BenchError::Refused(_)), "{sentence}");
    assert!(sentence.contains("the server refused the password ***. Nothing more was tried"), "{sentence}");
    let kept = Run::from_json(&fs::read_to_string(place.out().join("run.json")).unwrap()).unwrap();
    assert_eq!(kept.plan.keyspaces.len(), 1, "{:?}", kept.plan.keyspaces);
    let log = fs::read_to_string(place.out().join("logs/turns.log")).unwrap();
    let has_log = |of: &str| log.contains(&format!("keyspaces-{of}: "));
    assert_eq!(["login", "create", "drop"].map(has_log), [true, true, false], "floor does not log in again");
}

/// Ends the run before its first cell has done anything.
struct EndBeforeCells(Cancel);

impl Observer for EndBeforeCells {
    fn cell_starts(&mut self, _: &CellStart<'_>) {
        self.0.cancel();
    }
}

#[test]
fn a_password_that_is_refused_when_a_run_goes_on_leaves_its_folder_as_it_was() {
    let place = Place::new(&["refused"]);
    let access = login("tr0ub4dor&3");
    let node = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::parse(&node.local_addr().unwrap().to_string()).unwrap();
    let plan = Plan { access: access.clone(), target, ..place.plan(&["refused"]) };
    let cancel = Cancel::new();
    let begun = run(&plan, &place.programs, &mut EndBeforeCells(cancel.clone()), &cancel).unwrap();
    assert!(begun.run.interrupted && begun.cells.is_empty());
    let own = place.out().join("notes.txt");
    fs::write(&own, "mine").unwrap();
    for _ in 0..2 {
        let refused = resume(&place.out(), access.clone(), None, &place.programs, &mut Silent, &Cancel::new());
        assert!(matches!(refused, Err(BenchError::Refused(_))), "{refused:?}");
        assert_eq!(fs::read_to_string(&own).unwrap(), "mine");
        let kept = Run::from_json(&fs::read_to_string(place.out().join("run.json")).unwrap()).unwrap();
        assert_eq!((kept.started, kept.contenders), (begun.run.started, begun.run.contenders.clone()));
        assert!(place.out().join("cells.jsonl").exists(), "the run can go on");
    }
}

#[test]
fn a_contender_that_is_named_twice_is_its_own_control_and_nobody_joins() {
    let place = Place::new(&["honest"]);
    let finished = place.run(&Plan { control: true, ..place.plan(&["honest", "honest"]).with_blocks(3, 1_000) });
    let rows = &finished.run.contenders;
    let shown: Vec<(&str, bool)> = rows.iter().map(|row| (row.label.as_str(), row.control)).collect();
    assert_eq!(shown, [("honest@1.2.3", false), ("honest@1.2.3#2", true)]);
    assert_eq!(finished.cells.len(), 2 * 3);
    let one = place.run(&Plan {
        control: true,
        out: Some(place.dir.path().join("one")),
        ..place.plan(&["honest"]).with_blocks(3, 1_000)
    });
    assert_eq!(one.run.contenders[1].label, "honest@1.2.3#control");
}

#[test]
fn the_password_is_in_no_file_of_the_run_whatever_a_worker_prints() {
    const PASSWORD: &str = "tr0ub4dor\"&3";
    let place = Place::new(&["leak", "honest"]);
    let access = login(PASSWORD);
    let node = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::parse(&node.local_addr().unwrap().to_string()).unwrap();
    let finished = place.run(&Plan { access, target, ..place.plan(&["leak", "honest"]) });
    let of = |contender: &str| finished.cells.iter().find(|cell| cell.contender == contender).unwrap();
    let sentence = of("leak").failed.as_deref().unwrap();
    assert!(sentence.contains("refused the password ***"), "{sentence}");
    assert!(of("honest").measures["server_cpu"].reason().unwrap().contains("not ours"));
    let escaped = PASSWORD.replace('"', "\\\"");
    let mut files = 0;
    let mut folders = vec![place.out()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains(PASSWORD) && !text.contains(&escaped), "{} has the password", path.display());
        }
    }
    assert!(files >= 5, "{files} files");
    let shown = format!("{finished:?}");
    assert!(!shown.contains("tr0ub4dor"));
}

#[test]
fn a_line_that_is_no_message_shows_no_part_of_the_password_wherever_it_is_cut() {
    const PASSWORD: &str = "tr0ub4\\dor\"&3-correct-horse";
    for (name, forms) in [("leak-garbage", PASSWORD.to_owned()), ("leak-quoted", format!("{PASSWORD:?}"))] {
        let place = Place::new(&[name]);
        let access = login(PASSWORD);
        let finished = place.run(&Plan { access, ..place.plan(&[name]) });
        let sentence = finished.cells[0].failed.as_deref().unwrap();
        assert!(sentence.contains("broke the worker protocol") && sentence.contains("***"), "{sentence}");
        for part in [&forms[..6], "tr0ub", "dor", "horse"] {
            assert!(!sentence.contains(part), "{sentence} has {part}");
        }
    }
}

/// Ends the run when the first contender was introduced.
struct EndAtFirst(Cancel);

impl Observer for EndAtFirst {
    fn contender(&mut self, _: &cqldyno_reports::Contender) {
        self.0.cancel();
    }
}

#[test]
fn ending_a_run_while_contenders_are_introduced_leaves_nothing_that_could_be_gone_on_with() {
    let place = Place::new(&["honest"]);
    let cancel = Cancel::new();
    let plan = place.plan(&["honest", "honest", "honest"]);
    let error = run(&plan, &place.programs, &mut EndAtFirst(cancel.clone()), &cancel).unwrap_err();
    assert!(matches!(error, BenchError::Ended), "{error}");
    assert!(error.to_string().contains("nothing was measured and nothing is kept"), "{error}");
    assert!(!place.out().exists());
}

/// Ends the run in the window of the second generation.
struct EndInWindow {
    cancel: Cancel,
    generations: usize,
}

impl Observer for EndInWindow {
    fn cell_starts(&mut self, _: &CellStart<'_>) {
        self.generations += 1;
    }

    fn stage(&mut self, stage: Stage) {
        if self.generations == 2 && matches!(stage, Stage::Window { .. }) {
            self.cancel.cancel();
        }
    }
}

#[test]
fn ending_a_run_ends_its_processes_and_keeps_what_is_finished() {
    let place = Place::new(&["honest"]);
    let plan = place.plan(&["honest"]).with_blocks(2, 1_000);
    let cancel = Cancel::new();
    let mut observer = EndInWindow { cancel: cancel.clone(), generations: 0 };
    let finished = run(&plan, &place.programs, &mut observer, &cancel).unwrap();
    assert!(finished.run.interrupted);
    assert_eq!(finished.cells.len(), 1);
    let run = Run::from_json(&fs::read_to_string(place.out().join("run.json")).unwrap()).unwrap();
    assert!(run.interrupted && run.ended.is_some());
    assert_eq!(fs::read_to_string(place.out().join("cells.jsonl")).unwrap().lines().count(), 1);
    nothing_left(&place.out());
}

#[test]
fn a_pinned_arrangement_is_refused_or_takes_cores_that_do_not_overlap() {
    let place = Place::new(&["honest"]);
    let pinned: Arrangement = "pinned+current".parse().unwrap();
    let plan = Plan { arrangements: vec![pinned], ..place.plan(&["honest"]) };
    let result = run(&plan, &place.programs, &mut Silent, &Cancel::new());
    if std::thread::available_parallelism().unwrap().get() < 2 {
        assert!(result.unwrap_err().to_string().contains("needs two cores"));
        return;
    }
    let info = &result.unwrap().run.plan.arrangements[0];
    assert!(info.worker_cores.iter().all(|core| !info.server_cores.contains(core)), "{info:?}");
}
