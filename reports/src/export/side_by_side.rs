//! Several runs beside each other, without a ratio between them. Runs of one plan have a combined table before that.

use super::head::title;
use super::part::{Field, Part, Sheet, Short, TableRow};
use super::short::found;
use crate::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, THROUGHPUT};
use crate::quantity::{three_digits, whole};
use crate::text::{count, grouped, plain, unique};
use crate::{Analysis, Combined, Recorded, SummaryRow};

/// Why runs that stand beside each other have no ratios.
pub const NO_RATIOS: &str = "No ratio is taken across runs: time, machine and target differ as well, by an unknown amount. To compare \
     contenders, run them in one run, where they take turns.";

/// The runs as a terminal and Markdown show them: `with_each` says whether each run has its figures below the combined table.
pub(super) fn parts(named: &[(String, &Recorded)], with_each: bool) -> Vec<Part> {
    let SideBySide { runs, warnings, remarks, places, combined } = SideBySide::new(named);
    let runs = runs.iter().map(|(name, said)| format!("{}: {said}", plain(name))).collect();
    let warnings = warnings.into_iter().map(Part::Warning);
    let mut each = Vec::new();
    let mut said = Vec::new();
    for place in places {
        each.extend(place.sheets.into_iter().map(|(_, sheet)| Part::Sheet(sheet)));
        said.extend(place.remarks);
    }
    let Some(combined) = combined else {
        said.extend(remarks);
        return Part::list(runs).into_iter().chain(warnings).chain(each).chain(Part::list(said)).collect();
    };
    let mut parts = vec![Part::Text(about_all(&combined)), Part::Short(Short::combined(&combined))];
    parts.extend(warnings);
    parts.extend(found(&combined.analysis));
    parts.extend([remarks, said, runs].into_iter().filter_map(Part::list));
    parts.extend(with_each.then_some(Part::Folded("Each run by itself", each)));
    parts
}

pub(super) fn about_all(combined: &Combined) -> String {
    format!("{} of {}", count(combined.runs as u64, "run"), title(combined.analysis.run))
}

pub(crate) struct SideBySide<'a> {
    /// A name and a sentence per run.
    pub runs: Vec<(String, String)>,
    /// What makes one of the runs doubtful, each a full sentence after the run's name.
    pub warnings: Vec<String>,
    /// How the combined table is to be read, or why there is none; and what else holds for all.
    pub remarks: Vec<String>,
    /// One per scenario and arrangement that any of the runs has.
    pub places: Vec<Together>,
    /// All runs together, if they have one plan.
    pub combined: Option<Combined<'a>>,
}

