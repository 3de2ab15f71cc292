//! One exporter a format: functions from a run and its cells to text, which print nothing and open nothing.

mod chart;
mod csv;
mod history;
mod html;
mod json;
mod markdown;
mod readme;
mod side_by_side;
mod story;
mod table;
mod time;

pub(crate) use chart::chart;
pub use csv::{csv, csv_of_runs};
pub use history::{history_csv, history_html, history_json, history_markdown, history_table};
pub(crate) use html::StandIns;
pub use html::{PAGE_LIMIT, PageError, html, html_against};
pub use json::{json, json_against, json_of_runs};
pub use markdown::{markdown, markdown_against, markdown_of_runs};
pub(crate) use readme::{Shown, front, of_date};
pub use side_by_side::{NO_RATIOS, html_of_runs};
pub use story::story;
pub use table::{Look, table, table_against, table_of_runs};
pub use time::times;
