//! Every measure of every cell.

use std::collections::BTreeMap;

use cqldyno_measure::least_for;

use super::document::{builds, caveats, libraries, settings};
use super::head::arrangement;
use super::part::Part;
use super::sheets;
use crate::measure::{CONTROL_REQUESTS, SERVER_EXECUTES, STATEMENTS, definition, definitions};
use crate::quantity::{figure, three_digits, whole};
use crate::text::plain;
use crate::{Analysis, Cell, Contender, Latency, Measure, Pass, Run, Unit};

/// The caveat of a latency at the run's full concurrency.
const SATURATED: &str = "; a closed loop: this is throughput by Little's law, not what a user waits";

/// Figures of a breakdown below this are left out.
const LEAST: f64 = 0.001;

const BYTES_PER_MIB: f64 = 1_048_576.0;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Per contender its settings, versions and caveats; per cell every measure or why there is none, latency, the series by second,
/// and whether the server agrees. `width` is the terminal's.
pub(crate) fn story(analysis: &Analysis, width: usize) -> Vec<Part> {
    let run = analysis.run;
    let mut parts = Vec::new();
    for one in &run.contenders {
        contender(&mut parts, run, one, analysis.every_cell);
        for found in analysis.every_cell.iter().filter(|cell| cell.contender == one.id) {
            cell(&mut parts, run, found, analysis.counts(found), width);
        }
    }
    parts
}

fn contender(parts: &mut Vec<Part>, run: &Run, contender: &Contender, cells: &[Cell]) {
    parts.push(Part::Title(plain(&contender.label)));
    if let Some(why) = &contender.unavailable {
        parts.push(Part::Text(format!("It is missing: {}", plain(why))));
        return;
    }
    parts.extend(libraries(run, contender).into_iter().chain(builds(contender)).map(Part::Text));
    parts.extend(caveats(contender, cells.iter()).map(|caveat| Part::Text(plain(&caveat))));
    let not = |as_asked| if as_asked { "" } else { " (not as asked)" };
    let settings = settings(contender, cells.iter()).iter();
    let settings = settings.map(|one| (plain(&one.name), format!("{}{}", plain(&one.value), not(one.as_asked))));
    parts.push(Part::Pairs(settings.collect()));
}

/// `counts` is whether the cell is of the attempt that counts.
fn cell(parts: &mut Vec<Part>, run: &Run, cell: &Cell, counts: bool, width: usize) {
    let attempt = match (cell.attempt, counts) {
        (1, true) => String::new(),
        (attempt, true) => format!(", attempt {attempt}, which counts"),
        (attempt, false) => format!(", attempt {attempt}, which does not count"),
    };
    let step = cell.step.as_ref().map_or(String::new(), |step| format!(", {}", plain(step)));
    let name = plain(&cell.scenario);
    let place = match cell.round {
        None => format!("block {}", cell.block),
        Some(round) => format!("generation {}, round {round}", cell.block),
    };
    parts.push(Part::Title(format!("{name}, {place}{attempt}, {} pass{step}", cell.pass.name())));
    let place = run.plan.arrangements.iter().find(|place| place.id == cell.arrangement).map(arrangement);
    let failed = cell.failed.iter().map(|why| format!("It failed: {}", plain(why)));
    let void = cell.void.iter().map(|why| format!("It is void: {}", plain(why)));
    let said = place.into_iter().chain(failed).chain(void).chain(cell.findings.iter().map(|text| plain(text)));
    parts.extend(said.map(Part::Text));

    let mut pairs = measures(cell);
    let mut pair = |name: &str, value: String| pairs.push((name.to_owned(), value));
    for (kind, figures) in &cell.breakdowns {
        pair(&format!("{} per statement", plain(kind)), greatest_first(figures));
    }
    for (statement, issued) in &cell.issued_by_statement {
        pair("issued", format!("{} statements `{}`", whole(*issued as f64), plain(statement)));
    }
    for kind in &cell.error_kinds {
        let first = plain(&kind.first);
        pair("errors", format!("{} of `{}`, the first: {first}", whole(kind.count as f64), plain(&kind.kind)));
    }
    if let Some(agreement) = agreement(cell) {
        pair("server agrees", agreement);
    }
    if let Some(latency) = &cell.latency {
        let saturated = if cell.pass == Pass::Latency { "" } else { SATURATED };
        pair("latency", format!("{}{saturated}", percentiles(latency, cell.get(STATEMENTS))));
    }
    let seconds = [
        ("answers by second", &cell.series.answered, ""),
        ("CPU time by second", &cell.series.cpu_us, " us"),
        ("server CPU by second", &cell.series.server_cpu_us, " us"),
    ];
    for (name, series, unit) in seconds.into_iter().filter(|(_, series, _)| series.len() > 1) {
        pair(name, format!("{}{unit}", sparkline(series, width.saturating_sub(50).max(10))));
    }
    if let Some(log) = &cell.log {
        pair("log", plain(log));
    }
    parts.push(Part::Pairs(pairs));
}

