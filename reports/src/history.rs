//! Runs of many dates, as lines of what each contender cost.

mod version;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::attempts::Attempts;
use crate::check::conditions;
use crate::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, THROUGHPUT};
use crate::quantity::whole;
use crate::{Cell, Contender, Recorded, Role, Run, Summary, SummaryRow, Unit};

use self::version::compare_versions;

/// What is shown where a run has it, with its name; the primary one first.
const METERS: [(&str, &str); 6] = [
    (CPU_PER_STATEMENT, "CPU us a statement"),
    (THROUGHPUT, "statements/s"),
    (SYSCALLS_PER_STATEMENT, "system calls a statement"),
    ("allocations_per_statement", "allocations a statement"),
    ("processor_instructions_per_statement", "instructions a statement"),
    ("callgrind_instructions_per_statement", "instructions a statement, under callgrind"),
];

/// What the points of a line stand in order of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// When the run was made.
    Date,
    /// The driver's version, and when the run was made where two have the same.
    Version,
}

/// Runs in lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// What the points are in order of.
    pub by: By,
    /// Runs that were made under the same conditions each; lines never lead from one to another.
    pub groups: Vec<Group>,
    /// Runs that are left out, with the sentence why.
    pub left_out: Vec<LeftOut>,
}

/// A run that is not shown.
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
    /// What is equal for all of them, by name.
    pub conditions: Vec<(String, String)>,
    /// How it differs from the group before, as a full sentence; absent for the first.
    pub apart: Option<String>,
    /// What differs within, each a full sentence.
    pub remarks: Vec<String>,
    /// The runs, by date.
    pub runs: Vec<PastRun>,
    /// One a scenario, arrangement and meter; by version also one a contender.
    pub panels: Vec<Panel>,
}

/// A run of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PastRun {
    /// Where it is.
    pub name: String,
    /// When it was made.
    pub started: jiff::Timestamp,
    /// What a reader must know of how it was kept.
    pub notes: Vec<String>,
}

/// Lines that stand in one chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// The scenario's name.
    pub scenario: String,
    /// The arrangement's id.
    pub arrangement: String,
    /// The measure.
    pub meter: String,
    /// The measure in words.
    pub words: String,
    /// The unit of its figures.
    pub unit: Option<Unit>,
    /// What stands below the points, in order.
    pub places: Vec<String>,
    /// One a contender.
    pub lines: Vec<HistoryLine>,
}

/// A contender over its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryLine {
    /// The label without the version.
    pub contender: String,
    /// What it is in a comparison.
    pub role: Role,
    /// In the order of the panel's places; a run that did not ask the contender has none.
    pub points: Vec<Point>,
}

/// A contender in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The index into the panel's places.
    pub place: usize,
    /// The index into the group's runs.
    pub run: usize,
    /// The driver's version; empty when it did not say.
    pub version: String,
    /// The median over the blocks; absent where there is a gap.
    pub median: Option<f64>,
    /// The least and the greatest of the blocks; absent where there is one block.
    pub spread: Option<[f64; 2]>,
    /// How many blocks it is of.
    pub blocks: usize,
    /// Why there is no figure, as a full sentence.
    pub gap: Option<String>,
}

/// What was equal, by name.
type Conditions = Vec<(String, String)>;

impl History {
    /// Of runs by the names that they are to have, with those that could not be read.
    pub fn new(by: By, runs: &[(String, Recorded)], left_out: Vec<LeftOut>) -> History {
        let mut runs: Vec<&(String, Recorded)> = runs.iter().collect();
        runs.sort_by(|(a, one), (b, other)| (one.run.started, a).cmp(&(other.run.started, b)));
        let mut groups: Vec<(Conditions, Vec<&(String, Recorded)>)> = Vec::new();
        for run in runs {
            let found = under(&run.1.run);
            match groups.iter_mut().find(|(known, _)| *known == found) {
                Some((_, members)) => members.push(run),
                None => groups.push((found, vec![run])),
            }
        }
        let mut before: Option<Conditions> = None;
        let mut made = Vec::new();
        for (conditions, members) in groups {
            let apart = before.as_ref().map(|before| apart(before, &conditions));
            before = Some(conditions.clone());
            made.push(Group::new(by, conditions, apart, &members));
        }
        History { by, groups: made, left_out }
    }
}

