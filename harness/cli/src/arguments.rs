//! The command line.

use std::any::TypeId;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};
use cqldyno_bench::BUILT_BY;
use cqldyno_protocol::PROTOCOL_VERSION;
use cqldyno_reports::SCHEMA_VERSION;

use crate::command::{
    bisect, cache, check, cluster, compare, completions, conform, doctor, drivers, durable, faults, history, launch,
    loader, man, pitfalls, pr, prices, regress, report, scenarios, serve,
};

use crate::heading::{CLUSTER, LIMITS, SETUP};

const EXAMPLES: &str = "\
Examples:
  cqldyno compare --quick                 three drivers, figures in 30 seconds
  cqldyno compare                         with intervals, in 5 minutes
  cqldyno compare scylla java python      drivers of several languages
  cqldyno compare scylla --quick --wide   every figure of one driver
  cqldyno report latest --format html     the newest run as a page
  cqldyno doctor                          what is missing on this machine

`cqldyno help COMMAND` explains a command. Results go to standard output,
everything else to standard error. CQLDYNO_WORKERS names folders with further
workers, CQLDYNO_CACHE the folder of what is built or fetched on demand.
Exit codes: 0 done, 1 a contender or a check failed, 2 wrong usage, 130 Ctrl-C.";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// A dynamometer for CQL drivers: the same load for each, and what it costs.
#[derive(Parser)]
#[command(name = "cqldyno", version, long_version = long_version(), after_help = EXAMPLES, styles = STYLES)]
#[command(arg_required_else_help = true, subcommand_required = true, mut_subcommands = with_own_words)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    /// Log more on standard error; -vv and -vvv log yet more.
    ///
    /// The environment variable RUST_LOG selects by module.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 1_000)]
    pub verbose: u8,
}

#[derive(Subcommand)]
pub enum Command {
    Compare(Box<compare::Arguments>),
    Report(report::Arguments),
    Check(check::Arguments),
    Pr(pr::Arguments),
    History(history::Arguments),
    Regress(regress::Arguments),
    Bisect(bisect::Arguments),
    Prices(prices::Arguments),
    Faults(faults::Arguments),
    Durable(durable::Arguments),
    Pitfalls(pitfalls::Arguments),
    Drivers(drivers::Arguments),
    #[command(alias = "scenario")]
    Scenarios(scenarios::Arguments),
    Serve(serve::Arguments),
    Cluster(cluster::Arguments),
    Doctor(doctor::Arguments),
    Cache(cache::Arguments),
    Conform(conform::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    Launch(launch::Arguments),
    #[command(hide = true)]
    Loader(loader::Arguments),
}

/// A value that begins with a hyphen is refused in the words of its option, and what few need is in the long help alone.
fn with_own_words(command: clap::Command) -> clap::Command {
    command.mut_args(|option| {
        let value = option.get_value_parser().type_id();
        let is_text = value == TypeId::of::<String>() || value == TypeId::of::<PathBuf>() || option.is_positional();
        let may_be_bare = option.get_num_args().is_some_and(|values| values.min_values() == 0);
        let is_typed = option.get_action().takes_values() && !is_text && option.get_possible_values().is_empty();
        let is_rare = option.get_help_heading().is_some_and(|one| [SETUP, CLUSTER, LIMITS].contains(&one));
        let option = if is_typed && !may_be_bare { option.allow_hyphen_values(true) } else { option };
        if is_rare { option.hide_short_help(true) } else { option }
    })
}

fn long_version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let version = env!("CARGO_PKG_VERSION");
        format!("{version} ({BUILT_BY}, result schema {SCHEMA_VERSION}, worker protocol {PROTOCOL_VERSION})")
    });
    &TEXT
}
