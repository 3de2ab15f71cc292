//! `cqldyno cache`: what builds and downloads left.

use std::path::Path;

use anyhow::{Context, Result};
use clap::Subcommand;
use cqldyno_builder::{Cached, busy, cache, cached};
use cqldyno_cassandra::Kept;
use cqldyno_reports::{Part, count, memory, unique};
use cqldyno_scenarios::suggestion;

use crate::outcome::{Outcome, usage};
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  cqldyno cache                         all that is there, with size and last use
  cqldyno cache clean                   remove all of it
  cqldyno cache clean scylla            remove every worker of scylla
  cqldyno cache clean scylla@0.3.1 cassandra

What is removed is built or downloaded again when it is needed. `compiled` has
dependencies that builds share, `sources` the source code of the adapters, and
`leftovers` logs and failed builds. CQLDYNO_CACHE names another folder.
Nothing is removed while another process builds or measures with it.
Exit codes: 0 done, 1 it cannot be removed now, 2 wrong usage.";

/// List what builds left in the cache, or remove it
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Remove all of it, or what you name
    Clean {
        /// Names as listed, with or without the release
        name: Vec<String>,
    },
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let folder = cache()?;
    let all = cached(&folder);
    let parts = match &arguments.action {
        None => listed(&folder, &all),
        Some(Action::Clean { name }) => vec![Part::Text(cleaned(&folder, all, name)?)],
    };
    terminal::print_parts(&parts)?;
    Ok(Outcome::Done)
}

fn listed(folder: &Path, all: &[Cached]) -> Vec<Part> {
    let used = |one: &Cached| one.used.and_then(|time| jiff::Timestamp::try_from(time).ok());
    let line = |one: &Cached| {
        let used = used(one).map(|time| format!(", used {}", time.strftime("%F"))).unwrap_or_default();
        (format!("  {}", one.name), memory(one.bytes) + &used)
    };
    vec![Part::Text(format!("{}: {}", folder.display(), in_all(all))), Part::Pairs(all.iter().map(line).collect())]
}

fn in_all(all: &[Cached]) -> String {
    format!("{}, {}", count(all.len() as u64, "item"), memory(all.iter().map(|one| one.bytes).sum()))
}

/// Removes what `names` ask for, or everything; a sentence about it.
fn cleaned(folder: &Path, mut all: Vec<Cached>, names: &[String]) -> Result<String> {
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|one| one.is(name))) {
        let known = unique(all.iter().map(|one| &*one.name));
        let there = if known.is_empty() { "it is empty".to_owned() } else { format!("there are {}", known.join(", ")) };
        return Err(usage(format!(
            "{unknown:?} is not in the cache {}: {there}.{}",
            folder.display(),
            suggestion(unknown, known)
        )));
    }
    all.retain(|one| names.is_empty() || names.iter().any(|name| one.is(name)));
    if let Some(lock) = busy(folder) {
        let lock = lock.display();
        anyhow::bail!(
            "another process builds into the cache or runs a worker from it now (it holds {lock}), so nothing was removed; try again \
             later"
        );
    }
    if Kept::find(folder).is_some() && all.iter().any(|one| one.is("cassandra")) {
        anyhow::bail!(
            "a Cassandra that `cqldyno cluster start` started runs from the cache, so nothing was removed; end it with `cqldyno cluster \
             stop`, or name other items to remove"
        );
    }
    for one in &all {
        one.remove().with_context(|| format!("{} could not be removed from {}", one.name, folder.display()))?;
    }
    Ok(format!("Removed from {}: {}.", folder.display(), in_all(&all)))
}
