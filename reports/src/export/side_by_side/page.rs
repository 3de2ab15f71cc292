//! Runs beside each other as one page that needs nothing else.

use maud::{Markup, html};

use super::{SideBySide, Together};
use crate::Recorded;
use crate::export::document::{caveats, libraries};
use crate::export::head::head;
use crate::export::html::shell::shell;
use crate::export::text::{capital, count, plain};

/// Several runs as a page in HTML: a section per scenario and arrangement, a column per run. Everything that came from outside is
/// escaped; the page loads nothing and runs no script.
pub fn page(named: &[(String, &Recorded)]) -> String {
    let SideBySide { runs, warnings, remarks, places } = SideBySide::new(named);
    let content = html! {
        header {
            p.brand { "cqldyno" span { "side by side" } }
            h1 { (count(runs.len() as u64, "run")) " beside each other" }
            @for remark in &remarks { p.lead { (remark) } }
            @for warning in &warnings { p.warning role="note" { strong { "Warning. " } (warning) } }
        }
        main {
            section aria-labelledby="runs" {
                h2 id="runs" { "Runs" }
                p.muted { "Open one for its machine, versions, settings and the command that repeats it." }
                @for (at, ((name, one), (_, about))) in named.iter().zip(&runs).enumerate() { (opened(at, name, about, one)) }
            }
            @for (at, place) in places.iter().enumerate() { (section(at, place)) }
        }
    };
    shell("Runs side by side – cqldyno", env!("CARGO_PKG_VERSION"), &content, None)
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
                            @if !contender.build.is_empty() { "Load generator " code { (short(&contender.build)) } "." }
                        }
                    }
                }
                @if let Some(command) = &run.command { h3 { "Repeat it" } pre.command { code { (plain(command)) } } }
            }
        }
    }
}

/// The beginning of a hash.
fn short(hash: &str) -> String {
    plain(hash.get(..16).unwrap_or(hash))
}

fn section(at: usize, place: &Together) -> Markup {
    html! {
        section aria-labelledby={ "place-" (at) } {
            h2 id={ "place-" (at) } { (place.scenario) span { " " (place.arrangement) } }
            p { (place.about) }
            @for (words, sheet) in &place.sheets {
                h3 { (capital(words)) }
                div.scroll tabindex="0" role="region" aria-label=(sheet.title) {
                    table {
                        caption.unseen { (sheet.title) }
                        thead { tr {
                            th scope="col" { (sheet.first) }
                            @for (run, lines) in sheet.columns.iter().enumerate() {
                                th.num scope="col" { a href={ "#run-" (run) } { (lines.concat()) } }
                            }
                        } }
                        tbody { @for row in sheet.groups.iter().flatten() {
                            tr {
                                th scope="row" { (row.label) }
                                @for field in &row.fields { td.num.(if field.is_bad { "bad" } else { "" }) { (field.text) } }
                            }
                        } }
                    }
                }
            }
            @if !place.remarks.is_empty() { ul.remarks { @for remark in &place.remarks { li { (remark) } } } }
        }
    }
}
