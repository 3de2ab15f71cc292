//! Latency below saturation, from the worker's account.

use std::collections::BTreeMap;

use cqldyno_measure::least_for;

use crate::meter::from_worker;
use crate::{Better, Declaration, Meter, Outcome, Pass, Unit, Window};

/// Percentiles, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// Of how many statements.
    pub count: u64,
    /// Half took at most this.
    pub p50: f64,
    /// 90 % took at most this.
    pub p90: f64,
    /// 99 % took at most this.
    pub p99: f64,
    /// 99.9 % took at most this.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

impl Percentiles {
    /// The percentile of this share, or why so few statements have none.
    pub(crate) fn beyond(&self, share: f64, value: f64) -> Result<f64, String> {
        let least = least_for(share);
        match self.count >= least {
            true => Ok(value),
            false => Err(format!(
                "Of {} statements there is no {}th percentile: it needs {least}, of which one took longer.",
                self.count,
                (share * 1e3).round() / 10.0
            )),
        }
    }
}

/// The latencies of a window.
#[derive(Clone, Debug, PartialEq)]
pub enum Latencies {
    /// Every answer was followed by the next statement.
    ClosedLoop {
        /// Statements in flight.
        in_flight: usize,
        /// From issue to answer.
        driver: Percentiles,
    },
    /// Statements were started at a rate.
    AtRate {
        /// Statements per second that the job asked for.
        rate: u64,
        /// Statements answered.
        answered: u64,
        /// From the first intended start to the last answer, nanoseconds.
        lasted_ns: u64,
        /// From the intended start to the answer.
        response: Percentiles,
        /// From the issue to the answer.
        driver: Percentiles,
        /// From the intended start to the issue.
        lateness: Percentiles,
        /// Statements issued late.
        late: u64,
    },
    /// Every statement had a session of its own.
    Connecting {
        /// From connecting to the answer.
        first_answer: Percentiles,
    },
}

/// Below this share of the rate it was not held.
const HELD: f64 = 0.99;

const MEASURES: [Declaration; 23] = [
    at("rate", Unit::PerSecond, Better::Neither, "statements per second that all contenders were asked for")
        .titled("asked\n/s"),
    at("rate_held", Unit::Percent, Better::Higher, "statements answered per second, in percent of those asked for")
        .titled("held\n%"),
    time("response_p50", "response time, from the intended start: median").titled("response\np50 us"),
    time("response_p90", "response time, from the intended start: 90th percentile"),
    time("response_p99", "response time, from the intended start: 99th percentile").titled("response\np99 us"),
    time("response_p999", "response time, from the intended start: 99.9th percentile").titled("response\np99.9 us"),
    time("response_max", "response time, from the intended start: longest").titled("response\nmax us"),
    time("driver_p50", "time from issue to answer, at the rate: median").titled("driver\np50 us"),
    time("driver_p99", "time from issue to answer, at the rate: 99th percentile").titled("driver\np99 us"),
    time("driver_p999", "time from issue to answer, at the rate: 99.9th percentile"),
    time("driver_max", "time from issue to answer, at the rate: longest"),
    time("lateness_p50", "time from the intended start to the issue: median").titled("start\np50 us"),
    time("lateness_p99", "time from the intended start to the issue: 99th percentile"),
    time("lateness_max", "time from the intended start to the issue: longest"),
    at("late_share", Unit::Percent, Better::Lower, "statements issued more than a millisecond late").titled("late\n%"),
    time("service_1_p50", "time to the answer, 1 in flight: median").titled("1 in flight\np50 us"),
    time("service_1_p99", "time to the answer, 1 in flight: 99th percentile").titled("1 in flight\np99 us"),
    time("service_16_p50", "time to the answer, 16 in flight: median").titled("16 in flight\np50 us"),
    time("service_16_p99", "time to the answer, 16 in flight: 99th percentile").titled("16 in flight\np99 us"),
    time("service_256_p50", "time to the answer, 256 in flight: median").titled("256 in flight\np50 us"),
    time("service_256_p99", "time to the answer, 256 in flight: 99th percentile").titled("256 in flight\np99 us"),
    time("connect_to_first_answer", "time from connecting to the first answer: median").titled("connect\np50 us"),
    time("connect_to_first_answer_max", "time from connecting to the first answer: longest").titled("connect\nmax us"),
];

const fn at(id: &'static str, unit: Unit, better: Better, about: &'static str) -> Declaration {
    Declaration::new(Pass::Latency, id, unit, better, about)
}

const fn time(id: &'static str, about: &'static str) -> Declaration {
    at(id, Unit::Microseconds, Better::Lower, about)
}

/// Times of answers at a rate that all contenders share, with 1, 16 and 256 statements in flight, and up to a session's first
/// answer. A cell has those of its step only.
pub const LATENCY: Meter = Meter::new("latency", &MEASURES, |_| from_worker(figures));

