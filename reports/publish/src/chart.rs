//! CPU time per statement as a picture: one panel per arrangement, readable on light and dark.

use cqldyno_reports::measure::CPU_PER_STATEMENT;
use cqldyno_reports::{
    Analysis, Contender, LEAST_BLOCKS, Place, Role, Run, count, plain, reference, short, three_digits,
};
use maud::{Markup, PreEscaped, html};

const WIDTH: f64 = 880.0;
const LABELS: f64 = 204.0;
const MARGIN: f64 = 12.0;
const HEAD: f64 = 64.0;
const ROW: f64 = 21.0;
const GAP: f64 = 12.0;
const FOOT: f64 = 34.0;
/// Room for a figure after its bar, and before the next panel.
const FIGURE: f64 = 78.0;

/// The picture has its own ground, so that it is readable on any page.
const STYLE: &str = "text{font:14px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1f2328;dominant-baseline:middle}\
.big{font-size:17px}.right{text-anchor:end}.middle{text-anchor:middle}.muted{fill:#59636e}.ground{fill:#fff}\
line{stroke:#d8dee4}path{stroke:#1f2328;fill:none}\
.c0{fill:#3b6fb5}.c1{fill:#c96a1b}.c2{fill:#3d8a5a}.c3{fill:#8a5aa8}.c4{fill:#a33f57}.c5{fill:#6b7280}\
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.muted{fill:#9198a1}.ground{fill:#0d1117}line{stroke:#30363d}path{stroke:#e6edf3}\
.c0{fill:#6ea3e6}.c1{fill:#e8975a}.c2{fill:#63b886}.c3{fill:#b48bd0}.c4{fill:#d97a90}.c5{fill:#a5adba}}";
const COLOURS: usize = 6;

/// The content of one contender's row.
enum Row {
    Bar {
        level: f64,
        /// Of the ratio to the reference, in microseconds.
        interval: Option<[f64; 2]>,
    },
    /// A cell that counts failed or is void, so the others would show something else.
    Trouble(&'static str),
    Nothing,
}

fn row(analysis: &Analysis, place: Place, contender: &Contender) -> Row {
    let Some(row) = analysis.row(place, contender, CPU_PER_STATEMENT) else { return Row::Nothing };
    if row.failed.is_some() {
        return Row::Trouble("failed");
    }
    if row.void.is_some() {
        return Row::Trouble("void");
    }
    let base = analysis.reference().and_then(|one| analysis.row(place, one, CPU_PER_STATEMENT)?.level);
    let interval = row.interval.zip(base).map(|(interval, base)| interval.map(|end| end * base));
    row.level.map_or(Row::Nothing, |level| Row::Bar { level, interval })
}

/// The picture in SVG: the level of each driver and of floor, with the interval of its ratio to the reference, in so many runs.
pub(crate) fn chart(analysis: &Analysis, runs: usize) -> String {
    let run = analysis.run();
    let contenders: Vec<&Contender> =
        run.contenders.iter().filter(|one| one.role != Role::Noop && !one.control).collect();
    let group = ROW * contenders.len() as f64 + GAP;
    let bottom = HEAD + group * run.scenarios.len() as f64;
    let width = (WIDTH - LABELS - MARGIN) / run.plan.arrangements.len().max(1) as f64;
    let rows = |place: Place| contenders.iter().map(|one| row(analysis, place, one)).collect::<Vec<Row>>();
    let of = |arrangement| run.scenarios.iter().map(|scenario| rows(Place { scenario, arrangement })).collect();
    let all: Vec<Vec<Vec<Row>>> = run.plan.arrangements.iter().map(of).collect();
    let far = |row: &Row| match row {
        Row::Bar { level, interval } => interval.map_or(*level, |[_, high]| high.max(*level)),
        Row::Trouble(_) | Row::Nothing => 0.0,
    };
    let most = all.iter().flatten().flatten().map(far).fold(0.0, f64::max);
    let step = step(most);
    let ticks = (most / step).ceil().max(1.0);
    let scale = (width - FIGURE) / (ticks * step);
    let size = format!("0 0 {WIDTH} {}", bottom + FOOT);
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(size) width=(WIDTH) height=(bottom + FOOT) role="img" {
            title { "CPU time per statement, by scenario, driver and arrangement" }
            style { (PreEscaped(STYLE)) }
            rect.ground width="100%" height="100%" {}
            (text("big", MARGIN, 18.0, &heading(run, runs)))
            @for (nth, scenario) in run.scenarios.iter().enumerate() {
                (text("big", MARGIN, top(group, nth, 0), &plain(&scenario.name)))
                @for (place, one) in contenders.iter().enumerate() {
                    (text("right muted", LABELS - 8.0, top(group, nth, place), &brief(&short(run, one))))
                }
            }
            @for (panel, arrangement) in run.plan.arrangements.iter().enumerate() {
                g transform=(format!("translate({} 0)", LABELS + width * panel as f64)) {
                    (text("big", 0.0, 44.0, &plain(&arrangement.id)))
                    @for tick in 0..=(ticks as u32) {
                        @let value = f64::from(tick) * step;
                        line x1=(px(value * scale)) x2=(px(value * scale)) y1=(HEAD - 6.0) y2=(bottom) {}
                        (text("middle muted", value * scale, bottom + 14.0, &tick_text(value, step)))
                    }
                    @for (nth, rows) in all[panel].iter().enumerate() {
                        @for (place, row) in rows.iter().enumerate() { (bar(row, place, top(group, nth, place), scale)) }
                    }
                }
            }
        }
    };
    svg.into_string() + "\n"
}

