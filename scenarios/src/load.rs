//! Rows to load before a window, or to read back after it.

use std::ops::Range;
use std::sync::Arc;

use crate::answer::stored;
use crate::order::Keys;
use crate::{Amount, Permutation};

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
    /// Those of all keys of the first range, then those of the second. A key has `rows` rows, which differ from key to key; up to each
    /// key there are so many rows as `ends` says.
    Drawn { keys: [Range<u64>; 2], rows: Amount, ends: Arc<[u64]> },
    /// `count` of the written rows, in this order; a key has `rows` rows, and keys count from `start`.
    Sample { start: u64, keys: Keys, rows: Amount, order: Permutation, count: u64 },
}

impl Numbers {
    /// Of all rows of these keys.
    pub(crate) fn of(keys: [Range<u64>; 2], rows: Amount) -> Numbers {
        let most = rows.most() as u64;
        if !rows.is_drawn() {
            return Numbers::Both(keys.map(|keys| keys.start * most..keys.end * most));
        }
        let mut end = 0;
        let up_to = |key| {
            end += stored(rows, key);
            end
        };
        let ends = keys.iter().cloned().flatten().map(up_to).collect();
        Numbers::Drawn { keys, rows, ends }
    }
}

/// The number at `index` of both ranges together.
fn nth([first, second]: &[Range<u64>; 2], index: u64) -> u64 {
    let length = first.end - first.start;
    if index < length { first.start + index } else { second.start + (index - length) }
}

impl LoadPart {
    /// The number of rows.
    pub fn rows(&self) -> u64 {
        match &self.numbers {
            Numbers::Both(ranges) => ranges.iter().map(|range| range.end - range.start).sum(),
            Numbers::Drawn { ends, .. } => ends.last().copied().unwrap_or(0),
            Numbers::Sample { count, .. } => *count,
        }
    }

    /// The number of the row at `index`, counted from 0. Of a row that is alone with its key it is that key.
    #[inline]
    pub fn key(&self, index: u64) -> u64 {
        match &self.numbers {
            Numbers::Both(ranges) => nth(ranges, index),
            Numbers::Drawn { keys, rows, ends } => {
                let at = ends.partition_point(|end| *end <= index);
                let before = at.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
                nth(keys, at as u64) * rows.most() as u64 + (index - before)
            }
            Numbers::Sample { start, keys, rows, order, .. } => {
                let (row, most) = (order.apply(index), rows.most() as u64);
                let key = start + keys.key(row / most);
                key * most + row % most % stored(*rows, key)
            }
        }
    }
}
