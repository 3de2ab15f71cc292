//! What `cdrs-tokio` has under the same names before 8.0.0: no heartbeat.

use cdrs_tokio::cluster::connection_pool::ConnectionPoolConfig;
use cdrs_tokio::cluster::session::{SessionBuilder, TcpSessionBuilder};
use cdrs_tokio::cluster::{NodeTcpConfigBuilder, TcpConnectionManager};
use cdrs_tokio::frame::Version;
use cdrs_tokio::load_balancing::node_distance_evaluator::TopologyAwareNodeDistanceEvaluator;
use cdrs_tokio::retry::FallthroughRetryPolicy;
use cqldyno_driver_api::{Capability, ConnectOptions, DriverError, DriverOption, Settings};

use crate::adapter::{Authenticator, CONNECTS_WITHIN};
use crate::options::{self, Chosen};
use crate::session::{DriverSession, Routing};
use crate::{errors, release};

/// What these releases have that not all have: TLS is not in the adapter for them.
pub(crate) const FURTHER: &[Capability] = &[];

/// What opens connections.
pub(crate) type Manager = TcpConnectionManager;

/// The options that these releases have.
pub(crate) const OPTIONS: &[DriverOption] =
    &[options::ROUTING, options::BUFFER, options::COMPRESSION, options::NODELAY];

/// The pool of a node: as many connections as asked for, or the driver's own number.
pub(crate) fn pool(options: &ConnectOptions) -> Result<ConnectionPoolConfig, DriverError> {
    Ok(match options.settings {
        Settings::Equal => ConnectionPoolConfig::new(options.connections, options.connections, Some(CONNECTS_WITHIN)),
        Settings::Default => ConnectionPoolConfig::default(),
    })
}

/// Connects a session.
pub(crate) async fn session(
    options: &ConnectOptions,
    chosen: Chosen,
    authenticator: Authenticator,
) -> Result<DriverSession, DriverError> {
    let nodes = NodeTcpConfigBuilder::new().with_authenticator_provider(authenticator).with_version(Version::V4);
    let nodes = options.contact_points.iter().fold(nodes, |nodes, &address| nodes.with_contact_point(address.into()));
    let nodes = nodes.build().await.map_err(errors::connect)?;
    let mut builder = TcpSessionBuilder::new(Routing::new(chosen.is_token_aware), nodes)
        .with_compression(chosen.compression)
        .with_transport_buffer_size(chosen.buffer)
        .with_tcp_nodelay(chosen.nodelay)
        .with_connection_pool_config(chosen.pool);
    if options.settings == Settings::Equal {
        builder = builder.with_retry_policy(Box::new(FallthroughRetryPolicy));
    }
    if let Some(datacenter) = &options.datacenter {
        builder =
            builder.with_node_distance_evaluator(Box::new(TopologyAwareNodeDistanceEvaluator::new(datacenter.clone())));
    }
    release::build(builder).await
}
