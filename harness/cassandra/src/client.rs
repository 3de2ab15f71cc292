//! As much of the CQL binary protocol v4 as it takes to ask a node of ours a question.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a node may take for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// No answer that is asked for here is longer.
const MOST_BYTES: usize = 1 << 20;

const STARTUP: u8 = 0x01;
const READY: u8 = 0x02;
const AUTHENTICATE: u8 = 0x03;
const QUERY: u8 = 0x07;
const RESULT: u8 = 0x08;
const AUTH_RESPONSE: u8 = 0x0F;
const AUTH_SUCCESS: u8 = 0x10;
/// Opcodes of requests have version 4, and those of answers its highest bit, too.
const VERSION: u8 = 4;
/// A RESULT of rows, and the flags that say that its columns are not described, and that there are more of them.
const ROWS: i32 = 2;
const NO_METADATA: i32 = 4;
const MORE_PAGES: i32 = 2;
const CONSISTENCY_ONE: [u8; 2] = [0, 1];
const SKIP_METADATA: u8 = 2;

/// A row, by column; `None` for null.
pub(crate) type Row = Vec<Option<Vec<u8>>>;

/// User and password, where nodes ask for them.
pub(crate) type Login = Option<(String, String)>;

/// The rows that answer `cql`.
pub(crate) fn query(node: SocketAddr, login: &Login, cql: &str) -> io::Result<Vec<Row>> {
    let mut stream = TcpStream::connect_timeout(&node, ANSWER_WITHIN)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.set_write_timeout(Some(ANSWER_WITHIN))?;
    let mut startup = vec![0, 1];
    for text in ["CQL_VERSION", "3.0.0"] {
        startup.extend((text.len() as u16).to_be_bytes());
        startup.extend(text.as_bytes());
    }
    match login {
        None => drop(exchange(&mut stream, STARTUP, &startup, READY)?),
        Some((user, password)) => {
            exchange(&mut stream, STARTUP, &startup, AUTHENTICATE)?;
            // The token of SASL PLAIN.
            let token = format!("\0{user}\0{password}");
            let mut body = (token.len() as u32).to_be_bytes().to_vec();
            body.extend(token.as_bytes());
            exchange(&mut stream, AUTH_RESPONSE, &body, AUTH_SUCCESS)?;
        }
    }
    let mut body = (cql.len() as u32).to_be_bytes().to_vec();
    body.extend(cql.as_bytes());
    body.extend(CONSISTENCY_ONE);
    body.push(SKIP_METADATA);
    let answer = exchange(&mut stream, QUERY, &body, RESULT)?;
    rows(&answer).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it answered with no rows"))
}

/// Sends a frame and reads the body of its answer.
fn exchange(stream: &mut TcpStream, opcode: u8, body: &[u8], expected: u8) -> io::Result<Vec<u8>> {
    let mut frame = vec![VERSION, 0, 0, 0, opcode];
    frame.extend((body.len() as u32).to_be_bytes());
    frame.extend(body);
    stream.write_all(&frame)?;
    let mut header = [0; 9];
    stream.read_exact(&mut header)?;
    let [.., found, a, b, c, d] = header;
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if found != expected || length > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it answered with opcode {found:#04x}")));
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer)?;
    // A warning comes first, such as that of an aggregate.
    let warned = if header[1] & 0x08 != 0 { strings(&answer) } else { Some(0) };
    Ok(warned.and_then(|length| answer.get(length..)).unwrap_or_default().to_vec())
}

/// The length of a list of strings.
fn strings(bytes: &[u8]) -> Option<usize> {
    let number = |at: usize| Some(usize::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    (0..number(0)?).try_fold(2, |at, _| Some(at + 2 + number(at)?))
}

fn rows(bytes: &[u8]) -> Option<Vec<Row>> {
    let mut rest = bytes;
    let number = |rest: &mut &[u8]| {
        let (first, behind) = rest.split_first_chunk::<4>()?;
        *rest = behind;
        Some(i32::from_be_bytes(*first))
    };
    let (kind, flags) = (number(&mut rest)?, number(&mut rest)?);
    if kind != ROWS || flags & (NO_METADATA | MORE_PAGES) != NO_METADATA {
        return None;
    }
    let (columns, count) = (number(&mut rest)?, number(&mut rest)?);
    let mut rows = Vec::new();
    for _ in 0..count {
        let mut row = Row::new();
        for _ in 0..columns {
            row.push(match usize::try_from(number(&mut rest)?) {
                Err(_) => None,
                Ok(length) => {
                    let (cell, behind) = rest.split_at_checked(length)?;
                    rest = behind;
                    Some(cell.to_vec())
                }
            });
        }
        rows.push(row);
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_nulls_and_a_torn_answer_is_none() {
        let numbers = |all: &[i32]| all.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
        let mut answer = numbers(&[ROWS, NO_METADATA | 1, 2, 1, 2]);
        answer.extend(b"ab");
        answer.extend(numbers(&[-1]));
        assert_eq!(rows(&answer), Some(vec![vec![Some(b"ab".to_vec()), None]]));
        assert_eq!(rows(&answer[..answer.len() - 1]), None);
        assert_eq!(rows(&numbers(&[1])), None);
        assert_eq!(strings(&[0, 1, 0, 2, b'a', b'b', 9]), Some(6));
    }
}
