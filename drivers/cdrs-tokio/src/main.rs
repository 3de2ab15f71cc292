//! The cqldyno worker for the crate cdrs-tokio.

fn main() {}
