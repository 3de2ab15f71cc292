//! The window's edges as the process itself sees them.

use std::time::Instant;

use cqldyno_protocol::End;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Monotonic time and the process' resource usage at one moment.
pub(crate) struct Edge {
    at: Instant,
    usage: Option<Usage>,
}

impl Edge {
    /// The edge where the window begins: the clock is read last, so that reading the usage is not in the window's time.
    pub(crate) fn begin() -> Edge {
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        Edge { at: Instant::now(), usage }
    }

    /// What passed from this edge until now; the clock is read first. A usage that the system refuses counts as 0, which
    /// the parent's own reading contradicts.
    pub(crate) fn until_now(&self) -> End {
        let wall = self.at.elapsed();
        let now = getrusage(UsageWho::RUSAGE_SELF).ok();
        let difference = |of: fn(&Usage) -> i64| match (&self.usage, &now) {
            (Some(before), Some(after)) => u64::try_from(of(after) - of(before)).unwrap_or(0),
            _ => 0,
        };
        End {
            wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
            user_us: difference(|usage| microseconds(usage.user_time())),
            sys_us: difference(|usage| microseconds(usage.system_time())),
            voluntary_switches: difference(Usage::voluntary_context_switches),
            involuntary_switches: difference(Usage::involuntary_context_switches),
            minor_faults: difference(Usage::minor_page_faults),
            major_faults: difference(Usage::major_page_faults),
        }
    }
}

fn microseconds(time: TimeVal) -> i64 {
    time.tv_sec() * 1_000_000 + time.tv_usec()
}

/// The number of threads of this process, 0 where the system does not say (no /proc).
pub(crate) fn threads() -> u64 {
    std::fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_sees_the_cpu_time_and_the_wall_time_that_were_spent() {
        let begin = Edge::begin();
        let mut sum = 0u64;
        while begin.at.elapsed().as_millis() < 30 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let end = begin.until_now();
        assert!(end.wall_ns >= 30_000_000, "{end:?}");
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
