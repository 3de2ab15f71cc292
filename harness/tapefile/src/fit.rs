//! One value of a file as bytes of a CQL type. A value fits if nothing of it is lost.

use std::net::IpAddr;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use cqldyno_cluster::types::CqlType;
use cqldyno_driver_api::wire::{self, ColumnType};
use cqldyno_driver_api::{DAY, Value};
use cqldyno_protocol::tape::NULL;
use cqldyno_scenarios::Kind;
use serde_json::{Value as Json, json};
use uuid::Uuid;

/// A value that does not fit: how it is shown, with its type in the file.
#[derive(Debug)]
pub(crate) struct Misfit(pub(crate) String);

/// The longest text of a value in a message.
const SHOWN: usize = 40;

const MILLISECOND_NS: i64 = 1_000_000;
const DAY_MS: i64 = 86_400_000;

/// Appends the value in this row as [bytes], or a null. Of an empty collection that is not frozen a server keeps null.
pub(crate) fn put(array: &dyn Array, row: usize, ty: &CqlType, out: &mut Vec<u8>) -> Result<(), Misfit> {
    if is_null(array, row) {
        out.extend_from_slice(&NULL.to_be_bytes());
        return Ok(());
    }
    let start = out.len();
    if put_scalar(array, row, ty, out) {
        return Ok(());
    }
    let misfit = || Misfit(shown(array, row));
    out.extend_from_slice(&[0; 4]);
    let elements = put_elements(array, row, ty, out).ok_or_else(misfit)??;
    if elements == 0 && ty.is_multi_cell() && ty.is_collection() {
        out.truncate(start);
        out.extend_from_slice(&NULL.to_be_bytes());
        return Ok(());
    }
    let length = i32::try_from(out.len() - start - 4).map_err(|_| misfit())?;
    if let Some(room) = out.get_mut(start..start + 4) {
        room.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

pub(crate) fn is_null(array: &dyn Array, row: usize) -> bool {
    array.is_null(row) || *array.data_type() == DataType::Null
}

/// Appends a value without elements; `false` if it does not fit, or if the type has elements.
fn put_scalar(array: &dyn Array, row: usize, ty: &CqlType, out: &mut Vec<u8>) -> bool {
    value(array, row, ty).is_some_and(|value| wire::encode(&value, &ColumnType::of(&value), out).is_ok())
}

/// Appends what is in a value, and returns how many elements that are; `None` if the value is no such one.
fn put_elements(array: &dyn Array, row: usize, ty: &CqlType, out: &mut Vec<u8>) -> Option<Result<usize, Misfit>> {
    let within = |array: &dyn Array, at: usize, ty: &CqlType, out: &mut Vec<u8>| match is_null(array, at) {
        true => Err(Misfit(format!("a null within a column of {}", array.data_type()))),
        false => put(array, at, ty, out),
    };
    match ty.unfrozen() {
        CqlType::List(of) => {
            let items = items(array, row)?;
            out.extend_from_slice(&u32::try_from(items.len()).ok()?.to_be_bytes());
            Some((0..items.len()).try_for_each(|at| within(&items, at, of, out)).map(|()| items.len()))
        }
        CqlType::Set(of) => {
            let items = items(array, row)?;
            out.extend_from_slice(&u32::try_from(items.len()).ok()?.to_be_bytes());
            Some(distinct(items.len(), out, |at, out| within(&items, at, of, out)))
        }
        CqlType::Map(entry) => {
            let entries = array.as_map_opt()?.value(row);
            let [keys, values] = [entries.column(0), entries.column(1)];
            out.extend_from_slice(&u32::try_from(entries.len()).ok()?.to_be_bytes());
            let mut with_values = Vec::new();
            let all = distinct(entries.len(), &mut with_values, |at, out| within(keys, at, &entry[0], out));
            let put_both = |at| {
                within(keys, at, &entry[0], out)?;
                within(values, at, &entry[1], out)
            };
            Some(all.and_then(|count| (0..entries.len()).try_for_each(put_both).map(|()| count)))
        }
        CqlType::Tuple(types) => {
            let fields = array.as_struct_opt().filter(|fields| fields.num_columns() == types.len())?;
            let mut each = fields.columns().iter().zip(types);
            Some(each.try_for_each(|(field, ty)| put(field, row, ty, out)).map(|()| types.len()))
        }
        CqlType::User(user) => {
            let fields = array.as_struct_opt().filter(|fields| fields.num_columns() == user.names.len())?;
            let each = user.names.iter().zip(&user.types);
            let each: Option<Vec<_>> = each.map(|(name, ty)| Some((fields.column_by_name(name)?, ty))).collect();
            let mut each = each?.into_iter();
            Some(each.try_for_each(|(field, ty)| put(field, row, ty, out)).map(|()| user.types.len()))
        }
        CqlType::Vector(dimension) => {
            let items = items(array, row).filter(|items| items.len() == usize::from(*dimension))?;
            let floats: Option<Vec<f32>> = (0..items.len()).map(|at| single(float(&items, at)?)).collect();
            floats?.into_iter().for_each(|float| out.extend_from_slice(&float.to_be_bytes()));
            Some(Ok(items.len()))
        }
        _ => None,
    }
}

/// Appends so many elements of which no two are equal: a server would keep one.
fn distinct(
    count: usize,
    out: &mut Vec<u8>,
    mut put: impl FnMut(usize, &mut Vec<u8>) -> Result<(), Misfit>,
) -> Result<usize, Misfit> {
    let mut all = Vec::with_capacity(count);
    for at in 0..count {
        let start = out.len();
        put(at, out)?;
        all.push(out.get(start..).unwrap_or_default().to_vec());
    }
    all.sort_unstable();
    all.dedup();
    if all.len() == count { Ok(count) } else { Err(Misfit("two equal elements of a set or keys of a map".to_owned())) }
}

/// The elements of a list of any kind.
fn items(array: &dyn Array, row: usize) -> Option<ArrayRef> {
    let list = || array.as_list_opt::<i32>().map(|list| list.value(row));
    let large = || array.as_list_opt::<i64>().map(|list| list.value(row));
    list().or_else(large).or_else(|| array.as_fixed_size_list_opt().map(|list| list.value(row)))
}

/// A number of any width, exactly.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Float(f64),
    Decimal(i128, i32),
}

fn number(array: &dyn Array, row: usize) -> Option<Number> {
    macro_rules! of {
        ($($ty:ident => $make:expr),*) => {
            $(if let Some(found) = array.as_primitive_opt::<$ty>() {
                #[allow(clippy::redundant_closure_call, reason = "each type has its own")]
                return Some(($make)(found.value(row)));
            })*
        };
    }
    of!(
        Int64Type => |n| Number::Whole(i128::from(n)), Int32Type => |n| Number::Whole(i128::from(n)),
        Int16Type => |n| Number::Whole(i128::from(n)), Int8Type => |n| Number::Whole(i128::from(n)),
        UInt64Type => |n| Number::Whole(i128::from(n)), UInt32Type => |n| Number::Whole(i128::from(n)),
        UInt16Type => |n| Number::Whole(i128::from(n)), UInt8Type => |n| Number::Whole(i128::from(n)),
        Float64Type => Number::Float, Float32Type => |n| Number::Float(f64::from(n)),
        Float16Type => |n: <Float16Type as arrow_array::ArrowPrimitiveType>::Native| Number::Float(n.to_f64())
    );
    let (DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale)) =
        array.data_type()
    else {
        return None;
    };
    let scale = i32::from(*scale);
    of!(
        Decimal128Type => |n| Number::Decimal(n, scale),
        Decimal64Type => |n| Number::Decimal(i128::from(n), scale),
        Decimal32Type => |n| Number::Decimal(i128::from(n), scale)
    );
    None
}

