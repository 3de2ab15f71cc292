//! The start of a connection, passwords, and bytes that are no request.

use std::io::Write;
use std::time::Duration;

use cassandra_protocol::compression::Compression;
use cqldyno_cluster::Node;

use super::client::{
    AUTH_RESPONSE, Answer, BATCH, Bind, Client, EXECUTE, OPTIONS, PREPARE, Parameters, QUERY, REGISTER, STARTUP,
    execute_body, frame, int, node, node_with_password, prepare_body, query_body, write_string,
};

const EVERYTHING_IS_WELL: &str = "SELECT key FROM system.local";

#[test]
fn options_are_answered_before_and_after_startup() {
    let node = node();
    let mut client = Client::silent(node.address());
    for _ in 0..2 {
        let Answer::Supported(options) = client.request(OPTIONS, &[]) else { panic!("no SUPPORTED") };
        assert!(options.iter().any(|(name, _)| name == "CQL_VERSION"));
        assert!(options.contains(&("COMPRESSION".to_owned(), vec!["lz4".to_owned(), "snappy".to_owned()])));
        if matches!(client.startup(), Answer::Error { .. }) {
            break;
        }
    }
    assert!(matches!(client.request(OPTIONS, &[]), Answer::Supported(_)));
}

#[test]
fn version_3_is_served() {
    let node = node();
    let mut client = Client::silent(node.address());
    client.version = 3;
    assert_eq!(client.startup(), Answer::Ready);
    assert_eq!(client.rows(EVERYTHING_IS_WELL).rows.len(), 1);
    let prepared = client.prepare("SELECT key FROM system.local WHERE key = ?");
    assert_eq!(prepared.markers.len(), 1);
    assert_eq!(client.execute(&prepared.id, &[super::client::text("local")]).rows().rows.len(), 1);
}

#[test]
fn a_request_for_a_trace_is_answered_with_an_id_whose_session_has_its_text_and_one_event() {
    let node = node();
    let mut client = Client::connect(&node);
    client.run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    client.run("CREATE TABLE k.t (a int PRIMARY KEY)");
    let insert = client.prepare("INSERT INTO k.t (a) VALUES (?)");
    let query = |text: &str| query_body(text, &Parameters::default());
    let mut ids = Vec::new();
    for (opcode, body, is_error) in [
        (QUERY, query(EVERYTHING_IS_WELL), false),
        (QUERY, query("SELECT nothing FROM nowhere"), true),
        (PREPARE, prepare_body("SELECT a FROM k.t WHERE a = ?"), false),
        (EXECUTE, execute_body(&insert.id, &Parameters::values(&[int(7)])), false),
        (EXECUTE, execute_body(b"no such statement", &Parameters::default()), true),
        (BATCH, vec![0, 0, 0, 0, 1, 0], false),
    ] {
        let (id, answer) = client.traced(opcode, &body);
        assert_eq!(matches!(answer, Answer::Error { .. }), is_error, "{answer:?}");
        let id = id.unwrap_or_else(|| panic!("no id of a trace: {answer:?}"));
        assert_eq!((id[6] >> 4, ids.contains(&id)), (1, false), "a time-based UUID of its own");
        ids.push(id);
    }
    assert_eq!(client.rows("SELECT a FROM k.t").rows, [[Some(7i32.to_be_bytes().to_vec())]]);
    let select = "SELECT request, parameters, duration FROM system_traces.sessions WHERE session_id = ?";
    let (sessions, id) = (client.prepare(select), [Bind::Bytes(ids[3].to_vec())]);
    let rows = client.execute(&sessions.id, &id).rows();
    assert_eq!(rows.cell(0, "request"), Some(&b"Execute CQL3 prepared query"[..]));
    assert!(rows.cell(0, "parameters").unwrap().ends_with(b"INSERT INTO k.t (a) VALUES (?)"));
    assert_eq!(rows.cell(0, "duration").map(<[u8]>::len), Some(4));
    let events = client.prepare("SELECT activity FROM system_traces.events WHERE session_id = ?");
    let rows = client.execute(&events.id, &id).rows();
    assert!(rows.cell(0, "activity").unwrap().starts_with(b"Tracing the steps of a request is not supported"));
    assert_eq!(client.traced(OPTIONS, &[]).0, None, "nothing is run");
    assert_eq!(client.traced(QUERY, &[0, 0]).0, None, "as Cassandra answers what it cannot read");
}

