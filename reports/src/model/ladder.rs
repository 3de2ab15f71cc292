//! What a ladder is asked: a percentile of response times, and the time that it is to stay below.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The percentiles of a ladder: as they are written, the measure, and the share; a maximum needs no least number of statements.
pub const PERCENTILES: [(&str, &str, Option<f64>); 5] = [
    ("p50", "response_p50", None),
    ("p90", "response_p90", Some(0.9)),
    ("p99", "response_p99", Some(0.99)),
    ("p99.9", "response_p999", Some(0.999)),
    ("max", "response_max", None),
];

/// The bound of a ladder, and how long each of its steps lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LadderInfo {
    /// The measure that must stay below the bound, for example `response_p99`.
    pub meter: String,
    /// The bound in microseconds.
    pub below_us: f64,
    /// For how long a step starts statements, in milliseconds.
    pub lasts_ms: u64,
}

impl LadderInfo {
    /// The percentile as it is written, for example `p99`.
    pub fn percentile(&self) -> &str {
        PERCENTILES.iter().find(|(_, meter, _)| *meter == self.meter).map_or(&self.meter, |(name, ..)| name)
    }

    /// Statements that a step starts at that rate.
    pub fn statements(&self, rate: u64) -> u64 {
        rate.saturating_mul(self.lasts_ms).div_ceil(1_000)
    }

    /// The bound as it is written, for example `5ms`.
    pub fn bound(&self) -> String {
        time(self.below_us)
    }
}

/// A time in microseconds as it is written on a command line, for example `300us` or `0.2ms`.
pub(crate) fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{}s", us / 1e6),
        us if us >= 100.0 && us % 100.0 == 0.0 => format!("{}ms", us / 1e3),
        us => format!("{us}us"),
    }
}

/// A delay of answers in nanoseconds as it is written, for example `0.2ms` or `0`.
pub(crate) fn delay(ns: u64) -> String {
    if ns == 0 { "0".to_owned() } else { time(ns as f64 / 1e3) }
}

/// As `--ladder` takes it, for example `p99<5ms`.
impl fmt::Display for LadderInfo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}<{}", self.percentile(), self.bound())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_written_as_it_is_asked_for() {
        let written = |meter: &str, below_us| LadderInfo { meter: meter.to_owned(), below_us, lasts_ms: 1 }.to_string();
        assert_eq!(written("response_p99", 5_000.0), "p99<5ms");
        assert_eq!(written("response_p999", 250.0), "p99.9<250us");
        assert_eq!(written("response_max", 1.5e6), "max<1.5s");
        assert_eq!([time(200.0), time(12.5), delay(0), delay(1_000_000)], ["0.2ms", "12.5us", "0", "1ms"]);
    }
}
