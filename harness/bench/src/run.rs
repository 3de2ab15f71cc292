//! A run: contenders introduced, cells run one after the other, everything kept as it ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use cqldyno_meter::SystemCalls;
use cqldyno_reports::{Cell, Contender as Row, Environment, Run, SCHEMA_VERSION, ScenarioInfo};
use cqldyno_scenarios::Scenario;
use sha2::{Digest, Sha256};

use crate::cancel::Cancel;
use crate::cell::{CellBench, CellContext};
use crate::estimate::Estimate;
use crate::failure::CellFailure;
use crate::folder::{FolderError, RunFolder, file_stem};
use crate::introduction::{introduce, row};
use crate::observer::{CellStart, Observer, Stage};
use crate::plan::{Plan, PlanError, PlannedCell};
use crate::programs::Programs;

/// A run that could not be made at all. What fails within one cell is that cell's, not the run's.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The results cannot be kept.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// What a run leaves.
#[derive(Clone, Debug)]
pub struct Finished {
    /// As in `run.json`.
    pub run: Run,
    /// As in `cells.jsonl`.
    pub cells: Vec<Cell>,
    /// The run folder.
    pub folder: PathBuf,
}

/// Runs one cell. The supervisor of processes is one; tests have another.
pub(crate) trait Executor {
    /// The cell with its figures or the reason why it has none; `None` when the run is to end.
    fn execute(&mut self, cell: &PlannedCell, stage: &mut dyn FnMut(Stage)) -> Option<Cell>;
}

