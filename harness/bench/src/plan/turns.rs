//! How long turns are, and how many a generation has. Its contenders are alive at once, each with a node of its own; in each round every
//! one takes a turn, in shuffled order, while the others sleep.
//!
//! Fresh processes of one executable differ by some percent, whatever they do, so an interval needs several generations. Short
//! generations give more of them, and each pays for its start and its warm-up.

use std::collections::BTreeMap;

use cqldyno_reports::{Analysis, Cell, CountedRounds, LEAST_BLOCKS, Pass, Role, Run, TurnsInfo, memory};
use cqldyno_scenarios::{Column, Scenario, Workload};

use crate::plan::contender::Contender;
use crate::plan::target::Target;
use crate::plan::{Plan, opens_sessions};

/// Generations for intervals of some percent.
pub const BLOCKS: u32 = 12;
/// An open run ends once as many rounds count as so many generations have.
const ENOUGH_GENERATIONS: u32 = 240;
const MOST_GENERATIONS: u32 = 480;
/// Statements of a turn. Without its edges it has the ratios of one of 50,000, and more of them give narrower intervals.
const TURN_COUNT: u64 = 20_000;
/// Loaders start and end some milliseconds apart, so their turns have this many times the statements.
const LOADERS_STRETCH: u64 = 25;
/// The least rounds of a generation of an open run, and the most of any.
const ROUNDS: (u32, u32) = (2, 8);

// Guesses, for any driver on any machine.

/// A round takes a second and a half at most where a statement takes two and a half times what is guessed.
const ROUND_SECONDS: f64 = 0.6;
/// The start of a contender of a generation, with its node and its warm-up, and that of the witness.
const START_SECONDS: f64 = 0.25;
/// A turn of the witness, before each of a contender, and what follows the last one of a round.
const WITNESS_SECONDS: f64 = 0.02;
const TAIL_SECONDS: f64 = 0.1;
/// Generations are fitted into this share of the time, at so many times the guessed time of a statement.
const SHARE: f64 = 0.8;
const SLOWER: f64 = 2.0;
/// What a row takes in an embedded node besides its values, and what a worker and its node take besides rows, in bytes.
const ROW_BYTES: u64 = 32;
const CONTENDER_BYTES: u64 = 64 << 20;
/// Why contenders live one after the other on bad days.
const BAD_DAYS: &str = "On bad days drivers run one after another.";

impl Plan {
    /// As many generations as there is time for, with turns of `count` statements, or of as many as a round has time for.
    #[must_use]
    pub fn with_turns(self, count: Option<u64>) -> Plan {
        let (places, takers) = (self.scenarios.len() * self.arrangements.len(), self.takers());
        let count = count.unwrap_or(self.turn());
        let (least, most) = ROUNDS;
        // Generations make intervals narrow, not rounds, and a Cassandra takes its time for each.
        let unlimited = if matches!(self.target, Target::Cassandra(_)) { least } else { most };
        let rounds = self.within().map_or(unlimited, |within| {
            let generation = within.as_secs_f64() * SHARE / (f64::from(BLOCKS) * places.max(1) as f64);
            let taking = self.contenders.iter().chain(self.reference());
            let slower: f64 = taking.map(|one| self.slower(one).max(SLOWER)).sum();
            let round = count as f64 * self.slowest() * slower + takers as f64 * WITNESS_SECONDS + TAIL_SECONDS;
            (((generation - (takers + 1) as f64 * START_SECONDS) / round) as u32).clamp(least, most)
        });
        let is_open = self.within_ms.is_some() || self.until.is_some();
        let blocks = if is_open { MOST_GENERATIONS } else { BLOCKS };
        self.in_turns(count, rounds, None, blocks)
    }

    /// `count` statements of each contender in all, in turns of at most `turn`, or of as many as a round has time for.
    #[must_use]
    pub fn with_total(self, asked: u64, turn: Option<u64>) -> Plan {
        // More would be generations that every scenario limits.
        let count = self.scenarios.iter().map(|one| one.limits.count(asked)).max().unwrap_or(asked);
        let turn = turn.unwrap_or(self.turn()).max(1);
        let turns = u32::try_from(count.div_ceil(turn)).unwrap_or(u32::MAX);
        // Generations make intervals narrow, not rounds.
        let rounds = (turns / LEAST_BLOCKS as u32).clamp(1, ROUNDS.1);
        let blocks = turns.div_ceil(rounds);
        self.in_turns(turn, rounds, Some(count), blocks).with(|plan| plan.count = asked)
    }

