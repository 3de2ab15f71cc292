//! How long a run takes: a rough guess before it began, then what its own cells took.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use cqldyno_reports::Pass;
use cqldyno_scenarios::{Operation, Scenario, Statement, Workload};

use crate::plan::contender::{Contender, slowness};
use crate::plan::pass::{Cost, Shape};
use crate::plan::schedule::Schedule;
use crate::plan::target::Target;
use crate::plan::{Plan, PlannedCell};

/// Statements that floor has in flight.
pub(crate) const FLOOR_CONCURRENCY: usize = 1_024;

// Guesses, for any driver on any machine. The first round takes their place.

/// A cell besides its statements: processes, connections, schema, a sample read back.
const CELL_SECONDS: f64 = 0.06;
/// A turn besides its statements: with the one of the witness before it.
const TURN_SECONDS: f64 = 0.03;
/// A row that floor loads.
const LOAD_SECONDS: f64 = 0.2e-6;
/// A request with many others in flight.
const REQUEST_SECONDS: f64 = 1.5e-6;
/// A row in a batch.
const BATCHED_ROW_SECONDS: f64 = 0.5e-6;
/// What the server parses.
const PARSE_SECONDS: f64 = 8e-6;
/// A statement takes a Cassandra on the same cores so many times as long, and a cell, with tables made and dropped, so many.
const CASSANDRA_FACTOR: f64 = 20.0;
/// A session.
const CONNECT_SECONDS: f64 = 8e-3;
/// Answers that a session waits for one after the other, and a cell besides its statements.
const SESSION_ROUND_TRIPS: f64 = 8.0;
const CELL_ROUND_TRIPS: f64 = 30.0;
/// One statement after the other takes at least this long: a round trip on loopback.
const ROUND_TRIP_SECONDS: f64 = 80e-6;

/// A contender on a scenario in an arrangement, in a step of a pass.
type Key = (usize, usize, usize, Pass, usize);

/// Seconds of a cell, as they are guessed.
#[derive(Clone, Copy, Debug, Default)]
struct Guess {
    /// What no machine makes shorter: held-back answers, the time of a rate, and what a pass takes besides its statements.
    fixed: f64,
    /// What a slower machine or driver takes more of.
    scaled: f64,
}

/// Seconds of cells that have ended.
#[derive(Clone, Copy, Debug, Default)]
struct Ended {
    took: f64,
    guessed: Guess,
}

#[derive(Debug)]
pub(crate) struct Estimate<'a> {
    schedule: &'a Schedule<'a>,
    ended: BTreeMap<Key, Ended>,
    /// Of cells with so many statements in so many turns, so that no scenario is read twice for one.
    guesses: RefCell<BTreeMap<(Key, u64, u32), Guess>>,
}

