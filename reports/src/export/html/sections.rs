//! The page's parts below its head.

use maud::{Markup, html};

use super::choices::{Meters, name};
use super::fields::{Fields, meaning, title};
use super::raw::Download;
use crate::export::chart::Chart;
use crate::export::chart::view::{Faces, View};
use crate::export::column::Column;
use crate::export::document::{builds, caveats, is, libraries, settings, trouble};
use crate::export::part::{Field, Sheet};
use crate::measure::CPU_PER_STATEMENT;
use crate::text::short_hash;
use crate::{Analysis, Bottleneck, Cell, Contender, Pass, Place, Role, Run, plain};

/// Blocks that differ by reference: all but the first are hidden until they are chosen.
pub fn by_view(views: &[View], content: impl Fn(&View) -> Markup) -> Markup {
    html! {
        @for (at, view) in views.iter().enumerate() {
            div data-view=(at) hidden[at != 0] { (content(view)) }
        }
    }
}

pub fn headline(analysis: &Analysis) -> Markup {
    html! {
        @for (at, finding) in analysis.findings.iter().enumerate() {
            @if at == 0 { h1 { (finding) } } @else { p.headline { (finding) } }
        }
        @for worth in analysis.worths() { p.headline { (worth) } }
    }
}

/// A contender's name, from which its caveats, versions and settings are one click away.
pub fn who(faces: &Faces, place: usize) -> Markup {
    html! { (swatch(&faces.classes[place])) a href={ "#contender-" (place) } { (faces.labels[place]) } }
}

fn swatch(class: &str) -> Markup {
    html! { span.swatch.(class) aria-hidden="true" {} }
}

/// `name` stands before the field on a narrow screen, where the column has no heading.
pub fn field(id: &str, class: &str, name: &str, field: Option<&Field>) -> Markup {
    let none = Field::default();
    let field = field.unwrap_or(&none);
    html! {
        td.num.(class).(field.class) id=(id) data-name=[(!name.is_empty()).then_some(name)] data-sort=[field.sort] {
            span.v { (field.text) }
            span.sub {
                @if let Some(note) = field.note { (reference_to(note)) @if !field.sub.is_empty() { " " } }
                (field.sub)
            }
        }
    }
}

pub fn main_table(
    p: usize,
    place: Place,
    caption: &str,
    faces: &Faces,
    columns: &[&Column],
    analysis: &Analysis,
    fields: &Fields,
) -> Markup {
    let row = |at: usize, contender: &Contender| {
        let mine = analysis.cells_of(place, contender, Pass::Timing);
        let trouble = match trouble(&mine) {
            none if none.is_empty() && contender.unavailable.is_some() => "missing".to_owned(),
            none if none.is_empty() && mine.is_empty() => "not run".to_owned(),
            trouble => trouble,
        };
        let cost = analysis.row(place, contender, CPU_PER_STATEMENT);
        html! {
            tr class={ "c-" (at) } {
                th.who scope="row" {
                    (who(faces, at))
                    @if !trouble.is_empty() { " " span.badge.bad { (trouble) } }
                    @if cost.is_some_and(|row| row.bottleneck == Some(Bottleneck::Server)) { " " span.badge.warn { "server-bound" } }
                }
                @for (k, column) in columns.iter().enumerate() {
                    @let id = format!("t-{p}-{at}-{k}");
                    (field(&id, &format!("m-{k}"), &title(column), fields.get(&id)))
                }
            }
        }
    };
    let body = |is_driver: bool| {
        let all = analysis.run.contenders.iter().enumerate();
        let mut rows = all.filter(|(_, one)| (one.role == Role::Driver) == is_driver).peekable();
        html! { @if rows.peek().is_some() { tbody { @for (at, one) in rows { (row(at, one)) } } } }
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
                (body(true))
                (body(false))
            }
        }
    }
}

pub fn sheet(sheet: &Sheet, faces: &Faces, meters: &Meters) -> Markup {
    let of = |label: &str| faces.labels.iter().position(|known| known == label).map(|place| format!("c-{place}"));
    let column = |at: usize| {
        let title = sheet.heading(at);
        let class =
            meters.class_of(sheet, &title).or_else(|| of(&sheet.columns[at].replace('\n', ""))).unwrap_or_default();
        (html! { (title) }, format!("num {class}"))
    };
    let name = name(&sheet.title);
    html! {
        details.more.(meters.class(sheet)) {
            summary { (name) }
            (grid(&name, sheet, column, of))
        }
    }
}

