//! What is said of arguments that were given together and cannot be meant together.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use cqldyno_reports::list;

/// The sentence for arguments that exclude each other, or of which one was given more than once; `None` for any other error.
pub fn conflict(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::ArgumentConflict {
        return None;
    }
    let first = names(error.get(ContextKind::InvalidArg)?).pop()?;
    let mut all = names(error.get(ContextKind::PriorArg)?);
    if all == [first.as_str()] {
        return Some(format!("{first} was given more than once; give it once"));
    }
    all.insert(0, first);
    let told = |asked: &str, why: &str, otherwise: &str| {
        let others: Vec<String> = all.iter().filter(|name| *name != asked).cloned().collect();
        let them = if others.len() == 1 { "that" } else { "those" };
        let others = list(&others);
        format!("{asked} was given together with {others}, and {why}; leave {them} out, or {otherwise}")
    };
    let is_given = |asked: &str| all.iter().any(|name| name == asked);
    Some(if is_given("--resume") {
        told(
            "--resume",
            "what a run that goes on is asked stands in its run.json",
            "start another run without --resume",
        )
    } else if is_given("--publish") {
        told("--publish", "a run for publication has blocks and a count of its own", "do without --publish")
    } else {
        told(&all[0], "one excludes the other", &format!("do without {}", all[0]))
    })
}

/// The arguments as they are typed: `--rate` for `--rate <N>`, and a word for the one that has no flag.
fn names(given: &ContextValue) -> Vec<String> {
    let given = match given {
        ContextValue::String(one) => std::slice::from_ref(one),
        ContextValue::Strings(all) => all,
        _ => &[],
    };
    let name = |text: &String| match text.split(' ').next() {
        Some(flag) if flag.starts_with("--") => flag.to_owned(),
        _ => "a contender".to_owned(),
    };
    given.iter().map(name).collect()
}
