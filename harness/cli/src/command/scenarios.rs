//! `cqldyno scenarios`: what there is to run, and the start of one's own.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cqldyno_reports::pair;
use cqldyno_scenarios::{Scenario, Submit, builtin, builtin_toml, builtins, suggestion};

use crate::outcome::{Outcome, usage};
use crate::recorded::read;
use crate::terminal::{self, print};

const EXAMPLES: &str = "\
Examples:
  cqldyno scenarios                        list what there is
  cqldyno scenarios reads                  print one
  cqldyno scenarios new mine.toml          write one to start from
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
    #[arg(value_parser = crate::known::Known(names), hide_possible_values = true)]
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
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let text = match (&arguments.action, &arguments.name) {
        (Some(Action::New { file }), _) => new(file)?,
        (None, Some(name)) => match &arguments.run {
            Some(run) => held(name, run)?,
            None => builtin_toml(name).ok_or_else(|| usage(unprintable(name)))?.to_owned(),
        },
        (None, None) => {
            let all = builtins();
            let width = all.iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
            let line = |one: &Scenario| pair(&one.name, &one.about, width + 2, terminal::columns()) + "\n";
            all.iter().map(line).collect()
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

/// Writes the commented scenario to `file`, named after it; how to run it.
fn new(file: &Path) -> Result<String> {
    let shown = file.display();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let (_, body) = EXAMPLE.split_once("\n\n").unwrap_or(("", EXAMPLE));
    let body = body.replacen("name = \"example\"", &format!("name = {name:?}"), 1);
    let text = format!(
        "# Run it: cqldyno compare --scenario {shown}\n# Every field is explained in scenarios/README.md of cqldyno.\n\n{body}"
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

/// The names of the built-in scenarios.
pub fn names() -> Vec<String> {
    builtins().into_iter().map(|scenario| scenario.name).collect()
}

/// The scenarios of these names, `writes` and `reads` if there are none.
///
/// # Errors
/// Those of [`find`].
pub fn named(names: &[String]) -> Result<Vec<Scenario>> {
    let usual = ["writes", "reads"].map(str::to_owned);
    let names = if names.is_empty() { &usual } else { names };
    Ok(names.iter().map(|name| find(name)).collect::<Result<Vec<_>>>()?.concat())
}

/// The built-in scenario `name`, the ones whose names begin with it (`payload`), or the one in the TOML file of that path. A way of
/// submitting may follow after `+`, as in the names that results have.
///
/// # Errors
/// When there is no such scenario, file or way, or the file holds no scenario.
pub fn find(name: &str) -> Result<Vec<Scenario>> {
    match name.rsplit_once('+').filter(|_| !Path::new(name).is_file()) {
        None => found(name),
        Some((name, way)) => {
            let submit = way.parse::<Submit>().map_err(usage)?;
            Ok(found(name)?.into_iter().map(|scenario| Scenario { submit, ..scenario }).collect())
        }
    }
}

fn found(name: &str) -> Result<Vec<Scenario>> {
    if let Some(scenario) = builtin(name) {
        return Ok(vec![scenario]);
    }
    let family = family(name);
    if !family.is_empty() {
        return Ok(family);
    }
    let is_json = name.ends_with(".json");
    if !(name.contains('/') || name.ends_with(".toml") || is_json || Path::new(name).is_file()) {
        return Err(usage(unknown(name)));
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        usage(format!(
            "the scenario file {name} cannot be read: {error}; give the path of a TOML file, or of JSON from `cqldyno scenarios NAME --run RUN`"
        ))
    })?;
    if is_json {
        let scenario: Scenario = serde_json::from_str(&text).map_err(|error| {
            usage(format!(
                "the scenario file {name} is no scenario in JSON: {error}; write it with `cqldyno scenarios NAME --run RUN`"
            ))
        })?;
        scenario.validate(name).map_err(usage)?;
        return Ok(vec![scenario]);
    }
    Ok(vec![Scenario::from_toml(&text, name).map_err(usage)?])
}

/// The built-in scenarios `NAME-...`.
fn family(name: &str) -> Vec<Scenario> {
    let is_of = |scenario: &Scenario| scenario.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    builtins().into_iter().filter(is_of).collect()
}

fn unprintable(name: &str) -> String {
    match family(name).iter().map(|scenario| scenario.name.clone()).collect::<Vec<_>>() {
        names if names.is_empty() => unknown(name),
        names => format!("{name} stands for several scenarios; print one of {}", names.join(", ")),
    }
}

fn unknown(name: &str) -> String {
    let known = names();
    format!(
        "there is no scenario {name:?}: there are {}, and any TOML file by its path, for example ./mine.toml.{}",
        known.join(", "),
        suggestion(name, known.iter().map(String::as_str))
    )
}
