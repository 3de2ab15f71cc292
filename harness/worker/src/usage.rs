//! The window's edges as the process itself sees them.

use std::io;

use cqldyno_protocol::End;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::time::{ClockId, clock_gettime};

/// Monotonic time and the process' resource usage at one moment.
pub struct Edge {
    at_ns: u64,
    usage: Usage,
}

impl Edge {
    /// The edge where the window begins. The clock is read last, so that reading the usage is not in the window's time.
    ///
    /// # Errors
    /// When the system does not tell the usage or the time.
    pub fn begin() -> io::Result<Edge> {
        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        Ok(Edge { at_ns: monotonic_ns()?, usage })
    }

    /// The difference from this edge until now; the clock is read first.
    ///
    /// # Errors
    /// As [`Edge::begin`].
    pub fn until_now(&self) -> io::Result<End> {
        let at_ns = monotonic_ns()?;
        let now = getrusage(UsageWho::RUSAGE_SELF)?;
        let difference = |of: fn(&Usage) -> i64| u64::try_from(of(&now) - of(&self.usage)).unwrap_or(0);
        Ok(End {
            wall_ns: at_ns.saturating_sub(self.at_ns),
            at_ns: Some(at_ns),
            user_us: difference(|usage| microseconds(usage.user_time())),
            sys_us: difference(|usage| microseconds(usage.system_time())),
            voluntary_switches: difference(Usage::voluntary_context_switches),
            involuntary_switches: difference(Usage::involuntary_context_switches),
            minor_faults: difference(Usage::minor_page_faults),
            major_faults: difference(Usage::major_page_faults),
        })
    }
}

/// The clock that all processes of a machine share, and that `std::time::Instant` reads, too.
fn monotonic_ns() -> io::Result<u64> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.num_nanoseconds().unsigned_abs())
}

fn microseconds(time: TimeVal) -> i64 {
    time.tv_sec() * 1_000_000 + time.tv_usec()
}

/// The number of threads of this process; 0 without /proc.
pub fn threads() -> u64 {
    std::fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_sees_the_cpu_time_and_the_wall_time_that_were_spent() {
        let begin = Edge::begin().unwrap();
        let started = std::time::Instant::now();
        let mut sum = 0u64;
        while started.elapsed().as_millis() < 30 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let end = begin.until_now().unwrap();
        assert!(end.wall_ns >= 30_000_000, "{end:?}");
        assert_eq!(end.at_ns, Some(begin.at_ns + end.wall_ns));
        assert!(end.user_us + end.sys_us > 0, "{end:?}");
    }

    #[test]
    fn threads_are_counted() {
        let before = threads();
        assert!(before >= 1);
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || receive.recv());
        assert!(threads() >= 2);
        drop(send);
        let _ = thread.join();
    }
}
