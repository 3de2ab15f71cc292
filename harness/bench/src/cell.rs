//! Cells and turns with real processes.
//!
//! A worker's life is a sequence of stages. Each is made of the one before, so that none runs without what it needs: `Served` (who
//! answers), `Loaded` (tables and rows are there), `Waiting` (the contender waits for `go`). Then it takes its turns: several in a
//! generation whose contenders are alive at once, one if they live one after the other or the cell is one of another pass. Its last
//! turn closes it.

mod floor;
mod keyspaces;
mod loaded;
mod pictures;
mod served;
mod setup;
mod waiting;
mod warm;
mod watch;
mod witness;

use std::time::Duration;

use cqldyno_cassandra::Cluster;
use cqldyno_meter::{ALL, local_servers};
use cqldyno_reports::{Cell, Ladder, Measure, Pass, Role, Run, sentence};

pub(crate) use self::keyspaces::own_keyspaces;
use self::setup::Setup;
use self::waiting::{Turn, Waiting};
use self::watch::Watch;
pub use self::watch::main as watch_host;
use crate::judge::redaction::Redaction;
use crate::plan::pass::{Load, Shape, at_half, kind};
use crate::plan::placement::Placement;
use crate::plan::schedule::{Group, Schedule};
use crate::plan::target::{Target, TargetError, silent};
use crate::plan::{Plan, PlannedCell};
use crate::process::cancel::Cancel;
use crate::process::failure::CellFailure;
use crate::process::introduction::Introduced;
use crate::process::programs::Programs;
use crate::record::folder::{RunFolder, file_stem};

/// The log of all workers and nodes that took turns.
const TURNS_LOG: &str = "turns";

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
    /// The window of a turn.
    Window {
        /// Statements issued so far.
        issued: u64,
        /// Statements of the window.
        of: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunEnds {
    Cancelled,
    /// The cluster refused user or password, as the sentence says.
    Refused(String),
    /// The cluster no longer answers anybody, as the clause says.
    Gone(String),
    NotKept,
}

pub(crate) type Take<'a> = &'a mut dyn FnMut(Cell) -> Result<(), RunEnds>;

/// Runs contenders that take turns. Tests have one without processes.
pub(crate) trait Executor {
    /// A guess of how long [`Executor::prepare`] takes.
    fn preparation(&self) -> Duration {
        Duration::ZERO
    }

    /// Makes ready what all cells share, once; `says` hears a sentence about each step.
    ///
    /// # Errors
    /// When it cannot be had, or the user ends it.
    fn prepare(&mut self, _says: &mut dyn FnMut(&str)) -> Result<(), TargetError> {
        Ok(())
    }

    /// Gives `take` the figures of every turn as soon as it has ended, or why there are none; `cells` are those that ended before.
    ///
    /// # Errors
    /// When the run is to end. What was taken stays.
    fn execute(
        &mut self,
        group: &Group,
        cells: &[Cell],
        stage: &mut dyn FnMut(Stage),
        take: Take<'_>,
    ) -> Result<(), RunEnds>;
}

#[derive(Clone, Copy)]
pub(crate) struct CellContext<'a> {
    pub plan: &'a Plan,
    pub schedule: &'a Schedule<'a>,
    /// One per contender of the run.
    pub introduced: &'a [Result<Introduced, CellFailure>],
    pub programs: &'a Programs,
    pub placements: &'a [Placement],
    pub run: &'a Run,
    pub folder: &'a RunFolder,
    pub cancel: &'a Cancel,
}

pub(crate) struct CellBench<'a> {
    context: CellContext<'a>,
    redaction: Redaction,
    number: usize,
    /// The Cassandra that was started for this run, and what its preparation was.
    cassandra: Option<Cluster>,
    postgres: Option<cqldyno_postgres::Server>,
    prepared: Option<String>,
    /// The run's own keyspaces that may be on an existing cluster.
    keyspaces: Vec<String>,
}

pub(crate) struct Left {
    /// What its preparation was.
    pub prepared: Option<String>,
    /// Keyspaces of its own that may still be there, and a sentence about them.
    pub keyspaces: Vec<String>,
    pub sentence: Option<String>,
}

