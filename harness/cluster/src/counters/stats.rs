//! The counters of a node and its connections.
//!
//! A connection counts for itself and publishes after each read of its socket, before it writes the answers. So a client with an
//! answer finds its request counted.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::codec::Opcode;
use crate::counters::operations::{Operation, Request, TextNumber};
use crate::counters::snapshot::{ConnectionSnapshot, ExecuteTimes, OperationSnapshot, Routed, Snapshot};
use crate::error::Hex;
use crate::prepared::StatementId;

/// Closed connections that stay listed; older ones only count in the totals.
const CLOSED_REMEMBERED: usize = 1_024;

/// The numbers of opcodes, with their gap. This one stands for all that are unknown.
const UNKNOWN_OPCODE: usize = Opcode::AuthSuccess as usize + 1;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    opcodes: [u64; UNKNOWN_OPCODE + 1],
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    pub(crate) writes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) answers: u64,
}

impl Totals {
    fn add(&mut self, other: &Totals) {
        for (mine, theirs) in self.opcodes.iter_mut().zip(other.opcodes) {
            *mine += theirs;
        }
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
        self.answers += other.answers;
    }

    fn frames(&self) -> u64 {
        self.opcodes.iter().sum()
    }
}

/// What one connection did since it last published.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) totals: Totals,
    /// The time of the last read, [`monotonic_ns`].
    pub(crate) read_at_ns: u64,
    pub(crate) errors: Vec<i32>,
    /// The ids of EXECUTEs that the script refused.
    pub(crate) refused: Vec<StatementId>,
    pub(crate) operations: Vec<Operation>,
}

impl Tally {
    #[inline]
    pub(crate) fn count_opcode(&mut self, opcode: Option<Opcode>) {
        self.totals.opcodes[opcode.map_or(UNKNOWN_OPCODE, |opcode| opcode as usize)] += 1;
    }

    /// Counts an answer, with its code if it is an error.
    pub(crate) fn count_answer(&mut self, error: Option<i32>) {
        self.totals.answers += 1;
        self.errors.extend(error);
    }
}

#[derive(Debug, Default)]
struct Counts {
    totals: Totals,
    errors: BTreeMap<i32, u64>,
    subjects: BTreeMap<Subject, Count>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Execute(StatementId),
    /// Other requests of one kind for one text.
    Other(Request, TextNumber),
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    count: u64,
    rows: u64,
    /// Of those since the last snapshot.
    times: Option<ExecuteTimes>,
    /// Unlisted connections that sent some since the last snapshot.
    forgotten: u64,
    routed: Routed,
    /// Not among the others.
    refused: u64,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.totals.add(&other.totals);
        for (code, count) in &other.errors {
            *self.errors.entry(*code).or_default() += count;
        }
        for (subject, count) in &other.subjects {
            self.count(*subject, *count);
        }
    }

    fn count(&mut self, subject: Subject, more: Count) {
        let known = self.subjects.entry(subject).or_default();
        known.count += more.count;
        known.rows += more.rows;
        known.times = ExecuteTimes::of_both(known.times, more.times);
        known.forgotten += more.forgotten;
        known.routed.add(more.routed);
        known.refused += more.refused;
    }

    /// Adds those of a connection that leaves the list.
    fn forget(&mut self, connection: &Counts) {
        self.add(connection);
        for (subject, _) in connection.since_snapshot() {
            self.count(*subject, Count { forgotten: 1, ..Count::default() });
        }
    }

    fn since_snapshot(&self) -> impl Iterator<Item = (&Subject, &Count)> {
        self.subjects.iter().filter(|(_, count)| count.times.is_some())
    }

    fn executes_by_hex(&self) -> BTreeMap<String, u64> {
        let executes = self.subjects.iter().filter_map(|(subject, count)| match subject {
            Subject::Execute(id) if count.count > 0 => Some((Hex(id).to_string(), count.count)),
            _ => None,
        });
        executes.collect()
    }

    /// Resets what is counted since the last snapshot.
    fn end_interval(&mut self) {
        for count in self.subjects.values_mut() {
            (count.times, count.forgotten) = (None, 0);
        }
    }
}

#[derive(Debug)]
pub(crate) struct ConnectionStats {
    pub(crate) id: u64,
    /// The client's address.
    pub(crate) peer: SocketAddr,
    pub(crate) place: Place,
    /// Without its counters.
    described: Mutex<ConnectionSnapshot>,
    counts: Mutex<Counts>,
}

