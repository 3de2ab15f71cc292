//! A run: contenders introduced, blocks run one after the other, everything kept as it ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cqldyno_protocol::JobCredentials;
use cqldyno_reports::{Cell, Checksum, Contender as Row, Environment, Pass, Role, Run, SCHEMA_VERSION, ScenarioInfo};
use cqldyno_scenarios::Scenario;

use crate::asked::{asked, left_out};
use crate::cancel::Cancel;
use crate::cell::{CellBench, CellContext};
use crate::course::{Course, Ended};
use crate::executable::Executable;
use crate::failure::CellFailure;
use crate::files::open_files;
use crate::folder::{FolderError, RunFolder, file_stem};
use crate::introduction::{Introduced, introduce, own_build, row};
use crate::load_generator::{OtherGenerator, one_build, own_generator};
use crate::observer::Observer;
use crate::pass::kind;
use crate::placement::Placement;
use crate::plan::{CONTROL_BLOCKS, Plan, PlanError};
use crate::plan_record::{CONTROL_MARK, scenario_info};
use crate::programs::Programs;
use crate::readings::measures;
use crate::resume::{Reopened, ResumeError, reopen, same};
use crate::schedule::Schedule;
use crate::target::TargetError;
use crate::topology::{Topology, write_list};

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
    /// The workers cannot be compared.
    #[error(transparent)]
    Generator(#[from] OtherGenerator),
    /// The run cannot be gone on with.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// It was ended before there was anything to go on with.
    #[error(
        "the run was ended while its contenders were asked who they are; nothing was measured and nothing is kept, so start it \
         again"
    )]
    Ended,
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
    /// Why the run ended before its plan because its results could no longer be kept, as a sentence.
    pub trouble: Option<String>,
    /// Whether it was to be gone on with and lacked nothing: everything is as it was.
    pub nothing_left: bool,
}

