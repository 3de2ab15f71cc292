//! What floor does for a cell: it makes the schema and loads rows before the contender starts, and reads rows back when the
//! contender is gone.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use cqldyno_protocol::{Done, Job, Mode};
use cqldyno_reports::{Measure, whole};
use cqldyno_scenarios::{LoadPart, Operation};
use cqldyno_tapefile::{loading, reading_back};

use super::Stage;
use super::served::Served;
use super::setup::Setup;
use crate::judge::ReadBack;
use crate::plan::POSTGRES;
use crate::process::cancel::Cancel;
use crate::process::failure::CellFailure;
use crate::process::programs::{FLOOR, NOOP};
use crate::process::worker::{Bounds, Look, Worker};

/// Is prepared and never executed.
const NOTHING: &str = "SELECT key FROM system.local";

pub(super) struct Floored {
    pub done: Done,
    /// From its first statement to its last answer.
    pub lasted: Duration,
    pub exit: Option<String>,
}

impl Setup<'_> {
    /// Makes the schema and loads what the scenario reads. Returns a sentence about an exit of floor that is not a good one.
    pub(super) fn load_rows(
        &self,
        nodes: &[SocketAddr],
        look: Look<'_>,
        stage: &mut dyn FnMut(Stage),
    ) -> Result<Option<String>, CellFailure> {
        let made = match self.recording {
            Some((recording, _)) => recording.loads().map_err(CellFailure::Machine)?,
            None => None,
        };
        let loaded = || self.workload.load().iter().map(LoadPart::rows).sum();
        let of = if self.recording.is_some() { made.as_ref().map_or(0, |made| made.tickets) } else { loaded() };
        stage(Stage::Loading { rows: 0, of });
        let progress = &mut |rows| stage(Stage::Loading { rows, of });
        let cancel = self.bench.context.cancel;
        if self.recording.is_some() {
            self.execute(self.scenario.schema.clone(), "schema", nodes, cancel)?;
        }
        let job = match (&made, self.recording) {
            (Some(made), _) => self.floor_plays(loading(&self.scenario), made, nodes),
            (None, Some(_)) => return Ok(None),
            (None, None) => self.floors_job(Mode::Load, nodes),
        };
        let Floored { done, exit, .. } = self.floor_does(job, "load", cancel, look, progress)?;
        match done.verified == of {
            true => Ok(exit),
            false => Err(CellFailure::Worker(format!(
                "{} rows were to be loaded, and {} were.",
                whole(of as f64),
                whole(done.verified as f64)
            ))),
        }
    }

    /// Reads a sample of the rows back that the contender wrote.
    pub(super) fn read_back(&self, served: &mut Served<'_>, exits: &mut Vec<String>) -> Result<ReadBack, CellFailure> {
        let none =
            |why: &str| Ok(ReadBack { measure: Measure::unavailable(why), wrong: 0, tickets: None, doubt: None });
        if let (Served::Nobody, Err(why)) = (&*served, served.processes()) {
            return none(&why);
        }
        let made = match self.recording {
            Some((recording, start)) => recording.read_back(start, self.load.count).map_err(CellFailure::Machine)?,
            None => None,
        };
        if made.is_none() && (self.recording.is_some() || self.workload.read_back().is_empty()) {
            return none("No statement of the scenario writes rows and says how they are read back.");
        }
        if made.as_ref().is_some_and(|made| made.tickets == 0) {
            return none("Each row that the tape writes is written again with other values, so none was read back.");
        }
        let nodes = served.nodes().to_vec();
        let job = match &made {
            Some(made) => self.floor_plays(reading_back(&self.scenario), made, &nodes),
            None => self.floors_job(Mode::ReadBack, &nodes),
        };
        let cancel = self.bench.context.cancel;
        let done = self.floor_does(job, "read-back", cancel, &mut || served.ended(), &mut |_| ());
        match done.map_err(|failure| served.blame(failure, cancel)) {
            Ok(Floored { done, exit, .. }) => {
                exits.extend(exit);
                Ok(ReadBack::of(done))
            }
            Err(failure @ (CellFailure::Cancelled | CellFailure::Refused(_) | CellFailure::Server(_))) => Err(failure),
            Err(failure) => {
                let why = format!("The inserted rows could not be read back by floor: {failure}");
                let why = self.bench.redaction.apply(&why);
                let measure = Measure::unavailable(why.clone());
                Ok(ReadBack { measure, wrong: u64::MAX, tickets: None, doubt: Some(why) })
            }
        }
    }

    /// Has floor execute schema statements, and nothing else, unless `cancel` ends it.
    pub(super) fn execute(
        &self,
        schema: Vec<String>,
        what: &str,
        nodes: &[SocketAddr],
        cancel: &Cancel,
    ) -> Result<(), CellFailure> {
        let mut job = self.floors_job(Mode::Load, nodes);
        job.scenario.schema = schema;
        job.tape = None;
        // Nothing is issued, so one statement that needs no table will do.
        job.scenario.statements.truncate(1);
        for one in &mut job.scenario.statements {
            (one.cql, one.operation, one.values) = (NOTHING.to_owned(), Operation::Execute, Vec::new());
            (one.size, one.logged, one.keys, one.keys_of, one.adds) = (None, false, None, None, None);
            (one.load, one.expect, one.read_back) = (None, None, None);
        }
        self.floor_does(job, what, cancel, &mut || None, &mut |_| ()).map(drop)
    }

    pub(super) fn floor_does(
        &self,
        job: Job,
        what: &str,
        cancel: &Cancel,
        look: Look<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Floored, CellFailure> {
        // Floor speaks CQL alone. A witness is floor on an embedded node, whatever the target. Without a server a tape is all there is to do.
        let name = if job.target.is_empty() {
            NOOP
        } else if job.credentials.is_some() && self.bench.postgres.is_some() {
            POSTGRES
        } else {
            FLOOR
        };
        let program = self.program(name)?;
        let (launch, bounds) = self.launch(&program, &format!("-{what}"));
        let (mut floor, _) = Worker::at_gate(launch, Bounds { cancel, ..bounds })?.open()?;
        floor.job(job, look)?;
        let lasted = Duration::from_nanos(floor.go(look, progress)?.wall_ns);
        let done = floor.ack()?;
        Ok(Floored { done, lasted, exit: floor.finish() })
    }

    pub(super) fn program(&self, name: &str) -> Result<PathBuf, CellFailure> {
        let program = self.bench.context.programs.worker(name);
        program.map_err(|error| CellFailure::Unavailable(error.to_string()))
    }
}