fn whole<T: TryFrom<i128>>(array: &dyn Array, row: usize) -> Option<T> {
    let found = match number(array, row)? {
        Number::Whole(number) => number,
        // As pandas writes whole numbers of a column with nulls.
        Number::Float(number) if number.fract() == 0.0 && number.abs() < 9.0e15 => number as i128,
        Number::Decimal(number, scale @ 0..) => {
            let unit = 10i128.checked_pow(scale.unsigned_abs())?;
            (number % unit == 0).then_some(number / unit)?
        }
        _ => return None,
    };
    T::try_from(found).ok()
}

fn float(array: &dyn Array, row: usize) -> Option<f64> {
    match number(array, row)? {
        // No worker compares these.
        Number::Float(number) => (!number.is_nan()).then_some(number),
        Number::Whole(number) => Some(number as f64).filter(|float| *float as i128 == number),
        Number::Decimal(..) => None,
    }
}

fn single(float: f64) -> Option<f32> {
    let single = float as f32;
    (f64::from(single) == float).then_some(single)
}

fn text(array: &dyn Array, row: usize) -> Option<&str> {
    let small = || array.as_string_opt::<i32>().map(|texts| texts.value(row));
    let large = || array.as_string_opt::<i64>().map(|texts| texts.value(row));
    small().or_else(large).or_else(|| array.as_string_view_opt().map(|texts| texts.value(row)))
}

