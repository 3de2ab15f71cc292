//! How long a run takes: a rough guess before it began, then what its own cells took.

use std::collections::BTreeMap;
use std::time::Duration;

use cqldyno_reports::Pass;
use cqldyno_scenarios::{LoadPart, Operation, Scenario, Statement, Workload};

use crate::plan::pass::Cost;
use crate::plan::schedule::Schedule;
use crate::plan::target::Target;
use crate::plan::{Plan, PlannedCell};

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
/// One statement after the other takes at least this long: a round trip on loopback.
const ROUND_TRIP_SECONDS: f64 = 80e-6;

/// A contender on a scenario in an arrangement, in a step of a pass.
type Key = (usize, usize, usize, Pass, usize);

/// Seconds of cells that have ended.
#[derive(Clone, Copy, Debug, Default)]
struct Ended {
    took: f64,
    guessed: f64,
}

/// Estimates cells of one plan.
#[derive(Debug)]
pub(crate) struct Estimate<'a> {
    plan: &'a Plan,
    schedule: &'a Schedule,
    ended: BTreeMap<Key, Ended>,
}

impl<'a> Estimate<'a> {
    /// Guesses only.
    pub(crate) fn new(plan: &'a Plan, schedule: &'a Schedule) -> Estimate<'a> {
        Estimate { plan, schedule, ended: BTreeMap::new() }
    }

    /// Learns how long `cells` took together, of which each is taken to have had its share.
    pub(crate) fn ended(&mut self, cells: &[PlannedCell], took: Duration) {
        let all: f64 = cells.iter().map(|cell| self.guess(cell)).sum();
        for cell in cells {
            let guessed = self.guess(cell);
            let so_far = self.ended.entry(key(cell)).or_default();
            so_far.took += took.as_secs_f64() * if all > 0.0 { guessed / all } else { 0.0 };
            so_far.guessed += guessed;
        }
    }

    /// How long these cells take together.
    pub(crate) fn of(&self, cells: impl IntoIterator<Item = PlannedCell>) -> Duration {
        let mut known: BTreeMap<(Key, u64), f64> = BTreeMap::new();
        let seconds = |cell: PlannedCell| {
            *known.entry((key(&cell), cell.count)).or_insert_with(|| {
                // What a pass takes besides its statements does not depend on the contender, until it was seen.
                let own = if self.ended.contains_key(&key(&cell)) { 0.0 } else { self.cost(&cell).seconds };
                own + (self.guess(&cell) - own) * self.factor(&cell)
            })
        };
        Duration::from_secs_f64(cells.into_iter().map(seconds).sum())
    }

    /// What such cells took over what was guessed: those of the same contender, scenario, arrangement and step, else of the same
    /// contender, else all.
    fn factor(&self, cell: &PlannedCell) -> f64 {
        let ratio = |same: &dyn Fn(&Key) -> bool| {
            let of_them = self.ended.iter().filter(|(key, _)| same(key));
            let (took, guessed) = of_them.fold((0.0, 0.0), |sum, (_, one)| (sum.0 + one.took, sum.1 + one.guessed));
            (guessed > 0.0).then(|| took / guessed)
        };
        ratio(&|ended| *ended == key(cell))
            .or_else(|| ratio(&|ended| ended.0 == cell.contender))
            .or_else(|| ratio(&|_| true))
            .unwrap_or(1.0)
    }

    fn cost(&self, cell: &PlannedCell) -> Cost {
        self.schedule.step(cell).cost
    }

    fn guess(&self, cell: &PlannedCell) -> f64 {
        if cell.count == 0 {
            return 0.0;
        }
        let (plan, scenario) = (self.plan, &self.plan.scenarios[cell.scenario]);
        let limits = &scenario.limits;
        let (warmup, each) = (limits.warmup(plan.warmup), plan.statement_seconds(scenario));
        let workload = Workload::new(scenario, cell.count, warmup, plan.seed);
        let loaded: u64 = workload.map_or(0, |workload| workload.load().iter().map(LoadPart::rows).sum());
        let Cost { seconds, factor } = self.cost(cell);
        // Turns are not made shorter for a slow server: their edges would count for more.
        let slower = if matches!(plan.target, Target::Cassandra(_)) { CASSANDRA_FACTOR } else { 1.0 };
        CELL_SECONDS * slower
            + TURN_SECONDS * f64::from(cell.turns())
            + seconds
            + loaded as f64 * LOAD_SECONDS * slower
            + (cell.count + warmup) as f64 * each * slower * factor
    }
}

impl Plan {
    /// Guessed seconds per statement.
    pub(crate) fn statement_seconds(&self, scenario: &Scenario) -> f64 {
        let held_back = ROUND_TRIP_SECONDS + delay(&self.serve_arguments).as_secs_f64();
        let pages = self.contenders.iter().filter_map(|one| one.own.page_size(self, scenario));
        mean(&Scenario { page_size: pages.min(), ..scenario.clone() })
            .max(held_back / scenario.in_flight(self.concurrency).max(1) as f64)
    }
}

/// Seconds per statement, the mean over the scenario's statements with their weights.
fn mean(scenario: &Scenario) -> f64 {
    let seconds = |statement: &Statement| match statement.operation {
        Operation::Execute => REQUEST_SECONDS * scenario.pages(statement) as f64,
        Operation::Batch => REQUEST_SECONDS + statement.rows() as f64 * BATCHED_ROW_SECONDS,
        Operation::Prepare | Operation::Unprepared => REQUEST_SECONDS + PARSE_SECONDS,
        Operation::Connect => CONNECT_SECONDS,
    };
    let weight = |statement: &Statement| f64::from(statement.weight);
    let all: f64 = scenario.statements.iter().map(weight).sum();
    let sum: f64 = scenario.statements.iter().map(|statement| weight(statement) * seconds(statement)).sum();
    if all > 0.0 { sum / all } else { 0.0 }
}

