//! The leaf: values, types, column specifications, and the notations of the protocol as bytes.

mod bignum;
mod calendar;
mod collection;
mod compare;
mod duration;
mod json;
mod literal;
mod name;
pub mod read;
mod validate;
pub mod write;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub use calendar::{date_of, time_uuid_of};
pub use collection::{elements, write_list, write_map, write_set, write_tuple};
pub use literal::{Literal, LiteralKind};
pub use name::{Quoted, is_reserved};
pub use read::{Malformed, Read, Reader};

/// The class of a vector up to its dimension: no version of the protocol that the node speaks has an id for it.
const VECTOR_OF_FLOATS: &str =
    "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , ";

/// How deep types may nest, which bounds every recursion over a type or a value.
pub const MAX_DEPTH: usize = 16;

/// A `[value]` (native_protocol_v4.spec section 3), whose bytes are borrowed or owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given<B> {
    /// Serialised bytes.
    Bytes(B),
    /// Length -1: null.
    Null,
    /// Length -2: not set, which leaves the column as it is.
    Unset,
}

/// One bound value of a request, borrowed from its frame.
pub type Value<'a> = Given<&'a [u8]>;

/// A value after evaluation: as [`Value`], but perhaps owned.
pub type Evaluated<'a> = Given<Cow<'a, [u8]>>;

impl<B> Given<B> {
    /// The bytes, if there are any.
    #[inline]
    pub fn bytes(self) -> Option<B> {
        match self {
            Given::Bytes(bytes) => Some(bytes),
            Given::Null | Given::Unset => None,
        }
    }

    /// The value with other bytes.
    pub fn map<'b, C>(&'b self, other: impl FnOnce(&'b B) -> C) -> Given<C> {
        match self {
            Given::Bytes(bytes) => Given::Bytes(other(bytes)),
            Given::Null => Given::Null,
            Given::Unset => Given::Unset,
        }
    }
}

/// A column of a result or a bind marker (native_protocol_v4.spec section 4.2.5.2, `<col_spec>`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// The keyspace.
    pub keyspace: Arc<str>,
    /// The table.
    pub table: Arc<str>,
    /// The column's name or alias; for a marker its own name or that of its column.
    pub name: Arc<str>,
    /// The type.
    pub ty: CqlType,
}

impl ColumnSpec {
    /// Of what is no column of a table.
    pub(crate) fn special((keyspace, table): (&str, &str), name: &str, ty: CqlType) -> ColumnSpec {
        ColumnSpec { keyspace: keyspace.into(), table: table.into(), name: name.into(), ty }
    }
}

/// A user-defined type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UserType {
    /// The keyspace, outside which there is no column of the type.
    pub keyspace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// The fields' names, in order.
    pub names: Vec<Arc<str>>,
    /// The fields' types.
    pub types: Vec<CqlType>,
}

/// A native type.
#[derive(Debug)]
struct Native {
    name: &'static str,
    /// On the wire.
    id: u16,
    /// The first protocol version with that id.
    since: u8,
    /// The class that stands for it in older versions.
    class: &'static str,
    /// The numbers of bytes that a value may have; none if more than the number decides.
    lengths: &'static [usize],
    /// Cassandra's refusal of another number.
    refusal: &'static str,
}

macro_rules! types {
    ($($ty:ident $name:literal $id:literal $lengths:tt $refusal:literal since $since:literal $class:literal)*) => {
        /// A CQL type (native_protocol_v4.spec section 4.2.5.2, `[option]`).
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum CqlType {
            $(#[doc = concat!("`", $name, "`")] $ty,)*
            /// `list<element>`
            List(Box<CqlType>),
            /// `set<element>`
            Set(Box<CqlType>),
            /// `map<key, value>`
            Map(Box<[CqlType; 2]>),
            /// `tuple<...>`
            Tuple(Vec<CqlType>),
            /// A user-defined type.
            User(Arc<UserType>),
            /// `vector<float, dimension>`
            Vector(u16),
            /// `frozen<...>` of a list, set, map or user-defined type; tuples are frozen by themselves.
            Frozen(Box<CqlType>),
        }

        impl CqlType {
            const NATIVE: &[CqlType] = &[$(CqlType::$ty),*];

            fn as_native(&self) -> Option<&'static Native> {
                Some(match self {
                    $(CqlType::$ty => &Native {
                        name: $name, id: $id, since: $since, class: $class, lengths: &$lengths, refusal: $refusal,
                    },)*
                    _ => return None,
                })
            }
        }
    };
}