impl<'a> Estimate<'a> {
    /// Guesses only.
    pub(crate) fn new(schedule: &'a Schedule<'a>) -> Estimate<'a> {
        Estimate { schedule, ended: BTreeMap::new(), guesses: RefCell::default() }
    }

    /// Learns how long `cells` took together, of which each is taken to have had its share.
    pub(crate) fn ended(&mut self, cells: &[PlannedCell], took: Duration) {
        let all: f64 = cells.iter().map(|cell| self.guess(cell).seconds(1.0)).sum();
        for cell in cells {
            let guessed = self.guess(cell);
            let so_far = self.ended.entry(key(cell)).or_default();
            so_far.took += took.as_secs_f64() * if all > 0.0 { guessed.seconds(1.0) / all } else { 0.0 };
            so_far.guessed.fixed += guessed.fixed;
            so_far.guessed.scaled += guessed.scaled;
        }
    }

    /// How long these cells take together.
    pub(crate) fn of(&self, cells: impl IntoIterator<Item = PlannedCell>) -> Duration {
        let mut known: BTreeMap<(Key, u64), f64> = BTreeMap::new();
        let seconds = |cell: PlannedCell| *known.entry((key(&cell), cell.count)).or_insert_with(|| self.seconds(&cell));
        Duration::from_secs_f64(cells.into_iter().map(seconds).sum())
    }

    /// By what such cells took: the same ones, those of the same contender in the same step, or of others in the same step, as far as the
    /// contender differs from them elsewhere. Without any by how much slower machine and contender were than is guessed.
    fn seconds(&self, cell: &PlannedCell) -> f64 {
        let (own, guess) = (key(cell), self.guess(cell));
        let of_them = |same: &dyn Fn(&Key) -> bool| {
            let of_them = self.ended.iter().filter(|(key, _)| same(key));
            let (took, fixed, scaled) = of_them.fold((0.0, 0.0, 0.0), |sum, (_, one)| {
                (sum.0 + one.took, sum.1 + one.guessed.fixed, sum.2 + one.guessed.scaled)
            });
            (scaled > 0.0).then_some((took, fixed, scaled))
        };
        let ratio = |same: &dyn Fn(&Key) -> bool| of_them(same).map(|(took, fixed, scaled)| took / (fixed + scaled));
        let is_in_step = |other: &Key| (other.3, other.4) == (own.3, own.4);
        let by_others = || {
            let knows_step = |who: usize| self.ended.keys().any(|other| is_in_step(other) && other.0 == who);
            let elsewhere = ratio(&|other| !is_in_step(other) && other.0 == own.0)
                .zip(ratio(&|other| !is_in_step(other) && knows_step(other.0)).filter(|usual| *usual > 0.0));
            Some(ratio(&is_in_step)? * elsewhere.map_or(1.0, |(mine, usual)| mine / usual))
        };
        let same = ratio(&|other| *other == own)
            .or_else(|| ratio(&|other| is_in_step(other) && other.0 == own.0))
            .or_else(by_others);
        if let Some(ratio) = same {
            return guess.seconds(1.0) * ratio;
        }
        let slower = of_them(&|other| other.0 == own.0).or_else(|| of_them(&|_| true));
        guess.seconds(slower.map_or(1.0, |(took, fixed, scaled)| (took - fixed).max(0.0) / scaled))
    }

    fn guess(&self, cell: &PlannedCell) -> Guess {
        let mut guesses = self.guesses.borrow_mut();
        *guesses.entry((key(cell), cell.count, cell.turns())).or_insert_with(|| self.fresh_guess(cell))
    }

    fn fresh_guess(&self, cell: &PlannedCell) -> Guess {
        if cell.count == 0 {
            return Guess::default();
        }
        let (plan, step) = (self.schedule.plan, self.schedule.step(cell));
        let scenario = &plan.scenarios[cell.scenario];
        let warmup = scenario.limits.warmup(step.load.warmup);
        let workload = Workload::new(scenario, cell.count, warmup, plan.seed);
        let loaded = workload.map_or(0, |workload| workload.rows_loaded()) as f64;
        let Cost { seconds, factor } = step.cost;
        let (statements, each) = match step.load.shape {
            Shape::Closed => (cell.count + warmup, plan.statement(scenario, step.load.concurrency)),
            // The time of the rate is what the step costs.
            Shape::AtRate(_) => (warmup, plan.statement(scenario, step.load.concurrency)),
            Shape::Connecting => (cell.count, plan.session()),
        };
        // The control is the reference once more.
        let contender = plan.contenders.get(cell.contender).or_else(|| plan.reference());
        let (target, slower) = (plan.target_factor(), contender.map_or(1.0, |one| plan.slower(one)));
        let delay = plan.delay(Some(scenario)).mean().as_secs_f64();
        let idle = scenario.idle.filter(|_| matches!(cell.pass, Pass::Timing | Pass::Syscalls));
        let idle = idle.map_or(0.0, |time| time.duration().as_secs_f64());
        Guess {
            fixed: seconds
                + idle * f64::from(cell.turns())
                + statements as f64 * each.fixed
                + (CELL_ROUND_TRIPS + loaded / FLOOR_CONCURRENCY as f64) * delay,
            scaled: CELL_SECONDS * slower
                + TURN_SECONDS * f64::from(cell.turns())
                + loaded * LOAD_SECONDS * target
                // A slow driver runs no slower under callgrind: it is not counted there.
                + statements as f64 * each.scaled * slower.max(target * factor),
        }
    }
}

