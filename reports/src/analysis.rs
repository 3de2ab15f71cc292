//! The analysis: what is concluded from a run's cells.

pub(crate) mod against;
pub(crate) mod attempts;
pub(crate) mod bottleneck;
pub(crate) mod check;
pub(crate) mod comparison;
pub(crate) mod cut_short;
pub(crate) mod headline;
pub(crate) mod history;
pub(crate) mod ranking;
pub(crate) mod repetition;
pub(crate) mod summary;
