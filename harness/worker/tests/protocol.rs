//! The worker protocol, spoken with a real child process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's way to fail")]

mod parent;
mod tape;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use cqldyno_driver_api::{ErrorKind, Setting};
use cqldyno_protocol::{
    BuildInfo, FailureKind, Job, Mode, PROTOCOL_VERSION, ParentMessage, Runtime, Tickets, Trace, WorkerMessage,
};
use cqldyno_scenarios::{Kind, Operation, Submit, Workload, builtin};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use parent::{Worker, cell, faulty, job, refused};

const RUNTIMES: [Runtime; 2] = [Runtime::Current, Runtime::Multi { workers: 2 }];

#[test]
fn a_cell_goes_from_hello_to_done_in_order_for_every_scenario_and_runtime() {
    for runtime in RUNTIMES {
        for scenario in ["writes", "reads", "mixed"] {
            let mut worker = Worker::start();
            let hello = worker.hello();
            assert_eq!((hello.protocol, hello.driver.label().as_str()), (PROTOCOL_VERSION, "test@1.2.3"));
            let adapter = hello.build.adapter.clone();
            assert_eq!(hello.build, BuildInfo { adapter, ..cqldyno_worker::build_info() });
            assert!(hello.build.compiler.starts_with("rustc "), "{:?}", hello.build);
            let mut job = job(scenario, 3_000);
            job.runtime = runtime;
            worker.say(&ParentMessage::Job(Box::new(job)));
            let ready = worker.hear_ready();
            assert_eq!(ready.settings, [Setting::taken("page size", 77)]);
            // The harness has no thread of its own beside the runtime's: it would make the driver's every malloc dearer.
            assert_eq!(ready.threads, if runtime == Runtime::Current { 1 } else { 3 });
            worker.say(&ParentMessage::Go { at_ns: None });
            let (end, done) = worker.finish();
            assert!(end.wall_ns > 0);
            assert_eq!((done.issued, done.answered, done.verified), (3_000, 3_000, 3_000));
            assert_eq!(done.issued_by_statement.values().sum::<u64>(), 3_000);
            assert_eq!(done.per_second.iter().sum::<u64>(), 3_000);
            assert!(done.errors.is_empty());
            if scenario == "mixed" {
                assert_eq!(done.issued_by_statement.values().collect::<Vec<_>>(), [&1_500, &1_500]);
            }
            let bytes = BASE64_STANDARD.decode(done.histogram.unwrap()).unwrap();
            let latencies: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            assert_eq!(latencies.len(), 3_000);
        }
    }
}

#[test]
fn turns_of_one_job_share_its_statements_and_each_has_figures_of_its_own() {
    for (rate, runtime) in [(None, RUNTIMES[0]), (None, RUNTIMES[1]), (Some(100_000), RUNTIMES[1])] {
        let mut shared = job("mixed", 3_001);
        (shared.turns, shared.rate, shared.runtime) = (3, rate, runtime);
        let mut worker = Worker::ready(shared);
        let mut whole = (0, 0, std::collections::BTreeMap::new());
        for share in [1_000, 1_000, 1_001] {
            worker.say(&ParentMessage::Go { at_ns: None });
            let end = worker.end();
            worker.say(&ParentMessage::Ack);
            let done = worker.done();
            assert!(end.wall_ns > 0);
            assert_eq!((done.issued, done.verified, done.per_second.iter().sum::<u64>()), (share, share, share));
            let bytes = BASE64_STANDARD.decode(done.histogram.unwrap()).unwrap();
            let latencies: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            assert_eq!((latencies.len(), done.pace.is_some()), (share, rate.is_some()));
            whole = (whole.0 + done.issued, whole.1 + done.verified, whole.2);
            for (name, count) in done.issued_by_statement {
                *whole.2.entry(name).or_insert(0) += count;
            }
        }
        assert_eq!((whole.0, whole.1), (3_001, 3_001));
        assert_eq!(whole.2.into_values().collect::<Vec<_>>(), [1_501, 1_500], "as of one window");
        assert_eq!((worker.hear(), worker.exit_code()), (None, Some(0)));
    }
}

