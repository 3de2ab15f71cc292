//! Runs beside each other, and combined if they have one plan, as one page that needs nothing else.

use maud::{Markup, html};

use super::{sections, shell::shell};
use crate::export::document::{caveats, libraries};
use crate::export::head::head;
use crate::export::part::{Sheet, Short};
use crate::export::side_by_side::{SideBySide, Together, about_all};
use crate::text::{capital, count, plain, short_hash};
use crate::{Combined, Recorded};

/// Several runs as a page in HTML: the combined table, then a section per scenario and arrangement with a column per run. Everything that came from outside is
/// escaped; the page loads nothing and runs no script.
pub fn page(named: &[(String, &Recorded)]) -> String {
    let SideBySide { runs, warnings, remarks, places, combined } = SideBySide::new(named);
    let number = count(runs.len() as u64, "run");
    let (brand, title) = match &combined {
        Some(_) => ("combined", "Runs of one plan – cqldyno"),
        None => ("side by side", "Runs side by side – cqldyno"),
    };
    let content = html! {
        header {
            p.brand { "cqldyno" span { (brand) } }
            @match &combined {
                Some(combined) => (sections::headline(&combined.analysis)),
                None => {
                    h1 { (number) " beside each other" }
                    @for remark in &remarks { p.lead { (remark) } }
                },
            }
            @for warning in &warnings { p.warning role="note" { strong { "Warning. " } (warning) } }
        }
        main {
            @if let Some(combined) = &combined { (together(combined, &remarks)) }
            section aria-labelledby="runs" {
                h2 id="runs" { "Runs" }
                p.muted { "Open one for its machine, versions, settings and the command that repeats it." }
                @for (at, ((name, one), (_, about))) in named.iter().zip(&runs).enumerate() { (opened(at, name, about, one)) }
            }
            @for (at, place) in places.iter().enumerate() { (section(at, place)) }
        }
    };
    shell(title, env!("CARGO_PKG_VERSION"), &content, None)
}

/// A run's details. A link into them opens them.
fn opened(at: usize, name: &str, about: &str, one: &Recorded) -> Markup {
    let run = &one.run;
    html! {
        details.contender {
            summary { (plain(name)) }
            div id={ "run-" (at) } {
                p.muted { (about) "." }
                dl {
                    dt { "started" } dd { (run.started.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()) }
                    @for (name, sentence) in head(run) { dt { (name) } dd { (sentence) } }
                    @for contender in &run.contenders {
                        dt { (plain(&contender.label)) }
                        dd {
                            @if let Some(why) = &contender.unavailable { (plain(why)) " " }
                            @if let Some(versions) = libraries(run, contender) { (versions) " " }
                            @for caveat in caveats(contender, one.cells.iter()) { (plain(&caveat)) " " }
                            @if !contender.build.is_empty() { "Load generator " code { (plain(short_hash(&contender.build))) } "." }
                        }
                    }
                }
                @if let Some(command) = &run.command {
                    h3 { "Repeat it" }
                    pre.command { code { (plain(command)) } }
                    @for sentence in sections::needed(command) { p { (sections::words(&sentence)) } }
                }
            }
        }
    }
}

fn together(combined: &Combined, remarks: &[String]) -> Markup {
    html! {
        section aria-labelledby="combined" {
            h2 id="combined" { "All runs together" }
            p.muted { (about_all(combined)) "." }
            (table("All runs together", &Short::combined(combined).sheet, |_, title| html! { (title) }))
            ul.remarks { @for remark in remarks { li { (remark) } } }
        }
    }
}

fn section(at: usize, place: &Together) -> Markup {
    html! {
        section aria-labelledby={ "place-" (at) } {
            h2 id={ "place-" (at) } { (place.scenario) span { " " (place.arrangement) } }
            p { (place.about) }
            @for (words, sheet) in &place.sheets {
                h3 { (capital(words)) }
                (table(&sheet.title, sheet, |run, title| html! { a href={ "#run-" (run) } { (title) } }))
            }
            @if !place.remarks.is_empty() { ul.remarks { @for remark in &place.remarks { li { (remark) } } } }
        }
    }
}

/// A sheet with the heading that `head` makes of a column's number and title.
fn table(caption: &str, sheet: &Sheet, head: impl Fn(usize, &str) -> Markup) -> Markup {
    let column = |at: usize| (head(at, &sheet.columns[at]), if at < sheet.words { "" } else { "num" }.to_owned());
    sections::grid(caption, sheet, column, |_| None)
}
