//! Latency by percentile.

use std::collections::BTreeMap;

use cqldyno_measure::least_for;

use super::svg::{Picture, Scale};
use super::{Chart, Here, Kind};
use crate::measure::STATEMENTS;
use crate::quantity::{three_digits, whole};
use crate::text::plain;
use crate::{Cell, Pass, Unit};

const BESIDE: [&str; 2] = ["driver", "lateness"];

/// The prefix of latencies with a fixed number of statements in flight.
const IN_FLIGHT: &str = "service_";

/// A contender's place in the run, and its percentiles with their latency in microseconds.
type Curve = (usize, Vec<(f64, f64)>);

impl Here<'_> {
    /// One chart per step of the pass and kind of latency; a sentence if the pass did not run.
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
            let why = "This run has no latency pass, which measures at a fixed rate below saturation.";
            return vec![Chart::of(Kind::Latency, "Latency by percentile".to_owned(), "", Err(why))];
        }
        let mut curves: Vec<((String, String), Vec<Curve>)> = curves.into_iter().collect();
        // Response times first, then by the number in flight.
        curves.sort_by_key(|((_, kind), _)| in_flight(kind));
        curves.iter().map(|((step, kind), curves)| self.curves(step, kind, curves)).collect()
    }

    fn curves(&self, step: &str, kind: &str, curves: &[Curve]) -> Chart {
        let title = match (kind, kind.strip_prefix(IN_FLIGHT)) {
            ("response", _) => "Response time by percentile, at a fixed rate".to_owned(),
            (_, Some(in_flight)) => format!("Time by percentile, {} in flight", plain(in_flight)),
            _ => format!("Latency by percentile: {} {}", plain(&kind.replace('_', " ")), plain(step))
                .trim_end()
                .to_owned(),
        };
        let about = "In microseconds, on a logarithmic axis; further down is faster. At 99 %, one statement in a hundred took longer.";
        let all = || curves.iter().flat_map(|(_, points)| points);
        let least = all().map(|(_, us)| *us).fold(f64::INFINITY, f64::min).max(0.01);
        let most = all().map(|(_, us)| *us).fold(least * 2.0, f64::max);
        let (bottom, top) = (least * 0.8, most * 1.25);
        let mut at: Vec<f64> = all().map(|(percentile, _)| *percentile).collect();
        at.sort_by(f64::total_cmp);
        at.dedup();
        let last = at.iter().map(|percentile| tail(*percentile)).fold(1.0, f64::max);
        let (x, y) = (Scale::linear(0.2, last + 0.05), Scale::log(bottom, top));
        let mut picture = Picture::new(460.0, 122.0, 56.0, x, y, self.with_titles());
        let figure = |us: f64| if us < 1.0 { three_digits(us) } else { whole(us) };
        picture.across(Some(y.powers(1_000.0)), figure);
        picture.below(at.iter().map(|share| tail(*share)).map(|nines| (nines, percent(nines))));
        let mut said = Vec::new();
        for (place, points) in curves {
            let (label, class) = (&self.faces.labels[*place], self.class(*place, ""));
            let path: Vec<(f64, f64)> = points.iter().map(|(share, us)| (tail(*share), *us)).collect();
            picture.line(&path, &class, 4.0, None);
            let within = |(share, us): &(f64, f64)| format!("{share} % within {} us", three_digits(*us));
            let points: Vec<String> = points.iter().map(within).collect();
            for (point, within) in path.into_iter().zip(&points) {
                picture.dot(point, 7.0, &class, Some(&format!("{label}: {within}")));
            }
            said.push(format!("{label}: {}", points.join(", ")));
        }
        let picture = Ok(picture.finished(format!("{title}. {}.", said.join("; "))));
        let ids = curves.iter().filter_map(|(place, _)| self.faces.ids.get(*place).map(String::as_str));
        Chart { legend: self.faces.legend(ids), ..Chart::of(Kind::Latency, title, about, picture) }
    }
}

/// Measures such as `response_p999`, keyed by what precedes the percentile; each with its percentiles in hundredths.
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
    // A cell with a fixed number in flight has one kind only, which its histogram is of.
    if let (Some(latency), Some((kind, points))) = (&cell.latency, found.iter_mut().next())
        && in_flight(kind).is_some()
        && cell.step.as_deref() == kind.strip_prefix(IN_FLIGHT)
    {
        for (percentile, us) in [(90.0, latency.p90_us), (99.9, latency.p999_us)] {
            let is_told = cell.get(STATEMENTS).is_none_or(|number| number >= least_for(percentile / 100.0) as f64);
            if us > 0.0 && is_told && points.iter().all(|(known, _)| *known != percentile) {
                points.push((percentile, us));
            }
        }
    }
    found.values_mut().for_each(|points| points.sort_by(|one, other| one.0.total_cmp(&other.0)));
    found
}

/// The number in flight of a kind of latency, for example 16 of `service_16`.
fn in_flight(kind: &str) -> Option<u32> {
    kind.strip_prefix(IN_FLIGHT)?.parse().ok()
}

/// How many nines: 90 % is 1, 99 % is 2.
fn tail(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}

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

    #[test]
    fn what_is_kept_of_a_histogram_completes_the_curve_of_a_number_in_flight() {
        let (_, mut cells) = sample::run();
        let cell = &mut cells[0];
        cell.measures.clear();
        for (id, us) in [("service_16_p50", 40.0), ("service_16_p99", 90.0)] {
            cell.measures.insert(id.to_owned(), Measure::value(us, Unit::Microseconds));
        }
        cell.latency = Some(crate::Latency { p50_us: 40.0, p90_us: 60.0, p99_us: 90.0, p999_us: 300.0, max_us: 900.0 });
        assert_eq!(percentiles(cell)["service_16"], [(50.0, 40.0), (99.0, 90.0)], "of another step");
        cell.step = Some("16".to_owned());
        assert_eq!(percentiles(cell)["service_16"], [(50.0, 40.0), (90.0, 60.0), (99.0, 90.0), (99.9, 300.0)]);
    }

    #[test]
    fn an_axis_has_round_figures_and_the_percentiles_that_were_taken() {
        assert_eq!(Scale::log(8.0, 120.0).powers(1e3), [10.0, 20.0, 50.0, 100.0]);
        assert_eq!(Scale::log(15.0, 60_000.0).powers(1e3), [100.0, 1_000.0, 10_000.0]);
        let shown: Vec<String> = [50.0, 90.0, 99.0, 99.9, 99.99].map(|share| percent(tail(share))).into();
        assert_eq!(shown, ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
    }
}
