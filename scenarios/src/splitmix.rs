//! SplitMix64 (Steele, Lea and Flood 2014), the source of all pseudo-random numbers.

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function: mixes all bits of `x`.
#[inline]
pub(crate) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What the words of `number` start from.
#[inline]
pub(crate) fn seed(number: u64, plus: i64) -> u64 {
    mix(number.wrapping_mul(GOLDEN_GAMMA) ^ mix(plus as u64))
}

/// The `n`th word from `seed` on.
#[inline]
pub(crate) fn word(seed: u64, n: u64) -> u64 {
    mix(seed.wrapping_add(n.wrapping_mul(GOLDEN_GAMMA)))
}
