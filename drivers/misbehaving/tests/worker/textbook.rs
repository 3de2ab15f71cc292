//! Routing by the textbook: MurmurHash3 x64 128 as its author published it. Cassandra extends the bytes of a key's tail with their sign,
//! so that many keys have another token there.

/// The textbook's token of a bigint.
pub fn token(key: i64) -> i64 {
    let tail = key.cast_unsigned().swap_bytes();
    let mixed = tail.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31).wrapping_mul(0x4cf5_ad43_2745_937f);
    // Both halves are xored with the length, and each is added to the other.
    let first = (mixed ^ 8).wrapping_add(8);
    let second = first.wrapping_add(8);
    finish(first).wrapping_add(finish(second)).cast_signed()
}

fn finish(mut half: u64) -> u64 {
    half = (half ^ (half >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    half = (half ^ (half >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    half ^ (half >> 33)
}

/// The node that owns a token on a ring of so many, each with one token at an equal distance from the next.
pub fn owner(token: i64, nodes: usize) -> usize {
    let place = i128::from(token) + (1 << 63);
    let end = |node: usize| (2 * node as i128 + 1) * (1 << 63) / nodes as i128;
    (0..nodes).find(|node| place <= end(*node)).unwrap_or(0)
}
