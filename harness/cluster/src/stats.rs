//! What the node counts.
//!
//! A connection counts for itself and publishes after each read of its socket, before the answers are written: who has an answer finds
//! its request counted.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::codec::Opcode;
use crate::codec::response::Hex;
use crate::statement::StatementId;

/// Closed connections that are remembered one by one; what older ones did stays in the totals.
const CLOSED_REMEMBERED: usize = 1_024;

/// Numbers of opcodes, with the gap among them.
const OPCODES: usize = Opcode::AuthSuccess as usize + 1;

/// Everything that is counted, at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The connections, oldest first, with those that were closed (of these the last thousand).
    pub connections: Vec<ConnectionSnapshot>,
    /// Connections accepted since the start.
    pub connections_ever: u64,
    /// Request frames, by the opcode's name.
    pub opcodes: BTreeMap<String, u64>,
    /// Reads of sockets that brought bytes.
    pub reads: u64,
    /// Request frames.
    pub frames: u64,
    /// Answer frames.
    pub answers: u64,
    /// Writes to sockets.
    pub writes: u64,
    /// ERROR answers, by code in hexadecimal as the specification writes it (`0x2200`).
    pub errors: BTreeMap<String, u64>,
    /// The text of each prepared statement, by id in hexadecimal.
    pub prepared: BTreeMap<String, String>,
    /// EXECUTEs by prepared id in hexadecimal, of closed connections that are no longer listed.
    #[serde(default)]
    pub executes_forgotten: BTreeMap<String, u64>,
    /// CPU time of the process in user mode, microseconds.
    pub cpu_user_us: u64,
    /// CPU time of the process in the kernel, microseconds.
    pub cpu_sys_us: u64,
    /// Rows in all tables.
    pub rows: u64,
}

/// One connection of a [`Snapshot`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSnapshot {
    /// Counting up from 1.
    pub id: u64,
    /// The client's address.
    pub peer: String,
    /// Whether it is open.
    pub open: bool,
    /// DRIVER_NAME of STARTUP.
    pub driver_name: Option<String>,
    /// DRIVER_VERSION of STARTUP.
    pub driver_version: Option<String>,
    /// Whether it asked for events, as control connections do.
    pub registered: bool,
    /// EXECUTEs by prepared id in hexadecimal.
    pub executes: BTreeMap<String, u64>,
}

impl Snapshot {
    /// EXECUTEs of a prepared id over all connections since the start.
    pub fn executes_of(&self, id: &str) -> u64 {
        let listed: u64 = self.connections.iter().filter_map(|connection| connection.executes.get(id)).sum();
        listed + self.executes_forgotten.get(id).copied().unwrap_or(0)
    }
}

/// What one connection did since it published last.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) opcodes: [u64; OPCODES],
    pub(crate) unknown_opcodes: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) answers: u64,
    pub(crate) errors: Vec<i32>,
}

