//! The deleted ranges of a partition: for each place the latest deletion that covers it.

use std::ops::Range;

use rangemap::RangeMap;

use super::record::NEVER;

/// Deleted ranges of sortable clustering keys. Finding the deletion over a key is one search, and a deletion that covers others
/// replaces them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeDeletions(RangeMap<Box<[u8]>, i64>);

impl RangeDeletions {
    /// The timestamp of the latest deletion over this key; [`NEVER`] when there is none.
    pub fn over(&self, sortable: &[u8]) -> i64 {
        if self.0.is_empty() { NEVER } else { self.0.get(&sortable.into()).copied().unwrap_or(NEVER) }
    }

    /// Adds the deletion of `start..end`, which is not empty.
    pub fn add(&mut self, start: &[u8], end: &[u8], timestamp: i64) {
        let range: Range<Box<[u8]>> = start.into()..end.into();
        let later = self.0.overlapping(&range).filter(|(_, other)| **other > timestamp);
        let later: Vec<_> = later.map(|(piece, other)| (piece.clone(), *other)).collect();
        self.0.insert(range, timestamp);
        self.0.extend(later);
    }

    pub fn forget_until(&mut self, timestamp: i64) {
        self.0 = std::mem::take(&mut self.0).into_iter().filter(|(_, other)| *other > timestamp).collect();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_deletion_over_a_key_is_the_latest_of_those_that_cover_it(
            ranges in prop::collection::vec((0u8..20, 1u8..20, 0i64..8), 0..40),
        ) {
            let mut deletions = RangeDeletions::default();
            for (start, len, timestamp) in &ranges {
                deletions.add(&[*start], &[start + len], *timestamp);
            }
            for key in 0..45 {
                let covering = ranges.iter().filter(|(start, len, _)| (*start..start + len).contains(&key));
                let latest = covering.map(|(_, _, timestamp)| *timestamp).max().unwrap_or(NEVER);
                prop_assert_eq!(deletions.over(&[key]), latest);
            }
            let pieces: Vec<_> = deletions.0.iter().map(|(piece, _)| piece).collect();
            prop_assert!(pieces.windows(2).all(|two| two[0].end <= two[1].start), "{:?}", deletions);
        }
    }

    #[test]
    fn a_deletion_over_others_takes_their_place() {
        let mut deletions = RangeDeletions::default();
        for start in 0..100 {
            deletions.add(&[2 * start], &[2 * start + 1], i64::from(start));
        }
        assert_eq!(deletions.0.len(), 100);
        deletions.add(&[0], &[255], 1_000);
        assert_eq!(deletions.0.len(), 1);
        deletions.forget_until(1_000);
        assert_eq!(deletions.over(&[7]), NEVER);
    }
}
