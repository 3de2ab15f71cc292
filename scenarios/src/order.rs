//! The order in which a statement's keys come.

use std::collections::HashSet;

use cqldyno_driver_api::words;
use serde::{Deserialize, Serialize};

use crate::distribution::{below, exponential, gaussian};
use crate::splitmix::{seed, word};
use crate::{Permutation, Zipf};

/// The exponent of [`Order::Zipf`] if a statement sets none: that of the YCSB benchmark (Cooper et al. 2010).
pub const DEFAULT_EXPONENT: f64 = 0.99;

words! {
    /// The order in which a statement's keys come.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Order {
        /// Each once, in an order that the seed chooses; then again.
        #[default]
        Permuted = "permuted",
        /// Each once, from the first to the last; then again.
        Sequential = "sequential",
        /// Drawn anew each time, all alike.
        Uniform = "uniform",
        /// Drawn anew each time, few of them often: the `k`th with a share in proportion to `k^-exponent`. The seed chooses which key
        /// is the `k`th.
        Zipf = "zipf",
        /// Drawn anew each time, the last keys often: the `k`th from the end with a share in proportion to `k^-exponent`.
        Latest = "latest",
        /// Drawn anew each time: a fifth of the keys has four fifths of the draws, all alike, and the others have the rest.
        Hotspot = "hotspot",
        /// Drawn anew each time, those in the middle often: of a normal distribution whose ends are three standard deviations away.
        Gaussian = "gaussian",
        /// Drawn anew each time, the first keys often: of an exponential distribution whose mean is a tenth of the keys.
        Exponential = "exponential",
    }
}

impl Order {
    /// Whether an exponent says how often the first keys come.
    pub(crate) fn has_exponent(self) -> bool {
        matches!(self, Order::Zipf | Order::Latest)
    }
}

/// The key of a statement's `n`th issue, counted from its first key. It needs no memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pub(crate) count: u64,
    seed: i64,
    sampler: Sampler,
}

#[derive(Clone, Copy, Debug)]
enum Sampler {
    InTurn,
    Permuted(Permutation),
    Uniform,
    Zipf(Zipf, Permutation),
    Latest(Zipf),
    Hotspot,
    Gaussian,
    Exponential,
}

/// The share of the keys of [`Order::Hotspot`] that are hot, and of the draws that they have: those of the YCSB benchmark.
const HOT: (u64, f64) = (5, 0.8);

/// The upper 53 bits are a double's from 0 to below 1.
fn unit(word: u64) -> f64 {
    (word >> 11) as f64 / (1u64 << 53) as f64
}

impl Keys {
    /// Of `count` keys. `numbered` says that the issues' numbers come in sequence, not in a random order.
    pub(crate) fn new(count: u64, order: Order, exponent: f64, numbered: bool, seed: u64) -> Keys {
        let permutation = Permutation::new(count, seed);
        let sampler = match order {
            Order::Sequential => Sampler::InTurn,
            Order::Permuted if numbered => Sampler::Permuted(permutation),
            Order::Permuted => Sampler::InTurn,
            Order::Uniform => Sampler::Uniform,
            Order::Zipf => Sampler::Zipf(Zipf::new(count, exponent), permutation),
            Order::Latest => Sampler::Latest(Zipf::new(count, exponent)),
            Order::Hotspot => Sampler::Hotspot,
            Order::Gaussian => Sampler::Gaussian,
            Order::Exponential => Sampler::Exponential,
        };
        Keys { count: count.max(1), seed: seed.cast_signed(), sampler }
    }

    pub(crate) fn key(&self, n: u64) -> u64 {
        let drawn = |draw| word(seed(n, self.seed), draw);
        let sampled = |zipf: &Zipf| {
            let mut draws = 0;
            zipf.sample(|| {
                draws += 1;
                unit(drawn(draws))
            }) - 1
        };
        let last = self.count - 1;
        match &self.sampler {
            Sampler::InTurn => n % self.count,
            Sampler::Permuted(permutation) => permutation.apply(n % self.count),
            Sampler::Uniform => below(self.count, drawn(1)),
            Sampler::Zipf(zipf, permutation) => permutation.apply(sampled(zipf)),
            Sampler::Latest(zipf) => last - sampled(zipf).min(last),
            Sampler::Hotspot => {
                let hot = (self.count / HOT.0).max(1);
                match unit(drawn(1)) < HOT.1 || hot == self.count {
                    true => below(hot, drawn(2)),
                    false => hot + below(self.count - hot, drawn(2)),
                }
            }
            Sampler::Gaussian => gaussian(self.count, [1, 2].map(drawn)),
            Sampler::Exponential => exponential(self.count, [1, 2].map(drawn)),
        }
    }