/// Carries out `plan`. Runs on the caller's thread, which must live as long as the run: workers end with it.
///
/// # Errors
/// When the plan cannot be carried out, or its results not be kept from the start, or `cancel` ends it before all contenders
/// are introduced. A contender that is missing or fails is a part of the result, and so is a later end by `cancel`
/// ([`Run::interrupted`]) or by a disk that is full ([`Finished::trouble`]).
pub fn run(
    plan: &Plan,
    programs: &Programs,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<Finished, BenchError> {
    let clock = Instant::now();
    let machine = cqldyno_meter::Environment::read();
    let placements = plan.check(&Topology::read(&machine.cores))?;
    plan.check_connections(open_files())?;
    plan.target.check_listens()?;
    let started = jiff::Timestamp::now();
    let folder = RunFolder::create(plan.out.as_deref(), started)?;
    let bench = Bench { programs, placements: &placements, folder: &folder, cancel, clock };
    let begun = bench.begin(plan, &machine, started, observer)?;
    if begun.introduced.len() < plan.contenders.len() {
        folder.discard()?;
        return Err(BenchError::Ended);
    }
    bench.carry_out(begun, Vec::new(), observer)
}

/// Goes on with the run in `folder`, which was ended, broke off or was cut short: blocks that are whole stay, the one under way
/// starts again. `credentials` are needed again where the cluster asked for them, and `within` is the time that is given now: what was
/// given before holds no more. A run that had ended and lacks nothing stays as it is.
///
/// # Errors
/// When there is no run, its files are damaged, or machine, cqldyno or a worker is another than when it began; see
/// [`ResumeError`]. Else as [`run`].
pub fn resume(
    folder: &Path,
    credentials: Option<JobCredentials>,
    within: Option<Duration>,
    programs: &Programs,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<Finished, BenchError> {
    let clock = Instant::now();
    let Reopened { folder, run: began, cells, plan, placements, torn } = reopen(folder, credentials)?;
    let plan = Plan { within, ..plan };
    let left_as_it_is = |run: Run, cells: Vec<Cell>, nothing_left: bool| Finished {
        run,
        cells,
        folder: folder.path().to_path_buf(),
        trouble: None,
        nothing_left,
    };
    // What a rule of repeats left behind, or a machine did not allow, was settled when the run ended.
    if torn.is_none()
        && began.ended.is_some()
        && !began.interrupted
        && schedule(&plan, &began).lacks_none(&cells, &began)
    {
        return Ok(left_as_it_is(began, cells, true));
    }
    plan.target.check_listens()?;
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
    observer.resumes(cells.len(), torn.as_ref().map(|torn| torn.sentence.as_str()));
    // What was found at the start stays, with the plan as it was written then.
    let mut resumed = began.resumed.clone();
    resumed.push(jiff::Timestamp::now());
    begun.run = Run { resumed, ended: None, interrupted: false, cut_short: None, checksum: None, ..began };
    bench.carry_out(begun, cells, observer)
}

/// What a run is made with.
struct Bench<'a> {
    programs: &'a Programs,
    placements: &'a [Placement],
    folder: &'a RunFolder,
    cancel: &'a Cancel,
    /// When it was called.
    clock: Instant,
}

/// A run whose contenders are introduced.
struct Begun {
    /// With the reference by name.
    plan: Plan,
    introduced: Vec<Result<Introduced, CellFailure>>,
    run: Run,
}

impl Bench<'_> {
    /// Asks every contender who it is.
    fn begin(
        &self,
        plan: &Plan,
        machine: &cqldyno_meter::Environment,
        started: jiff::Timestamp,
        observer: &mut dyn Observer,
    ) -> Result<Begun, BenchError> {
        let countable = kind(Pass::Counting).probe().is_ok();
        let mut introduced = Vec::new();
        let mut rows: Vec<Row> = Vec::new();
        for (id, contender) in plan.ids().iter().zip(&plan.contenders) {
            let log = self.folder.log(&format!("hello-{}", file_stem(id))).0;
            let found = introduce(self.programs, contender, plan.deadlines, Some(log), self.cancel);
            if found.as_ref().is_err_and(|failure| *failure == CellFailure::Cancelled) {
                break;
            }
            let mut row = row(id, contender, &found);
            row.caveats.extend(own_generator(&row));
            row.caveats.extend(found.as_ref().ok().and_then(|found| own_build(contender, found)));
            row.label = unique_label(&row, &rows);
            observer.contender(&row);
            rows.push(row);
            introduced.push(found);
        }
        let workers = rows.iter().zip(&introduced);
        one_build(workers.filter_map(|(row, found)| Some((row.label.as_str(), &found.as_ref().ok()?.hello.build))))?;

        let mut plan = plan.clone();
        let reference = reference(&plan, &rows);
        plan.reference = plan.reference.or_else(|| reference.map(|at| rows[at].id.clone()));
        // A run that is ended while contenders are introduced has no cells to compare.
        if let Some(at) = reference.filter(|_| plan.has_control() && rows.len() == plan.contenders.len()) {
            rows.push(control_row(&rows[at]));
            introduced.push(introduced[at].clone());
        }
        let run = Run {
            schema: SCHEMA_VERSION,
            cqldyno: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            ended: None,
            interrupted: false,
            cut_short: None,
            resumed: Vec::new(),
            executable: Executable::read(&self.programs.cqldyno).hash,
            plan: plan.info(self.placements, countable),
            environment: environment(machine),
            scenarios: scenarios(&plan, &rows, &introduced),
            contenders: rows,
            measures: measures(),
            checksum: None,
        };
        Ok(Begun { plan, introduced, run })
    }

    /// Runs what is missing behind the cells `there`.
    fn carry_out(&self, begun: Begun, there: Vec<Cell>, observer: &mut dyn Observer) -> Result<Finished, BenchError> {
        let Begun { plan, introduced, mut run } = begun;
        self.folder.write_run(&run)?;
        let schedule = schedule(&plan, &run);
        let context = CellContext {
            plan: &plan,
            programs: self.programs,
            placements: self.placements,
            run: &run,
            folder: self.folder,
            cancel: self.cancel,
        };
        let mut bench = CellBench::new(context, &introduced, &schedule, there.len());
        let course = Course { plan: &plan, schedule: &schedule, run: &run, clock: &self.clock };
        let Ended { cells, complete, cut_short, trouble } =
            course.run(there, &mut bench, observer, &mut |cell| self.folder.append(cell));
        run.interrupted = self.cancel.is_cancelled() || !complete;
        run.cut_short = cut_short.filter(|_| !run.interrupted);
        run.ended = Some(jiff::Timestamp::now());
        // Where cells could not be kept, those in the folder are others.
        run.checksum = trouble.is_none().then(|| Checksum::of_cells(&cells));
        let written = self.folder.write_run(&run).err();
        let trouble = trouble.or(written).map(|error| error.to_string());
        Ok(Finished { run, cells, folder: self.folder.path().to_path_buf(), trouble, nothing_left: false })
    }
}

