//! What the parts of cqldyno cost, by criterion: `cargo bench -p cqldyno-criterion` prints all of it, with `--bench NAME` one
//! of these, and with `-- --quick` in ten seconds and less exactly.
//!
//! - `harness`: what the load generator costs a statement, and single parts of it;
//! - `codec`: EXECUTE and RESULT, encoded and decoded by `floor` and by the embedded node, and all that the node does for an
//!   EXECUTE but reading from and writing to a socket;
//! - `statistics`: intervals and verdicts over 10,000 cells.
//!
//! `harness` and `codec` print CPU time of the process, all threads together, per statement or call; `statistics` wall time.
#![deny(missing_docs)]

mod cpu_time;
mod exchange;

use std::fmt::Display;
use std::process;
use std::time::Duration;

use criterion::Criterion;

pub use cpu_time::CpuTime;
pub use exchange::{Exchange, ExchangeError, IN_FLIGHT, Kind, ROWS, Requests};

/// Criterion by CPU time, with measurements short enough that all of them together take a few minutes.
pub fn by_cpu_time() -> Criterion<CpuTime> {
    Criterion::default()
        .with_measurement(CpuTime)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
}

/// What `result` holds; an error ends the process with its text, because criterion has no way to take one.
pub fn or_leave<T, E: Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| {
        eprintln!("Error: {error}");
        process::exit(1)
    })
}