types! {
    Ascii "ascii" 0x01 [] "" since 1 ""
    Bigint "bigint" 0x02 [0, 8] "Expected 8 or 0 byte long" since 1 ""
    Blob "blob" 0x03 [] "" since 1 ""
    Boolean "boolean" 0x04 [0, 1] "Expected 1 or 0 byte value" since 1 ""
    Counter "counter" 0x05 [0, 8] "Expected 8 or 0 byte long" since 1 ""
    Decimal "decimal" 0x06 [] "" since 1 ""
    Double "double" 0x07 [0, 8] "Expected 8 or 0 byte value for a double" since 1 ""
    Float "float" 0x08 [0, 4] "Expected 4 or 0 byte value for a float" since 1 ""
    Int "int" 0x09 [0, 4] "Expected 4 or 0 byte int" since 1 ""
    Timestamp "timestamp" 0x0B [0, 8] "Expected 8 or 0 byte long for date" since 1 ""
    Uuid "uuid" 0x0C [0, 16] "UUID should be 16 or 0 bytes" since 1 ""
    Text "text" 0x0D [] "" since 1 ""
    Varint "varint" 0x0E [] "" since 1 ""
    Timeuuid "timeuuid" 0x0F [0, 16] "UUID should be 16 or 0 bytes" since 1 ""
    Inet "inet" 0x10 [0, 4, 16] "Expected 4 or 16 byte inetaddress" since 1 ""
    Date "date" 0x11 [4] "Expected 4 byte long for date" since 4 "org.apache.cassandra.db.marshal.SimpleDateType"
    Time "time" 0x12 [8] "Expected 8 byte long for time" since 4 "org.apache.cassandra.db.marshal.TimeType"
    Smallint "smallint" 0x13 [2] "Expected 2 bytes for a smallint" since 4 "org.apache.cassandra.db.marshal.ShortType"
    Tinyint "tinyint" 0x14 [1] "Expected 1 byte for a tinyint" since 4 "org.apache.cassandra.db.marshal.ByteType"
    Duration "duration" 0x15 [] "" since 5 "org.apache.cassandra.db.marshal.DurationType"
}

impl CqlType {
    /// The native type of this name (`varchar` is `text`), in any case; `None` for all others.
    pub fn native(name: &str) -> Option<CqlType> {
        let name = if name.eq_ignore_ascii_case("varchar") { "text" } else { name };
        CqlType::find(|row| row.name.eq_ignore_ascii_case(name))
    }

    fn find(is_it: impl Fn(&Native) -> bool) -> Option<CqlType> {
        CqlType::NATIVE.iter().find(|ty| ty.as_native().is_some_and(&is_it)).cloned()
    }

    /// Appends the type as an `[option]`. A type younger than `version` goes as a custom type with its class, as in
    /// Cassandra: in version 4 that is `duration`.
    pub fn write_option(&self, version: u8, out: &mut Vec<u8>) {
        match self {
            CqlType::List(_) => write::short(out, 0x20),
            CqlType::Map(_) => write::short(out, 0x21),
            CqlType::Set(_) => write::short(out, 0x22),
            CqlType::Tuple(elements) => {
                write::short(out, 0x31);
                write::short(out, u16::try_from(elements.len()).unwrap_or(u16::MAX));
            }
            CqlType::User(user) => {
                write::short(out, 0x30);
                write::string(out, &user.keyspace);
                write::string(out, &user.name);
                write::short(out, u16::try_from(user.names.len()).unwrap_or(u16::MAX));
                for (name, ty) in user.names.iter().zip(&user.types) {
                    write::string(out, name);
                    ty.write_option(version, out);
                }
                return;
            }
            CqlType::Vector(dimension) => {
                write::short(out, 0);
                write::string(out, &format!("{VECTOR_OF_FLOATS}{dimension})"));
            }
            native => match native.as_native() {
                Some(row) if version >= row.since => write::short(out, row.id),
                Some(row) => {
                    write::short(out, 0);
                    write::string(out, row.class);
                }
                None => {}
            },
        }
        self.elements().iter().for_each(|element| element.write_option(version, out));
    }

    /// The types of what is in a value: of a map its keys and values, of a frozen type that type.
    pub fn elements(&self) -> &[CqlType] {
        match self {
            CqlType::List(element) | CqlType::Set(element) | CqlType::Frozen(element) => std::slice::from_ref(element),
            CqlType::Map(entry) => &entry[..],
            CqlType::Tuple(elements) => elements,
            CqlType::User(user) => &user.types,
            _ => &[],
        }
    }

