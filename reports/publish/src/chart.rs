//! CPU time a statement as a picture beside a table: one panel an arrangement, readable on light and dark.

use cqldyno_reports::measure::CPU_PER_STATEMENT;
use cqldyno_reports::{
    ArrangementInfo, Attempts, Cell, Contender, Pass, Role, Run, ScenarioInfo, count, median, plain, short, three_digits,
};
use cqldyno_statistics::median_interval;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};


const WIDTH: u32 = 880;
const LABELS: i32 = 204;
const MARGIN: i32 = 12;
const HEAD: i32 = 64;
const ROW: i32 = 21;
const GAP: i32 = 12;
const FOOT: i32 = 34;
/// Room for a figure behind its bar.
const FIGURE: i32 = 64;

/// Light first, then dark: the picture brings its own ground, so that it is readable wherever it stands.
const GROUND: (RGBColor, &str) = (RGBColor(0xff, 0xff, 0xff), "#0d1117");
const INK: (RGBColor, &str) = (RGBColor(0x1f, 0x23, 0x28), "#e6edf3");
const MUTED: (RGBColor, &str) = (RGBColor(0x59, 0x63, 0x6e), "#9198a1");
const GRID: (RGBColor, &str) = (RGBColor(0xd8, 0xde, 0xe4), "#30363d");
const CONTENDERS: [(RGBColor, &str); 6] = [
    (RGBColor(0x3b, 0x6f, 0xb5), "#6ea3e6"),
    (RGBColor(0xc9, 0x6a, 0x1b), "#e8975a"),
    (RGBColor(0x3d, 0x8a, 0x5a), "#63b886"),
    (RGBColor(0x8a, 0x5a, 0xa8), "#b48bd0"),
    (RGBColor(0xa3, 0x3f, 0x57), "#d97a90"),
    (RGBColor(0x6b, 0x72, 0x80), "#a5adba"),
];