#[test]
fn a_turn_is_stopped_alone_and_the_parent_may_leave_before_the_last_one() {
    let mut slow = faulty("writes", 2_000_000, "slow");
    slow.turns = 2;
    let mut worker = Worker::going(slow);
    for more in [true, false] {
        worker.say(&ParentMessage::Stop);
        worker.end();
        worker.say(&ParentMessage::Ack);
        let done = worker.done();
        assert!(done.issued < 1_000_000 && done.issued == done.verified, "{}", done.issued);
        if more {
            worker.say(&ParentMessage::Go { at_ns: None });
        }
    }
    assert_eq!(worker.exit_code(), Some(0));

    let mut two = job("writes", 100);
    two.turns = 2;
    let mut worker = Worker::going(two.clone());
    worker.end();
    worker.say(&ParentMessage::Ack);
    worker.done();
    worker.close_input();
    assert_eq!(worker.exit_code(), Some(2));

    two.mode = Mode::Load;
    let message = refused(two.clone(), FailureKind::Job);
    assert_eq!(message, "2 turns were asked for; ask for 1, or for more where statements are measured");
    (two.mode, two.turns) = (Mode::Measure, 0);
    assert!(refused(two, FailureKind::Job).starts_with("0 turns were asked for"));
}

#[test]
fn a_job_with_a_rate_is_told_of_by_the_intended_start_of_every_statement() {
    for runtime in RUNTIMES {
        let mut paced = job("mixed", 1_000);
        (paced.rate, paced.runtime) = (Some(20_000), runtime);
        let mut worker = Worker::ready(paced);
        worker.say(&ParentMessage::Go { at_ns: None });
        let (_, done) = worker.finish();
        assert_eq!((done.issued, done.verified, done.below_concurrency), (1_000, 1_000, Some(0)));
        assert_eq!(done.issued_by_statement.values().collect::<Vec<_>>(), [&500, &500]);
        // Pacing takes no thread: the driver's mallocs would be dearer for it.
        assert_eq!(done.threads, if runtime == Runtime::Current { 1 } else { 3 });
        let pace = done.pace.unwrap();
        assert_eq!((pace.rate, pace.late_after_ns), (20_000, 1_000_000));
        let read = |text: String| -> Histogram<u64> {
            Deserializer::new().deserialize(&mut BASE64_STANDARD.decode(text).unwrap().as_slice()).unwrap()
        };
        let (response, lateness) = (read(pace.response), read(pace.lateness));
        let driver = read(done.histogram.unwrap());
        assert_eq!((response.len(), lateness.len(), driver.len()), (1_000, 1_000, 1_000));
        assert!(response.max() >= driver.max() && response.max() >= lateness.max());
        assert!(pace.lasted_ns > 49_000_000, "{}", pace.lasted_ns);
    }
    assert_eq!(cell(job("writes", 100)).1.pace, None, "a closed loop has none");
}

#[test]
fn statements_are_submitted_as_the_scenario_says_and_polls_are_counted_where_there_are_futures() {
    for runtime in RUNTIMES {
        for submit in Submit::ALL {
            let mut job = job("mixed", 2_000);
            (job.scenario.submit, job.runtime) = (submit, runtime);
            let (_, done) = cell(job);
            assert_eq!((done.issued, done.verified, done.errors.len()), (2_000, 2_000, 0), "{submit}");
            assert_eq!(done.issued_by_statement.values().collect::<Vec<_>>(), [&1_000, &1_000]);
            // The driver waits once per statement.
            let polls = done.polls.map(|polls| polls >= 4_000);
            assert_eq!(polls, (!submit.has_slots()).then_some(true), "{submit}: {:?}", done.polls);
            assert_eq!(done.below_concurrency.is_some(), submit.has_slots());
        }
    }
}

