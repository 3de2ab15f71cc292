//! A seeded shuffle: the same seed gives the same order on every machine.

/// SplitMix64 (Steele, Lea and Flood 2014): small, and its whole state is the seed.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, each as likely as the others: numbers of the last, incomplete round are drawn again.
    fn below(&mut self, bound: u64) -> u64 {
        let complete = u64::MAX - u64::MAX % bound;
        loop {
            let drawn = self.next();
            if drawn < complete {
                return drawn % bound;
            }
        }
    }
}

/// Puts `items` into an order that follows from `seed` and `place` alone (Fisher and Yates).
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64, place: &[u64]) {
    let state = place.iter().fold(SplitMix64(seed).next(), |state, part| SplitMix64(state ^ part).next());
    let mut random = SplitMix64(state);
    for last in (1..items.len()).rev() {
        let other = usize::try_from(random.below(last as u64 + 1)).unwrap_or(last);
        items.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn the_order_follows_from_seed_and_place() {
        let order = |seed, place: &[u64]| {
            let mut items: Vec<u32> = (0..8).collect();
            shuffle(&mut items, seed, place);
            items
        };
        assert_eq!(order(1, &[2, 3]), order(1, &[2, 3]));
        assert_ne!(order(1, &[2, 3]), order(2, &[2, 3]));
        assert_ne!(order(1, &[2, 3]), order(1, &[3, 2]));
        let mut sorted = order(9, &[]);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<u32>>());
    }

    #[test]
    fn every_order_is_as_likely_as_the_others() {
        let mut seen: HashMap<[u8; 4], u32> = HashMap::new();
        for seed in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut items, 1, &[seed]);
            *seen.entry(items).or_default() += 1;
        }
        assert_eq!(seen.len(), 24);
        // 1,000 each are expected, with a standard deviation of 31.
        assert!(seen.values().all(|count| (840..1_160).contains(count)), "{seen:?}");
    }
}
