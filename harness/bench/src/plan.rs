//! What a run does: contenders, what each is asked, how often and in which order.

pub(crate) mod arrangement;
pub(crate) mod asked;
mod check;
pub(crate) mod contender;
mod error;
pub(crate) mod estimate;
pub(crate) mod pass;
pub(crate) mod placement;
pub(crate) mod schedule;
pub(crate) mod serve;
mod shuffle;
mod sweep;
pub(crate) mod tape;
pub(crate) mod target;
pub(crate) mod topology;
pub(crate) mod turns;

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::time::Duration;

use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_meter::NOISE_SHARE;
use cqldyno_protocol::Runtime;
use cqldyno_reports::{Pass, PlanInfo};
use cqldyno_scenarios::{Operation, Scenario};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

pub(crate) use self::error::PlanError;
use crate::plan::arrangement::Arrangement;
use crate::plan::contender::Contender;
use crate::plan::placement::Pin;
use crate::plan::serve::Serve;
use crate::plan::tape::Recordings;
use crate::plan::target::{Access, Target};

/// The most statements of a counting cell: the count per statement does not change with more.
pub const COUNTING_COUNT: u64 = 250_000;

/// Statements in flight, unless a plan says otherwise.
pub const CONCURRENCY: u64 = 1_024;

/// Rows per page, unless a scenario or a contender says otherwise.
pub const PAGE_SIZE: i32 = 5_000;

/// The fewest generations with a control: with fewer it could say nothing.
pub const CONTROL_BLOCKS: u32 = 3;

/// The worker that speaks PostgreSQL's protocol.
pub(crate) const POSTGRES: &str = "postgres";

/// Lets this process and those that it starts have as many files open as the system allows, and returns how many those are. Where the
/// system does not say, workers and nodes will find out.
pub fn open_files() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return u64::MAX };
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft }
}

/// What a run does: what results say of it, and beside that what no result holds or what it says in words.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What results say. What has a field of its own here is not in it before the run begins.
    pub info: PlanInfo,
    /// Who is asked, in order.
    pub contenders: Vec<Contender>,
    /// What is asked of each.
    pub scenarios: Vec<Scenario>,
    /// What was made of the files of scenarios that have one.
    pub recordings: Recordings,
    /// How client and server sit on the machine.
    pub arrangements: Vec<Arrangement>,
    /// Whether worker and server have cores of their own.
    pub pin: Pin,
    /// The scenarios whose contenders live one after the other, each by its label, and why, as a sentence; `None` before that is known.
    pub apart: Option<BTreeMap<String, String>>,
    /// Whether the reference runs a second time under another name if there are [`CONTROL_BLOCKS`] generations or more.
    pub control: bool,
    /// Consistency of every statement.
    pub consistency: Consistency,
    /// Equal settings or the drivers' own.
    pub settings: Settings,
    /// Who answers.
    pub target: Target,
    /// What the embedded cluster is started with.
    pub serve: Serve,
    /// For an existing cluster.
    pub access: Access,
    /// How long a worker may take for each step.
    pub deadlines: Deadlines,
    /// The run folder; `None` for one below `cqldyno-runs/` named after the start.
    pub out: Option<PathBuf>,
}

impl Deref for Plan {
    type Target = PlanInfo;

    fn deref(&self) -> &PlanInfo {
        &self.info
    }
}

impl DerefMut for Plan {
    fn deref_mut(&mut self) -> &mut PlanInfo {
        &mut self.info
    }
}

/// How long after its last statement's start a bad day waits for answers.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn opens_sessions(scenario: &Scenario) -> bool {
    scenario.statements.iter().any(|one| one.operation == Operation::Connect)
}

/// How long a worker may take for a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlines {
    /// To say `hello`.
    pub hello: Duration,
    /// To connect and prepare; a worker that does not report its warm-up has a millisecond more per statement of it.
    pub ready: Duration,
    /// Without a further statement, in the warm-up and in the window.
    pub stall: Duration,
    /// To say `done` after `ack`.
    pub done: Duration,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        let [hello, ready, stall, done] = [20, 60, 30, 30].map(Duration::from_secs);
        Deadlines { hello, ready, stall, done }
    }
}

/// A slot takes up to 16 statements at a time and issues them one after the other; only then does it report progress.
const ANSWERS_WITHOUT_PROGRESS: u32 = 20;

