//! A run: contenders introduced, generations and cells run one after the other, everything kept as it ends.

pub(crate) mod course;
pub(crate) mod introductions;
mod ladder;
mod limit;
pub(crate) mod observer;

use std::collections::{BTreeMap, BTreeSet};
use std::mem::replace;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cqldyno_builder::BuildError;
use cqldyno_driver_api::DriverInfo;
use cqldyno_meter::{available_memory, crowding, in_words};
use cqldyno_reports::{
    CONTROL_MARK, Cell, Checksum, Contender as Row, PointInfo, Role, Run, SCHEMA_VERSION, ScenarioInfo,
};
use cqldyno_scenarios::Scenario;

use crate::cell::{CellBench, CellContext, Left, own_keyspaces};
use crate::judge::readings::measures;
use crate::plan::asked::{asked, dropped, left_out, paced, waits};
use crate::plan::contender::InForce;
use crate::plan::pass::kind;
use crate::plan::placement::Placement;
use crate::plan::schedule::Schedule;
use crate::plan::target::{Access, Target, TargetError};
use crate::plan::topology::Topology;
use crate::plan::{CONTROL_BLOCKS, Plan, PlanError, open_files};
use crate::process::cancel::Cancel;
use crate::process::child::Launch;
use crate::process::executable::Executable;
use crate::process::failure::CellFailure;
use crate::process::introduction::Introduced;
use crate::process::load_generator::{OtherGenerator, differences, one_build};
use crate::process::loaders::Launcher;
use crate::process::programs::Programs;
use crate::process::worker::Bounds;
use crate::record::folder::{FolderError, RunFolder};
use crate::record::kept::scenario_info;
use crate::record::resume::{Reopened, ResumeError, reopen, same};
use crate::record::{CROWDING, PREPARED, PREPARED_POSTGRES, environment};
use crate::run::course::{Course, Ended};
use crate::run::introductions::{Introductions, completed, introductions};
use crate::run::observer::Observer;

/// A run that could not be made at all. What fails within one cell is that cell's, not the run's.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Nothing answers.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The results cannot be kept.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A worker that no adapter can be built into.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A loader cannot take part.
    #[error("no loader was started for the run: {0}")]
    Loaders(CellFailure),
    /// The workers cannot be compared.
    #[error(transparent)]
    Generator(#[from] OtherGenerator),
    /// The run cannot go on.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// It was ended before its first cell.
    #[error(
        "the run was ended while its contenders were asked who they are; nothing was measured and nothing is kept, so start it \
         again"
    )]
    Ended,
    /// The cluster refused user or password.
    #[error(
        "the cluster refused the login: {0} Nothing more was tried, because that may lock the account; start again with the right \
         --user and password"
    )]
    Refused(String),
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
    /// Why results could no longer be kept, which ended the run early, as a sentence.
    pub trouble: Option<String>,
    /// Whether it was to go on and lacked nothing: everything is as it was.
    pub nothing_left: bool,
}

