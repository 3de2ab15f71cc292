//! Many runs as one page on which a reader chooses: figures by driver, scenario, arrangement, server and date, and each driver's history.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::first::{LENSES, Lens, comparison, figure};
use super::history::{picture, range};
use super::sections::words;
use super::shell::shell;
use crate::band::driver;
use crate::export::chart::view::colour;
use crate::export::exporter::ExportError;
use crate::export::part::{Field, Notes};
use crate::export::releases::panels;
use crate::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT};
use crate::text::{count, grouped, list, unique};
use crate::{
    Analysis, Combined, Contender, Group, History, Panel, Place, Recorded, Role, Run, SummaryRow, plain, short,
};

const SCRIPT: &str = include_str!("site.js");

/// A run of a site.
pub struct Listed<'a> {
    /// What it is called.
    pub name: String,
    /// Where it is, from the page: an address that is percent-encoded.
    pub link: String,
    /// What it holds.
    pub recorded: &'a Recorded,
}

/// The page over the runs. Runs of one plan are shown combined. Everything that came from outside is escaped; the page loads nothing, runs
/// no script but its own, and has its tables without it, too.
///
/// # Errors
/// When the data have no JSON form, which none of their types brings about.
pub fn site(runs: &[Listed]) -> Result<String, ExportError> {
    let named: Vec<(String, Analysis)> =
        runs.iter().map(|one| (one.name.clone(), Analysis::new(&one.recorded.run, &one.recorded.cells))).collect();
    let mut shown: Vec<Shown> = Combined::plans(&named).iter().flat_map(|plan| Shown::of(&named, plan)).collect();
    shown.sort_by_key(|one| std::cmp::Reverse(one.members.iter().map(|at| runs[*at].recorded.run.started).max()));
    Site { runs, drivers: drivers(&shown), shown }.page()
}

/// A run, or several of one plan together.
struct Shown<'a> {
    members: Vec<usize>,
    analysis: Analysis<'a>,
    /// Its releases, if it has several of one driver.
    releases: Option<Group>,
}

