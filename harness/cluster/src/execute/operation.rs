//! An EXECUTE of a point statement, read only as far as running it needs.

use std::ops::Range;

use super::point::{Action, CellSource, PointStatement};
use crate::codec::frame::Header;
use crate::codec::request::{
    QUERY_NAMED_VALUES, QUERY_PAGE_SIZE, QUERY_PAGING_STATE, QUERY_SERIAL_CONSISTENCY, QUERY_SKIP_METADATA,
    QUERY_TIMESTAMP, QUERY_VALUES,
};
use crate::storage::record;
use crate::storage::table::{Place, TableStore};
use crate::token;
use crate::types::{Reader, Value};

/// Rows found together are kept up to this length; later ones are looked up again when their answers are written.
pub(super) const ROWS_LEN: usize = 8 * 1024 * 1024;

/// An EXECUTE of a point statement, as places in the read buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    /// The client's timestamp, or [`record::NEVER`].
    pub(super) timestamp: i64,
    pub(super) hash: u32,
    pub(super) shard: u32,
    pub(super) key_at: u32,
    pub(super) key_len: u32,
    /// Of an INSERT: its cells in the read buffer, or sorted in the scratch buffer.
    pub(super) cells_at: u32,
    pub(super) cells_len: u32,
    /// Of a SELECT that found its row: its values.
    pub(super) rows_at: u32,
    pub(super) rows_len: u32,
    pub(super) statement: u16,
    pub(super) stream: i16,
    pub(super) version: u8,
    pub(super) flags: u8,
}

pub(super) const SCRATCH: u8 = 1;
/// One of the cells is not set.
pub(super) const HAS_UNSET: u8 = 2;
pub(super) const SKIP_METADATA: u8 = 4;
pub(super) const FAILED: u8 = 8;
/// It is executed when its answer is written.
pub(super) const LATE: u8 = 16;
/// Its table was altered after it was added.
pub(super) const STALE: u8 = 32;

impl Op {
    #[inline]
    pub(super) fn key(&self) -> Range<usize> {
        place(self.key_at, self.key_len)
    }

    #[inline]
    pub(super) fn cells(&self) -> Range<usize> {
        place(self.cells_at, self.cells_len)
    }

    #[inline]
    pub(super) fn rows(&self) -> Range<usize> {
        place(self.rows_at, self.rows_len)
    }

    /// Reads the query parameters of an EXECUTE, with the token of its key; `None` if it needs the general way, or when `scratch`, which takes cells that
    /// must be sorted, is full.
    #[inline]
    pub(super) fn read(
        scratch: &mut Vec<u8>,
        point: &PointStatement,
        store: &TableStore,
        statement: u16,
        header: &Header,
        input: &[u8],
        (at, end): (usize, usize),
    ) -> Option<(Op, i64)> {
        let mut reader = Reader::new(input.get(at..end)?);
        // The consistency was checked.
        reader.short().ok()?;
        let flags = reader.byte().ok()?;
        if flags & (QUERY_VALUES | QUERY_NAMED_VALUES) != QUERY_VALUES {
            return None;
        }
        if usize::from(reader.short().ok()?) != point.checks.len() {
            return None;
        }
        let place_of = |reader: &Reader<'_>| end - reader.rest.len();
        let mut key: &[u8] = &[];
        let mut key_at = 0;
        let mut cells_at = 0;
        let mut unset = false;
        for (marker, check) in point.checks.iter().enumerate() {
            let value = reader.value(header.version).ok()?;
            match value {
                Value::Bytes(bytes) => {
                    if !check.passes(bytes) {
                        return None;
                    }
                    if marker == point.key_marker {
                        key = bytes;
                        cells_at = place_of(&reader);
                        key_at = cells_at - bytes.len();
                    }
                }
                Value::Unset => unset = true,
                // Before version 4 any negative length is null: -2 must not be copied.
                Value::Null if header.version < 4 => return None,
                Value::Null => {}
            }
        }
        let cells_len = place_of(&reader) - cells_at;
        if key.is_empty() || key.len() > usize::from(u16::MAX) {
            return None;
        }
        let mut op_flags = if flags & QUERY_SKIP_METADATA != 0 { SKIP_METADATA } else { 0 };
        let timestamp = trailing_timestamp(&mut reader, flags)?;
        let (mut cells_at, mut cells_len) = (cells_at, cells_len);
        if let Action::Insert { cells, in_order, unset: left_out } = &point.action {
            if !in_order {
                if scratch.len() > ROWS_LEN {
                    return None;
                }
                cells_at = scratch.len();
                put_in_order(scratch, cells, input.get(at + 5..end)?, point.checks.len());
                cells_len = scratch.len() - cells_at;
                op_flags |= SCRATCH;
            }
            if unset || *left_out {
                op_flags |= HAS_UNSET;
            }
        } else if unset {
            return None;
        }
        let token = token::token(key);
        let Place { shard, hash } = store.place(token);
        let op = Op {
            timestamp,
            hash,
            shard: shard as u32,
            key_at: u32::try_from(key_at).ok()?,
            key_len: key.len() as u32,
            cells_at: u32::try_from(cells_at).ok()?,
            cells_len: u32::try_from(cells_len).ok()?,
            rows_at: 0,
            rows_len: 0,
            statement,
            stream: header.stream,
            version: header.version,
            flags: op_flags,
        };
        Some((op, token))
    }
}

#[inline]
fn place(at: u32, len: u32) -> Range<usize> {
    at as usize..at as usize + len as usize
}

/// The timestamp after the values, or [`record::NEVER`]; `None` if there is anything unusual.
#[inline]
fn trailing_timestamp(reader: &mut Reader<'_>, flags: u8) -> Option<i64> {
    if flags & QUERY_PAGE_SIZE != 0 {
        reader.int().ok()?;
    }
    if flags & QUERY_PAGING_STATE != 0 {
        return None;
    }
    if flags & QUERY_SERIAL_CONSISTENCY != 0 && reader.short().ok()? > 0x000A {
        return None;
    }
    if flags & QUERY_TIMESTAMP == 0 {
        return Some(record::NEVER);
    }
    reader.long().ok().filter(|timestamp| *timestamp != record::NEVER)
}

/// Appends the cells in the table's order; `values` starts with the first of `count` values.
fn put_in_order(scratch: &mut Vec<u8>, cells: &[CellSource], values: &[u8], count: usize) {
    for cell in cells {
        match cell {
            CellSource::Wire(wire) => scratch.extend_from_slice(wire),
            CellSource::Marker(marker) if *marker < count => {
                let start = record::end_of_values(values, 0, *marker);
                scratch.extend_from_slice(&values[start..record::end_of_values(values, start, 1)]);
            }
            CellSource::Marker(_) => scratch.extend_from_slice(&(-2i32).to_be_bytes()),
        }
    }
}
