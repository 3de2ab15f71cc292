//! What stands in the fields of the main tables: once a reference, so that choosing one computes nothing on the page.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::column::{Column, Entry, Row, Standing};
use crate::document::Notes;
use crate::measure::{
    CPU_PER_STATEMENT, PEAK_RSS, SERVER_CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, THROUGHPUT, WALL, definition,
};
use crate::quantity::three_digits;
use crate::{Better, Bottleneck, Run, SummaryRow, Verdict};

/// The class of a field of which the line below the text stays where ratios are hidden.
const KEPT: &str = "keep";

/// One field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Field {
    pub text: String,
    /// Below the text, smaller, in lines: an interval, or the ratio of a figure.
    pub sub: String,
    /// The number of the note that says why there is no figure.
    pub note: Option<usize>,
    /// How it is coloured; empty for not at all.
    pub class: String,
    /// What it is sorted by.
    pub sort: Option<f64>,
}

impl Field {
    pub fn json(&self) -> Value {
        json!([self.text, self.sub, self.class, self.sort, self.note])
    }
}

/// The fields of all main tables by their element's id.
pub type Fields = BTreeMap<String, Field>;

/// The heading of a column on one line.
pub fn title(column: &Column) -> String {
    column.title.join(" ").replace("- ", "").replace(" (95 % interval)", "").replace("CPU time / reference's", "ratio")
}

/// Whether the column is shown before a reader chooses: the others are a click away.
pub fn is_shown_first(column: &Column) -> bool {
    let is_smallest = column.title[0] == "smallest";
    [CPU_PER_STATEMENT, THROUGHPUT, SYSCALLS_PER_STATEMENT, SERVER_CPU_PER_STATEMENT, PEAK_RSS].contains(&column.meter)
        && !is_smallest
        && column.title[0] != "bottleneck"
}

/// What a column shows, for somebody who never saw one.
pub fn meaning(column: &Column) -> &'static str {
    match column.title[0] {
        "verdict" => {
            "What the interval of CPU time says: faster or slower when all of it lies beyond 2 %, same when all of it lies \
             within, else inconclusive; withheld where the control or a remark makes it doubtful."
        }
        "smallest" => "The smallest difference in CPU time that this run would have found with a chance of 90 %.",
        "bottleneck" => "What kept the row from being faster: the worker with the driver, or the server.",
        kind if kind.starts_with("CPU time") => {
            "CPU time a statement over that of the reference, block by block, in which a cell that others slowed down weighs little, so \
             that it is not the quotient of two medians; and the interval of that ratio."
        }
        _ => definition(column.meter).map_or("", |known| known.about),
    }
}

/// One a column.
pub fn fields(run: &Run, row: &Row, columns: &[&Column], notes: &mut Notes) -> Vec<Field> {
    let ran = row.figures.get(WALL).is_some_and(|figure| figure.median.is_some());
    let none = || Field { text: "–".to_owned(), ..Field::default() };
    columns.iter().map(|column| if ran { field(run, row, column, notes) } else { none() }).collect()
}

fn field(run: &Run, row: &Row, column: &Column, notes: &mut Notes) -> Field {
    let figure = row.figures.get(column.meter).copied();
    let is_of_cpu = column.meter == CPU_PER_STATEMENT;
    let kind = column.title[0];
    let (text, sub) = match column.entry(row) {
        Entry::Void => return Field { text: "void".to_owned(), class: "bad".to_owned(), ..Field::default() },
        Entry::Missing(why) => {
            // A control is only timed.
            if row.contender.control {
                return Field { text: "–".to_owned(), ..Field::default() };
            }
            let note = Some(notes.number(&why));
            return Field { text: "n/a".to_owned(), note, class: KEPT.to_owned(), ..Field::default() };
        }
        Entry::Noted(text, why) => {
            let note = Some(notes.number(&why));
            return Field { text, note, class: KEPT.to_owned(), ..Field::default() };
        }
        Entry::Figure(text) if kind.starts_with("CPU time") => match text.split_once(" (") {
            Some((ratio, interval)) => (ratio.to_owned(), interval.trim_end_matches(')').to_owned()),
            None => (text, String::new()),
        },
        Entry::Figure(text) if column.meter == THROUGHPUT => {
            let sub = figure.filter(|_| row.standing == Standing::Compared).map(|figure| judged(figure, "×"));
            (text, sub.unwrap_or_default())
        }
        Entry::Figure(text) => {
            let sub = figure.filter(|_| !is_of_cpu && row.standing == Standing::Compared);
            (text, sub.and_then(|figure| exploratory(run, figure)).unwrap_or_default())
        }
    };
    // An exploratory figure has its verdict in words alone: colours are those of what the run's intervals hold for.
    let is_judged = kind == "verdict" || kind.starts_with("CPU time");
    let verdict = figure.and_then(|figure| figure.verdict).filter(|_| is_judged);
    let sort = figure.and_then(|figure| match kind {
        "verdict" => None,
        "smallest" => figure.detectable,
        _ if kind.starts_with("CPU time") => figure.ratio,
        _ => figure.median,
    });
    let kept = (kind.starts_with("CPU time") || column.meter == THROUGHPUT).then_some(KEPT);
    let classes: Vec<&str> = verdict.map(class).into_iter().chain(kept).collect();
    Field { text, sub, class: classes.join(" "), sort, note: None }
}

/// A ratio with its verdict in words, so that nothing hangs on a colour, and its interval below; empty without an interval.
pub fn judged(figure: &SummaryRow, sign: &str) -> String {
    let Some((ratio, [low, high])) = figure.ratio.zip(figure.interval) else { return String::new() };
    let verdict = match figure.verdict {
        Some(verdict) => class(verdict),
        None if figure.bottleneck == Some(Bottleneck::Server) && figure.meter == THROUGHPUT => {
            "server-bound, no verdict"
        }
        None => "verdict withheld",
    };
    format!("{sign}{ratio:.3} {verdict}\n{low:.3} to {high:.3}")
}

/// The ratio of a figure that is no part of the verdicts, and its interval, which holds by itself.
fn exploratory(run: &Run, figure: &SummaryRow) -> Option<String> {
    run.measure(&figure.meter).filter(|known| known.better != Better::Neither)?;
    let [low, high] = figure.interval?;
    Some(format!("×{} ({} to {})", three_digits(figure.ratio?), three_digits(low), three_digits(high)))
}

pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Cheaper => "cheaper",
        Verdict::Dearer => "dearer",
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        Verdict::Inconclusive => "inconclusive",
    }
}
