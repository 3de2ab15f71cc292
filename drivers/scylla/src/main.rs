//! The cqldyno worker for the crate scylla.

fn main() {}
