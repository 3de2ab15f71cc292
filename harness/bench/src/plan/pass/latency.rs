//! Latency below saturation: at one rate for all contenders, with few statements in flight, and up to a session's first answer.

use cqldyno_reports::measure::THROUGHPUT;
use cqldyno_reports::{Cell, LOWEST_RATE, Pass};

use super::{Cost, Load, PassKind, Shape, Step};
use crate::plan::Plan;

/// How long statements are started at the rate.
pub(crate) const SECONDS: u64 = 3;

/// At a rate no more than so many times the statements of a timing cell are started, so that a short run stays one.
const MOST_TIMES: u64 = 4;

/// What the slowest driver reached is divided by this for the default rate.
const PART: f64 = 2.0;

/// A rate for the estimate while none is known.
const GUESS: u64 = 150_000;

/// Sessions that connect one after the other.
const SESSIONS: u64 = 20;

pub(super) const LATENCY: PassKind = PassKind {
    about: "response times at a rate that all have alike, times with 1, 16 and 256 in flight, and up to a session's first answer",
    headline: ("response_p99", "us is what 99 % are answered within at the rate"),
    probe: || Ok(()),
    steps,
};

fn steps(plan: &Plan) -> Vec<Step> {
    if let Some(ladder) = &plan.ladder {
        // Each of its cells has a rate of its own, and as many statements as are due.
        let step = Step::new("taking latency at a rate", plan, ladder.statements(LOWEST_RATE));
        let cost = Cost { seconds: ladder.lasts_ms as f64 / 1e3, factor: 1.0 };
        return vec![Step { load: Load { shape: Shape::AtRate(LOWEST_RATE), ..step.load }, cost, ..step }];
    }
    let rate = plan.rate.unwrap_or(GUESS);
    let at_rate = Step::new("taking latency at the rate", plan, at_rate(plan, rate));
    let lasts = at_rate.load.count as f64 / rate.max(1) as f64;
    let closed = |name, doing, in_flight, most| {
        let step = Step::new(doing, plan, plan.count.min(most));
        let warmup = plan.warmup.min(step.load.count / 10);
        Step { name: Some(name), load: Load { concurrency: in_flight, warmup, ..step.load }, ..step }
    };
    let connect = Step::new("timing sessions up to the first answer", plan, SESSIONS.min(plan.count));
    let mut steps = vec![
        Step {
            name: Some("rate"),
            load: Load { shape: Shape::AtRate(rate), ..at_rate.load },
            at_half: plan.rate.is_none(),
            cost: Cost { seconds: if plan.rate.is_none() { SECONDS as f64 } else { lasts }, factor: 1.0 },
            ..at_rate
        },
        closed("1", "taking latency with 1 in flight", 1, 10_000),
        closed("16", "taking latency with 16 in flight", 16, 100_000),
        closed("256", "taking latency with 256 in flight", 256, 200_000),
        Step {
            name: Some("connect"),
            load: Load { warmup: 0, shape: Shape::Connecting, ..connect.load },
            // Up to the first answer of an EXECUTE.
            executes_only: true,
            ..connect
        },
    ];
    // What one or a few statements in flight take does not become more by loaders.
    steps.retain(|step| plan.loaders.is_none() || matches!(step.load.shape, Shape::AtRate(_)));
    steps
}

/// Statements that are started at `rate`.
pub(crate) fn at_rate(plan: &Plan, rate: u64) -> u64 {
    rate.saturating_mul(SECONDS).clamp(1, plan.count.saturating_mul(MOST_TIMES).max(1))
}

/// The load at half of what the slowest of `drivers` reached in the timing cells of `place`, to two digits; `None` where none has
/// a throughput there.
pub(crate) fn at_half(load: Load, plan: &Plan, place: (&str, &str), drivers: &[&str], cells: &[Cell]) -> Option<Load> {
    let of = |driver: &&str| {
        let is_mine = |cell: &&Cell| {
            cell.pass == Pass::Timing
                && cell.contender == **driver
                && (cell.scenario.as_str(), cell.arrangement.as_str()) == place
                && cell.counts()
        };
        let mut rates: Vec<f64> = cells.iter().filter(is_mine).filter_map(|cell| cell.get(THROUGHPUT)).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    };
    let half = (drivers.iter().filter_map(of).min_by(f64::total_cmp)? / PART) as u64;
    let digit = 10u64.pow(half.checked_ilog10()?.saturating_sub(1));
    let rate = half / digit * digit;
    Some(Load { count: at_rate(plan, rate), shape: Shape::AtRate(rate), ..load })
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::plan::plan;
    use cqldyno_reports::{ByName, Measure, Unit};

    fn cell(contender: &str, arrangement: &str, throughput: f64) -> Cell {
        Cell {
            contender: contender.to_owned(),
            scenario: "writes".to_owned(),
            arrangement: arrangement.to_owned(),
            measures: ByName::from([(THROUGHPUT, Measure::value(throughput, Unit::PerSecond))]),
            ..Cell::default()
        }
    }

    fn rate(plan: &Plan, cells: &[Cell]) -> Option<Load> {
        let step = steps(plan).remove(0);
        match step.at_half {
            true => at_half(step.load, plan, ("writes", "current"), &["scylla", "cdrs-tokio"], cells),
            false => Some(step.load),
        }
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
        let plan = plan(&["scylla", "cdrs-tokio", "noop"], &["writes"]).with(|one| one.count = 250_000);
        let load = rate(&plan, &cells).unwrap();
        assert_eq!((load.shape, load.count), (Shape::AtRate(150_000), 450_000));
        let asked = rate(&plan.clone().with(|one| one.rate = Some(1_234)), &cells).unwrap();
        assert_eq!((asked.shape, asked.count), (Shape::AtRate(1_234), 3_702));
        let short = rate(&plan.clone().with(|one| one.count = 1_000), &cells).unwrap();
        assert_eq!((short.shape, short.count), (Shape::AtRate(150_000), 4_000));
        assert_eq!(rate(&plan, &cells[5..]), None, "no driver has a throughput here");
    }

    #[test]
    fn the_other_steps_have_their_own_number_in_flight_and_end_with_sessions() {
        let plan = plan(&["scylla"], &["writes"]).with(|one| (one.count, one.warmup) = (250_000, 20_000));
        let names: Vec<_> = steps(&plan).iter().map(|step| step.name.unwrap()).collect();
        assert_eq!(names, ["rate", "1", "16", "256", "connect"]);
        for (nth, in_flight, count, warmup) in
            [(1, 1, 10_000, 1_000), (2, 16, 100_000, 10_000), (3, 256, 200_000, 20_000)]
        {
            let load = steps(&plan)[nth].load;
            let expected = Load { count, warmup, concurrency: in_flight, shape: Shape::Closed };
            assert_eq!(load, expected);
        }
        let connecting = steps(&plan)[4].load;
        assert_eq!((connecting.shape, connecting.count, connecting.warmup), (Shape::Connecting, 20, 0));
    }
}
