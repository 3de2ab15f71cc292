//! The figures of all blocks.

use plotters::prelude::*;

use super::super::paint::{INK, of_contender, text};
use super::{Chart, Here, Kind, room, rows};
use crate::measure::CPU_PER_STATEMENT;
use crate::quantity::{three_digits, whole};
use crate::summary::median;
use crate::{Cell, Pass};

const ROW: u32 = 74;

impl Here<'_> {
    /// A line a contender, a dot a block, and the median.
    pub(super) fn strip(&self, meter: &str) -> Option<Chart> {
        let is_cpu = meter == CPU_PER_STATEMENT;
        let figure = |value: f64| if is_cpu { three_digits(value) } else { whole(value) };
        let unit = if is_cpu { "us" } else { "statements/s" };
        // Beside floor and noop, which have many times their throughput, drivers could not be told apart.
        let found: Vec<(usize, Vec<(&Cell, f64)>)> = (0..self.faces.count())
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
        let mut titles = Vec::new();
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
            titles.extend(
                figures.iter().map(|(cell, value)| format!("{label}, block {}: {} {unit}", cell.block, figure(*value))),
            );
        }
        let title =
            if is_cpu { "CPU time a statement, block by block, in us" } else { "Statements a second, block by block" };
        let sentences: Vec<&str> = said.iter().map(|(_, sentence)| sentence.as_str()).collect();
        let alternative = format!("{title}; medians and ranges: {}.", sentences.join("; "));
        let picture = self.paint(ROW * found.len() as u32 + 56, &alternative, &titles, |area| {
            let top = found.len() as f64;
            let format = |x: &f64| match is_cpu {
                true => format!("{x:.1}"),
                false if greatest >= 2e6 => format!("{:.0} M", x / 1e6),
                false => format!("{:.0} k", x / 1e3),
            };
            let mut chart = rows(area, room(0.0..greatest * 1.06), found.len(), &format)?;
            let mut nth = 0;
            for (at, ((place, figures), (middle, _))) in found.iter().zip(&said).enumerate() {
                let y = top - at as f64;
                let name = format!("{}  {}", self.faces.labels[*place], figure(*middle));
                chart.draw_series([Text::new(name, (0.0, y - 0.04), text(INK))])?;
                for (_, value) in figures {
                    let colour = of_contender(*place, Some(nth)).mix(0.55);
                    chart.draw_series([Circle::new((*value, y - 0.7), 8, colour.filled())])?;
                    nth += 1;
                }
                if figures.len() > 1 {
                    let mark = PathElement::new([(*middle, y - 0.52), (*middle, y - 0.88)], INK.stroke_width(4));
                    chart.draw_series([mark])?;
                }
            }
            Ok(())
        });
        Some(Chart {
            kind: if is_cpu { Kind::Cpu } else { Kind::Throughput },
            title: title.to_owned(),
            about: "A dot is one run of one worker; the mark is the median, which stands behind the name. Failed and void ones \
                    are left out."
                .to_owned(),
            view: None,
            picture,
            legend: Vec::new(),
        })
    }
}
