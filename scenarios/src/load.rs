//! Rows to load before a window, or to read back after it.

use std::ops::Range;

use crate::Permutation;
use crate::order::Keys;

/// The rows of one statement that are read back after the window, if it wrote as many.
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
    /// All of the one and then all of the other.
    Both([Range<u64>; 2]),
    /// So many rows of those that were written, in this order; `rows` to a key, and the keys from `start` on.
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

    /// The number of the row at `index`, counted from 0; behind the last row it is that of some row. Of rows that are alone with
    /// their key it is that key.
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
