//! The highest rate that each contender holds, over distances.

use super::growth::{LogLine, on_axes};
use super::view::Faces;
use super::{Chart, Kind};
use crate::ladder::distance;
use crate::text::{grouped, unique};
use crate::{Cell, Climbed, Run, climbed};

pub fn ladders(run: &Run, cells: &[Cell], faces: &Faces, with_titles: bool) -> Vec<Chart> {
    let all = climbed(run, cells);
    let kinds = grouped(all.iter().map(|one| ((one.place.scenario.kind(), &one.place.arrangement.id), one)));
    kinds.iter().map(|(_, here)| ladder(run, here, faces, with_titles)).collect()
}

/// A line per contender over the distances of one scenario in one arrangement.
fn ladder(run: &Run, climbed: &[&Climbed], faces: &Faces, with_titles: bool) -> Chart {
    let distances = unique(climbed.iter().map(|one| distance(run, one.place.scenario)));
    let at = |one: &Climbed| {
        let here = distance(run, one.place.scenario);
        distances.iter().position(|known| *known == here).unwrap_or_default() as f64 + 1.0
    };
    let ids = unique(climbed.iter().map(|one| one.contender.id.as_str()));
    let line = |id: &&str| {
        let place = faces.place(id);
        let mine = || climbed.iter().filter(|one| one.contender.id == *id);
        LogLine {
            class: faces.classes[place].clone(),
            label: faces.labels[place].clone(),
            points: mine().filter_map(|one| Some((at(one), one.ladder.held()? as f64))).collect(),
            width: 4.0,
            ..LogLine::default()
        }
    };
    let lines: Vec<LogLine> = ids.iter().map(line).collect();
    let title = "Highest rate held, over the delay of answers".to_owned();
    let picture = on_axes(&lines, Some(&distances), with_titles).ok_or("Nobody held a rate.");
    let picture = picture.map(|picture| picture.finished(format!("{title}. The table above has all figures.")));
    let about = "Statements per second; the axis is logarithmic, and higher is better.";
    Chart { legend: faces.legend(ids.into_iter()), ..Chart::of(Kind::Throughput, title, about, picture) }
}
