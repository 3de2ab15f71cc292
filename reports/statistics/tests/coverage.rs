//! That intervals hold the truth as often as they say, in few runs of a fixed seed; examples/simulate does many.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "../examples/simulate/world.rs"]
mod world;

use std::collections::BTreeMap;

use cqldyno_statistics::{Comparison, Group, Repetition, Verdict, compare, outermost};
use fastrand::Rng;
use world::{World, normal};

const RUNS: usize = 500;

/// How often all intervals of the default table held the truth, and how often a difference of 5 % was found.
fn held_and_found(blocks: usize, noise: f64) -> (f64, f64) {
    let world =
        World { costs: vec![1.0, 1.05, 0.95, 1.0], noise: vec![noise; 4], blocks, scenarios: 3, contaminated: 0.1 };
    let mut random = Rng::with_seed(1);
    let (mut held, mut found) = (0, 0);
    for _ in 0..RUNS {
        let mut all = true;
        for estimates in compare(&world.run(&mut random), &Comparison::default()) {
            let estimates = estimates.expect("there are enough blocks").estimates;
            for (one, truth) in estimates.iter().zip(&world.costs) {
                all &= one.is_none_or(|one| one.interval[0] <= *truth && *truth <= one.interval[1]);
            }
            let says = |column: usize, verdict| estimates[column].is_some_and(|one| one.verdict == verdict);
            found += usize::from(says(1, Verdict::Worse)) + usize::from(says(2, Verdict::Better));
        }
        held += usize::from(all);
    }
    (held as f64 / RUNS as f64, found as f64 / (RUNS * 6) as f64)
}

#[test]
fn all_intervals_of_a_table_hold_the_truth_at_once_about_as_often_as_they_say() {
    for (blocks, noise) in [(12, 0.01), (12, 0.02), (12, 0.05), (20, 0.01), (20, 0.02), (20, 0.05)] {
        let (held, _) = held_and_found(blocks, noise);
        assert!((0.92..=0.98).contains(&held), "{blocks} blocks, noise {noise}: {held}");
    }
}

#[test]
fn a_difference_of_5_percent_is_found_in_20_blocks_of_2_percent_noise() {
    let (_, found) = held_and_found(20, 0.02);
    assert!(found >= 0.88, "{found}");
}

#[test]
fn more_noise_finds_less() {
    let (_, quiet) = held_and_found(12, 0.02);
    let (_, loud) = held_and_found(12, 0.05);
    assert!(loud < quiet, "{loud} {quiet}");
}

/// Blocks of fresh processes, each of which is some percent off in all of its windows; a column per contender.
fn of_processes(random: &mut Rng, blocks: u32, windows: u32) -> BTreeMap<Repetition, Vec<f64>> {
    let mut rows = BTreeMap::new();
    for block in 1..=blocks {
        let processes: Vec<f64> = (0..4).map(|_| 0.02 * normal(random)).collect();
        for window in 1..=windows {
            let figure = |process: &f64| (process + 0.01 * normal(random)).exp();
            rows.insert(vec![block, window], processes.iter().map(figure).collect());
        }
    }
    rows
}

#[test]
fn windows_of_one_process_do_not_stand_for_processes_and_intervals_of_blocks_hold() {
    let mut random = Rng::with_seed(1);
    let (mut held, mut held_by_windows) = (0, 0);
    for _ in 0..RUNS {
        let rows = of_processes(&mut random, 10, 8);
        let holds = |blocks: Vec<Vec<f64>>| {
            let group = Group { blocks, reference: 0, controls: vec![3] };
            let estimates =
                compare(&[group], &Comparison::default()).remove(0).expect("there are enough blocks").estimates;
            estimates.into_iter().flatten().all(|one| one.interval[0] <= 1.0 && 1.0 <= one.interval[1])
        };
        held_by_windows += usize::from(holds(rows.values().cloned().collect()));
        held += usize::from(holds(outermost(rows)));
    }
    let (held, held_by_windows) = (held as f64 / RUNS as f64, held_by_windows as f64 / RUNS as f64);
    assert!((0.92..=0.98).contains(&held) && held_by_windows < 0.7, "{held} by blocks, {held_by_windows} by windows");
}
