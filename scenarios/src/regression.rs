//! A regression that somebody reported: the runs that show it, and what they are expected to show. It is data, read from TOML.

use cqldyno_driver_api::words;

use crate::{Scenario, ScenarioError, form};

/// One regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    /// A word of lower-case letters, digits and hyphens.
    pub name: String,
    /// What went wrong, in one line.
    pub title: String,
    /// Where it was reported and fixed.
    pub source: String,
    /// What was published about it.
    pub published: String,
    /// The runs that show it, at least one.
    pub runs: Vec<Trial>,
}

/// One run of a regression: an ordinary comparison, and what is expected of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// A word; the run's folder is named after it.
    pub name: String,
    /// What follows `cqldyno compare` on the command line: contenders and flags. Passes that the expectations need are added.
    pub compare: String,
    /// Scenarios that the file itself has, before those that the command names.
    pub scenarios: Vec<Scenario>,
    /// What is expected, at least one thing.
    pub expectations: Vec<Expectation>,
}

/// What one meter is expected to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The expectation in one sentence.
    pub says: String,
    /// A measure's id, or `syscalls:NAME` for the system calls of one name per statement.
    pub meter: String,
    /// The scenario's name with its way of submitting, such as `writes+stream`; absent if the run has only one.
    pub scenario: Option<String>,
    /// The arrangement; absent if the run has only one.
    pub arrangement: Option<String>,
    /// Statements in flight; absent if the run has only one number of them, and for [`Claim::Growth`].
    pub at: Option<u64>,
    /// Connections per node; absent if the run has only one number of them.
    pub connections: Option<u64>,
    /// Shards of each node; absent if the run has only one number of them.
    pub shards: Option<u64>,
    /// The figures that were published for this, in few words.
    pub published: Option<String>,
    /// What is claimed.
    pub claim: Claim,
}

/// What an expectation claims.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// The figure changes from one contender to another by a ratio within bounds.
    Change {
        /// The contender before.
        from: String,
        /// The contender after.
        to: String,
        /// Which way it goes.
        direction: Direction,
        /// The least and the most of the figure after over the figure before.
        ratio: [f64; 2],
    },
    /// The figure of a contender lies within bounds.
    Figure {
        /// The contender.
        of: String,
        /// The least and the most.
        within: [f64; 2],
    },
    /// The cost of as many statements as are in flight grows with a power of their number within bounds: 1 is linear, 2 quadratic.
    Growth {
        /// The contender.
        of: String,
        /// The least and the most exponent.
        exponent: [f64; 2],
    },
}

impl Claim {
    /// The contenders that it is about.
    pub fn contenders(&self) -> Vec<&str> {
        match self {
            Claim::Change { from, to, .. } => vec![from, to],
            Claim::Figure { of, .. } | Claim::Growth { of, .. } => vec![of],
        }
    }

    /// The least and the most of what is judged.
    pub fn bounds(&self) -> [f64; 2] {
        match self {
            Claim::Change { ratio: bounds, .. }
            | Claim::Figure { within: bounds, .. }
            | Claim::Growth { exponent: bounds, .. } => *bounds,
        }
    }
}

words! {
    /// Which way a figure goes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Direction {
        /// It becomes less.
        Falls = "falls",
        /// It becomes more.
        Rises = "rises",
        /// It stays, but for 2 %.
        Stays = "stays",
    }
}

impl Direction {
    /// The ratios that go this way.
    pub fn ratios(self) -> [f64; 2] {
        match self {
            Direction::Falls => [0.0, 0.98],
            Direction::Rises => [1.02, f64::INFINITY],
            Direction::Stays => [0.98, 1.02],
        }
    }

    /// The ratios that bounds of their own may allow: what stays may do so within wider ones.
    pub(crate) fn widest(self) -> [f64; 2] {
        if self == Direction::Stays { [0.5, 2.0] } else { self.ratios() }
    }
}

impl Regression {
    /// Reads the TOML form; `origin` names it in messages.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn from_toml(text: &str, origin: &str) -> Result<Regression, ScenarioError> {
        form::regression::read(text, origin)
    }
}

macro_rules! files {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../regressions/", $name, ".toml")))),*] };
}

/// In the order in which they are listed.
const FILES: &[(&str, &str)] = files! {
    "unbuffered-io"
    "futures-unordered"
    "timeout-mutex"
    "eager-rows"
    "retry-session"
    "latency-histogram"
    "tokio-timer"
    "cdrs-tokio-buffers"
    "envelope-clone"
    "row-metadata"
    "write-coalescing"
    "event-queue"
    "forgotten-ids"
    "cluster-data"
    "token-ring"
    "lz4"
    "half-closed"
    "pager-task"
    "small-pages"
    "shards"
    "idle-reconnects"
};

/// The built-in regressions, in the order in which they are listed.
pub fn regressions() -> Vec<Regression> {
    FILES.iter().filter_map(|(name, text)| Regression::from_toml(text, name).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_regression_can_be_read_is_named_as_its_file_and_has_a_page() {
        let names: std::collections::BTreeSet<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), FILES.len(), "one is there twice");
        for (name, text) in FILES {
            let read = Regression::from_toml(text, name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read.name, *name);
            let page = format!("{}/regressions/{name}.md", env!("CARGO_MANIFEST_DIR"));
            assert!(std::fs::read_to_string(&page).is_ok_and(|page| page.contains(&read.source)), "{page}");
        }
        assert_eq!(regressions().len(), FILES.len());
    }

    #[test]
    fn every_title_fits_beside_its_name_on_a_terminal() {
        let width = FILES.iter().map(|(name, _)| name.len()).max().unwrap();
        for regression in regressions() {
            assert!(width + 2 + regression.title.len() <= 80, "{}", regression.title);
        }
    }

    #[test]
    fn a_direction_allows_ratios_beyond_two_percent_or_within() {
        assert_eq!(Direction::ALL.map(Direction::name), ["falls", "rises", "stays"]);
        assert!(Direction::Falls.ratios()[1] < 1.0 && Direction::Rises.ratios()[0] > 1.0);
    }
}
