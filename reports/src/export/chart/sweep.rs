//! Curves over the number of statements in flight, of connections or of shards, or over distances.

use super::growth::{LogLine, on_axes};
use super::view::Faces;
use super::{Chart, Kind};
use crate::text::unique;
use crate::{Axis, Sweep, Swept, SweptFigures};

/// The width of lines that show no knee.
const THIN: f64 = 1.5;

/// A line per contender in each of the three charts: statements per second, CPU time per statement, latency.
pub fn sweep(sweep: &Sweep, faces: &Faces, with_titles: bool) -> Vec<Chart> {
    let is_in_flight = sweep.axis == Axis::InFlight;
    let over = sweep.axis.name();
    let large = match is_in_flight {
        true => " The large dot is the knee, where a curve levels off.",
        false => " Each point has as many in flight as serve most statements per second.",
    };
    let cross = match sweep.curves.iter().flat_map(|curve| &curve.points).any(|point| point.figures.is_err()) {
        true => " A cross has no figure; a note below says why.",
        false => "",
    };
    // A distance of 0 has no logarithm.
    let named = |point: &crate::SweptPoint| sweep.axis.number(point.at);
    let names = unique(sweep.curves.iter().flat_map(|curve| curve.points.iter().map(named)));
    let names = (sweep.axis == Axis::Delay).then_some(names.as_slice());
    let place = |at: u64| match names {
        None => at as f64,
        Some(names) => names.iter().position(|name| *name == sweep.axis.number(at)).unwrap_or_default() as f64 + 1.0,
    };
    let lines = |width: f64, figure: &dyn Fn(&SweptFigures) -> Option<f64>| -> Vec<LogLine> {
        let of = |curve: &Swept| {
            let face = faces.place(&curve.contender.id);
            let missing =
                curve.points.iter().filter_map(|one| Some((place(one.at), one.figures.as_ref().err()?.clone())));
            LogLine {
                class: faces.classes[face].clone(),
                label: faces.labels[face].clone(),
                points: curve.figures().filter_map(|(at, all)| Some((place(at), figure(&all)?))).collect(),
                missing: missing.filter(|_| width > THIN).collect(),
                width,
                large_at: curve.knee().map(|knee| knee as f64).filter(|_| width > THIN && is_in_flight),
            }
        };
        sweep.curves.iter().map(of).collect()
    };
    let chart = |kind, title: &str, about: &str, lines: Vec<LogLine>| {
        let title = format!("{title}, over {over}");
        let ids =
            sweep.curves.iter().filter(|curve| curve.figures().next().is_some()).map(|one| one.contender.id.as_str());
        let label = format!("{title}, for {}. A table below has all figures.", sweep.name());
        let picture = on_axes(&lines, names, with_titles).ok_or("No contender has a figure.");
        let picture = picture.map(|picture| picture.finished(label));
        Chart { legend: faces.legend(ids), ..Chart::of(kind, title, about, picture) }
    };
    let mut latency = lines(4.0, &|all| all.latency_us.map(|[p50, _]| p50));
    latency.extend(lines(THIN, &|all| all.latency_us.map(|[_, p99]| p99)));
    vec![
        chart(
            Kind::Throughput,
            "Statements per second",
            &format!("Both axes are logarithmic.{large}{cross}"),
            lines(4.0, &|all| Some(all.rate)),
        ),
        chart(Kind::Cpu, "CPU time per statement", "In microseconds.", lines(4.0, &|all| all.cpu_us)),
        chart(
            Kind::Latency,
            "Latency",
            "In microseconds; the thin line of a colour is the 99th percentile, the other the median. In a closed loop latency is throughput: \
             by Little's law its mean is the number in flight over statements per second. So it ranks nobody that the first chart does not.",
            latency,
        ),
    ]
}
