//! What stands in the fields of the main tables: once a reference, so that choosing one computes nothing on the page.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::column::{Column, Entry, Row, Standing};
use crate::document::Notes;
use crate::measure::{CPU_PER_STATEMENT, PEAK_RSS, SERVER_CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, THROUGHPUT, WALL};
use crate::quantity::three_digits;
use crate::{Better, Run, SummaryRow, Verdict};

/// The class of a field of which the line below the text stays where ratios are hidden.
const KEPT: &str = "keep";

/// One field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Field {
    pub text: String,
    /// Below the text, smaller: an interval, or the ratio of a figure.
    pub sub: String,
    /// How it is coloured; empty for not at all.
    pub class: String,
    /// What it is sorted by.
    pub sort: Option<f64>,
}

impl Field {
    pub fn json(&self) -> Value {
        json!([self.text, self.sub, self.class, self.sort])
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
            let sub = format!("[{}]", notes.number(&why));
            return Field { text: "n/a".to_owned(), sub, class: KEPT.to_owned(), sort: None };
        }
        Entry::Figure(text) if kind.starts_with("CPU time") => match text.split_once(" (") {
            Some((ratio, interval)) => (ratio.to_owned(), interval.trim_end_matches(')').to_owned()),
            None => (text, String::new()),
        },
        Entry::Figure(text) => {
            let sub = figure.filter(|_| !is_of_cpu && row.standing == Standing::Compared);
            (text, sub.and_then(|figure| exploratory(run, figure)).unwrap_or_default())
        }
    };
    let judged = kind == "verdict" || kind.starts_with("CPU time") || column.meter == THROUGHPUT;
    let verdict = figure.and_then(|figure| figure.verdict).filter(|_| judged);
    let sort = figure.and_then(|figure| match kind {
        "verdict" => None,
        "smallest" => figure.detectable,
        _ if kind.starts_with("CPU time") => figure.ratio,
        _ => figure.median,
    });
    let kept = kind.starts_with("CPU time").then_some(KEPT);
    let classes: Vec<&str> = verdict.map(class).into_iter().chain(kept).collect();
    Field { text, sub, class: classes.join(" "), sort }
}

/// The ratio of a figure that is no part of the verdicts, and its interval, which holds by itself.
fn exploratory(run: &Run, figure: &SummaryRow) -> Option<String> {
    run.measure(&figure.meter).filter(|known| known.better != Better::Neither)?;
    let [low, high] = figure.interval?;
    Some(format!("×{} ({} to {})", three_digits(figure.ratio?), three_digits(low), three_digits(high)))
}

pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        Verdict::Inconclusive => "inconclusive",
    }
}
