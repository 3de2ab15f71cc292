//! What the page's words mean, for somebody who never saw the tool.

use maud::{Markup, html};

use super::fields::{meaning, title};
use crate::column::Column;
use crate::text::sentence;
use crate::{ArrangementInfo, Bottleneck, Role, Run, SummaryRow, plain};

/// An arrangement's runtime in words.
pub fn runtime(arrangement: &ArrangementInfo) -> String {
    match arrangement.runtime.split_once(':') {
        None if arrangement.runtime == "current" => {
            "tokio's current-thread runtime, one thread for everything".to_owned()
        }
        Some(("multi", threads)) => {
            let noun = if threads == "1" { "worker thread" } else { "worker threads" };
            format!("tokio's multi-thread runtime with {} {noun}", plain(threads))
        }
        _ => format!("the runtime {}", plain(&arrangement.runtime)),
    }
}

/// The words that this page uses, and its columns.
pub fn words(run: &Run, rows: &[SummaryRow], columns: &[&Column]) -> Markup {
    let has = |role: Role| run.contenders.iter().any(|one| one.role == role);
    let mut said: Vec<(&str, &str)> = vec![
        ("contender", "A driver at a version with its settings: one row of a table."),
        ("reference", "The contender that ratios are taken against; a reader chooses it at the top of the page."),
        ("scenario", "What is asked of every contender: its statements, keys and rows."),
        (
            "block",
            "Every contender once, in an order drawn by lot, so that what disturbs the machine disturbs all alike.",
        ),
    ];
    if run.contenders.iter().any(|one| one.control) {
        said.push((
            "control",
            "The reference once more under a second name. Where it differs from itself, the run proves nothing.",
        ));
    }
    if has(Role::Floor) {
        said.push(("floor", "A minimal client of our own: the least that a client can cost on this machine."));
    }
    if has(Role::Noop) {
        said.push(("noop", "It sends nothing: what the harness itself costs."));
    }
    if rows.iter().any(|row| row.void.is_some()) {
        said.push((
            "void",
            "A figure that must not be compared, because a statement failed, a row was wrong, or the server counted otherwise.",
        ));
    }
    if rows.iter().any(|row| row.bottleneck == Some(Bottleneck::Server)) {
        said.push((
            "server-bound",
            "The server, not the driver, limited the row: it has no verdict on throughput, only on CPU time.",
        ));
    }
    html! {
        details.more {
            summary { "Words and columns" }
            dl {
                @for (word, meaning) in said { dt { (word) } dd { (meaning) } }
                @for column in columns { @let about = meaning(column); @if !about.is_empty() { dt { (title(column)) } dd { (sentence(about)) } } }
            }
        }
    }
}

/// What the arrangements of the run are.
pub fn arrangements(run: &Run) -> Markup {
    let arrangements = &run.plan.arrangements;
    html! {
        @if !arrangements.is_empty() {
            p {
                "The same driver costs more or less by how a program runs it. That is its arrangement: "
                @for (at, one) in arrangements.iter().enumerate() {
                    @if at > 0 { @if at + 1 == arrangements.len() { " and " } @else { ", " } }
                    strong { (plain(&one.id)) } " is " (runtime(one))
                }
                ". A figure holds for its arrangement only."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_runtime_is_told_in_words() {
        let (run, _) = sample::run();
        let mut one = run.plan.arrangements[0].clone();
        assert_eq!(runtime(&one), "tokio's multi-thread runtime with 2 worker threads");
        one.runtime = "multi:1".to_owned();
        assert_eq!(runtime(&one), "tokio's multi-thread runtime with 1 worker thread");
        one.runtime = "current".to_owned();
        assert_eq!(runtime(&one), "tokio's current-thread runtime, one thread for everything");
        one.runtime = "goroutines".to_owned();
        assert_eq!(runtime(&one), "the runtime goroutines");
    }
}
