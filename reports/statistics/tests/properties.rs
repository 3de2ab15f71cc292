//! What holds for any figures.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use cqldyno_statistics::{Comparison, Estimate, Group, compare};
use proptest::prelude::*;

/// Blocks of up to five contenders, any of whose cells may be far off.
fn groups() -> impl Strategy<Value = Group> {
    (8usize..24, 2usize..6).prop_flat_map(|(blocks, contenders)| {
        let cell = prop_oneof![9 => 0.9f64..1.1, 1 => 1.1f64..3.0];
        let block = prop::collection::vec(cell, contenders);
        prop::collection::vec(block, blocks).prop_map(|blocks| Group { blocks, reference: 0, controls: Vec::new() })
    })
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
    fn what_a_block_has_in_common_changes_nothing(group in groups(), factors in prop::collection::vec(0.01f64..100.0, 24)) {
        let mut scaled = group.clone();
        for (block, factor) in scaled.blocks.iter_mut().zip(factors) {
            block.iter_mut().for_each(|cell| *cell *= factor);
        }
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
        scaled.blocks.iter_mut().flatten().for_each(|cell| *cell *= factor);
        let (one, other) = (fitted(&group), fitted(&scaled));
        for (at, estimate) in one.estimates.iter().enumerate() {
            prop_assert!(near(one.levels[at] * factor / other.levels[at], 1.0), "{one:?} {other:?}");
            let ratio = estimate.map_or(1.0, |estimate| estimate.ratio);
            prop_assert!(same(one.levels[at] / one.levels[0], ratio), "{one:?}");
        }
    }

    #[test]
    fn the_order_of_blocks_changes_nothing(group in groups(), turn in 0usize..24) {
        let mut turned = group.clone();
        let places = turned.blocks.len();
        turned.blocks.rotate_left(turn % places);
        for (one, other) in estimates(&group).into_iter().flatten().zip(estimates(&turned).into_iter().flatten()) {
            prop_assert!(near(one.ratio, other.ratio), "{one:?} {other:?}");
        }
    }

    #[test]
    fn more_noise_makes_wider_intervals(group in groups(), more in 1.2f64..2.0) {
        let mut louder = group.clone();
        for cell in louder.blocks.iter_mut().flatten() {
            *cell = cell.powf(more);
        }
        for (quiet, loud) in estimates(&group).into_iter().flatten().zip(estimates(&louder).into_iter().flatten()) {
            prop_assert!(near(loud.ratio, quiet.ratio.powf(more)), "{quiet:?} {loud:?}");
            prop_assert!(loud.detectable > quiet.detectable, "{quiet:?} {loud:?}");
        }
    }
}
