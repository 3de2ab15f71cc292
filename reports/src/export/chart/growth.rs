//! How figures grow with a number, on charts with logarithms on both axes.

use super::svg::{Picture, RIGHT, Scale, WIDTH};
use super::view::colour;
use crate::Role;
use crate::quantity::{three_digits, whole};
use crate::text::plain;

/// Room for the figures of the axes, and the height of the plot, in units of a picture.
const LEFT: f64 = 110.0;
const BOTTOM: f64 = 56.0;
const HEIGHT: f64 = 520.0;
/// Units between numbers below the axis that do not touch.
const APART: f64 = 80.0;

/// One line of the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it is of.
    pub label: String,
    /// The number and the cost, both above 0.
    pub points: Vec<(f64, f64)>,
}

#[derive(Default)]
pub(crate) struct LogLine {
    pub class: String,
    pub label: String,
    /// Those of which both are above 0 are drawn.
    pub points: Vec<(f64, f64)>,
    /// Numbers without a figure, with the reason: a cross each.
    pub missing: Vec<(f64, String)>,
    pub width: f64,
    /// Where its dot is a large one.
    pub large_at: Option<f64>,
}

/// Lines with a dot per point on two logarithmic axes; `None` without a point. Over `names` in place of numbers points are evenly apart: a
/// point's number is the place of its name, from 1.
pub(crate) fn on_axes(lines: &[LogLine], names: Option<&[String]>, with_titles: bool) -> Option<Picture> {
    let named = |x: f64| match names {
        None => whole(x),
        Some(names) => names.get(x as usize - 1).cloned().unwrap_or_default(),
    };
    let drawn = |(x, y): &(f64, f64)| *x > 0.0 && *y > 0.0 && x.is_finite() && y.is_finite();
    let points: Vec<(f64, f64)> = lines.iter().flat_map(|line| &line.points).copied().filter(drawn).collect();
    let missing = lines.iter().flat_map(|line| line.missing.iter().map(|one| one.0)).filter(|x| *x > 0.0);
    let numbers = points.iter().map(|point| point.0).chain(missing);
    let ends = |all: &mut dyn Iterator<Item = f64>| {
        all.fold([f64::INFINITY, 0.0_f64], |[low, high], one| [low.min(one), high.max(one)])
    };
    let ([left, right], [low, high]) = (ends(&mut numbers.clone()), ends(&mut points.iter().map(|point| point.1)));
    if points.is_empty() {
        return None;
    }
    let (low, high) = (low * 0.7, high * 1.4);
    let x = match names {
        None => Scale::log(left * 0.9, right * 1.1),
        Some(names) => Scale::linear(0.8, names.len() as f64 + 0.2),
    };
    let y = Scale::log(low, high);
    let mut picture = Picture::new(HEIGHT, LEFT, BOTTOM, x, y, with_titles);
    picture.across(Some(y.powers(100.0)), |y| if y < 1_000.0 { short(y) } else { whole(y) });
    let apart = ((right * 1.1).ln() - (left * 0.9).ln()) * APART / (WIDTH - LEFT - RIGHT);
    let mut at: Vec<f64> = numbers.collect();
    at.sort_by(f64::total_cmp);
    at.dedup_by(|next, last| if names.is_some() { next == last } else { next.ln() - last.ln() < apart });
    picture.below(at.into_iter().map(|x| (x, named(x))));
    for line in lines {
        let points: Vec<(f64, f64)> = line.points.iter().copied().filter(drawn).collect();
        picture.line(&points, &line.class, line.width, Some(&line.label));
        for point in points.iter().copied() {
            let title = format!("{}: {} at {}", line.label, three_digits(point.1), named(point.0));
            let radius = if line.large_at == Some(point.0) { 13.0 } else { 3.0 + line.width / 2.0 };
            picture.dot(point, radius, &line.class, Some(&title));
        }
        for (x, why) in &line.missing {
            // At the height of the curve's end before it, or of its first point.
            let before = points.iter().rev().find(|point| point.0 < *x).or(points.first());
            if let Some((_, y)) = before {
                picture.cross((*x, *y), &line.class, &format!("{}: none at {}. {}", line.label, named(*x), plain(why)));
            }
        }
    }
    Some(picture)
}

/// The chart in SVG, readable on light and dark; `None` without a point. Lines that lie on one another differ in width.
pub fn growth_chart(heading: &str, curves: &[Curve]) -> Option<String> {
    let line = |(nth, curve): (usize, &Curve)| LogLine {
        class: colour(Role::Driver, nth),
        label: plain(&curve.label),
        points: curve.points.clone(),
        width: 4.0 + 3.0 * (curves.len() - 1 - nth) as f64,
        ..LogLine::default()
    };
    let lines: Vec<LogLine> = curves.iter().enumerate().map(line).collect();
    let legend: Vec<(String, String)> = lines.iter().map(|line| (line.class.clone(), line.label.clone())).collect();
    Some(on_axes(&lines, None, true)?.finished("").standalone(&plain(heading), &legend))
}

fn short(value: f64) -> String {
    let text = three_digits(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_has_a_line_a_dot_per_point_and_a_name() {
        let curve = |label: &str, power: i32| Curve {
            label: label.to_owned(),
            points: [16.0, 64.0, 256.0].map(|x: f64| (x, x.powi(power))).into(),
        };
        let svg = growth_chart("polls & time", &[curve("<a>", 1), curve("b", 2)]).unwrap();
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!((svg.matches("<polyline class=\"k-").count(), svg.matches("<circle").count()), (2, 6), "{svg}");
        assert!(svg.contains("&lt;a&gt;") && !svg.contains("<a>") && svg.contains("polls &amp; time"), "{svg}");
        assert!(svg.contains(">10,000<") && svg.contains(">256<"), "{svg}");
    }

    #[test]
    fn of_many_numbers_below_the_axis_every_second_one_is_named() {
        let points = (0..14).map(|power| (f64::from(1 << power), 3.0)).collect();
        let svg = growth_chart("x", &[Curve { label: "a".to_owned(), points }]).unwrap();
        assert!(svg.contains(">1,024<") && svg.contains(">4,096<") && !svg.contains(">2,048<"), "{svg}");
    }

    #[test]
    fn points_without_a_logarithm_are_left_out_and_a_chart_of_none_is_none() {
        let curve = |y| Curve { label: "a".to_owned(), points: vec![(1.0, y), (2.0, 3.0)] };
        assert_eq!(growth_chart("x", &[curve(0.0)]).unwrap().matches("<circle").count(), 1);
        assert_eq!(growth_chart("x", &[]), None);
        assert_eq!(growth_chart("x", &[Curve { label: String::new(), points: vec![(0.0, 1.0)] }]), None);
    }
}