/// The middle of a contender's row.
fn top(group: f64, scenario: usize, place: usize) -> f64 {
    HEAD + group * scenario as f64 + ROW * place as f64 + ROW / 2.0
}

fn px(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn text(class: &str, x: f64, y: f64, text: &str) -> Markup {
    html! { text class=(class) x=(px(x)) y=(y) { (text) } }
}

fn bar(row: &Row, place: usize, y: f64, scale: f64) -> Markup {
    match row {
        Row::Bar { level, interval } => {
            let end = interval.map_or(*level, |[_, high]| high.max(*level));
            html! {
                rect class=(format!("c{}", place % COLOURS)) x="0" y=(y - 7.0) width=(px(level * scale)) height="14" {}
                @if let Some([low, high]) = interval.map(|interval| interval.map(|end| px(end * scale))) {
                    path d=(format!("M{low} {}v8M{low} {y}H{high}M{high} {}v8", y - 4.0, y - 4.0)) {}
                }
                (text("", end * scale + 6.0, y, &three_digits(*level)))
            }
        }
        Row::Trouble(what) => text("", 4.0, y, &format!("✕ {what}")),
        Row::Nothing => text("muted", 4.0, y, "no figure"),
    }
}

/// A name that fits beside the scenario's.
fn brief(name: &str) -> String {
    match name.char_indices().nth(19) {
        Some((end, _)) if name.chars().count() > 20 => format!("{}…", &name[..end]),
        _ => name.to_owned(),
    }
}

fn heading(run: &Run, runs: usize) -> String {
    let what = "CPU time per statement, in microseconds";
    match (run.blocks() as usize, reference(run)) {
        (blocks, Some(base)) if blocks >= LEAST_BLOCKS => {
            // Runs in turns differ in how many generations there was time for.
            let of = match (runs, count(blocks as u64, run.plan.repeated())) {
                (1, blocks) => blocks,
                (runs, _) if run.plan.turns.is_some() => format!("{runs} runs"),
                (runs, blocks) => format!("{runs} runs of {blocks}"),
            };
            format!("{what}: {of}, lines are 95 % intervals of the ratio to {}", short(run, base))
        }
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

#[cfg(test)]
mod tests {
    use cqldyno_reports::{Cell, Pass};

    use super::*;
    use crate::sample;

    fn drawn(run: &Run, cells: &[Cell]) -> String {
        chart(&Analysis::new(run, cells), 1)
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
            svg.contains("95 % intervals of the ratio to scylla") && svg.contains("prefers-color-scheme:dark"),
            "{svg}"
        );
        let (once, cells) = sample::run();
        assert!(!drawn(&once, &cells).contains("intervals"));
    }

    #[test]
    fn one_block_that_failed_or_is_void_takes_the_bar_of_its_row() {
        let (run, mut cells) = sample::blocks(12);
        // The colour of the second contender.
        let bars = |cells: &[Cell]| drawn(&run, cells).matches("class=\"c1\"").count();
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
