//! Runs of many dates: one line per contender.

mod changes;
#[cfg(test)]
mod tests;
mod variants;

use std::collections::BTreeMap;

use cqldyno_statistics::Level;
use serde::Serialize;

use crate::conditions::{Conditions, differing, of_lines};
use crate::measure::{
    ALLOCATIONS_PER_STATEMENT, CALLGRIND_INSTRUCTIONS, CPU_PER_STATEMENT, PROCESSOR_INSTRUCTIONS,
    SYSCALLS_PER_STATEMENT, THROUGHPUT,
};
use crate::median;
use crate::text::grouped;
use crate::{Analysis, Cell, Contender, Place, Recorded, Role, Run, SummaryRow, Unit, Verdict};

use self::changes::changes;
pub use self::changes::{Cause, LevelChange};
use self::variants::{Variant, Variants, cores_of};

/// The meters that are shown, with their names; the primary one first.
const METERS: [(&str, &str); 8] = [
    (CPU_PER_STATEMENT, "CPU us per statement"),
    (THROUGHPUT, "statements/s"),
    (SYSCALLS_PER_STATEMENT, "system calls per statement"),
    (ALLOCATIONS_PER_STATEMENT, "allocations per statement"),
    (CALLGRIND_INSTRUCTIONS, "instructions per statement, under callgrind"),
    (PROCESSOR_INSTRUCTIONS, "instructions per statement"),
    ("bytes_sent_per_statement", "bytes sent per statement"),
    ("bytes_received_per_statement", "bytes received per statement"),
];

/// The order of the points of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// When the run was made.
    Date,
    /// The driver's version, then when the run was made.
    Version,
}

/// Runs in lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// The order of the points.
    pub by: By,
    /// Runs under the same conditions; no line leads from one group to another.
    pub groups: Vec<Group>,
    /// Runs that are left out, and why.
    pub left_out: Vec<LeftOut>,
}

/// A run that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Where it is.
    pub run: String,
    /// Why, as a full sentence.
    pub why: String,
}

/// Runs under the same conditions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// What is equal for all of them.
    pub conditions: Vec<(String, String)>,
    /// How it differs from the group before, as a full sentence; absent for the first.
    pub apart: Option<String>,
    /// What differs within, each a full sentence.
    pub remarks: Vec<String>,
    /// The runs, by date.
    pub runs: Vec<PastRun>,
    /// One per scenario, arrangement and meter; in the order of versions also per contender.
    pub panels: Vec<Panel>,
}

/// A run of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PastRun {
    /// Where it is.
    pub name: String,
    /// When it was made.
    pub started: jiff::Timestamp,
    /// What a reader must know about its files.
    pub notes: Vec<String>,
}

/// The lines of one chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// The heading, unique in its group.
    pub title: String,
    /// The scenario's name.
    pub scenario: String,
    /// The scenario's hash: another scenario of the same name has a panel of its own.
    pub scenario_hash: String,
    /// The arrangement's id.
    pub arrangement: String,
    /// The measure.
    pub meter: String,
    /// The measure in words.
    pub words: String,
    /// The unit of its figures.
    pub unit: Option<Unit>,
    /// The labels below the points, in order.
    pub places: Vec<String>,
    /// One per contender.
    pub lines: Vec<HistoryLine>,
}

/// A contender over its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryLine {
    /// The label without the version.
    pub contender: String,
    /// What it is in a comparison.
    pub role: Role,
    /// The number of the driver's colour in all panels.
    #[serde(skip)]
    pub colour: usize,
    /// In the order of the panel's places; a run without the contender has none.
    pub points: Vec<HistoryPoint>,
    /// Where the releases of one run change the figure's level; empty in any other line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LevelChange>,
    /// Whether changes were looked for: there are three figures or more, and their noise is known.
    #[serde(skip)]
    pub is_searched: bool,
}

impl HistoryLine {
    /// Whether it is of a figure that was compared.
    pub fn has_intervals(&self) -> bool {
        self.points.iter().any(|point| point.interval.is_some())
    }
}

