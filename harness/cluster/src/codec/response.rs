//! Encoding what the server sends (section 4.2), straight into the connection's output buffer.

use std::net::{IpAddr, SocketAddr};

use super::frame::{EVENT_STREAM, FLAG_TRACING, HEADER_LEN, Header, Opcode};
use crate::error::CqlError;
use crate::schema::{ChangeType, Changed, SchemaChange};
use crate::types::{ColumnSpec, write};

/// RESULT kind of section 4.2.5.
pub const KIND_VOID: i32 = 1;
/// RESULT kind: rows.
pub const KIND_ROWS: i32 = 2;
/// RESULT kind: the answer to USE.
pub const KIND_SET_KEYSPACE: i32 = 3;
/// RESULT kind: the answer to PREPARE.
pub const KIND_PREPARED: i32 = 4;
/// RESULT kind: the answer to DDL.
pub const KIND_SCHEMA_CHANGE: i32 = 5;

/// Flag of rows' metadata: one keyspace and table for all columns.
pub const ROWS_GLOBAL_TABLES_SPEC: i32 = 0x01;
/// Flag of rows' metadata: a paging state follows.
pub const ROWS_HAS_MORE_PAGES: i32 = 0x02;
/// Flag of rows' metadata: no columns follow.
pub const ROWS_NO_METADATA: i32 = 0x04;

/// Where an answer goes: version and stream of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyTo {
    /// 3 or 4.
    pub version: u8,
    /// The request's stream.
    pub stream: i16,
}

impl ReplyTo {
    /// For the request of this header.
    pub fn request(header: &Header) -> Self {
        ReplyTo { version: header.version, stream: header.stream }
    }
}

/// Writes a whole frame, whose body `body` writes.
pub fn frame(out: &mut Vec<u8>, to: ReplyTo, opcode: Opcode, body: impl FnOnce(&mut Vec<u8>)) {
    let start = begin(out, to, opcode);
    body(out);
    end(out, start);
}

/// Writes a header without its length; returns its place for [`end`].
pub fn begin(out: &mut Vec<u8>, to: ReplyTo, opcode: Opcode) -> usize {
    let start = out.len();
    let header = Header { version: to.version, flags: 0, stream: to.stream, opcode: opcode as u8, length: 0 };
    out.extend_from_slice(&header.encode(true));
    start
}

/// Sets the length of the frame that [`begin`] started and that ends with `out`.
#[inline]
pub fn end(out: &mut [u8], start: usize) {
    let length = (out.len() - start - HEADER_LEN) as u32;
    out[start + 5..start + HEADER_LEN].copy_from_slice(&length.to_be_bytes());
}

/// Puts the id of a trace in front of the body of the frame that begins at `start` and ends with `out`.
pub fn trace(out: &mut Vec<u8>, start: usize, id: [u8; 16]) {
    out.splice(start + HEADER_LEN..start + HEADER_LEN, id);
    out[start + 1] |= FLAG_TRACING;
    end(out, start);
}

/// The bytes of the first frame of `frames`, which are whole frames.
pub fn frame_len(frames: &[u8]) -> usize {
    match frames.first_chunk::<HEADER_LEN>() {
        Some(&[.., l0, l1, l2, l3]) => HEADER_LEN + u32::from_be_bytes([l0, l1, l2, l3]) as usize,
        None => frames.len(),
    }
}

/// Splits whole frames.
pub fn frames(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (frame, after) = rest.split_at_checked(frame_len(rest))?;
        rest = after;
        (!frame.is_empty()).then_some(frame)
    })
}