/// What must be equal for two runs to stand in one line: what a check against a baseline asks for, and how much was asked.
fn under(run: &Run) -> Conditions {
    let plan = &run.plan;
    let mut all: Conditions = conditions(run).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    all.push((
        "the count".to_owned(),
        format!("{} statements, {} before the window", whole(plan.count as f64), plan.warmup),
    ));
    all
}

fn apart(before: &[(String, String)], now: &[(String, String)]) -> String {
    let differs = before.iter().zip(now).filter(|(before, now)| before != now);
    let parts: Vec<String> = differs
        .map(|((name, was), (_, is))| format!("{name} was {} and is {} here", crate::plain(was), crate::plain(is)))
        .collect();
    format!("These runs are not joined with the ones before, because {}.", parts.join("; "))
}

impl Group {
    fn new(by: By, conditions: Vec<(String, String)>, apart: Option<String>, members: &[&(String, Recorded)]) -> Group {
        let runs = members.iter().map(|(name, one)| PastRun {
            name: name.clone(),
            started: one.run.started,
            notes: one.notes.clone(),
        });
        let mut panels: BTreeMap<Key, Vec<Found>> = BTreeMap::new();
        for (at, (_, one)) in members.iter().enumerate() {
            collect(by, at, one, &mut panels);
        }
        Group {
            conditions,
            apart,
            remarks: remarks(members),
            runs: runs.collect(),
            panels: panels.into_iter().map(|(key, found)| panel(by, key, found, members)).collect(),
        }
    }
}

/// Scenario with hash, arrangement with cores, meter by rank, contender by version only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    scenario: (String, String),
    arrangement: (String, Vec<u32>, Vec<u32>),
    meter: usize,
    contender: String,
}

struct Found {
    contender: String,
    role: Role,
    unit: Option<Unit>,
    point: Point,
}

fn collect(by: By, at: usize, one: &Recorded, panels: &mut BTreeMap<Key, Vec<Found>>) {
    let Recorded { run, cells, .. } = one;
    let attempts = Attempts::of(cells);
    let counted: Vec<&Cell> = cells.iter().filter(|cell| attempts.counts(cell)).collect();
    for row in Summary::new(run, cells).rows.iter().filter(|row| !row.control) {
        let meter = METERS.iter().position(|(id, _)| *id == row.meter);
        let scenario = run.scenarios.iter().find(|one| one.name == row.scenario);
        let arrangement = run.plan.arrangements.iter().find(|one| one.id == row.arrangement);
        let (Some(meter), Some(scenario), Some(arrangement), Some(contender)) =
            (meter, scenario, arrangement, run.contender(&row.contender))
        else {
            continue;
        };
        // Beside floor and noop, which have many times their throughput, drivers could not be told apart.
        if row.meter == THROUGHPUT && contender.role != Role::Driver {
            continue;
        }
        let Some(point) = point(at, row, contender, &counted) else { continue };
        let name = unversioned(contender);
        let key = Key {
            scenario: (scenario.name.clone(), scenario.hash.clone()),
            arrangement: (arrangement.id.clone(), arrangement.worker_cores.clone(), arrangement.server_cores.clone()),
            meter,
            contender: if by == By::Version { name.clone() } else { String::new() },
        };
        panels.entry(key).or_default().push(Found { contender: name, role: contender.role, unit: row.unit, point });
    }
}

