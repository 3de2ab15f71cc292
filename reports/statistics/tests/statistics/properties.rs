//! What holds for any figures.

use cqldyno_statistics::{Comparison, Estimate, Group, compare};
use proptest::prelude::*;

/// Generations of rounds of which any turn may be far off.
fn groups() -> impl Strategy<Value = Group> {
    groups_of(prop_oneof![9 => 0.9f64..1.1, 1 => 1.1f64..3.0])
}

/// Generations of one round, or of five to eight, of up to five contenders.
fn groups_of(turn: impl Strategy<Value = f64> + Clone) -> impl Strategy<Value = Group> {
    (8usize..24, 2usize..6, prop_oneof![1usize..2, 5usize..9]).prop_flat_map(
        move |(generations, contenders, rounds)| {
            let rounds = prop::collection::vec(prop::collection::vec(turn.clone(), contenders), rounds);
            prop::collection::vec(rounds, generations).prop_map(|generations| {
                let of = |(generation, rounds): (u32, Vec<Vec<f64>>)| {
                    rounds.into_iter().zip(1..).map(move |(row, round)| (vec![generation, round], row))
                };
                let rows = (1..).zip(generations).flat_map(of).collect();
                Group { rows, ..Group::default() }
            })
        },
    )
}

fn estimates(group: &Group) -> Vec<Option<Estimate>> {
    compare(std::slice::from_ref(group), &Comparison::default()).remove(0).expect("groups have enough blocks").estimates
}

/// Whether two ratios are the same but for their last printed digit.
fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 0.0025 * other.max(1.0)
}

/// Whether two numbers that are not rounded are the same.
fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6 * (1.0 + other.abs())
}

proptest! {
    #[test]
    fn a_ratio_lies_in_its_interval(group in groups()) {
        for one in estimates(&group).into_iter().flatten() {
            let [low, high] = one.interval;
            prop_assert!(low <= one.ratio && one.ratio <= high, "{one:?}");
            prop_assert!(low > 0.0 && high.is_finite() && one.detectable > 0.0, "{one:?}");
        }
    }

    #[test]
    fn the_unit_changes_nothing(group in groups(), factor in 0.01f64..100.0) {
        let mut scaled = group.clone();
        scaled.rows.values_mut().flatten().for_each(|turn| *turn *= factor);
        for (one, other) in estimates(&group).into_iter().flatten().zip(estimates(&scaled).into_iter().flatten()) {
            prop_assert!(near(one.ratio, other.ratio), "{one:?} {other:?}");
            prop_assert!(same(one.detectable, other.detectable), "{one:?} {other:?}");
        }
    }

    #[test]
    fn another_reference_inverts_the_ratio(group in groups()) {
        let there = estimates(&Group { reference: 1, ..group.clone() });
        let (Some(here), Some(there)) = (estimates(&group)[1], there[0]) else {
            return Err(TestCaseError::fail("no estimate"));
        };
        prop_assert!(near(here.ratio * there.ratio, 1.0), "{here:?} {there:?}");
        prop_assert!(same(here.detectable, there.detectable), "{here:?} {there:?}");
    }

    #[test]
    fn levels_scale_with_the_figures_and_a_ratio_is_the_quotient_of_two(group in groups(), factor in 0.01f64..100.0) {
        let fitted = |group: &Group| {
            compare(std::slice::from_ref(group), &Comparison::default()).remove(0).expect("groups have enough blocks")
        };
        let mut scaled = group.clone();
        scaled.rows.values_mut().flatten().for_each(|turn| *turn *= factor);
        let (one, other) = (fitted(&group), fitted(&scaled));
        for (at, estimate) in one.estimates.iter().enumerate() {
            prop_assert!(near(one.levels[at] * factor / other.levels[at], 1.0), "{one:?} {other:?}");
            let ratio = estimate.map_or(1.0, |estimate| estimate.ratio);
            prop_assert!(same(one.levels[at] / one.levels[0], ratio), "{one:?}");
        }
    }

    #[test]
    fn the_order_of_generations_changes_nothing(group in groups(), by in 0u32..24) {
        let number = |at: &[u32]| vec![(at[0] + by) % 24, at[1]];
        let rows = group.rows.iter().map(|(at, row)| (number(at), row.clone())).collect();
        let turned = Group { rows, ..group.clone() };
        for (one, other) in estimates(&group).into_iter().flatten().zip(estimates(&turned).into_iter().flatten()) {
            prop_assert!(near(one.ratio, other.ratio), "{one:?} {other:?}");
        }
    }

    #[test]
    fn more_noise_makes_wider_intervals(group in groups_of(0.98f64..1.02), more in 1.2f64..2.0) {
        let mut louder = group.clone();
        for turn in louder.rows.values_mut().flatten() {
            *turn = turn.powf(more);
        }
        for (quiet, loud) in estimates(&group).into_iter().flatten().zip(estimates(&louder).into_iter().flatten()) {
            prop_assert!(near(loud.ratio, quiet.ratio.powf(more)), "{quiet:?} {loud:?}");
            prop_assert!(loud.detectable > quiet.detectable, "{quiet:?} {loud:?}");
        }
    }
}
