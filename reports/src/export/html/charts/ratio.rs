//! Figures over the reference's, with their intervals.

use plotters::prelude::*;

use super::super::paint::{BAND, INK, MUTED, of_contender, text};
use super::super::view::View;
use super::{Chart, Here, Kind, room, rows};
use crate::comparison::BAND as SAME;
use crate::measure::CPU_PER_STATEMENT;
use crate::{Bottleneck, Role, SummaryRow};

const ROW: u32 = 84;

impl Here<'_> {
    /// One line a driver; none where no driver has an interval.
    pub(super) fn ratio(&self, at: usize, view: &View, meter: &str) -> Option<Chart> {
        let is_here = |row: &&SummaryRow| {
            row.meter == meter
                && row.scenario == self.scenario.name
                && row.arrangement == self.arrangement.id
                && row.interval.is_some()
                && view.run.contender(&row.contender).is_some_and(|one| one.role == Role::Driver)
        };
        let shown: Vec<(&SummaryRow, f64, [f64; 2])> =
            view.rows.iter().filter(is_here).filter_map(|row| Some((row, row.ratio?, row.interval?))).collect();
        if shown.is_empty() {
            return None;
        }
        let label = |row: &SummaryRow| {
            let limited = meter != CPU_PER_STATEMENT && row.bottleneck == Some(Bottleneck::Server);
            let name = self.faces.label(&row.contender);
            if limited { format!("{name} (server-bound)") } else { name }
        };
        let titles: Vec<String> = shown
            .iter()
            .map(|(row, ratio, [low, high])| format!("{}: {ratio:.3} ({low:.3} to {high:.3})", label(row)))
            .collect();
        let low = shown.iter().map(|(_, _, [low, _])| *low).fold(1.0 - 2.0 * SAME, f64::min);
        let high = shown.iter().map(|(_, _, [_, high])| *high).fold(1.0 + 2.0 * SAME, f64::max);
        let pad = (high - low) * 0.06;
        let range = room((low - pad).max(0.0)..high + pad);
        let is_cpu = meter == CPU_PER_STATEMENT;
        let title = match is_cpu {
            true => format!("CPU time a statement over that of {}", view.name),
            false => format!("Throughput over that of {}", view.name),
        };
        let (better, holds) = match is_cpu {
            true => ("Further left is less CPU time", "which hold for all comparisons of the run at once"),
            false => ("Further right is more statements a second", "each by itself"),
        };
        let alternative = format!("{title}, with 95 % intervals: {}.", titles.join("; "));
        let picture = self.paint(ROW * shown.len() as u32 + 56, &alternative, &titles, |area| {
            let (left, right) = (range.start, range.end);
            let mut chart = rows(area, range, shown.len(), &|x| format!("{x:.2}"))?;
            let top = shown.len() as f64;
            let band = [((1.0 - SAME).max(left), 0.0), ((1.0 + SAME).min(right), top)];
            chart.draw_series([Rectangle::new(band, BAND.filled())])?;
            chart.draw_series([PathElement::new([(1.0, 0.0), (1.0, top)], INK.stroke_width(2))])?;
            for (nth, (row, ratio, [low, high])) in shown.iter().enumerate() {
                let colour = of_contender(self.faces.place(&row.contender), Some(nth));
                let y = top - nth as f64;
                let line = PathElement::new([(*low, y - 0.68), (*high, y - 0.68)], colour.stroke_width(5));
                let name = if row.control { MUTED } else { INK };
                chart.draw_series([Text::new(label(row), (left, y - 0.06), text(name))])?;
                chart.draw_series([line])?;
                chart.draw_series([Circle::new((*ratio, y - 0.68), 9, colour.filled())])?;
            }
            Ok(())
        });
        Some(Chart {
            kind: if is_cpu { Kind::Cpu } else { Kind::Throughput },
            title,
            about: format!(
                "{better}. Lines are 95 % intervals, {holds}; the strip around 1 is the 2 % within which two drivers count as \
                 the same."
            ),
            view: Some(at),
            picture,
            legend: Vec::new(),
        })
    }
}
