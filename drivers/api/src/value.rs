//! Every CQL type in one table, and the values that follow from it: what is bound to a statement's markers and read back from rows.

use std::net::IpAddr;

use crate::Items;

/// Makes [`Value`], [`Scalar`] and [`Nested`] of the table below, which has three parts:
///
/// - numbers, which lie big-endian in as many bytes as their Rust type has: tag, name, option id, and how a number becomes one;
/// - the other types without elements: tag, name, option id, and the most bytes of one if its type says;
/// - types with elements: tag and name.
///
/// A tag is the first byte of an element ([`Items`]). An option id is that of native_protocol_v5.spec section 4.2.5.2; version 4 has a
/// duration as a class.
macro_rules! types {
    (
        numbers { $($(#[$number_doc:meta])* $number:ident($rust:ty) = $number_tag:literal, $number_name:literal, $number_id:literal, $of:expr;)* }
        others { $($(#[$other_doc:meta])* $other:ident $holds:tt = $other_tag:literal, $other_name:literal, $other_id:literal, $width:expr;)* }
        nested { $($(#[$nested_doc:meta])* $nested:ident = $nested_tag:literal, $nested_name:literal;)* }
    ) => {
        /// One CQL value, borrowed from the load generator when bound and from [`crate::Rows`] when read.
        ///
        /// The variants are the types of native_protocol_v4.spec section 6. An `ascii` is a text.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Value<'a> {
            /// No value, of any type.
            Null,
            $($(#[$number_doc])* $number($rust),)*
            $($(#[$other_doc])* $other $holds,)*
            $($(#[$nested_doc])* $nested(Items<'a>),)*
        }

        /// A type whose values have no elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Scalar {
            $($(#[$number_doc])* $number = $number_tag,)*
            $($(#[$other_doc])* $other = $other_tag,)*
        }

        /// What a value with elements is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Nested {
            $($(#[$nested_doc])* $nested = $nested_tag,)*
        }

        impl Scalar {
            /// Every one.
            pub const ALL: &[Scalar] = &[$(Scalar::$number,)* $(Scalar::$other,)*];

            /// Its CQL name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Scalar::$number => $number_name,)*
                    $(Scalar::$other => $other_name,)*
                }
            }

            /// The type with this option id; an `ascii` is a text.
            pub fn of_option_id(id: u16) -> Option<Scalar> {
                match id {
                    0x0001 => Some(Scalar::Text),
                    $($number_id => Some(Scalar::$number),)*
                    $($other_id => Some(Scalar::$other),)*
                    _ => None,
                }
            }

            /// The type whose elements have this tag.
            pub(crate) fn tagged(tag: u8) -> Option<Scalar> {
                match tag {
                    $($number_tag => Some(Scalar::$number),)*
                    $($other_tag => Some(Scalar::$other),)*
                    _ => None,
                }
            }

            /// The most bytes of a value; `None` for text and blob.
            pub fn width(self) -> Option<usize> {
                match self {
                    $(Scalar::$number => Some(size_of::<$rust>()),)*
                    $(Scalar::$other => $width,)*
                }
            }

            /// The value that follows from a number; null for types that need more than that.
            #[inline]
            pub fn of_number(self, number: i64) -> Value<'static> {
                match self {
                    $(Scalar::$number => {
                        let of: fn(i64) -> $rust = $of;
                        Value::$number(of(number))
                    })*
                    Scalar::Boolean => Value::Boolean(number & 1 == 1),
                    Scalar::Duration => {
                        let (months, days) = (number.rem_euclid(12) as i32, number.rem_euclid(31) as i32);
                        Value::Duration { months, days, nanoseconds: number.rem_euclid(DAY) }
                    }
                    _ => Value::Null,
                }
            }

            /// The number, boolean or uuid with these bytes; `None` for other types and another number of bytes.
            #[inline]
            pub fn of_bytes(self, bytes: &[u8]) -> Option<Value<'static>> {
                Some(match self {
                    $(Scalar::$number => Value::$number(<$rust>::from_be_bytes(bytes.try_into().ok()?)),)*
                    Scalar::Boolean => Value::Boolean(<[u8; 1]>::try_from(bytes).ok()? != [0]),
                    Scalar::Uuid => Value::Uuid(bytes.try_into().ok()?),
                    Scalar::Timeuuid => Value::Timeuuid(bytes.try_into().ok()?),
                    _ => return None,
                })
            }
        }

        impl<'a> Value<'a> {
            /// The type of a value without elements; `None` for null.
            pub fn scalar(&self) -> Option<Scalar> {
                match self {
                    $(Value::$number(_) => Some(Scalar::$number),)*
                    $(Value::$other { .. } => Some(Scalar::$other),)*
                    _ => None,
                }
            }

            /// The kind and the elements of a value that has some.
            pub fn nested(&self) -> Option<(Nested, Items<'a>)> {
                match *self {
                    $(Value::$nested(items) => Some((Nested::$nested, items)),)*
                    _ => None,
                }
            }

            /// Appends the bytes of a number, boolean or uuid that [`Scalar::of_bytes`] reads; `false` for other types.
            #[inline]
            pub fn put_bytes(&self, out: &mut Vec<u8>) -> bool {
                match self {
                    $(Value::$number(value) => out.extend_from_slice(&value.to_be_bytes()),)*
                    Value::Boolean(value) => out.push((*value).into()),
                    Value::Uuid(value) | Value::Timeuuid(value) => out.extend_from_slice(value),
                    _ => return false,
                }
                true
            }

            /// How a number, a boolean or an address is written.
            pub fn shown(&self) -> Option<String> {
                Some(match self {
                    $(Value::$number(value) => value.to_string(),)*
                    Value::Boolean(value) => value.to_string(),
                    Value::Inet(value) => value.to_string(),
                    _ => return None,
                })
            }

            /// The value, if it borrows nothing.
            pub(crate) fn owned(self) -> Option<Value<'static>> {
                Some(match self {
                    Value::Null => Value::Null,
                    $(Value::$number(value) => Value::$number(value),)*
                    Value::Boolean(value) => Value::Boolean(value),
                    Value::Uuid(value) => Value::Uuid(value),
                    Value::Timeuuid(value) => Value::Timeuuid(value),
                    Value::Inet(value) => Value::Inet(value),
                    Value::Decimal { unscaled, scale } => Value::Decimal { unscaled, scale },
                    Value::Duration { months, days, nanoseconds } => Value::Duration { months, days, nanoseconds },
                    _ => return None,
                })
            }
        }

        impl Nested {
            /// Every one.
            pub const ALL: &[Nested] = &[$(Nested::$nested),*];

            /// The CQL name of the type.
            pub fn name(self) -> &'static str {
                match self {
                    $(Nested::$nested => $nested_name,)*
                }
            }

            /// The type whose elements have this tag.
            pub(crate) fn tagged(tag: u8) -> Option<Nested> {
                match tag {
                    $($nested_tag => Some(Nested::$nested),)*
                    _ => None,
                }
            }

            /// The value with these elements.
            pub fn of(self, items: Items<'_>) -> Value<'_> {
                match self {
                    $(Nested::$nested => Value::$nested(items),)*
                }
            }
        }
    };
}

types! {
    numbers {
        /// `int`
        Int(i32) = 2, "int", 0x0009, |number| number as i32;
        /// `bigint`
        Bigint(i64) = 3, "bigint", 0x0002, |number| number;
        /// `double`
        Double(f64) = 4, "double", 0x0007, |number| number as f64;
        /// `timestamp`: milliseconds since the Unix epoch.
        Timestamp(i64) = 5, "timestamp", 0x000B, |number| number;
        /// `tinyint`
        Tinyint(i8) = 7, "tinyint", 0x0014, |number| number as i8;
        /// `smallint`
        Smallint(i16) = 8, "smallint", 0x0013, |number| number as i16;
        /// `float`
        Float(f32) = 9, "float", 0x0008, |number| number as f32;
        /// `date`: days since the Unix epoch.
        Date(i32) = 10, "date", 0x0011, |number| number as i32;
        /// `time`: nanoseconds since midnight.
        Time(i64) = 11, "time", 0x0012, |number| number.rem_euclid(DAY);
        /// `varint`, of those that 64 bits hold.
        Varint(i64) = 13, "varint", 0x000E, |number| number;
        /// `counter`: what is added when bound, the sum when read.
        Counter(i64) = 16, "counter", 0x0005, |number| number;
    }
    others {
        /// `boolean`
        Boolean(bool) = 1, "boolean", 0x0004, Some(1);
        /// `uuid`: the sixteen bytes in network order.
        Uuid([u8; 16]) = 6, "uuid", 0x000C, Some(16);
        /// `timeuuid`: the sixteen bytes in network order.
        Timeuuid([u8; 16]) = 12, "timeuuid", 0x000F, Some(16);
        /// `decimal`: `unscaled` divided by ten to the power of `scale`, of those that 64 bits hold.
        Decimal {
            /// The number without its decimal point.
            unscaled: i64,
            /// Digits after the decimal point.
            scale: i32,
        } = 14, "decimal", 0x0006, Some(12);
        /// `duration`
        Duration {
            /// Months.
            months: i32,
            /// Days.
            days: i32,
            /// Nanoseconds.
            nanoseconds: i64,
        } = 15, "duration", 0x0015, Some(16);
        /// `inet`
        Inet(IpAddr) = 17, "inet", 0x0010, Some(16);
        /// `text`, `varchar` and `ascii`
        Text(&'a str) = 19, "text", 0x000D, None;
        /// `blob`
        Blob(&'a [u8]) = 20, "blob", 0x0003, None;
    }
    nested {
        /// `list`
        List = 21, "list";
        /// `set`, whose elements are in the order of their bytes here.
        Set = 22, "set";
        /// `map`: each key is followed by its value, and keys are in the order of their bytes here.
        Map = 23, "map";
        /// `tuple`
        Tuple = 24, "tuple";
        /// A user-defined type: its fields in their order.
        Udt = 25, "udt";
        /// `vector`
        Vector = 26, "vector";
    }
}

/// Nanoseconds of a day.
pub const DAY: i64 = 86_400_000_000_000;

impl Value<'_> {
    /// The CQL name of the value's type, `null` for [`Value::Null`].
    pub fn type_name(&self) -> &'static str {
        let nested = || self.nested().map_or("null", |(kind, _)| kind.name());
        self.scalar().map_or_else(nested, Scalar::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_no_larger_than_a_text_with_its_type() {
        assert_eq!(size_of::<Value<'_>>(), 24);
    }

    #[test]
    fn the_later_types_are_all_but_the_first_ones() {
        let first = ["bigint", "int", "double", "boolean", "timestamp", "uuid", "text", "blob"];
        let names = Scalar::ALL.iter().map(|kind| kind.name()).chain(Nested::ALL.iter().map(|kind| kind.name()));
        for name in names {
            assert!(first.contains(&name) != crate::LATER_TYPES.contains(&name), "{name}");
        }
    }

    #[test]
    fn every_type_has_a_name_a_tag_and_an_option_id_of_its_own() {
        for (at, kind) in Scalar::ALL.iter().enumerate() {
            assert_eq!(Scalar::tagged(*kind as u8), Some(*kind));
            assert!(Nested::tagged(*kind as u8).is_none());
            assert!(!Scalar::ALL[..at].iter().any(|other| other.name() == kind.name()));
        }
        let with_id = (0..0x40).filter_map(Scalar::of_option_id);
        assert_eq!(with_id.count(), Scalar::ALL.len() + 1, "a text has two");
    }
}
