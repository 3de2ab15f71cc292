//! What a run says of its drivers, in sentences.
//!
//! Every claim is read from a printed interval and its verdict, and names the arrangement that it holds for.

use crate::comparison::is_control;
use crate::measure::CPU_PER_STATEMENT;
use crate::quantity::three_digits;
use crate::{Contender, Role, Run, Summary, SummaryRow, Verdict, list, plain, reference};

/// One sentence a driver that is compared with the reference, in the run's order; where there is nothing to claim, the one that
/// says why. There is always at least one.
///
/// `run` and `summary` belong together: ratios are those against [`reference`].
pub fn headline(run: &Run, summary: &Summary) -> Vec<String> {
    let Some(reference) = reference(run) else {
        return vec!["No driver took part, so there is nothing to compare.".to_owned()];
    };
    let primary: Vec<&SummaryRow> = summary.rows.iter().filter(|row| row.meter == CPU_PER_STATEMENT).collect();
    let drivers = run.contenders.iter().filter(|one| {
        one.role == Role::Driver && one.id != reference.id && !is_control(&one.id, one.control, reference)
    });
    let drivers: Vec<&Contender> = drivers.filter(|one| !one.control).collect();
    if drivers.is_empty() {
        return vec![alone(run, reference, &primary)];
    }
    let has = |what: fn(&SummaryRow) -> bool| {
        primary.iter().any(|row| what(row) && drivers.iter().any(|one| one.id == row.contender))
    };
    if !has(|row| row.interval.is_some()) {
        let why = primary.iter().find_map(|row| row.no_interval.as_deref());
        let why = why.unwrap_or("No two drivers have figures that can be compared.");
        return vec![format!("This run calls no driver faster or slower. {}", plain(why))];
    }
    if let (false, Some(warning)) = (has(|row| row.verdict.is_some()), summary.warnings.first()) {
        return vec![format!("This run gives no verdict. {}", plain(warning))];
    }
    drivers.into_iter().map(|driver| sentence(run, reference, driver, &primary)).collect()
}

/// The driver's name as people say it: without version and settings where no other driver of the run has that name.
pub fn short(run: &Run, contender: &Contender) -> String {
    let name = |label: &str| label.split(['@', '+', '#']).next().unwrap_or_default().to_owned();
    let mine = name(&contender.label);
    let others = run.contenders.iter().filter(|one| !one.control && one.id != contender.id);
    if mine.is_empty() || contender.control || others.into_iter().any(|one| name(&one.label) == mine) {
        return plain(&contender.label);
    }
    plain(&mine)
}

/// What a driver costs of which there is no other to compare with.
fn alone(run: &Run, driver: &Contender, primary: &[&SummaryRow]) -> String {
    let of = |row: &&&SummaryRow| row.contender == driver.id && row.void.is_none();
    let costs = primary.iter().filter(of).filter_map(|row| Some((three_digits(row.median?), place(run, row))));
    let of_what = |nth: usize| if nth == 0 { " of CPU time a statement" } else { "" };
    let costs: Vec<String> =
        costs.enumerate().map(|(nth, (cost, place))| format!("{cost} us{} for {place}", of_what(nth))).collect();
    let name = short(run, driver);
    if costs.is_empty() {
        return format!("{name} has no figure that counts.");
    }
    format!("{name} needed {}; there is no other driver to compare it with.", list(&costs))
}

