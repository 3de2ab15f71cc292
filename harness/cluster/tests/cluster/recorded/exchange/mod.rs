//! Recorded sessions of drivers: requests that can be sent to any server, and its answers field by field.
//!
//! A [`Relay`] between driver and server keeps the frames. A [`Recording`] holds the requests without what only that server knew
//! (prepared ids, paging states). [`replay`] sends them to a server and decodes its answers, and [`differences`] compares two
//! lists of answers. `recorded/README.md` says how to record.

/// The keyspace of the recorded sessions, and the only one whose schema is compared.
pub const KEYSPACE: &str = "recorded";

mod answer;
mod difference;
mod mask;
mod recording;
mod relay;
mod replay;

pub use difference::{DELIBERATE, differences};
pub use recording::Recording;
pub use relay::Relay;
pub use replay::{Replayed, replay};
