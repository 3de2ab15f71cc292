//! One exporter a format: functions from a run and its cells to text, which print nothing and open nothing.

pub(crate) mod column;
mod csv;
pub(crate) mod document;
pub(crate) mod head;
mod history;
mod html;
mod json;
mod markdown;
pub(crate) mod quantity;
pub(crate) mod sheets;
mod side_by_side;
mod story;
mod table;
pub(crate) mod text;
mod time;

pub use csv::{csv, csv_of_runs};
pub use history::{history_csv, history_html, history_json, history_markdown, history_table};
pub use html::{PAGE_LIMIT, PageError, StandIns, html, html_against};
pub use json::{json, json_against, json_of_runs};
pub use markdown::{markdown, markdown_against, markdown_of_runs};
pub use side_by_side::{NO_RATIOS, html_of_runs};
pub use story::story;
pub use table::{Look, table, table_against, table_of_runs};
pub use time::times;
