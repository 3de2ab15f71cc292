//! Durable writes: several servers under one load, one after the other, as one result; and what the disk itself does.
//!
//! Servers are not compared: no row has a ratio to another.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cqldyno_bench::Target;
use cqldyno_reports::measure::{STATEMENTS, THROUGHPUT};
use cqldyno_reports::{
    Analysis, Axis, Cell, Contender, Field, Latency, Measure, Notes, Part, Pass, Recorded, Role, Run, Sheet, Sweep,
    Swept, SweptFigures, TableRow, TargetInfo, Unit, list, plain, rate, three_digits, whole,
};

/// The contender that is no server.
pub const DISK: &str = "disk, one write and fdatasync at a time";

/// No contender's id: without any reference the first driver would be one.
const NO_REFERENCE: &str = "none";

/// Bytes of a record on the disk: some more than a row of the scenario takes in a log.
const RECORD: usize = 128;
/// Bytes of the file, which is written and synced before: both servers write to files that are there.
const FILE: usize = 8 << 20;
/// How long the disk is measured before each server.
const LASTS: Duration = Duration::from_secs(3);
const NONE: &str = "-";

/// One server under the load.
pub struct Side {
    /// As it was asked for.
    pub name: String,
    /// Whether an insert is on the disk before it is answered.
    pub is_durable: bool,
    /// What was measured, or why nothing was, as a full sentence.
    pub found: Result<Recorded, String>,
}

/// Whether an insert is on the disk before the target answers it, as far as it is known.
pub fn is_durable(target: &Target) -> bool {
    match target {
        Target::Embedded => false,
        Target::Cassandra(order) => order.commitlog.is_durable(),
        Target::Postgres(order) => order.synchronous_commit,
        Target::Addresses { .. } => false,
    }
}

/// Latencies of the disk in microseconds, in order, and the time that they took together.
pub type Disk = (Vec<f64>, Duration);

/// Measures the disk that has this folder.
pub fn disk(folder: &Path) -> Result<Disk> {
    let path = folder.join("disk");
    let measured = || -> std::io::Result<Disk> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        file.write_all_at(&vec![0; FILE], 0)?;
        file.sync_all()?;
        let (began, mut latencies, mut at) = (Instant::now(), Vec::new(), 0);
        while began.elapsed() < LASTS {
            let before = Instant::now();
            file.write_all_at(&[b'x'; RECORD], at as u64)?;
            file.sync_data()?;
            latencies.push(before.elapsed().as_secs_f64() * 1e6);
            at = (at + RECORD) % FILE;
        }
        let lasted = began.elapsed();
        latencies.sort_by(f64::total_cmp);
        Ok((latencies, lasted))
    };
    let found = measured().with_context(|| format!("the disk cannot be measured with the file {}", path.display()));
    let _ = std::fs::remove_file(&path);
    found
}

/// All sides as one run without a reference, with what the disk did before each of them; `None` if no side has figures.
pub fn together(sides: &[Side], disks: &[Disk]) -> Option<(Run, Vec<Cell>)> {
    let found = sides.iter().filter_map(|side| side.found.as_ref().ok());
    let mut run = found.clone().next()?.run.clone();
    let (mut contenders, mut cells) = (Vec::new(), Vec::new());
    for scenario in &mut run.scenarios {
        // Each side has its own number of statements.
        (scenario.asked, scenario.definition, scenario.apart) = (None, None, None);
        scenario.point.iter_mut().for_each(|point| point.waits.clear());
    }
    for side in sides {
        let Ok(recorded) = &side.found else {
            let unavailable = side.found.as_ref().err().cloned();
            contenders.push(Contender { unavailable, ..row(&side.name) });
            continue;
        };
        for one in &recorded.run.contenders {
            let label = format!("{} / {}", side.name, one.label);
            contenders.push(Contender { id: side.name.clone(), label: label.clone(), ..one.clone() });
            for cell in recorded.cells.iter().filter(|cell| cell.contender == one.id) {
                let scenario_hash = hash(&run, &cell.scenario).unwrap_or(&cell.scenario_hash).to_owned();
                let own = Cell { contender: side.name.clone(), label: label.clone(), scenario_hash, ..cell.clone() };
                cells.push(own);
            }
        }
    }
    let last = found.clone().next_back()?;
    (run.ended, run.interrupted) = (last.run.ended, found.clone().any(|one| one.run.interrupted));
    run.environment.more.extend(found.clone().flat_map(|one| one.run.environment.more.clone()));
    let names = sides.iter().filter(|side| side.found.is_ok()).map(|side| side.name.clone());
    let id = format!("{} servers, one after the other", found.clone().count());
    let about = format!("{id}: {}", list(&names.collect::<Vec<_>>()));
    run.plan.target = TargetInfo { id, about, embedded: false };
    contenders.push(row(DISK));
    let arrangement = run.plan.arrangements.first().map(|one| one.id.clone()).unwrap_or_default();
    // One line over all numbers in flight: the disk has one thread.
    let numbers = run.scenarios.iter();
    let each = numbers.flat_map(|scenario| disks.iter().zip(1..).map(move |(disk, block)| (scenario, disk, block)));
    for (scenario, (latencies, lasted), block) in each {
        cells.push(Cell {
            block,
            contender: DISK.to_owned(),
            label: DISK.to_owned(),
            scenario: scenario.name.clone(),
            scenario_hash: scenario.hash.clone(),
            arrangement: arrangement.clone(),
            ..of_disk(latencies, *lasted)
        });
    }
    (run.plan.reference, run.checksum, run.contenders) = (Some(NO_REFERENCE.to_owned()), None, contenders);
    Some((run, cells))
}

