//! The plan that follows from the flags of `compare`.

use std::time::Duration;

use anyhow::Result;
use cqldyno_bench::{Plan, Programs, Serve, recorded};
use cqldyno_reports::{LEAST_BLOCKS, LoadersInfo, Pass};
use cqldyno_scenarios::Scenario;

use super::releases::{Named, is_all, named};
use super::{Asked, Conditions, EXPLAINING_PASSES, contender, ladder};
use crate::access::AskedTls;
use crate::count::{Limit, MOST_BLOCKS, TOO_MANY};
use crate::names::scenarios;
use crate::outcome::usage;

/// Statements of a turn of `--quick`: three of all drivers and scenarios fit into its time on a busy machine, too.
const QUICK_COUNT: u64 = 100_000;
/// Statements of a turn of a sweep where most are in flight; turns with fewer take as long.
const SWEEP_COUNT: u64 = 200_000;
/// Generations of a sweep, and of a run without verdicts (`--quick`).
const FEW_BLOCKS: u32 = 3;
/// Generations, and statements of their only turn, of a run for publication on a cluster that is not embedded.
const PUBLISHED: (u32, u64) = (20, 1_000_000);
/// The orders of functions of a run for publication, and its passes beside the system calls.
const PUBLISHED_LAYOUTS: u32 = 6;
const PUBLISHED_PASSES: [Pass; 2] = [Pass::Allocations, Pass::Instructions];
/// A comparison of releases by counts: statements and number of its generations, and its runtime.
const EXACT: (u64, u32) = (50_000, 3);
const EXACT_ARRANGEMENT: &str = "current";
/// Statements of a turn of releases: so many take turns that a round of the usual time would have short ones.
const RELEASES_TURN: u64 = 50_000;
/// The time limit of a comparison of no fixed size.
const WITHIN: Duration = Duration::from_secs(5 * 60);
/// The same for publication, and where it may end before, at a width.
const LONG: Duration = Duration::from_secs(20 * 60);
/// The time limit of `--quick`.
const QUICK: Duration = Duration::from_secs(30);

fn most(numbers: &[u64]) -> u64 {
    numbers.last().copied().unwrap_or(1)
}

impl Asked {
    /// The plan for `contenders`, each as it was typed; `own` are scenarios beside those that were named.
    pub fn plan(
        &self,
        contenders: &[String],
        own: &[Scenario],
        conditions: &Conditions,
        programs: &Programs,
    ) -> Result<Plan> {
        let access = self.access(conditions)?;
        let releases = contenders.iter().any(|text| is_all(text));
        let exact = releases && conditions.within.is_none();
        self.check_size(contenders, exact)?;
        let Named { contenders: each, newest } = named(contenders, programs)?;
        let serve = self.serve(conditions);
        self.check_together(&serve, releases)?;
        let is_open = !exact && self.is_open();
        self.check_open(is_open)?;
        let found = each.iter().map(|text| contender(text, programs)).collect::<Result<_>>()?;
        let mut scenarios = self.scenarios(own)?;
        let ladder = self.ladder().map(ladder::checked).transpose()?;
        let recordings = recorded(&mut scenarios).map_err(usage)?;
        // A file is played once unless the size of the run was asked for.
        let is_sized = conditions.within.is_some() || self.publish || self.until.is_some();
        let rows = recordings.values().map(|one| one.rows()).max().filter(|_| is_open && !is_sized);
        let [in_flight, over, shards] = self.numbers();
        let away = self.distances();
        let mut plan = Plan::new(found, self.replicated(scenarios)?);
        match (self.arrangement.as_slice(), releases) {
            ([], true) => plan.arrangements = vec![EXACT_ARRANGEMENT.parse().map_err(usage)?],
            ([], false) => {}
            (asked, _) => plan.arrangements = asked.to_vec(),
        }
        (plan.recordings, plan.pin, plan.seed) = (recordings, self.pin.clone(), self.seed);
        (plan.target, plan.serve, plan.access) = (self.target.target.clone(), serve, access);
        (plan.datacenter, plan.keep) = (self.target.datacenter.clone(), self.target.keep);
        plan.replication = self.target.replication.as_ref().map(ToString::to_string);
        plan.loaders = self.loaders.clone().map(|loaders| LoadersInfo { launch: self.launch.clone(), ..loaders });
        (plan.consistency, plan.settings) = (self.consistency, self.settings);
        (plan.request_timeout_ms, plan.memory_limit_bytes) = (self.request_timeout.0, self.limits.memory);
        plan.deadlines.stall = self.limits.stall;
        (plan.concurrency, plan.warmup, plan.until) = (most(in_flight), self.warmup, self.until);
        plan.connections = if self.connections.is_some() { most(over) } else { most(shards) };
        plan.layouts = self.layouts.or((self.publish && is_open).then_some(PUBLISHED_LAYOUTS)).filter(|one| *one > 0);
        plan.releases = if releases { contenders.to_vec() } else { Vec::new() };
        (plan.exact, plan.reference) = (exact, self.reference.clone().or(newest));
        plan.noise_share = self.limits.noise.filter(|_| !exact && ladder.is_none());
        plan.control = !self.quick && !exact && ladder.is_none();
        (plan.passes, plan.rate, plan.ladder) = (self.passes(releases), self.fixed_rate(), ladder);
        plan.limit(if exact || rows.is_some() { None } else { self.time_limit(conditions) });
        let swept = |plan: Plan| match self.is_numbered() || away.len() > 1 {
            true => plan.with_sweep(in_flight, over, shards, &away).map_err(usage),
            false => Ok(plan),
        };
        // The number in flight shortens turns, and places shorten generations.
        let plan = if self.sweeps() { swept(self.sized(plan, rows))? } else { self.sized(swept(plan)?, rows) };
        if plan.blocks > MOST_BLOCKS {
            return Err(usage(TOO_MANY.to_owned()));
        }
        let plan = plan.with(|plan| plan.control &= !self.sweeps() || plan.blocks as usize >= LEAST_BLOCKS);
        self.check_settings(&plan)?;
        Ok(plan)
    }

