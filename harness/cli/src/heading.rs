//! Headings of the options in a help text.

/// What every contender executes, and where.
pub const WHAT: &str = "What runs";
/// How many statements and how often.
pub const SIZE: &str = "How much";
/// How drivers and server are set up.
pub const SETUP: &str = "Drivers and server";
/// Login and TLS on an existing cluster.
pub const CLUSTER: &str = "Your own cluster (--target)";
/// What ends a worker, and which rounds count.
pub const LIMITS: &str = "Limits and noise";
/// Where the result goes and how much of it is shown.
pub const OUTPUT: &str = "Output";
