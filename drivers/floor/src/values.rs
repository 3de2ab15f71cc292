//! Values in and cells out: native_protocol_v4.spec section 6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cqldyno_driver_api::{DriverError, Elements, Items, Nested, Rows, Value, varint};

use crate::errors::{codec, malformed};

/// The type of a marker or a column, by its option id (native_protocol_v4.spec section 4.2.5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Bigint,
    Blob,
    Boolean,
    Double,
    Int,
    Text,
    Timestamp,
    Uuid,
    Tinyint,
    Smallint,
    Float,
    Date,
    Time,
    Inet,
    Timeuuid,
    Varint,
    Decimal,
    Duration,
    Counter,
    List(Box<ColumnType>),
    Set(Box<ColumnType>),
    Map(Box<(ColumnType, ColumnType)>),
    Tuple(Box<[ColumnType]>),
    Udt(Box<[ColumnType]>),
    /// `vector<float, n>`
    Vector,
    /// A type that scenarios do not use, with its option id.
    Other(u16),
}

impl ColumnType {
    /// The type of a value; a null is of any.
    pub(crate) fn of(value: &Value<'_>) -> ColumnType {
        let of = |items: Items<'_>| Box::new(ColumnType::of_first(items.iter().next().map(|item| item.value())));
        match *value {
            Value::Null => ColumnType::Other(0),
            Value::Boolean(_) => ColumnType::Boolean,
            Value::Int(_) => ColumnType::Int,
            Value::Bigint(_) => ColumnType::Bigint,
            Value::Double(_) => ColumnType::Double,
            Value::Timestamp(_) => ColumnType::Timestamp,
            Value::Uuid(_) => ColumnType::Uuid,
            Value::Text(_) => ColumnType::Text,
            Value::Blob(_) => ColumnType::Blob,
            Value::Tinyint(_) => ColumnType::Tinyint,
            Value::Smallint(_) => ColumnType::Smallint,
            Value::Float(_) => ColumnType::Float,
            Value::Date(_) => ColumnType::Date,
            Value::Time(_) => ColumnType::Time,
            Value::Inet(_) => ColumnType::Inet,
            Value::Timeuuid(_) => ColumnType::Timeuuid,
            Value::Varint(_) => ColumnType::Varint,
            Value::Decimal { .. } => ColumnType::Decimal,
            Value::Duration { .. } => ColumnType::Duration,
            Value::Counter(_) => ColumnType::Counter,
            Value::List(items) => ColumnType::List(of(items)),
            Value::Set(items) => ColumnType::Set(of(items)),
            Value::Map(items) => {
                let (key, value) = items.pairs().next().map(|(key, value)| (key.value(), value.value())).unzip();
                ColumnType::Map(Box::new((ColumnType::of_first(key), ColumnType::of_first(value))))
            }
            Value::Tuple(items) => ColumnType::Tuple(ColumnType::of_each(items)),
            Value::Udt(items) => ColumnType::Udt(ColumnType::of_each(items)),
            Value::Vector(_) => ColumnType::Vector,
        }
    }

    fn of_first(value: Option<Value<'_>>) -> ColumnType {
        value.map_or(ColumnType::Other(0), |value| ColumnType::of(&value))
    }

    fn of_each(items: Items<'_>) -> Box<[ColumnType]> {
        items.iter().map(|item| ColumnType::of(&item.value())).collect()
    }

    pub(crate) fn from_option_id(id: u16) -> ColumnType {
        match id {
            0x0001 | 0x000D => ColumnType::Text,
            0x0002 => ColumnType::Bigint,
            0x0003 => ColumnType::Blob,
            0x0004 => ColumnType::Boolean,
            0x0005 => ColumnType::Counter,
            0x0006 => ColumnType::Decimal,
            0x0007 => ColumnType::Double,
            0x0008 => ColumnType::Float,
            0x0009 => ColumnType::Int,
            0x000B => ColumnType::Timestamp,
            0x000C => ColumnType::Uuid,
            0x000E => ColumnType::Varint,
            0x000F => ColumnType::Timeuuid,
            0x0010 => ColumnType::Inet,
            0x0011 => ColumnType::Date,
            0x0012 => ColumnType::Time,
            0x0013 => ColumnType::Smallint,
            0x0014 => ColumnType::Tinyint,
            other => ColumnType::Other(other),
        }
    }

