//! No way to misbehave gets a clean row, and every row says in a sentence what was found. Real workers, the real node.

use crate::place::{Place, misbehaving};
use cqldyno_reports::Cell;

/// The cell of `misbehaving+how=HOW` in `scenario`; the honest one beside it is not disturbed.
fn cell(scenario: &str, how: &str) -> Cell {
    let place = Place::new();
    let plan = place.plan(scenario, &["floor", how]);
    misbehaving(place.run(&plan))
}

/// Why the row has no valid figures; it has its figures all the same, so that anybody can see what was told.
fn void(scenario: &str, how: &str) -> String {
    let cell = cell(scenario, how);
    assert_eq!(cell.failed, None, "{how}");
    cell.void.unwrap_or_else(|| panic!("{how} got a clean row in {scenario}"))
}

fn says(scenario: &str, how: &str, words: &[&str]) {
    let sentence = void(scenario, how);
    for words in words {
        assert!(sentence.contains(words), "{how} in {scenario}: {sentence:?} should have {words:?}");
    }
}

#[test]
fn what_is_around_the_misbehaving_client_gets_a_clean_row_by_itself() {
    for scenario in ["writes", "reads", "mixed"] {
        let cell = cell(scenario, "honestly");
        assert_eq!((cell.failed.as_deref(), cell.void.as_deref()), (None, None), "{scenario}");
        assert_eq!(cell.measures["verified"].get(), Some(5_000.0));
    }
}

/// The cell of `misbehaving+how=HOW` in a scenario of other statements than EXECUTEs.
fn operation(scenario: &str, how: &str) -> Cell {
    let place = Place::new();
    let plan = place.plan(scenario, &["floor", how]);
    misbehaving(place.run(&plan.with(|plan| plan.warmup = 20).with_blocks(1, 500)))
}

#[test]
fn batches_prepares_unprepared_statements_and_sessions_get_a_clean_row_when_they_are_honest() {
    for (scenario, count) in [("batch", 500.0), ("prepare", 500.0), ("unprepared", 500.0), ("connect", 500.0)] {
        let cell = operation(scenario, "honestly");
        assert_eq!((cell.failed.as_deref(), cell.void.as_deref()), (None, None), "{scenario}");
        assert_eq!(cell.measures["verified"].get(), Some(count), "{scenario}");
        assert_eq!(
            cell.measures["connections"].get(),
            Some(if scenario == "connect" { 500.0 } else { 1.0 }),
            "{scenario}"
        );
    }
}

#[test]
fn batches_that_are_split_preparing_that_is_spared_and_sessions_that_are_shared_are_found() {
    let found = [
        ("batch", "splits-batches", "The server counted 1,000 unlogged BATCHes of the statement batch"),
        ("prepare", "prepares-once", "The server counted 0 PREPAREs of the statement prepare"),
        ("connect", "reuses-its-session", "1 connections carried the statements, and 500 were due"),
    ];
    for (scenario, how, sentence) in found {
        let void = operation(scenario, how).void.unwrap_or_else(|| panic!("{how} got a clean row"));
        assert!(void.contains(sentence), "{how}: {void}");
    }
}

#[test]
fn connections_of_closed_sessions_that_stay_open_are_told() {
    let cell = operation("connect", "leaves-connections-open");
    assert_eq!((cell.void.as_deref(), cell.measures["connections_left_open"].get()), (None, Some(500.0)));
    let said = "Of the connections of 500 closed sessions the server still had 500 open 5 s later.";
    assert!(cell.findings.iter().any(|finding| finding == said), "{:?}", cell.findings);
    let honest = operation("connect", "honestly");
    assert_eq!(honest.measures["connections_left_open"].get(), Some(0.0), "{:?}", honest.findings);
}

#[test]
fn skipped_decoding_is_found() {
    says("reads", "skips-decoding", &["5,000 of 5,000 statements failed: 5,000 of kind wrong row."]);
    says("mixed", "skips-decoding", &["2,500 of 5,000 statements failed: 2,500 of kind wrong row."]);
}

