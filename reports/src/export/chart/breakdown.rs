//! Figures that are many of one kind, stacked: system calls by name.

use std::collections::BTreeMap;

use super::svg::{Picture, Scale, Stands};
use super::{Chart, Here, Kind};
use crate::export::sheets::greatest_first;
use crate::measure::SYSCALLS_BY_NAME;
use crate::quantity::three_digits;
use crate::text::plain;

/// So many names have a colour of their own; the others are summed up.
const NAMES: usize = 8;
const ROW: f64 = 84.0;
/// The width of a letter at most, in units of the chart.
const LETTER: f64 = 17.0;

impl Here<'_> {
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
        if !kinds.contains_key(SYSCALLS_BY_NAME) {
            let why = "This run has no syscalls pass, which counts system calls by name.";
            charts.push(Chart::of(Kind::Names, "System calls per statement by name".to_owned(), "", Err(why)));
        }
        charts
    }

    fn stack(&self, kind: &str, found: &BTreeMap<usize, BTreeMap<&str, f64>>) -> Chart {
        let names = greatest_first(found.values().flatten().map(|(name, value)| (*name, *value)));
        let named: Vec<&str> = names.iter().take(NAMES).map(|(name, _)| *name).collect();
        let parts = |figures: &BTreeMap<&str, f64>| -> Vec<f64> {
            let mut parts: Vec<f64> = named.iter().map(|name| figures.get(name).copied().unwrap_or(0.0)).collect();
            let others = figures.iter().filter(|(name, _)| !named.contains(name)).map(|(_, value)| value).sum();
            parts.push(others);
            parts
        };
        let name = |nth: usize| named.get(nth).map_or("others".to_owned(), |name| plain(name));
        let what = if kind == SYSCALLS_BY_NAME {
            "System calls per statement by name".to_owned()
        } else {
            format!("{} per statement", plain(kind))
        };
        let most = found.values().map(|figures| figures.values().sum()).fold(0.0, f64::max) * 1.04;
        let mut picture = Picture::rows(found.len(), ROW, Scale::linear(0.0, most), self.with_titles(), three_digits);
        let mut said = Vec::new();
        for (at, (place, figures)) in found.iter().enumerate() {
            let (y, label) = (at as f64, &self.faces.labels[*place]);
            let all = three_digits(figures.values().sum());
            picture.text((0.0, y + 0.04), &format!("{label}  {all}"), "ink", Stands::RightBelow);
            said.push(format!("{label} {all}"));
            let mut from = 0.0;
            for (which, value) in parts(figures).into_iter().enumerate().filter(|(_, value)| *value > 0.0) {
                let title = format!("{label}, {}: {}", name(which), three_digits(value));
                picture.bar([(from, y + 0.5), (from + value, y + 0.88)], &format!("n-{which}"), Some(&title));
                // The names stand on the colours if there is room, for readers who cannot tell colours apart.
                let written = name(which);
                if value * picture.per_figure() > written.chars().count() as f64 * LETTER + 16.0 {
                    picture.text((from + most * 0.008, y + 0.56), &written, "paper", Stands::RightBelow);
                }
                from += value;
            }
        }
        let alternative = format!("{what}: {}. The table of this scenario has the figures by name.", said.join("; "));
        let about = "A bar is one contender, its parts are the names; shorter is less. The table has all figures.";
        let picture = Ok(picture.finished(alternative));
        let others = usize::from(names.len() > NAMES);
        let legend = (0..named.len() + others).map(|nth| (format!("n-{nth}"), name(nth))).collect();
        Chart { legend, ..Chart::of(Kind::Names, what, about, picture) }
    }
}