fn key(cell: &PlannedCell) -> Key {
    (cell.contender, cell.scenario, cell.arrangement, cell.pass, cell.step)
}

/// How long the embedded cluster holds each answer back at most, from `--delay` and `--nap` of its arguments.
pub(crate) fn delay(arguments: &[String]) -> Duration {
    let of = |flag: &str| argument(arguments, flag).unwrap_or_default();
    time(of("--delay")) + time(of("--nap"))
}

/// What follows a flag of the embedded cluster's arguments.
pub(crate) fn argument<'a>(arguments: &'a [String], flag: &str) -> Option<&'a str> {
    arguments.iter().skip_while(|argument| *argument != flag).nth(1).map(String::as_str)
}

/// A time as it is typed; none for no time.
fn time(text: &str) -> Duration {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        _ => 1.0,
    };
    number.parse().ok().and_then(|number: f64| Duration::try_from_secs_f64(number * seconds).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    fn scheduled(plan: &Plan) -> (Schedule, Vec<PlannedCell>) {
        let everybody: Vec<usize> = (0..plan.contenders.len()).collect();
        let schedule = Schedule::new(plan, &everybody, None, &|_| true);
        let cells = schedule.first_attempts(schedule.blocks()).collect();
        (schedule, cells)
    }

    #[test]
    fn what_ended_cells_took_takes_the_place_of_the_guess() {
        let plan = plan(&["scylla", "noop"], &["writes", "reads"]);
        let (schedule, cells) = scheduled(&plan);
        let mut estimate = Estimate::new(&plan, &schedule);
        let before = estimate.of(cells.clone());
        let first = estimate.of([cells[0]]);
        estimate.ended(&cells[..1], first * 10);
        assert!(estimate.of([cells[0]]).abs_diff(first * 10) < Duration::from_millis(1));
        let timing =
            |estimate: &Estimate<'_>| estimate.of(cells.iter().copied().filter(|cell| cell.pass == Pass::Timing));
        let guessed = timing(&Estimate::new(&plan, &schedule));
        assert!(timing(&estimate) > guessed * 9, "the others are taken to be slower, too");
        let whole = estimate.of(cells.clone());
        assert!(whole > before * 4 && whole < before * 9, "but not what it takes to begin counting");
        estimate.ended(&cells[..1], first * 20);
        assert!(estimate.of([cells[0]]).abs_diff(first * 15) < Duration::from_millis(1), "the mean of what there is");
    }

    #[test]
    fn after_the_first_round_a_run_takes_what_its_cells_took_whoever_they_are() {
        let plan = Plan { passes: Vec::new(), blocks: 12, ..plan(&["scylla", "noop", "other"], &["writes", "rows"]) };
        let (schedule, cells) = scheduled(&plan);
        let took =
            |cell: &PlannedCell| Duration::from_millis(10 + 700 * cell.contender as u64 + 90 * cell.scenario as u64);
        let mut estimate = Estimate::new(&plan, &schedule);
        let (round, rest) = cells.split_at(6);
        round.iter().for_each(|cell| estimate.ended(&[*cell], took(cell)));
        let expected: Duration = rest.iter().map(took).sum();
        assert!(estimate.of(rest.iter().copied()).abs_diff(expected) < Duration::from_millis(1));
    }

    #[test]
    fn no_contender_is_guessed_to_be_faster_than_another() {
        let plan = plan(&["scylla", "noop", "other"], &["writes"]);
        let (schedule, cells) = scheduled(&plan);
        let estimate = Estimate::new(&plan, &schedule);
        let guesses: Vec<Duration> = cells[..3].iter().map(|cell| estimate.of([*cell])).collect();
        assert!(guesses.iter().all(|guess| *guess == guesses[0]), "{guesses:?}");
    }

    #[test]
    fn rows_that_are_loaded_batches_few_in_flight_and_answers_that_are_held_back_take_their_time() {
        let seconds = |plan: Plan, scenario| {
            let plan = Plan { scenarios: vec![cqldyno_scenarios::builtin(scenario).unwrap()], ..plan };
            let (schedule, cells) = scheduled(&plan);
            Estimate::new(&plan, &schedule).of([cells[0]]).as_secs_f64()
        };
        let many = Plan { count: 10_000_000, concurrency: 1_024, ..plan(&["scylla"], &["writes"]) };
        assert!(seconds(many.clone(), "reads") > seconds(many, "writes") + 1.0);
        let few = Plan { count: 10_000, concurrency: 1_024, ..plan(&["scylla"], &["writes"]) };
        assert!(seconds(few.clone(), "batch") > 2.0 * seconds(few, "writes"));
        let one = Plan { concurrency: 1, count: 10_000, ..plan(&["scylla"], &["writes"]) };
        assert!((0.8..1.0).contains(&seconds(one.clone(), "writes")));
        let delayed = Plan { serve_arguments: vec!["--delay".to_owned(), "10ms".to_owned()], ..one };
        assert!((100.0..102.0).contains(&seconds(delayed, "writes")));
    }

    #[test]
    fn cells_that_are_not_run_take_no_time() {
        let plan = plan(&["scylla"], &["writes"]);
        let schedule = Schedule::new(&plan, &[0], None, &|pass| pass == Pass::Timing);
        let counting = schedule.first_attempts(schedule.blocks()).filter(|cell| cell.pass == Pass::Counting);
        assert_eq!(Estimate::new(&plan, &schedule).of(counting), Duration::ZERO);
    }
}
