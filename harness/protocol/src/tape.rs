//! The bytes of a tape that are no values (`drivers/PROTOCOL.md`, "The tape").

/// What a tape begins with.
pub const MAGIC: &[u8; 8] = b"CQLTAPE1";

/// The length of a null.
pub const NULL: i32 = -1;
/// The length of a value that is not set.
pub const UNSET: i32 = -2;
/// The length of a window into the pool.
pub const WINDOW: i32 = -3;

/// A record that is a pooled answer.
pub const POOLED_ANSWER: u8 = 0;
/// A record that is a ticket.
pub const TICKET: u8 = 1;

/// No rows come back.
pub const NOTHING_DUE: u8 = 0;
/// The answer follows.
pub const DUE_INLINE: u8 = 1;
/// The index of a pooled answer follows.
pub const DUE_POOLED: u8 = 2;
