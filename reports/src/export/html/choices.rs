//! What a reader may choose: the reference, and which contenders, meters, charts and scenarios are shown.

use maud::{Markup, html};

use super::fields::{is_shown_first, title};
use crate::export::chart::view::{Faces, View};
use crate::export::chart::{Chart, Kind};
use crate::export::column::Column;
use crate::export::document::PlaceTables;
use crate::export::part::Sheet;
use crate::text::{capital, grouped, unique};
use crate::{Run, plain};

/// The further tables of the page and the meters in them: each has a class that hides it.
pub struct Meters {
    sheets: Vec<(String, Vec<String>)>,
}

impl Meters {
    pub fn of(tables: &[PlaceTables]) -> Meters {
        let headings = |sheet: &Sheet| match is_of_meters(sheet) {
            true => (0..sheet.columns.len()).map(|at| sheet.heading(at)).collect(),
            // The columns of a breakdown are contenders.
            false => Vec::new(),
        };
        let sheets = tables.iter().flat_map(|table| table.sheets.iter().skip(1));
        let sheets = grouped(sheets.map(|sheet| (sheet.title.clone(), headings(sheet)))).into_iter();
        Meters { sheets: sheets.map(|(title, headings)| (title, unique(headings.concat()))).collect() }
    }

    pub fn class(&self, sheet: &Sheet) -> String {
        self.place(sheet).map(|at| format!("x-{at}")).unwrap_or_default()
    }

    /// The class that hides a column of it; none if the column is no meter's.
    pub fn class_of(&self, sheet: &Sheet, heading: &str) -> Option<String> {
        let at = self.place(sheet).filter(|_| is_of_meters(sheet))?;
        let column = self.sheets[at].1.iter().position(|known| known == heading)?;
        Some(format!("y-{at}-{column}"))
    }

    fn place(&self, sheet: &Sheet) -> Option<usize> {
        self.sheets.iter().position(|(title, _)| *title == sheet.title)
    }
}

fn is_of_meters(sheet: &Sheet) -> bool {
    sheet.first == "contender"
}

pub fn name(sheet: &str) -> String {
    capital(&plain(sheet))
}

pub fn choices(
    run: &Run,
    views: &[View],
    faces: &Faces,
    columns: &[&Column],
    meters: &Meters,
    charts: &[Vec<Chart>],
) -> Markup {
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| charts.iter().flatten().any(|chart| chart.kind == *kind && chart.picture.is_ok()))
        .collect();
    html! {
        div.choices id="choices" hidden {
            @if views.len() > 1 {
                div.group role="group" aria-label="Reference" {
                    span.name { "Compared with" }
                    @for (at, view) in views.iter().enumerate() {
                        button type="button" data-reference=(at) aria-pressed=(if at == 0 { "true" } else { "false" }) { (view.name) }
                    }
                }
            }
            details {
                summary { "Show or hide" }
                div.panel {
                    (fieldset("Contenders", &html! {
                        @for (place, label) in faces.labels.iter().enumerate() { (choice(label, &format!("c-{place}"), true)) }
                    }))
                    (fieldset("Meters", &html! {
                        @for (place, column) in columns.iter().enumerate() {
                            (choice(&title(column), &format!("m-{place}"), is_shown_first(column)))
                        }
                        (choice("ratios below the figures", "r-0", false))
                    }))
                    @if !kinds.is_empty() {
                        (fieldset("Charts", &html! { @for kind in kinds { (choice(kind.names()[0], kind.names()[1], true)) } }))
                    }
                    @for (at, (sheet, headings)) in meters.sheets.iter().enumerate() {
                        (fieldset(&name(sheet), &html! {
                            (choice("the table", &format!("x-{at}"), true))
                            @for (column, heading) in headings.iter().enumerate() {
                                (choice(heading, &format!("y-{at}-{column}"), true))
                            }
                        }))
                    }
                    @if run.scenarios.len() > 1 {
                        (fieldset("Scenarios", &html! {
                            @for (place, one) in run.scenarios.iter().enumerate() {
                                (choice(&plain(&one.name), &format!("s-{place}"), true))
                            }
                        }))
                    }
                }
            }
            p.status role="status" aria-live="polite" {}
        }
    }
}

fn fieldset(name: &str, choices: &Markup) -> Markup {
    html! { fieldset { legend { (name) } div { (choices) } } }
}

fn choice(name: &str, hides: &str, is_shown: bool) -> Markup {
    html! { label { input type="checkbox" data-hides=(hides) checked[is_shown]; " " span { (name) } } }
}
