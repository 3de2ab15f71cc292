//! Columns: every value is a function of the row's number, so that any row can be checked without a copy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU64;

use cqldyno_driver_api::{DAY, Nested, Scalar, Value};
use serde::{Deserialize, Serialize};

use crate::{Amount, Blobs, Texts};

/// A column's values, and the number that they follow from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Column {
    /// The type, and how a value follows from the number.
    #[serde(flatten)]
    pub kind: Kind,
    /// The number.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub by: By,
    /// Of a value that a statement binds: the row that it is of, counted from 0 in the order of places among the rows that come back, or
    /// below 0 from their end. Absent for a value of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// One number in so many is null: for 4, of 0, 1, 2, 3 it is 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null_every: Option<u64>,
    /// The share of nulls, from 0 to 1, scattered by the number and `plus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nulls: Option<f64>,
    /// The share of its bytes that LZ4 leaves, about, of a text of letters or a blob; absent for random ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressible: Option<f64>,
    /// No two numbers have the same value, as far as type and length allow: a text, blob or uuid of a primary key. Set from the
    /// schema, never in TOML.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unique: bool,
}

/// The kinds other than numbers that have a `plus`.
macro_rules! others_with_plus {
    ($plus:ident) => {
        Kind::Uuid { $plus }
            | Kind::Timeuuid { $plus }
            | Kind::Text { $plus, .. }
            | Kind::Ascii { $plus, .. }
            | Kind::Blob { $plus, .. }
            | Kind::Decimal { $plus, .. }
            | Kind::Inet { $plus, .. }
            | Kind::Vector { $plus, .. }
    };
}

