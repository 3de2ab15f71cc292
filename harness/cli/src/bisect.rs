//! The search for the version that changed a meter: which one to measure next, its measurement, the log of steps, and the answer.

pub mod bench;
pub mod judge;
pub mod log;
pub mod search;
pub mod text;
