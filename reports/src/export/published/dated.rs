//! The README of a date's folder: its runs, and which ratios of the embedded cluster another target confirms.

use std::cmp::Reverse;

use super::{
    Front, PublishedRun, asked, code, cost, fenced, find, findings, labels, name, over, picture, row_of, same, server,
    warnings,
};
use crate::export::exporter::{Exporter, Look};
use crate::export::faults;
use crate::export::markdown::{markdown, table_of};
use crate::export::time::Time;
use crate::quantity::whole;
use crate::text::{escape, plain};
use crate::{CELLS, PACKED_CELLS, Recorded, short};

/// The README of a date's folder, with notes written by hand above all.
pub fn of_date(date: &str, shown: &[PublishedRun], front: Option<&Front>, notes: &str) -> String {
    let mut out = format!("# What was measured on {date}\n\n");
    if !notes.trim().is_empty() {
        out.push_str(&format!("{}\n\n", notes.trim()));
    }
    if let Some(front) = front {
        out.push_str(&picture("chart.svg"));
        out.push_str(&front.together(date).unwrap_or_default());
    }
    out.push_str(&Front::elsewhere(date, shown));
    out.push_str(&tables(shown));
    shown.iter().for_each(|one| out.push_str(&of_run(one, date)));
    out + "[reports/README.md](../../README.md) describes a run folder and the checks of a published one. `cqldyno report DIR \
           --format csv` prints one row per measure. The workers' logs, the profiles of callgrind and the histograms of turns are not kept here.\n"
}

fn of_run(one: &PublishedRun, date: &str) -> String {
    let PublishedRun { name, folder, recorded: Recorded { run, cells, notes } } = one;
    let analysis = one.analysis();
    let mut out = format!("## [{name}]({name})\n\n{}\n\n", asked(&[run], date));
    notes.iter().for_each(|note| out.push_str(&format!("> {}\n\n", escape(note))));
    out.push_str(&warnings(&analysis));
    out.push_str(&findings(&analysis));
    if run.plan.faults {
        out.push_str(&format!("\n{}", markdown(&faults::compact(&analysis))));
    } else if run.plan.blocks == 1 || run.plan.total.is_some() {
        let text = Time.one(&analysis, Look::default()).unwrap_or_default();
        out.push_str(&format!("\n{}", fenced(text.trim_end())));
    }
    let is_packed = folder.join(PACKED_CELLS).exists();
    let file = if is_packed { PACKED_CELLS } else { CELLS };
    let all = format!("{} turns and cells", whole(cells.len() as f64));
    out.push_str(&format!(
        "\n- [table.md]({name}/table.md): every table, with the notes on each driver\n\
         - [page.html]({name}/page.html): the same with charts, for a browser (GitHub shows its source)\n\
         - [run.json]({name}/run.json), [{file}]({name}/{file}), [files.tar.gz]({name}/files.tar.gz): what was asked, \
         {all} as measured, and the histogram of each cell\n\n",
    ));
    if let Some(command) = &run.command {
        out.push_str(&format!("The same again:\n\n{}\n", fenced(&plain(command))));
    }
    out
}

/// A table for each run on another target, with intervals: beside the run of most blocks on the embedded cluster that has the same
/// contenders and settings, if there is one.
fn tables(shown: &[PublishedRun]) -> String {
    let plan = |one: &PublishedRun| (one.recorded.run.plan.target.embedded, one.recorded.run.plan.blocks);
    let on = |embedded: bool| shown.iter().filter(move |one| plan(one).0 == embedded && plan(one).1 > 1);
    let mut embedded: Vec<&PublishedRun> = on(true).collect();
    embedded.sort_by_key(|one| Reverse(plan(one).1));
    on(false).filter_map(|other| embedded.iter().find_map(|one| table(one, other))).collect()
}

fn table(embedded: &PublishedRun, other: &PublishedRun) -> Option<String> {
    let [first, second] = [embedded, other].map(PublishedRun::analysis);
    let (reference, control) = (first.reference?, second.reference?);
    let is_same = labels(first.run) == labels(second.run) && first.run.plan.settings == second.run.plan.settings;
    if !is_same || reference.label != control.label {
        return None;
    }
    let carried = first.carried(&second);
    let (target, over) = (server(second.run), over(&first, reference));
    let words = |text: &str| (text.to_owned(), true);
    let heads = vec![
        words("scenario"),
        words("arrangement"),
        words("driver"),
        ("embedded, us".to_owned(), false),
        words(&over),
        (format!("{target}, us"), false),
        words(&over),
        words("second ratio / first (95 %)"),
    ];
    let mut rows = Vec::new();
    for place in first.places() {
        let Some(there) = same(&second, place) else { continue };
        for driver in first.run.drivers() {
            let apart = match find(&carried, place, &driver.label) {
                Some(found) => {
                    let [low, high] = found.interval;
                    let bold = if found.differs() { "**" } else { "" };
                    format!("{:.2} ({low:.2}-{high:.2}) {bold}{}{bold}", found.ratio, found.verdict)
                }
                None if driver.label == reference.label => String::new(),
                None => "n/a".to_owned(),
            };
            let both = [row_of(&first, place, &driver.label), row_of(&second, there, &driver.label)];
            let figures = both.map(|row| cost(row).unwrap_or(["n/a".to_owned(), String::new()]));
            let mut fields = vec![name(place.scenario), code(&place.arrangement.id), escape(&short(first.run, driver))];
            fields.extend(figures.into_iter().flatten().chain([apart]));
            rows.push(fields);
        }
    }
    (!rows.is_empty()).then(|| {
        format!(
            "## Does the embedded cluster decide the ratio?\n\nCPU time per statement on the embedded cluster ([{0}]({0})) and on {target} ([{1}]({1})). \
             The last column is the second ratio over the first, with its 95 % interval over all rows at once. A ratio *carries over* if that \
             interval lies within 2 % of 1, and *differs* if it excludes 1.\n\n{2}\n",
            embedded.name,
            other.name,
            table_of(heads, rows),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::sample;

    /// The run with cdrs-tokio's CPU time per statement multiplied, on another target if it has a name.
    fn run(name: &str, target: Option<&str>, times: f64) -> PublishedRun {
        let (mut run, mut cells) = sample::blocks(12);
        if let Some(target) = target {
            run.plan.target.embedded = false;
            run.plan.target.id = target.to_owned();
        }
        sample::cost(&mut cells, "cdrs-tokio", times);
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
            let [own, mut other] = shown;
            other.recorded.run.plan.settings = "default".to_owned();
            assert_eq!(tables(&[own, other]), "", "other settings may change a ratio, too");
        }
    }
}
