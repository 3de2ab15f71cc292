//! The node's counters as a snapshot.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counters::operations::Request;

/// All counters at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// The connections, oldest first, including the last thousand closed ones.
    pub connections: Vec<ConnectionSnapshot>,
    /// Connections accepted since the start.
    pub connections_ever: u64,
    /// Request frames for each opcode's name.
    pub opcodes: BTreeMap<String, u64>,
    /// Reads of sockets that returned bytes.
    pub reads: u64,
    /// The bytes of these reads.
    pub read_bytes: u64,
    /// Request frames.
    pub frames: u64,
    /// Answer frames.
    pub answers: u64,
    /// Writes to sockets.
    pub writes: u64,
    /// The bytes of answers and events, compressed if they are, before they are encrypted.
    pub written_bytes: u64,
    /// ERROR answers for each code, written as in the specification (`0x2200`).
    pub errors: BTreeMap<String, u64>,
    /// The texts of executed prepared statements and of up to a thousand others, with ids in hexadecimal.
    pub prepared: BTreeMap<String, String>,
    /// EXECUTEs that a step of the script had answered with an error or UNPREPARED, for each prepared id. Other counts of EXECUTEs leave
    /// them out: they were received, and not executed.
    pub executes_refused: BTreeMap<String, u64>,
    /// EXECUTEs of closed connections that are no longer listed, for each prepared id.
    pub executes_forgotten: BTreeMap<String, u64>,
    /// Unlisted connections that executed the statement *since the snapshot before*, for each prepared id.
    pub executes_forgotten_connections: BTreeMap<String, u64>,
    /// Where EXECUTEs came, for each prepared id, if they could have come to a wrong place.
    pub routed: BTreeMap<String, Routed>,
    /// PREPAREs, QUERYs and BATCHes for each text.
    pub operations: Vec<OperationSnapshot>,
    /// When the first and last EXECUTE *since the snapshot before* were read, for each prepared id.
    pub execute_times: BTreeMap<String, ExecuteTimes>,
    /// CPU time of the process in user mode, microseconds.
    pub cpu_user_us: u64,
    /// CPU time of the process in the kernel, microseconds.
    pub cpu_sys_us: u64,
    /// Rows in all tables.
    pub rows: u64,
    /// Live rows for each table (`keyspace.table`).
    pub rows_by_table: BTreeMap<String, u64>,
}

/// Where EXECUTEs whose key is known came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routed {
    /// All of them.
    pub keyed: u64,
    /// To a replica of the row.
    pub to_replica: u64,
    /// To the shard of a replica that serves the row; every shard is right without the sharding extension.
    pub to_shard: u64,
}

impl Routed {
    /// Adds others.
    pub fn add(&mut self, other: Routed) {
        self.keyed += other.keyed;
        self.to_replica += other.to_replica;
        self.to_shard += other.to_shard;
    }
}

/// When a statement's requests were read, in nanoseconds of CLOCK_MONOTONIC, which all processes of the machine share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecuteTimes {
    /// The first EXECUTE.
    pub first_ns: u64,
    /// The last EXECUTE.
    pub last_ns: u64,
}

impl ExecuteTimes {
    pub(crate) fn of_both(one: Option<ExecuteTimes>, other: Option<ExecuteTimes>) -> Option<ExecuteTimes> {
        match (one, other) {
            (Some(one), Some(other)) => Some(ExecuteTimes {
                first_ns: one.first_ns.min(other.first_ns),
                last_ns: one.last_ns.max(other.last_ns),
            }),
            (one, other) => one.or(other),
        }
    }
}

/// Requests of one kind for one statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationSnapshot {
    /// The kind.
    pub request: Request,
    /// The statement's text without a comment at its end; empty for texts that are too many or too long.
    pub text: String,
    /// Requests since the start; a batch counts for each of its statements.
    pub count: u64,
    /// How often the statement was in batches.
    pub rows: u64,
    /// When the first and last were read *since the snapshot before*.
    pub times: Option<ExecuteTimes>,
    /// The listed connections that sent some *since the snapshot before*.
    pub connections: Vec<u64>,
    /// The number of unlisted connections that sent some *since the snapshot before*.
    pub forgotten_connections: u64,
}

/// One connection of a [`Snapshot`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionSnapshot {
    /// Counting up from 1.
    pub id: u64,
    /// The client's address.
    pub peer: String,
    /// The node that it is to, counting up from 0.
    pub node: usize,
    /// Its shard, with the sharding extension.
    pub shard: Option<usize>,
    /// Whether it is open.
    pub open: bool,
    /// DRIVER_NAME of STARTUP.
    pub driver_name: Option<String>,
    /// DRIVER_VERSION of STARTUP.
    pub driver_version: Option<String>,
    /// Whether it asked for events, as control connections do.
    pub registered: bool,
    /// The cipher suite of its TLS, as rustls names it; `None` if it is not encrypted.
    pub cipher: Option<String>,
    /// Request frames.
    pub frames: u64,
    /// Reads of its socket that returned bytes.
    pub reads: u64,
    /// The bytes of these reads.
    pub read_bytes: u64,
    /// EXECUTEs for each prepared id, as far as the node knew the id and no script refused them.
    pub executes: BTreeMap<String, u64>,
}

impl Snapshot {
    /// Connections that are open.
    pub fn open_connections(&self) -> u64 {
        self.connections.iter().filter(|connection| connection.open).count() as u64
    }

    /// EXECUTEs of a prepared id on all connections since the start, without those that the script refused.
    pub fn executes_of(&self, id: &str) -> u64 {
        let listed: u64 = self.connections.iter().filter_map(|connection| connection.executes.get(id)).sum();
        listed + self.executes_forgotten.get(id).copied().unwrap_or(0)
    }
}
