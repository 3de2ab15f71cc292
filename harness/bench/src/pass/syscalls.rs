//! System calls by name.

use cqldyno_meter::{Meter, Probe, SystemCallsByName};

use super::counting::Counting;
use super::{Cost, PassKind, Step};
use crate::plan::Plan;

pub(super) struct Syscalls;

impl PassKind for Syscalls {
    fn about(&self) -> &'static str {
        "system calls, by name"
    }

    fn doing(&self) -> &'static str {
        "counting system calls by name"
    }

    fn headline(&self) -> Option<(&'static str, &'static str)> {
        Some(("syscalls_by_name", "system calls a statement"))
    }

    fn probe(&self) -> Probe {
        SystemCallsByName.probe()
    }

    /// As many as are counted all together, so that both counts can be held against each other.
    fn steps(&self, plan: &Plan, allowed: bool) -> Vec<Step> {
        Counting.steps(plan, allowed)
    }

    fn cost(&self, _: usize) -> Cost {
        Cost { seconds: 0.0, factor: 1.0 }
    }
}
