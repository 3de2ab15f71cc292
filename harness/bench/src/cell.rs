//! Cells with real processes.
//!
//! A cell is a sequence of stages. Each is made of the one before, so that none runs without what it needs: `Served` (who answers),
//! `Loaded` (tables and rows are there), `Waiting` (the contender waits for `go`), one or more `Window`s, and the judged cells.

mod floor;
mod loaded;
mod pictures;
mod served;
mod setup;
mod waiting;

use cqldyno_meter::ALL;
use cqldyno_reports::{Cell, Measure, Pass, Role, Run};

use self::setup::Setup;
use crate::judge::redaction::Redaction;
use crate::plan::pass::{Load, at_half, kind};
use crate::plan::placement::Placement;
use crate::plan::schedule::Schedule;
use crate::plan::{Plan, PlannedCell};
use crate::process::cancel::Cancel;
use crate::process::failure::CellFailure;
use crate::process::introduction::{Introduced, sentence};
use crate::process::programs::Programs;
use crate::record::folder::{RunFolder, file_stem};

/// Where a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The server starts.
    Server,
    /// floor makes the schema and loads rows.
    Loading {
        /// Rows loaded so far.
        rows: u64,
        /// Rows to load.
        of: u64,
    },
    /// The contender connects, prepares and warms up.
    Connecting,
    /// The window.
    Window {
        /// Statements issued so far.
        issued: u64,
        /// Statements of the window.
        of: u64,
    },
}

/// Why a cell ends the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunEnds {
    /// The user wants it.
    Cancelled,
    /// The cluster refused user or password, as the sentence says.
    Refused(String),
}

/// Runs one cell. Tests have one without processes.
pub(crate) trait Executor {
    /// The windows of the cell with their figures, or one without any that says why; `cells` are those that ended before.
    ///
    /// # Errors
    /// When the run is to end; there is no such cell then.
    fn execute(
        &mut self,
        cell: &PlannedCell,
        cells: &[Cell],
        stage: &mut dyn FnMut(Stage),
    ) -> Result<Vec<Cell>, RunEnds>;
}

/// What all cells of a run share.
#[derive(Clone, Copy)]
pub(crate) struct CellContext<'a> {
    pub plan: &'a Plan,
    pub schedule: &'a Schedule,
    /// One per contender of the run.
    pub introduced: &'a [Result<Introduced, CellFailure>],
    pub programs: &'a Programs,
    pub placements: &'a [Placement],
    pub run: &'a Run,
    pub folder: &'a RunFolder,
    pub cancel: &'a Cancel,
}

/// Runs cells with real processes.
pub(crate) struct CellBench<'a> {
    context: CellContext<'a>,
    redaction: Redaction,
    number: usize,
}

