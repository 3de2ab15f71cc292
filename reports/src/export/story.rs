//! The whole story of one contender.

use std::collections::BTreeMap;

use crate::attempts::Attempts;
use crate::document::{caveats, libraries, settings};
use crate::head::{arrangement, head};
use crate::measure::{CONTROL_REQUESTS, SERVER_EXECUTES, STATEMENTS, definition, definitions};
use crate::quantity::{mebibytes, three_digits, time, whole};
use crate::text::{pair, plain, wrap};
use crate::{Cell, Contender, Latency, Look, Measure, Pass, Run, Unit};

/// What is said of a latency with as many statements in flight as the run has slots.
const SATURATED: &str = "; a closed loop: this is throughput by Little's law, not what a user waits";

/// Figures of a breakdown below this are left out.
const LEAST: f64 = 0.001;

const BYTES_PER_MIB: f64 = 1_048_576.0;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Everything that is known of a run, contender by contender and cell by cell: settings, versions, caveats, every measure or
/// why there is none, latency, the series by second, and whether the server agrees.
pub fn story(run: &Run, cells: &[Cell], look: Look) -> String {
    let mut story = Story { out: String::new(), look };
    let attempts = Attempts::of(cells);
    for (name, sentence) in head(run) {
        story.pair(name, &sentence, 8);
    }
    for contender in &run.contenders {
        story.contender(run, contender, cells);
        for cell in cells.iter().filter(|cell| cell.contender == contender.id) {
            story.cell(run, cell, attempts.counts(cell));
        }
    }
    story.out
}

struct Story {
    out: String,
    look: Look,
}

impl Story {
    fn line(&mut self, text: &str, indent: usize) {
        self.out.push_str(&wrap(text, self.look.width.max(40), indent));
        self.out.push('\n');
    }

    fn title(&mut self, text: &str) {
        self.out.push('\n');
        let text = plain(text);
        self.out.push_str(&if self.look.colour { format!("\u{1b}[1m{text}\u{1b}[0m\n") } else { format!("{text}\n") });
    }

    fn pair(&mut self, name: &str, value: &str, column: usize) {
        self.out.push_str(&pair(name, value, column, self.look.width.max(40)));
        self.out.push('\n');
    }

    fn contender(&mut self, run: &Run, contender: &Contender, cells: &[Cell]) {
        self.title(&contender.label);
        if let Some(why) = &contender.unavailable {
            self.line(&format!("It is missing: {}", plain(why)), 2);
            return;
        }
        if let Some(libraries) = libraries(run, contender) {
            self.line(&libraries, 2);
        }
        for caveat in caveats(contender, cells.iter()) {
            self.line(&plain(&caveat), 2);
        }
        for setting in settings(contender, cells.iter()) {
            let not = if setting.as_asked { "" } else { " (not as asked)" };
            self.pair(&plain(&setting.name), &format!("{}{not}", plain(&setting.value)), 24);
        }
    }