    /// The type of what a collection contains: of keys of a map, or of its values.
    pub fn contained(&self, keys: bool) -> Option<&CqlType> {
        match (self.unfrozen(), keys) {
            (CqlType::Map(entry), _) => Some(&entry[usize::from(!keys)]),
            (CqlType::List(element) | CqlType::Set(element), false) => Some(element),
            _ => None,
        }
    }

    /// The most bytes of a value, if the type limits them.
    pub fn longest(&self) -> Option<usize> {
        self.as_native()?.lengths.last().copied()
    }

    /// Reads an `[option]`. `frozen<>` is not on the wire. Fails for types that are unknown or nest deeper than
    /// [`MAX_DEPTH`].
    pub fn read_option(reader: &mut Reader<'_>) -> Read<CqlType> {
        CqlType::read_nested(reader, 0)
    }

    fn read_nested(reader: &mut Reader<'_>, depth: usize) -> Read<CqlType> {
        if depth > MAX_DEPTH {
            return Err(Malformed::new("A type nests too deep"));
        }
        let nested = |reader: &mut Reader<'_>| CqlType::read_nested(reader, depth + 1);
        let unknown = |what: &dyn fmt::Display| Malformed(format!("Unknown type {what}").into());
        match reader.short()? {
            0x00 => {
                let class = reader.string()?;
                let dimension = class.strip_prefix(VECTOR_OF_FLOATS).and_then(|rest| rest.strip_suffix(')'));
                if let Some(dimension) = dimension.and_then(|dimension| dimension.parse().ok()) {
                    return Ok(CqlType::Vector(dimension));
                }
                CqlType::find(|row| row.class == class && !class.is_empty()).ok_or_else(|| unknown(&class))
            }
            0x20 => Ok(CqlType::List(Box::new(nested(reader)?))),
            0x21 => Ok(CqlType::Map(Box::new([nested(reader)?, nested(reader)?]))),
            0x22 => Ok(CqlType::Set(Box::new(nested(reader)?))),
            0x30 => {
                let (keyspace, name) = (reader.string()?.into(), reader.string()?.into());
                let field = |reader: &mut Reader<'_>| Ok((reader.string()?.into(), nested(reader)?));
                let fields = (0..reader.short()?).map(|_| field(reader)).collect::<Read<Vec<_>>>()?;
                let (names, types) = fields.into_iter().unzip();
                Ok(CqlType::User(Arc::new(UserType { keyspace, name, names, types })))
            }
            0x31 => Ok(CqlType::Tuple((0..reader.short()?).map(|_| nested(reader)).collect::<Read<_>>()?)),
            id => CqlType::find(|row| row.id == id).ok_or_else(|| unknown(&format_args!("{id:#06x}"))),
        }
    }

    /// The type without `frozen<>` around it; its values are the same.
    #[inline]
    pub fn unfrozen(&self) -> &CqlType {
        match self {
            CqlType::Frozen(inner) => inner,
            other => other,
        }
    }

    /// Whether this is a list, set or map, frozen or not.
    pub fn is_collection(&self) -> bool {
        matches!(self.unfrozen(), CqlType::List(_) | CqlType::Set(_) | CqlType::Map(_))
    }

    /// Whether this is a collection or user-defined type that is not frozen, which cannot be part of a key.
    pub fn is_multi_cell(&self) -> bool {
        matches!(self, CqlType::List(_) | CqlType::Set(_) | CqlType::Map(_) | CqlType::User(_))
    }

    /// The user-defined type that this is, frozen or not.
    pub fn user(&self) -> Option<&Arc<UserType>> {
        match self.unfrozen() {
            CqlType::User(user) => Some(user),
            _ => None,
        }
    }

    /// Whether this is the user-defined type of this name, or one of its values has one within.
    pub fn uses(&self, name: &str) -> bool {
        matches!(self, CqlType::User(user) if &*user.name == name) || self.elements().iter().any(|of| of.uses(name))
    }

    /// The type with another version of a user-defined type of its keyspace.
    pub fn with_user(&self, new: &Arc<UserType>) -> CqlType {
        let all = |types: &[CqlType]| types.iter().map(|ty| ty.with_user(new)).collect::<Vec<_>>();
        match self {
            CqlType::List(element) => CqlType::List(Box::new(element.with_user(new))),
            CqlType::Set(element) => CqlType::Set(Box::new(element.with_user(new))),
            CqlType::Map(entry) => CqlType::Map(Box::new([entry[0].with_user(new), entry[1].with_user(new)])),
            CqlType::Tuple(types) => CqlType::Tuple(all(types)),
            CqlType::Frozen(inner) => CqlType::Frozen(Box::new(inner.with_user(new))),
            CqlType::User(user) if user.name == new.name => CqlType::User(new.clone()),
            CqlType::User(user) => {
                CqlType::User(Arc::new(UserType { types: all(&user.types), ..UserType::clone(user) }))
            }
            native => native.clone(),
        }
    }

