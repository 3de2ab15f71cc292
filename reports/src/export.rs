//! One exporter a format: functions from a run and its cells to text, which print nothing and open nothing.

mod csv;
mod json;
mod markdown;
mod story;
mod table;

pub use csv::csv;
pub use json::json;
pub use markdown::markdown;
pub use story::story;
pub use table::{Look, table};