impl Guess {
    /// On a machine that takes so many times as long as is guessed.
    fn seconds(self, slower: f64) -> f64 {
        self.fixed + self.scaled * slower
    }
}

impl Plan {
    /// How many times as long statements of this contender take on this target. A slow one makes generations shorter by rounds, and not
    /// turns: their edges would count for more.
    pub(crate) fn slower(&self, contender: &Contender) -> f64 {
        slowness(&contender.order.driver).max(self.target_factor())
    }

    fn target_factor(&self) -> f64 {
        if matches!(self.target, Target::Cassandra(_)) { CASSANDRA_FACTOR } else { 1.0 }
    }

    /// Guessed seconds per statement.
    pub(crate) fn statement_seconds(&self, scenario: &Scenario) -> f64 {
        self.statement(scenario, self.concurrency as usize).seconds(1.0)
    }

    /// A statement with so many asked for in flight.
    fn statement(&self, scenario: &Scenario, in_flight: usize) -> Guess {
        let in_flight = scenario.in_flight(in_flight).max(1) as f64;
        let pages = self.contenders.iter().filter_map(|one| one.own.page_size(self, scenario));
        let scenario = Scenario { page_size: pages.min(), ..scenario.clone() };
        let round_trips = |statement: &Statement| match statement.operation {
            Operation::Connect => SESSION_ROUND_TRIPS,
            _ => scenario.pages(statement) as f64,
        };
        Guess {
            fixed: mean(&scenario, round_trips) * self.delay(Some(&scenario)).mean().as_secs_f64() / in_flight,
            scaled: mean(&scenario, |statement| work(&scenario, statement)).max(ROUND_TRIP_SECONDS / in_flight),
        }
    }

    /// A session up to its first answer.
    fn session(&self) -> Guess {
        let fixed = SESSION_ROUND_TRIPS * self.delay(None).mean().as_secs_f64();
        Guess { fixed, scaled: CONNECT_SECONDS }
    }
}

/// Seconds of a statement with many others in flight.
fn work(scenario: &Scenario, statement: &Statement) -> f64 {
    match statement.operation {
        Operation::Execute => REQUEST_SECONDS * scenario.pages(statement) as f64,
        Operation::Batch => REQUEST_SECONDS + statement.answer().mean() * BATCHED_ROW_SECONDS,
        Operation::Prepare | Operation::Unprepared => REQUEST_SECONDS + PARSE_SECONDS,
        Operation::Connect => CONNECT_SECONDS,
    }
}

/// The mean over the scenario's statements with their weights.
fn mean(scenario: &Scenario, of: impl Fn(&Statement) -> f64) -> f64 {
    let weight = |statement: &Statement| f64::from(statement.weight);
    let all: f64 = scenario.statements.iter().map(weight).sum();
    let sum: f64 = scenario.statements.iter().map(|statement| weight(statement) * of(statement)).sum();
    if all > 0.0 { sum / all } else { 0.0 }
}

