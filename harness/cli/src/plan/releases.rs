//! `NAME@all`: the newest release of each minor one that the driver's adapters list as tested.

use anyhow::Result;
use cqldyno_bench::Programs;
use cqldyno_bench::builder::Builder;
use cqldyno_reports::unique;

use super::contender;
use crate::outcome::usage;

/// Ends the name of a driver of which every release is meant.
const ALL: &str = "@all";

/// The contenders that were asked for, as they are written.
pub struct Named {
    /// Each release by itself.
    pub contenders: Vec<String>,
    /// The newest release of the first driver of which all are meant.
    pub newest: Option<String>,
}

/// Puts the releases in the place of `NAME@all`. A release that is named, too, is there once.
pub fn named(asked: &[String], programs: &Programs) -> Result<Named> {
    let mut found = Named { contenders: Vec::new(), newest: None };
    for text in asked {
        match parts(text) {
            None => found.contenders.push(text.clone()),
            Some((name, keys)) => {
                contender(name, programs)?;
                let builder = Builder::find().map_err(usage)?;
                let releases = builder.releases(name).map_err(usage)?;
                let releases: Vec<String> = releases.iter().map(|one| format!("{name}@{one}{keys}")).collect();
                found.newest = found.newest.or_else(|| releases.last().cloned());
                found.contenders.retain(|known| !releases.contains(known));
                found.contenders.extend(releases);
            }
        }
    }
    if found.newest.is_some() {
        found.contenders = unique(found.contenders);
    }
    Ok(found)
}

/// Whether all releases of a driver are meant.
pub fn is_all(text: &str) -> bool {
    parts(text).is_some()
}

/// The name and the keys of `NAME@all+KEY=VALUE`.
fn parts(text: &str) -> Option<(&str, &str)> {
    let (head, keys) = text.split_at(text.find('+').unwrap_or(text.len()));
    Some((head.strip_suffix(ALL)?, keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(asked: &[&str]) -> Result<Named> {
        let asked: Vec<String> = asked.iter().map(|text| (*text).to_owned()).collect();
        named(&asked, &Programs::find().unwrap())
    }

    #[test]
    fn all_releases_are_the_newest_of_each_minor_one_in_order_with_the_keys_and_each_is_there_once() {
        let Named { contenders, newest } = of(&["cdrs-tokio@all+lto=fat", "noop"]).unwrap();
        assert_eq!(contenders.first().unwrap(), "cdrs-tokio@5.0.0+lto=fat");
        assert_eq!(contenders.last().unwrap(), "noop");
        assert_eq!(newest.as_ref(), contenders.iter().rev().nth(1));
        assert!(!contenders.iter().any(|one| one.starts_with("cdrs-tokio@7.0.0")), "7.0 has a newer patch");
        let scylla = of(&["scylla@all"]).unwrap();
        for asked in [["scylla@0.3.1", "scylla@0.3.0", "scylla@all"], ["scylla@all", "scylla@0.3.0", "scylla@0.3.1"]] {
            let more = of(&asked).unwrap();
            assert_eq!(
                (more.contenders.len(), &more.newest),
                (scylla.contenders.len() + 1, &scylla.newest),
                "{asked:?}"
            );
        }
        let without = of(&["scylla@1.9.0", "scylla@1.9.0", "scylla@path:/a+b@all"]).unwrap();
        assert_eq!((without.contenders.len(), without.newest), (3, None));
    }

    #[test]
    fn a_driver_without_releases_is_refused() {
        let error = |asked: &str| of(&[asked]).map(|found| found.contenders).unwrap_err().to_string();
        assert!(error("noop@all").starts_with("noop is a part of cqldyno and has no other version"));
        assert!(error("nobody@all").starts_with("there is no driver \"nobody\""));
    }
}
