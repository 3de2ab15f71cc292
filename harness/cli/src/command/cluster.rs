//! `cqldyno cluster`: a real Cassandra that is kept between runs.

use anyhow::Result;
use clap::Subcommand;
use cqldyno_bench::{Programs, Target, gate};
use cqldyno_builder::cache;
use cqldyno_cassandra::{CassandraError, Kept, Order};

use crate::measure::supervised;
use crate::outcome::{Outcome, usage};
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  cqldyno cluster start                         Apache Cassandra 5.0 on a free port
  cqldyno cluster start cassandra:4.1,nodes=3   three nodes of 4.1
  cqldyno compare --target \"$(cqldyno cluster status)\"
  cqldyno cluster stop                          end it, and remove its data

`--target cassandra` starts a fresh one for each run; this one keeps its data
and its compiled code.

Exit codes: 0 done, 1 it cannot start, or no node runs (status, stop),
2 wrong usage, 130 Ctrl-C.";

/// Keep a real Cassandra between runs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start Cassandra, and print its addresses for --target
    Start {
        /// cassandra[:VERSION][,nodes=3][,heap=1G][,port=9042]
        #[arg(value_name = "TARGET", value_parser = order, default_value = "cassandra")]
        order: Order,
    },
    /// End Cassandra, and remove its data
    Stop,
    /// Print its addresses for --target; describe it on standard error
    Status,
}

fn order(text: &str) -> Result<Order, String> {
    match Target::parse(text).map_err(|error| error.to_string())? {
        Target::Cassandra(order) => Ok(order),
        _ => Err("write cassandra[:VERSION][,nodes=3][,heap=1G][,port=9042]".to_owned()),
    }
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let cache = cache()?;
    supervised(false, |progress, cancel| {
        let kept = match &arguments.action {
            Action::Start { order } => {
                let programs = Programs::find()?;
                let says = &mut |sentence: &str| progress.say(sentence);
                let started = Kept::start(order, &cache, gate::of(&programs.cqldyno), says, &|| cancel.is_cancelled());
                match started {
                    Err(CassandraError::Cancelled) => return Ok(Outcome::Interrupted),
                    Err(error @ CassandraError::Runs(_)) => return Err(usage(error)),
                    started => Some(started?),
                }
            }
            Action::Stop | Action::Status => Kept::find(&cache),
        };
        let Some(kept) = kept else {
            progress.say("No cluster is kept. `cqldyno cluster start` starts one.");
            return Ok(Outcome::Failed);
        };
        if let Action::Stop = arguments.action {
            let about = kept.about().to_owned();
            kept.stop()?;
            progress.say(&format!("{about} was ended, and its data is gone."));
            return Ok(Outcome::Done);
        }
        let processes: Vec<String> = kept.processes().iter().map(i32::to_string).collect();
        let silent: Vec<String> = kept.silent().iter().map(ToString::to_string).collect();
        let target = kept.target();
        if !silent.is_empty() {
            let (about, gone) = (kept.about(), silent.join(" and "));
            progress.say(&format!(
                "{about} was started, and {gone} ended since. End the rest with `cqldyno cluster stop`."
            ));
            return Ok(Outcome::Failed);
        }
        progress.say(&format!(
            "{} runs at {target} (process {}). Use it with --target {target}, and end it with `cqldyno cluster stop`.",
            kept.about(),
            processes.join(", ")
        ));
        terminal::print(&format!("{target}\n"))?;
        Ok(Outcome::Done)
    })
}
