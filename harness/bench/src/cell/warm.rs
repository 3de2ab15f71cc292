//! Before the first cell: a Cassandra is started, and issued statements until it no longer becomes quicker.
//!
//! Its code is compiled while it runs, so the first statements take five times as long as later ones. Floor issues what the plan asks
//! for, never a contender.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cqldyno_builder::cache;
use cqldyno_cassandra::{CassandraError, Cluster, Start};
use cqldyno_meter::process_cpu_ns;
use cqldyno_protocol::Mode;
use cqldyno_reports::{Pass, Role, whole};
use cqldyno_scenarios::Scenario;

use super::CellBench;
use super::setup::Setup;
use crate::judge::redaction::Redaction;
use crate::plan::pass::{Load, Shape};
use crate::plan::target::{Target, TargetError};
use crate::plan::{POSTGRES, Plan, PlannedCell};
use crate::process::failure::CellFailure;
use crate::process::gate;

/// The folder of a run in which Cassandra writes; it is gone when the run has ended.
const FOLDER: &str = "cassandra";
const LAP: u64 = 50_000;
/// A lap that takes at least the best time and CPU time before it, less this share, is steady, and so many in a row end the warm-up.
const GAIN: f64 = 0.05;
const STEADY_LAPS: u32 = 3;
/// No part of a lap begins after this time.
const MOST: Duration = Duration::from_secs(120);
/// The same where each answer waits for a disk, whose rate says little about compiled code.
const MOST_DURABLE: Duration = Duration::from_secs(45);
/// How long flushes and compactions may take before anything is measured, and before each further cell or generation.
const SETTLE_FIRST: Duration = Duration::from_secs(120);
const SETTLE: Duration = Duration::from_secs(30);

// Guesses, on any machine.

const FETCH: Duration = Duration::from_secs(30);
const START: Duration = Duration::from_secs(6);
const START_OF_NODE: Duration = Duration::from_secs(8);
const START_OF_POSTGRES: Duration = Duration::from_secs(4);
/// Warming up takes so long, and so much longer for each scenario.
const WARM_UP: Duration = Duration::from_secs(20);
const WARM_UP_OF_SCENARIO: Duration = Duration::from_secs(15);

pub(super) fn estimate(plan: &Plan) -> Duration {
    let order = match &plan.target {
        Target::Cassandra(order) => order,
        Target::Postgres(_) => return START_OF_POSTGRES,
        _ => return Duration::ZERO,
    };
    let is_fetched = cache().is_ok_and(|cache| cqldyno_cassandra::is_fetched(&order.version, &cache));
    let fetch = if is_fetched { Duration::ZERO } else { FETCH };
    let kinds: BTreeSet<String> = plan.scenarios.iter().map(Scenario::kind).collect();
    let scenarios = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
    let warm_up =
        (WARM_UP + WARM_UP_OF_SCENARIO.saturating_mul(scenarios)).saturating_mul(order.nodes.into()).min(MOST);
    fetch + START + START_OF_NODE * order.nodes.into() + warm_up
}

