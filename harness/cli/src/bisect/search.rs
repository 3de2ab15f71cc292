//! Which version is measured next. Versions are places in the range, the older end is 0.

use serde::{Deserialize, Serialize};

/// What was found of a version beside both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// Its figure is the older end's.
    Older,
    /// Its figure is the newer end's.
    Newer,
    /// Its figure is neither's, and nearer to the older end's.
    NearerOlder,
    /// Its figure is neither's, and nearer to the newer end's.
    NearerNewer,
    /// Its figure may be either's.
    Unclear,
    /// It could not be built, or has no figure.
    Skipped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Older,
    Newer,
}

impl Seen {
    /// The end that it is like, or nearer to.
    pub fn side(self) -> Option<Side> {
        match self {
            Seen::Older | Seen::NearerOlder => Some(Side::Older),
            Seen::Newer | Seen::NearerNewer => Some(Side::Newer),
            Seen::Unclear | Seen::Skipped => None,
        }
    }

    /// Whether its figure is that of one end and not that of the other.
    fn is_plain(self) -> bool {
        matches!(self, Seen::Older | Seen::Newer)
    }
}

/// What follows from all that was seen of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// Nothing was seen of it.
    Open,
    /// It contradicts its neighbours: it is measured once more.
    Again,
    /// It is on this side of the change.
    On(Side),
    /// It cannot be told, even after it was measured again.
    Out,
}

