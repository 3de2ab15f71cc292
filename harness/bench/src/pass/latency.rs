//! Latency below saturation: at one rate for all contenders, with few statements in flight, and up to a session's first answer.

use cqldyno_reports::measure::THROUGHPUT;
use cqldyno_reports::{Cell, Pass};
use cqldyno_scenarios::{Operation, Scenario, Statement};

use super::{Cost, Load, PassKind, Place, Shape, Step};
use crate::failure::CellFailure;
use crate::plan::{Plan, PlannedCell};

/// How long statements are started at the rate.
const SECONDS: u64 = 3;

/// At a rate no more than so many times the statements of a timing cell are started, so that a short run stays one.
const MOST_TIMES: u64 = 4;

/// The part of what the slowest driver reached, by which the default rate is divided.
const PART: f64 = 2.0;

/// A rate of which nothing is known yet, for the estimate.
const GUESS: u64 = 150_000;

/// Sessions that are connected one after the other.
const SESSIONS: u64 = 20;

/// A step that is no rate: its name, statements in flight, and statements at most.
const CLOSED: [(&str, usize, u64); 3] = [("1", 1, 10_000), ("16", 16, 100_000), ("256", 256, 200_000)];
const RATE: &str = "rate";
const CONNECT: &str = "connect";

pub(super) struct Latency;

impl PassKind for Latency {
    fn about(&self) -> &'static str {
        "response times at a rate that all have alike, times with 1, 16 and 256 in flight, and up to a session's first answer"
    }

    fn doing(&self) -> &'static str {
        "taking latency"
    }

    fn doing_step(&self, step: usize) -> &'static str {
        match step {
            0 => "taking latency at the rate",
            1 => "taking latency with 1 in flight",
            2 => "taking latency with 16 in flight",
            3 => "taking latency with 256 in flight",
            _ => "timing sessions up to the first answer",
        }
    }

    fn headline(&self) -> Option<(&'static str, &'static str)> {
        Some(("response_p99", "us is what 99 % are answered within at the rate"))
    }

    fn steps(&self, plan: &Plan, _: bool) -> Vec<Step> {
        let rate = Step { name: Some(RATE), count: at_rate(plan, plan.rate.unwrap_or(GUESS)) };
        let closed = CLOSED.map(|(name, _, most)| Step { name: Some(name), count: plan.count.min(most) });
        let connect = Step { name: Some(CONNECT), count: SESSIONS.min(plan.count) };
        std::iter::once(rate).chain(closed).chain([connect]).collect()
    }

    fn suits(&self, step: usize, scenario: &Scenario) -> bool {
        // Up to the first answer of an EXECUTE.
        let executes = |statement: &Statement| statement.operation == Operation::Execute;
        step <= CLOSED.len() || scenario.statements.iter().all(executes)
    }

    fn cost(&self, step: usize) -> Cost {
        // By what it is bounded by: the time at the rate, a round trip a statement on loopback, 100,000 and 200,000 statements a
        // second, 10 ms a session.
        let seconds = match step {
            0 => SECONDS as f64,
            1 => 0.8,
            4 => SESSIONS as f64 * 0.01,
            _ => 1.0,
        };
        Cost { seconds, factor: 0.0 }
    }

    fn load(&self, plan: &Plan, planned: &PlannedCell, place: &Place<'_>, cells: &[Cell]) -> Result<Load, CellFailure> {
        let closed = Load::closed(plan, planned);
        match planned.step.checked_sub(1) {
            None => {
                let rate = plan.rate.or_else(|| half_of_the_slowest(place, cells)).ok_or_else(|| {
                    CellFailure::NoRate(
                        "No driver has a throughput in this scenario and arrangement to take the half of".to_owned(),
                    )
                })?;
                Ok(Load { count: at_rate(plan, rate), shape: Shape::AtRate(rate), ..closed })
            }
            Some(nth) => match CLOSED.get(nth) {
                Some((_, in_flight, _)) => {
                    let warmup = closed.warmup.min(planned.count / 10);
                    Ok(Load { concurrency: *in_flight, warmup, ..closed })
                }
                None => Ok(Load { warmup: 0, shape: Shape::Connecting, ..closed }),
            },
        }
    }
}

/// Statements that are started at `rate`.
fn at_rate(plan: &Plan, rate: u64) -> u64 {
    rate.saturating_mul(SECONDS).clamp(1, plan.count.saturating_mul(MOST_TIMES).max(1))
}

