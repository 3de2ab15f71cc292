//! The time of a run, and whether what is next still ends within it.
//!
//! Only durations count. Cells are taken to last as long as such cells did so far, failed ones included: a contender that hangs
//! takes its time in every block.

use std::time::{Duration, Instant};

use crate::plan::PlannedCell;
use crate::plan::estimate::Estimate;

/// This part of a lap stays in reserve: a machine may become slower.
const KEPT_OF_LAP: f64 = 0.25;
/// This share of the time stays for what follows the last cell: tables and the page.
const KEPT_SHARE: f64 = 0.02;

/// The time since the run began. Tests have a clock of their own.
pub(crate) trait Clock {
    fn elapsed(&self) -> Duration;
}

impl Clock for Instant {
    fn elapsed(&self) -> Duration {
        Instant::elapsed(self)
    }
}

pub(crate) struct Limit<'a> {
    pub within: Option<Duration>,
    pub clock: &'a dyn Clock,
    /// How long cells take; it learns from those that ended.
    pub pace: Estimate<'a>,
    pub lap: Vec<PlannedCell>,
}

impl Limit<'_> {
    /// Whether the run ends in time when all of `cells` still run.
    pub(crate) fn allows(&self, cells: impl IntoIterator<Item = PlannedCell>) -> bool {
        let Some(within) = self.within else { return true };
        let kept = self.pace.of(self.lap.iter().copied()).mul_f64(KEPT_OF_LAP) + within.mul_f64(KEPT_SHARE);
        self.clock.elapsed() + self.pace.of(cells) + kept <= within
    }

    /// The time of cells that run in any case and of others, which take at most what is left of the run's time.
    pub(crate) fn left(&self, certain: Duration, others: Duration) -> Duration {
        let time = certain + others;
        self.within.map_or(time, |within| time.min(within.saturating_sub(self.clock.elapsed()).max(certain)))
    }
}