/// Carries out `plan`. Runs on the caller's thread, which must live as long as the run: workers end with it.
///
/// # Errors
/// When the plan cannot be carried out, its folder cannot be made, `cancel` comes before the first cell, or the cluster refuses the
/// password. All other ends are results: a missing contender, a later `cancel` ([`Run::interrupted`]), a full disk
/// ([`Finished::trouble`]).
pub fn run(
    plan: &Plan,
    programs: &Programs,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<Finished, BenchError> {
    let clock = Instant::now();
    let machine = cqldyno_meter::Environment::read();
    let topology = Topology::read(&machine.cores);
    let placements = plan.check(&topology)?;
    plan.check_connections(open_files())?;
    plan.target.check()?;
    ask_loaders(plan, programs, cancel)?;
    let started = jiff::Timestamp::now();
    let folder = RunFolder::create(plan.out.as_deref(), started)?;
    let bench = Bench { programs, placements: &placements, folder: &folder, cancel, clock };
    let mut begun = match bench.begin(plan, &machine, started, observer) {
        Err(refused @ (BenchError::Build(_) | BenchError::Plan(_))) => {
            folder.discard();
            return Err(refused);
        }
        begun => begun?,
    };
    if cancel.is_cancelled() || begun.introduced.len() < plan.contenders.len() {
        folder.discard();
        return Err(BenchError::Ended);
    }
    bench.look_at_cores(&mut begun.run, &topology, machine.virtual_machine);
    bench.carry_out(begun, Vec::new(), observer)
}

/// Goes on with the run in `folder`: whole generations stay, the one under way starts again. A run that lacks nothing stays as it is.
///
/// `access` is in no file and is needed again. `within` takes the place of the time that the run had before; without it the run has as
/// much time again if it had a limit.
///
/// # Errors
/// [`ResumeError`] when there is no run, its files are damaged, or machine, cqldyno or a worker changed. Else as [`run`].
pub fn resume(
    folder: &Path,
    access: Access,
    within: Option<Option<Duration>>,
    programs: &Programs,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<Finished, BenchError> {
    let clock = Instant::now();
    let Reopened { folder, run: began, cells, mut plan, placements, torn } = reopen(folder, access)?;
    within.into_iter().for_each(|within| plan.limit(within));
    let left_as_it_is = |run: Run, cells: Vec<Cell>, nothing_left: bool| Finished {
        run,
        cells,
        folder: folder.path().to_path_buf(),
        trouble: None,
        nothing_left,
    };
    let is_complete = torn.is_none()
        && began.ended.is_some()
        && !began.interrupted
        && schedule(&plan, &began).lacks_none(&cells, &began);
    if is_complete && began.plan.keyspaces.is_empty() {
        return Ok(left_as_it_is(began, cells, true));
    }
    plan.check_connections(open_files())?;
    plan.target.check()?;
    ask_loaders(&plan, programs, cancel)?;
    let machine = cqldyno_meter::Environment::read();
    let bench = Bench { programs, placements: &placements, folder: &folder, cancel, clock };
    let mut begun = bench.begin(&plan, &machine, began.started, observer)?;
    if cancel.is_cancelled() {
        return Ok(left_as_it_is(Run { interrupted: true, ..began }, cells, false));
    }
    same(folder.path(), &began, &begun.run)?;
    if let Some(torn) = &torn {
        folder.cut(torn.good_bytes)?;
    }
    observer.resumes(&cells, torn.as_ref().map(|torn| torn.sentence.as_str()));
    // What was found at the start stays, with the plan as it was written then.
    let mut resumed = began.resumed.clone();
    resumed.push(jiff::Timestamp::now());
    begun.run = match is_complete {
        true => began,
        false => Run {
            resumed,
            ended: None,
            interrupted: false,
            cut_short: None,
            passes_left_out: Vec::new(),
            checksum: None,
            ..began
        },
    };
    bench.carry_out(begun, cells, observer)
}

/// Asks every loader where it is, so that a host that is missing is known before anything runs.
fn ask_loaders(plan: &Plan, programs: &Programs, cancel: &Cancel) -> Result<(), BenchError> {
    let (Some(info), Some(words)) = (&plan.loaders, plan.launch_words()) else { return Ok(()) };
    let launcher = Launcher { info, words: &words, cqldyno: &programs.cqldyno };
    let launch = Launch::new(&programs.cqldyno, &programs.cqldyno, None);
    let bounds = Bounds { deadlines: plan.deadlines, memory_bytes: None, cancel, transcript: None };
    let is_here = !matches!(plan.target, Target::Addresses { .. });
    launcher.ask(&launch, bounds, is_here).map_err(|failure| match failure {
        CellFailure::Cancelled => BenchError::Ended,
        failure => BenchError::Loaders(failure),
    })
}

struct Bench<'a> {
    programs: &'a Programs,
    placements: &'a [Placement],
    folder: &'a RunFolder,
    cancel: &'a Cancel,
    clock: Instant,
}

struct Begun {
    /// With the reference by name.
    plan: Plan,
    introduced: Vec<Result<Introduced, CellFailure>>,
    run: Run,
    /// Contenders' workers aside, all that it starts.
    programs: Programs,
    /// The time that went into building workers, which is none of the run's.
    building: Duration,
}

impl Bench<'_> {
    fn begin(
        &self,
        plan: &Plan,
        machine: &cqldyno_meter::Environment,
        started: jiff::Timestamp,
        observer: &mut dyn Observer,
    ) -> Result<Begun, BenchError> {
        let Introductions { mut rows, mut introduced, mut building } = introductions(self, plan, observer)?;
        let began = Instant::now();
        let programs = completed(self, plan, &introduced, observer);
        building += began.elapsed();
        let workers = || {
            let workers = rows.iter().zip(&introduced);
            workers.filter_map(|(row, found)| Some((row.label.as_str(), &found.as_ref().ok()?.hello.build)))
        };
        one_build(workers())?;
        let differences = differences(workers());

        let mut plan = plan.clone();
        if plan.apart.is_none() {
            let takes_none = |(_, found): &(&Row, &Result<Introduced, CellFailure>)| {
                found.as_ref().is_ok_and(|one| !one.hello.turns)
            };
            let worker = rows.iter().zip(&introduced).find(takes_none).map(|(row, _)| row.label.as_str());
            plan = plan.with_apart(worker, available_memory());
        }
        let apart: BTreeSet<String> = plan.apart.iter().flat_map(BTreeMap::values).cloned().collect();
        let fewer = plan.scenarios.iter().filter_map(|scenario| dropped(&plan, scenario));
        apart.into_iter().chain(fewer).chain(paced(&plan)).for_each(|sentence| observer.says(&sentence));
        let reference = reference(&plan, &rows);
        plan.reference = plan.reference.take().or_else(|| reference.map(|at| rows[at].id.clone()));
        // A run that is ended while contenders are introduced has no cells to compare.
        let has_control = plan.control && plan.blocks >= CONTROL_BLOCKS && rows.len() == plan.contenders.len();
        if let Some(at) = reference.filter(|at| has_control && !is_named_twice(&rows[*at], &rows)) {
            rows.push(control_row(&rows[at]));
            introduced.push(introduced[at].clone());
        }
        let run = Run {
            schema: SCHEMA_VERSION,
            cqldyno: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            executable: Executable::read(&self.programs.cqldyno).hash,
            plan: plan.info(self.placements),
            environment: environment(machine),
            scenarios: scenarios(&plan, &rows, &introduced),
            contenders: rows,
            differences,
            measures: measures(),
            ..Run::default()
        };
        Ok(Begun { plan, introduced, run, programs, building })
    }

    /// Writes down whether the cores of the run are cores of their own: where each arrangement tells of its cores, and as a figure.
    fn look_at_cores(&self, run: &mut Run, topology: &Topology, virtual_machine: bool) {
        let embedded = run.plan.target.embedded;
        let all: BTreeSet<usize> = self.placements.iter().flat_map(|one| one.cores(embedded)).collect();
        let crowding = crowding(&all.into_iter().collect::<Vec<_>>());
        for (arrangement, placement) in run.plan.arrangements.iter_mut().zip(self.placements) {
            let found = crowding.as_ref().ok().copied().filter(|_| virtual_machine);
            let said = topology.one_core(&placement.cores(embedded), found);
            let notes = arrangement.note.take().into_iter().chain(said).collect::<Vec<_>>();
            arrangement.note = (!notes.is_empty()).then(|| notes.join(" "));
        }
        let crowding = crowding.map(|times| format!("{times:.2} times the time of one core alone"));
        run.environment.more.insert(CROWDING.to_owned(), in_words(&crowding));
    }

    fn carry_out(&self, begun: Begun, there: Vec<Cell>, observer: &mut dyn Observer) -> Result<Finished, BenchError> {
        let Begun { plan, introduced, mut run, programs, building } = begun;
        let schedule = schedule(&plan, &run);
        // They are in the file before one is made, so that a run that is killed knows its own when it goes on.
        let own = own_keyspaces(&plan, &run, &schedule).into_keys().collect();
        let keyspaces = replace(&mut run.plan.keyspaces, own);
        self.folder.write_run(&run)?;
        let context = CellContext {
            plan: &plan,
            schedule: &schedule,
            introduced: &introduced,
            programs: &programs,
            placements: self.placements,
            run: &run,
            folder: self.folder,
            cancel: self.cancel,
        };
        let mut bench = CellBench::new(context, there.len(), keyspaces);
        let clock = self.clock + building;
        let course = Course { plan: &plan, schedule: &schedule, run: &run, clock: &clock };
        let Ended { cells, complete, cut_short, passes_left_out, trouble } = match run.ended {
            // A complete run has nothing left but keyspaces.
            Some(_) => {
                let (cut_short, passes_left_out) = (run.cut_short, run.passes_left_out.clone());
                Ended { cells: there, complete: true, cut_short, passes_left_out, trouble: None }
            }
            None => course.run(there, &mut bench, observer, &mut |cell| self.folder.append(cell)),
        };
        let Left { prepared, keyspaces, sentence } =
            bench.end(!matches!(trouble, Some(BenchError::Refused(_) | BenchError::Target(TargetError::Gone(..)))));
        sentence.iter().for_each(|sentence| observer.leaves(sentence));
        run.plan.keyspaces = keyspaces;
        run.interrupted = self.cancel.is_cancelled() || !complete;
        run.cut_short = cut_short.filter(|_| !run.interrupted);
        run.passes_left_out = passes_left_out;
        let what = if matches!(plan.target, Target::Postgres(_)) { PREPARED_POSTGRES } else { PREPARED };
        run.environment.more.extend(prepared.map(|said| (what.to_owned(), said)));
        run.ended = run.ended.or_else(|| Some(jiff::Timestamp::now()));
        // Where cells could not be kept, those in the folder are others.
        let are_kept = !matches!(trouble, Some(BenchError::Folder(_)));
        run.checksum = are_kept.then(|| Checksum::of_cells(&cells));
        let written = self.folder.write_run(&run).err().map(BenchError::from);
        match trouble.or(written) {
            // Nothing of it is there, on either side.
            Some(error @ (BenchError::Refused(_) | BenchError::Target(TargetError::Unusable(..))))
                if cells.is_empty() && run.resumed.is_empty() && run.plan.keyspaces.is_empty() =>
            {
                self.folder.discard();
                Err(error)
            }
            // What was started keeps its log, and what is on the cluster its names.
            Some(error @ (BenchError::Refused(_) | BenchError::Target(_))) if cells.is_empty() => Err(error),
            trouble => {
                let (folder, trouble) = (self.folder.path().to_path_buf(), trouble.map(|error| error.to_string()));
                Ok(Finished { run, cells, folder, trouble, nothing_left: false })
            }
        }
    }
}

