//! What a run does: who is asked what, how often, in which order.

use std::path::PathBuf;

use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_protocol::{JobCredentials, Runtime};
use cqldyno_reports::{Pass, PlanInfo, TargetInfo};
use cqldyno_scenarios::{Scenario, Workload, WorkloadError};

use crate::arrangement::{Arrangement, ArrangementError, Placement};
use crate::contender::Contender;
use crate::target::Target;
use crate::worker::Deadlines;

/// The most statements of a counting cell: the count a statement does not change with more.
pub const COUNTING_COUNT: u64 = 250_000;

/// Blocks from which on there is a control: with fewer it could say nothing.
pub const CONTROL_BLOCKS: u32 = 3;

/// Statements of a counting cell where the machine does not count: it only says why.
const UNCOUNTED_COUNT: u64 = 10_000;

/// What a run does.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Who is asked, in order.
    pub contenders: Vec<Contender>,
    /// What is asked of each.
    pub scenarios: Vec<Scenario>,
    /// How client and server sit on the machine, one after the other.
    pub arrangements: Vec<Arrangement>,
    /// Statements a timing cell.
    pub count: u64,
    /// Statements in flight.
    pub concurrency: usize,
    /// Statements before the window.
    pub warmup: u64,
    /// Timing cells a contender, scenario and arrangement.
    pub blocks: u32,
    /// Whether there is a counting cell a contender, scenario and arrangement.
    pub counting: bool,
    /// Statements of a counting cell; `None` for those of a timing cell, but at most [`COUNTING_COUNT`].
    pub counting_count: Option<u64>,
    /// Whether the reference runs a second time under another name, from [`CONTROL_BLOCKS`] blocks on.
    pub control: bool,
    /// The share of the cores' time, from 0 to 1, that others may use in a timing cell before its block is run again; `None`
    /// when no block is.
    pub noise_share: Option<f64>,
    /// How often a block is run at most because of noise.
    pub most_attempts: u32,
    /// Data connections a node.
    pub connections: usize,
    /// Rows a page.
    pub page_size: i32,
    /// Consistency of every statement.
    pub consistency: Consistency,
    /// The client's own time limit a statement, in milliseconds.
    pub request_timeout_ms: Option<u64>,
    /// Equal settings or the drivers' own.
    pub settings: Settings,
    /// Who answers.
    pub target: Target,
    /// For an existing cluster.
    pub credentials: Option<JobCredentials>,
    /// Chooses the order of keys and of contenders.
    pub seed: u64,
    /// The contender that ratios are taken against, as it is written; `None` for the first driver that could be
    /// asked.
    pub reference: Option<String>,
    /// Further arguments of `cqldyno serve`, for example how it batches answers.
    pub serve_arguments: Vec<String>,
    /// How long a worker may take for each step.
    pub deadlines: Deadlines,
    /// Resident memory at which a worker is ended; `None` for no limit.
    pub memory_limit_bytes: Option<u64>,
    /// The run folder; `None` for one below `cqldyno-runs/` by the time of the start.
    pub out: Option<PathBuf>,
}

/// A plan that cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Nobody is asked, or nothing.
    #[error("a run needs at least one {0}; name one")]
    Nothing(&'static str),
    /// A number that must be at least 1.
    #[error("{what} was set to 0; use 1 or more")]
    Zero {
        /// Which number.
        what: &'static str,
    },
    /// Two scenarios of one name.
    #[error("the scenario {0} is asked for twice; name it once, or give the other one another name")]
    ScenarioTwice(String),
    /// One arrangement twice.
    #[error("the arrangement {0} is asked for twice; name it once")]
    ArrangementTwice(String),
    /// The reference is not among the contenders.
    #[error("the reference {reference:?} is none of the contenders: {contenders}")]
    NoReference {
        /// What was asked for.
        reference: String,
        /// Who there is.
        contenders: String,
    },
    /// The count makes no workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The machine does not allow an arrangement.
    #[error(transparent)]
    Arrangement(#[from] ArrangementError),
}

/// One cell of a plan, before it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedCell {
    /// Index into the plan's contenders.
    pub contender: usize,
    /// Index into the plan's scenarios.
    pub scenario: usize,
    /// Index into the plan's arrangements.
    pub arrangement: usize,
    /// From 1.
    pub block: u32,
    /// What it is run for.
    pub pass: Pass,
    /// Statements in the window.
    pub count: u64,
}

