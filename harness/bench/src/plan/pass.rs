//! What cells are run for: time, or a kind of figure besides it.
//!
//! A pass is data: the cells that a block of it has of each contender, what they cost, and how their workers start. Meters declare
//! in which pass each of their measures is read. A new pass is a variant of [`Pass`] and an arm of [`kind`].

mod instructions;
mod latency;

use std::ffi::OsString;
use std::path::Path;

use cqldyno_meter::{ALLOCATIONS, FLAME_GRAPHS, Probe, SYSTEM_CALLS, SYSTEM_CALLS_BY_NAME, allocations_environment};
use cqldyno_reports::Pass;
use cqldyno_reports::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT};
use cqldyno_scenarios::Scenario;

pub(crate) use self::latency::{SECONDS, at_half, at_rate};
use crate::plan::{COUNTING_COUNT, Deadlines, Plan};

/// Statements of a cell that counts allocations: they hardly differ from one statement to the next.
const ALLOCATIONS_COUNT: u64 = 100_000;
/// How many times the statements of a timing cell are sampled: a sample comes every two milliseconds.
const SAMPLED_TIMES: u64 = 4;
/// The most statements that are sampled: they take seconds.
const MOST_SAMPLED: u64 = 1_000_000;

pub(crate) struct PassKind {
    /// What it does, in a line for people.
    pub about: &'static str,
    /// The measure that stands for one of its cells as it ends, and its words.
    pub headline: (&'static str, &'static str),
    /// Tries whether this machine allows it.
    pub probe: fn() -> Probe,
    /// The cells that a block has of each contender. All contenders run the first one before anyone runs the second.
    pub steps: fn(&Plan) -> Vec<Step>,
}

/// One of the cells that a block of a pass has of each contender.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Its name; `None` where a contender has one cell.
    pub name: Option<&'static str>,
    /// What is under way, for the progress of a cell.
    pub doing: &'static str,
    pub load: Load,
    /// Whether the load's rate is a guess, and half of what the slowest driver reached takes its place.
    pub at_half: bool,
    /// Whether it makes sense of EXECUTEs only.
    pub executes_only: bool,
    /// What it costs more than a timing cell with as many statements.
    pub cost: Cost,
    /// How the worker starts, with a folder of the cell's own.
    pub start: fn(&Path) -> Start,
}

impl Step {
    /// A pass's only cell, which asks for `count` statements as a timing cell does.
    fn new(doing: &'static str, plan: &Plan, count: u64) -> Step {
        Step {
            name: None,
            doing,
            load: Load { count, warmup: plan.warmup, concurrency: plan.concurrency as usize, shape: Shape::Closed },
            at_half: false,
            executes_only: false,
            cost: Cost { seconds: 0.0, factor: 1.0 },
            start: |_| Start::default(),
        }
    }

    /// In place of cells that the machine does not allow: no statements, so nothing is run.
    pub(crate) fn nothing(plan: &Plan) -> Step {
        Step::new("not run", plan, 0)
    }
}

/// What a cell costs more than a timing cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    /// Seconds on top.
    pub seconds: f64,
    /// How many times as long its statements take.
    pub factor: f64,
}

/// How a worker starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// A program with its arguments that runs the worker: valgrind, for example.
    pub in_front: Vec<OsString>,
    /// Further environment variables of the worker.
    pub environment: Vec<(OsString, OsString)>,
    /// How many times as long it may take for each step; 0 and 1 both mean as long as ever.
    pub patience: u32,
}

impl Start {
    pub(crate) fn deadlines(&self, usual: Deadlines) -> Deadlines {
        let Deadlines { hello, ready, stall, done } = usual;
        let [hello, ready, stall, done] = [hello, ready, stall, done].map(|time| time * self.patience.max(1));
        Deadlines { hello, ready, stall, done }
    }
}

/// What is asked of a worker in one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Statements in the window.
    pub count: u64,
    /// Statements before it.
    pub warmup: u64,
    /// Statements in flight; at a rate the most of them.
    pub concurrency: usize,
    /// When a statement is started.
    pub shape: Shape,
}

