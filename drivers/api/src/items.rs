//! Elements of collections, tuples and user-defined types: one form for what is bound and for what was decoded.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Value;

/// What a value with elements is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nested {
    /// `list`
    List,
    /// `set`, whose elements are in the order of their bytes here.
    Set,
    /// `map`: each key is followed by its value, and keys are in the order of their bytes here.
    Map,
    /// `tuple`
    Tuple,
    /// A user-defined type: its fields in their order.
    Udt,
    /// `vector`
    Vector,
}

impl Nested {
    /// The value with these elements.
    pub fn of(self, items: Items<'_>) -> Value<'_> {
        match self {
            Nested::List => Value::List(items),
            Nested::Set => Value::Set(items),
            Nested::Map => Value::Map(items),
            Nested::Tuple => Value::Tuple(items),
            Nested::Udt => Value::Udt(items),
            Nested::Vector => Value::Vector(items),
        }
    }

    /// The CQL name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Nested::List => "list",
            Nested::Set => "set",
            Nested::Map => "map",
            Nested::Tuple => "tuple",
            Nested::Udt => "udt",
            Nested::Vector => "vector",
        }
    }

    fn tag(self) -> u8 {
        match self {
            Nested::List => tag::LIST,
            Nested::Set => tag::SET,
            Nested::Map => tag::MAP,
            Nested::Tuple => tag::TUPLE,
            Nested::Udt => tag::UDT,
            Nested::Vector => tag::VECTOR,
        }
    }
}

/// The first byte of an element says its type.
mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const BOOLEAN: u8 = 1;
    pub(super) const INT: u8 = 2;
    pub(super) const BIGINT: u8 = 3;
    pub(super) const DOUBLE: u8 = 4;
    pub(super) const TIMESTAMP: u8 = 5;
    pub(super) const UUID: u8 = 6;
    pub(super) const TINYINT: u8 = 7;
    pub(super) const SMALLINT: u8 = 8;
    pub(super) const FLOAT: u8 = 9;
    pub(super) const DATE: u8 = 10;
    pub(super) const TIME: u8 = 11;
    pub(super) const TIMEUUID: u8 = 12;
    pub(super) const VARINT: u8 = 13;
    pub(super) const DECIMAL: u8 = 14;
    pub(super) const DURATION: u8 = 15;
    pub(super) const COUNTER: u8 = 16;
    pub(super) const INET_V4: u8 = 17;
    pub(super) const INET_V6: u8 = 18;
    /// From here on a length of four bytes follows.
    pub(super) const TEXT: u8 = 19;
    pub(super) const BLOB: u8 = 20;
    pub(super) const LIST: u8 = 21;
    pub(super) const SET: u8 = 22;
    pub(super) const MAP: u8 = 23;
    pub(super) const TUPLE: u8 = 24;
    pub(super) const UDT: u8 = 25;
    pub(super) const VECTOR: u8 = 26;
}

/// The bytes after the tag of a type without a length.
fn fixed(tag: u8) -> Option<usize> {
    Some(match tag {
        tag::NULL => 0,
        tag::BOOLEAN | tag::TINYINT => 1,
        tag::SMALLINT => 2,
        tag::INT | tag::FLOAT | tag::DATE | tag::INET_V4 => 4,
        tag::BIGINT | tag::DOUBLE | tag::TIMESTAMP | tag::TIME | tag::VARINT | tag::COUNTER => 8,
        tag::DECIMAL => 12,
        tag::UUID | tag::TIMEUUID | tag::DURATION | tag::INET_V6 => 16,
        _ => return None,
    })
}

/// The elements of a value, one after the other in bytes, each with its type.
///
/// So a value with elements is as small as a text and compared like one, and a driver's adapter walks through it without a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Items<'a>(&'a [u8]);

