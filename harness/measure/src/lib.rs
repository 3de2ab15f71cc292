//! The vocabulary of figures, which meters, results and reports share: what a cell is run for ([`Pass`]), what a figure is
//! ([`Measure`], [`Unit`], [`Better`]), and what is known of it beforehand ([`Declaration`]).
//!
//! [`list`] declares the measures that reports know by name. A meter may declare more in its own file: a run records every
//! declaration, so that reports show measures that they have never heard of.

mod declaration;
pub mod list;
mod measure;
mod pass;

pub use declaration::{Declaration, MeasureInfo};
pub use measure::{Better, Measure, Unit};
pub use pass::Pass;
