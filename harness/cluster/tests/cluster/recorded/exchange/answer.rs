//! An answer as a tree of its fields (section 4.2).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};
use uuid::Uuid;

use cqldyno_cluster::codec::frame::{FLAG_WARNING, HEADER_LEN, Opcode};
use cqldyno_cluster::codec::response::{
    KIND_PREPARED, KIND_ROWS, KIND_SCHEMA_CHANGE, KIND_SET_KEYSPACE, KIND_VOID, ROWS_GLOBAL_TABLES_SPEC,
    ROWS_HAS_MORE_PAGES, ROWS_NO_METADATA,
};
use cqldyno_cluster::error::Hex;
use cqldyno_cluster::types::{CqlType, Malformed, Read, Reader, elements};

/// The fields of an answer; `frame` is its opcode, version byte and stream. An unreadable body is shown as bytes, with the reason.
pub fn decode(frame: &[u8]) -> Value {
    let Some((&[version, flags, s0, s1, opcode, ..], body)) = frame.split_first_chunk::<HEADER_LEN>() else {
        return json!({ "no_frame": hex(frame) });
    };
    let mut reader = Reader::new(body);
    let known = Opcode::from_byte(opcode);
    let fields = read_warnings(&mut reader, flags).and_then(|warnings| {
        let fields = known.map_or(Ok(Value::Null), |opcode| read_body(&mut reader, opcode, version & 0x7F))?;
        let left = reader.rest;
        Ok((warnings, fields, if left.is_empty() { Value::Null } else { hex(left).into() }))
    });
    let name = known.map_or_else(|| format!("{opcode:#04x}"), |opcode| opcode.name().to_owned());
    let stream = i16::from_be_bytes([s0, s1]);
    let mut tree = json!({ "frame": format!("{name} {version:#04x} {stream}") });
    let mut set = |key: &str, value: Value| {
        if !value.is_null()
            && let Value::Object(tree) = &mut tree
        {
            tree.insert(key.to_owned(), value);
        }
    };
    set("flags", if flags == 0 { Value::Null } else { flags.into() });
    match fields {
        Ok((warnings, fields, left)) => {
            set("warnings", warnings);
            set("body", fields);
            set("left", left);
        }
        Err(why) => {
            set("unreadable", why.to_string().into());
            set("bytes", hex(body).into());
        }
    }
    tree
}

fn read_warnings(reader: &mut Reader<'_>, flags: u8) -> Read<Value> {
    if flags & FLAG_WARNING == 0 { Ok(Value::Null) } else { Ok(json!(reader.string_list()?)) }
}

fn read_body(reader: &mut Reader<'_>, opcode: Opcode, version: u8) -> Read<Value> {
    Ok(match opcode {
        Opcode::Error => read_error(reader)?,
        Opcode::Authenticate => json!({ "class": reader.string()? }),
        Opcode::AuthSuccess | Opcode::AuthChallenge => json!({ "token": reader.bytes()?.map(hex) }),
        Opcode::Supported => {
            let options = (0..reader.short()?).map(|_| {
                let name = reader.string()?.to_owned();
                let mut values = reader.string_list()?;
                values.sort_unstable();
                Ok((name, json!(values)))
            });
            Value::Object(options.collect::<Read<Map<_, _>>>()?)
        }
        Opcode::Event => {
            let kind = reader.string()?.to_owned();
            match kind.as_str() {
                "SCHEMA_CHANGE" => json!({ "event": kind, "change": read_schema_change(reader)? }),
                _ => {
                    json!({ "event": kind, "change": [reader.string()?], "bytes": hex(reader.take(reader.rest.len())?) })
                }
            }
        }
        Opcode::Result => match reader.int()? {
            KIND_VOID => json!({ "kind": "void" }),
            KIND_SET_KEYSPACE => json!({ "kind": "set_keyspace", "keyspace": reader.string()? }),
            KIND_SCHEMA_CHANGE => json!({ "kind": "schema_change", "change": read_schema_change(reader)? }),
            KIND_PREPARED => read_prepared(reader, version)?,
            KIND_ROWS => read_rows(reader)?,
            kind => return Err(Malformed(format!("Unknown kind {kind} of RESULT").into())),
        },
        _ => Value::Null,
    })
}

/// Section 9.
fn read_error(reader: &mut Reader<'_>) -> Read<Value> {
    let code = reader.int()?;
    let message = reader.string()?;
    let mut error = json!({ "code": format!("{code:#06x}"), "message": message });
    match code {
        0x2500 => error["id"] = hex(reader.short_bytes()?).into(),
        0x2400 => {
            error["keyspace"] = reader.string()?.into();
            error["table"] = reader.string()?.into();
        }
        _ => {}
    }
    Ok(error)
}

fn read_schema_change(reader: &mut Reader<'_>) -> Read<Value> {
    let (change, target) = (reader.string()?, reader.string()?);
    let mut parts = vec![change, target, reader.string()?];
    if target != "KEYSPACE" {
        parts.push(reader.string()?);
    }
    Ok(json!(parts))
}

