//! Elements of collections, tuples and user-defined types: one form for what is bound and for what was decoded.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{Nested, Scalar, Value};

/// Tags beside those of the types: no value, and an address of IPv6.
const NULL: u8 = 0;
const INET_V4: u8 = Scalar::Inet as u8;
const INET_V6: u8 = INET_V4 + 1;

/// The bytes after the tag of a type without a length. Where it is none, four bytes say how many follow.
fn fixed(tag: u8) -> Option<usize> {
    match tag {
        NULL => Some(0),
        INET_V4 => Some(4),
        INET_V6 => Some(16),
        tag => Scalar::tagged(tag)?.width(),
    }
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
        if let Some(kind) = Nested::tagged(*tag) {
            return Some(kind.of(Items(long)));
        }
        let i64_at = |at: usize| Some(i64::from_be_bytes(*rest.get(at..)?.first_chunk()?));
        let i32_at = |at: usize| Some(i32::from_be_bytes(*rest.get(at..)?.first_chunk()?));
        if *tag == INET_V6 {
            return Some(Value::Inet(Ipv6Addr::from(*rest.first_chunk::<16>()?).into()));
        }
        Some(match Scalar::tagged(*tag)? {
            Scalar::Decimal => Value::Decimal { unscaled: i64_at(0)?, scale: i32_at(8)? },
            Scalar::Duration => Value::Duration { months: i32_at(0)?, days: i32_at(4)?, nanoseconds: i64_at(8)? },
            Scalar::Inet => Value::Inet(Ipv4Addr::from(*rest.first_chunk::<4>()?).into()),
            Scalar::Text => Value::Text(str::from_utf8(long).ok()?),
            Scalar::Blob => Value::Blob(long),
            other => return other.of_bytes(rest),
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
        let mut long = |tag: u8, bytes: &[u8]| {
            out.push(tag);
            // No frame holds 4 GiB.
            out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
            out.extend_from_slice(bytes);
        };
        if let Some((kind, items)) = value.nested() {
            return long(kind as u8, items.0);
        }
        match value {
            Value::Text(value) => return long(Scalar::Text as u8, value.as_bytes()),
            Value::Blob(value) => return long(Scalar::Blob as u8, value),
            Value::Inet(IpAddr::V6(_)) => out.push(INET_V6),
            other => out.push(other.scalar().map_or(NULL, |kind| kind as u8)),
        }
        match value {
            Value::Decimal { unscaled, scale } => {
                out.extend_from_slice(&unscaled.to_be_bytes());
                out.extend_from_slice(&scale.to_be_bytes());
            }
            Value::Duration { months, days, nanoseconds } => {
                out.extend_from_slice(&months.to_be_bytes());
                out.extend_from_slice(&days.to_be_bytes());
                out.extend_from_slice(&nanoseconds.to_be_bytes());
            }
            Value::Inet(IpAddr::V4(address)) => out.extend_from_slice(&address.octets()),
            Value::Inet(IpAddr::V6(address)) => out.extend_from_slice(&address.octets()),
            other => _ = other.put_bytes(out),
        }
    }

    /// Appends an element that has elements itself, which `fill` puts in.
    ///
    /// # Errors
    /// That of `fill`.
    pub fn nested<E>(&mut self, kind: Nested, fill: impl FnOnce(&mut Elements<'_>) -> Result<(), E>) -> Result<(), E> {
        self.0.push(kind as u8);
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
        for &kind in Nested::ALL {
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
