//! System calls, all of them together.

use cqldyno_meter::{Meter, Probe, SystemCalls};
use cqldyno_reports::measure::SYSCALLS_PER_STATEMENT;

use super::{Cost, PassKind, Step};
use crate::plan::{COUNTING_COUNT, Plan};

/// Statements of a cell where the machine does not count: it only says why.
const UNCOUNTED_COUNT: u64 = 10_000;

/// Closing the counters takes long.
const SECONDS: f64 = 0.07;

pub(super) struct Counting;

impl PassKind for Counting {
    fn about(&self) -> &'static str {
        "system calls, all together"
    }

    fn doing(&self) -> &'static str {
        "counting system calls"
    }

    fn headline(&self) -> Option<(&'static str, &'static str)> {
        Some((SYSCALLS_PER_STATEMENT, "system calls a statement"))
    }

    fn probe(&self) -> Probe {
        SystemCalls.probe()
    }

    fn steps(&self, plan: &Plan, allowed: bool) -> Vec<Step> {
        Step::only(match allowed {
            true => plan.counting_count.unwrap_or(plan.count.min(COUNTING_COUNT)),
            false => plan.count.min(UNCOUNTED_COUNT),
        })
    }

    fn cost(&self, _: usize) -> Cost {
        Cost { seconds: SECONDS, factor: 1.0 }
    }
}