#[test]
fn other_versions_are_refused_with_the_text_that_drivers_look_for() {
    let node = node();
    for version in [5, 6, 2, 0x42, 0x41] {
        let mut client = Client::silent(node.address());
        client.send_bytes(&frame(version, 3, OPTIONS, &[]));
        let refusal = client.frame().unwrap();
        // On any other stream, gocql v2 does not look for a lower version.
        assert_eq!((refusal.version, refusal.stream), (0x84, 0));
        let (code, message) = client.read(&refusal).error();
        assert_eq!(code, 0x000A);
        assert!(message.starts_with(&format!("Invalid or unsupported protocol version ({version})")), "{message}");
        assert!(client.is_closed());
    }
}

#[test]
fn the_short_header_of_versions_1_and_2_is_refused_at_once() {
    let node = node();
    for version in [1, 2] {
        let mut client = Client::silent(node.address());
        client.send_bytes(&[version, 0, 0, OPTIONS, 0, 0, 0, 0]);
        let refusal = client.frame().unwrap();
        assert_eq!((refusal.version, refusal.stream), (0x84, 0));
        assert_eq!(client.read(&refusal).error().0, 0x000A);
        assert!(client.is_closed());
    }
}

#[test]
fn statements_wait_for_startup() {
    let node = node();
    for opcode in [QUERY, EXECUTE, BATCH, REGISTER, AUTH_RESPONSE] {
        let mut client = Client::silent(node.address());
        assert_eq!(client.request(opcode, &query_body(EVERYTHING_IS_WELL, &Parameters::default())).error().0, 0x000A);
    }
}

