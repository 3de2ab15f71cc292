//! A node: its listener, its threads, and starting and stopping it.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::str::FromStr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::auth::Credentials;
use crate::connection;
use crate::database::Database;
use crate::snapshot::Snapshot;
use crate::state::NodeState;
use crate::system::NodeIdentity;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1_024;

/// How long to wait before accepting again when the machine cannot open one more connection.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(50);

/// How answers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answers {
    /// The answers to all requests of one read with one write, in the order of the requests.
    #[default]
    Batched,
    /// One write an answer.
    Each,
    /// As batched, but the answers of a write in random order.
    Reordered,
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Answers::Batched => "batched",
            Answers::Each => "each",
            Answers::Reordered => "reordered",
        })
    }
}

impl FromStr for Answers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "batched" => Ok(Answers::Batched),
            "each" => Ok(Answers::Each),
            "reordered" => Ok(Answers::Reordered),
            other => Err(format!("answers can be written batched, each or reordered, not {other:?}")),
        }
    }
}

/// How a node is to be.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// An address of this machine's loopback interface (127.0.0.0/8).
    pub address: Ipv4Addr,
    /// The port; 0 takes one that is free.
    pub port: u16,
    /// The user and the password to ask for; none: anybody is let in.
    pub credentials: Option<Credentials>,
    /// How long each answer is held back.
    pub delay: Duration,
    /// How answers are written.
    pub answers: Answers,
    /// Rows for which the first table has memory at hand, touched beforehand, so that a run of inserts meets no page faults.
    pub expect_rows: u64,
    /// Threads that serve connections; none: one a core.
    pub threads: Option<usize>,
    /// The name in `system.local`.
    pub cluster_name: String,
}

impl Default for NodeOptions {
    fn default() -> Self {
        NodeOptions {
            address: Ipv4Addr::LOCALHOST,
            port: 0,
            credentials: None,
            delay: Duration::ZERO,
            answers: Answers::default(),
            expect_rows: 0,
            threads: None,
            cluster_name: "cqldyno".to_owned(),
        }
    }
}

/// Why a node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is not one of the loopback interface.
    #[error(
        "The embedded node listens on loopback addresses only, and {0} is none: it keeps data in memory and speaks no \
         TLS, so it is not for other machines. Use 127.0.0.1 or another address of 127.0.0.0/8"
    )]
    NotLoopback(Ipv4Addr),
    /// Somebody else listens there.
    #[error(
        "Port {port} of {address} is in use: stop what listens there (`ss -ltnp`), or choose another port; port 0 takes a free one"
    )]
    InUse {
        /// The address.
        address: Ipv4Addr,
        /// The port.
        port: u16,
    },
    /// Any other reason not to listen.
    #[error("The embedded node cannot listen on {address}:{port}: {source}")]
    Listen {
        /// The address.
        address: Ipv4Addr,
        /// The port.
        port: u16,
        /// Why.
        source: io::Error,
    },
    /// No threads.
    #[error("The embedded node cannot start its threads: {0}")]
    Threads(#[source] io::Error),
}

enum Command {
    DisconnectAll,
    Stop,
}

/// A running node. Dropping it stops it.
#[derive(Debug)]
pub struct Node {
    options: NodeOptions,
    address: SocketAddr,
    state: Arc<NodeState>,
    commands: mpsc::UnboundedSender<Command>,
    thread: Option<JoinHandle<()>>,
}

/// A node that was stopped, with its tables: what a real node has on its disk.
#[derive(Debug)]
pub struct StoppedNode {
    options: NodeOptions,
    database: Arc<Database>,
}

impl StoppedNode {
    /// Starts again on the same port with the tables as they were; prepared statements are forgotten.
    ///
    /// # Errors
    /// As [`Node::start`]; the port may have been taken in between.
    pub fn start(self) -> Result<Node, StartError> {
        Node::run(self.options, self.database)
    }

    /// Starts again on the same port without keyspaces and tables.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn start_empty(self) -> Result<Node, StartError> {
        Node::start(self.options)
    }
}