#[test]
fn what_a_way_of_submitting_cannot_do_is_refused_with_a_sentence() {
    let refused_by = |change: &dyn Fn(&mut Job)| {
        let mut job = job("mixed", 100);
        job.scenario.submit = Submit::Stream;
        change(&mut job);
        refused(job, FailureKind::Job)
    };
    assert_eq!(
        refused_by(&|job| job.rate = Some(1_000)),
        "a rate was asked for, and the way of submitting stream keeps none; use slots, or leave the rate out"
    );
    let batch = refused_by(&|job| job.scenario.statements[1].operation = Operation::Batch);
    assert!(batch.contains("stream takes prepared statements alone"), "{batch}");
}

#[test]
fn a_rate_that_a_driver_does_not_reach_takes_its_time_and_can_be_stopped() {
    let mut slow = faulty("writes", 1_000_000, "slow");
    slow.rate = Some(1_000_000);
    let mut worker = Worker::going(slow);
    worker.say(&ParentMessage::Stop);
    let (_, done) = worker.finish();
    assert!(done.issued < 1_000_000 && done.issued == done.verified, "{}", done.issued);
}

/// The tickets of `job` whose statement has this index and whose key ends with this digit.
fn tickets(job: &Job, statement: Option<usize>, digit: u64) -> Tickets {
    let workload = Workload::new(&job.scenario, job.count, job.warmup, job.seed).unwrap();
    let is_it = |ticket: &u64| {
        let issue = workload.issue(*ticket);
        issue.key % 10 == digit && statement.is_none_or(|statement| issue.statement == statement)
    };
    (0..job.count).filter(is_it).collect()
}

fn traced(fault: &str) -> Job {
    let mut job = faulty("mixed", 500, fault);
    (job.rate, job.trace) = (Some(20_000), Some(Trace { patience_ms: 2_000 }));
    job
}

#[test]
fn a_window_with_statements_that_hang_ends_after_its_patience_and_every_ticket_is_accounted_for() {
    for runtime in RUNTIMES {
        let mut job = traced("hangs at times");
        (job.runtime, job.progress_ms) = (runtime, 1);
        let mut worker = Worker::going(job.clone());
        let mut waited = false;
        loop {
            match worker.hear() {
                Some(WorkerMessage::Progress { issued }) => waited |= issued == 500,
                Some(WorkerMessage::End(_)) => break,
                other => panic!("{other:?}"),
            }
        }
        assert!(waited, "the worker tells that it is there while it waits");
        worker.say(&ParentMessage::Ack);
        let done = worker.done();
        let trace = done.trace.unwrap();
        assert_eq!((&trace.failed, &trace.unanswered), (&tickets(&job, None, 3), &tickets(&job, None, 7)));
        assert_eq!((done.issued, done.answered, done.verified), (500, 450, 400));
        assert_eq!(done.issued_by_statement.into_values().collect::<Vec<_>>(), [250, 250]);
        assert_eq!(done.errors.keys().collect::<Vec<_>>(), [&ErrorKind::Unavailable]);
        assert_eq!(trace.answers_per_10ms.iter().sum::<u64>(), 400);
        assert_eq!((worker.hear(), worker.exit_code()), (None, Some(0)));
    }
}

#[test]
fn a_worker_ends_although_its_driver_waits_for_answers_when_it_is_closed() {
    let test = |runtime| {
        let mut job = traced("hangs also when it is closed");
        job.runtime = runtime;
        let (_, done) = cell(job.clone());
        assert_eq!(done.trace.unwrap().unanswered, tickets(&job, None, 7));
    };
    // At a time, because each waits for the driver.
    std::thread::scope(|scope| {
        for runtime in RUNTIMES {
            scope.spawn(move || test(runtime));
        }
    });
}

