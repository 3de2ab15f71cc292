//! What `compare` and `run` are asked alike, and the plan that it makes.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use cqldyno_bench::{Arrangement, Contender, Deadlines, KNOWN, Plan, Programs, Target};
use cqldyno_driver_api::{Consistency, Settings};

use crate::command::scenarios;
use crate::count::{count, count_or_none, duration};
use crate::outcome::usage;
use crate::password::Login;
use crate::suggestion::suggestion;

/// Statements a cell where none were asked for.
const COUNT: u64 = 500_000;
/// Blocks where neither blocks nor a count were asked for.
const BLOCKS: u32 = 3;

/// What is asked of every contender.
#[derive(clap::Args)]
pub struct Asked {
    /// What is asked: writes, reads, mixed, or the path of a TOML file. Give it several times for several [default: writes,
    /// reads and mixed]
    #[arg(long, value_name = "NAME|FILE")]
    scenario: Vec<String>,
    /// Statements a cell, for example 10M or 250k [default: 500k]
    #[arg(long, value_name = "N", value_parser = count)]
    count: Option<u64>,
    /// Statements in flight
    #[arg(long, value_name = "N", value_parser = count, default_value = "1024")]
    concurrency: u64,
    /// How often every contender is run [default: 3; 1 with --count]
    #[arg(long, value_name = "N", value_parser = count)]
    blocks: Option<u64>,
    /// Statements before each window, which are not measured
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "20k")]
    warmup: u64,
    /// Who answers: `embedded`, a node of ours in memory, or the addresses of an existing cluster
    #[arg(long, value_name = "embedded|HOST[:PORT],...", default_value = "embedded")]
    target: String,
    #[command(flatten)]
    login: Login,
    /// `equal`: the same settings for every driver; `default`: every driver as its documentation's first example would
    #[arg(long, value_name = "equal|default", default_value = "equal", hide_possible_values = true)]
    settings: SettingsChoice,
    /// Data connections to each node
    #[arg(long, value_name = "N", value_parser = count, default_value = "1")]
    connections: u64,
    /// How client and server sit on the machine: `current` or `multi:N` (tokio's runtime, with N worker threads), with
    /// `pinned+` before it to give both cores of their own. Several with commas
    #[arg(long, value_name = "ARRANGEMENT,...", value_delimiter = ',', default_value = "multi:2")]
    arrangement: Vec<String>,
    /// Rows a page
    #[arg(long, value_name = "N", value_parser = page_size, default_value = "5000")]
    page_size: i32,
    /// End a worker that has issued nothing new for this long, for example 30s
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    stall: Duration,
    /// Chooses the order of the keys
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "1")]
    seed: u64,
    /// Do not count system calls, which takes a short cell more for each contender and scenario
    #[arg(long)]
    no_counting: bool,
    /// Keep the run in the folder DIR [default: one below cqldyno-runs/ named by the time]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Say nothing on standard error but errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SettingsChoice {
    Equal,
    Default,
}

impl Asked {
    /// The plan for `contenders`, each as it was written.
    ///
    /// # Errors
    /// When something cannot be meant; the error is one of usage.
    pub fn plan(&self, contenders: &[String], reference: Option<String>, programs: &Programs) -> Result<Plan> {
        let scenarios: Vec<String> = match self.scenario.as_slice() {
            [] => cqldyno_scenarios::builtins().into_iter().map(|scenario| scenario.name).collect(),
            named => named.to_vec(),
        };
        let target = Target::parse(&self.target).map_err(usage)?;
        let credentials = self.login.read()?;
        if target.is_embedded() && credentials.is_some() {
            return Err(usage(
                "a user was given for the embedded target, which asks for none; name a cluster with --target, or leave \
                 --user out",
            ));
        }
        Ok(Plan {
            contenders: contenders.iter().map(|text| contender(text, programs)).collect::<Result<_>>()?,
            scenarios: scenarios.iter().map(|name| scenarios::find(name)).collect::<Result<_>>()?,
            arrangements: self
                .arrangement
                .iter()
                .map(|text| text.parse::<Arrangement>().map_err(usage))
                .collect::<Result<_>>()?,
            count: self.count.unwrap_or(COUNT),
            concurrency: usize::try_from(self.concurrency).map_err(usage)?,
            warmup: self.warmup,
            blocks: match (self.blocks, self.count) {
                (Some(blocks), _) => u32::try_from(blocks).map_err(usage)?,
                (None, Some(_)) => 1,
                (None, None) => BLOCKS,
            },
            counting: !self.no_counting,
            connections: usize::try_from(self.connections).map_err(usage)?,
            page_size: self.page_size,
            consistency: Consistency::LocalOne,
            request_timeout_ms: Some(30_000),
            settings: match self.settings {
                SettingsChoice::Equal => Settings::Equal,
                SettingsChoice::Default => Settings::Default,
            },
            target,
            credentials,
            seed: self.seed,
            reference,
            serve_arguments: Vec::new(),
            deadlines: Deadlines { stall: self.stall, ..Deadlines::default() },
            out: self.out.clone(),
        })
    }
}

fn page_size(text: &str) -> Result<i32, String> {
    i32::try_from(count(text)?).map_err(|_| format!("a page has at most {} rows", i32::MAX))
}

/// A contender whose driver is known, built here or not.
fn contender(text: &str, programs: &Programs) -> Result<Contender> {
    let contender: Contender = text.parse().map_err(usage)?;
    let name = contender.name.as_str();
    if KNOWN.contains(&name) || programs.worker(name).is_ok() {
        return Ok(contender);
    }
    let known = programs.names();
    Err(usage(format!(
        "there is no driver {name:?}: there are {}, and any worker `cqldyno-driver-NAME` beside cqldyno or in a folder named in \
         CQLDYNO_WORKERS.{}",
        known.join(", "),
        suggestion(name, known.iter().map(String::as_str))
    )))
}
