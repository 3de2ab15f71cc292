//! The pages in GitHub's Markdown about runs that a repository publishes: every figure in them is read from the runs.

mod dated;
mod front;

use std::path::{Path, PathBuf};

pub use self::dated::of_date;
pub use self::front::Front;
use crate::measure::CPU_PER_STATEMENT;
use crate::quantity::{three_digits, whole};
use crate::text::{count, escape, list, plain, unique};
use crate::{Analysis, Carried, Contender, Place, Recorded, Run, ScenarioInfo, SummaryRow, short};

const CLASSIC: &str = "classic";
const BLOCKS: &str = "blocks";
/// How the name of a run that compares all releases of a driver begins.
const RELEASES: &str = "releases-";

/// A run that is published, or is to be.
pub struct PublishedRun {
    /// As its folder is called: [`plan_name`] or a chosen name, with a number from the second of a plan on.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// What it holds.
    pub recorded: Recorded,
}

impl PublishedRun {
    /// Against the run's own reference.
    pub fn analysis(&self) -> Analysis<'_> {
        Analysis::new(&self.recorded.run, &self.recorded.cells)
    }

    /// The name of the first run of the same plan.
    pub fn plan(&self) -> &str {
        unnumbered(&self.name)
    }
}

/// The name of the first run of a plan.
pub fn plan_name(run: &Run) -> String {
    match run.plan.releases.first() {
        Some(all) => format!("{RELEASES}{}", all.split('@').next().unwrap_or_default()),
        None => if run.plan.blocks > 1 { BLOCKS } else { CLASSIC }.to_owned(),
    }
}

/// Whether a run is named by its plan; every other name was chosen when it was published.
pub fn is_of_a_plan(name: &str) -> bool {
    let name = unnumbered(name);
    name == BLOCKS || name == CLASSIC || name.starts_with(RELEASES)
}

/// The name of the first of several runs: `blocks` of `blocks`, `blocks-2`, ...
pub fn unnumbered(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((first, number)) if number.parse::<usize>().is_ok() => first,
        _ => name,
    }
}

fn labels(run: &Run) -> Vec<&str> {
    run.drivers().map(|one| one.label.as_str()).collect()
}

fn name(scenario: &ScenarioInfo) -> String {
    escape(&plain(&scenario.name))
}

fn server(run: &Run) -> String {
    if run.plan.target.embedded { "the embedded cluster".to_owned() } else { escape(&plain(&run.plan.target.id)) }
}

/// Its name, and what tells it from others of that name: family and model, or caches where a run of an earlier version has neither.
fn processor(run: &Run) -> String {
    let cpu = plain(&run.environment.cpu);
    let caches = run.environment.more.get("caches").filter(|_| !cpu.contains(" family "));
    let own = caches
        .into_iter()
        .flat_map(|all| all.split(", "))
        .filter(|one| one.starts_with("L1d") || one.starts_with("L2"));
    let own = own.map(plain).collect::<Vec<_>>().join(", ");
    escape(&if own.is_empty() { cpu } else { format!("{cpu} ({own})") })
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The driver's row on CPU time in that place; drivers of two runs are told by label.
fn row_of<'s>(analysis: &'s Analysis, place: Place, label: &str) -> Option<&'s SummaryRow> {
    let driver = analysis.run.contenders.iter().find(|one| one.label == label)?;
    analysis.row(place, driver, CPU_PER_STATEMENT)
}

/// The same scenario in the same arrangement of another run.
fn same<'a>(analysis: &Analysis<'a>, place: Place) -> Option<Place<'a>> {
    let names = |one: Place<'_>| [one.scenario.name.clone(), one.arrangement.id.clone()];
    analysis.places().find(|one| names(*one) == names(place))
}

fn find<'a>(carried: &'a [Carried], place: Place, label: &str) -> Option<&'a Carried> {
    let is_here = |one: &&Carried| one.scenario == place.scenario.name && one.arrangement == place.arrangement.id;
    carried.iter().filter(is_here).find(|one| one.label == label)
}

fn code(text: &str) -> String {
    format!("`{}`", plain(text).replace('`', "'"))
}

fn fenced(text: &str) -> String {
    format!("```\n{}\n```\n", text.replace("```", "` ` `"))
}

fn over(analysis: &Analysis, reference: &Contender) -> String {
    format!("vs {} (95 %)", escape(&short(analysis.run, reference)))
}

/// CPU time per statement and its ratio with interval and verdict; a word where there is no figure.
fn cost(row: Option<&SummaryRow>) -> Result<[String; 2], &'static str> {
    match row {
        Some(SummaryRow { failed: Some(_), .. }) => Err("failed"),
        Some(SummaryRow { void: Some(_), .. }) => Err("void"),
        Some(row @ SummaryRow { level: Some(level), .. }) => {
            let ratio = row.ratio_within(2, "-").map(|ratio| format!("{ratio} {}", verdict(row)));
            Ok([three_digits(*level), ratio.unwrap_or_default()])
        }
        _ => Err("missing"),
    }
}

fn verdict(row: &SummaryRow) -> String {
    let name = row.verdict_name().unwrap_or_else(|| "no verdict".to_owned());
    if row.verdict.is_some_and(|one| one.differs()) { format!("**{name}**") } else { name }
}

fn picture(path: &str) -> String {
    format!("![CPU time per statement, by scenario, driver and arrangement]({path})\n\n")
}

fn warnings(analysis: &Analysis) -> String {
    analysis.warnings.iter().map(|warning| format!("> **Warning.** {}\n\n", escape(warning))).collect()
}

fn findings(analysis: &Analysis) -> String {
    analysis.findings.iter().map(|finding| format!("- {}\n", escape(finding))).collect()
}

/// What was asked, with which command, on what; the runs have one plan.
fn asked(runs: &[&Run], date: &str) -> String {
    let run = runs[0];
    let plan = &run.plan;
    let several = if runs.len() > 1 { format!("{} runs of ", runs.len()) } else { String::new() };
    let generations: Vec<String> = runs.iter().map(|run| run.blocks().to_string()).collect();
    let blocks = match (plan.blocks, plan.turns.rounds) {
        (1, 1) => run.statements(|number| whole(number as f64)),
        (_, rounds) => {
            let most = if plan.total.is_some() { "at most " } else { "" };
            let (generations, rounds) = (list(&generations), count(rounds.into(), "round"));
            format!("{generations} generations of {rounds}, with turns of {most}{}", whole(plan.turns.count as f64))
        }
    };
    let with = run.command.as_ref().map_or(String::new(), |command| format!(" with `{}`", command.replace('`', "'")));
    let days = runs.iter().map(|run| run.started.strftime("%Y-%m-%d").to_string());
    let when = match days.max().filter(|last| last != date && runs.len() > 1) {
        Some(last) => format!("from {date} to {last}"),
        None => format!("on {date}"),
    };
    format!(
        "{several}{blocks} prepared statements, {} over {}, on {}. {}. Measured {when}{with}.",
        run.in_flight(),
        count(plan.connections, "connection"),
        server(run),
        list(&unique(runs.iter().map(|run| machine(run)))),
    )
}

fn machine(run: &Run) -> String {
    let machine = &run.environment;
    let virtual_machine = machine.more.get("virtual machine").is_some_and(|value| value == "yes");
    let kind = if virtual_machine { ", a virtual machine" } else { "" };
    format!(
        "{} ({}{kind}, {}, {})",
        count(machine.cores.into(), "core"),
        escape(&plain(&machine.cpu)),
        escape(&plain(&machine.kernel)),
        escape(plain(&machine.compiler).split(" (").next().unwrap_or_default()),
    )
}
