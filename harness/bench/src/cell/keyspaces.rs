//! The keyspaces of a run on an existing cluster: made before its first cell under names of its own, and dropped at its end.
//!
//! Floor does it, so that an address, a password or a certificate that cannot be used ends the run before any contender tries it.

use std::collections::{BTreeMap, BTreeSet};

use cqldyno_cassandra::CassandraError;
use cqldyno_reports::{Role, Run, list};
use cqldyno_scenarios::Scenario;
use sha2::{Digest, Sha256};

use super::setup::Setup;
use super::{CellBench, CellContext};
use crate::plan::pass::Load;
use crate::plan::schedule::Schedule;
use crate::plan::target::{Target, TargetError};
use crate::plan::{Plan, PlannedCell};
use crate::process::cancel::Cancel;
use crate::process::failure::CellFailure;

/// Whether the run makes keyspaces that nobody else has, and drops them.
fn has_own(plan: &Plan) -> bool {
    matches!(plan.target, Target::Addresses { .. }) && !plan.keep
}

/// What the names of a contender's keyspaces end with: its number, after an id of the run if the keyspaces are the run's own.
pub(super) fn suffix(plan: &Plan, run: &Run, contender: usize) -> String {
    if !has_own(plan) {
        return format!("_{contender}");
    }
    let digest = Sha256::digest(run.started.to_string());
    let id: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("_{id}_{contender}")
}

/// The run's own keyspaces, each with its CREATE.
pub(crate) fn own_keyspaces(plan: &Plan, run: &Run, schedule: &Schedule<'_>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    if !has_own(plan) {
        return all;
    }
    let asked: BTreeSet<(usize, usize)> = sending(run, schedule).map(|cell| (cell.contender, cell.scenario)).collect();
    for (contender, scenario) in asked {
        let own = plan.scenarios[scenario].with_own_keyspaces(&suffix(plan, run, contender));
        for (name, cql) in own.iter().flat_map(Scenario::keyspaces) {
            all.entry(name).or_insert(cql);
        }
    }
    all
}

fn sending(run: &Run, schedule: &Schedule<'_>) -> impl Iterator<Item = PlannedCell> {
    let cells = schedule.first_attempts(schedule.blocks());
    cells.filter(|cell| run.contenders[cell.contender].role != Role::Noop)
}

impl CellBench<'_> {
    /// Checks that floor can log in, and makes those keyspaces of the run that are not there.
    ///
    /// # Errors
    /// When the cluster cannot be used, or has one of that name.
    pub(super) fn make_keyspaces(&mut self, says: &mut dyn FnMut(&str)) -> Result<(), TargetError> {
        let CellContext { plan, run, schedule, cancel, .. } = self.context;
        if plan.access.tls.as_ref().is_some_and(|tls| tls.ca.is_none()) {
            says("The nodes' certificates are not verified, because --tls has no `ca`.");
        }
        let failed = |failure: CellFailure| match failure {
            CellFailure::Cancelled => TargetError::Cassandra(CassandraError::Cancelled),
            CellFailure::Refused(why) => TargetError::Refused(self.redaction.apply(&why)),
            other => TargetError::Unusable(plan.target.to_string(), self.redaction.apply(&other.to_string())),
        };
        if sending(run, schedule).next().is_none() {
            return Ok(());
        }
        self.execute_schema(Vec::new(), "login", cancel).map_err(failed)?;
        for (name, cql) in own_keyspaces(plan, run, schedule) {
            let is_known = self.keyspaces.contains(&name);
            if !is_known {
                // It may be there whatever floor says, unless it was there before.
                self.keyspaces.push(name);
            }
            match self.execute_schema(vec![cql], "create", cancel) {
                // A run that goes on may find those of before, or a cluster that lost them.
                Ok(()) => {}
                Err(CellFailure::Exists(_)) if is_known => {}
                Err(failure) => {
                    if let CellFailure::Exists(_) = failure {
                        self.keyspaces.pop();
                    }
                    return Err(failed(failure));
                }
            }
        }
        Ok(())
    }

    /// Why floor can no longer log in, as a clause, if so.
    pub(super) fn locked_out(&self) -> Option<String> {
        let failure = self.execute_schema(Vec::new(), "login", self.context.cancel).err()?;
        // What the machine failed in tells nothing of the cluster.
        let is_told =
            !matches!(failure, CellFailure::Cancelled | CellFailure::Unavailable(_) | CellFailure::Machine(_));
        is_told.then(|| self.redaction.apply(failure.to_string().trim_end_matches('.')))
    }

    /// Drops the run's keyspaces if the cluster `lets_in`: another login may lock the account. Returns a sentence about those that may
    /// still be there. A run that the user ended has time for it, too.
    pub(super) fn drop_keyspaces(&mut self, lets_in: bool) -> Option<String> {
        let mut why = String::new();
        while let Some(name) = self.keyspaces.last().filter(|_| lets_in) {
            let cql = format!("DROP KEYSPACE IF EXISTS \"{name}\"");
            // After one that could not be dropped the others would only wait as long.
            if let Err(failure) = self.execute_schema(vec![cql], "drop", &Cancel::new()) {
                why = format!(" {}", self.redaction.apply(&failure.to_string()));
                break;
            }
            self.keyspaces.pop();
        }
        (!self.keyspaces.is_empty()).then(|| {
            format!(
                "These keyspaces of the run may still be on {}: {}.{why} Go on with `cqldyno compare --resume {}`, which drops them, or \
                 drop them by hand.",
                self.context.plan.target,
                list(&self.keyspaces),
                self.context.folder.path().display()
            )
        })
    }

    /// Has floor log in and execute these statements.
    fn execute_schema(&self, schema: Vec<String>, what: &str, cancel: &Cancel) -> Result<(), CellFailure> {
        let CellContext { plan, run, schedule, .. } = self.context;
        let cell = sending(run, schedule).next();
        let (Target::Addresses { nodes, .. }, Some(cell)) = (&plan.target, cell) else {
            return Err(CellFailure::Unavailable("No contender sends anything to an existing cluster.".to_owned()));
        };
        let load = Load { count: cell.count, ..schedule.step(&cell).load }.within(&plan.scenarios[cell.scenario]);
        let setup = Setup::new(self, &cell, load, self.number, self.identity(&cell), "keyspaces".to_owned())?;
        setup.execute(schema, what, nodes, cancel)
    }
}
