//! What can be written on the command line.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

use crate::command::{check, compare, doctor, drivers, history, report, run, scenarios, serve};

const EXAMPLES: &str = "\
Examples:
  cqldyno compare                         all drivers and scenarios, as 5 min allow
  cqldyno compare --count 10M             10 million statements each, once
  cqldyno compare scylla cdrs-tokio --scenario reads
  cqldyno run scylla --scenario writes    everything about one driver
  cqldyno report RUN --format html        an earlier run as a page to publish
  cqldyno doctor                          what this machine can measure

The result goes to standard output, everything else to standard error.
Exit codes: 0 done, 1 a contender or a check failed, 2 wrong usage, 130 ended by Ctrl-C.";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// A dynamometer for CQL drivers: it puts each driver under the same load and reads off what that costs.
#[derive(Parser)]
#[command(name = "cqldyno", version, long_version = long_version(), after_help = EXAMPLES, styles = STYLES)]
#[command(arg_required_else_help = false, subcommand_required = true, disable_help_subcommand = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    /// Say more on standard error about what is being done; -vv and -vvv say yet more, and RUST_LOG chooses in detail
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 1_000)]
    pub verbose: u8,
}

#[derive(Subcommand)]
pub enum Command {
    Compare(compare::Arguments),
    Run(run::Arguments),
    Report(report::Arguments),
    History(history::Arguments),
    Check(check::Arguments),
    Drivers(drivers::Arguments),
    Scenarios(scenarios::Arguments),
    Serve(serve::Arguments),
    Doctor(doctor::Arguments),
}

fn long_version() -> &'static str {
    concat!(
        env!("CARGO_PKG_VERSION"),
        " (",
        env!("CQLDYNO_PROFILE"),
        ", ",
        env!("CQLDYNO_COMPILER"),
        ", result schema 2, worker protocol 1)"
    )
}
