//! The command line, through the real executables.

mod compare;
mod listings;
mod serve;
mod support;
mod usage;
