//! A dynamometer for CQL drivers.

fn main() {}
