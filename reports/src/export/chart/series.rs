//! Throughput over time.

use std::collections::BTreeMap;

use super::svg::{Picture, Scale};
use super::{Chart, Here, Kind};
use crate::quantity::whole;
use crate::{Cell, Pass};

/// Fewer whole seconds than this are no course of time.
const LEAST: usize = 3;

impl Here<'_> {
    /// A line per cell, the first second's answers first.
    pub(super) fn series(&self) -> Chart {
        let shown: Vec<(&Cell, Vec<f64>)> = self
            .cells
            .iter()
            .filter(|cell| cell.pass == Pass::Timing && cell.failed.is_none())
            .filter(|cell| self.faces.drivers.get(self.faces.place(&cell.contender)) == Some(&true))
            .map(|cell| (*cell, whole_seconds(cell)))
            .filter(|(_, seconds)| seconds.len() >= LEAST)
            .collect();
        let title = "Statements per second over time".to_owned();
        let about = "A line is one cell, without its incomplete last second.";
        if shown.is_empty() {
            let why = "Every window was shorter than four seconds. More statements show a course of time.";
            return Chart::of(Kind::Time, title, "", Err(why));
        }
        let longest = shown.iter().map(|(_, seconds)| seconds.len()).max().unwrap_or(1);
        let most = shown.iter().flat_map(|(_, seconds)| seconds).copied().fold(1.0, f64::max);
        // A range per contender, over all of its lines.
        let mut ranges: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (cell, seconds) in &shown {
            let range = ranges.entry(self.faces.place(&cell.contender)).or_insert((f64::INFINITY, 0.0));
            *range = seconds.iter().fold(*range, |(least, most), value| (least.min(*value), most.max(*value)));
        }
        let said: Vec<String> = ranges
            .into_iter()
            .map(|(place, (least, most))| format!("{}: {} to {}", self.faces.labels[place], whole(least), whole(most)))
            .collect();
        let alternative = format!("{title}, least and most in a second: {}.", said.join("; "));
        let last = longest.max(2);
        let step = last.div_ceil(8);
        let scale = Scale::linear(1.0, last as f64);
        let mut picture = Picture::new(420.0, 108.0, 56.0, scale, Scale::linear(0.0, most * 1.06), self.with_titles());
        picture.across(None, |y| if most >= 2e6 { format!("{:.1} M", y / 1e6) } else { format!("{:.0} k", y / 1e3) });
        let marked = (1..=last).filter(|second| step == 1 || second % step == 0);
        picture.below(marked.map(|second| (second as f64, format!("{second} s"))));
        for (cell, seconds) in &shown {
            let title = format!("{}, generation {}", self.faces.label(&cell.contender), cell.block);
            let points: Vec<(f64, f64)> = (1..).map(f64::from).zip(seconds.iter().copied()).collect();
            picture.line(&points, &self.class(self.faces.place(&cell.contender), " thin"), 3.0, Some(&title));
        }
        let legend = self.faces.legend(shown.iter().map(|(cell, _)| cell.contender.as_str()));
        Chart { legend, ..Chart::of(Kind::Time, title, about, Ok(picture.finished(alternative))) }
    }
}

/// Statements answered in each whole second of the window, which the last one seldom is.
fn whole_seconds(cell: &Cell) -> Vec<f64> {
    let answered = &cell.series.answered;
    answered[..answered.len().saturating_sub(1)].iter().map(|answers| *answers as f64).collect()
}