    /// The type of a custom class: those that version 4 has no option id for.
    pub(crate) fn from_class(class: &str) -> ColumnType {
        let class = class.trim_start_matches("org.apache.cassandra.db.marshal.");
        match class.split_once('(') {
            None if class == "DurationType" => ColumnType::Duration,
            Some(("VectorType", of)) if of.contains("FloatType") => ColumnType::Vector,
            _ => ColumnType::Other(0),
        }
    }
}

/// Appends `value` as a `[value]` for a marker of type `wanted`.
#[inline]
pub(crate) fn encode(value: &Value<'_>, wanted: &ColumnType, out: &mut Vec<u8>) -> Result<(), DriverError> {
    match (*value, wanted) {
        (Value::Bigint(value), ColumnType::Bigint) | (Value::Timestamp(value), ColumnType::Timestamp) => {
            let mut bytes = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
            bytes[4..].copy_from_slice(&value.to_be_bytes());
            out.extend_from_slice(&bytes);
        }
        (Value::Null, _) => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        (Value::Boolean(value), ColumnType::Boolean) => out.extend_from_slice(&[0, 0, 0, 1, u8::from(value)]),
        (Value::Int(value), ColumnType::Int) => bytes(&value.to_be_bytes(), out)?,
        (Value::Double(value), ColumnType::Double) => bytes(&value.to_be_bytes(), out)?,
        (Value::Uuid(value), ColumnType::Uuid) => bytes(&value, out)?,
        (Value::Text(value), ColumnType::Text) => bytes(value.as_bytes(), out)?,
        (Value::Blob(value), ColumnType::Blob) => bytes(value, out)?,
        (value, wanted) => encode_other(value, wanted, out)?,
    }
    Ok(())
}

/// Days of a `date` on the wire count from 2^31 days before the Unix epoch.
const EPOCH_DAY: u32 = 1 << 31;

/// The same for a type that is not among the commonest.
#[inline(never)]
fn encode_other(value: Value<'_>, wanted: &ColumnType, out: &mut Vec<u8>) -> Result<(), DriverError> {
    match (value, wanted) {
        (Value::Tinyint(value), ColumnType::Tinyint) => bytes(&value.to_be_bytes(), out),
        (Value::Smallint(value), ColumnType::Smallint) => bytes(&value.to_be_bytes(), out),
        (Value::Float(value), ColumnType::Float) => bytes(&value.to_be_bytes(), out),
        (Value::Date(value), ColumnType::Date) => bytes(&(value.cast_unsigned() ^ EPOCH_DAY).to_be_bytes(), out),
        (Value::Time(value), ColumnType::Time) | (Value::Counter(value), ColumnType::Counter) => {
            bytes(&value.to_be_bytes(), out)
        }
        (Value::Timeuuid(value), ColumnType::Timeuuid) => bytes(&value, out),
        (Value::Inet(IpAddr::V4(value)), ColumnType::Inet) => bytes(&value.octets(), out),
        (Value::Inet(IpAddr::V6(value)), ColumnType::Inet) => bytes(&value.octets(), out),
        (Value::Varint(value), ColumnType::Varint) => bytes(varint::shortest(&value.to_be_bytes()), out),
        (Value::Decimal { unscaled, scale }, ColumnType::Decimal) => within(out, |out| {
            out.extend_from_slice(&scale.to_be_bytes());
            out.extend_from_slice(varint::shortest(&unscaled.to_be_bytes()));
            Ok(())
        }),
        (Value::Duration { months, days, nanoseconds }, ColumnType::Duration) => within(out, |out| {
            [months.into(), days.into(), nanoseconds].iter().for_each(|part| vint(*part, out));
            Ok(())
        }),
        (Value::List(items), ColumnType::List(of)) | (Value::Set(items), ColumnType::Set(of)) => within(out, |out| {
            out.extend_from_slice(&count(items.count())?);
            items.iter().try_for_each(|item| encode(&item.value(), of, out))
        }),
        (Value::Map(items), ColumnType::Map(of)) => within(out, |out| {
            out.extend_from_slice(&count(items.count() / 2)?);
            items.pairs().try_for_each(|(key, value)| {
                encode(&key.value(), &of.0, out)?;
                encode(&value.value(), &of.1, out)
            })
        }),
        (Value::Tuple(items), ColumnType::Tuple(of)) | (Value::Udt(items), ColumnType::Udt(of)) => {
            within(out, |out| items.iter().zip(of).try_for_each(|(item, of)| encode(&item.value(), of, out)))
        }
        (Value::Vector(items), ColumnType::Vector) => within(out, |out| {
            items.iter().try_for_each(|item| match item.value() {
                Value::Float(value) => {
                    out.extend_from_slice(&value.to_be_bytes());
                    Ok(())
                }
                other => Err(codec(format_args!("a vector has an element of type {}", other.type_name()))),
            })
        }),
        (value, wanted) => {
            Err(codec(format_args!("a value of type {} was bound to a marker of type {wanted:?}", value.type_name())))
        }
    }
}

