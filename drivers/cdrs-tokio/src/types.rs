//! The types that are not among the commonest, and elements, since 8.1.0.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::mem::replace;

use cdrs_tokio::frame::message_result::ColTypeOptionValue;
use cdrs_tokio::frame::{Serialize, Version};
use cdrs_tokio::types::CBytes;
use cdrs_tokio::types::blob::Blob;
use cdrs_tokio::types::data_serialization_types::*;
use cdrs_tokio::types::decimal::Decimal;
use cdrs_tokio::types::rows::Row;
use cdrs_tokio::types::value::{Bytes, Value as DriverValue};
use cqldyno_driver_api::wire::codec;
use cqldyno_driver_api::{DriverError, Elements, Item, Items, Nested, Rows, Value};
use num_bigint::BigInt;
use uuid::Uuid;

use crate::names::{BodyResResultRows, ColType, ColTypeOption};
use crate::values::{Kind, typed};

/// The types that these releases lack: their `Duration` has not Cassandra's encoding.
pub(crate) const LACKS: [&str; 1] = ["duration"];

/// The driver has a date as the number on the wire, which counts from 2^31 days before the Unix epoch.
const EPOCH_DAY: i32 = i32::MIN;

/// An element to bind. As the key of a map it is compared by its bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Bound<'a>(Item<'a>);

impl From<Bound<'_>> for Bytes {
    fn from(bound: Bound<'_>) -> Bytes {
        bytes(bound.0.value())
    }
}

/// The value as the driver takes it.
pub(crate) fn bind(value: Value<'_>) -> DriverValue {
    match value {
        Value::Null => DriverValue::Null,
        other => DriverValue::new(bytes(other)),
    }
}

/// The bytes that the driver makes of a value that is not null.
fn bytes(value: Value<'_>) -> Bytes {
    match value {
        Value::Null => Bytes::new(Vec::new()),
        Value::Boolean(value) => value.into(),
        Value::Int(value) => value.into(),
        Value::Bigint(value) | Value::Timestamp(value) | Value::Time(value) | Value::Counter(value) => value.into(),
        Value::Double(value) => value.into(),
        Value::Uuid(value) | Value::Timeuuid(value) => Uuid::from_bytes(value).into(),
        Value::Text(value) => value.into(),
        Value::Blob(value) => Blob::from(value.to_vec()).into(),
        Value::Tinyint(value) => value.into(),
        Value::Smallint(value) => value.into(),
        Value::Float(value) => value.into(),
        Value::Date(value) => (value ^ EPOCH_DAY).into(),
        Value::Inet(value) => value.into(),
        Value::Varint(value) => BigInt::from(value).into(),
        Value::Decimal { unscaled, scale } => Decimal::new(unscaled.into(), scale).into(),
        Value::Duration { months, days, nanoseconds } => {
            cdrs_tokio::types::duration::Duration::new(months, days, nanoseconds)
                .map_or_else(|_| Bytes::new(Vec::new()), Bytes::from)
        }
        Value::List(items) | Value::Set(items) => items.iter().map(Bound).collect::<Vec<_>>().into(),
        Value::Map(items) => {
            items.pairs().map(|(key, value)| (Bound(key), Bound(value))).collect::<BTreeMap<_, _>>().into()
        }
        Value::Tuple(items) | Value::Udt(items) => fields(items),
        // The driver reads a vector, and has nothing that writes one.
        Value::Vector(items) => Bytes::new(items.iter().flat_map(|item| bytes(item.value()).into_inner()).collect()),
    }
}

/// Fields one by one, as the driver's derive macro does.
fn fields(items: Items<'_>) -> Bytes {
    let mut all = Vec::new();
    let mut cursor = Cursor::new(&mut all);
    items.iter().for_each(|item| bind(item.value()).serialize(&mut cursor, Version::V4));
    Bytes::new(all)
}

/// A type that not every release has.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    Scalar(ColType),
    /// `duration`, which version 4 has no option id for.
    Duration,
    List(Box<Type>),
    Set(Box<Type>),
    Map(Box<(Type, Type)>),
    Tuple(Vec<Type>),
    Udt(Vec<Type>),
    /// `vector<float, n>`
    Vector(usize),
}

