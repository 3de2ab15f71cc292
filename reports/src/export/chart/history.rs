//! The chart of a history: a line per contender.

use super::svg::{Picture, RIGHT, Scale, Stands, TOP, WIDTH};
use super::view::colour;
use super::{Chart, Kind};
use crate::measure::THROUGHPUT;
use crate::quantity::{three_digits, whole};
use crate::{HistoryLine, HistoryPoint, LevelChange, Panel, PastRun, Role, plain};

/// The height of the picture, the room beside the axis and the room below it, in units of a picture.
const HEIGHT: f64 = 420.0;
const BESIDE: f64 = 108.0;
const BELOW: f64 = 56.0;
/// The gap between a point and its version, as a share of the axis.
const GAP: f64 = 0.015;
/// A line of text and one of its characters on a narrow screen, where they are largest, in units of a picture.
const LINE: f64 = 34.0;
const CHARACTER: f64 = 18.0;

pub fn figure(panel: &Panel, value: f64) -> String {
    if panel.meter == THROUGHPUT { whole(value) } else { three_digits(value) }
}

pub fn said(panel: &Panel, point: &HistoryPoint) -> String {
    match (point.median, point.spread) {
        (Some(median), Some(ends)) => {
            let [median, least, most] = [median, ends[0], ends[1]].map(|one| figure(panel, one));
            if least == most { median } else { format!("{median} ({least} to {most})") }
        }
        (Some(median), None) => figure(panel, median),
        _ => "gap".to_owned(),
    }
}

pub fn story(panel: &Panel, line: &HistoryLine, change: &LevelChange) -> String {
    let [before, after] = change.points.map(|at| &line.points[at]);
    let words = panel.words.replacen(" per statement", "", 1).replace(", ", " ");
    let shown = |point: &HistoryPoint| point.median.map_or("gap".to_owned(), |median| figure(panel, median));
    format!("{} {words}", [before, after].map(shown).join(" -> "))
}

/// Points with the spread of their blocks, joined except over gaps.
pub fn chart(panel: &Panel, runs: &[PastRun]) -> Chart {
    let places = panel.places.len();
    let (labels, greatest) = labels(panel, greatest(panel));
    let x = Scale::linear(-0.5, places as f64 - 0.5);
    let mut picture = Picture::new(HEIGHT, BESIDE, BELOW, x, Scale::linear(0.0, greatest), true);
    picture.across(None, |y| figure(panel, y));
    picture.below(panel.places.iter().enumerate().step_by(step(panel)).map(|(at, place)| (at as f64, plain(place))));
    let mut titles = Vec::new();
    for line in &panel.lines {
        let class = colour(line.role, line.colour);
        for change in &line.changes {
            let [before, after] = change.points.map(|at| line.points[at].place as f64);
            let x = f64::midpoint(before, after);
            picture.line(&[(x, 0.0), (x, greatest)], "ink", 2.0, Some(&story(panel, line, change)));
        }
        for part in line.points.split(|point| point.median.is_none()) {
            let path: Vec<(f64, f64)> =
                part.iter().filter_map(|point| Some((point.place as f64, point.median?))).collect();
            if path.len() > 1 {
                picture.line(&path, &class, 3.0, None);
            }
        }
        for point in &line.points {
            let what =
                point.gap.as_ref().map_or_else(|| said(panel, point), |gap| format!("no figure: {}", plain(gap)));
            let (run, x) = (&runs[point.run], point.place as f64);
            let title = format!("{} {}, {}: {what}", plain(&line.contender), plain(&point.version), run.started);
            if let Some([least, most]) = point.spread {
                picture.line(&[(x, least), (x, most)], &class, 3.0, Some(&title));
            }
            match point.median {
                Some(median) => picture.dot((x, median), 8.0, &class, Some(&title)),
                None => picture.cross((x, 0.0), &class, &title),
            }
            titles.push(title);
        }
    }
    for label in labels {
        let class = colour(Role::Driver, panel.lines[label.line].colour);
        picture.text((label.x, label.y + greatest * GAP), &label.text, &class, Stands::Above);
    }
    let picture = Ok(picture.finished(format!("{}: {}.", panel.words, titles.join("; "))));
    let legend = panel.lines.iter().map(|line| (colour(line.role, line.colour), plain(&line.contender))).collect();
    Chart { legend, ..Chart::of(Kind::Time, plain(&panel.title), "", picture) }
}

