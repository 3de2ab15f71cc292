//! A contender that sends nothing: what the harness itself costs.

fn main() {}
