//! One page that holds everything: tables, charts, what they rest on, and the data. It needs neither a server nor a network, and
//! runs no code but its own.

mod choices;
mod fields;
mod first;
mod history;
mod raw;
mod sections;
mod shell;
mod side_by_side;
mod site;
#[cfg(test)]
mod tests;
mod words;

use std::io::Write;

use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value, json};

use self::choices::{Meters, choices};
use self::fields::{Fields, fields};
use self::raw::Packed;
pub use self::raw::{PAGE_LIMIT, stand_ins};
use self::sections::by_view;
use self::shell::shell;
pub use self::site::{Listed, site};
use super::chart::svg::STYLE;
use super::chart::view::{Faces, View};
use super::chart::{self, Chart, Detail, Here};
use super::column::{Column, Kind, columns};
use super::document::{At, Document};
use super::exporter::{ExportError, Exporter, Look};
use super::head::{sized, steps, verdicts};
use super::part::{Field, Notes, Part, Sheet};
use super::sweep::{compact, points};
use super::{faults, ladder};
use crate::Place;
use crate::measure::CPU_PER_STATEMENT;
use crate::quantity::whole;
use crate::text::{count, unique};
use crate::{Analysis, Axis, History, Recorded, Run, Sweep, plain, references, why_cut_short};

const SCRIPT: &str = include_str!("html/page.js");

pub(super) struct Html;

impl Exporter for Html {
    fn names(&self) -> [&'static str; 3] {
        ["html", "One page to publish that holds tables, charts and the data", "page.html"]
    }

    /// Everything that came from outside (names, errors, definitions) is escaped; a policy in the page keeps it from loading
    /// anything and from running any script but its own. A page larger than [`PAGE_LIMIT`] leaves parts out, each with a
    /// sentence, in this order: the CSV, hover titles, attempts that do not count, large parts of cells, charts of anything but
    /// CPU time, all cells. Its tables are always whole.
    fn write(&self, analysis: &Analysis, _: Look, out: &mut dyn Write) -> Result<(), ExportError> {
        let own = analysis.reference.map(|one| one.id.as_str());
        // Of releases each against each would be many times the page.
        let is_one = !analysis.run.plan.releases.is_empty();
        let others = references(analysis.run).into_iter().filter(|one| !is_one && own != Some(one.id.as_str()));
        let turned: Vec<Analysis> = others.map(|one| analysis.turned(&one.id)).collect();
        let page = page(std::iter::once(analysis).chain(&turned).map(View::of).collect())?;
        Ok(out.write_all(page.as_bytes())?)
    }

    fn several(&self, named: &[(String, &Recorded)], _: Look) -> Option<Result<String, ExportError>> {
        Some(Ok(side_by_side::page(named)))
    }

    fn history(&self, history: &History, _: Look) -> Option<Result<String, ExportError>> {
        Some(Ok(history::page(history)))
    }
}

/// The first of the views is shown until a reader chooses another one; the data are the run's as they were measured.
fn page(views: Vec<View>) -> Result<String, ExportError> {
    let page = Page::new(views);
    let run = page.run;
    let packed = match page.analysis.is_turned() {
        true => Packed::of(&Analysis::new(run, page.analysis.every_cell))?,
        false => Packed::of(page.analysis)?,
    };
    let room = |body: &str| PAGE_LIMIT.saturating_sub(body.len() + STYLE.len() + SCRIPT.len() + 10_000);
    // Hover titles repeat tables and data; the other charts are worth more than the first parts of the data to go.
    let mut body = page.body(Detail::Full)?;
    if !packed.is_whole_in(room(&body)) {
        body = page.body(Detail::Untitled)?;
    }
    if !packed.is_any_in(room(&body)) {
        body = page.body(Detail::Few)?;
    }
    let (files, left_out) = packed.within(room(&body));
    let mut head = page.document.head.clone();
    head.retain(|(name, _)| name != "verdicts");
    let method = sections::method(run, &head, &files, left_out);
    let names: Vec<String> = run.drivers().map(|one| plain(&one.label)).collect();
    let title = format!("{} – cqldyno", names.join(", "));
    let content = html! {
        (PreEscaped(body))
        main.wide { (method) (sections::notes(&page.notes.0)) }
    };
    Ok(shell(&title, &run.cqldyno, &content, Some(SCRIPT)))
}

