//! Allocations, their bytes, and what is given back.

use std::path::Path;

use cqldyno_meter::{Meter, Probe};

use super::{Cost, PassKind, Start, Step};
use crate::plan::Plan;

/// Statements of a cell: what a statement allocates hardly differs from one to the next.
const COUNT: u64 = 100_000;
/// Statements of a cell where the machine does not count: it only says why.
const UNCOUNTED_COUNT: u64 = 10_000;

pub(super) struct Allocations;

impl PassKind for Allocations {
    fn about(&self) -> &'static str {
        "allocations and their bytes, those of C and C++ libraries included"
    }

    fn doing(&self) -> &'static str {
        "counting allocations"
    }

    fn headline(&self) -> Option<(&'static str, &'static str)> {
        Some(("allocations_per_statement", "allocations a statement"))
    }

    fn probe(&self) -> Probe {
        cqldyno_meter::Allocations.probe()
    }

    fn steps(&self, plan: &Plan, allowed: bool) -> Vec<Step> {
        Step::only(plan.count.min(if allowed { COUNT } else { UNCOUNTED_COUNT }))
    }

    fn cost(&self, _: usize) -> Cost {
        Cost { seconds: 0.0, factor: 1.2 }
    }

    fn start(&self, _: usize, scratch: &Path) -> Start {
        Start { environment: cqldyno_meter::Allocations::environment(scratch), ..Start::default() }
    }
}