/// Appends a `[bytes]` that `write` fills.
fn within(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<(), DriverError>) -> Result<(), DriverError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out)?;
    let length = count(out.len() - start - 4)?;
    if let Some(room) = out.get_mut(start..start + 4) {
        room.copy_from_slice(&length);
    }
    Ok(())
}

fn count(count: usize) -> Result<[u8; 4], DriverError> {
    let count = i32::try_from(count).map_err(|_| codec("a value is longer than the 2 GiB that the protocol allows"))?;
    Ok(count.to_be_bytes())
}

/// A number in two's complement of at most eight bytes.
fn number(bytes: &[u8]) -> Result<i64, DriverError> {
    let other = || codec(format_args!("a number of {} bytes came, and scenarios use 1 to 8", bytes.len()));
    varint::number(bytes).ok_or_else(other)
}

/// Appends a `[vint]`: a signed number in zigzag form, with as many bytes after the first as that has leading ones
/// (native_protocol_v5.spec section 3).
fn vint(value: i64, out: &mut Vec<u8>) {
    let zigzag = ((value << 1) ^ (value >> 63)).cast_unsigned();
    let bits = u64::BITS - zigzag.leading_zeros();
    // Each byte more costs one bit of the first one.
    let more = if bits > 56 { 8 } else { bits.saturating_sub(1) / 7 };
    let bytes = zigzag.to_be_bytes();
    if more == 8 {
        out.push(0xff);
        out.extend_from_slice(&bytes);
    } else {
        let start = out.len();
        out.extend_from_slice(bytes.get(7 - more as usize..).unwrap_or_default());
        if let Some(first) = out.get_mut(start) {
            *first |= !(0xff_u8 >> more);
        }
    }
}

/// Reads a `[vint]`.
fn read_vint(bytes: &mut &[u8]) -> Result<i64, DriverError> {
    let ends = || malformed("it ends within a duration");
    let (first, rest) = bytes.split_first().ok_or_else(ends)?;
    let more = first.leading_ones();
    let (behind, rest) = rest.split_at_checked(more as usize).ok_or_else(ends)?;
    *bytes = rest;
    let first = u64::from(*first & 0xff_u8.checked_shr(more).unwrap_or(0));
    let zigzag = behind.iter().fold(first, |all, byte| (all << 8) | u64::from(*byte));
    Ok((zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed()))
}

/// Appends a `[bytes]`, or what is written like one: a `[long string]` (native_protocol_v4.spec section 3).
pub(crate) fn bytes(value: &[u8], out: &mut Vec<u8>) -> Result<(), DriverError> {
    let length = i32::try_from(value.len())
        .map_err(|_| codec("a value or statement is longer than the 2 GiB that the protocol allows"))?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(value);
    Ok(())
}

/// Decodes one cell of type `column` into the current row.
#[inline]
pub(crate) fn decode(cell: Option<&[u8]>, column: &ColumnType, rows: &mut Rows) -> Result<(), DriverError> {
    let Some(cell) = cell else {
        rows.push_null();
        return Ok(());
    };
    match column {
        ColumnType::Bigint => rows.push_bigint(i64::from_be_bytes(exact(cell)?)),
        ColumnType::Timestamp => rows.push_timestamp(i64::from_be_bytes(exact(cell)?)),
        ColumnType::Int => rows.push_int(i32::from_be_bytes(exact(cell)?)),
        ColumnType::Double => rows.push_double(f64::from_be_bytes(exact(cell)?)),
        ColumnType::Uuid => rows.push_uuid(exact(cell)?),
        ColumnType::Boolean => {
            let [byte] = exact(cell)?;
            rows.push_boolean(byte != 0);
        }
        ColumnType::Text => rows.push_text(text(cell)?),
        ColumnType::Blob => rows.push_blob(cell),
        other => decode_other(cell, other, rows)?,
    }
    Ok(())
}

