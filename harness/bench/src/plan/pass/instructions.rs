//! Instructions: a cell with the processor's counters, a cell under callgrind.

use cqldyno_meter::{CALLGRIND, PROCESSOR_COUNTERS, Probe, callgrind_environment, callgrind_in_front};

use super::{Cost, Load, PassKind, Start, Step};
use crate::plan::{COUNTING_COUNT, Plan};

/// Statements under callgrind: they take fifty times as long as ever.
const CALLGRIND_COUNT: u64 = 50_000;
/// Statements before them, which callgrind does not count.
const CALLGRIND_WARMUP: u64 = 5_000;
/// How many times as long a worker may take for each step under callgrind.
const PATIENCE: u32 = 50;

pub(super) const INSTRUCTIONS: PassKind = PassKind {
    about: "instructions, by the processor's counters and by callgrind",
    headline: ("callgrind_instructions_per_statement", "instructions per statement in user mode, serialised"),
    probe,
    steps: |plan| {
        let mut steps = Vec::new();
        if PROCESSOR_COUNTERS.probe().is_ok() {
            steps.push(by_processor(plan));
        }
        if CALLGRIND.probe().is_ok() {
            steps.push(under_callgrind(plan));
        }
        steps
    },
};

fn probe() -> Probe {
    PROCESSOR_COUNTERS.probe().or_else(|_| CALLGRIND.probe())
}

fn by_processor(plan: &Plan) -> Step {
    Step {
        name: Some("processor"),
        cost: Cost { seconds: 0.1, factor: 1.0 },
        ..Step::new("counting instructions", plan, plan.count.min(COUNTING_COUNT))
    }
}

fn under_callgrind(plan: &Plan) -> Step {
    let step = Step::new("counting instructions under callgrind", plan, plan.count.min(CALLGRIND_COUNT));
    Step {
        name: Some("callgrind"),
        load: Load { warmup: plan.warmup.min(CALLGRIND_WARMUP), ..step.load },
        // The statements of the warm-up are in the estimate as well, and take less.
        cost: Cost { seconds: 3.0, factor: 40.0 },
        start: |scratch| Start {
            in_front: callgrind_in_front(scratch),
            environment: callgrind_environment(),
            patience: PATIENCE,
        },
        ..step
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::plan;

    #[test]
    fn a_machine_has_a_cell_for_each_way_to_count() {
        let plan = plan(&["scylla"], &["writes"]).with(|one| one.count = 1_000_000);
        let ways = [PROCESSOR_COUNTERS.probe(), CALLGRIND.probe()];
        let steps = (INSTRUCTIONS.steps)(&plan);
        assert_eq!(steps.len(), ways.iter().filter(|way| way.is_ok()).count());
        assert_eq!(steps.is_empty(), probe().is_err());
    }

    #[test]
    fn callgrind_runs_the_worker_with_few_statements_and_more_time() {
        let plan = plan(&["scylla"], &["writes"]).with(|one| (one.count, one.warmup) = (1_000_000, 20_000));
        let (own, valgrind) = (by_processor(&plan), under_callgrind(&plan));
        assert_eq!((own.load.count, own.load.warmup), (COUNTING_COUNT, 20_000));
        assert_eq!((valgrind.load.count, valgrind.load.warmup), (CALLGRIND_COUNT, CALLGRIND_WARMUP));
        assert!((own.start)(Path::new("/scratch")).in_front.is_empty());
        assert!(!(valgrind.start)(Path::new("/scratch")).in_front.is_empty());
        assert_eq!(under_callgrind(&plan.with(|one| one.count = 500)).load.count, 500);
    }
}