#[test]
fn the_row_of_every_ticket_is_read_back_if_single_statements_are_traced() {
    for runtime in RUNTIMES {
        let read_back = |fault| {
            let mut job = faulty("mixed", 3_000, fault);
            (job.mode, job.runtime, job.trace) = (Mode::ReadBack, runtime, Some(Trace { patience_ms: 0 }));
            (cell(job.clone()).1, job)
        };
        let (done, _) = read_back("");
        assert_eq!((done.issued, done.verified, done.trace), (1_500, 1_500, Some(Default::default())));
        let (done, job) = read_back("drops every tenth row");
        let trace = done.trace.unwrap();
        assert_eq!((done.issued, done.verified, trace.unanswered.count()), (1_500, 1_350, 0));
        assert_eq!(trace.failed, tickets(&job, Some(1), 0));
        assert_eq!((done.issued_by_statement.into_iter().collect::<Vec<_>>()), [("insert".to_owned(), 1_500)]);
        // Rows that could not be read may be there.
        let (done, job) = read_back("errors");
        let trace = done.trace.unwrap();
        let both = tickets(&job, Some(1), 3).iter().chain(tickets(&job, Some(1), 7).iter()).collect::<Tickets>();
        assert_eq!((trace.failed.count(), trace.unanswered, done.issued), (0, both, 1_500));
    }
}

#[test]
fn a_trace_that_is_impossible_is_refused_with_a_sentence() {
    let refused = |change: fn(&mut Job)| {
        let mut job = traced("");
        change(&mut job);
        refused(job, FailureKind::Job)
    };
    let neither = "single statements were to be traced, and the job has neither a rate nor the mode read_back; set one of them, or \
                   leave trace out";
    assert_eq!(refused(|job| job.rate = None), neither);
    assert_eq!(refused(|job| job.mode = Mode::Load), neither);
    assert_eq!(
        refused(|job| job.count = 1_000_001),
        "1000001 statements were to be traced one by one; at most 1000000 are possible: set count to fewer"
    );
    assert_eq!(
        refused(|job| (job.count, job.rate) = (3_600, Some(1))),
        "a window of 3602 s with its patience was to be traced; at most 3600 s are possible: set a higher rate, a lower count or less \
         patience"
    );
    assert_eq!(
        refused(|job| (job.mode, job.count, job.scenario) = (Mode::ReadBack, 1_000_000, builtin("batch").unwrap())),
        "up to 64000000 rows were to be read back one by one; at most 16777216 are possible: set count to fewer"
    );
    assert_eq!(
        refused(|job| job.scenario = builtin("connect").unwrap()),
        "the statement connect of the scenario connect opens a session of its own, so it cannot be traced; use another operation, or \
         leave trace out"
    );
    assert!(cell(job("writes", 100)).1.trace.is_none(), "unasked there is none");
}

#[test]
fn connecting_takes_a_session_a_statement_up_to_its_answer() {
    for runtime in RUNTIMES {
        let mut connecting = job("mixed", 20);
        (connecting.mode, connecting.runtime) = (Mode::Connect, runtime);
        let (end, done) = cell(connecting);
        assert!(end.wall_ns > 0);
        assert_eq!((done.issued, done.verified), (20, 20));
        assert_eq!(done.issued_by_statement.values().collect::<Vec<_>>(), [&10, &10]);
        let bytes = BASE64_STANDARD.decode(done.histogram.unwrap()).unwrap();
        let times: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(times.len(), 20);
    }
    let mut wrong = faulty("reads", 20, "swaps columns");
    wrong.mode = Mode::Connect;
    // For the key 0 both columns are alike.
    assert_eq!(cell(wrong).1.errors[&ErrorKind::WrongRow].count, 19);
}