    /// `counts` is whether it is of the attempt that counts.
    fn cell(&mut self, run: &Run, cell: &Cell, counts: bool) {
        let attempt = match (cell.attempt, counts) {
            (1, true) => String::new(),
            (attempt, true) => format!(", attempt {attempt}, which counts"),
            (attempt, false) => format!(", attempt {attempt}, which does not count"),
        };
        let step = cell.step.as_ref().map_or(String::new(), |step| format!(", {}", plain(step)));
        self.title(&format!("{}, block {}{attempt}, {} pass{step}", cell.scenario, cell.block, cell.pass.name()));
        if let Some(place) = run.plan.arrangements.iter().find(|place| place.id == cell.arrangement) {
            self.line(&arrangement(place), 2);
        }
        if let Some(why) = &cell.failed {
            self.line(&format!("It failed: {}", plain(why)), 2);
        }
        if let Some(why) = &cell.void {
            self.line(&format!("It is void: {}", plain(why)), 2);
        }
        for finding in &cell.findings {
            self.line(&plain(finding), 2);
        }
        self.measures(cell);
        for (kind, figures) in &cell.breakdowns {
            self.pair(&format!("{} a statement", plain(kind)), &greatest_first(figures), 24);
        }
        for (statement, issued) in &cell.issued_by_statement {
            self.pair("", &format!("{} statements `{}` were issued", whole(*issued as f64), plain(statement)), 24);
        }
        for kind in &cell.error_kinds {
            let first = plain(&kind.first);
            self.pair(
                "",
                &format!("{} errors `{}`, the first: {first}", whole(kind.count as f64), plain(&kind.kind)),
                24,
            );
        }
        if let Some(agreement) = agreement(cell) {
            self.pair("server agrees", &agreement, 24);
        }
        if let Some(latency) = &cell.latency {
            let saturated = if cell.pass == Pass::Latency { "" } else { SATURATED };
            self.pair("latency", &format!("{}{saturated}", percentiles(latency)), 24);
        }
        let seconds = [
            ("answers by second", &cell.series.answered, ""),
            ("CPU time by second", &cell.series.cpu_us, " us"),
            ("server CPU by second", &cell.series.server_cpu_us, " us"),
        ];
        for (name, series, unit) in seconds.into_iter().filter(|(_, series, _)| series.len() > 1) {
            let bars = sparkline(series, self.look.width.saturating_sub(50).max(10));
            self.pair(name, &format!("{bars}{unit}"), 24);
        }
        if let Some(log) = &cell.log {
            self.pair("log", &plain(log), 24);
        }
    }

    fn measures(&mut self, cell: &Cell) {
        let defined = definitions().filter_map(|definition| cell.measures.get_key_value(definition.id));
        let others = cell.measures.iter().filter(|(id, _)| definition(id).is_none());
        for (id, measure) in defined.chain(others) {
            let value = match measure {
                Measure::Value { value, unit } => quantity(*value, *unit),
                Measure::Unavailable { unavailable } => format!("n/a: {}", plain(unavailable)),
            };
            self.pair(&plain(&id.replace('_', " ")), &value, 24);
        }
    }
}

fn quantity(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => time(value),
        Unit::Microseconds => format!("{} us", three_digits(value)),
        Unit::Bytes if value < BYTES_PER_MIB => format!("{} B", three_digits(value)),
        Unit::Bytes => format!("{} MiB", mebibytes(value)),
        Unit::Count if value.fract() == 0.0 => whole(value),
        Unit::Count => three_digits(value),
        Unit::PerSecond => format!("{} /s", whole(value)),
        Unit::Percent => format!("{} %", three_digits(value)),
    }
}

/// The figures that a statement has a thousandth of, at least.
fn greatest_first(figures: &BTreeMap<String, f64>) -> String {
    let mut shown: Vec<(&String, f64)> =
        figures.iter().map(|(name, value)| (name, *value)).filter(|(_, value)| *value >= LEAST).collect();
    shown.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    let shown: Vec<String> =
        shown.into_iter().map(|(name, value)| format!("{} {}", plain(name), three_digits(value))).collect();
    if shown.is_empty() { format!("all below {LEAST}") } else { shown.join(", ") }
}

fn agreement(cell: &Cell) -> Option<String> {
    let (issued, counted) = (cell.get(STATEMENTS)?, cell.get(SERVER_EXECUTES)?);
    let agrees = if issued == counted { "yes" } else { "no" };
    let control = cell.get(CONTROL_REQUESTS).map(|n| format!(", and {} other requests", whole(n))).unwrap_or_default();
    Some(format!(
        "{agrees}: the worker issued {} statements, the server counted {}{control}",
        whole(issued),
        whole(counted)
    ))
}

fn percentiles(latency: &Latency) -> String {
    let ms = |us: f64| format!("{} ms", three_digits(us / 1_000.0));
    format!(
        "half within {}, 90 % {}, 99 % {}, 99.9 % {}, longest {}",
        ms(latency.p50_us),
        ms(latency.p90_us),
        ms(latency.p99_us),
        ms(latency.p999_us),
        ms(latency.max_us)
    )
}

