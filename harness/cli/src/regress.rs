//! Regressions that were reported: the runs that show them, and whether this machine shows them, too.

pub mod judgement;
pub mod page;
pub mod plan;
pub mod text;
