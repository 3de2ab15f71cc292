//! What is read off a cell, in the words that meters and reports share.

pub use cqldyno_measure::figure::*;
pub use cqldyno_measure::list::*;
pub use cqldyno_measure::{Better, ByName, Declaration, Measure, MeasureInfo, Unit};