#[test]
fn a_message_that_is_none_or_comes_too_early_is_a_failure_of_the_protocol() {
    let early = |text: &str| {
        let mut worker = Worker::start();
        worker.hello();
        worker.say_raw(text);
        worker.failed(FailureKind::Protocol)
    };
    assert!(early("hello yourself\n").contains("\"hello yourself\""));
    assert!(early("\n").contains("a message of the worker protocol was expected"));
    assert!(early("{\"type\":\"job\"}\n").contains("missing field"));
    assert_eq!(early("{\"type\":\"go\"}\n"), "`job` was expected from the parent, and `go` came");
    assert_eq!(early("{\"type\":\"ack\"}\n"), "`job` was expected from the parent, and `ack` came");

    let mut worker = Worker::ready(job("writes", 1_000));
    worker.say(&ParentMessage::Stop);
    assert_eq!(worker.failed(FailureKind::Protocol), "`go` was expected from the parent, and `stop` came");

    let mut worker = Worker::ready(job("writes", 1_000));
    worker.say(&ParentMessage::Job(Box::new(job("writes", 1_000))));
    assert_eq!(worker.failed(FailureKind::Protocol), "`go` was expected from the parent, and `job` came");

    let mut worker = Worker::going(faulty("writes", 1_000_000, "slow"));
    worker.say_raw("\u{0}\n");
    worker.failed(FailureKind::Protocol);

    let mut worker = Worker::going(job("writes", 1_000));
    worker.end();
    worker.say(&ParentMessage::Go { at_ns: None });
    assert_eq!(worker.failed(FailureKind::Protocol), "`ack` was expected from the parent, and `go` came");
}

#[test]
fn a_worker_whose_parent_is_gone_ends_at_any_point() {
    let abandoned = |mut worker: Worker| {
        worker.close_input();
        while worker.hear().is_some() {}
        assert_eq!(worker.exit_code(), Some(2));
    };
    abandoned(Worker::start());
    abandoned(Worker::ready(job("writes", 1_000)));
    for runtime in RUNTIMES {
        let mut job = faulty("writes", 1_000_000, "hangs");
        job.runtime = runtime;
        abandoned(Worker::going(job));
    }
    let mut worker = Worker::going(job("writes", 1_000));
    worker.end();
    abandoned(worker);
    // While the driver never returns from the warm-up.
    let mut worker = Worker::start();
    worker.hello();
    let mut stuck = faulty("writes", 1_000, "hangs");
    stuck.warmup = 10;
    worker.say(&ParentMessage::Job(Box::new(stuck)));
    abandoned(worker);
}

#[test]
fn closing_the_input_after_ack_is_no_failure() {
    let mut worker = Worker::going(job("writes", 1_000));
    worker.end();
    worker.say(&ParentMessage::Ack);
    worker.close_input();
    assert_eq!(worker.done().verified, 1_000);
    assert_eq!(worker.exit_code(), Some(0));
}

#[test]
fn stop_ends_the_window_early_and_everything_issued_is_answered() {
    for runtime in RUNTIMES {
        let mut job = faulty("writes", 100_000_000, "slow");
        (job.runtime, job.progress_ms) = (runtime, 1);
        let mut worker = Worker::going(job);
        let Some(WorkerMessage::Progress { issued }) = worker.hear() else { panic!("progress was expected") };
        assert!((1..100_000_000).contains(&issued), "{issued}");
        worker.say(&ParentMessage::Stop);
        let (_, done) = worker.finish();
        assert!((64..100_000_000).contains(&done.issued), "{}", done.issued);
        assert_eq!((done.answered, done.verified), (done.issued, done.issued));
    }
}

#[test]
fn a_stop_that_crosses_end_is_ignored() {
    let mut worker = Worker::going(job("writes", 1_000));
    worker.end();
    worker.say(&ParentMessage::Stop);
    worker.say(&ParentMessage::Ack);
    assert_eq!(worker.done().issued, 1_000);
}

#[test]
fn errors_are_counted_by_kind_with_the_first_message_and_are_never_verified() {
    for runtime in RUNTIMES {
        // Statements that are executed, and such as are more than that.
        for scenario in ["writes", "connect"] {
            let mut job = faulty(scenario, 5_000, "errors");
            job.runtime = runtime;
            let (_, done) = cell(job);
            assert_eq!((done.issued, done.answered, done.verified), (5_000, 5_000, 4_000), "{scenario}");
            let kinds: Vec<_> =
                done.errors.iter().map(|(kind, error)| (*kind, error.count, error.first.as_str())).collect();
            assert_eq!(
                kinds,
                [(ErrorKind::Unavailable, 500, "no replica"), (ErrorKind::RequestTimeout, 500, "too late")]
            );
        }
    }
}

