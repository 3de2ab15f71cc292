//! `cqldyno loader`: one worker of a contender on its own host, as a launcher starts it.

use std::path::PathBuf;
use std::process::exit;

use anyhow::Result;

use crate::outcome::Outcome;

/// Run one of the workers that share a load (started by `compare --loaders`)
///
/// It speaks the worker protocol over its standard input and output, and ends its worker when its input ends. Without a worker it
/// watches the cores of its host.
#[derive(clap::Args)]
pub struct Arguments {
    /// The worker
    #[arg(last = true)]
    worker: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    // The thread that started the worker must not end before it.
    exit(arguments.worker.as_deref().map_or_else(cqldyno_bench::watch_host, cqldyno_bench::loader::main))
}