impl Plan {
    /// A plan for the embedded node that runs every contender once on 250,000 statements of each scenario, with a counting
    /// pass, no repeats and no control: a start for struct update syntax.
    pub fn new(contenders: Vec<Contender>, scenarios: Vec<Scenario>) -> Plan {
        Plan {
            contenders,
            scenarios,
            arrangements: vec![Arrangement { runtime: Runtime::Multi { workers: 2 }, pinned: false }],
            count: 250_000,
            concurrency: 1_024,
            warmup: 20_000,
            blocks: 1,
            counting: true,
            counting_count: None,
            control: false,
            noise_share: None,
            most_attempts: 1,
            connections: 1,
            page_size: 5_000,
            consistency: Consistency::LocalOne,
            request_timeout_ms: Some(30_000),
            settings: Settings::Equal,
            target: Target::Embedded,
            credentials: None,
            seed: 1,
            reference: None,
            serve_arguments: Vec::new(),
            deadlines: Deadlines::default(),
            memory_limit_bytes: None,
            out: None,
        }
    }

    /// Checks what can be checked before anything is started; `cores` are those that this program may use. Gives the cores
    /// of each arrangement.
    ///
    /// # Errors
    /// The first thing that is wrong, with what to do.
    pub fn check(&self, cores: &[usize]) -> Result<Vec<Placement>, PlanError> {
        let lists = [
            ("contender", self.contenders.is_empty()),
            ("scenario", self.scenarios.is_empty()),
            ("arrangement", self.arrangements.is_empty()),
        ];
        if let Some((what, _)) = lists.iter().find(|(_, empty)| *empty) {
            return Err(PlanError::Nothing(what));
        }
        let numbers = [
            ("the count", self.count == 0),
            ("the concurrency", self.concurrency == 0),
            ("the number of blocks", self.blocks == 0),
            ("the number of connections", self.connections == 0),
        ];
        if let Some((what, _)) = numbers.iter().find(|(_, zero)| *zero) {
            return Err(PlanError::Zero { what });
        }
        for (at, scenario) in self.scenarios.iter().enumerate() {
            if self.scenarios[..at].iter().any(|other| other.name == scenario.name) {
                return Err(PlanError::ScenarioTwice(scenario.name.clone()));
            }
            Workload::new(scenario, self.count, self.warmup, self.seed)?;
        }
        for (at, arrangement) in self.arrangements.iter().enumerate() {
            if self.arrangements[..at].contains(arrangement) {
                return Err(PlanError::ArrangementTwice(arrangement.to_string()));
            }
        }
        if let Some(reference) = &self.reference {
            let ids = self.ids();
            if !ids.contains(reference) {
                let contenders = ids.join(", ");
                return Err(PlanError::NoReference { reference: reference.clone(), contenders });
            }
        }
        Ok(self.arrangements.iter().map(|arrangement| arrangement.place(cores)).collect::<Result<_, _>>()?)
    }

    /// The id of each contender: as it is written, with `#2` behind it where it is named for the second time.
    pub fn ids(&self) -> Vec<String> {
        let names: Vec<String> = self.contenders.iter().map(Contender::to_string).collect();
        let nth = |at: usize| names[..=at].iter().filter(|name| **name == names[at]).count();
        names
            .iter()
            .enumerate()
            .map(|(at, name)| if nth(at) > 1 { format!("{name}#{}", nth(at)) } else { name.clone() })
            .collect()
    }

    /// Statements of a counting cell; `countable` says whether the machine counts at all.
    pub(crate) fn counting_count(&self, countable: bool) -> u64 {
        match (self.counting, countable) {
            (false, _) => 0,
            (true, true) => self.counting_count.unwrap_or(self.count.min(COUNTING_COUNT)),
            (true, false) => self.count.min(UNCOUNTED_COUNT),
        }
    }

    /// The cells in the order in which they run, for the contenders with index in `available`: block by block, every
    /// contender once in each, and behind the last block the counting cells.
    pub fn cells(&self, available: &[usize], countable: bool) -> Vec<PlannedCell> {
        let counting_count = self.counting_count(countable);
        let mut cells = Vec::new();
        for arrangement in 0..self.arrangements.len() {
            for scenario in 0..self.scenarios.len() {
                let cell = |contender, block, pass, count| PlannedCell {
                    contender,
                    scenario,
                    arrangement,
                    block,
                    pass,
                    count,
                };
                for block in 1..=self.blocks {
                    let order = self.order(available);
                    cells.extend(order.into_iter().map(|who| cell(who, block, Pass::Timing, self.count)));
                }
                if self.counting {
                    let order = self.order(available);
                    cells.extend(order.into_iter().map(|who| cell(who, 1, Pass::Counting, counting_count)));
                }
            }
        }
        cells
    }

    /// The order of the contenders within one block: as given.
    fn order(&self, available: &[usize]) -> Vec<usize> {
        available.to_vec()
    }

