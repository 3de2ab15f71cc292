//! Which rows come back for a key, and what of that is drawn.

use std::ops::Range;

use crate::Amount;

/// Bits of an issue's key that are the key itself. Those above are drawn for each execution, if its answer is.
pub(crate) const KEY_BITS: u32 = 44;

/// Make draws independent of each other.
const STORED: i64 = 0x0073_746f;
const ROWS: i64 = 0x0072_6f77;
const FROM: i64 = 0x0066_726f;

/// The token up to which the first `nth` of so many ranges go, as far as it is one: all tokens are above the least number.
pub fn range_end(ranges: u64, nth: u64) -> i64 {
    let end = (u128::from(nth) << 64) / u128::from(ranges.max(1));
    u64::try_from(end).map_or(i64::MAX, |end| (end ^ (1 << 63)).cast_signed())
}

/// Which of its rows come back for a key.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub(crate) stored: Amount,
    pub(crate) selection: Option<Selection>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Selection {
    pub(crate) rows: Amount,
    pub(crate) from: Amount,
    pub(crate) last: bool,
}

impl Answer {
    /// The key without what was drawn for its execution.
    #[inline]
    pub fn key(issued: u64) -> u64 {
        issued & ((1 << KEY_BITS) - 1)
    }

    /// How many rows a key has, at most: its rows have so many numbers, of which the first ones are taken.
    pub fn most(self) -> u64 {
        self.stored.most() as u64
    }

    /// How many rows a key has.
    pub fn stored(self) -> Amount {
        self.stored
    }

    /// How many rows come back, at least.
    pub(crate) fn least(self) -> u64 {
        let stored = self.stored.least() as u64;
        let Some(Selection { rows, from, .. }) = self.selection else { return stored };
        (rows.least() as u64).min(stored.saturating_sub(from.most() as u64))
    }

    /// Whether part of the answer is drawn for each execution.
    pub fn is_drawn(self) -> bool {
        self.selection.is_some_and(|one| one.rows.is_drawn() || one.from.is_drawn())
    }

    /// The places of the rows that come back for the key of an issue.
    #[inline]
    pub fn places(self, issued: u64) -> Range<u64> {
        let stored = stored(self.stored, Answer::key(issued));
        let Some(Selection { rows, from, last }) = self.selection else { return 0..stored };
        let rows = (rows.of(issued, ROWS) as u64).min(stored);
        let from = if last { stored - rows } else { (from.of(issued, FROM) as u64).min(stored) };
        from..from.saturating_add(rows).min(stored)
    }

    /// How many these are on average.
    pub fn mean(self) -> f64 {
        self.selection.map_or(self.stored, |one| one.rows).mean()
    }

    /// How many these are.
    #[inline]
    pub fn rows(self, issued: u64) -> u64 {
        let places = self.places(issued);
        places.end - places.start
    }
}

/// How many rows a key has.
#[inline]
pub(crate) fn stored(amount: Amount, key: u64) -> u64 {
    amount.of(key, STORED) as u64
}
