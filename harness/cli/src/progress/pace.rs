//! How fast the running cell is now.

use std::collections::VecDeque;
use std::time::Duration;

/// The pace is the mean over this time.
const NOW: Duration = Duration::from_millis(1_500);
/// The shortest time with a meaningful pace.
const LEAST: Duration = Duration::from_millis(200);

#[derive(Debug, Default)]
pub struct Pace {
    seen: VecDeque<(Duration, u64)>,
}

impl Pace {
    /// Adds the number of statements issued `at` some time of the cell. A smaller number than before starts anew.
    pub fn add(&mut self, at: Duration, issued: u64) {
        if self.seen.back().is_some_and(|(_, before)| issued < *before) {
            self.seen.clear();
        }
        self.seen.push_back((at, issued));
        while self.seen.len() > 2 && self.seen.get(1).is_some_and(|(second, _)| at.saturating_sub(*second) >= NOW) {
            self.seen.pop_front();
        }
    }

    /// Statements per second now; `None` before [`LEAST`] has passed.
    pub fn per_second(&self) -> Option<f64> {
        let ((from, first), (to, last)) = self.seen.front().zip(self.seen.back())?;
        let over = to.saturating_sub(*from);
        (over >= LEAST).then(|| (last - first) as f64 / over.as_secs_f64())
    }

    /// How long the rest of `of` statements takes at this pace.
    pub fn left(&self, issued: u64, of: u64) -> Option<Duration> {
        let rate = self.per_second().filter(|rate| *rate > 0.0)?;
        Duration::try_from_secs_f64(of.saturating_sub(issued) as f64 / rate).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_pace_is_that_of_the_last_moments_and_not_of_the_whole_cell() {
        let mut pace = Pace::default();
        assert_eq!(pace.per_second(), None);
        for tenth in 0..=20 {
            pace.add(ms(100 * tenth), 1_000 * tenth);
        }
        assert!((pace.per_second().unwrap() - 10_000.0).abs() < 1.0);
        for tenth in 21..=40 {
            pace.add(ms(100 * tenth), 20_000 + 100 * (tenth - 20));
        }
        assert!((pace.per_second().unwrap() - 1_000.0).abs() < 1.0, "{pace:?}");
        assert_eq!(pace.left(22_000, 23_000), Some(Duration::from_secs(1)));
    }

    #[test]
    fn a_short_moment_and_a_new_window_have_no_pace_yet() {
        let mut pace = Pace::default();
        pace.add(ms(0), 0);
        pace.add(ms(100), 5_000);
        assert_eq!(pace.per_second(), None);
        pace.add(ms(1_000), 50_000);
        assert!(pace.per_second().is_some());
        pace.add(ms(1_100), 0);
        assert_eq!((pace.per_second(), pace.left(0, 10)), (None, None));
    }

    #[test]
    fn what_stands_still_has_no_time_left_to_tell() {
        let mut pace = Pace::default();
        pace.add(ms(0), 10);
        pace.add(ms(1_000), 10);
        assert_eq!((pace.per_second(), pace.left(10, 20)), (Some(0.0), None));
    }
}