/// The order of a run of those contenders that could be asked.
fn schedule<'a>(plan: &'a Plan, run: &Run) -> Schedule<'a> {
    // One that was named twice is counted as the others are.
    let control = run.contenders.iter().rposition(|row| row.control && row.id.ends_with(CONTROL_MARK));
    let is_there = |at: &usize| run.contenders[*at].unavailable.is_none() && Some(*at) != control;
    let available: Vec<usize> = (0..run.contenders.len()).filter(is_there).collect();
    let mut schedule = Schedule::new(plan, &available, control, &|pass| (kind(pass).probe)().is_ok());
    let numbered = || run.scenarios.iter().enumerate();
    let is_left_out = |who: usize| {
        let id = &run.contenders[who].id;
        numbered().filter(move |(_, scenario)| scenario.left_out.contains_key(id)).map(move |(at, _)| (who, at))
    };
    schedule.leave_out((0..run.contenders.len()).flat_map(is_left_out).collect());
    schedule
}

/// The scenarios of the plan, each with the contenders that cannot do it.
fn scenarios(plan: &Plan, rows: &[Row], introduced: &[Result<Introduced, CellFailure>]) -> Vec<ScenarioInfo> {
    let of = |scenario: &Scenario| {
        let there = || rows.iter().zip(introduced).filter_map(|(row, found)| Some((row, found.as_ref().ok()?)));
        let said = |why: fn(&Plan, InForce, &DriverInfo, &Scenario) -> Option<String>| {
            let of = |one: &Introduced| {
                why(plan, one.contender.own.in_force(plan, Some(scenario)), &one.hello.driver, scenario)
            };
            there().filter_map(|(row, one)| Some((row.id.clone(), of(one)?))).collect()
        };
        let info = scenario_info(scenario);
        let sets_its_own = |(row, one): &(&Row, &Introduced)| {
            let option = one.hello.driver.queue_option.as_ref();
            option.is_some_and(|option| row.id.contains(&format!("+{option}=")))
        };
        let waiting = || {
            let mut waiting: BTreeMap<String, String> = said(waits);
            there().filter(sets_its_own).for_each(|(row, _)| drop(waiting.remove(&row.id)));
            waiting
        };
        let point = info.point.map(|point| PointInfo { waits: waiting(), ..point });
        let apart = plan.why_apart(scenario).cloned();
        ScenarioInfo { asked: asked(plan, scenario), apart, left_out: said(left_out), point, ..info }
    };
    plan.scenarios.iter().map(of).collect()
}