/// The order of a run of those contenders that could be asked.
fn schedule(plan: &Plan, run: &Run) -> Schedule {
    let control = run.contenders.iter().position(|row| row.control);
    let is_there = |at: &usize| run.contenders[*at].unavailable.is_none() && Some(*at) != control;
    let available: Vec<usize> = (0..run.contenders.len()).filter(is_there).collect();
    let mut schedule = Schedule::new(plan, &available, control, &|pass| kind(pass).probe().is_ok());
    let numbered = || run.scenarios.iter().enumerate();
    let is_left_out = |who: usize| {
        let id = &run.contenders[who].id;
        numbered().filter(move |(_, scenario)| scenario.left_out.contains_key(id)).map(move |(at, _)| (who, at))
    };
    schedule.leave_out((0..run.contenders.len()).flat_map(is_left_out).collect());
    schedule
}

impl Plan {
    /// Whether the reference runs twice.
    fn has_control(&self) -> bool {
        self.control && self.blocks >= CONTROL_BLOCKS
    }
}

/// The scenarios of the plan, each with who is not asked it.
fn scenarios(plan: &Plan, rows: &[Row], introduced: &[Result<Introduced, CellFailure>]) -> Vec<ScenarioInfo> {
    let of = |scenario: &Scenario| {
        let hellos = rows.iter().zip(introduced).filter_map(|(row, found)| Some((row, &found.as_ref().ok()?.hello)));
        let left_out = hellos.filter_map(|(row, hello)| Some((row.id.clone(), left_out(hello, scenario)?))).collect();
        ScenarioInfo { asked: asked(plan, scenario), left_out, ..scenario_info(scenario) }
    };
    plan.scenarios.iter().map(of).collect()
}

/// The index of the contender that ratios are taken against: the plan's, else the first driver, if it could be asked.
fn reference(plan: &Plan, rows: &[Row]) -> Option<usize> {
    let is_there = |row: &Row| row.unavailable.is_none();
    match &plan.reference {
        Some(id) => rows.iter().position(|row| row.id == *id && is_there(row)),
        None => rows.iter().position(|row| row.role == Role::Driver && is_there(row)),
    }
}

/// The reference once more, under another name.
fn control_row(reference: &Row) -> Row {
    Row {
        id: format!("{}{CONTROL_MARK}", reference.id),
        label: format!("{}{CONTROL_MARK}", reference.label),
        control: true,
        ..reference.clone()
    }
}

/// The row's label, numbered where another contender turned out to be the same: two paths to one library.
fn unique_label(row: &Row, others: &[Row]) -> String {
    let taken = |label: &str| others.iter().any(|other| other.label == label);
    let numbered = (2..).map(|nth| format!("{}#{nth}", row.label));
    std::iter::once(row.label.clone()).chain(numbered).find(|label| !taken(label)).unwrap_or_default()
}

/// By which name the environment has the cores that may be used.
pub(crate) const CORES: &str = "usable cores";

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
    add(CORES, Some(write_list(&machine.cores)).filter(|list| !list.is_empty()));
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

/// A run of `plan` in which no contender could be asked.
#[cfg(test)]
pub(crate) fn sample_run(plan: &Plan, placements: &[Placement]) -> Run {
    let missing = Err(CellFailure::Unavailable("There is none.".to_owned()));
    Run {
        schema: SCHEMA_VERSION,
        cqldyno: String::new(),
        started: jiff::Timestamp::UNIX_EPOCH,
        ended: None,
        interrupted: false,
        cut_short: None,
        resumed: Vec::new(),
        executable: String::new(),
        plan: plan.info(placements, true),
        environment: Environment::default(),
        contenders: plan.ids().iter().zip(&plan.contenders).map(|(id, one)| row(id, one, &missing)).collect(),
        scenarios: plan.scenarios.iter().map(scenario_info).collect(),
        measures: measures(),
        checksum: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

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
    fn contenders_that_turn_out_to_be_the_same_have_labels_of_their_own() {
        let (_, mut rows) = sample(&["a+lib=x", "a+lib=y", "a+lib=z"]);
        for at in 0..rows.len() {
            rows[at].label = "a@1".to_owned();
            rows[at].label = unique_label(&rows[at], &rows[..at]);
        }
        let labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["a@1", "a@1#2", "a@1#3"]);
    }
}
