//! What the slots of one run share; what changes with every chunk of tickets has a cache line of its own.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::usage::Edges;

/// The most tickets that a slot takes at once, counted in 16 bits. More would not make the shared counter cheaper per statement.
const MOST_AT_ONCE: u64 = 16;

/// A slot takes this part of its even share of what is left. So the last 32 rounds take tickets one by one, and no slot keeps
/// tickets that idle ones could take, even if half of the slots were held up.
const PARTS_OF_A_SHARE: u64 = 16;

/// Two lines of 64 bytes, because the prefetcher fetches them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct CacheLine<T>(T);

/// Tickets and slots of one run. The counters order nothing else, hence relaxed; how the last slot to begin wakes the others
/// orders the rest.
#[derive(Debug)]
pub(crate) struct Gauge {
    next: CacheLine<AtomicU64>,
    slots: CacheLine<Slots>,
    pub(crate) edges: Edges,
}

/// Unchanged while all slots are at work. Every statement reads three of these.
#[derive(Debug)]
struct Slots {
    /// [`STOPPED`], how many slots have not begun, and how many are at work, in one word.
    word: AtomicU64,
    /// The ticket after the last one.
    count: u64,
    concurrency: usize,
    /// Fewer slots at work than this are fewer than 99 %.
    full: u64,
    /// What the word of a steady run may have beyond that.
    above_full: u64,
    first: u64,
}

const STOPPED: u64 = 1 << 63;
/// One slot that has not begun.
const TO_BEGIN: u64 = 1 << 32;
/// The bits of the number of slots at work.
const AT_WORK: u64 = TO_BEGIN - 1;
const MOST_SLOTS: usize = (1 << 31) - 1;

impl Gauge {
    #[cfg(any(test, feature = "parts"))]
    pub(crate) fn new(count: u64, concurrency: usize) -> Gauge {
        Gauge::of(0..count, concurrency)
    }

    /// For these tickets, and fewer than 2^31 slots, of which no memory holds more.
    pub(crate) fn of(tickets: Range<u64>, concurrency: usize) -> Gauge {
        let concurrency = concurrency.min(MOST_SLOTS);
        let full = (concurrency as u64 * 99).div_ceil(100);
        let word = AtomicU64::new(concurrency as u64 * TO_BEGIN);
        let Range { start: first, end: count } = tickets;
        Gauge {
            next: CacheLine(AtomicU64::new(first)),
            slots: CacheLine(Slots { word, count, concurrency, full, above_full: AT_WORK - full, first }),
            edges: Edges::default(),
        }
    }

    /// The gauge with moments at the edges of the run, if it has enough tickets.
    pub(crate) fn with_edges(mut self) -> Gauge {
        let Slots { first, count, concurrency, .. } = self.slots.0;
        self.edges = Edges::of(first..count, concurrency);
        self
    }

    pub(crate) fn first(&self) -> u64 {
        self.slots.0.first
    }

    pub(crate) fn count(&self) -> u64 {
        self.slots.0.count - self.slots.0.first
    }

    pub(crate) fn concurrency(&self) -> usize {
        self.slots.0.concurrency
    }

    /// The next tickets, at least one; `None` if all are taken. Guided self-scheduling (Polychronopoulos and Kuck 1987).
    pub(crate) fn take(&self) -> Option<Range<u64>> {
        let left = self.slots.0.count.saturating_sub(self.next.0.load(Ordering::Relaxed));
        if left == 0 {
            return None;
        }
        // One by one up to the first edge, so that each slot holds as many tickets there as at the last one.
        let chunk = match self.edges.is_first(self.slots.0.count - left) {
            true => 1,
            false => (left / (self.slots.0.concurrency as u64 * PARTS_OF_A_SHARE)).clamp(1, MOST_AT_ONCE),
        };
        let start = self.next.0.fetch_add(chunk, Ordering::Relaxed);
        self.edges.pass(start..start + chunk);
        (start < self.slots.0.count).then(|| start..self.slots.0.count.min(start + chunk))
    }