impl<'a> CellBench<'a> {
    /// The files of its first cell have the number after `there`.
    pub(crate) fn new(context: CellContext<'a>, there: usize) -> CellBench<'a> {
        let password = context.plan.credentials.as_ref().map(|credentials| credentials.password.as_str());
        CellBench { context, redaction: Redaction::of(password), number: there }
    }

    /// The cell's identity, without figures.
    fn identity(&self, planned: &PlannedCell) -> Cell {
        let run = self.context.run;
        let (contender, scenario) = (&run.contenders[planned.contender], &run.scenarios[planned.scenario]);
        Cell {
            contender: contender.id.clone(),
            label: contender.label.clone(),
            scenario: scenario.name.clone(),
            scenario_hash: scenario.hash.clone(),
            arrangement: run.plan.arrangements[planned.arrangement].id.clone(),
            block: planned.block,
            pass: planned.pass,
            attempt: planned.attempt,
            step: self.context.schedule.step(planned).name.map(str::to_owned),
            started: jiff::Timestamp::now(),
            ..Cell::default()
        }
    }

    /// What is asked of the worker; `cells` are those that ended before.
    fn load(&self, planned: &PlannedCell, cell: &Cell, cells: &[Cell]) -> Result<Load, CellFailure> {
        let CellContext { plan, schedule, run, .. } = self.context;
        let step = schedule.step(planned);
        let mut load = Load { count: planned.count, ..step.load };
        if step.at_half {
            // Half of what one with fewer in flight reached would be no load for the others.
            let drivers = run.contenders.iter().filter(|row| row.role == Role::Driver && row.in_flight.is_none());
            let drivers: Vec<&str> = drivers.map(|row| row.id.as_str()).collect();
            let place = (cell.scenario.as_str(), cell.arrangement.as_str());
            load = at_half(load, plan, place, &drivers, cells).ok_or_else(|| {
                CellFailure::Unavailable(
                    "No driver has a throughput in this scenario and arrangement of which half could be asked for; ask for a rate \
                     with --rate."
                        .to_owned(),
                )
            })?;
        }
        let own = run.contenders[planned.contender].in_flight.and_then(|own| usize::try_from(own).ok());
        load.concurrency = load.concurrency.min(own.unwrap_or(usize::MAX));
        Ok(load.within(&plan.scenarios[planned.scenario]))
    }

    /// Why the contender's cells of this pass would have no figure.
    fn refused(&self, planned: &PlannedCell) -> Option<String> {
        let introduced = self.context.introduced[planned.contender].as_ref().ok()?;
        let allocator = introduced.allocator.as_deref().filter(|_| planned.pass == Pass::Allocations)?;
        Some(format!(
            "Its allocator {allocator} is built into the worker, and only calls of the C library's allocator can be counted; leave \
             +allocator={allocator} out for this pass."
        ))
    }

    /// Every measure of a pass without a figure, with the reason.
    fn not_allowed(&self, cell: &mut Cell, why: &str) {
        let declared = ALL.iter().flat_map(|meter| meter.measures);
        for measure in declared.filter(|measure| measure.pass == Some(cell.pass)) {
            cell.measures.insert(measure.id.to_owned(), Measure::unavailable(why));
        }
    }
}

impl Executor for CellBench<'_> {
    fn execute(
        &mut self,
        planned: &PlannedCell,
        cells: &[Cell],
        stage: &mut dyn FnMut(Stage),
    ) -> Result<Vec<Cell>, RunEnds> {
        self.number += 1;
        let bench: &CellBench<'_> = self;
        let mut cell = bench.identity(planned);
        let probed = || (kind(cell.pass).probe)().err().map(|refusal| refusal.to_string()).unwrap_or_default();
        let refused = (planned.count == 0).then(probed).or_else(|| bench.refused(planned));
        if let Some(why) = refused {
            bench.not_allowed(&mut cell, &why);
            return Ok(vec![cell]);
        }
        let parts = [&cell.scenario, &cell.contender, &cell.arrangement].map(|part| file_stem(part)).join("-");
        let step = cell.step.as_ref().map_or(String::new(), |step| format!("-{}", file_stem(step)));
        let stem = format!("{:03}-{parts}-{}{step}-{}", bench.number, cell.pass.name(), cell.block);
        let (log, log_name) = bench.context.folder.log(&stem);
        // Results name it, so it is there even when the worker has nothing to say.
        cell.log = std::fs::File::create(&log).is_ok().then_some(log_name);
        let ended = bench.load(planned, &cell, cells).and_then(|load| {
            let setup = Setup::new(bench, planned, load, &stem, log)?;
            setup.run(&cell, stage)
        });
        match ended {
            Ok(mut judged) => {
                let reference = bench.context.run.plan.reference.as_deref();
                for cell in &mut judged {
                    let trouble = pictures::draw(bench.context.folder, &stem, reference, cells, cell);
                    cell.findings.extend(trouble.iter().map(|trouble| sentence(trouble)));
                }
                return Ok(judged);
            }
            Err(CellFailure::Cancelled) => return Err(RunEnds::Cancelled),
            Err(CellFailure::Refused(why)) => return Err(RunEnds::Refused(why)),
            Err(failure) => cell.failed = Some(bench.redaction.apply(&failure.to_string())),
        }
        Ok(vec![cell])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::plan::topology::Topology;
    use crate::record::sample_run;

    #[test]
    fn a_cell_of_a_pass_that_this_machine_does_not_allow_runs_nothing_and_has_no_figure() {
        let plan = plan(&["scylla"], &["writes"]);
        let placements = plan.check(&Topology::sample(1, 1)).unwrap();
        let out = tempfile::tempdir().unwrap();
        let schedule = Schedule::new(&plan, &[0], None, &|pass| pass == cqldyno_reports::Pass::Timing);
        let context = CellContext {
            plan: &plan,
            schedule: &schedule,
            introduced: &[Err(CellFailure::Unavailable("There is none.".to_owned()))],
            programs: &Programs { cqldyno: "/nowhere".into(), worker_folders: Vec::new() },
            placements: &placements,
            run: &sample_run(&plan, &placements),
            folder: &RunFolder::create(Some(out.path()), jiff::Timestamp::UNIX_EPOCH).unwrap(),
            cancel: &Cancel::new(),
        };
        let counting = schedule.first_attempts(schedule.blocks()).last().unwrap();
        let mut stages = 0;
        let cell = CellBench::new(context, 0).execute(&counting, &[], &mut |_| stages += 1).unwrap().remove(0);
        assert_eq!((stages, &cell.failed, &cell.log), (0, &None, &None));
        let ids: Vec<&str> = cell.measures.keys().map(String::as_str).collect();
        assert_eq!(ids, ["syscalls", "syscalls_per_statement"]);
        assert!(cell.measures.values().all(|measure| measure.get().is_none()));
    }
}