/// A contender in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryPoint {
    /// The index into the panel's places.
    pub place: usize,
    /// The index into the group's runs.
    pub run: usize,
    /// The driver's version; empty when it did not say.
    pub version: String,
    /// The median over the blocks, or over the generations, each with the median of its rounds that count; absent in a gap.
    pub median: Option<f64>,
    /// The least and the greatest of them; absent for one.
    pub spread: Option<[f64; 2]>,
    /// How many blocks or generations it comes from.
    pub blocks: usize,
    /// Why there is no figure, as a full sentence.
    pub gap: Option<String>,
    /// The contender's id in the run.
    #[serde(skip)]
    pub contender: String,
    /// [`SummaryRow::level`], as the tables of the run have it.
    #[serde(skip)]
    pub level: Option<f64>,
    /// Where its ratio to the run's reference lies; absent of a count.
    #[serde(skip)]
    pub interval: Option<[f64; 2]>,
    /// The same ratio as a logarithm, with its noise but for what the reference adds to all ratios; absent of a count.
    #[serde(skip)]
    pub ratio: Option<Level>,
}

impl HistoryPoint {
    /// Puts what the tables of its run show in the place of median and spread: the level, and the interval of its ratio around it,
    /// which the reference of a line that `has_intervals` lacks.
    fn show_as_compared(&mut self, has_intervals: bool) {
        self.median = self.median.and(self.level);
        if has_intervals {
            self.spread = self.median.zip(self.interval).map(|(median, [low, high])| {
                let half = (high / low).sqrt();
                [median / half, median * half]
            });
        }
    }
}

#[derive(Clone, Copy)]
struct Member<'a> {
    name: &'a str,
    run: &'a Run,
    cells: &'a [Cell],
    notes: &'a [String],
}

impl History {
    /// Of named runs; `left_out` are those that could not be read.
    pub fn new(by: By, runs: &[(String, Recorded)], left_out: Vec<LeftOut>) -> History {
        let members = runs.iter().map(|(name, Recorded { run, cells, notes })| Member { name, run, cells, notes });
        History::of(by, members.collect(), left_out)
    }

    fn of(by: By, mut runs: Vec<Member>, left_out: Vec<LeftOut>) -> History {
        runs.sort_by_key(|one| (one.run.started, one.name));
        let groups = grouped(runs.into_iter().map(|member| (of_lines(member.run), member)));
        let mut before: Option<Conditions> = None;
        let mut made = Vec::new();
        for (conditions, members) in groups {
            let apart = before.as_ref().map(|before| apart(before, &conditions));
            before = Some(conditions.clone());
            made.push(Group::new(by, conditions, apart, &members));
        }
        colour(&mut made);
        History { by, groups: made, left_out }
    }

    /// The releases of a run that compares all of them; `None` of any other.
    pub(crate) fn of_releases(analysis: &Analysis) -> Option<Group> {
        (!analysis.run.plan.releases.is_empty()).then(|| History::by_version(analysis))?
    }

    /// The contenders of a run, each over its versions.
    pub(crate) fn by_version(analysis: &Analysis) -> Option<Group> {
        let one = Member { name: "", run: analysis.run, cells: analysis.every_cell, notes: &[] };
        let mut group = History::of(By::Version, vec![one], Vec::new()).groups.pop()?;
        for line in group.panels.iter_mut().flat_map(|panel| &mut panel.lines) {
            let has_intervals = line.has_intervals();
            line.points.iter_mut().for_each(|point| point.show_as_compared(has_intervals));
        }
        Some(group)
    }
}

/// Gives every driver its colour, the same in every panel.
fn colour(groups: &mut [Group]) {
    let mut names: Vec<String> = Vec::new();
    let lines = groups.iter_mut().flat_map(|group| &mut group.panels).flat_map(|panel| &mut panel.lines);
    for line in lines.filter(|line| line.role == Role::Driver) {
        line.colour = names.iter().position(|known| *known == line.contender).unwrap_or_else(|| {
            names.push(line.contender.clone());
            names.len() - 1
        });
    }
}

fn apart(before: &Conditions, now: &Conditions) -> String {
    let said =
        |[name, was, is]: [&str; 3]| format!("{name} was {} and is {} here", crate::plain(was), crate::plain(is));
    let parts: Vec<String> = differing(before, now).into_iter().map(said).collect();
    format!("These runs are not joined with the earlier ones, because {}.", parts.join("; "))
}

impl Group {
    fn new(by: By, conditions: Conditions, apart: Option<String>, members: &[Member]) -> Group {
        let runs = members.iter().map(|one| PastRun {
            name: one.name.to_owned(),
            started: one.run.started,
            notes: one.notes.to_vec(),
        });
        let mut panels = grouped(members.iter().enumerate().flat_map(|(at, one)| found(by, at, one)));
        let variants = Variants::of(members);
        panels.sort_by_key(|(key, _)| variants.place(key));
        let mut remarks = remarks(members);
        remarks.extend(variants.sentences());
        Group {
            conditions,
            apart,
            remarks,
            runs: runs.collect(),
            panels: panels.into_iter().map(|(key, found)| panel(by, &key, found, members, &variants)).collect(),
        }
    }
}