#[test]
fn wrong_rows_are_found_and_named() {
    // Key 0 has the same number in every column, so swapping them changes nothing there.
    for (fault, wrong, words) in [
        ("swaps columns", 4_999, "column 2 should be bigint"),
        ("constant", 4_999, "column 1 should be bigint"),
        ("null", 5_000, "and null was found"),
        ("short row", 5_000, "a row of 3 columns was expected, and one of 0 came back"),
        ("drops every tenth row", 500, "1 row was expected, and no row came back"),
    ] {
        let (_, done) = cell(faulty("reads", 5_000, fault));
        assert_eq!((done.answered, done.verified), (5_000, 5_000 - wrong), "{fault}");
        let error = &done.errors[&ErrorKind::WrongRow];
        assert_eq!((done.errors.len(), error.count), (1, wrong), "{fault}");
        assert!(error.first.contains(words), "{fault}: {}", error.first);
    }
    let (_, done) = cell(faulty("writes", 1_000, "rows for inserts"));
    assert_eq!((done.verified, done.errors[&ErrorKind::WrongRow].count), (0, 1_000));
}

#[test]
fn what_a_driver_prints_does_not_get_into_the_protocol() {
    let (_, done) = cell(faulty("writes", 1_000, "prints"));
    assert_eq!(done.verified, 1_000);
}

#[test]
fn a_driver_that_panics_is_a_failure_with_its_words() {
    for runtime in RUNTIMES {
        let mut job = faulty("writes", 1_000, "panic");
        job.runtime = runtime;
        let message = Worker::going(job).failed(FailureKind::Crash);
        assert!(message.contains("key 500 is cursed"), "{message}");
    }
    let message = refused(faulty("writes", 1_000, "panic in connect"), FailureKind::Crash);
    assert!(message.contains("no driver for you"), "{message}");
}

#[test]
fn statements_below_the_concurrency_are_counted_and_few() {
    let mut job = job("writes", 250_000);
    job.concurrency = 1_024;
    let (_, done) = cell(job.clone());
    // 1,013 are issued before 99 % of 1,024 slots are at work, whatever happens.
    let below = done.below_concurrency.unwrap();
    assert!((1_013..1_250).contains(&below), "{below}");
    // How many there are with two threads is the system's doing; that there are no fewer is ours. One slot may look at how many are at
    // work only when the other thread's next one is, too.
    job.runtime = Runtime::Multi { workers: 2 };
    let (_, done) = cell(job);
    let below = done.below_concurrency.unwrap();
    assert!(below >= 1_012, "{below}");
    assert_eq!(done.verified, 250_000);
}

#[test]
fn loading_creates_the_schema_and_every_row() {
    for runtime in RUNTIMES {
        let mut job = faulty("mixed", 1_000, "no tables");
        (job.mode, job.warmup, job.runtime) = (Mode::Load, 100, runtime);
        let (_, done) = cell(job);
        // The half that is read, and as many rows as the warm-up has keys.
        assert_eq!((done.issued, done.verified), (600, 600));
        assert_eq!(done.issued_by_statement.into_iter().collect::<Vec<_>>(), [("select".to_owned(), 600)]);
    }
    let mut nothing_to_load = faulty("writes", 1_000, "no tables");
    nothing_to_load.mode = Mode::Load;
    let (_, done) = cell(nothing_to_load);
    assert_eq!((done.issued, done.histogram), (0, None));
}

#[test]
fn reading_back_checks_a_sample_of_what_was_written_and_counts_what_is_wrong() {
    for runtime in RUNTIMES {
        let mut good = faulty("writes", 50_000, "");
        (good.mode, good.runtime) = (Mode::ReadBack, runtime);
        let (_, done) = cell(good);
        assert_eq!((done.issued, done.verified), (1_000, 1_000));
        assert_eq!(done.issued_by_statement.into_iter().collect::<Vec<_>>(), [("insert".to_owned(), 1_000)]);
    }
    let mut wrong = faulty("mixed", 50_000, "swaps columns");
    wrong.mode = Mode::ReadBack;
    let (_, done) = cell(wrong);
    assert_eq!((done.issued, done.verified, done.errors[&ErrorKind::WrongRow].count), (1_000, 0, 1_000));
    let mut nothing = faulty("reads", 50_000, "");
    nothing.mode = Mode::ReadBack;
    assert_eq!(cell(nothing).1.issued, 0);
}

