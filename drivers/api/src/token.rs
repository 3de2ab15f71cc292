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
    use md5::{Digest, Md5};

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

    /// Bytes that look random, of 0 to 96 of them.
    fn key(number: usize) -> Vec<u8> {
        let mut mixed = (number as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut byte = |_| {
            // xorshift64
            mixed ^= mixed << 13;
            mixed ^= mixed >> 7;
            mixed ^= mixed << 17;
            (mixed >> 56) as u8
        };
        (0..number % 97).map(&mut byte).collect()
    }

    #[test]
    fn tokens_of_100_000_keys_are_those_of_cassandra() {
        // From org.apache.cassandra.dht.Murmur3Partitioner of cassandra-all 5.0.9, for the same keys.
        for (number, expected) in [
            (1, -6_378_305_595_019_946_994),
            (3, -7_728_092_126_559_148_724),
            (5, 6_521_522_237_156_076_340),
            (7, 7_348_221_539_047_157_817),
            (9, 7_458_286_657_182_412_404),
            (11, -1_516_203_800_049_864_909),
            (13, -8_113_351_477_656_371_156),
            (15, 1_042_832_148_069_229_608),
            (17, -2_888_395_170_532_559_816),
            (19, 8_143_921_584_570_786_434),
            (21, 80_976_216_734_411_158),
            (23, -7_685_238_583_910_339_014),
            (25, -7_828_552_243_545_573_082),
            (27, -8_916_853_581_217_805_831),
            (29, -2_959_855_531_831_783_303),
            (31, -6_006_358_313_347_904_775),
            (33, -8_849_569_863_686_498_636),
            (35, -1_090_537_632_587_215_429),
            (37, 1_605_531_313_002_697_951),
            (39, -6_975_110_667_800_688_148),
            (41, 8_917_172_344_322_689_264),
            (43, -4_429_217_748_215_689_441),
            (45, -2_993_997_099_483_718_078),
            (47, 4_725_061_398_096_645_755),
            (49, 4_611_379_455_439_381_362),
            (51, 590_582_765_034_875_515),
            (53, -3_642_264_824_304_941_575),
            (55, -9_015_529_099_952_630_048),
            (57, -4_778_687_250_359_200_871),
            (59, -8_562_037_754_793_372_686),
            (61, -840_304_532_497_764_831),
            (63, 3_027_654_273_976_591_108),
            (65, -7_448_438_082_414_275_165),
            (67, 4_909_013_758_263_338_908),
            (69, 673_014_056_731_125_703),
            (71, 5_392_052_053_058_202_370),
            (73, -8_405_521_805_961_391_994),
            (75, 6_855_354_434_967_236_540),
            (77, -8_245_406_224_846_786_838),
            (79, -2_374_572_634_335_926_052),
            (81, -8_834_637_910_716_171_340),
            (83, -1_582_664_896_506_759_430),
            (85, -2_197_208_507_080_766_937),
            (87, 7_926_689_269_682_381_921),
            (89, 4_473_789_901_352_727_627),
            (91, -4_265_652_929_682_101_488),
            (93, -7_141_371_426_737_110_848),
            (95, -4_428_183_064_095_629_237),
        ] {
            assert_eq!(token(&key(number)), expected, "{number}");
        }
        let mut all = Md5::new();
        (0..100_000).for_each(|number| all.update(token(&key(number)).to_be_bytes()));
        let digest: String = all.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, "01b728e00480ac15371bb1e19dead633");
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
