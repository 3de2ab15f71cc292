//! Whether all workers of a plan have the same load generator.

use std::collections::BTreeSet;

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
    /// What differs: a file by its path, or a library or a setting with both values.
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

/// What differs between two builds.
fn difference(first: &BuildInfo, second: &BuildInfo) -> Option<String> {
    if first.id == second.id {
        return None;
    }
    if first.parts.is_empty() || second.parts.is_empty() {
        return Some(format!("its build is {} in the first and {} in the second", first.id, second.id));
    }
    let names: BTreeSet<&String> = first.parts.keys().chain(second.parts.keys()).collect();
    let mut differing = names.into_iter().filter_map(|name| match (first.parts.get(name), second.parts.get(name)) {
        (one, other) if one == other => None,
        // Another feature of a shared library, which only one of the adapters asks for, brings libraries of its own.
        (None, _) | (_, None) if name.starts_with("library ") => None,
        (Some(_), Some(_)) if name.contains('/') => Some(format!("{name} differs")),
        (one, other) if name.contains('/') => {
            Some(format!("{name} is only in the {}", if one.is_some() && other.is_none() { "first" } else { "second" }))
        }
        (one, other) => {
            let shown = |value: Option<&String>| {
                value.filter(|text| !text.is_empty()).map_or("unset", String::as_str).to_owned()
            };
            Some(format!("{name} is {} in the first and {} in the second", shown(one), shown(other)))
        }
    });
    let named = differing.next()?;
    Some(match differing.count() {
        0 => named,
        more => format!("{named}, and {more} more"),
    })
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
    fn workers_of_two_builds_are_refused_with_the_file_or_the_setting_that_differs() {
        let known = ["scenarios/src/zipf.rs=1", "library tokio=1.54.1", "OPT_LEVEL=3", "features="];
        let with = |change: &[&str]| {
            let parts: Vec<&str> = known.iter().chain(change).copied().collect();
            one_build([("scylla@1", &build("a", &known)), ("noop@1", &build("b", &parts))])
                .map_err(|error| error.differs)
        };
        assert_eq!(with(&["scenarios/src/zipf.rs=2"]).unwrap_err(), "scenarios/src/zipf.rs differs");
        assert_eq!(with(&["scenarios/src/new.rs=2"]).unwrap_err(), "scenarios/src/new.rs is only in the second");
        assert_eq!(
            with(&["library tokio=1.55.0"]).unwrap_err(),
            "library tokio is 1.54.1 in the first and 1.55.0 in the second"
        );
        assert_eq!(
            with(&["OPT_LEVEL=1", "features=parts"]).unwrap_err(),
            "OPT_LEVEL is 3 in the first and 1 in the second, and 1 more"
        );
        assert_eq!(with(&["features=parts"]).unwrap_err(), "features is unset in the first and parts in the second");
        assert_eq!(with(&["library parking_lot=0.12.4"]), Ok(()), "only another feature brought it");
        let error = one_build([("scylla@1", &build("a", &[])), ("noop@1", &build("b", &known))]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the workers of scylla@1 and noop@1 do not have the same load generator: its build is a in the first and b in the second. \
             Build both from one source with `make build`, or compare only workers of one build"
        );
    }
}
