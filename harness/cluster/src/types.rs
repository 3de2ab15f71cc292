//! The leaf: values, types, column specifications, and the notations of the protocol as bytes.

mod bignum;
mod calendar;
mod collection;
mod compare;
mod duration;
mod json;
mod literal;
pub mod read;
mod validate;
pub mod write;

use std::fmt;
use std::sync::Arc;

pub use collection::{elements, write_list, write_map, write_set, write_tuple};
pub use literal::{Literal, LiteralKind};
pub use read::{Malformed, Read, Reader};

/// How deep types may nest, which bounds every recursion over a type or a value.
pub const MAX_DEPTH: usize = 16;

/// One bound value of a request, borrowed from its frame (native_protocol_v4.spec section 3, `[value]`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Serialised bytes.
    Bytes(&'a [u8]),
    /// Length -1: null.
    Null,
    /// Length -2: not set, which leaves the column as it is.
    Unset,
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

macro_rules! types {
    ($($name:ident $text:literal $id:literal since $version:literal $class:literal)*) => {
        /// A CQL type (native_protocol_v4.spec section 4.2.5.2, `[option]`).
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum CqlType {
            $(#[doc = concat!("`", $text, "`")] $name,)*
            /// `list<element>`
            List(Box<CqlType>),
            /// `set<element>`
            Set(Box<CqlType>),
            /// `map<key, value>`
            Map(Box<(CqlType, CqlType)>),
            /// `tuple<...>`
            Tuple(Vec<CqlType>),
            /// `frozen<...>` of a list, set or map; tuples are frozen by themselves.
            Frozen(Box<CqlType>),
        }

        /// The native types: name, id on the wire, the first protocol version with that id, and the class that stands for it before.
        const NATIVE: &[(CqlType, &str, u16, u8, &str)] = &[$((CqlType::$name, $text, $id, $version, $class)),*];
    };
}

types! {
    Ascii "ascii" 0x01 since 1 ""
    Bigint "bigint" 0x02 since 1 ""
    Blob "blob" 0x03 since 1 ""
    Boolean "boolean" 0x04 since 1 ""
    Counter "counter" 0x05 since 1 ""
    Decimal "decimal" 0x06 since 1 ""
    Double "double" 0x07 since 1 ""
    Float "float" 0x08 since 1 ""
    Int "int" 0x09 since 1 ""
    Timestamp "timestamp" 0x0B since 1 ""
    Uuid "uuid" 0x0C since 1 ""
    Text "text" 0x0D since 1 ""
    Varint "varint" 0x0E since 1 ""
    Timeuuid "timeuuid" 0x0F since 1 ""
    Inet "inet" 0x10 since 1 ""
    Date "date" 0x11 since 4 "org.apache.cassandra.db.marshal.SimpleDateType"
    Time "time" 0x12 since 4 "org.apache.cassandra.db.marshal.TimeType"
    Smallint "smallint" 0x13 since 4 "org.apache.cassandra.db.marshal.ShortType"
    Tinyint "tinyint" 0x14 since 4 "org.apache.cassandra.db.marshal.ByteType"
    Duration "duration" 0x15 since 5 "org.apache.cassandra.db.marshal.DurationType"
}

impl CqlType {
    /// The native type of this name (`varchar` is `text`), in any case; `None` for all others.
    pub fn native(name: &str) -> Option<CqlType> {
        if name.eq_ignore_ascii_case("varchar") {
            return Some(CqlType::Text);
        }
        NATIVE.iter().find(|row| row.1.eq_ignore_ascii_case(name)).map(|row| row.0.clone())
    }

    /// Appends the type as an `[option]`. A type younger than `version` goes as a custom type with its class, as in
    /// Cassandra: in version 4 that is `duration`.
    pub fn write_option(&self, version: u8, out: &mut Vec<u8>) {
        match self {
            CqlType::List(element) => {
                write::short(out, 0x20);
                element.write_option(version, out);
            }
            CqlType::Map(entry) => {
                write::short(out, 0x21);
                entry.0.write_option(version, out);
                entry.1.write_option(version, out);
            }
            CqlType::Set(element) => {
                write::short(out, 0x22);
                element.write_option(version, out);
            }
            CqlType::Tuple(elements) => {
                write::short(out, 0x31);
                write::short(out, u16::try_from(elements.len()).unwrap_or(u16::MAX));
                elements.iter().for_each(|element| element.write_option(version, out));
            }
            CqlType::Frozen(inner) => inner.write_option(version, out),
            native => match NATIVE.iter().find(|row| row.0 == *native) {
                Some((_, _, id, since, _)) if version >= *since => write::short(out, *id),
                Some((_, _, _, _, class)) => {
                    write::short(out, 0);
                    write::string(out, class);
                }
                None => {}
            },
        }
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
        let native = |found: Option<&(CqlType, _, _, _, _)>, what: &dyn fmt::Display| {
            found.map(|row| row.0.clone()).ok_or_else(|| Malformed(format!("Unknown type {what}").into()))
        };
        match reader.short()? {
            0x00 => {
                let class = reader.string()?;
                native(NATIVE.iter().find(|row| row.4 == class), &class)
            }
            0x20 => Ok(CqlType::List(Box::new(nested(reader)?))),
            0x21 => Ok(CqlType::Map(Box::new((nested(reader)?, nested(reader)?)))),
            0x22 => Ok(CqlType::Set(Box::new(nested(reader)?))),
            0x31 => Ok(CqlType::Tuple((0..reader.short()?).map(|_| nested(reader)).collect::<Read<_>>()?)),
            id => native(NATIVE.iter().find(|row| row.2 == id), &format_args!("{id:#06x}")),
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

    /// Whether this is a collection that is not frozen, which cannot be part of a key.
    pub fn is_multi_cell(&self) -> bool {
        matches!(self, CqlType::List(_) | CqlType::Set(_) | CqlType::Map(_))
    }

    /// The type with `frozen<>` around it and around every collection within, as Cassandra writes it.
    pub fn freeze(self) -> CqlType {
        match self {
            CqlType::List(element) => CqlType::Frozen(Box::new(CqlType::List(Box::new(element.freeze())))),
            CqlType::Set(element) => CqlType::Frozen(Box::new(CqlType::Set(Box::new(element.freeze())))),
            CqlType::Map(entry) => {
                CqlType::Frozen(Box::new(CqlType::Map(Box::new((entry.0.freeze(), entry.1.freeze())))))
            }
            CqlType::Tuple(elements) => CqlType::Tuple(elements.into_iter().map(CqlType::freeze).collect()),
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
            CqlType::Map(entry) => write!(f, "map<{}, {}>", entry.0, entry.1),
            CqlType::Tuple(elements) => {
                f.write_str("frozen<tuple<")?;
                for (index, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str(">>")
            }
            CqlType::Frozen(inner) => write!(f, "frozen<{inner}>"),
            native => f.write_str(NATIVE.iter().find(|row| row.0 == *native).map_or("", |row| row.1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_written_as_cassandra_writes_them() {
        let nested = CqlType::Map(Box::new((
            CqlType::Text,
            CqlType::List(Box::new(CqlType::Tuple(vec![CqlType::Int, CqlType::Blob]))).freeze(),
        )));
        assert_eq!(nested.to_string(), "map<text, frozen<list<frozen<tuple<int, blob>>>>>");
        assert_eq!(nested.clone().freeze().to_string(), format!("frozen<{nested}>"));
        let mut option = Vec::new();
        nested.write_option(4, &mut option);
        assert_eq!(option, [0, 0x21, 0, 0x0D, 0, 0x20, 0, 0x31, 0, 2, 0, 9, 0, 3]);
    }

    #[test]
    fn a_type_is_read_as_it_was_written() {
        let nested = CqlType::Map(Box::new((
            CqlType::Duration,
            CqlType::List(Box::new(CqlType::Tuple(vec![CqlType::Int, CqlType::Set(Box::new(CqlType::Date))]))),
        )));
        for version in [3, 4] {
            for ty in NATIVE.iter().map(|row| &row.0).chain([&nested]) {
                let mut option = Vec::new();
                ty.write_option(version, &mut option);
                let mut reader = Reader::new(&option);
                assert_eq!(CqlType::read_option(&mut reader).as_ref(), Ok(ty));
                assert!(reader.rest().is_empty());
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
        for row in NATIVE {
            assert_eq!(CqlType::native(&row.0.to_string().to_uppercase()).as_ref(), Some(&row.0));
        }
        assert_eq!(CqlType::native("varchar"), Some(CqlType::Text));
        assert_eq!(CqlType::native("nosuch"), None);
    }
}
