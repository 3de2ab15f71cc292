//! What a driver does between its turns, or in one of them, is told, and the others go on.

use crate::place::Place;
use cqldyno_reports::{Cell, TurnsInfo};

/// The turns of `misbehaving+how=HOW`; the honest one beside it is not disturbed.
fn turns(how: &str) -> Vec<Cell> {
    turns_of(how, TurnsInfo { count: 2_000, rounds: 3 }, None)
}

fn turns_of(how: &str, turns: TurnsInfo, memory_limit_bytes: Option<u64>) -> Vec<Cell> {
    let place = Place::new();
    let plan = place.plan("reads", &["honestly", how]).with(|plan| {
        (plan.turns, plan.total, plan.memory_limit_bytes) = (turns, None, memory_limit_bytes);
    });
    let cells = place.run(&plan);
    let (mine, others): (Vec<Cell>, Vec<Cell>) =
        cells.into_iter().partition(|cell| cell.contender != "misbehaving+how=honestly");
    assert_eq!(others.iter().filter(|cell| cell.counts()).count(), turns.rounds as usize, "{others:?}");
    mine
}

#[test]
fn cpu_time_that_is_hidden_in_each_turn_voids_the_sum_of_them() {
    let turns = turns_of("hides-cpu-time", TurnsInfo { count: 40_000, rounds: 8 }, None);
    let why = turns.last().unwrap().void.clone().unwrap();
    assert!(why.contains("Over all its turns: The worker says that it used"), "{why}");
}

#[test]
fn a_turn_is_charged_with_cpu_time_that_is_shifted_to_its_edges() {
    for rounds in [1, 3] {
        let turns = turns_of("shifts-cpu-time", TurnsInfo { count: 40_000, rounds }, None);
        assert_eq!(turns.len(), rounds as usize);
        for turn in turns {
            let [cpu, each] = ["cpu", "cpu_per_statement"].map(|id| turn.get(id).unwrap());
            assert!((cpu * 1e6 / 40_000.0 - each).abs() < 1e-6, "{turn:?}");
        }
    }
}

#[test]
fn a_driver_that_does_not_sleep_between_its_turns_is_told_of() {
    let turns = turns("never-sleeps");
    assert!(turns.iter().all(Cell::counts), "{turns:?}");
    assert!(turns.iter().filter_map(|cell| cell.get("idle_cpu")).sum::<f64>() > 0.0);
    let last = turns.last().unwrap();
    let found = last.findings.iter().find(|finding| finding.contains("while it was asleep between its turns"));
    assert!(found.is_some(), "{:?}", last.findings);
}

#[test]
fn statements_between_turns_void_the_last_one() {
    let turns = turns("executes-between-turns");
    let why = turns.last().unwrap().void.clone().unwrap();
    assert!(why.contains("Over all its turns: The server counted 6,"), "{why}");
}

#[test]
fn a_driver_that_breaks_in_its_second_turn_has_its_first_one_and_the_reason() {
    let turns = turns("aborts");
    let rounds: Vec<_> = turns.iter().map(|cell| (cell.round, cell.more, cell.failed.is_some())).collect();
    assert_eq!(rounds, [(Some(1), true, false), (Some(2), false, true)]);
    let why = turns[1].failed.as_deref().unwrap();
    assert!(why.contains("was ended by SIGABRT") && why.contains("about to abort"), "{why}");
}

#[test]
fn a_driver_that_breaks_or_grows_while_others_take_their_turns_is_said_to_have_slept() {
    let long = TurnsInfo { count: 200_000, rounds: 3 };
    for (how, limit, what) in [
        ("exits-asleep", None, " exited with code 7"),
        ("grows-asleep", Some(32 << 20), "MiB resident, more than the limit of 32.0 MiB, and was ended"),
    ] {
        let turns = turns_of(how, long, limit);
        let why = turns.last().unwrap().failed.as_deref().unwrap_or_else(|| panic!("{how}: {turns:?}"));
        assert!(why.contains(what) && why.contains("; that was while it slept, before its turn"), "{why}");
        assert!(turns[..turns.len() - 1].iter().all(Cell::counts) && turns.len() > 1, "{turns:?}");
    }
}
