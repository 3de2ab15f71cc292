//! Runs of ladders: what runs next, where it goes on, and what there is no time for.

use cqldyno_reports::{LadderInfo, climbed};

use super::*;

/// The highest rate that a contender holds.
fn most(contender: usize) -> u64 {
    100_000 * (contender as u64 + 1)
}

/// What a step at that rate measures.
pub(super) fn answered_at(rate: u64, cell: &PlannedCell) -> Vec<(&'static str, Measure)> {
    let p99 = if rate <= most(cell.contender) { 900.0 } else { 9_000.0 };
    vec![
        ("response_p99", Measure::value(p99, Unit::Microseconds)),
        ("rate_held", Measure::value(100.0, Unit::Percent)),
        ("statements", Measure::value(cell.count as f64, Unit::Count)),
    ]
}

fn climbing() -> Plan {
    let ladder = LadderInfo { meter: "response_p99".to_owned(), below_us: 1_000.0, lasts_ms: 3_000 };
    plan(&["scylla", "other"], &["writes", "reads"])
        .with(|one| (one.passes, one.ladder) = (vec![Pass::Latency], Some(ladder)))
}

/// The run of the plan, whose contenders are all there.
fn there(plan: &Plan) -> Run {
    let (_, mut run) = sample(plan);
    run.contenders.iter_mut().for_each(|one| one.unavailable = None);
    run
}

#[test]
fn searches_take_turns_and_end_beside_the_highest_rate_of_each() {
    let (ended, seen, heard) = go(&climbing(), Vec::new(), |_| {});
    let (plan, first) = (climbing(), &seen[..4]);
    let run = there(&plan);
    assert!(first.iter().all(|cell| (cell.block, cell.rate, cell.count) == (1, Some(8_000), 24_000)), "{first:?}");
    let found = climbed(&run, &ended.cells);
    assert_eq!((found.len(), ended.complete, ended.cells.len()), (4, true, seen.len()));
    for one in &found {
        let who = run.contenders.iter().position(|row| row.id == one.contender.id).unwrap();
        let (held, failed) = (one.ladder.held().unwrap(), one.ladder.failed().unwrap());
        assert!(held <= most(who) && failed > most(who) && one.ladder.next().is_none(), "{held} {failed}");
        let blocks: Vec<u32> = ended
            .cells
            .iter()
            .filter(|cell| (&cell.contender, &cell.scenario) == (&one.contender.id, &one.place.scenario.name))
            .map(|cell| cell.block)
            .collect();
        assert_eq!(blocks, (1..=one.ladder.steps.len() as u32).collect::<Vec<_>>());
    }
    assert_eq!((heard.started.last(), heard.ended), (Some(&seen.len()), seen.len()));
}

#[test]
fn a_run_that_was_ended_goes_on_with_the_step_that_is_missing() {
    let (whole, all, _) = go(&climbing(), Vec::new(), |_| {});
    let (broken, ..) = go(&climbing(), Vec::new(), |executor| executor.cancel_at = 17);
    assert_eq!((broken.cells.len(), broken.complete), (16, false));
    let (ended, seen, _) = go(&climbing(), broken.cells, |_| {});
    let places = |cells: &[PlannedCell]| -> std::collections::BTreeSet<_> {
        cells.iter().map(|cell| (cell.contender, cell.scenario, cell.block, cell.rate)).collect()
    };
    assert!(ended.complete && seen.len() + 16 == all.len() && places(&seen).is_subset(&places(&all)));
    let plan = climbing();
    let (schedule, run) = (sample(&plan).0, there(&plan));
    assert!(schedule.lacks_none(&ended.cells, &run) && !schedule.lacks_none(&whole.cells[..20], &run));
    assert!(go(&climbing(), ended.cells, |_| {}).1.is_empty(), "nothing is left");
}

#[test]
fn no_step_starts_that_would_not_end_in_time_and_that_is_said() {
    let plan = climbing().with(|one| one.limit(Some(Duration::from_secs(60))));
    let (ended, seen, heard) = go(&plan, Vec::new(), |executor| {
        executor.takes = Box::new(|_| Duration::from_secs(5));
    });
    assert!(ended.complete && (8..=11).contains(&seen.len()), "{}", seen.len());
    assert!(heard.cut_short[0].starts_with("There was no time for another step within 60 s: the searches need about"));
}
