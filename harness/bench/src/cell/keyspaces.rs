//! The keyspaces of a run on an existing cluster: made before its first cell, never one that was there, and dropped at its end.
//!
//! Floor does it, so that an address, a password or a certificate that cannot be used ends the run before any contender tries it.

use cqldyno_cassandra::CassandraError;
use cqldyno_reports::{PlanInfo, Role, Run, list};

use super::CellBench;
use super::setup::Setup;
use crate::plan::PlannedCell;
use crate::plan::pass::Load;
use crate::plan::target::{Target, TargetError};
use crate::process::cancel::Cancel;
use crate::process::failure::CellFailure;

impl CellBench<'_> {
    /// Makes every keyspace of the run. With `--keep` it only looks whether the cluster lets floor in.
    ///
    /// # Errors
    /// When one is there that this run did not make, or the cluster cannot be used.
    pub(super) fn make_keyspaces(&mut self, says: &mut dyn FnMut(&str)) -> Result<(), TargetError> {
        let (plan, run, cancel) = (self.context.plan, self.context.run, self.context.cancel);
        let Target::Addresses { text, nodes } = &plan.target else { return Ok(()) };
        if plan.access.tls.as_ref().is_some_and(|tls| tls.ca.is_none()) {
            says("The nodes' certificates are not verified, because no --tls-ca was given.");
        }
        let failed = |keyspace: &str, failure: CellFailure| match failure {
            CellFailure::Cancelled => TargetError::Cassandra(CassandraError::Cancelled),
            CellFailure::Refused(why) => TargetError::Refused(self.redaction.apply(&why)),
            CellFailure::Exists(_) => TargetError::Exists(keyspace.to_owned(), text.clone()),
            other => TargetError::Unusable(text.clone(), self.redaction.apply(&other.to_string())),
        };
        let cells = self.cells_with_keyspaces();
        let mut made: Vec<String> = Vec::new();
        let mut ended = Ok(());
        'cells: for cell in &cells {
            let setup = match self.to_make(cell) {
                Ok(setup) => setup,
                Err(failure) => {
                    ended = Err(failed("", failure));
                    break;
                }
            };
            if plan.keep {
                return setup.execute(Vec::new(), "look", nodes, cancel).map_err(|failure| failed("", failure));
            }
            for (name, cql) in setup.scenario.keyspaces() {
                if made.contains(&name) {
                    continue;
                }
                // One that was made before the run broke off, and has gone since, is made by the first cell.
                if !run.plan.keyspaces.contains(&name) {
                    if let Err(failure) = setup.execute(vec![cql], "keyspace", nodes, cancel) {
                        ended = Err(failed(&name, failure));
                        break 'cells;
                    }
                }
                made.push(name);
                // A run that is killed knows which are its own when it goes on.
                let plan = PlanInfo { keyspaces: made.clone(), ..run.plan.clone() };
                if let Err(error) = self.context.folder.write_run(&Run { plan, ..run.clone() }) {
                    ended = Err(TargetError::Unusable(text.clone(), error.to_string()));
                    break 'cells;
                }
            }
        }
        // Those of a run that goes on are its own, whether or not it came to them again.
        made.extend(run.plan.keyspaces.iter().filter(|name| !made.contains(name)).cloned().collect::<Vec<_>>());
        self.keyspaces = made;
        ended
    }

    /// Drops them; what is left stays in `keyspaces`, and a sentence says so. A run that the user ended has time for it, too.
    pub(super) fn drop_keyspaces(&mut self) -> Option<String> {
        let Target::Addresses { nodes, text } = &self.context.plan.target else { return None };
        let mut why = None;
        let cells = self.cells_with_keyspaces();
        let setup = cells.first().and_then(|cell| self.to_make(cell).ok())?;
        let mut left = Vec::new();
        for name in &self.keyspaces {
            // After one that could not be dropped the others would only wait as long.
            let dropped = match why {
                None => setup.execute(vec![dropping(name)], "drop", nodes, &Cancel::new()),
                Some(_) => Err(CellFailure::Cancelled),
            };
            if let Err(failure) = dropped {
                left.push(name.clone());
                why.get_or_insert(self.redaction.apply(&failure.to_string()));
            }
        }
        self.keyspaces = left;
        why.map(|why| {
            format!(
                "These keyspaces of the run could not be dropped on {text}: {}. {why} Drop them by hand.",
                list(&self.keyspaces)
            )
        })
    }

    /// A cell of each contender that sends something, and of each scenario.
    fn cells_with_keyspaces(&self) -> Vec<PlannedCell> {
        let (run, schedule) = (self.context.run, self.context.schedule);
        let is_fit = |cell: &PlannedCell| {
            let row = &run.contenders[cell.contender];
            row.role != Role::Noop && row.unavailable.is_none()
        };
        let mut cells: Vec<PlannedCell> = Vec::new();
        for cell in schedule.first_attempts(schedule.blocks()).filter(is_fit) {
            let is_same = |known: &PlannedCell| (known.contender, known.scenario) == (cell.contender, cell.scenario);
            if !cells.iter().any(is_same) {
                cells.push(cell);
            }
        }
        cells
    }

    fn to_make<'b>(&'b self, cell: &'b PlannedCell) -> Result<Setup<'b>, CellFailure> {
        let load = Load {
            count: self.context.plan.scenarios[cell.scenario].limits.count(1_000),
            warmup: 0,
            ..self.context.schedule.step(cell).load
        };
        Setup::new(self, cell, load, self.number, self.identity(cell), "keyspaces".to_owned())
    }
}

fn dropping(keyspace: &str) -> String {
    format!("DROP KEYSPACE IF EXISTS \"{keyspace}\"")
}