impl<'a> CellBench<'a> {
    /// The files of its first cell have the number after `there`; `keyspaces` are those of the run that may be on an existing cluster.
    pub(crate) fn new(context: CellContext<'a>, there: usize, keyspaces: Vec<String>) -> CellBench<'a> {
        let password = context.plan.access.credentials.as_ref().map(|credentials| credentials.password.as_str());
        let redaction = Redaction::of(password);
        CellBench { context, redaction, number: there, cassandra: None, postgres: None, prepared: None, keyspaces }
    }

    /// Ends what was started for the run, and drops what was made for it if the cluster still lets us in.
    pub(crate) fn end(mut self, lets_in: bool) -> Left {
        let sentence = self.drop_keyspaces(lets_in);
        Left { prepared: self.prepared, keyspaces: self.keyspaces, sentence }
    }

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
            step: match planned.rate {
                Some(rate) => Some(Ladder::step_name(rate)),
                None => self.context.schedule.step(planned).name.map(str::to_owned),
            },
            started: jiff::Timestamp::now(),
            ..Cell::default()
        }
    }

    fn load(&self, planned: &PlannedCell, cell: &Cell, cells: &[Cell]) -> Result<Load, CellFailure> {
        let CellContext { plan, schedule, run, .. } = self.context;
        let step = schedule.step(planned);
        let shape = planned.rate.map_or(step.load.shape, Shape::AtRate);
        let mut load = Load { count: planned.count, shape, ..step.load };
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
        let allocator = introduced.contender.order.own_allocator().filter(|_| planned.pass == Pass::Allocations)?;
        Some(format!(
            "Its allocator {allocator} is built into the worker, and only calls of the C library's allocator can be counted; leave \
             +allocator={allocator} out for this pass."
        ))
    }
}

impl Executor for CellBench<'_> {
    fn preparation(&self) -> Duration {
        warm::estimate(self.context.plan)
    }

    fn prepare(&mut self, says: &mut dyn FnMut(&str)) -> Result<(), TargetError> {
        match self.context.plan.target {
            Target::Addresses { .. } => self.make_keyspaces(says),
            Target::Postgres(order) => self.start_postgres(order, says),
            _ => self.warm_up(says),
        }
    }

    fn execute(
        &mut self,
        group: &Group,
        cells: &[Cell],
        stage: &mut dyn FnMut(Stage),
        take: Take<'_>,
    ) -> Result<(), RunEnds> {
        let numbers = self.number + 1..;
        self.number += group.cells.len();
        let bench: &CellBench<'_> = self;
        // What failed or is void because nobody answers tells nothing of the contender.
        let take: Take<'_> = &mut |cell| match if cell.counts() { None } else { bench.gone() } {
            Some(why) => Err(RunEnds::Gone(why)),
            None => take(cell),
        };
        let mut setups = Vec::with_capacity(group.cells.len());
        for (planned, number) in group.cells.iter().zip(numbers) {
            setups.push(bench.set_up(planned, number, cells, take)?);
        }
        let mut watch = bench.watch(group, &setups)?;
        for life in group.lives() {
            bench.live(group, &life, &setups, watch.as_mut(), cells, stage, take)?;
        }
        Ok(())
    }
}

/// A turn that has ended, with the contender whose it is, at its place among those that are alive.
struct Unsettled<'a> {
    at: usize,
    waiting: Waiting<'a>,
    cell: Cell,
    turn: Turn,
}

