//! Whether the intervals of real runs are as wide as they should be.
//!
//! The generations of a run are cut into halves. Each half is fitted anew from its raw turns, and the difference of both ratios is taken
//! over its own standard error. If errors are true, that number is Student's t. Its mean square over that of t is then 1, and intervals of
//! 95 % hold in 95 of 100.
//!
//! `cargo run --release -p cqldyno-statistics --example splits RUN [RUN...]`, with run folders.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use cqldyno_reports::measure::{CPU_PER_STATEMENT, SERVER_CPU_PER_STATEMENT, VERIFIED};
use cqldyno_reports::{Analysis, Cell, Pass, Recorded, Run, SummaryRow, read_cells};
use cqldyno_statistics::{LogRatio, student_quantile};
use fastrand::Rng;

/// Random halves of each run.
const SPLITS: usize = 100;
const SEED: u64 = 20_261_126;

fn main() -> ExitCode {
    let folders: Vec<String> = std::env::args().skip(1).collect();
    if folders.is_empty() {
        eprintln!("Name one run folder or more, for example reports/published/2026-11-23/blocks.");
        return ExitCode::from(2);
    }
    let (mut random, mut by_time) = (Errors::default(), Errors::default());
    for folder in &folders {
        let halves = match Halves::of(Path::new(folder)) {
            Ok(halves) => halves,
            Err(why) => {
                eprintln!("{folder} could not be read as a run folder: {why}");
                return ExitCode::from(2);
            }
        };
        let mut generations = halves.generations.clone();
        let middle = generations.len() / 2;
        by_time.add(&halves.differences(&generations[..middle]));
        let mut rng = Rng::with_seed(SEED);
        for _ in 0..SPLITS {
            rng.shuffle(&mut generations);
            random.add(&halves.differences(&generations[..middle]));
        }
    }
    println!("# Halves at random, {SPLITS} of each run\n");
    random.print();
    println!("\n# First and second half of each run\n");
    by_time.print();
    ExitCode::SUCCESS
}

/// Driver and arrangement.
type Who = (String, String);

/// A run that is cut into halves.
struct Halves {
    run: Run,
    cells: Vec<Cell>,
    generations: Vec<u32>,
}

/// One difference over its standard error, and its degrees of freedom.
struct Difference {
    who: Who,
    z: f64,
    freedom: f64,
}

impl Halves {
    /// Of the turns in a run folder only what CPU time needs.
    fn of(folder: &Path) -> Result<Halves, Box<dyn Error>> {
        let text = std::fs::read_to_string(folder.join("run.json"))?;
        let Recorded { run, mut cells, .. } = Recorded::from_folder(&text, read_cells(folder)?)?;
        cells.retain(|cell| cell.pass == Pass::Timing);
        let needed = [CPU_PER_STATEMENT, SERVER_CPU_PER_STATEMENT, VERIFIED, "cpu"];
        cells.iter_mut().for_each(|cell| cell.measures.retain(|id, _| needed.contains(&id)));
        let generations: BTreeSet<u32> = cells.iter().map(|cell| cell.block).collect();
        Ok(Halves { run, cells, generations: generations.into_iter().collect() })
    }

    /// Between the ratios of these generations and those of all others.
    fn differences(&self, first: &[u32]) -> Vec<Difference> {
        let first: BTreeSet<u32> = first.iter().copied().collect();
        let (one, other): (Vec<Cell>, Vec<Cell>) =
            self.cells.iter().cloned().partition(|cell| first.contains(&cell.block));
        let [one, other] = [one, other].map(|cells| self.ratios(&cells));
        let of = |(at, one): (&(String, Who), &LogRatio)| {
            let other = other.get(at)?;
            let z = (one.value - other.value) / (one.variance + other.variance).sqrt();
            Some(Difference { who: at.1.clone(), z, freedom: one.freedom + other.freedom })
        };
        one.iter().filter_map(of).collect()
    }

    /// By scenario, contender and arrangement.
    fn ratios(&self, cells: &[Cell]) -> BTreeMap<(String, Who), LogRatio> {
        let analysis = Analysis::new(&self.run, cells);
        let of = |(row, log): (&SummaryRow, &LogRatio)| {
            ((row.scenario.clone(), (row.contender.clone(), row.arrangement.clone())), *log)
        };
        analysis.log_ratios().filter(|(row, _)| row.meter == CPU_PER_STATEMENT).map(of).collect()
    }
}

/// What many splits come to.
#[derive(Default)]
struct Errors {
    squares: BTreeMap<Who, (f64, usize)>,
    held: usize,
    splits: usize,
}

impl Errors {
    fn add(&mut self, differences: &[Difference]) {
        for Difference { who, z, freedom } in differences {
            let (sum, count) = self.squares.entry(who.clone()).or_default();
            // The mean square of Student's t is f / (f - 2).
            (*sum, *count) = (*sum + z * z * (1.0 - 2.0 / freedom), *count + 1);
        }
        let tail = -(0.95_f64.ln() / differences.len().max(1) as f64).exp_m1();
        let holds = |one: &Difference| one.z.abs() <= student_quantile(tail, one.freedom);
        self.held += usize::from(differences.iter().all(holds));
        self.splits += 1;
    }

    fn print(&self) {
        println!("| driver | arrangement | rms of differences over their errors |\n| --- | --- | ---: |");
        let rms = |(sum, count): (f64, usize)| (sum / count as f64).sqrt();
        for ((contender, arrangement), one) in &self.squares {
            println!("| {contender} | {arrangement} | {:.2} |", rms(*one));
        }
        let all = self.squares.values().fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        println!("| all | | {:.2} |", rms(all));
        println!("\nAll 95 % intervals of a run hold at once in {} of {} splits.", self.held, self.splits);
    }
}
