//! The system keyspaces: tables whose rows are made from the catalog and the node for each query.
//!
//! They are the tables of Apache Cassandra 5.0 that drivers read, with all their columns and types.

mod definitions;
mod describe;
mod local;
mod row;
mod schema_tables;
mod traces;

use std::net::IpAddr;
use std::sync::Arc;

use uuid::Uuid;

use crate::schema::{Catalog, Table, name_uuid};
use crate::storage::StorageFull;
use crate::storage::table::TableStore;

pub use definitions::{VIRTUAL_SCHEMA, catalog};
pub use describe::describe;
pub use traces::Trace;

/// The version of Cassandra that the node says it is.
pub const RELEASE_VERSION: &str = "5.0.9";

/// The version of CQL that the node says it speaks.
pub const CQL_VERSION: &str = "3.4.7";

pub const PARTITIONER: &str = "org.apache.cassandra.dht.Murmur3Partitioner";

/// How clients and other nodes see a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeIdentity {
    pub address: IpAddr,
    pub port: u16,
    /// Stays the same as long as address and port do.
    pub host_id: Uuid,
    pub cluster_name: String,
    pub rack: String,
    /// The tokens on the ring, ascending.
    pub tokens: Vec<i64>,
}

impl NodeIdentity {
    /// A single node: one token.
    pub fn new(address: IpAddr, port: u16) -> Self {
        NodeIdentity {
            address,
            port,
            host_id: name_uuid(&format!("node {address} {port}")),
            cluster_name: "cqldyno".to_owned(),
            rack: "rack1".to_owned(),
            tokens: vec![0],
        }
    }
}

/// What the system tables show.
#[derive(Clone, Copy, Debug)]
pub struct SystemView<'a> {
    pub node: &'a NodeIdentity,
    /// All others of its cluster.
    pub peers: &'a [NodeIdentity],
    pub catalog: &'a Catalog,
    pub traces: &'a [Trace],
}

/// The rows of a virtual table; none for tables that are always empty here.
pub fn store(table: &Arc<Table>, view: &SystemView<'_>) -> Result<TableStore, StorageFull> {
    let rows = match (&*table.keyspace, &*table.name) {
        ("system", "local") => local::local(view),
        ("system", "peers") => local::peers(view),
        ("system", "peers_v2") => local::peers_v2(view),
        ("system_schema", "keyspaces") => schema_tables::keyspaces(view.catalog),
        ("system_schema", "tables") => schema_tables::tables(view.catalog),
        ("system_schema", "columns") => schema_tables::columns(view.catalog, false),
        ("system_schema", "dropped_columns") => schema_tables::dropped_columns(view.catalog),
        ("system_schema", "types") => schema_tables::types(view.catalog),
        ("system_traces", "sessions") => traces::sessions(view.traces),
        ("system_traces", "events") => traces::events(view.traces),
        ("system_virtual_schema", "keyspaces") => schema_tables::virtual_keyspaces(view.catalog),
        ("system_virtual_schema", "tables") => schema_tables::virtual_tables(view.catalog),
        ("system_virtual_schema", "columns") => schema_tables::columns(view.catalog, true),
        _ => Vec::new(),
    };
    let store = TableStore::new(table.clone(), 1, 0);
    rows.into_iter().try_for_each(|row| row.insert(&store))?;
    Ok(store)
}

#[cfg(test)]
mod tests;
