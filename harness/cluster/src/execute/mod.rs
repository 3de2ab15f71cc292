//! Running plans against the rows in memory.
//!
//! `values` binds, `write` and `select` run any statement, `rows` and `paging` make pages of what a SELECT finds; `point`,
//! `operation` and `group` run the statements that a bench consists of, many at a time.

pub(crate) mod group;
mod operation;
mod paging;
pub(crate) mod point;
mod rows;
pub(crate) mod select;
pub(crate) mod values;
pub(crate) mod write;

pub(crate) use select::check_sortable;
