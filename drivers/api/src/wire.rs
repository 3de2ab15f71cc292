//! Values as CQL version 4 has them on the wire: native_protocol_v4.spec section 6. The client `floor` and tapes use it.

use std::fmt::{self, Display};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::{DriverError, Elements, ErrorKind, Items, Nested, Rows, Scalar, Value, varint};

/// Bytes that ended early or are not what the protocol says.
#[cold]
pub fn malformed(what: impl Display) -> DriverError {
    DriverError::new(ErrorKind::Protocol, format!("what came is malformed: {what}"))
}

/// A value or a column that cannot be encoded or decoded.
#[cold]
pub fn codec(what: impl Display) -> DriverError {
    DriverError::new(ErrorKind::Codec, what)
}

/// The type of a marker or a column.
#[derive(Clone, PartialEq, Eq)]
pub enum ColumnType {
    /// One whose values have no elements.
    Scalar(Scalar),
    /// With the types of its elements, of its keys and values, or of its fields; without that of a vector, which has floats.
    Nested(Nested, Box<[ColumnType]>),
    /// A type that scenarios do not use, with its option id.
    Other(u16),
}

impl fmt::Debug for ColumnType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnType::Scalar(kind) => write!(out, "{kind:?}"),
            ColumnType::Nested(kind, of) => write!(out, "{kind:?}({of:?})"),
            ColumnType::Other(id) => write!(out, "Other({id})"),
        }
    }
}

impl ColumnType {
    /// The type of a value; a null is of any.
    pub fn of(value: &Value<'_>) -> ColumnType {
        let Some((kind, items)) = value.nested() else {
            return value.scalar().map_or(ColumnType::Other(0), ColumnType::Scalar);
        };
        let first = match kind {
            Nested::List | Nested::Set => 1,
            Nested::Map => 2,
            Nested::Tuple | Nested::Udt => usize::MAX,
            Nested::Vector => 0,
        };
        ColumnType::Nested(kind, items.iter().take(first).map(|item| ColumnType::of(&item.value())).collect())
    }

    /// The type with this option id, unless its values have elements.
    pub fn from_option_id(id: u16) -> ColumnType {
        Scalar::of_option_id(id).map_or(ColumnType::Other(id), ColumnType::Scalar)
    }

    /// The type of a custom class: those that version 4 has no option id for.
    pub fn from_class(class: &str) -> ColumnType {
        let class = class.trim_start_matches("org.apache.cassandra.db.marshal.");
        match class.split_once('(') {
            None if class == "DurationType" => ColumnType::Scalar(Scalar::Duration),
            Some(("VectorType", of)) if of.contains("FloatType") => ColumnType::Nested(Nested::Vector, Box::default()),
            _ => ColumnType::Other(0),
        }
    }
}

/// As CQL writes a type; a user-defined one is `udt<int, text>`, and the type of what is always null is `null`.
impl FromStr for ColumnType {
    type Err = DriverError;

    fn from_str(text: &str) -> Result<ColumnType, DriverError> {
        let unknown = || codec(format_args!("the type {text:?} is none that scenarios use"));
        let text = text.trim();
        let Some((name, of)) = text.split_once('<') else {
            let scalar = Scalar::ALL.iter().find(|one| one.name() == text).copied();
            return match text {
                "ascii" => Ok(ColumnType::Scalar(Scalar::Text)),
                "null" => Ok(ColumnType::Other(0)),
                _ => scalar.map(ColumnType::Scalar).ok_or_else(unknown),
            };
        };
        let kind = Nested::ALL.iter().find(|one| one.name() == name).copied().ok_or_else(unknown)?;
        let of = of.strip_suffix('>').ok_or_else(unknown)?;
        if kind == Nested::Vector {
            return Ok(ColumnType::Nested(kind, Box::default()));
        }
        let (mut depth, mut start, mut parts) = (0usize, 0, Vec::new());
        for (at, one) in of.char_indices().chain([(of.len(), ',')]) {
            match one {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    parts.push(of.get(start..at).unwrap_or_default().parse()?);
                    start = at + 1;
                }
                _ => {}
            }
        }
        Ok(ColumnType::Nested(kind, parts.into()))
    }
}