pub(crate) struct Together {
    pub scenario: String,
    pub arrangement: String,
    pub about: String,
    /// One per meter that any of the runs has, with the meter in words.
    pub sheets: Vec<(&'static str, Sheet)>,
    pub remarks: Vec<String>,
}

/// What is shown of each run: a measure, its name, and how its figures are written.
type Shown = (&'static str, &'static str, fn(&SummaryRow) -> Option<String>);

const SHOWN: [Shown; 3] = [
    (CPU_PER_STATEMENT, "CPU us per statement, median", |row| row.median.map(three_digits)),
    (THROUGHPUT, "statements/s, median", |row| row.median.map(whole)),
    (SYSCALLS_PER_STATEMENT, "system calls per statement, median", |row| row.median.map(three_digits)),
];

/// What the combined table is made of; shown with it only.
const RATIO: Shown = (CPU_PER_STATEMENT, "CPU time over the reference's, within the run", |row| {
    let verdict = row.verdict_name().unwrap_or_default();
    Some(format!("{} {verdict}", row.ratio_within(3, "-")?).trim_end().to_owned())
});

impl<'a> SideBySide<'a> {
    pub fn new(named: &[(String, &'a Recorded)]) -> SideBySide<'a> {
        let of = |(name, one): &(String, &'a Recorded)| (name.clone(), Analysis::new(&one.run, &one.cells));
        let sides: Vec<NamedAnalysis> = named.iter().map(of).collect();
        let (combined, mut remarks) = match Combined::of(&sides) {
            Ok(combined) => {
                let remarks = combined.remarks.iter().chain(&combined.further).cloned().collect();
                (Some(combined), remarks)
            }
            Err(why) => (None, vec![NO_RATIOS.to_owned(), why]),
        };
        let rows = || sides.iter().flat_map(|(_, one)| &one.rows).filter(|row| !row.control);
        let places = unique(rows().map(|row| (row.scenario.as_str(), row.arrangement.as_str())));
        let labels = unique(rows().map(|row| row.label.as_str()));
        remarks.extend(differences(named));
        let warned = |(name, one): &NamedAnalysis| {
            let named = |warning: &String| format!("{}: {warning}", plain(name));
            one.warnings.iter().map(named).collect::<Vec<_>>()
        };
        let (warnings, shown): (Vec<String>, &[Shown]) = match &combined {
            Some(combined) => (combined.analysis.warnings.clone(), &[RATIO, SHOWN[0], SHOWN[1], SHOWN[2]]),
            None => (sides.iter().flat_map(warned).collect(), &SHOWN),
        };
        SideBySide {
            runs: named.iter().map(|(name, one)| (name.clone(), about(one))).collect(),
            warnings,
            remarks,
            places: places.into_iter().map(|place| Together::new(place, &labels, &sides, shown)).collect(),
            combined,
        }
    }
}

type NamedAnalysis<'a> = (String, Analysis<'a>);

fn row<'s>(
    (_, one): &'s NamedAnalysis,
    label: &str,
    (scenario, arrangement): (&str, &str),
    meter: &str,
) -> Option<&'s SummaryRow> {
    let is = |row: &&SummaryRow| {
        row.label == label && row.scenario == scenario && row.arrangement == arrangement && row.meter == meter
    };
    one.rows.iter().find(is)
}

impl Together {
    fn new(place: (&str, &str), labels: &[&str], sides: &[NamedAnalysis], shown: &[Shown]) -> Together {
        let (scenario, arrangement) = (plain(place.0), plain(place.1));
        let mut sheets = Vec::new();
        for (meter, words, show) in shown.iter().copied() {
            let of = |label: &&str| {
                TableRow::of(label, sides.iter().map(|side| field(row(side, label, place, meter), show)).collect())
            };
            let is_something = |row: &TableRow| row.fields.iter().any(|field| field.text != "-");
            let group: Vec<TableRow> = labels.iter().map(of).filter(is_something).collect();
            if group.is_empty() {
                continue;
            }
            let columns = sides.iter().map(|(name, _)| plain(name));
            let title = format!("{scenario} on {arrangement}: {words}");
            sheets.push((words, Sheet::of(title, "contender", columns, vec![group])));
        }
        let about = sides.iter().find_map(|(_, one)| one.run.scenarios.iter().find(|one| one.name == place.0));
        let about = about.map(|one| plain(&one.about)).unwrap_or_default();
        Together { about, sheets, remarks: troubles(place, labels, sides), scenario, arrangement }
    }
}

/// Why a contender has no figure, or its verdict is in doubt, once per run.
fn troubles(place: (&str, &str), labels: &[&str], sides: &[NamedAnalysis]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for side in sides {
        for label in labels {
            for row in SHOWN.iter().filter_map(|(meter, ..)| row(side, label, place, meter)) {
                let (what, why) = match row {
                    SummaryRow { void: Some(why), .. } => ("void", why),
                    SummaryRow { median: None, failed: Some(why), .. } => ("failed", why),
                    SummaryRow { doubtful: true, contradicted: Some(why), .. } => ("in doubt", why),
                    _ => continue,
                };
                let (label, run) = (plain(label), plain(&side.0));
                let on = [place.0, place.1].map(plain).join(" on ");
                said.push(format!("{label} in {run}, {on}, {what}: {}", plain(why)));
            }
        }
    }
    unique(said)
}

fn field(row: Option<&SummaryRow>, show: fn(&SummaryRow) -> Option<String>) -> Field {
    match (row, row.and_then(show)) {
        (Some(row), _) if row.void.is_some() => Field::bad("void"),
        (_, Some(text)) => Field::of(text),
        (Some(SummaryRow { failed: Some(_), .. }), None) => Field::bad("failed"),
        _ => Field::of("-"),
    }
}

fn about(one: &Recorded) -> String {
    let Recorded { run, notes, .. } = one;
    let machine = &run.environment;
    let parts = [
        run.started.to_string(),
        format!("{}, {}, {}", plain(&machine.cpu), count(machine.cores.into(), "core"), plain(&machine.kernel)),
        format!("target {}", plain(&run.plan.target.id)),
        run.size(),
        format!("cqldyno {}", plain(&run.cqldyno)),
    ];
    let notes = notes.iter().map(|note| format!(". {}", plain(note.trim_end_matches('.'))));
    parts.join("; ") + &notes.collect::<String>()
}

/// In what the runs differ besides their dates.
fn differences(named: &[(String, &Recorded)]) -> Option<String> {
    type Aspect = (&'static str, fn(&Recorded) -> String);
    const ASPECTS: [Aspect; 8] = [
        ("processor", |one| one.run.environment.cpu.clone()),
        ("number of cores", |one| one.run.environment.cores.to_string()),
        ("kernel", |one| one.run.environment.kernel.clone()),
        ("target", |one| one.run.plan.target.about.clone()),
        ("count", |one| one.run.plan.statements().to_string()),
        ("concurrency", |one| one.run.plan.concurrency.to_string()),
        ("settings", |one| one.run.plan.settings.clone()),
        ("load generator", |one| one.run.load_generators()),
    ];
    let differs = |(_, of): &&Aspect| named.windows(2).any(|two| of(two[0].1) != of(two[1].1));
    let mut names: Vec<String> = ASPECTS.iter().filter(differs).map(|(name, _)| (*name).to_owned()).collect();
    names.extend(redefined(named).into_iter().map(|name| format!("what {} asks", plain(name))));
    (!names.is_empty()).then(|| format!("These runs differ in: {}.", names.join(", ")))
}

fn redefined<'a>(named: &'a [(String, &Recorded)]) -> Vec<&'a str> {
    let all = named.iter().flat_map(|(_, one)| &one.run.scenarios).map(|one| (one.name.as_str(), one.hash.as_str()));
    let differ = |(name, hashes): (&'a str, Vec<&str>)| (unique(hashes).len() > 1).then_some(name);
    grouped(all).into_iter().filter_map(differ).collect()
}

#[cfg(test)]
mod tests;