/// The conclusion on the version at `place`.
///
/// A version with the figure of neither end, or perhaps of both, is measured twice; then two equal sides hold.
pub fn conclusion(place: usize, seen: &[(usize, Seen)]) -> Conclusion {
    let of_it: Vec<Seen> = seen.iter().filter(|(at, _)| *at == place).map(|(_, seen)| *seen).collect();
    match of_it.as_slice() {
        [] => Conclusion::Open,
        [.., Seen::Skipped] => Conclusion::Out,
        [one] => one.side().filter(|_| one.is_plain()).map_or(Conclusion::Again, Conclusion::On),
        [.., before, last] => match (before.side(), last.side()) {
            (Some(before), Some(last)) if before == last => Conclusion::On(last),
            (None, Some(side)) if last.is_plain() => Conclusion::On(side),
            _ => Conclusion::Out,
        },
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Measure the version at this place.
    Try(usize),
    /// The change comes after the first place and not after the second. What lies between them cannot be told.
    Between(usize, usize),
}

/// What is to be done in a range of `count` versions.
pub fn next(count: usize, seen: &[(usize, Seen)]) -> Next {
    if let Some((place, _)) = seen.iter().find(|(place, _)| conclusion(*place, seen) == Conclusion::Again) {
        return Next::Try(*place);
    }
    let (older, newer) = nearest(count, seen);
    // The middle of the widest gap: who cannot be built often has neighbours that cannot be built, either.
    let known: Vec<usize> = (older..=newer)
        .filter(|place| [older, newer].contains(place) || conclusion(*place, seen) == Conclusion::Out)
        .collect();
    let gaps = known.windows(2).map(|pair| (pair[1] - pair[0], pair[0]));
    let widest = gaps.rev().max_by_key(|(width, _)| *width).filter(|(width, _)| *width > 1);
    widest.map_or(Next::Between(older, newer), |(width, from)| Next::Try(from + width / 2))
}

/// How many versions are measured at most, without those that are skipped or measured again.
pub fn steps_left(count: usize, seen: &[(usize, Seen)]) -> u32 {
    let (older, newer) = nearest(count, seen);
    newer.saturating_sub(older).next_power_of_two().ilog2()
}

/// The version nearest to the change on either side.
fn nearest(count: usize, seen: &[(usize, Seen)]) -> (usize, usize) {
    let on = |side: Side| {
        let is_on = move |place: &usize| conclusion(*place, seen) == Conclusion::On(side);
        seen.iter().map(|(place, _)| *place).filter(is_on)
    };
    (on(Side::Older).max().unwrap_or(0), on(Side::Newer).min().unwrap_or(count - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a range; what is seen of each version follows from its place and how often it was measured before.
    fn search(count: usize, see: impl Fn(usize, usize) -> Seen) -> ((usize, usize), Vec<usize>) {
        let mut seen = Vec::new();
        for _ in 0..1_000 {
            match next(count, &seen) {
                Next::Between(older, newer) => {
                    return ((older, newer), seen.iter().map(|(at, _): &(usize, Seen)| *at).collect());
                }
                Next::Try(at) => {
                    let before = seen.iter().filter(|(other, _)| *other == at).count();
                    seen.push((at, see(at, before)));
                }
            }
        }
        panic!("it does not end: {seen:?}");
    }

    fn side(at: usize, first: usize) -> Seen {
        if at < first { Seen::Older } else { Seen::Newer }
    }

    #[test]
    fn every_change_in_every_range_is_found_in_as_many_steps_as_halving_takes() {
        for count in 2..40 {
            for first in 1..count {
                let (found, steps) = search(count, |at, _| side(at, first));
                assert_eq!(found, (first - 1, first), "{count}");
                assert!(steps.len() as u32 <= steps_left(count, &[]), "{count} {first}: {steps:?}");
            }
        }
        assert_eq!(search(2, |at, _| side(at, 1)), ((0, 1), Vec::new()), "neighbours need no step");
    }

    #[test]
    fn what_is_skipped_is_passed_by_at_a_distance_and_never_tried_twice() {
        for count in 3..20 {
            for first in 1..count {
                for out in (1..count - 1).filter(|out| ![first - 1, first].contains(out)) {
                    let (found, steps) = search(count, |at, _| if at == out { Seen::Skipped } else { side(at, first) });
                    assert_eq!(found, (first - 1, first), "{count} without {out}");
                    assert!(steps.iter().filter(|at| **at == out).count() <= 1);
                }
            }
        }
        let (found, steps) = search(33, |at, _| if at == 16 { Seen::Skipped } else { side(at, 12) });
        assert_eq!((found, &steps[..2]), ((11, 12), &[16, 8][..]));
    }

    #[test]
    fn skipped_versions_that_hide_the_change_leave_the_range_that_holds_it() {
        let (found, _) = search(10, |at, _| if (4..7).contains(&at) { Seen::Skipped } else { side(at, 5) });
        assert_eq!(found, (3, 7));
        let (found, steps) = search(5, |_, _| Seen::Skipped);
        assert_eq!((found, steps.len()), ((0, 4), 3));
    }

    #[test]
    fn a_version_like_neither_end_or_like_both_is_measured_again_and_then_stands_by_its_nearer_end() {
        let neither = |at, _| if at == 4 { Seen::NearerNewer } else { side(at, 5) };
        let (found, steps) = search(9, neither);
        assert_eq!(found, (3, 4));
        assert_eq!(steps.iter().filter(|at| **at == 4).count(), 2, "{steps:?}");
        let at_second = |at, before| if at == 4 && before == 0 { Seen::Unclear } else { side(at, 4) };
        assert_eq!(search(9, at_second).0, (3, 4), "what was unclear once is known the second time");
    }

    #[test]
    fn a_version_that_contradicts_itself_is_left_out() {
        let turns = |at, before| match (at, before) {
            (4, 0) => Seen::NearerOlder,
            (4, _) => Seen::Newer,
            _ => side(at, 4),
        };
        let (found, steps) = search(9, turns);
        assert_eq!(found, (3, 5), "4 may be either's");
        assert_eq!(steps.iter().filter(|at| **at == 4).count(), 2, "{steps:?}");
        let never = |at, _| if at == 4 { Seen::Unclear } else { side(at, 4) };
        assert_eq!(search(9, never).0, (3, 5));
    }

    #[test]
    fn the_steps_that_are_left_shrink_with_every_step() {
        assert_eq!(steps_left(2, &[]), 0);
        assert_eq!(steps_left(12, &[]), 4);
        assert_eq!(steps_left(12, &[(5, Seen::Older)]), 3);
        assert_eq!(steps_left(12, &[(5, Seen::Older), (8, Seen::Newer)]), 2);
        assert_eq!(steps_left(12, &[(5, Seen::Older), (6, Seen::Newer)]), 0);
    }
}