fn hash<'a>(run: &'a Run, scenario: &str) -> Option<&'a str> {
    run.scenarios.iter().find(|one| one.name == scenario).map(|one| one.hash.as_str())
}

/// A contender that no worker introduced.
fn row(name: &str) -> Contender {
    Contender {
        id: name.to_owned(),
        label: name.to_owned(),
        role: Role::Driver,
        control: false,
        version: String::new(),
        libraries: Vec::new(),
        settings: Vec::new(),
        caveats: Vec::new(),
        build: String::new(),
        executable: String::new(),
        compiler: String::new(),
        in_flight: None,
        layouts: Vec::new(),
        built: None,
        unavailable: None,
    }
}

fn of_disk(latencies: &[f64], lasted: Duration) -> Cell {
    let at = |share: f64| {
        let nth = ((latencies.len() as f64 * share).ceil() as usize).clamp(1, latencies.len().max(1));
        latencies.get(nth - 1).copied().unwrap_or_default()
    };
    let number = latencies.len() as f64;
    let mut cell = Cell { attempt: 1, round: Some(1), pass: Pass::Timing, ..Cell::default() };
    cell.measures.insert(THROUGHPUT.to_owned(), Measure::value(number / lasted.as_secs_f64(), Unit::PerSecond));
    cell.measures.insert(STATEMENTS.to_owned(), Measure::value(number, Unit::Count));
    cell.latency =
        Some(Latency { p50_us: at(0.5), p90_us: at(0.9), p99_us: at(0.99), p999_us: at(0.999), max_us: at(1.0) });
    cell
}

/// The tables: rows per second and response times, by server and number in flight.
pub fn tables(analysis: &Analysis, sides: &[Side]) -> Vec<Part> {
    let sweeps = Sweep::all(analysis);
    let in_flight: Vec<&Sweep> = sweeps.iter().filter(|one| one.axis == Axis::InFlight).collect();
    let mut notes = Notes::default();
    let mut parts = Vec::new();
    for sweep in in_flight {
        let numbers: Vec<u64> =
            sweep.curves.first().map_or(Vec::new(), |one| one.points.iter().map(|it| it.at).collect());
        let mut table = |title: &str, figure: &dyn Fn(&SweptFigures) -> String| {
            let mut row = |curve: &Swept| {
                let field = |at: &u64, notes: &mut Notes| {
                    let point = curve.points.iter().find(|point| point.at == *at);
                    match point.map(|point| &point.figures) {
                        Some(Ok(all)) => Field::of(figure(all)),
                        Some(Err(why)) => Field::missing(notes.number(why)),
                        None => Field::of(NONE.to_owned()),
                    }
                };
                TableRow::of(&plain(&curve.contender.id), numbers.iter().map(|at| field(at, &mut notes)).collect())
            };
            let mut rows = |is_wanted: &dyn Fn(&str) -> bool| -> Vec<TableRow> {
                sweep.curves.iter().filter(|curve| is_wanted(&curve.contender.id)).map(&mut row).collect()
            };
            let of =
                |durable: bool| move |id: &str| sides.iter().any(|one| one.name == id && one.is_durable == durable);
            let groups = vec![rows(&of(true)), rows(&of(false)), rows(&|id| id == DISK)];
            Sheet::of(title, "in flight", numbers.iter().map(|at| whole(*at as f64)), groups)
        };
        let ms = |us: Option<[f64; 2]>, at: usize| us.map_or(NONE.to_owned(), |both| three_digits(both[at] / 1e3));
        parts.push(Part::Sheet(table("Rows per second", &|all| rate(all.rate))));
        parts.push(Part::Sheet(table("Response time, median, ms", &|all| ms(all.latency_us, 0))));
        parts.push(Part::Sheet(table("Response time, 99th percentile, ms", &|all| ms(all.latency_us, 1))));
    }
    parts.extend((!notes.0.is_empty()).then_some(Part::Notes(notes.0)));
    let disks = analysis.cells.iter().filter(|cell| cell.contender == DISK).filter_map(|cell| cell.get(THROUGHPUT));
    let [low, high] = disks.fold([f64::INFINITY, 0.0_f64], |[low, high], one| [low.min(one), high.max(one)]);
    parts.extend(told(sides, [low, high]).into_iter().map(Part::Text));
    parts
}

