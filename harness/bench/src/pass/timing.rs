//! Time, without any counter.

use cqldyno_reports::measure::CPU_PER_STATEMENT;

use super::{Cost, PassKind, Step};
use crate::plan::Plan;

pub(super) struct Timing;

impl PassKind for Timing {
    fn about(&self) -> &'static str {
        "time, and what can be read beside it without a cost"
    }

    fn doing(&self) -> &'static str {
        "taking time"
    }

    fn headline(&self) -> Option<(&'static str, &'static str)> {
        Some((CPU_PER_STATEMENT, "us of CPU time a statement"))
    }

    fn steps(&self, plan: &Plan, _: bool) -> Vec<Step> {
        Step::only(plan.count)
    }

    fn cost(&self, _: usize) -> Cost {
        Cost { seconds: 0.0, factor: 1.0 }
    }
}
