//! The program that the driver's documentation would have you write, against a node of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::Asked;

#[derive(Deserialize)]
struct Line {
    user_us: u64,
    sys_us: u64,
    statements: u64,
    verified: u64,
}

#[derive(Deserialize)]
struct Listening {
    listening: String,
}

/// A node; it ends when its standard input closes.
struct Node {
    child: Child,
    address: String,
}

impl Node {
    fn start(asked: &Asked<'_>) -> anyhow::Result<Node> {
        // Both scenarios use the same keys, and the warm-up's lie behind them.
        let rows = (asked.count + asked.count / 4).to_string();
        let mut child = Command::new(asked.folder.join("cqldyno"))
            .args(["serve", "--control", "--port", "0", "--expect-rows", &rows])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cqldyno serve could not be started; `make build` builds it")?;
        let mut line = String::new();
        let output = child.stdout.as_mut().context("the node has no output")?;
        BufReader::new(output).read_line(&mut line).context("the node did not say where it listens")?;
        let listening: Listening = serde_json::from_str(&line).context("the node did not say where it listens")?;
        Ok(Node { child, address: listening.listening })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // A node that cannot be waited for has ended.
        let _ = self.child.wait();
    }
}

/// CPU microseconds a statement, one entry a scenario.
pub(crate) fn run(asked: &Asked<'_>) -> anyhow::Result<Vec<f64>> {
    let node = Node::start(asked)?;
    if asked.scenarios.first().is_some_and(|scenario| scenario != "writes") {
        run_one(asked, &node, "writes")?;
    }
    asked.scenarios.iter().map(|scenario| run_one(asked, &node, scenario)).collect()
}

fn run_one(asked: &Asked<'_>, node: &Node, scenario: &str) -> anyhow::Result<f64> {
    let program = asked.folder.join(format!("cqldyno-idiomatic-{}", asked.driver));
    let output = Command::new(&program)
        .args(["--target", &node.address, "--scenario", scenario, "--runtime", asked.arrangement])
        .args(["--count", &asked.count.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{} could not be started; `make adapter-cost` builds it", program.display()))?;
    ensure!(output.status.success(), "{} ended with {}", program.display(), output.status);
    let line: Line =
        serde_json::from_slice(&output.stdout).with_context(|| format!("{} printed no figures", program.display()))?;
    ensure!(
        line.statements == asked.count && line.verified == asked.count,
        "{} executed {} statements of {scenario} and found {} answers right, where both should be {}",
        program.display(),
        line.statements,
        line.verified,
        asked.count
    );
    Ok((line.user_us + line.sys_us) as f64 / line.statements as f64)
}
