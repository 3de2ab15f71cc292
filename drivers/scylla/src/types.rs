//! The types that are not among the commonest, and elements: in and out through the driver's own types.

use std::collections::BTreeMap;
use std::net::IpAddr;

use cqldyno_driver_api::wire::codec;
use cqldyno_driver_api::{DriverError, Elements, ErrorKind, Item, Items, Nested, Rows, Value, varint};
use scylla::cluster::metadata::CollectionType;
use scylla::deserialize::row::RawColumn;
use scylla::deserialize::value::{ListlikeIterator, MapIterator, UdtIterator};
use scylla::deserialize::{DeserializationError, FrameSlice, TypeCheckError};
use scylla::serialize::SerializationError;
use scylla::serialize::writers::{CellWriter, WrittenCellProof};
use scylla::value::{Counter, CqlDate, CqlDecimal, CqlDuration, CqlTime, CqlTimeuuid, CqlVarint};
use uuid::Uuid;

use crate::bound::{self, refused};
use crate::names::{ColumnType, CqlTimestamp, DeserializeValue, NativeType, SerializeValue};

/// The driver counts the days of a date from 2^31 days before the Unix epoch.
const EPOCH_DAY: u32 = 1 << 31;

/// An element to bind. As the key of a map it is compared by its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bound<'a>(Item<'a>);

impl SerializeValue for Bound<'_> {
    fn serialize<'b>(
        &self,
        kind: &ColumnType<'_>,
        cell: CellWriter<'b>,
    ) -> Result<WrittenCellProof<'b>, SerializationError> {
        bound::serialize(&self.0.value(), kind, cell)
    }
}

/// Binds a value that is not of the commonest types.
#[inline(never)]
pub(crate) fn serialize<'b>(
    value: &Value<'_>,
    kind: &ColumnType<'_>,
    cell: CellWriter<'b>,
) -> Result<WrittenCellProof<'b>, SerializationError> {
    match *value {
        Value::Tinyint(value) => value.serialize(kind, cell),
        Value::Smallint(value) => value.serialize(kind, cell),
        Value::Float(value) => value.serialize(kind, cell),
        Value::Date(value) => CqlDate(value.cast_unsigned() ^ EPOCH_DAY).serialize(kind, cell),
        Value::Time(value) => CqlTime(value).serialize(kind, cell),
        Value::Inet(value) => value.serialize(kind, cell),
        Value::Timeuuid(value) => CqlTimeuuid::from_bytes(value).serialize(kind, cell),
        Value::Varint(value) => {
            CqlVarint::from_signed_bytes_be_slice(varint::shortest(&value.to_be_bytes())).serialize(kind, cell)
        }
        Value::Decimal { unscaled, scale } => {
            let unscaled = unscaled.to_be_bytes();
            let unscaled = varint::shortest(&unscaled);
            CqlDecimal::from_signed_be_bytes_slice_and_exponent(unscaled, scale).serialize(kind, cell)
        }
        Value::Duration { months, days, nanoseconds } => {
            CqlDuration { months, days, nanoseconds }.serialize(kind, cell)
        }
        Value::Counter(value) => Counter(value).serialize(kind, cell),
        Value::List(items) | Value::Set(items) | Value::Vector(items) => {
            items.iter().map(Bound).collect::<Vec<_>>().serialize(kind, cell)
        }
        Value::Map(items) => {
            let pairs = items.pairs().map(|(key, value)| (Bound(key), Bound(value)));
            pairs.collect::<BTreeMap<_, _>>().serialize(kind, cell)
        }
        Value::Tuple(items) => match kind {
            ColumnType::Tuple(kinds) => serialize_fields(items, kinds.iter(), cell),
            other => Err(mismatch(value, other)),
        },
        Value::Udt(items) => match kind {
            ColumnType::UserDefinedType { definition, .. } => {
                serialize_fields(items, definition.field_types.iter().map(|(_, kind)| kind), cell)
            }
            other => Err(mismatch(value, other)),
        },
        _ => bound::serialize(value, kind, cell),
    }
}

