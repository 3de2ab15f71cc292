//! `cqldyno scenarios`: what there is to run, and the start of one's own.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cqldyno_reports::pair;
use cqldyno_scenarios::{Scenario, builtin_toml, builtins, days, import};

use crate::names::scenarios;
use crate::outcome::{Outcome, text_of, usage};
use crate::recorded::read;
use crate::terminal::{self, print};

const EXAMPLES: &str = "\
Examples:
  cqldyno scenarios                        list what there is
  cqldyno scenarios reads                  print one
  cqldyno scenarios new mine.toml          write one to start from
  cqldyno scenarios import p.yaml >p.toml  make one of a cassandra-stress profile
  cqldyno compare --scenario mine.toml     run it
  cqldyno scenarios mine --run latest >mine.json     the one that a run holds

Exit codes: 0 done, 2 wrong usage.";

/// The commented scenario that `new` writes. Its first paragraph is for readers of the repository.
const EXAMPLE: &str = include_str!("../../../../scenarios/example.toml");

/// List the scenarios, print one, or write one to start from
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Arguments {
    /// Print this scenario as TOML
    #[arg(value_parser = crate::known::Known(scenarios::names), hide_possible_values = true)]
    name: Option<String>,
    /// Print the one that this run holds, as JSON that --scenario takes: a run folder, a result in JSON, or `latest`
    #[arg(long, value_name = "RUN", requires = "name")]
    run: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Write a commented scenario that runs as it is, to start from
    #[command(after_help = EXAMPLES)]
    New {
        /// The file to write; it must not exist
        file: PathBuf,
    },
    /// Convert a cassandra-stress user profile (YAML) to a scenario; standard error lists what is left out
    #[command(after_help = EXAMPLES)]
    Import {
        /// The profile
        file: PathBuf,
        /// Shares of its operations, as cassandra-stress takes them [default: one of each]
        #[arg(long, value_name = "NAME=N,...", value_delimiter = ',', value_parser = share)]
        ops: Vec<(String, f64)>,
    },
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let text = match (&arguments.action, &arguments.name) {
        (Some(Action::New { file }), _) => new(file)?,
        (Some(Action::Import { file, ops }), _) => imported(file, ops)?,
        (None, Some(name)) => match &arguments.run {
            Some(run) => held(name, run)?,
            None => builtin_toml(name).ok_or_else(|| usage(scenarios::unprintable(name)))?.to_owned(),
        },
        (None, None) => {
            let (all, days) = (builtins(), days());
            let width = all.iter().chain(&days).map(|scenario| scenario.name.len()).max().unwrap_or(0);
            let line = |one: &Scenario| pair(&one.name, &one.about, width + 2, terminal::columns()) + "\n";
            let [all, days]: [String; 2] = [&all, &days].map(|some| some.iter().map(line).collect());
            format!("{all}\nDays of `cqldyno faults`, on three nodes:\n{days}")
        }
    };
    print(&text)?;
    Ok(Outcome::Done)
}

/// The scenario `name` as the run in `given` holds it, in JSON.
fn held(name: &str, given: &Path) -> Result<String> {
    let run = read(given)?.run;
    let held: Vec<Scenario> = run
        .scenarios
        .into_iter()
        .filter_map(|one| serde_json::from_value(one.definition?).ok())
        .map(|one: Scenario| Scenario { point: None, ..one })
        .collect();
    let found = held.iter().find(|one| one.name == name).ok_or_else(|| {
        let mut names: Vec<&str> = held.iter().map(|one| one.name.as_str()).collect();
        names.dedup();
        let shown = given.display();
        usage(match names.is_empty() {
            true => {
                format!("the run {shown} holds no scenario; it is of an earlier version, so take the scenario's file")
            }
            false => format!("the run {shown} holds no scenario {name:?}; name one of {}", names.join(", ")),
        })
    })?;
    Ok(serde_json::to_string_pretty(found)? + "\n")
}

fn share(text: &str) -> Result<(String, f64), String> {
    let bare = text.trim().trim_start_matches("ops(").trim_end_matches(')');
    let parsed =
        bare.split_once('=').and_then(|(name, share)| Some((name.trim().to_owned(), share.trim().parse().ok()?)));
    let is_share = |(_, share): &(String, f64)| (0.001..=1e6).contains(share);
    parsed
        .filter(is_share)
        .ok_or_else(|| "write NAME=N with N from 0.001 to a million, such as insert=1,read=3".to_owned())
}

/// The scenario that the profile in `file` becomes, in TOML.
fn imported(file: &Path, ops: &[(String, f64)]) -> Result<String> {
    let shown = file.display();
    let text = text_of("profile", file, "name a file in YAML")?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let made = import(&text, &shown.to_string(), &stem, ops).map_err(usage)?;
    made.lost.iter().for_each(|sentence| terminal::say(sentence));
    Ok(made.toml)
}

/// Writes the commented scenario to `file`, named after it; how to run it.
fn new(file: &Path) -> Result<String> {
    let shown = file.display();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let (_, body) = EXAMPLE.split_once("\n\n").unwrap_or(("", EXAMPLE));
    let body = body.replacen("name = \"example\"", &format!("name = {name:?}"), 1);
    let text = format!(
        "# Run it: cqldyno compare --scenario {shown}\n# scenarios/README.md and scenarios/FIELDS.md of cqldyno explain the fields.\n\n{body}"
    );
    Scenario::from_toml(&text, &shown.to_string()).map_err(usage)?;
    let mut made = File::create_new(file).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => usage(format!("{shown} exists and is not overwritten; name a new file")),
        _ => usage(format!(
            "the scenario cannot be written to {shown}: {error}; name a file in a folder that you can write"
        )),
    })?;
    made.write_all(text.as_bytes()).with_context(|| format!("the scenario could not be written to {shown}"))?;
    Ok(format!("{shown} is written. Edit it, then run `cqldyno compare --scenario {shown}`.\n"))
}