impl Type {
    /// The type, if this adapter decodes it.
    pub(crate) fn of(option: &ColTypeOption) -> Option<Type> {
        let inner = |option: &ColTypeOption| Type::of(option).map(Box::new);
        Some(match (&option.id, &option.value) {
            (ColType::List, Some(ColTypeOptionValue::CList(of))) => Type::List(inner(of)?),
            (ColType::Set, Some(ColTypeOptionValue::CSet(of))) => Type::Set(inner(of)?),
            (ColType::Map, Some(ColTypeOptionValue::CMap(key, value))) => {
                Type::Map(Box::new((Type::of(key)?, Type::of(value)?)))
            }
            (ColType::Tuple, Some(ColTypeOptionValue::TupleType(of))) => {
                Type::Tuple(of.types.iter().map(Type::of).collect::<Option<_>>()?)
            }
            (ColType::Udt, Some(ColTypeOptionValue::UdtType(of))) => {
                Type::Udt(of.descriptions.iter().map(|(_, of)| Type::of(of)).collect::<Option<_>>()?)
            }
            (ColType::Custom, Some(value @ ColTypeOptionValue::CString(class))) => match class.rsplit('.').next() {
                Some("DurationType") => Type::Duration,
                _ => {
                    let info = cdrs_tokio::types::vector::get_vector_type_info(value).ok()?;
                    (info.internal_type == "FloatType").then_some(Type::Vector(info.count))?
                }
            },
            (ColType::Custom | ColType::List | ColType::Set | ColType::Map | ColType::Tuple | ColType::Udt, _) => {
                return None;
            }
            (scalar, _) => Type::Scalar(*scalar),
        })
    }

    fn nested(&self) -> Option<Nested> {
        Some(match self {
            Type::List(_) => Nested::List,
            Type::Set(_) => Nested::Set,
            Type::Map(_) => Nested::Map,
            Type::Tuple(_) => Nested::Tuple,
            Type::Udt(_) => Nested::Udt,
            Type::Vector(_) => Nested::Vector,
            Type::Scalar(_) | Type::Duration => return None,
        })
    }

    /// Whether the driver's typed getter for a row does not serve here: it makes a hash map of a map, and no duration.
    fn is_apart(&self) -> bool {
        !matches!(self, Type::Scalar(_))
    }

    fn scalar<'a>(
        &self,
        cell: &'a [u8],
        text: &'a mut String,
        blob: &'a mut Vec<u8>,
    ) -> Result<Value<'a>, DriverError> {
        let Type::Scalar(kind) = self else {
            let duration = decode_duration(cell).map_err(codec)?;
            let (months, days, nanoseconds) = (duration.months(), duration.days(), duration.nanoseconds());
            return Ok(Value::Duration { months, days, nanoseconds });
        };
        Ok(match kind {
            ColType::Bigint => Value::Bigint(decode_bigint(cell).map_err(codec)?),
            ColType::Counter => Value::Counter(decode_bigint(cell).map_err(codec)?),
            ColType::Timestamp => Value::Timestamp(decode_timestamp(cell).map_err(codec)?),
            ColType::Time => Value::Time(decode_time(cell).map_err(codec)?),
            ColType::Int => Value::Int(decode_int(cell).map_err(codec)?),
            ColType::Date => Value::Date(decode_date(cell).map_err(codec)? ^ EPOCH_DAY),
            ColType::Smallint => Value::Smallint(decode_smallint(cell).map_err(codec)?),
            ColType::Tinyint => Value::Tinyint(decode_tinyint(cell).map_err(codec)?),
            ColType::Boolean => Value::Boolean(decode_boolean(cell).map_err(codec)?),
            ColType::Double => Value::Double(decode_double(cell).map_err(codec)?),
            ColType::Float => Value::Float(decode_float(cell).map_err(codec)?),
            ColType::Uuid | ColType::Timeuuid => {
                let uuid = *decode_timeuuid(cell).map_err(codec)?.as_bytes();
                if *kind == ColType::Uuid { Value::Uuid(uuid) } else { Value::Timeuuid(uuid) }
            }
            ColType::Inet => Value::Inet(decode_inet(cell).map_err(codec)?),
            ColType::Varint => Value::Varint(number(decode_varint(cell).map_err(codec)?)?),
            ColType::Decimal => decimal(decode_decimal(cell).map_err(codec)?)?,
            ColType::Varchar | ColType::Ascii => {
                *text = decode_varchar(cell).map_err(codec)?;
                Value::Text(text)
            }
            ColType::Blob => {
                *blob = decode_blob(cell).map_err(codec)?.into_vec();
                Value::Blob(blob)
            }
            other => return Err(codec(format_args!("a value has the type {other:?}, which scenarios do not use"))),
        })
    }

    /// Decodes the elements of a value.
    fn elements(&self, cell: &[u8], out: &mut Elements<'_>) -> Result<(), DriverError> {
        match self {
            Type::List(of) | Type::Set(of) => {
                decode_list(cell, Version::V4).map_err(codec)?.iter().try_for_each(|cell| of.put(cell, out))
            }
            Type::Map(of) => decode_map(cell, Version::V4).map_err(codec)?.iter().try_for_each(|(key, value)| {
                of.0.put(key, out)?;
                of.1.put(value, out)
            }),
            Type::Tuple(of) => {
                let cells = decode_tuple(cell, of.len(), Version::V4).map_err(codec)?;
                cells.iter().zip(of).try_for_each(|(cell, of)| of.put(cell, out))
            }
            Type::Udt(of) => {
                let cells = decode_udt(cell, of.len(), Version::V4).map_err(codec)?;
                cells.iter().zip(of).try_for_each(|(cell, of)| of.put(cell, out))
            }
            Type::Vector(count) => {
                let cells = decode_float_vector(cell, Version::V4, *count).map_err(codec)?;
                cells.iter().try_for_each(|cell| Type::Scalar(ColType::Float).put(cell, out))
            }
            Type::Scalar(_) | Type::Duration => Ok(()),
        }
    }

    fn put(&self, cell: &CBytes, out: &mut Elements<'_>) -> Result<(), DriverError> {
        match (cell.as_slice(), self.nested()) {
            (None, _) => out.push(Value::Null),
            (Some(cell), Some(kind)) => return out.nested(kind, |out| self.elements(cell, out)),
            (Some(cell), None) => out.push(self.scalar(cell, &mut String::new(), &mut Vec::new())?),
        }
        Ok(())
    }
}

