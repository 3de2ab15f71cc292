//! All charts, in one palette: those of one scenario in one arrangement here, and those that are files of their own.

mod breakdown;
mod cost;
mod growth;
pub mod history;
mod ladder;
mod latency;
mod ratio;
mod series;
mod strip;
pub mod svg;
mod sweep;
pub mod view;

pub use self::cost::cost_chart;
pub use self::growth::{Curve, growth_chart};
pub use self::ladder::ladders;
use self::svg::Drawn;
pub use self::sweep::sweep;
use self::view::{Faces, View};
use crate::measure::{CPU_PER_STATEMENT, THROUGHPUT};
use crate::{Analysis, Cell, Place};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Full,
    /// All of them without hover titles.
    Untitled,
    /// What the verdicts are read from, without hover titles.
    Few,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cpu,
    Throughput,
    Latency,
    Time,
    Names,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Cpu, Kind::Throughput, Kind::Latency, Kind::Time, Kind::Names];

    /// Its name, and the class that hides it.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            Kind::Cpu => ["CPU time", "g-cpu"],
            Kind::Throughput => ["throughput", "g-throughput"],
            Kind::Latency => ["latency", "g-latency"],
            Kind::Time => ["throughput over time", "g-time"],
            Kind::Names => ["figures by name", "g-names"],
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
    pub picture: Result<Drawn, String>,
    /// The colours' names: a class and a name each.
    pub legend: Vec<(String, String)>,
}

impl Chart {
    /// A picture that is the same for all views and has no legend, or why there is none.
    fn of(kind: Kind, title: String, about: impl Into<String>, picture: Result<Drawn, &str>) -> Chart {
        let picture = picture.map_err(str::to_owned);
        Chart { kind, title, about: about.into(), view: None, picture, legend: Vec::new() }
    }

    /// With the name of its place below the title.
    pub fn of_place(self, name: &str) -> Chart {
        Chart { title: format!("{}\n{name}", self.title), ..self }
    }

    /// As a file of its own; `None` if there is no picture.
    pub fn file(&self) -> Option<String> {
        Some(self.picture.as_ref().ok()?.standalone(&self.title, &self.legend))
    }
}

pub struct Here<'a> {
    pub place: Place<'a>,
    /// Those of the attempts that count.
    pub cells: Vec<&'a Cell>,
    pub faces: &'a Faces,
    pub detail: Detail,
}

impl<'a> Here<'a> {
    pub fn of(analysis: &Analysis<'a>, place: Place<'a>, faces: &'a Faces, detail: Detail) -> Here<'a> {
        let counts = |cell: &&&Cell| !analysis.rounds.leave_out(cell);
        Here { place, cells: analysis.cells_in(place).iter().filter(counts).copied().collect(), faces, detail }
    }

    pub fn charts(&self, views: &[View]) -> Vec<Chart> {
        let mut charts = Vec::new();
        for meter in [CPU_PER_STATEMENT, THROUGHPUT] {
            charts.extend(views.iter().enumerate().filter_map(|(at, view)| self.ratio(at, view, meter)));
            charts.extend(self.strip(meter));
            if self.detail == Detail::Few {
                return charts;
            }
        }
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
