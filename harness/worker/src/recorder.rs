//! Counts: one recorder per thread, merged when the run is over.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cqldyno_driver_api::{DriverError, ErrorKind};
use cqldyno_protocol::ErrorCount;
use quanta::Clock;

use crate::latencies::{Latencies, add};

/// The longest series by second, twelve days: a clock that jumps must not cost unbounded memory.
const MOST_SECONDS: u64 = 1 << 20;

/// How many answers a thread keeps before it counts them. Keeping them in each slot would cost a cache line per slot, and
/// counting each at once a visit to the histogram per statement.
const WAITING: usize = 64;
const STATEMENT_BITS: u32 = 16;

/// The most statements of a scenario: their index travels in the low bits of a kept answer.
pub(crate) const MOST_STATEMENTS: usize = 1 << STATEMENT_BITS;

/// What one thread recorded. Only that thread writes, with plain loads and stores; whoever merges reads after all slots have
/// left.
#[derive(Debug)]
struct Recorder {
    /// Latencies in clock ticks, shifted, and the statement's index below.
    waiting: [AtomicU64; WAITING],
    len: AtomicUsize,
    /// The second of the window that all of them fall into: where it begins, in clock ticks, and how long it is.
    second: AtomicU64,
    second_begin: AtomicU64,
    second_ticks: AtomicU64,
    counts: Mutex<Counted>,
}

/// What one thread counted, or all threads of a run together.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) latencies: Latencies,
    pub(crate) by_statement: Vec<u64>,
    pub(crate) per_second: Vec<u64>,
    pub(crate) errors: BTreeMap<ErrorKind, ErrorCount>,
    /// Statements issued while fewer than 99 % of the slots were at work.
    pub(crate) below_concurrency: u64,
}

/// The recorders of one run.
#[derive(Debug)]
pub struct Recorders {
    run: u64,
    statements: usize,
    clock: Clock,
    origin: u64,
    ticks_per_second: u64,
    /// Nanoseconds a clock tick, times 2^32.
    nanoseconds: u64,
    all: Mutex<Vec<&'static Recorder>>,
}

#[derive(Clone, Copy)]
struct Mine {
    run: u64,
    recorder: &'static Recorder,
}

thread_local! {
    /// Leaked on purpose: reading it is one load, and an `Arc` would cost a check and a drop per thread. A run leaves some
    /// hundred bytes per thread, without its counts.
    static MINE: Cell<Option<Mine>> = const { Cell::new(None) };
}

static RUNS: AtomicU64 = AtomicU64::new(0);

/// Minutes in clock ticks, from which the clock's ticks per nanosecond are read exactly enough.
const LONG: u64 = 1 << 40;

/// How fast the clock ticks; at least 1.
pub(crate) fn ticks_per_second(clock: &Clock) -> u64 {
    let nanoseconds = clock.delta_as_nanos(0, LONG).max(1);
    ((u128::from(LONG) * 1_000_000_000 / u128::from(nanoseconds)) as u64).max(1)
}

impl Recorders {
    /// Recorders for a run with so many statements, whose first second begins now.
    pub fn new(statements: usize, clock: Clock) -> Recorders {
        let nanoseconds = clock.delta_as_nanos(0, LONG).max(1);
        let ticks_per_second = ticks_per_second(&clock);
        Recorders {
            run: RUNS.fetch_add(1, Ordering::Relaxed),
            statements,
            origin: clock.raw(),
            clock,
            ticks_per_second,
            nanoseconds: nanoseconds >> 8,
            all: Mutex::default(),
        }
    }

    /// The clock's ticks now.
    #[inline]
    pub fn now(&self) -> u64 {
        self.clock.raw()
    }

    /// Counts an answer to the scenario's statement with this index, asked at `from` and answered at `to`.
    #[inline]
    pub fn answered(&self, statement: usize, from: u64, to: u64) {
        let answer = (to.saturating_sub(from) << STATEMENT_BITS) | statement as u64;
        match MINE.get() {
            Some(Mine { run, recorder }) if run == self.run && recorder.keep(answer, to) => {}
            _ => self.count_and_keep(answer, to),
        }
    }

    /// The same where what waits must be counted first.
    #[inline(never)]
    fn count_and_keep(&self, answer: u64, to: u64) {
        let recorder = self.mine();
        self.count(recorder, &mut lock(&recorder.counts));
        if !recorder.is_of_this_second(to) {
            // Another second, or an earlier one: the answer may have come before another slot's.
            let second = (to.saturating_sub(self.origin) / self.ticks_per_second).min(MOST_SECONDS);
            // The last second has no end: half of all numbers is left before it.
            let ticks = if second == MOST_SECONDS { u64::MAX / 2 } else { self.ticks_per_second };
            recorder.second.store(second, Ordering::Relaxed);
            recorder.second_begin.store(self.origin + second * self.ticks_per_second, Ordering::Relaxed);
            recorder.second_ticks.store(ticks, Ordering::Relaxed);
        }
        recorder.put(answer);
    }

