//! Levels, ratios to a reference, intervals that hold for a whole table at once, and the verdicts read from them.
//!
//! The input is one [`Group`] per scenario and arrangement: a positive measure, one row per round of each generation, one column
//! per contender. [`compare`] returns one [`Fitted`] per group, [`combine`] takes several runs together, and [`ratios_of_ratios`] holds runs
//! on two servers against each other. Nothing is random: the same figures give the same intervals.
//!
//! README.md of this crate describes the method and its simulated coverage;
//! `cargo run --release -p cqldyno-statistics --example simulate` prints its tables.

mod change_points;
mod compare;
mod growth;
mod interval;
mod quantile;
mod runs;

pub use change_points::{Level, change_points};
pub use compare::{
    Comparison, Estimate, Fitted, Group, LEAST_BLOCKS, LogRatio, NoInterval, Repetition, SIBLING_BAND, compare,
};
pub use growth::{Growth, growth};
pub use interval::{Verdict, half_width, rounded};
pub use quantile::{median, modulus_quantile, normal_quantile, student_quantile};
pub use runs::{Combined, Repeated, combine, ratios_of_ratios};
