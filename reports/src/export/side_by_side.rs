//! Several runs beside each other, without a ratio between them.

use crate::document::{Field, Narrow, Sheet, TableRow};
use crate::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, THROUGHPUT};
use crate::quantity::{three_digits, whole};
use crate::text::{count, plain};
use crate::{Recorded, Summary, SummaryRow};

/// Why runs that stand beside each other have no ratios.
pub const NO_RATIOS: &str = "No ratio is taken across runs: what ran at another time, on another machine or against another target \
     differs by more than its driver, and nothing shows by how much. Run the contenders that you want to compare in one run, where \
     they take turns.";

/// Several runs, ready to be set.
pub(crate) struct SideBySide {
    /// A name and a sentence a run.
    pub runs: Vec<(String, String)>,
    /// Why there are no ratios, and what else holds for all.
    pub remarks: Vec<String>,
    /// A title and a sheet for each scenario in each arrangement, and for each meter that is shown.
    pub sheets: Vec<Sheet>,
}

/// What is shown of each run: a measure, what it is in words, and how it is written.
type Shown = (&'static str, &'static str, fn(f64) -> String);

const SHOWN: [Shown; 3] = [
    (CPU_PER_STATEMENT, "CPU us a statement", three_digits),
    (THROUGHPUT, "statements/s", whole),
    (SYSCALLS_PER_STATEMENT, "system calls a statement", three_digits),
];

impl SideBySide {
    /// Of runs by the names that they are to have.
    pub fn new(named: &[(String, &Recorded)]) -> SideBySide {
        let rows: Vec<Vec<SummaryRow>> = named.iter().map(|(_, one)| Summary::new(&one.run, &one.cells).rows).collect();
        let mut places: Vec<(&str, &str)> = Vec::new();
        let mut labels: Vec<&str> = Vec::new();
        for row in rows.iter().flatten().filter(|row| !row.control) {
            let place = (row.scenario.as_str(), row.arrangement.as_str());
            if !places.contains(&place) {
                places.push(place);
            }
            if !labels.contains(&row.label.as_str()) {
                labels.push(&row.label);
            }
        }
        let mut sheets = Vec::new();
        for (scenario, arrangement) in places {
            for (meter, words, show) in SHOWN {
                let of = |label: &str, rows: &'_ [SummaryRow]| {
                    let is = |row: &&SummaryRow| {
                        row.label == label
                            && row.scenario == scenario
                            && row.arrangement == arrangement
                            && row.meter == meter
                    };
                    field(rows.iter().find(is), show)
                };
                let row = |label: &&str| TableRow {
                    label: plain(label),
                    mark: String::new(),
                    trouble: String::new(),
                    fields: rows.iter().map(|rows| of(label, rows)).collect(),
                    is_empty: false,
                };
                let group: Vec<TableRow> = labels.iter().map(row).collect();
                let is_something = |row: &TableRow| row.fields.iter().any(|field| field.text != "-");
                if group.iter().any(is_something) {
                    sheets.push(Sheet {
                        title: format!("{} on {}: {words}, the median", plain(scenario), plain(arrangement)),
                        first: "contender".to_owned(),
                        columns: named.iter().map(|(name, _)| vec![plain(name)]).collect(),
                        groups: vec![group.into_iter().filter(is_something).collect()],
                        narrow: Narrow::Stack,
                    });
                }
            }
        }
        let mut remarks = vec![NO_RATIOS.to_owned()];
        remarks.extend(differences(named));
        SideBySide { runs: named.iter().map(|(name, one)| (name.clone(), about(one))).collect(), remarks, sheets }
    }
}

fn field(row: Option<&SummaryRow>, show: fn(f64) -> String) -> Field {
    let text = match row {
        Some(row) if row.void.is_some() => "void".to_owned(),
        Some(SummaryRow { median: Some(median), .. }) => show(*median),
        Some(SummaryRow { failed: Some(_), .. }) => "failed".to_owned(),
        _ => "-".to_owned(),
    };
    Field { is_bad: text == "void" || text == "failed", text }
}

/// When, where, against whom.
fn about(one: &Recorded) -> String {
    let Recorded { run, notes, .. } = one;
    let machine = &run.environment;
    let parts = [
        run.started.to_string(),
        format!("{}, {}, {}", plain(&machine.cpu), count(machine.cores.into(), "core"), plain(&machine.kernel)),
        format!("target {}", plain(&run.plan.target.id)),
        format!("{} of {} statements", count(run.plan.blocks.into(), "block"), whole(run.plan.count as f64)),
        format!("cqldyno {}", plain(&run.cqldyno)),
    ];
    let notes = notes.iter().map(|note| format!(". {}", note.trim_end_matches('.')));
    parts.join("; ") + &notes.collect::<String>()
}

/// In which ways the runs differ besides their dates.
fn differences(named: &[(String, &Recorded)]) -> Option<String> {
    type Part = (&'static str, fn(&Recorded) -> String);
    const PARTS: [Part; 8] = [
        ("processor", |one| one.run.environment.cpu.clone()),
        ("number of cores", |one| one.run.environment.cores.to_string()),
        ("kernel", |one| one.run.environment.kernel.clone()),
        ("target", |one| one.run.plan.target.about.clone()),
        ("count", |one| one.run.plan.count.to_string()),
        ("concurrency", |one| one.run.plan.concurrency.to_string()),
        ("settings", |one| one.run.plan.settings.clone()),
        ("load generator", |one| {
            let mut builds: Vec<&str> = one.run.contenders.iter().map(|row| row.build.as_str()).collect();
            builds.sort_unstable();
            builds.dedup();
            builds.join(" ")
        }),
    ];
    let differs = |(_, of): &&Part| named.windows(2).any(|two| of(two[0].1) != of(two[1].1));
    let names: Vec<&str> = PARTS.iter().filter(differs).map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| format!("These runs differ in: {}.", names.join(", ")))
}
