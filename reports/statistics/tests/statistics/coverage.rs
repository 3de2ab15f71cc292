//! That intervals hold the truth as often as they say, in few runs of a fixed seed; examples/simulate does many.

#[path = "../../examples/simulate/world.rs"]
mod world;

use cqldyno_statistics::{Comparison, Estimate, Group, Repeated, Verdict, combine, compare};
use fastrand::Rng;
use world::{World, moved};

const RUNS: usize = 300;

/// How often all intervals held the truth, and how often the second contender was found to cost more.
fn held_and_found(world: &World, siblings: &[usize], change: fn(Group) -> Group) -> (f64, f64) {
    let mut random = Rng::with_seed(1);
    let (mut held, mut found) = (0, 0);
    for _ in 0..RUNS {
        let group = |group| change(Group { siblings: siblings.to_vec(), ..group });
        let groups: Vec<Group> = world.run(&mut random).into_iter().map(group).collect();
        let mut all = true;
        for (scenario, fitted) in compare(&groups, &Comparison::default()).into_iter().enumerate() {
            let estimates: Vec<Option<Estimate>> = fitted.expect("there are enough generations").estimates;
            for (one, truth) in estimates.iter().zip(world.truths(scenario)) {
                // What is printed is rounded.
                all &= one.is_none_or(|one| one.interval[0] <= truth + 5e-4 && truth - 5e-4 <= one.interval[1]);
            }
            found += usize::from(estimates[1].is_some_and(|one| one.verdict == Verdict::Worse));
        }
        held += usize::from(all);
    }
    (held as f64 / RUNS as f64, found as f64 / (RUNS * world.scenarios) as f64)
}

fn held(world: &World) -> f64 {
    held_and_found(world, &[], |group| group).0
}

#[test]
fn all_intervals_of_a_run_hold_the_truth_at_once_about_as_often_as_they_say() {
    for contenders in [2, 4, 7] {
        for effect in [0.0, 0.05] {
            let held = held(&World { effect, ..World::of(contenders) });
            assert!((0.91..=0.985).contains(&held), "{contenders} contenders, effect {effect}: {held}");
        }
    }
}

#[test]
fn a_slow_hour_rounds_that_do_not_count_and_unequal_noise_leave_the_intervals_true() {
    for world in [
        World { weather: 0.4, missing: 0.3, ..World::of(4) },
        World { loud: vec![1.0, 2.0, 1.0, 1.0], ..World::of(4) },
        World { last_scenario: 2.0, ..World::of(4) },
        World { rounds: 1, ..World::of(4) },
        World { bursts: (0.25, 0.2), ..World::of(4) },
    ] {
        let held = held(&world);
        assert!((0.91..=0.99).contains(&held), "{held}: {world:?}");
    }
}

#[test]
fn rounds_of_one_process_do_not_stand_for_processes() {
    let as_generations = |group: Group| {
        let rows = group.rows.into_values().zip(1..).map(|(row, number)| (vec![number], row)).collect();
        Group { rows, ..group }
    };
    let (held, _) = held_and_found(&World { effect: 0.07, rounds: 20, ..World::of(4) }, &[], as_generations);
    assert!(held < 0.7, "{held}");
}

#[test]
fn a_difference_of_4_percent_is_found_within_one_driver_and_one_of_7_between_two() {
    let found = |cost: f64, siblings: &[usize]| {
        let mut world = World { generations: 120, weather: 0.0, ..World::of(4) };
        world.costs[1] = cost;
        held_and_found(&world, siblings, |group| group).1
    };
    let (within, between, neither) = (found(1.04, &[1]), found(1.07, &[]), found(1.04, &[]));
    assert!(within > 0.4 && between > 0.9 && neither < 0.3, "{within} {between} {neither}");
}

/// How often all intervals of three runs together held the truth if each run adds so much of its own, alike in all scenarios or not.
fn held_by_three(by: f64, alike: bool) -> f64 {
    let world = World::of(4);
    let truths = world.truths(0);
    let mut random = Rng::with_seed(1);
    let mut held = 0_usize;
    for _ in 0..RUNS / 2 {
        let comparisons = moved(&world.repeated(3, &mut random), by, alike, &mut random);
        let found = combine(&comparisons, &Comparison::default()).expect("there are three runs").estimates;
        let holds = |(one, found): (&Repeated, &Estimate)| {
            let truth = truths[one.contender];
            found.interval[0] <= truth + 5e-4 && truth - 5e-4 <= found.interval[1]
        };
        held += usize::from(comparisons.iter().zip(&found).all(holds));
    }
    held as f64 / (RUNS / 2) as f64
}

#[test]
fn several_runs_hold_the_truth_whatever_each_adds_of_its_own() {
    for (by, alike) in [(0.0, false), (0.01, false), (0.02, true)] {
        let held = held_by_three(by, alike);
        assert!(held >= 0.92, "{by} {alike}: {held}");
    }
}
