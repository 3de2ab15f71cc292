//! The worker of scylla with a known cost added, to try what a comparison makes of it: with `burning+burn=60` each statement takes 60 ns
//! more on average. `burst=20000/80000` spends that in one block of 20,000 of every 80,000 statements, and `burst=1/250000` all at once. Each
//! session begins at another block.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use cqldyno_driver_api::{
    BatchRows, ConnectOptions, Driver, DriverError, DriverInfo, DriverOption, ErrorKind, Rows, Session, Setting, Value,
};
use cqldyno_driver_scylla::Scylla;

const BURN: &str = "burn";
const BURST: &str = "burst";
/// So many steps of the loop took a nanosecond on the machine of 2026-11-23. The number is fixed: what a process measures for itself
/// depends on what slows it then, and processes would differ by that.
const STEPS_PER_NS: f64 = 3.0;

/// A loop of arithmetic that no compiler takes out.
fn burn(steps: u64) {
    let mut mixed = steps;
    for step in 0..steps {
        mixed = black_box(mixed ^ step);
    }
}

#[derive(Default)]
struct Burning {
    scylla: Scylla,
}

struct BurningSession {
    scylla: <Scylla as Driver>::Session,
    /// Statements so far, the warm-up's too, from the number that this session begins at.
    executed: AtomicU64,
    /// Steps per statement, in so many of how many.
    steps: u64,
    burst: (u64, u64),
}

/// Steps per statement that burns, and which ones do.
fn costs(options: &ConnectOptions) -> Result<(u64, (u64, u64)), DriverError> {
    let (burnt, burst) = (options.option(BURN).unwrap_or("0"), options.option(BURST).unwrap_or("1/1"));
    let of = burst.split_once('/').and_then(|(some, all)| Some((some.parse().ok()?, all.parse().ok()?)));
    let (Ok(ns), Some((some, all))) = (burnt.parse::<u32>(), of.filter(|(some, all)| 0 < *some && some <= all)) else {
        let message =
            format!("burning was asked for `{BURN}={burnt}` and `{BURST}={burst}`; write nanoseconds, and N/M");
        return Err(DriverError::new(ErrorKind::Other, message));
    };
    Ok(((f64::from(ns) * STEPS_PER_NS * all as f64 / some as f64) as u64, (some, all)))
}

impl Driver for Burning {
    type Session = BurningSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        let told = self.scylla.describe()?;
        let mut options = told.options.unwrap_or_default();
        options.extend([
            DriverOption::new(BURN, "NS", "0", "CPU time that a statement costs more, in nanoseconds of a fast core."),
            DriverOption::new(BURST, "N/M", "1/1", "N of every M statements burn what all M are to cost more."),
        ]);
        Ok(DriverInfo { name: "burning".to_owned(), options: Some(options), ..told })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        self.scylla.settings(options)
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<BurningSession, DriverError> {
        let (steps, burst) = costs(options)?;
        let mut options = options.clone();
        [BURN, BURST].iter().for_each(|option| drop(options.options.remove(*option)));
        let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| u64::from(since.subsec_nanos()));
        let first = burst.0 * (now % (burst.1 / burst.0));
        Ok(BurningSession {
            scylla: self.scylla.connect(&options).await?,
            executed: AtomicU64::new(first),
            steps,
            burst,
        })
    }

    async fn settle(&self, options: &ConnectOptions) {
        self.scylla.settle(options).await;
    }
}

impl Session for BurningSession {
    type Statement = <<Scylla as Driver>::Session as Session>::Statement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        self.scylla.query(cql).await
    }

    async fn prepare(&self, cql: &str) -> Result<Self::Statement, DriverError> {
        self.scylla.prepare(cql).await
    }

    async fn execute(
        &self,
        statement: &Self::Statement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<(), DriverError> {
        let (some, all) = self.burst;
        if self.executed.fetch_add(1, Ordering::Relaxed) % all < some {
            burn(self.steps);
        }
        self.scylla.execute(statement, values, rows).await
    }

    async fn batch(&self, statement: &Self::Statement, rows: BatchRows<'_>) -> Result<(), DriverError> {
        self.scylla.batch(statement, rows).await
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        self.scylla.query_values(cql, values, rows).await
    }
}

fn main() -> ExitCode {
    cqldyno_worker::main::<Burning>()
}
