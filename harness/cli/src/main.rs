//! A dynamometer for CQL drivers.
//!
//! A room uses only the rooms above it in this list:
//!
//! - `heading`, `count`, `outcome`, `terminal`, `known`: what all commands share of their flags, what they print, and how they end
//! - `names`, `login`, `access`, `nodes`: drivers, scenarios, and how a cluster is reached
//! - `progress`, `interrupt`: what a person sees, and Ctrl-C
//! - `repetition`, `format`, `recorded`: kept runs, and the commands that repeat them
//! - `trial`, `plan`: what is run
//! - `prices`, `regress`, `pr`, `bisect`, `pitfalls`, `durable`: one question each
//! - `command`, `arguments`, `refusal`: the commands, and what is said of wrong ones

mod access;
mod arguments;
mod bisect;
mod command;
mod count;
mod durable;
mod format;
mod heading;
mod interrupt;
mod known;
mod login;
mod names;
mod nodes;
mod outcome;
mod pitfalls;
mod plan;
mod pr;
mod prices;
mod progress;
mod recorded;
mod refusal;
mod regress;
mod repetition;
mod terminal;
mod trial;

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
#[cfg(test)]
use cqldyno_reports::sample;
use tracing_subscriber::EnvFilter;

use crate::arguments::{Arguments, Command};
use crate::outcome::{Outcome, exit_code, leaves_open};
use crate::refusal::refusal;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    if words.next_if(|word| word == cqldyno_bench::gate::SUBCOMMAND).is_some() {
        cqldyno_bench::gate::main(words)
    }
    let ended = match Arguments::try_parse() {
        Ok(arguments) => {
            log(arguments.verbose);
            run(&arguments.command)
        }
        Err(error) => answer(&error),
    };
    match ended {
        Ok(outcome) => outcome.into(),
        // The reader of the result went away, as with `| head`: nobody is left to read an error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be closed, too.
            let _ = writeln!(stderr(), "Error: {}", format!("{error:#}").trim_end());
            exit_code(&error)
        }
    }
}

fn run(command: &Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Compare(arguments) => command::compare::run(arguments),
        Command::Report(arguments) => command::report::run(arguments),
        Command::Check(arguments) => command::check::run(arguments),
        Command::Regress(arguments) => command::regress::run(arguments),
        Command::Bisect(arguments) => {
            command::bisect::run(arguments).map_err(|error| leaves_open(error, "the search cannot go on"))
        }
        Command::Prices(arguments) => command::prices::run(arguments),
        Command::Pr(arguments) => {
            command::pr::run(arguments).map_err(|error| leaves_open(error, "the change cannot be judged"))
        }
        Command::History(arguments) => command::history::run(arguments),
        Command::Faults(arguments) => command::faults::run(arguments),
        Command::Durable(arguments) => command::durable::run(arguments),
        Command::Pitfalls(arguments) => command::pitfalls::run(arguments),
        Command::Drivers(arguments) => command::drivers::run(arguments),
        Command::Scenarios(arguments) => command::scenarios::run(arguments),
        Command::Serve(arguments) => command::serve::run(arguments),
        Command::Cluster(arguments) => command::cluster::run(arguments),
        Command::Doctor(arguments) => command::doctor::run(arguments),
        Command::Cache(arguments) => command::cache::run(arguments),
        Command::Conform(arguments) => command::conform::run(arguments),
        Command::Launch(arguments) => command::launch::run(arguments),
        Command::Loader(arguments) => command::loader::run(arguments),
        Command::Completions(arguments) => command::completions::run(arguments, Arguments::command()),
        Command::Man(arguments) => command::man::run(arguments, Arguments::command()),
    }
}

/// Prints help and version on standard output, and refuses all other arguments that are no command.
fn answer(error: &clap::Error) -> anyhow::Result<Outcome> {
    let is_asked_for =
        [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
    if !is_asked_for.contains(&error.kind()) {
        return Err(outcome::usage(refusal(error)));
    }
    let text = error.render();
    terminal::print(&dense(&if terminal::has_colours() { text.ansi().to_string() } else { text.to_string() }))?;
    Ok(Outcome::Done)
}

/// Columns of a help text at most, as clap sets them.
const HELP_WIDTH: usize = 100;

/// A help text without the empty lines within its sections, and with defaults on the line of the sentence before.
fn dense(help: &str) -> String {
    let width = terminal::width().unwrap_or(HELP_WIDTH).min(HELP_WIDTH);
    let mut lines: Vec<String> = Vec::new();
    for line in help.lines() {
        let text = line.trim();
        let is_default = text.starts_with("[default: ");
        if line.starts_with(' ') {
            lines.truncate(lines.iter().rposition(|before| !before.trim().is_empty()).map_or(0, |at| at + 1));
        }
        match lines.last_mut() {
            Some(before) if is_default && before.len() + text.len() < width => *before += &format!(" {text}"),
            _ => lines.push(line.trim_end().to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Logs to standard error what RUST_LOG selects; if it is not set, warnings, and more with each -v.
fn log(verbose: u8) {
    let level = ["warn", "info", "debug", "trace"][usize::from(verbose.min(3))];
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let colours = terminal::draws_progress() && terminal::allows_colours();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr).with_ansi(colours).init();
}