fn measures(cell: &Cell) -> Vec<(String, String)> {
    let defined = definitions().filter_map(|one| Some((one.id, cell.measures.get(one.id)?)));
    let others = cell.measures.iter().filter(|(id, _)| definition(id).is_none());
    let value = |measure: &Measure| match measure {
        Measure::Value { value, unit } => quantity(*value, *unit),
        Measure::Unavailable { unavailable } => format!("n/a: {}", plain(unavailable)),
    };
    defined.chain(others).map(|(id, measure)| (plain(&id.replace('_', " ")), value(measure))).collect()
}

fn quantity(value: f64, unit: Unit) -> String {
    let sign = match unit {
        Unit::Microseconds => " us",
        Unit::Bytes if value < BYTES_PER_MIB => " B",
        Unit::PerSecond => " /s",
        Unit::Percent => " %",
        Unit::Seconds | Unit::Bytes | Unit::Count => "",
    };
    figure(value, unit) + sign
}

/// Figures of at least a thousandth per statement.
fn greatest_first(figures: &BTreeMap<String, f64>) -> String {
    let all = sheets::greatest_first(figures.iter().map(|(name, value)| (&**name, *value))).into_iter();
    let shown: Vec<String> = all
        .filter(|(_, value)| *value >= LEAST)
        .map(|(name, value)| format!("{} {}", plain(name), three_digits(value)))
        .collect();
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

fn percentiles(latency: &Latency, statements: Option<f64>) -> String {
    let ms = |us: f64| format!("{} ms", three_digits(us / 1_000.0));
    let beyond = |share, us| match statements.is_none_or(|number| number >= least_for(share) as f64) {
        true => ms(us),
        false => format!("n/a (of fewer than {})", whole(least_for(share) as f64)),
    };
    format!(
        "half within {}, 90 % {}, 99 % {}, 99.9 % {}, longest {}",
        ms(latency.p50_us),
        beyond(0.9, latency.p90_us),
        beyond(0.99, latency.p99_us),
        beyond(0.999, latency.p999_us),
        ms(latency.max_us)
    )
}

/// A bar per second, at most `width` of them, from 0 to the greatest; then the least and the greatest.
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
    let seconds = if group > 1 { format!(", {group} seconds per bar") } else { String::new() };
    format!("{bars} from {} to {}{seconds}", whole(least as f64), whole(greatest as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Look;
    use crate::export::table::terminal;

    #[test]
    fn a_sparkline_has_a_bar_per_second_and_says_its_range() {
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
        assert_eq!(sparkline(&[7; 100], 10), "██████████ from 7 to 7, 10 seconds per bar");
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
    fn attempts_at_a_generation_are_told_apart_and_which_one_counts() {
        let (run, mut cells) = crate::sample::run();
        let again = Cell { attempt: 2, ..cells[0].clone() };
        cells[0].attempt = 1;
        let titles = |cells: &[(&Cell, bool)]| {
            let mut parts = Vec::new();
            cells.iter().for_each(|(one, counts)| cell(&mut parts, &run, one, *counts, 80));
            let text = terminal(&parts, Look::default());
            text.lines().filter(|line| line.starts_with("writes, ")).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(titles(&[(&cells[0], true)]), "writes, generation 1, round 1, timing pass");
        assert_eq!(
            titles(&[(&cells[0], false), (&again, true)]),
            "writes, generation 1, round 1, attempt 1, which does not count, timing pass; writes, generation 1, round 1, attempt 2, which counts, timing pass"
        );
    }

    #[test]
    fn a_latency_below_saturation_is_not_called_throughput_and_its_step_is_named() {
        let (run, mut cells) = crate::sample::run();
        let latency = Latency { p50_us: 1.0, p90_us: 2.0, p99_us: 3.0, p999_us: 4.0, max_us: 5.0 };
        cells[0].latency = Some(latency);
        let said = |one: &Cell| {
            let mut parts = Vec::new();
            cell(&mut parts, &run, one, true, 80);
            terminal(&parts, Look::default())
        };
        let text = said(&cells[0]);
        assert!(text.contains("Little's"), "{text}");
        (cells[0].pass, cells[0].step) = (Pass::Latency, Some("16".to_owned()));
        let text = said(&cells[0]);
        assert!(!text.contains("Little's") && text.contains("latency pass, 16"), "{text}");
        let few = percentiles(&latency, Some(100.0));
        assert!(few.contains("99 % 0.003 ms, 99.9 % n/a (of fewer than 1,000), longest"), "{few}");
    }
}
