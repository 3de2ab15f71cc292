//! The page's parts below its head.

use maud::{Markup, PreEscaped, html};

use super::charts::Chart;
use super::choices::{Meters, heading, name};
use super::fields::{Field, Fields, class, judged, meaning, title};
use super::raw::Download;
use super::view::{Faces, View};
use crate::column::Column;
use crate::document::{Sheet, caveats, libraries, settings};
use crate::measure::CPU_PER_STATEMENT;
use crate::quantity::three_digits;
use crate::{ArrangementInfo, Bottleneck, Cell, Role, Run, ScenarioInfo, SummaryRow, plain};

/// Blocks that differ by reference: all but the first are hidden until they are chosen.
pub fn by_view(views: &[View], content: impl Fn(&View) -> Markup) -> Markup {
    html! {
        @for (at, view) in views.iter().enumerate() {
            div data-view=(at) hidden[at != 0] { (content(view)) }
        }
    }
}

/// CPU time a statement of every driver in every scenario and arrangement.
pub fn overview(run: &Run, faces: &Faces, fields: &Fields) -> Markup {
    html! {
        section aria-labelledby="overview" {
            h2 id="overview" { "CPU time a statement" }
            p.muted {
                "In microseconds; below, the ratio to the reference and its 95 % interval. Less is better."
            }
            div.scroll tabindex="0" role="region" aria-label="CPU time a statement, table" {
                table.sortable {
                    caption.unseen { "CPU time a statement by driver and scenario" }
                    thead { tr {
                        th scope="col" { "contender" }
                        @for (scenario, s) in run.scenarios.iter().zip(0..) { @for one in &run.plan.arrangements {
                            th.num.{ "s-" (s) } scope="col" {
                                (plain(&scenario.name))
                                @if run.plan.arrangements.len() > 1 { " · " (plain(&one.id)) }
                            }
                        } }
                    } }
                    tbody {
                        @for (place, contender) in run.contenders.iter().enumerate() {
                            @if contender.role == Role::Driver && !contender.control {
                                tr class={ "c-" (place) } {
                                    th.who scope="row" {
                                        (who(faces, place))
                                        @if contender.unavailable.is_some() { " " span.badge.bad { "missing" } }
                                    }
                                    @for p in 0..run.scenarios.len() * run.plan.arrangements.len() {
                                        @let id = format!("o-{p}-{place}");
                                        (field(&id, &format!("s-{}", p / run.plan.arrangements.len().max(1)), fields.get(&id)))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The overview's field of one contender in one place.
pub fn overview_field(figure: Option<&SummaryRow>, is_reference: bool) -> Field {
    let Some(figure) = figure else { return Field { text: "–".to_owned(), ..Field::default() } };
    let Some(median) = figure.median else {
        let (text, class) = if figure.failed.is_some() { ("failed", "bad") } else { ("–", "") };
        return Field { text: text.to_owned(), class: class.to_owned(), ..Field::default() };
    };
    if figure.void.is_some() {
        return Field { text: "void".to_owned(), class: "bad".to_owned(), ..Field::default() };
    }
    let sub = match (is_reference, figure.ratio, figure.interval) {
        (true, ..) => "reference".to_owned(),
        (_, Some(_), Some(_)) => judged(figure, "×"),
        (_, Some(ratio), None) => format!("×{ratio:.3}\nno interval"),
        _ => String::new(),
    };
    let class = figure.verdict.map_or("", class).to_owned();
    Field { text: three_digits(median), sub, class, sort: Some(median), note: None }
}

/// A contender's name, from which its caveats, versions and settings are one click away.
fn who(faces: &Faces, place: usize) -> Markup {
    html! { (swatch(&faces.classes[place])) a href={ "#contender-" (place) } { (faces.labels[place]) } }
}

fn swatch(class: &str) -> Markup {
    html! { span.swatch.(class) aria-hidden="true" {} }
}

fn field(id: &str, class: &str, field: Option<&Field>) -> Markup {
    let none = Field::default();
    let field = field.unwrap_or(&none);
    html! {
        td.num.(class).(field.class) id=(id) data-sort=[field.sort] {
            span.v { (field.text) }
            span.sub {
                @if let Some(note) = field.note { (reference_to(note)) }
                (field.sub)
            }
        }
    }
}

/// One row of the main table, as far as it is the same for every reference.
pub struct Line {
    pub place: usize,
    pub role: Role,
    /// `void 1/3` and the like.
    pub trouble: String,
    pub bottleneck: Option<Bottleneck>,
    /// The number of the note on it.
    pub note: Option<usize>,
}

/// The main table of one scenario in one arrangement.
pub fn main_table(
    place: usize,
    caption: &str,
    faces: &Faces,
    columns: &[&Column],
    lines: &[Line],
    fields: &Fields,
) -> Markup {
    let body = |apart: bool| {
        html! {
            @if lines.iter().any(|line| (line.role != Role::Driver) == apart) { tbody {
                @for line in lines.iter().filter(|line| (line.role != Role::Driver) == apart) {
                    tr class={ "c-" (line.place) } {
                        th.who scope="row" {
                            (who(faces, line.place))
                            @if let Some(note) = line.note { " " sup { a href={ "#note-" (note) } aria-label={ "note " (note) } { (note) } } }
                            @if !line.trouble.is_empty() { " " span.badge.bad { (line.trouble) } }
                            @if line.bottleneck == Some(Bottleneck::Server) { " " span.badge.warn { "server-bound" } }
                        }
                        @for column in 0..columns.len() {
                            @let id = format!("t-{place}-{}-{column}", line.place);
                            (field(&id, &format!("m-{column}"), fields.get(&id)))
                        }
                    }
                }
            } }
        }
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table.sortable.main {
                caption.unseen { (caption) }
                thead { tr {
                    th scope="col" { "contender" }
                    @for (at, column) in columns.iter().enumerate() {
                        th.num.{ "m-" (at) } scope="col" title=(meaning(column)) { (title(column)) }
                    }
                } }
                (body(false))
                (body(true))
            }
        }
    }
}

/// A table of figures that are the same for every reference.
pub fn sheet(sheet: &Sheet, faces: &Faces, meters: &Meters) -> Markup {
    let of = |label: &str| faces.labels.iter().position(|known| known == label).map(|place| format!("c-{place}"));
    let columns: Vec<(String, String)> = sheet
        .columns
        .iter()
        .map(|lines| {
            let title = heading(lines);
            let class = meters.class_of(sheet, &title).or_else(|| of(&lines.concat())).unwrap_or_default();
            (title, class)
        })
        .collect();
    let name = name(&sheet.title);
    html! {
        details.more.(meters.class(sheet)) {
            summary { (name) }
            div.scroll tabindex="0" role="region" aria-label=(name) {
                table.sortable {
                    caption.unseen { (name) }
                    thead { tr {
                        th scope="col" { (sheet.first) }
                        @for (title, class) in &columns { th.num.(class) scope="col" { (title) } }
                    } }
                    @for group in &sheet.groups { tbody {
                        @for row in group {
                            tr class=[of(&row.label)] {
                                th scope="row" { (row.label) @if !row.trouble.is_empty() { " " span.badge.bad { (row.trouble) } } }
                                @for (field, (_, class)) in row.fields.iter().zip(&columns) {
                                    td.num.(class).(if field.is_bad { "bad" } else { "" }) {
                                        (field.text)
                                        @if let Some(note) = field.note { " " (reference_to(note)) }
                                    }
                                }
                            }
                        }
                    } }
                }
            }
        }
    }
}

/// A sentence; what stands between backticks is set as what a program reads.
pub fn words(sentence: &str) -> Markup {
    let parts: Vec<&str> = sentence.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return html! { (sentence) };
    }
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @if at % 2 == 0 { (part) } @else { code.word { (part) } }
        }
    }
}

fn reference_to(note: usize) -> Markup {
    html! { a href={ "#note-" (note) } aria-label={ "note " (note) } { "[" (note) "]" } }
}

/// The charts of one scenario in one arrangement.
pub fn charts(charts: &[Chart]) -> Markup {
    html! {
        div.charts {
            @for chart in charts {
                @match &chart.picture {
                    Ok(picture) => figure.(chart.kind.class()) data-view=[chart.view] hidden[chart.view.is_some_and(|view| view != 0)] {
                        figcaption { strong { (chart.title) } @if !chart.about.is_empty() { span { (chart.about) } } }
                        (PreEscaped(picture))
                        @if !chart.legend.is_empty() {
                            ul.legend { @for (class, name) in &chart.legend { li.(class) { (swatch(class)) (name) } } }
                        }
                    },
                    Err(_) => {},
                }
            }
        }
        @for chart in charts {
            @if let Err(why) = &chart.picture { p.muted.(chart.kind.class()) { (chart.title) ": " (words(why)) } }
        }
    }
}

/// Versions, settings and caveats of each contender.
pub fn contenders(run: &Run, faces: &Faces, cells: &[Cell]) -> Markup {
    let shorter = |hash: &str| hash.get(..16).map_or_else(|| plain(hash), plain);
    html! {
        section aria-labelledby="contenders" {
            h2 id="contenders" { "Contenders" }
            @for (place, one) in run.contenders.iter().enumerate() {
                details.contender class={ "c-" (place) } id={ "contender-" (place) } {
                    summary {
                        (swatch(&faces.classes[place])) (faces.labels[place])
                        @if one.unavailable.is_some() { " " span.badge.bad { "missing" } }
                        @if one.control { " " span.badge { "control" } }
                    }
                    @if let Some(why) = &one.unavailable { p { (words(&plain(why))) } }
                    @if one.role == Role::Floor { p { "A minimal client of our own: the least that a client can cost on this machine." } }
                    @if one.role == Role::Noop { p { "It sends nothing: what the harness itself costs." } }
                    @for caveat in caveats(one, cells.iter()) { p { (words(&plain(&caveat))) } }
                    @if let Some(versions) = libraries(run, one) { p.muted { (versions) } }
                    @let settings = settings(one, cells.iter());
                    @if !settings.is_empty() {
                        table.plain {
                            caption { "Settings, as the driver took them" }
                            @for setting in settings {
                                tr {
                                    th scope="row" { (plain(&setting.name)) }
                                    td { (plain(&setting.value)) @if !setting.as_asked { " " span.badge.warn { "not as asked" } } }
                                }
                            }
                        }
                    }
                    @if !one.build.is_empty() {
                        p.muted {
                            "Load generator " code { (shorter(&one.build)) }
                            @if !one.executable.is_empty() { ", executable " code { (shorter(&one.executable)) } }
                            @if !one.compiler.is_empty() { ", " (plain(&one.compiler)) }
                        }
                    }
                }
            }
        }
    }
}

/// What was run on what, how to repeat it, and the data.
pub fn method(run: &Run, head: &[(&'static str, String)], downloads: &[Download], left_out: Option<&str>) -> Markup {
    html! {
        section aria-labelledby="method" {
            h2 id="method" { "How it was measured" }
            dl {
                dt { "started" } dd { (run.started.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()) }
                @for (name, sentence) in head { dt { (name) } dd { (sentence) } }
                @for scenario in &run.scenarios {
                    dt { (plain(&scenario.name)) }
                    dd {
                        (plain(&scenario.about))
                        @if let Some(definition) = scenario.definition.as_ref().and_then(|all| serde_json::to_string_pretty(all).ok()) {
                            details { summary { "its definition" } pre { code { (definition.lines().map(plain_line).collect::<Vec<_>>().join("\n")) } } }
                        }
                    }
                }
            }
            @if let Some(command) = &run.command { h3 { "Repeat it" } pre.command { code { (plain(command)) } } }
            h3 { "Data" }
            @if !downloads.is_empty() {
                ul.files { @for file in downloads {
                    li {
                        a download={ (file.name) ".gz" } href=(file.address) data-name=(file.name) data-type=(file.media) { (file.name) ".gz" }
                        " – " (words(&file.about)) "; " (file.bytes.div_ceil(1024)) " KiB, packed " (file.packed.div_ceil(1024)) " KiB"
                    }
                } }
            }
            @if let Some(sentence) = left_out { p { (words(sentence)) } }
        }
    }
}

/// A line without what would play tricks, its indentation kept.
fn plain_line(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", " ".repeat(indent), plain(line))
}

/// Numbered notes.
pub fn notes(sentences: &[String]) -> Markup {
    html! {
        @if !sentences.is_empty() {
            section aria-labelledby="notes" {
                h2 id="notes" { "Notes" }
                ol { @for (at, sentence) in sentences.iter().enumerate() { li id={ "note-" (at + 1) } { (words(sentence)) } } }
            }
        }
    }
}

/// The summary's row on CPU time of a contender in a place.
pub fn cpu<'a>(
    view: &'a View,
    contender: &str,
    scenario: &ScenarioInfo,
    arrangement: &ArrangementInfo,
) -> Option<&'a SummaryRow> {
    view.rows.iter().find(|row| {
        row.meter == CPU_PER_STATEMENT
            && row.contender == contender
            && row.scenario == scenario.name
            && row.arrangement == arrangement.id
    })
}
