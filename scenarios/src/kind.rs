//! The values of each kind, and what they consist of.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU64;

use cqldyno_driver_api::{DAY, Nested, Scalar, Value};

use crate::splitmix::{mix, seed, word};
use crate::{Amount, Blobs, Kind, Texts};

/// The version 1 uuid of number 0 has this time, in units of 100 ns since 1582: midnight on 2024-01-01.
const TIMEUUID_EPOCH: u64 = 0x01ee_a838_b4cc_8000;
/// Such units in a millisecond.
const TIMEUUID_STEP: u64 = 10_000;
/// The first half of generated addresses of IPv6: the prefix for documentation (RFC 3849).
const V6_PREFIX: u64 = 0x2001_0db8_0000_0000;

impl Kind {
    /// `times * number + plus`, wrapping: the value of the numeric kinds.
    #[inline]
    pub fn number(number: u64, times: i64, plus: i64) -> i64 {
        (number as i64).wrapping_mul(times).wrapping_add(plus)
    }

    /// The number of a [`Kind::Partition`] with so many rows.
    #[inline]
    pub fn partition(number: u64, rows: NonZeroU64) -> i64 {
        (number / rows) as i64
    }

    /// The sixteen bytes of a [`Kind::Uuid`] with this `plus`, in network order.
    pub fn uuid(number: u64, plus: i64) -> [u8; 16] {
        let seed = seed(number, plus);
        let mut bytes = ((u128::from(word(seed, 1)) << 64) | u128::from(word(seed, 2))).to_be_bytes();
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        bytes
    }

    /// As [`Kind::uuid`], with the four bits that the version replaces kept in the last byte: no two numbers have the same.
    pub fn unique_uuid(number: u64, plus: i64) -> [u8; 16] {
        let mut bytes = Kind::uuid(number, plus);
        let replaced = (word(seed(number, plus), 1) >> 12) as u8 & 0x0f;
        bytes[15] = (bytes[15] & 0xf0) | replaced;
        bytes
    }

    /// The nanoseconds of a [`Kind::Time`].
    pub fn time(number: u64, times: i64, plus: i64) -> i64 {
        Kind::number(number, times, plus).rem_euclid(DAY)
    }

    /// The months, days and nanoseconds of a [`Kind::Duration`]: `times * number + plus` modulo 12, 31 and a day, none below 0.
    pub fn duration(number: u64, times: i64, plus: i64) -> (i32, i32, i64) {
        match Scalar::Duration.of_number(Kind::number(number, times, plus)) {
            Value::Duration { months, days, nanoseconds } => (months, days, nanoseconds),
            _ => (0, 0, 0),
        }
    }

    /// The address of a [`Kind::Inet`]: four bytes, or eight after `2001:db8::`.
    pub fn inet(number: u64, times: i64, plus: i64, v6: bool) -> IpAddr {
        let number = Kind::number(number, times, plus).cast_unsigned();
        match v6 {
            false => Ipv4Addr::from(number as u32).into(),
            true => Ipv6Addr::from((u128::from(V6_PREFIX) << 64) | u128::from(number)).into(),
        }
    }

    /// The sixteen bytes of a [`Kind::Timeuuid`] with this `plus`, in network order.
    pub fn timeuuid(number: u64, plus: i64) -> [u8; 16] {
        let time = TIMEUUID_EPOCH.wrapping_add(number.wrapping_mul(TIMEUUID_STEP));
        let [high, middle, low] = [(time >> 48) & 0x0fff | 0x1000, (time >> 32) & 0xffff, time & 0xffff_ffff];
        let node = (mix(plus.cast_unsigned()) & (u64::MAX >> 2)) | (1 << 63);
        ((u128::from((low << 32) | (middle << 16) | high) << 64) | u128::from(node)).to_be_bytes()
    }

    /// The number that element `index` of a value with at most so many elements follows from.
    #[inline]
    pub fn element(number: u64, most: usize, index: usize) -> u64 {
        number.wrapping_mul(most as u64).wrapping_add(index as u64)
    }