impl Tally {
    /// Counts a request frame.
    #[inline]
    pub(crate) fn count_opcode(&mut self, opcode: Option<Opcode>) {
        match opcode {
            Some(opcode) => self.opcodes[opcode as usize] += 1,
            None => self.unknown_opcodes += 1,
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    opcodes: [u64; OPCODES],
    unknown_opcodes: u64,
    reads: u64,
    writes: u64,
    answers: u64,
    errors: BTreeMap<i32, u64>,
    executes: Vec<(StatementId, u64)>,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        for (mine, theirs) in self.opcodes.iter_mut().zip(other.opcodes) {
            *mine += theirs;
        }
        self.unknown_opcodes += other.unknown_opcodes;
        self.reads += other.reads;
        self.writes += other.writes;
        self.answers += other.answers;
        for (code, count) in &other.errors {
            *self.errors.entry(*code).or_default() += count;
        }
        for (id, count) in &other.executes {
            self.executed(*id, *count);
        }
    }

    fn executed(&mut self, id: StatementId, count: u64) {
        match self.executes.iter_mut().find(|known| known.0 == id) {
            Some(known) => known.1 += count,
            None => self.executes.push((id, count)),
        }
    }

    fn executes_by_hex(&self) -> BTreeMap<String, u64> {
        self.executes.iter().map(|(id, count)| (Hex(id).to_string(), *count)).collect()
    }
}

#[derive(Debug, Default)]
struct Described {
    driver_name: Option<String>,
    driver_version: Option<String>,
}

/// The counters of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionStats {
    pub(crate) id: u64,
    peer: SocketAddr,
    open: AtomicBool,
    registered: AtomicBool,
    described: Mutex<Described>,
    counts: Mutex<Counts>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ConnectionStats {
    pub(crate) fn set_driver(&self, name: Option<&str>, version: Option<&str>) {
        *lock(&self.described) =
            Described { driver_name: name.map(str::to_owned), driver_version: version.map(str::to_owned) };
    }

    pub(crate) fn set_registered(&self) {
        self.registered.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_closed(&self) {
        self.open.store(false, Ordering::Relaxed);
    }

    /// Adds what was done since the last time, and EXECUTEs by id.
    pub(crate) fn publish(&self, tally: &mut Tally, executes: impl Iterator<Item = (StatementId, u64)>) {
        let mut counts = lock(&self.counts);
        for (total, count) in counts.opcodes.iter_mut().zip(&mut tally.opcodes) {
            *total += std::mem::take(count);
        }
        counts.unknown_opcodes += std::mem::take(&mut tally.unknown_opcodes);
        counts.reads += std::mem::take(&mut tally.reads);
        counts.writes += std::mem::take(&mut tally.writes);
        counts.answers += std::mem::take(&mut tally.answers);
        for code in tally.errors.drain(..) {
            *counts.errors.entry(code).or_default() += 1;
        }
        for (id, count) in executes {
            counts.executed(id, count);
        }
    }

    fn snapshot(&self) -> ConnectionSnapshot {
        let described = lock(&self.described);
        let executes = lock(&self.counts).executes_by_hex();
        ConnectionSnapshot {
            id: self.id,
            peer: self.peer.to_string(),
            open: self.open.load(Ordering::Relaxed),
            driver_name: described.driver_name.clone(),
            driver_version: described.driver_version.clone(),
            registered: self.registered.load(Ordering::Relaxed),
            executes,
        }
    }
}

#[derive(Debug, Default)]
struct Connections {
    ever: u64,
    list: Vec<Arc<ConnectionStats>>,
    /// What those did that are remembered no more.
    forgotten: Counts,
}

/// All counters of a node.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    connections: Mutex<Connections>,
}

impl Stats {
    /// A new connection.
    pub(crate) fn connection(&self, peer: SocketAddr) -> Arc<ConnectionStats> {
        let mut connections = lock(&self.connections);
        connections.ever += 1;
        let stats = Arc::new(ConnectionStats {
            id: connections.ever,
            peer,
            open: AtomicBool::new(true),
            registered: AtomicBool::new(false),
            described: Mutex::default(),
            counts: Mutex::default(),
        });
        connections.list.push(stats.clone());
        let mut closed = (0..).zip(&connections.list).filter(|(_, known)| !known.open.load(Ordering::Relaxed));
        if let Some((oldest, _)) = closed.next()
            && closed.count() >= CLOSED_REMEMBERED
        {
            let oldest = connections.list.remove(oldest);
            connections.forgotten.add(&lock(&oldest.counts));
        }
        stats
    }

    /// All counters; prepared statements and rows are for the caller to fill in.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let connections = lock(&self.connections);
        let mut sum = Counts::default();
        sum.add(&connections.forgotten);
        connections.list.iter().for_each(|connection| sum.add(&lock(&connection.counts)));
        let mut opcodes: BTreeMap<String, u64> = Opcode::ALL
            .iter()
            .map(|opcode| (opcode.name().to_owned(), sum.opcodes[*opcode as usize]))
            .filter(|(_, count)| *count > 0)
            .collect();
        if sum.unknown_opcodes > 0 {
            opcodes.insert("unknown".to_owned(), sum.unknown_opcodes);
        }
        let (cpu_user_us, cpu_sys_us) = cpu_time_us();
        Snapshot {
            connections: connections.list.iter().map(|connection| connection.snapshot()).collect(),
            connections_ever: connections.ever,
            frames: opcodes.values().sum(),
            opcodes,
            reads: sum.reads,
            answers: sum.answers,
            writes: sum.writes,
            errors: sum.errors.iter().map(|(code, count)| (format!("{code:#06x}"), *count)).collect(),
            prepared: BTreeMap::new(),
            executes_forgotten: connections.forgotten.executes_by_hex(),
            cpu_user_us,
            cpu_sys_us,
            rows: 0,
        }
    }
}

/// User and system CPU time of this process, microseconds.
fn cpu_time_us() -> (u64, u64) {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    match getrusage(UsageWho::RUSAGE_SELF) {
        Ok(usage) => {
            let micros = |time: nix::sys::time::TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
            (micros(usage.user_time()), micros(usage.system_time()))
        }
        Err(_) => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_connection_executed_is_counted_after_it_is_no_longer_listed() {
        let stats = Stats::default();
        let id = StatementId::default();
        for _ in 0..CLOSED_REMEMBERED + 10 {
            let connection = stats.connection(([127, 0, 0, 1], 1).into());
            connection.publish(&mut Tally::default(), std::iter::once((id, 2)));
            connection.set_closed();
        }
        let snapshot = stats.snapshot();
        assert!(snapshot.connections.len() <= CLOSED_REMEMBERED + 1);
        assert_eq!(snapshot.executes_of(&Hex(&id).to_string()), 2 * (CLOSED_REMEMBERED as u64 + 10));
    }
}
