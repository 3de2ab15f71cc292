//! Throughput over time.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::super::paint::{GRID, INK, MUTED, of_contender, text};
use super::{Chart, Here, Kind, Marked};
use crate::quantity::whole;
use crate::{Cell, Pass};

/// Fewer whole seconds than this are no course of time.
const LEAST: usize = 3;

impl Here<'_> {
    /// A line a cell, the first second's answers first.
    pub(super) fn series(&self) -> Chart {
        let whole_seconds = |cell: &&Cell| -> Vec<f64> {
            let answered = answered(cell);
            // The last second is seldom a whole one.
            answered[..answered.len().saturating_sub(1)].to_vec()
        };
        let shown: Vec<(&Cell, Vec<f64>)> = self
            .cells
            .iter()
            .filter(|cell| cell.pass == Pass::Timing && cell.failed.is_none())
            .filter(|cell| self.faces.drivers.get(self.faces.place(&cell.contender)) == Some(&true))
            .map(|cell| (*cell, whole_seconds(cell)))
            .filter(|(_, seconds)| seconds.len() >= LEAST)
            .collect();
        let title = "Statements a second over time".to_owned();
        let about = "A line is one run of one driver's worker; its last second, which is not a whole one, is left out."
            .to_owned();
        if shown.is_empty() {
            let why =
                "Every run was shorter than four seconds, which is no course of time; a greater `--count` shows it.";
            return Chart {
                kind: Kind::Time,
                title,
                about: String::new(),
                view: None,
                picture: Err(why.to_owned()),
                legend: Vec::new(),
            };
        }
        let longest = shown.iter().map(|(_, seconds)| seconds.len()).max().unwrap_or(1);
        let most = shown.iter().flat_map(|(_, seconds)| seconds).copied().fold(1.0, f64::max);
        let titles: Vec<String> = shown
            .iter()
            .map(|(cell, _)| format!("{}, block {}", self.faces.label(&cell.contender), cell.block))
            .collect();
        // A range a contender, over all of its lines.
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
        let marks = (1..=last).filter(|second| step == 1 || second % step == 0).map(|second| second as f64).collect();
        let picture = self.paint(420, &alternative, &titles, |area| {
            let mut chart = ChartBuilder::on(area)
                .margin(12)
                .x_label_area_size(44)
                .y_label_area_size(96)
                .build_cartesian_2d(Marked { range: 1.0..last as f64, is_log: false, marks }, 0.0..most * 1.06)?;
            chart
                .configure_mesh()
                .disable_x_mesh()
                .x_labels(8)
                .y_labels(6)
                .x_label_formatter(&|x| format!("{x:.0} s"))
                .y_label_formatter(&|y| {
                    if most >= 2e6 { format!("{:.1} M", y / 1e6) } else { format!("{:.0} k", y / 1e3) }
                })
                .axis_style(INK)
                .bold_line_style(GRID)
                .light_line_style(TRANSPARENT)
                .label_style(text(MUTED))
                .draw()?;
            for (nth, (cell, seconds)) in shown.iter().enumerate() {
                let colour = of_contender(self.faces.place(&cell.contender), Some(nth)).mix(0.8);
                let points = seconds.iter().enumerate().map(|(second, value)| ((second + 1) as f64, *value));
                chart.draw_series([PathElement::new(points.collect::<Vec<_>>(), colour.stroke_width(3))])?;
            }
            Ok(())
        });
        let legend = self.faces.legend(shown.iter().map(|(cell, _)| cell.contender.as_str()));
        Chart { kind: Kind::Time, title, about, view: None, picture, legend }
    }
}

/// Statements answered in each second of the window.
fn answered(cell: &Cell) -> Vec<f64> {
    cell.series.answered.iter().map(|answers| *answers as f64).collect()
}
