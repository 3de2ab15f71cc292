//! What a run does: contenders, what each is asked, how often and in which order.

pub(crate) mod arrangement;
pub(crate) mod asked;
pub(crate) mod contender;
pub(crate) mod estimate;
pub(crate) mod pass;
pub(crate) mod placement;
pub(crate) mod schedule;
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

use cqldyno_cassandra::plays;
use cqldyno_cluster::{Delay, Topology as Ring, check_keyspace};
use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_protocol::{LONGEST_TRACE, MOST_IN_FLIGHT, MOST_TRACED, Runtime};
use cqldyno_reports::{Pass, PlanInfo, Role, count, whole};
use cqldyno_scenarios::{Operation, Scenario, ScenarioError, Statement, Submit, Workload, WorkloadError};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::plan::arrangement::Arrangement;
use crate::plan::contender::{Contender, ContenderError};
use crate::plan::estimate::{argument, delay};
use crate::plan::pass::kind;
use crate::plan::placement::{Pin, Placement, PlacementError, place};
use crate::plan::tape::Recordings;
use crate::plan::target::{Access, Target};
use crate::plan::topology::Topology;

/// The most statements of a counting cell: the count per statement does not change with more.
pub const COUNTING_COUNT: u64 = 250_000;

/// Statements in flight, unless a plan says otherwise.
pub const CONCURRENCY: u64 = 1_024;

/// Rows per page, unless a scenario or a contender says otherwise.
pub const PAGE_SIZE: i32 = 5_000;

/// The fewest generations with a control: with fewer it could say nothing.
pub const CONTROL_BLOCKS: u32 = 3;

/// The most statements in flight on a connection: protocol v4 has 32,768 stream ids, and cdrs-tokio leaves out 0.
const STREAMS: usize = 32_767;

/// The most connections to a node: Linux has some 28,000 ports for a client of one address.
const MOST_CONNECTIONS: usize = 20_000;

/// As long as the longest ending of a name of a keyspace: an id of the run and the number of the contender.
const LONGEST_SUFFIX: &str = "_01234567_99";

/// The worker that speaks PostgreSQL's protocol.
pub(crate) const POSTGRES: &str = "postgres";

/// Statements in flight on PostgreSQL; some connections are left for us.
const MOST_BACKENDS: usize = cqldyno_postgres::MOST_CONNECTIONS - 100;

/// Files that worker and node have open besides data connections: their streams, logs, pipes and control connections.
const OTHER_FILES: u64 = 64;

/// Data connections of a session have so many control connections beside them at most.
const CONTROL_CONNECTIONS: usize = 2;

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

