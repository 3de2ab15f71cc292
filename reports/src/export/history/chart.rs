//! A line a contender.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{figure, said};
use crate::Role;
use crate::export::html::paint::{GRID, INK, MUTED, WIDTH, of_contender, painted, text};
use crate::history::{HistoryLine, Panel};
use crate::plain;

/// The picture's height, its margin, and the width of what stands beside the axis, in units of a picture.
const HEIGHT: u32 = 420;
const MARGIN: u32 = 12;
const BESIDE: u32 = 96;
/// What is below the axis, as a share of what is above it.
const BELOW: f64 = 0.14;
/// What is between a point and its version, as a share of what is above the axis.
const GAP: f64 = 0.015;
/// A line of text and one of its characters on a narrow screen, where they are largest, in units of a picture.
const LINE: f64 = 34.0;
const CHARACTER: f64 = 18.0;

/// The classes of the lines' colours.
pub fn classes(panel: &Panel) -> Vec<String> {
    let class = |line: &HistoryLine| match line.role {
        Role::Floor => "k-floor".to_owned(),
        Role::Noop => "k-noop".to_owned(),
        Role::Driver => format!("k-{}", line.colour % 8),
    };
    panel.lines.iter().map(class).collect()
}

/// Points with the spread of their blocks, in order, joined but over gaps.
///
/// # Errors
/// A full sentence where it cannot be drawn.
pub fn chart(panel: &Panel, runs: &[crate::history::PastRun]) -> Result<String, String> {
    let mut titles = Vec::new();
    for line in &panel.lines {
        for point in &line.points {
            let what =
                point.gap.as_ref().map_or_else(|| said(panel, point), |gap| format!("no figure: {}", plain(gap)));
            let run = &runs[point.run];
            titles.push(format!("{} {}, {}: {what}", plain(&line.contender), plain(&point.version), run.started));
        }
    }
    let label = format!("{}: {}.", panel.words, titles.join("; "));
    let places = panel.places.len();
    let (labels, greatest) = labels(panel, greatest(panel));
    painted(HEIGHT, &label, &titles, &classes(panel), |area| {
        let x = -0.5..places as f64 - 0.5;
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .y_label_area_size(BESIDE)
            .build_cartesian_2d(x, -greatest * BELOW..greatest)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .y_labels(6)
            .y_label_formatter(&|y| if *y < 0.0 { String::new() } else { figure(panel, *y) })
            .axis_style(TRANSPARENT)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .label_style(text(MUTED))
            .draw()?;
        chart.draw_series([PathElement::new([(-0.5, 0.0), (places as f64 - 0.5, 0.0)], INK.stroke_width(2))])?;
        let below = |colour| text(colour).pos(Pos::new(HPos::Center, VPos::Top));
        let above = |colour| text(colour).pos(Pos::new(HPos::Center, VPos::Bottom));
        for (at, place) in panel.places.iter().enumerate().step_by(step(panel)) {
            chart.draw_series([Text::new(plain(place), (at as f64, -greatest * 0.03), below(MUTED))])?;
        }
        let mut nth = 0;
        for (at, line) in panel.lines.iter().enumerate() {
            for part in line.points.split(|point| point.median.is_none()) {
                let path: Vec<(f64, f64)> =
                    part.iter().filter_map(|point| Some((point.place as f64, point.median?))).collect();
                if path.len() > 1 {
                    chart.draw_series([PathElement::new(path, of_contender(at, None).stroke_width(3))])?;
                }
            }
            for point in &line.points {
                let (x, colour) = (point.place as f64, of_contender(at, Some(nth)));
                nth += 1;
                let Some(median) = point.median else {
                    chart.draw_series([Cross::new((x, 0.0), 9, colour.stroke_width(4))])?;
                    continue;
                };
                if let Some([least, most]) = point.spread {
                    chart.draw_series([PathElement::new([(x, least), (x, most)], colour.stroke_width(3))])?;
                }
                chart.draw_series([Circle::new((x, median), 8, colour.filled())])?;
            }
        }
        for label in labels {
            let place = (label.x, label.y + greatest * GAP);
            chart.draw_series([Text::new(label.text, place, above(of_contender(label.line, None)))])?;
        }
        Ok(())
    })
    .map_err(|error| format!("It could not be drawn: {error}."))
}

/// A version beside the point where a line begins to have it.
#[derive(Clone, Debug)]
struct Label {
    line: usize,
    text: String,
    x: f64,
    /// The lower edge.
    y: f64,
}

/// How far up the axis goes for the points.
fn greatest(panel: &Panel) -> f64 {
    let points = panel.lines.iter().flat_map(|line| &line.points);
    let tops = points.filter_map(|point| Some(point.spread.map_or(point.median?, |[_, most]| most)));
    let greatest = tops.fold(0.0, f64::max);
    if greatest > 0.0 { greatest * 1.12 } else { 1.0 }
}

