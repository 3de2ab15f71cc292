//! What cells are run for besides time: one file a pass.
//!
//! A pass says how many cells of how many statements it runs each contender for, how long they take, and how its workers are
//! started. What is read off in them is a matter of the meters, which declare the pass that they belong to. A new pass is a variant of
//! [`Pass`], a file here and a line in [`kind`].

mod allocations;
mod counting;
mod flamegraph;
mod instructions;
mod latency;
mod syscalls;
mod timing;

use std::ffi::OsString;
use std::path::Path;

use cqldyno_meter::Probe;
use cqldyno_reports::{Cell, Pass};
use cqldyno_scenarios::Limits;
use cqldyno_scenarios::Scenario;

use crate::failure::CellFailure;
use crate::folder::RunFolder;
use crate::plan::{Plan, PlannedCell};
use crate::worker::Deadlines;

/// One pass.
pub(crate) trait PassKind: Sync {
    /// What it does, in a line for people.
    fn about(&self) -> &'static str;

    /// What is under way, for the progress of a cell.
    fn doing(&self) -> &'static str;

    /// What the cell of that step does, where a pass has several steps.
    fn doing_step(&self, step: usize) -> &'static str {
        let _ = step;
        self.doing()
    }

    /// The measure that stands for one of its cells as it ends, and what it is in words; `None` where there is none.
    fn headline(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Tries whether this machine allows it. Where it does not, its cells are short and say why.
    fn probe(&self) -> Probe {
        Ok(())
    }

    /// The cells that a block has of each contender, with the statements of each; `allowed` is what the probe said. The order is
    /// that in which they run: one after the other of all contenders.
    fn steps(&self, plan: &Plan, allowed: bool) -> Vec<Step>;

    /// Whether that step makes sense of the scenario.
    fn suits(&self, _step: usize, _scenario: &Scenario) -> bool {
        true
    }

    /// What a cell of that step costs over a timing cell with as many statements.
    fn cost(&self, step: usize) -> Cost;

    /// How the worker of a cell of that step is started; `scratch` is a folder of the cell's own.
    fn start(&self, step: usize, scratch: &Path) -> Start {
        let _ = (step, scratch);
        Start::default()
    }

    /// How a cell is asked for when it is its turn: `cells` are those of the run that have ended.
    ///
    /// # Errors
    /// When what it depends on is not there; the cell then failed for that reason.
    fn load(&self, plan: &Plan, planned: &PlannedCell, place: &Place<'_>, cells: &[Cell]) -> Result<Load, CellFailure> {
        let _ = (place, cells);
        Ok(Load::closed(plan, planned))
    }

    /// Makes of a cell that has ended, and of those before it, what is only made of them together; sentences about what failed.
    fn ended(&self, ended: &Ended<'_>, cell: &mut Cell) -> Vec<String> {
        let _ = (ended, cell);
        Vec::new()
    }
}

/// What there is when a cell has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended<'a> {
    /// Where the run is kept.
    pub folder: &'a RunFolder,
    /// What the names of the cell's files begin with.
    pub stem: &'a str,
    /// The reference's id.
    pub reference: Option<&'a str>,
    /// The cells of the run that ended before.
    pub cells: &'a [Cell],
}

/// One of the cells that a block of a pass has of each contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its name; `None` where a contender has one cell.
    pub name: Option<&'static str>,
    /// Statements in its window.
    pub count: u64,
}

impl Step {
    /// The only step.
    pub(crate) fn only(count: u64) -> Vec<Step> {
        vec![Step { name: None, count }]
    }
}

/// What a cell costs over a timing cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    /// Further seconds.
    pub seconds: f64,
    /// By how much its statements take longer.
    pub factor: f64,
}

/// How a worker is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// A program with its arguments, behind which the worker's path is put: valgrind, for example.
    pub in_front: Vec<OsString>,
    /// Further environment variables of the worker.
    pub environment: Vec<(OsString, OsString)>,
    /// By how much it may take longer for each step; 0 and 1 both mean as long as ever.
    pub patience: u32,
}

impl Start {
    pub(crate) fn deadlines(&self, usual: Deadlines) -> Deadlines {
        let patience = self.patience.max(1);
        Deadlines {
            hello: usual.hello * patience,
            ready: usual.ready * patience,
            stall: usual.stall * patience,
            done: usual.done * patience,
        }
    }
}

/// Where a cell is run, by the names that cells have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// The arrangement's id.
    pub arrangement: &'a str,
    /// The ids of the drivers among the contenders.
    pub drivers: &'a [&'a str],
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

impl Load {
    /// As the plan says, each answer followed by the next statement.
    pub(crate) fn closed(plan: &Plan, planned: &PlannedCell) -> Load {
        Load { count: planned.count, warmup: plan.warmup, concurrency: plan.concurrency, shape: Shape::Closed }
    }
}

/// When a statement is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// With the answer before it.
    Closed,
    /// At so many a second, whatever the answers do.
    AtRate(u64),
    /// With a session of its own, one after the other.
    Connecting,
}

impl Load {
    /// At most what makes sense of a scenario with these limits.
    pub(crate) fn within(self, limits: &Limits) -> Load {
        Load {
            count: limits.count(self.count),
            warmup: limits.warmup(self.warmup),
            concurrency: limits.concurrency(self.concurrency),
            ..self
        }
    }
}

/// What the cells of a pass are.
pub(crate) fn kind(pass: Pass) -> &'static dyn PassKind {
    match pass {
        Pass::Timing => &timing::Timing,
        Pass::Counting => &counting::Counting,
        Pass::Syscalls => &syscalls::Syscalls,
        Pass::Allocations => &allocations::Allocations,
        Pass::Latency => &latency::Latency,
        Pass::Instructions => &instructions::Instructions,
        Pass::Flamegraph => &flamegraph::Flamegraph,
    }
}

/// The passes that may be asked for after the timing blocks, each with what it does.
pub fn passes() -> impl Iterator<Item = (Pass, &'static str)> {
    let after = Pass::ALL.into_iter().filter(|pass| *pass != Pass::Timing);
    after.map(|pass| (pass, kind(pass).about()))
}

/// The measure that stands for a cell of that pass as it ends, and what it is in words; `None` if there is none.
pub fn headline(pass: Pass) -> Option<(&'static str, &'static str)> {
    kind(pass).headline()
}

/// What a cell of that pass and step does, for its progress.
pub fn doing(pass: Pass, step: usize) -> &'static str {
    kind(pass).doing_step(step)
}
