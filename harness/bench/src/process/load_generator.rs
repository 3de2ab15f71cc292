//! Whether all workers of a plan have the same load generator.

use cqldyno_protocol::BuildInfo;
use cqldyno_reports::Contender as Row;

/// Two workers whose load generators are not of one build: their figures would differ for that alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the workers of {first} and {second} do not have the same load generator: {what} {first_has} in the one and \
     {second_has} in the other, so their figures cannot be compared; build all workers from one source with `make build`, or \
     compare only workers of one build"
)]
pub struct OtherGenerator {
    /// The first contender that said which build it is of.
    pub first: String,
    /// The first one that is of another.
    pub second: String,
    /// What differs, with its verb.
    pub what: &'static str,
    /// The first one's.
    pub first_has: String,
    /// The other one's.
    pub second_has: String,
}

/// Refuses workers of different builds; each comes with its contender's label. A worker that names no build, as one in another
/// language, has a load generator of its own and is not refused: [`own_generator`] is what its row says.
pub(crate) fn one_build<'a>(workers: impl IntoIterator<Item = (&'a str, &'a BuildInfo)>) -> Result<(), OtherGenerator> {
    let mut workers = workers.into_iter().filter(|(_, build)| !build.id.is_empty());
    let Some((first, known)) = workers.next() else { return Ok(()) };
    let Some((second, other)) = workers.find(|(_, build)| build.id != known.id) else { return Ok(()) };
    let parts = [
        ("its sources are", &known.generator, &other.generator),
        ("its libraries in Cargo.lock are", &known.lock, &other.lock),
        ("the compiler is", &known.compiler, &other.compiler),
        ("the profile is", &known.profile, &other.profile),
    ];
    let (what, first_has, second_has) =
        parts.into_iter().find(|(_, first, second)| first != second).unwrap_or(("its build is", &known.id, &other.id));
    Err(OtherGenerator {
        first: first.to_owned(),
        second: second.to_owned(),
        what,
        first_has: first_has.clone(),
        second_has: second_has.clone(),
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

    fn build(id: &str) -> BuildInfo {
        BuildInfo {
            id: id.to_owned(),
            generator: "g".to_owned(),
            lock: "l".to_owned(),
            compiler: "rustc 1".to_owned(),
            profile: "release".to_owned(),
            ..BuildInfo::default()
        }
    }

    #[test]
    fn workers_of_one_build_are_taken_and_one_that_names_none_is_not_compared() {
        let (one, none) = (build("a"), build(""));
        assert_eq!(one_build([("x", &one), ("y", &none), ("z", &one)]), Ok(()));
        assert_eq!(one_build([("y", &none)]), Ok(()));
    }

    #[test]
    fn workers_of_two_builds_are_refused_with_both_and_what_differs() {
        let sentence =
            |other: BuildInfo| one_build([("scylla@1", &build("a")), ("noop@1", &other)]).unwrap_err().to_string();
        let sources = sentence(BuildInfo { generator: "h".to_owned(), ..build("b") });
        assert!(
            sources.starts_with(
                "the workers of scylla@1 and noop@1 do not have the same load generator: its sources are g in the one and h in \
                 the other"
            ) && sources.contains("`make build`"),
            "{sources}"
        );
        assert!(
            sentence(BuildInfo { lock: "m".to_owned(), ..build("b") }).contains("its libraries in Cargo.lock are l")
        );
        let compiler = sentence(BuildInfo { compiler: "rustc 2".to_owned(), ..build("b") });
        assert!(compiler.contains("the compiler is rustc 1 in the one and rustc 2 in the other"));
        assert!(sentence(BuildInfo { profile: "debug".to_owned(), ..build("b") }).contains("the profile is release"));
        assert!(
            sentence(build("b")).contains("its build is a in the one and b in the other"),
            "older workers say no more"
        );
    }
}
