//! Running plans against the rows in memory.
//!
//! `values` binds, `write` and `select` run any statement, `conditional` those with IF, and `rows` and `paging` make pages of a SELECT's rows. `point`,
//! `operation` and `group` run the statements of a benchmark, many at a time.

pub(crate) mod conditional;
mod edit;
pub(crate) mod group;
mod operation;
mod paging;
pub(crate) mod point;
mod rows;
pub(crate) mod select;
pub(crate) mod values;
pub(crate) mod write;