impl<'a> Items<'a> {
    /// Those that [`Elements`] put into `bytes`.
    pub fn new(bytes: &'a [u8]) -> Items<'a> {
        Items(bytes)
    }

    /// Their bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// The elements in turn; of a map each key and its value.
    pub fn iter(self) -> impl Iterator<Item = Item<'a>> + Clone {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (first, behind) = split(rest)?;
            rest = behind;
            Some(first)
        })
    }

    /// The keys of a map, each with its value.
    pub fn pairs(self) -> impl Iterator<Item = (Item<'a>, Item<'a>)> + Clone {
        let mut items = self.iter();
        std::iter::from_fn(move || Some((items.next()?, items.next()?)))
    }

    /// The number of elements; a map has two for each key.
    pub fn count(self) -> usize {
        self.iter().count()
    }
}

/// The first element and what follows it.
fn split(bytes: &[u8]) -> Option<(Item<'_>, &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let length = match fixed(*tag) {
        Some(length) => 1 + length,
        None => 5 + usize::try_from(u32::from_be_bytes(*rest.first_chunk()?)).ok()?,
    };
    bytes.split_at_checked(length).map(|(item, rest)| (Item(item), rest))
}

/// One element. It is compared and hashed as its bytes are, so that it may be the key of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item<'a>(&'a [u8]);

impl<'a> Item<'a> {
    /// Its value.
    pub fn value(self) -> Value<'a> {
        self.decoded().unwrap_or(Value::Null)
    }

    fn decoded(self) -> Option<Value<'a>> {
        let (tag, rest) = self.0.split_first()?;
        let long = rest.get(4..).unwrap_or_default();
        let i64_at = |at: usize| Some(i64::from_be_bytes(*rest.get(at..)?.first_chunk()?));
        let i32_at = |at: usize| Some(i32::from_be_bytes(*rest.get(at..)?.first_chunk()?));
        Some(match *tag {
            tag::BOOLEAN => Value::Boolean(*rest.first()? != 0),
            tag::TINYINT => Value::Tinyint(rest.first()?.cast_signed()),
            tag::SMALLINT => Value::Smallint(i16::from_be_bytes(*rest.first_chunk()?)),
            tag::INT => Value::Int(i32_at(0)?),
            tag::DATE => Value::Date(i32_at(0)?),
            tag::FLOAT => Value::Float(f32::from_be_bytes(*rest.first_chunk()?)),
            tag::BIGINT => Value::Bigint(i64_at(0)?),
            tag::COUNTER => Value::Counter(i64_at(0)?),
            tag::TIMESTAMP => Value::Timestamp(i64_at(0)?),
            tag::TIME => Value::Time(i64_at(0)?),
            tag::VARINT => Value::Varint(i64_at(0)?),
            tag::DOUBLE => Value::Double(f64::from_be_bytes(*rest.first_chunk()?)),
            tag::UUID => Value::Uuid(*rest.first_chunk()?),
            tag::TIMEUUID => Value::Timeuuid(*rest.first_chunk()?),
            tag::DECIMAL => Value::Decimal { unscaled: i64_at(0)?, scale: i32_at(8)? },
            tag::DURATION => Value::Duration { months: i32_at(0)?, days: i32_at(4)?, nanoseconds: i64_at(8)? },
            tag::INET_V4 => Value::Inet(Ipv4Addr::from(*rest.first_chunk::<4>()?).into()),
            tag::INET_V6 => Value::Inet(Ipv6Addr::from(*rest.first_chunk::<16>()?).into()),
            tag::TEXT => Value::Text(str::from_utf8(long).ok()?),
            tag::BLOB => Value::Blob(long),
            tag::LIST => Value::List(Items(long)),
            tag::SET => Value::Set(Items(long)),
            tag::MAP => Value::Map(Items(long)),
            tag::TUPLE => Value::Tuple(Items(long)),
            tag::UDT => Value::Udt(Items(long)),
            tag::VECTOR => Value::Vector(Items(long)),
            _ => return None,
        })
    }
}

/// Where elements are put one by one.
#[derive(Debug)]
pub struct Elements<'b>(&'b mut Vec<u8>);

