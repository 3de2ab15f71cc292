//! What the server sees of each option.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cqldyno_cluster::{Node, NodeOptions};
use cqldyno_driver_api::{ConnectOptions, Driver, ErrorKind, Rows, Session, Value};
use cqldyno_driver_scylla::{Scylla, ScyllaSession};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Tested = Result<(), Box<dyn Error>>;

const QUERY: u8 = 7;
const PREPARE: u8 = 9;
const EXECUTE: u8 = 10;

/// Flags of an EXECUTE (native_protocol_v4.spec section 4.1.4).
const SKIP_METADATA: u8 = 0x02;
const DEFAULT_TIMESTAMP: u8 = 0x20;

/// A node, and what was sent to it connection by connection.
struct Tap {
    _node: Node,
    address: SocketAddr,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Tap {
    async fn start() -> Result<Tap, Box<dyn Error>> {
        let node = Node::start(NodeOptions::default())?;
        let (server, sent) = (node.address(), Arc::<Mutex<Vec<Vec<u8>>>>::default());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let tap = Tap { _node: node, address: listener.local_addr()?, sent: Arc::clone(&sent) };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let index = {
                    let mut sent = sent.lock().unwrap();
                    sent.push(Vec::new());
                    sent.len() - 1
                };
                tokio::spawn(relay(client, server, Arc::clone(&sent), index));
            }
        });
        Ok(tap)
    }

    async fn connect(&self, key: &str, value: &str) -> Result<ScyllaSession, Box<dyn Error>> {
        let mut options = ConnectOptions::new(vec![self.address]);
        options.options = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        Ok(Scylla.connect(&options).await?)
    }

    /// Opcode and body of each frame, connection by connection.
    fn frames(&self) -> Vec<(u8, Vec<u8>)> {
        let sent = self.sent.lock().unwrap();
        let mut frames = Vec::new();
        for mut rest in sent.iter().map(Vec::as_slice) {
            while let Some((header, body)) = rest.split_first_chunk::<9>() {
                let length = u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize;
                let Some((body, next)) = body.split_at_checked(length) else { break };
                frames.push((header[4], body.to_vec()));
                rest = next;
            }
        }
        frames
    }

    /// How many requests had this text.
    fn asked(&self, text: &str) -> usize {
        let has = |body: &[u8]| body.windows(text.len()).any(|window| window == text.as_bytes());
        self.frames().iter().filter(|(opcode, body)| [QUERY, PREPARE].contains(opcode) && has(body)).count()
    }

    /// The flags of the only EXECUTE that `values` were sent with.
    fn flags(&self, value: &[u8]) -> u8 {
        let frames = self.frames();
        let of = |(opcode, body): &(u8, Vec<u8>)| {
            let carries = *opcode == EXECUTE && body.windows(value.len()).any(|window| window == value);
            // The id as short bytes, then the consistency.
            carries.then(|| body[2 + usize::from(u16::from_be_bytes([body[0], body[1]])) + 2])
        };
        let flags: Vec<u8> = frames.iter().filter_map(of).collect();
        assert_eq!(flags.len(), 1, "EXECUTEs with the value");
        flags[0]
    }
}

async fn relay(client: TcpStream, server: SocketAddr, sent: Arc<Mutex<Vec<Vec<u8>>>>, index: usize) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let answers = tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
        sent.lock().unwrap()[index].extend_from_slice(&buffer[..length]);
        if to_server.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    answers.abort();
}

/// Writes and reads one row; returns the flags of both EXECUTEs.
async fn flags(key: &str, value: &str) -> Result<(u8, u8), Box<dyn Error>> {
    let tap = Tap::start().await?;
    let session = tap.connect(key, value).await?;
    session.query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").await?;
    session.query("CREATE TABLE k.t (pk text PRIMARY KEY, v text)").await?;
    let insert = session.prepare("INSERT INTO k.t (pk, v) VALUES (?, ?)").await?;
    let select = session.prepare("SELECT v FROM k.t WHERE pk = ?").await?;
    let mut rows = Rows::new();
    session.execute(&insert, &[Value::Text("a key"), Value::Text("written")], &mut rows).await?;
    let written = tap.flags(b"written");
    session.execute(&insert, &[Value::Text("to be read"), Value::Text("found")], &mut rows).await?;
    tap.sent.lock().unwrap().iter_mut().for_each(Vec::clear);
    session.execute(&select, &[Value::Text("to be read")], &mut rows).await?;
    assert_eq!(rows.only().and_then(|row| row.get(0)), Some(Value::Text("found")));
    Ok((written, tap.flags(b"to be read")))
}

#[tokio::test]
async fn cached_metadata_is_not_asked_for_with_rows() -> Tested {
    assert_eq!(flags("metadata", "each").await?.1 & SKIP_METADATA, 0);
    assert_ne!(flags("metadata", "cached").await?.1 & SKIP_METADATA, 0);
    Ok(())
}

#[tokio::test]
async fn timestamps_of_the_client_go_with_statements() -> Tested {
    assert_eq!(flags("timestamps", "none").await?.0 & DEFAULT_TIMESTAMP, 0);
    assert_ne!(flags("timestamps", "client").await?.0 & DEFAULT_TIMESTAMP, 0);
    Ok(())
}

#[tokio::test]
async fn a_session_works_without_coalescing_and_without_routing() -> Tested {
    flags("coalescing", "off").await?;
    flags("routing", "round-robin").await?;
    Ok(())
}

#[tokio::test]
async fn a_schema_that_is_not_fetched_is_not_asked_for() -> Tested {
    for (value, asked) in [("fetched", true), ("none", false)] {
        let tap = Tap::start().await?;
        let session = tap.connect("schema", value).await?;
        assert_eq!(tap.asked("system_schema.columns") > 0, asked, "{value}");
        drop(session);
    }
    Ok(())
}

#[tokio::test]
async fn metadata_is_read_again_after_as_many_seconds_as_asked() -> Tested {
    let tap = Tap::start().await?;
    let _session = tap.connect("refresh", "1").await?;
    let requests = tap.frames().len();
    let since = Instant::now();
    // One reading takes more requests than these, and the default is one in 60 seconds.
    while tap.frames().len() < requests + 5 {
        assert!(since.elapsed() < Duration::from_secs(20), "the metadata was not read again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let refused = tap.connect("refresh", "often").await.err().ok_or("`often` was taken")?.to_string();
    assert!(refused.contains("\"often\"") && refused.contains("1 or more"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn a_compression_that_the_server_does_not_offer_is_refused() -> Tested {
    let tap = Tap::start().await?;
    let mut options = ConnectOptions::new(vec![tap.address]);
    options.options.insert("compression".to_owned(), "snappy".to_owned());
    let refused = Scylla.connect(&options).await.err().ok_or("it connected")?;
    assert_eq!(refused.kind(), ErrorKind::Other);
    assert!(refused.message().starts_with("compression=snappy was asked for, and 127.0.0.1:"), "{refused}");
    tap.connect("compression", "none").await?;
    Ok(())
}

#[test]
fn an_option_that_was_asked_for_stands_among_the_settings() {
    let mut options = ConnectOptions::new(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 1))]);
    options.options.insert("routing".to_owned(), "round-robin".to_owned());
    let settings = Scylla.settings(&options);
    let routing = settings.iter().find(|setting| setting.name == "routing").unwrap();
    assert_eq!((routing.value.as_str(), routing.as_asked), ("round-robin", true));
}