fn read_prepared(reader: &mut Reader<'_>, version: u8) -> Read<Value> {
    let id = hex(reader.short_bytes()?);
    let flags = reader.int()?;
    let count = reader.int()?;
    let mut key = Value::Null;
    if version >= 4 {
        key = json!((0..reader.int()?).map(|_| reader.short()).collect::<Read<Vec<_>>>()?);
    }
    let mut markers = json!({ "flags": flags, "count": count });
    read_columns(reader, flags, count, &mut markers)?;
    let (rows, _) = read_metadata(reader)?;
    Ok(json!({ "kind": "prepared", "id": id, "partition_key": key, "markers": markers, "result": rows }))
}

type Columns = Vec<(String, CqlType)>;

/// Adds columns to their metadata, and returns their names and types.
fn read_columns(reader: &mut Reader<'_>, flags: i32, count: i32, metadata: &mut Value) -> Read<Columns> {
    let one_table = flags & ROWS_GLOBAL_TABLES_SPEC != 0;
    if one_table && count > 0 {
        metadata["table"] = format!("{}.{}", reader.string()?, reader.string()?).into();
    }
    let (mut shown, mut columns) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let table = if one_table { String::new() } else { format!(" of {}.{}", reader.string()?, reader.string()?) };
        let name = reader.string()?.to_owned();
        let ty = CqlType::read_option(reader)?;
        shown.push(format!("{name} {ty}{table}"));
        columns.push((name, ty));
    }
    metadata["columns"] = json!(shown);
    Ok(columns)
}

fn read_metadata(reader: &mut Reader<'_>) -> Read<(Value, Option<Columns>)> {
    let flags = reader.int()?;
    let count = reader.int()?;
    let mut metadata = json!({ "flags": flags, "count": count });
    if flags & ROWS_HAS_MORE_PAGES != 0 {
        metadata["paging_state"] = json!(reader.bytes()?.map(hex));
    }
    if flags & ROWS_NO_METADATA != 0 {
        return Ok((metadata, None));
    }
    let columns = read_columns(reader, flags, count, &mut metadata)?;
    Ok((metadata, Some(columns)))
}

fn read_rows(reader: &mut Reader<'_>) -> Read<Value> {
    let (metadata, columns) = read_metadata(reader)?;
    let count = metadata["count"].as_u64().unwrap_or(0);
    let rows = (0..reader.int()?).map(|_| {
        (0..count as usize)
            .map(|at| {
                let value = reader.bytes()?;
                let ty = columns.as_ref().and_then(|columns| columns.get(at)).map(|(_, ty)| ty);
                Ok(value.map_or(Value::Null, |value| show(ty, value)))
            })
            .collect::<Read<Value>>()
    });
    let rows = rows.collect::<Read<Vec<_>>>()?;
    Ok(json!({ "kind": "rows", "metadata": metadata, "rows": rows }))
}

fn hex(bytes: &[u8]) -> String {
    format!("0x{}", Hex(bytes))
}

/// A value (section 6); in hexadecimal if its type is unknown or has no shorter form.
fn show(ty: Option<&CqlType>, bytes: &[u8]) -> Value {
    let shown = ty.and_then(|ty| match (ty.unfrozen(), bytes.len()) {
        (CqlType::Ascii | CqlType::Text, _) => std::str::from_utf8(bytes).ok().map(Value::from),
        (CqlType::Boolean, 1) => Some((bytes != [0]).into()),
        (CqlType::Tinyint, 1) => Some(i8::from_be_bytes([bytes[0]]).into()),
        (CqlType::Smallint, _) => bytes.try_into().ok().map(|bytes| i16::from_be_bytes(bytes).into()),
        (CqlType::Int, _) => bytes.try_into().ok().map(|bytes| i32::from_be_bytes(bytes).into()),
        (CqlType::Bigint | CqlType::Counter | CqlType::Timestamp | CqlType::Time, _) => {
            bytes.try_into().ok().map(|bytes| i64::from_be_bytes(bytes).into())
        }
        (CqlType::Double, _) => {
            // What JSON has no number for stays as it is.
            let double = bytes.try_into().ok().map(f64::from_be_bytes).filter(|double| double.is_finite());
            double.map(Value::from)
        }
        (CqlType::Uuid | CqlType::Timeuuid, _) => Uuid::from_slice(bytes).ok().map(|uuid| uuid.to_string().into()),
        (CqlType::Inet, 4) => {
            bytes.first_chunk::<4>().map(|octets| IpAddr::V4(Ipv4Addr::from(*octets)).to_string().into())
        }
        (CqlType::Inet, 16) => {
            bytes.first_chunk::<16>().map(|octets| IpAddr::V6(Ipv6Addr::from(*octets)).to_string().into())
        }
        (CqlType::List(element) | CqlType::Set(element), _) => Some(show_all(&[element], bytes)),
        (CqlType::Map(entry), _) => Some(show_all(&[&entry[0], &entry[1]], bytes)),
        _ => None,
    });
    shown.unwrap_or_else(|| hex(bytes).into())
}

/// The elements of a collection, whose types take turns.
fn show_all(types: &[&CqlType], bytes: &[u8]) -> Value {
    let mut turns = types.iter().cycle();
    elements(bytes).map(|element| element.map_or(Value::Null, |bytes| show(turns.next().copied(), bytes))).collect()
}
