//! The requests that were traced, as rows of system_traces.

use std::net::IpAddr;

use uuid::Uuid;

use super::local::STORAGE_PORT;
use super::row::RowBuilder;

/// A request that asked for a trace: what it was and how long it took. Its steps are not traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub id: Uuid,
    pub client: IpAddr,
    pub coordinator: IpAddr,
    /// Milliseconds since 1970.
    pub started_ms: i64,
    pub duration_us: i32,
    /// What Cassandra calls such a request.
    pub request: &'static str,
    pub query: String,
}

pub(super) fn sessions(traces: &[Trace]) -> Vec<RowBuilder> {
    let row = |trace: &Trace| {
        RowBuilder::default()
            .cell("session_id", trace.id)
            .cell("client", trace.client)
            .cell("command", "QUERY")
            .cell("coordinator", trace.coordinator)
            .cell("coordinator_port", STORAGE_PORT)
            .cell("duration", trace.duration_us)
            .map("parameters", [("query", trace.query.as_str())])
            .cell("request", trace.request)
            .bytes("started_at", trace.started_ms.to_be_bytes().to_vec())
    };
    traces.iter().map(row).collect()
}

/// One event each, which says that there are no others.
pub(super) fn events(traces: &[Trace]) -> Vec<RowBuilder> {
    let row = |trace: &Trace| {
        RowBuilder::default()
            .cell("session_id", trace.id)
            .cell("event_id", trace.id)
            .cell(
                "activity",
                "Tracing the steps of a request is not supported by the embedded cluster: this is all of it",
            )
            .cell("source", trace.coordinator)
            .cell("source_port", STORAGE_PORT)
            .cell("source_elapsed", trace.duration_us)
            .cell("thread", "embedded")
    };
    traces.iter().map(row).collect()
}
