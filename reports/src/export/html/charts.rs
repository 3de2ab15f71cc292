//! The charts of one scenario in one arrangement.

mod breakdown;
mod latency;
mod ratio;
mod series;
mod strip;

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;

use super::paint::{Area, GRID, INK, MUTED, Unpainted, painted, text};
use super::view::{Faces, View};
use crate::measure::{CPU_PER_STATEMENT, THROUGHPUT};
use crate::{ArrangementInfo, Cell, ScenarioInfo};

/// How much of the charts is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// All of them.
    Full,
    /// All of them without hover titles.
    Untitled,
    /// What the verdicts are read from, without hover titles.
    Few,
}

/// What a chart is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cpu,
    Throughput,
    Latency,
    /// Throughput over time.
    Time,
    /// Figures by name.
    Names,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Cpu, Kind::Throughput, Kind::Latency, Kind::Time, Kind::Names];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Cpu => "CPU time",
            Kind::Throughput => "throughput",
            Kind::Latency => "latency",
            Kind::Time => "throughput over time",
            Kind::Names => "figures by name",
        }
    }

    /// By what it is hidden.
    pub fn class(self) -> &'static str {
        match self {
            Kind::Cpu => "g-cpu",
            Kind::Throughput => "g-throughput",
            Kind::Latency => "g-latency",
            Kind::Time => "g-time",
            Kind::Names => "g-names",
        }
    }
}

/// A chart, or why there is none.
pub struct Chart {
    pub kind: Kind,
    pub title: String,
    /// What helps to read it.
    pub about: String,
    /// For which of the views it is drawn; absent where it is the same for all.
    pub view: Option<usize>,
    pub picture: Result<String, String>,
    /// The colours' names: a class and a name each.
    pub legend: Vec<(String, String)>,
}

/// Where a chart is of.
pub struct Here<'a> {
    pub scenario: &'a ScenarioInfo,
    pub arrangement: &'a ArrangementInfo,
    /// Those of the attempts that count.
    pub cells: Vec<&'a Cell>,
    pub faces: &'a Faces,
    pub detail: Detail,
}

impl Here<'_> {
    pub fn charts(&self, views: &[View]) -> Vec<Chart> {
        let mut charts = Vec::new();
        for (at, view) in views.iter().enumerate() {
            charts.extend(self.ratio(at, view, CPU_PER_STATEMENT));
        }
        charts.extend(self.strip(CPU_PER_STATEMENT));
        if self.detail == Detail::Few {
            return charts;
        }
        for (at, view) in views.iter().enumerate() {
            charts.extend(self.ratio(at, view, THROUGHPUT));
        }
        charts.extend(self.strip(THROUGHPUT));
        charts.extend(self.latency());
        charts.push(self.series());
        charts.extend(self.breakdowns());
        charts
    }

    /// Draws, with the titles that `draw` was given.
    fn paint(
        &self,
        height: u32,
        label: &str,
        titles: &[String],
        draw: impl FnOnce(&Area) -> Result<(), Unpainted>,
    ) -> Result<String, String> {
        let titles = if self.detail == Detail::Full { titles } else { &[] };
        painted(height, label, titles, &self.faces.classes, draw)
            .map_err(|error| format!("It could not be drawn: {error}."))
    }
}

/// An axis with marks of its own choice.
struct Marked {
    range: Range<f64>,
    is_log: bool,
    marks: Vec<f64>,
}

impl Ranged for Marked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let scaled = |value: f64| if self.is_log { value.ln() } else { value };
        let (low, high) = (scaled(self.range.start), scaled(self.range.end));
        from + ((scaled(*value) - low) / (high - low) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// A range for figures, which has a length.
fn room(range: Range<f64>) -> Range<f64> {
    if range.end > range.start { range } else { range.start..range.start + 1.0 }
}

/// The frame of a chart whose rows stand one below the other: only the x axis has a meaning.
fn rows<'a, 'b, X>(
    area: &'a Area<'b>,
    x: X,
    count: usize,
    format: &dyn Fn(&f64) -> String,
) -> Result<
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<X::CoordDescType, plotters::coord::types::RangedCoordf64>>,
    Unpainted,
>
where
    X: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin_left(8)
        .margin_right(24)
        .x_label_area_size(44)
        .build_cartesian_2d(x, 0.0..count.max(1) as f64)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_labels(6)
        .x_label_formatter(&|x| format(x))
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(text(MUTED))
        .draw()?;
    Ok(chart)
}