/// Carries out `plan`. Runs on the caller's thread, which must live as long as the run: workers end with it.
///
/// # Errors
/// When the plan cannot be carried out, or its results not be kept. A contender that is missing or fails is a part of the
/// result, and so is the end by `cancel` ([`Run::interrupted`]).
pub fn run(
    plan: &Plan,
    programs: &Programs,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<Finished, BenchError> {
    let machine = cqldyno_meter::Environment::read();
    let placements = plan.check(&machine.cores)?;
    let started = jiff::Timestamp::now();
    let folder = RunFolder::create(plan.out.as_deref(), started)?;
    let countable = SystemCalls::check().is_ok();
    let ids = plan.ids();

    let mut introduced = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    for (id, contender) in ids.iter().zip(&plan.contenders) {
        let log = folder.log(&format!("hello-{}", file_stem(id))).0;
        let found = introduce(programs, contender, plan.deadlines, Some(log), cancel);
        if found.as_ref().is_err_and(|failure| *failure == CellFailure::Cancelled) {
            break;
        }
        let mut row = row(id, contender, &found);
        if let Some(first) = rows.iter().find(|first| !first.build.is_empty()) {
            row.caveats.extend(other_build(&row, first));
        }
        row.label = unique_label(&row, &rows);
        observer.contender(&row);
        rows.push(row);
        introduced.push(found);
    }
    let mut run = Run {
        schema: SCHEMA_VERSION,
        cqldyno: env!("CARGO_PKG_VERSION").to_owned(),
        started,
        ended: None,
        interrupted: false,
        plan: plan.info(&placements, countable),
        environment: environment(&machine),
        contenders: rows,
        scenarios: plan.scenarios.iter().map(scenario_info).collect(),
    };
    folder.write_run(&run)?;

    let available: Vec<usize> = (0..introduced.len()).filter(|&at| introduced[at].is_ok()).collect();
    let cells = plan.cells(&available, countable);
    let context = CellContext { plan, programs, placements: &placements, run: &run, folder: &folder, cancel };
    let mut bench = CellBench::new(context, &introduced);
    let finished = execute_all(plan, &cells, &run, &mut bench, observer, &mut |cell| folder.append(cell))?;
    run.interrupted = cancel.is_cancelled() || finished.len() < cells.len();
    run.ended = Some(jiff::Timestamp::now());
    folder.write_run(&run)?;
    Ok(Finished { run, cells: finished, folder: folder.path().to_path_buf() })
}

/// Runs `cells` in order until the last one or the end of the run; `keep` is called with each one as it ends.
fn execute_all(
    plan: &Plan,
    cells: &[PlannedCell],
    run: &Run,
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
    keep: &mut dyn FnMut(&Cell) -> Result<(), FolderError>,
) -> Result<Vec<Cell>, FolderError> {
    let mut estimate = Estimate::new(plan);
    observer.starts(cells.len(), estimate.of(cells));
    let mut finished: Vec<Cell> = Vec::with_capacity(cells.len());
    for (at, planned) in cells.iter().enumerate() {
        observer.cell_starts(&CellStart {
            number: at + 1,
            of: cells.len(),
            label: &run.contenders[planned.contender].label,
            scenario: &run.scenarios[planned.scenario].name,
            arrangement: &run.plan.arrangements[planned.arrangement].id,
            block: planned.block,
            pass: planned.pass,
            count: planned.count,
            left: estimate.of(&cells[at..]),
        });
        let began = Instant::now();
        let Some(cell) = executor.execute(planned, &mut |stage| observer.stage(stage)) else { break };
        // A cell that failed says nothing about the time that others take.
        if cell.failed.is_none() {
            estimate.ended(planned, began.elapsed());
        }
        keep(&cell)?;
        observer.cell_ended(&cell, estimate.of(&cells[at + 1..]));
        finished.push(cell);
    }
    Ok(finished)
}

/// The row's label, numbered where another contender turned out to be the same: two paths to one library.
fn unique_label(row: &Row, others: &[Row]) -> String {
    let taken = |label: &str| others.iter().any(|other| other.label == label);
    let numbered = (2..).map(|nth| format!("{}#{nth}", row.label));
    std::iter::once(row.label.clone()).chain(numbered).find(|label| !taken(label)).unwrap_or_default()
}

/// A caveat when a worker's load generator is not the first one's.
fn other_build(row: &Row, first: &Row) -> Option<String> {
    (!row.build.is_empty() && row.build != first.build).then(|| {
        format!(
            "Its worker was built another way than that of {} (build {} instead of {}), so the two load generators may differ.",
            first.label, row.build, first.build
        )
    })
}

fn environment(machine: &cqldyno_meter::Environment) -> Environment {
    let unknown = || "unknown".to_owned();
    let mut more = BTreeMap::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            more.insert(name.to_owned(), value);
        }
    };
    add("governor", machine.governor.clone());
    add("perf_event_paranoid", machine.perf_event_paranoid.map(|level| level.to_string()));
    add("virtual machine", Some(if machine.virtual_machine { "yes" } else { "no" }.to_owned()));
    add("load average at start", machine.load_average.clone());
    Environment {
        cpu: machine.cpu.clone().unwrap_or_else(unknown),
        cores: u32::try_from(machine.cores.len()).unwrap_or(u32::MAX),
        memory_bytes: machine.memory_bytes.unwrap_or_default(),
        kernel: machine.kernel.clone().unwrap_or_else(unknown),
        compiler: env!("CQLDYNO_COMPILER").to_owned(),
        profile: env!("CQLDYNO_PROFILE").to_owned(),
        more,
    }
}

fn scenario_info(scenario: &Scenario) -> ScenarioInfo {
    ScenarioInfo { name: scenario.name.clone(), about: scenario.about.clone(), hash: scenario_hash(scenario) }
}