/// A sheet under that name, with the heading and the classes of each column and a class of each row.
pub fn grid(
    name: &str,
    sheet: &Sheet,
    column: impl Fn(usize) -> (Markup, String),
    row: impl Fn(&str) -> Option<String>,
) -> Markup {
    let columns: Vec<(Markup, String)> = (0..sheet.columns.len()).map(column).collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table.sortable {
                caption.unseen { (name) }
                thead { tr {
                    th scope="col" { (sheet.first) }
                    @for (title, class) in &columns { th class=(class) scope="col" { (title) } }
                } }
                @for group in &sheet.groups { tbody {
                    @for one in group {
                        tr class=[row(&one.label)] {
                            th scope="row" { (one.label) @if !one.trouble.is_empty() { " " span.badge.bad { (one.trouble) } } }
                            @for (field, (_, class)) in one.fields.iter().zip(&columns) {
                                td class={ (class) " " @if field.is_bad { "bad" } } {
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

pub fn charts(charts: &[Chart]) -> Markup {
    html! {
        div.charts {
            @for chart in charts {
                @match &chart.picture {
                    Ok(picture) => figure.(chart.kind.names()[1]) data-view=[chart.view] hidden[chart.view.is_some_and(|view| view != 0)] {
                        figcaption { strong { (chart.title) } @if !chart.about.is_empty() { span { (chart.about) } } }
                        (picture)
                        @if !chart.legend.is_empty() {
                            ul.legend { @for (class, name) in &chart.legend { li.(class) { (swatch(class)) (name) } } }
                        }
                    },
                    Err(_) => {},
                }
            }
        }
        @for chart in charts {
            @if let Err(why) = &chart.picture { p.muted.(chart.kind.names()[1]) { (chart.title) ": " (words(why)) } }
        }
    }
}

pub fn contenders(run: &Run, faces: &Faces, cells: &[Cell]) -> Markup {
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
                    @if one.role != Role::Driver { p { (is(one.role)) } }
                    @for caveat in caveats(one, cells.iter()) { p { (words(&plain(&caveat))) } }
                    @if let Some(versions) = libraries(run, one) { p.muted { (versions) } }
                    @for how in builds(one) { p.muted { (how) } }
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
                            "Load generator " code { (plain(short_hash(&one.build))) }
                            @if !one.executable.is_empty() { ", executable " code { (plain(short_hash(&one.executable))) } }
                            @if !one.compiler.is_empty() { ", " (plain(&one.compiler)) }
                        }
                    }
                }
            }
        }
    }
}

/// What was run on what, how to repeat it, the source, and the data.
pub fn method(run: &Run, head: &[(String, String)], downloads: &[Download], left_out: Option<&str>) -> Markup {
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
            h3 id="repeat" { "Repeat it" }
            @match &run.command {
                Some(command) => {
                    pre.command { code { (plain(command)) } }
                    @for sentence in needed(command) { p { (words(&sentence)) } }
                },
                None => p { "This run does not hold its command. The run's plan is in the data below." },
            }
            h3 id="source" { "Source" }
            p {
                "Made by cqldyno " (plain(&run.cqldyno)) "."
                @if SOURCE.is_empty() { " harness/METHOD.md in its source explains how figures are taken and judged." }
                @else {
                    " " a href=(SOURCE) { "Its source" } "; "
                    a href={ (SOURCE) "/blob/main/harness/METHOD.md" } { "how figures are taken and judged" } "."
                }
            }
            h3 id="data" { "Data" }
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

/// The files of scenarios that a command needs, and how to get them, in a sentence each.
pub fn needed(command: &str) -> impl Iterator<Item = String> {
    let names = command.split(' ').filter_map(|word| Some(plain(word.split_once(".json")?.0)));
    names.map(|name| {
        format!(
            "The scenario {name} is not built in. `cqldyno scenarios {name} --run RUN >{name}.json` writes its file from the run's \
             folder or its result.json."
        )
    })
}

/// Where the source is; empty if the package does not name its repository.
const SOURCE: &str = env!("CARGO_PKG_REPOSITORY");

/// A line without what would play tricks, its indentation kept.
fn plain_line(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", " ".repeat(indent), plain(line))
}

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
