//! The adapter in its worker, as `cqldyno compare` runs it.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use crate::Asked;

#[derive(Deserialize)]
struct Output {
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    scenario: String,
    measures: BTreeMap<String, Measure>,
    void: Option<String>,
    failed: Option<String>,
}

#[derive(Deserialize)]
struct Measure {
    value: Option<f64>,
}

/// CPU microseconds a statement, one entry a scenario.
pub(crate) fn run(asked: &Asked<'_>) -> anyhow::Result<Vec<f64>> {
    let out = std::env::temp_dir().join(format!("cqldyno-adapter-cost-{}", std::process::id()));
    let mut command = Command::new(asked.folder.join("cqldyno"));
    command.args(["compare", asked.driver, "--quiet", "--no-counting", "--format", "json", "--blocks", "1"]);
    command.args(["--arrangement", asked.arrangement, "--count", &asked.count.to_string()]).arg("--out").arg(&out);
    for scenario in asked.scenarios {
        command.args(["--scenario", scenario]);
    }
    let output = command.stderr(Stdio::inherit()).output().with_context(|| {
        format!("{} could not be started; `make build` builds it", asked.folder.join("cqldyno").display())
    })?;
    // What it wrote is on standard output too.
    let _ = std::fs::remove_dir_all(&out);
    ensure!(output.status.success(), "cqldyno compare {} ended with {}", asked.driver, output.status);
    let output: Output = serde_json::from_slice(&output.stdout).context("cqldyno compare printed no result")?;
    asked.scenarios.iter().map(|scenario| cpu_us(&output.cells, scenario)).collect()
}

fn cpu_us(cells: &[Cell], scenario: &str) -> anyhow::Result<f64> {
    let cell = cells.iter().find(|cell| cell.scenario == scenario);
    let cell = cell.with_context(|| format!("cqldyno compare printed no cell of the scenario {scenario}"))?;
    if let Some(why) = cell.failed.as_ref().or(cell.void.as_ref()) {
        bail!("the scenario {scenario} gave no figure through the harness: {why}");
    }
    let measure = cell.measures.get("cpu_per_statement").and_then(|measure| measure.value);
    measure.with_context(|| format!("cqldyno compare printed no CPU time of the scenario {scenario}"))
}
