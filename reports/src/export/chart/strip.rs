//! The figures of all blocks.

use super::svg::{Picture, Scale, Stands};
use super::{Chart, Here, Kind};
use crate::measure::CPU_PER_STATEMENT;
use crate::median;
use crate::quantity::{three_digits, whole};
use crate::{Cell, Pass};

const ROW: f64 = 74.0;

impl Here<'_> {
    /// A line per contender, a dot per block, and the median.
    pub(super) fn strip(&self, meter: &str) -> Option<Chart> {
        let is_cpu = meter == CPU_PER_STATEMENT;
        let (kind, unit, title, figure): (Kind, &str, &str, fn(f64) -> String) = match is_cpu {
            true => (Kind::Cpu, "us", "CPU time per statement, by generation, in us", three_digits),
            false => (Kind::Throughput, "statements/s", "Statements per second, by generation", whole),
        };
        // floor and noop have many times the drivers' throughput, beside which drivers look alike.
        let found: Vec<(usize, Vec<(&Cell, f64)>)> = (0..self.faces.ids.len())
            .filter(|place| is_cpu || self.faces.drivers[*place])
            .map(|place| {
                let is_mine = |cell: &&&Cell| {
                    cell.pass == Pass::Timing && cell.counts() && self.faces.place(&cell.contender) == place
                };
                (place, self.cells.iter().filter(is_mine).filter_map(|cell| Some((*cell, cell.get(meter)?))).collect())
            })
            .filter(|(_, figures): &(usize, Vec<_>)| !figures.is_empty())
            .collect();
        if found.is_empty() {
            return None;
        }
        let greatest = found.iter().flat_map(|(_, figures)| figures).map(|(_, value)| *value).fold(0.0, f64::max);
        let mut said = Vec::new();
        for (place, figures) in &found {
            let label = &self.faces.labels[*place];
            let mut values: Vec<f64> = figures.iter().map(|(_, value)| *value).collect();
            if let (Some(middle), Some(least), Some(most)) = (median(&mut values), values.first(), values.last()) {
                let range = if values.len() > 1 {
                    format!(" ({} to {})", figure(*least), figure(*most))
                } else {
                    String::new()
                };
                said.push((middle, format!("{label} {}{range}", figure(middle))));
            }
        }
        let sentences: Vec<&str> = said.iter().map(|(_, sentence)| sentence.as_str()).collect();
        let alternative = format!("{title}; medians and ranges: {}.", sentences.join("; "));
        let format = |x: f64| match is_cpu {
            true => format!("{x:.1}"),
            false if greatest >= 2e6 => format!("{:.0} M", x / 1e6),
            false => format!("{:.0} k", x / 1e3),
        };
        let scale = Scale::linear(0.0, greatest * 1.06);
        let mut picture = Picture::rows(found.len(), ROW, scale, self.with_titles(), format);
        for (at, ((place, figures), (middle, _))) in found.iter().zip(&said).enumerate() {
            let (y, label) = (at as f64, &self.faces.labels[*place]);
            picture.text((0.0, y + 0.04), &format!("{label}  {}", figure(*middle)), "ink", Stands::RightBelow);
            for (cell, value) in figures {
                let title = format!("{label}, block {}: {} {unit}", cell.block, figure(*value));
                picture.dot((*value, y + 0.7), 8.0, &self.class(*place, " faint"), Some(&title));
            }
            if figures.len() > 1 {
                picture.line(&[(*middle, y + 0.52), (*middle, y + 0.88)], "ink", 4.0, None);
            }
        }
        let about = "A dot is one cell; the mark is the median, which stands after the name. Failed and void ones are left out.";
        Some(Chart::of(kind, title.to_owned(), about, Ok(picture.finished(alternative))))
    }
}
