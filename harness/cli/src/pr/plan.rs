//! The runs that judge a change: base and head, each under two names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use cqldyno_bench::builder::{BuildError, Builder};
use cqldyno_bench::{Arrangement, Contender, Plan, Programs};
use cqldyno_reports::{BuiltOnDemand, Pass, list};
use cqldyno_scenarios::{Operation, Scenario};

use crate::outcome::usage;
use crate::plan::contender;
use crate::trial::stamp;

/// What stands for the files as they are, committed or not.
pub const WORKING_TREE: &str = ".";
pub const PASSES: [Pass; 3] = [Pass::Counting, Pass::Allocations, Pass::Instructions];
/// Statements of a cell that counts.
const COUNT: u64 = 100_000;

/// The two states of a driver that are compared.
#[derive(Clone, Debug)]
pub struct Change {
    pub driver: String,
    pub base: Side,
    pub head: Side,
    pub root: PathBuf,
    /// Outside of any checkout, because the files of a checkout are what is built.
    pub cache: PathBuf,
    /// The calls of the driver that statements go through: by adapter, then by how a statement is issued.
    pub calls: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Clone, Debug)]
pub struct Side {
    /// As it was typed; a whole commit is shortened.
    pub name: String,
    pub contender: Contender,
}

impl Change {
    /// From `base` to `head` in the repository that `folder` belongs to; without a `driver` the one whose crate it has.
    pub fn find(programs: &Programs, folder: &Path, driver: Option<&str>, [base, head]: [&str; 2]) -> Result<Change> {
        let builder = Builder::find().map_err(usage)?;
        if base == WORKING_TREE {
            return Err(usage("BASE is the working tree, and HEAD is to be compared with a commit; name one as BASE"));
        }
        let root = builder.repository(folder).map_err(elsewhere)?;
        let commit = |name: &str| match name {
            WORKING_TREE => Ok(None),
            name => builder.commit(&root, name).map(Some).map_err(usage),
        };
        let (of_base, of_head) = (commit(base)?, commit(head)?);
        if of_base == of_head {
            return Err(usage(format!("BASE {base:?} and HEAD {head:?} are one commit; name two that differ")));
        }
        let driver = match driver {
            Some(driver) => driver.to_owned(),
            None => only(builder.drivers_in(&root).map_err(elsewhere)?, &root)?,
        };
        let side = |name: &str, commit: Option<String>| -> Result<Side> {
            let place = match &commit {
                Some(commit) => format!("git:{}#{commit}", root.display()),
                None => format!("path:{}", root.display()),
            };
            let name = if commit.as_deref() == Some(name) { &name[..7] } else { name };
            let contender = contender(&format!("{driver}@{place}"), programs)?;
            Ok(Side { name: name.to_owned(), contender })
        };
        let (base, head) = (side(base, of_base)?, side(head, of_head)?);
        let families = builder.families(&driver).map_err(|error| {
            usage(format!(
                "`cqldyno pr` builds crates in Rust, and {driver} is none ({error}); build its worker of both commits and compare them, as \
                 reports/ci/README.md says"
            ))
        })?;
        if !builder.drivers_in(&root).map_err(elsewhere)?.contains(&driver) {
            return Err(usage(format!(
                "--driver {driver} was given, and {} has no package of that driver; name the folder of the driver's checkout with -C, or \
                 run this in it",
                root.display()
            )));
        }
        let calls = families.into_iter().map(|family| (family.name(builder.sources()), family.calls)).collect();
        Ok(Change { base, head, cache: builder.cache().to_path_buf(), driver, root, calls })
    }

    /// The calls of the driver that the statements of `scenarios` went through, as the adapter of `built` declares them.
    pub fn exercised(&self, scenarios: &[Scenario], built: &BuiltOnDemand) -> Vec<String> {
        let Some(calls) = self.calls.get(&built.adapter) else { return Vec::new() };
        let statements = || scenarios.iter().flat_map(|scenario| &scenario.statements);
        let is_issued = |operation: &Operation| statements().any(|statement| statement.operation == *operation);
        let issued = Operation::ALL.into_iter().filter(is_issued);
        issued.filter_map(|operation| calls.get(operation.name()).cloned()).collect()
    }

    /// The plan of a run. With `time` contenders take turns for so long; without it counts alone are taken.
    pub fn plan(&self, scenarios: Vec<Scenario>, arrangement: Arrangement, time: Option<Duration>, seed: u64) -> Plan {
        let contenders = [&self.base, &self.base, &self.head, &self.head].map(|side| side.contender.clone());
        let mut plan = Plan::new(contenders.to_vec(), scenarios);
        plan.arrangements = vec![arrangement];
        (plan.count, plan.counting_count, plan.passes) = (COUNT, COUNT, PASSES.to_vec());
        (plan.reference, plan.named, plan.seed) = (Some(self.base.contender.to_string()), true, seed);
        plan.limit(time);
        match time {
            None => plan.with(|plan| plan.noise_share = None).with_blocks(1, COUNT),
            Some(_) => plan.with_turns(None),
        }
    }

    /// The folder of the runs: the one that was asked for, or one below the cache.
    pub fn folder(&self, asked: Option<&Path>) -> Result<PathBuf> {
        let Some(out) = asked else { return Ok(self.cache.join("runs").join(stamp())) };
        let out = std::path::absolute(out).map_err(usage)?;
        match self.head.name == WORKING_TREE && out.starts_with(&self.root) {
            false => Ok(out),
            true => Err(usage(format!(
                "--out {} lies in the working tree, which is built as HEAD and must not change meanwhile; name a folder outside of it",
                out.display()
            ))),
        }
    }
}

/// An error of usage about the folder that was looked at.
fn elsewhere(error: BuildError) -> anyhow::Error {
    match error {
        error @ BuildError::Checkout(..) => usage(format!("{error} with -C, or run this in it")),
        error => usage(error),
    }
}

fn only(mut drivers: Vec<String>, root: &Path) -> Result<String> {
    match (drivers.pop(), drivers.is_empty()) {
        (Some(driver), true) => Ok(driver),
        (None, _) => Err(usage(format!(
            "cqldyno has no adapter for a package in {}; name the folder of a driver's checkout with -C (`cqldyno drivers` lists the drivers)",
            root.display()
        ))),
        (Some(last), false) => {
            drivers.push(last);
            Err(usage(format!("{} has several drivers, {}; name one with --driver", root.display(), list(&drivers))))
        }
    }
}