impl<'a> Shown<'a> {
    /// Several if the runs of a plan come to no table together.
    fn of(named: &[(String, Analysis<'a>)], plan: &[usize]) -> Vec<Shown<'a>> {
        let all: Vec<(String, Analysis<'a>)> = plan.iter().map(|at| named[*at].clone()).collect();
        if let Ok(Combined { mut analysis, .. }) = Combined::of(&all) {
            // Counts and percentiles are not combined.
            let combined: Vec<String> = unique(analysis.rows.iter().map(|row| row.meter.clone()));
            let first = all[0].1.rows.iter().filter(|row| !combined.contains(&row.meter));
            analysis.rows.extend(first.cloned());
            return vec![Shown { members: plan.to_vec(), analysis, releases: None }];
        }
        let one = |(at, (_, analysis)): (&usize, (String, Analysis<'a>))| {
            let releases = has_releases(analysis.run).then(|| History::by_version(&analysis)).flatten();
            Shown { members: vec![*at], analysis, releases }
        };
        plan.iter().zip(all).map(one).collect()
    }

    fn run(&self) -> &'a Run {
        self.analysis.run
    }

    /// Whether its figures are of drivers, and not of what a setting costs, of bad days, or of curves.
    fn has_rows(&self) -> bool {
        let (run, mut drivers) = (self.run(), compared(self.run()));
        let is_alone = drivers.clone().count() == 1;
        let first = drivers.next().map(|one| (name_of(one), one.version.clone()));
        run.plan.ladder.is_none()
            && !run.plan.faults
            && !run.plan.exact
            && run.scenarios.iter().all(|one| one.point.is_none())
            && (is_alone || drivers.any(|one| Some((name_of(one), one.version.clone())) != first))
    }

    fn panels(&self) -> impl Iterator<Item = (&Group, &Panel)> {
        let is_shown = |panel: &&Panel| {
            let points = &panel.lines[0].points;
            [CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT].contains(&panel.meter.as_str())
                && points.iter().filter(|point| point.median.is_some()).count() > 1
                && unique(points.iter().map(|point| package(&point.version))).len() == 1
        };
        self.releases.iter().flat_map(move |group| panels(group).filter(is_shown).map(move |panel| (group, panel)))
    }
}

/// The drivers of a run that could be asked.
fn compared(run: &Run) -> impl Iterator<Item = &Contender> + Clone {
    run.drivers().filter(|one| one.unavailable.is_none())
}

fn has_releases(run: &Run) -> bool {
    let mut versions = grouped(compared(run).map(|one| (name_of(one), &one.version))).into_iter();
    !run.plan.faults && versions.any(|(_, mine)| unique(mine).len() > 1)
}

/// The package of a release if its driver has several: `acsylla` of `1.2.0-acsylla`. A pre-release such as `rc.1` has a number.
fn package(version: &str) -> &str {
    version.split_once('-').map_or("", |(_, tag)| if tag.contains(|c: char| c.is_ascii_digit()) { "" } else { tag })
}

fn name_of(contender: &Contender) -> String {
    plain(driver(contender))
}

/// Those that have figures, the newest run's first.
fn drivers(shown: &[Shown]) -> Vec<String> {
    let shown = shown.iter().filter(|one| one.has_rows() || one.panels().next().is_some());
    unique(shown.flat_map(|one| compared(one.run())).map(name_of))
}

struct Site<'a> {
    runs: &'a [Listed<'a>],
    shown: Vec<Shown<'a>>,
    drivers: Vec<String>,
}

/// What the page's script reads: elements of the page stand in the order of these lists.
#[derive(Serialize)]
struct Data<'a> {
    drivers: &'a [String],
    runs: Vec<About>,
    rows: Vec<SiteRow>,
    charts: Vec<Facts>,
    others: Vec<Facts>,
}

#[derive(Serialize)]
struct About {
    date: Vec<String>,
    server: String,
    #[serde(skip)]
    names: Vec<String>,
    #[serde(skip)]
    links: Vec<String>,
    #[serde(skip)]
    settings: String,
    #[serde(skip)]
    machine: Vec<String>,
    #[serde(skip)]
    reference: Option<String>,
    #[serde(skip)]
    command: Option<String>,
    #[serde(skip)]
    findings: Vec<String>,
}

#[derive(Serialize)]
struct Facts {
    run: usize,
    driver: Vec<String>,
    scenario: Vec<String>,
    arrangement: Vec<String>,
}

#[derive(Serialize)]
struct SiteRow {
    #[serde(flatten)]
    facts: Facts,
    #[serde(skip)]
    contender: String,
    #[serde(skip)]
    fields: Vec<Field>,
}

impl Site<'_> {
    fn page(&self) -> Result<String, ExportError> {
        let places = |one: &Shown| one.run().scenarios.iter().map(|one| plain(one.kind())).collect();
        let arrangements = |one: &Shown| one.run().plan.arrangements.iter().map(|one| plain(&one.id)).collect();
        let (with_rows, without): (Vec<_>, Vec<_>) = self.shown.iter().enumerate().partition(|(_, one)| one.has_rows());
        // A run that is all charts is not listed once more.
        let without: Vec<_> = without.into_iter().filter(|(_, one)| one.panels().next().is_none()).collect();
        let charted: Vec<_> = self.shown.iter().enumerate().filter(|(_, one)| one.panels().next().is_some()).collect();
        let charts = charted.iter().flat_map(|(run, one)| {
            one.panels().map(|(_, panel)| Facts {
                run: *run,
                driver: vec![driver_of(panel)],
                scenario: vec![plain(&panel.scenario)],
                arrangement: vec![plain(&panel.arrangement)],
            })
        });
        let others = without.iter().map(|(run, one)| Facts {
            run: *run,
            driver: unique(compared(one.run()).map(name_of)),
            scenario: places(one),
            arrangement: arrangements(one),
        });
        let data = Data {
            drivers: &self.drivers,
            runs: self.shown.iter().map(|one| self.about(one)).collect(),
            rows: with_rows.iter().flat_map(|(run, one)| rows(*run, one)).collect(),
            charts: charts.collect(),
            others: others.collect(),
        };
        let json = serde_json::to_string(&data)?.replace('<', "\\u003c");
        let content = html! {
            header {
                p.brand { "cqldyno" span { (self.dates()) } }
                h1 { "What CQL drivers cost: " (count(self.runs.len() as u64, "run")) }
                p.lead {
                    "CPU time per statement is in microseconds; less is better. Below each figure is its ratio to the run's reference, with the 95 % interval. \
                     Compare figures of one run only: other runs may be of another machine. Runs of one plan are shown combined, with the counts and the latency of the first."
                }
                nav.links aria-label="On this page" {
                    a href="#results" { "Figures" }
                    @if !data.charts.is_empty() { a href="#releases" { "Releases" } }
                    @if !data.others.is_empty() { a href="#others" { "Other runs" } }
                }
            }
            div.choices id="choices" hidden { div.group role="group" aria-label="Drivers" {} p.status role="status" aria-live="polite" {} }
            main {
                section aria-labelledby="results" {
                    h2 id="results" { "Figures" }
                    (self.table(&data))
                }
                @if !data.charts.is_empty() {
                    section aria-labelledby="releases" {
                        h2 id="releases" { "Each driver over its releases" }
                        p.muted { "A vertical line marks a change. A cross marks a release without a figure." }
                        @for (run, one) in &charted {
                            div.history {
                                (head(&data.runs[*run]))
                                div.charts { @for (group, panel) in one.panels() { (picture(panel, group, range(panel))) } }
                            }
                        }
                    }
                }
                @if !data.others.is_empty() {
                    section aria-labelledby="others" {
                        h2 id="others" { "Other runs" }
                        p.muted { "Runs of settings, bad days, curves and ladders: open their pages for the tables." }
                        @for one in &data.others { (head(&data.runs[one.run])) }
                    }
                }
            }
            script type="application/json" id="page-data" { (PreEscaped(json)) }
        };
        Ok(shell("CQL drivers – cqldyno", env!("CARGO_PKG_VERSION"), &content, Some(SCRIPT)))
    }

