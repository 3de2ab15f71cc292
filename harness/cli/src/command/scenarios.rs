//! `cqldyno scenarios`: what can be asked.

use std::io::Write;

use anyhow::Result;
use cqldyno_scenarios::{Scenario, builtin_toml, builtins};

use crate::outcome::{Outcome, usage};
use cqldyno_scenarios::suggestion;

const EXAMPLES: &str = "\
Examples:
  cqldyno scenarios                        what there is
  cqldyno scenarios reads > mine.toml      the beginning of one of your own
  cqldyno compare --scenario mine.toml     run it

Exit codes: 0 done, 2 wrong usage.";

/// Lists the scenarios that come with the program, or prints one as TOML.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Print this scenario in its TOML form
    name: Option<String>,
}

pub fn run(arguments: &Arguments, out: &mut impl Write) -> Result<Outcome> {
    match &arguments.name {
        Some(name) => {
            let text = builtin_toml(name).ok_or_else(|| usage(unprintable(name)))?;
            out.write_all(text.as_bytes())?;
        }
        None => {
            let width = builtins().iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
            for Scenario { name, about, .. } in builtins() {
                writeln!(out, "{name:<width$}  {about}")?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// Scenarios by the name of a built-in one, by what the names of several begin with (`payload`), or by the path of a TOML file.
///
/// # Errors
/// When there is no such scenario or file, or the file holds none.
pub fn find(name: &str) -> Result<Vec<Scenario>> {
    if let Some(scenario) = cqldyno_scenarios::builtin(name) {
        return Ok(vec![scenario]);
    }
    let family = family(name);
    if !family.is_empty() {
        return Ok(family);
    }
    let looks_like_a_file = name.contains('/') || name.ends_with(".toml") || std::path::Path::new(name).is_file();
    if !looks_like_a_file {
        return Err(usage(unknown(name)));
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        usage(format!("the scenario file {name} cannot be read: {error}; give the path of a TOML file"))
    })?;
    Ok(vec![Scenario::from_toml(&text, name).map_err(usage)?])
}

/// The built-in scenarios of which the names go on behind `name` with a hyphen.
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
    let known: Vec<String> = builtins().into_iter().map(|scenario| scenario.name).collect();
    let meant = suggestion(name, known.iter().map(String::as_str));
    format!(
        "there is no scenario {name:?}: there are {}, and any TOML file by its path, for example ./mine.toml.{meant}",
        known.join(", ")
    )
}
