//! One page that holds everything: tables, charts, what they rest on, and the data. It needs nothing else, neither a server nor
//! a network, and runs no code but its own.

mod charts;
mod choices;
mod fields;
pub(super) mod paint;
mod raw;
mod sections;
pub(super) mod shell;
#[cfg(test)]
mod tests;
mod view;
mod words;

use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value, json};

use self::charts::{Chart, Detail, Here};
use self::choices::{Meters, choices};
use self::fields::{Fields, fields};
use self::raw::Packed;
pub use self::raw::StandIns;
use self::sections::{Line, by_view, cpu, overview_field};
use self::shell::{STYLE, shell};
use self::view::{Faces, View, views};
use crate::attempts::Attempts;
use crate::column::{Column, columns};
use crate::document::{Document, Notes, Place, caveats, trouble};
use crate::head::judgement;
use crate::quantity::whole;
use crate::summary::places;
use crate::text::{count, sentence};
use crate::{Cell, Pass, Role, Run, plain, reference, why_cut_short};

const SCRIPT: &str = include_str!("html/page.js");

/// What a page may weigh, in bytes.
pub const PAGE_LIMIT: usize = 1_500_000;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The model has no JSON form.
    #[error("the data of the page could not be written as JSON: {0}")]
    Data(#[from] serde_json::Error),
    /// The data could not be made smaller.
    #[error("the data of the page could not be compressed: {0}")]
    Compress(std::io::Error),
}

/// The run as a page in HTML.
///
/// Everything that came from outside (names, errors, definitions) is escaped; a policy in the page keeps it from loading
/// anything and from running any script but its own. A page that would be larger than [`PAGE_LIMIT`] leaves out, in this order and
/// each by a sentence: the table of measures as CSV, the charts' hover titles, attempts that do not count, what is large in a
/// cell, charts of anything but CPU time, all cells. Its tables are always whole.
///
/// # Errors
/// When the data cannot be written as JSON, which none of their types brings about, or not be compressed.
pub fn html(run: &Run, cells: &[Cell]) -> Result<String, PageError> {
    html_against(run, cells, None)
}

/// As [`html`], with the contender of that id as the reference that is shown first; the data in the page are the run's as they were
/// measured.
///
/// # Errors
/// As [`html`].
pub fn html_against(run: &Run, cells: &[Cell], reference: Option<&str>) -> Result<String, PageError> {
    let page = Page::new(run, cells, reference);
    let packed = Packed::of(run, cells)?;
    let room = |body: &str| PAGE_LIMIT.saturating_sub(body.len() + STYLE.len() + SCRIPT.len() + 10_000);
    // Hover titles repeat what tables and data have; the other charts are worth more than what is left out of the data first.
    let mut body = page.body(Detail::Full)?;
    if !packed.is_whole_in(room(&body)) {
        body = page.body(Detail::Untitled)?;
    }
    if !packed.is_any_in(room(&body)) {
        body = page.body(Detail::Few)?;
    }
    let (files, left_out) = packed.within(room(&body));
    let mut head = page.document.head.clone();
    head.retain(|(name, _)| *name != "verdicts");
    let method = sections::method(run, &head, &files, left_out);
    let title = format!("{} – cqldyno", page.names());
    let content = html! {
        (PreEscaped(body))
        main.wide { (method) (sections::notes(page.notes.sentences())) }
    };
    Ok(shell(&title, &run.cqldyno, &content, Some(SCRIPT)))
}

/// What the page is made of.
struct Page<'a> {
    run: &'a Run,
    cells: &'a [Cell],
    counted: Vec<&'a Cell>,
    views: Vec<View>,
    faces: Faces,
    columns: Vec<&'static Column>,
    document: Document,
    notes: Notes,
    /// One a view.
    fields: Vec<Fields>,
    /// The main tables' rows, one a place.
    lines: Vec<Vec<Line>>,
}

