//! How long turns are, and how many a generation has.
//!
//! Fresh processes of one executable differ by some percent, whatever they do, so an interval needs several generations. Short
//! generations give more of them, and each pays for its start and its warm-up.

use std::collections::BTreeMap;

use cqldyno_reports::{Analysis, Cell, CountedRounds, Pass, Run, count as number_of};
use cqldyno_scenarios::{Operation, Scenario};

use crate::plan::Plan;
use crate::plan::target::Target;

/// The turns of a generation. Its contenders are alive at once, each with a node of its own; while one takes a turn the others sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Statements of a turn.
    pub count: u64,
    /// Rounds of a generation: in each every contender takes a turn, in shuffled order.
    pub rounds: u32,
}

/// Blocks of cells, or generations, for intervals of some percent.
pub const BLOCKS: u32 = 12;
/// A run in turns has as many generations as its time allows: until it has the rounds of so many that count,
const ENOUGH_GENERATIONS: u32 = 60;
/// and at most so many, of which some do not count. One that ends at a width has so many if it needs them.
const MOST_GENERATIONS: u32 = 240;
/// Statements of a turn. Shorter ones are biased by their edges, on which not all slots are at work.
const TURN_COUNT: u64 = 50_000;
/// The least rounds of a generation, and the most.
const ROUNDS: (u32, u32) = (2, 5);

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

impl Plan {
    /// The plan with turns of `count` statements, or of as many as a round has time for.
    #[must_use]
    pub fn with_turns(mut self, count: Option<u64>) -> Plan {
        let slowest = self.scenarios.iter().map(|one| self.statement_seconds(one)).fold(0.0, f64::max);
        let (places, takers) = (self.scenarios.len() * self.arrangements.len(), self.contenders.len() + 1);
        // Two digits are exact enough.
        let fitting = (ROUND_SECONDS / (slowest * takers as f64)) as u64;
        let digit = 10u64.pow(fitting.max(1).ilog10().saturating_sub(1));
        let count = count.unwrap_or((fitting / digit * digit).clamp(1, TURN_COUNT));
        let (least, most) = ROUNDS;
        // Generations make intervals narrow, not rounds, and a Cassandra takes its time for each.
        let unlimited = if matches!(self.target, Target::Cassandra(_)) { least } else { most };
        let rounds = self.within.map_or(unlimited, |within| {
            let generation = within.as_secs_f64() * SHARE / (f64::from(BLOCKS) * places.max(1) as f64);
            let round = takers as f64 * (count as f64 * slowest * SLOWER + WITNESS_SECONDS) + TAIL_SECONDS;
            (((generation - (takers + 1) as f64 * START_SECONDS) / round) as u32).clamp(least, most)
        });
        let is_open = self.within.is_some() || self.until.is_some();
        self.blocks = if is_open { MOST_GENERATIONS } else { BLOCKS };
        self.turns = Some(Turns { count, rounds });
        self
    }

    /// The plan with cells in the place of turns, if it has any.
    #[must_use]
    pub fn with_cells(self) -> Plan {
        match self.turns {
            None => self,
            Some(_) => Plan { turns: None, until: None, layouts: 0, blocks: self.blocks.min(BLOCKS), ..self },
        }
    }

    /// Why a scenario cannot be run in turns, as a clause: turns take as many statements as a generation has, on the worker's own session,
    /// and on a cluster that is not ours in a keyspace of the contender's own.
    pub fn unfit_for_turns(&self) -> Option<String> {
        let Turns { count, rounds } = self.turns?;
        let all = count.saturating_mul(rounds.into());
        let why = |one: &Scenario| {
            let name = one.label();
            if one.statements.iter().any(|one| one.operation == Operation::Connect) {
                return Some(format!("the scenario {name} opens a session per statement"));
            }
            if !self.target.is_embedded() && one.with_own_keyspaces("_0").is_none() {
                return Some(format!(
                    "contenders would share tables of the scenario {name}, whose schema does not create their keyspace"
                ));
            }
            let most = one.limits.count(all);
            (most < all).then(|| format!("the scenario {name} has at most {}", number_of(most, "statement")))
        };
        self.scenarios.iter().find_map(why)
    }
}

/// Whether no generation is wanted besides `cells`: all intervals are narrow enough if the run ends at a width, else there are as many
/// rounds that count as [`ENOUGH_GENERATIONS`] have. No ratio has a part in it.
pub(crate) fn has_enough(run: &Run, cells: &[Cell]) -> bool {
    match run.plan.until {
        Some(until) => Analysis::judged(run, cells).is_within(until),
        None => wanted(run, cells) == 0,
    }
}