/// What is said of a driver beside the reference, place by place.
fn sentence(run: &Run, reference: &Contender, driver: &Contender, primary: &[&SummaryRow]) -> String {
    let (name, than) = (short(run, driver), short(run, reference));
    if driver.unavailable.is_some() {
        return format!("{name} is missing from this run.");
    }
    let mine: Vec<&SummaryRow> = primary.iter().copied().filter(|row| row.contender == driver.id).collect();
    let mut claims = Vec::new();
    let mut open = Vec::new();
    let mut without = Vec::new();
    for row in mine {
        let place = place(run, row);
        match (row.verdict, row.ratio.zip(row.interval)) {
            (Some(Verdict::Inconclusive), Some((_, interval))) => open.push((place, interval)),
            (Some(verdict), Some((ratio, interval))) => claims.push((verdict, ratio, interval, place)),
            _ => without.push(format!("{place} ({})", why_without(row))),
        }
    }
    let mut said: Vec<String> = Vec::new();
    for (verdict, ratio, interval, place) in &claims {
        let first = said.is_empty();
        let confidence = if first { "95 % interval " } else { "" };
        let what = match verdict {
            Verdict::Same if first => format!("the same CPU time as {than}, within 2 %,"),
            Verdict::Same => "the same".to_owned(),
            _ if *ratio >= 2.0 && first => format!("{ratio:.2} times the CPU time of {than}"),
            _ if *ratio >= 2.0 => format!("{ratio:.2} times as much"),
            _ => {
                let less = if *ratio < 1.0 { "less" } else { "more" };
                let than = if first { format!(" CPU time than {than}") } else { String::new() };
                format!("{} % {less}{than}", percent(*ratio))
            }
        };
        let range = range(*interval, *verdict != Verdict::Same && *ratio >= 2.0, *verdict == Verdict::Same);
        said.push(format!("{what} for {place} ({confidence}{range})"));
    }
    let mut text = match said.is_empty() {
        false => format!("{name} needed {}", list(&said)),
        true if open.is_empty() => format!("{name} has no comparison with {than}"),
        true => format!("Whether {name} needs more or less CPU time than {than} is inconclusive"),
    };
    if !open.is_empty() {
        let confidence = if said.is_empty() { "95 % interval " } else { "" };
        let places: Vec<String> = open
            .iter()
            .enumerate()
            .map(|(nth, (place, interval))| {
                let confidence = if nth == 0 { confidence } else { "" };
                format!("for {place} ({confidence}{})", range(*interval, false, true))
            })
            .collect();
        let before = if said.is_empty() { " " } else { "; inconclusive " };
        text.push_str(&format!("{before}{}", list(&places)));
    }
    if !without.is_empty() {
        text.push_str(&format!("; no verdict for {}", list(&without)));
    }
    if let [only] = run.plan.arrangements.as_slice() {
        text.push_str(&format!("; on the arrangement {} alone", plain(&only.id)));
    }
    text.push('.');
    text
}

fn why_without(row: &SummaryRow) -> &'static str {
    match row {
        SummaryRow { unavailable: Some(_), failed: None, .. } => "not measured",
        SummaryRow { failed: Some(_), .. } => "it failed",
        SummaryRow { void: Some(_), .. } => "void",
        SummaryRow { interval: Some(_), .. } => "withheld",
        _ => "no interval",
    }
}

/// The scenario, and the arrangement where the run has several.
fn place(run: &Run, row: &SummaryRow) -> String {
    match run.plan.arrangements.len() {
        1 => plain(&row.scenario),
        _ => format!("{} on {}", plain(&row.scenario), plain(&row.arrangement)),
    }
}

/// How far a printed ratio is from 1, in hundredths: as exact as it is printed where that is of interest.
fn percent(ratio: f64) -> String {
    let share = (ratio - 1.0).abs() * 100.0;
    if share < 9.95 { format!("{share:.1}") } else { format!("{share:.0}") }
}

