//! What the node counts.
//!
//! A connection counts for itself and publishes after each read of its socket, before the answers are written: who has an answer finds
//! its request counted.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::codec::Opcode;
use crate::codec::response::Hex;
use crate::operations::{Operation, Request, TextNumber};
use crate::snapshot::{ConnectionSnapshot, ExecuteTimes, OperationSnapshot, Snapshot};
use crate::statement::StatementId;

/// Closed connections that are remembered one by one; what older ones did stays in the totals.
const CLOSED_REMEMBERED: usize = 1_024;

/// Numbers of opcodes, with the gap among them.
const OPCODES: usize = Opcode::AuthSuccess as usize + 1;

/// What one connection did since it published last.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) opcodes: [u64; OPCODES],
    pub(crate) unknown_opcodes: u64,
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    /// When the last of the reads was, [`monotonic_ns`].
    pub(crate) read_at_ns: u64,
    pub(crate) writes: u64,
    pub(crate) answers: u64,
    pub(crate) errors: Vec<i32>,
    pub(crate) operations: Vec<Operation>,
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
    read_bytes: u64,
    writes: u64,
    answers: u64,
    errors: BTreeMap<i32, u64>,
    executes: Vec<Executed>,
    operations: BTreeMap<(Request, TextNumber), Operated>,
}

/// EXECUTEs of one statement.
#[derive(Clone, Copy, Debug)]
struct Executed {
    id: StatementId,
    count: u64,
    /// Of those since the last snapshot.
    times: Option<ExecuteTimes>,
    /// Connections that are no longer listed and executed it since the last snapshot.
    forgotten: u64,
}

/// Requests of one kind about one text; times and connections as in [`Executed`].
#[derive(Clone, Copy, Debug, Default)]
struct Operated {
    count: u64,
    rows: u64,
    times: Option<ExecuteTimes>,
    forgotten: u64,
}