/// A bar a second, at most `width` of them, from 0 to the greatest; then the least and the greatest.
fn sparkline(series: &[u64], width: usize) -> String {
    let group = series.len().div_ceil(width.max(1));
    let means: Vec<u64> = series.chunks(group).map(|chunk| chunk.iter().sum::<u64>() / chunk.len() as u64).collect();
    let greatest = means.iter().copied().max().unwrap_or(0);
    let bars: String = means
        .iter()
        .map(|&value| BARS[(value * (BARS.len() as u64 - 1)).div_ceil(greatest.max(1)).min(7) as usize])
        .collect();
    // The last second is seldom a whole one.
    let least = means[..means.len().saturating_sub(1)].iter().copied().min().unwrap_or(0);
    let seconds = if group > 1 { format!(", {group} seconds a bar") } else { String::new() };
    format!("{bars} from {} to {}{seconds}", whole(least as f64), whole(greatest as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_has_a_bar_a_second_and_says_its_range() {
        assert_eq!(sparkline(&[700, 350, 0, 700], 10), "█▅▁█ from 0 to 700");
        assert_eq!(sparkline(&[0, 0], 10), "▁▁ from 0 to 0");
    }

    #[test]
    fn a_breakdown_is_told_with_the_greatest_figure_first() {
        let figures = |all: &[(&str, f64)]| all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let calls = figures(&[("futex", 0.5), ("read", 0.000_4), ("sendto", 1.25)]);
        assert_eq!(greatest_first(&calls), "sendto 1.25, futex 0.500");
        assert_eq!(greatest_first(&figures(&[("read", 0.000_4)])), "all below 0.001");
    }

    #[test]
    fn few_bytes_are_shown_as_such() {
        assert_eq!(quantity(68.04, Unit::Bytes), "68.0 B");
        assert_eq!(quantity(3.0 * 1_048_576.0, Unit::Bytes), "3.0 MiB");
    }

    #[test]
    fn a_long_series_is_drawn_in_the_room_there_is() {
        assert_eq!(sparkline(&[7; 100], 10), "██████████ from 7 to 7, 10 seconds a bar");
    }

    #[test]
    fn the_server_disagreeing_is_said() {
        let (_, mut cells) = crate::sample::run();
        cells[0].measures.insert(SERVER_EXECUTES.to_owned(), Measure::value(499_999.0, Unit::Count));
        assert!(
            agreement(&cells[0])
                .unwrap()
                .starts_with("no: the worker issued 500,000 statements, the server counted 499,999")
        );
    }

    #[test]
    fn attempts_at_a_block_are_told_apart_and_which_one_counts() {
        let (run, mut cells) = crate::sample::run();
        let again = Cell { attempt: 2, ..cells[0].clone() };
        cells[0].attempt = 1;
        let titles = |cells: &[(&Cell, bool)]| {
            let mut story = Story { out: String::new(), look: Look::default() };
            cells.iter().for_each(|(cell, counts)| story.cell(&run, cell, *counts));
            story.out.lines().filter(|line| line.starts_with("writes, ")).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(titles(&[(&cells[0], true)]), "writes, block 1, timing pass");
        assert_eq!(
            titles(&[(&cells[0], false), (&again, true)]),
            "writes, block 1, attempt 1, which does not count, timing pass; writes, block 1, attempt 2, which counts, timing pass"
        );
    }

    #[test]
    fn a_latency_below_saturation_is_not_called_throughput_and_its_step_is_named() {
        let (run, mut cells) = crate::sample::run();
        let latency = Latency { p50_us: 1.0, p90_us: 2.0, p99_us: 3.0, p999_us: 4.0, max_us: 5.0 };
        cells[0].latency = Some(latency);
        let mut story = Story { out: String::new(), look: Look::default() };
        story.cell(&run, &cells[0], true);
        assert!(story.out.contains("Little's"), "{}", story.out);
        story.out.clear();
        (cells[0].pass, cells[0].step) = (Pass::Latency, Some("16".to_owned()));
        story.cell(&run, &cells[0], true);
        assert!(!story.out.contains("Little's") && story.out.contains("latency pass, 16"), "{}", story.out);
    }
}
