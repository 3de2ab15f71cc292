//! The version of a driver, as a contender names it after the `@`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use semver::{Comparator, Op, Prerelease};

/// Which sources of a driver are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// One release, such as `1.9.0`.
    Release(semver::Version),
    /// The newest release that begins so, such as `0.5` or `1`.
    Begins(Comparator),
    /// The newest release that an adapter speaks: `newest`.
    Newest,
    /// A folder with the driver's sources: `path:DIR`.
    Path(PathBuf),
    /// A commit, tag or branch of a repository: `git:URL#REV`.
    Git {
        /// What git clones.
        url: String,
        /// What git checks out.
        revision: String,
    },
}

const NEWEST: &str = "newest";

impl FromStr for Version {
    /// The end of a sentence about a contender.
    type Err = String;

    fn from_str(text: &str) -> Result<Version, String> {
        if let Some(folder) = text.strip_prefix("path:") {
            return match folder.is_empty() {
                true => Err("names no folder after `path:`; write NAME@path:DIR".to_owned()),
                false => Ok(Version::Path(PathBuf::from(folder))),
            };
        }
        if let Some(place) = text.strip_prefix("git:") {
            return match place.rsplit_once('#').filter(|(url, revision)| !url.is_empty() && !revision.is_empty()) {
                // Either would be an option of git.
                Some((url, revision)) if !url.starts_with('-') && !revision.starts_with('-') => {
                    Ok(Version::Git { url: url.to_owned(), revision: revision.to_owned() })
                }
                _ => Err("needs a repository and a commit, tag or branch; write NAME@git:URL#REV".to_owned()),
            };
        }
        if text == NEWEST || text == "latest" {
            return Ok(Version::Newest);
        }
        if let Ok(release) = semver::Version::parse(text) {
            return Ok(Version::Release(release));
        }
        let numbers: Vec<Option<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
        let (major, minor) = match numbers.as_slice() {
            [Some(major)] => (*major, None),
            [Some(major), Some(minor)] => (*major, Some(*minor)),
            _ => {
                return Err(format!(
                    "has the version {text:?}; write a release such as 1.9.0, its beginning such as 0.5, `{NEWEST}`, path:DIR or \
                     git:URL#REV"
                ));
            }
        };
        Ok(Version::Begins(Comparator { op: Op::Tilde, major, minor, patch: None, pre: Prerelease::EMPTY }))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Release(release) => write!(out, "{release}"),
            Version::Begins(Comparator { major, minor: None, .. }) => write!(out, "{major}"),
            Version::Begins(Comparator { major, minor: Some(minor), .. }) => write!(out, "{major}.{minor}"),
            Version::Newest => out.write_str(NEWEST),
            Version::Path(folder) => write!(out, "path:{}", folder.display()),
            Version::Git { url, revision } => write!(out, "git:{url}#{revision}"),
        }
    }
}

impl Version {
    /// What cargo is to choose a release by; `None` if there is no release to choose.
    pub(crate) fn requirement(&self) -> Option<String> {
        match self {
            Version::Release(release) => Some(format!("={release}")),
            Version::Begins(beginning) => Some(beginning.to_string()),
            Version::Newest => Some("*".to_owned()),
            Version::Path(_) | Version::Git { .. } => None,
        }
    }

    /// Whether `version` is one of those that are meant.
    pub(crate) fn takes(&self, version: &semver::Version) -> bool {
        match self {
            Version::Release(release) => release == version,
            Version::Begins(beginning) => beginning.matches(version),
            Version::Newest | Version::Path(_) | Version::Git { .. } => true,
        }
    }

    /// Whether the same release is meant tomorrow.
    pub(crate) fn is_exact(&self) -> bool {
        !matches!(self, Version::Begins(_) | Version::Newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_printed_again() {
        for text in ["1.9.0", "4.0.0-beta.1", "0.5", "1", "newest", "path:../a+b", "git:https://x.org/y.git#v1"] {
            assert_eq!(text.parse::<Version>().unwrap().to_string(), text);
        }
        assert_eq!("latest".parse(), Ok(Version::Newest));
    }

    #[test]
    fn a_beginning_means_the_newest_release_that_begins_so() {
        let of = |text: &str| text.parse::<Version>().unwrap();
        assert_eq!(of("0.5").requirement().as_deref(), Some("~0.5"));
        assert_eq!(of("1").requirement().as_deref(), Some("~1"));
        assert_eq!(of("0.3.1").requirement().as_deref(), Some("=0.3.1"));
        assert!(of("0.5").takes(&semver::Version::new(0, 5, 7)) && !of("0.5").takes(&semver::Version::new(0, 6, 0)));
        assert!(of("1").takes(&semver::Version::new(1, 9, 0)));
        assert!(of("0.3.1").is_exact() && !of("0.3").is_exact());
    }

    #[test]
    fn what_is_no_version_is_refused_with_what_to_write() {
        let error = |text: &str| text.parse::<Version>().unwrap_err();
        assert!(error("one").contains("write a release such as 1.9.0, its beginning such as 0.5"));
        assert!(error("1.2.3.4").contains("\"1.2.3.4\""));
        assert!(error("path:").contains("names no folder"));
        for text in ["git:", "git:x", "git:x#", "git:#y", "git:--upload-pack=x#y", "git:x#--y"] {
            assert!(error(text).ends_with("write NAME@git:URL#REV"), "{text}");
        }
    }
}
