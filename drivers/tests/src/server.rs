//! The server that a behaviour talks to: an embedded node of its own or one that the environment names, behind a relay.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicU32, Ordering};

use cqldyno_cluster::{Node, NodeOptions};

use super::relay::Relay;
use super::{Failure, Outcome, Verdict};
use cqldyno_driver_api::{ConnectOptions, Credentials, Driver, Session};

/// Names a server to run against instead of an embedded node.
const TARGET: &str = "CQLDYNO_SUITE_TARGET";

/// One server, and a keyspace on it that belongs to the behaviour.
pub(crate) struct Server {
    /// What lies before it.
    pub(crate) relay: Relay,
    pub(crate) keyspace: String,
    node: Option<Node>,
}

impl Server {
    /// A node of the behaviour's own, or the server that the environment names.
    pub(crate) async fn start() -> Result<Server, Failure> {
        match named()? {
            Some(address) => Server::new(address, None).await,
            None => {
                let node = Node::start(NodeOptions::default()).map_err(Failure::new)?;
                Server::new(node.address(), Some(node)).await
            }
        }
    }

    /// A node that asks for these credentials, or `None` when the environment names a server.
    pub(crate) async fn start_with_login(credentials: &Credentials) -> Result<Option<Server>, Failure> {
        if named()?.is_some() {
            return Ok(None);
        }
        let node = NodeOptions { credentials: Some(credentials.clone()), ..NodeOptions::default() };
        let node = Node::start(node).map_err(Failure::new)?;
        Server::new(node.address(), Some(node)).await.map(Some)
    }

    async fn new(address: SocketAddr, node: Option<Node>) -> Result<Server, Failure> {
        static KEYSPACES: AtomicU32 = AtomicU32::new(0);
        let number = KEYSPACES.fetch_add(1, Ordering::Relaxed);
        let keyspace = format!("suite_{}_{number}", std::process::id());
        let relay = Relay::start(address, &keyspace).await.map_err(Failure::new)?;
        Ok(Server { relay, keyspace, node })
    }

    /// The server is gone.
    pub(crate) async fn stop(&mut self) {
        self.relay.stop().await;
    }

    /// Restarts the server with its tables and without its prepared statements. If the environment names it, the relay pretends
    /// that it has forgotten them.
    pub(crate) async fn restart(&mut self) -> Result<(), Failure> {
        self.relay.stop().await;
        match self.node.take() {
            Some(node) => {
                let restarted = tokio::task::spawn_blocking(|| node.restart()).await?;
                self.node = Some(restarted.map_err(Failure::new)?);
            }
            None => self.relay.forget_prepared(),
        }
        self.relay.resume().await.map_err(Failure::new)
    }

    /// The server forgets its prepared statements, and no connection is cut.
    pub(crate) fn forget_prepared(&self) {
        match &self.node {
            Some(node) => node.forget_prepared(),
            None => self.relay.forget_prepared(),
        }
    }

    /// How often the server itself executed the statement; `None` if it is only an address.
    pub(crate) fn executed(&self, text: &str) -> Option<u64> {
        let seen = self.node.as_ref()?.stats();
        let ids = seen.prepared.iter().filter(|(_, prepared)| *prepared == text);
        Some(ids.map(|(id, _)| seen.executes_of(id)).sum())
    }

    /// The server's own counts; `None` if it is only an address.
    pub(crate) fn stats(&self) -> Option<cqldyno_cluster::Snapshot> {
        self.node.as_ref().map(Node::stats)
    }

    /// Open connections; `None` if the server is only an address.
    pub(crate) fn open_connections(&self) -> Option<usize> {
        self.node.as_ref().map(Node::open_connections)
    }

    pub(crate) fn options(&self) -> ConnectOptions {
        ConnectOptions::new(vec![self.relay.address])
    }

    /// A session with equal settings.
    pub(crate) async fn connect<D: Driver>(&self) -> Result<D::Session, Failure> {
        Ok(D::default().connect(&self.options()).await?)
    }

    pub(crate) async fn create_keyspace(&self, session: &impl Session) -> Result<(), Failure> {
        let keyspace = &self.keyspace;
        let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
        let cql = format!("CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication}");
        Ok(session.query(&cql).await?)
    }

    /// Creates a table in the behaviour's keyspace; returns its qualified name.
    pub(crate) async fn create_table(
        &self,
        session: &impl Session,
        name: &str,
        columns: &str,
    ) -> Result<String, Failure> {
        self.create_keyspace(session).await?;
        let table = format!("{}.{name}", self.keyspace);
        session.query(&format!("CREATE TABLE {table} ({columns})")).await?;
        Ok(table)
    }

    /// Leaves the server as it was found; the behaviour holds.
    pub(crate) async fn end(&self, session: &impl Session) -> Outcome {
        session.query(&format!("DROP KEYSPACE IF EXISTS {}", self.keyspace)).await?;
        Ok(Verdict::Holds)
    }
}

/// The address that the environment names.
fn named() -> Result<Option<SocketAddr>, Failure> {
    let Ok(text) = std::env::var(TARGET) else { return Ok(None) };
    let address = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    address.map(Some).ok_or_else(|| Failure::new(format!("{TARGET} is `{text}`, which is no HOST:PORT")))
}