/// ERROR (sections 4.2.1 and 9).
pub fn error(out: &mut Vec<u8>, to: ReplyTo, error: &CqlError) {
    frame(out, to, Opcode::Error, |out| {
        write::int(out, error.code());
        write::string(out, &error.to_string());
        match error {
            CqlError::Unprepared(id) => write::short_bytes(out, id),
            CqlError::Unavailable { level, required, alive, .. } => {
                write::short(out, *level);
                write::int(out, *required);
                write::int(out, *alive);
            }
            CqlError::Timeout { writes, level, received, required } => {
                write::short(out, *level);
                write::int(out, *received);
                write::int(out, *required);
                match writes {
                    true => write::string(out, "SIMPLE"),
                    // No replica answered with data.
                    false => out.push(0),
                }
            }
            CqlError::AlreadyExists { keyspace, table } => {
                write::string(out, keyspace);
                write::string(out, table.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    });
}

/// READY.
pub fn ready(out: &mut Vec<u8>, to: ReplyTo) {
    frame(out, to, Opcode::Ready, |_| {});
}

/// AUTHENTICATE with the class of the authenticator.
pub fn authenticate(out: &mut Vec<u8>, to: ReplyTo, class: &str) {
    frame(out, to, Opcode::Authenticate, |out| write::string(out, class));
}

/// AUTH_SUCCESS without a token.
pub fn auth_success(out: &mut Vec<u8>, to: ReplyTo) {
    frame(out, to, Opcode::AuthSuccess, |out| write::bytes(out, None));
}

/// SUPPORTED.
pub fn supported(out: &mut Vec<u8>, to: ReplyTo, options: &[(&str, &[&str])]) {
    frame(out, to, Opcode::Supported, |out| {
        write::short(out, options.len() as u16);
        for (name, values) in options {
            write::string(out, name);
            write::string_list(out, values);
        }
    });
}

/// RESULT Void.
pub fn void(out: &mut Vec<u8>, to: ReplyTo) {
    frame(out, to, Opcode::Result, |out| write::int(out, KIND_VOID));
}

/// RESULT Set_keyspace.
pub fn set_keyspace(out: &mut Vec<u8>, to: ReplyTo, keyspace: &str) {
    frame(out, to, Opcode::Result, |out| {
        write::int(out, KIND_SET_KEYSPACE);
        write::string(out, keyspace);
    });
}

/// RESULT Prepared. Before version 4 there are no partition key indexes (section 4.2.5.4 of either).
pub fn prepared(
    out: &mut Vec<u8>,
    to: ReplyTo,
    id: &[u8],
    markers: &[ColumnSpec],
    key: &[u16],
    columns: &[ColumnSpec],
) {
    frame(out, to, Opcode::Result, |out| {
        write::int(out, KIND_PREPARED);
        write::short_bytes(out, id);
        let global = one_table(markers);
        write::int(out, if global { ROWS_GLOBAL_TABLES_SPEC } else { 0 });
        write::int(out, markers.len() as i32);
        if to.version >= 4 {
            write::int(out, key.len() as i32);
            key.iter().for_each(|index| write::short(out, *index));
        }
        columns_spec(out, to.version, markers, global);
        if columns.is_empty() {
            // Cassandra says with this flag and no columns that no rows will come.
            write::int(out, ROWS_NO_METADATA);
            write::int(out, 0);
        } else {
            rows_metadata(out, to.version, columns, false, None);
        }
    });
}

fn one_table(columns: &[ColumnSpec]) -> bool {
    !columns.is_empty()
        && columns.windows(2).all(|two| two[0].keyspace == two[1].keyspace && two[0].table == two[1].table)
}

/// The `<metadata>` of rows (section 4.2.5.2). Skipped metadata keep the flag for one table, as Cassandra's do.
pub fn rows_metadata(out: &mut Vec<u8>, version: u8, columns: &[ColumnSpec], skip: bool, paging_state: Option<&[u8]>) {
    let global = one_table(columns);
    let mut flags = if global { ROWS_GLOBAL_TABLES_SPEC } else { 0 };
    if paging_state.is_some() {
        flags |= ROWS_HAS_MORE_PAGES;
    }
    if skip {
        flags |= ROWS_NO_METADATA;
    }
    write::int(out, flags);
    write::int(out, columns.len() as i32);
    if paging_state.is_some() {
        write::bytes(out, paging_state);
    }
    if !skip {
        columns_spec(out, version, columns, global);
    }
}

fn columns_spec(out: &mut Vec<u8>, version: u8, columns: &[ColumnSpec], global: bool) {
    if let (true, Some(first)) = (global, columns.first()) {
        write::string(out, &first.keyspace);
        write::string(out, &first.table);
    }
    for column in columns {
        if !global {
            write::string(out, &column.keyspace);
            write::string(out, &column.table);
        }
        write::string(out, &column.name);
        column.ty.write_option(version, out);
    }
}

/// Rows of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Their number.
    pub count: i32,
    /// Their values, in the form of the answer.
    pub values: Vec<u8>,
    /// Where the next page begins, if there is one.
    pub paging_state: Option<Vec<u8>>,
}

/// Rows that no SELECT found, with their columns: the answers of DESCRIBE and of conditional statements.
pub type MadeRows = (Vec<ColumnSpec>, Rows);

impl Rows {
    /// Adds a row: a value for each column, or null.
    pub fn push<'v>(&mut self, row: impl IntoIterator<Item = Option<&'v [u8]>>) {
        self.count += 1;
        row.into_iter().for_each(|value| write::bytes(&mut self.values, value));
    }
}

/// RESULT Rows.
pub fn rows(out: &mut Vec<u8>, to: ReplyTo, columns: &[ColumnSpec], skip_metadata: bool, rows: &Rows) {
    frame(out, to, Opcode::Result, |out| {
        write::int(out, KIND_ROWS);
        rows_metadata(out, to.version, columns, skip_metadata, rows.paging_state.as_deref());
        write::int(out, rows.count);
        out.extend_from_slice(&rows.values);
    });
}

/// SCHEMA_CHANGE (sections 4.2.5.5 and 4.2.6).
fn put_schema_change(out: &mut Vec<u8>, change: &SchemaChange) {
    write::string(
        out,
        match change.change {
            ChangeType::Created => "CREATED",
            ChangeType::Updated => "UPDATED",
            ChangeType::Dropped => "DROPPED",
        },
    );
    let (what, name) = match &change.changed {
        Changed::Keyspace => ("KEYSPACE", None),
        Changed::Table(name) => ("TABLE", Some(name)),
        Changed::Type(name) => ("TYPE", Some(name)),
    };
    write::string(out, what);
    write::string(out, &change.keyspace);
    if let Some(name) = name {
        write::string(out, name);
    }
}

/// RESULT Schema_change.
pub fn schema_change(out: &mut Vec<u8>, to: ReplyTo, change: &SchemaChange) {
    frame(out, to, Opcode::Result, |out| {
        write::int(out, KIND_SCHEMA_CHANGE);
        put_schema_change(out, change);
    });
}

/// EVENT of a schema change.
pub fn schema_change_event(out: &mut Vec<u8>, version: u8, change: &SchemaChange) {
    frame(out, ReplyTo { version, stream: EVENT_STREAM }, Opcode::Event, |out| {
        write::string(out, "SCHEMA_CHANGE");
        put_schema_change(out, change);
    });
}

/// EVENT of STATUS_CHANGE or TOPOLOGY_CHANGE: what happened to a node, and its address.
pub fn node_event(out: &mut Vec<u8>, version: u8, kind: &str, change: &str, node: SocketAddr) {
    frame(out, ReplyTo { version, stream: EVENT_STREAM }, Opcode::Event, |out| {
        write::string(out, kind);
        write::string(out, change);
        match node.ip() {
            IpAddr::V4(ip) => {
                out.push(4);
                out.extend_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                out.push(16);
                out.extend_from_slice(&ip.octets());
            }
        }
        write::int(out, node.port().into());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO: ReplyTo = ReplyTo { version: 4, stream: 258 };

    #[test]
    fn a_void_answer_is_thirteen_bytes() {
        let mut out = Vec::new();
        void(&mut out, TO);
        assert_eq!(out, [0x84, 0, 1, 2, 0x08, 0, 0, 0, 4, 0, 0, 0, 1]);
        assert_eq!(frame_len(&out), out.len());
        assert_eq!(frames(&out.repeat(3)).collect::<Vec<_>>(), [&out[..]; 3]);
    }

    #[test]
    fn an_unprepared_error_carries_the_id() {
        let mut out = Vec::new();
        error(&mut out, TO, &CqlError::Unprepared(vec![0xAB, 1]));
        assert_eq!(out[9..13], 0x2500i32.to_be_bytes());
        assert!(out.ends_with(&[0, 2, 0xAB, 1]));
        assert!(String::from_utf8_lossy(&out).contains("ID ab01 not found"));
    }
}
