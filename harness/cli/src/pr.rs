//! A change of a driver, judged before it is merged: base against head, each twice.

pub mod comment;
pub mod judge;
pub mod plan;
