//! Sentences about arguments that cannot be used.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use cqldyno_reports::list;
use cqldyno_scenarios::suggestion;

use crate::arguments::Arguments;

/// Flags that are gone: of commands with which flag, and what to do instead.
const GONE: [(&str, &str, &str); 19] = [
    ("--tokens", "nodes", "write --nodes 24,tokens=256"),
    ("--racks", "nodes", "write --nodes 24,racks=3"),
    ("--datacenter", "target", "write --target 10.0.0.1,10.0.0.2,datacenter=dc1"),
    ("--replication", "target", "write --target 10.0.0.1,10.0.0.2,replication=3"),
    ("--keep", "target", "write --target 10.0.0.1,10.0.0.2,keep"),
    ("--tls-ca", "tls", "write --tls ca=FILE"),
    ("--tls-cert", "tls", "write --tls ca=FILE,cert=FILE,key=FILE"),
    ("--tls-key", "tls", "write --tls ca=FILE,cert=FILE,key=FILE"),
    ("--noise-share", "limits", "write --limits noise=10%"),
    ("--stall", "limits", "write --limits stall=30s"),
    ("--memory", "limits", "write --limits memory=4G"),
    ("--no-counting", "pass", "write --pass none"),
    ("--page-size", "target", "write scylla+page-size=N, for each contender"),
    ("--time", "within", "write --within 20min, which adds CPU time to NAME@all"),
    ("--whole", "turn", "write --turn all"),
    ("--counting-count", "pass", "leave it out: how many statements are counted follows from the size of the run"),
    ("--submit", "scenario", "write the way after the scenario: --scenario reads+stream"),
    ("--explain", "scenario", "write --pass explain"),
    ("--nap", "target", "start the cluster with `cqldyno serve --nap TIME`, and name its address with --target"),
];

/// What is wrong and what to do: our own sentence where clap's would mislead, else clap's.
pub fn refusal(error: &clap::Error) -> String {
    let ours = match error.kind() {
        ErrorKind::ArgumentConflict => conflict(error),
        ErrorKind::UnknownArgument => unknown_argument(error),
        ErrorKind::InvalidSubcommand => unknown_command(error),
        ErrorKind::InvalidValue => unknown_value(error),
        _ => None,
    };
    ours.unwrap_or_else(|| {
        let text = error.render().to_string();
        text.strip_prefix("error: ").unwrap_or(&text).to_owned()
    })
}

/// Arguments that exclude each other, or one that was given more than once.
fn conflict(error: &clap::Error) -> Option<String> {
    let first = names(error, ContextKind::InvalidArg).pop()?;
    let mut all = names(error, ContextKind::PriorArg);
    if all == [first.as_str()] {
        return Some(format!("{first} was given more than once; give it once"));
    }
    all.insert(0, first);
    let told = |asked: &str, why: &str| {
        let others: Vec<String> = all.iter().filter(|name| *name != asked).cloned().collect();
        format!("{asked} was given together with {}, and {why}", list(&others))
    };
    let is_given = |asked: &str| all.iter().any(|name| name == asked);
    Some(if is_given("--resume") {
        told("--resume", "the resumed run keeps what its run.json says; leave out one or the other")
    } else if is_given("--publish") {
        told("--publish", "a run for publication has a size of its own; leave out one or the other")
    } else {
        told(&all[0], "they exclude each other; leave out one or the other")
    })
}

fn unknown_argument(error: &clap::Error) -> Option<String> {
    let given = words(error, ContextKind::InvalidArg).pop()?;
    let command = command(error)?;
    if !given.starts_with('-') {
        return Some(format!("`{command}` takes no argument {given:?}; `{command} --help` lists what it takes"));
    }
    if let Some(instead) = instead(&given, &command) {
        return Some(format!("`{command}` no longer has the flag {given}; {instead}"));
    }
    // `--count`, or with the command it belongs to: `'compare --count' exists`.
    let meant = words(error, ContextKind::SuggestedArg).pop().or_else(|| {
        let tips = words(error, ContextKind::Suggested);
        tips.iter().find_map(|tip| Some(tip.strip_suffix("' exists")?.strip_prefix('\'')?.to_owned()))
    });
    let is_near = |meant: &String| {
        let flag = meant.rsplit(' ').next().unwrap_or_default();
        !suggestion(given.trim_start_matches('-'), [flag.trim_start_matches('-')]).is_empty()
    };
    let meant = meant.filter(is_near).map(|meant| format!(" Did you mean `{meant}`?")).unwrap_or_default();
    Some(format!("`{command}` has no flag {given}.{meant} `{command} --help` lists its flags"))
}

/// What to do without a flag that this command had.
fn instead(given: &str, command: &str) -> Option<&'static str> {
    let of_command = Arguments::command();
    let of_command = of_command.find_subcommand(command.split(' ').nth(1)?)?;
    let had = |(flag, of, _): &&(&str, &str, &str)| {
        *flag == given && of_command.get_arguments().any(|one| one.get_long() == Some(of))
    };
    GONE.iter().find(had).map(|(.., instead)| *instead)
}

fn unknown_command(error: &clap::Error) -> Option<String> {
    let given = words(error, ContextKind::InvalidSubcommand).pop()?;
    if given == "run" {
        return Some(
            "there is no command `run` any more; write `cqldyno compare NAME`, which runs one driver, too".to_owned(),
        );
    }
    let near = words(error, ContextKind::SuggestedSubcommand);
    let meant = suggestion(&given, near.iter().map(String::as_str));
    Some(format!("there is no command {given:?}.{meant} `cqldyno --help` lists the commands"))
}

/// A word that is none of those there are.
fn unknown_value(error: &clap::Error) -> Option<String> {
    let argument = words(error, ContextKind::InvalidArg).pop()?;
    let given = words(error, ContextKind::InvalidValue).pop().filter(|given| !given.is_empty())?;
    let known = words(error, ContextKind::ValidValue);
    let meant = suggestion(&given, known.iter().map(String::as_str));
    let stop = if meant.is_empty() { "" } else { "." };
    let flag = argument.split(' ').next().unwrap_or_default();
    (!known.is_empty()).then(|| format!("{flag} cannot be {given:?}: write one of {}{stop}{meant}", known.join(", ")))
}

/// The command that the arguments were given to, as the usage line names it.
fn command(error: &clap::Error) -> Option<String> {
    let usage = words(error, ContextKind::Usage).pop()?;
    let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
    let names: Vec<&str> = usage.split_whitespace().skip(1).take_while(is_name).collect();
    Some(names.join(" "))
}

/// The arguments as they are typed: `--rate` for `--rate <N>`, and words for the one that has no flag.
fn names(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    let name = |text: String| match text.split(' ').next() {
        Some(flag) if flag.starts_with("--") => flag.to_owned(),
        _ => "a contender".to_owned(),
    };
    words(error, kind).into_iter().map(name).collect()
}

/// What clap tells about an error, without colours.
fn words(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(all)) => all.clone(),
        Some(ContextValue::StyledStr(one)) => vec![one.to_string()],
        Some(ContextValue::StyledStrs(all)) => all.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}
