//! Durable writes: several servers under one load, one after the other, as one result; and what the disk itself does.
//!
//! Servers are not compared: no row has a ratio to another.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cqldyno_bench::{Cancel, Target};
use cqldyno_reports::measure::{STATEMENTS, THROUGHPUT, VERIFIED};
use cqldyno_reports::{
    Analysis, Axis, Cell, Contender, Field, Latency, Measure, Notes, Part, Pass, Recorded, Run, Sheet, Sweep, Swept,
    SweptFigures, TableRow, TargetInfo, Unit, list, plain, rate, three_digits, whole,
};

use crate::outcome::usage;

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
/// When the answer comes.
const KINDS: [(Option<bool>, &str); 3] = [
    (Some(true), "On the disk before the answer"),
    (Some(false), "Answered before it is on the disk"),
    (None, "It is not known when a row is on the disk (see commitlog_sync in cassandra.yaml)"),
];

/// One server under the load.
pub struct ServerRun {
    /// As it was asked for.
    pub name: String,
    /// As [`is_durable`] says of its target.
    pub is_durable: Option<bool>,
    /// What was measured, or why nothing was, as a full sentence.
    pub found: Result<Recorded, String>,
}

/// Whether an insert is on the disk before the target answers it; `None` if that is not known.
pub fn is_durable(target: &Target) -> Option<bool> {
    match target {
        Target::Embedded => Some(false),
        Target::Cassandra(order) => Some(order.commitlog.is_durable()),
        Target::Postgres(order) => Some(order.synchronous_commit),
        Target::Addresses { .. } => None,
    }
}

/// Latencies of the disk in microseconds, in order, and the time that they took together.
pub type Disk = (Vec<f64>, Duration);

