//! Recorded exchanges: what a driver asks of a server, asked again of any server, and what the answers say, field by field.
//!
//! A [`Relay`] between driver and server keeps the frames; a [`Recording`] is the requests without what only that server knew
//! (prepared ids, paging states); [`replay`] asks them of a server and decodes its answers; [`differences`] compares two lists of
//! answers. `recorded/README.md` says how the recordings beside it are made.

/// The keyspace in which the recorded sessions work: the only one of which the schema is compared.
pub const KEYSPACE: &str = "recorded";

mod answer;
mod difference;
mod mask;
mod recording;
mod relay;
mod replay;

pub use answer::decode;
pub use difference::{DELIBERATE, Deliberate, Difference, Found, differences};
pub use mask::mask;
pub use recording::{Part, Recording, RecordingError, Request};
pub use relay::{Passed, Relay};
pub use replay::{ReplayError, Replayed, replay};