/// The interval in words; `sided` says less or more where it lies on one side of 1.
fn range([low, high]: [f64; 2], as_factors: bool, sided: bool) -> String {
    if as_factors {
        return format!("{low:.2} to {high:.2}");
    }
    let side = |less: &str| if sided { format!(" {less}") } else { String::new() };
    match (low < 1.0, high > 1.0) {
        (true, true) => format!("{} % less to {} % more", percent(low), percent(high)),
        (true, false) => format!("{} to {} %{}", percent(high), percent(low), side("less")),
        (false, _) => format!("{} to {} %{}", percent(low), percent(high), side("more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, sample};

    fn of(run: &Run, cells: &[Cell]) -> Vec<String> {
        headline(run, &Summary::new(run, cells))
    }

    /// The sample's headline with cdrs-tokio's row for writes, the first one, as it is given.
    fn with(verdict: Option<Verdict>, ratio: f64, interval: [f64; 2]) -> String {
        let (run, cells) = sample::blocks(12);
        let mut summary = Summary::new(&run, &cells);
        for row in summary.rows.iter_mut().filter(|row| row.contender == "cdrs-tokio" && row.meter == CPU_PER_STATEMENT)
        {
            if row.scenario == "writes" {
                (row.verdict, row.ratio, row.interval) = (verdict, Some(ratio), Some(interval));
            } else {
                (row.verdict, row.ratio, row.interval) = (None, None, None);
                row.void = Some("A statement failed.".to_owned());
            }
        }
        headline(&run, &summary)[0].clone()
    }

    #[test]
    fn a_claim_has_its_interval_and_its_arrangement() {
        let end = "; no verdict for reads (void); on the arrangement multi:2 alone.";
        for (verdict, ratio, interval, said) in [
            (
                Verdict::Faster,
                0.931,
                [0.911, 0.950],
                "cdrs-tokio needed 6.9 % less CPU time than scylla for writes (95 % interval 5.0 to 8.9 %)",
            ),
            (
                Verdict::Slower,
                1.523,
                [1.501, 1.547],
                "cdrs-tokio needed 52 % more CPU time than scylla for writes (95 % interval 50 to 55 %)",
            ),
            (
                Verdict::Slower,
                2.314,
                [2.25, 2.379],
                "cdrs-tokio needed 2.31 times the CPU time of scylla for writes (95 % interval 2.25 to 2.38)",
            ),
            (
                Verdict::Same,
                0.997,
                [0.988, 1.004],
                "cdrs-tokio needed the same CPU time as scylla, within 2 %, for writes (95 % interval 1.2 % less to 0.4 % more)",
            ),
            (
                Verdict::Inconclusive,
                1.05,
                [1.01, 1.09],
                "Whether cdrs-tokio needs more or less CPU time than scylla is inconclusive for writes (95 % interval 1.0 to 9.0 \
                 % more)",
            ),
        ] {
            assert_eq!(with(Some(verdict), ratio, interval), format!("{said}{end}"));
        }
    }

    #[test]
    fn places_follow_one_another_and_a_driver_that_is_missing_says_so() {
        let (run, cells) = sample::blocks(12);
        let said = of(&run, &cells);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].starts_with("cdrs-tokio needed 56 % more CPU time than scylla for writes (95 % interval 5"),
            "{said:?}"
        );
        assert!(said[0].contains(") and 57 % more for reads ("), "{said:?}");
        assert_eq!(said[1], "cassandra-cpp is missing from this run.");
    }

    #[test]
    fn with_several_arrangements_every_claim_names_its_own() {
        let (mut run, mut cells) = sample::blocks(12);
        let mut current = run.plan.arrangements[0].clone();
        current.id = "current".to_owned();
        run.plan.arrangements.push(current);
        cells.extend(cells.clone().into_iter().map(|cell| Cell { arrangement: "current".to_owned(), ..cell }));
        let said = of(&run, &cells);
        assert!(
            said[0].contains("for writes on multi:2 (95 %") && said[0].contains("for writes on current ("),
            "{said:?}"
        );
        assert!(!said[0].contains("alone"), "{said:?}");
    }

    #[test]
    fn without_intervals_or_with_a_control_that_differs_nothing_is_claimed() {
        let (run, cells) = sample::run();
        let said = of(&run, &cells);
        assert_eq!(
            said,
            [
                "This run calls no driver faster or slower. An interval needs at least 8 blocks in which every contender ran to its \
                 end, and there are 3; ask for more blocks."
            ]
        );
        let (run, mut cells) = sample::blocks(12);
        for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
            let slower = cell.get(CPU_PER_STATEMENT).unwrap() * 1.05;
            cell.measures
                .insert(CPU_PER_STATEMENT.to_owned(), crate::Measure::value(slower, crate::Unit::Microseconds));
        }
        let said = of(&run, &cells);
        assert!(said.len() == 1 && said[0].starts_with("This run gives no verdict. The control is"), "{said:?}");
    }

    #[test]
    fn one_driver_by_itself_has_its_cost_and_no_claim() {
        let (mut run, mut cells) = sample::run();
        run.contenders.truncate(1);
        cells.retain(|cell| cell.contender == "scylla");
        assert_eq!(
            of(&run, &cells),
            [
                "scylla needed 4.02 us of CPU time a statement for writes and 4.02 us for reads; there is no other driver to compare \
                 it with."
            ]
        );
        run.contenders.clear();
        assert_eq!(of(&run, &[]), ["No driver took part, so there is nothing to compare."]);
    }

    #[test]
    fn a_version_is_said_where_a_driver_runs_in_two() {
        let (mut run, _) = sample::run();
        assert_eq!(short(&run, &run.contenders[0]), "scylla");
        run.contenders[1].label = "scylla@1.8.0".to_owned();
        assert_eq!(short(&run, &run.contenders[0]), "scylla@1.9.0");
    }
}
