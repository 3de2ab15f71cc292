//! What the node counted, in the form in which it is told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::operations::Request;

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
    /// The bytes that they brought.
    #[serde(default)]
    pub read_bytes: u64,
    /// Request frames.
    pub frames: u64,
    /// Answer frames.
    pub answers: u64,
    /// Writes to sockets.
    pub writes: u64,
    /// ERROR answers, by code in hexadecimal as the specification writes it (`0x2200`).
    pub errors: BTreeMap<String, u64>,
    /// The text of each prepared statement that was executed, by id in hexadecimal, and of up to a thousand others.
    pub prepared: BTreeMap<String, String>,
    /// EXECUTEs by prepared id in hexadecimal, of closed connections that are no longer listed.
    #[serde(default)]
    pub executes_forgotten: BTreeMap<String, u64>,
    /// Connections that are no longer listed and executed the statement *since the snapshot before*, by prepared id in hexadecimal.
    #[serde(default)]
    pub executes_forgotten_connections: BTreeMap<String, u64>,
    /// PREPAREs, QUERYs and BATCHes, by request and text.
    #[serde(default)]
    pub operations: Vec<OperationSnapshot>,
    /// When the first and the last EXECUTE *since the snapshot before* were read, by prepared id in hexadecimal.
    #[serde(default)]
    pub execute_times: BTreeMap<String, ExecuteTimes>,
    /// CPU time of the process in user mode, microseconds.
    pub cpu_user_us: u64,
    /// CPU time of the process in the kernel, microseconds.
    pub cpu_sys_us: u64,
    /// Rows in all tables.
    pub rows: u64,
    /// Rows to be seen, by table (`keyspace.table`).
    #[serde(default)]
    pub rows_by_table: BTreeMap<String, u64>,
}

/// When a statement was executed, as CLOCK_MONOTONIC has it in all processes of the machine, nanoseconds. It is the time at which
/// the bytes of the request were read.
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

/// Requests of one kind about one statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationSnapshot {
    /// Which kind.
    pub request: Request,
    /// The statement's text, without a comment at its end; empty for all texts that are too many or too long to be told apart.
    pub text: String,
    /// Requests since the start. A batch of several statements counts for each of them.
    pub count: u64,
    /// Of batches: how often the statement was in them.
    pub rows: u64,
    /// When the first and the last were read *since the snapshot before*; none if there was none.
    pub times: Option<ExecuteTimes>,
    /// The numbers of the listed connections that sent some *since the snapshot before*.
    pub connections: Vec<u64>,
    /// How many sent some *since the snapshot before* and are no longer listed.
    pub forgotten_connections: u64,
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
    /// Request frames.
    #[serde(default)]
    pub frames: u64,
    /// Reads of its socket that brought bytes.
    #[serde(default)]
    pub reads: u64,
    /// The bytes that they brought.
    #[serde(default)]
    pub read_bytes: u64,
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
