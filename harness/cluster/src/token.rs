//! The token of a partition key: Cassandra's Murmur3Partitioner.
//!
//! It is the first half of MurmurHash3 x64 128 with seed 0, but the bytes of the tail are extended with their sign
//! (org.apache.cassandra.utils.MurmurHash). Every token-aware driver repeats this.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// The token of a serialised partition key (see [`routing_key`] for keys of several components).
#[inline]
pub fn token(key: &[u8]) -> i64 {
    if key.is_empty() {
        return i64::MIN;
    }
    match hash(key) {
        // The smallest value stands for "before all tokens" on the ring, so no key may have it.
        i64::MIN => i64::MAX,
        token => token,
    }
}

/// Appends the serialised partition key. A single component is the key; of several each has its length as a short, its bytes
/// and a zero byte (org.apache.cassandra.db.marshal.CompositeType).
#[inline]
pub fn routing_key<'a>(components: impl ExactSizeIterator<Item = &'a [u8]>, key: &mut Vec<u8>) {
    let single = components.len() == 1;
    for component in components {
        if single {
            key.extend_from_slice(component);
        } else {
            // Components are refused above 65,535 bytes before they come here; a longer one would only hash differently.
            let length = u16::try_from(component.len()).unwrap_or(u16::MAX);
            key.extend_from_slice(&length.to_be_bytes());
            key.extend_from_slice(component);
            key.push(0);
        }
    }
}

#[inline]
fn hash(key: &[u8]) -> i64 {
    let (mut h1, mut h2) = (0u64, 0u64);
    let (blocks, tail) = key.as_chunks::<16>();
    for block in blocks {
        let block = u128::from_le_bytes(*block);
        let (k1, k2) = (block as u64, (block >> 64) as u64);
        h1 ^= k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (low, high) = tail.split_at(tail.len().min(8));
    if !high.is_empty() {
        h2 ^= signed_tail(high).wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    }
    if !low.is_empty() {
        h1 ^= signed_tail(low).wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    }
    h1 ^= key.len() as u64;
    h2 ^= key.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    finish(h1).wrapping_add(finish(h2)) as i64
}

#[inline]
fn signed_tail(bytes: &[u8]) -> u64 {
    // Each byte is a signed one in Java, so a negative one also flips all the bits above it.
    bytes.iter().rev().fold((0, bytes.len()), |(k, i), byte| (k ^ ((*byte as i8 as u64) << (8 * (i - 1))), i - 1)).0
}

#[inline]
fn finish(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_cassandra() {
        // From the tests of the Java, Go and Rust drivers, which took them from Cassandra.
        for (key, expected) in [
            ("test", -6_017_608_668_500_074_083),
            ("xd", 4_507_812_186_440_344_727),
            ("primary_key", -1_632_642_444_691_073_360),
            ("kremówki", 4_354_931_215_268_080_151),
        ] {
            assert_eq!(token(key.as_bytes()), expected, "{key}");
        }
        for (key, expected) in
            [(0, -3_485_513_579_396_041_028), (1, -4_069_959_284_402_364_209), (2, -3_248_873_570_005_575_792)]
        {
            assert_eq!(token(&i32::to_be_bytes(key)), expected, "{key}");
        }
        assert_eq!(token(b""), i64::MIN);
    }

    #[test]
    fn the_key_of_several_components_has_lengths_and_ends() {
        let mut key = Vec::new();
        routing_key([&b"ab"[..], b""].into_iter(), &mut key);
        assert_eq!(key, b"\0\x02ab\0\0\0\0");
        key.clear();
        routing_key([&b"ab"[..]].into_iter(), &mut key);
        assert_eq!(key, b"ab");
    }
}
