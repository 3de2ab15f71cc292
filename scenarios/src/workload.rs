//! A scenario at a count: which statement and which key each ticket is.

use crate::{Permutation, Scenario, Statement};

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
    /// Rows that each statement writes or reads at once: so many keys a row has behind a key of the statement.
    rows: Vec<u64>,
    loads: Vec<bool>,
    reads_back: Vec<bool>,
    seed: u64,
}

/// The rows of one statement that are read back after the window, if it wrote as many.
pub const READ_BACK_ROWS: u64 = 1_000;

/// Rows of one statement, each by its key: those to load before the window, or those to read back after it.
#[derive(Clone, Debug)]
pub struct LoadPart {
    /// Index into the scenario's statements: the one whose `load` or `read_back` is executed.
    pub statement: usize,
    keys: Keys,
}

#[derive(Clone, Debug)]
enum Keys {
    /// All of the one and then all of the other.
    Both([std::ops::Range<u64>; 2]),
    /// So many of those from `start` on, scattered over them by the permutation.
    Sample { start: u64, order: Permutation, rows: u64 },
}

impl LoadPart {
    /// The number of rows.
    pub fn rows(&self) -> u64 {
        match &self.keys {
            Keys::Both(ranges) => ranges.iter().map(|range| range.end - range.start).sum(),
            Keys::Sample { rows, .. } => *rows,
        }
    }

    /// The key of row `index`, counted from 0; behind the last row it is that of some row.
    #[inline]
    pub fn key(&self, index: u64) -> u64 {
        match &self.keys {
            Keys::Both([first, second]) => {
                let length = first.end - first.start;
                if index < length { first.start + index } else { second.start + (index - length) }
            }
            Keys::Sample { start, order, .. } => start + order.apply(index),
        }
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
        let rows = scenario.statements.iter().map(Statement::rows).collect();
        let loads = scenario.statements.iter().map(|statement| statement.load.is_some()).collect();
        let reads_back = scenario.statements.iter().map(|statement| statement.read_back.is_some()).collect();
        let permutation = Permutation::new(count, seed);
        Ok(Workload { count, warmup, permutation, ends, weights, rows, loads, reads_back, seed })
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
                Some(LoadPart { statement, keys: Keys::Both([self.range(statement)?, warm]) })
            })
            .collect()
    }

    /// What is read back after the window, statement by statement: at most [`READ_BACK_ROWS`] of the rows that each wrote
    /// in it, chosen by the seed.
    pub fn read_back(&self) -> Vec<LoadPart> {
        (0..self.ends.len())
            .filter(|&index| self.reads_back[index])
            .filter_map(|statement| {
                let (range, rows) = (self.range(statement)?, self.rows_of(statement));
                let range = range.start * rows..range.end * rows;
                let length = range.end - range.start;
                // Another order than that of the window: else these would be the first rows that were written.
                let order = Permutation::new(length, !self.seed);
                let keys = Keys::Sample { start: range.start, order, rows: length.min(READ_BACK_ROWS) };
                Some(LoadPart { statement, keys })
            })
            .collect()
    }

    /// The most rows that the tables hold at the end of the window.
    pub fn rows(&self) -> u64 {
        let window = (0..self.rows.len()).map(|statement| self.share(statement) * self.rows_of(statement)).sum::<u64>();
        window + 2 * self.warmup * self.rows.iter().copied().max().unwrap_or(1)
    }

    /// Rows that statement `index` writes or reads at once.
    fn rows_of(&self, index: usize) -> u64 {
        self.rows.get(index).copied().unwrap_or(1)
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
    fn what_is_read_back_are_different_rows_that_the_window_wrote_from_everywhere_in_it() {
        for name in ["writes", "mixed"] {
            let scenario = builtin(name).unwrap();
            let workload = Workload::new(&scenario, 100_000, 30, 7).unwrap();
            let parts = workload.read_back();
            assert_eq!((parts.len(), parts[0].rows()), (1, READ_BACK_ROWS));
            let keys: HashSet<u64> = (0..READ_BACK_ROWS).map(|index| parts[0].key(index)).collect();
            assert_eq!(keys.len() as u64, READ_BACK_ROWS);
            let written: HashSet<u64> = (0..workload.count())
                .map(|ticket| (ticket, workload.issue(ticket)))
                .filter(|(_, issue)| issue.statement == parts[0].statement)
                .map(|(_, issue)| issue.key)
                .collect();
            assert!(keys.is_subset(&written));
            let early = (0..workload.count() / 10).filter(|ticket| keys.contains(&workload.issue(*ticket).key)).count();
            assert!((50..150).contains(&early), "{early} of the sample are from the window's first tenth");
            let few = Workload::new(&scenario, 10, 0, 7).unwrap();
            assert_eq!(few.read_back()[0].rows(), few.share(parts[0].statement));
        }
        assert!(Workload::new(&builtin("reads").unwrap(), 10, 0, 7).unwrap().read_back().is_empty());
    }

    #[test]
    fn the_rows_of_batches_are_read_back_from_everywhere_and_counted() {
        let mut scenario = builtin("writes").unwrap();
        scenario.statements[0].operation = crate::Operation::Batch;
        let workload = Workload::new(&scenario, 1_000, 10, 7).unwrap();
        assert_eq!(workload.rows(), 1_020 * 64);
        let part = &workload.read_back()[0];
        let keys: Vec<u64> = (0..part.rows()).map(|index| part.key(index)).collect();
        assert_eq!(keys.len() as u64, READ_BACK_ROWS);
        assert!(keys.iter().all(|key| *key < 64_000) && keys.iter().any(|key| *key > 60_000));
        assert!(keys.iter().map(|key| key % 64).collect::<HashSet<_>>().len() == 64, "of every place in a batch");
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