/// Binds fields one by one, as the driver's derive macro does.
fn serialize_fields<'b, 'k>(
    items: Items<'_>,
    kinds: impl Iterator<Item = &'k ColumnType<'k>>,
    cell: CellWriter<'b>,
) -> Result<WrittenCellProof<'b>, SerializationError> {
    let mut builder = cell.into_value_builder();
    for (item, kind) in items.iter().zip(kinds) {
        bound::serialize(&item.value(), kind, builder.make_sub_writer())?;
    }
    builder.finish().map_err(SerializationError::new)
}

#[cold]
fn mismatch(value: &Value<'_>, kind: &ColumnType<'_>) -> SerializationError {
    refused(format!("a value of type {} was bound to a marker of type {kind:?}", value.type_name()))
}

/// A value as it came, with its type.
struct Raw<'frame, 'metadata> {
    kind: &'metadata ColumnType<'metadata>,
    slice: Option<FrameSlice<'frame>>,
}

impl<'frame, 'metadata> DeserializeValue<'frame, 'metadata> for Raw<'frame, 'metadata> {
    fn type_check(_: &ColumnType<'_>) -> Result<(), TypeCheckError> {
        Ok(())
    }

    fn deserialize(
        kind: &'metadata ColumnType<'metadata>,
        slice: Option<FrameSlice<'frame>>,
    ) -> Result<Self, DeserializationError> {
        Ok(Raw { kind, slice })
    }
}

/// Decodes a column that is not null.
#[inline(never)]
pub(crate) fn decode(column: RawColumn<'_, '_>, rows: &mut Rows) -> Result<(), DriverError> {
    let raw = Raw { kind: column.spec.typ(), slice: column.slice };
    match raw.nested() {
        Some(kind) => rows.push_nested(kind, |out| raw.elements(out)),
        None => {
            rows.push(raw.scalar()?);
            Ok(())
        }
    }
}

impl<'frame, 'metadata> Raw<'frame, 'metadata> {
    fn nested(&self) -> Option<Nested> {
        Some(match self.kind {
            ColumnType::Collection { typ: CollectionType::List(_), .. } => Nested::List,
            ColumnType::Collection { typ: CollectionType::Set(_), .. } => Nested::Set,
            ColumnType::Collection { typ: CollectionType::Map(..), .. } => Nested::Map,
            ColumnType::Tuple(_) => Nested::Tuple,
            ColumnType::UserDefinedType { .. } => Nested::Udt,
            ColumnType::Native(_) => return None,
            // Not every release since 1.0 has a name for it.
            _ => Nested::Vector,
        })
    }

    /// The driver's own check of the type, then its own decoding.
    fn typed<T: DeserializeValue<'frame, 'metadata>>(&self) -> Result<T, DriverError> {
        T::type_check(self.kind).map_err(codec)?;
        T::deserialize(self.kind, self.slice).map_err(codec)
    }

