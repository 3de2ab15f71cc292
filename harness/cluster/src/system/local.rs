//! The node and its peers.

use super::row::RowBuilder;
use super::{CQL_VERSION, NodeIdentity, PARTITIONER, RELEASE_VERSION, SystemView};

/// The port on which Cassandra's nodes talk to each other; nothing listens there.
const STORAGE_PORT: i32 = 7000;

fn tokens(node: &NodeIdentity) -> Vec<String> {
    node.tokens.iter().map(i64::to_string).collect()
}

pub(super) fn local(view: &SystemView<'_>) -> Vec<RowBuilder> {
    let node = view.node;
    let row = RowBuilder::default()
        .text("key", "local")
        .text("bootstrapped", "COMPLETED")
        .inet("broadcast_address", node.address)
        .int("broadcast_port", STORAGE_PORT)
        .text("cluster_name", &node.cluster_name)
        .text("cql_version", CQL_VERSION)
        .text("data_center", &node.data_center)
        .int("gossip_generation", 1)
        .uuid("host_id", node.host_id)
        .inet("listen_address", node.address)
        .int("listen_port", STORAGE_PORT)
        .text("native_protocol_version", "4")
        .text("partitioner", PARTITIONER)
        .text("rack", &node.rack)
        .text("release_version", RELEASE_VERSION)
        .inet("rpc_address", node.address)
        .int("rpc_port", i32::from(node.port))
        .uuid("schema_version", view.catalog.schema_version())
        .texts("tokens", &tokens(node));
    vec![row]
}

pub(super) fn peers(view: &SystemView<'_>) -> Vec<RowBuilder> {
    let row = |peer: &NodeIdentity| RowBuilder::default().inet("peer", peer.address).inet("rpc_address", peer.address);
    view.peers.iter().map(|peer| described(row(peer), peer, view)).collect()
}

pub(super) fn peers_v2(view: &SystemView<'_>) -> Vec<RowBuilder> {
    let row = |peer: &NodeIdentity| {
        RowBuilder::default()
            .inet("peer", peer.address)
            .int("peer_port", STORAGE_PORT)
            .inet("native_address", peer.address)
            .int("native_port", i32::from(peer.port))
    };
    view.peers.iter().map(|peer| described(row(peer), peer, view)).collect()
}

fn described(row: RowBuilder, peer: &NodeIdentity, view: &SystemView<'_>) -> RowBuilder {
    row.text("data_center", &peer.data_center)
        .uuid("host_id", peer.host_id)
        .text("rack", &peer.rack)
        .text("release_version", RELEASE_VERSION)
        .uuid("schema_version", view.catalog.schema_version())
        .texts("tokens", &tokens(peer))
}
