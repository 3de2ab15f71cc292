//! A client that encodes and decodes by hand, so that a mistake in the node's codec is not made twice.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use cqldyno_cluster::{Credentials, Node, NodeOptions};

use super::answer::Reader;
pub use super::answer::{Answer, Prepared, Rows, SchemaChange};

pub const STARTUP: u8 = 0x01;
pub const OPTIONS: u8 = 0x05;
pub const QUERY: u8 = 0x07;
pub const PREPARE: u8 = 0x09;
pub const EXECUTE: u8 = 0x0A;
pub const REGISTER: u8 = 0x0B;
pub const BATCH: u8 = 0x0D;
pub const AUTH_RESPONSE: u8 = 0x0F;

/// A node on a free port.
pub fn node() -> Node {
    Node::start(NodeOptions::default()).unwrap()
}

/// A node that asks for a password.
pub fn node_with_password(user: &str, password: &str) -> Node {
    let credentials = Some(Credentials { user: user.to_owned(), password: password.to_owned() });
    Node::start(NodeOptions { credentials, ..NodeOptions::default() }).unwrap()
}

/// A value to bind.
#[derive(Clone, Debug, PartialEq)]
pub enum Bind {
    Bytes(Vec<u8>),
    Null,
    Unset,
}

pub fn int(value: i32) -> Bind {
    Bind::Bytes(value.to_be_bytes().to_vec())
}

pub fn bigint(value: i64) -> Bind {
    Bind::Bytes(value.to_be_bytes().to_vec())
}

pub fn text(value: &str) -> Bind {
    Bind::Bytes(value.as_bytes().to_vec())
}

/// What comes with a QUERY or EXECUTE.
#[derive(Clone, Debug)]
pub struct Parameters {
    pub consistency: u16,
    pub values: Vec<Bind>,
    pub names: Vec<&'static str>,
    pub skip_metadata: bool,
    pub page_size: Option<i32>,
    pub paging_state: Option<Vec<u8>>,
    pub serial_consistency: Option<u16>,
    pub timestamp: Option<i64>,
}

impl Default for Parameters {
    fn default() -> Self {
        const LOCAL_ONE: u16 = 10;
        Parameters {
            consistency: LOCAL_ONE,
            values: Vec::new(),
            names: Vec::new(),
            skip_metadata: false,
            page_size: None,
            paging_state: None,
            serial_consistency: None,
            timestamp: None,
        }
    }
}

impl Parameters {
    pub fn values(values: &[Bind]) -> Self {
        Parameters { values: values.to_vec(), ..Parameters::default() }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.consistency.to_be_bytes());
        let mut flags = 0;
        flags |= u8::from(!self.values.is_empty());
        flags |= u8::from(self.skip_metadata) << 1;
        flags |= u8::from(self.page_size.is_some()) << 2;
        flags |= u8::from(self.paging_state.is_some()) << 3;
        flags |= u8::from(self.serial_consistency.is_some()) << 4;
        flags |= u8::from(self.timestamp.is_some()) << 5;
        flags |= u8::from(!self.names.is_empty()) << 6;
        out.push(flags);
        if !self.values.is_empty() {
            write_values(out, &self.values, &self.names);
        }
        if let Some(page_size) = self.page_size {
            out.extend_from_slice(&page_size.to_be_bytes());
        }
        if let Some(state) = &self.paging_state {
            write_bytes(out, state);
        }
        if let Some(serial) = self.serial_consistency {
            out.extend_from_slice(&serial.to_be_bytes());
        }
        if let Some(timestamp) = self.timestamp {
            out.extend_from_slice(&timestamp.to_be_bytes());
        }
    }
}

fn write_values(out: &mut Vec<u8>, values: &[Bind], names: &[&str]) {
    out.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for (at, value) in values.iter().enumerate() {
        if let Some(name) = names.get(at) {
            write_string(out, name);
        }
        match value {
            Bind::Bytes(bytes) => write_bytes(out, bytes),
            Bind::Null => out.extend_from_slice(&(-1i32).to_be_bytes()),
            Bind::Unset => out.extend_from_slice(&(-2i32).to_be_bytes()),
        }
    }
}

pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

pub fn write_long_string(out: &mut Vec<u8>, text: &str) {
    write_bytes(out, text.as_bytes());
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// A header and a body as they came.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub version: u8,
    pub flags: u8,
    pub stream: i16,
    pub opcode: u8,
    pub body: Vec<u8>,
}

/// A connection.
pub struct Client {
    pub socket: TcpStream,
    pub version: u8,
    stream: i16,
}

/// One statement of a BATCH frame.
pub enum BatchStatement<'a> {
    Text(&'a str),
    Id(&'a [u8]),
}

impl Client {
    /// A connection before STARTUP.
    pub fn silent(address: SocketAddr) -> Client {
        let socket = TcpStream::connect(address).unwrap();
        // No test waits for that long: it makes a missing answer a failure instead of a hang.
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.set_nodelay(true).unwrap();
        Client { socket, version: 4, stream: 0 }
    }

    /// A connection that is ready for statements.
    pub fn connect(node: &Node) -> Client {
        let mut client = Client::silent(node.address());
        assert_eq!(client.startup(), Answer::Ready);
        client
    }

    /// A connection that is ready for statements, in a keyspace `ks` that is there.
    pub fn in_keyspace(node: &Node) -> Client {
        let mut client = Client::connect(node);
        client.query(
            "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        );
        assert_eq!(client.query("USE ks"), Answer::SetKeyspace("ks".to_owned()));
        client
    }

    pub fn startup(&mut self) -> Answer {
        let mut body = vec![0, 1];
        write_string(&mut body, "CQL_VERSION");
        write_string(&mut body, "3.0.0");
        self.request(STARTUP, &body)
    }

    pub fn log_in(&mut self, user: &str, password: &str) -> Answer {
        let mut body = Vec::new();
        write_bytes(&mut body, format!("\0{user}\0{password}").as_bytes());
        self.request(AUTH_RESPONSE, &body)
    }

    /// Sends a frame on the next stream, and returns the stream.
    pub fn send(&mut self, opcode: u8, body: &[u8]) -> i16 {
        self.stream = self.stream.wrapping_add(1) & i16::MAX;
        let frame = frame(self.version, self.stream, opcode, body);
        self.socket.write_all(&frame).unwrap();
        self.stream
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// Reads one frame.
    pub fn frame(&mut self) -> io::Result<Frame> {
        let mut header = [0; 9];
        self.socket.read_exact(&mut header)?;
        let mut body = vec![0; u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize];
        self.socket.read_exact(&mut body)?;
        let [version, flags, s0, s1, opcode, ..] = header;
        Ok(Frame { version, flags, stream: i16::from_be_bytes([s0, s1]), opcode, body })
    }

    /// Sends a frame and reads its answer.
    pub fn request(&mut self, opcode: u8, body: &[u8]) -> Answer {
        let stream = self.send(opcode, body);
        let frame = self.frame().unwrap();
        assert_eq!(frame.version, self.version | 0x80);
        assert_eq!((frame.stream, frame.flags), (stream, 0));
        self.read(&frame)
    }

    /// Sends a frame that asks for a trace: the id of one, if the answer has it, and the answer.
    pub fn traced(&mut self, opcode: u8, body: &[u8]) -> (Option<[u8; 16]>, Answer) {
        const TRACING: u8 = 0x02;
        let mut asked = frame(self.version, 7, opcode, body);
        asked[1] = TRACING;
        self.send_bytes(&asked);
        let mut frame = self.frame().unwrap();
        let id = (frame.flags == TRACING).then(|| frame.body.drain(..16).collect::<Vec<u8>>().try_into().unwrap());
        assert!(id.is_some() || frame.flags == 0);
        (id, self.read(&frame))
    }

    pub fn read(&self, frame: &Frame) -> Answer {
        let mut reader = Reader { rest: &frame.body, version: frame.version & 0x7f };
        let answer = reader.answer(frame.opcode);
        assert!(
            reader.rest.is_empty() || matches!(answer, Answer::Error { .. }),
            "{} bytes too many",
            reader.rest.len()
        );
        answer
    }

    /// Whether the node has closed the connection, after which nothing more comes.
    pub fn is_closed(&mut self) -> bool {
        match self.socket.read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    pub fn query(&mut self, query: &str) -> Answer {
        self.query_with(query, &Parameters::default())
    }

    pub fn query_with(&mut self, query: &str, parameters: &Parameters) -> Answer {
        let body = query_body(query, parameters);
        self.request(QUERY, &body)
    }

    /// Runs a statement that must succeed without rows.
    pub fn run(&mut self, query: &str) {
        match self.query(query) {
            Answer::Void | Answer::SchemaChange(_) => {}
            other => panic!("{query}: {other:?}"),
        }
    }

    pub fn rows(&mut self, query: &str) -> Rows {
        match self.query(query) {
            Answer::Rows(rows) => rows,
            other => panic!("{query}: {other:?}"),
        }
    }

    pub fn prepare(&mut self, query: &str) -> Prepared {
        match self.request(PREPARE, &prepare_body(query)) {
            Answer::Prepared(prepared) => prepared,
            other => panic!("{query}: {other:?}"),
        }
    }

    pub fn execute(&mut self, id: &[u8], values: &[Bind]) -> Answer {
        self.execute_with(id, &Parameters::values(values))
    }

    pub fn execute_with(&mut self, id: &[u8], parameters: &Parameters) -> Answer {
        self.request(EXECUTE, &execute_body(id, parameters))
    }

    /// A logged BATCH.
    pub fn batch(&mut self, statements: &[(BatchStatement<'_>, &[Bind])], timestamp: Option<i64>) -> Answer {
        self.batch_of_kind(0, statements, timestamp)
    }

    pub fn batch_of_kind(
        &mut self,
        kind: u8,
        statements: &[(BatchStatement<'_>, &[Bind])],
        timestamp: Option<i64>,
    ) -> Answer {
        let mut body = vec![kind];
        body.extend_from_slice(&(statements.len() as u16).to_be_bytes());
        for (statement, values) in statements {
            match statement {
                BatchStatement::Text(text) => {
                    body.push(0);
                    write_long_string(&mut body, text);
                }
                BatchStatement::Id(id) => {
                    body.push(1);
                    body.extend_from_slice(&(id.len() as u16).to_be_bytes());
                    body.extend_from_slice(id);
                }
            }
            write_values(&mut body, values, &[]);
        }
        body.extend_from_slice(&[0, 10, u8::from(timestamp.is_some()) << 5]);
        if let Some(timestamp) = timestamp {
            body.extend_from_slice(&timestamp.to_be_bytes());
        }
        self.request(BATCH, &body)
    }
}

pub fn frame(version: u8, stream: i16, opcode: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![version, 0];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.push(opcode);
    frame.extend_from_slice(&(body.len() as u32).to_be_bytes());
    frame.extend_from_slice(body);
    frame
}

pub fn query_body(query: &str, parameters: &Parameters) -> Vec<u8> {
    let mut body = Vec::new();
    write_long_string(&mut body, query);
    parameters.write(&mut body);
    body
}

pub fn prepare_body(query: &str) -> Vec<u8> {
    let mut body = Vec::new();
    write_long_string(&mut body, query);
    body
}

pub fn execute_body(id: &[u8], parameters: &Parameters) -> Vec<u8> {
    let mut body = (id.len() as u16).to_be_bytes().to_vec();
    body.extend_from_slice(id);
    parameters.write(&mut body);
    body
}
