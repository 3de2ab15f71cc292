//! What can be named on a command line.

pub mod drivers;
pub mod scenarios;