/// Scenario with hash, arrangement with cores, meter by rank, contender by version only.
#[derive(PartialEq)]
struct Key {
    scenario: Variant,
    arrangement: Variant,
    meter: usize,
    contender: String,
}

struct ContenderPoint {
    contender: String,
    role: Role,
    unit: Option<Unit>,
    point: HistoryPoint,
}

fn found(by: By, at: usize, one: &Member) -> Vec<(Key, ContenderPoint)> {
    let Member { run, cells, .. } = *one;
    let mut all = Vec::new();
    let analysis = Analysis::new(run, cells);
    for (row, log) in analysis.rows.iter().zip(&analysis.logs).filter(|(row, _)| !row.control) {
        let meter = METERS.iter().position(|(id, _)| *id == row.meter);
        let scenario = run.scenarios.iter().find(|one| one.name == row.scenario);
        let arrangement = run.plan.arrangements.iter().find(|one| one.id == row.arrangement);
        let (Some(meter), Some(scenario), Some(arrangement), Some(contender)) =
            (meter, scenario, arrangement, run.contender(&row.contender))
        else {
            continue;
        };
        // Beside the many times greater throughput of floor and noop, drivers could not be told apart.
        if row.meter == THROUGHPUT && contender.role != Role::Driver {
            continue;
        }
        let place = Place { scenario, arrangement };
        let Some(point) = point(at, row, contender, place, &analysis) else { continue };
        // A time without a verdict, on a noisy machine for example, shows no change either.
        let log = log.filter(|_| row.verdict.is_some_and(Verdict::holds));
        let ratio =
            log.map(|log| Level { log: log.value, deviation: (log.variance - log.of_reference).max(0.0).sqrt() });
        let point = HistoryPoint { ratio, ..point };
        let name = unversioned(contender);
        let key = Key {
            scenario: (scenario.name.clone(), scenario.hash.clone()),
            arrangement: cores_of(arrangement),
            meter,
            contender: if by == By::Version { name.clone() } else { String::new() },
        };
        all.push((key, ContenderPoint { contender: name, role: contender.role, unit: row.unit, point }));
    }
    all
}

/// The contender's figure, or why there is none; `None` if the run did not measure it.
fn point(run: usize, row: &SummaryRow, who: &Contender, place: Place, analysis: &Analysis) -> Option<HistoryPoint> {
    let pass = analysis.run.measure(&row.meter).map(|known| known.pass);
    let mine = analysis.cells_in(place).iter().filter(|cell| {
        cell.contender == row.contender
            && pass.is_none_or(|pass| cell.pass == pass)
            && cell.counts()
            && !analysis.rounds.leave_out(cell)
    });
    // The turns of a generation share its processes, so they come to one figure.
    let mut generations: BTreeMap<(u32, Option<usize>), Vec<f64>> = BTreeMap::new();
    for (nth, cell) in mine.enumerate() {
        let is_own = cell.round.is_none().then_some(nth);
        generations.entry((cell.block, is_own)).or_default().extend(cell.get(&row.meter));
    }
    let mut values: Vec<f64> = generations.values_mut().filter_map(|figures| median(figures)).collect();
    let gap = row
        .void
        .clone()
        .or_else(|| row.median.is_none().then(|| row.failed.clone().or_else(|| who.unavailable.clone())).flatten());
    if gap.is_none() && row.median.is_none() {
        return None;
    }
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(*v), most.max(*v)));
    Some(HistoryPoint {
        place: 0,
        run,
        version: version(who).to_owned(),
        median: median(&mut values).filter(|_| gap.is_none()),
        spread: (gap.is_none() && values.len() > 1).then_some([least, most]),
        blocks: values.len(),
        gap,
        contender: who.id.clone(),
        level: row.level,
        interval: row.interval,
        ratio: None,
    })
}

/// What the driver says, else what it was asked for by.
fn version(contender: &Contender) -> &str {
    let asked = contender.id.split_once('@').map_or("", |(_, rest)| rest.split('+').next().unwrap_or_default());
    if contender.version.is_empty() { asked } else { &contender.version }
}

