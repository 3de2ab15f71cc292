//! What stands in the fields of the page's tables: once per reference, so that choosing one computes nothing on the page.

use std::collections::BTreeMap;

use crate::export::column::{Column, ContenderRow, Entry, Kind, RatioRole};
use crate::export::part::{Field, Notes};
use crate::measure::{
    ALLOCATIONS_PER_STATEMENT, CALLGRIND_INSTRUCTIONS, CPU_PER_STATEMENT, PEAK_RSS, SERVER_CPU_PER_STATEMENT,
    SYSCALLS_PER_STATEMENT, THROUGHPUT, WALL, definition,
};
use crate::quantity::three_digits;
use crate::{Better, Run, SummaryRow};

/// The class of a field that keeps the line below its text where ratios are hidden.
const KEPT: &str = "keep";

/// The fields of all tables, keyed by their element's id.
pub type Fields = BTreeMap<String, Field>;

pub fn title(column: &Column) -> String {
    match (column.kind, column.meter) {
        (Kind::Ratio, THROUGHPUT) => "ratio of statements/s".to_owned(),
        (Kind::Ratio, _) => "ratio".to_owned(),
        _ => column.title.replace('\n', " ").replace("- ", ""),
    }
}

/// Whether the column is shown before a reader chooses: the others are a click away.
pub fn is_shown_first(column: &Column) -> bool {
    let of = [CPU_PER_STATEMENT, THROUGHPUT, SYSCALLS_PER_STATEMENT, SERVER_CPU_PER_STATEMENT, PEAK_RSS];
    of.contains(&column.meter) && ![Kind::Smallest, Kind::Bottleneck].contains(&column.kind)
}

/// What a column shows, for somebody who never saw one.
pub fn meaning(column: &Column) -> &'static str {
    match column.kind {
        Kind::Verdict if column.meter == THROUGHPUT => {
            "What the interval of statements per second says. Faster or slower: all of it lies beyond the band. Same: all of it lies within. \
             Otherwise inconclusive. No verdict if the server limited the row or the reference."
        }
        Kind::Verdict => {
            "What the interval of CPU time says. Cheaper or dearer: all of it lies beyond the band, or beyond 1 % for versions and settings of \
             one driver. Same: all of it lies within. Otherwise inconclusive. Too noisy: others used the cores in too many rounds. Withheld: the control or a remark makes it doubtful."
        }
        Kind::Smallest => "The smallest difference in CPU time that this run would have found with a chance of 90 %.",
        Kind::Bottleneck => "What kept the row from being faster: the worker with the driver, or the server.",
        Kind::Ratio if column.meter == THROUGHPUT => {
            "Statements per second over the reference's, over all rounds that count, and the interval of that ratio."
        }
        Kind::Ratio => {
            "CPU time per statement over the reference's, over all rounds that count, and the interval of that ratio."
        }
        Kind::Figure => match column.meter {
            ALLOCATIONS_PER_STATEMENT => "allocations of the worker per statement",
            CALLGRIND_INSTRUCTIONS => "instructions of the worker per statement in user mode, under callgrind",
            meter => definition(meter).map_or("", |known| known.about),
        },
    }
}

pub fn fields(run: &Run, row: &ContenderRow, columns: &[&Column], notes: &mut Notes) -> Vec<Field> {
    let ran = row.figures.get(WALL).is_some_and(|figure| figure.median.is_some());
    columns.iter().map(|column| if ran { field(run, row, column, notes) } else { Field::of("–") }).collect()
}

fn field(run: &Run, row: &ContenderRow, column: &Column, notes: &mut Notes) -> Field {
    let figure = row.figures.get(column.meter).copied();
    let compared = figure.filter(|_| row.ratio_role == RatioRole::Compared);
    let mut note = None;
    let (text, sub) = match column.entry(row) {
        Entry::Void => return Field::bad("void"),
        // A control is only timed.
        Entry::Missing(_) if row.contender.control => return Field::of("–"),
        Entry::Missing(why) => return Field { class: KEPT.to_owned(), ..Field::missing(notes.number(&why)) },
        Entry::Noted(text, why) => {
            note = Some(notes.number(&why));
            (text, String::new())
        }
        Entry::Figure(text) if column.kind == Kind::Ratio => match text.split_once(" (") {
            Some((ratio, interval)) => (ratio.to_owned(), interval.trim_end_matches(')').to_owned()),
            None => (text, String::new()),
        },
        Entry::Figure(text) if [CPU_PER_STATEMENT, THROUGHPUT].contains(&column.meter) => (text, String::new()),
        Entry::Figure(text) => (text, compared.and_then(|figure| exploratory(run, figure)).unwrap_or_default()),
    };
    // An exploratory figure has its verdict in words alone: colours belong to the verdicts that hold for the whole run.
    let is_judged = matches!(column.kind, Kind::Verdict | Kind::Ratio);
    let verdict =
        figure.and_then(|figure| figure.verdict).filter(|one| is_judged && one.holds()).map(crate::Verdict::name);
    let sort = figure.and_then(|figure| match column.kind {
        Kind::Verdict => None,
        Kind::Smallest => figure.detectable,
        Kind::Ratio => figure.ratio,
        Kind::Figure | Kind::Bottleneck => figure.median,
    });
    let kept = (column.kind == Kind::Ratio || note.is_some()).then_some(KEPT);
    let class = verdict.into_iter().chain(kept).collect::<Vec<_>>().join(" ");
    Field { text, note, is_bad: false, sub, class, sort }
}

/// The verdict in words, or why there is none.
pub fn verdict(figure: &SummaryRow) -> &'static str {
    match figure.verdict {
        Some(verdict) => verdict.name(),
        None if figure.interval.is_none() => "no interval",
        None if figure.exploratory => "",
        None if figure.no_verdict.is_some() => "no verdict",
        None => "verdict withheld",
    }
}

/// The ratio of an exploratory figure, and its interval, which holds by itself.
fn exploratory(run: &Run, figure: &SummaryRow) -> Option<String> {
    run.measure(&figure.meter).filter(|known| known.better != Better::Neither)?;
    let [low, high] = figure.interval?;
    Some(format!("×{} ({} to {})", three_digits(figure.ratio?), three_digits(low), three_digits(high)))
}