/// Makes [`Kind`]. Of the numbers, which have `times` and `plus` and nothing else, only names are listed; the others have their fields.
macro_rules! kinds {
    ($(numbers { $($(#[$doc:meta])* $number:ident,)* } others { $($others:tt)* })*) => {
        /// A type, and how its values follow from a number.
        ///
        /// Numeric ones are `times * number + plus`, wrapping. Others are pseudo-random, seeded by the number and `plus`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "type", rename_all = "snake_case")]
        pub enum Kind {
            $(
                $(
                    $(#[$doc])*
                    $number {
                        /// Factor of the number.
                        #[serde(default = "one")]
                        times: i64,
                        /// What is added.
                        #[serde(default)]
                        plus: i64,
                    },
                )*
                $($others)*
            )*
        }

        impl Kind {
            /// The kind of a type that needs nothing but `times` and `plus`.
            pub(crate) fn of_number(scalar: Scalar, times: i64, plus: i64) -> Option<Kind> {
                match scalar {
                    $($(Scalar::$number => Some(Kind::$number { times, plus }),)*)*
                    _ => None,
                }
            }

            /// The type, `times` and `plus` of such a kind.
            #[inline]
            pub(crate) fn number_of(&self) -> Option<(Scalar, i64, i64)> {
                match *self {
                    $($(Kind::$number { times, plus } => Some((Scalar::$number, times, plus)),)*)*
                    _ => None,
                }
            }

            /// The `plus` of the kind itself, or of the first of its elements that has one.
            fn plus_if_any(&self) -> Option<i64> {
                match self {
                    $($(Kind::$number { plus, .. })|*)|* | others_with_plus!(plus) => Some(*plus),
                    Kind::List { of, .. } | Kind::Set { of, .. } | Kind::Map { of, .. } | Kind::Each { of } => {
                        of.plus_if_any()
                    }
                    Kind::Tuple { of } | Kind::Udt { of } => of.iter().find_map(Kind::plus_if_any),
                    Kind::Partition { .. } | Kind::Token {} | Kind::Null {} => None,
                }
            }

            /// The same, to be changed.
            fn plus_mut(&mut self) -> Option<&mut i64> {
                match self {
                    $($(Kind::$number { plus, .. })|*)|* | others_with_plus!(plus) => Some(plus),
                    Kind::List { of, .. } | Kind::Set { of, .. } | Kind::Map { of, .. } | Kind::Each { of } => of.plus_mut(),
                    Kind::Tuple { of } | Kind::Udt { of } => of.iter_mut().find_map(Kind::plus_mut),
                    Kind::Partition { .. } | Kind::Token {} | Kind::Null {} => None,
                }
            }
        }
    };
}

kinds! {
    numbers {
        /// `bigint`: `times * number + plus`.
        Bigint,
        /// `int`: the low 32 bits of `times * number + plus`.
        Int,
        /// `double`: `times * number + plus`, converted.
        Double,
        /// `boolean`: whether `times * number + plus` is odd.
        Boolean,
        /// `timestamp`: `times * number + plus` milliseconds since the Unix epoch.
        Timestamp,
    }
    others {
        /// `uuid`: a version 4 uuid.
        Uuid {
            /// Seeds another sequence.
            #[serde(default)]
            plus: i64,
        },
        /// `text`: pseudo-random characters ([`crate::Texts`]).
        Text {
            /// Bytes in UTF-8.
            length: Amount,
            /// Seeds another sequence.
            #[serde(default)]
            plus: i64,
            /// Characters of one to four bytes instead of lower-case letters.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            unicode: bool,
        },
        /// `blob`: pseudo-random bytes ([`crate::Blobs`]).
        Blob {
            /// Bytes.
            length: Amount,
            /// Seeds another sequence.
            #[serde(default)]
            plus: i64,
        },
    }
    numbers {
        /// `tinyint`: the low 8 bits of `times * number + plus`.
        Tinyint,
        /// `smallint`: the low 16 bits of `times * number + plus`.
        Smallint,
        /// `float`: `times * number + plus`, converted.
        Float,
        /// `varint`: `times * number + plus`.
        Varint,
    }
    others {
        /// `decimal`: `times * number + plus` with the decimal point before its last `scale` digits.
        Decimal {
            /// Factor of the number.
            #[serde(default = "one")]
            times: i64,
            /// What is added.
            #[serde(default)]
            plus: i64,
            /// Digits after the decimal point.
            #[serde(default = "two")]
            scale: i32,
        },
    }
    numbers {
        /// `date`: the low 32 bits of `times * number + plus` are days since the Unix epoch.
        Date,
        /// `time`: `times * number + plus` nanoseconds since midnight, modulo a day ([`Kind::time`]).
        Time,
        /// `duration`: months, days and nanoseconds that follow from `times * number + plus` ([`Kind::duration`]).
        Duration,
        /// `counter`: `times * number + plus`, which an UPDATE adds.
        Counter,
    }
    others {
        /// `inet`: `times * number + plus` in the last bytes of an address ([`Kind::inet`]).
        Inet {
            /// Factor of the number.
            #[serde(default = "one")]
            times: i64,
            /// What is added.
            #[serde(default)]
            plus: i64,
            /// An address of IPv6 instead of IPv4.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            v6: bool,
        },
        /// `timeuuid`: a version 1 uuid, a millisecond later for each number ([`Kind::timeuuid`]).
        Timeuuid {
            /// Seeds another node.
            #[serde(default)]
            plus: i64,
        },
        /// `ascii`: pseudo-random lower-case letters, as a text's.
        Ascii {
            /// Characters.
            length: Amount,
            /// Seeds another sequence.
            #[serde(default)]
            plus: i64,
        },
        /// `list`: element `j` follows from `number * length + j`, with the greatest length if it is drawn.
        List {
            /// Its elements.
            of: Box<Kind>,
            /// How many; at least 1.
            length: Amount,
        },
        /// `set`: as a list, with texts and blobs that no two elements share.
        Set {
            /// Its elements.
            of: Box<Kind>,
            /// How many; at least 1.
            length: Amount,
        },
        /// `map`: keys as the elements of a set, values as those of a list.
        Map {
            /// Its keys.
            keys: Box<Kind>,
            /// Its values.
            of: Box<Kind>,
            /// How many keys; at least 1.
            length: Amount,
        },
        /// `tuple`: each field follows from the number itself.
        Tuple {
            /// Its fields.
            of: Vec<Kind>,
        },
        /// A user-defined type, with all of its fields, as those of a tuple.
        Udt {
            /// Its fields, in the order of the CREATE TYPE.
            of: Vec<Kind>,
        },
        /// `vector<float, length>`: element `j` is `times * (number * length + j) + plus`, converted.
        Vector {
            /// Its dimensions.
            length: NonZeroU64,
            /// Factor of the number.
            #[serde(default = "one")]
            times: i64,
            /// What is added.
            #[serde(default)]
            plus: i64,
        },
        /// `bigint`: the number divided by `rows`, which the rows of a partition have in common.
        Partition {
            /// Numbers to a value, at least 1.
            rows: NonZeroU64,
        },
        /// Of a value that a statement binds: a list of the values that the rows have which come back, for `IN ?`.
        Each {
            /// Those.
            of: Box<Kind>,
        },
        /// Of a value that a scan binds: the token at the beginning of its range, or at its end ([`Column::at`] is -1).
        Token {},
        /// Always null, of whatever type the column has.
        Null {},
    }
}

/// The number that a column's values follow from.
///
/// If a key has one row, its number is the key. If it has several, as in a batch or a partition, each row has the number `key *
/// rows + place`, with places counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The row's own number.
    #[default]
    Row,
    /// The key, which all its rows have in common.
    Key,
    /// The row's place among the rows of its key.
    Place,
    /// How many rows come back: of a value that a statement binds, such as that of LIMIT.
    Rows,
}

impl By {
    /// The number for the row with the number `row`, if a key has `rows` rows.
    #[inline]
    pub fn number(self, row: u64, rows: NonZeroU64) -> u64 {
        match self {
            By::Row | By::Rows => row,
            By::Key => row / rows,
            By::Place => row % rows,
        }
    }
}

fn one() -> i64 {
    1
}

fn two() -> i32 {
    2
}

/// SplitMix64's output function (Steele, Lea and Flood 2014): mixes all bits of `x`.
#[inline]
pub(crate) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
/// Makes nulls independent of the values beside them.
const NULL_SEED: u64 = 0x6e75_6c6c;

/// What the words of `number` start from.
#[inline]
pub(crate) fn seed(number: u64, plus: i64) -> u64 {
    mix(number.wrapping_mul(GOLDEN_GAMMA) ^ mix(plus as u64))
}

/// The `n`th word of SplitMix64 from `seed` on.
#[inline]
pub(crate) fn word(seed: u64, n: u64) -> u64 {
    mix(seed.wrapping_add(n.wrapping_mul(GOLDEN_GAMMA)))
}

impl From<Kind> for Column {
    /// By the row's own number and never null.
    fn from(kind: Kind) -> Column {
        Column { kind, by: By::Row, at: None, null_every: None, nulls: None, compressible: None, unique: false }
    }
}

impl Column {
    /// Whether the value follows from the row's own number and is never a null instead.
    pub fn is_plain(&self) -> bool {
        self.by == By::Row && self.at.is_none() && self.null_every.is_none() && self.nulls.is_none()
    }

    /// Whether it is a value that a statement binds and that follows from the rows that come back.
    pub fn follows_from_rows(&self) -> bool {
        self.at.is_some() || self.by == By::Rows || matches!(self.kind, Kind::Each { .. } | Kind::Token {})
    }

    /// Whether there is a null instead of a value.
    pub fn is_null(&self, number: u64) -> bool {
        let every = self.null_every.is_some_and(|every| every > 0 && number % every == every - 1);
        let share = |share: f64| {
            let seed = seed(number, self.kind.plus());
            // The upper 53 bits are a double's from 0 to below 1.
            ((word(seed, NULL_SEED) >> 11) as f64) < share * (1u64 << 53) as f64
        };
        every || self.nulls.is_some_and(share)
    }

    /// Adds `by` to `plus`; nulls stay nulls, and places stay places.
    pub(crate) fn shift(&mut self, by: i64) {
        if let (By::Row | By::Key, Some(plus)) = (self.by, self.kind.plus_mut()) {
            *plus = plus.wrapping_add(by);
        }
    }

    /// The most bytes that a value has in a frame.
    pub fn length(&self) -> usize {
        self.kind.length()
    }
}

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

    /// See [`Column::length`]; no frame holds what saturates.
    fn length(&self) -> usize {
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

    fn bigint() -> Column {
        Column::from(Kind::Bigint { times: 1, plus: 0 })
    }

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

    #[test]
    fn nulls_come_every_nth_number_or_in_a_share_or_never() {
        assert!((0..100).all(|number| !bigint().is_null(number)));
        let every = Column { null_every: Some(4), ..bigint() };
        assert_eq!((0..9).filter(|number| every.is_null(*number)).collect::<Vec<_>>(), [3, 7]);
        let share = |nulls| Column { nulls: Some(nulls), ..bigint() };
        let count = |column: &Column| (0..100_000).filter(|number| column.is_null(*number)).count();
        assert_eq!((count(&share(0.0)), count(&share(1.0))), (0, 100_000));
        assert!((24_500..25_500).contains(&count(&share(0.25))), "{}", count(&share(0.25)));
        let other = Column { kind: Kind::Bigint { times: 1, plus: 1 }, ..share(0.25) };
        let both = (0..100_000).filter(|number| other.is_null(*number) && share(0.25).is_null(*number)).count();
        assert!((5_900..6_600).contains(&both), "two columns are null independently: {both}");
    }

    #[test]
    fn a_row_has_three_numbers() {
        let rows = NonZeroU64::new(100).unwrap();
        assert_eq!([By::Row, By::Key, By::Place].map(|by| by.number(703, rows)), [703, 7, 3]);
    }

    #[test]
    fn a_shift_moves_values_and_leaves_nulls_and_places() {
        let shifted = |column: &Column| {
            let mut column = column.clone();
            column.shift(5);
            column
        };
        assert_eq!(shifted(&bigint()).kind, Kind::Bigint { times: 1, plus: 5 });
        let place = Column { by: By::Place, ..bigint() };
        assert_eq!(shifted(&place), place);
        assert_eq!(shifted(&Kind::Null {}.into()), Kind::Null {}.into());
    }
}