impl<'a> Page<'a> {
    fn new(run: &'a Run, cells: &'a [Cell], reference: Option<&str>) -> Page<'a> {
        let attempts = Attempts::of(cells);
        let views = views(run, cells, reference);
        let document = Document::against(run, cells, reference);
        let mut page = Page {
            run,
            cells,
            counted: cells.iter().filter(|cell| attempts.counts(cell)).collect(),
            faces: Faces::of(run),
            columns: columns(&views[0].rows),
            notes: Notes::of(document.notes.clone()),
            document,
            fields: Vec::new(),
            lines: Vec::new(),
            views,
        };
        let mut notes = std::mem::take(&mut page.notes);
        page.fields = page.views.iter().map(|view| page.fields_of(view, &mut notes)).collect();
        page.lines = page.lines_of(&mut notes);
        page.notes = notes;
        page
    }

    /// The fields of all tables against the reference of one view.
    fn fields_of(&self, view: &View, notes: &mut Notes) -> Fields {
        let mut all = Fields::new();
        for (p, (scenario, arrangement)) in places(&view.run).enumerate() {
            let place = Place { run: &view.run, cells: &self.counted, columns: &self.columns, scenario, arrangement };
            for (c, contender) in view.run.contenders.iter().enumerate() {
                let row = place.row(&view.rows, contender);
                for (k, field) in fields(&view.run, &row, &self.columns, notes).into_iter().enumerate() {
                    all.insert(format!("t-{p}-{c}-{k}"), field);
                }
                if contender.role == Role::Driver && !contender.control {
                    let is_reference = reference(&view.run).is_some_and(|one| one.id == contender.id);
                    let field = overview_field(cpu(view, &contender.id, scenario, arrangement), is_reference);
                    all.insert(format!("o-{p}-{c}"), field);
                }
            }
        }
        all
    }

    fn lines_of(&self, notes: &mut Notes) -> Vec<Vec<Line>> {
        let view = &self.views[0];
        let mut all = Vec::new();
        for (scenario, arrangement) in places(self.run) {
            let place = Place { run: self.run, cells: &self.counted, columns: &self.columns, scenario, arrangement };
            let line = |(at, contender): (usize, &crate::Contender)| {
                let said: Vec<String> = caveats(contender, self.counted.iter().copied()).collect();
                let note =
                    (!said.is_empty()).then(|| notes.number(&format!("{}: {}", contender.label, said.join(" "))));
                let mine = place.cells_of(contender, Pass::Timing);
                let trouble = match trouble(&mine) {
                    none if none.is_empty() && contender.unavailable.is_some() => "missing".to_owned(),
                    none if none.is_empty() && mine.is_empty() => "not run".to_owned(),
                    trouble => trouble,
                };
                let bottleneck = cpu(view, &contender.id, scenario, arrangement).and_then(|row| row.bottleneck);
                Line { place: at, role: contender.role, trouble, bottleneck, note }
            };
            all.push(self.run.contenders.iter().enumerate().map(line).collect());
        }
        all
    }

    /// The drivers' names.
    fn names(&self) -> String {
        let drivers = self.run.contenders.iter().filter(|one| one.role == Role::Driver && !one.control);
        drivers.map(|one| plain(&one.label)).collect::<Vec<_>>().join(", ")
    }

    /// The page down to the contenders, and what its script reads.
    fn body(&self, detail: Detail) -> Result<String, PageError> {
        let charts: Vec<Vec<Chart>> = (0..self.document.tables.len()).map(|p| self.charts(p, detail)).collect();
        let meters = Meters::of(&self.document.tables);
        let text = html! {
            header {
                p.brand { "cqldyno" span { (self.run.started.strftime("%Y-%m-%d").to_string()) } }
                (by_view(&self.views, headline))
                p.lead { (self.lead()) }
                (by_view(&self.views, |view| html! {
                    @for warning in &view.warnings { p.warning role="note" { strong { "Warning. " } (sections::words(warning)) } }
                }))
                @if self.run.interrupted {
                    p.warning role="note" { strong { "Ended early. " } "What was not finished is missing here." }
                }
                @if let Some(why) = why_cut_short(self.run, None) {
                    p.warning role="note" { strong { "Cut short. " } (sections::words(&format!("{why}."))) }
                }
            }
            (choices(self.run, &self.views, &self.faces, &self.columns, &meters, &charts))
            main {
                (sections::overview(self.run, &self.faces, &self.fields[0]))
                (self.reading())
                @for (p, (scenario, _)) in places(self.run).enumerate() {
                    @let table = &self.document.tables[p];
                    @let s = self.run.scenarios.iter().position(|one| one.name == scenario.name).unwrap_or(0);
                    section class={ "s-" (s) } aria-labelledby={ "place-" (p) } {
                        h2 id={ "place-" (p) } {
                            (table.title)
                            @if self.run.plan.arrangements.len() > 1 {
                                span { " " (plain(&self.run.plan.arrangements[p % self.run.plan.arrangements.len()].id)) }
                            }
                        }
                        p { (table.about) }
                        p.muted { (sentence(&table.arrangement)) }
                        (sections::main_table(p, &format!("{}, {}", table.title, table.arrangement), &self.faces, &self.columns, &self.lines[p], &self.fields[0]))
                        @if !table.remarks.is_empty() { ul.remarks { @for remark in &table.remarks { li { (sections::words(remark)) } } } }
                        (sections::charts(&charts[p]))
                        @for sheet in table.sheets.iter().skip(1) { (sections::sheet(sheet, &self.faces, &meters)) }
                    }
                }
                @if detail == Detail::Untitled {
                    p.muted { "This run has so many cells that its charts have no figures at the pointer; tables and data have them." }
                }
                @if detail == Detail::Few {
                    p.muted { "This run has so many cells that the page has room for the charts of CPU time only." }
                }
                (sections::contenders(self.run, &self.faces, self.cells))
            }
            script type="application/json" id="page-data" { (PreEscaped(self.data()?)) }
        };
        Ok(text.into_string())
    }

    /// What was asked of whom, for somebody who never saw the tool.
    fn lead(&self) -> String {
        let plan = &self.run.plan;
        let drivers = self
            .run
            .contenders
            .iter()
            .filter(|one| one.role == Role::Driver && !one.control && one.unavailable.is_none());
        let scenarios: Vec<String> = self.run.scenarios.iter().map(|one| plain(&one.name)).collect();
        let target = if plan.target.embedded {
            "against cqldyno's own server in memory".to_owned()
        } else {
            format!("against {}", plain(&plan.target.id))
        };
        format!(
            "cqldyno put {} for Apache Cassandra and ScyllaDB under the same load and read off what each costs: {} prepared \
             statements a run ({}), {} in flight, {}, {target}; they ran on {}.",
            count(drivers.count() as u64, "client driver"),
            whole(plan.count as f64),
            scenarios.join(", "),
            whole(plan.concurrency as f64),
            count(self.run.blocks().into(), "block"),
            plain(&self.run.environment.cpu),
        )
    }

    /// How figures are to be read.
    fn reading(&self) -> Markup {
        let changes = &self.document.overview;
        html! {
            section.reading aria-labelledby="reading" {
                h2 id="reading" { "How to read it" }
                p {
                    "CPU time a statement is how long the process with the driver kept processors busy, for every statement that was \
                     answered as it should be. A ratio of 0.93 is 7 % less than the reference. The interval says how surely that is \
                     known: with 95 % confidence all intervals of this run hold the truth at once. A driver is called faster or slower \
                     only when its whole interval lies beyond 2 %, the same when all of it lies within, and otherwise the run is \
                     inconclusive about it. Every other figure is exploratory: it has no verdict of that strength."
                }
                (words::arrangements(self.run))
                (by_view(&self.views, |view| html! {
                    @for (name, said) in judgement(&view.run, self.cells, &view.rows) {
                        @if name == "verdicts" { p.muted { (sentence(&format!("Verdicts: {said}"))) } }
                    }
                }))
                @if !changes.is_empty() { ul { @for change in changes { li { (change) } } } }
                (words::words(self.run, &self.views[0].rows, &self.columns))
            }
        }
    }

    fn charts(&self, place: usize, detail: Detail) -> Vec<Chart> {
        let Some((scenario, arrangement)) = places(self.run).nth(place) else { return Vec::new() };
        let is_here = |cell: &&&Cell| cell.scenario == scenario.name && cell.arrangement == arrangement.id;
        let cells = self.counted.iter().filter(is_here).copied().collect();
        Here { scenario, arrangement, cells, faces: &self.faces, detail }.charts(&self.views)
    }

    /// The fields that differ by reference, as JSON that can stand in a script element.
    fn data(&self) -> Result<String, PageError> {
        let differs = |id: &String| self.fields.iter().any(|fields| fields.get(id) != self.fields[0].get(id));
        let ids: Vec<&String> = self.fields[0].keys().filter(|id| differs(id)).collect();
        let of = |fields: &Fields| -> Map<String, Value> {
            ids.iter().filter_map(|id| Some(((*id).clone(), fields.get(*id)?.json()))).collect()
        };
        let names: Vec<&String> = self.views.iter().map(|view| &view.name).collect();
        let data = json!({ "names": names, "fields": self.fields.iter().map(of).collect::<Vec<_>>() });
        Ok(serde_json::to_string(&data)?.replace('<', "\\u003c"))
    }
}

fn headline(view: &View) -> Markup {
    html! {
        @for (at, sentence) in view.headline.iter().enumerate() {
            @let (claim, rest) = claim(sentence);
            @if at == 0 { h1 { (claim) span { (rest) } } } @else { p.headline { (claim) span { (rest) } } }
        }
    }
}

/// What a sentence claims, and what it adds, which is set smaller.
fn claim(sentence: &str) -> (&str, &str) {
    let ends = ["; inconclusive for ", "; no verdict for ", "; on the arrangement "];
    let end = ends.iter().filter_map(|end| sentence.find(end)).min().unwrap_or(sentence.len());
    sentence.split_at(end)
}
