//! As much of a CQL client as it takes to ask a node of ours a question, with the codec of the embedded cluster.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use cqldyno_cluster::codec::frame::{FLAG_WARNING, HEADER_LEN, Header, Opcode};
use cqldyno_cluster::codec::response::{KIND_ROWS, ROWS_HAS_MORE_PAGES, ROWS_NO_METADATA};
use cqldyno_cluster::codec::write;
use cqldyno_cluster::types::{Malformed, Read as Parsed, Reader};

/// How long a node may take for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// No answer that is asked for here is longer.
const MOST_BYTES: usize = 1 << 20;
/// Codes of consistencies: an answer of one replica, and of all.
pub(crate) const ONE: u16 = 1;
pub(crate) const ALL: u16 = 5;
const SKIP_METADATA: u8 = 2;

/// A row, by column; `None` for null.
pub(crate) type Row = Vec<Option<Vec<u8>>>;

/// User and password, where nodes ask for them.
pub(crate) type Login = Option<(String, String)>;

/// The rows that answer `cql` at this consistency.
pub(crate) fn query(node: SocketAddr, login: &Login, cql: &str, consistency: u16) -> io::Result<Vec<Row>> {
    let mut stream = TcpStream::connect_timeout(&node, ANSWER_WITHIN)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.set_write_timeout(Some(ANSWER_WITHIN))?;
    let mut body = Vec::new();
    write::short(&mut body, 1);
    write::string(&mut body, "CQL_VERSION");
    write::string(&mut body, "3.0.0");
    match login {
        None => drop(exchange(&mut stream, Opcode::Startup, &body, Opcode::Ready)?),
        Some((user, password)) => {
            exchange(&mut stream, Opcode::Startup, &body, Opcode::Authenticate)?;
            body.clear();
            // The token of SASL PLAIN.
            write::bytes(&mut body, Some(format!("\0{user}\0{password}").as_bytes()));
            exchange(&mut stream, Opcode::AuthResponse, &body, Opcode::AuthSuccess)?;
        }
    }
    body.clear();
    write::long_string(&mut body, cql);
    write::short(&mut body, consistency);
    body.push(SKIP_METADATA);
    let answer = exchange(&mut stream, Opcode::Query, &body, Opcode::Result)?;
    rows(&answer).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it answered with no rows"))
}

/// Sends a frame and reads the body of its answer.
fn exchange(stream: &mut TcpStream, opcode: Opcode, body: &[u8], expected: Opcode) -> io::Result<Vec<u8>> {
    let header = Header { version: 4, flags: 0, stream: 0, opcode: opcode as u8, length: body.len() };
    stream.write_all(&[&header.encode(false)[..], body].concat())?;
    let mut header = [0; HEADER_LEN];
    stream.read_exact(&mut header)?;
    let [_, flags, _, _, found, a, b, c, d] = header;
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if found != expected as u8 || length > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it answered with opcode {found:#04x}")));
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer)?;
    let mut reader = Reader::new(&answer);
    // A warning comes first, such as that of an aggregate.
    if flags & FLAG_WARNING != 0 {
        reader.string_list().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    }
    Ok(reader.rest.to_vec())
}

/// The rows of a RESULT, without metadata and all in one page.
fn rows(answer: &[u8]) -> Parsed<Vec<Row>> {
    let mut reader = Reader::new(answer);
    let (kind, flags) = (reader.int()?, reader.int()?);
    if kind != KIND_ROWS || flags & (ROWS_NO_METADATA | ROWS_HAS_MORE_PAGES) != ROWS_NO_METADATA {
        return Err(Malformed::new("The answer is no page of rows"));
    }
    let (columns, count) = (reader.int()?, reader.int()?);
    if columns < 1 {
        return Err(Malformed::new("The answer has rows without columns"));
    }
    let mut row = || (0..columns).map(|_| Ok(reader.bytes()?.map(<[u8]>::to_vec))).collect();
    (0..count).map(|_| row()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_nulls_and_a_torn_answer_is_refused() {
        let numbers = |all: &[i32]| all.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
        let mut answer = numbers(&[KIND_ROWS, ROWS_NO_METADATA | 1, 2, 1, 2]);
        answer.extend(b"ab");
        answer.extend(numbers(&[-1]));
        assert_eq!(rows(&answer), Ok(vec![vec![Some(b"ab".to_vec()), None]]));
        assert!(rows(&answer[..answer.len() - 1]).is_err());
        assert!(rows(&numbers(&[1])).is_err());
    }
}
