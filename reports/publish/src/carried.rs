//! Which ratios of the embedded cluster another target confirms: a table over two runs of one date.

use std::cmp::Reverse;

use cqldyno_reports::{Analysis, SummaryRow, escape, plain, short, three_digits};

use crate::store::PublishedRun;
use crate::words::{code, drivers, find, line, ratio, row_of, same, server};

/// A table for each run on another target, with intervals: beside the run of most blocks on the embedded cluster that has the same
/// contenders, if there is one.
pub(crate) fn tables(shown: &[PublishedRun]) -> String {
    let plan = |one: &PublishedRun| (one.recorded.run.plan.target.embedded, one.recorded.run.plan.blocks);
    let on = |embedded: bool| shown.iter().filter(move |one| plan(one).0 == embedded && plan(one).1 > 1);
    let mut embedded: Vec<&PublishedRun> = on(true).collect();
    embedded.sort_by_key(|one| Reverse(plan(one).1));
    on(false).filter_map(|other| embedded.iter().find_map(|one| table(one, other))).collect()
}

fn table(embedded: &PublishedRun, other: &PublishedRun) -> Option<String> {
    let [first, second] = [embedded, other].map(|one| Analysis::new(&one.recorded.run, &one.recorded.cells));
    let labels = |analysis: &Analysis| drivers(analysis.run()).map(|one| one.label.clone()).collect::<Vec<_>>();
    let (reference, control) = (first.reference()?, second.reference()?);
    if labels(&first) != labels(&second) || reference.label != control.label {
        return None;
    }
    let carried = first.carried(&second);
    let over = escape(&short(first.run(), reference));
    let target = server(second.run());
    let mut out = format!(
        "## Does the embedded cluster decide the ratio?\n\nCPU time per statement on the embedded cluster ([{0}]({0})) and on {target} ([{1}]({1})). \
         The last column is the second ratio over the first, with its 95 % interval over all rows at once. A ratio *carries over* if that \
         interval lies within 2 % of 1, and *differs* if it excludes 1.\n\n",
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
        "second ratio / first (95 %)",
    ];
    line(&mut out, &heads.map(str::to_owned));
    line(&mut out, &["---", "---", "---", "---:", "---", "---:", "---", "---"].map(str::to_owned));
    let mut rows = 0;
    for place in first.places() {
        let Some(there) = same(&second, place) else { continue };
        for driver in drivers(first.run()) {
            let apart = match find(&carried, place, &driver.label) {
                Some(found) => {
                    let [low, high] = found.interval;
                    let bold = if found.differs() { "**" } else { "" };
                    format!("{:.2} ({low:.2}-{high:.2}) {bold}{}{bold}", found.ratio, found.verdict)
                }
                None if driver.label == reference.label => String::new(),
                None => "n/a".to_owned(),
            };
            let of = [row_of(&first, place, &driver.label), row_of(&second, there, &driver.label)];
            let [[level, ratio], [other_level, other_ratio]] = of.map(fields);
            let scenario = escape(&plain(&place.scenario.name));
            let (arrangement, driver) = (code(&place.arrangement.id), escape(&short(first.run(), driver)));
            line(&mut out, &[scenario, arrangement, driver, level, ratio, other_level, other_ratio, apart]);
            rows += 1;
        }
    }
    out.push('\n');
    (rows > 0).then_some(out)
}

/// CPU time per statement, and its ratio with interval and verdict.
fn fields(row: Option<&SummaryRow>) -> [String; 2] {
    match row {
        Some(row @ SummaryRow { level: Some(level), void: None, failed: None, .. }) => {
            [three_digits(*level), ratio(row)]
        }
        _ => ["n/a".to_owned(), String::new()],
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use cqldyno_reports::measure::CPU_PER_STATEMENT;
    use cqldyno_reports::{Measure, Recorded, Unit};

    use super::*;
    use crate::sample;

    /// The run with cdrs-tokio's CPU time per statement multiplied, on another target if it has a name.
    fn run(name: &str, target: Option<&str>, times: f64) -> PublishedRun {
        let (mut run, mut cells) = sample::blocks(12);
        if let Some(target) = target {
            run.plan.target.embedded = false;
            run.plan.target.id = target.to_owned();
        }
        for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
            if let Some(value) = cell.get(CPU_PER_STATEMENT) {
                cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(value * times, Unit::Microseconds));
            }
        }
        let recorded = Recorded { run, cells, notes: Vec::new() };
        PublishedRun { name: name.to_owned(), folder: PathBuf::new(), recorded }
    }

    #[test]
    fn a_ratio_that_another_target_confirms_carries_over_and_one_that_it_changes_differs() {
        for (times, expected) in [(1.0, ") carries over |"), (0.2, ") **differs** |")] {
            let shown = [run("embedded", None, 1.0), run("cassandra", Some("cassandra:5.0.9"), times)];
            let text = tables(&shown);
            let row = text.lines().find(|line| line.starts_with("| writes | `multi:2` | cdrs-tokio |")).unwrap();
            assert!(row.ends_with(expected), "{text}");
            assert!(text.contains("on cassandra:5.0.9 ([cassandra](cassandra))"), "{text}");
            assert_eq!(tables(&shown[..1]), "");
        }
    }
}
