//! The node and its peers.

use super::row::RowBuilder;
use super::{CQL_VERSION, NodeIdentity, PARTITIONER, RELEASE_VERSION, SystemView};
use crate::ring::DATA_CENTER;

/// The port on which Cassandra's nodes talk to each other; nothing listens there.
pub(super) const STORAGE_PORT: i32 = 7000;

fn tokens(node: &NodeIdentity) -> Vec<String> {
    node.tokens.iter().map(i64::to_string).collect()
}

pub(super) fn local(view: &SystemView<'_>) -> Vec<RowBuilder> {
    let node = view.node;
    let row = RowBuilder::default()
        .cell("key", "local")
        .cell("bootstrapped", "COMPLETED")
        .cell("broadcast_address", node.address)
        .cell("broadcast_port", STORAGE_PORT)
        .cell("cluster_name", &node.cluster_name)
        .cell("cql_version", CQL_VERSION)
        .cell("data_center", DATA_CENTER)
        .cell("gossip_generation", 1)
        .cell("host_id", node.host_id)
        .cell("listen_address", node.address)
        .cell("listen_port", STORAGE_PORT)
        .cell("native_protocol_version", "4")
        .cell("partitioner", PARTITIONER)
        .cell("rack", &node.rack)
        .cell("release_version", RELEASE_VERSION)
        .cell("rpc_address", node.address)
        .cell("rpc_port", node.port)
        .cell("schema_version", view.catalog.schema_version())
        .texts("tokens", &tokens(node));
    vec![row]
}

pub(super) fn peers(view: &SystemView<'_>) -> Vec<RowBuilder> {
    let row = |peer: &NodeIdentity| RowBuilder::default().cell("peer", peer.address).cell("rpc_address", peer.address);
    view.peers.iter().map(|peer| described(row(peer), peer, view)).collect()
}

pub(super) fn peers_v2(view: &SystemView<'_>) -> Vec<RowBuilder> {
    let row = |peer: &NodeIdentity| {
        RowBuilder::default()
            .cell("peer", peer.address)
            .cell("peer_port", STORAGE_PORT)
            .cell("native_address", peer.address)
            .cell("native_port", peer.port)
    };
    view.peers.iter().map(|peer| described(row(peer), peer, view)).collect()
}

fn described(row: RowBuilder, peer: &NodeIdentity, view: &SystemView<'_>) -> RowBuilder {
    row.cell("data_center", DATA_CENTER)
        .cell("host_id", peer.host_id)
        .cell("rack", &peer.rack)
        .cell("release_version", RELEASE_VERSION)
        .cell("schema_version", view.catalog.schema_version())
        .texts("tokens", &tokens(peer))
}
