//! What floor does for a cell: it makes the schema and loads rows before the contender starts, and reads rows back when the
//! contender is gone.

use std::net::SocketAddr;

use cqldyno_meter::Outcome;
use cqldyno_protocol::{Done, Mode};
use cqldyno_scenarios::LoadPart;

use super::Attempt;
use crate::judge::agreement::grouped;
use crate::process::failure::CellFailure;
use crate::run::observer::Stage;
use crate::process::worker::{Look, Waiting};

/// The driver that loads rows and reads them back.
const FLOOR: &str = "floor";

/// Rows of the window that were read back.
pub(super) struct ReadBack {
    /// So many.
    pub of: u64,
    /// Those that were as they should be.
    pub verified: u64,
    /// What was wrong first.
    first: String,
}

impl ReadBack {
    fn new(done: Done) -> ReadBack {
        let first = done.errors.into_values().next().map(|error| error.first).unwrap_or_default();
        ReadBack { of: done.issued, verified: done.verified, first }
    }

    /// What voids the figures because of them.
    pub(super) fn void(&self) -> Option<String> {
        (self.verified != self.of).then(|| {
            format!(
                "{} of the inserted rows were read back by floor, and {} were not as they should be; the first: {}.",
                grouped(self.of),
                grouped(self.of - self.verified),
                self.first.trim_end_matches('.')
            )
        })
    }
}

impl Attempt<'_> {
    /// Makes the schema and loads what the scenario reads, by floor: never by the contender. With an exit of floor that is
    /// not a good one comes a sentence about it.
    pub(super) fn load(
        &self,
        nodes: &[SocketAddr],
        look: Look<'_>,
        stage: &mut dyn FnMut(Stage),
    ) -> Result<Option<String>, CellFailure> {
        let of = self.workload()?.load().iter().map(LoadPart::rows).sum();
        stage(Stage::Loading { rows: 0, of });
        let progress = &mut |rows| stage(Stage::Loading { rows, of });
        let (done, exit) = self.floor(Mode::Load, "load", nodes, look, progress)?;
        if done.verified != of {
            return Err(CellFailure::Machine(format!(
                "{} rows were to be loaded and {} were",
                grouped(of),
                grouped(done.verified)
            )));
        }
        Ok(exit)
    }

    /// Reads a sample of the rows that the window wrote, by floor; why not, if it was not. On the embedded node, which nobody but
    /// the contender uses, rows that cannot be read are a reason to believe none of its figures; elsewhere it is a finding.
    pub(super) fn read_back(
        &self,
        nodes: &[SocketAddr],
        look: Look<'_>,
        exits: &mut Vec<String>,
        outcome: &mut Outcome,
    ) -> Result<Result<ReadBack, String>, CellFailure> {
        if self.workload()?.read_back().is_empty() {
            return Ok(Err("No statement of the scenario writes rows and says how they are read back.".to_owned()));
        }
        match self.floor(Mode::ReadBack, "read-back", nodes, look, &mut |_| ()) {
            Ok((done, exit)) => {
                exits.extend(exit);
                Ok(Ok(ReadBack::new(done)))
            }
            Err(failure @ (CellFailure::Cancelled | CellFailure::Server(_))) => Err(failure),
            Err(failure) => {
                let why = format!("The inserted rows could not be read back by floor: {failure}");
                match self.plan.target.is_embedded() {
                    true => outcome.voids.push(why.clone()),
                    false => outcome.findings.push(why.clone()),
                }
                Ok(Err(why))
            }
        }
    }

    /// One job of floor, with what is said of an exit that is not a good one.
    fn floor(
        &self,
        mode: Mode,
        what: &str,
        nodes: &[SocketAddr],
        look: Look<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Done, Option<String>), CellFailure> {
        let program = self.bench.context.programs.worker(FLOOR);
        let program = program.map_err(|error| CellFailure::Unavailable(error.to_string()))?;
        let (log, _) = self.bench.context.folder.log(&format!("{}-{what}", self.stem));
        let (mut floor, _) = Waiting::start(self.launch_of(&program, log))?.open()?;
        floor.job(self.job(mode, nodes), look)?;
        floor.go(look, progress)?;
        floor.ack()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_driver_api::ErrorKind;
    use cqldyno_protocol::ErrorCount;

    #[test]
    fn rows_that_came_back_otherwise_void_with_the_first_of_them() {
        let done = |verified| {
            let wrong = ErrorCount { count: 1_000 - verified, first: "for key 7 1 row was expected.".to_owned() };
            let errors = [(ErrorKind::WrongRow, wrong)].into();
            Done { issued: 1_000, answered: 1_000, verified, errors, ..Done::default() }
        };
        assert_eq!(ReadBack::new(Done { errors: [].into(), ..done(1_000) }).void(), None);
        assert_eq!(
            ReadBack::new(done(997)).void().unwrap(),
            "1,000 of the inserted rows were read back by floor, and 3 were not as they should be; the first: for key 7 1 row \
             was expected."
        );
    }
}
