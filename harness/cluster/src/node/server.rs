//! A node, or several: listeners, threads, and starting and stopping them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use cqldyno_script::{Played, Step};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::counters::snapshot::Snapshot;
use crate::counters::stats::Place;
use crate::node::script::Effect;
use crate::node::state::{NodeOptions, NodeState, shard_aware_port};
use crate::node::{connection, play};
use crate::storage::database::Database;
use crate::system;

const BACKLOG: i32 = 4_096;

/// How often a port is looked for that is free at the addresses of all nodes.
const FREE_PORT_ATTEMPTS: u32 = 1_000;

/// How often a listener that was closed is tried to be opened again, and how long to wait in between.
const REOPENINGS: u32 = 50;
const BEFORE_REOPENING: Duration = Duration::from_millis(20);

/// How long to wait before accepting again when the machine cannot open one more connection.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(50);

/// Why a node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is not one of the loopback interface.
    #[error(
        "{0} is no loopback address, and the embedded cluster, which is for this machine alone, listens on no other. Use 127.0.0.1 or \
         another address of 127.0.0.0/8"
    )]
    NotLoopback(Ipv4Addr),
    /// Another process listens there.
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
    #[error("The embedded cluster cannot listen on {address}:{port}: {source}")]
    Listen {
        /// The address.
        address: Ipv4Addr,
        /// The port.
        port: u16,
        /// Why.
        source: io::Error,
    },
    /// The machine has no thread left.
    #[error("The embedded cluster cannot start its threads: {0}")]
    Threads(#[source] io::Error),
}

enum Command {
    DisconnectAll,
    Stop,
}

/// A running node, or several that share their tables. Dropping it stops them.
#[derive(Debug)]
pub struct Node {
    state: Arc<NodeState>,
    /// One per listener.
    commands: Vec<mpsc::UnboundedSender<Command>>,
    thread: Option<JoinHandle<()>>,
    runtime: tokio::runtime::Handle,
}

/// A stopped node with its tables.
#[derive(Debug)]
pub struct StoppedNode {
    options: NodeOptions,
    database: Arc<Database>,
}

impl StoppedNode {
    /// Starts again on the same port with its tables; prepared statements are forgotten.
    pub fn start(self) -> Result<Node, StartError> {
        Node::run(self.options, self.database)
    }

    /// Starts again on the same port without keyspaces and tables.
    pub fn start_empty(self) -> Result<Node, StartError> {
        Node::start(self.options)
    }
}

impl Node {
    /// Starts a node with its own threads; it listens when this returns. Any thread can call this, even within a runtime.
    pub fn start(options: NodeOptions) -> Result<Node, StartError> {
        let database = Arc::new(Database::new(system::catalog(), options.expect_rows));
        Node::run(options, database)
    }

    fn run(mut options: NodeOptions, database: Arc<Database>) -> Result<Node, StartError> {
        let (listeners, port) = listen_all(&options)?;
        // A restart uses the port that clients know.
        options.port = port;
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.enable_all().thread_name("cqldyno-node");
        if let Some(threads) = options.threads {
            builder.worker_threads(threads.max(1));
        }
        let state = Arc::new(NodeState::new(database, options));
        let runtime = builder.build().map_err(StartError::Threads)?;
        let handle = runtime.handle().clone();
        let (mut commands, mut accepting) = (Vec::new(), Vec::new());
        for (listener, node, shard_aware) in listeners {
            let (sender, received) = mpsc::unbounded_channel();
            commands.push(sender);
            accepting.push(accept(listener, (node, shard_aware), state.clone(), received));
        }
        let thread = std::thread::Builder::new()
            .name("cqldyno-node".to_owned())
            .spawn(move || {
                let accepting: Vec<_> = accepting.into_iter().map(|one| runtime.spawn(one)).collect();
                for one in accepting {
                    // An error is a panic of the accepting task, which was printed.
                    let _ = runtime.block_on(one);
                }
            })
            .map_err(StartError::Threads)?;
        Ok(Node { state, commands, thread: Some(thread), runtime: handle })
    }

    /// The address of the first node.
    pub fn address(&self) -> SocketAddr {
        (self.state.options.address, self.state.options.port).into()
    }

