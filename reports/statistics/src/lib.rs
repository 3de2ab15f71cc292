//! Ratios to a reference within blocks, with intervals that hold for a whole table at once, and the verdicts read from them.
//!
//! The input is a [`Group`] a scenario and arrangement: a positive measure, one row a block and one column a contender. The
//! output of [`compare`] is an [`Estimate`] a contender. Nothing is random: the same figures give the same intervals.
//!
//! The method, what it was chosen from and what it reached in simulations with known truth are in README.md beside this crate;
//! `cargo run --release -p cqldyno-statistics --example simulate` makes its tables.

mod compare;
mod fit;
mod interval;
mod median;
mod quantile;

pub use compare::{Comparison, Estimate, Group, LEAST_BLOCKS, NoInterval, compare};
pub use interval::{Verdict, rounded};
pub use median::median_interval;
pub use quantile::{normal_quantile, student_quantile};
