//! Whether all workers of a plan have the same load generator.

use std::collections::{BTreeMap, BTreeSet};

use cqldyno_protocol::BuildInfo;
use cqldyno_reports::Contender as Row;

/// Two workers whose load generators differ, so that their figures would differ for that alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the workers of {first} and {second} do not have the same load generator: {differs}. Build both from one source with \
     `make build`, or compare only workers of one build"
)]
pub struct OtherGenerator {
    /// The first contender that said which build it is of.
    pub first: String,
    /// The first one that is of another.
    pub second: String,
    /// What differs: a file by its path.
    pub differs: String,
}

/// Refuses workers with different load generators; each comes with its contender's label. A worker that names no build, as one in
/// another language, has a load generator of its own and is not refused: [`own_generator`] is what its row says.
pub(crate) fn one_build<'a>(workers: impl IntoIterator<Item = (&'a str, &'a BuildInfo)>) -> Result<(), OtherGenerator> {
    let mut workers = workers.into_iter().filter(|(_, build)| !build.id.is_empty());
    let Some((first, known)) = workers.next() else { return Ok(()) };
    let differing = workers.find_map(|(second, other)| Some((second, difference(known, other)?)));
    let Some((second, differs)) = differing else { return Ok(()) };
    Err(OtherGenerator { first: first.to_owned(), second: second.to_owned(), differs })
}

/// The file that differs between two load generators.
fn difference(first: &BuildInfo, second: &BuildInfo) -> Option<String> {
    if first.id == second.id {
        return None;
    }
    if first.parts.is_empty() || second.parts.is_empty() {
        return Some(format!("its build is {} in the first and {} in the second", first.id, second.id));
    }
    let names: BTreeSet<&String> = first.parts.keys().chain(second.parts.keys()).filter(|name| is_file(name)).collect();
    let mut differing = names.into_iter().filter_map(|name| match (first.parts.get(name), second.parts.get(name)) {
        (one, other) if one == other => None,
        (Some(_), Some(_)) => Some(format!("{name} differs")),
        (one, _) => Some(format!("{name} is only in the {}", if one.is_some() { "first" } else { "second" })),
    });
    let named = differing.next()?;
    Some(match differing.count() {
        0 => named,
        more => format!("{named}, and {more} more"),
    })
}

fn is_file(name: &str) -> bool {
    name.contains('/')
}

/// What else differs between the workers' builds, a sentence each: libraries, compiler and profile are a part of the contender.
pub(crate) fn differences<'a>(workers: impl IntoIterator<Item = (&'a str, &'a BuildInfo)>) -> Vec<String> {
    let workers: Vec<_> = workers.into_iter().filter(|(_, build)| !build.parts.is_empty()).collect();
    let names: BTreeSet<&String> = workers.iter().flat_map(|(_, build)| build.parts.keys()).collect();
    let sentence = |name: &String| {
        let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (label, build) in &workers {
            match build.parts.get(name) {
                Some(value) => values.entry(value).or_default().push(label),
                // Another feature of a shared library, which only one of the adapters asks for, brings libraries of its own.
                None if name.starts_with("library ") => return None,
                None => values.entry("").or_default().push(label),
            }
        }
        if values.len() < 2 {
            return None;
        }
        // What most have comes last, as that of the others.
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by_key(|(_, labels)| labels.len());
        let others =
            values.pop().filter(|(_, labels)| labels.len() > 1 || values.iter().all(|(_, one)| one.len() == 1));
        // Cargo puts U+001F between the compiler's flags.
        let shown = |value: &str| if value.is_empty() { "unset".to_owned() } else { value.replace('\u{1f}', " ") };
        let mut said: Vec<String> =
            values.iter().map(|(value, labels)| format!("{} for {}", shown(value), labels.join(" and "))).collect();
        said.extend(others.map(|(value, labels)| match labels.as_slice() {
            [only] => format!("{} for {only}", shown(value)),
            _ => format!("{} for the others", shown(value)),
        }));
        let name = name.strip_prefix("library ").unwrap_or(name);
        Some(format!("The workers' builds differ: {name} is {}.", said.join(", ")))
    };
    names.into_iter().filter(|name| !is_file(name)).filter_map(sentence).collect()
}