    fn dates(&self) -> String {
        let dates: BTreeSet<String> = self.runs.iter().map(|one| date(&one.recorded.run)).collect();
        unique([dates.first(), dates.last()].into_iter().flatten().cloned()).join(" to ")
    }

    fn about(&self, one: &Shown) -> About {
        let members = || one.members.iter().map(|at| &self.runs[*at]);
        let run = one.run();
        About {
            names: members().map(|one| plain(&one.name)).collect(),
            links: members().map(|one| one.link.clone()).collect(),
            date: unique(members().map(|one| date(&one.recorded.run))),
            server: if run.plan.target.embedded { "embedded".to_owned() } else { plain(&run.plan.target.id) },
            settings: plain(&run.plan.settings),
            machine: unique(members().map(|one| plain(&one.recorded.run.environment.cpu))),
            reference: one.analysis.reference.map(|one| short(run, one)),
            command: run.command.as_ref().map(|command| plain(command)),
            findings: one.analysis.warnings.iter().chain(&one.analysis.findings).map(|text| plain(text)).collect(),
        }
    }

    fn table(&self, data: &Data) -> Markup {
        let has =
            |lens: usize| data.rows.iter().any(|row| !row.fields[lens].text.is_empty() && row.fields[lens].text != "–");
        let lenses: Vec<usize> = (0..LENSES.len()).filter(|lens| has(*lens)).collect();
        let of_run = data.rows.chunk_by(|one, next| one.facts.run == next.facts.run);
        html! {
            table.main {
                thead { tr {
                    @for title in ["contender", "scenario", "arrangement"] { th scope="col" { (title) } }
                    @for lens in &lenses { th.num scope="col" { (LENSES[*lens].name) } }
                } }
                @for rows in of_run {
                    tbody {
                        tr.place { th colspan=(3 + lenses.len()) scope="rowgroup" { (head(&data.runs[rows[0].facts.run])) } }
                        @for row in rows { (self.row(row, &lenses)) }
                    }
                }
            }
        }
    }

