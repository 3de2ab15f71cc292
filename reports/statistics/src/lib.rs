//! Levels, ratios to a reference, intervals that hold for a whole table at once, and the verdicts read from them.
//!
//! The input is one [`Group`] per scenario and arrangement: a positive measure, one row per block, one column per contender;
//! [`outermost`] makes it of figures that repeat within blocks.
//! [`compare`] returns one [`Fitted`] per group. Nothing is random: the same figures give the same intervals.
//!
//! README.md of this crate describes the method and its simulated coverage;
//! `cargo run --release -p cqldyno-statistics --example simulate` prints its tables.

mod compare;
mod fit;
mod growth;
mod interval;
mod median;
mod nested;
mod quantile;

pub use compare::{Comparison, Estimate, Fitted, Group, LEAST_BLOCKS, NoInterval, compare};
pub use growth::{Growth, growth};
pub use interval::{Verdict, rounded};
pub use median::median_interval;
pub use nested::{Repetition, outermost};
pub use quantile::{normal_quantile, student_quantile};
