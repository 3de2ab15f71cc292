//! A dynamometer for CQL drivers.

mod arguments;
mod command;
mod conflict;
mod count;
mod format;
mod interrupt;
mod outcome;
mod password;
mod plan;
mod progress;
mod recorded;
mod repetition;
#[cfg(test)]
#[path = "../../../reports/tests/sample/mod.rs"]
mod sample;
mod terminal;

use std::io::{Write, stderr, stdout};
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::arguments::{Arguments, Command};
use crate::conflict::conflict;
use crate::outcome::{Outcome, exit_code};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    if words.next_if(|word| word == cqldyno_bench::gate::SUBCOMMAND).is_some() {
        cqldyno_bench::gate::main(words)
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) if !answer.use_stderr() => return print_help(&answer),
        Err(error) => {
            let text = conflict(&error).unwrap_or_else(|| error.render().to_string());
            complain(text.strip_prefix("error: ").unwrap_or(&text));
            return ExitCode::from(2);
        }
    };
    log(arguments.verbose);
    match run(&arguments.command) {
        Ok(outcome) => outcome.into(),
        // The reader of the result went away, as with `| head`: nobody is left to tell.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            exit_code(&error)
        }
    }
}

fn run(command: &Command) -> anyhow::Result<Outcome> {
    let out = &mut stdout();
    match command {
        Command::Compare(arguments) => command::compare::run(arguments, out),
        Command::Run(arguments) => command::run::run(arguments, out),
        Command::Report(arguments) => command::report::run(arguments, out),
        Command::History(arguments) => command::history::run(arguments, out),
        Command::Check(arguments) => command::check::run(arguments, out),
        Command::Drivers(arguments) => command::drivers::run(arguments, out),
        Command::Scenarios(arguments) => command::scenarios::run(arguments, out),
        Command::Serve(arguments) => command::serve::run(arguments),
        Command::Doctor(arguments) => command::doctor::run(arguments, out),
    }
}

/// The one place where an error is printed.
fn complain(text: &str) {
    // Nobody is left to tell when standard error is closed, too.
    let _ = writeln!(stderr(), "Error: {}", text.trim_end());
}

fn print_help(answer: &clap::Error) -> ExitCode {
    // Help that nobody reads to its end is no failure.
    let _ = answer.print();
    ExitCode::SUCCESS
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Logs to standard error: what RUST_LOG says, else warnings, and more with each -v.
fn log(verbose: u8) {
    let level = ["warn", "info", "debug", "trace"][usize::from(verbose.min(3))];
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let colours = terminal::draws_progress() && terminal::allows_colours();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr).with_ansi(colours).init();
}
