//! Latency by percentile.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::super::paint::{GRID, INK, MUTED, of_contender, text};
use super::{Chart, Here};
use crate::quantity::three_digits;
use crate::text::plain;
use crate::{Cell, Pass, Unit};

/// Kinds of latency that have no chart.
const BESIDE: [&str; 2] = ["driver", "lateness"];

/// A contender's place in the run, and its percentiles with their latency in microseconds.
type Curve = (usize, Vec<(f64, f64)>);

impl Here<'_> {
    /// One chart a step of the pass and kind of latency; a sentence where the pass did not run.
    pub(super) fn latency(&self) -> Vec<Chart> {
        let mut curves: BTreeMap<(String, String), Vec<Curve>> = BTreeMap::new();
        for cell in self.cells.iter().filter(|cell| cell.pass == Pass::Latency && cell.failed.is_none()) {
            // How late statements were issued, and how long the driver had them, is in the tables.
            for (kind, points) in percentiles(cell).into_iter().filter(|(kind, _)| !BESIDE.contains(&kind.as_str())) {
                let step = cell.step.clone().unwrap_or_default();
                curves.entry((step, kind)).or_default().push((self.faces.place(&cell.contender), points));
            }
        }
        curves.retain(|_, curves| curves.iter().any(|(_, points)| points.len() > 1));
        if curves.is_empty() {
            let why = "Latency was not measured in this run; `--pass latency` does, at a fixed rate below saturation.";
            let (title, about) = ("Latency by percentile".to_owned(), String::new());
            return vec![Chart { title, about, view: None, picture: Err(why.to_owned()), legend: Vec::new() }];
        }
        curves.iter().map(|((step, kind), curves)| self.curves(step, kind, curves)).collect()
    }

    fn curves(&self, step: &str, kind: &str, curves: &[Curve]) -> Chart {
        let title = match (kind, kind.strip_prefix("service_")) {
            ("response", _) => "Response time by percentile, at a fixed rate".to_owned(),
            (_, Some(in_flight)) => format!("Time by percentile, {} in flight", plain(in_flight)),
            _ => format!("Latency by percentile: {} {}", plain(&kind.replace('_', " ")), plain(step))
                .trim_end()
                .to_owned(),
        };
        let about = "In microseconds, on a logarithmic axis; further down is faster.".to_owned();
        let all = || curves.iter().flat_map(|(_, points)| points);
        let least = all().map(|(_, us)| *us).fold(f64::INFINITY, f64::min).max(0.01);
        let most = all().map(|(_, us)| *us).fold(least * 2.0, f64::max);
        let last = all().map(|(percentile, _)| tail(*percentile)).fold(1.0, f64::max);
        let mut titles = Vec::new();
        for (place, points) in curves {
            let said: Vec<String> = points
                .iter()
                .map(|(percentile, us)| format!("{percentile} % within {} us", three_digits(*us)))
                .collect();
            titles.push(format!("{}: {}", self.faces.labels[*place], said.join(", ")));
        }
        let alternative = format!("{title}. {}.", titles.join("; "));
        let picture = self.paint(460, &alternative, &titles, |area| {
            let mut chart = ChartBuilder::on(area)
                .margin(12)
                .margin_right(40)
                .x_label_area_size(44)
                .y_label_area_size(110)
                .build_cartesian_2d(0.2..last + 0.05, (least * 0.8..most * 1.25).log_scale())?;
            chart
                .configure_mesh()
                .disable_x_mesh()
                .x_labels(4)
                .y_labels(6)
                .x_label_formatter(&|x| percent(*x))
                .y_label_formatter(&|us| three_digits(*us))
                .axis_style(INK)
                .bold_line_style(GRID)
                .light_line_style(TRANSPARENT)
                .label_style(text(MUTED))
                .draw()?;
            for (nth, (place, points)) in curves.iter().enumerate() {
                let colour = of_contender(*place, Some(nth));
                let points: Vec<(f64, f64)> = points.iter().map(|(percentile, us)| (tail(*percentile), *us)).collect();
                chart.draw_series([PathElement::new(points.clone(), colour.stroke_width(4))])?;
                chart.draw_series(points.into_iter().map(|point| Circle::new(point, 7, colour.filled())))?;
            }
            Ok(())
        });
        let ids = curves.iter().filter_map(|(place, _)| self.faces.ids.get(*place).map(String::as_str));
        Chart { title, about, view: None, picture, legend: self.faces.legend(ids) }
    }
}

/// Measures such as `response_p999`, by what stands before the percentile; each with its percentiles in hundredths.
fn percentiles(cell: &Cell) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut found: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (id, measure) in &cell.measures {
        let Some((kind, digits)) = id.rsplit_once("_p") else { continue };
        let (Some(value), Some(unit), Ok(number)) = (measure.get(), measure.unit(), digits.parse::<f64>()) else {
            continue;
        };
        let us = match unit {
            Unit::Microseconds => value,
            Unit::Seconds => value * 1e6,
            _ => continue,
        };
        let percentile = if digits.len() > 2 { number / 10f64.powi(digits.len() as i32 - 2) } else { number };
        if us > 0.0 && percentile < 100.0 {
            found.entry(kind.to_owned()).or_default().push((percentile, us));
        }
    }
    found.values_mut().for_each(|points| points.sort_by(|one, other| one.0.total_cmp(&other.0)));
    found
}

/// How many nines: 90 % is 1, 99 % is 2.
fn tail(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}

/// The percentile of so many nines.
fn percent(nines: f64) -> String {
    let share = 100.0 * (1.0 - 10f64.powf(-nines));
    let digits = (nines.round() as usize).saturating_sub(2);
    format!("{share:.digits$} %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measure, sample};

    #[test]
    fn percentiles_are_read_from_the_names_of_measures() {
        let (_, mut cells) = sample::run();
        let cell = &mut cells[0];
        cell.measures.clear();
        for (id, us) in
            [("response_p50", 40.0), ("response_p999", 300.0), ("response_p99", 90.0), ("service_p50", 30.0)]
        {
            cell.measures.insert(id.to_owned(), Measure::value(us, Unit::Microseconds));
        }
        cell.measures.insert("wall".to_owned(), Measure::value(1.0, Unit::Seconds));
        let found = percentiles(cell);
        assert_eq!(found["response"], [(50.0, 40.0), (99.0, 90.0), (99.9, 300.0)]);
        assert_eq!(found["service"], [(50.0, 30.0)]);
        assert_eq!(found.len(), 2);
    }
}