fn figures(window: &Window) -> Outcome {
    let mut values: BTreeMap<String, Result<f64, String>> = BTreeMap::new();
    let mut tell = |id: &str, value: Result<f64, String>| drop(values.insert(id.to_owned(), value));
    let mut findings = Vec::new();
    match &window.latencies {
        None => {}
        Some(Latencies::ClosedLoop { in_flight, driver }) => {
            tell(&format!("service_{in_flight}_p50"), Ok(driver.p50));
            tell(&format!("service_{in_flight}_p99"), driver.beyond(0.99, driver.p99));
        }
        Some(Latencies::Connecting { first_answer }) => {
            tell("connect_to_first_answer", Ok(first_answer.p50));
            tell("connect_to_first_answer_max", Ok(first_answer.max));
        }
        Some(Latencies::AtRate { rate, answered, lasted_ns, response, driver, lateness, late }) => {
            // The last statement has its interval, too: of n on time, n - 1 intervals lie before it.
            let interval_ns = 1e9 / (*rate).max(1) as f64;
            let kept = *answered as f64 * 1e9 / (*lasted_ns as f64 + interval_ns);
            tell("rate", Ok(*rate as f64));
            tell("rate_held", Ok((100.0 * kept / (*rate).max(1) as f64).min(100.0)));
            tell("late_share", Ok(100.0 * *late as f64 / (*answered).max(1) as f64));
            tell("response_p90", response.beyond(0.9, response.p90));
            for (name, times) in [("response", response), ("driver", driver), ("lateness", lateness)] {
                tell(&format!("{name}_p50"), Ok(times.p50));
                tell(&format!("{name}_p99"), times.beyond(0.99, times.p99));
                tell(&format!("{name}_p999"), times.beyond(0.999, times.p999));
                tell(&format!("{name}_max"), Ok(times.max));
            }
            findings.extend(not_held(*rate, *answered, *lasted_ns as f64 + interval_ns, kept));
        }
    }
    let values = MEASURES.map(|measure| values.remove(measure.id));
    Outcome { findings, ..Outcome::of_those(&MEASURES, values) }
}

/// A sentence if the rate was not held. Then the queue grows until the window ends, and response times say more of the length
/// of the window than of the driver.
fn not_held(rate: u64, answered: u64, lasted_ns: f64, kept: f64) -> Option<String> {
    let intended_ns = answered as f64 * 1e9 / rate.max(1) as f64;
    let behind_ns = lasted_ns - intended_ns;
    (kept < HELD * rate as f64).then(|| {
        format!(
            "The rate of {rate} statements/s was not held: {kept:.0}/s were answered, the last one {:.3} s late. The response times \
             grow with the window.",
            behind_ns / 1e9
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    const TIMES: Percentiles = Percentiles { count: 2_000, p50: 50.0, p90: 90.0, p99: 99.0, p999: 99.9, max: 200.0 };

    fn read(latencies: Option<Latencies>) -> (BTreeMap<&'static str, f64>, Vec<String>) {
        let outcome = figures(&Window { latencies, ..window() });
        let values = outcome.readings.iter().map(|reading| (reading.measure.id, reading.value.clone().unwrap()));
        (values.collect(), outcome.findings)
    }

    fn at_rate(lasted_ns: u64) -> Latencies {
        Latencies::AtRate {
            rate: 1_000,
            answered: 2_000,
            lasted_ns,
            response: TIMES,
            driver: Percentiles { p50: 40.0, ..TIMES },
            lateness: Percentiles { p50: 10.0, ..TIMES },
            late: 20,
        }
    }

    #[test]
    fn each_step_has_its_own_measures_and_no_others() {
        let (values, findings) = read(Some(at_rate(2_000_100_000)));
        assert_eq!((values["response_p50"], values["driver_p50"], values["lateness_p50"]), (50.0, 40.0, 10.0));
        assert_eq!((values["response_p999"], values["response_max"], values["late_share"]), (99.9, 200.0, 1.0));
        assert!((99.9..100.0).contains(&values["rate_held"]), "{values:?}");
        assert_eq!((values.len(), findings), (15, vec![]));
        let (values, _) = read(Some(Latencies::ClosedLoop { in_flight: 16, driver: TIMES }));
        assert_eq!(values.into_iter().collect::<Vec<_>>(), [("service_16_p50", 50.0), ("service_16_p99", 99.0)]);
        let (values, _) = read(Some(Latencies::Connecting { first_answer: TIMES }));
        let of_connecting = [("connect_to_first_answer", 50.0), ("connect_to_first_answer_max", 200.0)];
        assert_eq!(values.into_iter().collect::<Vec<_>>(), of_connecting);
        assert!(read(None).0.is_empty());
    }

    #[test]
    fn a_schedule_that_was_kept_is_no_more_than_held_and_few_statements_have_no_high_percentiles() {
        // Three statements, a second apart, and the answer to the last one at once.
        let few = Percentiles { count: 3, ..TIMES };
        let kept = Latencies::AtRate {
            rate: 1,
            answered: 3,
            lasted_ns: 2_000_000_000,
            response: few,
            driver: few,
            lateness: few,
            late: 0,
        };
        let outcome = figures(&Window { latencies: Some(kept), ..window() });
        let of = |id: &str| outcome.readings.iter().find(|one| one.measure.id == id).unwrap().value.clone();
        assert_eq!((of("rate_held"), of("response_p50"), of("response_max")), (Ok(100.0), Ok(50.0), Ok(200.0)));
        assert_eq!(outcome.findings, [""; 0]);
        let why = |percentile, least| {
            format!(
                "Of 3 statements there is no {percentile}th percentile: it needs {least}, of which one took longer."
            )
        };
        assert_eq!((of("response_p99"), of("driver_p999")), (Err(why("99", 100)), Err(why("99.9", 1_000))));
        let of = |count| Percentiles { count, ..TIMES }.beyond(0.999, 1.0).is_ok();
        assert!(of(1_000) && !of(999));
    }

    #[test]
    fn a_rate_that_was_not_held_is_said_with_both_numbers() {
        assert_eq!(read(Some(at_rate(2_019_000_000))).1, [""; 0]);
        let (values, findings) = read(Some(at_rate(2_499_000_000)));
        assert!((values["rate_held"] - 80.0).abs() < 0.001, "{values:?}");
        assert_eq!(
            findings,
            [
                "The rate of 1000 statements/s was not held: 800/s were answered, the last one 0.500 s late. The response times grow \
                 with the window."
            ]
        );
    }
}