    /// `blocks` generations of one round, each with a turn of `count` statements.
    #[must_use]
    pub fn with_blocks(self, blocks: u32, count: u64) -> Plan {
        let total = Some(count.saturating_mul(blocks.into()));
        self.in_turns(count, 1, total, blocks).with(|plan| plan.count = count)
    }

    fn in_turns(mut self, count: u64, rounds: u32, total: Option<u64>, blocks: u32) -> Plan {
        (self.turns, self.total, self.blocks) = (TurnsInfo { count, rounds }, total, blocks);
        self
    }

    /// Statements of a turn for which a round has time, in two digits, which are exact enough.
    fn turn(&self) -> u64 {
        let seconds = ROUND_SECONDS * (self.longest_turn() / TURN_COUNT) as f64;
        let fitting = (seconds / (self.slowest() * self.takers() as f64)) as u64;
        let digit = 10u64.pow(fitting.max(1).ilog10().saturating_sub(1));
        (fitting / digit * digit).clamp(1, self.longest_turn())
    }

    /// The most statements of a turn unless more are asked for.
    pub fn longest_turn(&self) -> u64 {
        if self.loaders.is_some() { TURN_COUNT * LOADERS_STRETCH } else { TURN_COUNT }
    }

    /// Guessed seconds per statement of the slowest scenario.
    fn slowest(&self) -> f64 {
        self.scenarios.iter().map(|one| self.statement_seconds(one)).fold(0.0, f64::max)
    }

    /// The contender that the others are compared with, as far as it is known before the drivers are: the control is the same once more.
    pub(crate) fn reference(&self) -> Option<&Contender> {
        let is_named = |one: &&Contender| Some(one.to_string()) == self.reference;
        let drivers = || self.contenders.iter().filter(|one| one.role() == Role::Driver);
        self.contenders.iter().find(is_named).or_else(|| drivers().next())
    }

    /// Who takes turns: the contenders and the control.
    fn takers(&self) -> usize {
        self.contenders.len() + 1
    }

    /// The plan with the scenarios whose contenders live one after the other. All do where the worker `without_turns` takes part, and
    /// those whose contenders together need more than so many bytes of memory.
    pub(crate) fn with_apart(self, without_turns: Option<&str>, memory_bytes: Option<u64>) -> Plan {
        if self.faults {
            let all = self.scenarios.iter().map(|one| (one.label(), BAD_DAYS.to_owned()));
            return Plan { apart: Some(all.collect()), ..self };
        }
        let why = |one: &Scenario| {
            let why = without_turns
                .map(|label| format!("the worker of {label} takes no turns"))
                .or_else(|| self.why_not_together(one, memory_bytes))?;
            let name = one.label();
            Some((name.clone(), format!("The contenders of {name} live one after the other, because {why}.")))
        };
        Plan { apart: Some(self.scenarios.iter().filter_map(why).collect()), ..self }
    }

    /// Why the contenders of the scenario live one after the other, as a sentence, if they do.
    pub(crate) fn why_apart(&self, scenario: &Scenario) -> Option<&String> {
        self.apart.as_ref()?.get(&scenario.label())
    }

    /// Why the contenders of the scenario cannot be alive together, as a clause.
    fn why_not_together(&self, scenario: &Scenario, memory_bytes: Option<u64>) -> Option<String> {
        if opens_sessions(scenario) {
            return Some("it opens a session per statement".to_owned());
        }
        if !self.target.is_embedded() {
            let shares = scenario.with_own_keyspaces("_0").is_none();
            return shares.then(|| "they share its tables: its schema does not create their keyspace".to_owned());
        }
        let needed = self.bytes(scenario).saturating_mul(self.takers() as u64);
        memory_bytes.filter(|there| needed > *there).map(|there| {
            format!("together they take about {} of memory, and {} are available", memory(needed), memory(there))
        })
    }

