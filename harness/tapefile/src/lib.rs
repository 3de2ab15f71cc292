//! A user's own rows, in a file of Arrow or Parquet, as a tape: one row per execution of a statement.
//!
//! [`recorded`] reads such a file once. It gives a scenario whose values, answers and loaded rows are those of the file, and a
//! [`Recording`], of which each window takes its tape. A room uses only those before it:
//!
//! - `fit`: one value of a file as bytes of a CQL type
//! - `file`: rows of a file, batch by batch
//! - `mapping`: which column of the file is what of a statement
//! - `spool`: records that were made, and the tapes that are made of them
//! - `recording`: all of them

mod file;
mod fit;
mod mapping;
mod recording;
mod spool;

pub use recording::{Recording, loading, reading_back, recorded};
pub use spool::Made;

/// Why a file is no tape of a scenario: what was asked, what was found and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TapeError(pub String);
