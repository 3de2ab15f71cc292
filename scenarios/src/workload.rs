//! A scenario at a count: which statement and which key each ticket is.

use crate::{Permutation, Scenario};

/// One statement to issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Index into the scenario's statements.
    pub statement: usize,
    /// The key that its values follow from.
    pub key: u64,
}

/// A scenario for `count` statements with a warm-up before.
///
/// The keys `0..count` are divided among the statements by weight into ranges that do not touch; a seeded permutation of
/// `0..count` gives each ticket its key and with it its statement, so that the mix is random, exact in its shares, and
/// every key is used once. Warm-up keys lie behind `count`.
#[derive(Clone, Debug)]
pub struct Workload {
    count: u64,
    warmup: u64,
    permutation: Permutation,
    /// First key behind each statement's range.
    ends: Vec<u64>,
    weights: Vec<u64>,
    loads: Vec<bool>,
}

/// What must be in the tables before one statement can be issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadPart {
    /// Index into the scenario's statements: the one whose `load` is executed.
    pub statement: usize,
    keys: [std::ops::Range<u64>; 2],
}

impl LoadPart {
    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.keys.iter().map(|range| range.end - range.start).sum()
    }

    /// The key of row `index`, counted from 0; behind the last row it goes on counting.
    #[inline]
    pub fn key(&self, index: u64) -> u64 {
        let first = self.keys[0].end - self.keys[0].start;
        if index < first { self.keys[0].start + index } else { self.keys[1].start + (index - first) }
    }
}

/// A count that makes no workload.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// Fewer statements than the scenario's weights add up to.
    #[error(
        "{count} statements were asked of the scenario {scenario}, whose weights add up to {weights}; ask for at least {weights}"
    )]
    TooFew {
        /// The scenario's name.
        scenario: String,
        /// What was asked.
        count: u64,
        /// The sum of the weights.
        weights: u64,
    },
    /// More keys than a signed 64-bit number holds.
    #[error("{count} statements were asked of the scenario {scenario}; at most {most} are possible")]
    TooMany {
        /// The scenario's name.
        scenario: String,
        /// What was asked.
        count: u64,
        /// The most that is possible.
        most: u64,
    },
}

const MOST: u64 = 1 << 40;

impl Workload {
    /// Divides `count` statements and `warmup` before them; `seed` chooses the order of the keys.
    ///
    /// # Errors
    /// When `count` is smaller than the sum of the weights, or beyond 2^40.
    pub fn new(scenario: &Scenario, count: u64, warmup: u64, seed: u64) -> Result<Workload, WorkloadError> {
        let weights: Vec<u64> = scenario.statements.iter().map(|statement| u64::from(statement.weight)).collect();
        let sum: u64 = weights.iter().sum();
        if count < sum {
            return Err(WorkloadError::TooFew { scenario: scenario.name.clone(), count, weights: sum });
        }
        if count.max(warmup) > MOST {
            return Err(WorkloadError::TooMany {
                scenario: scenario.name.clone(),
                count: count.max(warmup),
                most: MOST,
            });
        }
        let mut before = 0;
        let ends = weights
            .iter()
            .map(|weight| {
                before += weight;
                (u128::from(count) * u128::from(before) / u128::from(sum)) as u64
            })
            .collect();
        let loads = scenario.statements.iter().map(|statement| statement.load.is_some()).collect();
        Ok(Workload { count, warmup, permutation: Permutation::new(count, seed), ends, weights, loads })
    }

    /// The number of statements in the window.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of statements of the warm-up.
    pub fn warmup(&self) -> u64 {
        self.warmup
    }

    /// The number of statements of the window that are the scenario's statement `index`.
    pub fn share(&self, index: usize) -> u64 {
        self.range(index).map_or(0, |range| range.end - range.start)
    }

    /// What ticket `0..count` issues.
    #[inline]
    pub fn issue(&self, ticket: u64) -> Issue {
        let key = self.permutation.apply(ticket);
        let statement = self.ends.iter().position(|&end| key < end).unwrap_or(self.ends.len() - 1);
        Issue { statement, key }
    }

    /// What ticket `0..warmup` issues before the window: the same mix, on keys behind the window's. Statements with a
    /// `load` read warm-up keys that are loaded, the others have keys of their own.
    #[inline]
    pub fn warmup_issue(&self, ticket: u64) -> Issue {
        let sum: u64 = self.weights.iter().sum();
        let mut rest = ticket % sum;
        let mut statement = 0;
        for (index, &weight) in self.weights.iter().enumerate() {
            statement = index;
            if rest < weight {
                break;
            }
            rest -= weight;
        }
        let base = if self.loads[statement] { self.count } else { self.count + self.warmup };
        Issue { statement, key: base + ticket }
    }

    /// What must be loaded before the warm-up, statement by statement.
    pub fn load(&self) -> Vec<LoadPart> {
        (0..self.ends.len())
            .filter(|&index| self.loads[index])
            .filter_map(|statement| {
                let warm = self.count..self.count + self.warmup;
                Some(LoadPart { statement, keys: [self.range(statement)?, warm] })
            })
            .collect()
    }

    /// The most rows that the tables hold at the end of the window.
    pub fn rows(&self) -> u64 {
        self.count + 2 * self.warmup
    }

    fn range(&self, index: usize) -> Option<std::ops::Range<u64>> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use std::collections::HashSet;

    #[test]
    fn mixed_reads_what_is_loaded_and_inserts_elsewhere_half_and_half() {
        let scenario = builtin("mixed").unwrap();
        let workload = Workload::new(&scenario, 1_001, 10, 7).unwrap();
        let load = workload.load();
        assert_eq!(load.len(), 1);
        let loaded: HashSet<u64> = (0..load[0].rows()).map(|index| load[0].key(index)).collect();
        assert_eq!(loaded.len() as u64, load[0].rows());
        let mut keys = HashSet::new();
        let mut counts = [0u64; 2];
        for ticket in 0..workload.count() {
            let issue = workload.issue(ticket);
            assert!(issue.key < 1_001);
            assert!(keys.insert(issue.key), "key {} twice", issue.key);
            counts[issue.statement] += 1;
            let reads = scenario.statements[issue.statement].expect.is_some();
            assert_eq!(loaded.contains(&issue.key), reads);
        }
        assert_eq!(counts, [workload.share(0), workload.share(1)]);
        assert_eq!(counts, [500, 501]);
    }

    #[test]
    fn the_warm_up_touches_no_key_of_the_window_and_reads_only_what_is_loaded() {
        for scenario in crate::builtins() {
            let workload = Workload::new(&scenario, 100, 30, 7).unwrap();
            let loaded: HashSet<u64> =
                workload.load().iter().flat_map(|part| (0..part.rows()).map(|index| part.key(index))).collect();
            let mut keys = HashSet::new();
            for ticket in 0..workload.warmup() {
                let issue = workload.warmup_issue(ticket);
                assert!(issue.key >= 100 && issue.key < workload.rows());
                assert!(keys.insert(issue.key));
                assert_eq!(loaded.contains(&issue.key), scenario.statements[issue.statement].load.is_some());
            }
        }
    }

    #[test]
    fn too_few_statements_are_refused_with_a_sentence() {
        let error = Workload::new(&builtin("mixed").unwrap(), 1, 0, 0).unwrap_err().to_string();
        assert_eq!(
            error,
            "1 statements were asked of the scenario mixed, whose weights add up to 2; ask for at least 2"
        );
    }
}