/// The label without the version: a line goes on when the version changes.
fn unversioned(contender: &Contender) -> String {
    match version(contender) {
        "" => contender.label.clone(),
        version => contender.label.replacen(&format!("@{version}"), "", 1),
    }
}

/// Orders versions as semantic versioning does (clause 11); one that is none of its form comes first.
fn compare_versions(one: &str, other: &str) -> std::cmp::Ordering {
    let key = |version: &str| semver::Version::parse(version).ok();
    key(one).cmp(&key(other)).then_with(|| one.cmp(other))
}

/// The formats of a run's date, the shortest first.
const DATES: [&str; 3] = ["%Y-%m-%d", "%m-%d %H:%M", "%m-%d %H:%M:%S"];

fn panel(by: By, key: &Key, mut found: Vec<ContenderPoint>, members: &[Member], variants: &Variants) -> Panel {
    found.sort_by(|a, b| match by {
        By::Date => a.point.run.cmp(&b.point.run),
        By::Version => compare_versions(&a.point.version, &b.point.version).then(a.point.run.cmp(&b.point.run)),
    });
    let mut at: Vec<(usize, String)> = Vec::new();
    let dates: Vec<[String; DATES.len()]> =
        members.iter().map(|one| DATES.map(|format| one.run.started.strftime(format).to_string())).collect();
    let date = |run: usize| {
        let is_alone = |form: &usize| dates.iter().filter(|one| one[*form] == dates[run][*form]).count() == 1;
        dates[run][(0..DATES.len()).find(is_alone).unwrap_or(DATES.len() - 1)].clone()
    };
    let versions: Vec<(usize, String)> = found.iter().map(|one| (one.point.run, one.point.version.clone())).collect();
    let has_more = |of: &HistoryPoint| versions.iter().any(|(run, version)| *run != of.run && *version == of.version);
    for one in &mut found {
        let name = match by {
            By::Version if has_more(&one.point) => format!("{} ({})", one.point.version, date(one.point.run)),
            By::Version => one.point.version.clone(),
            By::Date => date(one.point.run),
        };
        let known = at.iter().position(|(run, place)| *run == one.point.run && *place == name);
        one.point.place = known.unwrap_or_else(|| {
            at.push((one.point.run, name));
            at.len() - 1
        });
    }
    let unit = found.iter().find_map(|one| one.unit);
    let mut lines: Vec<HistoryLine> = Vec::new();
    for ContenderPoint { contender, role, point, .. } in found {
        // Two versions in one run are two points of a line in the order of versions, and two lines in the order of dates.
        let has_point = |line: &HistoryLine| line.points.iter().any(|known| known.place == point.place);
        let is_twice = by == By::Date && lines.iter().any(|line| line.contender == contender && has_point(line));
        let contender = if is_twice { format!("{contender}@{}", point.version) } else { contender };
        match lines.iter_mut().find(|line| line.contender == contender) {
            Some(line) => line.points.push(point),
            None => {
                let (changes, points) = (Vec::new(), vec![point]);
                lines.push(HistoryLine { contender, role, colour: 0, points, changes, is_searched: false });
            }
        }
    }
    let (meter, words) = METERS[key.meter];
    if let (By::Version, [one]) = (by, members) {
        for line in &mut lines {
            let found = changes(&line.points, meter, one.run);
            line.is_searched = found.is_some();
            line.changes = found.unwrap_or_default();
        }
    }
    Panel {
        title: variants.title(key, words),
        scenario: key.scenario.0.clone(),
        scenario_hash: key.scenario.1.clone(),
        arrangement: key.arrangement.0.clone(),
        meter: meter.to_owned(),
        words: words.to_owned(),
        unit,
        places: at.into_iter().map(|(_, name)| name).collect(),
        lines,
    }
}

fn remarks(members: &[Member]) -> Vec<String> {
    type Aspect = (&'static str, fn(&Run) -> String);
    const ASPECTS: [Aspect; 2] = [
        ("The load generator", Run::load_generators),
        ("cqldyno's executable, and so the embedded cluster,", |run| run.executable.clone()),
    ];
    let differs = |(_, of): &&Aspect| members.windows(2).any(|two| of(two[0].run) != of(two[1].run));
    ASPECTS
        .iter()
        .filter(differs)
        .map(|(name, _)| format!("{name} is not the same in all of these runs: a step may come from cqldyno."))
        .collect()
}
