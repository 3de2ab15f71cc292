//! The history as one page that needs nothing else.

use maud::{Markup, PreEscaped, html};

use super::{BARS, NOTHING_JOINED, about, gaps, left_out};
use crate::export::chart::history::{chart, classes, said};
use crate::export::html::shell::shell;
use crate::{By, Group, History, Panel, count, plain};

/// The history as a page in HTML. Everything that came from outside is escaped; the page loads nothing and runs no script.
pub fn page(history: &History) -> String {
    let runs: usize = history.groups.iter().map(|group| group.runs.len()).sum();
    let by = match history.by {
        By::Date => "by date",
        By::Version => "by version of the driver",
    };
    let content = html! {
        header {
            p.brand { "cqldyno" span { (by) } }
            h1 { "What each driver cost, " (by) }
            p.lead { (BARS) " " (NOTHING_JOINED) }
            p.muted { (count(runs as u64, "run")) ". Points are equally far apart, whatever time passed between them. A cross on the axis is a run without a figure." }
            @for text in left_out(history) { p.warning role="note" { (text) } }
        }
        main {
            @for (at, group) in history.groups.iter().enumerate() { (section(at, group)) }
        }
    };
    shell("History – cqldyno", env!("CARGO_PKG_VERSION"), &content, None)
}

fn section(at: usize, group: &Group) -> Markup {
    let gaps = gaps(group);
    html! {
        section aria-labelledby={ "group-" (at) } {
            h2 id={ "group-" (at) } { "Group " (at + 1) span { " " (count(group.runs.len() as u64, "run")) } }
            @if let Some(apart) = &group.apart { p.warning role="note" { (apart) } }
            @for text in about(group).iter().filter(|text| Some(*text) != group.apart.as_ref()) { p.muted { (text) } }
            @if !gaps.is_empty() { ul.remarks { @for gap in &gaps { li { (gap) } } } }
            div.charts { @for panel in &group.panels { (picture(panel, group, SPREAD)) } }
        }
    }
}

/// What the bars of a chart are without intervals.
pub const SPREAD: &str = "Medians with the least and the greatest block or generation.";

/// A chart with its figures; `bars` says what its bars are.
pub fn picture(panel: &Panel, group: &Group, bars: &str) -> Markup {
    html! {
        figure {
            figcaption { strong { (plain(&panel.title)) } span { (bars) } }
            (PreEscaped(chart(panel, &group.runs)))
            ul.legend {
                @for (line, class) in panel.lines.iter().zip(classes(panel)) {
                    li { span.swatch.(class) {} (plain(&line.contender)) }
                }
            }
            details.more {
                summary { "Figures" }
                table.plain {
                    @for line in &panel.lines {
                        @for point in &line.points {
                            tr {
                                th scope="row" { (plain(&line.contender)) }
                                td { (plain(&point.version)) }
                                td { (plain(&panel.places[point.place])) }
                                td { (said(panel, point)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
