//! Instructions: a cell with the processor's counters, a cell under callgrind.

use std::path::Path;

use cqldyno_meter::{Callgrind, Meter, Probe, ProcessorCounters};
use cqldyno_reports::Cell;

use super::{Cost, Load, PassKind, Place, Start, Step};
use crate::failure::CellFailure;
use crate::plan::{COUNTING_COUNT, Plan, PlannedCell};

/// Statements under callgrind: they take fifty times as long as ever.
const CALLGRIND_COUNT: u64 = 50_000;
/// Statements before them, which callgrind does not count.
const CALLGRIND_WARMUP: u64 = 5_000;
/// Statements of a cell where nothing counts: it only says why.
const UNCOUNTED_COUNT: u64 = 10_000;
/// By how much a worker may take longer for each step under callgrind.
const PATIENCE: u32 = 50;

pub(super) struct Instructions;

/// What counts in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Processor,
    Callgrind,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Processor => "processor",
            Way::Callgrind => "callgrind",
        }
    }

    fn probe(self) -> Probe {
        match self {
            Way::Processor => ProcessorCounters.probe(),
            Way::Callgrind => Callgrind.probe(),
        }
    }

    fn count(self, plan: &Plan) -> u64 {
        plan.count.min(match self {
            Way::Processor => COUNTING_COUNT,
            Way::Callgrind => CALLGRIND_COUNT,
        })
    }

    /// The ways that this machine has; its own processor first.
    fn here() -> Vec<Way> {
        [Way::Processor, Way::Callgrind].into_iter().filter(|way| way.probe().is_ok()).collect()
    }
}

impl PassKind for Instructions {
    fn about(&self) -> &'static str {
        "instructions, by the processor's counters and by callgrind"
    }

    fn doing(&self) -> &'static str {
        "counting instructions"
    }

    fn doing_step(&self, step: usize) -> &'static str {
        match Way::here().get(step) {
            Some(Way::Callgrind) => "counting instructions under callgrind",
            Some(Way::Processor) | None => self.doing(),
        }
    }

    fn headline(&self) -> Option<(&'static str, &'static str)> {
        Some(("callgrind_instructions_per_statement", "instructions a statement in user mode, serialised"))
    }

    fn probe(&self) -> Probe {
        Way::Processor.probe().or_else(|_| Way::Callgrind.probe())
    }

    fn steps(&self, plan: &Plan, allowed: bool) -> Vec<Step> {
        if !allowed {
            return Step::only(plan.count.min(UNCOUNTED_COUNT));
        }
        Way::here().into_iter().map(|way| Step { name: Some(way.name()), count: way.count(plan) }).collect()
    }

    fn cost(&self, step: usize) -> Cost {
        match Way::here().get(step) {
            // The statements of the warm-up, which are in the estimate as well, take less.
            Some(Way::Callgrind) => Cost { seconds: 3.0, factor: 40.0 },
            Some(Way::Processor) | None => Cost { seconds: 0.1, factor: 1.0 },
        }
    }

    fn start(&self, step: usize, scratch: &Path) -> Start {
        match Way::here().get(step) {
            Some(Way::Callgrind) => {
                Start { in_front: Callgrind::in_front(scratch), patience: PATIENCE, ..Start::default() }
            }
            Some(Way::Processor) | None => Start::default(),
        }
    }

    fn load(&self, plan: &Plan, planned: &PlannedCell, _: &Place<'_>, _: &[Cell]) -> Result<Load, CellFailure> {
        let warmup = match Way::here().get(planned.step) {
            Some(Way::Callgrind) => plan.warmup.min(CALLGRIND_WARMUP),
            Some(Way::Processor) | None => plan.warmup,
        };
        Ok(Load { warmup, ..Load::closed(plan, planned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[test]
    fn a_machine_has_a_cell_for_each_way_to_count_or_one_that_says_why_there_is_none() {
        let plan = Plan { count: 1_000_000, ..plan(&["scylla"], &["writes"]) };
        let ways = Way::here();
        let steps = Instructions.steps(&plan, Instructions.probe().is_ok());
        assert_eq!(steps.len(), ways.len().max(1));
        for (at, way) in ways.iter().enumerate() {
            assert_eq!((steps[at].name, steps[at].count), (Some(way.name()), way.count(&plan)));
            let start = Instructions.start(at, Path::new("/scratch"));
            assert_eq!(start.in_front.is_empty(), *way == Way::Processor);
        }
        assert_eq!(Instructions.steps(&plan, false), Step::only(UNCOUNTED_COUNT));
        assert_eq!(Way::Callgrind.count(&Plan { count: 500, ..plan }), 500);
    }
}