/// How many generations of every scenario and arrangement are wanted at most besides `cells`. No figure has a part in it.
pub(crate) fn wanted(run: &Run, cells: &[Cell]) -> u32 {
    let Some(turns) = run.plan.turns.filter(|_| run.plan.until.is_none()) else { return u32::MAX };
    let rounds = CountedRounds::of(run, cells);
    let mut ran: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.pass == Pass::Timing) {
        let last = ran.entry((&cell.scenario, &cell.arrangement)).or_default();
        *last = cell.block.max(*last);
    }
    let of_place = |(place, ran): (&(&str, &str), &u32)| {
        let missing = u32::try_from(rounds.missing_in(place.0, place.1)).unwrap_or(u32::MAX);
        let lost = missing.div_ceil(turns.rounds.max(1));
        ENOUGH_GENERATIONS.saturating_add(lost).saturating_sub(*ran)
    };
    ran.iter().map(of_place).max().unwrap_or(ENOUGH_GENERATIONS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::topology::Topology;
    use crate::plan::{Target, plan};

    fn turns(plan: Plan) -> Turns {
        plan.with_turns(None).turns.unwrap()
    }

    #[test]
    fn a_turn_has_as_many_statements_as_a_short_round_has_time_for() {
        let many = |concurrency| Plan { concurrency, ..plan(&["a", "b", "c"], &["writes", "reads"]) };
        assert_eq!(turns(many(1_024)).count, TURN_COUNT);
        let few = turns(many(1)).count;
        assert!((1_000..5_000).contains(&few) && few.is_multiple_of(100), "{few}");
        let delayed = Plan { serve_arguments: ["--delay", "60s"].map(str::to_owned).to_vec(), ..many(8) };
        assert_eq!(turns(delayed).count, 1);
        assert_eq!(many(1).with_turns(Some(7)).turns.unwrap().count, 7);
    }

    #[test]
    fn a_generation_has_fewer_rounds_where_time_is_short_and_many_places_share_it() {
        let within = |seconds, scenarios: &[&str]| {
            let within = Some(Duration::from_secs(seconds));
            let planned = Plan { within, concurrency: 1_024, ..plan(&["a", "b", "c", "floor"], scenarios) };
            planned.with_turns(None)
        };
        let rounds = |seconds, scenarios: &[&str]| within(seconds, scenarios).turns.unwrap().rounds;
        assert_eq!(rounds(300, &["writes", "reads", "mixed"]), 5);
        assert_eq!(rounds(40, &["writes", "reads", "mixed"]), 2);
        assert!(rounds(90, &["writes"]) > rounds(90, &["writes", "reads"]));
        assert_eq!(within(300, &["writes"]).blocks, MOST_GENERATIONS);
        assert_eq!(plan(&["a"], &["writes"]).with_turns(None).blocks, BLOCKS, "without a limit of time");
    }

    #[test]
    fn what_connects_for_each_statement_or_has_few_of_them_is_run_in_cells() {
        let why = |scenario| plan(&["a"], &[scenario]).with_turns(Some(50_000)).unfit_for_turns();
        assert_eq!(["writes", "reads"].map(why), [None, None]);
        let target = Target::parse("127.0.0.1").unwrap();
        let elsewhere = Plan { target, ..plan(&["a"], &["writes"]) }.with_turns(Some(50_000));
        assert_eq!(elsewhere.unfit_for_turns(), None);
        let mut shared = elsewhere;
        shared.scenarios[0].schema.clear();
        let said = "contenders would share tables of the scenario writes, whose schema does not create their keyspace";
        assert_eq!(shared.unfit_for_turns().as_deref(), Some(said));
        assert_eq!(Plan { target: Target::Embedded, ..shared }.unfit_for_turns(), None);
        assert_eq!(why("batch").as_deref(), Some("the scenario batch has at most 20,000 statements"));
        assert_eq!(why("connect").as_deref(), Some("the scenario connect opens a session per statement"));
        let until = Plan { until: Some(0.02), ..plan(&["a"], &["writes", "connect"]) }.with_turns(None);
        assert_eq!((until.blocks, until.turns.is_some()), (MOST_GENERATIONS, true), "as many as it takes");
        assert_eq!(
            until.check(&Topology::sample(1, 1)).unwrap_err().to_string(),
            "--until was given, and the scenario connect opens a session per statement; leave --until out, or compare what takes turns"
        );
        let within = Some(Duration::from_secs(300));
        let cells = Plan { within, ..plan(&["a"], &["writes"]) }.with_turns(None).with_cells();
        assert_eq!((cells.turns, cells.blocks), (None, BLOCKS));
        let sized = Plan { blocks: 100, ..plan(&["a"], &["writes"]) };
        assert_eq!(sized.with_cells().blocks, 100, "what has cells stays as it was asked for");
    }
}