fn key(cell: &PlannedCell) -> Key {
    (cell.contender, cell.scenario, cell.arrangement, cell.pass, cell.step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    fn scheduled(plan: &Plan) -> (Schedule<'_>, Vec<PlannedCell>) {
        let everybody: Vec<usize> = (0..plan.contenders.len()).collect();
        let schedule = Schedule::new(plan, &everybody, None, &|_| true);
        let cells = schedule.first_attempts(schedule.blocks()).collect();
        (schedule, cells)
    }

    #[test]
    fn a_slow_driver_is_guessed_to_take_longer_and_the_control_as_long_as_the_reference() {
        let plan = plan(&["scylla", "nodejs"], &["writes"]).with(|one| {
            one.reference = Some("nodejs".to_owned());
            one.passes = vec![Pass::Instructions];
        });
        let schedule = Schedule::new(&plan, &[0, 1], Some(2), &|_| true);
        let cells: Vec<PlannedCell> = schedule.first_attempts(schedule.blocks()).collect();
        let of = |who, pass| {
            let own = cells.iter().find(|cell| cell.contender == who && cell.pass == pass).unwrap();
            Estimate::new(&schedule).of([*own])
        };
        let [scylla, nodejs, control] = [0, 1, 2].map(|who| of(who, Pass::Timing));
        let [counted, uncounted] = [0, 1].map(|who| of(who, Pass::Instructions));
        assert!(uncounted < counted * 2, "callgrind does not count it: {counted:?} and {uncounted:?}");
        assert!(nodejs > scylla * 4 && control == nodejs, "{scylla:?}, {nodejs:?} and {control:?}");
        assert_eq!(["python", "nodejs", "scylla", "none of the list"].map(slowness), [64.0, 16.0, 1.0, 1.0]);
    }

    #[test]
    fn a_guess_is_for_its_number_of_statements_and_of_turns() {
        let plan = plan(&["scylla"], &["writes"]);
        let (schedule, cells) = scheduled(&plan);
        let estimate = Estimate::new(&schedule);
        let of = |count, last| estimate.of([PlannedCell { count, rounds: Some((1, last)), ..cells[0] }]);
        let (one, again) = (of(1_000_000, 1), of(1_000_000, 1));
        assert!(again == one && of(2_000_000, 1) > one && of(1_000_000, 9) > one);
    }

    #[test]
    fn what_ended_cells_took_takes_the_place_of_the_guess() {
        let plan = plan(&["scylla", "noop"], &["writes", "reads"]);
        let (schedule, cells) = scheduled(&plan);
        let mut estimate = Estimate::new(&schedule);
        let before = estimate.of(cells.clone());
        let first = estimate.of([cells[0]]);
        estimate.ended(&cells[..1], first * 10);
        assert!(estimate.of([cells[0]]).abs_diff(first * 10) < Duration::from_millis(1));
        let timing =
            |estimate: &Estimate<'_>| estimate.of(cells.iter().copied().filter(|cell| cell.pass == Pass::Timing));
        let guessed = timing(&Estimate::new(&schedule));
        assert!(timing(&estimate) > guessed * 9, "the others are taken to be slower, too");
        let whole = estimate.of(cells.clone());
        assert!(whole > before * 4 && whole < before * 9, "but not what it takes to begin counting");
        estimate.ended(&cells[..1], first * 20);
        assert!(estimate.of([cells[0]]).abs_diff(first * 15) < Duration::from_millis(1), "the mean of what there is");
    }

    #[test]
    fn after_the_first_round_a_run_takes_what_its_cells_took_whoever_they_are() {
        let plan = plan(&["scylla", "noop", "other"], &["writes", "rows"]).with_blocks(12, 1_000);
        let plan = plan.with(|one| one.passes = Vec::new());
        let (schedule, cells) = scheduled(&plan);
        let took =
            |cell: &PlannedCell| Duration::from_millis(10 + 700 * cell.contender as u64 + 90 * cell.scenario as u64);
        let mut estimate = Estimate::new(&schedule);
        let (round, rest) = cells.split_at(6);
        round.iter().for_each(|cell| estimate.ended(&[*cell], took(cell)));
        let expected: Duration = rest.iter().map(took).sum();
        assert!(estimate.of(rest.iter().copied()).abs_diff(expected) < Duration::from_millis(1));
    }

    #[test]
    fn no_contender_is_guessed_to_be_faster_than_another() {
        let plan = plan(&["scylla", "noop", "other"], &["writes"]);
        let (schedule, cells) = scheduled(&plan);
        let estimate = Estimate::new(&schedule);
        let guesses: Vec<Duration> = cells[..3].iter().map(|cell| estimate.of([*cell])).collect();
        assert!(guesses.iter().all(|guess| *guess == guesses[0]), "{guesses:?}");
    }

    #[test]
    fn rows_that_are_loaded_batches_few_in_flight_and_answers_that_are_held_back_take_their_time() {
        let seconds = |plan: Plan, scenario| {
            let plan = Plan { scenarios: vec![cqldyno_scenarios::builtin(scenario).unwrap()], ..plan };
            let (schedule, cells) = scheduled(&plan);
            Estimate::new(&schedule).of([cells[0]]).as_secs_f64()
        };
        let many = plan(&["scylla"], &["writes"]).with(|one| one.concurrency = 1_024).with_blocks(1, 10_000_000);
        assert!(seconds(many.clone(), "reads") > seconds(many, "writes") + 1.0);
        let few = plan(&["scylla"], &["writes"]).with(|one| one.concurrency = 1_024).with_blocks(1, 10_000);
        assert!(seconds(few.clone(), "batch") > 2.0 * seconds(few.clone(), "writes"));
        let one = few.with(|one| one.concurrency = 1);
        assert!((0.8..1.0).contains(&seconds(one.clone(), "writes")));
        let delayed = one.with(|one| one.serve.delay = Some("10ms".parse().unwrap()));
        assert!((100.0..102.0).contains(&seconds(delayed.clone(), "writes")));
        let apart = delayed.with(|one| one.serve.delay = Some("10ms±50%".parse().unwrap()));
        assert_eq!(apart.delay(None).longest(), Duration::from_millis(15));
        assert!((100.0..102.0).contains(&seconds(apart, "writes")));
    }

    #[test]
    fn cells_of_latency_take_what_their_own_numbers_in_flight_their_rate_and_held_back_answers_make_of_them() {
        let plan = plan(&["scylla"], &["writes"]).with(|one| {
            (one.passes, one.count) = (vec![Pass::Latency], 20_000);
            one.serve.delay = Some("5ms".parse().unwrap());
        });
        let (schedule, cells) = scheduled(&plan);
        let mut estimate = Estimate::new(&schedule);
        let latency: Vec<PlannedCell> = cells.iter().copied().filter(|cell| cell.pass == Pass::Latency).collect();
        let seconds = |estimate: &Estimate<'_>, at: usize| estimate.of([latency[at]]).as_secs_f64();
        // At the rate, 10,000 and a tenth with 1 in flight, 20,000 with 16, and sessions of some answers each.
        let ranges = [3.0..4.0, 50.0..58.0, 6.2..8.5, 0.4..1.5, 0.9..2.0];
        for (at, range) in ranges.into_iter().enumerate() {
            assert!(range.contains(&seconds(&estimate, at)), "{at}: {}", seconds(&estimate, at));
        }
        // A slow machine is no slower where answers are held back.
        estimate.ended(&cells[..1], estimate.of([cells[0]]) + Duration::from_secs(1));
        assert!(seconds(&estimate, 1) < 70.0, "{}", seconds(&estimate, 1));
        // What such a cell of another contender took is more than any guess.
        let first = latency[0];
        estimate.ended(&[PlannedCell { contender: 7, ..first }], Duration::from_secs(30));
        assert!((29.0..31.0).contains(&seconds(&estimate, 0)), "{}", seconds(&estimate, 0));
    }

    #[test]
    fn cells_that_are_not_run_take_no_time() {
        let plan = plan(&["scylla"], &["writes"]);
        let schedule = Schedule::new(&plan, &[0], None, &|pass| pass == Pass::Timing);
        let counting = schedule.first_attempts(schedule.blocks()).filter(|cell| cell.pass == Pass::Counting);
        assert_eq!(Estimate::new(&schedule).of(counting), Duration::ZERO);
    }
}