impl Operated {
    fn add(&mut self, more: Operated) {
        self.count += more.count;
        self.rows += more.rows;
        self.times = ExecuteTimes::of_both(self.times, more.times);
        self.forgotten += more.forgotten;
    }
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        for (mine, theirs) in self.opcodes.iter_mut().zip(other.opcodes) {
            *mine += theirs;
        }
        self.unknown_opcodes += other.unknown_opcodes;
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.answers += other.answers;
        for (code, count) in &other.errors {
            *self.errors.entry(*code).or_default() += count;
        }
        for executed in &other.executes {
            self.executed(*executed);
        }
        for (what, operated) in &other.operations {
            self.operations.entry(*what).or_default().add(*operated);
        }
    }

    /// Adds those of a connection that is listed no more.
    fn forget(&mut self, connection: &Counts) {
        self.add(connection);
        for executed in connection.executes.iter().filter(|executed| executed.times.is_some()) {
            self.executed(Executed { count: 0, times: None, forgotten: 1, ..*executed });
        }
        for (what, _) in connection.operations.iter().filter(|(_, operated)| operated.times.is_some()) {
            self.operations.entry(*what).or_default().forgotten += 1;
        }
    }

    fn executed(&mut self, more: Executed) {
        match self.executes.iter_mut().find(|known| known.id == more.id) {
            Some(known) => {
                known.count += more.count;
                known.times = ExecuteTimes::of_both(known.times, more.times);
                known.forgotten += more.forgotten;
            }
            None => self.executes.push(more),
        }
    }

    fn frames(&self) -> u64 {
        self.opcodes.iter().sum::<u64>() + self.unknown_opcodes
    }

    fn executes_by_hex(&self) -> BTreeMap<String, u64> {
        self.executes.iter().map(|executed| (Hex(&executed.id).to_string(), executed.count)).collect()
    }

    /// When the statements were executed; forgotten by this, with all else that is told of the time since the last snapshot.
    fn take_times(&mut self) -> Vec<(StatementId, ExecuteTimes)> {
        for operated in self.operations.values_mut() {
            (operated.times, operated.forgotten) = (None, 0);
        }
        let times = self.executes.iter_mut().filter_map(|executed| {
            executed.forgotten = 0;
            Some((executed.id, executed.times.take()?))
        });
        times.collect()
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
        counts.read_bytes += std::mem::take(&mut tally.read_bytes);
        counts.writes += std::mem::take(&mut tally.writes);
        counts.answers += std::mem::take(&mut tally.answers);
        for code in tally.errors.drain(..) {
            *counts.errors.entry(code).or_default() += 1;
        }
        let times = Some(ExecuteTimes { first_ns: tally.read_at_ns, last_ns: tally.read_at_ns });
        for (id, count) in executes {
            counts.executed(Executed { id, count, times, forgotten: 0 });
        }
        for Operation { request, text, count, rows } in tally.operations.drain(..) {
            counts.operations.entry((request, text)).or_default().add(Operated { count, rows, times, forgotten: 0 });
        }
    }

    fn snapshot(&self) -> ConnectionSnapshot {
        let described = lock(&self.described);
        let counts = lock(&self.counts);
        ConnectionSnapshot {
            id: self.id,
            peer: self.peer.to_string(),
            open: self.open.load(Ordering::Relaxed),
            driver_name: described.driver_name.clone(),
            driver_version: described.driver_version.clone(),
            registered: self.registered.load(Ordering::Relaxed),
            frames: counts.frames(),
            reads: counts.reads,
            read_bytes: counts.read_bytes,
            executes: counts.executes_by_hex(),
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
            connections.forgotten.forget(&lock(&oldest.counts));
        }
        stats
    }

    /// Connections that are open now.
    pub(crate) fn open_connections(&self) -> usize {
        let connections = lock(&self.connections);
        connections.list.iter().filter(|connection| connection.open.load(Ordering::Relaxed)).count()
    }

    /// All counters; prepared statements and rows are for the caller to fill in. The times of EXECUTEs begin anew. `texts` are those
    /// of the numbers by which requests are counted.
    pub(crate) fn snapshot(&self, texts: &HashMap<TextNumber, Arc<str>>) -> Snapshot {
        let mut connections = lock(&self.connections);
        let mut sum = Counts::default();
        sum.add(&connections.forgotten);
        connections.forgotten.take_times();
        let mut carried: BTreeMap<(Request, TextNumber), Vec<u64>> = BTreeMap::new();
        for connection in &connections.list {
            let mut counts = lock(&connection.counts);
            sum.add(&counts);
            for (what, _) in counts.operations.iter().filter(|(_, operated)| operated.times.is_some()) {
                carried.entry(*what).or_default().push(connection.id);
            }
            counts.take_times();
        }
        let operations = sum.operations.iter().map(|(what, operated)| OperationSnapshot {
            request: what.0,
            text: texts.get(&what.1).map(|text| text.to_string()).unwrap_or_default(),
            count: operated.count,
            rows: operated.rows,
            times: operated.times,
            connections: carried.remove(what).unwrap_or_default(),
            forgotten_connections: operated.forgotten,
        });
        let operations = operations.collect();
        let forgotten = sum.executes.iter().filter(|executed| executed.forgotten > 0);
        let executes_forgotten_connections =
            forgotten.map(|executed| (Hex(&executed.id).to_string(), executed.forgotten)).collect();
        let times = sum.take_times();
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
            frames: sum.frames(),
            opcodes,
            reads: sum.reads,
            read_bytes: sum.read_bytes,
            answers: sum.answers,
            writes: sum.writes,
            errors: sum.errors.iter().map(|(code, count)| (format!("{code:#06x}"), *count)).collect(),
            prepared: BTreeMap::new(),
            executes_forgotten: connections.forgotten.executes_by_hex(),
            executes_forgotten_connections,
            operations,
            execute_times: times.into_iter().map(|(id, times)| (Hex(&id).to_string(), times)).collect(),
            cpu_user_us,
            cpu_sys_us,
            rows: 0,
            rows_by_table: BTreeMap::new(),
        }
    }
}