/// Where a connection leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Counting up from 0.
    pub(crate) node: usize,
    /// With the sharding extension.
    pub(crate) shard: Option<usize>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ConnectionStats {
    /// Changes what the snapshot says of it.
    pub(crate) fn describe(&self, change: impl FnOnce(&mut ConnectionSnapshot)) {
        change(&mut lock(&self.described));
    }

    /// Adds a tally, and EXECUTEs of each id with where they came.
    pub(crate) fn publish(&self, tally: &mut Tally, executes: impl Iterator<Item = (StatementId, u64, Routed)>) {
        let mut counts = lock(&self.counts);
        counts.totals.add(&std::mem::take(&mut tally.totals));
        for code in tally.errors.drain(..) {
            *counts.errors.entry(code).or_default() += 1;
        }
        let times = Some(ExecuteTimes { first_ns: tally.read_at_ns, last_ns: tally.read_at_ns });
        for (id, count, routed) in executes {
            counts.count(Subject::Execute(id), Count { count, times, routed, ..Count::default() });
        }
        for id in tally.refused.drain(..) {
            counts.count(Subject::Execute(id), Count { refused: 1, ..Count::default() });
        }
        for Operation { request, text, count, rows } in tally.operations.drain(..) {
            counts.count(Subject::Other(request, text), Count { count, rows, times, ..Count::default() });
        }
    }

    fn snapshot(&self) -> ConnectionSnapshot {
        let counts = lock(&self.counts);
        ConnectionSnapshot {
            frames: counts.totals.frames(),
            reads: counts.totals.reads,
            read_bytes: counts.totals.read_bytes,
            executes: counts.executes_by_hex(),
            ..lock(&self.described).clone()
        }
    }
}

#[derive(Debug, Default)]
struct Connections {
    ever: u64,
    open: BTreeMap<u64, Arc<ConnectionStats>>,
    open_at: HashMap<Place, usize>,
    /// The last ones that closed, the oldest first.
    closed: VecDeque<Arc<ConnectionStats>>,
    /// The counters of connections that left the list.
    forgotten: Counts,
}

#[derive(Debug, Default)]
pub(crate) struct Stats {
    connections: Mutex<Connections>,
}

impl Stats {
    pub(crate) fn connection(&self, peer: SocketAddr, place: Place) -> Arc<ConnectionStats> {
        let mut connections = lock(&self.connections);
        connections.ever += 1;
        let id = connections.ever;
        let Place { node, shard } = place;
        let described =
            ConnectionSnapshot { id, peer: peer.to_string(), node, shard, open: true, ..ConnectionSnapshot::default() };
        let stats =
            Arc::new(ConnectionStats { id, peer, place, described: Mutex::new(described), counts: Mutex::default() });
        connections.open.insert(id, stats.clone());
        *connections.open_at.entry(place).or_default() += 1;
        stats
    }

    /// The connection has closed, and publishes nothing any more.
    pub(crate) fn closed(&self, connection: &ConnectionStats) {
        connection.describe(|client| client.open = false);
        let mut connections = lock(&self.connections);
        let Some(closed) = connections.open.remove(&connection.id) else { return };
        connections.open_at.entry(closed.place).and_modify(|open| *open -= 1);
        connections.closed.push_back(closed);
        if connections.closed.len() > CLOSED_REMEMBERED
            && let Some(oldest) = connections.closed.pop_front()
        {
            connections.forgotten.forget(&lock(&oldest.counts));
        }
    }

    /// The shard of the node that has the fewest open connections, of so many.
    pub(crate) fn idlest_shard(&self, node: usize, shards: usize) -> usize {
        let connections = lock(&self.connections);
        let open = |shard| connections.open_at.get(&Place { node, shard: Some(shard) }).copied().unwrap_or(0);
        (0..shards).min_by_key(|shard| open(*shard)).unwrap_or(0)
    }

    pub(crate) fn open_connections(&self) -> usize {
        lock(&self.connections).open.len()
    }