#[test]
fn the_warm_up_tells_how_far_it_is() {
    let mut slow = faulty("writes", 1_000, "slow");
    (slow.warmup, slow.progress_ms) = (64_000, 1);
    let mut worker = Worker::start();
    worker.hello();
    worker.say(&ParentMessage::Job(Box::new(slow)));
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let Some(WorkerMessage::Progress { issued }) = worker.hear() else { panic!("progress was expected") };
        seen.push(issued);
    }
    assert!(seen[0] == 0 && seen[1] > 0 && seen[2] > seen[1], "{seen:?}");
    worker.say(&ParentMessage::Stop);
    while let Some(message) = worker.hear() {
        match message {
            WorkerMessage::Progress { .. } => {}
            WorkerMessage::Failed(failed) => {
                assert_eq!(failed.message, "nothing until `ready` was expected from the parent, and `stop` came");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_error_while_loading_fails_the_cell() {
    let mut job = faulty("reads", 100_000, "errors");
    job.mode = Mode::Load;
    let message = Worker::going(job).failed(FailureKind::Load);
    assert!(message.contains("no replica") || message.contains("too late"), "{message}");
    let mut job = faulty("reads", 1_000, "schema");
    job.mode = Mode::Load;
    let message = refused(job, FailureKind::Schema);
    assert!(message.contains("CREATE KEYSPACE") && message.contains("no viable alternative"), "{message}");
}

#[test]
fn each_step_before_the_window_fails_by_its_own_kind() {
    let message = refused(faulty("writes", 1_000, "connect"), FailureKind::Connect);
    assert_eq!(message, "test could not connect to 127.0.0.1:9: connect: nobody listens");
    let message = refused(faulty("writes", 1_000, "no tables"), FailureKind::Prepare);
    assert!(message.contains("INSERT INTO") && message.contains("there is no such table"), "{message}");
    let mut warm = faulty("writes", 1_000, "errors");
    warm.warmup = 100;
    let message = refused(warm, FailureKind::WarmUp);
    assert!(message.starts_with("the warm-up ended after "), "{message}");
    let mut worker = Worker::start_with(&[("TEST_DRIVER_HAS_NO_LIBRARY", "1")]);
    assert!(worker.failed(FailureKind::Describe).contains("libtest.so was not found"));
}

#[test]
fn a_job_that_cannot_be_carried_out_is_refused_with_a_sentence() {
    let refused = |change: fn(&mut Job)| {
        let mut job = job("mixed", 1_000);
        change(&mut job);
        refused(job, FailureKind::Job)
    };
    assert!(refused(|job| job.concurrency = 0).contains("a concurrency of 0"));
    assert!(refused(|job| job.runtime = Runtime::Multi { workers: 0 }).contains("0 workers"));
    assert!(refused(|job| job.connections = 0).contains("0 connections"));
    assert!(refused(|job| job.rate = Some(0)).contains("a rate of 0 statements per second"));
    assert!(refused(|job| job.target.clear()).contains("no address"));
    assert!(refused(|job| job.count = 1).contains("ask for at least 2"));
    assert!(refused(|job| job.scenario.statements.clear()).contains("has no [[statement]]"));
    assert!(refused(|job| job.scenario.statements[0].values = vec![Kind::Null {}.into(); 257]).contains("at most 256"));
    let too_long = |job: &mut Job| {
        let length = 65_535.into();
        let list = Kind::List { of: Box::new(Kind::Int { times: 1, plus: 0 }), length };
        job.scenario.statements[0].values[0] = Kind::List { of: Box::new(list), length }.into();
    };
    assert!(refused(too_long).contains("at most 16711680 fit into a frame"));
}
