//! A line a contender.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{figure, said};
use crate::Role;
use crate::export::html::paint::{GRID, INK, MUTED, of_contender, painted, text};
use crate::history::Panel;
use crate::plain;

/// As many texts fit below the axis.
const TEXTS: usize = 6;

/// The classes of the lines' colours.
pub fn classes(panel: &Panel) -> Vec<String> {
    let mut drivers = 0;
    let class = |role: Role| match role {
        Role::Floor => "k-floor".to_owned(),
        Role::Noop => "k-noop".to_owned(),
        Role::Driver => {
            drivers += 1;
            format!("k-{}", (drivers - 1) % 8)
        }
    };
    panel.lines.iter().map(|line| line.role).map(class).collect()
}

/// Points with the spread of their blocks, in order, joined but over gaps.
///
/// # Errors
/// A full sentence where it cannot be drawn.
pub fn chart(panel: &Panel, runs: &[crate::history::PastRun]) -> Result<String, String> {
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let greatest =
        points().filter_map(|point| Some(point.spread.map_or(point.median?, |[_, most]| most))).fold(0.0, f64::max);
    let greatest = if greatest > 0.0 { greatest * 1.12 } else { 1.0 };
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
    painted(420, &label, &titles, &classes(panel), |area| {
        let x = -0.5..places as f64 - 0.5;
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .y_label_area_size(96)
            .build_cartesian_2d(x, -greatest * 0.14..greatest)?;
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
        for (at, place) in panel.places.iter().enumerate().step_by(places.div_ceil(TEXTS).max(1)) {
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
            let mut version = None;
            for point in &line.points {
                let (x, colour) = (point.place as f64, of_contender(at, Some(nth)));
                nth += 1;
                let Some(median) = point.median else {
                    chart.draw_series([Cross::new((x, 0.0), 9, colour.stroke_width(4))])?;
                    continue;
                };
                let top = point.spread.map_or(median, |[_, most]| most);
                if let Some([least, most]) = point.spread {
                    chart.draw_series([PathElement::new([(x, least), (x, most)], colour.stroke_width(3))])?;
                }
                chart.draw_series([Circle::new((x, median), 8, colour.filled())])?;
                if line.role == Role::Driver && version != Some(&point.version) {
                    let name =
                        Text::new(plain(&point.version), (x, top + greatest * 0.015), above(of_contender(at, None)));
                    chart.draw_series([name])?;
                }
                version = Some(&point.version);
            }
        }
        Ok(())
    })
    .map_err(|error| format!("It could not be drawn: {error}."))
}