/// The contender's figure, or why there is none; nothing where the run did not measure it or did not ask.
fn point(run: usize, row: &SummaryRow, contender: &Contender, cells: &[&Cell]) -> Option<Point> {
    let mine = cells.iter().filter(|cell| {
        cell.contender == row.contender
            && cell.scenario == row.scenario
            && cell.arrangement == row.arrangement
            && cell.counts()
    });
    let values: Vec<f64> = mine.filter_map(|cell| cell.get(&row.meter)).collect();
    let gap = row.void.clone().or_else(|| {
        row.median.is_none().then(|| row.failed.clone().or_else(|| contender.unavailable.clone())).flatten()
    });
    if gap.is_none() && row.median.is_none() {
        return None;
    }
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(*v), most.max(*v)));
    Some(Point {
        place: 0,
        run,
        version: contender.version.clone(),
        median: row.median.filter(|_| gap.is_none()),
        spread: (gap.is_none() && row.n > 1 && least <= most).then_some([least, most]),
        blocks: row.n,
        gap,
    })
}

/// The label without the version, by which a line goes on when the driver has another one.
fn unversioned(contender: &Contender) -> String {
    match contender.version.as_str() {
        "" => contender.label.clone(),
        version => contender.label.replacen(&format!("@{version}"), "", 1),
    }
}

fn panel(by: By, key: Key, mut found: Vec<Found>, members: &[&(String, Recorded)]) -> Panel {
    let started = |run: usize| members[run].1.run.started;
    found.sort_by(|a, b| match by {
        By::Date => a.point.run.cmp(&b.point.run),
        By::Version => compare_versions(&a.point.version, &b.point.version).then(a.point.run.cmp(&b.point.run)),
    });
    let mut at: Vec<(usize, String)> = Vec::new();
    let days: Vec<String> = members.iter().map(|(_, one)| one.run.started.strftime("%Y-%m-%d").to_string()).collect();
    for one in &mut found {
        let name = match by {
            By::Version => one.point.version.clone(),
            By::Date if days.iter().filter(|day| **day == days[one.point.run]).count() > 1 => {
                started(one.point.run).strftime("%m-%d %H:%M").to_string()
            }
            By::Date => days[one.point.run].clone(),
        };
        let known = at.iter().position(|(run, place)| *run == one.point.run && *place == name);
        one.point.place = known.unwrap_or_else(|| {
            at.push((one.point.run, name));
            at.len() - 1
        });
    }
    let unit = found.iter().find_map(|one| one.unit);
    let mut lines: Vec<HistoryLine> = Vec::new();
    for Found { contender, role, point, .. } in found {
        // Two contenders of a run that differ in nothing but their version are two points of one line by version, and two lines by date.
        let twice =
            |line: &&mut HistoryLine| by == By::Date && line.points.iter().any(|known| known.place == point.place);
        match lines.iter_mut().find(|line| line.contender == contender).filter(|line| !twice(line)) {
            Some(line) => line.points.push(point),
            None => {
                let taken = lines.iter().any(|line| line.contender == contender);
                let contender = if taken { format!("{contender}@{}", point.version) } else { contender };
                match lines.iter_mut().find(|line| line.contender == contender) {
                    Some(line) => line.points.push(point),
                    None => lines.push(HistoryLine { contender, role, points: vec![point] }),
                }
            }
        }
    }
    let (meter, words) = METERS[key.meter];
    Panel {
        scenario: key.scenario.0,
        arrangement: key.arrangement.0,
        meter: meter.to_owned(),
        words: words.to_owned(),
        unit,
        places: at.into_iter().map(|(_, name)| name).collect(),
        lines,
    }
}

