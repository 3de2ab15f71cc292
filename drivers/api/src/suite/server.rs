//! The server that a behaviour talks to.

use std::net::ToSocketAddrs;
use std::sync::atomic::{AtomicU32, Ordering};

use super::relay::Relay;
use super::{Failure, Outcome, Verdict};
use crate::{ConnectOptions, Driver, Session};

/// Names a server to run against instead of an embedded node.
const TARGET: &str = "CQLDYNO_SUITE_TARGET";

/// One server, and a keyspace on it that belongs to the behaviour.
pub(crate) struct Server {
    relay: Relay,
    keyspace: String,
}

impl Server {
    /// A node of the behaviour's own, or the server that the environment names.
    pub(crate) async fn start() -> Result<Server, Failure> {
        static KEYSPACES: AtomicU32 = AtomicU32::new(0);
        let number = KEYSPACES.fetch_add(1, Ordering::Relaxed);
        let keyspace = format!("suite_{}_{number}", std::process::id());
        let text = std::env::var(TARGET).map_err(|_| Failure::new("no embedded node"))?;
        let address = text
            .to_socket_addrs()
            .ok()
            .and_then(|mut addresses| addresses.next())
            .ok_or_else(|| Failure::new(format!("{TARGET} is `{text}`, which is no HOST:PORT")))?;
        let relay = Relay::start(address, &keyspace).await.map_err(Failure::new)?;
        Ok(Server { relay, keyspace })
    }

    /// What lies before the server.
    pub(crate) fn relay(&self) -> &Relay {
        &self.relay
    }

    /// What lies before the server, to be cut.
    pub(crate) fn relay_mut(&mut self) -> &mut Relay {
        &mut self.relay
    }

    pub(crate) fn keyspace(&self) -> &str {
        &self.keyspace
    }

    pub(crate) fn options(&self) -> ConnectOptions {
        ConnectOptions::new(vec![self.relay.address()])
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

    /// Creates a table in the behaviour's keyspace; what it gives is its qualified name.
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
