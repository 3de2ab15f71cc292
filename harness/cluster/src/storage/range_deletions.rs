//! The deleted ranges of a partition: for each place the latest deletion that covers it.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::record::NEVER;

/// Deleted ranges of sortable clustering keys, cut into pieces that do not overlap. Finding the deletion over a key is one
/// search, and a deletion that covers others replaces them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeDeletions {
    pieces: BTreeMap<Box<[u8]>, Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    end: Box<[u8]>,
    timestamp: i64,
}

impl RangeDeletions {
    /// The timestamp of the latest deletion over this key; [`NEVER`] when there is none.
    pub fn over(&self, sortable: &[u8]) -> i64 {
        let last = self.pieces.range::<[u8], _>((Bound::Unbounded, Bound::Included(sortable))).next_back();
        last.filter(|(_, piece)| sortable < &*piece.end).map_or(NEVER, |(_, piece)| piece.timestamp)
    }

    /// Adds the deletion of `start..end`, which is not empty.
    pub fn add(&mut self, start: &[u8], end: &[u8], timestamp: i64) {
        let mut new = Vec::new();
        let mut at: Box<[u8]> = start.into();
        for (piece_start, piece) in self.take_overlapping(start, end) {
            if *piece_start < *at {
                new.push((piece_start, Piece { end: at.clone(), timestamp: piece.timestamp }));
            } else if *at < *piece_start {
                new.push((at, Piece { end: piece_start.clone(), timestamp }));
                at = piece_start;
            }
            let both_end = if *piece.end < *end { piece.end.clone() } else { end.into() };
            new.push((at, Piece { end: both_end.clone(), timestamp: piece.timestamp.max(timestamp) }));
            if *both_end < *piece.end {
                new.push((both_end.clone(), piece));
            }
            at = both_end;
        }
        if *at < *end {
            new.push((at, Piece { end: end.into(), timestamp }));
        }
        self.put(new);
    }

    pub fn forget_until(&mut self, timestamp: i64) {
        self.pieces.retain(|_, piece| piece.timestamp > timestamp);
    }

    /// Removes and returns the pieces that overlap `start..end`.
    fn take_overlapping(&mut self, start: &[u8], end: &[u8]) -> Vec<(Box<[u8]>, Piece)> {
        let before = self.pieces.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(start))).next_back();
        let before = before.filter(|(_, piece)| *start < *piece.end).map(|(key, _)| key.clone());
        let within = self.pieces.range::<[u8], _>((Bound::Included(start), Bound::Excluded(end)));
        let keys: Vec<Box<[u8]>> = before.into_iter().chain(within.map(|(key, _)| key.clone())).collect();
        keys.into_iter().filter_map(|key| self.pieces.remove_entry(&key)).collect()
    }

    /// Adds pieces; neighbours of one time become one.
    fn put(&mut self, pieces: Vec<(Box<[u8]>, Piece)>) {
        let mut last: Option<(Box<[u8]>, Piece)> = None;
        for (start, next) in pieces {
            match &mut last {
                Some((_, piece)) if piece.end == start && piece.timestamp == next.timestamp => piece.end = next.end,
                _ => {
                    if let Some((start, piece)) = last.replace((start, next)) {
                        self.pieces.insert(start, piece);
                    }
                }
            }
        }
        if let Some((start, piece)) = last {
            self.pieces.insert(start, piece);
        }
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
            let ends: Vec<_> = deletions.pieces.iter().map(|(start, piece)| (start, &piece.end)).collect();
            prop_assert!(ends.windows(2).all(|two| two[0].1 <= two[1].0), "{:?}", deletions);
        }
    }

    #[test]
    fn a_deletion_over_others_takes_their_place() {
        let mut deletions = RangeDeletions::default();
        for start in 0..100 {
            deletions.add(&[2 * start], &[2 * start + 1], i64::from(start));
        }
        assert_eq!(deletions.pieces.len(), 100);
        deletions.add(&[0], &[255], 1_000);
        assert_eq!(deletions.pieces.len(), 1);
        deletions.forget_until(1_000);
        assert_eq!(deletions.over(&[7]), NEVER);
    }
}
