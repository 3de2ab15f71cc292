//! Cells with real processes: which one comes now, and what is kept of it.

mod attempt;

use std::collections::BTreeMap;

use cqldyno_driver_api::Settings;
use cqldyno_meter::Meter;
use cqldyno_reports::{Cell, Pass, Role, Run, Series};
use cqldyno_scenarios::{Permutation, Scenario};

use self::attempt::Attempt;
use crate::cancel::Cancel;
use crate::course::Executor;
use crate::failure::CellFailure;
use crate::folder::{RunFolder, file_stem};
use crate::introduction::Introduced;
use crate::observer::Stage;
use crate::pass::{Ended, Place, kind};
use crate::placement::Placement;
use crate::plan::{Plan, PlannedCell};
use crate::programs::Programs;
use crate::redaction::Redaction;
use crate::schedule::Schedule;

/// What is loaded is shifted by less than this from cell to cell.
const MOST_SHIFT: u64 = 1_000_000_000;

/// What all cells of a run share.
#[derive(Clone, Copy)]
pub(crate) struct CellContext<'a> {
    pub plan: &'a Plan,
    pub programs: &'a Programs,
    pub placements: &'a [Placement],
    pub run: &'a Run,
    pub folder: &'a RunFolder,
    pub cancel: &'a Cancel,
}

/// Runs cells with real processes.
pub(crate) struct CellBench<'a> {
    context: CellContext<'a>,
    introduced: &'a [Result<Introduced, CellFailure>],
    schedule: &'a Schedule,
    meters: Vec<Box<dyn Meter>>,
    redaction: Redaction,
    number: usize,
}

impl<'a> CellBench<'a> {
    /// A bench for the contenders that were `introduced`, one an entry of the plan.
    /// `there` cells are kept already, and the next one's files are numbered behind theirs.
    pub(crate) fn new(
        context: CellContext<'a>,
        introduced: &'a [Result<Introduced, CellFailure>],
        schedule: &'a Schedule,
        there: usize,
    ) -> CellBench<'a> {
        let password = context.plan.credentials.as_ref().map(|credentials| credentials.password.as_str());
        let redaction = Redaction::of(password);
        CellBench { context, introduced, schedule, meters: cqldyno_meter::all(), redaction, number: there }
    }
}

impl Executor for CellBench<'_> {
    fn execute(&mut self, planned: &PlannedCell, cells: &[Cell], stage: &mut dyn FnMut(Stage)) -> Option<Cell> {
        self.number += 1;
        let run = self.context.run;
        let (contender, scenario) = (&run.contenders[planned.contender], &run.scenarios[planned.scenario]);
        let arrangement = &run.plan.arrangements[planned.arrangement].id;
        let step = self.schedule.step(planned);
        let stem = format!(
            "{:03}-{}-{}-{}-{}{}-{}",
            self.number,
            file_stem(&scenario.name),
            file_stem(&contender.id),
            file_stem(arrangement),
            planned.pass.name(),
            step.map_or(String::new(), |step| format!("-{}", file_stem(step))),
            planned.block
        );
        let (log, log_name) = self.context.folder.log(&stem);
        // Results name it, so it is there even when the worker has nothing to say.
        let log_name = std::fs::File::create(&log).is_ok().then_some(log_name);
        let mut cell = Cell {
            contender: contender.id.clone(),
            label: contender.label.clone(),
            scenario: scenario.name.clone(),
            scenario_hash: scenario.hash.clone(),
            arrangement: arrangement.clone(),
            block: planned.block,
            pass: planned.pass,
            attempt: planned.attempt,
            step: step.map(str::to_owned),
            started: jiff::Timestamp::now(),
            log: log_name,
            ..empty_cell()
        };
        let drivers = run.contenders.iter().filter(|row| row.role == Role::Driver);
        let drivers: Vec<&str> = drivers.map(|row| row.id.as_str()).collect();
        let place = Place { scenario: &scenario.name, arrangement, drivers: &drivers };
        let kind = kind(planned.pass);
        let load = match kind.load(self.context.plan, planned, &place, cells) {
            Ok(load) => load,
            Err(failure) => {
                cell.failed = Some(self.redaction.apply(&failure.to_string()));
                return Some(cell);
            }
        };
        let attempt = Attempt {
            bench: self,
            planned,
            kind,
            load: load.within(&self.context.plan.scenarios[planned.scenario].limits),
            plan: self.context.plan,
            scenario: self.scenario(planned),
            placement: &self.context.placements[planned.arrangement],
            stem: &stem,
            log,
        };
        match attempt.measure(stage) {
            Ok(measured) => {
                attempt.fill(&mut cell, measured);
                let reference = run.plan.reference.as_deref();
                let ended = Ended { folder: self.context.folder, stem: &stem, reference, cells };
                let trouble = kind.ended(&ended, &mut cell);
                cell.findings.extend(trouble.iter().map(|trouble| crate::introduction::sentence(trouble)));
            }
            Err(CellFailure::Cancelled) => return None,
            Err(failure) => cell.failed = Some(self.redaction.apply(&failure.to_string())),
        }
        Some(cell)
    }
}

impl CellBench<'_> {
    /// The scenario of a cell, with what is loaded in this cell only, and with the page size that is in force.
    fn scenario(&self, planned: &PlannedCell) -> Scenario {
        let plan = self.context.plan;
        let mut scenario = plan.scenarios[planned.scenario].shifted(shift(plan.seed, self.number));
        scenario.page_size = match plan.settings {
            Settings::Equal => {
                let asked = u32::try_from(plan.page_size).unwrap_or(u32::MAX);
                Some(scenario.page_size.map_or(asked, |own| own.min(asked)))
            }
            // Every driver has its own, which is beyond what an answer has here, or none.
            Settings::Default => None,
        };
        scenario
    }
}

/// By how much the cell with this number shifts what it loads: at least 1.
fn shift(seed: u64, number: usize) -> i64 {
    1 + Permutation::new(MOST_SHIFT, seed).apply(number as u64).cast_signed()
}

/// A cell without anything.
pub(crate) fn empty_cell() -> Cell {
    Cell {
        contender: String::new(),
        label: String::new(),
        scenario: String::new(),
        scenario_hash: String::new(),
        arrangement: String::new(),
        block: 1,
        pass: Pass::Timing,
        attempt: 1,
        started: jiff::Timestamp::UNIX_EPOCH,
        measures: BTreeMap::new(),
        issued_by_statement: BTreeMap::new(),
        step: None,
        breakdowns: BTreeMap::new(),
        files: BTreeMap::new(),
        series: Series::default(),
        latency: None,
        error_kinds: Vec::new(),
        settings: Vec::new(),
        findings: Vec::new(),
        noisy: None,
        void: None,
        failed: None,
        log: None,
    }
}