/// The index of the contender that ratios are taken against: the plan's, else the first driver, if it could be asked.
fn reference(plan: &Plan, rows: &[Row]) -> Option<usize> {
    let is_there = |row: &Row| row.unavailable.is_none();
    match &plan.reference {
        Some(id) => rows.iter().position(|row| row.id == *id && is_there(row)),
        None => {
            let is_driver = |row: &Row| row.role == Role::Driver && is_there(row);
            let compared = rows.iter().position(|row| is_driver(row) && row.in_flight.is_none());
            compared.or_else(|| rows.iter().position(is_driver))
        }
    }
}

/// Whether somebody named the contender a second time: that one is the control.
fn is_named_twice(contender: &Row, rows: &[Row]) -> bool {
    rows.iter().any(|row| row.control && row.id.rsplit_once('#').is_some_and(|(of, _)| of == contender.id))
}

fn control_row(reference: &Row) -> Row {
    Row {
        id: format!("{}{CONTROL_MARK}", reference.id),
        label: format!("{}{CONTROL_MARK}", reference.label),
        control: true,
        ..reference.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::record::sample_run;

    fn sample(contenders: &[&str]) -> (Plan, Vec<Row>) {
        let plan = plan(contenders, &["writes"]);
        let rows = sample_run(&plan, &plan.check(&Topology::sample(1, 1)).unwrap()).contenders;
        (plan, rows)
    }

    #[test]
    fn the_reference_is_the_plans_else_the_first_driver_that_is_there() {
        let (mut plan, mut rows) = sample(&["noop", "scylla", "cdrs-tokio"]);
        assert_eq!(reference(&plan, &rows), None, "nobody is there");
        rows.iter_mut().for_each(|row| row.unavailable = None);
        assert_eq!(reference(&plan, &rows), Some(1));
        rows[1].unavailable = Some("There is none.".to_owned());
        assert_eq!(reference(&plan, &rows), Some(2));
        plan.reference = Some("scylla".to_owned());
        assert_eq!(reference(&plan, &rows), None, "another one would answer another question");
        plan.reference = Some("noop".to_owned());
        assert_eq!(reference(&plan, &rows), Some(0));
    }

    #[test]
    fn the_control_is_the_reference_under_another_name() {
        let (_, rows) = sample(&["scylla"]);
        let control = control_row(&rows[0]);
        assert_eq!((control.id.as_str(), control.label.as_str()), ("scylla#control", "scylla#control"));
        assert!(control.control && control.role == Role::Driver);
    }

    #[test]
    fn a_contender_that_is_named_twice_needs_no_third_copy_as_a_control() {
        let (_, rows) = sample(&["scylla", "noop", "scylla"]);
        assert!(is_named_twice(&rows[0], &rows));
        assert!(!is_named_twice(&rows[1], &rows));
        assert_eq!((rows[2].id.as_str(), rows[2].label.as_str(), rows[2].control), ("scylla#2", "scylla#2", true));
    }
}