/// The same for a type that is not among the commonest.
#[inline(never)]
fn decode_other(cell: &[u8], column: &ColumnType, rows: &mut Rows) -> Result<(), DriverError> {
    match nested(column) {
        Some(kind) => rows.push_nested(kind, |out| elements(cell, column, out)),
        None => {
            rows.push(scalar(cell, column)?);
            Ok(())
        }
    }
}

fn nested(column: &ColumnType) -> Option<Nested> {
    Some(match column {
        ColumnType::List(_) => Nested::List,
        ColumnType::Set(_) => Nested::Set,
        ColumnType::Map(_) => Nested::Map,
        ColumnType::Tuple(_) => Nested::Tuple,
        ColumnType::Udt(_) => Nested::Udt,
        ColumnType::Vector => Nested::Vector,
        _ => return None,
    })
}

/// A value without elements.
fn scalar<'a>(cell: &'a [u8], column: &ColumnType) -> Result<Value<'a>, DriverError> {
    Ok(match column {
        ColumnType::Bigint => Value::Bigint(i64::from_be_bytes(exact(cell)?)),
        ColumnType::Timestamp => Value::Timestamp(i64::from_be_bytes(exact(cell)?)),
        ColumnType::Int => Value::Int(i32::from_be_bytes(exact(cell)?)),
        ColumnType::Double => Value::Double(f64::from_be_bytes(exact(cell)?)),
        ColumnType::Uuid => Value::Uuid(exact(cell)?),
        ColumnType::Boolean => Value::Boolean(exact(cell)? != [0]),
        ColumnType::Text => Value::Text(text(cell)?),
        ColumnType::Blob => Value::Blob(cell),
        ColumnType::Tinyint => Value::Tinyint(i8::from_be_bytes(exact(cell)?)),
        ColumnType::Smallint => Value::Smallint(i16::from_be_bytes(exact(cell)?)),
        ColumnType::Float => Value::Float(f32::from_be_bytes(exact(cell)?)),
        ColumnType::Date => Value::Date((u32::from_be_bytes(exact(cell)?) ^ EPOCH_DAY).cast_signed()),
        ColumnType::Time => Value::Time(i64::from_be_bytes(exact(cell)?)),
        ColumnType::Counter => Value::Counter(i64::from_be_bytes(exact(cell)?)),
        ColumnType::Timeuuid => Value::Timeuuid(exact(cell)?),
        ColumnType::Varint => Value::Varint(number(cell)?),
        ColumnType::Inet if cell.len() == 4 => Value::Inet(Ipv4Addr::from(exact::<4>(cell)?).into()),
        ColumnType::Inet => Value::Inet(Ipv6Addr::from(exact::<16>(cell)?).into()),
        ColumnType::Decimal => {
            let (scale, unscaled) = cell.split_at_checked(4).ok_or_else(|| malformed("it ends within a decimal"))?;
            Value::Decimal { unscaled: number(unscaled)?, scale: i32::from_be_bytes(exact(scale)?) }
        }
        ColumnType::Duration => {
            let mut rest = cell;
            let mut part = || {
                let part = read_vint(&mut rest)?;
                i32::try_from(part).map_err(|_| malformed("a duration has more months or days than there are"))
            };
            let (months, days) = (part()?, part()?);
            Value::Duration { months, days, nanoseconds: read_vint(&mut rest)? }
        }
        ColumnType::Other(id) => {
            return Err(codec(format_args!(
                "a column has the type with option id {id:#06x}, which scenarios do not use"
            )));
        }
        nested => {
            return Err(malformed(format_args!("a value of type {nested:?} came where one without elements was due")));
        }
    })
}

