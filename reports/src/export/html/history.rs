//! The history as one page that needs nothing else, and the releases of a driver as a section of their run's page.

use maud::{Markup, html};

use super::shell::shell;
use crate::export::chart::Chart;
use crate::export::chart::history::{chart, said};
use crate::export::history::{BARS, NOTHING_JOINED, about, gaps, left_out};
use crate::export::part::Part;
use crate::export::releases::{INTERVALS, has_intervals, panels, parts};
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
const SPREAD: &str = "Medians with the least and the greatest block or generation.";

const AROUND: &str = "A bar is the 95 % interval of the ratio to the reference, drawn around the level.";

/// What a run that compares all releases shows of them: the changes, and a chart per figure with a line at each of them.
pub fn releases(group: &Group) -> Markup {
    html! {
        section aria-labelledby="releases" {
            h2 id="releases" { "What changed with which release" }
            @for part in parts(group) {
                @match part {
                    Part::List(sentences) => ul.remarks { @for text in sentences { li { (text.replace("->", "→")) } } },
                    Part::Text(text) if text != INTERVALS => p { (text) },
                    _ => {},
                }
            }
            p.muted {
                "A vertical line marks a change. A cross is a release without a figure."
                @if has_intervals(group) { " " (INTERVALS) }
            }
            div.charts {
                @for panel in panels(group) {
                    (picture(panel, group, range(panel)))
                }
            }
        }
    }
}

/// What the bars of a driver's releases are.
pub fn range(panel: &Panel) -> &'static str {
    if panel.lines[0].has_intervals() { AROUND } else { SPREAD }
}

/// A chart with its figures; `bars` says what its bars are.
pub fn picture(panel: &Panel, group: &Group, bars: &str) -> Markup {
    let Chart { title, picture, legend, .. } = chart(panel, &group.runs);
    html! {
        figure {
            figcaption { strong { (title) } span { (bars) } }
            @if let Ok(picture) = picture { (picture) }
            ul.legend { @for (class, name) in &legend { li { span.swatch.(class) {} (name) } } }
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
