//! Values of every type, and elements: in and out through the crate's typed API.

use bigdecimal::BigDecimal;
use cassandra_cpp::{
    CassCollection, Inet, LendingIterator, List, Map, PreparedStatement, Set, Statement, UserType, ValueType,
};
use cqldyno_driver_api::{DriverError, Elements, ErrorKind, Nested, Rows, Value, varint};
use uuid::Uuid;

use crate::errors;

/// The types that the crate has no call for, and `tuple`, which it binds but asks libcassandra to read as a list.
pub(crate) const LACKS: [&str; 3] = ["duration", "tuple", "vector"];

/// libcassandra counts the days of a date from 2^31 days before the Unix epoch.
const EPOCH_DAY: u32 = 1 << 31;

/// What takes a value.
enum Slot<'s> {
    Marker(&'s mut Statement, usize),
    List(&'s mut List),
    Set(&'s mut Set),
    Map(&'s mut Map),
    Udt(&'s mut UserType, usize),
}

/// Binds the value of a marker.
#[inline(never)]
pub(crate) fn bind(
    statement: &mut Statement,
    index: usize,
    value: Value<'_>,
    prepared: Option<&PreparedStatement>,
) -> Result<(), DriverError> {
    match (value, prepared) {
        (Value::Udt(items), Some(prepared)) => {
            let mut udt = prepared.parameter_data_type(index).new_user_type();
            for (field, item) in items.iter().enumerate() {
                put(Slot::Udt(&mut udt, field), item.value())?;
            }
            statement.bind_user_type(index, &udt).map(drop).map_err(errors::at_value)
        }
        (Value::Decimal { unscaled, scale }, _) => {
            let decimal = BigDecimal::new(unscaled.into(), scale.into());
            statement.bind_decimal(index, &decimal).map(drop).map_err(errors::at_value)
        }
        _ => put(Slot::Marker(statement, index), value),
    }
}

/// Calls the function of the slot's kind.
macro_rules! each {
    ($slot:expr, $bind:ident, $append:ident, $set:ident, $value:expr) => {
        match $slot {
            Slot::Marker(statement, index) => statement.$bind(index, $value).map(drop),
            Slot::List(list) => list.$append($value).map(drop),
            Slot::Set(set) => set.$append($value).map(drop),
            Slot::Map(map) => map.$append($value).map(drop),
            Slot::Udt(udt, index) => udt.$set(index, $value).map(drop),
        }
    };
}

/// A collection with these elements.
macro_rules! filled {
    ($kind:ident, $items:expr, $capacity:expr) => {{
        let mut all = $kind::with_capacity($capacity);
        $items.iter().try_for_each(|item| put(Slot::$kind(&mut all), item.value()))?;
        all
    }};
}

/// Puts a value of any type into a slot, as far as the crate has a call for that.
fn put(slot: Slot<'_>, value: Value<'_>) -> Result<(), DriverError> {
    let done = match value {
        Value::Null => match slot {
            Slot::Marker(statement, index) => statement.bind_null(index).map(drop),
            Slot::Udt(udt, index) => udt.set_null(index).map(drop),
            Slot::List(_) | Slot::Set(_) | Slot::Map(_) => return Err(no_call(value)),
        },
        Value::Boolean(value) => each!(slot, bind_bool, append_bool, set_bool, value),
        Value::Tinyint(value) => each!(slot, bind_int8, append_int8, set_int8, value),
        Value::Smallint(value) => each!(slot, bind_int16, append_int16, set_int16, value),
        Value::Int(value) => each!(slot, bind_int32, append_int32, set_int32, value),
        Value::Date(value) => {
            each!(slot, bind_uint32, append_uint32, set_uint32, value.cast_unsigned() ^ EPOCH_DAY)
        }
        Value::Bigint(value) | Value::Timestamp(value) | Value::Time(value) | Value::Counter(value) => {
            each!(slot, bind_int64, append_int64, set_int64, value)
        }
        Value::Float(value) => each!(slot, bind_float, append_float, set_float, value),
        Value::Double(value) => each!(slot, bind_double, append_double, set_double, value),
        Value::Blob(value) => each!(slot, bind_bytes, append_bytes, set_bytes, value.to_vec()),
        Value::Varint(value) => {
            let bytes = varint::shortest(&value.to_be_bytes()).to_vec();
            each!(slot, bind_bytes, append_bytes, set_bytes, bytes)
        }
        Value::Uuid(value) | Value::Timeuuid(value) => {
            each!(slot, bind_uuid, append_uuid, set_uuid, cassandra_cpp::Uuid::from(Uuid::from_bytes(value)))
        }
        Value::Text(value) => each!(slot, bind_string, append_string, set_stringl, value),
        Value::Inet(value) => each!(slot, bind_inet, append_inet, set_inet, Inet::from(&value)),
        Value::List(items) => each!(slot, bind_list, append_list, set_list, filled!(List, items, items.count())),
        Value::Set(items) => each!(slot, bind_set, append_set, set_set, filled!(Set, items, items.count())),
        Value::Map(items) => each!(slot, bind_map, append_map, set_map, filled!(Map, items, items.count() / 2)),
        Value::Decimal { .. } | Value::Duration { .. } | Value::Tuple(_) | Value::Udt(_) | Value::Vector(_) => {
            return Err(no_call(value));
        }
    };
    done.map_err(errors::at_value)
}

#[cold]
fn no_call(value: Value<'_>) -> DriverError {
    DriverError::new(
        ErrorKind::Codec,
        format_args!("cassandra-cpp has no call for a value of type {} here", value.type_name()),
    )
}

/// Appends a value of this type, or nothing if it is null or of another type.
#[inline(never)]
pub(crate) fn decode(kind: ValueType, value: &cassandra_cpp::Value<'_>, rows: &mut Rows) -> Result<(), DriverError> {
    match nested(kind) {
        // A null has no elements to walk through.
        Some(_) if value.is_null() => Err(DriverError::new(ErrorKind::Codec, "a null has no elements")),
        Some(nested) => rows.push_nested(nested, |out| elements(kind, value, out)),
        None => {
            rows.push(scalar(kind, value)?);
            Ok(())
        }
    }
}

fn nested(kind: ValueType) -> Option<Nested> {
    Some(match kind {
        ValueType::LIST => Nested::List,
        ValueType::SET => Nested::Set,
        ValueType::MAP => Nested::Map,
        ValueType::UDT => Nested::Udt,
        _ => return None,
    })
}

fn scalar<'a>(kind: ValueType, value: &cassandra_cpp::Value<'a>) -> Result<Value<'a>, DriverError> {
    let found = match kind {
        ValueType::BIGINT => value.get_i64().map(Value::Bigint),
        ValueType::COUNTER => value.get_i64().map(Value::Counter),
        ValueType::TIMESTAMP => value.get_i64().map(Value::Timestamp),
        ValueType::TIME => value.get_i64().map(Value::Time),
        ValueType::INT => value.get_i32().map(Value::Int),
        ValueType::SMALL_INT => value.get_i16().map(Value::Smallint),
        ValueType::TINY_INT => value.get_i8().map(Value::Tinyint),
        ValueType::DATE => value.get_u32().map(|days| Value::Date((days ^ EPOCH_DAY).cast_signed())),
        ValueType::BOOLEAN => value.get_bool().map(Value::Boolean),
        ValueType::DOUBLE => value.get_f64().map(Value::Double),
        ValueType::FLOAT => value.get_f32().map(Value::Float),
        ValueType::UUID => value.get_uuid().map(|value| Value::Uuid(*Uuid::from(value).as_bytes())),
        ValueType::TIMEUUID => value.get_uuid().map(|value| Value::Timeuuid(*Uuid::from(value).as_bytes())),
        ValueType::TEXT | ValueType::VARCHAR | ValueType::ASCII => value.get_str().map(Value::Text),
        ValueType::BLOB => value.get_bytes().map(Value::Blob),
        ValueType::INET => value.get_inet().map(|value| Value::Inet((&value).into())),
        ValueType::VARINT => return number(value.get_bytes().map_err(errors::at_value)?).map(Value::Varint),
        ValueType::DECIMAL => {
            let (unscaled, scale) = value.get_decimal().map_err(errors::at_value)?.into_bigint_and_exponent();
            let unscaled = i64::try_from(unscaled).map_err(|_| too_large())?;
            return Ok(Value::Decimal { unscaled, scale: i32::try_from(scale).map_err(|_| too_large())? });
        }
        other => {
            return Err(DriverError::new(
                ErrorKind::Codec,
                format_args!("a value of type {other} was answered, which this adapter does not decode"),
            ));
        }
    };
    found.map_err(errors::at_value)
}

fn number(bytes: &[u8]) -> Result<i64, DriverError> {
    varint::number(bytes).ok_or_else(too_large)
}

#[cold]
fn too_large() -> DriverError {
    DriverError::new(ErrorKind::Codec, "a number came that 64 bits do not hold, as those of scenarios do")
}

/// Decodes the elements of a value.
fn elements(kind: ValueType, value: &cassandra_cpp::Value<'_>, out: &mut Elements<'_>) -> Result<(), DriverError> {
    match kind {
        ValueType::MAP => {
            let mut pairs = value.get_map().map_err(errors::at_value)?;
            while let Some((key, value)) = pairs.next() {
                element(&key, out)?;
                element(&value, out)?;
            }
        }
        ValueType::UDT => {
            let mut fields = value.get_user_type().map_err(errors::at_value)?;
            while let Some((_, field)) = fields.next() {
                element(&field, out)?;
            }
        }
        _ => {
            let mut items = value.get_set().map_err(errors::at_value)?;
            while let Some(item) = items.next() {
                element(&item, out)?;
            }
        }
    }
    Ok(())
}

fn element(value: &cassandra_cpp::Value<'_>, out: &mut Elements<'_>) -> Result<(), DriverError> {
    if value.is_null() {
        out.push(Value::Null);
        return Ok(());
    }
    let kind = value.get_type();
    match nested(kind) {
        Some(nested) => out.nested(nested, |out| elements(kind, value, out)),
        None => {
            out.push(scalar(kind, value)?);
            Ok(())
        }
    }
}