/// Cells that the driver's typed getter does not serve, in the order of rows and columns.
pub(crate) type Apart = std::vec::IntoIter<CBytes>;

/// Takes them out of the page.
#[inline]
pub(crate) fn apart(page: &mut BodyResResultRows, columns: &[Kind]) -> Apart {
    let is_apart = |kind: &Kind| matches!(kind, Kind::Other(kind) if kind.is_apart());
    match columns.iter().any(is_apart) {
        false => Vec::new().into_iter(),
        true => take_apart(page, |index| columns.get(index).is_some_and(is_apart)),
    }
}

#[inline(never)]
fn take_apart(page: &mut BodyResResultRows, is_apart: impl Fn(usize) -> bool) -> Apart {
    let rows = page.rows_content.iter_mut();
    let cells = rows.flat_map(|row| row.iter_mut().enumerate().filter(|(index, _)| is_apart(*index)));
    cells.map(|(_, cell)| replace(cell, CBytes::new_null())).collect::<Vec<_>>().into_iter()
}

/// Decodes one column.
#[inline(never)]
pub(crate) fn decode(
    kind: &Type,
    row: &Row,
    index: usize,
    apart: &mut Apart,
    rows: &mut Rows,
) -> Result<(), DriverError> {
    if kind.is_apart() {
        let cell = apart.next().unwrap_or_else(CBytes::new_null);
        return match (cell.as_slice(), kind.nested()) {
            (None, _) => {
                rows.push_null();
                Ok(())
            }
            (Some(cell), Some(nested)) => rows.push_nested(nested, |out| kind.elements(cell, out)),
            (Some(cell), None) => {
                rows.push(kind.scalar(cell, &mut String::new(), &mut Vec::new())?);
                Ok(())
            }
        };
    }
    let Type::Scalar(kind) = kind else { return Ok(()) };
    let value = match kind {
        ColType::Counter => typed(row, index)?.map(Value::Counter),
        ColType::Time => typed(row, index)?.map(Value::Time),
        ColType::Date => typed(row, index)?.map(|value: i32| Value::Date(value ^ EPOCH_DAY)),
        ColType::Smallint => typed(row, index)?.map(Value::Smallint),
        ColType::Tinyint => typed(row, index)?.map(Value::Tinyint),
        ColType::Float => typed(row, index)?.map(Value::Float),
        ColType::Inet => typed(row, index)?.map(Value::Inet),
        ColType::Timeuuid => typed(row, index)?.map(|value: Uuid| Value::Timeuuid(*value.as_bytes())),
        ColType::Varint => typed(row, index)?.map(number).transpose()?.map(Value::Varint),
        ColType::Decimal => typed(row, index)?.map(decimal).transpose()?,
        other => return Err(codec(format_args!("a column has the type {other:?}, which scenarios do not use"))),
    };
    rows.push(value.unwrap_or(Value::Null));
    Ok(())
}

fn decimal(Decimal { unscaled, scale }: Decimal) -> Result<Value<'static>, DriverError> {
    Ok(Value::Decimal { unscaled: number(unscaled)?, scale })
}

fn number(value: BigInt) -> Result<i64, DriverError> {
    i64::try_from(value).map_err(|_| codec("a number came that 64 bits do not hold, as those of scenarios do"))
}