impl<'b> Elements<'b> {
    /// Appends to `bytes`, which [`Items::new`] takes.
    pub fn new(bytes: &'b mut Vec<u8>) -> Elements<'b> {
        Elements(bytes)
    }

    /// Appends an element.
    pub fn push(&mut self, value: Value<'_>) {
        let out = &mut *self.0;
        let mut put = |tag: u8, bytes: &[u8]| {
            out.push(tag);
            if fixed(tag).is_none() {
                // No frame holds 4 GiB.
                out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
            }
            out.extend_from_slice(bytes);
        };
        match value {
            Value::Null => put(tag::NULL, &[]),
            Value::Boolean(value) => put(tag::BOOLEAN, &[value.into()]),
            Value::Tinyint(value) => put(tag::TINYINT, &value.to_be_bytes()),
            Value::Smallint(value) => put(tag::SMALLINT, &value.to_be_bytes()),
            Value::Int(value) => put(tag::INT, &value.to_be_bytes()),
            Value::Date(value) => put(tag::DATE, &value.to_be_bytes()),
            Value::Float(value) => put(tag::FLOAT, &value.to_be_bytes()),
            Value::Bigint(value) => put(tag::BIGINT, &value.to_be_bytes()),
            Value::Counter(value) => put(tag::COUNTER, &value.to_be_bytes()),
            Value::Timestamp(value) => put(tag::TIMESTAMP, &value.to_be_bytes()),
            Value::Time(value) => put(tag::TIME, &value.to_be_bytes()),
            Value::Varint(value) => put(tag::VARINT, &value.to_be_bytes()),
            Value::Double(value) => put(tag::DOUBLE, &value.to_be_bytes()),
            Value::Uuid(value) => put(tag::UUID, &value),
            Value::Timeuuid(value) => put(tag::TIMEUUID, &value),
            Value::Decimal { unscaled, scale } => {
                let mut bytes = [0; 12];
                bytes[..8].copy_from_slice(&unscaled.to_be_bytes());
                bytes[8..].copy_from_slice(&scale.to_be_bytes());
                put(tag::DECIMAL, &bytes);
            }
            Value::Duration { months, days, nanoseconds } => {
                let mut bytes = [0; 16];
                bytes[..4].copy_from_slice(&months.to_be_bytes());
                bytes[4..8].copy_from_slice(&days.to_be_bytes());
                bytes[8..].copy_from_slice(&nanoseconds.to_be_bytes());
                put(tag::DURATION, &bytes);
            }
            Value::Inet(IpAddr::V4(address)) => put(tag::INET_V4, &address.octets()),
            Value::Inet(IpAddr::V6(address)) => put(tag::INET_V6, &address.octets()),
            Value::Text(value) => put(tag::TEXT, value.as_bytes()),
            Value::Blob(value) => put(tag::BLOB, value),
            Value::List(items) => put(tag::LIST, items.0),
            Value::Set(items) => put(tag::SET, items.0),
            Value::Map(items) => put(tag::MAP, items.0),
            Value::Tuple(items) => put(tag::TUPLE, items.0),
            Value::Udt(items) => put(tag::UDT, items.0),
            Value::Vector(items) => put(tag::VECTOR, items.0),
        }
    }

    /// Appends an element that has elements itself, which `fill` puts in.
    ///
    /// # Errors
    /// That of `fill`.
    pub fn nested<E>(&mut self, kind: Nested, fill: impl FnOnce(&mut Elements<'_>) -> Result<(), E>) -> Result<(), E> {
        self.0.push(kind.tag());
        let at = self.0.len();
        self.0.extend_from_slice(&[0; 4]);
        self.all(kind, fill)?;
        let length = u32::try_from(self.0.len() - at - 4).unwrap_or(u32::MAX);
        if let Some(room) = self.0.get_mut(at..at + 4) {
            room.copy_from_slice(&length.to_be_bytes());
        }
        Ok(())
    }

    /// Puts in the elements of a value of this kind, and nothing else.
    ///
    /// # Errors
    /// That of `fill`.
    pub fn all<E>(&mut self, kind: Nested, fill: impl FnOnce(&mut Elements<'_>) -> Result<(), E>) -> Result<(), E> {
        let start = self.0.len();
        fill(self)?;
        match kind {
            Nested::Set => self.sort(start, 1),
            Nested::Map => self.sort(start, 2),
            Nested::List | Nested::Tuple | Nested::Udt | Nested::Vector => {}
        }
        Ok(())
    }

    /// Sorts what was put in from `start` on, so many elements at a time, by the first of these. A server orders sets and keys in its
    /// own way and a driver's hash map in none.
    fn sort(&mut self, start: usize, together: usize) {
        let items = Items(self.0.get(start..).unwrap_or_default());
        if items.iter().step_by(together).is_sorted() {
            return;
        }
        let unsorted = items.0.to_vec();
        let mut all: Vec<Item<'_>> = Items(&unsorted).iter().collect();
        let mut groups: Vec<&mut [Item<'_>]> = all.chunks_mut(together).collect();
        groups.sort_unstable();
        self.0.truncate(start);
        for item in groups.into_iter().flatten() {
            self.0.extend_from_slice(item.0);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A value of every type that a scalar has.
    pub(crate) const SCALARS: [Value<'static>; 22] = [
        Value::Null,
        Value::Boolean(true),
        Value::Int(-3),
        Value::Bigint(3),
        Value::Double(-0.0),
        Value::Timestamp(3),
        Value::Uuid([3; 16]),
        Value::Text("grün"),
        Value::Blob(b"3"),
        Value::Tinyint(-3),
        Value::Smallint(-3),
        Value::Float(3.5),
        Value::Date(-3),
        Value::Time(3),
        Value::Inet(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        Value::Inet(IpAddr::V6(Ipv6Addr::LOCALHOST)),
        Value::Timeuuid([3; 16]),
        Value::Varint(-3),
        Value::Decimal { unscaled: -3, scale: 7 },
        Value::Duration { months: 1, days: 2, nanoseconds: 3 },
        Value::Counter(3),
        Value::Text(""),
    ];

    const ALL: [Nested; 6] = [Nested::List, Nested::Set, Nested::Map, Nested::Tuple, Nested::Udt, Nested::Vector];

    fn bytes(kind: Nested, values: &[Value<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let fill = |out: &mut Elements<'_>| -> Result<(), ()> {
            values.iter().for_each(|value| out.push(*value));
            Ok(())
        };
        Elements::new(&mut bytes).all(kind, fill).unwrap();
        bytes
    }

    #[test]
    fn elements_of_every_type_come_out_as_they_were_put_in_also_from_elements_of_elements() {
        let inner = bytes(Nested::Tuple, &SCALARS);
        assert!(Items::new(&inner).iter().map(Item::value).eq(SCALARS));
        for kind in ALL {
            let value = kind.of(Items::new(&inner));
            let outer = bytes(Nested::Tuple, &[value, Value::Int(1), value]);
            let found: Vec<Value<'_>> = Items::new(&outer).iter().map(Item::value).collect();
            assert_eq!(found, [value, Value::Int(1), value]);
            assert_eq!(value.type_name(), kind.name());
        }
    }

    #[test]
    fn sets_and_maps_have_one_form_whatever_order_their_elements_came_in() {
        let [one, two, three] = ["a", "b", "c"].map(Value::Text);
        assert_eq!(bytes(Nested::Set, &[three, one, two]), bytes(Nested::Set, &[one, two, three]));
        assert_ne!(bytes(Nested::List, &[three, one, two]), bytes(Nested::List, &[one, two, three]));
        let map = bytes(Nested::Map, &[two, Value::Int(2), one, Value::Int(9)]);
        let pairs: Vec<_> = Items::new(&map).pairs().map(|(key, value)| (key.value(), value.value())).collect();
        assert_eq!(pairs, [(one, Value::Int(9)), (two, Value::Int(2))]);
        let mut nested = Vec::new();
        let put = |out: &mut Elements<'_>| -> Result<(), ()> {
            [two, one].iter().for_each(|value| out.push(*value));
            Ok(())
        };
        Elements::new(&mut nested).nested(Nested::Set, put).unwrap();
        let found = Items::new(&nested).iter().next().unwrap().value();
        assert_eq!(found, Value::Set(Items::new(&bytes(Nested::Set, &[one, two]))));
    }

    #[test]
    fn what_is_cut_off_ends_the_elements_and_is_no_panic() {
        let whole = bytes(Nested::Tuple, &SCALARS);
        for length in 0..whole.len() {
            let items = Items::new(&whole[..length]);
            assert!(items.count() < SCALARS.len());
            items.iter().map(Item::value).for_each(drop);
        }
    }
}
