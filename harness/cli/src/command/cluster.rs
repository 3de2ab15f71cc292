//! `cqldyno cluster`: a real Cassandra that is kept between runs.

use anyhow::Result;
use clap::Subcommand;
use cqldyno_bench::{Programs, Target, gate};
use cqldyno_builder::cache;
use cqldyno_cassandra::{CassandraError, Condition, Kept, KeptNode, Order};
use cqldyno_reports::count;

use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::terminal;
use crate::trial::supervised;

const EXAMPLES: &str = "\
Examples:
  cqldyno cluster start                         Apache Cassandra 5.0 on a free port
  cqldyno cluster start cassandra:4.1,nodes=3   three nodes of 4.1
  cqldyno compare --target \"$(cqldyno cluster status)\"
  cqldyno cluster stop                          end it, and remove its data

`--target cassandra` starts a fresh one for each run; this one keeps its data
and its compiled code.

Exit codes: 0 done, 1 it cannot start or one runs already (start), not all nodes
answer (status), or none is kept (status, stop), 2 wrong usage, 130 Ctrl-C.";

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
    let ending = match arguments.action {
        Action::Start { .. } => "Ending the start of the cluster: nothing of it will be left running.",
        Action::Stop => "The cluster is being ended, which will be finished.",
        Action::Status => "The cluster's nodes are being asked, which will be finished.",
    };
    supervised(false, ending, |progress, cancel| {
        let says = &mut |sentence: &str| progress.say(sentence);
        let cancelled = &|| cancel.is_cancelled();
        let done = match &arguments.action {
            Action::Start { order } => {
                let programs = Programs::find()?;
                Kept::start(order, &cache, gate::of(&programs.cqldyno), says, cancelled).map(Some)
            }
            Action::Stop => Kept::stop(&cache, says, cancelled),
            Action::Status => Ok(Kept::find(&cache)),
        };
        let kept = match done {
            Err(CassandraError::Cancelled) => return Ok(Outcome::Interrupted),
            done => done?,
        };
        match (&arguments.action, kept) {
            (Action::Status, None) if Kept::is_changing(&cache) => {
                progress.say("A cluster is being started; no node of it was begun yet.");
                Ok(Outcome::Failed)
            }
            (_, None) => {
                progress.say("No cluster is kept. `cqldyno cluster start` starts one.");
                Ok(Outcome::Failed)
            }
            (Action::Stop, Some(kept)) => {
                progress.say(&format!("{} was ended, and its data is gone.", kept.about()));
                Ok(Outcome::Done)
            }
            (_, Some(kept)) => describe(&kept, progress, Kept::is_changing(&cache)),
        }
    })
}

/// Prints addresses for --target if every node answers; else says what each node does.
fn describe(kept: &Kept, progress: &Progress, is_changing: bool) -> Result<Outcome> {
    let (nodes, target, about) = (kept.nodes(), kept.target(), kept.about());
    let answering = nodes.iter().filter(|node| node.condition == Condition::Answers).count();
    if answering == kept.asked() {
        let processes: Vec<String> = nodes.iter().map(|node| node.process.to_string()).collect();
        progress.say(&format!(
            "{about} runs at {target} (process {}). Use it with --target {target}, and end it with `cqldyno cluster stop`.",
            processes.join(", ")
        ));
        terminal::print(&format!("{target}\n"))?;
        return Ok(Outcome::Done);
    }
    progress.say(&format!("{about}: {answering} of {} nodes answer.", kept.asked()));
    for KeptNode { address, process, log, condition } in &nodes {
        let log = log.display();
        progress.say(&match condition {
            Condition::Answers => format!("{address} answers (process {process})."),
            Condition::Silent => format!("{address} runs and answers no query (process {process}, log {log})."),
            Condition::Ended => format!("{address} has ended (log {log})."),
        });
    }
    match kept.asked() - nodes.len() {
        0 => {}
        missing => progress.say(&format!("Not begun: {}.", count(missing as u64, "node"))),
    }
    progress.say(match is_changing {
        true => "`cqldyno cluster start` or `cqldyno cluster stop` is still at work.",
        false => "End it with `cqldyno cluster stop`.",
    });
    Ok(Outcome::Failed)
}
