//! Figures that are many of one kind, stacked: system calls by name.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::super::paint::{INK, PAPER, WIDTH, of_name, text};
use super::{Chart, Here, Kind, room, rows};
use crate::quantity::three_digits;
use crate::text::plain;

/// As many names have a colour of their own; the others are summed up.
const NAMES: usize = 8;
const ROW: u32 = 84;
/// The width of a letter, in units of the chart, reckoned generously.
const LETTER: f64 = 17.0;

impl Here<'_> {
    /// One chart a kind of breakdown.
    pub(super) fn breakdowns(&self) -> Vec<Chart> {
        let mut kinds: BTreeMap<&str, BTreeMap<usize, BTreeMap<&str, f64>>> = BTreeMap::new();
        for cell in self.cells.iter().filter(|cell| cell.counts()) {
            for (kind, figures) in &cell.breakdowns {
                let mine = kinds.entry(kind).or_default().entry(self.faces.place(&cell.contender)).or_default();
                // A later cell of a contender replaces an earlier one: a bar shows one cell.
                *mine = figures.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            }
        }
        let mut charts: Vec<Chart> = kinds.iter().map(|(kind, found)| self.stack(kind, found)).collect();
        if !kinds.contains_key("syscalls") {
            let why = "System calls were not counted by name in this run; `--pass syscalls` does.";
            charts.push(Chart {
                kind: Kind::Names,
                title: "System calls a statement by name".to_owned(),
                about: String::new(),
                view: None,
                picture: Err(why.to_owned()),
                legend: Vec::new(),
            });
        }
        charts
    }

    fn stack(&self, kind: &str, found: &BTreeMap<usize, BTreeMap<&str, f64>>) -> Chart {
        let mut greatest: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, value) in found.values().flatten() {
            let most = greatest.entry(name).or_default();
            *most = most.max(*value);
        }
        let mut names: Vec<(&str, f64)> = greatest.into_iter().collect();
        names.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        let named: Vec<&str> = names.iter().take(NAMES).map(|(name, _)| *name).collect();
        let parts = |figures: &BTreeMap<&str, f64>| -> Vec<f64> {
            let mut parts: Vec<f64> = named.iter().map(|name| figures.get(name).copied().unwrap_or(0.0)).collect();
            let others = figures.iter().filter(|(name, _)| !named.contains(name)).map(|(_, value)| value).sum();
            parts.push(others);
            parts
        };
        let name = |nth: usize| named.get(nth).map_or("others".to_owned(), |name| plain(name));
        let what = if kind == "syscalls" {
            "System calls a statement by name".to_owned()
        } else {
            format!("{} a statement", plain(kind))
        };
        let mut titles = Vec::new();
        let mut said = Vec::new();
        let mut most = 0.0f64;
        for (place, figures) in found {
            let label = &self.faces.labels[*place];
            let all: f64 = figures.values().sum();
            most = most.max(all);
            said.push(format!("{label} {}", three_digits(all)));
            titles.extend(
                parts(figures)
                    .iter()
                    .enumerate()
                    .map(|(nth, value)| format!("{label}, {}: {}", name(nth), three_digits(*value))),
            );
        }
        let alternative = format!("{what}: {}. The table of this scenario has the figures by name.", said.join("; "));
        let about =
            "A bar is one contender, its parts are the names; shorter is less. The table has all figures.".to_owned();
        let picture = self.paint(ROW * found.len() as u32 + 56, &alternative, &titles, |area| {
            let top = found.len() as f64;
            let mut chart = rows(area, room(0.0..most * 1.04), found.len(), &|x| three_digits(*x))?;
            let mut nth = 0;
            for (at, (place, figures)) in found.iter().enumerate() {
                let y = top - at as f64;
                let label = format!("{}  {}", self.faces.labels[*place], three_digits(figures.values().sum()));
                chart.draw_series([Text::new(label, (0.0, y - 0.04), text(INK))])?;
                let mut from = 0.0;
                for (which, value) in parts(figures).into_iter().enumerate() {
                    if value > 0.0 {
                        let bar = [(from, y - 0.5), (from + value, y - 0.88)];
                        chart.draw_series([Rectangle::new(bar, of_name(which, Some(nth)).filled())])?;
                        // The names stand on the colours where there is room, for who cannot tell them apart.
                        let written = name(which);
                        if value / (most * 1.04) * f64::from(WIDTH) > written.chars().count() as f64 * LETTER + 16.0 {
                            let at = (from + most * 0.008, y - 0.56);
                            chart.draw_series([Text::new(written, at, text(PAPER))])?;
                        }
                    }
                    from += value;
                    nth += 1;
                }
            }
            Ok(())
        });
        let others = usize::from(names.len() > NAMES);
        let legend = (0..named.len() + others).map(|nth| (format!("n-{nth}"), name(nth))).collect();
        Chart { kind: Kind::Names, title: what, about, view: None, picture, legend }
    }
}
