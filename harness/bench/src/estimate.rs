//! How long a run takes: a table of what was measured, corrected by what ended cells took.

use std::collections::BTreeMap;
use std::time::Duration;

use cqldyno_protocol::Runtime;
use cqldyno_reports::Pass;
use cqldyno_scenarios::{Column, LoadPart, Operation, Scenario, Statement, Workload};

use crate::pass::{Cost, kind};
use crate::plan::{Plan, PlannedCell};

// Measured on two cores of a virtual machine of 2026, over the embedded node, worker and server sharing the cores.

/// What a cell takes besides its statements, in seconds: processes, connections, schema, a sample read back.
const OFFLINE_SECONDS: f64 = 0.01;
const ONLINE_SECONDS: f64 = 0.06;
/// A row of the server's table, made and touched beforehand.
const ROW_SECONDS: f64 = 15e-9;
/// A row that floor loads.
const LOAD_SECONDS: f64 = 0.18e-6;
/// A value of a row that is written or read, beside the three of the statements in the table below, and a KiB of them; floor and
/// noop take a part of it.
const VALUE_SECONDS: f64 = 80e-9;
const KIB_SECONDS: f64 = 0.7e-6;
const PART_OF_FLOOR: f64 = 0.6;
const PART_OF_NOOP: f64 = 0.4;
/// The values that the statements of the table have.
const VALUES: f64 = 3.0;
/// One statement after the other takes at least this long: a round trip on loopback.
const ROUND_TRIP_SECONDS: f64 = 80e-6;

/// What a row in a batch takes of a driver over what a statement takes.
const BATCHED_ROW_SHARE: f64 = 0.15;
/// What a row in a batch takes of the embedded node.
const NODE_ROW_SECONDS: f64 = 0.3e-6;
/// What a PREPARE, and a statement that is not prepared, takes of the embedded node.
const PREPARE_SECONDS: f64 = 8e-6;
const UNPREPARED_SECONDS: f64 = 6e-6;
/// What a session takes.
const CONNECT_SECONDS: f64 = 8e-3;

/// Seconds of wall time an insert and a select with 1,024 in flight, of a contender that has not run yet.
fn by_table(driver: &str, runtime: Runtime) -> (f64, f64) {
    let microseconds = match (driver, runtime) {
        ("noop", Runtime::Multi { .. }) => (0.11, 0.12),
        ("noop", Runtime::Current) => (0.09, 0.09),
        ("floor", Runtime::Multi { .. }) => (0.33, 0.37),
        ("floor", Runtime::Current) => (0.17, 0.19),
        ("scylla", Runtime::Multi { .. }) => (1.45, 1.4),
        ("scylla", Runtime::Current) => (2.05, 2.3),
        ("cdrs-tokio", Runtime::Multi { .. }) => (1.5, 2.4),
        ("cdrs-tokio", Runtime::Current) => (1.4, 2.5),
        ("cassandra-cpp", Runtime::Multi { .. }) => (1.8, 1.95),
        ("cassandra-cpp", Runtime::Current) => (2.15, 2.0),
        _ => (2.0, 2.2),
    };
    (microseconds.0 * 1e-6, microseconds.1 * 1e-6)
}

/// Seconds that a statement takes as what it is issued as, of which an EXECUTE would take `execute`; with `noop`, a session takes no
/// longer than anything else.
fn issued_as(statement: &Statement, driver: &str, execute: f64) -> f64 {
    match statement.operation {
        Operation::Execute => execute,
        Operation::Batch => execute + statement.rows() as f64 * (BATCHED_ROW_SHARE * execute + NODE_ROW_SECONDS),
        Operation::Prepare => execute + PREPARE_SECONDS,
        // Two requests one after the other where the driver prepares by itself.
        Operation::Unprepared => 2.0 * execute + UNPREPARED_SECONDS,
        Operation::Connect if driver == "noop" => execute,
        Operation::Connect => CONNECT_SECONDS,
    }
}

/// A contender on a scenario in an arrangement, for one kind of figure: a step of a pass.
type Key = (usize, usize, usize, Pass, usize);

/// Estimates cells of one plan.
#[derive(Debug)]
pub struct Estimate<'a> {
    plan: &'a Plan,
    /// What ended cells took and what the table says of them, in seconds.
    ended: BTreeMap<Key, (f64, f64)>,
}

