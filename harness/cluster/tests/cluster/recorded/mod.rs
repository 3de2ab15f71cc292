//! Recorded sessions of drivers, sent to the embedded cluster.

mod answers;
mod exchange;