/// What each row is, and how the table is read.
fn told(sides: &[Side], [low, high]: [f64; 2]) -> Vec<String> {
    let names = |durable: bool| {
        let named = sides.iter().filter(|side| side.is_durable == durable && side.found.is_ok());
        list(&named.map(|side| plain(&side.name)).collect::<Vec<_>>())
    };
    let [durable, others] = [true, false].map(names);
    let of = |side: &Side| match &side.found {
        Ok(one) => {
            let drivers: Vec<String> = one.run.contenders.iter().map(|one| plain(&one.label)).collect();
            format!("{}: {}; {}.", plain(&side.name), plain(&one.run.plan.target.about), list(&drivers))
        }
        Err(why) => format!("{} is missing: {}", plain(&side.name), plain(why)),
    };
    let mut said: Vec<String> = sides.iter().map(of).collect();
    said.extend((!durable.is_empty()).then(|| format!("On the disk before the answer: {durable}.")));
    said.extend((!others.is_empty()).then(|| format!("Answered before it is on the disk: {others}.")));
    said.push(format!(
        "The disk row is {RECORD} bytes written in a file that is there, and one fdatasync after each, in one thread, on the file system of \
         the servers' data, right before each server: {} to {} per second. It is no limit: one fdatasync can make the rows of many statements durable.",
        rate(low),
        rate(high)
    ));
    said.push("Servers are not compared: there is no ratio and no verdict across rows.".to_owned());
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn sides_become_one_run_without_a_reference_in_which_each_row_is_a_server() {
        let (run, cells) = sample::run();
        let recorded = || Ok(Recorded { run: run.clone(), cells: cells.clone(), notes: Vec::new() });
        let absent = Err("No PostgreSQL.".to_owned());
        let side = |name: &str, found| Side { name: name.to_owned(), is_durable: true, found };
        let sides = [side("a", recorded()), side("b", recorded()), side("c", absent)];
        let disk = || (vec![100.0, 200.0, 300.0, 400.0], Duration::from_secs(2));
        let disks = [disk(), disk()];
        let (all, found) = together(&sides, &disks).unwrap();
        assert!(Analysis::new(&all, &found).reference.is_none());
        assert_eq!(found.len(), 2 * cells.len() + 2 * run.scenarios.len());
        assert!(all.contenders.iter().any(|one| one.unavailable.as_deref() == Some("No PostgreSQL.")));
        let of_disk = found.iter().find(|cell| cell.contender == DISK).unwrap();
        assert_eq!(of_disk.get(THROUGHPUT), Some(2.0));
        let latency = of_disk.latency.as_ref().unwrap();
        assert_eq!((latency.p50_us, latency.p99_us), (200.0, 400.0));
        assert!(together(&sides[2..], &disks).is_none());
        let said = told(&sides, [1.0, 2.0]).join(" ");
        assert!(said.contains("c is missing: No PostgreSQL.") && said.contains("no verdict across rows"), "{said}");
    }

    #[test]
    fn the_disk_is_measured_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!disk(folder.path()).unwrap().0.is_empty());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let error = disk(&folder.path().join("nowhere")).unwrap_err().to_string();
        assert!(error.starts_with("the disk cannot be measured with the file"), "{error}");
    }
}
