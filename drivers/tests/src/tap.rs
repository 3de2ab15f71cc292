//! What a driver sends to a node, frame by frame: for tests of an adapter's own options.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cqldyno_cluster::{Node, NodeOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Failure;

/// Opcodes of requests (native_protocol_v4.spec section 2.4).
pub mod opcode {
    /// STARTUP
    pub const STARTUP: u8 = 0x01;
    /// OPTIONS
    pub const OPTIONS: u8 = 0x05;
    /// QUERY
    pub const QUERY: u8 = 0x07;
    /// PREPARE
    pub const PREPARE: u8 = 0x09;
    /// EXECUTE
    pub const EXECUTE: u8 = 0x0A;
}

const HEADER: usize = 9;

/// A request without its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The connection, from 0.
    pub connection: usize,
    /// One of [`opcode`], or another.
    pub opcode: u8,
    /// Its body, unless it is compressed.
    pub body: Vec<u8>,
}

impl Request {
    /// Whether the body has these bytes.
    pub fn has(&self, bytes: &[u8]) -> bool {
        self.body.windows(bytes.len()).any(|window| window == bytes)
    }

    /// The flags of an EXECUTE (section 4.1.4): they follow the id and the consistency.
    pub fn execute_flags(&self) -> Option<u8> {
        let (length, rest) = self.body.split_first_chunk::<2>()?;
        rest.get(usize::from(u16::from_be_bytes(*length)) + 2).copied()
    }
}

/// A node, and what was sent to it.
pub struct Tap {
    _node: Node,
    /// Where the driver is to connect.
    pub address: SocketAddr,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Tap {
    /// Starts a node and listens before it.
    ///
    /// # Errors
    /// When there is no node or no port.
    pub async fn start() -> Result<Tap, Failure> {
        let node = Node::start(NodeOptions::default()).map_err(Failure::new)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(Failure::new)?;
        let address = listener.local_addr().map_err(Failure::new)?;
        let (server, sent) = (node.address(), Arc::<Mutex<Vec<Vec<u8>>>>::default());
        let tap = Tap { _node: node, address, sent: Arc::clone(&sent) };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let connection = {
                    let mut sent = lock(&sent);
                    sent.push(Vec::new());
                    sent.len() - 1
                };
                tokio::spawn(relay(client, server, Arc::clone(&sent), connection));
            }
        });
        Ok(tap)
    }

    /// Forgets what was sent.
    pub fn forget(&self) {
        lock(&self.sent).iter_mut().for_each(Vec::clear);
    }

    /// What was sent so far, connection by connection.
    pub fn requests(&self) -> Vec<Request> {
        let mut requests = Vec::new();
        for (connection, mut rest) in lock(&self.sent).iter().map(Vec::as_slice).enumerate() {
            while let Some((header, body)) = rest.split_first_chunk::<HEADER>() {
                let length = u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize;
                let Some((body, next)) = body.split_at_checked(length) else { break };
                requests.push(Request { connection, opcode: header[4], body: body.to_vec() });
                rest = next;
            }
        }
        requests
    }
}

fn lock(sent: &Mutex<Vec<Vec<u8>>>) -> MutexGuard<'_, Vec<Vec<u8>>> {
    sent.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn relay(client: TcpStream, server: SocketAddr, sent: Arc<Mutex<Vec<Vec<u8>>>>, connection: usize) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let answers = tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
        if let Some(sent) = lock(&sent).get_mut(connection) {
            sent.extend_from_slice(&buffer[..length]);
        }
        if to_server.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    answers.abort();
}