/// CLOCK_MONOTONIC, nanoseconds: the same in all processes of the machine.
pub(crate) fn monotonic_ns() -> u64 {
    use nix::time::{ClockId, clock_gettime};
    // Linux always has this clock.
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |time| (time.tv_sec() as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec() as u64))
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
        let snapshot = stats.snapshot(&HashMap::new());
        assert!(snapshot.connections.len() <= CLOSED_REMEMBERED + 1);
        assert_eq!(snapshot.executes_of(&Hex(&id).to_string()), 2 * (CLOSED_REMEMBERED as u64 + 10));
    }

    #[test]
    fn connections_that_sent_something_since_the_last_snapshot_are_counted_when_they_are_listed_no_more() {
        let stats = Stats::default();
        let id = StatementId::default();
        let texts: HashMap<TextNumber, Arc<str>> = [(1, "SELECT 1".into())].into();
        let connections = |count: usize| {
            for _ in 0..count {
                let connection = stats.connection(([127, 0, 0, 1], 1).into());
                for _ in 0..2 {
                    let operation = Operation { request: Request::Prepare, text: 1, count: 3, rows: 0 };
                    let mut tally = Tally { read_at_ns: 7, operations: vec![operation], ..Tally::default() };
                    connection.publish(&mut tally, std::iter::once((id, 1)));
                }
                connection.set_closed();
            }
            let snapshot = stats.snapshot(&texts);
            let [prepares] = snapshot.operations.as_slice() else { panic!("{:?}", snapshot.operations) };
            assert_eq!((prepares.request, prepares.text.as_str()), (Request::Prepare, "SELECT 1"));
            let executed = snapshot.executes_forgotten_connections.values().sum::<u64>();
            assert_eq!(executed, prepares.forgotten_connections);
            (prepares.count, prepares.times, prepares.connections.len() as u64 + prepares.forgotten_connections)
        };
        let times = Some(ExecuteTimes { first_ns: 7, last_ns: 7 });
        assert_eq!(connections(3_000), (18_000, times, 3_000));
        assert_eq!(connections(0), (18_000, None, 0));
        assert_eq!(connections(2_000), (30_000, times, 2_000));
    }

    #[test]
    fn times_of_executes_are_those_since_the_last_snapshot() {
        let stats = Stats::default();
        let id = StatementId::default();
        let hex = Hex(&id).to_string();
        let (one, other) = (stats.connection(([127, 0, 0, 1], 1).into()), stats.connection(([127, 0, 0, 1], 2).into()));
        for (connection, read_at_ns) in [(&one, 30), (&other, 20), (&one, 50)] {
            let mut tally = Tally { read_at_ns, reads: 1, read_bytes: 10, ..Tally::default() };
            connection.publish(&mut tally, std::iter::once((id, 1)));
        }
        let snapshot = stats.snapshot(&HashMap::new());
        assert_eq!(snapshot.execute_times[&hex], ExecuteTimes { first_ns: 20, last_ns: 50 });
        assert_eq!((snapshot.reads, snapshot.read_bytes), (3, 30));
        assert_eq!((snapshot.connections[0].reads, snapshot.connections[0].read_bytes), (2, 20));
        assert!(stats.snapshot(&HashMap::new()).execute_times.is_empty());
        other.publish(&mut Tally { read_at_ns: 60, ..Tally::default() }, std::iter::once((id, 1)));
        let snapshot = stats.snapshot(&HashMap::new());
        assert_eq!(snapshot.execute_times[&hex], ExecuteTimes { first_ns: 60, last_ns: 60 });
        assert_eq!(snapshot.executes_of(&hex), 4);
    }
}