    /// The type with `frozen<>` around it and around every collection within, as Cassandra writes it.
    pub fn freeze(self) -> CqlType {
        let frozen = |ty| CqlType::Frozen(Box::new(ty));
        match self {
            CqlType::List(element) => frozen(CqlType::List(Box::new(element.freeze()))),
            CqlType::Set(element) => frozen(CqlType::Set(Box::new(element.freeze()))),
            CqlType::Map(entry) => frozen(CqlType::Map(Box::new(entry.map(CqlType::freeze)))),
            CqlType::Tuple(elements) => CqlType::Tuple(elements.into_iter().map(CqlType::freeze).collect()),
            user @ CqlType::User(_) => frozen(user),
            other => other,
        }
    }
}

impl fmt::Display for CqlType {
    /// As in `system_schema.columns.type`: `map<text, frozen<list<int>>>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CqlType::List(element) => write!(f, "list<{element}>"),
            CqlType::Set(element) => write!(f, "set<{element}>"),
            CqlType::Map(entry) => write!(f, "map<{}, {}>", entry[0], entry[1]),
            CqlType::Tuple(elements) => {
                f.write_str("frozen<tuple<")?;
                for (index, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str(">>")
            }
            CqlType::User(user) => Quoted(&user.name).fmt(f),
            CqlType::Vector(dimension) => write!(f, "vector<float, {dimension}>"),
            CqlType::Frozen(inner) => write!(f, "frozen<{inner}>"),
            native => f.write_str(native.as_native().map_or("", |row| row.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_written_as_cassandra_writes_them() {
        let nested = CqlType::Map(Box::new([
            CqlType::Text,
            CqlType::List(Box::new(CqlType::Tuple(vec![CqlType::Int, CqlType::Blob]))).freeze(),
        ]));
        assert_eq!(nested.to_string(), "map<text, frozen<list<frozen<tuple<int, blob>>>>>");
        assert_eq!(nested.clone().freeze().to_string(), format!("frozen<{nested}>"));
        let mut option = Vec::new();
        nested.write_option(4, &mut option);
        assert_eq!(option, [0, 0x21, 0, 0x0D, 0, 0x20, 0, 0x31, 0, 2, 0, 9, 0, 3]);
    }

    #[test]
    fn a_type_is_read_as_it_was_written() {
        let nested = CqlType::Map(Box::new([
            CqlType::Duration,
            CqlType::List(Box::new(CqlType::Tuple(vec![CqlType::Int, CqlType::Set(Box::new(CqlType::Date))]))),
        ]));
        for version in [3, 4] {
            for ty in CqlType::NATIVE.iter().chain([&nested]) {
                let mut option = Vec::new();
                ty.write_option(version, &mut option);
                let mut reader = Reader::new(&option);
                assert_eq!(CqlType::read_option(&mut reader).as_ref(), Ok(ty));
                assert!(reader.rest.is_empty());
                for len in 0..option.len() {
                    assert!(CqlType::read_option(&mut Reader::new(&option[..len])).is_err(), "{ty} cut to {len}");
                }
            }
        }
        let deep = [0, 0x20].repeat(MAX_DEPTH + 2);
        assert_eq!(CqlType::read_option(&mut Reader::new(&deep)), Err(Malformed::new("A type nests too deep")));
        assert!(CqlType::read_option(&mut Reader::new(&[0x7F, 0xFF])).is_err());
    }

    #[test]
    fn a_type_younger_than_the_protocol_goes_by_its_class() {
        let mut option = Vec::new();
        CqlType::Duration.write_option(4, &mut option);
        assert_eq!(option[..4], [0, 0, 0, 44]);
        assert_eq!(&option[4..], b"org.apache.cassandra.db.marshal.DurationType");
        option.clear();
        CqlType::Tinyint.write_option(4, &mut option);
        assert_eq!(option, [0, 0x14]);
    }

    #[test]
    fn every_native_type_is_found_by_its_name() {
        for ty in CqlType::NATIVE {
            assert_eq!(CqlType::native(&ty.to_string().to_uppercase()).as_ref(), Some(ty));
        }
        assert_eq!(CqlType::native("varchar"), Some(CqlType::Text));
        assert_eq!(CqlType::native("nosuch"), None);
    }
}