impl Deadlines {
    /// With time for answers that the server holds back by `delay`.
    pub(crate) fn held_back(self, delay: Duration) -> Deadlines {
        Deadlines { stall: self.stall.max(delay.saturating_mul(ANSWERS_WITHOUT_PROGRESS)), ..self }
    }
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
    /// The statements per second of a step of a ladder; `None` for what the step of its pass says.
    pub rate: Option<u64>,
    /// From 1; more when its generation was broken off.
    pub attempt: u32,
    /// Statements of all its turns.
    pub count: u64,
    /// The first and the last round in which it takes turns, from 1; `None` for a cell of another pass.
    pub rounds: Option<(u32, u32)>,
    /// Whether it lives for its turn alone, and not beside the others of its generation.
    pub apart: bool,
}

impl PlannedCell {
    pub(crate) fn turns(&self) -> u32 {
        self.rounds.map_or(1, |(first, last)| last - first + 1)
    }
}

impl Plan {
    /// The usual plan, which commands adapt: one generation with a turn of 250,000 statements and a counting pass on the embedded cluster.
    /// It has the usual limit of noise, and neither control nor time limit. A scenario with a usual number in flight has that.
    pub fn new(contenders: Vec<Contender>, mut scenarios: Vec<Scenario>) -> Plan {
        scenarios.iter_mut().for_each(|scenario| scenario.limits = scenario.limits.usual());
        Plan {
            info: PlanInfo {
                seed: 1,
                concurrency: CONCURRENCY,
                noise_share: Some(NOISE_SHARE),
                warmup: 20_000,
                passes: vec![Pass::Counting],
                connections: 1,
                page_size: PAGE_SIZE,
                ..PlanInfo::default()
            },
            contenders,
            scenarios,
            recordings: Recordings::new(),
            arrangements: vec![Arrangement { runtime: Runtime::Multi { workers: 2 }, pinned: false }],
            pin: Pin::Auto,
            apart: None,
            control: false,
            consistency: Consistency::LocalOne,
            settings: Settings::Equal,
            target: Target::Embedded,
            serve: Serve::default(),
            access: Access::default(),
            deadlines: Deadlines::default(),
            out: None,
        }
        .with_blocks(1, COUNTING_COUNT)
    }

    /// Workers that share the load of a contender.
    pub(crate) fn workers(&self) -> u64 {
        self.loaders.as_ref().map_or(1, |loaders| loaders.number.into())
    }

    /// The words of the command that starts loaders; `None` if they cannot be read.
    pub(crate) fn launch_words(&self) -> Option<Vec<String>> {
        self.loaders.as_ref().map_or(Some(Vec::new()), |loaders| shlex::split(&loaders.launch))
    }

    /// The plan with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Plan)) -> Plan {
        change(&mut self);
        self
    }

    pub(crate) fn in_flight(&self, scenario: &Scenario) -> usize {
        scenario.in_flight(self.concurrency as usize)
    }

    /// The id of each contender: as it is written, and then `#2` where it is named for the second time.
    pub fn ids(&self) -> Vec<String> {
        let names: Vec<String> = self.contenders.iter().map(Contender::to_string).collect();
        let nth = |at: usize| names[..=at].iter().filter(|name| **name == names[at]).count();
        let id = |(at, name): (usize, &String)| if nth(at) > 1 { format!("{name}#{}", nth(at)) } else { name.clone() };
        names.iter().enumerate().map(id).collect()
    }
}

#[cfg(test)]
pub(crate) fn plan(contenders: &[&str], scenarios: &[&str]) -> Plan {
    let contenders = contenders.iter().map(|text| text.parse().unwrap()).collect();
    let scenarios = scenarios.iter().map(|name| cqldyno_scenarios::builtin(name).unwrap()).collect();
    Plan::new(contenders, scenarios)
        .with(|one| (one.concurrency, one.warmup, one.seed, one.noise_share) = (8, 10, 7, None))
        .with_blocks(2, 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contender_that_is_named_twice_has_two_ids() {
        assert_eq!(plan(&["scylla", "noop", "scylla"], &["writes"]).ids(), ["scylla", "noop", "scylla#2"]);
    }

    #[test]
    fn answers_that_are_held_back_long_are_no_stall() {
        let second = Duration::from_secs(1);
        let stall = |delay| Deadlines::default().held_back(delay).stall;
        assert_eq!(stall(Duration::ZERO), 30 * second);
        assert_eq!(stall(second), 30 * second);
        assert_eq!(stall(5 * second), 100 * second);
        assert_eq!(Deadlines::default().held_back(5 * second).hello, 20 * second);
    }
}