    fn count(&self, recorder: &Recorder, counts: &mut Counted) {
        let len = recorder.len.load(Ordering::Relaxed);
        if len == 0 {
            return;
        }
        for answer in recorder.waiting.iter().take(len) {
            let answer = answer.load(Ordering::Relaxed);
            let ticks = answer >> STATEMENT_BITS;
            counts.latencies.record(((u128::from(ticks) * u128::from(self.nanoseconds)) >> 32) as u64);
            if let Some(count) = counts.by_statement.get_mut((answer & (MOST_STATEMENTS as u64 - 1)) as usize) {
                *count += 1;
            }
        }
        let second = recorder.second.load(Ordering::Relaxed) as usize;
        if counts.per_second.len() <= second {
            counts.per_second.resize(second + 1, 0);
        }
        if let Some(answered) = counts.per_second.get_mut(second) {
            *answered += len as u64;
        }
        recorder.len.store(0, Ordering::Relaxed);
    }

    pub(crate) fn below_concurrency(&self, count: u64) {
        if count > 0 {
            lock(&self.mine().counts).below_concurrency += count;
        }
    }

    /// Counts an error; the statement counts as answered all the same.
    #[cold]
    pub(crate) fn failed(&self, error: DriverError) {
        let mut counts = lock(&self.mine().counts);
        let count = counts.errors.entry(error.kind()).or_default();
        if count.count == 0 {
            count.first = error.into_message();
        }
        count.count += 1;
    }

    /// This thread's recorder; made when the thread first records in this run.
    fn mine(&self) -> &'static Recorder {
        match MINE.get() {
            Some(Mine { run, recorder }) if run == self.run => recorder,
            _ => {
                let recorder = self.add();
                MINE.set(Some(Mine { run: self.run, recorder }));
                recorder
            }
        }
    }

    fn add(&self) -> &'static Recorder {
        let by_statement = vec![0; self.statements];
        let counts = Counted { latencies: Latencies::new(), by_statement, ..Counted::default() };
        let recorder = Box::leak(Box::new(Recorder {
            waiting: [const { AtomicU64::new(0) }; WAITING],
            len: AtomicUsize::new(0),
            second: AtomicU64::new(0),
            second_begin: AtomicU64::new(self.origin),
            second_ticks: AtomicU64::new(self.ticks_per_second),
            counts: Mutex::new(counts),
        }));
        lock(&self.all).push(recorder);
        recorder
    }

    /// All that all threads counted; called after all slots have left.
    pub(crate) fn merged(&self) -> Counted {
        let mut counted = Counted { by_statement: vec![0; self.statements], ..Counted::default() };
        for recorder in lock(&self.all).iter() {
            let mut counts = lock(&recorder.counts);
            self.count(recorder, &mut counts);
            counted.add(&counts);
        }
        counted
    }
}

impl Drop for Recorders {
    fn drop(&mut self) {
        for recorder in lock(&self.all).iter() {
            *lock(&recorder.counts) = Counted::default();
        }
    }
}

impl Recorder {
    /// Keeps an answer that came at `to`, if there is room and it falls into the same second as the others.
    #[inline]
    fn keep(&self, answer: u64, to: u64) -> bool {
        self.is_of_this_second(to) && self.put(answer)
    }

    #[inline]
    fn is_of_this_second(&self, at: u64) -> bool {
        at.wrapping_sub(self.second_begin.load(Ordering::Relaxed)) < self.second_ticks.load(Ordering::Relaxed)
    }

    /// Keeps an answer where there is room.
    #[inline]
    fn put(&self, answer: u64) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        let Some(place) = self.waiting.get(len) else { return false };
        place.store(answer, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Relaxed);
        true
    }
}

