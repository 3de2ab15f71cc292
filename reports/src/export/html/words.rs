//! What the page's words mean, for somebody who never saw the tool.

use maud::{Markup, html};

use super::fields::{meaning, title};
use crate::export::column::Column;
use crate::export::document::is;
use crate::export::head::threads;
use crate::text::sentence;
use crate::{Bottleneck, Role, Run, SummaryRow, plain};

pub fn words(run: &Run, rows: &[SummaryRow], columns: &[&Column]) -> Markup {
    let has = |role: Role| run.contenders.iter().any(|one| one.role == role);
    let is_bound = |row: &SummaryRow| row.bottleneck == Some(Bottleneck::Server);
    let said = [
        (true, "contender", "A driver at a version with its settings: one row of a table."),
        (true, "reference", "The contender that ratios are taken against. You choose it at the top of the page."),
        (true, "scenario", "What is asked of every contender: its statements, keys and rows."),
        (
            true,
            "generation",
            "Fresh processes of all contenders, which take turns in shuffled rounds, so that a disturbance hits all alike.",
        ),
        (
            run.contenders.iter().any(|one| one.control),
            "control",
            "The reference once more under a second name. If it differs from itself, the run proves nothing.",
        ),
        (has(Role::Floor), "floor", is(Role::Floor)),
        (has(Role::Noop), "noop", is(Role::Noop)),
        (
            rows.iter().any(|row| row.void.is_some()),
            "void",
            "A figure that must not be compared: a statement failed, a row was wrong, or the server counted another number.",
        ),
        (
            rows.iter().any(is_bound),
            "server-bound",
            "The server, not the driver, limited the row. It has no verdict on statements per second, only on CPU time.",
        ),
    ];
    html! {
        details.more {
            summary { "Words and columns" }
            dl {
                @for (_, word, meaning) in said.iter().filter(|(is_used, ..)| *is_used) { dt { (word) } dd { (meaning) } }
                @for column in columns { @let about = meaning(column); @if !about.is_empty() { dt { (title(column)) } dd { (sentence(about)) } } }
            }
        }
    }
}

pub fn arrangements(run: &Run) -> Markup {
    let arrangements = &run.plan.arrangements;
    html! {
        @if !arrangements.is_empty() {
            p {
                "What a driver costs depends on how a program runs it, its arrangement: "
                @for (at, one) in arrangements.iter().enumerate() {
                    @if at > 0 { @if at + 1 == arrangements.len() { " and " } @else { ", " } }
                    strong { (plain(&one.id)) } " (" (threads(one)) ")"
                }
                ". A figure holds for its arrangement only."
            }
        }
    }
}