#[test]
fn the_right_password_is_let_in_and_no_other() {
    let node = node_with_password("ann", "secret");
    let authenticator = "org.apache.cassandra.auth.PasswordAuthenticator";
    let mut client = Client::silent(node.address());
    assert_eq!(client.startup(), Answer::Authenticate(authenticator.to_owned()));
    assert_eq!(client.log_in("ann", "secret"), Answer::AuthSuccess);
    assert_eq!(client.rows(EVERYTHING_IS_WELL).rows.len(), 1);
    for (user, password) in [("ann", "wrong"), ("bob", "secret"), ("ann", ""), ("", "")] {
        let mut client = Client::silent(node.address());
        client.startup();
        let (code, message) = client.log_in(user, password).error();
        assert_eq!(code, 0x0100, "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn a_missing_password_leaves_a_client_outside() {
    let node = node_with_password("ann", "secret");
    let mut client = Client::silent(node.address());
    client.startup();
    let body = query_body(EVERYTHING_IS_WELL, &Parameters::default());
    assert_eq!(client.request(QUERY, &body).error().0, 0x000A);
    let mut client = Client::silent(node.address());
    client.startup();
    assert_eq!(client.request(AUTH_RESPONSE, &(-1i32).to_be_bytes()).error().0, 0x0100);
}

#[test]
fn an_unknown_opcode_is_refused_and_the_connection_goes_on() {
    let node = node();
    let mut client = Client::connect(&node);
    for opcode in [0x00, 0x02, 0x04, 0x08, 0x11, 0x7f, 0xff] {
        assert_eq!(client.request(opcode, &[1, 2, 3]).error().0, 0x000A, "{opcode:#04x}");
    }
    assert_eq!(client.rows(EVERYTHING_IS_WELL).rows.len(), 1);
}

#[test]
fn malformed_bodies_are_refused_and_the_connection_goes_on() {
    let node = node();
    let mut client = Client::connect(&node);
    for opcode in [QUERY, EXECUTE, BATCH, REGISTER, super::client::PREPARE] {
        for body in [&[][..], &[0], &[0xff; 3], &[0xff; 40], &[0x7f, 0xff, 0xff, 0xff, 1], &[0, 1, 0, 1, 0xff, 0, 1, 0]]
        {
            let (code, message) = client.request(opcode, body).error();
            assert!([0x000A, 0x2500, 0x2000].contains(&code), "{opcode:#04x} {body:?}: {code:#x} {message}");
        }
    }
    assert_eq!(client.rows(EVERYTHING_IS_WELL).rows.len(), 1);
}

#[test]
fn a_query_that_is_no_utf_8_is_refused() {
    let node = node();
    let mut client = Client::connect(&node);
    let mut body = query_body(EVERYTHING_IS_WELL, &Parameters::default());
    body[6] = 0xff;
    assert_eq!(client.request(QUERY, &body).error().0, 0x000A);
    assert_eq!(client.rows(EVERYTHING_IS_WELL).rows.len(), 1);
}

#[test]
fn a_frame_above_16_mib_is_refused_and_the_connection_goes_on() {
    let node = node();
    let mut client = Client::connect(&node);
    for length in [16 * 1024 * 1024 - 8, 40_000_000u32] {
        let mut header = frame(4, 9, QUERY, &[]);
        header[5..].copy_from_slice(&length.to_be_bytes());
        client.send_bytes(&header);
        let refusal = client.frame().unwrap();
        assert_eq!(refusal.stream, 9);
        let (code, message) = client.read(&refusal).error();
        assert_eq!(code, 0x2200, "{message}");
        let total = u64::from(length) + 9;
        assert_eq!(message, format!("Request is too big: length {total} exceeds maximum allowed length 16777216."));
        // Bytes that would be a frame of their own if they were not skipped.
        let options = frame(4, 1, OPTIONS, &[]);
        let mut body = options.repeat(length as usize / options.len() + 1);
        body.truncate(length as usize);
        client.send_bytes(&body);
        assert_eq!(client.rows(EVERYTHING_IS_WELL).rows.len(), 1);
    }
    client.send_bytes(&[4, 0, 0, 9, QUERY, 0xff, 0xff, 0xff, 0xff]);
    let refusal = client.frame().unwrap();
    assert_eq!(client.read(&refusal).error().0, 0x2200);
}

/// A connection whose STARTUP asked for a compression.
fn compressed(node: &Node, name: &str, version: u8) -> Client {
    let mut client = Client::silent(node.address());
    client.version = version;
    // The answer to STARTUP is not compressed, as in Cassandra 5.0.
    assert_eq!(client.request(STARTUP, &startup_with(name)), Answer::Ready);
    client
}

fn startup_with(compression: &str) -> Vec<u8> {
    let mut body = vec![0, 2];
    for text in ["CQL_VERSION", "3.0.0", "COMPRESSION", compression] {
        write_string(&mut body, text);
    }
    body
}

/// Sends a body as it is in a frame with these flags, and reads the compressed answer.
fn answer(client: &mut Client, compression: Compression, (flags, opcode): (u8, u8), body: &[u8]) -> Answer {
    let mut bytes = frame(client.version, 9, opcode, body);
    bytes[1] = flags;
    client.send_bytes(&bytes);
    let mut frame = client.frame().unwrap();
    assert_eq!((frame.stream, frame.flags), (9, COMPRESSED));
    frame.body = compression.decode(frame.body).unwrap();
    client.read(&frame)
}

const COMPRESSED: u8 = 0x01;

#[test]
fn frames_are_compressed_both_ways_if_startup_asks_for_it_and_requests_need_not_be() {
    let node = node();
    Client::in_keyspace(&node).run("CREATE TABLE t (pk int PRIMARY KEY, v text)");
    for (name, compression) in [("lz4", Compression::Lz4), ("SNAPPY", Compression::Snappy)] {
        for version in [3, 4] {
            let mut client = compressed(&node, name, version);
            let packed = |body: &[u8]| compression.encode(body).unwrap();
            let prepare = packed(&prepare_body("INSERT INTO ks.t (pk, v) VALUES (?, ?)"));
            let Answer::Prepared(insert) = answer(&mut client, compression, (COMPRESSED, PREPARE), &prepare) else {
                panic!("it was not prepared")
            };
            let long = "compressible ".repeat(10_000);
            let execute = execute_body(&insert.id, &Parameters::values(&[int(1), super::client::text(&long)]));
            let execute = packed(&execute);
            assert!(execute.len() < long.len() / 10);
            assert_eq!(answer(&mut client, compression, (COMPRESSED, EXECUTE), &execute), Answer::Void);
            let select = query_body("SELECT v FROM ks.t WHERE pk = 1", &Parameters::default());
            let rows = answer(&mut client, compression, (0, QUERY), &select).rows();
            assert_eq!(rows.rows, [[Some(long.into_bytes())]]);
            // An answer without a body is compressed, too.
            let events = packed(b"\0\x01\0\x0DSCHEMA_CHANGE");
            assert_eq!(answer(&mut client, compression, (COMPRESSED, REGISTER), &events), Answer::Ready);
        }
    }
}

#[test]
fn a_burst_of_compressed_executes_is_answered_in_full() {
    let node = node();
    let mut plain = Client::in_keyspace(&node);
    plain.run("CREATE TABLE t (pk int PRIMARY KEY, v int)");
    let insert = plain.prepare("INSERT INTO t (pk, v) VALUES (?, ?)");
    let mut client = compressed(&node, "lz4", 4);
    let mut burst = Vec::new();
    for key in 0..500 {
        let body = execute_body(&insert.id, &Parameters::values(&[int(key), int(key)]));
        let mut bytes = frame(4, key as i16, EXECUTE, &Compression::Lz4.encode(&body).unwrap());
        // Every other one is sent as it is.
        match key % 2 {
            0 => bytes[1] = COMPRESSED,
            _ => bytes = frame(4, key as i16, EXECUTE, &body),
        }
        burst.extend(bytes);
    }
    client.send_bytes(&burst);
    for key in 0..500 {
        let frame = client.frame().unwrap();
        assert_eq!((frame.stream, frame.flags), (key, COMPRESSED));
        assert_eq!(Compression::Lz4.decode(frame.body).unwrap(), [0, 0, 0, 1]);
    }
    assert_eq!(plain.rows("SELECT v FROM t").rows.len(), 500);
    let read = node.stats().connections.iter().map(|one| one.read_bytes).max();
    let started = frame(4, 1, STARTUP, &startup_with("lz4"));
    assert_eq!(read, Some((burst.len() + started.len()) as u64), "bytes are counted as they are on the wire");
}

#[test]
fn bad_compressed_bytes_are_a_protocol_error_and_the_connection_goes_on() {
    let node = node();
    for (name, compression) in [("lz4", Compression::Lz4), ("snappy", Compression::Snappy)] {
        let mut client = compressed(&node, name, 4);
        for bad in [&[0xFF; 40][..], &[], &[0, 0], &[0, 0xFF, 0xFF, 0xFF, 0], &[0x7F, 0xFF, 0xFF, 0xFF, 0x0F, 0]] {
            assert_eq!(answer(&mut client, compression, (COMPRESSED, QUERY), bad).error().0, 0x000A, "{bad:?}");
        }
        let query = query_body(EVERYTHING_IS_WELL, &Parameters::default());
        assert_eq!(answer(&mut client, compression, (0, QUERY), &query).rows().rows.len(), 1);
    }
}

#[test]
fn compression_that_was_not_agreed_on_is_refused() {
    let node = node();
    let mut client = Client::connect(&node);
    let mut bytes = frame(4, 5, QUERY, &[1, 2, 3]);
    bytes[1] = COMPRESSED;
    client.send_bytes(&bytes);
    let refusal = client.frame().unwrap();
    let text = "A frame is marked as compressed, and STARTUP asked for no compression";
    assert_eq!(client.read(&refusal).error(), (0x000A, text.to_owned()));
    let mut client = Client::silent(node.address());
    let text = "Unknown compression algorithm: zstd. The embedded cluster offers lz4 and snappy";
    assert_eq!(client.request(STARTUP, &startup_with("zstd")).error(), (0x000A, text.to_owned()));
}

#[test]
fn half_a_frame_holds_no_other_connection_up_and_is_answered_when_it_is_whole() {
    let node = node();
    let mut slow = Client::connect(&node);
    let bytes = frame(4, 5, QUERY, &query_body(EVERYTHING_IS_WELL, &Parameters::default()));
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    slow.send_bytes(first);
    let mut others = (0..8).map(|_| Client::connect(&node)).collect::<Vec<_>>();
    for other in &mut others {
        assert_eq!(other.rows(EVERYTHING_IS_WELL).rows.len(), 1);
    }
    for byte in rest {
        slow.send_bytes(&[*byte]);
    }
    let answer = slow.frame().unwrap();
    assert_eq!(slow.read(&answer).rows().rows.len(), 1);
}

#[test]
fn a_client_that_does_not_read_holds_no_other_connection_up() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE blobs (pk int PRIMARY KEY, v blob)");
    let insert = client.prepare("INSERT INTO blobs (pk, v) VALUES (1, ?)");
    assert_eq!(client.execute(&insert.id, &[super::client::Bind::Bytes(vec![7; 1 << 20])]), Answer::Void);
    let mut deaf = (0..4).map(|_| Client::connect(&node)).collect::<Vec<_>>();
    let request = frame(4, 5, QUERY, &query_body("SELECT v FROM ks.blobs WHERE pk = 1", &Parameters::default()));
    for deaf in &mut deaf {
        // 64 MiB of answers, far more than the buffers of a socket take.
        deaf.socket.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        for _ in 0..64 {
            if deaf.socket.write_all(&request).is_err() {
                break;
            }
        }
    }
    for _ in 0..20 {
        assert_eq!(client.rows(EVERYTHING_IS_WELL).rows.len(), 1);
    }
    let answer = deaf[0].frame().unwrap();
    assert_eq!(answer.stream, 5);
}

#[test]
fn a_client_that_goes_away_in_the_middle_leaves_the_node_well() {
    let node = node();
    for cut in [1, 5, 9, 12] {
        let mut client = Client::connect(&node);
        let bytes = frame(4, 5, QUERY, &query_body(EVERYTHING_IS_WELL, &Parameters::default()));
        client.send_bytes(&bytes[..cut]);
    }
    assert_eq!(Client::connect(&node).rows(EVERYTHING_IS_WELL).rows.len(), 1);
}

#[test]
fn connections_are_closed_when_the_node_stops() {
    let node = node();
    let address = node.address();
    let mut client = Client::connect(&node);
    let stopped = node.stop();
    assert!(client.is_closed());
    assert!(std::net::TcpStream::connect(address).is_err());
    let node = stopped.start().unwrap();
    assert_eq!(node.address(), address);
    assert_eq!(Client::connect(&node).rows(EVERYTHING_IS_WELL).rows.len(), 1);
}

#[test]
fn a_connection_stays_with_the_version_of_its_startup() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE t (pk int PRIMARY KEY)");
    let insert = client.prepare("INSERT INTO t (pk) VALUES (?)");
    let execute = execute_body(&insert.id, &Parameters::values(&[int(1)]));
    for (opcode, body) in [(OPTIONS, &[][..]), (EXECUTE, &execute)] {
        client.send_bytes(&frame(3, 9, opcode, body));
        let answer = client.frame().unwrap();
        assert_eq!((answer.version, answer.stream), (0x84, 9));
        let (code, message) = client.read(&answer).error();
        assert_eq!(code, 0x000A);
        assert_eq!(
            message,
            "Invalid message version. Got 3/v3 but previous messages on this connection had version 4/v4"
        );
    }
    assert_eq!(client.rows("SELECT * FROM t").rows.len(), 0);
}
