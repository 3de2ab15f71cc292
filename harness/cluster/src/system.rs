//! The system keyspaces: tables whose rows are made up from the catalog and the node when they are asked for.
//!
//! The tables are those of Apache Cassandra 5.0 that drivers read, with all their columns and types.

mod definitions;
mod local;
mod row;
mod schema_tables;
mod select;

use std::net::IpAddr;

use bytes::Bytes;
use uuid::Uuid;

use crate::schema::{Catalog, Table, name_uuid};

pub use definitions::{is_system_keyspace, keyspaces};
pub use select::select;

/// The version of Cassandra that the node says it is.
pub const RELEASE_VERSION: &str = "5.0.9";

/// The version of CQL that the node says it speaks.
pub const CQL_VERSION: &str = "3.4.7";

/// The partitioner, in full.
pub const PARTITIONER: &str = "org.apache.cassandra.dht.Murmur3Partitioner";

/// What a node is to its clients and to other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeIdentity {
    /// The address that clients dial.
    pub address: IpAddr,
    /// The port that clients dial.
    pub port: u16,
    /// The id, which stays the same as long as address and port do.
    pub host_id: Uuid,
    /// The data center.
    pub data_center: String,
    /// The rack.
    pub rack: String,
    /// The cluster's name.
    pub cluster_name: String,
    /// The tokens on the ring, ascending.
    pub tokens: Vec<i64>,
}

impl NodeIdentity {
    /// A node on its own: one token, and the names that Cassandra's default snitch gives.
    pub fn new(address: IpAddr, port: u16) -> Self {
        NodeIdentity {
            address,
            port,
            host_id: name_uuid(&format!("node {address} {port}")),
            data_center: "datacenter1".to_owned(),
            rack: "rack1".to_owned(),
            cluster_name: "cqldyno".to_owned(),
            tokens: vec![0],
        }
    }
}

/// What the system tables are about.
#[derive(Clone, Copy, Debug)]
pub struct SystemView<'a> {
    /// The node that is asked.
    pub node: &'a NodeIdentity,
    /// All others of its cluster.
    pub peers: &'a [NodeIdentity],
    /// The schema.
    pub catalog: &'a Catalog,
}

/// A row: one cell for each of [`Table::columns`].
pub type Row = Vec<Option<Bytes>>;

/// All rows of a virtual table, in the order of its primary key; none for tables that are always empty here.
pub fn rows(table: &Table, view: &SystemView<'_>) -> Vec<Row> {
    let rows = match (&*table.keyspace, &*table.name) {
        ("system", "local") => local::local(view),
        ("system", "peers") => local::peers(view),
        ("system", "peers_v2") => local::peers_v2(view),
        ("system_schema", "keyspaces") => schema_tables::keyspaces(view.catalog),
        ("system_schema", "tables") => schema_tables::tables(view.catalog),
        ("system_schema", "columns") => schema_tables::columns(view.catalog, false),
        ("system_virtual_schema", "keyspaces") => schema_tables::virtual_keyspaces(view.catalog),
        ("system_virtual_schema", "tables") => schema_tables::virtual_tables(view.catalog),
        ("system_virtual_schema", "columns") => schema_tables::columns(view.catalog, true),
        _ => Vec::new(),
    };
    rows.into_iter().map(|row| row.into_cells(table)).collect()
}

#[cfg(test)]
mod tests;
