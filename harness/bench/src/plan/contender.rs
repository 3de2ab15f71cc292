//! A contender as it is written: `NAME[@VERSION][+KEY=VALUE]...`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cqldyno_protocol::Hello;
use cqldyno_reports::Role;

/// A driver, the version that is meant, and options of the adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The driver's name: its worker is `cqldyno-driver-NAME`.
    pub name: String,
    /// The version that is meant; `None` is the one that was built.
    pub version: Option<String>,
    /// Options of the adapter.
    pub options: BTreeMap<String, String>,
}

/// A contender that cannot be read, or is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContenderError {
    /// A text that is none, and what is wrong with it.
    #[error("the contender {0:?} {1}")]
    Unreadable(String, String),
    /// A driver, the version that was asked for, and the one that was built.
    #[error(
        "version {1} of {0} was asked for, and the worker cqldyno-driver-{0} was built with {0} {2}; ask for `{0}` or `{0}@{2}`, or \
         build the worker with {1}: other versions are not built on demand yet"
    )]
    OtherVersion(String, String, String),
    /// A driver with `+lib=PATH` where there is nothing at the path.
    #[error(
        "the library {1} was asked for {0}, and there is no such file or folder; give the path of libcassandra.so.2"
    )]
    NoLibrary(String, String),
}

/// The option that chooses another shared library.
const LIBRARY: &str = "lib";

impl FromStr for Contender {
    type Err = ContenderError;

    fn from_str(text: &str) -> Result<Contender, ContenderError> {
        let (head, tail) = text.split_once('+').map_or((text, None), |(head, tail)| (head, Some(tail)));
        let (name, version) = head.split_once('@').map_or((head, None), |(name, version)| (name, Some(version)));
        let wrong = |what: &str| Err(ContenderError::Unreadable(text.to_owned(), what.to_owned()));
        if name.is_empty() {
            return wrong(
                "has no driver's name; write NAME[@VERSION][+KEY=VALUE], for example `scylla` or \
                 `cassandra-cpp+lib=/opt/lib/libcassandra.so.2`",
            );
        }
        if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return wrong(&format!(
                "names the driver {name:?}; a driver's name has lower-case letters, digits and hyphens, as `cqldyno drivers` lists \
                 them"
            ));
        }
        if version.is_some_and(str::is_empty) {
            return wrong("has an `@` and no version after it; leave the `@` out for the version that was built");
        }
        let mut options = BTreeMap::new();
        for option in tail.map(split_options).unwrap_or_default() {
            let Some((key, value)) = option.split_once('=').filter(|(key, value)| is_key(key) && !value.is_empty())
            else {
                return wrong(&format!(
                    "has the option {option:?}; write +KEY=VALUE, for example `+lib=/opt/lib/libcassandra.so.2`"
                ));
            };
            if options.insert(key.to_owned(), value.to_owned()).is_some() {
                return wrong(&format!("has the option `{key}` twice; give it once"));
            }
        }
        Ok(Contender { name: name.to_owned(), version: version.map(str::to_owned), options })
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}

/// Divides at each `+` that begins another KEY=VALUE: a path may have a `+` of its own.
fn split_options(tail: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for part in tail.split('+') {
        let begins = part.split_once('=').is_some_and(|(key, _)| is_key(key));
        match options.last_mut() {
            Some(before) if !begins => {
                before.push('+');
                before.push_str(part);
            }
            _ => options.push(part.to_owned()),
        }
    }
    options
}

impl fmt::Display for Contender {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        if let Some(version) = &self.version {
            write!(out, "@{version}")?;
        }
        self.options.iter().try_for_each(|(key, value)| write!(out, "+{key}={value}"))
    }
}

impl Contender {
    /// What the contender is in a comparison.
    pub fn role(&self) -> Role {
        match self.name.as_str() {
            "floor" => Role::Floor,
            "noop" => Role::Noop,
            _ => Role::Driver,
        }
    }

    /// Refuses a version other than the one that the worker was built with.
    ///
    /// # Errors
    /// [`ContenderError::OtherVersion`], naming both.
    pub fn check_version(&self, hello: &Hello) -> Result<(), ContenderError> {
        match &self.version {
            Some(asked) if *asked != hello.driver.version => {
                Err(ContenderError::OtherVersion(self.name.clone(), asked.clone(), hello.driver.version.clone()))
            }
            _ => Ok(()),
        }
    }

    /// The folder in which the dynamic loader is to look first: that of `+lib=PATH`.
    ///
    /// # Errors
    /// [`ContenderError::NoLibrary`] when PATH leads nowhere.
    pub fn library_folder(&self) -> Result<Option<PathBuf>, ContenderError> {
        let Some(path) = self.options.get(LIBRARY) else { return Ok(None) };
        let absent = || ContenderError::NoLibrary(self.name.clone(), path.clone());
        let absolute = Path::new(path).canonicalize().map_err(|_| absent())?;
        if absolute.is_dir() {
            return Ok(Some(absolute));
        }
        // The loader looks for the library by name in the folder that was named, not in the one that a link leads to.
        let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        folder.canonicalize().map(Some).map_err(|_| absent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Contender {
        text.parse().unwrap()
    }

    fn error(text: &str) -> String {
        text.parse::<Contender>().unwrap_err().to_string()
    }

    #[test]
    fn name_version_and_options_are_read_and_printed_again() {
        for text in ["scylla", "scylla@1.9.0", "cassandra-cpp@3.0.2+lib=/opt/c++/x@1/libcassandra.so.2", "a+b=1+c=2"] {
            assert_eq!(parse(text).to_string(), text);
        }
        let contender = parse("cassandra-cpp@3.0.2+lib=/opt/c++/x@1/libcassandra.so.2");
        assert_eq!(contender.name, "cassandra-cpp");
        assert_eq!(contender.version.as_deref(), Some("3.0.2"));
        assert_eq!(contender.options["lib"], "/opt/c++/x@1/libcassandra.so.2");
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_write() {
        assert!(error("").contains("has no driver's name; write NAME[@VERSION][+KEY=VALUE]"));
        assert!(error("@1").contains("has no driver's name"));
        assert!(error("Scylla").contains("names the driver \"Scylla\"; a driver's name has lower-case letters"));
        assert!(error("../x").contains("\"../x\""));
        assert!(error("scylla@").contains("no version after it"));
        assert!(error("scylla+fast").contains("has the option \"fast\"; write +KEY=VALUE"));
        assert!(error("scylla+lib=").contains("has the option \"lib=\""));
        assert!(error("a+lib=1+lib=2").contains("has the option `lib` twice"));
    }

    #[test]
    fn a_library_that_is_not_there_is_refused_and_one_that_is_gives_its_folder() {
        assert_eq!(parse("scylla").library_folder(), Ok(None));
        let error = parse("cassandra-cpp+lib=/nowhere/libcassandra.so.2").library_folder().unwrap_err().to_string();
        assert!(error.contains("/nowhere/libcassandra.so.2") && error.contains("no such file"), "{error}");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("libcassandra.so.2");
        std::fs::write(&file, "").unwrap();
        let folder = dir.path().canonicalize().unwrap();
        assert_eq!(parse(&format!("cassandra-cpp+lib={}", file.display())).library_folder(), Ok(Some(folder.clone())));
        assert_eq!(parse(&format!("cassandra-cpp+lib={}", folder.display())).library_folder(), Ok(Some(folder)));
    }
}