impl Node {
    /// Starts a node with threads of its own; it listens when this returns. Can be called from any thread, also within a runtime.
    ///
    /// # Errors
    /// When the address is not a loopback one, the port is taken, or the machine has no thread left.
    pub fn start(options: NodeOptions) -> Result<Node, StartError> {
        let database = Arc::new(Database::new(options.expect_rows));
        Node::run(options, database)
    }

    fn run(mut options: NodeOptions, database: Arc<Database>) -> Result<Node, StartError> {
        let listener = listen(options.address, options.port)?;
        let listen_error = |source| StartError::Listen { address: options.address, port: options.port, source };
        let address = listener.local_addr().map_err(listen_error)?;
        // A restart is on the port that clients know.
        options.port = address.port();
        let mut identity = NodeIdentity::new(IpAddr::V4(options.address), options.port);
        identity.cluster_name.clone_from(&options.cluster_name);
        let credentials = options.credentials.clone();
        let state = Arc::new(NodeState::new(database, identity, credentials, options.answers, options.delay));
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.enable_all().thread_name("cqldyno-node");
        if let Some(threads) = options.threads {
            builder.worker_threads(threads.max(1));
        }
        let runtime = builder.build().map_err(StartError::Threads)?;
        let (commands, received) = mpsc::unbounded_channel();
        let accepting = accept(listener, state.clone(), received);
        let thread = std::thread::Builder::new()
            .name("cqldyno-node".to_owned())
            .spawn(move || {
                let accepting = runtime.spawn(accepting);
                // An error is a panic of the accepting task, which was shown as it happened.
                let _ = runtime.block_on(accepting);
            })
            .map_err(StartError::Threads)?;
        Ok(Node { options, address, state, commands, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All that was counted since it started; the times of EXECUTEs are those since it was asked last.
    pub fn stats(&self) -> Snapshot {
        self.state.snapshot()
    }

    /// Connections that are open now.
    pub fn open_connections(&self) -> usize {
        self.state.stats.open_connections()
    }

    /// Holds each answer back for this long, from now on.
    pub fn set_delay(&self, delay: Duration) {
        self.state.set_delay(delay);
    }

    /// Closes all connections; new ones are accepted.
    pub fn disconnect_all(&self) {
        // There is always somebody to receive it while the node runs.
        let _ = self.commands.send(Command::DisconnectAll);
    }

    /// Forgets all prepared statements, without closing a connection.
    pub fn forget_prepared(&self) {
        self.state.forget_prepared();
    }

    /// Stops it: nobody listens and all connections are closed when this returns. The tables stay with what is given back.
    pub fn stop(mut self) -> StoppedNode {
        self.shut_down();
        StoppedNode { options: self.options.clone(), database: self.state.database.clone() }
    }

    /// Stops it and starts it again on the same port, with its tables; prepared statements are forgotten.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn restart(self) -> Result<Node, StartError> {
        self.stop().start()
    }

    fn shut_down(&mut self) {
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            // An error is a panic, which was shown as it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.shut_down();
    }
}

fn listen(address: Ipv4Addr, port: u16) -> Result<TcpListener, StartError> {
    if !address.is_loopback() {
        return Err(StartError::NotLoopback(address));
    }
    let open = || -> io::Result<TcpListener> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        // A restart must not wait for the connections of before to time out.
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::from((address, port)).into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    open().map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::InUse { address, port },
        _ => StartError::Listen { address, port, source },
    })
}

async fn accept(listener: TcpListener, state: Arc<NodeState>, mut commands: mpsc::UnboundedReceiver<Command>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!("the embedded node cannot accept connections: {error}");
            return;
        }
    };
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            command = commands.recv() => match command {
                Some(Command::DisconnectAll) => connections.abort_all(),
                Some(Command::Stop) | None => break,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let stats = state.stats.connection(peer);
                    connections.spawn(connection::serve(stream, state.clone(), stats));
                }
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(ACCEPT_BACK_OFF).await;
                }
            },
        }
    }
    drop(listener);
    connections.shutdown().await;
}