impl<'a> Estimate<'a> {
    /// Knows the table only.
    pub fn new(plan: &'a Plan) -> Estimate<'a> {
        Estimate { plan, ended: BTreeMap::new() }
    }

    /// Takes in how long `cell` took.
    pub fn ended(&mut self, cell: &PlannedCell, took: Duration) {
        let table = self.by_table(cell);
        let so_far = self.ended.entry(key(cell)).or_default();
        so_far.0 += took.as_secs_f64();
        so_far.1 += table;
    }

    /// How long these cells take together.
    pub fn of(&self, cells: impl IntoIterator<Item = PlannedCell>) -> Duration {
        let mut known: BTreeMap<(Key, u64), f64> = BTreeMap::new();
        let seconds = |cell: PlannedCell| {
            *known.entry((key(&cell), cell.count)).or_insert_with(|| {
                // What a pass takes besides its statements is no matter of the contender's, until it was seen.
                let own = if self.ended.contains_key(&key(&cell)) { 0.0 } else { of_pass(&cell).seconds };
                own + (self.by_table(&cell) - own) * self.factor(&cell)
            })
        };
        Duration::from_secs_f64(cells.into_iter().map(seconds).sum())
    }

    /// What such cells took over what the table says of them: those of the same contender, scenario, arrangement and pass, else
    /// of the same contender, else all.
    fn factor(&self, cell: &PlannedCell) -> f64 {
        let ratio = |same: &dyn Fn(&Key) -> bool| {
            let (took, table) = self
                .ended
                .iter()
                .filter(|(key, _)| same(key))
                .fold((0.0, 0.0), |sum, (_, (took, table))| (sum.0 + took, sum.1 + table));
            (table > 0.0).then(|| took / table)
        };
        ratio(&|ended| *ended == key(cell))
            .or_else(|| ratio(&|ended| ended.0 == cell.contender))
            .or_else(|| ratio(&|_| true))
            .unwrap_or(1.0)
    }

    fn by_table(&self, cell: &PlannedCell) -> f64 {
        let plan = self.plan;
        let Cost { seconds: on_top, factor } = of_pass(cell);
        let driver = plan.driver(cell.contender);
        let (Some(scenario), Some(arrangement)) =
            (plan.scenarios.get(cell.scenario), plan.arrangements.get(cell.arrangement))
        else {
            return on_top;
        };
        let part = match driver {
            "noop" => PART_OF_NOOP,
            "floor" => PART_OF_FLOOR,
            _ => 1.0,
        };
        let mut each = a_statement(scenario, plan.page_size, |statement, pages| {
            let (insert, select) = by_table(driver, arrangement.runtime);
            let exchange = if statement.load.is_some() { select } else { insert };
            issued_as(statement, driver, exchange * pages + beyond_the_table(size(statement)) * part)
        });
        let limits = &scenario.limits;
        let (warmup, concurrency) = (limits.warmup(plan.warmup), limits.concurrency(plan.concurrency));
        let statements = (cell.count + warmup) as f64;
        if driver == "noop" {
            return OFFLINE_SECONDS + on_top + statements * each * factor;
        }
        each = each.max((ROUND_TRIP_SECONDS + delay(&plan.serve_arguments).as_secs_f64()) / concurrency.max(1) as f64);
        let workload = Workload::new(scenario, cell.count, warmup, plan.seed).ok();
        let rows = workload.as_ref().map_or(0, Workload::rows) as f64;
        let loads = workload.map_or(Vec::new(), |workload| workload.load());
        let loading = |part: &LoadPart| {
            let values = scenario.statements.get(part.statement).and_then(|statement| statement.load.as_ref());
            let size = values.map_or((0.0, 0.0), |load| of_columns(&load.values));
            part.rows() as f64 * (LOAD_SECONDS + beyond_the_table(size) * PART_OF_FLOOR)
        };
        let loaded: f64 = loads.iter().map(loading).sum();
        ONLINE_SECONDS + on_top + rows * ROW_SECONDS + loaded + statements * each * factor
    }
}

/// What the pass of the cell takes over what a timing cell does.
fn of_pass(cell: &PlannedCell) -> Cost {
    kind(cell.pass).cost(cell.step)
}

/// Values and bytes of texts and blobs of one row.
fn of_columns(columns: &[Column]) -> (f64, f64) {
    (columns.len() as f64, columns.iter().map(|column| column.length() as f64).sum())
}

/// Values and bytes that a statement writes or reads.
fn size(statement: &Statement) -> (f64, f64) {
    let columns = statement.expect.as_ref().map_or(&statement.values, |expect| &expect.columns);
    let (values, bytes) = of_columns(columns);
    (values * statement.rows() as f64, bytes * statement.rows() as f64)
}

/// What a statement of this size takes longer than those of the table.
fn beyond_the_table((values, bytes): (f64, f64)) -> f64 {
    (values - VALUES).max(0.0) * VALUE_SECONDS + bytes / 1_024.0 * KIB_SECONDS
}

/// The mean over the scenario's statements by their weights; `seconds` is given each with its pages.
fn a_statement(scenario: &Scenario, page_size: i32, seconds: impl Fn(&Statement, f64) -> f64) -> f64 {
    let asked = u32::try_from(page_size).unwrap_or(u32::MAX);
    let paged =
        Scenario { page_size: Some(scenario.page_size.map_or(asked, |own| own.min(asked))), ..scenario.clone() };
    let weight = |statement: &Statement| f64::from(statement.weight);
    let all: f64 = paged.statements.iter().map(weight).sum();
    let of = |statement: &Statement| weight(statement) * seconds(statement, paged.pages(statement) as f64);
    if all > 0.0 { paged.statements.iter().map(of).sum::<f64>() / all } else { 0.0 }
}

fn key(cell: &PlannedCell) -> Key {
    (cell.contender, cell.scenario, cell.arrangement, cell.pass, cell.step)
}

/// How long the embedded node holds each answer back, as `--delay` of its arguments says.
pub(crate) fn delay(arguments: &[String]) -> Duration {
    let text = arguments.iter().skip_while(|argument| *argument != "--delay").nth(1).map_or("", String::as_str);
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
    use crate::schedule::Schedule;

    fn cells(plan: &Plan) -> Vec<PlannedCell> {
        let schedule = Schedule::new(plan, &[0, 1], None, &|_| true);
        schedule.first_attempts(schedule.blocks()).collect()
    }

    #[test]
    fn what_ended_cells_took_corrects_what_is_left() {
        let plan = plan(&["scylla", "noop"], &["writes", "reads"]);
        let cells = cells(&plan);
        let mut estimate = Estimate::new(&plan);
        let before = estimate.of(cells.clone());
        assert!(before > Duration::from_millis(12 * 10));
        let first = estimate.of([cells[0]]);
        estimate.ended(&cells[0], first * 10);
        assert!(estimate.of([cells[0]]).abs_diff(first * 10) < Duration::from_millis(1));
        let timing =
            |estimate: &Estimate<'_>| estimate.of(cells.iter().copied().filter(|cell| cell.pass == Pass::Timing));
        assert!(timing(&estimate) > timing(&Estimate::new(&plan)) * 9, "the others are taken to be slower, too");
        let whole = estimate.of(cells.clone());
        assert!(whole > before * 4 && whole < before * 9, "but not what it takes to begin counting");
        estimate.ended(&cells[0], first * 20);
        assert!(estimate.of([cells[0]]).abs_diff(first * 15) < Duration::from_millis(1), "the mean of what there is");
    }

    #[test]
    fn loading_counts_for_reads_and_not_for_noop() {
        let plan = Plan { count: 10_000_000, ..plan(&["scylla", "noop"], &["writes", "reads"]) };
        let estimate = Estimate::new(&plan);
        let of = |contender, scenario| {
            let all = cells(&plan);
            let cell = all.iter().find(|cell| cell.contender == contender && cell.scenario == scenario);
            estimate.of([*cell.unwrap()])
        };
        assert!(of(0, 1) > of(0, 0) + Duration::from_secs(1));
        assert!(of(1, 1).abs_diff(of(1, 0)) < Duration::from_millis(200));
    }

    #[test]
    fn few_in_flight_and_answers_that_are_held_back_take_their_time() {
        let one = Plan { concurrency: 1, count: 10_000, ..plan(&["scylla", "noop"], &["writes"]) };
        let seconds = |plan: &Plan| {
            let cell = cells(plan).into_iter().find(|cell| cell.contender == 0).unwrap();
            Estimate::new(plan).of([cell]).as_secs_f64()
        };
        assert!((0.8..1.0).contains(&seconds(&one)), "{}", seconds(&one));
        let delayed = Plan { serve_arguments: vec!["--delay".to_owned(), "10ms".to_owned()], ..one };
        assert!((100.0..102.0).contains(&seconds(&delayed)), "{}", seconds(&delayed));
    }

    #[test]
    fn a_payload_takes_longer_than_a_number_and_a_partition_longer_than_a_row() {
        let plan =
            Plan { count: 100_000, ..plan(&["scylla", "noop"], &["mixed", "payload-1k", "payload-16k", "rows"]) };
        let all = cells(&plan);
        let seconds = [0, 1, 2, 3].map(|scenario| {
            let cell = all.iter().find(|cell| cell.contender == 0 && cell.scenario == scenario).unwrap();
            Estimate::new(&plan).of([PlannedCell { count: 20_000, ..*cell }]).as_secs_f64()
        });
        assert!(seconds.is_sorted(), "{seconds:?}");
        assert!(seconds[3] - seconds[0] > 1.0, "50 us a partition: {seconds:?}");
    }

    #[test]
    fn the_classic_run_is_estimated_as_it_was_measured() {
        let contenders = ["scylla", "cdrs-tokio", "cassandra-cpp", "floor", "noop"];
        let plan = Plan {
            arrangements: vec!["multi:2".parse().unwrap(), "current".parse().unwrap()],
            count: 10_000_000,
            concurrency: 1_024,
            warmup: 20_000,
            blocks: 1,
            ..plan(&contenders, &["writes", "reads", "mixed"])
        };
        let schedule = Schedule::new(&plan, &[0, 1, 2, 3, 4], None, &|_| true);
        let seconds = Estimate::new(&plan).of(schedule.first_attempts(schedule.blocks())).as_secs_f64();
        // reports/published/2026-11-20 took 421 s.
        assert!((0.75..1.25).contains(&(seconds / 421.0)), "{seconds}");
    }
}
