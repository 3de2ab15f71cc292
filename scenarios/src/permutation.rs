//! A seeded permutation of `0..n` that needs no memory.

use crate::splitmix::word;

/// A bijection of `0..n` onto itself, chosen by a seed.
///
/// Three rounds of multiplication by an odd number and an xor-shift, each invertible on the smallest power of two that holds `n`.
/// A result beyond `n` is mapped again until it falls within (cycle walking, Black and Rogaway 2002), in fewer than two rounds on
/// average.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    n: u64,
    mask: u64,
    shift: u32,
    factors: [u64; 3],
    offsets: [u64; 3],
}

impl Permutation {
    /// The permutation of `0..n` that `seed` chooses; `n` = 0 is taken as 1.
    pub fn new(n: u64, seed: u64) -> Permutation {
        let n = n.max(1);
        let bits = (u64::BITS - (n - 1).leading_zeros()).max(1);
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let [factors, offsets] = [[1, 2, 3], [4, 5, 6]].map(|words| words.map(|n| word(seed, n)));
        Permutation { n, mask, shift: bits.div_ceil(2), factors: factors.map(|factor| factor | 1), offsets }
    }

    /// Where `index` goes; both lie in `0..n`. An `index` beyond is reduced modulo `n`.
    #[inline]
    pub fn apply(&self, index: u64) -> u64 {
        let mut x = if index < self.n { index } else { index % self.n };
        loop {
            for round in 0..3 {
                x = x.wrapping_add(self.offsets[round]).wrapping_mul(self.factors[round]) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_index_is_reached_exactly_once(n in 1u64..5_000, seed: u64) {
            let permutation = Permutation::new(n, seed);
            let mut seen = vec![false; n as usize];
            for index in 0..n {
                let key = permutation.apply(index) as usize;
                prop_assert!(key < seen.len());
                prop_assert!(!seen[key], "{} twice", key);
                seen[key] = true;
            }
        }
    }

    #[test]
    fn neighbours_are_scattered_and_seeds_differ() {
        let n = 10_000_000;
        let permutation = Permutation::new(n, 1);
        let near =
            (0..100_000u64).filter(|&i| permutation.apply(i).abs_diff(permutation.apply(i + 1)) < n / 100).count();
        // Two independent uniform keys lie within a hundredth of the range of each other in 1.99 % of the cases.
        assert!((1_500..2_500).contains(&near), "{near} of 100000 neighbours lie close together");
        let other = Permutation::new(n, 2);
        let equal = (0..100_000).filter(|&i| permutation.apply(i) == other.apply(i)).count();
        assert!(equal < 10, "{equal} of 100000 keys are the same under two seeds");
    }

    #[test]
    fn a_hundredth_of_the_indexes_reaches_every_part_of_the_range_evenly() {
        let n = 1_000_000;
        let permutation = Permutation::new(n, 42);
        let mut parts = [0u32; 10];
        for index in 0..n / 100 {
            parts[(permutation.apply(index) / (n / 10)) as usize] += 1;
        }
        assert!(parts.iter().all(|&count| (850..1_150).contains(&count)), "{parts:?}");
    }
}
