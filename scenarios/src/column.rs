//! Columns: every value is a function of the row's number, so that any row can be checked without a copy.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// A column's values, and the number that they follow from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Column {
    /// The type, and how a value follows from the number.
    #[serde(flatten)]
    pub kind: Kind,
    /// The number.
    #[serde(default, skip_serializing_if = "By::is_row")]
    pub by: By,
    /// One number in so many is null: for 4, of 0, 1, 2, 3 it is 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null_every: Option<u64>,
    /// The share of nulls, from 0 to 1, scattered by the number and `plus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nulls: Option<f64>,
    /// No two numbers have the same value, as far as type and length allow: a text, blob or uuid of a primary key. Set from the
    /// schema, never in TOML.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unique: bool,
}

/// A type, and how its values follow from a number.
///
/// Numeric ones are `times * number + plus`, wrapping. Others are pseudo-random, seeded by the number and `plus`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Kind {
    /// `bigint`: `times * number + plus`.
    Bigint {
        /// Factor of the number.
        #[serde(default = "one")]
        times: i64,
        /// What is added.
        #[serde(default)]
        plus: i64,
    },
    /// `int`: the low 32 bits of `times * number + plus`.
    Int {
        /// Factor of the number.
        #[serde(default = "one")]
        times: i64,
        /// What is added.
        #[serde(default)]
        plus: i64,
    },
    /// `double`: `times * number + plus`, converted.
    Double {
        /// Factor of the number.
        #[serde(default = "one")]
        times: i64,
        /// What is added.
        #[serde(default)]
        plus: i64,
    },
    /// `boolean`: whether `times * number + plus` is odd.
    Boolean {
        /// Factor of the number.
        #[serde(default = "one")]
        times: i64,
        /// What is added.
        #[serde(default)]
        plus: i64,
    },
    /// `timestamp`: `times * number + plus` milliseconds since the Unix epoch.
    Timestamp {
        /// Factor of the number.
        #[serde(default = "one")]
        times: i64,
        /// What is added.
        #[serde(default)]
        plus: i64,
    },
    /// `uuid`: a version 4 uuid.
    Uuid {
        /// Seeds another sequence.
        #[serde(default)]
        plus: i64,
    },
    /// `text`: pseudo-random characters ([`crate::Texts`]).
    Text {
        /// Bytes in UTF-8.
        length: usize,
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
        length: usize,
        /// Seeds another sequence.
        #[serde(default)]
        plus: i64,
    },
    /// `bigint`: the number divided by `rows`, which the rows of a partition have in common.
    Partition {
        /// Numbers to a value, at least 1.
        rows: NonZeroU64,
    },
    /// Always null, of whatever type the column has.
    Null {},
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
}

impl By {
    fn is_row(&self) -> bool {
        *self == By::Row
    }

    /// The number for the row with the number `row`, if a key has `rows` rows.
    #[inline]
    pub fn number(self, row: u64, rows: NonZeroU64) -> u64 {
        match self {
            By::Row => row,
            By::Key => row / rows,
            By::Place => row % rows,
        }
    }
}

fn one() -> i64 {
    1
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
        Column { kind, by: By::Row, null_every: None, nulls: None, unique: false }
    }
}

impl Column {
    /// Whether the value follows from the row's own number and is never a null instead.
    pub fn is_plain(&self) -> bool {
        self.by == By::Row && self.null_every.is_none() && self.nulls.is_none()
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

    /// The bytes of a text or blob.
    pub fn length(&self) -> usize {
        match self.kind {
            Kind::Text { length, .. } | Kind::Blob { length, .. } => length,
            _ => 0,
        }
    }
}

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

    fn plus(&self) -> i64 {
        self.clone().plus_mut().map_or(0, |plus| *plus)
    }

    fn plus_mut(&mut self) -> Option<&mut i64> {
        match self {
            Kind::Bigint { plus, .. }
            | Kind::Int { plus, .. }
            | Kind::Double { plus, .. }
            | Kind::Boolean { plus, .. }
            | Kind::Timestamp { plus, .. }
            | Kind::Uuid { plus }
            | Kind::Text { plus, .. }
            | Kind::Blob { plus, .. } => Some(plus),
            Kind::Partition { .. } | Kind::Null {} => None,
        }
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