    /// The value of `number`; null for a kind whose values need room: texts, blobs and those with elements.
    #[inline]
    pub fn value(&self, number: u64) -> Value<'static> {
        if let Some((scalar, times, plus)) = self.number_of() {
            return scalar.of_number(Kind::number(number, times, plus));
        }
        match *self {
            Kind::Uuid { plus } => Value::Uuid(Kind::uuid(number, plus)),
            Kind::Timeuuid { plus } => Value::Timeuuid(Kind::timeuuid(number, plus)),
            Kind::Decimal { times, plus, scale } => {
                Value::Decimal { unscaled: Kind::number(number, times, plus), scale }
            }
            Kind::Inet { times, plus, v6 } => Value::Inet(Kind::inet(number, times, plus, v6)),
            Kind::Partition { rows } => Value::Bigint(Kind::partition(number, rows)),
            _ => Value::Null,
        }
    }

    /// The texts of a [`Kind::Text`] or [`Kind::Ascii`].
    pub fn texts(&self) -> Option<Texts> {
        match *self {
            Kind::Text { length, plus, unicode: true } => Some(Texts::unicode(length.most(), plus)),
            Kind::Text { length, plus, unicode: false } | Kind::Ascii { length, plus } => {
                Some(Texts::letters(length, plus))
            }
            _ => None,
        }
    }

    /// The blobs of a [`Kind::Blob`].
    pub fn blobs(&self) -> Option<Blobs> {
        if let Kind::Blob { length, plus } = *self { Some(Blobs::new(length, plus)) } else { None }
    }

    /// What a kind with elements is, how often each of these comes, and they themselves, keys before values; those of a vector are
    /// floats and not among them.
    pub fn elements(&self) -> Option<(Nested, Amount, Vec<&Kind>)> {
        let of_vector = |length: NonZeroU64| usize::try_from(length.get()).unwrap_or(usize::MAX);
        Some(match self {
            Kind::List { of, length } => (Nested::List, *length, vec![of]),
            // As many as rows come back, which it does not know.
            Kind::Each { of } => (Nested::List, 1.into(), vec![of]),
            Kind::Set { of, length } => (Nested::Set, *length, vec![of]),
            Kind::Map { keys, of, length } => (Nested::Map, *length, vec![keys, of]),
            Kind::Tuple { of } => (Nested::Tuple, 1.into(), of.iter().collect()),
            Kind::Udt { of } => (Nested::Udt, 1.into(), of.iter().collect()),
            Kind::Vector { length, .. } => (Nested::Vector, of_vector(*length).into(), Vec::new()),
            _ => return None,
        })
    }

    /// The type of values without elements.
    fn scalar(&self) -> Option<Scalar> {
        match self {
            Kind::Uuid { .. } => Some(Scalar::Uuid),
            Kind::Timeuuid { .. } => Some(Scalar::Timeuuid),
            Kind::Text { .. } | Kind::Ascii { .. } => Some(Scalar::Text),
            Kind::Blob { .. } => Some(Scalar::Blob),
            Kind::Decimal { .. } => Some(Scalar::Decimal),
            Kind::Inet { .. } => Some(Scalar::Inet),
            Kind::Partition { .. } | Kind::Token {} => Some(Scalar::Bigint),
            other => other.number_of().map(|(scalar, ..)| scalar),
        }
    }

    /// The type as CQL names it; `udt` for a user-defined one.
    pub fn name(&self) -> &'static str {
        match (self.scalar(), self.elements()) {
            _ if matches!(self, Kind::Ascii { .. }) => "ascii",
            (Some(scalar), _) => scalar.name(),
            (None, elements) => elements.map_or("null", |(nested, ..)| nested.name()),
        }
    }

    /// The type with those of its elements as CQL writes it: `map<text, int>`, `vector<float, 3>`, and `udt<int, text>` for the
    /// fields of a user-defined one in their order.
    pub fn cql(&self) -> String {
        match self.elements() {
            None => self.name().to_owned(),
            Some((Nested::Vector, length, _)) => format!("vector<float, {}>", length.most()),
            Some((nested, _, of)) => {
                format!("{}<{}>", nested.name(), of.into_iter().map(Kind::cql).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Itself and the kinds of its elements, at any depth.
    pub fn all(&self) -> Vec<&Kind> {
        let inner = self.elements().into_iter().flat_map(|(.., of)| of);
        std::iter::once(self).chain(inner.flat_map(Kind::all)).collect()
    }

    /// See [`crate::Column::length`]; no frame holds what saturates.
    pub(crate) fn length(&self) -> usize {
        match self {
            Kind::Text { length, .. } | Kind::Blob { length, .. } | Kind::Ascii { length, .. } => length.most(),
            other => match other.elements() {
                Some((Nested::Vector, length, _)) => length.most().saturating_mul(4),
                // An element follows its length, which is an int.
                Some((_, length, of)) => {
                    let one = of.iter().fold(0usize, |sum, of| sum.saturating_add(of.length()).saturating_add(4));
                    length.most().saturating_mul(one)
                }
                None => other.scalar().and_then(Scalar::width).unwrap_or(0),
            },
        }
    }

    /// The `plus` of the kind itself, or of the first of its elements that has one; else 0.
    pub fn plus(&self) -> i64 {
        self.plus_if_any().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_of_version_four_and_differ_by_number_and_by_plus() {
        assert_ne!(Kind::uuid(1, 0), Kind::uuid(2, 0));
        assert_ne!(Kind::uuid(1, 0), Kind::uuid(1, 1));
        for number in 0..100 {
            let uuid = Kind::uuid(number, 4);
            assert_eq!((uuid[6] >> 4, uuid[8] >> 6), (4, 2));
        }
    }

    #[test]
    fn the_uuids_of_a_primary_key_keep_every_bit_that_their_number_is_told_apart_by() {
        for number in 0..1_000 {
            let uuid = Kind::unique_uuid(number, 4);
            assert_eq!(uuid[..15], Kind::uuid(number, 4)[..15]);
            let first = u64::from_be_bytes(uuid[..8].try_into().unwrap());
            let word = (first & !(0xf << 12)) | (u64::from(uuid[15] & 0xf) << 12);
            assert_eq!(word, super::word(seed(number, 4), 1), "a bijection of the number");
        }
    }

    #[test]
    fn timeuuids_are_of_version_one_and_a_millisecond_apart() {
        let time = |number| {
            let uuid = Kind::timeuuid(number, 4);
            assert_eq!((uuid[6] >> 4, uuid[8] >> 6), (1, 2));
            assert_ne!(uuid, Kind::timeuuid(number, 5));
            let part =
                |range: std::ops::Range<usize>| uuid[range].iter().fold(0u64, |all, one| all << 8 | u64::from(*one));
            (part(6..8) & 0x0fff) << 48 | part(4..6) << 32 | part(0..4)
        };
        // Seconds from 1582-10-15, from which a uuid counts (RFC 9562), to 1970 and from there to 2024.
        assert_eq!(time(0), (12_219_292_800 + 1_704_067_200) * 10_000_000);
        assert!((0..1_000_000).step_by(997).all(|number| time(number + 1) == time(number) + 10_000));
    }

    #[test]
    fn times_durations_and_addresses_stay_in_their_ranges_for_any_number() {
        for number in [0, 1, 7, 1 << 40, u64::MAX] {
            for (times, plus) in [(1, 0), (i64::MAX, 3), (-5, -7)] {
                assert!((0..DAY).contains(&Kind::time(number, times, plus)));
                let (months, days, nanoseconds) = Kind::duration(number, times, plus);
                assert!((0..12).contains(&months) && (0..31).contains(&days) && (0..DAY).contains(&nanoseconds));
                assert!(
                    Kind::inet(number, times, plus, false).is_ipv4() && Kind::inet(number, times, plus, true).is_ipv6()
                );
            }
        }
        assert_eq!(Kind::inet(0x0102, 1, 0, false).to_string(), "0.0.1.2");
        assert_eq!(Kind::inet(0x0102, 1, 0, true).to_string(), "2001:db8::102");
    }

    #[test]
    fn the_elements_of_values_one_after_the_other_have_numbers_one_after_the_other() {
        let numbers: Vec<u64> = (5..7).flat_map(|number| (0..3).map(move |at| Kind::element(number, 3, at))).collect();
        assert_eq!(numbers, [15, 16, 17, 18, 19, 20]);
    }

    #[test]
    fn a_type_is_written_with_those_of_its_elements() {
        let text = Kind::Ascii { length: 3.into(), plus: 0 };
        let list = Kind::List { of: Box::new(Kind::Int { times: 1, plus: 0 }), length: 2.into() };
        let map = Kind::Map { keys: Box::new(text), of: Box::new(list.clone()), length: 2.into() };
        let vector = Kind::Vector { length: NonZeroU64::new(3).unwrap(), times: 1, plus: 0 };
        let udt = Kind::Udt { of: vec![map, vector, Kind::Token {}] };
        assert_eq!(udt.cql(), "udt<map<ascii, list<int>>, vector<float, 3>, bigint>");
        assert_eq!(
            (Kind::Null {}.cql(), Kind::Each { of: Box::new(list) }.cql()),
            ("null".into(), "list<list<int>>".into())
        );
    }
}
