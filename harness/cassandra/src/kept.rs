//! A cluster that outlives the process that started it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cluster::{Cluster, Start, State};
use crate::error::{CassandraError, of};
use crate::node::Gate;
use crate::order::Order;

/// How long the nodes may take to end by themselves.
const END_WITHIN: Duration = Duration::from_secs(20);

/// The one cluster of a cache that is kept.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    state: State,
}

impl Kept {
    fn folder(cache: &Path) -> PathBuf {
        cache.join("cassandra/kept")
    }

    /// The cluster that was started from this cache, whether its nodes still run or not.
    pub fn find(cache: &Path) -> Option<Kept> {
        let folder = Kept::folder(cache);
        State::read(&folder).map(|state| Kept { folder, state })
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
    ) -> Result<Kept, CassandraError> {
        if let Some(kept) = Kept::find(cache).filter(|kept| kept.silent().len() < kept.state.nodes.len()) {
            return Err(CassandraError::Runs(kept.target()));
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

    /// `Apache Cassandra 5.0.9, 1 node, heap 1 GiB`.
    pub fn about(&self) -> &str {
        &self.state.about
    }

    /// Its addresses as `--target` takes them.
    pub fn target(&self) -> String {
        self.state.nodes.iter().map(|node| node.address.to_string()).collect::<Vec<_>>().join(",")
    }

    /// The process ids of its nodes.
    pub fn processes(&self) -> Vec<i32> {
        self.state.nodes.iter().map(|node| node.pid).collect()
    }

    /// The nodes that no longer run.
    pub fn silent(&self) -> Vec<SocketAddr> {
        self.state.nodes.iter().filter(|node| !node.is_alive()).map(|node| node.address).collect()
    }

    /// Ends the nodes, at once if they do not end by themselves, and removes all that they wrote.
    ///
    /// # Errors
    /// When their folder cannot be removed.
    pub fn stop(self) -> Result<(), CassandraError> {
        let alive = || self.state.nodes.iter().filter(|node| node.is_alive());
        for node in alive() {
            // It may be gone by now, which is as good.
            let _ = kill(Pid::from_raw(node.pid), Signal::SIGTERM);
        }
        let began = Instant::now();
        while alive().next().is_some() && began.elapsed() < END_WITHIN {
            std::thread::sleep(Duration::from_millis(50));
        }
        alive().for_each(|node| node.kill());
        while alive().next().is_some() {
            std::thread::sleep(Duration::from_millis(10));
        }
        fs::remove_dir_all(&self.folder).map_err(of(&self.folder))
    }
}
