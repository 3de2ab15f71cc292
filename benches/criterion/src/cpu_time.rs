//! CPU time as criterion's measurement.

use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use nix::time::{ClockId, clock_gettime};

use crate::or_leave;

/// User and system time of all threads of this process (`CLOCK_PROCESS_CPUTIME_ID`). Other processes change it only through the
/// caches.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTime;

impl CpuTime {
    /// What the process has used so far.
    pub fn now() -> Duration {
        or_leave(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)).into()
    }

    /// What `work` uses, and what it gives.
    pub fn of<T>(work: impl FnOnce() -> T) -> (Duration, T) {
        let before = CpuTime::now();
        let given = work();
        (CpuTime::now().saturating_sub(before), given)
    }
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        CpuTime::now()
    }

    fn end(&self, start: Duration) -> Duration {
        CpuTime::now().saturating_sub(start)
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