    fn row(&self, row: &SiteRow, lenses: &[usize]) -> Markup {
        let driver = self.drivers.iter().position(|one| row.facts.driver.contains(one)).unwrap_or_default();
        html! {
            tr {
                th.who scope="row" { span.swatch.(colour(Role::Driver, driver)) aria-hidden="true" {} (row.contender) }
                td data-name="scenario" { span.v { (row.facts.scenario[0]) } }
                td data-name="arrangement" { span.v { (row.facts.arrangement[0]) } }
                @for lens in lenses {
                    @let field = &row.fields[*lens];
                    td.num.(field.class) data-name=(LENSES[*lens].name) { span.v { (field.text) } @if !field.sub.is_empty() { span.sub { (field.sub) } } }
                }
            }
        }
    }
}

/// The name of a panel's driver, without its settings.
fn driver_of(panel: &Panel) -> String {
    plain(panel.lines[0].contender.split(['@', '+']).next().unwrap_or_default())
}

fn date(run: &Run) -> String {
    run.started.strftime("%Y-%m-%d").to_string()
}

/// A run's name, what it came to, and the command that repeats it.
fn head(about: &About) -> Markup {
    let server = if about.server == "embedded" { "the embedded cluster" } else { &about.server };
    let settings = if about.settings == "default" { ", settings as each driver documents them" } else { "" };
    let against = about.reference.as_ref().map_or(String::new(), |one| format!(", ratios to {one}"));
    html! {
        div.run {
            @for (at, (name, link)) in about.names.iter().zip(&about.links).enumerate() { @if at > 0 { ", " } a href=(link) { (name) } }
            span { " " (list(&about.date)) ", on " (server) (settings) (against) "; " (list(&about.machine)) }
            @if let Some(first) = about.findings.first() { p { (words(first)) } }
            @if let Some(command) = &about.command { details { summary { "Repeat it" } pre.command { code { (command) } } } }
        }
    }
}

fn rows(at: usize, one: &Shown) -> Vec<SiteRow> {
    let analysis = &one.analysis;
    let drivers: Vec<&Contender> = compared(analysis.run).collect();
    let row = |place: Place, contender: &Contender| {
        let of = |meter: &str| analysis.row(place, contender, meter);
        let is_reference = analysis.reference.is_some_and(|one| one.id == contender.id);
        let of_lens = |lens: &Lens| field(figure(lens, of(lens.meter)), of(lens.meter), is_reference);
        SiteRow {
            facts: Facts {
                run: at,
                driver: vec![name_of(contender)],
                scenario: vec![plain(&place.scenario.name)],
                arrangement: vec![plain(&place.arrangement.id)],
            },
            contender: plain(&contender.label),
            fields: LENSES.iter().map(of_lens).collect(),
        }
    };
    analysis.places().flat_map(|place| drivers.iter().map(|one| row(place, one)).collect::<Vec<_>>()).collect()
}

/// The figure, and below it the ratio with interval and verdict.
fn field(figure: Field, row: Option<&SummaryRow>, is_reference: bool) -> Field {
    let Field { text, sub, class, .. } = comparison(row, is_reference, &mut Notes::default());
    let below = [text, sub].into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>();
    Field { sub: below.join("\n"), class: format!("{}{class}", figure.class), ..figure }
}