    /// The next ticket alone; `None` when all are taken.
    pub(crate) fn take_one(&self) -> Option<u64> {
        let ticket = self.next.0.fetch_add(1, Ordering::Relaxed);
        self.edges.pass(ticket..ticket + 1);
        (ticket < self.slots.0.count).then_some(ticket)
    }

    /// Tickets taken so far: at most a chunk per slot more than were issued.
    pub(crate) fn taken(&self) -> u64 {
        self.next.0.load(Ordering::Relaxed).min(self.slots.0.count) - self.slots.0.first
    }

    /// Counts a slot that was polled for the first time; returns whether it was the last one to begin.
    pub(crate) fn begin(&self) -> bool {
        let before = self.slots.0.word.fetch_sub(TO_BEGIN - 1, Ordering::Relaxed);
        before & !STOPPED < 2 * TO_BEGIN
    }

    pub(crate) fn all_begun(&self) -> bool {
        self.word() & !STOPPED < TO_BEGIN
    }

    /// Counts a slot that had its last answer, or got no ticket.
    pub(crate) fn leave(&self) {
        self.slots.0.word.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether fewer than 99 % of the slots are at work, that is between their first poll and their last answer.
    pub(crate) fn is_below_concurrency(&self) -> bool {
        self.word() & AT_WORK < self.slots.0.full
    }

    pub(crate) fn stop(&self) {
        self.slots.0.word.fetch_or(STOPPED, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.word() & STOPPED != 0
    }

    /// Whether all slots have begun, at least 99 % of them are at work, and the run was not stopped.
    #[inline]
    pub(crate) fn is_steady(&self) -> bool {
        let Slots { full, above_full, .. } = self.slots.0;
        self.word().wrapping_sub(full) <= above_full
    }

    #[inline]
    fn word(&self) -> u64 {
        self.slots.0.word.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;

    #[test]
    fn every_ticket_is_taken_once_and_the_last_ones_one_by_one() {
        for (count, concurrency) in [(0, 1), (1, 1), (5, 1_024), (1_000, 16), (250_000, 1_024), (77_777, 3)] {
            let gauge = Gauge::new(count, concurrency);
            let mut next = 0;
            let mut chunks = Vec::new();
            while let Some(chunk) = gauge.take() {
                assert_eq!(chunk.start, next);
                assert!(chunk.end > chunk.start);
                next = chunk.end;
                chunks.push(chunk.end - chunk.start);
            }
            assert_eq!((next, gauge.taken()), (count, count));
            assert!(chunks.iter().rev().take(concurrency).all(|&chunk| chunk == 1), "{count} at {concurrency}");
        }
    }

    /// Slots with random service times in virtual time, half of which stand still for 20 rounds towards the end, as when one of
    /// two threads loses its core. Some do so early enough to be at work again at the end, others so late that the rest take the
    /// last tickets.
    #[test]
    fn less_than_half_a_percent_is_issued_below_99_percent_of_the_slots() {
        for (count, rounds_left) in [(250_000, 25), (250_000, 10), (250_000, 5), (1_000_000, 25)] {
            let gauge = Gauge::new(count, 1_024);
            let mut random = 1u64;
            let mut service_time = move || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                500 + (random >> 33) % 1_000
            };
            let (mut issued, mut below) = (0, 0);
            let mut tickets = vec![0..0; 1_024];
            let mut answers: std::collections::BinaryHeap<_> = (0..1_024).map(|slot| (Reverse(0), slot)).collect();
            let mut has_stood_still = false;
            while let Some((Reverse(now), slot)) = answers.pop() {
                if !has_stood_still && count - issued < rounds_left * 1_024 {
                    has_stood_still = true;
                    let later = |(Reverse(at), slot)| (Reverse(if slot % 2 == 0 { at + 20_000 } else { at }), slot);
                    answers = answers.into_iter().map(later).collect();
                }
                if tickets[slot].is_empty() {
                    let first = tickets[slot].start == 0 && tickets[slot].end == 0;
                    match gauge.take() {
                        Some(taken) => {
                            if first {
                                gauge.begin();
                            }
                            tickets[slot] = taken;
                        }
                        None => {
                            gauge.leave();
                            continue;
                        }
                    }
                }
                tickets[slot].start += 1;
                issued += 1;
                below += u64::from(gauge.is_below_concurrency());
                answers.push((Reverse(now + service_time()), slot));
            }
            assert_eq!(issued, count);
            assert!((1_013..count / 200).contains(&below), "{below} of {count} with {rounds_left} rounds left");
        }
    }

    #[test]
    fn a_later_window_takes_its_own_tickets_only_and_counts_them_from_0() {
        let gauge = Gauge::of(40..100, 4);
        assert_eq!((gauge.first(), gauge.count(), gauge.taken()), (40, 60, 0));
        assert_eq!(gauge.take_one(), Some(40));
        assert_eq!(gauge.taken(), 1);
        let rest: Vec<u64> = std::iter::from_fn(|| gauge.take()).flatten().collect();
        assert_eq!(rest, (41..100).collect::<Vec<_>>());
        assert_eq!((gauge.taken(), gauge.take_one()), (60, None));
    }

    #[test]
    fn the_moments_at_the_edges_are_noted_once_and_a_run_of_few_rounds_has_none() {
        for chunks in [false, true] {
            let gauge = Gauge::of(1_000..9_000, 10).with_edges();
            let mut taken = 0;
            while taken < 8_000 {
                assert!(gauge.edges.steady().is_none(), "{taken}");
                taken += if chunks { gauge.take().map(|chunk| chunk.end - chunk.start).unwrap() } else { 1 };
                assert!(chunks || gauge.take_one().is_some());
            }
            let steady = gauge.edges.steady().unwrap();
            assert_eq!(steady.statements, 7_979, "without two rounds and the last one");
            assert!(gauge.take().is_none() && gauge.edges.steady() == Some(steady));
        }
        let few = Gauge::new(79, 10).with_edges();
        while few.take_one().is_some() {}
        assert_eq!(few.edges.steady(), None);
    }

    #[test]
    fn threads_that_take_at_the_same_time_get_every_ticket_once() {
        let gauge = Gauge::new(100_000, 8);
        let sums: Vec<(u64, u64)> = std::thread::scope(|scope| {
            let take = || {
                let (mut count, mut sum) = (0, 0);
                while let Some(chunk) = gauge.take() {
                    count += chunk.end - chunk.start;
                    sum += chunk.sum::<u64>();
                }
                (count, sum)
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(sums.iter().map(|(count, _)| count).sum::<u64>(), 100_000);
        assert_eq!(sums.iter().map(|(_, sum)| sum).sum::<u64>(), 100_000 * 99_999 / 2);
    }

    #[test]
    fn a_run_is_steady_once_all_have_begun_and_99_percent_are_at_work_until_it_is_stopped() {
        let gauge = Gauge::new(1_000, 100);
        for begun in 0..100 {
            assert!(!gauge.all_begun() && !gauge.is_steady(), "{begun}");
            assert_eq!(gauge.begin(), begun == 99, "the last one is told so");
        }
        assert!(gauge.all_begun() && gauge.is_steady());
        gauge.leave();
        assert!(gauge.is_steady());
        gauge.leave();
        assert!(!gauge.is_steady() && gauge.is_below_concurrency() && gauge.all_begun());

        let gauge = Gauge::new(1_000, 100);
        (0..100).for_each(|_| assert!(gauge.begin() || !gauge.all_begun()));
        assert!(gauge.is_steady() && !gauge.is_stopped());
        gauge.stop();
        assert!(!gauge.is_steady() && gauge.is_stopped() && gauge.all_begun() && !gauge.is_below_concurrency());
    }

    #[test]
    fn ninety_nine_percent_is_rounded_up() {
        let gauge = Gauge::new(10, 1_024);
        for _ in 0..1_013 {
            gauge.begin();
        }
        assert!(gauge.is_below_concurrency());
        gauge.begin();
        assert!(!gauge.is_below_concurrency());
        gauge.leave();
        assert!(gauge.is_below_concurrency());
    }
}
