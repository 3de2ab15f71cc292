//! Columns: every value is a function of the row's number, so that any row can be checked without a copy.

use std::num::NonZeroU64;

use cqldyno_driver_api::Scalar;
use serde::{Deserialize, Serialize};

use crate::Amount;
use crate::splitmix::{seed, word};

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
            pub(crate) fn plus_if_any(&self) -> Option<i64> {
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

/// Makes nulls independent of the values beside them.
const NULL_SEED: u64 = 0x6e75_6c6c;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn bigint() -> Column {
        Column::from(Kind::Bigint { times: 1, plus: 0 })
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