/// Appends `value` as a `[value]` for a marker of type `wanted`.
///
/// # Errors
/// When it is of another type, or longer than the protocol allows.
#[inline]
pub fn encode(value: &Value<'_>, wanted: &ColumnType, out: &mut Vec<u8>) -> Result<(), DriverError> {
    match (*value, wanted) {
        (Value::Bigint(value), ColumnType::Scalar(Scalar::Bigint))
        | (Value::Timestamp(value), ColumnType::Scalar(Scalar::Timestamp)) => {
            let mut bytes = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
            bytes[4..].copy_from_slice(&value.to_be_bytes());
            out.extend_from_slice(&bytes);
        }
        (Value::Null, _) => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        (Value::Text(value), ColumnType::Scalar(Scalar::Text)) => bytes(value.as_bytes(), out)?,
        (Value::Blob(value), ColumnType::Scalar(Scalar::Blob)) => bytes(value, out)?,
        (value, wanted) => encode_other(value, wanted, out)?,
    }
    Ok(())
}

/// The same for a type that is not among the commonest.
#[inline(never)]
fn encode_other(value: Value<'_>, wanted: &ColumnType, out: &mut Vec<u8>) -> Result<(), DriverError> {
    match (wanted, value.nested()) {
        (ColumnType::Scalar(kind), _) if value.scalar() == Some(*kind) => within(out, |out| {
            encode_scalar(value, out);
            Ok(())
        }),
        (ColumnType::Nested(kind, of), Some((found, items))) if *kind == found => {
            within(out, |out| encode_elements(*kind, of, items, out))
        }
        _ => Err(codec(format_args!("a value of type {} was bound to a marker of type {wanted:?}", value.type_name()))),
    }
}

/// Days of a `date` on the wire count from 2^31 days before the Unix epoch.
const EPOCH_DAY: i32 = i32::MIN;

fn encode_scalar(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Date(value) => out.extend_from_slice(&(value ^ EPOCH_DAY).to_be_bytes()),
        Value::Inet(IpAddr::V4(value)) => out.extend_from_slice(&value.octets()),
        Value::Inet(IpAddr::V6(value)) => out.extend_from_slice(&value.octets()),
        Value::Varint(value) => out.extend_from_slice(varint::shortest(&value.to_be_bytes())),
        Value::Decimal { unscaled, scale } => {
            out.extend_from_slice(&scale.to_be_bytes());
            out.extend_from_slice(varint::shortest(&unscaled.to_be_bytes()));
        }
        Value::Duration { months, days, nanoseconds } => {
            [months.into(), days.into(), nanoseconds].iter().for_each(|part| vint(*part, out));
        }
        other => _ = other.put_bytes(out),
    }
}

