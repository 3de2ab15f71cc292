//! The time that a run is given, and whether what is next still ends within it.
//!
//! The rule looks at durations alone. Cells are taken to last as long as such cells did so far, those that failed included: a
//! contender that hangs takes its time in every block.

use std::time::{Duration, Instant};

use crate::plan::estimate::Estimate;
use crate::plan::{Plan, PlannedCell};

/// This part of a round is kept beside what is next: a machine may become slower.
const KEPT_OF_ROUND: f64 = 0.25;
/// This share of the time is kept for what is done behind the last cell: tables and the page.
const KEPT_SHARE: f64 = 0.02;

/// Tells the time since the run began. One looks at the machine's clock; tests have another.
pub(crate) trait Clock {
    fn elapsed(&self) -> Duration;
}

impl Clock for Instant {
    fn elapsed(&self) -> Duration {
        Instant::elapsed(self)
    }
}

/// What is left of the time that a run is given, if it is given one.
pub(crate) struct Limit<'a> {
    within: Option<Duration>,
    clock: &'a dyn Clock,
    pace: Estimate<'a>,
    /// The cells of one round, once each.
    round: Vec<PlannedCell>,
}

impl<'a> Limit<'a> {
    pub(crate) fn new(plan: &'a Plan, clock: &'a dyn Clock, round: Vec<PlannedCell>) -> Limit<'a> {
        Limit { within: plan.within, clock, pace: Estimate::new(plan), round }
    }

    /// Takes in how long `cell` took, whatever came of it.
    pub(crate) fn ended(&mut self, cell: &PlannedCell, took: Duration) {
        self.pace.ended(cell, took);
    }

    /// Whether the run ends in time when all of `cells` are still run.
    pub(crate) fn allows(&self, cells: impl IntoIterator<Item = PlannedCell>) -> bool {
        let Some(within) = self.within else { return true };
        let kept = self.pace.of(self.round.iter().copied()).mul_f64(KEPT_OF_ROUND) + within.mul_f64(KEPT_SHARE);
        self.clock.elapsed() + self.pace.of(cells) + kept <= within
    }

    /// How long `cells` take, by what such cells took so far.
    pub(crate) fn time_of(&self, cells: impl IntoIterator<Item = PlannedCell>) -> Duration {
        self.pace.of(cells)
    }

    /// At most what is left of the run's time.
    pub(crate) fn at_most(&self, time: Duration) -> Duration {
        self.within.map_or(time, |within| time.min(within.saturating_sub(self.clock.elapsed())))
    }
}
