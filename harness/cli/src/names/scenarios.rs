//! Names of scenarios.

use std::path::{Path, PathBuf};

use anyhow::Result;
use cqldyno_scenarios::{OwnRows, Scenario, Submit, builtin, builtins, suggestion};

use crate::outcome::{text_of, usage};

pub fn names() -> Vec<String> {
    builtins().into_iter().map(|scenario| scenario.name).collect()
}

/// What gives the scenario before it the rows of a file.
const TAPE: &str = "tape=";

/// The scenarios of these names; `tape=FILE` after one gives it the rows of that file.
pub fn all(names: &[String]) -> Result<Vec<Scenario>> {
    let mut all = Vec::new();
    let mut names = names.iter().peekable();
    while let Some(name) = names.next() {
        let tape = names.next_if(|next| next.starts_with(TAPE)).and_then(|next| next.strip_prefix(TAPE));
        if name.starts_with(TAPE) {
            return Err(usage(format!(
                "--scenario {name} gives a tape to no scenario; name one before it, as in --scenario mine.toml,{name}"
            )));
        }
        all.extend(with_way(name, tape)?);
    }
    Ok(all)
}

/// The scenarios of these names, `writes` and `reads` if there are none.
pub fn named(names: &[String]) -> Result<Vec<Scenario>> {
    let usual = ["writes", "reads"].map(str::to_owned);
    let names = if names.is_empty() { &usual } else { names };
    Ok(names.iter().map(|name| find(name)).collect::<Result<Vec<_>>>()?.concat())
}

/// The built-in scenario `name`, the ones whose names begin with it (`payload`), or the one in the TOML file of that path. A way of
/// submitting may follow after `+`, as in the names that results have.
pub fn find(name: &str) -> Result<Vec<Scenario>> {
    with_way(name, None)
}

fn with_way(name: &str, tape: Option<&str>) -> Result<Vec<Scenario>> {
    let tape = tape.map(std::path::absolute).transpose()?;
    match name.rsplit_once('+').filter(|_| !Path::new(name).is_file()) {
        None => found(name, tape),
        Some((name, way)) => {
            let submit = way.parse::<Submit>().map_err(usage)?;
            Ok(found(name, tape)?.into_iter().map(|scenario| Scenario { submit, ..scenario }).collect())
        }
    }
}

fn found(name: &str, tape: Option<PathBuf>) -> Result<Vec<Scenario>> {
    let mut found = without_tape(name, tape.as_ref())?;
    for scenario in &mut found {
        if let Some(tape) = &tape {
            scenario.tape = Some(OwnRows::at(tape.clone()));
            scenario.validate(name).map_err(usage)?;
        } else if let Some(tape) = &mut scenario.tape {
            let folder = Path::new(name).parent().unwrap_or(Path::new(""));
            tape.path = std::path::absolute(folder.join(&tape.path))?;
        }
    }
    Ok(found)
}

/// The scenarios of this name, whose files may leave out what a `tape` says.
fn without_tape(name: &str, tape: Option<&PathBuf>) -> Result<Vec<Scenario>> {
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
    let advice = "give the path of a TOML file, or of JSON from `cqldyno scenarios NAME --run RUN`";
    let text = text_of("scenario file", Path::new(name), advice)?;
    if is_json {
        let scenario: Scenario = serde_json::from_str(&text).map_err(|error| {
            usage(format!(
                "the scenario file {name} is no scenario in JSON: {error}; write it with `cqldyno scenarios NAME --run RUN`"
            ))
        })?;
        scenario.validate(name).map_err(usage)?;
        return Ok(vec![scenario]);
    }
    Ok(vec![
        match tape {
            Some(tape) => Scenario::with_tape(&text, name, tape.clone()),
            None => Scenario::from_toml(&text, name),
        }
        .map_err(usage)?,
    ])
}

/// The built-in scenarios `NAME-...`.
fn family(name: &str) -> Vec<Scenario> {
    let is_of = |scenario: &Scenario| scenario.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    builtins().into_iter().filter(is_of).collect()
}

/// Why no one scenario of that name can be printed.
pub fn unprintable(name: &str) -> String {
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