fn bytes(array: &dyn Array, row: usize) -> Option<&[u8]> {
    let small = || array.as_binary_opt::<i32>().map(|all| all.value(row));
    let large = || array.as_binary_opt::<i64>().map(|all| all.value(row));
    let view = || array.as_binary_view_opt().map(|all| all.value(row));
    small().or_else(large).or_else(view).or_else(|| array.as_fixed_size_binary_opt().map(|all| all.value(row)))
}

fn uuid(array: &dyn Array, row: usize) -> Option<[u8; 16]> {
    let written = || text(array, row)?.parse::<Uuid>().ok().map(Uuid::into_bytes);
    bytes(array, row).and_then(|bytes| bytes.try_into().ok()).or_else(written)
}

fn inet(array: &dyn Array, row: usize) -> Option<IpAddr> {
    let (four, sixteen) =
        (|| <[u8; 4]>::try_from(bytes(array, row)?).ok(), || <[u8; 16]>::try_from(bytes(array, row)?).ok());
    let raw = four().map(IpAddr::from).or_else(|| sixteen().map(IpAddr::from));
    raw.or_else(|| text(array, row)?.parse().ok())
}

/// Milliseconds since 1970.
fn timestamp(array: &dyn Array, row: usize) -> Option<i64> {
    let exactly = |number: i64, unit: i64| (number % unit == 0).then_some(number / unit);
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            array.as_primitive_opt::<TimestampSecondType>()?.value(row).checked_mul(1_000)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Some(array.as_primitive_opt::<TimestampMillisecondType>()?.value(row))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            exactly(array.as_primitive_opt::<TimestampMicrosecondType>()?.value(row), 1_000)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            exactly(array.as_primitive_opt::<TimestampNanosecondType>()?.value(row), MILLISECOND_NS)
        }
        _ => Some(array.as_primitive_opt::<Date64Type>()?.value(row)),
    }
}

/// Days since 1970.
fn date(array: &dyn Array, row: usize) -> Option<i32> {
    let day = || array.as_primitive_opt::<Date32Type>().map(|days| days.value(row));
    let ms = || array.as_primitive_opt::<Date64Type>().map(|ms| ms.value(row)).filter(|ms| ms % DAY_MS == 0);
    day().or_else(|| i32::try_from(ms()? / DAY_MS).ok())
}

/// Nanoseconds since midnight.
fn time(array: &dyn Array, row: usize) -> Option<i64> {
    let ns = match array.data_type() {
        DataType::Time64(TimeUnit::Nanosecond) => array.as_primitive_opt::<Time64NanosecondType>()?.value(row),
        DataType::Time64(_) => array.as_primitive_opt::<Time64MicrosecondType>()?.value(row).checked_mul(1_000)?,
        DataType::Time32(TimeUnit::Second) => {
            i64::from(array.as_primitive_opt::<Time32SecondType>()?.value(row)) * 1_000 * MILLISECOND_NS
        }
        _ => i64::from(array.as_primitive_opt::<Time32MillisecondType>()?.value(row)) * MILLISECOND_NS,
    };
    (0..DAY).contains(&ns).then_some(ns)
}

