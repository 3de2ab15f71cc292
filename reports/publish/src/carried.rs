//! Which ratios of the embedded cluster another target confirms: a table over two runs of one date.

use std::cmp::Reverse;

use cqldyno_reports::measure::CPU_PER_STATEMENT;
use cqldyno_reports::{Analysis, Contender, Place, Role, SummaryRow, Verdict, escape, plain, short, three_digits};

use crate::front::{Shown, code, line, verdict};

/// A table for each run on another target, with intervals: beside the run of most blocks on the embedded cluster that has the same
/// contenders, if there is one.
pub(crate) fn tables(shown: &[Shown]) -> String {
    let on = |embedded: bool| {
        shown.iter().filter(move |one| one.run.run.plan.target.embedded == embedded && one.run.run.plan.blocks > 1)
    };
    let mut embedded: Vec<&Shown> = on(true).collect();
    embedded.sort_by_key(|one| Reverse(one.run.run.plan.blocks));
    on(false).filter_map(|other| embedded.iter().find_map(|one| table(one, other))).collect()
}

fn table(embedded: &Shown, other: &Shown) -> Option<String> {
    let [first, second] = [embedded, other].map(|one| Analysis::new(&one.run.run, &one.run.cells));
    let drivers = |analysis: &Analysis| -> Vec<String> {
        let is_driver = |one: &&Contender| one.role == Role::Driver && !one.control;
        analysis.run().contenders.iter().filter(is_driver).map(|one| one.id.clone()).collect()
    };
    let (reference, control) = (first.reference()?, second.reference()?);
    if drivers(&first) != drivers(&second) || reference.id != control.id {
        return None;
    }
    let over = escape(&short(first.run(), reference));
    let target = escape(&plain(&second.run().plan.target.id));
    let mut out = format!(
        "## Does the embedded cluster decide the ratio?\n\nCPU time per statement on the embedded cluster ([{0}]({0})) and on {target} ([{1}]({1})). \
         A ratio *carries over* if both runs say the same, and is *reversed* if one says cheaper and the other dearer.\n\n",
        embedded.name, other.name
    );
    let heads = [
        "scenario",
        "arrangement",
        "driver",
        "embedded, us",
        &format!("vs {over} (95 %)"),
        &format!("{target}, us"),
        &format!("vs {over} (95 %)"),
        "carries over",
    ];
    line(&mut out, &heads.map(str::to_owned));
    line(&mut out, &["---", "---", "---", "---:", "---", "---:", "---", "---"].map(str::to_owned));
    let mut rows = 0;
    for place in first.places() {
        let same =
            |found: &Place| found.scenario.name == place.scenario.name && found.arrangement.id == place.arrangement.id;
        let Some(there) = second.places().find(same) else { continue };
        for id in drivers(&first) {
            let of = |analysis: &Analysis, place| {
                let contender = analysis.run().contender(&id)?;
                analysis.row(place, contender, CPU_PER_STATEMENT).cloned()
            };
            let (here, there) = (of(&first, place), of(&second, there));
            let carried = match (&here, &there) {
                _ if id == reference.id => "",
                (Some(here), Some(there)) => carries(here.verdict, there.verdict),
                _ => "n/a",
            };
            let [[level, ratio], [other_level, other_ratio]] = [here, there].map(fields);
            let driver = first.run().contender(&id).map_or_else(String::new, |one| escape(&short(first.run(), one)));
            let scenario = escape(&plain(&place.scenario.name));
            let arrangement = code(&place.arrangement.id);
            let fields = [scenario, arrangement, driver, level, ratio, other_level, other_ratio, carried.to_owned()];
            line(&mut out, &fields);
            rows += 1;
        }
    }
    out.push('\n');
    (rows > 0).then_some(out)
}

/// CPU time per statement, and its ratio with interval and verdict.
fn fields(row: Option<SummaryRow>) -> [String; 2] {
    let Some(SummaryRow { level: Some(level), ratio, interval, verdict: said, void: None, failed: None, .. }) = row
    else {
        return ["n/a".to_owned(), String::new()];
    };
    let ratio = match (ratio, interval) {
        (Some(ratio), Some([low, high])) => format!("{ratio:.2} ({low:.2}-{high:.2}) {}", verdict(said)),
        _ => String::new(),
    };
    [three_digits(level), ratio]
}

/// Whether two verdicts on one ratio agree.
fn carries(here: Option<Verdict>, there: Option<Verdict>) -> &'static str {
    let (Some(here), Some(there)) = (here, there) else { return "open" };
    let decided = |one: Verdict| one.is_better() || one.is_worse() || one == Verdict::Same;
    match (here, there) {
        _ if !decided(here) || !decided(there) => "open",
        _ if here == there => "yes",
        _ if here.is_better() && there.is_worse() || here.is_worse() && there.is_better() => "**reversed**",
        _ => "**no**",
    }
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::{Cell, Measure, Recorded, Run, Unit};

    use super::*;
    use crate::sample;

    /// The run with cdrs-tokio's CPU time per statement multiplied, on another target if it has a name.
    fn run((mut run, mut cells): (Run, Vec<Cell>), target: Option<&str>, times: f64) -> Recorded {
        if let Some(target) = target {
            run.plan.target.embedded = false;
            run.plan.target.id = target.to_owned();
        }
        for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
            if let Some(value) = cell.get(CPU_PER_STATEMENT) {
                cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(value * times, Unit::Microseconds));
            }
        }
        Recorded { run, cells, notes: Vec::new() }
    }

    #[test]
    fn a_ratio_that_another_target_confirms_carries_over_and_one_that_it_turns_round_is_reversed() {
        let embedded = run(sample::blocks(12), None, 1.0);
        for (times, expected) in [(1.0, "| yes |"), (0.2, "| **reversed** |")] {
            let there = run(sample::blocks(12), Some("cassandra:5.0.9"), times);
            let shown = [Shown { name: "embedded", run: &embedded }, Shown { name: "cassandra", run: &there }];
            let text = tables(&shown);
            let row = text.lines().find(|line| line.starts_with("| writes | `multi:2` | cdrs-tokio |")).unwrap();
            assert!(row.ends_with(expected), "{text}");
            assert!(text.contains("on cassandra:5.0.9 ([cassandra](cassandra))"), "{text}");
            assert_eq!(tables(&shown[..1]), "");
        }
    }
}
