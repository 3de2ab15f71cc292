//! One exporter per format: from an analysis to text. An exporter prints nothing and opens nothing.

mod bencher;
mod chart;
pub(crate) mod check;
pub(crate) mod column;
mod csv;
pub(crate) mod document;
pub(crate) mod exporter;
mod faults;
pub(crate) mod head;
mod history;
mod html;
pub(crate) mod json;
mod ladder;
mod live;
mod markdown;
pub(crate) mod part;
mod published;
mod releases;
mod sheets;
mod short;
mod side_by_side;
mod story;
mod svg;
mod sweep;
mod table;
mod time;

pub use chart::{Curve, growth_chart};
use exporter::Exporter;
pub use faults::OWN_DEFAULTS;
pub use html::{Listed, PAGE_LIMIT, site, stand_ins};
pub use live::{live, live_line};
pub use markdown::markdown;
pub use published::{Front, PublishedRun, is_of_a_plan, of_date, plan_name, unnumbered};
pub use side_by_side::NO_RATIOS;
pub use svg::chart_titles;
pub use table::terminal;

/// All formats; the first is the default.
pub static EXPORTERS: [&dyn Exporter; 8] = [
    &table::Table,
    &time::Time,
    &markdown::Markdown,
    &csv::Csv,
    &json::Json,
    &bencher::Bencher,
    &svg::Svg,
    &html::Html,
];

/// The format of that name.
pub fn exporter(name: &str) -> Option<&'static dyn Exporter> {
    EXPORTERS.into_iter().find(|one| one.name() == name)
}

/// What the tests show, without an analysis of their own.
#[cfg(test)]
pub(crate) mod shown {
    use super::*;
    use crate::{Analysis, Cell, Look, Recorded, Run};

    pub fn at(width: usize) -> Look {
        Look { width, all_columns: false, wide: false, notes: false, ..Look::default() }
    }

    pub fn wide(run: &Run, cells: &[Cell], width: usize) -> String {
        table(run, cells, Look { wide: true, notes: true, ..at(width) })
    }

    pub fn table(run: &Run, cells: &[Cell], look: Look) -> String {
        table::Table.one(&Analysis::new(run, cells), look).unwrap()
    }

    pub fn times(run: &Run, cells: &[Cell], look: Look) -> String {
        time::Time.one(&Analysis::new(run, cells), look).unwrap()
    }

    pub fn story(run: &Run, cells: &[Cell], look: Look) -> String {
        table::terminal(&super::story::story(&Analysis::new(run, cells), look.width), look)
    }

    pub fn markdown(run: &Run, cells: &[Cell]) -> String {
        markdown::Markdown.one(&Analysis::new(run, cells), Look::default()).unwrap()
    }

    pub fn csv(run: &Run, cells: &[Cell]) -> String {
        csv::Csv.one(&Analysis::new(run, cells), Look::default()).unwrap()
    }

    pub fn json(run: &Run, cells: &[Cell]) -> String {
        json::Json.one(&Analysis::new(run, cells), Look::default()).unwrap()
    }

    /// Against the contender of that id.
    pub fn against(format: &str, run: &Run, cells: &[Cell], reference: &str) -> String {
        let analysis = Analysis::against(run, cells, Some(reference));
        exporter(format).unwrap().one(&analysis, Look { width: 2_000, ..Look::default() }).unwrap()
    }

    pub fn html(run: &Run, cells: &[Cell]) -> String {
        html::Html.one(&Analysis::new(run, cells), Look::default()).unwrap()
    }

    pub fn several(format: &str, named: &[(String, &Recorded)], look: Look) -> String {
        exporter(format).unwrap().several(named, look).unwrap().unwrap()
    }
}