/// Half of the least that a driver reached in the place's timing cells, all of its cells together, to two digits.
fn half_of_the_slowest(place: &Place<'_>, cells: &[Cell]) -> Option<u64> {
    let of = |driver: &&str| {
        let is_mine = |cell: &&Cell| {
            cell.pass == Pass::Timing
                && cell.contender == **driver
                && cell.scenario == place.scenario
                && cell.arrangement == place.arrangement
                && cell.counts()
        };
        let mut rates: Vec<f64> = cells.iter().filter(is_mine).filter_map(|cell| cell.get(THROUGHPUT)).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    };
    let slowest = place.drivers.iter().filter_map(of).min_by(f64::total_cmp)?;
    let half = (slowest / PART) as u64;
    let digit = 10u64.pow(half.checked_ilog10()?.saturating_sub(1));
    Some(half / digit * digit).filter(|rate| *rate > 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cell::empty_cell;
    use crate::plan::plan;
    use cqldyno_reports::{Measure, Unit};

    fn cell(contender: &str, arrangement: &str, throughput: f64) -> Cell {
        Cell {
            contender: contender.to_owned(),
            scenario: "writes".to_owned(),
            arrangement: arrangement.to_owned(),
            measures: BTreeMap::from([(THROUGHPUT.to_owned(), Measure::value(throughput, Unit::PerSecond))]),
            ..empty_cell()
        }
    }

    const PLACE: Place<'_> = Place { scenario: "writes", arrangement: "current", drivers: &["scylla", "cdrs-tokio"] };

    fn step(plan: &Plan, nth: usize, cells: &[Cell]) -> Result<Load, CellFailure> {
        let count = Latency.steps(plan, true)[nth].count;
        let planned = PlannedCell {
            contender: 0,
            scenario: 0,
            arrangement: 0,
            block: 1,
            pass: Pass::Latency,
            step: nth,
            attempt: 1,
            count,
        };
        Latency.load(plan, &planned, &PLACE, cells)
    }

    #[test]
    fn all_contenders_have_half_of_what_the_slowest_driver_reached_here() {
        let mut void = cell("cdrs-tokio", "current", 10.0);
        void.void = Some("No.".to_owned());
        let cells = [
            cell("scylla", "current", 500_000.0),
            cell("cdrs-tokio", "current", 312_345.0),
            cell("cdrs-tokio", "current", 300_000.0),
            cell("cdrs-tokio", "current", 900_000.0),
            void,
            cell("cdrs-tokio", "multi:2", 10_000.0),
            cell("noop", "current", 10_000.0),
        ];
        let plan = Plan { count: 250_000, ..plan(&["scylla", "cdrs-tokio", "noop"], &["writes"]) };
        let load = step(&plan, 0, &cells).unwrap();
        assert_eq!((load.shape, load.count), (Shape::AtRate(150_000), 450_000));
        let asked = step(&Plan { rate: Some(1_234), ..plan.clone() }, 0, &cells).unwrap();
        assert_eq!((asked.shape, asked.count), (Shape::AtRate(1_234), 3_702));
        let short = step(&Plan { count: 1_000, ..plan.clone() }, 0, &cells).unwrap();
        assert_eq!((short.shape, short.count), (Shape::AtRate(150_000), 4_000));
        let none = step(&plan, 0, &cells[5..]).unwrap_err().to_string();
        assert!(none.contains("No driver has a throughput") && none.contains("--rate"), "{none}");
    }

    #[test]
    fn the_other_steps_have_their_own_number_in_flight_and_end_with_sessions() {
        let plan = Plan { count: 250_000, warmup: 20_000, ..plan(&["scylla"], &["writes"]) };
        let names: Vec<_> = Latency.steps(&plan, true).iter().map(|step| step.name.unwrap()).collect();
        assert_eq!(names, ["rate", "1", "16", "256", "connect"]);
        for (nth, in_flight, count, warmup) in
            [(1, 1, 10_000, 1_000), (2, 16, 100_000, 10_000), (3, 256, 200_000, 20_000)]
        {
            let load = step(&plan, nth, &[]).unwrap();
            let expected = Load { count, warmup, concurrency: in_flight, shape: Shape::Closed };
            assert_eq!(load, expected);
        }
        let connecting = step(&plan, 4, &[]).unwrap();
        assert_eq!((connecting.shape, connecting.count, connecting.warmup), (Shape::Connecting, 20, 0));
    }
}