/// A plan that cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("a run needs at least one {0}; name one")]
    Nothing(&'static str),
    #[error("{0} was set to 0; use 1 or more")]
    Zero(&'static str),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(
        "response times are taken at a rate, and the way of submitting {1} of {0} keeps none; leave the pass latency out, or submit by \
         slots"
    )]
    NoRate(String, Submit),
    /// A bad day whose statements cannot be tracked, and why.
    #[error("the day {0} cannot run: {1}")]
    Untraceable(String, String),
    /// A scenario that has no ladder, and why.
    #[error("the scenario {0} has no ladder: {1}")]
    Unclimbable(String, &'static str),
    #[error("the {0} {1} is asked for twice; name it once")]
    Twice(&'static str, String),
    /// A reference that is not among the contenders, and who is.
    #[error("the reference {0:?} is none of the contenders: {1}; name one of them")]
    NoReference(String, String),
    #[error("--concurrency {} was asked for, and at most {} can be in flight; ask for fewer", .0, whole(MOST_IN_FLIGHT as f64))]
    Concurrency(usize),
    /// A point of a sweep that a scenario never reaches: what it is called, the most that it has in flight, and what was asked for.
    #[error("the scenario {0} has at most {1} in flight, and --concurrency asks for {2}; name numbers up to {1}")]
    Point(String, u64, u64),
    #[error(
        "--concurrency {} was asked for, and at most {} can be in flight over {} to a node; ask for fewer, or for more \
         --connections (up to {} in flight)",
        .0,
        whole((STREAMS * .1) as f64),
        count(*.1 as u64, "connection"),
        whole(MOST_IN_FLIGHT as f64)
    )]
    Streams(usize, usize),
    #[error(
        "--connections {} was asked for, and at most {} to a node are possible, because a client has no more ports to one \
         address; ask for fewer",
        .0,
        whole(MOST_CONNECTIONS as f64)
    )]
    Ports(usize),
    #[error(
        "--connections {0} was asked for, and a process may have {1} files open here, of which {OTHER_FILES} are left for other \
         things; ask for fewer, or raise that with `ulimit -n`"
    )]
    Files(usize, u64),
    /// A scenario whose sessions open more connections than files are possible: it, sessions at once, connections of each, and files.
    #[error(
        "the scenario {} opens {} at once with up to {} each, and a process may have {} files open here, of which {OTHER_FILES} are left \
         for other things; ask for a lower --concurrency, or raise that with `ulimit -Hn`",
        .0,
        count(*.1 as u64, "session"),
        count(*.2 as u64, "connection"),
        whole(*.3 as f64)
    )]
    SessionFiles(String, usize, usize, u64),
    /// A scenario whose keyspace the embedded cluster cannot have, and why.
    #[error("the schema of the scenario {0} is refused: {1}")]
    Replication(String, String),
    /// A scenario with a tape that nobody read.
    #[error("the scenario {0} has a tape, which `cqldyno compare` plays; compare with it, or leave the tape out")]
    Unread(String),
    /// A scenario with a script that the cluster cannot play, and why.
    #[error("the script of the scenario {0} cannot be played: {1}")]
    Script(String, String),
    /// A scenario in a keyspace that its schema does not make.
    #[error(
        "the scenario {0} names tables in a keyspace that its schema does not create, or not under a plain name of at most 28 characters, \
         so it would use one of the cluster's; create the keyspace in its schema, or end --target with `,keep`"
    )]
    OthersKeyspace(String),
    /// Loaders that cannot share the load: what was asked, and what to do.
    #[error("--loaders was given, and {0}")]
    Loaders(String),
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// An arrangement with cores of its own for a server that we do not place.
    #[error(
        "the arrangement {0} gives the server cores of its own, and the target {1} runs on all; leave pinned+ and --pin out, or pin a \
         cluster of yours and name its address"
    )]
    Unplaced(Arrangement, Target),
    /// A contender that does not speak the target's protocol, the target, and what to do.
    #[error("the contender {0} was asked for on the target {1}, and does not speak its protocol; {2}")]
    OtherProtocol(String, Target, &'static str),
    /// A scenario that has no counterpart in SQL, and its statement.
    #[error(
        "PostgreSQL cannot run the scenario {0}: its statement {1} is not a prepared INSERT or SELECT; leave --target postgres out, or name \
         a scenario such as writes"
    )]
    NotInSql(String, String),
    /// What was asked for in flight, with the number of contenders.
    #[error(
        "PostgreSQL takes at most {2} connections, and each statement in flight has a connection of its own; lower --concurrency from {0} \
         ({1} x {0} were asked for)"
    )]
    Backends(usize, usize, usize),
    /// A contender that encrypts, and a target that is reached without TLS.
    #[error(
        "the contender {0} encrypts its connections, and the target {1} is reached without TLS; add --tls ca=FILE if it is a cluster of \
         yours that encrypts, or leave +tls=on out"
    )]
    Unencrypted(String, Target),
    #[error(transparent)]
    Contender(#[from] ContenderError),
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

/// How long after its last statement's start a bad day waits for answers.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Why single statements of the scenario cannot be tracked, as a clause with what to do, if so.
fn untraceable(scenario: &Scenario, count: u64, rate: u64) -> Option<String> {
    if !scenario.submit.has_slots() {
        return Some(format!("the way of submitting {} keeps no rate; submit by slots", scenario.submit));
    }
    if opens_sessions(scenario) {
        return Some("a statement opens a session of its own; leave `operation` out".to_owned());
    }
    if scenario.tape.is_some() {
        return Some("its statements come from a tape; leave the tape out".to_owned());
    }
    let lasts = Duration::from_secs(count / rate.max(1)).saturating_add(PATIENCE);
    if lasts > LONGEST_TRACE {
        let [lasts, most] = [lasts, LONGEST_TRACE].map(|time| time.as_secs());
        return Some(format!(
            "with its patience it would take {lasts} s, and at most {most} s are possible; lower --lasts"
        ));
    }
    (count > MOST_TRACED).then(|| {
        let [count, most] = [count, MOST_TRACED].map(|number| whole(number as f64));
        format!("{count} statements were asked for, and at most {most} can be tracked; lower --rate or --lasts")
    })
}

pub(crate) fn opens_sessions(scenario: &Scenario) -> bool {
    scenario.statements.iter().any(|one| one.operation == Operation::Connect)
}

/// Why response times of the scenario at a rate are none that a ladder can bound, as a clause with what to do, if so.
fn unclimbable(scenario: &Scenario) -> Option<&'static str> {
    if !scenario.script.is_empty() {
        return Some(
            "its script disturbs statements on purpose; leave [[script]] out, or run it with `cqldyno faults`",
        );
    }
    let sessions = "each of its statements opens a session of its own; name a scenario of EXECUTEs, such as mixed";
    opens_sessions(scenario).then_some(sessions)
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

/// The flag with which the embedded cluster encrypts.
pub(crate) const TLS: &str = "--tls";

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
    /// A start for struct update syntax, with the usual number in flight of each scenario that has one: one generation with a turn of 250,000 statements and a counting pass on the embedded cluster,
    /// without control or limit of time.
    pub fn new(contenders: Vec<Contender>, mut scenarios: Vec<Scenario>) -> Plan {
        scenarios.iter_mut().for_each(|scenario| scenario.limits = scenario.limits.usual());
        Plan {
            info: PlanInfo {
                seed: 1,
                concurrency: CONCURRENCY,
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
            ("the number of generations", self.blocks == 0),
            ("the number of statements of a turn", self.turns.count == 0),
            ("the number of rounds", self.turns.rounds == 0),
            ("the rate", self.rate == Some(0) || (self.faults && self.rate.is_none())),
            ("the time of the run", self.within_ms == Some(0)),
            ("the number of connections", self.connections == 0),
        ];
        if let Some((what, _)) = numbers.iter().find(|(_, zero)| *zero) {
            return Err(PlanError::Zero(what));
        }
        self.check_concurrency()?;
        self.check_protocol()?;
        self.unshared().map_or(Ok(()), |why| Err(PlanError::Loaders(why)))?;
        self.contenders.iter().try_for_each(|contender| contender.check(self.settings))?;
        let has_tls = self.target.is_embedded() || self.access.tls.is_some();
        if let Some(one) = self.contenders.iter().find(|one| one.own.tls && !has_tls) {
            return Err(PlanError::Unencrypted(one.to_string(), self.target.clone()));
        }
        for (at, scenario) in self.scenarios.iter().enumerate() {
            if self.scenarios[..at].iter().any(|other| other.label() == scenario.label()) {
                return Err(PlanError::Twice("scenario", scenario.label()));
            }
            // A scenario whose way of submitting was set on the command line was not checked with it.
            scenario.validate(&scenario.label())?;
            if scenario.tape.is_some() && !self.recordings.contains_key(&scenario.kind()) {
                return Err(PlanError::Unread(scenario.label()));
            }
            for cql in scenario.schema.iter().filter(|_| self.target.is_embedded()) {
                check_keyspace(cql, self.ring(Some(scenario)))
                    .map_err(|why| PlanError::Replication(scenario.label(), why))?;
            }
            self.check_script(scenario).map_err(|why| PlanError::Script(scenario.label(), why))?;
            let is_others = !self.keep && matches!(self.target, Target::Addresses { .. });
            if is_others && scenario.with_own_keyspaces(LONGEST_SUFFIX).is_none() {
                return Err(PlanError::OthersKeyspace(scenario.label()));
            }
            if self.passes.contains(&Pass::Latency) && !scenario.submit.has_slots() {
                return Err(PlanError::NoRate(scenario.label(), scenario.submit));
            }
            if self.ladder.is_some() {
                unclimbable(scenario).map_or(Ok(()), |why| Err(PlanError::Unclimbable(scenario.label(), why)))?;
            }
            if self.faults {
                untraceable(scenario, self.count, self.rate.unwrap_or(1))
                    .map_or(Ok(()), |why| Err(PlanError::Untraceable(scenario.label(), why)))?;
            }
            let others = self.passes.iter().flat_map(|pass| (kind(*pass).steps)(self));
            let ends = [1, self.blocks].map(|number| self.issued_in(number));
            for count in ends.into_iter().chain(others.map(|step| step.load.count)) {
                let limits = &scenario.limits;
                Workload::new(scenario, limits.count(count), limits.warmup(self.warmup), self.seed)?;
            }
        }
        if let Some(reference) = &self.reference {
            let ids = self.ids();
            if !ids.contains(reference) {
                return Err(PlanError::NoReference(reference.clone(), ids.join(", ")));
            }
        }
        let placements = place(&self.arrangements, &self.pin, topology, self.target.is_embedded())?;
        let pinned = placements.iter().find(|one| one.arrangement.pinned);
        if let (Some(pinned), Target::Cassandra(_) | Target::Postgres(_)) = (pinned, &self.target) {
            return Err(PlanError::Unplaced(pinned.arrangement, self.target.clone()));
        }
        for (at, one) in placements.iter().enumerate() {
            if placements[..at].iter().any(|other| other.arrangement == one.arrangement) {
                return Err(PlanError::Twice("arrangement", one.arrangement.to_string()));
            }
        }
        Ok(placements)
    }

    /// Why loaders cannot share the load, as the rest of a sentence, if so.
    fn unshared(&self) -> Option<String> {
        let loaders = self.loaders.as_ref()?;
        let number = u64::from(loaders.number);
        let Some(words) = self.launch_words() else {
            return Some(format!("--launch {:?} cannot be read as words of a shell; close its quotes", loaders.launch));
        };
        let names_host = words.iter().any(|word| word.contains("{host}"));
        if loaders.hosts.is_empty() && names_host {
            return Some("--launch has {host}, but --loaders names no host; write --loaders a,b,c".to_owned());
        }
        if !loaders.hosts.is_empty() && !names_host {
            return Some(
                "it names hosts, but --launch has no {host}; write --launch 'ssh {host}', or --loaders N".to_owned(),
            );
        }
        if matches!(self.target, Target::Postgres(_)) || self.faults {
            let what = if self.faults { "a bad day" } else { "PostgreSQL" };
            return Some(format!("{what} runs with one worker only; leave --loaders out"));
        }
        let shared = [Pass::Counting, Pass::Syscalls, Pass::Latency];
        if let Some(pass) = self.passes.iter().find(|pass| !shared.contains(pass)) {
            return Some(format!("the pass {} works with one worker only; leave it out", pass.name()));
        }
        if let Some(rate) = self.rate.filter(|rate| *rate < number) {
            return Some(format!(
                "--rate {rate} is less than one statement per second for each of {number} loaders; raise --rate"
            ));
        }
        self.scenarios.iter().find_map(|scenario| {
            let (label, in_flight) = (scenario.label(), self.in_flight(scenario) as u64);
            match () {
                () if opens_sessions(scenario) || scenario.idle.is_some() || !scenario.script.is_empty() => {
                    Some(format!("the scenario {label} opens sessions, idles or has a script, which needs a single worker; leave the scenario or --loaders out"))
                }
                () if in_flight < number => Some(format!(
                    "the scenario {label} has {in_flight} in flight, fewer than {number} loaders; raise --concurrency, or use fewer loaders"
                )),
                () => None,
            }
        })
    }

    /// Checks that contenders and target speak one protocol, and that PostgreSQL is asked what it can answer.
    fn check_protocol(&self) -> Result<(), PlanError> {
        let is_postgres = |one: &&Contender| one.name() == POSTGRES;
        let other = |one: &Contender, what| Err(PlanError::OtherProtocol(one.to_string(), self.target.clone(), what));
        if !matches!(self.target, Target::Postgres(_)) {
            let found = self.contenders.iter().find(is_postgres);
            return found.map_or(Ok(()), |one| other(one, "add --target postgres"));
        }
        if let Some(one) = self.contenders.iter().find(|one| !is_postgres(one)) {
            return other(one, "name the contender `postgres` alone, or leave --target out");
        }
        let begins = |cql: &str| cql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        for scenario in &self.scenarios {
            let is_known = |one: &Statement| {
                one.operation == Operation::Execute && ["INSERT", "SELECT"].contains(&begins(&one.cql).as_str())
            };
            if let Some(one) = scenario.statements.iter().find(|one| !is_known(one)) {
                return Err(PlanError::NotInSql(scenario.label(), one.name.clone()));
            }
            // The control is one more.
            let (in_flight, sides) = (self.in_flight(scenario), self.contenders.len() + usize::from(self.control));
            if in_flight.saturating_mul(sides) > MOST_BACKENDS {
                return Err(PlanError::Backends(in_flight, sides, MOST_BACKENDS));
            }
        }
        Ok(())
    }

    /// Checks that the cluster plays scripts, and has the nodes and shards that the scenario's names.
    fn check_script(&self, scenario: &Scenario) -> Result<(), String> {
        match &self.target {
            _ if scenario.script.is_empty() => return Ok(()),
            Target::Cassandra(order) if self.faults => {
                return scenario.script.iter().try_for_each(|step| plays(step, order.nodes.into()));
            }
            Target::Embedded => {}
            _ => {
                return Err(format!(
                    "`compare` plays scripts on the embedded cluster only; leave --target {} out, or [[script]] in the scenario, or run \
                     `cqldyno faults --target cassandra`",
                    self.target
                ));
            }
        }
        let ring = self.ring(Some(scenario));
        scenario.script.iter().try_for_each(|step| step.fits(ring.nodes(), ring.shards()))
    }

    /// Checks that so many statements can be in flight, all of them on one node if their keys are there.
    fn check_concurrency(&self) -> Result<(), PlanError> {
        if let Some(connections) = self.connections_each(None).find(|connections| *connections > MOST_CONNECTIONS) {
            return Err(PlanError::Ports(connections));
        }
        for scenario in &self.scenarios {
            let most = self.in_flight(scenario);
            let asked = scenario.point.map_or(self.concurrency as usize, |_| most);
            if most > MOST_IN_FLIGHT {
                return Err(PlanError::Concurrency(asked));
            }
            let fewest = self.connections_each(Some(scenario)).min().filter(|_| self.target.is_embedded());
            if let Some(fewest) = fewest.filter(|fewest| most > fewest.saturating_mul(STREAMS)) {
                return Err(PlanError::Streams(asked, fewest));
            }
        }
        Ok(())
    }

    /// Checks that worker and node may open the connections where a process may have `files` open.
    ///
    /// # Errors
    /// When they may not.
    pub fn check_connections(&self, files: u64) -> Result<(), PlanError> {
        let most = self.connections_each(None).max().unwrap_or_default().saturating_mul(self.ring(None).nodes());
        let free = files.saturating_sub(OTHER_FILES);
        if most as u64 > free {
            return Err(PlanError::Files(most, files));
        }
        for scenario in self.scenarios.iter().filter(|one| opens_sessions(one)) {
            let data = self.connections_each(Some(scenario)).max().unwrap_or_default();
            let each = data.saturating_mul(self.ring(Some(scenario)).nodes()).saturating_add(CONTROL_CONNECTIONS);
            let at_once = self.in_flight(scenario);
            if at_once.saturating_mul(each) as u64 > free {
                return Err(PlanError::SessionFiles(scenario.label(), at_once, each, files));
            }
        }
        Ok(())
    }

    pub(crate) fn in_flight(&self, scenario: &Scenario) -> usize {
        scenario.in_flight(self.concurrency as usize)
    }

    pub(crate) fn encrypts(&self) -> bool {
        self.serve_arguments.iter().any(|argument| argument == TLS)
    }

    /// What the embedded cluster is started with for the scenario.
    pub(crate) fn served(&self, scenario: Option<&Scenario>) -> Vec<String> {
        let point = scenario.and_then(|scenario| scenario.point);
        let shards = point.and_then(|point| point.shards).map(|shards| ["--shards".to_owned(), shards.to_string()]);
        let delay = point.and_then(|point| point.delay_ns);
        let delay = delay.map(|ns| ["--delay".to_owned(), format!("{}us", ns as f64 / 1e3)]);
        self.serve_arguments.iter().cloned().chain([shards, delay].into_iter().flatten().flatten()).collect()
    }

    /// How long the embedded cluster delays each answer of the scenario.
    pub(crate) fn delay(&self, scenario: Option<&Scenario>) -> Delay {
        delay(&self.served(scenario))
    }

    /// How many nodes the embedded cluster has for the scenario, and what each has.
    pub(crate) fn ring(&self, scenario: Option<&Scenario>) -> Ring {
        let arguments = self.served(scenario);
        let of = |flag| argument(&arguments, flag);
        let nodes: Ring = of("--nodes").and_then(|text| text.parse().ok()).unwrap_or_default();
        nodes.with_shards(of("--shards").and_then(|text| text.parse().ok())).unwrap_or_default()
    }

    /// The connections per node of each contender that sends something: all but noop do.
    fn connections_each(&self, scenario: Option<&Scenario>) -> impl Iterator<Item = usize> {
        let sending = self.contenders.iter().filter(|contender| contender.role() != Role::Noop);
        sending.map(move |contender| contender.own.in_force(self, scenario).connections)
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
        .with(|one| (one.concurrency, one.warmup, one.seed) = (8, 10, 7))
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
    fn a_scenario_may_come_with_several_ways_of_submitting_and_is_refused_with_one_that_cannot() {
        let submitted = |name: &str, submit| Scenario { submit, ..cqldyno_scenarios::builtin(name).unwrap() };
        let check = |scenarios: Vec<Scenario>, passes: Vec<Pass>| {
            let plan = Plan { scenarios, ..plan(&["scylla"], &["writes"]) }.with(|one| one.passes = passes);
            plan.check(&Topology::sample(1, 1)).map(drop).map_err(|error| error.to_string())
        };
        let both = || vec![submitted("writes", Submit::Slots), submitted("writes", Submit::Stream)];
        assert_eq!(check(both(), vec![Pass::Counting]), Ok(()));
        let twice = vec![submitted("writes", Submit::Stream); 2];
        assert_eq!(
            check(twice, Vec::new()).unwrap_err(),
            "the scenario writes+stream is asked for twice; name it once"
        );
        let error = check(both(), vec![Pass::Latency]).unwrap_err();
        assert!(error.contains("the way of submitting stream of writes+stream keeps none"), "{error}");
        let error = check(vec![submitted("batch", Submit::Spawn)], Vec::new()).unwrap_err();
        assert!(error.starts_with("the scenario batch+spawn cannot be run: the way of submitting spawn"), "{error}");
        // It has one statement in flight, however many are asked for.
        let many = plan(&["scylla"], &["writes"]).with(|one| one.concurrency = 1 << 21);
        let one = Plan { scenarios: vec![submitted("writes", Submit::Sequential)], ..many };
        assert!(one.check(&Topology::sample(1, 1)).is_ok());
    }

    #[test]
    fn what_no_driver_could_have_in_flight_is_refused_before_anything_starts() {
        let asked = |contender: &str, concurrency: u64, connections: u64| {
            let plan = plan(&[contender], &["writes"])
                .with(|one| (one.concurrency, one.connections) = (concurrency, connections));
            plan.check(&Topology::sample(1, 1)).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(asked("a", 32_767, 1), Ok(()));
        assert_eq!(asked("a", 1 << 20, 33), Ok(()));
        assert_eq!(asked("noop", 1 << 20, 1), Ok(()));
        assert_eq!(asked("a+connections=2", 40_000, 1), Ok(()), "it has more than the run's");
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
        let limited = plan(&["a"], &["connect"]).with(|one| one.concurrency = 2_000_000);
        assert!(limited.check(&Topology::sample(1, 1)).is_ok(), "the scenario's own limit is lower");
        let elsewhere = Target::parse("10.0.0.1").unwrap();
        let elsewhere = Plan { target: elsewhere, ..plan(&["a"], &["writes"]) }.with(|one| one.concurrency = 40_000);
        assert!(elsewhere.check(&Topology::sample(1, 1)).is_ok(), "nobody knows how many nodes it has");
    }

    #[test]
    fn postgres_is_asked_by_its_own_worker_what_it_can_answer() {
        let asked = |contender: &str, scenario: &str, target: &str, concurrency| {
            let plan = Plan { target: Target::parse(target).unwrap(), ..plan(&[contender], &[scenario]) };
            let plan = plan.with(|one| one.concurrency = concurrency);
            plan.check(&Topology::sample(1, 1)).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(asked("postgres", "writes", "postgres", 256), Ok(()));
        assert_eq!(
            asked("scylla", "writes", "postgres,synchronous_commit=off", 8).unwrap_err(),
            "the contender scylla was asked for on the target postgres,synchronous_commit=off, and does not speak its protocol; name the \
             contender `postgres` alone, or leave --target out"
        );
        assert!(asked("postgres", "writes", "embedded", 8).unwrap_err().ends_with("; add --target postgres"));
        let error = asked("postgres", "batch", "postgres", 8).unwrap_err();
        assert!(error.starts_with("PostgreSQL cannot run the scenario batch: its statement"), "{error}");
        let error = asked("postgres", "writes", "postgres", 1_001).unwrap_err();
        assert!(error.contains("lower --concurrency from 1001 (1 x 1001 were asked for)"), "{error}");
    }

    #[test]
    fn connections_for_which_a_process_may_not_open_files_are_refused() {
        let asked = |contender: &str, connections: u64| {
            let plan = plan(&[contender], &["writes"]).with(|one| one.connections = connections);
            plan.check_connections(1_024).map_err(|error| error.to_string())
        };
        assert_eq!(asked("a", 960), Ok(()));
        assert_eq!(asked("noop", 5_000), Ok(()));
        let at_once = |sessions: u64, nodes: &str| {
            let mut storm = cqldyno_scenarios::builtin("connect").unwrap();
            storm.limits = storm.limits.asked();
            let plan = Plan::new(vec!["a".parse().unwrap()], vec![storm]);
            let plan = plan.with(|one| one.serve_arguments = ["--nodes", nodes].map(str::to_owned).to_vec());
            plan.with(|one| one.concurrency = sessions).check_connections(1_024).map_err(|error| error.to_string())
        };
        assert_eq!((at_once(320, "1"), at_once(192, "3")), (Ok(()), Ok(())));
        assert_eq!(
            at_once(193, "3").unwrap_err(),
            "the scenario connect opens 193 sessions at once with up to 5 connections each, and a process may have 1,024 files open here, \
             of which 64 are left for other things; ask for a lower --concurrency, or raise that with `ulimit -Hn`"
        );
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
        assert!(
            error(plan(&["a"], &["writes"]).with(|one| one.blocks = 0))
                .contains("the number of generations was set to 0")
        );
        assert!(error(plan(&["a"], &["mixed"]).with_blocks(1, 1)).contains("ask for at least 2"));
        let uncounted = plan(&["a"], &["mixed"]).with(|one| one.passes = Vec::new());
        assert!(uncounted.check(&Topology::sample(1, 1)).is_ok(), "there is no counting cell to be too short");
        assert!(
            error(plan(&["a", "c"], &["writes"]).with(|one| one.reference = Some("b".to_owned())))
                .contains("\"b\" is none of the contenders: a, c; name one of them")
        );
        let elsewhere = Plan { target: Target::parse("10.0.0.1").unwrap(), ..plan(&["a", "a+tls=on"], &["writes"]) };
        assert_eq!(
            error(elsewhere.clone()),
            "the contender a+tls=on encrypts its connections, and the target 10.0.0.1 is reached without TLS; add --tls ca=FILE if it \
             is a cluster of yours that encrypts, or leave +tls=on out"
        );
        let access = Access { tls: Some(cqldyno_driver_api::Tls::default()), ..Access::default() };
        assert!(Plan { access, ..elsewhere }.check(&Topology::sample(1, 1)).is_ok());
        assert!(plan(&["a", "a+tls=on"], &["writes"]).check(&Topology::sample(1, 1)).is_ok());
        let twice = vec!["current".parse().unwrap(), "current".parse().unwrap()];
        let twice = Plan { arrangements: twice, ..plan(&["a"], &["writes"]) };
        assert!(error(twice).contains("the arrangement current is asked for twice"));
        let pinned = Plan { arrangements: vec!["pinned+current".parse().unwrap()], ..plan(&["a"], &["writes"]) };
        assert!(pinned.check(&Topology::sample(1, 1)).unwrap_err().to_string().contains("needs two cores"));
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
