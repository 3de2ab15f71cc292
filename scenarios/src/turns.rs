//! Several statements that take turns as evenly as their shares allow.

/// Which statement has which turn, without memory: each exactly as often as its share says.
///
/// The first takes its turns evenly among all, as a line is drawn in pixels (Bresenham 1965). The second takes them evenly among
/// those left, and so on.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    shares: Vec<u64>,
    all: u64,
}

impl Turns {
    pub(crate) fn new(shares: &[u64]) -> Turns {
        Turns { shares: shares.to_vec(), all: shares.iter().sum() }
    }

    /// Whose turn `turn` is, and how many turns it had before; turns begin again when all are taken.
    pub(crate) fn whose(&self, turn: u64) -> (usize, u64) {
        let all = self.all.max(1);
        let (rounds, mut turn, mut left) = (turn / all, turn % all, all);
        for (index, &share) in self.shares.iter().enumerate() {
            let before = |turn: u64| (u128::from(turn) * u128::from(share)).div_ceil(u128::from(left.max(1))) as u64;
            let had = before(turn);
            if before(turn + 1) > had {
                return (index, rounds * share + had);
            }
            turn -= had;
            left -= share;
        }
        (self.shares.len().saturating_sub(1), turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everyone_has_its_share_counted_without_a_gap(shares in prop::collection::vec(0u64..40, 1..6)) {
            let turns = Turns::new(&shares);
            let all: u64 = shares.iter().sum();
            let mut had = vec![0; shares.len()];
            for turn in 0..2 * all {
                let (whose, before) = turns.whose(turn);
                prop_assert_eq!(before, had[whose]);
                had[whose] += 1;
            }
            prop_assert_eq!(had, shares.iter().map(|share| 2 * share).collect::<Vec<_>>());
        }
    }

    #[test]
    fn two_alternate_and_one_of_many_comes_in_the_midst_of_them() {
        let whose = |shares: &[u64]| (0..6).map(|turn| Turns::new(shares).whose(turn).0).collect::<Vec<_>>();
        assert_eq!(whose(&[1, 1]), [0, 1, 0, 1, 0, 1]);
        assert_eq!(whose(&[2, 1]), [0, 0, 1, 0, 0, 1]);
        assert_eq!(whose(&[1 << 40, 1 << 40]), [0, 1, 0, 1, 0, 1]);
    }
}
