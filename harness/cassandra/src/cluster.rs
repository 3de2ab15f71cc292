//! Nodes that run, from their start until they are killed.

use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cqldyno_script::Step;
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::client::{ALL, Login, ONE, Row, query};
use crate::error::{CassandraError, Result, of};
use crate::fetch::{digest, jars};
use crate::machine::{Java, check, java, ports};
use crate::node::{Gate, Node};
use crate::order::Order;
use crate::play::{Deed, Play};

/// What a folder with a running cluster holds.
const STATE: &str = "cluster.json";
/// Where the cache has links to the folders of clusters that end with a process.
const FOLDERS: &str = "cassandra/folders";
/// How long each node may take to be ready, beside a build for example.
const READY_WITHIN: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Pools of threads whose work goes on after the statements that made it.
const LEFT_OVER: [&[u8]; 3] = [b"CompactionExecutor", b"MemtableFlushWriter", b"MemtablePostFlush"];
/// Work that follows from other work may begin a moment later.
const IDLE_LOOKS: u32 = 3;
/// Whether a node listens is known at once on this machine.
const LISTENS_WITHIN: Duration = Duration::from_millis(20);

/// What to start, and where.
pub struct Start<'a> {
    /// What is asked for.
    pub order: &'a Order,
    /// Holds what was fetched.
    pub cache: &'a Path,
    /// The cluster's own, for all that it writes but its logs; what is there is removed.
    pub folder: &'a Path,
    /// The log of the node with this number, from 1.
    pub log: &'a dyn Fn(u8) -> PathBuf,
    /// Ends what is started here with this thread.
    pub gate: Gate<'a>,
    /// Whether the nodes outlive this process.
    pub kept: bool,
    /// Values of cassandra.yaml besides ours, or in their place: passwords or TLS, for example.
    pub yaml: &'a [(String, String)],
    /// User and password, if `yaml` makes the nodes ask for them.
    pub login: Option<(String, String)>,
    /// Hears a sentence about each step that takes long.
    pub says: &'a mut dyn FnMut(&str),
    /// Whether the user wants it to end.
    pub cancelled: &'a dyn Fn() -> bool,
}

/// A running cluster. Its nodes are killed and its folder is removed when this is dropped, unless it is kept.
#[derive(Debug)]
pub struct Cluster {
    order: Order,
    addresses: Vec<SocketAddr>,
    folder: PathBuf,
    kept: bool,
    java: Java,
    jars: PathBuf,
    ports: (u16, u16),
    yaml: Vec<(String, String)>,
    took: Duration,
    login: Login,
    live: Mutex<Live>,
}

/// What changes while a cluster runs.
#[derive(Debug)]
struct Live {
    state: State,
    children: Vec<Child>,
    play: Option<Play>,
}

/// What is known of a running cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// As in [`Order::about`].
    pub about: String,
    /// The process that the cluster ends with; `None` for one that is kept.
    pub owner: Option<Process>,
    /// The number of nodes that were asked for.
    pub asked: u8,
    /// Those that were begun.
    pub nodes: Vec<Running>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    pub address: SocketAddr,
    pub process: Process,
    pub log: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub pid: i32,
    /// In ticks after the machine's start: a process id may be another process' later.
    pub started: u64,
}

impl Cluster {
    /// Fetches the release if need be, starts all nodes, and waits until each answers a query and sees all others.
    ///
    /// # Errors
    /// As [`check`]; when it cannot be fetched, a node ends or is not ready in time, or the user ends it. Nothing is left running then.
    pub fn start(start: Start<'_>) -> Result<Cluster> {
        let Start { order, cache, folder, log, gate, kept, yaml, login, says, cancelled } = start;
        // What a crash of ours left behind.
        sweep(cache);
        if let Some(state) = State::read(folder) {
            state.kill();
        }
        check(order, cache)?;
        let java = java(order)?;
        if !crate::is_fetched(&order.version, cache) {
            let place = cache.join("cassandra");
            says(&format!("Fetching {} with Maven into {}, this once ...", order.name(), place.display()));
        }
        let jars = jars(order, cache, gate, cancelled)?;
        let folder = std::path::absolute(folder).map_err(of(folder))?;
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(of(&folder))?;
        says(&format!("Starting {} ...", order.about()));
        let began = Instant::now();
        let ports = ports(order)?;
        let owner = (!kept).then(|| Process::of(std::process::id().cast_signed()));
        let state = State { about: order.about(), owner, asked: order.nodes, nodes: Vec::new() };
        state.write(&folder)?;
        if !kept {
            note(&folder, cache)?;
        }
        let mut cluster = Cluster {
            order: order.clone(),
            addresses: Vec::new(),
            folder,
            kept: false,
            java,
            jars,
            ports,
            yaml: yaml.to_vec(),
            took: Duration::ZERO,
            login,
            live: Mutex::new(Live { state, children: Vec::new(), play: None }),
        };
        for number in 0..order.nodes {
            let log = log(number + 1);
            let _ = fs::remove_file(&log);
            let (child, address) = cluster.node(number, &log, (!kept).then_some(gate))?;
            let process = Process::of(child.id().cast_signed());
            cluster.addresses.push(address);
            let mut live = cluster.live();
            live.children.push(child);
            live.state.nodes.push(Running { address, process, log });
            live.state.write(&cluster.folder)?;
            drop(live);
            // The first one is the seed, which the others ask before they join.
            if number == 0 || number + 1 == order.nodes {
                cluster.wait(cancelled)?;
            }
        }
        cluster.took = began.elapsed();
        cluster.kept = kept;
        Ok(cluster)
    }