impl CellBench<'_> {
    /// The turns of those contenders of the group that are alive together, from the start of their processes to their end.
    #[expect(clippy::too_many_arguments, reason = "they are what a life consists of")]
    fn live<'a>(
        &'a self,
        group: &Group,
        life: &[usize],
        setups: &'a [Option<Setup<'a>>],
        mut watch: Option<&mut Watch<'_>>,
        cells: &[Cell],
        stage: &mut dyn FnMut(Stage),
        take: Take<'_>,
    ) -> Result<(), RunEnds> {
        // All tables are there before anyone connects: on a shared cluster the others would hear of their making.
        let mut loaded = Vec::with_capacity(life.len());
        for at in life {
            loaded.push(match &setups[*at] {
                None => None,
                Some(setup) => self.taken(&setup.cell, setup.load(stage), take)?.map(|loaded| (*at, setup, loaded)),
            });
        }
        let mut alive: Vec<Option<Waiting<'_>>> = setups.iter().map(|_| None).collect();
        let mut elsewhere = Vec::new();
        for (at, setup, loaded) in loaded.into_iter().flatten() {
            let connected = loaded.connect(setup, stage).and_then(|mut waiting| {
                if watch.is_some() {
                    elsewhere.extend(waiting.worker.elsewhere()?);
                }
                Ok(waiting)
            });
            alive[at] = self.taken(&setup.cell, connected, take)?;
        }
        let restless = self.restless();
        if let Some(watch) = &mut watch {
            watch.begin(&self.processes(&alive), &elsewhere).map_err(|_| RunEnds::Cancelled)?;
        }
        for (order, number) in group.rounds.iter().zip(1..) {
            let takers: Vec<usize> = order.iter().copied().filter(|at| alive[*at].is_some()).collect();
            // A turn is settled when the next one has ended: it owns what its worker uses for a while after it.
            let mut unsettled: Option<Unsettled<'_>> = None;
            for (nth, at) in takers.iter().enumerate() {
                let between = watch.as_mut().map_or(Ok(()), |watch| watch.between());
                let Some(mut waiting) = alive[*at].take() else { continue };
                let mut before_ack = || watch.as_mut().map_or(Ok(()), |watch| watch.before_ack());
                let ended = between.and_then(|()| {
                    let turn = waiting.turn(stage, &mut before_ack);
                    turn.map_err(|failure| waiting.served.blame(failure, self.context.cancel))
                });
                let setup = waiting.setup;
                let mut cell = Cell { round: setup.planned.rounds.map(|_| number), ..setup.cell.clone() };
                let had = watch.as_mut().filter(|_| nth + 1 == takers.len()).map(|watch| {
                    let had = watch.round();
                    cell.findings.extend(watch.without_witness());
                    had
                });
                cell.findings.extend(restless.clone());
                if let Some(before) = unsettled.take() {
                    self.settle(before, cells, &mut alive, take)?;
                }
                if let Some(had) = had {
                    cell.cores = self.taken(&cell, had, take)?;
                }
                let turn = self.taken(&cell, ended, take)?;
                unsettled = turn.map(|turn| Unsettled { at: *at, waiting, cell, turn });
            }
            if let Some(last) = unsettled {
                self.settle(last, cells, &mut alive, take)?;
            }
        }
        Ok(())
    }

    /// Takes the figures of a turn. The contender waits for its next one, or ends.
    fn settle<'a>(
        &self,
        unsettled: Unsettled<'a>,
        cells: &[Cell],
        alive: &mut [Option<Waiting<'a>>],
        take: Take<'_>,
    ) -> Result<(), RunEnds> {
        let Unsettled { at, mut waiting, cell, turn } = unsettled;
        let setup = waiting.setup;
        let turn = waiting.settle(turn);
        if setup.planned.rounds.zip(cell.round).is_some_and(|((_, last), round)| round < last) {
            take(waiting.judge(cell, turn))?;
            alive[at] = Some(waiting);
        } else if let Some(mut closed) = self.taken(&cell.clone(), waiting.close(cell, turn), take)? {
            let reference = self.context.run.plan.reference.as_deref();
            let trouble = pictures::draw(self.context.folder, &setup.stem, reference, cells, &mut closed);
            closed.findings.extend(trouble.iter().map(|trouble| sentence(trouble)));
            take(closed)?;
        }
        Ok(())
    }

    /// Why the cluster that all cells share no longer answers anybody, as a clause, if so.
    fn gone(&self) -> Option<String> {
        match &self.context.plan.target {
            // Each cell starts one of its own.
            Target::Embedded => None,
            Target::Cassandra(_) => self.cassandra.as_ref()?.ended(),
            Target::Postgres(_) => self.postgres.as_ref()?.ended(),
            Target::Addresses { nodes, .. } => match silent(nodes).as_slice() {
                [] => self.locked_out(),
                silent => Some(format!("nothing accepts a connection at {}", silent.join(" and "))),
            },
        }
    }

    /// Watches the cores of a generation, unless no noise matters.
    fn watch<'a>(&self, group: &Group, setups: &'a [Option<Setup<'a>>]) -> Result<Option<Watch<'a>>, RunEnds> {
        let mut in_turns = setups.iter().flatten().filter(|one| one.planned.rounds.is_some());
        let first = self.context.plan.noise_share.and_then(|_| in_turns.next());
        let Some(first) = first else { return Ok(None) };
        let turns = group.rounds.iter().map(Vec::len).sum::<usize>();
        let watch = Watch::start(first, u32::try_from(turns).unwrap_or(u32::MAX));
        // Whatever else is the matter its rounds say.
        watch.map(Some).map_err(|_| RunEnds::Cancelled)
    }

    /// The processes of those that are alive, and of what answers them.
    fn processes(&self, alive: &[Option<Waiting<'_>>]) -> Vec<i32> {
        let alive = || alive.iter().flatten();
        let mut ours: Vec<i32> = alive().flat_map(|one| one.worker.pids()).collect();
        match &self.context.plan.target {
            Target::Addresses { .. } | Target::Postgres(_) => {
                let cores = alive().next().map_or_else(Vec::new, |one| one.setup.cores());
                ours.extend(local_servers(&ours, &cores));
            }
            Target::Embedded => ours.extend(alive().filter_map(|one| one.served.processes().ok()).flatten()),
            Target::Cassandra(_) => ours.extend(self.cassandra.iter().flat_map(Cluster::processes)),
        }
        ours
    }

    /// What the cell with this number runs; `None` for one without processes, of which all is said.
    fn set_up<'b>(
        &'b self,
        planned: &'b PlannedCell,
        number: usize,
        cells: &[Cell],
        take: Take<'_>,
    ) -> Result<Option<Setup<'b>>, RunEnds> {
        let mut cell = self.identity(planned);
        let probed = || (kind(cell.pass).probe)().err().map(|refusal| refusal.to_string()).unwrap_or_default();
        let refused = (planned.count == 0).then(probed).or_else(|| self.refused(planned));
        if let Some(why) = refused {
            let declared = ALL.iter().filter(|meter| !meter.over_idle).flat_map(|meter| meter.measures);
            let of_pass = declared.filter(|measure| measure.pass == Some(planned.pass));
            cell.measures.extend(of_pass.map(|measure| (measure.id, Measure::unavailable(&*why))));
            take(cell)?;
            return Ok(None);
        }
        let parts = [&cell.scenario, &cell.contender, &cell.arrangement].map(|part| file_stem(part)).join("-");
        let step = cell.step.as_ref().map_or(String::new(), |step| format!("-{}", file_stem(step)));
        let stem = format!("{number:03}-{parts}-{}{step}-{}", cell.pass.name(), cell.block);
        let (log, name) = self.context.folder.log(if planned.rounds.is_some() { TURNS_LOG } else { &stem });
        // Results name it, so it is there even when the worker has nothing to say.
        let made = std::fs::OpenOptions::new().create(true).append(true).open(log);
        cell.log = made.is_ok().then_some(name);
        let setup = self.load(planned, &cell, cells).and_then(|load| {
            let own = cell.clone();
            Setup::new(self, planned, load, number, own, stem)
        });
        self.taken(&cell, setup, take)
    }

    /// What succeeded; else the cell is taken with the reason.
    fn taken<T>(&self, cell: &Cell, ended: Result<T, CellFailure>, take: Take<'_>) -> Result<Option<T>, RunEnds> {
        match ended {
            Ok(ended) => Ok(Some(ended)),
            Err(CellFailure::Cancelled) => Err(RunEnds::Cancelled),
            Err(CellFailure::Refused(why)) => Err(RunEnds::Refused(why)),
            Err(failure) => {
                let failed = Some(self.redaction.apply(&failure.to_string()));
                take(Cell { failed, ..cell.clone() }).map(|()| None)
            }
        }
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
        let mut taken = Vec::new();
        let take: Take<'_> = &mut |cell| {
            taken.push(cell);
            Ok(())
        };
        CellBench::new(context, 0, Vec::new())
            .execute(&Group::alone(counting), &[], &mut |_| stages += 1, take)
            .unwrap();
        let cell = taken.remove(0);
        assert_eq!((stages, &cell.failed, &cell.log), (0, &None, &None));
        let ids: Vec<&str> = cell.measures.keys().collect();
        assert_eq!(ids, ["syscalls", "syscalls_per_statement"]);
        assert!(cell.measures.values().all(|measure| measure.get().is_none()));
    }
}
