//! The bodies of requests (section 4.1), borrowed from the frame. A body that ends early or breaks the specification is
//! [`Malformed`].

use crate::types::{Malformed, Read, Reader, Value};

pub(crate) const QUERY_VALUES: u8 = 0x01;
pub(crate) const QUERY_SKIP_METADATA: u8 = 0x02;
pub(crate) const QUERY_PAGE_SIZE: u8 = 0x04;
pub(crate) const QUERY_PAGING_STATE: u8 = 0x08;
pub(crate) const QUERY_SERIAL_CONSISTENCY: u8 = 0x10;
pub(crate) const QUERY_TIMESTAMP: u8 = 0x20;
pub(crate) const QUERY_NAMED_VALUES: u8 = 0x40;

/// The greatest consistency of section 3 (LOCAL_ONE).
const GREATEST_CONSISTENCY: u16 = 0x000A;

/// Bound values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values<'a> {
    /// By position.
    Positional(Vec<Value<'a>>),
    /// By name.
    Named(Vec<(&'a str, Value<'a>)>),
}

impl Default for Values<'_> {
    fn default() -> Self {
        Values::Positional(Vec::new())
    }
}

/// `<query_parameters>` of QUERY and EXECUTE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryParameters<'a> {
    /// A consistency of section 3.
    pub consistency: u16,
    /// The bound values.
    pub values: Values<'a>,
    /// Whether rows come without metadata.
    pub skip_metadata: bool,
    /// Rows a page; none or not above zero: all in one.
    pub page_size: Option<i32>,
    /// Where the page before ended.
    pub paging_state: Option<&'a [u8]>,
    /// SERIAL or LOCAL_SERIAL.
    pub serial_consistency: Option<u16>,
    /// The client's timestamp, microseconds.
    pub timestamp: Option<i64>,
}

/// QUERY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// The statement.
    pub query: &'a str,
    /// Values, paging and so on.
    pub parameters: QueryParameters<'a>,
}

/// EXECUTE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The id that PREPARED gave.
    pub id: &'a [u8],
    /// Values, paging and so on.
    pub parameters: QueryParameters<'a>,
}

/// What one entry of a BATCH runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchQuery<'a> {
    /// Text.
    Text(&'a str),
    /// A prepared id.
    Id(&'a [u8]),
}

/// BATCH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// 0 logged, 1 unlogged, 2 counter.
    pub kind: u8,
    /// The statements with their values.
    pub statements: Vec<(BatchQuery<'a>, Vec<Value<'a>>)>,
    /// A consistency of section 3.
    pub consistency: u16,
    /// SERIAL or LOCAL_SERIAL.
    pub serial_consistency: Option<u16>,
    /// The client's timestamp, microseconds.
    pub timestamp: Option<i64>,
}

/// Reads `<query_parameters>`.
pub fn query_parameters<'a>(reader: &mut Reader<'a>, version: u8) -> Read<QueryParameters<'a>> {
    let consistency = consistency(reader)?;
    let flags = reader.byte()?;
    let values = match (flags & QUERY_VALUES != 0, flags & QUERY_NAMED_VALUES != 0) {
        (false, _) => Values::default(),
        (true, false) => Values::Positional(positional_values(reader, version)?),
        (true, true) => {
            let count = reader.short()?;
            Values::Named((0..count).map(|_| Ok((reader.string()?, reader.value(version)?))).collect::<Read<_>>()?)
        }
    };
    let page_size = if flags & QUERY_PAGE_SIZE != 0 { Some(reader.int()?) } else { None };
    let paging_state = if flags & QUERY_PAGING_STATE != 0 { reader.bytes()? } else { None };
    let serial_consistency = serial_consistency(reader, flags)?;
    let timestamp = timestamp(reader, flags)?;
    Ok(QueryParameters {
        consistency,
        values,
        skip_metadata: flags & QUERY_SKIP_METADATA != 0,
        page_size,
        paging_state,
        serial_consistency,
        timestamp,
    })
}

fn positional_values<'a>(reader: &mut Reader<'a>, version: u8) -> Read<Vec<Value<'a>>> {
    let count = reader.short()?;
    (0..count).map(|_| reader.value(version)).collect()
}

fn consistency(reader: &mut Reader<'_>) -> Read<u16> {
    match reader.short()? {
        known @ 0..=GREATEST_CONSISTENCY => Ok(known),
        unknown => Err(Malformed(format!("Unknown code {unknown} for a consistency level").into())),
    }
}

fn serial_consistency(reader: &mut Reader<'_>, flags: u8) -> Read<Option<u16>> {
    if flags & QUERY_SERIAL_CONSISTENCY == 0 { Ok(None) } else { consistency(reader).map(Some) }
}

fn timestamp(reader: &mut Reader<'_>, flags: u8) -> Read<Option<i64>> {
    if flags & QUERY_TIMESTAMP == 0 {
        return Ok(None);
    }
    match reader.long()? {
        i64::MIN => {
            Err(Malformed::new("Out of bound timestamp, must be in [-9223372036854775807, 9223372036854775807]"))
        }
        micros => Ok(Some(micros)),
    }
}

