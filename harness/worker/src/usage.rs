//! The window's edges as the process itself sees them.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use cqldyno_protocol::{End, Steady};
use nix::libc::clockid_t;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
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
            user_us: difference(|usage| usage.user_time().num_microseconds()),
            sys_us: difference(|usage| usage.system_time().num_microseconds()),
            voluntary_switches: difference(Usage::voluntary_context_switches),
            involuntary_switches: difference(Usage::involuntary_context_switches),
            minor_faults: difference(Usage::minor_page_faults),
            major_faults: difference(Usage::major_page_faults),
            steady: None,
        })
    }
}

/// Monotonic time and the CPU time of each thread at a moment inside the window.
///
/// getrusage would miss up to a tick of every thread that is running on another core, which is several percent of a short turn.
#[derive(Debug)]
pub(crate) struct Moment {
    at_ns: u64,
    cpu_ns: Vec<(i32, u64)>,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        Moment::of(&tasks())
    }

    /// A later moment of the same process. Threads that are new are looked for when the clocks of the others were read.
    pub(crate) fn later(&self) -> Moment {
        let known: Vec<i32> = self.cpu_ns.iter().map(|(task, _)| *task).collect();
        let mut moment = Moment::of(&known);
        moment.cpu_ns.extend(Moment::of(&tasks()).cpu_ns.into_iter().filter(|(task, _)| !known.contains(task)));
        moment
    }

    fn of(tasks: &[i32]) -> Moment {
        let cpu_ns = tasks.iter().filter_map(|task| Some((*task, thread_cpu_ns(*task)?))).collect();
        Moment { at_ns: monotonic_ns().unwrap_or(0), cpu_ns }
    }

    /// Time and CPU time of all threads since `earlier`, in nanoseconds; `None` if one of them is gone, or a clock cannot be read.
    pub(crate) fn since(&self, earlier: &Moment) -> Option<(u64, u64)> {
        let now: BTreeMap<i32, u64> = self.cpu_ns.iter().copied().collect();
        let was: BTreeMap<i32, u64> = earlier.cpu_ns.iter().copied().collect();
        let is_whole = !was.is_empty() && was.keys().all(|task| now.contains_key(task));
        let used = now.iter().map(|(task, now)| now.saturating_sub(was.get(task).copied().unwrap_or(0))).sum();
        is_whole.then(|| (self.at_ns.saturating_sub(earlier.at_ns), used))
    }
}

/// A turn is steady when its slots have taken so many rounds of tickets.
const FIRST_EDGE: u64 = 2;
/// A turn of fewer rounds would be mostly edges.
const LEAST_ROUNDS: u64 = 8;

/// The edges of a turn, on which not all slots are at work: its first two rounds of tickets, and what is in flight when the last one is
/// taken.
#[derive(Debug)]
pub struct Edges {
    /// The tickets between the edges. Whoever takes the first one of these, or the last, notes the moment.
    steady: Range<u64>,
    moments: [OnceLock<Moment>; 2],
}

impl Default for Edges {
    fn default() -> Edges {
        // No ticket has this number.
        Edges { steady: u64::MAX..u64::MAX, moments: Default::default() }
    }
}

impl Edges {
    /// Those of a turn of these tickets, if it is long enough for so many slots.
    pub fn of(tickets: Range<u64>, slots: usize) -> Edges {
        let round = slots as u64;
        if tickets.end - tickets.start < LEAST_ROUNDS * round {
            return Edges::default();
        }
        Edges { steady: tickets.start + FIRST_EDGE * round..tickets.end - 1, ..Edges::default() }
    }

    /// Whether the ticket lies before the end of the first edge; never without edges.
    #[inline]
    pub fn is_first(&self, ticket: u64) -> bool {
        self.steady.end != u64::MAX && ticket <= self.steady.start
    }

    /// Notes the moment if these tickets, which a slot has just taken, are at an edge.
    #[inline]
    pub fn pass(&self, taken: Range<u64>) {
        if taken.contains(&self.steady.start) || taken.contains(&self.steady.end) {
            self.note(taken.contains(&self.steady.end));
        }
    }

    #[cold]
    #[inline(never)]
    fn note(&self, is_last: bool) {
        let [first, last] = &self.moments;
        // Each is passed once.
        let _ = match first.get().filter(|_| is_last) {
            Some(first) => last.set(first.later()),
            None => first.set(Moment::now()),
        };
    }

    /// What there was between the edges; `None` without edges, or if the system did not tell the CPU time.
    pub fn steady(&self) -> Option<Steady> {
        let [first, last] = &self.moments;
        let (wall_ns, cpu_ns) = last.get()?.since(first.get()?)?;
        Some(Steady { wall_ns, cpu_ns, statements: self.steady.end - self.steady.start })
    }
}

/// CPU time of a thread of this process, exact also while it runs on another core; `None` if it is gone.
fn thread_cpu_ns(task: i32) -> Option<u64> {
    // The kernel's encoding of a thread's clock (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED).
    let clock = ClockId::from_raw((!(task as clockid_t) << 3) | 6);
    Some(clock_gettime(clock).ok()?.num_nanoseconds().unsigned_abs())
}

/// The threads of this process; none without /proc.
fn tasks() -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// The clock that all processes of a machine share, and that `std::time::Instant` reads, too.
pub(crate) fn monotonic_ns() -> io::Result<u64> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.num_nanoseconds().unsigned_abs())
}

/// The number of threads of this process; 0 without /proc.
pub fn threads() -> u64 {
    tasks().len() as u64
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
    fn a_moment_has_the_cpu_time_of_threads_at_work_elsewhere_and_none_if_one_is_gone() {
        let (tell, told) = std::sync::mpsc::channel();
        let (leave, left) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let task = nix::unistd::gettid().as_raw();
            tell.send(task).unwrap();
            while left.try_recv().is_err() {
                std::hint::black_box(task);
            }
        });
        let task = told.recv().unwrap();
        let first = Moment::of(&[task]);
        while Moment::of(&[task]).since(&first).unwrap().1 < 5_000_000 {}
        assert!(first.later().cpu_ns.len() > 1, "this thread is new");
        leave.send(()).unwrap();
        thread.join().unwrap();
        while tasks().contains(&task) {
            std::thread::yield_now();
        }
        assert_eq!(first.later().since(&first), None);
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