impl CellBench<'_> {
    /// Starts the plan's Cassandra, if it has one, and warms it up.
    pub(super) fn warm_up(&mut self, says: &mut dyn FnMut(&str)) -> Result<(), TargetError> {
        let Target::Cassandra(order) = &self.context.plan.target else { return Ok(()) };
        let folder = self.context.folder;
        let cluster = Cluster::start(Start {
            order,
            cache: &cache()?,
            folder: &folder.path().join(FOLDER),
            log: &|node| folder.log(&format!("{FOLDER}-{node}")).0,
            gate: gate::of(&self.context.programs.cqldyno),
            kept: false,
            yaml: &[],
            login: None,
            says,
            cancelled: &|| self.context.cancel.is_cancelled(),
        })?;
        let (java, took) = cluster.start_of();
        let started = format!("ready after {:.0} s with Java {java}", took.as_secs_f64());
        says(&format!("{} is {started}; warming it up ...", order.name()));
        self.cassandra = Some(cluster);
        let began = Instant::now();
        let warmed = self.laps().map_err(|failure| match failure {
            CellFailure::Cancelled => TargetError::Cassandra(CassandraError::Cancelled),
            failure => TargetError::WarmUp(failure.to_string()),
        })?;
        let settled = self.settled(SETTLE_FIRST);
        let left = if settled { "nothing is left to compact" } else { "it still compacts" };
        let said = format!("{warmed}; after {:.0} s {left}", began.elapsed().as_secs_f64());
        says(&format!("Warm-up: {said}."));
        self.prepared = Some(format!("{}, {started}; warm-up: {said}", order.name()));
        Ok(())
    }

    /// Starts the plan's PostgreSQL, whose code is compiled: the contender's own warm-up is enough.
    pub(super) fn start_postgres(
        &mut self,
        order: cqldyno_postgres::Order,
        says: &mut dyn FnMut(&str),
    ) -> Result<(), TargetError> {
        let folder = self.context.folder;
        let server = cqldyno_postgres::Server::start(cqldyno_postgres::Start {
            order,
            folder: &folder.path().join(POSTGRES),
            log: &folder.log(POSTGRES).0,
            gate: gate::of(&self.context.programs.cqldyno),
            says,
            cancelled: &|| self.context.cancel.is_cancelled(),
        })?;
        self.prepared = Some(server.version.clone());
        self.redaction = Redaction::of(Some(&server.password));
        self.postgres = Some(server);
        Ok(())
    }

    /// Laps of all scenarios until they take as long as before; what came of it, as a clause.
    fn laps(&self) -> Result<String, CellFailure> {
        let cells = self.cells_to_warm();
        let mut setups = Vec::with_capacity(cells.len());
        for cell in &cells {
            setups.push(self.to_warm(cell)?);
        }
        let nodes = self.cassandra.as_ref().map_or(&[][..], Cluster::nodes);
        let look = &mut || self.cassandra.as_ref()?.ended().map(CellFailure::Server);
        for setup in &setups {
            setup.load_rows(nodes, look, &mut |_| ())?;
        }
        let statements: u64 = setups.iter().map(|setup| setup.load.count).sum();
        // Its CPU time tells what others on this machine hide in the throughput.
        let used =
            || self.cassandra.iter().flat_map(Cluster::processes).filter_map(|pid| process_cpu_ns(pid).ok()).sum();
        let is_durable = matches!(&self.context.plan.target, Target::Cassandra(order) if order.commitlog.is_durable());
        let most = if is_durable { MOST_DURABLE } else { MOST };
        let (began, mut best, mut steady, mut rates) = (Instant::now(), [f64::INFINITY; 2], 0, Vec::new());
        'laps: while !setups.is_empty() && steady < STEADY_LAPS {
            let (mut seconds, before): (f64, u64) = (0.0, used());
            for setup in &setups {
                if began.elapsed() > most {
                    break 'laps;
                }
                let job = setup.floors_job(Mode::Measure, nodes);
                let floored = setup.floor_does(job, "warm-up", self.context.cancel, look, &mut |_| ())?;
                seconds += floored.lasted.as_secs_f64();
            }
            let lap = [seconds, (used() - before) as f64];
            let gains = lap.iter().zip(best).any(|(took, best)| *took < best * (1.0 - GAIN));
            steady = if gains { 0 } else { steady + 1 };
            best = [best[0].min(lap[0]), best[1].min(lap[1])];
            rates.push(statements as f64 / seconds);
        }
        let (Some(first), Some(last)) = (rates.first(), rates.last()) else {
            return Ok("no contender sends anything".to_owned());
        };
        let end = if steady < STEADY_LAPS { ", and it still becomes quicker" } else { "" };
        let laps = rates.len();
        Ok(format!("{} to {} statements/s in {laps} laps of floor{end}", whole(*first), whole(*last)))
    }

    /// A cell of each scenario whose contender sends something; of a sweep the point with most statements.
    fn cells_to_warm(&self) -> Vec<PlannedCell> {
        let (run, schedule) = (self.context.run, self.context.schedule);
        let is_fit = |cell: &PlannedCell| {
            let row = &run.contenders[cell.contender];
            let is_timed = cell.pass == Pass::Timing || self.context.plan.ladder.is_some();
            is_timed && row.role != Role::Noop && row.unavailable.is_none()
        };
        let of = |scenario: usize| {
            schedule.first_attempts(schedule.blocks()).find(|cell| cell.scenario == scenario && is_fit(cell))
        };
        let scenarios = &self.context.plan.scenarios;
        let laps = |at: &usize| scenarios[*at].limits.count(LAP);
        let of_kind =
            |at: usize| (0..scenarios.len()).filter(move |other| scenarios[*other].kind() == scenarios[at].kind());
        let is_most = |at: &usize| of_kind(*at).max_by_key(laps) == Some(*at);
        (0..scenarios.len()).filter(is_most).filter_map(of).collect()
    }

    fn to_warm<'b>(&'b self, cell: &'b PlannedCell) -> Result<Setup<'b>, CellFailure> {
        let plan = self.context.plan;
        let count = plan.scenarios[cell.scenario].limits.count(LAP);
        let load = Load { count, warmup: 0, shape: Shape::Closed, ..self.context.schedule.step(cell).load };
        let name = format!("warm-up-{}", plan.scenarios[cell.scenario].label());
        Setup::new(self, cell, load, self.number, self.identity(cell), name)
    }

    /// A finding if the Cassandra still flushes or compacts what was written before.
    pub(super) fn restless(&self) -> Option<String> {
        (!self.settled(SETTLE)).then(|| {
            "Apache Cassandra still compacted what was written before. Trust the CPU time per statement, not wall time.".to_owned()
        })
    }

    fn settled(&self, within: Duration) -> bool {
        let cancelled = || self.context.cancel.is_cancelled();
        self.cassandra.as_ref().is_none_or(|cluster| cluster.settle(within, &cancelled))
    }
}
