//! Figures over the reference's, with their intervals.

use super::svg::{Picture, Scale, Stands};
use super::view::View;
use super::{Chart, Here, Kind};
use crate::band::{BAND, between};
use crate::measure::CPU_PER_STATEMENT;
use crate::{Bottleneck, Role, SummaryRow};

const ROW: f64 = 84.0;

impl Here<'_> {
    /// One line per driver; none if no driver has an interval.
    pub(super) fn ratio(&self, at: usize, view: &View, meter: &str) -> Option<Chart> {
        let is_here = |row: &&SummaryRow| {
            row.meter == meter
                && row.is_in(self.place)
                && view.analysis.run.contender(&row.contender).is_some_and(|one| one.role == Role::Driver)
        };
        let rows = view.analysis.rows.iter().filter(is_here);
        let shown: Vec<(&SummaryRow, f64, [f64; 2])> =
            rows.filter_map(|row| Some((row, row.ratio?, row.interval?))).collect();
        if shown.is_empty() {
            return None;
        }
        let label = |row: &SummaryRow| {
            let limited = meter != CPU_PER_STATEMENT && row.bottleneck == Some(Bottleneck::Server);
            let name = self.faces.label(&row.contender);
            if limited { format!("{name} (server-bound)") } else { name }
        };
        let said = |row: &SummaryRow| format!("{}: {}", label(row), row.ratio_within(3, " to ").unwrap_or_default());
        let titles: Vec<String> = shown.iter().map(|(row, ..)| said(row)).collect();
        let low = shown.iter().map(|(_, _, [low, _])| *low).fold(1.0 - 2.0 * BAND, f64::min);
        let high = shown.iter().map(|(_, _, [_, high])| *high).fold(1.0 + 2.0 * BAND, f64::max);
        let pad = (high - low) * 0.06;
        let (left, right) = ((low - pad).max(0.0), high + pad);
        let is_cpu = meter == CPU_PER_STATEMENT;
        let (kind, what, better, all) = match is_cpu {
            true => (Kind::Cpu, "CPU time per statement", "left is less CPU time", "the run"),
            false => (Kind::Throughput, "Throughput", "right is more statements per second", "statements per second"),
        };
        let title = format!("{what} over that of {}", view.name);
        let alternative = format!("{title}, with 95 % intervals: {}.", titles.join("; "));
        let mut picture =
            Picture::rows(shown.len(), ROW, Scale::linear(left, right), self.with_titles(), |x| format!("{x:.2}"));
        let end = shown.len() as f64;
        for (nth, (row, ..)) in shown.iter().enumerate() {
            let run = view.analysis.run;
            let both = run.contender(&row.contender).zip(view.analysis.reference);
            let same = both.map_or(BAND, |(one, base)| between(run, &row.arrangement, one, base));
            let (top, below) = (nth as f64, nth as f64 + 1.0);
            picture.bar([((1.0 - same).max(left), top), ((1.0 + same).min(right), below)], "band", None);
        }
        picture.line(&[(1.0, 0.0), (1.0, end)], "ink", 2.0, None);
        for (nth, (row, ratio, [low, high])) in shown.iter().enumerate() {
            let (y, class) = (nth as f64 + 0.68, self.class(self.faces.place(&row.contender), ""));
            let name = if row.control { "muted" } else { "ink" };
            picture.text((left, nth as f64 + 0.06), &label(row), name, Stands::RightBelow);
            picture.line(&[(*low, y), (*high, y)], &class, 5.0, Some(&titles[nth]));
            picture.dot((*ratio, y), 9.0, &class, Some(&titles[nth]));
        }
        let about = format!(
            "Further {better}. Lines are 95 % intervals, which hold for all comparisons of {all} at once; the strip around 1 is the band \
             within which two drivers count as the same."
        );
        Some(Chart { view: Some(at), ..Chart::of(kind, title, about, Ok(picture.finished(alternative))) })
    }
}