    /// The form that results hold; never a password or a user.
    pub(crate) fn info(&self, placements: &[Placement], countable: bool) -> PlanInfo {
        let embedded = self.target.is_embedded();
        PlanInfo {
            seed: self.seed,
            count: self.count,
            counting_count: self.counting_count(countable),
            concurrency: self.concurrency as u64,
            blocks: self.blocks,
            noise_share: self.noise_share,
            most_attempts: self.most_attempts,
            warmup: self.warmup,
            connections: self.connections as u64,
            page_size: self.page_size,
            consistency: self.consistency.to_string(),
            request_timeout_ms: self.request_timeout_ms,
            settings: match self.settings {
                Settings::Equal => "equal".to_owned(),
                Settings::Default => "default".to_owned(),
            },
            reference: self.reference.clone(),
            arrangements: self
                .arrangements
                .iter()
                .zip(placements)
                .map(|(arrangement, placement)| arrangement.info(placement, embedded))
                .collect(),
            target: TargetInfo {
                id: self.target.to_string(),
                about: match embedded {
                    true => std::iter::once("one embedded node in memory, started afresh for every cell")
                        .chain(self.serve_arguments.iter().map(String::as_str))
                        .collect::<Vec<_>>()
                        .join(" "),
                    false => "an existing cluster".to_owned(),
                },
                embedded,
            },
        }
    }
}

#[cfg(test)]
pub(crate) fn plan(contenders: &[&str], scenarios: &[&str]) -> Plan {
    let contenders = contenders.iter().map(|text| text.parse().unwrap()).collect();
    let scenarios = scenarios.iter().map(|name| cqldyno_scenarios::builtin(name).unwrap()).collect();
    Plan { count: 1_000, concurrency: 8, warmup: 10, blocks: 2, seed: 7, ..Plan::new(contenders, scenarios) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_runs_once_a_block_and_the_counting_cells_come_last() {
        let plan = plan(&["scylla", "noop"], &["writes", "reads"]);
        let cells = plan.cells(&[0, 1], true);
        assert_eq!(cells.len(), 2 * (2 * 2 + 2));
        let first: Vec<(usize, u32, Pass)> =
            cells[..6].iter().map(|cell| (cell.contender, cell.block, cell.pass)).collect();
        assert_eq!(
            first,
            [
                (0, 1, Pass::Timing),
                (1, 1, Pass::Timing),
                (0, 2, Pass::Timing),
                (1, 2, Pass::Timing),
                (0, 1, Pass::Counting),
                (1, 1, Pass::Counting)
            ]
        );
        assert!(cells[..6].iter().all(|cell| cell.scenario == 0) && cells[6..].iter().all(|cell| cell.scenario == 1));
    }

    #[test]
    fn counting_cells_are_short() {
        let mut plan = plan(&["scylla"], &["writes"]);
        plan.count = 10_000_000;
        assert_eq!(plan.cells(&[0], true).last().unwrap().count, COUNTING_COUNT);
        assert_eq!(plan.cells(&[0], false).last().unwrap().count, 10_000);
        plan.counting = false;
        assert!(plan.cells(&[0], true).iter().all(|cell| cell.pass == Pass::Timing));
    }

    #[test]
    fn a_contender_that_is_named_twice_has_two_ids() {
        assert_eq!(plan(&["scylla", "noop", "scylla"], &["writes"]).ids(), ["scylla", "noop", "scylla#2"]);
    }

    #[test]
    fn what_cannot_be_carried_out_is_refused_before_anything_starts() {
        let error = |plan: Plan| plan.check(&[0, 1]).unwrap_err().to_string();
        assert!(plan(&["a"], &["writes"]).check(&[0]).is_ok());
        assert!(error(plan(&[], &["writes"])).contains("at least one contender"));
        assert!(error(plan(&["a"], &["writes", "writes"])).contains("writes is asked for twice"));
        assert!(error(Plan { blocks: 0, ..plan(&["a"], &["writes"]) }).contains("the number of blocks was set to 0"));
        assert!(error(Plan { count: 1, ..plan(&["a"], &["mixed"]) }).contains("ask for at least 2"));
        assert!(
            error(Plan { reference: Some("b".to_owned()), ..plan(&["a", "c"], &["writes"]) })
                .contains("\"b\" is none of the contenders: a, c")
        );
        let pinned = Plan { arrangements: vec!["pinned+current".parse().unwrap()], ..plan(&["a"], &["writes"]) };
        assert!(pinned.check(&[0]).unwrap_err().to_string().contains("needs two cores"));
    }
}