fn remarks(members: &[&(String, Recorded)]) -> Vec<String> {
    type Part = (&'static str, fn(&Run) -> String);
    const PARTS: [Part; 2] = [
        ("The load generator", |run| {
            let mut builds: Vec<&str> = run.contenders.iter().map(|one| one.build.as_str()).collect();
            builds.sort_unstable();
            builds.dedup();
            builds.join(" ")
        }),
        ("cqldyno's executable, and so the embedded server,", |run| run.executable.clone()),
    ];
    let differs = |(_, of): &&Part| members.windows(2).any(|two| of(&two[0].1.run) != of(&two[1].1.run));
    PARTS
        .iter()
        .filter(differs)
        .map(|(name, _)| {
            format!("{name} is not the same in all of these runs: a step may be ours and not the driver's.")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn at(day: u32, version: &str) -> (String, Recorded) {
        let (mut run, cells) = sample::blocks(3);
        run.started = format!("2026-02-{day:02}T03:04:05Z").parse().unwrap();
        for one in run.contenders.iter_mut().filter(|one| one.label.starts_with("scylla@")) {
            one.label = one.label.replace(&one.version, version);
            one.version = version.to_owned();
        }
        (format!("runs/{day}"), Recorded { run, cells, notes: Vec::new() })
    }

    fn scylla(history: &History, group: usize) -> &HistoryLine {
        let is = |panel: &&Panel| {
            (panel.scenario.as_str(), panel.meter.as_str()) == ("writes", CPU_PER_STATEMENT)
                && panel.lines.iter().any(|line| line.contender == "scylla")
        };
        let panel = history.groups[group].panels.iter().find(is).unwrap();
        panel.lines.iter().find(|line| line.contender == "scylla").unwrap()
    }

    fn versions(line: &HistoryLine) -> Vec<&str> {
        line.points.iter().map(|point| point.version.as_str()).collect()
    }

    #[test]
    fn a_line_goes_by_date_or_by_the_order_of_versions() {
        let runs = [at(3, "0.9.0"), at(1, "0.10.0"), at(2, "0.10.0-rc.1")];
        let history = History::new(By::Date, &runs, Vec::new());
        assert_eq!(history.groups.len(), 1);
        let line = scylla(&history, 0);
        assert_eq!(versions(line), ["0.10.0", "0.10.0-rc.1", "0.9.0"]);
        let point = &line.points[0];
        let [low, high] = point.spread.unwrap();
        let median = point.median.unwrap();
        assert!(low <= median && median <= high && point.blocks == 3, "{point:?}");
        let history = History::new(By::Version, &runs, Vec::new());
        assert_eq!(versions(scylla(&history, 0)), ["0.9.0", "0.10.0-rc.1", "0.10.0"]);
    }

    #[test]
    fn runs_of_other_conditions_are_never_joined_and_the_sentence_says_why() {
        let mut other = at(2, "1.0.0");
        other.1.run.environment.kernel = "Linux 9".to_owned();
        let mut fewer = at(3, "1.0.0");
        fewer.1.run.plan.count = 7;
        let history = History::new(By::Date, &[at(1, "1.0.0"), other, fewer, at(4, "1.0.1")], Vec::new());
        let sizes: Vec<usize> = history.groups.iter().map(|group| group.runs.len()).collect();
        assert_eq!(sizes, [2, 1, 1]);
        let why = history.groups[1].apart.as_ref().unwrap();
        assert!(why.starts_with("These runs are not joined with the ones before, because the kernel was"), "{why}");
        assert!(why.contains("is Linux 9 here"), "{why}");
        assert!(history.groups[2].apart.as_ref().unwrap().contains("the count was"));
    }

    #[test]
    fn a_void_cell_is_a_gap_that_says_so() {
        let mut second = at(2, "1.0.0");
        for cell in second.1.cells.iter_mut().filter(|cell| cell.contender == "scylla") {
            cell.void = Some("A row was wrong.".to_owned());
        }
        let history = History::new(By::Date, &[at(1, "1.0.0"), second, at(3, "1.0.0")], Vec::new());
        let line = scylla(&history, 0);
        let shown: Vec<bool> = line.points.iter().map(|point| point.median.is_some()).collect();
        assert_eq!(shown, [true, false, true]);
        assert_eq!(line.points[1].gap.as_deref(), Some("A row was wrong."));
    }

    #[test]
    fn another_load_generator_is_said() {
        let mut second = at(2, "1.0.0");
        second.1.run.contenders[0].build = "another".to_owned();
        let history = History::new(By::Date, &[at(1, "1.0.0"), second], Vec::new());
        assert!(history.groups[0].remarks[0].starts_with("The load generator is not the same"), "{history:?}");
    }
}
