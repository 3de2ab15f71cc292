//! A script: what the embedded cluster does on purpose, and when. A scenario has it in its TOML form, the cluster plays it.

mod step;
mod time;
mod words;

pub use step::{Fault, Played, Step};
pub use time::Time;
pub use words::{Action, Answer, Event, Kind};
