//! One thread's latencies, counted in the buckets of an HdrHistogram of three significant digits.
//!
//! The crate's own `record` checks for cases that cannot occur here and takes 70 instructions; this takes a dozen. At the end
//! these counts fill an HdrHistogram of that crate.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

const SIGNIFICANT_DIGITS: u8 = 3;
/// 2 * 10^3, rounded up to a power of two: values in the first bucket. Each further bucket has half as many, each twice as wide
/// (HdrHistogram's `sub_bucket_count`).
const SUB_BUCKETS_LOG2: u32 = 11;
const HALF_LOG2: u32 = SUB_BUCKETS_LOG2 - 1;

/// The longest latency, an hour; longer ones count as this.
pub(crate) const LONGEST_NS: u64 = 3_600_000_000_000;

/// How often each latency occurred; a default one has no room for any.
#[derive(Debug, Default)]
pub struct Latencies {
    counts: Vec<u64>,
}

impl Latencies {
    /// None yet.
    pub fn new() -> Latencies {
        Latencies { counts: vec![0; index(LONGEST_NS) + 1] }
    }

    /// Counts one; 0 ns counts as 1, as the least that a histogram holds.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        if let Some(count) = self.counts.get_mut(index(nanoseconds.clamp(1, LONGEST_NS))) {
            *count += 1;
        }
    }

    pub(crate) fn add(&mut self, other: &Latencies) {
        add(&mut self.counts, &other.counts);
    }

    fn histogram(&self) -> Option<Histogram<u64>> {
        // The bounds are constants that the histogram takes; a test holds them to it.
        let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS).ok()?;
        for (index, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.saturating_record_n(lowest(index), count);
        }
        Some(histogram)
    }

    /// An HdrHistogram in its V2 form, base64; `None` if nothing was counted.
    pub(crate) fn base64(&self) -> Option<String> {
        let histogram = self.histogram().filter(|histogram| !histogram.is_empty())?;
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).ok()?;
        Some(BASE64_STANDARD.encode(bytes))
    }
}

/// Adds counts to sums, of which there may be fewer.
pub(crate) fn add(sums: &mut Vec<u64>, counts: &[u64]) {
    sums.resize(sums.len().max(counts.len()), 0);
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

#[inline]
fn index(value: u64) -> usize {
    let bucket = (u64::BITS - SUB_BUCKETS_LOG2) - (value | ((1 << SUB_BUCKETS_LOG2) - 1)).leading_zeros();
    ((bucket as usize) << HALF_LOG2) + (value >> bucket) as usize
}

/// The lowest value that counts at this index.
fn lowest(index: usize) -> u64 {
    let bucket = (index >> HALF_LOG2).saturating_sub(1);
    ((index - (bucket << HALF_LOG2)) as u64) << bucket
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_counted_is_what_the_crates_histogram_counts(
            values in prop::collection::vec((0u32..64, any::<u64>()).prop_map(|(shift, value)| value >> shift), 1..200),
        ) {
            let mut latencies = Latencies::new();
            let mut expected = latencies.histogram().unwrap();
            for &value in &values {
                latencies.record(value);
                expected.saturating_record(value.clamp(1, LONGEST_NS));
            }
            let found = latencies.histogram().unwrap();
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(found.len(), values.len() as u64);
        }
    }

    #[test]
    fn every_value_lies_in_a_bucket_at_most_a_thousandth_wide() {
        for value in (0..64).map(|shift| 1u64 << shift).chain([2_047, 2_048, 2_049, LONGEST_NS]) {
            let value = value.min(LONGEST_NS);
            let low = lowest(index(value));
            assert!(low <= value && value - low <= value / 1_000, "{value} {low}");
        }
    }
}