struct Page<'a> {
    run: &'a Run,
    /// That of the first view.
    analysis: &'a Analysis<'a>,
    views: Vec<View<'a>>,
    faces: Faces,
    columns: Vec<&'static Column>,
    document: Document,
    notes: Notes,
    /// One per view.
    fields: Vec<Fields>,
    sweeps: Vec<Sweep<'a>>,
}

impl<'a> Page<'a> {
    fn new(views: Vec<View<'a>>) -> Page<'a> {
        let analysis = views[0].analysis;
        let document = Document::of(analysis);
        // The page has the ratio of a rate below the rate.
        let is_shown = |column: &&Column| column.kind != Kind::Ratio || column.meter == CPU_PER_STATEMENT;
        let columns = columns(&analysis.rows).into_iter().filter(is_shown).collect::<Vec<_>>();
        let mut notes = Notes(document.notes.0.clone());
        let fields = views.iter().map(|view| fields_of(view, &columns, &mut notes)).collect();
        let run = analysis.run;
        let sweeps = Sweep::all(analysis);
        Page { run, analysis, faces: Faces::of(run), views, columns, document, notes, fields, sweeps }
    }

    /// The page down to the contenders, and what its script reads.
    fn body(&self, detail: Detail) -> Result<String, ExportError> {
        let places: Vec<Place> = self.analysis.places().collect();
        let charts: Vec<Vec<Chart>> = places.iter().map(|place| self.charts(*place, detail)).collect();
        let meters = Meters::of(&self.document.tables);
        let sections = html! {
            @for (p, place) in places.iter().enumerate() {
                @let table = &self.document.tables[p];
                @let s = self.run.scenarios.iter().position(|one| one.name == place.scenario.name).unwrap_or(0);
                section class={ "s-" (s) } aria-labelledby={ "place-" (p) } {
                    h2 id={ "place-" (p) } {
                        (plain(&place.scenario.name))
                        @if self.run.plan.arrangements.len() > 1 { span { " on " (plain(&place.arrangement.id)) } }
                    }
                    p { (table.about) }
                    p.muted { (table.arrangement) }
                    (sections::main_table(p, *place, &format!("{}, {}", table.title, table.arrangement), &self.faces, &self.columns, self.analysis, &self.fields[0]))
                    @let remarks: Vec<&String> = table.remarks.iter().chain(&table.noticed).collect();
                    @if !remarks.is_empty() { ul.remarks { @for remark in remarks { li { (sections::words(remark)) } } } }
                    (sections::charts(&charts[p]))
                    @for sheet in table.sheets.iter().skip(1) { (sections::sheet(sheet, &self.faces, &meters)) }
                }
            }
        };
        let text = html! {
            header {
                p.brand { "cqldyno" span { (self.run.started.strftime("%Y-%m-%d").to_string()) } }
                (by_view(&self.views, |view| sections::headline(view.analysis)))
                (by_view(&self.views, |view| html! {
                    @for warning in &view.analysis.warnings { p.warning role="note" { strong { "Warning. " } (sections::words(warning)) } }
                }))
                @if let Some(why) = why_cut_short(self.run) {
                    p.warning role="note" { strong { "Cut short. " } (sections::words(&format!("{why}."))) }
                }
                p.lead { (self.lead()) }
                @for said in sized(self.analysis) { p.muted { (sections::words(&said)) } }
                nav.links aria-label="On this page" {
                    a href="#reading" { "How to read it" } a href="#method" { "How it was measured" } a href="#repeat" { "Repeat it" }
                    a href="#source" { "Source" } a href="#data" { "Data" }
                }
            }
            (choices(self.run, &self.views, &self.faces, &self.columns, &meters, &charts))
            main {
                @if let Some(group) = History::of_releases(self.analysis) { (history::releases(&group)) }
                @if self.run.plan.faults {
                    section { (set(&faults::compact(self.analysis))) }
                    details.more { summary { "Every figure of each day" } (set(&faults::every_figure(self.analysis))) }
                }
                @if self.run.plan.ladder.is_some() {
                    section {
                        (sections::charts(&chart::ladders(self.run, self.analysis.every_cell, &self.faces, detail == Detail::Full)))
                        (set(&ladder::compact(self.analysis)))
                    }
                    details.more { summary { "Every step" } (set(&ladder::steps(self.analysis))) }
                }
                @if !self.has_curves() && !self.run.plan.exact && !self.run.plan.faults && self.run.plan.ladder.is_none() { (first::first(&self.views[0], &self.faces, &self.fields[0])) }
                (self.sweeps(detail))
                (self.reading())
                @if self.run.plan.ladder.is_some() {} @else if !self.has_curves() { (sections) } @else {
                    details.more { summary { "Every number in flight by itself, with every column" } (sections) }
                }
                @if detail == Detail::Untitled {
                    p.muted { "This run has so many cells that its charts have no figures at the pointer. Tables and data have them." }
                }
                @if detail == Detail::Few {
                    p.muted { "This run has so many cells that the page has room for the charts of CPU time only." }
                }
                (sections::contenders(self.run, &self.faces, self.analysis.every_cell))
            }
            script type="application/json" id="page-data" { (PreEscaped(self.data()?)) }
        };
        Ok(text.into_string())
    }

    /// Whether curves over statements in flight are what the run is about.
    fn has_curves(&self) -> bool {
        self.sweeps.iter().any(|sweep| sweep.axis == Axis::InFlight)
    }

    /// What the sweeps come to, then the curves of each with its points.
    fn sweeps(&self, detail: Detail) -> Markup {
        let meters = Meters::of(&self.document.tables);
        let sheet = |sheet: &Sheet| sections::sheet(sheet, &self.faces, &meters);
        let sweep = |at: usize, sweep: &Sweep| {
            let mut notes = Notes::default();
            let points = points(self.run, sweep, &mut notes);
            html! {
                section aria-labelledby={ "sweep-" (at) } {
                    h2 id={ "sweep-" (at) } { (sweep.name()) " by " (sweep.axis.name()) }
                    (sections::charts(&chart::sweep(sweep, &self.faces, detail == Detail::Full)))
                    (sheet(&points))
                    @if !notes.0.is_empty() { ol.remarks { @for note in &notes.0 { li { (sections::words(note)) } } } }
                }
            }
        };
        html! {
            @for one in compact(self.run, &self.sweeps) { (sheet(&one)) }
            @for (at, one) in self.sweeps.iter().enumerate() { (sweep(at, one)) }
        }
    }

    /// What was measured, for a reader who does not know the tool.
    fn lead(&self) -> String {
        let plan = &self.run.plan;
        let drivers = self.run.drivers().filter(|one| one.unavailable.is_none()).count();
        let scenarios = unique(self.run.scenarios.iter().map(|one| plain(one.kind())));
        let target = match plan.target.started() {
            Some(started) => plain(started),
            None if plan.target.embedded => "the embedded cluster".to_owned(),
            None => plain(&plan.target.id),
        };
        if let Some(ladder) = &plan.ladder {
            return format!(
                "cqldyno searched the highest rate that {} for Apache Cassandra and ScyllaDB with {} below {}: {} of prepared statements ({}), \
                 up to {}, against {target}, on {}.",
                if drivers == 1 {
                    "a client driver holds".to_owned()
                } else {
                    format!("each of {drivers} client drivers holds")
                },
                ladder.percentile(),
                ladder.bound(),
                steps(ladder),
                scenarios.join(", "),
                self.run.in_flight(),
                plain(&self.run.environment.cpu),
            );
        }
        format!(
            "cqldyno put {} under the same load: {} prepared statements per turn ({}), {}, \
             {} of {}, against {target}, on {}.",
            match self.analysis.reference {
                // Contenders that are not compared have servers of their own.
                None if drivers > 1 => "several servers, each through one driver,".to_owned(),
                _ => format!("{} for Apache Cassandra and ScyllaDB", count(drivers as u64, "client driver")),
            },
            match self.has_curves() {
                true => format!("up to {}", whole(plan.statements() as f64)),
                false => self.run.statements(|number| whole(number as f64)),
            },
            scenarios.join(", "),
            self.run.in_flight(),
            self.run.generations(),
            count(plan.turns.rounds.into(), "round"),
            plain(&self.run.environment.cpu),
        )
    }

    fn reading(&self) -> Markup {
        let changes = self.analysis.changes();
        html! {
            section.reading aria-labelledby="reading" {
                h2 id="reading" { "How to read it" }
                @if !self.run.plan.exact && !self.run.plan.faults && self.run.plan.ladder.is_none() { p {
                    "CPU time per statement is how long the driver's process kept processors busy, for each statement with a correct \
                     answer. A ratio of 0.93 is 7 % less than the reference. All 95 % intervals of CPU time hold at once, and so do \
                     all of statements per second. By CPU time a driver is cheaper or dearer, by statements per second faster or slower, \
                     only if its whole interval lies beyond the band, which is 2 % or more, or beyond 1 % for CPU time of versions or settings of one driver. It is the same if all of it lies within. Otherwise the run is inconclusive about it. Every other \
                     figure is exploratory: its interval holds by itself."
                } }
                (words::arrangements(self.run))
                (by_view(&self.views, |view| html! {
                    @if let Some(said) = verdicts(view.analysis) { p.muted { "Verdicts: " (said) } }
                }))
                @if !changes.is_empty() { ul { @for change in changes { li { (change) } } } }
                (words::words(self.run, &self.analysis.rows, &self.columns))
            }
        }
    }

    fn charts(&self, place: Place, detail: Detail) -> Vec<Chart> {
        if self.run.plan.exact || self.has_curves() {
            return Vec::new();
        }
        Here::of(self.analysis, place, &self.faces, detail).charts(&self.views)
    }

    /// The fields that differ by reference, as JSON that can stand in a script element.
    fn data(&self) -> Result<String, ExportError> {
        let differs = |id: &String| self.fields.iter().any(|fields| fields.get(id) != self.fields[0].get(id));
        let ids: Vec<&String> = self.fields[0].keys().filter(|id| differs(id)).collect();
        let json = |one: &Field| json!([one.text, one.sub, one.class, one.sort, one.note]);
        let of = |fields: &Fields| -> Map<String, Value> {
            ids.iter().filter_map(|id| Some(((*id).clone(), json(fields.get(*id)?)))).collect()
        };
        let names: Vec<&String> = self.views.iter().map(|view| &view.name).collect();
        let data = json!({ "names": names, "fields": self.fields.iter().map(of).collect::<Vec<_>>() });
        Ok(serde_json::to_string(&data)?.replace('<', "\\u003c"))
    }
}

fn set(parts: &[Part]) -> Markup {
    html! {
        @for part in parts {
            @match part {
                Part::Title(text) => h3 { (text) },
                Part::Text(text) => p { (text) },
                Part::List(sentences) => ul.remarks { @for one in sentences { li { (sections::words(one)) } } },
                Part::Notes(notes) => ol.remarks { @for note in notes { li { (sections::words(note)) } } },
                Part::Sheet(sheet) => (titled(sheet)),
                _ => {},
            }
        }
    }
}

/// A table by itself, with its title above it.
fn titled(sheet: &Sheet) -> Markup {
    let column = |at: usize| (html! { (sheet.heading(at)) }, "num".to_owned());
    html! { h2 { (sheet.title) } (sections::grid(&sheet.title, sheet, column, |_| None)) }
}

/// The fields of all tables against the reference of one view.
fn fields_of(view: &View, columns: &[&'static Column], notes: &mut Notes) -> Fields {
    let mut all = Fields::new();
    first::fields(view, notes, &mut all);
    let analysis = view.analysis;
    for (p, place) in analysis.places().enumerate() {
        let at = At { analysis, columns, place };
        for (c, contender) in analysis.run.contenders.iter().enumerate() {
            for (k, field) in fields(analysis.run, &at.row(contender), columns, notes).into_iter().enumerate() {
                all.insert(format!("t-{p}-{c}-{k}"), field);
            }
        }
    }
    all
}