/// What follows the custom payload (section 2.2) at the start of a body.
pub fn after_custom_payload(body: &[u8]) -> Read<&[u8]> {
    let mut reader = Reader::new(body);
    for _ in 0..reader.short()? {
        reader.string()?;
        reader.bytes()?;
    }
    Ok(reader.rest)
}

/// Reads the body of STARTUP: its options.
pub fn startup(body: &[u8]) -> Read<Vec<(&str, &str)>> {
    Reader::new(body).string_map()
}

/// Reads the body of AUTH_RESPONSE: the token.
pub fn auth_response(body: &[u8]) -> Read<Option<&[u8]>> {
    Reader::new(body).bytes()
}

/// Reads the body of REGISTER: the kinds of events.
pub fn register(body: &[u8]) -> Read<Vec<&str>> {
    Reader::new(body).string_list()
}

/// Reads the body of PREPARE: the statement.
pub fn prepare(body: &[u8]) -> Read<&str> {
    Reader::new(body).long_string()
}

/// Reads the body of QUERY.
pub fn query(body: &[u8], version: u8) -> Read<Query<'_>> {
    let mut reader = Reader::new(body);
    Ok(Query { query: reader.long_string()?, parameters: query_parameters(&mut reader, version)? })
}

/// Reads the body of EXECUTE.
pub fn execute(body: &[u8], version: u8) -> Read<Execute<'_>> {
    let mut reader = Reader::new(body);
    Ok(Execute { id: reader.short_bytes()?, parameters: query_parameters(&mut reader, version)? })
}

/// Reads the body of BATCH. Values bound by name are refused: the specification says that they cannot work
/// (CASSANDRA-10246).
pub fn batch(body: &[u8], version: u8) -> Read<Batch<'_>> {
    let mut reader = Reader::new(body);
    let kind = match reader.byte()? {
        kind @ 0..=2 => kind,
        kind => return Err(Malformed(format!("Invalid batch type {kind}").into())),
    };
    let count = reader.short()?;
    let mut statements = Vec::new();
    for _ in 0..count {
        let what = match reader.byte()? {
            0 => BatchQuery::Text(reader.long_string()?),
            1 => BatchQuery::Id(reader.short_bytes()?),
            _ => {
                return Err(Malformed::new(
                    "Invalid query kind in BATCH messages. Must be 0 or 1 but got something else",
                ));
            }
        };
        statements.push((what, positional_values(&mut reader, version)?));
    }
    let consistency = consistency(&mut reader)?;
    // Section 4.1.7: flags are there from version 3 on.
    let flags = reader.byte()?;
    if flags & QUERY_NAMED_VALUES != 0 {
        return Err(Malformed::new("Values of a BATCH cannot be bound by name"));
    }
    let serial_consistency = serial_consistency(&mut reader, flags)?;
    let timestamp = timestamp(&mut reader, flags)?;
    Ok(Batch { kind, statements, consistency, serial_consistency, timestamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_query_parameters_are_read_in_the_order_of_the_specification() {
        let mut body = Vec::new();
        body.extend_from_slice(&[0, 2, 0xAB, 0xCD]);
        body.extend_from_slice(&[0, 10, 0x3F]);
        body.extend_from_slice(&[0, 2, 0, 0, 0, 1, 7, 0xFF, 0xFF, 0xFF, 0xFE]);
        body.extend_from_slice(&[0, 0, 0, 100]);
        body.extend_from_slice(&[0, 0, 0, 2, 5, 6]);
        body.extend_from_slice(&[0, 8]);
        body.extend_from_slice(&42i64.to_be_bytes());
        let execute = execute(&body, 4).unwrap();
        assert_eq!(execute.id, [0xAB, 0xCD]);
        assert_eq!(
            execute.parameters,
            QueryParameters {
                consistency: 10,
                values: Values::Positional(vec![Value::Bytes(&[7]), Value::Unset]),
                skip_metadata: true,
                page_size: Some(100),
                paging_state: Some(&[5, 6]),
                serial_consistency: Some(8),
                timestamp: Some(42),
            }
        );
        for len in 0..body.len() {
            assert!(super::execute(&body[..len], 4).is_err(), "cut to {len} bytes");
        }
    }

    #[test]
    fn a_batch_of_text_and_id_is_read() {
        let mut body = vec![1, 0, 2];
        body.extend_from_slice(&[0, 0, 0, 0, 1, b'x', 0, 0]);
        body.extend_from_slice(&[1, 0, 1, 9, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF]);
        body.extend_from_slice(&[0, 1, 0]);
        let batch = batch(&body, 4).unwrap();
        assert_eq!(batch.kind, 1);
        assert_eq!(batch.statements, vec![(BatchQuery::Text("x"), vec![]), (BatchQuery::Id(&[9]), vec![Value::Null])]);
    }
}
