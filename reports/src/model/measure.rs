//! What is read off a cell: values with their units, and one definition a measure.

use serde::{Deserialize, Serialize};

/// One figure of a cell, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Measure {
    /// What was read off.
    Value {
        /// In [`Unit`] units.
        value: f64,
        /// The value's unit.
        unit: Unit,
    },
    /// It could not be read.
    Unavailable {
        /// A full sentence: what is missing and what to change; the same one that `cqldyno doctor` gives.
        unavailable: String,
    },
}

impl Measure {
    /// A figure; one that is not finite, for example a rate over no time, is none.
    pub fn value(value: f64, unit: Unit) -> Measure {
        if value.is_finite() {
            Measure::Value { value, unit }
        } else {
            Measure::unavailable("There is no figure, because the cell had nothing to divide by.")
        }
    }

    /// No figure, and the sentence that says why.
    pub fn unavailable(why: impl Into<String>) -> Measure {
        Measure::Unavailable { unavailable: why.into() }
    }

    /// The figure, if there is one.
    pub fn get(&self) -> Option<f64> {
        match self {
            Measure::Value { value, .. } => Some(*value),
            Measure::Unavailable { .. } => None,
        }
    }

    /// The figure's unit.
    pub fn unit(&self) -> Option<Unit> {
        match self {
            Measure::Value { unit, .. } => Some(*unit),
            Measure::Unavailable { .. } => None,
        }
    }

    /// Why there is no figure.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Measure::Value { .. } => None,
            Measure::Unavailable { unavailable } => Some(unavailable),
        }
    }
}

/// The unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// A number of things, or of things a statement.
    #[serde(rename = "1")]
    Count,
    /// Things a second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Hundredths of a whole.
    #[serde(rename = "%")]
    Percent,
}

impl Unit {
    /// As it stands in files.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Microseconds => "us",
            Unit::Bytes => "B",
            Unit::Count => "1",
            Unit::PerSecond => "1/s",
            Unit::Percent => "%",
        }
    }
}

/// Which way a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither: it describes or checks the cell.
    Neither,
}

/// What is known of a measure beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The key in [`crate::Cell::measures`].
    pub id: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
    /// The pass whose cells have it.
    pub pass: crate::Pass,
    /// What it is, in a few words.
    pub about: &'static str,
}

/// Time from `go`, on which the first statement is issued, to the last answer.
pub const WALL: &str = "wall";
/// CPU time of the worker in user mode.
pub const USER: &str = "user";
/// CPU time of the worker in the kernel.
pub const SYS: &str = "sys";
/// CPU time of the worker a verified statement.
pub const CPU_PER_STATEMENT: &str = "cpu_per_statement";
/// Verified statements a second.
pub const THROUGHPUT: &str = "throughput";
/// System calls of the worker in the window.
pub const SYSCALLS: &str = "syscalls";
/// System calls of the worker a verified statement.
pub const SYSCALLS_PER_STATEMENT: &str = "syscalls_per_statement";
/// Context switches of the worker, voluntary and not.
pub const CONTEXT_SWITCHES: &str = "context_switches";
/// The worker's peak resident memory in the window.
pub const PEAK_RSS: &str = "peak_rss";
/// CPU time of the server in the window.
pub const SERVER_CPU: &str = "server_cpu";
/// CPU time of the server a verified statement.
pub const SERVER_CPU_PER_STATEMENT: &str = "server_cpu_per_statement";
/// EXECUTEs of the scenario's prepared ids that the server counted.
pub const SERVER_EXECUTES: &str = "server_executes";
/// Other requests that the server counted in the window: the driver's own.
pub const CONTROL_REQUESTS: &str = "control_requests";
/// Statements that the worker issued.
pub const STATEMENTS: &str = "statements";
/// Statements answered as the scenario says.
pub const VERIFIED: &str = "verified";
/// Statements answered with an error or a wrong row.
pub const ERRORS: &str = "errors";
/// Data connections: those that carried the scenario's EXECUTEs.
pub const CONNECTIONS: &str = "connections";
/// Threads of the worker at the end of the window.
pub const THREADS: &str = "threads";
/// Statements issued while fewer than 99 % of the slots were at work.
pub const BELOW_CONCURRENCY: &str = "below_concurrency";

/// CPU time of the worker, in hundredths of what the cores that it may use had in the window.
pub const WORKER_UTILISATION: &str = "worker_utilisation";
/// CPU time of the server, in hundredths of what the cores that it may use had in the window.
pub const SERVER_UTILISATION: &str = "server_utilisation";
/// Frames that the server found in one read of a data connection: the mean over the window.
pub const FRAMES_PER_READ: &str = "frames_per_read";
/// Bytes that one read of a data connection gave the server: the mean over the window.
pub const BYTES_PER_READ: &str = "bytes_per_read";