    /// A guess of the memory that one contender of the scenario takes with its node.
    fn bytes(&self, scenario: &Scenario) -> u64 {
        let count = scenario.limits.count(self.issued_in(1));
        let workload = Workload::new(scenario, count, scenario.limits.warmup(self.warmup), self.seed);
        let rows = workload.map_or(0, |workload| workload.rows());
        let bytes = |values: &[Column]| values.iter().map(|one| one.length() as u64).sum::<u64>();
        let widest = scenario.statements.iter().flat_map(|one| {
            let loaded = one.load.as_ref().map_or(0, |load| bytes(&load.values));
            [bytes(&one.values), loaded]
        });
        rows.saturating_mul(ROW_BYTES + widest.max().unwrap_or_default()).saturating_add(CONTENDER_BYTES)
    }
}

/// Whether no generation is wanted besides `cells`: all intervals are narrow enough if the run ends at a width, else an open run has as many
/// rounds that count as [`ENOUGH_GENERATIONS`] have. No ratio has a part in it.
pub(crate) fn has_enough(run: &Run, cells: &[Cell]) -> bool {
    match run.plan.until {
        Some(until) => Analysis::judged(run, cells).is_within(until),
        None => wanted(run, cells) == 0,
    }
}

/// How many generations of every scenario and arrangement are wanted at most besides `cells`. No figure has a part in it.
pub(crate) fn wanted(run: &Run, cells: &[Cell]) -> u32 {
    if run.plan.until.is_some() || run.plan.total.is_some() {
        return u32::MAX;
    }
    let rounds = CountedRounds::of(run, cells);
    let mut ran: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.pass == Pass::Timing) {
        let last = ran.entry((&cell.scenario, &cell.arrangement)).or_default();
        *last = cell.block.max(*last);
    }
    let of_place = |(place, ran): (&(&str, &str), &u32)| {
        let missing = u32::try_from(rounds.missing_in(place.0, place.1)).unwrap_or(u32::MAX);
        let scenario = run.scenarios.iter().find(|one| one.name == place.0);
        let lost = missing.div_ceil(scenario.map_or(1, |one| run.rounds(one)).max(1));
        ENOUGH_GENERATIONS.saturating_add(lost).saturating_sub(*ran)
    };
    ran.iter().map(of_place).max().unwrap_or(ENOUGH_GENERATIONS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cqldyno_reports::LoadersInfo;

    use super::*;
    use crate::plan::{Target, plan};

    #[test]
    fn a_turn_has_as_many_statements_as_a_short_round_has_time_for() {
        let many = |concurrency| plan(&["a", "b", "c"], &["writes", "reads"]).with(|one| one.concurrency = concurrency);
        let turn = |plan: Plan| plan.with_turns(None).turns.count;
        assert_eq!(turn(many(1_024)), TURN_COUNT);
        let few = turn(many(1));
        assert!((1_000..5_000).contains(&few) && few.is_multiple_of(100), "{few}");
        let delayed = many(8).with(|one| one.serve.delay = Some("60s".parse().unwrap()));
        assert_eq!(turn(delayed), 1);
        assert_eq!(many(1).with_turns(Some(7)).turns.count, 7);
        let loaders = LoadersInfo { number: 2, ..LoadersInfo::default() };
        assert_eq!(turn(many(1_024).with(|one| one.loaders = Some(loaders))), 500_000);
    }

    #[test]
    fn a_generation_has_fewer_rounds_where_time_is_short_and_many_places_share_it() {
        let within = |seconds, scenarios: &[&str]| {
            let within = Some(Duration::from_secs(seconds));
            let planned = plan(&["a", "b", "c", "floor"], scenarios).with(|one| {
                one.limit(within);
                one.concurrency = 1_024;
            });
            planned.with_turns(None)
        };
        let rounds = |seconds, scenarios: &[&str]| within(seconds, scenarios).turns.rounds;
        assert_eq!(rounds(300, &["writes", "reads", "mixed"]), 8);
        assert_eq!(rounds(40, &["writes", "reads", "mixed"]), 2);
        assert!(rounds(70, &["writes"]) > rounds(70, &["writes", "reads"]));
        assert_eq!(within(300, &["writes"]).blocks, MOST_GENERATIONS);
        assert_eq!(plan(&["a"], &["writes"]).with_turns(None).blocks, BLOCKS, "without a limit of time");
        let cassandra = |plan: Plan| plan.with(|one| one.target = Target::parse("cassandra").unwrap());
        let slow = cassandra(within(600, &["writes", "reads", "mixed"])).with_turns(None);
        assert_eq!((slow.turns.count, slow.turns.rounds), (TURN_COUNT, 3), "statements take 20 times as long there");
        let of = |names: &[&str]| {
            let planned = plan(names, &["writes", "reads"]).with(|one| one.limit(Some(Duration::from_secs(600))));
            planned.with(|one| one.concurrency = 1_024).with_turns(None).turns.rounds
        };
        let [all, nodejs] = ["cpp", "nodejs"].map(|name| of(&[name; 6]));
        assert!(all == 8 && nodejs < 5, "{all} and {nodejs} rounds");
    }

    #[test]
    fn a_total_is_issued_to_the_last_statement_in_eight_generations_or_more_if_there_are_as_many_turns() {
        let of = |count, turn| {
            let plan = plan(&["a", "b"], &["writes"]).with(|one| one.concurrency = 1_024).with_total(count, turn);
            let issued: Vec<u64> = (1..=plan.blocks).map(|number| plan.issued_in(number)).collect();
            assert_eq!(issued.iter().sum::<u64>(), count);
            assert!(issued.iter().all(|one| one.div_ceil(plan.turns.rounds.into()) <= plan.turns.count), "{issued:?}");
            (plan.blocks, plan.turns.rounds)
        };
        assert_eq!(of(10_000_000, None), (63, 8));
        assert_eq!(of(2_000_000, None), (13, 8));
        assert_eq!(of(1_000, None), (1, 1));
        assert_eq!(of(120_001, None), (7, 1));
        assert_eq!(of(1_000_000, Some(30_000)), (9, 4));
        assert_eq!(of(7, Some(1)), (7, 1));
        let limited = plan(&["a"], &["connect"]).with_total(100_000, Some(100_000));
        assert_eq!((limited.total, limited.blocks), (Some(limited.scenarios[0].limits.count(100_000)), 1));
        let blocks = plan(&["a"], &["writes"]).with_blocks(3, 20_000);
        assert_eq!((blocks.total, blocks.issued_in(2), blocks.turns.rounds), (Some(60_000), 20_000, 1));
    }

    #[test]
    fn contenders_that_cannot_be_alive_together_live_one_after_the_other_with_the_reason() {
        let said = |plan: Plan, without_turns, memory| {
            let name = plan.scenarios[0].clone();
            plan.with_apart(without_turns, memory).why_apart(&name).cloned()
        };
        let of = |name| plan(&["a"], &[name]).with_turns(Some(50_000));
        assert_eq!(["writes", "batch"].map(|name| said(of(name), None, Some(1 << 40))), [None, None]);
        let starts =
            |name: &str, why: &str| Some(format!("The contenders of {name} live one after the other, because {why}."));
        assert_eq!(said(of("connect"), None, None), starts("connect", "it opens a session per statement"));
        assert_eq!(said(of("writes"), Some("x@1"), None), starts("writes", "the worker of x@1 takes no turns"));
        let little = said(of("writes").with_blocks(1, 100_000_000), None, Some(1 << 30)).unwrap();
        assert!(little.contains("together they take about 11 GiB") && little.ends_with("are available."), "{little}");
        let target = Target::parse("127.0.0.1").unwrap();
        let mut elsewhere = Plan { target, ..of("writes") };
        assert_eq!(said(elsewhere.clone(), None, Some(1)), None);
        elsewhere.scenarios[0].schema.clear();
        let shared = "they share its tables: its schema does not create their keyspace";
        assert_eq!(said(elsewhere, None, None), starts("writes", shared));
    }
}
