//! Runs of many dates: one line per contender.

mod variants;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::check::conditions;
use crate::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, THROUGHPUT};
use crate::quantity::whole;
use crate::summary::median;
use crate::text::count;
use crate::{Analysis, Contender, Recorded, Role, Run, SummaryRow, Unit};

use self::variants::{Variant, Variants, cores_of};

/// The meters that are shown, with their names; the primary one first.
const METERS: [(&str, &str); 6] = [
    (CPU_PER_STATEMENT, "CPU us per statement"),
    (THROUGHPUT, "statements/s"),
    (SYSCALLS_PER_STATEMENT, "system calls per statement"),
    ("allocations_per_statement", "allocations per statement"),
    ("processor_instructions_per_statement", "instructions per statement"),
    ("callgrind_instructions_per_statement", "instructions per statement, under callgrind"),
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
    /// The median over the blocks, or over the generations, each with the median of its rounds that count; absent in a gap.
    pub median: Option<f64>,
    /// The least and the greatest of them; absent for one.
    pub spread: Option<[f64; 2]>,
    /// How many blocks or generations it comes from.
    pub blocks: usize,
    /// Why there is no figure, as a full sentence.
    pub gap: Option<String>,
}

/// Names and values that are equal for a group.
type Conditions = Vec<(String, String)>;

impl History {
    /// Of named runs; `left_out` are those that could not be read.
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
        colour(&mut made);
        History { by, groups: made, left_out }
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

/// What must be equal for two runs to share a line: the conditions of a check against a baseline, and the count.
fn under(run: &Run) -> Conditions {
    let plan = &run.plan;
    let mut all: Conditions = conditions(run).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    all.push((
        "the count".to_owned(),
        format!("{}, {} before the window", count(plan.statements(), "statement"), whole(plan.warmup as f64)),
    ));
    all
}

fn apart(before: &[(String, String)], now: &[(String, String)]) -> String {
    let differs = before.iter().zip(now).filter(|(before, now)| before != now);
    let parts: Vec<String> = differs
        .map(|((name, was), (_, is))| format!("{name} was {} and is {} here", crate::plain(was), crate::plain(is)))
        .collect();
    format!("These runs are not joined with the earlier ones, because {}.", parts.join("; "))
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
        let variants = Variants::of(members);
        let mut panels: Vec<(Key, Vec<Found>)> = panels.into_iter().collect();
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    scenario: Variant<String>,
    arrangement: Variant<(Vec<u32>, Vec<u32>)>,
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
    let analysis = Analysis::new(run, cells);
    for row in analysis.rows().iter().filter(|row| !row.control) {
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
        let Some(point) = point(at, row, contender, &analysis) else { continue };
        let name = unversioned(contender);
        let key = Key {
            scenario: (scenario.name.clone(), scenario.hash.clone()),
            arrangement: cores_of(arrangement),
            meter,
            contender: if by == By::Version { name.clone() } else { String::new() },
        };
        panels.entry(key).or_default().push(Found { contender: name, role: contender.role, unit: row.unit, point });
    }
}

/// The contender's figure, or why there is none; `None` if the run did not measure it.
fn point(run: usize, row: &SummaryRow, contender: &Contender, analysis: &Analysis) -> Option<Point> {
    let pass = analysis.run().measure(&row.meter).map(|known| known.pass);
    let mine = analysis.cells().iter().filter(|cell| {
        cell.contender == row.contender
            && pass.is_none_or(|pass| cell.pass == pass)
            && cell.scenario == row.scenario
            && cell.arrangement == row.arrangement
            && cell.counts()
            && !analysis.rounds().leave_out(cell)
    });
    // The turns of a generation share its processes, so they come to one figure.
    let mut generations: BTreeMap<(u32, Option<usize>), Vec<f64>> = BTreeMap::new();
    for (nth, cell) in mine.enumerate() {
        let is_own = cell.round.is_none().then_some(nth);
        generations.entry((cell.block, is_own)).or_default().extend(cell.get(&row.meter));
    }
    let mut values: Vec<f64> = generations.values_mut().filter_map(|figures| median(figures)).collect();
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
        median: median(&mut values).filter(|_| gap.is_none()),
        spread: (gap.is_none() && values.len() > 1).then_some([least, most]),
        blocks: values.len(),
        gap,
    })
}

