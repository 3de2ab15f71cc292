//! What is shown: the result model and one exporter a format.
//!
//! A [`Run`] and its [`Cell`]s are what a comparison leaves behind (`run.json` and `cells.jsonl` of a run folder). An exporter
//! is a function from those two to text: it prints nothing and opens nothing.

mod against;
mod attempts;
mod bottleneck;
mod cell;
mod check;
mod checksum;
mod column;
mod comparison;
mod cut_short;
mod document;
mod export;
#[cfg(test)]
mod golden;
mod head;
mod headline;
mod history;
pub mod measure;
pub mod published;
mod quantity;
mod ranking;
mod recorded;
mod repetition;
#[cfg(test)]
mod round_trip;
mod run;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod schema;
mod series;
mod sheets;
mod summary;
mod text;

pub use against::{against, references};
pub use bottleneck::Bottleneck;
pub use cell::{Cell, ErrorLine, Latency, Pass};
pub use check::{Check, CheckError, Difference, Finding, Judgement, Line};
pub use checksum::Checksum;
pub use column::left_out_first;
pub use cqldyno_statistics::LEAST_BLOCKS;
pub use cut_short::{CutShort, why_cut_short};
pub use export::{
    Look, NO_RATIOS, PAGE_LIMIT, PageError, csv, csv_of_runs, history_csv, history_html, history_json,
    history_markdown, history_table, html, html_against, html_of_runs, json, json_against, json_of_runs, markdown,
    markdown_against, markdown_of_runs, story, table, table_against, table_of_runs, times,
};
pub use headline::headline;
pub use history::{By, Group, History, HistoryLine, LeftOut, Panel, PastRun, Point};
pub use measure::{Better, Definition, Measure, MeasureInfo, Unit};
pub use quantity::{lasting, memory, three_digits, whole};
pub use recorded::{Recorded, RecordedError, foreign};
pub use repetition::{arguments, command};
pub use run::{
    ArrangementInfo, Contender, Environment, Library, ModelError, PlanInfo, Role, Run, SCHEMA_VERSION, ScenarioInfo,
    Setting, TargetInfo,
};
pub use series::Series;
pub use summary::{Summary, SummaryRow, Verdict, reference, summary};
pub use text::{count, list, pair, plain, wrap};
