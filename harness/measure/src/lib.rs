//! The vocabulary of figures that meters, results and reports share: the purpose of a cell ([`Pass`]), a figure ([`Measure`],
//! [`Unit`], [`Better`]), and its description ([`Declaration`]).
//!
//! [`list`] declares the measures that reports know by name. A meter may declare more in its own file: a run records every
//! declaration, so that reports show measures that they have never heard of.

mod by_name;
mod declaration;
pub mod figure;
pub mod list;
mod measure;
mod pass;

pub use by_name::{ByName, shared};
pub use declaration::{Declaration, MeasureInfo};
pub use measure::{Better, Measure, Unit, least_for};
pub use pass::Pass;