/// The label without the version: a line goes on when the version changes.
fn unversioned(contender: &Contender) -> String {
    match contender.version.as_str() {
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

fn panel(by: By, key: &Key, mut found: Vec<Found>, members: &[&(String, Recorded)], variants: &Variants) -> Panel {
    found.sort_by(|a, b| match by {
        By::Date => a.point.run.cmp(&b.point.run),
        By::Version => compare_versions(&a.point.version, &b.point.version).then(a.point.run.cmp(&b.point.run)),
    });
    let mut at: Vec<(usize, String)> = Vec::new();
    let dates: Vec<[String; DATES.len()]> =
        members.iter().map(|(_, one)| DATES.map(|format| one.run.started.strftime(format).to_string())).collect();
    let date = |run: usize| {
        let is_alone = |form: &usize| dates.iter().filter(|one| one[*form] == dates[run][*form]).count() == 1;
        dates[run][(0..DATES.len()).find(is_alone).unwrap_or(DATES.len() - 1)].clone()
    };
    let versions: Vec<(usize, String)> = found.iter().map(|one| (one.point.run, one.point.version.clone())).collect();
    let has_more = |of: &Point| versions.iter().any(|(run, version)| *run != of.run && *version == of.version);
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
    for Found { contender, role, point, .. } in found {
        // Two versions in one run are two points of a line in the order of versions, and two lines in the order of dates.
        let twice =
            |line: &&mut HistoryLine| by == By::Date && line.points.iter().any(|known| known.place == point.place);
        match lines.iter_mut().find(|line| line.contender == contender).filter(|line| !twice(line)) {
            Some(line) => line.points.push(point),
            None => {
                let taken = lines.iter().any(|line| line.contender == contender);
                let contender = if taken { format!("{contender}@{}", point.version) } else { contender };
                match lines.iter_mut().find(|line| line.contender == contender) {
                    Some(line) => line.points.push(point),
                    None => lines.push(HistoryLine { contender, role, colour: 0, points: vec![point] }),
                }
            }
        }
    }
    let (meter, words) = METERS[key.meter];
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

fn remarks(members: &[&(String, Recorded)]) -> Vec<String> {
    type Part = (&'static str, fn(&Run) -> String);
    const PARTS: [Part; 2] = [
        ("The load generator", Run::load_generators),
        ("cqldyno's executable, and so the embedded cluster,", |run| run.executable.clone()),
    ];
    let differs = |(_, of): &&Part| members.windows(2).any(|two| of(&two[0].1.run) != of(&two[1].1.run));
    PARTS
        .iter()
        .filter(differs)
        .map(|(name, _)| format!("{name} is not the same in all of these runs: a step may come from cqldyno."))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Pass, sample};

    #[test]
    fn versions_are_ordered_by_number_and_pre_releases_come_first() {
        let sorted = [
            "",
            "0.9.0",
            "0.10.0",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
        ];
        let mut found = sorted;
        found.reverse();
        found.sort_by(|a, b| compare_versions(a, b));
        assert_eq!(found, sorted);
    }

    fn at(day: u32, version: &str) -> (String, Recorded) {
        at_time(day, "03:04:05", version)
    }

    fn at_time(day: u32, time: &str, version: &str) -> (String, Recorded) {
        let (mut run, cells) = sample::blocks(3);
        run.started = format!("2026-02-{day:02}T{time}Z").parse().unwrap();
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
    fn the_rounds_of_a_generation_come_to_one_figure_and_those_that_do_not_count_to_none() {
        let (name, mut recorded) = at(1, "1.0.0");
        let Recorded { run, cells, .. } = &mut recorded;
        (run.plan.turns, run.plan.noise_share) = (Some(crate::TurnsInfo { count: 50_000, rounds: 3 }), Some(0.1));
        let turn = |cell: &Cell, round: u32| {
            // The last round of each generation was disturbed, and costs ten times as much.
            let others_s = if round == 3 { 0.5 } else { 0.0 };
            let loops = vec![crate::CoreLoop { core: 0, before: 1.0, after: 1.0 }];
            let cores = crate::RoundCores::Found { loops, wall_s: 1.0, others_s, steal_s: 0.0 };
            let cores = (cell.contender == "noop").then_some(cores);
            let mut turn = Cell { round: Some(round), more: round < 3, cores, ..cell.clone() };
            let cost = f64::from(cell.block) + [0.25, 0.75, 10.0][round as usize - 1];
            turn.measures.insert(CPU_PER_STATEMENT.to_owned(), crate::Measure::value(cost, Unit::Microseconds));
            turn
        };
        let (timing, others): (Vec<Cell>, Vec<Cell>) = cells.iter().cloned().partition(|one| one.pass == Pass::Timing);
        *cells = timing.iter().flat_map(|cell| [1, 2, 3].map(|round| turn(cell, round))).chain(others).collect();
        let history = History::new(By::Date, &[(name, recorded)], Vec::new());
        let point = &scylla(&history, 0).points[0];
        assert_eq!((point.median, point.spread, point.blocks), (Some(2.5), Some([1.5, 3.5]), 3));
    }

    #[test]
    fn a_column_says_as_much_of_its_date_as_tells_it_from_the_others() {
        let runs = [
            at(1, "1.0.0"),
            at_time(2, "03:04:05", "1.0.0"),
            at_time(2, "03:04:59", "1.0.0"),
            at_time(2, "03:05:00", "1.0.0"),
        ];
        let history = History::new(By::Date, &runs, Vec::new());
        let expected = ["2026-02-01", "02-02 03:04:05", "02-02 03:04:59", "02-02 03:05"];
        assert_eq!(history.groups[0].panels[0].places, expected);
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
        assert!(why.starts_with("These runs are not joined with the earlier ones, because the kernel was"), "{why}");
        assert!(why.contains("is Linux 9 here"), "{why}");
        assert!(history.groups[2].apart.as_ref().unwrap().contains("the count was"));
    }

    #[test]
    fn a_scenario_of_one_name_that_asks_for_something_else_stands_apart_with_the_reason() {
        let (mut one, mut two) = (at(1, "1.0.0"), at(2, "1.0.0"));
        let redefine = |recorded: &mut (String, Recorded), hash: &str| {
            recorded.1.run.scenarios[0].hash = hash.to_owned();
            for cell in recorded.1.cells.iter_mut().filter(|cell| cell.scenario == "writes") {
                cell.scenario_hash = hash.to_owned();
            }
        };
        redefine(&mut one, "aaaaaaaaaaaa");
        redefine(&mut two, "bbbbbbbbbbbb");
        let history = History::new(By::Date, &[one, two, at(3, "1.0.0")], Vec::new());
        assert_eq!(history.groups.len(), 1);
        let group = &history.groups[0];
        assert_eq!(
            group.remarks,
            [
                "writes is not the same scenario in all of these runs (hash 00ff in runs/3; hash bbbbbbbb in runs/2; hash \
              aaaaaaaa in runs/1), so only the figures of the same one are joined."
            ]
        );
        let mut titles: Vec<&str> = group.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert!(titles.contains(&"writes (bbbbbbbb) on multi:2: CPU us per statement"), "{titles:?}");
        assert!(titles.contains(&"reads on multi:2: CPU us per statement"), "{titles:?}");
        titles.sort_unstable();
        assert!(titles.windows(2).all(|two| two[0] != two[1]), "no heading stands twice: {titles:?}");
    }

    #[test]
    fn an_arrangement_of_one_name_on_other_cores_stands_apart_with_the_reason() {
        let mut two = at(2, "1.0.0");
        two.1.run.plan.arrangements[0].worker_cores = vec![1];
        let history = History::new(By::Date, &[at(1, "1.0.0"), two], Vec::new());
        let group = &history.groups[0];
        assert_eq!(
            group.remarks,
            [
                "multi:2 is not the same arrangement in all of these runs (worker on core 1, server on cores 0-1 in runs/2; worker on cores \
              0-1, server on cores 0-1 in runs/1), so only the figures of the same one are joined."
            ]
        );
        assert_eq!(
            group.panels[0].title,
            "writes on multi:2 (worker on core 1, server on cores 0-1): CPU us per statement"
        );
    }

    #[test]
    fn panels_stand_in_the_order_of_the_scenarios_in_the_newest_run() {
        let order = |history: &History| -> Vec<String> {
            let mut names: Vec<String> = history.groups[0].panels.iter().map(|panel| panel.scenario.clone()).collect();
            names.dedup();
            names
        };
        let (old, mut new) = (at(1, "1.0.0"), at(2, "1.0.0"));
        for by in [By::Date, By::Version] {
            assert_eq!(order(&History::new(by, &[old.clone(), new.clone()], Vec::new())), ["writes", "reads"]);
        }
        new.1.run.scenarios.reverse();
        for by in [By::Date, By::Version] {
            assert_eq!(order(&History::new(by, &[new.clone(), old.clone()], Vec::new())), ["reads", "writes"]);
        }
        new.1.run.scenarios.truncate(1);
        assert_eq!(
            order(&History::new(By::Date, &[old, new], Vec::new())),
            ["reads", "writes"],
            "what it lacks is behind"
        );
    }

    #[test]
    fn by_version_no_heading_stands_twice_and_every_driver_keeps_its_colour() {
        let history = History::new(By::Version, &[at(1, "1.0.0"), at(2, "1.0.0"), at(3, "1.1.0")], Vec::new());
        let panels = &history.groups[0].panels;
        let mut titles: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(
            titles[..2],
            ["scylla, writes on multi:2: CPU us per statement", "cdrs-tokio, writes on multi:2: CPU us per statement"]
        );
        titles.sort_unstable();
        assert!(titles.windows(2).all(|two| two[0] != two[1]), "{titles:?}");
        for panel in panels.iter().flat_map(|panel| &panel.lines) {
            let expected = ["scylla", "cdrs-tokio", "cassandra-cpp"].iter().position(|name| *name == panel.contender);
            assert_eq!(Some(panel.colour).filter(|_| panel.role == Role::Driver), expected, "{}", panel.contender);
        }
        let places = &panels[0].places;
        assert_eq!(
            *places,
            ["1.0.0 (2026-02-01)", "1.0.0 (2026-02-02)", "1.1.0"],
            "two columns of one name say their dates"
        );
    }

    #[test]
    fn what_was_asked_is_told_in_plain_english() {
        let history = History::new(By::Date, &[at(1, "1.0.0")], Vec::new());
        let asked = |name: &str| {
            let found = history.groups[0].conditions.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone()).unwrap()
        };
        assert_eq!(
            asked("what was asked"),
            "1,024 in flight, 1 connection, equal settings, LOCAL_ONE, pages of 5,000 rows, a time limit of 30,000 ms"
        );
        assert_eq!(asked("the count"), "500,000 statements, 10,000 before the window");
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
