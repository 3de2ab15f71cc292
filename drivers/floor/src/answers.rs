//! Response bodies: native_protocol_v4.spec sections 4.2 and 9.

use cqldyno_driver_api::wire::{self, Body, ColumnType, codec, malformed};
use cqldyno_driver_api::{DriverError, ErrorKind, Nested, Rows};

pub(crate) const ERROR: u8 = 0x00;
pub(crate) const READY: u8 = 0x02;
pub(crate) const AUTHENTICATE: u8 = 0x03;
pub(crate) const RESULT: u8 = 0x08;
pub(crate) const AUTH_SUCCESS: u8 = 0x10;

const TRACING: u8 = 0x02;
const CUSTOM_PAYLOAD: u8 = 0x04;
const WARNINGS: u8 = 0x08;

const KIND_ROWS: i32 = 0x0002;
const KIND_PREPARED: i32 = 0x0004;

const GLOBAL_TABLE: i32 = 0x0001;
const MORE_PAGES: i32 = 0x0002;
const NO_METADATA: i32 = 0x0004;

/// One response, as it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) flags: u8,
    pub(crate) opcode: u8,
    pub(crate) body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// The body without what its flags announce; an ERROR response becomes an error.
    #[inline]
    fn into_body(self) -> Result<Body<'a>, DriverError> {
        let mut body = Body { rest: self.body };
        if self.flags != 0 {
            skip_announced(&mut body, self.flags)?;
        }
        if self.opcode == ERROR {
            let code = body.int()?;
            let message = body.string()?;
            return Err(DriverError::new(ErrorKind::from_code(code), format_args!("{message} (code {code:#06x})")));
        }
        Ok(body)
    }

    /// An answer without content, to STARTUP or AUTH_RESPONSE; the opcode.
    pub(crate) fn into_opcode(self) -> Result<u8, DriverError> {
        self.into_body().map(|_| self.opcode)
    }

    #[inline]
    fn into_result(self) -> Result<(i32, Body<'a>), DriverError> {
        let mut body = self.into_body()?;
        if self.opcode != RESULT {
            return Err(malformed(format_args!("opcode {:#04x} came where a RESULT was due", self.opcode)));
        }
        let kind = body.int()?;
        Ok((kind, body))
    }

    /// An answer to QUERY, whose rows are dropped.
    pub(crate) fn into_done(self) -> Result<(), DriverError> {
        self.into_result().map(|_| ())
    }

    /// An answer to PREPARE.
    pub(crate) fn into_prepared(self) -> Result<Prepared, DriverError> {
        let (kind, mut body) = self.into_result()?;
        if kind != KIND_PREPARED {
            return Err(malformed(format_args!("a result of kind {kind} came where Prepared was due")));
        }
        let id = body.short_bytes()?.into();
        let (flags, count) = (body.int()?, body.count()?);
        for _ in 0..body.count()? {
            body.short()?;
        }
        let markers = column_types(&mut body, flags, count)?;
        let (flags, count) = (body.int()?, body.count()?);
        if flags & MORE_PAGES != 0 {
            body.bytes()?;
        }
        let columns = match flags & NO_METADATA {
            0 => column_types(&mut body, flags, count)?,
            _ => Box::default(),
        };
        Ok(Prepared { id, markers, columns })
    }

    /// Decodes every column of every row of an answer to EXECUTE into `rows`; returns the paging state if there are more pages.
    /// `columns` are those of the statement's PREPARED, for an answer without metadata.
    #[inline]
    pub(crate) fn into_rows(self, columns: &[ColumnType], rows: &mut Rows) -> Result<Option<&'a [u8]>, DriverError> {
        let (kind, mut body) = self.into_result()?;
        if kind != KIND_ROWS {
            return Ok(None);
        }
        let (flags, count) = (body.int()?, body.count()?);
        let paging_state = match flags & MORE_PAGES {
            0 => None,
            _ => body.bytes()?,
        };
        if flags & NO_METADATA == 0 {
            let sent = column_types(&mut body, flags, count)?;
            self::rows(&mut body, &sent, rows)?;
        } else if count == columns.len() {
            self::rows(&mut body, columns, rows)?;
        } else {
            return Err(codec(format_args!(
                "the answer has {count} columns where {} were prepared; was the table altered?",
                columns.len()
            )));
        }
        rows.end_page();
        Ok(paging_state)
    }
}

/// What PREPARE gave.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) id: Box<[u8]>,
    pub(crate) markers: Box<[ColumnType]>,
    pub(crate) columns: Box<[ColumnType]>,
}

#[cold]
fn skip_announced(body: &mut Body<'_>, flags: u8) -> Result<(), DriverError> {
    if flags & TRACING != 0 {
        body.take(16)?;
    }
    if flags & WARNINGS != 0 {
        for _ in 0..body.short()? {
            body.short_bytes()?;
        }
    }
    if flags & CUSTOM_PAYLOAD != 0 {
        for _ in 0..body.short()? {
            body.short_bytes()?;
            body.bytes()?;
        }
    }
    Ok(())
}