/// The versions of the drivers, none over another one, and how far up the axis goes with them.
///
/// Where two would overlap, the one of the higher point is moved up. Where that would make the axis half as long again, what is moved
/// up is left out: the figures below the chart have it.
fn labels(panel: &Panel, greatest: f64) -> (Vec<Label>, f64) {
    let mut wanted = Vec::new();
    for (line, found) in panel.lines.iter().enumerate().filter(|(_, line)| line.role == Role::Driver) {
        let mut version = None;
        for point in found.points.iter().filter(|point| point.median.is_some()) {
            let top = point.spread.map(|[_, most]| most).or(point.median).unwrap_or_default();
            if version != Some(&point.version) {
                wanted.push(Label { line, text: plain(&point.version), x: point.place as f64, y: top });
            }
            version = Some(&point.version);
        }
    }
    wanted.retain(|label| !label.text.is_empty());
    wanted.sort_by(|one, other| one.y.total_cmp(&other.y));
    // What is moved up may need a longer axis, on which a line of text is worth more.
    let (mut end, most) = (greatest, greatest * 1.5);
    loop {
        let mut placed = apart(&wanted, panel.places.len(), end);
        let needed = placed.iter().map(|label| label.y + line_of(end)).fold(0.0, f64::max);
        if needed <= end || end >= most {
            placed.retain(|label| label.y + line_of(end) <= end);
            return (placed, end);
        }
        end = (needed * 1.02).min(most);
    }
}

/// Every how manieth place has room for its name below the axis.
fn step(panel: &Panel) -> usize {
    let longest = panel.places.iter().map(|place| place.chars().count()).max().unwrap_or_default() + 1;
    let texts = f64::from(WIDTH - 2 * MARGIN - BESIDE) / (longest as f64 * CHARACTER);
    panel.places.len().div_ceil((texts as usize).max(1)).max(1)
}

/// A line of text in units of the axis.
fn line_of(greatest: f64) -> f64 {
    LINE / f64::from(HEIGHT - 2 * MARGIN) * greatest * (1.0 + BELOW)
}

/// The labels, the lowest first, each as low as it can be without lying over one before it.
fn apart(wanted: &[Label], places: usize, greatest: f64) -> Vec<Label> {
    let line = line_of(greatest);
    let place = f64::from(WIDTH - 2 * MARGIN - BESIDE) / places.max(1) as f64;
    let width = |label: &Label| label.text.chars().count() as f64 * CHARACTER / place;
    let mut placed: Vec<Label> = Vec::new();
    for label in wanted {
        let mut label = label.clone();
        let beside = |other: &&Label| (other.x - label.x).abs() < f64::midpoint(width(other), width(&label));
        let mut taken: Vec<f64> = placed.iter().filter(beside).map(|other| other.y).collect();
        taken.sort_by(f64::total_cmp);
        for y in taken {
            if (y - label.y).abs() < line {
                label.y = y + line;
            }
        }
        placed.push(label);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Point;

    /// Lines by the median of their points, each point at another version.
    fn panel(lines: &[&[f64]]) -> Panel {
        let point = |at: usize, median: f64| Point {
            place: at,
            run: at,
            version: format!("1.{at}.0-rc.1"),
            median: Some(median),
            spread: Some([median * 0.98, median * 1.02]),
            blocks: 3,
            gap: None,
        };
        let line = |points: &&[f64]| HistoryLine {
            contender: "a".to_owned(),
            role: Role::Driver,
            colour: 0,
            points: points.iter().enumerate().map(|(at, median)| point(at, *median)).collect(),
        };
        Panel {
            title: "writes on multi:2".to_owned(),
            scenario: "writes".to_owned(),
            scenario_hash: "00ff".to_owned(),
            arrangement: "multi:2".to_owned(),
            meter: "cpu_per_statement".to_owned(),
            words: "CPU us a statement".to_owned(),
            unit: None,
            places: (0..lines[0].len()).map(|at| at.to_string()).collect(),
            lines: lines.iter().map(line).collect(),
        }
    }

    /// Fails where a label lies over another one or above the axis; gives how many there are.
    #[track_caller]
    fn readable(panel: &Panel) -> usize {
        let (labels, end) = labels(panel, greatest(panel));
        let place = f64::from(WIDTH - 2 * MARGIN - BESIDE) / panel.places.len() as f64;
        for (at, one) in labels.iter().enumerate() {
            for other in &labels[at + 1..] {
                let beside = (one.x - other.x).abs() * place < 10.0 * CHARACTER;
                assert!(!beside || (one.y - other.y).abs() > line_of(end) * 0.999, "{one:?} {other:?}");
            }
            assert!(one.y + line_of(end) <= end, "{one:?} above {end}");
        }
        assert!(end <= greatest(panel) * 1.5, "{end}");
        labels.len()
    }

    #[test]
    fn versions_of_lines_that_lie_over_each_other_are_all_there_and_none_lies_over_another_one() {
        assert_eq!(readable(&panel(&[&[2.0, 2.0], &[2.0, 2.0], &[2.01, 1.99], &[2.3, 1.7]])), 8);
        assert_eq!(readable(&panel(&[&[5.0], &[0.1], &[0.1], &[0.1]])), 4);
    }

    #[test]
    fn versions_for_which_there_is_no_room_do_not_squash_the_lines() {
        let found = readable(&panel(&[&[1.0; 12], &[1.0; 12], &[1.05; 12]]));
        assert!((6..36).contains(&found), "{found}");
    }

    #[test]
    fn names_below_the_axis_have_room_and_every_one_stands_there_where_all_have() {
        let mut panel = panel(&[&[1.0; 5]]);
        assert_eq!(step(&panel), 1);
        panel.places.iter_mut().for_each(|place| *place = "2026-10-01".to_owned());
        assert_eq!(step(&panel), 2);
    }

    #[test]
    fn a_version_that_has_room_stays_at_its_point() {
        let panel = panel(&[&[1.0, 1.0], &[2.0, 2.0]]);
        let (labels, end) = labels(&panel, greatest(&panel));
        let found: Vec<f64> = labels.iter().map(|label| label.y).collect();
        assert_eq!((found, end), (vec![1.02, 1.02, 2.04, 2.04], greatest(&panel)));
    }
}