/// A poisoned lock means that a slot panicked, which fails the cell anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Counted {
    fn add(&mut self, other: &Counted) {
        self.latencies.add(&other.latencies);
        add(&mut self.by_statement, &other.by_statement);
        add(&mut self.per_second, &other.per_second);
        for (kind, error) in &other.errors {
            let sum = self.errors.entry(*kind).or_default();
            if sum.count == 0 {
                sum.first.clone_from(&error.first);
            }
            sum.count += error.count;
        }
        self.below_concurrency += other.below_concurrency;
    }

    /// Statements answered, with or without an error.
    pub(crate) fn answered(&self) -> u64 {
        self.by_statement.iter().sum()
    }

    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().map(|error| error.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latencies::LONGEST_NS;
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;

    fn histogram(counted: &Counted) -> Histogram<u64> {
        let bytes = BASE64_STANDARD.decode(counted.latencies.base64().unwrap()).unwrap();
        Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
    }

    fn ticks(recorders: &Recorders, seconds: f64) -> u64 {
        recorders.origin + (seconds * recorders.ticks_per_second as f64) as u64
    }

    #[test]
    fn answers_are_counted_by_statement_and_by_second_and_their_latencies_come_back() {
        let recorders = Recorders::new(2, Clock::new());
        for index in 0..100u32 {
            let from = ticks(&recorders, f64::from(index) * 0.1);
            let to = ticks(&recorders, f64::from(index) * 0.1 + 0.05);
            recorders.answered(usize::from(index % 4 == 0), from, to);
        }
        assert_eq!(lock(&recorders.all).len(), 1, "one thread has one recorder");
        let counted = recorders.merged();
        assert_eq!(counted.by_statement, [75, 25]);
        assert_eq!(counted.per_second, [10; 10]);
        let histogram = histogram(&counted);
        assert_eq!(histogram.len(), 100);
        assert!((49_900_000..=50_100_000).contains(&histogram.max()), "{}", histogram.max());
        assert!((49_900_000..=50_100_000).contains(&histogram.min()), "{}", histogram.min());
    }

    #[test]
    fn latencies_beyond_the_bounds_are_counted_and_not_lost() {
        let recorders = Recorders::new(1, Clock::new());
        let now = recorders.now();
        recorders.answered(0, now, now);
        recorders.answered(0, now + 10, now);
        recorders.answered(0, 0, recorders.ticks_per_second * 7_200);
        let counted = recorders.merged();
        assert_eq!(counted.answered(), 3);
        let histogram = histogram(&counted);
        assert!(histogram.len() == 3 && histogram.max() >= LONGEST_NS);
    }

    #[test]
    fn answers_that_come_late_or_behind_a_clock_that_jumped_are_counted_in_their_second() {
        let recorders = Recorders::new(1, Clock::new());
        let at = |seconds: f64| recorders.answered(0, ticks(&recorders, seconds), ticks(&recorders, seconds));
        [0.1, 2.1, 0.2, 2.2, 2.3].into_iter().for_each(at);
        let far = ticks(&recorders, 2.0 * MOST_SECONDS as f64);
        (0..100).for_each(|_| recorders.answered(0, far, far));
        at(1.5);
        let counted = recorders.merged();
        assert_eq!((counted.answered(), &counted.per_second[..3]), (106, &[2, 1, 3][..]));
        assert_eq!((counted.per_second.len() as u64, counted.per_second.last()), (MOST_SECONDS + 1, Some(&100)));
    }

    #[test]
    fn the_first_message_of_a_kind_is_kept_and_all_are_counted() {
        let recorders = Recorders::new(1, Clock::new());
        for n in 0..3 {
            recorders.failed(DriverError::new(ErrorKind::Invalid, format!("no table {n}")));
        }
        recorders.failed(DriverError::new(ErrorKind::WrongRow, "two rows"));
        let counted = recorders.merged();
        assert_eq!(counted.failed(), 4);
        assert_eq!(counted.errors[&ErrorKind::Invalid], ErrorCount { count: 3, first: "no table 0".to_owned() });
    }

    /// The recorder itself is there for ever, once a run and thread.
    #[test]
    fn what_a_run_counted_takes_no_memory_when_it_is_over() {
        let recorders = Recorders::new(1, Clock::new());
        recorders.answered(0, recorders.now(), recorders.now());
        recorders.failed(DriverError::new(ErrorKind::Invalid, "no table"));
        assert_eq!((recorders.merged().answered(), recorders.merged().failed()), (1, 1));
        let recorder = recorders.mine();
        drop(recorders);
        let [kept, none] = [format!("{:?}", lock(&recorder.counts)), format!("{:?}", Counted::default())];
        assert!(kept == none, "{} characters of counts are kept", kept.len());
    }

    #[test]
    fn two_runs_on_one_thread_are_kept_apart_and_threads_of_one_run_are_added() {
        let first = Recorders::new(1, Clock::new());
        let second = Recorders::new(1, Clock::new());
        let count = |recorders: &Recorders, times: u64| {
            for _ in 0..times {
                recorders.answered(0, recorders.now(), recorders.now());
            }
            recorders.below_concurrency(times);
        };
        count(&first, 20);
        count(&second, 3);
        count(&first, 20);
        std::thread::scope(|scope| {
            scope.spawn(|| count(&first, 2));
        });
        assert_eq!((first.merged().answered(), second.merged().answered()), (42, 3));
        assert_eq!((first.merged().below_concurrency, second.merged().below_concurrency), (42, 3));
    }
}
