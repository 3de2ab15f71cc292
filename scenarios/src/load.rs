//! Rows to load before a window, or to read back after it.

use std::ops::Range;

use crate::Permutation;
use crate::order::Keys;

/// The most rows of one statement that are read back after the window.
pub const READ_BACK_ROWS: u64 = 1_000;

/// Rows of one statement, each by its number: those to load before the window, or those to read back after it.
#[derive(Clone, Debug)]
pub struct LoadPart {
    /// Index into the scenario's statements: the one whose `load` or `read_back` is executed.
    pub statement: usize,
    pub(crate) numbers: Numbers,
}

#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    /// All of the first range, then all of the second.
    Both([Range<u64>; 2]),
    /// `count` of the written rows, in this order; a key has `rows` rows, and keys count from `start`.
    Sample { start: u64, keys: Keys, rows: u64, order: Permutation, count: u64 },
}

impl LoadPart {
    /// The number of rows.
    pub fn rows(&self) -> u64 {
        match &self.numbers {
            Numbers::Both(ranges) => ranges.iter().map(|range| range.end - range.start).sum(),
            Numbers::Sample { count, .. } => *count,
        }
    }

    /// The number of the row at `index`, counted from 0. Of a row that is alone with its key it is that key.
    #[inline]
    pub fn key(&self, index: u64) -> u64 {
        match &self.numbers {
            Numbers::Both([first, second]) => {
                let length = first.end - first.start;
                if index < length { first.start + index } else { second.start + (index - length) }
            }
            Numbers::Sample { start, keys, rows, order, .. } => {
                let row = order.apply(index);
                (start + keys.key(row / rows)) * rows + row % rows
            }
        }
    }
}