/// The column specifications of a metadata with these flags: section 4.2.5.2.
fn column_types(body: &mut Body<'_>, flags: i32, count: usize) -> Result<Box<[ColumnType]>, DriverError> {
    if flags & GLOBAL_TABLE != 0 && count > 0 {
        body.short_bytes()?;
        body.short_bytes()?;
    }
    // No capacity is taken from the wire, where the number is unchecked.
    let mut types = Vec::new();
    for _ in 0..count {
        if flags & GLOBAL_TABLE == 0 {
            body.short_bytes()?;
            body.short_bytes()?;
        }
        body.short_bytes()?;
        types.push(column_type(body, 0)?);
    }
    Ok(types.into())
}

/// An `[option]`, with the types nested in it.
fn column_type(body: &mut Body<'_>, depth: usize) -> Result<ColumnType, DriverError> {
    if depth > 32 {
        return Err(malformed("a type is nested too deeply"));
    }
    Ok(match body.short()? {
        0x0000 => ColumnType::from_class(&body.string()?),
        0x0020 => nested(body, Nested::List, 1, false, depth)?,
        0x0021 => nested(body, Nested::Map, 2, false, depth)?,
        0x0022 => nested(body, Nested::Set, 1, false, depth)?,
        0x0030 => {
            body.short_bytes()?;
            body.short_bytes()?;
            let fields = body.short()?;
            nested(body, Nested::Udt, fields, true, depth)?
        }
        0x0031 => {
            let fields = body.short()?;
            nested(body, Nested::Tuple, fields, false, depth)?
        }
        id => ColumnType::from_option_id(id),
    })
}

/// A type with so many others in it, each behind a name or not.
fn nested(
    body: &mut Body<'_>,
    kind: Nested,
    count: u16,
    has_names: bool,
    depth: usize,
) -> Result<ColumnType, DriverError> {
    let mut of = Vec::new();
    for _ in 0..count {
        if has_names {
            body.short_bytes()?;
        }
        of.push(column_type(body, depth + 1)?);
    }
    Ok(ColumnType::Nested(kind, of.into()))
}

#[inline]
fn rows(body: &mut Body<'_>, columns: &[ColumnType], rows: &mut Rows) -> Result<(), DriverError> {
    let count = body.count()?;
    if columns.is_empty() && count > 0 {
        return Err(malformed(format_args!("there are {count} rows without columns")));
    }
    for _ in 0..count {
        for column in columns {
            wire::decode(body.bytes()?, column, rows)?;
        }
        rows.end_row();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_driver_api::Scalar;

    fn rows_of(body: &[u8], columns: &[ColumnType]) -> Result<(Rows, Option<Vec<u8>>), DriverError> {
        let mut rows = Rows::new();
        let state = Answer { flags: 0, opcode: RESULT, body }.into_rows(columns, &mut rows)?;
        Ok((rows, state.map(<[u8]>::to_vec)))
    }

    const ONE_ROW: [u8; 32] = [
        0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 1, 9, // kind, flags, columns, paging state of one byte
        0, 0, 0, 1, 0, 0, 0, 7, b'g', b'r', b'\xc3', b'\xbc', b'n', b'!', b'!', // rows, one cell
    ];

    #[test]
    fn a_page_without_metadata_is_decoded_by_the_prepared_columns() {
        let (rows, state) = rows_of(&ONE_ROW, &[ColumnType::Scalar(Scalar::Text)]).unwrap();
        assert_eq!(rows.get(0).unwrap().get(0), Some(cqldyno_driver_api::Value::Text("grün!!")));
        assert_eq!((rows.len(), rows.pages(), state), (1, 1, Some(vec![9])));
    }

    #[test]
    fn every_truncation_and_every_other_column_count_is_an_error() {
        for length in 0..ONE_ROW.len() {
            assert!(rows_of(&ONE_ROW[..length], &[ColumnType::Scalar(Scalar::Text)]).is_err(), "{length}");
        }
        assert_eq!(rows_of(&ONE_ROW, &[]).unwrap_err().kind(), ErrorKind::Codec);
        assert_eq!(rows_of(&ONE_ROW, &[ColumnType::Scalar(Scalar::Bigint)]).unwrap_err().kind(), ErrorKind::Protocol);
    }

    #[test]
    fn rows_without_columns_are_refused_at_once() {
        let body = [0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff];
        assert_eq!(rows_of(&body, &[]).unwrap_err().kind(), ErrorKind::Protocol);
    }

    #[test]
    fn an_error_has_the_kind_of_its_code_behind_warnings_too() {
        let body = [0, 1, 0, 1, b'w', 0, 0, 0x22, 0, 0, 2, b'n', b'o'];
        let mut rows = Rows::new();
        let error = Answer { flags: WARNINGS, opcode: ERROR, body: &body }.into_rows(&[], &mut rows).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Invalid, "no (code 0x2200)"));
    }
}