fn encode_elements(kind: Nested, of: &[ColumnType], items: Items<'_>, out: &mut Vec<u8>) -> Result<(), DriverError> {
    match kind {
        Nested::List | Nested::Set | Nested::Map => {
            out.extend_from_slice(&count(items.count() / of.len().max(1))?);
            items.iter().zip(of.iter().cycle()).try_for_each(|(item, of)| encode(&item.value(), of, out))
        }
        Nested::Tuple | Nested::Udt => items.iter().zip(of).try_for_each(|(item, of)| encode(&item.value(), of, out)),
        Nested::Vector => items.iter().try_for_each(|item| match item.value() {
            Value::Float(value) => {
                out.extend_from_slice(&value.to_be_bytes());
                Ok(())
            }
            other => Err(codec(format_args!("a vector has an element of type {}", other.type_name()))),
        }),
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
pub fn vint(value: i64, out: &mut Vec<u8>) {
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

/// Appends a `[bytes]`, or what is written like one: a `[long string]` (native_protocol_v4.spec section 3).
///
/// # Errors
/// When it is longer than the protocol allows.
#[inline]
pub fn bytes(value: &[u8], out: &mut Vec<u8>) -> Result<(), DriverError> {
    let length = i32::try_from(value.len())
        .map_err(|_| codec("a value or statement is longer than the 2 GiB that the protocol allows"))?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(value);
    Ok(())
}

/// Decodes one cell of type `column` into the current row.
///
/// # Errors
/// When its bytes are no value of that type.
#[inline]
pub fn decode(cell: Option<&[u8]>, column: &ColumnType, rows: &mut Rows) -> Result<(), DriverError> {
    let Some(cell) = cell else {
        rows.push_null();
        return Ok(());
    };
    match column {
        ColumnType::Scalar(Scalar::Bigint) => rows.push_bigint(i64::from_be_bytes(exact(cell)?)),
        ColumnType::Scalar(Scalar::Text) => rows.push_text(text(cell)?),
        ColumnType::Scalar(Scalar::Blob) => rows.push_blob(cell),
        other => decode_other(cell, other, rows)?,
    }
    Ok(())
}

/// The same for a type that is not among the commonest.
#[inline(never)]
fn decode_other(cell: &[u8], column: &ColumnType, rows: &mut Rows) -> Result<(), DriverError> {
    match column {
        ColumnType::Scalar(kind) => rows.push(scalar(cell, *kind)?),
        ColumnType::Nested(kind, of) => rows.push_nested(*kind, |out| elements(cell, *kind, of, out))?,
        ColumnType::Other(id) => return Err(unused(*id)),
    }
    Ok(())
}

#[cold]
fn unused(id: u16) -> DriverError {
    codec(format_args!("a column has the type with option id {id:#06x}, which scenarios do not use"))
}

/// A value without elements.
fn scalar(cell: &[u8], kind: Scalar) -> Result<Value<'_>, DriverError> {
    Ok(match kind {
        Scalar::Text => Value::Text(text(cell)?),
        Scalar::Blob => Value::Blob(cell),
        Scalar::Date => Value::Date(i32::from_be_bytes(exact(cell)?) ^ EPOCH_DAY),
        Scalar::Varint => Value::Varint(number(cell)?),
        Scalar::Inet if cell.len() == 4 => Value::Inet(Ipv4Addr::from(exact::<4>(cell)?).into()),
        Scalar::Inet => Value::Inet(Ipv6Addr::from(exact::<16>(cell)?).into()),
        Scalar::Decimal => {
            let mut body = Body { rest: cell };
            Value::Decimal { scale: body.int()?, unscaled: number(body.rest)? }
        }
        Scalar::Duration => {
            let mut body = Body { rest: cell };
            let mut part = || {
                i32::try_from(body.vint()?).map_err(|_| malformed("a duration has more months or days than there are"))
            };
            let (months, days) = (part()?, part()?);
            Value::Duration { months, days, nanoseconds: body.vint()? }
        }
        other => return other.of_bytes(cell).ok_or_else(|| other_length(cell, other.width().unwrap_or(0))),
    })
}

/// Decodes the elements of a value.
fn elements(cell: &[u8], kind: Nested, of: &[ColumnType], out: &mut Elements<'_>) -> Result<(), DriverError> {
    let mut body = Body { rest: cell };
    match kind {
        Nested::List | Nested::Set | Nested::Map => {
            for _ in 0..body.int()? {
                of.iter().try_for_each(|of| element(body.bytes()?, of, out))?;
            }
        }
        Nested::Tuple | Nested::Udt => {
            for of in of {
                // Fields that were added to the type later are not there.
                element(if body.rest.is_empty() { None } else { body.bytes()? }, of, out)?;
            }
        }
        Nested::Vector => {
            let (floats, behind) = cell.as_chunks::<4>();
            if !behind.is_empty() {
                return Err(malformed("it ends within a vector"));
            }
            floats.iter().for_each(|float| out.push(Value::Float(f32::from_be_bytes(*float))));
        }
    }
    Ok(())
}

fn element(cell: Option<&[u8]>, column: &ColumnType, out: &mut Elements<'_>) -> Result<(), DriverError> {
    match (cell, column) {
        (None, _) => out.push(Value::Null),
        (Some(cell), ColumnType::Scalar(kind)) => out.push(scalar(cell, *kind)?),
        (Some(cell), ColumnType::Nested(kind, of)) => out.nested(*kind, |out| elements(cell, *kind, of, out))?,
        (_, ColumnType::Other(id)) => return Err(unused(*id)),
    }
    Ok(())
}

/// The text with these bytes.
///
/// # Errors
/// When they are not UTF-8.
pub fn text(cell: &[u8]) -> Result<&str, DriverError> {
    std::str::from_utf8(cell).map_err(|error| codec(format_args!("a text is not UTF-8: {error}")))
}

#[inline]
fn exact<const N: usize>(cell: &[u8]) -> Result<[u8; N], DriverError> {
    cell.try_into().map_err(|_| other_length(cell, N))
}

#[cold]
fn other_length(cell: &[u8], due: usize) -> DriverError {
    malformed(format_args!("a value of {} bytes came where {due} were due", cell.len()))
}

/// A body or a value, read from front to back. To read more than is left is an error.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    /// What was not read.
    pub rest: &'a [u8],
}

impl<'a> Body<'a> {
    /// So many bytes.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], DriverError> {
        let Some((head, rest)) = self.rest.split_at_checked(length) else {
            return Err(malformed(format_args!("{length} bytes are due where {} are left", self.rest.len())));
        };
        self.rest = rest;
        Ok(head)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], DriverError> {
        let Some((head, rest)) = self.rest.split_first_chunk() else {
            return Err(malformed("it ends within a number"));
        };
        self.rest = rest;
        Ok(*head)
    }

    /// An `[int]`.
    #[inline]
    pub fn int(&mut self) -> Result<i32, DriverError> {
        self.chunk().map(i32::from_be_bytes)
    }

    /// A `[byte]`.
    pub fn byte(&mut self) -> Result<u8, DriverError> {
        self.chunk().map(|[byte]| byte)
    }

    /// A `[short]`.
    pub fn short(&mut self) -> Result<u16, DriverError> {
        self.chunk().map(u16::from_be_bytes)
    }

    /// An `[int]` that counts something.
    ///
    /// # Errors
    /// When it is below 0.
    #[inline]
    pub fn count(&mut self) -> Result<usize, DriverError> {
        let count = self.int()?;
        usize::try_from(count).map_err(|_| malformed(format_args!("a count is {count}")))
    }

    /// `[bytes]`: `None` for a negative length.
    #[inline]
    pub fn bytes(&mut self) -> Result<Option<&'a [u8]>, DriverError> {
        match usize::try_from(self.int()?) {
            Ok(length) => self.take(length).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// A `[vint]`, (native_protocol_v5.spec section 3).
    pub fn vint(&mut self) -> Result<i64, DriverError> {
        let [first] = self.chunk()?;
        let more = first.leading_ones();
        let first = u64::from(first & 0xff_u8.checked_shr(more).unwrap_or(0));
        let zigzag = self.take(more as usize)?.iter().fold(first, |all, byte| (all << 8) | u64::from(*byte));
        Ok((zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed()))
    }

    /// A `[short bytes]`.
    pub fn short_bytes(&mut self) -> Result<&'a [u8], DriverError> {
        let length = self.short()?;
        self.take(usize::from(length))
    }

    /// A `[string]`.
    pub fn string(&mut self) -> Result<String, DriverError> {
        self.short_bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_read_as_cql_writes_it() {
        let of = |text: &str| text.parse::<ColumnType>();
        let scalar = ColumnType::Scalar;
        let list = |of| ColumnType::Nested(Nested::List, [of].into());
        assert_eq!(of("ascii").unwrap(), scalar(Scalar::Text));
        assert_eq!(of("list<list<int>>").unwrap(), list(list(scalar(Scalar::Int))));
        let fields = [list(scalar(Scalar::Int)), scalar(Scalar::Text), scalar(Scalar::Counter)];
        assert_eq!(of("udt<list<int>, text, counter>").unwrap(), ColumnType::Nested(Nested::Udt, fields.into()));
        assert_eq!(of("vector<float, 3>").unwrap(), ColumnType::Nested(Nested::Vector, Box::default()));
        for text in ["integer", "list<int", "list<integer>", "frozen<int>", ""] {
            let error = of(text).unwrap_err();
            assert!(error.message().ends_with("is none that scenarios use"), "{error}");
        }
    }

    #[test]
    fn a_vint_of_any_length_comes_back() {
        for shift in 0..63 {
            for value in [1i64 << shift, -(1 << shift), (1 << shift) - 1, !(1i64 << shift), i64::MIN, 0, -1] {
                let mut out = Vec::new();
                vint(value, &mut out);
                let mut body = Body { rest: &out };
                assert_eq!((body.vint().ok(), body.rest.len()), (Some(value), 0), "{out:?}");
            }
        }
        // 1mo2d3ns as Cassandra writes it.
        let mut out = Vec::new();
        [1, 2, 3].iter().for_each(|part| vint(*part, &mut out));
        assert_eq!(out, [2, 4, 6]);
    }

    #[test]
    fn an_element_that_is_cut_off_is_an_error_and_no_panic() {
        let list = ColumnType::Nested(Nested::List, [ColumnType::Scalar(Scalar::Varint)].into());
        let of = ColumnType::Nested(Nested::Map, [ColumnType::Scalar(Scalar::Text), list].into());
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