/// What stands in one contender's row.
enum Row {
    Bar(Bar),
    /// A cell that counts failed or is void: a median of the others would be of something else.
    Trouble(&'static str),
    Nothing,
}

struct Bar {
    median: f64,
    interval: Option<[f64; 2]>,
}

fn row(run: &Run, cells: &[&Cell], contender: &Contender, scenario: &str, arrangement: &ArrangementInfo) -> Row {
    let is_mine = |cell: &&&Cell| {
        cell.contender == contender.id
            && cell.scenario == scenario
            && cell.arrangement == arrangement.id
            && cell.pass == Pass::Timing
    };
    let mine: Vec<&Cell> = cells.iter().filter(is_mine).copied().collect();
    if mine.iter().any(|cell| cell.failed.is_some()) {
        return Row::Trouble("failed");
    }
    if mine.iter().any(|cell| cell.void.is_some()) {
        return Row::Trouble("void");
    }
    let mut values: Vec<f64> = mine.iter().filter_map(|cell| cell.get(CPU_PER_STATEMENT)).collect();
    values.sort_by(f64::total_cmp);
    match median(&mut values) {
        Some(median) => Row::Bar(Bar { median, interval: median_interval(&values).filter(|_| run.blocks() > 1) }),
        None => Row::Nothing,
    }
}

/// The picture in SVG: the median over the blocks of each driver and of floor, with an interval where there are enough blocks.
///
/// # Errors
/// When plotters cannot draw it.
pub(crate) fn chart(run: &Run, cells: &[Cell]) -> Result<String, DrawingAreaErrorKind<std::io::Error>> {
    let of = Attempts::of(cells);
    let counted: Vec<&Cell> = cells.iter().filter(|cell| of.counts(cell)).collect();
    let contenders: Vec<&Contender> =
        run.contenders.iter().filter(|one| one.role != Role::Noop && !one.control).collect();
    let arrangements = &run.plan.arrangements;
    let panels = arrangements.len().max(1) as i32;
    let group = ROW * contenders.len() as i32 + GAP;
    let height = HEAD + group * run.scenarios.len() as i32 + FOOT;
    let width = (WIDTH as i32 - LABELS - MARGIN) / panels;
    let all: Vec<Vec<Vec<Row>>> = arrangements
        .iter()
        .map(|arrangement| {
            let of_scenario = |scenario: &ScenarioInfo| {
                contenders.iter().map(|one| row(run, &counted, one, &scenario.name, arrangement)).collect()
            };
            run.scenarios.iter().map(of_scenario).collect()
        })
        .collect();
    let far = |row: &Row| match row {
        Row::Bar(bar) => bar.interval.map_or(bar.median, |[_, high]| high.max(bar.median)),
        Row::Trouble(_) | Row::Nothing => 0.0,
    };
    let most = all.iter().flatten().flatten().map(far).fold(0.0, f64::max);
    let step = step(most);
    let end = (most / step).ceil().max(1.0) * step;
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, (WIDTH, height as u32)).into_drawing_area();
        area.fill(&GROUND.0)?;
        let write = |text: String, at: (i32, i32), size: u32, colour: RGBColor, h: HPos| {
            let style = ("sans-serif", size).into_font().color(&colour).pos(Pos::new(h, VPos::Center));
            area.draw(&Text::new(text, at, style))
        };
        write(heading(run), (MARGIN, 18), 19, INK.0, HPos::Left)?;
        for (nth, scenario) in run.scenarios.iter().enumerate() {
            let top = HEAD + group * nth as i32;
            write(plain(&scenario.name), (MARGIN, top + ROW / 2), 17, INK.0, HPos::Left)?;
            for (row, one) in contenders.iter().enumerate() {
                let at = (LABELS - 8, top + ROW * row as i32 + ROW / 2);
                write(brief(&short(run, one)), at, 16, MUTED.0, HPos::Right)?;
            }
        }
        for (panel, arrangement) in arrangements.iter().enumerate() {
            let left = LABELS + width * panel as i32;
            let room = f64::from(width - FIGURE - 14);
            let x = |value: f64| left + (value / end * room).round() as i32;
            let bottom = height - FOOT;
            write(plain(&arrangement.id), (left, 44), 17, INK.0, HPos::Left)?;
            for tick in 0..=((end / step).round() as i32) {
                let value = f64::from(tick) * step;
                let line = vec![(x(value), HEAD - 6), (x(value), bottom)];
                area.draw(&PathElement::new(line, GRID.0))?;
                write(tick_text(value, step), (x(value), bottom + 14), 14, MUTED.0, HPos::Center)?;
            }
            for (nth, rows) in all[panel].iter().enumerate() {
                for (place, row) in rows.iter().enumerate() {
                    let middle = HEAD + group * nth as i32 + ROW * place as i32 + ROW / 2;
                    let bar = match row {
                        Row::Bar(bar) => bar,
                        Row::Trouble(what) => {
                            for rise in [-4, 4] {
                                let stroke = vec![(left + 4, middle - rise), (left + 12, middle + rise)];
                                area.draw(&PathElement::new(stroke, INK.0.stroke_width(2)))?;
                            }
                            write((*what).to_owned(), (left + 18, middle), 14, INK.0, HPos::Left)?;
                            continue;
                        }
                        Row::Nothing => {
                            write("no figure".to_owned(), (left + 4, middle), 14, MUTED.0, HPos::Left)?;
                            continue;
                        }
                    };
                    let colour = CONTENDERS[place % CONTENDERS.len()].0;
                    let corners = [(left, middle - 7), (x(bar.median), middle + 7)];
                    area.draw(&Rectangle::new(corners, colour.filled()))?;
                    let mut behind = x(bar.median);
                    if let Some([low, high]) = bar.interval {
                        let stroke = INK.0.stroke_width(1);
                        area.draw(&PathElement::new(vec![(x(low), middle), (x(high), middle)], stroke))?;
                        for edge in [low, high] {
                            area.draw(&PathElement::new(vec![(x(edge), middle - 4), (x(edge), middle + 4)], stroke))?;
                        }
                        behind = behind.max(x(high));
                    }
                    write(three_digits(bar.median), (behind + 6, middle), 14, INK.0, HPos::Left)?;
                }
            }
        }
        area.present()?;
    }
    Ok(dressed(&drawn))
}

/// A name that has room beside the scenario's.
fn brief(name: &str) -> String {
    match name.char_indices().nth(19) {
        Some((end, _)) if name.chars().count() > 20 => format!("{}…", &name[..end]),
        _ => name.to_owned(),
    }
}

