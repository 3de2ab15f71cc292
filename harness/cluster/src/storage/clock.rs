//! Timestamps of writes without one of the client's, and the seconds in which values expire.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Gives each batch of requests its own timestamp, in the order of the batches.
#[derive(Debug, Default)]
pub struct Clock {
    last: AtomicI64,
}

/// The time of a batch of requests that are executed one after the other.
///
/// All share one timestamp, so that a fast client does not push the clock ahead of the time of day. Only a write to what
/// the same moment wrote takes a later one, which keeps the order of requests.
#[derive(Debug)]
pub struct Moment<'c> {
    clock: &'c Clock,
    /// The timestamp of a BATCH, and of a lightweight transaction.
    pub timestamp: i64,
    used: i64,
}

/// Seconds since 1970, now.
pub fn seconds() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}

impl Clock {
    /// A moment later than all timestamps so far.
    pub fn begin(&self) -> Moment<'_> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
        let before = self.last.fetch_max(now, Ordering::Relaxed);
        let timestamp = if now > before { now } else { self.last.fetch_add(1, Ordering::Relaxed) + 1 };
        Moment { clock: self, timestamp, used: timestamp }
    }
}

impl Moment<'_> {
    /// The timestamp for a write to a row last written at `latest`.
    #[inline]
    pub fn after(&mut self, latest: i64) -> i64 {
        if !(self.timestamp..=self.used).contains(&latest) {
            return self.timestamp;
        }
        if latest == self.used {
            self.used += 1;
            // At once, while the row is locked: a lightweight transaction that reads it next must write later than this.
            self.clock.last.fetch_max(self.used, Ordering::Relaxed);
        }
        latest + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_ascend_and_so_do_writes_to_one_row_within_one() {
        let clock = Clock::default();
        let mut first = clock.begin();
        let one = first.after(i64::MIN);
        let two = first.after(one);
        let other = first.after(i64::MIN);
        let three = first.after(two);
        assert!(one < two && two < three && other == one);
        let second = clock.begin();
        assert!(second.timestamp > three);
        assert!(clock.begin().timestamp > second.timestamp);
    }

    #[test]
    fn what_a_client_wrote_in_the_future_stays_ahead() {
        let clock = Clock::default();
        let mut moment = clock.begin();
        let future = moment.timestamp + 1_000_000;
        assert!(moment.after(future) < future);
    }
}