/// Decodes the elements of a value.
fn elements(cell: &[u8], column: &ColumnType, out: &mut Elements<'_>) -> Result<(), DriverError> {
    let mut rest = cell;
    match column {
        ColumnType::List(of) | ColumnType::Set(of) => {
            for _ in 0..length(&mut rest)? {
                element(next(&mut rest)?, of, out)?;
            }
        }
        ColumnType::Map(of) => {
            for _ in 0..length(&mut rest)? {
                element(next(&mut rest)?, &of.0, out)?;
                element(next(&mut rest)?, &of.1, out)?;
            }
        }
        ColumnType::Tuple(fields) | ColumnType::Udt(fields) => {
            for of in fields {
                // Fields that were added to the type later are not there.
                element(if rest.is_empty() { None } else { next(&mut rest)? }, of, out)?;
            }
        }
        ColumnType::Vector => {
            let (floats, behind) = rest.as_chunks::<4>();
            if !behind.is_empty() {
                return Err(malformed("it ends within a vector"));
            }
            floats.iter().for_each(|float| out.push(Value::Float(f32::from_be_bytes(*float))));
        }
        other => return Err(malformed(format_args!("a value of type {other:?} has no elements"))),
    }
    Ok(())
}

fn element(cell: Option<&[u8]>, column: &ColumnType, out: &mut Elements<'_>) -> Result<(), DriverError> {
    match (cell, nested(column)) {
        (None, _) => out.push(Value::Null),
        (Some(cell), None) => out.push(scalar(cell, column)?),
        (Some(cell), Some(kind)) => return out.nested(kind, |out| elements(cell, column, out)),
    }
    Ok(())
}

/// An `[int]` that counts elements or bytes; negative for a null.
fn length(rest: &mut &[u8]) -> Result<i32, DriverError> {
    let (length, behind) = rest.split_first_chunk().ok_or_else(|| malformed("it ends within a number"))?;
    *rest = behind;
    Ok(i32::from_be_bytes(*length))
}

/// The `[bytes]` of the next element.
fn next<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, DriverError> {
    let Ok(length) = usize::try_from(length(rest)?) else { return Ok(None) };
    let (element, behind) =
        rest.split_at_checked(length).ok_or_else(|| malformed("it ends within the element of a value"))?;
    *rest = behind;
    Ok(Some(element))
}

fn text(cell: &[u8]) -> Result<&str, DriverError> {
    std::str::from_utf8(cell).map_err(|error| codec(format_args!("a text is not UTF-8: {error}")))
}

#[inline]
fn exact<const N: usize>(cell: &[u8]) -> Result<[u8; N], DriverError> {
    cell.try_into().map_err(|_| malformed(format_args!("a value of {} bytes came where {N} were due", cell.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vint_of_any_length_comes_back() {
        for shift in 0..63 {
            for value in [1i64 << shift, -(1 << shift), (1 << shift) - 1, !(1i64 << shift), i64::MIN, 0, -1] {
                let mut out = Vec::new();
                vint(value, &mut out);
                let mut rest = &out[..];
                assert_eq!((read_vint(&mut rest).ok(), rest.len()), (Some(value), 0), "{out:?}");
            }
        }
        // 1mo2d3ns as Cassandra writes it.
        let mut out = Vec::new();
        [1, 2, 3].iter().for_each(|part| vint(*part, &mut out));
        assert_eq!(out, [2, 4, 6]);
    }

    #[test]
    fn an_element_that_is_cut_off_is_an_error_and_no_panic() {
        let of = ColumnType::Map(Box::new((ColumnType::Text, ColumnType::List(Box::new(ColumnType::Varint)))));
        let mut items = Vec::new();
        let fill = |out: &mut Elements<'_>| -> Result<(), DriverError> {
            out.push(Value::Text("key"));
            out.nested(Nested::List, |out| {
                out.push(Value::Varint(-70_000));
                Ok(())
            })
        };
        Elements::new(&mut items).all(Nested::Map, fill).unwrap();
        let value = Value::Map(Items::new(&items));
        assert_eq!(ColumnType::of(&value), of);
        let mut wire = Vec::new();
        encode(&value, &of, &mut wire).unwrap();
        let cell = &wire[4..];
        let mut rows = Rows::new();
        decode(Some(cell), &of, &mut rows).unwrap();
        rows.end_row();
        assert!(rows.get(0).unwrap().holds(0, value));
        assert!((0..cell.len()).all(|length| decode(Some(&cell[..length]), &of, &mut Rows::new()).is_err()));
    }
}