/// Measures the disk that has this folder, until `cancel` ends it.
pub fn disk(folder: &Path, cancel: &Cancel) -> Result<Disk> {
    cqldyno_postgres::on_disk(folder).map_err(usage)?;
    let path = folder.join("disk");
    let measured = || -> std::io::Result<Disk> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        file.write_all_at(&vec![0; FILE], 0)?;
        file.sync_all()?;
        let (began, mut latencies, mut at) = (Instant::now(), Vec::new(), 0);
        while began.elapsed() < LASTS && !cancel.is_cancelled() {
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

/// All servers as one run without a reference, with what the disk did before each of them; `None` if none has figures.
pub fn together(servers: &[ServerRun], disks: &[Disk]) -> Option<(Run, Vec<Cell>)> {
    let found = servers.iter().filter_map(|server| server.found.as_ref().ok());
    let mut run = found.clone().next()?.run.clone();
    let (mut contenders, mut cells) = (Vec::new(), Vec::new());
    for scenario in &mut run.scenarios {
        // Each server has its own number of statements.
        (scenario.asked, scenario.definition, scenario.apart) = (None, None, None);
        scenario.point.iter_mut().for_each(|point| point.waits.clear());
    }
    for server in servers {
        let Ok(recorded) = &server.found else {
            let unavailable = server.found.as_ref().err().cloned();
            contenders.push(Contender { unavailable, ..row(&server.name) });
            continue;
        };
        for one in &recorded.run.contenders {
            let label = format!("{} / {}", server.name, one.label);
            contenders.push(Contender { id: server.name.clone(), label: label.clone(), ..one.clone() });
            for cell in recorded.cells.iter().filter(|cell| cell.contender == one.id) {
                let scenario_hash = hash(&run, &cell.scenario).unwrap_or(&cell.scenario_hash).to_owned();
                let own = Cell { contender: server.name.clone(), label: label.clone(), scenario_hash, ..cell.clone() };
                cells.push(own);
            }
        }
    }
    let last = found.clone().next_back()?;
    (run.ended, run.interrupted) = (last.run.ended, found.clone().any(|one| one.run.interrupted));
    for server in servers {
        let more = server.found.iter().flat_map(|one| &one.run.environment.more);
        let own = more.filter(|(key, value)| run.environment.more.get(*key) != Some(value));
        let own: Vec<_> = own.map(|(key, value)| (format!("{key}, {}", server.name), value.clone())).collect();
        run.environment.more.extend(own);
    }
    let names = servers.iter().filter(|server| server.found.is_ok()).map(|server| server.name.clone());
    let id = format!("{} servers, one after the other", found.clone().count());
    let about = format!("{id}: {}", list(&names.collect::<Vec<_>>()));
    run.plan.target = TargetInfo { id, about, embedded: false };
    // cqldyno itself measured it.
    let (version, compiler) = (run.cqldyno.clone(), run.environment.compiler.clone());
    contenders.push(Contender { version, compiler, ..row(DISK) });
    let arrangement = run.plan.arrangements.first().map(|one| one.id.clone()).unwrap_or_default();
    // One line over all numbers in flight: the disk has one thread.
    let mut latencies: Vec<f64> = disks.iter().flat_map(|(latencies, _)| latencies.iter().copied()).collect();
    latencies.sort_by(f64::total_cmp);
    let lasted = disks.iter().map(|(_, lasted)| *lasted).sum();
    for scenario in &run.scenarios {
        cells.push(Cell {
            contender: DISK.to_owned(),
            label: DISK.to_owned(),
            scenario: scenario.name.clone(),
            scenario_hash: scenario.hash.clone(),
            arrangement: arrangement.clone(),
            ..of_disk(&latencies, lasted)
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
    Contender { id: name.to_owned(), label: name.to_owned(), ..Contender::default() }
}

fn of_disk(latencies: &[f64], lasted: Duration) -> Cell {
    let at = |share: f64| {
        let nth = ((latencies.len() as f64 * share).ceil() as usize).clamp(1, latencies.len().max(1));
        latencies.get(nth - 1).copied().unwrap_or_default()
    };
    let number = latencies.len() as f64;
    let mut cell = Cell { block: 1, attempt: 1, round: Some(1), pass: Pass::Timing, ..Cell::default() };
    cell.measures.insert(THROUGHPUT.to_owned(), Measure::value(number / lasted.as_secs_f64(), Unit::PerSecond));
    // Each fdatasync returned.
    for meter in [STATEMENTS, VERIFIED] {
        cell.measures.insert(meter.to_owned(), Measure::value(number, Unit::Count));
    }
    cell.latency =
        Some(Latency { p50_us: at(0.5), p90_us: at(0.9), p99_us: at(0.99), p999_us: at(0.999), max_us: at(1.0) });
    cell
}

/// The tables: rows per second and response times, by server and number in flight.
pub fn tables(analysis: &Analysis, servers: &[ServerRun], disks: &[Disk]) -> Vec<Part> {
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
            let of = |durable: Option<bool>| {
                move |id: &str| servers.iter().any(|one| one.name == id && one.is_durable == durable)
            };
            let mut groups: Vec<_> = KINDS.iter().map(|(durable, _)| rows(&of(*durable))).collect();
            groups.push(rows(&|id| id == DISK));
            groups.retain(|rows| !rows.is_empty());
            Sheet::of(title, "in flight", numbers.iter().map(|at| whole(*at as f64)), groups)
        };
        let ms = |us: Option<[f64; 2]>, at: usize| us.map_or(NONE.to_owned(), |both| three_digits(both[at] / 1e3));
        parts.push(Part::Sheet(table("Rows per second", &|all| rate(all.rate))));
        parts.push(Part::Sheet(table("Response time, median, ms", &|all| ms(all.latency_us, 0))));
        parts.push(Part::Sheet(table("Response time, 99th percentile, ms", &|all| ms(all.latency_us, 1))));
    }
    parts.extend((!notes.0.is_empty()).then_some(Part::Notes(notes.0)));
    let rates = disks.iter().map(|(latencies, lasted)| latencies.len() as f64 / lasted.as_secs_f64());
    let [low, high] = rates.fold([f64::INFINITY, 0.0_f64], |[low, high], one| [low.min(one), high.max(one)]);
    parts.extend(told(servers, [low, high]).into_iter().map(Part::Text));
    parts
}

/// What each row is, and how the table is read.
fn told(servers: &[ServerRun], [low, high]: [f64; 2]) -> Vec<String> {
    let names = |durable: Option<bool>| {
        let named = servers.iter().filter(|server| server.is_durable == durable && server.found.is_ok());
        list(&named.map(|server| plain(&server.name)).collect::<Vec<_>>())
    };
    let of = |server: &ServerRun| match &server.found {
        Ok(one) => {
            let drivers: Vec<String> = one.run.contenders.iter().map(|one| plain(&one.label)).collect();
            format!("{}: {}; {}.", plain(&server.name), plain(&one.run.plan.target.about), list(&drivers))
        }
        Err(why) => format!("{} is missing: {}", plain(&server.name), plain(why)),
    };
    let mut said: Vec<String> = servers.iter().map(of).collect();
    let kinds = KINDS.iter().map(|(durable, what)| (names(*durable), what)).filter(|(names, _)| !names.is_empty());
    said.extend(kinds.map(|(names, what)| format!("{what}: {names}.")));
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
    fn servers_become_one_run_without_a_reference_in_which_each_row_is_a_server() {
        let (run, cells) = sample::run();
        let recorded = || Ok(Recorded { run: run.clone(), cells: cells.clone(), notes: Vec::new() });
        let absent = Err("No PostgreSQL.".to_owned());
        let server = |name: &str, found| ServerRun { name: name.to_owned(), is_durable: Some(true), found };
        let servers = [server("a", recorded()), server("b", recorded()), server("c", absent)];
        let disk = || (vec![100.0, 200.0, 300.0, 400.0], Duration::from_secs(2));
        let disks = [disk(), disk()];
        let (all, found) = together(&servers, &disks).unwrap();
        assert!(Analysis::new(&all, &found).reference.is_none());
        assert_eq!(found.len(), 2 * cells.len() + run.scenarios.len());
        assert!(all.contenders.iter().any(|one| one.unavailable.as_deref() == Some("No PostgreSQL.")));
        let of_disk = found.iter().find(|cell| cell.contender == DISK).unwrap();
        assert_eq!(of_disk.get(THROUGHPUT), Some(2.0));
        let latency = of_disk.latency.as_ref().unwrap();
        assert_eq!((latency.p50_us, latency.p99_us), (200.0, 400.0));
        assert!(together(&servers[2..], &disks).is_none());
        let said = told(&servers, [1.0, 2.0]).join(" ");
        assert!(said.contains("c is missing: No PostgreSQL.") && said.contains("no verdict across rows"), "{said}");
    }

    #[test]
    fn the_disk_is_measured_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        match disk(folder.path(), &Cancel::new()) {
            Ok((latencies, _)) => assert!(!latencies.is_empty()),
            Err(error) => assert!(error.to_string().contains("which is in memory"), "{error}"),
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let error = disk(&folder.path().join("nowhere"), &Cancel::new()).unwrap_err().to_string();
        assert!(error.starts_with("the disk cannot be measured with the file"), "{error}");
    }
}
