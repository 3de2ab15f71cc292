//! Constants in a statement's text, and their bytes for a type.

use std::fmt;
use std::net::IpAddr;

use uuid::Uuid;

use super::{CqlType, bignum, calendar, duration};

/// What a constant looks like; the names are those that Cassandra's errors give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// `'text'` or `$$text$$`
    String,
    /// `42`
    Integer,
    /// `1.5e3`, `NaN`, `Infinity`
    Float,
    /// `true`
    Boolean,
    /// `0xcafe`
    Hex,
    /// `123e4567-e89b-12d3-a456-426614174000`
    Uuid,
    /// `1h30m`
    Duration,
}

impl fmt::Display for LiteralKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_uppercase())
    }
}

/// A constant in a statement: strings without their quotes, everything else as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// What it looks like.
    pub kind: LiteralKind,
    /// The text.
    pub text: String,
}

impl CqlType {
    /// Whether a constant of this kind can be a value of the type.
    pub fn accepts(&self, kind: LiteralKind) -> bool {
        use CqlType as T;
        use LiteralKind as K;
        match self {
            T::Ascii | T::Text | T::Inet => kind == K::String,
            T::Date | T::Time | T::Timestamp => matches!(kind, K::String | K::Integer),
            T::Bigint | T::Counter | T::Int | T::Smallint | T::Tinyint | T::Varint => kind == K::Integer,
            T::Decimal | T::Double | T::Float => matches!(kind, K::Integer | K::Float),
            T::Boolean => kind == K::Boolean,
            T::Blob => kind == K::Hex,
            T::Uuid | T::Timeuuid => kind == K::Uuid,
            T::Duration => kind == K::Duration,
            _ => false,
        }
    }

    /// The bytes of a constant whose kind the type accepts. The error is Cassandra's:
    /// `Unable to make int from '99999999999'`.
    pub fn literal_bytes(&self, literal: &Literal) -> Result<Vec<u8>, String> {
        let text = literal.text.as_str();
        let unable = || {
            let word = match self {
                CqlType::Bigint => "long",
                CqlType::Smallint => "short",
                CqlType::Tinyint => "byte",
                other => other.as_native().map_or("value", |row| row.name),
            };
            format!("Unable to make {word} from '{text}'")
        };
        let is_number = literal.kind == LiteralKind::Integer;
        let long = || text.parse::<i64>().ok().map(|value| value.to_be_bytes().to_vec());
        let bytes = match self {
            CqlType::Ascii | CqlType::Text => Some(text.as_bytes().to_vec()),
            CqlType::Bigint | CqlType::Counter => long(),
            CqlType::Timestamp | CqlType::Time if is_number => long(),
            CqlType::Int => text.parse::<i32>().ok().map(|value| value.to_be_bytes().to_vec()),
            CqlType::Smallint => text.parse::<i16>().ok().map(|value| value.to_be_bytes().to_vec()),
            CqlType::Tinyint => text.parse::<i8>().ok().map(|value| value.to_be_bytes().to_vec()),
            CqlType::Varint => bignum::parse_varint(text),
            CqlType::Decimal => bignum::parse_decimal(text),
            CqlType::Double => text.parse::<f64>().ok().map(|value| value.to_be_bytes().to_vec()),
            CqlType::Float => text.parse::<f32>().ok().map(|value| value.to_be_bytes().to_vec()),
            CqlType::Boolean => Some(vec![u8::from(text.eq_ignore_ascii_case("true"))]),
            CqlType::Blob => hex_bytes(text),
            CqlType::Uuid | CqlType::Timeuuid => Uuid::try_parse(text).ok().map(|uuid| uuid.as_bytes().to_vec()),
            CqlType::Inet => text.parse::<IpAddr>().ok().map(|address| match address {
                IpAddr::V4(v4) => v4.octets().to_vec(),
                IpAddr::V6(v6) => v6.octets().to_vec(),
            }),
            CqlType::Timestamp => calendar::parse_timestamp(text).map(|value| value.to_be_bytes().to_vec()),
            CqlType::Time => calendar::parse_time(text).map(|value| value.to_be_bytes().to_vec()),
            CqlType::Date if is_number => text.parse::<u32>().ok().map(|value| value.to_be_bytes().to_vec()),
            CqlType::Date => calendar::parse_date(text).map(|value| value.to_be_bytes().to_vec()),
            CqlType::Duration => duration::parse(text),
            _ => None,
        };
        let bytes = bytes.ok_or_else(unable)?;
        self.validate(&bytes)?;
        Ok(bytes)
    }
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?.as_bytes();
    let value = |digit: u8| (digit as char).to_digit(16).map(|digit| digit as u8);
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(value(*high)? << 4 | value(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(ty: &CqlType, kind: LiteralKind, text: &str) -> Result<Vec<u8>, String> {
        assert!(ty.accepts(kind), "{ty} takes {kind}");
        ty.literal_bytes(&Literal { kind, text: text.to_owned() })
    }

    #[test]
    fn constants_become_bytes_of_their_type() {
        use LiteralKind as K;
        assert_eq!(bytes(&CqlType::Int, K::Integer, "-2"), Ok((-2i32).to_be_bytes().to_vec()));
        assert_eq!(bytes(&CqlType::Double, K::Integer, "2"), Ok(2f64.to_be_bytes().to_vec()));
        assert_eq!(bytes(&CqlType::Float, K::Float, "NaN"), Ok(f32::NAN.to_be_bytes().to_vec()));
        assert_eq!(bytes(&CqlType::Blob, K::Hex, "0xCAfe"), Ok(vec![0xca, 0xfe]));
        assert_eq!(bytes(&CqlType::Inet, K::String, "::1").map(|bytes| bytes.len()), Ok(16));
        assert_eq!(bytes(&CqlType::Timestamp, K::String, "1970-01-01"), Ok(vec![0; 8]));
        assert_eq!(bytes(&CqlType::Date, K::String, "1970-01-01"), Ok(vec![0x80, 0, 0, 0]));
        assert_eq!(bytes(&CqlType::Duration, K::Duration, "1mo2d3ns"), Ok(vec![2, 4, 6]));
        assert_eq!(bytes(&CqlType::Duration, K::Duration, "-1mo2d3ns"), Ok(vec![1, 3, 5]));
        assert_eq!(bytes(&CqlType::Boolean, K::Boolean, "TRUE"), Ok(vec![1]));
    }

    #[test]
    fn a_constant_of_no_such_value_is_refused_with_cassandras_text() {
        use LiteralKind as K;
        let unable = |text: &str| Err(text.to_owned());
        assert_eq!(bytes(&CqlType::Int, K::Integer, "99999999999"), unable("Unable to make int from '99999999999'"));
        assert_eq!(bytes(&CqlType::Bigint, K::Integer, "1e"), unable("Unable to make long from '1e'"));
        assert!(bytes(&CqlType::Blob, K::Hex, "0xabc").is_err());
        assert!(bytes(&CqlType::Duration, K::Duration, "9223372036854775807y").is_err());
        assert!(bytes(&CqlType::Timeuuid, K::Uuid, "123e4567-e89b-42d3-a456-426614174000").is_err());
        assert!(!CqlType::Bigint.accepts(K::String));
    }
}