    /// The address of each node.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.state.nodes.iter().map(|node| (node.address, node.port).into()).collect()
    }

    /// The counters since the start; the times of EXECUTEs are those since the last call.
    pub fn stats(&self) -> Snapshot {
        self.state.snapshot()
    }

    /// Connections that are open now.
    pub fn open_connections(&self) -> usize {
        self.state.stats.open_connections()
    }

    /// Delays each answer from now on, with the jitter that it was started with.
    pub fn set_delay(&self, delay: Duration) {
        self.state.set_delay(delay);
    }

    /// Closes all connections; new ones are accepted.
    pub fn disconnect_all(&self) {
        // The receiver exists while the node runs.
        self.commands.iter().for_each(|commands| drop(commands.send(Command::DisconnectAll)));
    }

    /// Forgets all prepared statements, without closing a connection.
    pub fn forget_prepared(&self) {
        self.state.forget_prepared();
    }

    /// Sets the script of connections to come; nothing of it happens before [`Node::play`].
    pub fn set_script(&self, steps: Vec<Step>) {
        self.state.script.set(steps);
    }

    /// Starts the script.
    pub fn play(&self) {
        let _entered = self.runtime.enter();
        play::begin(&self.state);
    }

    /// Ends the script: what is closed opens, what is held is sent, and what was forgotten is known again. Returns what each step did;
    /// nothing if the script was not started.
    pub fn end_script(&self) -> Vec<Played> {
        play::end(&self.state)
    }

    /// Stops it: the port and all connections are closed when this returns. The result keeps the tables.
    pub fn stop(mut self) -> StoppedNode {
        self.shut_down();
        StoppedNode { options: self.state.options.clone(), database: self.state.database.clone() }
    }

    /// Stops it and starts it again on the same port, with its tables; prepared statements are forgotten.
    pub fn restart(self) -> Result<Node, StartError> {
        self.stop().start()
    }

    fn shut_down(&mut self) {
        self.commands.iter().for_each(|commands| drop(commands.send(Command::Stop)));
        if let Some(thread) = self.thread.take() {
            // An error is a panic, which was printed.
            let _ = thread.join();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// A node's listener, the node, and whether a connection's shard follows from the client's port.
type NodeListener = (TcpListener, usize, bool);

/// The listeners of all nodes, which have the same port on addresses of their own.
fn listen_all(options: &NodeOptions) -> Result<(Vec<NodeListener>, u16), StartError> {
    let mut attempts = 0..FREE_PORT_ATTEMPTS;
    loop {
        let first = listen(options.address, options.port)?;
        let listen_error = |source| StartError::Listen { address: options.address, port: options.port, source };
        let port = first.local_addr().map_err(listen_error)?.port();
        let others = (1..options.topology.nodes).map(|node| (node, port, false));
        let shard_aware = options.topology.shards.map(|_| shard_aware_port(port));
        let shard_aware =
            shard_aware.into_iter().flat_map(|port| (0..options.topology.nodes).map(move |node| (node, port, true)));
        let open = |(node, port, shard_aware)| Ok((listen(options.address_of(node), port)?, node, shard_aware));
        match others.chain(shard_aware).map(open).collect::<Result<Vec<_>, _>>() {
            Ok(others) => return Ok(([(first, 0, false)].into_iter().chain(others).collect(), port)),
            // A port that is free at one address may be in use at another.
            Err(StartError::InUse { .. }) if options.port == 0 && attempts.next().is_some() => {}
            Err(error) => return Err(error),
        }
    }
}

fn listen(address: Ipv4Addr, port: u16) -> Result<TcpListener, StartError> {
    if !address.is_loopback() {
        return Err(StartError::NotLoopback(address));
    }
    let open = || -> io::Result<TcpListener> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        // A restart must not wait until old connections time out.
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

/// A listener at the address of a node that was stopped. Another program may have the port for a moment.
async fn reopened(address: SocketAddr) -> Option<tokio::net::TcpListener> {
    let IpAddr::V4(ip) = address.ip() else { return None };
    let open = || {
        tokio::net::TcpListener::from_std(listen(ip, address.port()).map_err(|error| error.to_string())?)
            .map_err(|error| error.to_string())
    };
    for _ in 1..REOPENINGS {
        if let Ok(listener) = open() {
            return Some(listener);
        }
        tokio::time::sleep(BEFORE_REOPENING).await;
    }
    open().inspect_err(|error| tracing::error!("a node of the embedded cluster cannot start again: {error}")).ok()
}

async fn accept(
    listener: TcpListener,
    (node, shard_aware): (usize, bool),
    state: Arc<NodeState>,
    mut commands: mpsc::UnboundedReceiver<Command>,
) {
    let opened = tokio::net::TcpListener::from_std(listener)
        .and_then(|listener| listener.local_addr().map(|address| (listener, address)));
    let (listener, address) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            tracing::error!("the embedded cluster cannot accept connections: {error}");
            return;
        }
    };
    let mut listener = Some(listener);
    let mut effects = state.script.effects.subscribe();
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            command = commands.recv() => match command {
                Some(Command::DisconnectAll) => connections.abort_all(),
                Some(Command::Stop) | None => break,
            },
            effect = effects.recv() => match effect {
                Ok(Effect::Stop(fired)) if fired.node() == Some(node) => {
                    listener = None;
                    fired.touch(connections.len() as u64);
                    connections.abort_all();
                }
                Ok(Effect::Start(fired)) if fired.node() == Some(node) && listener.is_none() => listener = reopened(address).await,
                Ok(Effect::End) | Err(RecvError::Lagged(_)) if listener.is_none() => listener = reopened(address).await,
                _ => {}
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = accepted => match accepted {
                Ok((stream, peer)) => {
                    if state.script.starts() {
                        play::begin(&state);
                    }
                    if state.script.is_set() && state.script.playing().is_some_and(|play| play.refuses(node)) {
                        continue;
                    }
                    let shard = state.options.topology.shards.map(|shards| match shard_aware {
                        true => usize::from(peer.port()) % shards,
                        false => state.stats.idlest_shard(node, shards),
                    });
                    let stats = state.stats.connection(peer, Place { node, shard });
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