    fn scalar(&self) -> Result<Value<'frame>, DriverError> {
        let ColumnType::Native(native) = self.kind else { return Err(self.unknown()) };
        Ok(match native {
            NativeType::BigInt => Value::Bigint(self.typed()?),
            NativeType::Int => Value::Int(self.typed()?),
            NativeType::Boolean => Value::Boolean(self.typed()?),
            NativeType::Double => Value::Double(self.typed()?),
            NativeType::Timestamp => Value::Timestamp(self.typed::<CqlTimestamp>()?.0),
            NativeType::Uuid => Value::Uuid(self.typed::<Uuid>()?.into_bytes()),
            NativeType::Text | NativeType::Ascii => Value::Text(self.typed::<&'frame str>()?),
            NativeType::Blob => Value::Blob(self.typed::<&'frame [u8]>()?),
            NativeType::TinyInt => Value::Tinyint(self.typed()?),
            NativeType::SmallInt => Value::Smallint(self.typed()?),
            NativeType::Float => Value::Float(self.typed()?),
            NativeType::Date => Value::Date((self.typed::<CqlDate>()?.0 ^ EPOCH_DAY).cast_signed()),
            NativeType::Time => Value::Time(self.typed::<CqlTime>()?.0),
            NativeType::Inet => Value::Inet(self.typed::<IpAddr>()?),
            NativeType::Timeuuid => Value::Timeuuid(*self.typed::<CqlTimeuuid>()?.as_bytes()),
            NativeType::Varint => Value::Varint(number(self.typed::<CqlVarint>()?.as_signed_bytes_be_slice())?),
            NativeType::Decimal => {
                let decimal = self.typed::<CqlDecimal>()?;
                let (unscaled, scale) = decimal.as_signed_be_bytes_slice_and_exponent();
                Value::Decimal { unscaled: number(unscaled)?, scale }
            }
            NativeType::Duration => {
                let CqlDuration { months, days, nanoseconds } = self.typed()?;
                Value::Duration { months, days, nanoseconds }
            }
            NativeType::Counter => Value::Counter(self.typed::<Counter>()?.0),
            _ => return Err(self.unknown()),
        })
    }

    /// Decodes the elements, each through the driver's iterator over them.
    fn elements(&self, out: &mut Elements<'_>) -> Result<(), DriverError> {
        match self.kind {
            ColumnType::Collection { typ: CollectionType::List(_) | CollectionType::Set(_), .. } => {
                for element in self.typed::<ListlikeIterator<'_, '_, Raw<'_, '_>>>()? {
                    element.map_err(codec)?.put(out)?;
                }
            }
            ColumnType::Collection { .. } => {
                for pair in self.typed::<MapIterator<'_, '_, Raw<'_, '_>, Raw<'_, '_>>>()? {
                    let (key, value) = pair.map_err(codec)?;
                    key.put(out)?;
                    value.put(out)?;
                }
            }
            ColumnType::UserDefinedType { .. } => {
                for ((_, kind), field) in self.typed::<UdtIterator<'_, '_>>()? {
                    Raw { kind, slice: field.map_err(codec)?.flatten() }.put(out)?;
                }
            }
            ColumnType::Tuple(kinds) => self.tuple(kinds.len(), out)?,
            _ => self.typed::<Vec<f32>>()?.into_iter().for_each(|element| out.push(Value::Float(element))),
        }
        Ok(())
    }

    /// Decodes a tuple of so many fields, as one of Rust's.
    fn tuple(&self, fields: usize, out: &mut Elements<'_>) -> Result<(), DriverError> {
        macro_rules! raw {
            ($name:ident) => {
                Raw<'frame, 'metadata>
            };
        }
        macro_rules! each {
            ($($name:ident)*) => {{
                let ($($name,)*) = self.typed::<($(raw!($name),)*)>()?;
                $($name.put(out)?;)*
            }};
        }
        match fields {
            1 => each!(a),
            2 => each!(a b),
            3 => each!(a b c),
            4 => each!(a b c d),
            5 => each!(a b c d e),
            6 => each!(a b c d e f),
            7 => each!(a b c d e f g),
            8 => each!(a b c d e f g h),
            fields => {
                return Err(codec(format_args!("a tuple has {fields} fields; this adapter decodes those of up to 8")));
            }
        }
        Ok(())
    }

    /// Appends the value to others.
    fn put(&self, out: &mut Elements<'_>) -> Result<(), DriverError> {
        match self.nested() {
            _ if self.slice.is_none() => out.push(Value::Null),
            None => out.push(self.scalar()?),
            Some(kind) => return out.nested(kind, |out| self.elements(out)),
        }
        Ok(())
    }

    #[cold]
    fn unknown(&self) -> DriverError {
        codec(format_args!("a value has the type {:?}, which scenarios do not use", self.kind))
    }
}

fn number(bytes: &[u8]) -> Result<i64, DriverError> {
    let other =
        || DriverError::new(ErrorKind::Codec, format_args!("a number has {} bytes; scenarios use 1 to 8", bytes.len()));
    varint::number(bytes).ok_or_else(other)
}
