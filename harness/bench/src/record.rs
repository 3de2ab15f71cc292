//! What a run keeps: its folder, its plan and machine as `run.json` holds them, and how they are read back.

pub(crate) mod folder;
pub(crate) mod kept;
pub(crate) mod resume;

use std::collections::BTreeMap;

use cqldyno_meter::in_words;
use cqldyno_reports::Environment;

use crate::plan::topology::write_list;

/// The environment's name for the cores that may be used.
pub(crate) const CORES: &str = "usable cores";

/// The environment's name for what a loop takes on all cores at once.
pub(crate) const CROWDING: &str = "loop on all cores at once";

/// The environment's name for what was done before the first cell.
pub(crate) const PREPARED: &str = "Cassandra";

/// The same for a PostgreSQL: its version.
pub(crate) const PREPARED_POSTGRES: &str = "PostgreSQL";

pub(crate) fn environment(machine: &cqldyno_meter::Environment) -> Environment {
    let unknown = || "unknown".to_owned();
    let mut more = BTreeMap::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            more.insert(name.to_owned(), value);
        }
    };
    for (name, known) in machine.facts() {
        add(name, Some(in_words(known)));
    }
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
pub(crate) fn sample_run(
    plan: &crate::plan::Plan,
    placements: &[crate::plan::placement::Placement],
) -> cqldyno_reports::Run {
    use crate::process::{failure::CellFailure, introduction::row};
    let missing = Err(CellFailure::Unavailable("There is none.".to_owned()));
    cqldyno_reports::Run {
        schema: cqldyno_reports::SCHEMA_VERSION,
        plan: plan.info(placements),
        contenders: plan.ids().iter().zip(&plan.contenders).map(|(id, one)| row(id, one, &missing)).collect(),
        scenarios: plan.scenarios.iter().map(self::kept::scenario_info).collect(),
        measures: crate::judge::readings::measures(),
        ..Default::default()
    }
}