    /// How many different keys the issues `0..issued` have: known at once if keys come in turn, else counted.
    pub(crate) fn different(&self, issued: u64) -> u64 {
        match self.sampler {
            Sampler::InTurn | Sampler::Permuted(_) => issued.min(self.count),
            _ => {
                let keys = (0..issued).map(|n| self.key(n));
                if self.count / 64 > issued {
                    return keys.collect::<HashSet<u64>>().len() as u64;
                }
                let mut seen = vec![0u64; usize::try_from(self.count.div_ceil(64)).unwrap_or(0)];
                for key in keys {
                    if let Some(word) = seen.get_mut((key / 64) as usize) {
                        *word |= 1 << (key % 64);
                    }
                }
                seen.iter().map(|word| u64::from(word.count_ones())).sum()
            }
        }
    }

    /// The sum over the different keys that the issues `0..issued` have.
    pub(crate) fn sum(&self, issued: u64, of: impl Fn(u64) -> u64) -> u64 {
        match self.sampler {
            Sampler::InTurn | Sampler::Permuted(_) => (0..issued.min(self.count)).map(|n| of(self.key(n))).sum(),
            _ => (0..issued).map(|n| self.key(n)).collect::<HashSet<u64>>().into_iter().map(of).sum(),
        }
    }

    /// The number of issues from 0 on to sample from: each has a key of its own if keys come in turn.
    pub(crate) fn sampled(&self, issued: u64) -> u64 {
        match self.sampler {
            Sampler::InTurn | Sampler::Permuted(_) => issued.min(self.count),
            _ => issued,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn keys(order: Order, numbered: bool) -> Keys {
        Keys::new(1_000, order, 1.0, numbered, 7)
    }

    #[test]
    fn in_turn_means_each_once_and_then_again() {
        let drawn = |keys: Keys| (0..2_000).map(|n| keys.key(n)).collect::<Vec<_>>();
        let sequential = drawn(keys(Order::Sequential, true));
        assert!(sequential.iter().copied().eq((0..1_000).chain(0..1_000)));
        let permuted = drawn(keys(Order::Permuted, true));
        assert_eq!(permuted[..1_000], permuted[1_000..]);
        assert_eq!(permuted[..1_000].iter().collect::<HashSet<_>>().len(), 1_000);
        assert_ne!(permuted, sequential);
        assert_eq!(drawn(keys(Order::Permuted, false)), sequential, "what is random already stays as it is");
    }

    #[test]
    fn uniform_keys_repeat_and_are_all_alike_and_zipf_prefers_few_that_lie_anywhere() {
        let drawn = |order| {
            let mut counts = BTreeMap::<u64, u32>::new();
            (0..100_000).for_each(|n| *counts.entry(keys(order, true).key(n)).or_default() += 1);
            counts
        };
        let uniform = drawn(Order::Uniform);
        assert!(uniform.len() == 1_000 && uniform.values().all(|count| (50..160).contains(count)));
        let zipf = drawn(Order::Zipf);
        let (hottest, most) = zipf.iter().max_by_key(|(_, count)| **count).unwrap();
        // 1 / H(1000) = 13.36 %.
        assert!((13_000..13_700).contains(most) && *hottest > 0, "{hottest}: {most}");
        assert!(zipf.keys().all(|key| *key < 1_000));
    }

    #[test]
    fn each_way_of_drawing_prefers_the_keys_that_its_name_says() {
        // Draws of 100,000 in each tenth of the keys.
        let tenths = |order| {
            let mut tenths = [0; 10];
            (0..100_000).for_each(|n| tenths[(keys(order, true).key(n) / 100) as usize] += 1);
            tenths
        };
        let near = |found: u32, due: u32| found.abs_diff(due) < 1_000;
        let latest = tenths(Order::Latest);
        assert!(latest[9] > 60_000 && latest[0] < latest[8], "{latest:?}");
        let hotspot = tenths(Order::Hotspot);
        assert!(near(hotspot[0], 40_000) && near(hotspot[1], 40_000) && near(hotspot[9], 2_500), "{hotspot:?}");
        let gaussian = tenths(Order::Gaussian);
        assert!(near(gaussian[4], 22_575) && near(gaussian[5], 22_575) && near(gaussian[9], 820), "{gaussian:?}");
        let exponential = tenths(Order::Exponential);
        assert!(near(exponential[0], 63_212) && near(exponential[1], 23_254), "{exponential:?}");
        for order in Order::ALL {
            let one = Keys::new(1, order, 1.0, true, 7);
            assert_eq!([0, 1, 9].map(|n| one.key(n)), [0; 3], "{order:?}");
        }
    }

    #[test]
    fn different_keys_are_counted_as_they_come() {
        for order in Order::ALL {
            for issued in [0, 1, 3, 300, 5_000] {
                let keys = keys(order, true);
                let seen: HashSet<u64> = (0..issued).map(|n| keys.key(n)).collect();
                assert_eq!(keys.different(issued), seen.len() as u64, "{order:?} {issued}");
            }
        }
    }
}
