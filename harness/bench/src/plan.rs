//! What a run does: who is asked what, how often, in which order.

use std::path::PathBuf;
use std::time::Duration;

use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_protocol::{JobCredentials, MOST_IN_FLIGHT, Runtime};
use cqldyno_reports::{Pass, Role, count, whole};
use cqldyno_scenarios::{Scenario, Workload, WorkloadError};

use crate::arrangement::Arrangement;
use crate::contender::Contender;
use crate::files::OTHER_FILES;
use crate::pass::kind;
use crate::placement::{Pin, Placement, PlacementError, place};
use crate::target::Target;
use crate::topology::Topology;
use crate::worker::Deadlines;

/// The most statements of a counting cell: the count a statement does not change with more.
pub const COUNTING_COUNT: u64 = 250_000;

/// Blocks from which on there is a control: with fewer it could say nothing.
pub const CONTROL_BLOCKS: u32 = 3;

/// The most statements in flight on a connection: protocol v4 has 32,768 stream ids, and cdrs-tokio leaves out 0.
const STREAMS: usize = 32_767;

/// The most connections to a node: Linux has some 28,000 ports for a client of one address.
const MOST_CONNECTIONS: usize = 20_000;

/// What a run does.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Who is asked, in order.
    pub contenders: Vec<Contender>,
    /// What is asked of each.
    pub scenarios: Vec<Scenario>,
    /// How client and server sit on the machine.
    pub arrangements: Vec<Arrangement>,
    /// Whether worker and server have cores of their own.
    pub pin: Pin,
    /// Statements a timing cell.
    pub count: u64,
    /// Statements in flight.
    pub concurrency: usize,
    /// Statements before the window.
    pub warmup: u64,
    /// Blocks, and so timing cells a contender, scenario and arrangement.
    pub blocks: u32,
    /// The passes behind the timing blocks, each with a block of every scenario and arrangement.
    pub passes: Vec<Pass>,
    /// Statements a second that every contender is asked for in the latency pass; `None` for half of what the slowest driver reached.
    pub rate: Option<u64>,
    /// Statements of a counting cell; `None` for those of a timing cell, but at most [`COUNTING_COUNT`].
    pub counting_count: Option<u64>,
    /// Whether the reference runs a second time under another name, from [`CONTROL_BLOCKS`] blocks on.
    pub control: bool,
    /// The share of the cores' time, from 0 to 1, that others may use in a timing cell before its block is run again; `None`
    /// when no block is.
    pub noise_share: Option<f64>,
    /// How often a block is run at most because of noise.
    pub most_attempts: u32,
    /// The time that the run is given: no round of blocks and no repeat is begun for which it is too short; `None` for no limit.
    pub within: Option<Duration>,
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
    #[error("the reference {reference:?} is none of the contenders: {contenders}; name one of them")]
    NoReference {
        /// What was asked for.
        reference: String,
        /// Who there is.
        contenders: String,
    },
    /// More in flight than a worker has slots.
    #[error("--concurrency {asked} was asked for, and at most {} can be in flight; ask for fewer", whole(MOST_IN_FLIGHT as f64))]
    Concurrency {
        /// What was asked for.
        asked: usize,
    },
    /// More in flight than the connections have stream ids.
    #[error(
        "--concurrency {asked} was asked for, and at most {} can be in flight over {} to a node; ask for fewer, or for more \
         --connections (up to {} in flight)",
        whole((STREAMS * connections) as f64),
        count(*connections as u64, "connection"),
        whole(MOST_IN_FLIGHT as f64)
    )]
    Streams {
        /// What was asked for.
        asked: usize,
        /// Over how many connections.
        connections: usize,
    },
    /// More connections than a client has ports.
    #[error(
        "--connections {asked} was asked for, and at most {} to a node are possible, because a client has no more ports to one \
         address; ask for fewer",
        whole(MOST_CONNECTIONS as f64)
    )]
    Ports {
        /// What was asked for.
        asked: usize,
    },
    /// More connections than a process may have files open.
    #[error(
        "--connections {asked} was asked for, and a process may have {files} files open here, of which {OTHER_FILES} are left \
         for other things; ask for fewer, or raise that with `ulimit -n`"
    )]
    Files {
        /// What was asked for.
        asked: usize,
        /// What the system allows.
        files: u64,
    },
    /// The count makes no workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The machine does not allow an arrangement.
    #[error(transparent)]
    Placement(#[from] PlacementError),
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
    /// Index into the steps of its pass.
    pub step: usize,
    /// From 1; more when its block is run again.
    pub attempt: u32,
    /// Statements in the window.
    pub count: u64,
}

