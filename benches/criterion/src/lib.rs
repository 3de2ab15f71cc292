//! What the parts of cqldyno cost, with criterion. `cargo bench -p cqldyno-criterion` prints all of it; `--bench NAME` selects
//! one, and `-- --quick` takes ten seconds.
//!
//! - `harness`: the load generator per statement, and its parts;
//! - `codec`: EXECUTE and RESULT in `floor` and in the embedded node, and the node's work per EXECUTE without sockets;
//! - `statistics`: intervals and verdicts over 10,000 cells.
//!
//! `harness` and `codec` print CPU time of all threads per statement or call; `statistics` prints wall time.
#![deny(missing_docs)]

mod cpu_time;
mod exchange;

use std::fmt::Display;
use std::process;
use std::time::Duration;

use criterion::Criterion;

pub use cpu_time::CpuTime;
pub use exchange::{Exchange, ExchangeError, IN_FLIGHT, Kind, ROWS, Requests};

/// Criterion with CPU time, and measurements so short that all together take a few minutes.
pub fn by_cpu_time() -> Criterion<CpuTime> {
    Criterion::default()
        .with_measurement(CpuTime)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
}

/// The value of `result`; an error ends the process with its text, because criterion takes none.
pub fn or_leave<T, E: Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| {
        eprintln!("Error: {error}");
        process::exit(1)
    })
}
