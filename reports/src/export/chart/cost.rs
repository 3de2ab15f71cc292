//! CPU time per statement, or a count in its place, as a picture of its own: one panel per arrangement, a bar per contender.

use super::svg::{Picture, Scale, Stands};
use super::view::Faces;
use super::{Chart, Kind};
use crate::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT};
use crate::quantity::three_digits;
use crate::text::{count, cut, plain};
use crate::{Analysis, Contender, LEAST_BLOCKS, Place, Role, Run, SummaryRow, reference, short};

const WIDTH: f64 = 1_760.0;
const LABELS: f64 = 408.0;
const HEAD: f64 = 76.0;
const ROW: f64 = 42.0;
const GAP: f64 = 24.0;
/// Room for a figure after its bar, and before the next panel.
const FIGURE: f64 = 156.0;

/// The level of each driver and of floor, with the interval of its ratio to the reference, in so many runs.
pub fn cost_chart(analysis: &Analysis, runs: usize) -> Chart {
    let (run, faces) = (analysis.run, Faces::of(analysis.run));
    let meter = if run.plan.exact { SYSCALLS_PER_STATEMENT } else { CPU_PER_STATEMENT };
    let contenders: Vec<&Contender> =
        run.contenders.iter().filter(|one| one.role != Role::Noop && !one.control).collect();
    let group = ROW * contenders.len() as f64 + GAP;
    let bottom = HEAD + group * run.scenarios.len() as f64;
    let top = |scenario: usize, place: usize| HEAD + group * scenario as f64 + ROW * (place as f64 + 0.5);
    let figures = |place: Place, one: &Contender| {
        let row = analysis.row(place, one, meter)?;
        let ends = Analysis::ends(row);
        Some((row, ends, ends.map(|[_, high]| high).into_iter().chain(row.level).fold(0.0, f64::max)))
    };
    let all = analysis.places().flat_map(|place| contenders.iter().filter_map(move |one| figures(place, one)));
    let most = all.map(|(.., end)| end).fold(0.0, f64::max);
    let mut picture = Picture::bare(WIDTH, bottom + 48.0, 28);
    for (nth, scenario) in run.scenarios.iter().enumerate() {
        picture.text((24.0, top(nth, 0)), &plain(&scenario.name), "ink big", Stands::Right);
        for (place, one) in contenders.iter().enumerate() {
            picture.text((LABELS - 16.0, top(nth, place)), &cut(&short(run, one), 20), "muted", Stands::Left);
        }
    }
    let width = (WIDTH - LABELS) / run.plan.arrangements.len().max(1) as f64;
    for (panel, arrangement) in run.plan.arrangements.iter().enumerate() {
        let left = LABELS + width * panel as f64;
        picture.put_x(Scale::linear(0.0, most), left, left + width - FIGURE);
        picture.text((0.0, 24.0), &plain(&arrangement.id), "ink big", Stands::Right);
        picture.upright(5, [HEAD - 12.0, bottom]);
        for (nth, scenario) in run.scenarios.iter().enumerate() {
            for (place, one) in contenders.iter().enumerate() {
                let (y, class) = (top(nth, place), &faces.classes[faces.place(&one.id)]);
                let mut said = |x: f64, text: &str, class: &str| picture.text((x, y), text, class, Stands::Right);
                let Some((row, ends, end)) = figures(Place { scenario, arrangement }, one) else {
                    said(0.0, " no figure", "muted");
                    continue;
                };
                match row {
                    SummaryRow { failed: Some(_), .. } => said(0.0, " ✕ failed", "ink"),
                    SummaryRow { void: Some(_), .. } => said(0.0, " ✕ void", "ink"),
                    SummaryRow { level: Some(level), .. } => {
                        said(end + most * 0.02, &three_digits(*level), "ink");
                        picture.bar([(0.0, y - 14.0), (*level, y + 14.0)], class, None);
                        let Some([low, high]) = ends else { continue };
                        picture.line(&[(low, y), (high, y)], "ink", 2.0, None);
                        for x in [low, high] {
                            picture.line(&[(x, y - 8.0), (x, y + 8.0)], "ink", 2.0, None);
                        }
                    }
                    _ => said(0.0, " no figure", "muted"),
                }
            }
        }
    }
    let heading = heading(run, runs);
    Chart::of(Kind::Cpu, heading.clone(), "", Ok(picture.finished(heading)))
}

fn heading(run: &Run, runs: usize) -> String {
    let what = if run.plan.exact { "System calls per statement" } else { "CPU time per statement, in microseconds" };
    match (run.blocks() as usize, reference(run)) {
        (blocks, Some(base)) if blocks >= LEAST_BLOCKS => {
            // Runs in turns differ in how many generations there was time for.
            let of = if runs == 1 { count(blocks as u64, "generation") } else { format!("{runs} runs") };
            format!("{what}: {of}, lines are 95 % intervals of the ratio to {}", short(run, base))
        }
        _ => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Pass, sample};

    fn drawn(run: &Run, cells: &[Cell]) -> String {
        cost_chart(&Analysis::new(run, cells), 1).file().unwrap()
    }

    #[test]
    fn every_driver_and_floor_has_a_bar_in_every_place_and_names_are_only_text() {
        let (mut run, mut cells) = sample::blocks(12);
        run.contenders[1].label = "</text><script>alert(1)</script>".to_owned();
        for cell in &mut cells {
            if cell.scenario == "reads" && cell.contender == "cdrs-tokio" {
                cell.void = Some("A statement failed.".to_owned());
            }
        }
        let svg = drawn(&run, &cells);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(!svg.contains("<script"), "{svg}");
        // Two scenarios: scylla and floor in both, cdrs-tokio in one; cassandra-cpp has no figure in either.
        assert_eq!((svg.matches("no figure").count(), svg.matches("✕ void").count()), (2, 1), "{svg}");
        assert!(
            svg.contains("95 % intervals of the ratio to scylla") && svg.contains("prefers-color-scheme: dark"),
            "{svg}"
        );
        let (once, cells) = sample::run();
        assert!(!drawn(&once, &cells).contains("intervals"));
    }

    #[test]
    fn one_block_that_failed_or_is_void_takes_the_bar_of_its_row() {
        let (run, mut cells) = sample::blocks(12);
        // The colour of the second contender.
        let bars = |cells: &[Cell]| drawn(&run, cells).matches("<rect class=\"c-1 k-1 f\"").count();
        let before = bars(&cells);
        let is = |cell: &Cell| {
            (cell.contender.as_str(), cell.scenario.as_str(), cell.block, cell.pass)
                == ("cdrs-tokio", "writes", 7, Pass::Timing)
        };
        let at = cells.iter().position(is).unwrap();
        cells[at].void = Some("A statement failed.".to_owned());
        assert!(bars(&cells) + 1 == before && drawn(&run, &cells).contains("✕ void<"));
        cells[at].failed = Some("It crashed.".to_owned());
        assert!(bars(&cells) + 1 == before && drawn(&run, &cells).contains("✕ failed<"));
    }
}