/// What the row of a worker says that names no build.
pub(crate) fn own_generator(row: &Row) -> Option<String> {
    (row.build.is_empty() && row.unavailable.is_none())
        .then(|| "Its worker does not say which load generator it has, so that may be another one.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build of these parts, each `NAME=VALUE`.
    fn build(id: &str, parts: &[&str]) -> BuildInfo {
        let parts = parts.iter().filter_map(|part| part.split_once('='));
        let parts = parts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        BuildInfo { id: id.to_owned(), parts, ..BuildInfo::default() }
    }

    #[test]
    fn workers_of_one_build_are_taken_and_one_that_names_none_is_not_compared() {
        let (one, none) = (build("a", &[]), build("", &[]));
        assert_eq!(one_build([("x", &one), ("y", &none), ("z", &one)]), Ok(()));
        assert_eq!(one_build([("y", &none)]), Ok(()));
    }

    #[test]
    fn workers_with_two_load_generators_are_refused_with_the_file_that_differs() {
        let known = ["scenarios/src/zipf.rs=1", "library tokio=1.54.1", "OPT_LEVEL=3", "features="];
        let with = |id: &str, change: &[&str]| {
            let parts: Vec<&str> = known.iter().chain(change).copied().collect();
            one_build([("scylla@1", &build("a", &known)), ("noop@1", &build(id, &parts))])
                .map_err(|error| error.differs)
        };
        assert_eq!(with("b", &["scenarios/src/zipf.rs=2"]).unwrap_err(), "scenarios/src/zipf.rs differs");
        assert_eq!(with("b", &["scenarios/src/new.rs=2"]).unwrap_err(), "scenarios/src/new.rs is only in the second");
        assert_eq!(
            with("b", &["scenarios/src/zipf.rs=2", "scenarios/src/new.rs=2"]).unwrap_err(),
            "scenarios/src/new.rs is only in the second, and 1 more"
        );
        assert_eq!(with("a", &["library tokio=1.44.2", "OPT_LEVEL=1"]), Ok(()), "these are a part of the contender");
        let error = one_build([("scylla@1", &build("a", &[])), ("noop@1", &build("b", &known))]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the workers of scylla@1 and noop@1 do not have the same load generator: its build is a in the first and b in the second. \
             Build both from one source with `make build`, or compare only workers of one build"
        );
    }

    #[test]
    fn what_else_differs_is_told_with_the_workers_that_have_it() {
        let old = build("a", &["x/y.rs=1", "library tokio=1.44.2", "library mio=1.0", "lto=fat"]);
        let new = build("a", &["x/y.rs=2", "library tokio=1.54.0", "lto="]);
        assert_eq!(
            differences([("A", &old), ("B", &new), ("C", &new)]),
            [
                "The workers' builds differ: tokio is 1.44.2 for A, 1.54.0 for the others.",
                "The workers' builds differ: lto is fat for A, unset for the others."
            ]
        );
        let both = differences([("A", &old), ("B", &new)]);
        assert_eq!(both[0], "The workers' builds differ: tokio is 1.44.2 for A, 1.54.0 for B.");
        let flags = build("a", &["CARGO_ENCODED_RUSTFLAGS=--cfg\u{1f}tokio_unstable"]);
        assert_eq!(
            differences([("E", &flags), ("F", &build("a", &["CARGO_ENCODED_RUSTFLAGS="]))]),
            ["The workers' builds differ: CARGO_ENCODED_RUSTFLAGS is unset for F, --cfg tokio_unstable for E."]
        );
        assert_eq!(differences([("B", &new), ("C", &new), ("D", &build("", &[]))]), [""; 0]);
    }
}