impl Plan {
    /// A plan for the embedded node that runs every contender once on 250,000 statements of each scenario, with a counting
    /// pass, no repeats, no control and no limit of time: a start for struct update syntax.
    pub fn new(contenders: Vec<Contender>, scenarios: Vec<Scenario>) -> Plan {
        Plan {
            contenders,
            scenarios,
            arrangements: vec![Arrangement { runtime: Runtime::Multi { workers: 2 }, pinned: false }],
            pin: Pin::Auto,
            count: 250_000,
            concurrency: 1_024,
            warmup: 20_000,
            blocks: 1,
            passes: vec![Pass::Counting],
            rate: None,
            counting_count: None,
            control: false,
            noise_share: None,
            most_attempts: 1,
            within: None,
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

    /// Checks what can be checked before anything is started, and gives each arrangement its cores on this machine.
    ///
    /// # Errors
    /// The first thing that is wrong, with what to do.
    pub fn check(&self, topology: &Topology) -> Result<Vec<Placement>, PlanError> {
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
            ("the number of attempts at a block", self.most_attempts == 0),
            ("the count of a counting cell", self.counting_count == Some(0)),
            ("the rate", self.rate == Some(0)),
            ("the time of the run", self.within.is_some_and(|time| time.is_zero())),
            ("the number of connections", self.connections == 0),
        ];
        if let Some((what, _)) = numbers.iter().find(|(_, zero)| *zero) {
            return Err(PlanError::Zero { what });
        }
        self.check_concurrency()?;
        for (at, scenario) in self.scenarios.iter().enumerate() {
            if self.scenarios[..at].iter().any(|other| other.name == scenario.name) {
                return Err(PlanError::ScenarioTwice(scenario.name.clone()));
            }
            let further = self.passes.iter().flat_map(|pass| kind(*pass).steps(self, true));
            for count in std::iter::once(self.count).chain(further.map(|step| step.count)) {
                let limits = &scenario.limits;
                Workload::new(scenario, limits.count(count), limits.warmup(self.warmup), self.seed)?;
            }
        }
        if let Some(reference) = &self.reference {
            let ids = self.ids();
            if !ids.contains(reference) {
                let contenders = ids.join(", ");
                return Err(PlanError::NoReference { reference: reference.clone(), contenders });
            }
        }
        let placements = place(&self.arrangements, &self.pin, topology, self.target.is_embedded())?;
        for (at, one) in placements.iter().enumerate() {
            if placements[..at].iter().any(|other| other.arrangement == one.arrangement) {
                return Err(PlanError::ArrangementTwice(one.arrangement.to_string()));
            }
        }
        Ok(placements)
    }

    /// Checks that as many statements can be in flight as are asked for. How many nodes a cluster has is known of ours alone: one.
    fn check_concurrency(&self) -> Result<(), PlanError> {
        let (asked, connections) = (self.concurrency, self.connections);
        if self.sends() && connections > MOST_CONNECTIONS {
            return Err(PlanError::Ports { asked: connections });
        }
        let most = self.scenarios.iter().map(|scenario| scenario.limits.concurrency(asked)).max().unwrap_or(0);
        if most > MOST_IN_FLIGHT {
            return Err(PlanError::Concurrency { asked });
        }
        if self.target.is_embedded() && self.sends() && most > connections.saturating_mul(STREAMS) {
            return Err(PlanError::Streams { asked, connections });
        }
        Ok(())
    }

    /// Checks that worker and node may open as many connections as are asked for where a process may have `files` open.
    ///
    /// # Errors
    /// When they may not.
    pub fn check_connections(&self, files: u64) -> Result<(), PlanError> {
        if self.sends() && self.connections as u64 > files.saturating_sub(OTHER_FILES) {
            return Err(PlanError::Files { asked: self.connections, files });
        }
        Ok(())
    }

    /// Whether any contender sends something: all but noop do.
    fn sends(&self) -> bool {
        self.contenders.iter().any(|contender| contender.role() != Role::Noop)
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

    /// The name of the driver of the contender with that index; the control, which comes behind them all, is the reference.
    pub(crate) fn driver(&self, index: usize) -> &str {
        let reference = || self.ids().iter().position(|id| Some(id) == self.reference.as_ref());
        let contender = self.contenders.get(index).or_else(|| self.contenders.get(reference()?));
        contender.map_or("", |contender| contender.name.as_str())
    }

    /// Statements of a counting cell, 0 when there is none; `countable` says whether the machine counts at all.
    pub(crate) fn counting_count(&self, countable: bool) -> u64 {
        if !self.passes.contains(&Pass::Counting) {
            return 0;
        }
        kind(Pass::Counting).steps(self, countable).first().map_or(0, |step| step.count)
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
    fn a_contender_that_is_named_twice_has_two_ids() {
        assert_eq!(plan(&["scylla", "noop", "scylla"], &["writes"]).ids(), ["scylla", "noop", "scylla#2"]);
    }

    #[test]
    fn what_no_driver_could_have_in_flight_is_refused_before_anything_starts() {
        let asked = |contender: &str, concurrency: usize, connections: usize| {
            let plan = Plan { concurrency, connections, ..plan(&[contender], &["writes"]) };
            plan.check(&Topology::sample(1, 1)).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(asked("a", 32_767, 1), Ok(()));
        assert_eq!(asked("a", 1 << 20, 33), Ok(()));
        assert_eq!(asked("noop", 1 << 20, 1), Ok(()));
        assert_eq!(
            asked("a", 32_768, 1).unwrap_err(),
            "--concurrency 32768 was asked for, and at most 32,767 can be in flight over 1 connection to a node; ask for fewer, or for \
             more --connections (up to 1,048,576 in flight)"
        );
        assert!(asked("a", 100_000, 3).unwrap_err().contains("at most 98,301 can be in flight over 3 connections"));
        assert_eq!(
            asked("noop", (1 << 20) + 1, 1).unwrap_err(),
            "--concurrency 1048577 was asked for, and at most 1,048,576 can be in flight; ask for fewer"
        );
        let limited = Plan { concurrency: 2_000_000, ..plan(&["a"], &["connect"]) };
        assert!(limited.check(&Topology::sample(1, 1)).is_ok(), "the scenario's own limit is lower");
        let elsewhere = Target::parse("10.0.0.1").unwrap();
        let elsewhere = Plan { concurrency: 40_000, target: elsewhere, ..plan(&["a"], &["writes"]) };
        assert!(elsewhere.check(&Topology::sample(1, 1)).is_ok(), "nobody knows how many nodes it has");
    }

    #[test]
    fn connections_for_which_a_process_may_not_open_files_are_refused() {
        let asked = |contender: &str, connections: usize| {
            let plan = Plan { connections, ..plan(&[contender], &["writes"]) };
            plan.check_connections(1_024).map_err(|error| error.to_string())
        };
        assert_eq!(asked("a", 960), Ok(()));
        assert_eq!(asked("noop", 5_000), Ok(()));
        assert_eq!(
            asked("a", 961).unwrap_err(),
            "--connections 961 was asked for, and a process may have 1024 files open here, of which 64 are left for other things; ask \
             for fewer, or raise that with `ulimit -n`"
        );
    }

    #[test]
    fn what_cannot_be_carried_out_is_refused_before_anything_starts() {
        let error = |plan: Plan| plan.check(&Topology::sample(2, 1)).unwrap_err().to_string();
        assert!(plan(&["a"], &["writes"]).check(&Topology::sample(1, 1)).is_ok());
        assert!(error(plan(&[], &["writes"])).contains("at least one contender"));
        assert!(error(plan(&["a"], &["writes", "writes"])).contains("writes is asked for twice"));
        assert!(error(Plan { blocks: 0, ..plan(&["a"], &["writes"]) }).contains("the number of blocks was set to 0"));
        assert!(error(Plan { count: 1, ..plan(&["a"], &["mixed"]) }).contains("ask for at least 2"));
        let uncounted = Plan { passes: Vec::new(), ..plan(&["a"], &["mixed"]) };
        assert!(uncounted.check(&Topology::sample(1, 1)).is_ok(), "there is no counting cell to be too short");
        assert!(
            error(Plan { reference: Some("b".to_owned()), ..plan(&["a", "c"], &["writes"]) })
                .contains("\"b\" is none of the contenders: a, c; name one of them")
        );
        let twice = vec!["current".parse().unwrap(), "current".parse().unwrap()];
        let twice = Plan { arrangements: twice, ..plan(&["a"], &["writes"]) };
        assert!(error(twice).contains("the arrangement current is asked for twice"));
        let pinned = Plan { arrangements: vec!["pinned+current".parse().unwrap()], ..plan(&["a"], &["writes"]) };
        assert!(pinned.check(&Topology::sample(1, 1)).unwrap_err().to_string().contains("needs two cores"));
    }
}