/// When a statement is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// With the answer before it.
    Closed,
    /// At so many per second, whatever the answers do.
    AtRate(u64),
    /// With a session of its own, one after the other.
    Connecting,
}

impl Load {
    /// At most what makes sense of the scenario.
    pub(crate) fn within(self, scenario: &Scenario) -> Load {
        Load {
            count: scenario.limits.count(self.count),
            warmup: scenario.limits.warmup(self.warmup),
            concurrency: scenario.in_flight(self.concurrency),
            ..self
        }
    }
}

pub(crate) fn kind(pass: Pass) -> PassKind {
    match pass {
        Pass::Timing => PassKind {
            about: "time, and what can be read beside it without a cost",
            headline: (CPU_PER_STATEMENT, "us of CPU time per statement"),
            probe: || Ok(()),
            steps: |plan| {
                let step = Step::new("taking time", plan, plan.count);
                let Some(rate) = plan.rate.filter(|_| plan.faults) else { return vec![step] };
                let cost = Cost { seconds: plan.count as f64 / rate.max(1) as f64, factor: 1.0 };
                vec![Step { load: Load { shape: Shape::AtRate(rate), ..step.load }, cost, ..step }]
            },
        },
        Pass::Counting => PassKind {
            about: "system calls, all together",
            headline: (SYSCALLS_PER_STATEMENT, "system calls per statement"),
            probe: || SYSTEM_CALLS.probe(),
            steps: |plan| {
                // Closing the counters takes long.
                let cost = Cost { seconds: 0.07, factor: 1.0 };
                vec![Step { cost, ..Step::new("counting system calls", plan, plan.counted()) }]
            },
        },
        Pass::Syscalls => PassKind {
            about: "system calls, by name",
            headline: ("syscalls_by_name", "system calls per statement"),
            probe: || SYSTEM_CALLS_BY_NAME.probe(),
            // As many as are counted all together, so that both counts can be compared.
            steps: |plan| vec![Step::new("counting system calls by name", plan, plan.counted())],
        },
        Pass::Allocations => PassKind {
            about: "allocations and their bytes, those of C and C++ libraries included",
            headline: ("allocations_per_statement", "allocations per statement"),
            probe: || ALLOCATIONS.probe(),
            steps: |plan| {
                vec![Step {
                    cost: Cost { seconds: 0.0, factor: 1.2 },
                    start: |scratch| Start { environment: allocations_environment(scratch), ..Start::default() },
                    ..Step::new("counting allocations", plan, plan.count.min(ALLOCATIONS_COUNT))
                }]
            },
        },
        Pass::Latency => latency::LATENCY,
        Pass::Instructions => instructions::INSTRUCTIONS,
        Pass::Flamegraph => PassKind {
            about: "flame graphs, with frames of the kernel and of C and C++, and how they differ from the reference's",
            headline: ("stack_samples", "stacks sampled"),
            probe: || FLAME_GRAPHS.probe(),
            steps: |plan| {
                vec![Step {
                    cost: Cost { seconds: 3.0, factor: 1.1 },
                    ..Step::new("sampling stacks", plan, plan.count.saturating_mul(SAMPLED_TIMES).min(MOST_SAMPLED))
                }]
            },
        },
    }
}

impl Plan {
    /// Statements of a cell that counts system calls.
    pub(crate) fn counted(&self) -> u64 {
        match self.counting_count {
            0 => self.turns.count.saturating_mul(5).min(COUNTING_COUNT).min(self.count),
            asked => asked,
        }
    }
}

/// The passes that may run after the timing blocks, each with what it does.
pub fn passes() -> impl Iterator<Item = (Pass, &'static str)> {
    Pass::ALL.into_iter().filter(|pass| *pass != Pass::Timing).map(|pass| (pass, kind(pass).about))
}

/// The measure that stands for a cell of that pass as it ends, and its words.
pub fn headline(pass: Pass) -> (&'static str, &'static str) {
    kind(pass).headline
}
