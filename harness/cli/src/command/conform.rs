//! `cqldyno conform`: whether a worker keeps to the worker protocol.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf, absolute};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use cqldyno_bench::{CellFailure, Check, Conformity, Found, Programs, Tried, conform};
use cqldyno_reports::{Part, count, plain};

use crate::count::patience;
use crate::outcome::{Outcome, usage};
use crate::terminal::{self, named};
use crate::trial::{supervised, with_workers};

const EXAMPLES: &str = "\
Examples:
  cqldyno conform ./cqldyno-driver-mine                  every check, in a few seconds
  cqldyno conform ./cqldyno-driver-mine --only turns     one of them
  cqldyno conform ./cqldyno-driver-mine --stall 3s       a worker that hangs is ended sooner
  cqldyno conform ./cqldyno-driver-mine --transcript t   keep what both sides said

drivers/PROTOCOL.md describes the protocol, drivers/protocol.schema.json its messages.
Exit codes: 0 the worker conforms, 1 it deviates, 2 wrong usage, 130 Ctrl-C.";

/// Play the worker protocol against a worker, and name every deviation
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The worker: an executable that speaks the worker protocol
    executable: PathBuf,
    /// Set an option of the driver; repeat it for several
    #[arg(long, value_name = "KEY=VALUE", value_parser = option)]
    option: Vec<(String, String)>,
    /// End a worker that issues nothing for this long, from 1s to a day
    #[arg(long, value_name = "TIME", value_parser = patience, default_value = "30s")]
    stall: Duration,
    /// Make this check only, such as turns
    #[arg(long, value_name = "CHECK", value_parser = check(), hide_possible_values = true)]
    only: Option<Check>,
    /// Write every line of both sides to this file
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let tried = Tried {
        program: executable(&arguments.executable)?,
        options: arguments.option.iter().cloned().collect::<BTreeMap<_, _>>(),
        stall: arguments.stall,
        only: arguments.only,
    };
    let found = supervised(true, "Ending: the worker was not tried to the end.", |progress, cancel| {
        let (programs, failed) = with_workers(&programs, ["floor", "noop"], progress, cancel);
        if let Some(why) = failed.first() {
            return Err(anyhow!("the worker could not be tried: {why}"));
        }
        match conform(&tried, &programs, cancel) {
            Ok(found) => Ok(Some(found)),
            Err(CellFailure::Cancelled) => Ok(None),
            Err(failure) => Err(anyhow!("the worker could not be tried: {failure}")),
        }
    })?;
    let Some(found) = found else { return Ok(Outcome::Interrupted) };
    if let Some(file) = &arguments.transcript {
        fs::write(file, &found.transcript).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    terminal::print_parts(&shown(&arguments.executable, &found))?;
    Ok(if found.deviations() == 0 { Outcome::Done } else { Outcome::Failed })
}

fn shown(executable: &Path, found: &Conformity) -> Vec<Part> {
    let name = executable.file_name().unwrap_or_default().to_string_lossy();
    let label = found.label.as_ref().map(|label| format!(": {label}")).unwrap_or_default();
    let said = |(check, found): &(Check, Found)| {
        let lines = match found {
            Found::Holds => vec!["ok".to_owned()],
            Found::LeftOut(why) => vec![format!("left out: {why}")],
            Found::Deviates(deviations) => deviations.clone(),
            Found::NotReached => vec!["not reached".to_owned()],
        };
        named(check.name(), lines)
    };
    let verdict = match found.deviations() {
        0 => "It conforms.".to_owned(),
        failed => format!("It does not conform: {failed} of {} failed.", count(found.checks.len() as u64, "check")),
    };
    let checks = found.checks.iter().flat_map(said).collect();
    vec![Part::Text(plain(&format!("{name}{label}"))), Part::Pairs(checks), Part::Text(verdict)]
}

fn check() -> impl TypedValueParser<Value = Check> {
    let named = |name: String| Check::ALL.into_iter().find(|check| check.name() == name);
    PossibleValuesParser::new(Check::ALL.map(Check::name))
        .try_map(move |name| named(name).ok_or("there is no such check"))
}

/// The worker's path, if it can be started.
fn executable(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let found = fs::metadata(path)
        .map_err(|error| usage(format!("the worker {shown} cannot be read: {error}; name an executable file")))?;
    if !found.is_file() {
        return Err(usage(format!("the worker {shown} is no file; name an executable file")));
    }
    if found.permissions().mode() & 0o111 == 0 {
        return Err(usage(format!("the worker {shown} is not executable; allow it with `chmod +x {shown}`")));
    }
    absolute(path).with_context(|| format!("the path of {shown} is not known"))
}

fn option(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, such as compression=lz4".to_owned()),
    }
}