/// SHA-256 of the scenario's JSON form, in hexadecimal.
fn scenario_hash(scenario: &Scenario) -> String {
    let bytes = serde_json::to_vec(scenario).unwrap_or_default();
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::introduction::row;
    use crate::plan::plan;
    use std::time::Duration;

    /// Ends every cell at once; cancels in the cell with number `cancel_at`, fails the contender `failing`.
    struct Instantly {
        seen: Vec<PlannedCell>,
        cancel_at: usize,
        failing: usize,
    }

    impl Executor for Instantly {
        fn execute(&mut self, cell: &PlannedCell, stage: &mut dyn FnMut(Stage)) -> Option<Cell> {
            self.seen.push(*cell);
            stage(Stage::Connecting);
            (self.seen.len() != self.cancel_at).then(|| Cell {
                contender: cell.contender.to_string(),
                failed: (cell.contender == self.failing).then(|| "It crashed.".to_owned()),
                ..crate::cell::empty_cell()
            })
        }
    }

    #[derive(Default)]
    struct Heard {
        started: Vec<usize>,
        ended: usize,
        stages: usize,
    }

    impl Observer for Heard {
        fn cell_starts(&mut self, cell: &CellStart<'_>) {
            self.started.push(cell.number);
        }
        fn stage(&mut self, _: Stage) {
            self.stages += 1;
        }
        fn cell_ended(&mut self, _: &Cell, _: Duration) {
            self.ended += 1;
        }
    }

    fn sample(plan: &Plan) -> Run {
        let cores = [0];
        let missing = Err(CellFailure::Unavailable("There is none.".to_owned()));
        Run {
            schema: SCHEMA_VERSION,
            cqldyno: String::new(),
            started: jiff::Timestamp::UNIX_EPOCH,
            ended: None,
            interrupted: false,
            plan: plan.info(&plan.check(&cores).unwrap(), true),
            environment: Environment::default(),
            contenders: plan.ids().iter().zip(&plan.contenders).map(|(id, one)| row(id, one, &missing)).collect(),
            scenarios: plan.scenarios.iter().map(scenario_info).collect(),
        }
    }

    #[test]
    fn a_failed_cell_is_kept_and_the_others_go_on() {
        let plan = plan(&["scylla", "noop"], &["writes"]);
        let cells = plan.cells(&[0, 1], true);
        let mut executor = Instantly { seen: Vec::new(), cancel_at: 0, failing: 0 };
        let (mut heard, mut kept) = (Heard::default(), 0);
        let finished = execute_all(&plan, &cells, &sample(&plan), &mut executor, &mut heard, &mut |_| {
            kept += 1;
            Ok(())
        });
        assert_eq!(executor.seen, cells);
        let finished = finished.unwrap();
        assert_eq!((finished.len(), kept, heard.ended, heard.stages), (6, 6, 6, 6));
        assert_eq!(finished.iter().filter(|cell| cell.failed.is_some()).count(), 3);
        assert_eq!(heard.started, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn the_end_of_the_run_keeps_what_has_ended() {
        let plan = plan(&["scylla", "noop"], &["writes"]);
        let cells = plan.cells(&[0, 1], true);
        let mut executor = Instantly { seen: Vec::new(), cancel_at: 3, failing: 9 };
        let finished =
            execute_all(&plan, &cells, &sample(&plan), &mut executor, &mut Heard::default(), &mut |_| Ok(())).unwrap();
        assert_eq!((finished.len(), executor.seen.len()), (2, 3));
    }

    #[test]
    fn contenders_that_turn_out_to_be_the_same_have_labels_of_their_own() {
        let mut rows = sample(&plan(&["a+lib=x", "a+lib=y", "a+lib=z"], &["writes"])).contenders;
        for at in 0..rows.len() {
            rows[at].label = "a@1".to_owned();
            rows[at].label = unique_label(&rows[at], &rows[..at]);
        }
        let labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["a@1", "a@1#2", "a@1#3"]);
    }

    #[test]
    fn a_scenario_has_a_hash_of_its_content() {
        let plan = plan(&["scylla"], &["writes", "reads"]);
        let hashes: Vec<String> = plan.scenarios.iter().map(scenario_hash).collect();
        assert!(hashes[0] != hashes[1] && hashes[0].len() == 64);
        let mut changed = plan.scenarios[0].clone();
        changed.statements[0].weight = 2;
        assert_ne!(scenario_hash(&changed), hashes[0]);
    }
}