/// A version beside the point where a line begins to have it.
#[derive(Clone, Debug)]
struct Label {
    line: usize,
    text: String,
    x: f64,
    y: f64,
}

/// How far up the axis goes for the points.
fn greatest(panel: &Panel) -> f64 {
    let greatest = panel.lines.iter().flat_map(|line| &line.points).map(top).fold(0.0, f64::max);
    if greatest > 0.0 { greatest * 1.12 } else { 1.0 }
}

/// The upper end of what is drawn of a point.
fn top(point: &HistoryPoint) -> f64 {
    point.spread.map(|[_, most]| most).or(point.median).unwrap_or_default()
}

/// The versions of the drivers, none over another one, and how far up the axis goes with them.
///
/// If two would overlap, that of the higher point moves up. If the axis would become half as long again, the moved ones are left
/// out: the figures below the chart have them.
fn labels(panel: &Panel, greatest: f64) -> (Vec<Label>, f64) {
    let mut wanted = Vec::new();
    for (line, found) in panel.lines.iter().enumerate().filter(|(_, line)| line.role == Role::Driver) {
        let shown: Vec<&HistoryPoint> = found.points.iter().filter(|point| point.median.is_some()).collect();
        for begin in shown.chunk_by(|one, next| one.version == next.version).map(|points| points[0]) {
            wanted.push(Label { line, text: plain(&begin.version), x: begin.place as f64, y: top(begin) });
        }
    }
    wanted.retain(|label| !label.text.is_empty() && plain(&panel.places[label.x as usize]) != label.text);
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
    let texts = (WIDTH - RIGHT - BESIDE) / (longest as f64 * CHARACTER);
    panel.places.len().div_ceil((texts as usize).max(1)).max(1)
}

fn line_of(greatest: f64) -> f64 {
    LINE / (HEIGHT - TOP - BELOW) * greatest
}

/// The labels, the lowest first, each as low as it can be without lying over one before it.
fn apart(wanted: &[Label], places: usize, greatest: f64) -> Vec<Label> {
    let line = line_of(greatest);
    let place = (WIDTH - RIGHT - BESIDE) / places.max(1) as f64;
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

    /// Lines by the median of their points, each point at another version.
    fn panel(lines: &[&[f64]]) -> Panel {
        let point = |at: usize, median: f64| HistoryPoint {
            place: at,
            run: at,
            version: format!("1.{at}.0-rc.1"),
            median: Some(median),
            spread: Some([median * 0.98, median * 1.02]),
            blocks: 3,
            gap: None,
            contender: "a".to_owned(),
            level: None,
            interval: None,
            ratio: None,
        };
        let line = |points: &&[f64]| HistoryLine {
            contender: "a".to_owned(),
            role: Role::Driver,
            colour: 0,
            points: points.iter().enumerate().map(|(at, median)| point(at, *median)).collect(),
            changes: Vec::new(),
            is_searched: false,
        };
        Panel {
            title: "writes on multi:2".to_owned(),
            scenario: "writes".to_owned(),
            scenario_hash: "00ff".to_owned(),
            arrangement: "multi:2".to_owned(),
            meter: "cpu_per_statement".to_owned(),
            words: "CPU us per statement".to_owned(),
            unit: None,
            places: (0..lines[0].len()).map(|at| at.to_string()).collect(),
            lines: lines.iter().map(line).collect(),
        }
    }

    /// Fails where a label lies over another one or above the axis; gives how many there are.
    #[track_caller]
    fn readable(panel: &Panel) -> usize {
        let (labels, end) = labels(panel, greatest(panel));
        let place = (WIDTH - RIGHT - BESIDE) / panel.places.len() as f64;
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
