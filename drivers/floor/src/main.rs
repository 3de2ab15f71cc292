//! The least that a CQL client can cost: hand-encoded frames over one socket a connection.

fn main() {}