    /// Starts the process of a node, which goes on with what the same node wrote before; where it is going to listen.
    fn node(&self, number: u8, log: &Path, gate: Option<Gate<'_>>) -> Result<(Child, SocketAddr)> {
        let folder = self.folder.join(format!("node{}", number + 1));
        let Order { nodes: of, heap, commitlog, .. } = self.order;
        let (java, jars, ports, yaml) = (&self.java, self.jars.as_path(), self.ports, self.yaml.as_slice());
        let node = Node { java, jars, folder, log, number, of, ports, heap, commitlog, yaml };
        Ok((node.start(gate)?, SocketAddr::new(IpAddr::V4(node.address()), self.ports.0)))
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it listens for CQL, one address per node.
    pub fn nodes(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The nodes' process ids.
    pub fn processes(&self) -> Vec<i32> {
        self.live().state.nodes.iter().map(|node| node.process.pid).collect()
    }

    /// Starts a script, whose steps [`plays`](crate::plays) let pass. [`Cluster::attend`] plays it.
    pub fn play(&self, script: &[Step]) {
        self.live().play = Some(Play::new(script));
    }

    /// Does what the script wants done by now. Nodes that it starts end with this thread.
    ///
    /// # Errors
    /// When a node cannot be started.
    pub fn attend(&self, gate: Gate<'_>) -> Result<()> {
        let mut live = self.live();
        let Live { state, children, play } = &mut *live;
        let Some(play) = play else { return Ok(()) };
        while let Some((deed, number)) = play.next() {
            if self.act(state, children, (deed, number), gate)? {
                play.note(deed, number);
            }
        }
        let started = play.away.iter().filter(|(_, deed)| **deed == Deed::Start).map(|(number, _)| *number);
        let listens = |number: &usize| TcpStream::connect_timeout(&self.addresses[*number], LISTENS_WITHIN).is_ok();
        let back: Vec<usize> = started.filter(listens).collect();
        back.into_iter().for_each(|number| play.returned(number));
        Ok(())
    }

    /// Does something to a node, if it is in the state for it; whether that is so.
    fn act(
        &self,
        state: &mut State,
        children: &mut [Child],
        (deed, number): (Deed, usize),
        gate: Gate<'_>,
    ) -> Result<bool> {
        let (Some(node), Some(child)) = (state.nodes.get_mut(number), children.get_mut(number)) else {
            return Ok(false);
        };
        if node.process.is_alive() == (deed == Deed::Start) {
            return Ok(false);
        }
        match deed {
            Deed::Kill => {
                node.process.kill();
                let _ = child.wait();
            }
            Deed::Freeze => node.process.signal(Signal::SIGSTOP),
            Deed::Thaw => node.process.signal(Signal::SIGCONT),
            Deed::Start => {
                (*child, _) = self.node(u8::try_from(number).unwrap_or(u8::MAX), &node.log, Some(gate))?;
                node.process = Process::of(child.id().cast_signed());
                state.write(&self.folder)?;
            }
        }
        Ok(true)
    }

    /// Ends the script, if one is under way: all nodes go on or are started, and see each other. Says what was done to which node.
    ///
    /// # Errors
    /// When a node does not come back in time, or the user ends it.
    pub fn end_play(&self, gate: Gate<'_>, cancelled: &dyn Fn() -> bool) -> Result<Vec<String>> {
        let mut live = self.live();
        let Live { state, children, play } = &mut *live;
        let Some(play) = play else { return Ok(Vec::new()) };
        for (number, deed) in play.away.clone() {
            let remedy = if deed == Deed::Freeze { Deed::Thaw } else { Deed::Start };
            if self.act(state, children, (remedy, number), gate)? {
                play.note(remedy, number);
            }
        }
        drop(live);
        self.wait(cancelled)?;
        // As long as the cluster is not whole, the next cell tries again.
        Ok(self.live().play.take().map(|play| play.told()).unwrap_or_default())
    }

    /// Why it no longer answers, as a full sentence: a node that ended otherwise than by a script, with the end of its log.
    pub fn ended(&self) -> Option<String> {
        let live = self.live();
        let is_away =
            |number: &usize| live.play.as_ref().is_some_and(|play| play.away.get(number) == Some(&Deed::Kill));
        let mut nodes = live.state.nodes.iter().enumerate().filter(|(number, _)| !is_away(number));
        let (_, node) = nodes.find(|(_, node)| !node.process.is_alive())?;
        Some(format!(
            "The node of Apache Cassandra at {} ended; its log ends: {}.",
            node.address,
            last_words(&node.log)
        ))
    }

    /// Java's version, and how long the start took.
    pub fn start_of(&self) -> (&str, Duration) {
        (&self.java.version, self.took)
    }

    /// Waits until no node flushes or compacts, for `within` at most; whether that is so now. Asks system_views, which costs some
    /// milliseconds.
    pub fn settle(&self, within: Duration, cancelled: &dyn Fn() -> bool) -> bool {
        let (began, mut idle) = (Instant::now(), 0);
        loop {
            idle = if self.addresses.iter().all(|node| is_idle(*node, &self.login)) { idle + 1 } else { 0 };
            if idle >= IDLE_LOOKS || cancelled() || began.elapsed() > within {
                return idle >= IDLE_LOOKS;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until all nodes that were started see each other.
    fn wait(&self, cancelled: &dyn Fn() -> bool) -> Result<()> {
        let nodes = self.live().state.nodes.clone();
        let others = nodes.len() - 1;
        let within = READY_WITHIN * u32::from(self.order.nodes);
        let deadline = Instant::now() + within;
        let mut left = nodes.as_slice();
        while let Some((node, rest)) = left.split_first() {
            if cancelled() {
                return Err(CassandraError::Cancelled);
            }
            if let Some(node) = nodes.iter().find(|node| !node.process.is_alive()) {
                let how = format!("ended at once ({})", last_words(&node.log));
                return Err(CassandraError::NotReady(self.order.name(), how, node.log.clone()));
            }
            if sees(node.address, &self.login, others) {
                left = rest;
                continue;
            }
            if Instant::now() > deadline {
                let how = format!("answers no query at {} after {} s", node.address, within.as_secs());
                return Err(CassandraError::NotReady(self.order.name(), how, node.log.clone()));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let mut live = self.live();
        live.state.kill();
        for child in &mut live.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        drop(live);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether the node answers, and knows that many others with all that drivers ask for, in one schema, and as nodes that are up: gossip
/// says so seconds after a node that was started answers by itself.
fn sees(node: SocketAddr, login: &Login, others: usize) -> bool {
    let ask = |cql| query(node, login, cql, ONE).unwrap_or_default();
    let own: Vec<Row> = ask("SELECT schema_version, tokens FROM system.local");
    let peers: Vec<Row> = ask("SELECT schema_version, tokens, rpc_address, host_id FROM system.peers");
    let is_whole = |row: &Row| row.iter().all(Option::is_some);
    let schema = own.first().and_then(|row| row.first());
    own.len() == 1
        && own.iter().all(is_whole)
        && peers.len() == others
        && peers.iter().all(|row| is_whole(row) && row.first() == schema)
        // Its three replicas are on all nodes together, if there are as many.
        && (others < 2 || query(node, login, "SELECT status FROM system_distributed.view_build_status", ALL).is_ok())
}

/// Whether the node has nothing left to flush or to compact; a node that does not answer is busy.
fn is_idle(node: SocketAddr, login: &Login) -> bool {
    let pools = query(node, login, "SELECT name, active_tasks, pending_tasks FROM system_views.thread_pools", ONE);
    let is_busy = |row: &Row| {
        let is_one = row.first().is_some_and(|name| LEFT_OVER.iter().any(|one| name.as_deref() == Some(one)));
        is_one && row.iter().skip(1).flatten().any(|number| number.iter().any(|byte| *byte != 0))
    };
    pools.is_ok_and(|rows| !rows.is_empty() && !rows.iter().any(is_busy))
}

/// The first error of a log with its cause, else its last lines, as a part of a sentence.
fn last_words(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let first = lines.iter().position(|line| line.starts_with("ERROR")).unwrap_or(lines.len().saturating_sub(2));
    let mut said = String::new();
    for line in lines.iter().skip(first).take(2) {
        let line: String = line.chars().take(200).collect();
        let _ = write!(said, "{}{}", if said.is_empty() { "" } else { " / " }, line.trim_end_matches('.'));
    }
    if said.is_empty() { "nothing".to_owned() } else { said }
}

impl State {
    pub(crate) fn read(folder: &Path) -> Option<State> {
        serde_json::from_str(&fs::read_to_string(folder.join(STATE)).ok()?).ok()
    }

    fn write(&self, folder: &Path) -> Result<()> {
        let (path, part) = (folder.join(STATE), folder.join(format!("{STATE}.part")));
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        // Another start may read it at any time.
        fs::write(&part, text).and_then(|()| fs::rename(&part, &path)).map_err(of(&path))
    }

    fn kill(&self) {
        self.nodes.iter().for_each(|node| node.process.kill());
    }
}

/// Notes in `cache` that a cluster writes into `folder`, so that a later start removes it if this process is killed.
fn note(folder: &Path, cache: &Path) -> Result<()> {
    let folders = cache.join(FOLDERS);
    let name = digest(folder.as_os_str().as_encoded_bytes()).map_err(of(folder))?;
    let link = folders.join(name);
    let _ = fs::remove_file(&link);
    fs::create_dir_all(&folders).and_then(|()| symlink(folder, &link)).map_err(of(&link))
}

/// Removes what clusters left whose process was killed.
fn sweep(cache: &Path) {
    for link in fs::read_dir(cache.join(FOLDERS)).into_iter().flatten().flatten() {
        let folder = fs::read_link(link.path()).unwrap_or_default();
        let state = State::read(&folder);
        if state.iter().any(|state| state.owner.is_some_and(Process::is_alive)) {
            continue;
        }
        // Without a state it is gone, or another's.
        if let Some(state) = state {
            state.kill();
            let _ = fs::remove_dir_all(&folder);
        }
        let _ = fs::remove_file(link.path());
    }
}

impl Running {
    /// Whether it answers a query.
    pub(crate) fn answers(&self) -> bool {
        query(self.address, &None, "SELECT key FROM system.local", ONE).is_ok_and(|rows| rows.len() == 1)
    }
}

impl Process {
    /// The process that has this id now.
    fn of(pid: i32) -> Process {
        Process { pid, started: ticks_at_start(pid).unwrap_or_default() }
    }

    /// Whether this very process runs.
    pub(crate) fn is_alive(self) -> bool {
        ticks_at_start(self.pid).is_some_and(|started| started == self.started)
    }

    /// Ends it at once, if it is still there.
    pub(crate) fn kill(self) {
        self.signal(Signal::SIGKILL);
    }

    fn signal(self, signal: Signal) {
        if self.is_alive() {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid), signal);
        }
    }
}

/// When a process began; `None` for one that ended, reaped or not (proc(5): fields 3 and 22 of stat).
fn ticks_at_start(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may have parentheses and spaces of its own.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let (state, started) = (fields.first()?, fields.get(19)?);
    (!["Z", "X"].contains(state)).then(|| started.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_id_and_by_when_it_began() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id().cast_signed();
        let node = Process::of(pid);
        let other = Process { started: node.started + 1, ..node };
        assert!(node.is_alive() && !other.is_alive());
        other.kill();
        assert!(node.is_alive(), "a process that took over the id is left alone");
        node.kill();
        while node.is_alive() {}
        child.wait().unwrap();
    }

    #[test]
    fn a_start_removes_what_a_killed_process_left_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (cache, process) = (dir.path().join("cache"), Process::of(std::process::id().cast_signed()));
        let folder = |name: &str, owner: Option<Process>| {
            let folder = dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            if owner.is_some() {
                let state = State { about: name.to_owned(), owner, asked: 1, nodes: Vec::new() };
                state.write(&folder).unwrap();
            }
            note(&folder, &cache).unwrap();
            folder
        };
        let killed = folder("killed", Some(Process { started: process.started + 1, ..process }));
        let (running, foreign) = (folder("running", Some(process)), folder("foreign", None));
        sweep(&cache);
        assert_eq!([&killed, &running, &foreign].map(|folder| folder.exists()), [false, true, true]);
        assert_eq!(fs::read_dir(cache.join(FOLDERS)).unwrap().count(), 1);
    }

    #[test]
    fn a_log_ends_with_its_errors_if_there_are_any() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        assert_eq!(last_words(&log), "nothing");
        fs::write(&log, "INFO a\nERROR b.\nINFO c\n\n").unwrap();
        assert_eq!(last_words(&log), "ERROR b / INFO c");
        fs::write(&log, "one\ntwo\nthree\n").unwrap();
        assert_eq!(last_words(&log), "two / three");
    }
}
