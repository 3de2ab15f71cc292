//! A change of a driver, judged before it is merged: base against head, each twice.

pub mod comment;
pub mod plan;
pub mod verdict;
