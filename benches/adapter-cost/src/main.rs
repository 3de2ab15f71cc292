//! What an adapter costs: CPU time a statement through the harness, against the program that the driver's documentation would
//! have you write, in interleaved rounds on the embedded node.
//!
//! Every round runs both, in an order that alternates, each against a fresh node: `cqldyno compare` for the harness, and
//! `cqldyno serve` with `cqldyno-idiomatic-NAME` for the other. The figure is the median over the rounds of the ratio within a
//! round; its interval is that of the median by order statistics, which asks nothing of the distribution.

mod harness;
mod idiomatic;
mod ratio;

use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use tabled::builder::Builder;
use tabled::settings::object::Columns;
use tabled::settings::{Alignment, Style};

use ratio::Ratios;

/// Compares each adapter with the program that its driver's documentation would have you write.
#[derive(Parser)]
struct Arguments {
    /// Drivers to compare
    #[arg(default_values = ["scylla", "cdrs-tokio", "cassandra-cpp"])]
    drivers: Vec<String>,
    /// `writes` and `reads`, as the hand-written programs know them
    #[arg(long = "scenario", value_name = "NAME", default_values = ["writes", "reads"])]
    scenarios: Vec<String>,
    /// Statements a run
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    count: u64,
    /// Rounds; each runs both programs once
    #[arg(long, value_name = "N", default_value_t = 9)]
    rounds: u32,
    /// tokio's runtime: `current`, or `multi:N` for N worker threads
    #[arg(long, value_name = "RUNTIME", default_value = "multi:2")]
    arrangement: String,
}

/// One run: what is asked of both programs.
pub(crate) struct Asked<'a> {
    /// Where all executables are: beside this one.
    pub(crate) folder: PathBuf,
    pub(crate) driver: &'a str,
    pub(crate) scenarios: &'a [String],
    pub(crate) count: u64,
    pub(crate) arrangement: &'a str,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let executable = std::env::current_exe().context("the system does not say where this program is")?;
    let folder = executable.parent().context("this program has no folder")?.to_path_buf();
    let mut table = Builder::new();
    table.push_record(["driver", "scenario", "harness", "idiomatic", "ratio", "95 % interval", "rounds"]);
    for driver in &arguments.drivers {
        let asked = Asked {
            folder: folder.clone(),
            driver,
            scenarios: &arguments.scenarios,
            count: arguments.count,
            arrangement: &arguments.arrangement,
        };
        for (scenario, ratios) in arguments.scenarios.iter().zip(rounds(&asked, arguments.rounds)?) {
            let interval = ratios
                .interval()
                .map_or("n/a: too few rounds".to_owned(), |[low, high]| format!("{low:.3} to {high:.3}"));
            table.push_record([
                driver.clone(),
                scenario.clone(),
                format!("{:.3} us", ratios.harness_us()),
                format!("{:.3} us", ratios.idiomatic_us()),
                format!("{:.3}", ratios.median()),
                interval,
                arguments.rounds.to_string(),
            ]);
        }
    }
    let mut table = table.build();
    table.with(Style::psql()).modify(Columns::new(2..), Alignment::right());
    println!(
        "CPU time a statement, medians; {} statements a run, 1024 in flight, {}, embedded node\n{table}",
        arguments.count, arguments.arrangement
    );
    Ok(())
}

/// The ratios of one driver, one entry a scenario.
fn rounds(asked: &Asked<'_>, rounds: u32) -> anyhow::Result<Vec<Ratios>> {
    let mut ratios: Vec<Ratios> = asked.scenarios.iter().map(|_| Ratios::default()).collect();
    for round in 1..=rounds {
        let (harness, idiomatic) = if round % 2 == 1 {
            let harness = harness::run(asked)?;
            (harness, idiomatic::run(asked)?)
        } else {
            let idiomatic = idiomatic::run(asked)?;
            (harness::run(asked)?, idiomatic)
        };
        for (index, ratio) in ratios.iter_mut().enumerate() {
            ratio.push(harness[index], idiomatic[index]);
        }
        let shown: Vec<String> = asked
            .scenarios
            .iter()
            .enumerate()
            .map(|(index, name)| format!("{name} {:.3} / {:.3} us", harness[index], idiomatic[index]))
            .collect();
        eprintln!("{} round {round} of {rounds}: {}", asked.driver, shown.join(", "));
    }
    Ok(ratios)
}