    /// The scenarios that were named and `own`, or the usual ones.
    fn scenarios(&self, own: &[Scenario]) -> Result<Vec<Scenario>> {
        let named = scenarios::all(&self.scenario)?;
        let mut all: Vec<Scenario> = own.iter().cloned().chain(named).collect();
        if all.is_empty() {
            all = if self.climbs() { scenarios::find(ladder::SCENARIO)? } else { cqldyno_scenarios::defaults() };
        }
        if self.concurrency.is_some() {
            all.iter_mut().for_each(|one| one.limits = one.limits.asked());
        }
        Ok(all)
    }

    fn replicated(&self, scenarios: Vec<Scenario>) -> Result<Vec<Scenario>> {
        let Some(replication) = &self.target.replication else { return Ok(scenarios) };
        let replicated = |scenario: &Scenario| {
            scenario.with_replication(replication).ok_or_else(|| {
                usage(format!(
                    "`replication` was given, and the schema of the scenario {} creates no keyspace with a replication; leave \
                     `replication` out, or add the CREATE KEYSPACE",
                    scenario.label()
                ))
            })
        };
        scenarios.iter().map(replicated).collect()
    }

    /// The plan with its generations and turns, of so many `rows` of a file if it is played once.
    fn sized(&self, plan: Plan, rows: Option<u64>) -> Plan {
        let usual = match (self.quick, self.sweeps()) {
            (true, _) => QUICK_COUNT,
            (false, true) => SWEEP_COUNT,
            (false, false) => plan.count,
        }
        .max(plan.longest_turn());
        let plan = match (self.blocks, self.count.or(rows)) {
            (blocks, count) if plan.exact => plan.with_blocks(blocks.unwrap_or(EXACT.1), count.unwrap_or(EXACT.0)),
            (Some(blocks), count) => plan.with_blocks(blocks, count.unwrap_or(usual)),
            _ if plan.ladder.is_some() => plan.with_blocks(1, usual),
            (None, Some(count)) if self.is_whole() => plan.with_blocks(1, count),
            (None, Some(count)) if self.quick => plan.with_total(count, Some(count.div_ceil(FEW_BLOCKS.into()))),
            (None, Some(count)) => plan.with_total(count, self.turn.and_then(|turn| turn.0)),
            _ if self.is_open() => {
                let releases = (!plan.releases.is_empty()).then_some(RELEASES_TURN);
                plan.with_turns(self.turn.and_then(|turn| turn.0).or(releases))
            }
            _ if self.publish => plan.with_blocks(PUBLISHED.0, PUBLISHED.1),
            _ => plan.with_blocks(FEW_BLOCKS, usual),
        };
        plan.with(|plan| plan.whole = self.is_whole())
    }

    /// The passes after the generations, in the order in which they run.
    fn passes(&self, releases: bool) -> Vec<Pass> {
        if self.climbs() {
            return vec![Pass::Latency];
        }
        let names = |name: &str| self.pass.iter().any(|one| one == name);
        let is_asked = |pass: &Pass| match pass {
            // A sweep is long without them.
            Pass::Counting if !self.sweeps() => !names("none"),
            Pass::Latency if self.fixed_rate().is_some() => true,
            pass if (self.publish || releases) && PUBLISHED_PASSES.contains(pass) => true,
            pass if self.explains() && EXPLAINING_PASSES.contains(pass) => true,
            pass => names("all") || names(pass.name()),
        };
        cqldyno_bench::passes().map(|(pass, _)| pass).filter(is_asked).collect()
    }

    /// A run of a fixed size takes the time that it needs, and so does one on a cluster of unknown speed.
    fn time_limit(&self, conditions: &Conditions) -> Option<Duration> {
        match conditions.within {
            Some(Limit(asked)) => asked,
            None if self.quick => Some(QUICK),
            None if self.climbs() => Some(ladder::WITHIN),
            None => {
                let usual = self.target.target.is_embedded().then_some(WITHIN);
                let is_long = self.publish || self.until.is_some();
                let limit = if is_long { Some(LONG) } else { usual };
                let is_sized = self.blocks.is_some() || self.count.is_some();
                limit.filter(|_| self.is_open() || (self.sweeps() && !is_sized))
            }
        }
    }

    /// What the embedded cluster is started with; several shards or delays are those of the points of a sweep.
    fn serve(&self, conditions: &Conditions) -> Serve {
        let [in_flight, over, shards] = self.numbers();
        let in_flight = most(in_flight) / most(over).max(1);
        Serve {
            nodes: self.nodes.nodes,
            shards: if let [only] = shards { Some(*only) } else { None },
            answers: self.answers.map(|how| how.on_connection(in_flight)),
            delay: if let Some([only]) = self.delay.as_ref().map(|all| &*all.0) { Some(only.clone()) } else { None },
            nap: None,
            tls: conditions.access.tls == Some(AskedTls::Own),
        }
    }
}