#[test]
fn a_driver_that_decodes_one_column_of_three_is_found() {
    says("reads", "decodes-one-column", &["5,000 of kind wrong row"]);
}

#[test]
fn rows_that_are_made_up_from_the_scenarios_rule_are_found() {
    says("reads", "makes-up-rows", &["5,000 of 5,000 statements failed: 5,000 of kind wrong row."]);
}

#[test]
fn answers_from_a_cache_are_found() {
    says(
        "reads",
        "answers-from-cache",
        &[
            "The server counted 0 EXECUTEs of the statement select in the window and the worker says that it issued 5,000.",
            "0 connections carried the statements",
        ],
    );
}

#[test]
fn dropped_statements_are_found() {
    says(
        "writes",
        "drops-every-thousandth",
        &[
            "The server counted 4,995 EXECUTEs of the statement insert in the window and the worker says that it issued 5,000.",
            "The server has 4,995 rows more than before the window, and 5,000 were to be inserted",
        ],
    );
    says("reads", "drops-every-thousandth", &["The server counted 4,995 EXECUTEs", "5 of kind wrong row"]);
}

#[test]
fn silent_retries_are_found() {
    for scenario in ["writes", "reads"] {
        says(scenario, "retries-silently", &["The server counted 5,005 EXECUTEs", "says that it issued 5,000."]);
    }
    says("reads", "doubles", &["The server counted 10,000 EXECUTEs", "says that it issued 5,000."]);
}

#[test]
fn retries_under_another_text_are_found() {
    let place = Place::new();
    // So many that they are more than a driver's own traffic.
    let plan = place.plan("writes", &["retries-under-another-text"]).with_blocks(1, 150_000);
    let sentence = misbehaving(place.run(&plan)).void.unwrap();
    assert!(
        sentence.starts_with("The server counted 150 statements of the driver's own in the window, beside the 150,000"),
        "{sentence}"
    );
}

#[test]
fn more_connections_than_told_are_found() {
    says(
        "writes",
        "opens-more-connections",
        &["2 connections carried the statements, and 1 to each of 1 node were asked for."],
    );
}

#[test]
fn an_error_that_comes_at_once_does_not_win() {
    let cell = cell("writes", "fails-at-once");
    let sentence = cell.void.unwrap();
    assert!(sentence.contains("5,000 of 5,000 statements failed: 5,000 of kind overloaded."), "{sentence}");
    assert_eq!(cell.measures["throughput"].get(), None, "nothing was verified, so there is no rate");
    assert_eq!(cell.error_kinds[0].first, "try again later");
}

#[test]
fn better_times_than_others_saw_are_found() {
    says("writes", "halves-wall-time", &["The worker says that its window took", "received the statements over"]);
    says("writes", "begins-late", &["The server received the first statement", "before the worker says that it began"]);
}

#[test]
fn less_cpu_time_than_the_process_clock_saw_is_found() {
    let place = Place::new();
    // The clocks are compared to 5 ms.
    let plan = place.plan("reads", &["halves-cpu-time"]).with_blocks(1, 150_000);
    let sentence = misbehaving(place.run(&plan)).void.unwrap();
    assert!(sentence.contains("s of CPU time in the window, its process clock says"), "{sentence}");
}

#[test]
fn answers_before_the_servers_are_found() {
    let sentence = void("writes", "answers-early");
    assert!(sentence.contains("after the worker says that it had the last answer") || sentence.contains("counted"));
}

#[test]
fn rows_other_than_those_asked_for_are_found_by_reading_them_back() {
    says(
        "writes",
        "writes-other-values",
        &[
            "1,000 of the inserted rows were read back by floor, and 1,000 were not as they should be; the first: statement insert: in the row of key",
            "column 2 should be bigint",
        ],
    );
    says(
        "mixed",
        "writes-few-rows",
        &["2,500 were to be inserted, each with a key of its own", "read back by floor", "no row came back"],
    );
}
