//! Values as JSON, as Cassandra's `toJson` writes them.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use uuid::Uuid;

use super::collection::Components;
use super::{CqlType, bignum, calendar, duration, elements};

impl CqlType {
    /// Appends a valid serialised value as JSON; `None` is `null`. Fails for a number too long for digits.
    pub fn write_json(&self, value: Option<&[u8]>, out: &mut String) -> Result<(), String> {
        let Some(bytes) = value else {
            out.push_str("null");
            return Ok(());
        };
        match self {
            CqlType::List(element) | CqlType::Set(element) => {
                write_sequence(elements(bytes).map(|value| (&**element, value)), out)
            }
            CqlType::Tuple(types) => {
                let mut components = Components::new(bytes);
                let nullable = types.iter().map(|ty| (ty, components.next().and_then(Result::ok).flatten()));
                write_sequence(nullable, out)
            }
            CqlType::Map(entry) => write_map(entry, bytes, out),
            CqlType::Vector(_) => write_sequence(bytes.chunks(4).map(|value| (&CqlType::Float, Some(value))), out),
            CqlType::User(user) => {
                for (at, (value, ty)) in user.fields(bytes).into_iter().zip(&user.types).enumerate() {
                    out.push_str(if at > 0 { ", " } else { "{" });
                    let _ = write!(out, "{}: ", quoted(&user.names[at]));
                    ty.write_json(value, out)?;
                }
                out.push('}');
                Ok(())
            }
            CqlType::Frozen(inner) => inner.write_json(value, out),
            native => native.scalar(bytes).map(|text| out.push_str(&text)),
        }
    }

    fn scalar(&self, bytes: &[u8]) -> Result<String, String> {
        if bytes.is_empty() && !matches!(self, CqlType::Text | CqlType::Ascii | CqlType::Blob) {
            return Ok(quoted(""));
        }
        let too_long =
            || format!("toJson of a {self} of {} bytes is not supported: it has too many digits", bytes.len());
        let signed = |bytes: &[u8]| {
            let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
            bytes.iter().fold(if negative { -1i64 } else { 0 }, |value, byte| value << 8 | i64::from(*byte))
        };
        let float = |value: f64, text: String| if value.is_finite() { text } else { "null".to_owned() };
        Ok(match self {
            CqlType::Text | CqlType::Ascii => quoted(&String::from_utf8_lossy(bytes)),
            CqlType::Blob => format!("\"0x{}\"", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
            CqlType::Boolean => (bytes != [0]).to_string(),
            CqlType::Bigint | CqlType::Counter | CqlType::Int | CqlType::Smallint | CqlType::Tinyint => {
                signed(bytes).to_string()
            }
            CqlType::Varint => bignum::digits(bytes).ok_or_else(too_long)?,
            CqlType::Decimal => bignum::decimal_text(bytes).ok_or_else(too_long)?,
            CqlType::Double => {
                let value = f64::from_be_bytes(bytes.try_into().unwrap_or_default());
                float(value, format!("{value:?}"))
            }
            CqlType::Float => {
                let value = f32::from_be_bytes(bytes.try_into().unwrap_or_default());
                float(f64::from(value), format!("{value:?}"))
            }
            CqlType::Timestamp => quoted(&calendar::timestamp_text(signed(bytes))),
            CqlType::Time => quoted(&calendar::time_text(signed(bytes))),
            CqlType::Date => quoted(&calendar::date_text(u32::from_be_bytes(bytes.try_into().unwrap_or_default()))),
            CqlType::Uuid | CqlType::Timeuuid => {
                quoted(&Uuid::from_slice(bytes).map_or(String::new(), |uuid| uuid.to_string()))
            }
            CqlType::Inet => quoted(&match (<[u8; 4]>::try_from(bytes), <[u8; 16]>::try_from(bytes)) {
                (Ok(v4), _) => Ipv4Addr::from(v4).to_string(),
                (_, Ok(v6)) => Ipv6Addr::from(v6).to_string(),
                _ => String::new(),
            }),
            CqlType::Duration => quoted(&duration::text(bytes).unwrap_or_default()),
            // All others are no scalars.
            _ => "null".to_owned(),
        })
    }
}

fn write_sequence<'a>(
    values: impl Iterator<Item = (&'a CqlType, Option<&'a [u8]>)>,
    out: &mut String,
) -> Result<(), String> {
    out.push('[');
    for (index, (ty, value)) in values.enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        ty.write_json(value, out)?;
    }
    out.push(']');
    Ok(())
}

fn write_map([key, value]: &[CqlType; 2], bytes: &[u8], out: &mut String) -> Result<(), String> {
    out.push('{');
    let mut parts = elements(bytes);
    let mut first = true;
    while let (Some(k), Some(v)) = (parts.next(), parts.next()) {
        out.push_str(if first { "" } else { ", " });
        first = false;
        let mut text = String::new();
        key.write_json(k, &mut text)?;
        out.push_str(&if text.starts_with('"') { text } else { quoted(&text) });
        out.push_str(": ");
        value.write_json(v, out)?;
    }
    out.push('}');
    Ok(())
}

fn quoted(text: &str) -> String {
    // Serialising a string cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(ty: &CqlType, bytes: &[u8]) -> String {
        let mut text = String::new();
        ty.write_json(Some(bytes), &mut text).unwrap();
        text
    }

    #[test]
    fn values_are_written_as_cassandra_writes_them() {
        assert_eq!(json(&CqlType::Int, &(-5i32).to_be_bytes()), "-5");
        assert_eq!(json(&CqlType::Bigint, &i64::MIN.to_be_bytes()), "-9223372036854775808");
        assert_eq!(json(&CqlType::Text, "a\"\\\n\u{1}é".as_bytes()), r#""a\"\\\n\u0001é""#);
        assert_eq!(json(&CqlType::Blob, &[0xca, 0xfe]), "\"0xcafe\"");
        assert_eq!(json(&CqlType::Double, &1.5f64.to_be_bytes()), "1.5");
        assert_eq!(json(&CqlType::Double, &f64::NAN.to_be_bytes()), "null");
        assert_eq!(json(&CqlType::Inet, &[127, 0, 0, 1]), "\"127.0.0.1\"");
        let map = CqlType::Map(Box::new([CqlType::Tinyint, CqlType::Boolean]));
        assert_eq!(json(&map, &[0, 0, 0, 1, 0, 0, 0, 1, 7, 0, 0, 0, 1, 1]), r#"{"7": true}"#);
        let tuple = CqlType::Tuple(vec![CqlType::Tinyint, CqlType::Text]);
        assert_eq!(json(&tuple, &[0, 0, 0, 1, 7]), "[7, null]");
    }
}
