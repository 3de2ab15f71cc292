//! The model: what the files of a run hold.

pub(crate) mod attempts;
pub(crate) mod cell;
pub(crate) mod checksum;
mod earlier;
pub(crate) mod ladder;
pub mod measure;
pub(crate) mod recorded;
#[cfg(test)]
mod round_trip;
pub(crate) mod run;
#[cfg(test)]
pub(crate) mod schema;
pub(crate) mod series;