/// Every measure that a meter gives, in the order in which they are listed. A cell may have others: an exporter that lists all
/// measures takes them as they come.
pub const DEFINITIONS: &[Definition] = {
    use crate::Pass::{Counting, Timing};
    use Better::{Higher, Lower, Neither};
    use Unit::{Bytes, Count, Microseconds, PerSecond, Seconds};
    &[
        define(WALL, Seconds, Lower, Timing, "time from the parent's go to the last answer"),
        define(USER, Seconds, Lower, Timing, "the worker's CPU time in user mode"),
        define(SYS, Seconds, Lower, Timing, "the worker's CPU time in the kernel"),
        define(CPU_PER_STATEMENT, Microseconds, Lower, Timing, "the worker's CPU time a verified statement"),
        define(THROUGHPUT, PerSecond, Higher, Timing, "verified statements a second"),
        define(SYSCALLS, Count, Lower, Counting, "the worker's system calls"),
        define(SYSCALLS_PER_STATEMENT, Count, Lower, Counting, "the worker's system calls a verified statement"),
        define(CONTEXT_SWITCHES, Count, Lower, Timing, "the worker's context switches"),
        define(PEAK_RSS, Bytes, Lower, Timing, "the worker's peak resident memory"),
        define(SERVER_CPU, Seconds, Neither, Timing, "the server's CPU time"),
        define(SERVER_CPU_PER_STATEMENT, Microseconds, Lower, Timing, "the server's CPU time a verified statement"),
        define(SERVER_EXECUTES, Count, Neither, Timing, "EXECUTEs of the scenario that the server counted"),
        define(CONTROL_REQUESTS, Count, Neither, Timing, "other requests that the server counted"),
        define(STATEMENTS, Count, Neither, Timing, "statements that the worker issued"),
        define(VERIFIED, Count, Higher, Timing, "statements answered as the scenario says"),
        define(ERRORS, Count, Lower, Timing, "statements answered with an error or a wrong row"),
        define(CONNECTIONS, Count, Neither, Timing, "connections that carried the scenario's statements"),
        define(THREADS, Count, Neither, Timing, "threads of the worker"),
        define(BELOW_CONCURRENCY, Count, Lower, Timing, "statements issued below 99 % of the concurrency"),
    ]
};

/// Measures that are derived from what the meters and the server say of a cell, where that is known: a cell may lack them.
pub const DERIVED: &[Definition] = {
    use crate::Pass::Timing;
    use Better::Neither;
    use Unit::{Bytes, Count, Percent};
    &[
        define(
            WORKER_UTILISATION,
            Percent,
            Neither,
            Timing,
            "the worker's CPU time in that of the cores its threads can use",
        ),
        define(SERVER_UTILISATION, Percent, Neither, Timing, "the server's CPU time in that of the cores it can use"),
        define(FRAMES_PER_READ, Count, Neither, Timing, "frames that a read of the server found, the mean"),
        define(BYTES_PER_READ, Bytes, Neither, Timing, "bytes that a read of the server gave, the mean"),
    ]
};

/// A measure as a run tells it: what its meters declare, so that a reader knows measures of which it never heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MeasureInfo {
    /// The key in [`crate::Cell::measures`].
    pub id: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
    /// The pass whose cells have it; timing where every cell has it.
    pub pass: crate::Pass,
    /// What it is, in a few words.
    pub about: String,
    /// The heading of its column in tables that show what their readers did not ask for by name; absent where no table shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

impl From<&Definition> for MeasureInfo {
    fn from(known: &Definition) -> MeasureInfo {
        let Definition { id, unit, better, pass, about } = *known;
        MeasureInfo { id: id.to_owned(), unit, better, pass, about: about.to_owned(), column: None }
    }
}

const fn define(id: &'static str, unit: Unit, better: Better, pass: crate::Pass, about: &'static str) -> Definition {
    Definition { id, unit, better, pass, about }
}

/// Every measure of this version, in the order in which they are listed: [`DEFINITIONS`], then [`DERIVED`].
pub fn definitions() -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter().chain(DERIVED)
}

/// What is known of the measure `id`.
pub fn definition(id: &str) -> Option<&'static Definition> {
    definitions().find(|definition| definition.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_a_value_with_its_unit_or_a_reason() {
        let value = Measure::value(1.5, Unit::Microseconds);
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"value":1.5,"unit":"us"}"#);
        let none = Measure::unavailable("No.");
        assert_eq!(serde_json::to_string(&none).unwrap(), r#"{"unavailable":"No."}"#);
        for measure in [value, none] {
            let text = serde_json::to_string(&measure).unwrap();
            assert_eq!(serde_json::from_str::<Measure>(&text).unwrap(), measure);
        }
    }

    #[test]
    fn a_figure_that_is_not_finite_is_none() {
        assert_eq!(Measure::value(f64::NAN, Unit::Count).get(), None);
        assert_eq!(Measure::value(1.0 / 0.0, Unit::Count).get(), None);
    }

    #[test]
    fn the_symbol_of_a_unit_is_what_stands_in_files() {
        for definition in definitions() {
            let json = serde_json::to_string(&definition.unit).unwrap();
            assert_eq!(json, format!("\"{}\"", definition.unit.symbol()));
        }
    }
}
