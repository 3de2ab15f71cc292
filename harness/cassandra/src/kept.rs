//! A cluster that outlives the process that started it.

use std::fs::{self, File, TryLockError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cluster::{Cluster, Process, Running, Start, State};
use crate::error::{CassandraError, Result, of};
use crate::fetch::alone;
use crate::node::Gate;
use crate::order::Order;

/// How long the nodes may take to end by themselves.
const END_WITHIN: Duration = Duration::from_secs(20);
/// What is said while another process holds the lock.
const WAITS: &str = "Waiting for another `cqldyno cluster start` or `cqldyno cluster stop` to end ...";

/// The one cluster of a cache that is kept.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    state: State,
}

/// A node of it.
#[derive(Debug)]
pub struct KeptNode<'a> {
    /// Where it listens for CQL.
    pub address: SocketAddr,
    /// Its process id.
    pub process: i32,
    /// What it said.
    pub log: &'a Path,
    /// What it does now.
    pub condition: Condition,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It runs and answers a query.
    Answers,
    /// It runs and answers none.
    Silent,
    /// It no longer runs.
    Ended,
}

impl KeptNode<'_> {
    fn look(node: &Running) -> KeptNode<'_> {
        let condition = match node.process.is_alive() {
            false => Condition::Ended,
            true if node.answers() => Condition::Answers,
            true => Condition::Silent,
        };
        KeptNode { address: node.address, process: node.process.pid, log: &node.log, condition }
    }
}

impl Kept {
    fn folder(cache: &Path) -> PathBuf {
        cache.join("cassandra/kept")
    }

    /// Held by whoever starts or ends the cluster.
    fn lock(cache: &Path) -> PathBuf {
        cache.join("cassandra/kept.lock")
    }

    /// The cluster that was started from this cache, whether its nodes still run or not.
    pub fn find(cache: &Path) -> Option<Kept> {
        let folder = Kept::folder(cache);
        State::read(&folder).map(|state| Kept { folder, state })
    }

    /// Whether another process starts or ends it now.
    pub fn is_changing(cache: &Path) -> bool {
        let lock = File::open(Kept::lock(cache));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Starts one, which runs until it is stopped.
    ///
    /// # Errors
    /// When one runs already; else as [`Cluster::start`].
    pub fn start(
        order: &Order,
        cache: &Path,
        gate: Gate<'_>,
        says: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Kept> {
        let _alone = alone(&Kept::lock(cache), &mut || says(WAITS), cancelled)?;
        if let Some(kept) = Kept::find(cache).filter(|kept| kept.alive().next().is_some()) {
            let answering = kept.nodes().iter().filter(|node| node.condition == Condition::Answers).count();
            return Err(match answering == kept.asked() {
                true => CassandraError::Runs(kept.target()),
                false => CassandraError::NotWhole(kept.target()),
            });
        }
        let folder = Kept::folder(cache);
        let logs = cache.join("cassandra/kept-logs");
        fs::create_dir_all(&logs).map_err(of(&logs))?;
        let log = |node: u8| logs.join(format!("node{node}.log"));
        let start = Start {
            order,
            cache,
            folder: &folder,
            log: &log,
            gate,
            kept: true,
            yaml: &[],
            login: None,
            says,
            cancelled,
        };
        Cluster::start(start).map(drop)?;
        Kept::find(cache).ok_or(CassandraError::Cancelled)
    }

    /// `Apache Cassandra 5.0.9, 1 node, heap 1 GiB`, as it was asked for.
    pub fn about(&self) -> &str {
        &self.state.about
    }

    /// The number of nodes that were asked for.
    pub fn asked(&self) -> usize {
        self.state.asked.into()
    }

    /// Its addresses as `--target` takes them.
    pub fn target(&self) -> String {
        self.state.nodes.iter().map(|node| node.address.to_string()).collect::<Vec<_>>().join(",")
    }

    /// The nodes that were begun, which are asked for their condition.
    pub fn nodes(&self) -> Vec<KeptNode<'_>> {
        self.state.nodes.iter().map(KeptNode::look).collect()
    }

    fn alive(&self) -> impl Iterator<Item = Process> {
        self.state.nodes.iter().map(|node| node.process).filter(|process| process.is_alive())
    }

    /// Ends the nodes, at once if they do not end by themselves, and removes all that they wrote. Returns what was ended; `None` if there
    /// was none.
    ///
    /// # Errors
    /// When its folder cannot be removed, or the user no longer waits for its start.
    pub fn stop(cache: &Path, says: &mut dyn FnMut(&str), cancelled: &dyn Fn() -> bool) -> Result<Option<Kept>> {
        let _alone = alone(&Kept::lock(cache), &mut || says(WAITS), cancelled)?;
        let Some(kept) = Kept::find(cache) else { return Ok(None) };
        for process in kept.alive() {
            // It may be gone by now, which is as good.
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGTERM);
        }
        let began = Instant::now();
        while kept.alive().next().is_some() && began.elapsed() < END_WITHIN {
            std::thread::sleep(Duration::from_millis(50));
        }
        kept.alive().for_each(Process::kill);
        while kept.alive().next().is_some() {
            std::thread::sleep(Duration::from_millis(10));
        }
        fs::remove_dir_all(&kept.folder).map_err(of(&kept.folder))?;
        Ok(Some(kept))
    }
}
