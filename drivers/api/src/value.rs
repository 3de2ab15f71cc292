//! Values bound to a statement's markers and read back from rows.

use std::net::IpAddr;

use crate::{Items, Nested};

/// One CQL value, borrowed from the load generator when bound and from [`crate::Rows`] when read.
///
/// The variants are the types of native_protocol_v4.spec section 6. An `ascii` is a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value, of any type.
    Null,
    /// `boolean`
    Boolean(bool),
    /// `int`
    Int(i32),
    /// `bigint`
    Bigint(i64),
    /// `double`
    Double(f64),
    /// `timestamp`: milliseconds since the Unix epoch.
    Timestamp(i64),
    /// `uuid`: the sixteen bytes in network order.
    Uuid([u8; 16]),
    /// `text`, `varchar` and `ascii`
    Text(&'a str),
    /// `blob`
    Blob(&'a [u8]),
    /// `tinyint`
    Tinyint(i8),
    /// `smallint`
    Smallint(i16),
    /// `float`
    Float(f32),
    /// `date`: days since the Unix epoch.
    Date(i32),
    /// `time`: nanoseconds since midnight.
    Time(i64),
    /// `inet`
    Inet(IpAddr),
    /// `timeuuid`: the sixteen bytes in network order.
    Timeuuid([u8; 16]),
    /// `varint`, of those that 64 bits hold.
    Varint(i64),
    /// `decimal`: `unscaled` divided by ten to the power of `scale`, of those that 64 bits hold.
    Decimal {
        /// The number without its decimal point.
        unscaled: i64,
        /// Digits after the decimal point.
        scale: i32,
    },
    /// `duration`
    Duration {
        /// Months.
        months: i32,
        /// Days.
        days: i32,
        /// Nanoseconds.
        nanoseconds: i64,
    },
    /// `counter`: what is added when bound, the sum when read.
    Counter(i64),
    /// `list`
    List(Items<'a>),
    /// `set`
    Set(Items<'a>),
    /// `map`
    Map(Items<'a>),
    /// `tuple`
    Tuple(Items<'a>),
    /// A user-defined type: its fields in their order.
    Udt(Items<'a>),
    /// `vector`
    Vector(Items<'a>),
}

impl Value<'_> {
    /// The CQL name of the value's type, `null` for [`Value::Null`].
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "boolean",
            Value::Int(_) => "int",
            Value::Bigint(_) => "bigint",
            Value::Double(_) => "double",
            Value::Timestamp(_) => "timestamp",
            Value::Uuid(_) => "uuid",
            Value::Text(_) => "text",
            Value::Blob(_) => "blob",
            Value::Tinyint(_) => "tinyint",
            Value::Smallint(_) => "smallint",
            Value::Float(_) => "float",
            Value::Date(_) => "date",
            Value::Time(_) => "time",
            Value::Inet(_) => "inet",
            Value::Timeuuid(_) => "timeuuid",
            Value::Varint(_) => "varint",
            Value::Decimal { .. } => "decimal",
            Value::Duration { .. } => "duration",
            Value::Counter(_) => "counter",
            Value::List(_) => "list",
            Value::Set(_) => "set",
            Value::Map(_) => "map",
            Value::Tuple(_) => "tuple",
            Value::Udt(_) => "udt",
            Value::Vector(_) => "vector",
        }
    }
}

impl<'a> Value<'a> {
    /// The kind and the elements of a value that has some.
    pub fn nested(&self) -> Option<(Nested, Items<'a>)> {
        Some(match *self {
            Value::List(items) => (Nested::List, items),
            Value::Set(items) => (Nested::Set, items),
            Value::Map(items) => (Nested::Map, items),
            Value::Tuple(items) => (Nested::Tuple, items),
            Value::Udt(items) => (Nested::Udt, items),
            Value::Vector(items) => (Nested::Vector, items),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_no_larger_than_a_text_with_its_type() {
        assert_eq!(size_of::<Value<'_>>(), 24);
    }
}
