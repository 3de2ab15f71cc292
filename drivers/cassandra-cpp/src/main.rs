//! The cqldyno worker for the crate cassandra-cpp.

fn main() {}