    /// All counters, without prepared statements and rows. Starts new times of EXECUTEs. `texts` are those of the counted numbers.
    pub(crate) fn snapshot(&self, texts: &HashMap<TextNumber, Arc<str>>) -> Snapshot {
        let mut connections = lock(&self.connections);
        let mut sum = Counts::default();
        sum.add(&connections.forgotten);
        connections.forgotten.end_interval();
        let mut senders: BTreeMap<Subject, Vec<u64>> = BTreeMap::new();
        let mut listed: Vec<_> = connections.closed.iter().chain(connections.open.values()).cloned().collect();
        listed.sort_by_key(|connection| connection.id);
        for connection in &listed {
            let mut counts = lock(&connection.counts);
            sum.add(&counts);
            for (subject, _) in counts.since_snapshot() {
                senders.entry(*subject).or_default().push(connection.id);
            }
            counts.end_interval();
        }
        let (mut operations, mut execute_times) = (Vec::new(), BTreeMap::new());
        let (mut executes_forgotten_connections, mut routed) = (BTreeMap::new(), BTreeMap::new());
        let mut executes_refused = BTreeMap::new();
        for (subject, count) in &sum.subjects {
            match subject {
                Subject::Execute(id) => {
                    let id = Hex(id).to_string();
                    let forgotten = (count.forgotten > 0).then(|| (id.clone(), count.forgotten));
                    executes_forgotten_connections.extend(forgotten);
                    routed.extend((count.routed.keyed > 0).then(|| (id.clone(), count.routed)));
                    executes_refused.extend((count.refused > 0).then(|| (id.clone(), count.refused)));
                    execute_times.extend(count.times.map(|times| (id, times)));
                }
                Subject::Other(request, text) => operations.push(OperationSnapshot {
                    request: *request,
                    text: texts.get(text).map(|text| text.to_string()).unwrap_or_default(),
                    count: count.count,
                    rows: count.rows,
                    times: count.times,
                    connections: senders.remove(subject).unwrap_or_default(),
                    forgotten_connections: count.forgotten,
                }),
            }
        }
        let names = Opcode::ALL.iter().map(|(opcode, name)| (*opcode as usize, *name));
        let opcodes = names.chain([(UNKNOWN_OPCODE, "unknown")]);
        let opcodes = opcodes.map(|(at, name)| (name.to_owned(), sum.totals.opcodes[at]));
        let (cpu_user_us, cpu_sys_us) = cpu_time_us();
        Snapshot {
            connections: listed.iter().map(|connection| connection.snapshot()).collect(),
            connections_ever: connections.ever,
            frames: sum.totals.frames(),
            opcodes: opcodes.filter(|(_, count)| *count > 0).collect(),
            reads: sum.totals.reads,
            read_bytes: sum.totals.read_bytes,
            answers: sum.totals.answers,
            writes: sum.totals.writes,
            written_bytes: sum.totals.written_bytes,
            errors: sum.errors.iter().map(|(code, count)| (format!("{code:#06x}"), *count)).collect(),
            executes_refused,
            executes_forgotten: connections.forgotten.executes_by_hex(),
            executes_forgotten_connections,
            routed,
            operations,
            execute_times,
            cpu_user_us,
            cpu_sys_us,
            ..Snapshot::default()
        }
    }
}

/// CLOCK_MONOTONIC, nanoseconds: the same in all processes of the machine.
pub(crate) fn monotonic_ns() -> u64 {
    use nix::time::{ClockId, clock_gettime};
    // This clock cannot fail on Linux.
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
            let connection = stats.connection(([127, 0, 0, 1], 1).into(), Place::default());
            connection.publish(&mut Tally::default(), std::iter::once((id, 2, Routed::default())));
            stats.closed(&connection);
        }
        let snapshot = stats.snapshot(&HashMap::new());
        assert_eq!(snapshot.connections.len(), CLOSED_REMEMBERED);
        assert_eq!(snapshot.executes_of(&Hex(&id).to_string()), 2 * (CLOSED_REMEMBERED as u64 + 10));
        let _open = stats.connection(([127, 0, 0, 1], 1).into(), Place::default());
        assert_eq!((snapshot.open_connections(), stats.snapshot(&HashMap::new()).open_connections()), (0, 1));
    }

    #[test]
    fn connections_that_sent_something_since_the_last_snapshot_are_counted_when_they_are_listed_no_more() {
        let stats = Stats::default();
        let id = StatementId::default();
        let texts: HashMap<TextNumber, Arc<str>> = [(1, "SELECT 1".into())].into();
        let connections = |count: usize| {
            for _ in 0..count {
                let connection = stats.connection(([127, 0, 0, 1], 1).into(), Place::default());
                for _ in 0..2 {
                    let operation = Operation { request: Request::Prepare, text: 1, count: 3, rows: 0 };
                    let mut tally = Tally { read_at_ns: 7, operations: vec![operation], ..Tally::default() };
                    connection.publish(&mut tally, std::iter::once((id, 1, Routed::default())));
                }
                stats.closed(&connection);
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
        let (one, other) = (
            stats.connection(([127, 0, 0, 1], 1).into(), Place::default()),
            stats.connection(([127, 0, 0, 1], 2).into(), Place::default()),
        );
        for (connection, read_at_ns) in [(&one, 30), (&other, 20), (&one, 50)] {
            let totals = Totals { reads: 1, read_bytes: 10, ..Totals::default() };
            let mut tally = Tally { read_at_ns, totals, ..Tally::default() };
            connection.publish(&mut tally, std::iter::once((id, 1, Routed::default())));
        }
        let snapshot = stats.snapshot(&HashMap::new());
        assert_eq!(snapshot.execute_times[&hex], ExecuteTimes { first_ns: 20, last_ns: 50 });
        assert_eq!((snapshot.reads, snapshot.read_bytes), (3, 30));
        assert_eq!((snapshot.connections[0].reads, snapshot.connections[0].read_bytes), (2, 20));
        assert!(stats.snapshot(&HashMap::new()).execute_times.is_empty());
        other.publish(&mut Tally { read_at_ns: 60, ..Tally::default() }, std::iter::once((id, 1, Routed::default())));
        let snapshot = stats.snapshot(&HashMap::new());
        assert_eq!(snapshot.execute_times[&hex], ExecuteTimes { first_ns: 60, last_ns: 60 });
        assert_eq!(snapshot.executes_of(&hex), 4);
    }
}