fn heading(run: &Run) -> String {
    let what = "CPU time a statement, in microseconds";
    match run.blocks() {
        blocks if blocks >= 6 => {
            format!("{what}: medians of {}, lines are 95 % intervals of the median", count(blocks.into(), "block"))
        }
        blocks if blocks > 1 => format!("{what}: medians of {}", count(blocks.into(), "block")),
        _ => what.to_owned(),
    }
}

/// A round distance of the ticks: four to eight of them.
fn step(most: f64) -> f64 {
    if most <= 0.0 || !most.is_finite() {
        return 1.0;
    }
    let rough = 10.0_f64.powf((most / 4.0).log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|times| times * rough).find(|step| most / step >= 3.0).unwrap_or(rough)
}

fn tick_text(value: f64, step: f64) -> String {
    let digits = if step < 1.0 { (-step.log10()).ceil() as usize } else { 0 };
    format!("{value:.digits$}")
}

/// With a name for those who do not see it, and other colours where the reader prefers dark.
fn dressed(drawn: &str) -> String {
    let mut style = String::from(
        "<style>text{font-family:system-ui,-apple-system,\"Segoe UI\",sans-serif}@media (prefers-color-scheme:dark){",
    );
    for (light, dark) in [GROUND, INK, MUTED, GRID].iter().chain(&CONTENDERS) {
        let RGBColor(red, green, blue) = light;
        let light = format!("#{red:02X}{green:02X}{blue:02X}");
        style.push_str(&format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}"));
    }
    style.push_str("}</style>");
    let name = "<title>CPU time a statement by scenario, driver and arrangement</title>";
    match drawn.split_once('>') {
        Some((head, rest)) => format!("{head} role=\"img\">\n{name}\n{style}{rest}\n"),
        None => drawn.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn every_driver_and_floor_has_a_bar_in_every_place_and_names_are_only_text() {
        let (mut run, mut cells) = sample::blocks(12);
        run.contenders[1].label = "</text><script>alert(1)</script>".to_owned();
        for cell in &mut cells {
            if cell.scenario == "reads" && cell.contender == "cdrs-tokio" {
                cell.void = Some("A statement failed.".to_owned());
            }
        }
        let svg = chart(&run, &cells).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(!svg.contains("<script"), "{svg}");
        // Two scenarios: scylla and floor in both, cdrs-tokio in one; cassandra-cpp has no figure in either.
        assert_eq!((svg.matches("no figure").count(), svg.matches("void").count()), (2, 1), "{svg}");
        assert!(svg.contains("95 % intervals of the median") && svg.contains("prefers-color-scheme:dark"), "{svg}");
        let (once, cells) = sample::run();
        assert!(!chart(&once, &cells).unwrap().contains("intervals"));
    }

    #[test]
    fn one_block_that_failed_or_is_void_takes_the_bar_of_its_row() {
        let (run, mut cells) = sample::blocks(12);
        // The colour of the second contender.
        let bars = |cells: &[Cell]| chart(&run, cells).unwrap().matches("fill=\"#C96A1B\"").count();
        let before = bars(&cells);
        let is = |cell: &Cell| {
            (cell.contender.as_str(), cell.scenario.as_str(), cell.block, cell.pass)
                == ("cdrs-tokio", "writes", 7, Pass::Timing)
        };
        let at = cells.iter().position(is).unwrap();
        cells[at].void = Some("A statement failed.".to_owned());
        assert!(bars(&cells) + 1 == before && chart(&run, &cells).unwrap().contains("\nvoid\n"));
        cells[at].failed = Some("It crashed.".to_owned());
        assert!(bars(&cells) + 1 == before && chart(&run, &cells).unwrap().contains("\nfailed\n"));
    }

    #[test]
    fn a_name_that_is_too_long_is_cut() {
        assert_eq!(brief("cassandra-cpp@3.0.20"), "cassandra-cpp@3.0.20");
        assert_eq!(brief("cassandra-cpp@3.0.2+lib=scylla-2.16.2"), "cassandra-cpp@3.0.2…");
    }

    #[test]
    fn ticks_are_at_round_numbers() {
        for (most, expected) in [(4.4, 1.0), (2.9, 0.5), (7.0, 2.0), (0.3, 0.05), (40.0, 10.0), (0.0, 1.0)] {
            assert!((step(most) - expected).abs() < 1e-9, "{most}: {}", step(most));
        }
        assert_eq!(tick_text(0.5, 0.5), "0.5");
        assert_eq!(tick_text(20.0, 10.0), "20");
    }
}
