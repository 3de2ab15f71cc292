//! A whole connection: what a client may send, in any order and cut anywhere, to a node without sockets.
//!
//! The bytes that come back must be whole frames of the protocol, and a second connection must find the node well.

#![no_main]

use std::cell::RefCell;

use arbitrary::Arbitrary;
use cqldyno_cluster::{Credentials, SocketlessNode};
use libfuzzer_sys::fuzz_target;

/// Something that a client sends.
#[derive(Arbitrary, Debug)]
enum Step<'a> {
    /// Bytes that may be anything.
    Raw(&'a [u8]),
    /// A frame whose header tells the truth about its length.
    Frame { version_3: bool, flags: u8, stream: i16, opcode: u8, body: &'a [u8] },
    /// STARTUP as it should be, in case that a random one failed.
    Startup,
    /// The right password.
    Password,
    /// A statement, run at once.
    Query { text: &'a str, parameters: Parameters<'a> },
    /// A statement of which it is known that it makes sense.
    Known { statement: u8, parameters: Parameters<'a> },
    /// PREPARE of a statement that makes sense.
    PrepareKnown { statement: u8 },
    /// PREPARE.
    Prepare(&'a str),
    /// EXECUTE of a statement that makes sense, prepared before or not.
    Execute { statement: u8, parameters: Parameters<'a> },
    /// EXECUTE of a statement that makes sense with parameters that may not.
    ExecuteRaw { statement: u8, parameters: &'a [u8] },
    /// BATCH.
    Batch { kind: u8, statements: Vec<(u8, Vec<Bind<'a>>)>, end: &'a [u8] },
    /// REGISTER for changes of the schema.
    Register,
    /// What follows comes with the next read.
    Cut,
}

#[derive(Arbitrary, Debug)]
enum Bind<'a> {
    Bytes(&'a [u8]),
    Long(i64),
    Int(i32),
    Text(&'a str),
    Null,
    Unset,
}

#[derive(Arbitrary, Debug)]
struct Parameters<'a> {
    consistency: u8,
    skip_metadata: bool,
    values: Option<Vec<Bind<'a>>>,
    page_size: Option<i32>,
    /// The paging state of the answer before, or one's own.
    paging_state: Option<&'a [u8]>,
    timestamp: Option<i64>,
}

const STATEMENTS: [&str; 36] = [
    "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "USE ks",
    "CREATE TABLE ks.bench (pk bigint PRIMARY KEY, v1 bigint, v2 bigint)",
    "CREATE TABLE ks.wide (a int, b text, c int, s text STATIC, v int, m map<text, int>, PRIMARY KEY ((a, b), c)) \
     WITH CLUSTERING ORDER BY (c DESC)",
    "INSERT INTO ks.bench (pk, v1, v2) VALUES (?, ?, ?)",
    "SELECT v1, v2 FROM ks.bench WHERE pk = ?",
    "SELECT * FROM ks.bench",
    "UPDATE ks.bench USING TIMESTAMP ? SET v1 = ? WHERE pk = ?",
    "DELETE v1 FROM ks.bench WHERE pk = ?",
    "DELETE FROM ks.bench WHERE pk IN ?",
    "INSERT INTO ks.wide (a, b, c, s, v, m) VALUES (1, 'x', ?, ?, ?, ?)",
    "INSERT INTO ks.wide (a, b, c, v) VALUES (?, ?, ?, ?)",
    "SELECT * FROM ks.wide WHERE a = 1 AND b = 'x' AND c > ? ORDER BY c ASC LIMIT ?",
    "SELECT c, s, writetime(v), toJson(m) FROM ks.wide PER PARTITION LIMIT 2",
    "DELETE FROM ks.wide WHERE a = 1 AND b = 'x' AND c >= ? AND c < ?",
    "DELETE FROM ks.wide WHERE a = ? AND b = ?",
    "SELECT count(*), count(v) FROM ks.wide WHERE token(a, b) > ?",
    "SELECT * FROM ks.wide WHERE v = ? ALLOW FILTERING",
    "TRUNCATE ks.wide",
    "DROP TABLE ks.bench",
    "DROP KEYSPACE IF EXISTS ks",
    "BEGIN BATCH INSERT INTO ks.bench (pk, v1) VALUES (?, ?) UPDATE ks.wide SET s = ? WHERE a = 1 AND b = 'x' APPLY BATCH",
    "SELECT * FROM system_schema.columns WHERE keyspace_name = ? LIMIT 5",
    "SELECT * FROM system.local",
    "CREATE TABLE ks.counts (pk int, ck int, s counter STATIC, c counter, PRIMARY KEY (pk, ck))",
    "UPDATE ks.counts SET c = c + ?, s = s - ? WHERE pk = 1 AND ck = ?",
    "SELECT * FROM ks.counts",
    "CREATE TYPE ks.place (x int, name text)",
    "CREATE TABLE ks.places (pk int PRIMARY KEY, u place, f frozen<place>, v vector<float, 1>)",
    "UPDATE ks.places SET u.x = ?, f = ?, v = ? WHERE pk = 1",
    "SELECT u.x, toJson(f), v FROM ks.places",
    "ALTER TYPE ks.place ADD more int",
    "ALTER TABLE ks.bench ADD v3 text",
    "ALTER TABLE ks.bench DROP v1",
    "ALTER TABLE ks.wide ADD s2 int STATIC",
    "ALTER TABLE ks.wide DROP m",
];

/// How many of the statements set the tables up.
const SET_UP: usize = 4;

const STARTUP: &[u8] = b"\0\x01\0\x0bCQL_VERSION\0\x053.0.0";

fn frame(out: &mut Vec<u8>, version: u8, flags: u8, stream: i16, opcode: u8, body: &[u8]) {
    out.extend_from_slice(&[version, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.push(opcode);
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(body);
}

fn request(out: &mut Vec<u8>, opcode: u8, body: &[u8]) {
    frame(out, 4, 0, 1, opcode, body);
}

fn bytes(out: &mut Vec<u8>, content: &[u8]) {
    out.extend_from_slice(&(content.len() as i32).to_be_bytes());
    out.extend_from_slice(content);
}

fn values(out: &mut Vec<u8>, values: &[Bind<'_>]) {
    out.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        match value {
            Bind::Bytes(content) => bytes(out, content),
            Bind::Long(value) => bytes(out, &value.to_be_bytes()),
            Bind::Int(value) => bytes(out, &value.to_be_bytes()),
            Bind::Text(text) => bytes(out, text.as_bytes()),
            Bind::Null => out.extend_from_slice(&(-1i32).to_be_bytes()),
            Bind::Unset => out.extend_from_slice(&(-2i32).to_be_bytes()),
        }
    }
}

impl Parameters<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0, self.consistency % 12]);
        let mut flags = u8::from(self.skip_metadata) << 1;
        flags |= u8::from(self.values.is_some());
        flags |= u8::from(self.page_size.is_some()) << 2;
        flags |= u8::from(self.paging_state.is_some()) << 3;
        flags |= u8::from(self.timestamp.is_some()) << 5;
        out.push(flags);
        if let Some(all) = &self.values {
            values(out, all);
        }
        if let Some(page_size) = self.page_size {
            out.extend_from_slice(&page_size.to_be_bytes());
        }
        if let Some(state) = self.paging_state {
            bytes(out, state);
        }
        if let Some(timestamp) = self.timestamp {
            out.extend_from_slice(&timestamp.to_be_bytes());
        }
    }
}

fn known(statement: u8) -> &'static str {
    STATEMENTS[usize::from(statement) % STATEMENTS.len()]
}

/// The ids of the known statements, which depend on nothing but their text.
struct Ids(Vec<Vec<u8>>);

impl Ids {
    fn ask() -> Ids {
        let node = node(None);
        let mut ids = Vec::new();
        for statement in STATEMENTS {
            let mut sent = Vec::new();
            request(&mut sent, 0x01, STARTUP);
            if ids.len() < SET_UP {
                query(&mut sent, STATEMENTS[ids.len()]);
            }
            let mut body = Vec::new();
            bytes(&mut body, statement.as_bytes());
            request(&mut sent, 0x09, &body);
            let answers = node.connection([&sent[..]]);
            let Some((_, prepared)) = frames(&answers).last().copied() else { panic!("no answer") };
            // PREPARED: its kind, then the id as [short bytes]. What is refused (creating what is there) has no id.
            ids.push(if prepared.starts_with(&[0, 0, 0, 4]) { prepared[6..22].to_vec() } else { vec![0; 16] });
        }
        Ids(ids)
    }

    fn of(&self, statement: u8) -> &[u8] {
        &self.0[usize::from(statement) % STATEMENTS.len()]
    }
}

fn query(out: &mut Vec<u8>, text: &str) {
    let mut body = Vec::new();
    bytes(&mut body, text.as_bytes());
    body.extend_from_slice(&[0, 10, 0]);
    request(out, 0x07, &body);
}

fn node(credentials: Option<Credentials>) -> SocketlessNode {
    SocketlessNode::new(credentials).expect("a runtime")
}

/// The opcodes and bodies of whole frames.
fn frames(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut frames = Vec::new();
    while let Some(header) = bytes.first_chunk::<9>() {
        assert!(matches!(header[0], 0x83 | 0x84), "version byte {:#04x}", header[0]);
        let length = u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize;
        let (frame, rest) = bytes.split_at_checked(9 + length).expect("whole frames");
        frames.push((header[4], &frame[9..]));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "half a header");
    frames
}

impl Step<'_> {
    fn write(&self, out: &mut Vec<u8>, ids: &Ids) {
        let mut body = Vec::new();
        match self {
            Step::Raw(raw) => out.extend_from_slice(raw),
            Step::Frame { version_3, flags, stream, opcode, body } => {
                frame(out, if *version_3 { 3 } else { 4 }, *flags, *stream, *opcode, body);
            }
            Step::Startup => request(out, 0x01, STARTUP),
            Step::Password => {
                bytes(&mut body, b"\0ann\0secret");
                request(out, 0x0F, &body);
            }
            Step::Query { text, parameters } => {
                bytes(&mut body, text.as_bytes());
                parameters.write(&mut body);
                request(out, 0x07, &body);
            }
            Step::Known { statement, parameters } => {
                bytes(&mut body, known(*statement).as_bytes());
                parameters.write(&mut body);
                request(out, 0x07, &body);
            }
            Step::PrepareKnown { statement } => {
                bytes(&mut body, known(*statement).as_bytes());
                request(out, 0x09, &body);
            }
            Step::Prepare(text) => {
                bytes(&mut body, text.as_bytes());
                request(out, 0x09, &body);
            }
            Step::Execute { statement, parameters } => {
                body.extend_from_slice(&[0, 16]);
                body.extend_from_slice(ids.of(*statement));
                parameters.write(&mut body);
                request(out, 0x0A, &body);
            }
            Step::ExecuteRaw { statement, parameters } => {
                body.extend_from_slice(&[0, 16]);
                body.extend_from_slice(ids.of(*statement));
                body.extend_from_slice(parameters);
                request(out, 0x0A, &body);
            }
            Step::Batch { kind, statements, end } => {
                body.push(kind % 4);
                body.extend_from_slice(&(statements.len() as u16).to_be_bytes());
                for (statement, binds) in statements {
                    if statement & 0x80 == 0 {
                        body.push(1);
                        body.extend_from_slice(&[0, 16]);
                        body.extend_from_slice(ids.of(*statement));
                    } else {
                        body.push(0);
                        bytes(&mut body, known(statement & 0x7f).as_bytes());
                    }
                    values(&mut body, binds);
                }
                body.extend_from_slice(if end.is_empty() { &[0, 10, 0] } else { end });
                request(out, 0x0D, &body);
            }
            Step::Register => request(out, 0x0B, b"\0\x01\0\x0dSCHEMA_CHANGE"),
            Step::Cut => {}
        }
    }
}

thread_local! {
    static IDS: Ids = Ids::ask();
    static NODES: RefCell<Option<(u32, [SocketlessNode; 2])>> = const { RefCell::new(None) };
}

/// A node that is new again from time to time, so that it does not fill up.
fn with_node(password: bool, run: impl FnOnce(&SocketlessNode)) {
    NODES.with_borrow_mut(|nodes| {
        if nodes.as_ref().is_none_or(|(runs, _)| *runs >= 256) {
            let credentials = Some(Credentials { user: "ann".to_owned(), password: "secret".to_owned() });
            *nodes = Some((0, [node(None), node(credentials)]));
        }
        if let Some((runs, both)) = nodes {
            *runs += 1;
            run(&both[usize::from(password)]);
        }
    });
}

fuzz_target!(|input: (bool, bool, Vec<Step<'_>>)| {
    let (password, set_up, steps) = input;
    let mut pieces = vec![Vec::new()];
    if let Some(first) = pieces.first_mut().filter(|_| set_up) {
        Step::Startup.write(first, &IDS.with(|_| Ids(Vec::new())));
        if password {
            Step::Password.write(first, &Ids(Vec::new()));
        }
        query(first, "DROP KEYSPACE IF EXISTS ks");
        STATEMENTS.iter().take(SET_UP).for_each(|statement| query(first, statement));
        for statement in STATEMENTS {
            let mut body = Vec::new();
            bytes(&mut body, statement.as_bytes());
            request(first, 0x09, &body);
        }
    }
    IDS.with(|ids| {
        for step in &steps {
            match (step, pieces.last_mut()) {
                (Step::Cut, _) => pieces.push(Vec::new()),
                (step, Some(piece)) => step.write(piece, ids),
                (_, None) => {}
            }
        }
    });
    with_node(password, |node| {
        frames(&node.connection(pieces.iter().map(Vec::as_slice)));
        let mut well = Vec::new();
        request(&mut well, 0x05, &[]);
        assert_eq!(frames(&node.connection([&well[..]]))[0].0, 0x06);
    });
});