fn decimal(array: &dyn Array, row: usize) -> Option<Value<'static>> {
    let (unscaled, scale) = match number(array, row)? {
        Number::Decimal(unscaled, scale) => (unscaled, scale),
        Number::Whole(number) => (number, 0),
        Number::Float(_) => return None,
    };
    Some(Value::Decimal { unscaled: unscaled.try_into().ok()?, scale })
}

/// The value in this row as one of the type; `None` if it does not fit.
fn value<'a>(array: &'a dyn Array, row: usize, ty: &CqlType) -> Option<Value<'a>> {
    Some(match ty {
        CqlType::Ascii => Value::Text(text(array, row).filter(|text| text.is_ascii())?),
        CqlType::Text => Value::Text(text(array, row)?),
        CqlType::Blob => Value::Blob(bytes(array, row)?),
        CqlType::Bigint => Value::Bigint(whole(array, row)?),
        CqlType::Int => Value::Int(whole(array, row)?),
        CqlType::Smallint => Value::Smallint(whole(array, row)?),
        CqlType::Tinyint => Value::Tinyint(whole(array, row)?),
        CqlType::Varint => Value::Varint(whole(array, row)?),
        CqlType::Counter => Value::Counter(whole(array, row)?),
        CqlType::Double => Value::Double(float(array, row)?),
        CqlType::Float => Value::Float(single(float(array, row)?)?),
        CqlType::Decimal => decimal(array, row)?,
        CqlType::Boolean => Value::Boolean(array.as_boolean_opt()?.value(row)),
        CqlType::Uuid => Value::Uuid(uuid(array, row)?),
        CqlType::Timeuuid => Value::Timeuuid(uuid(array, row)?),
        CqlType::Inet => Value::Inet(inet(array, row)?),
        CqlType::Timestamp => Value::Timestamp(timestamp(array, row)?),
        CqlType::Date => Value::Date(date(array, row)?),
        CqlType::Time => Value::Time(time(array, row)?),
        CqlType::Duration => {
            let found = array.as_primitive_opt::<IntervalMonthDayNanoType>()?.value(row);
            Value::Duration { months: found.months, days: found.days, nanoseconds: found.nanoseconds }
        }
        _ => return None,
    })
}

/// What workers are told of the type, with the most bytes of a text or blob.
pub(crate) fn kind(ty: &CqlType, longest: usize) -> Option<Kind> {
    serde_json::from_value(described(ty, longest)).ok()
}

fn described(ty: &CqlType, longest: usize) -> Json {
    let of = |types: &[CqlType]| types.iter().map(|ty| described(ty, 1)).collect::<Json>();
    match ty.unfrozen() {
        CqlType::Ascii | CqlType::Text | CqlType::Blob => {
            json!({ "type": ty.unfrozen().to_string(), "length": longest })
        }
        CqlType::List(element) => json!({ "type": "list", "of": described(element, 1), "length": 1 }),
        CqlType::Set(element) => json!({ "type": "set", "of": described(element, 1), "length": 1 }),
        CqlType::Map(entry) => {
            json!({ "type": "map", "keys": described(&entry[0], 1), "of": described(&entry[1], 1), "length": 1 })
        }
        CqlType::Tuple(types) => json!({ "type": "tuple", "of": of(types) }),
        CqlType::User(user) => json!({ "type": "udt", "of": of(&user.types) }),
        CqlType::Vector(dimension) => json!({ "type": "vector", "length": dimension }),
        native => json!({ "type": native.to_string() }),
    }
}

/// A value as messages show it, with its type in the file.
fn shown(array: &dyn Array, row: usize) -> String {
    let of = format!("of the type {}", array.data_type());
    let number = number(array, row).map(|number| match number {
        Number::Whole(number) => number.to_string(),
        Number::Float(number) => number.to_string(),
        Number::Decimal(unscaled, scale) => format!("{unscaled}e{}", -scale),
    });
    let text = || text(array, row).map(|text| format!("{:?}", text.chars().take(SHOWN).collect::<String>()));
    match number.or_else(text) {
        Some(shown) => format!("{shown} {of}"),
        None => format!("a value {of}"),
    }
}
