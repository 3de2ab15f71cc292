//! All charts, in one palette: those of one scenario in one arrangement here, and those that are files of their own.

mod breakdown;
mod cost;
mod growth;
pub mod history;
mod latency;
mod ratio;
mod series;
mod strip;
pub mod svg;
mod sweep;
pub mod view;

pub use self::cost::cost_chart;
pub use self::growth::{Curve, growth_chart};
pub use self::sweep::sweep;
use self::view::{Faces, View};
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

/// The figures of a chart.
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

    /// The class that hides it.
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
    /// The view it belongs to; absent if it is the same for all.
    pub view: Option<usize>,
    pub picture: Result<String, String>,
    /// The colours' names: a class and a name each.
    pub legend: Vec<(String, String)>,
}

impl Chart {
    /// Why there is no picture, in a sentence.
    fn none(kind: Kind, title: String, why: &str) -> Chart {
        Chart { kind, title, about: String::new(), view: None, picture: Err(why.to_owned()), legend: Vec::new() }
    }
}

/// What a chart is of.
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

    fn with_titles(&self) -> bool {
        self.detail == Detail::Full
    }

    /// The classes of the contender at that place of the run, with further ones.
    fn class(&self, place: usize, more: &str) -> String {
        format!("{}{more}", self.faces.classes.get(place).map_or("muted", String::as_str))
    }
}
