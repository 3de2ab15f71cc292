//! Headings of the options in a help text.

pub const WHAT: &str = "What runs";
pub const SIZE: &str = "How much";
pub const SETUP: &str = "Drivers and server";
pub const CLUSTER: &str = "Your own cluster (--target)";
pub const LIMITS: &str = "Limits and noise";
pub const OUTPUT: &str = "Output";
