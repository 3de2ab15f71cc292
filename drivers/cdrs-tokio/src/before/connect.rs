//! How sessions and single connections are opened before 8.1.0: without a heartbeat, and in plain text.

use std::sync::Arc;

use cdrs_tokio::cluster::connection_pool::ConnectionPoolConfig;
use cdrs_tokio::cluster::session::{SessionBuilder, TcpSessionBuilder};
use cdrs_tokio::cluster::{KeyspaceHolder, NodeTcpConfigBuilder, TcpConnectionManager};
use cdrs_tokio::frame::Version;
#[cfg(since = "7.0")]
use cdrs_tokio::frame_encoding::ProtocolFrameEncodingFactory;
use cdrs_tokio::load_balancing::node_distance_evaluator::TopologyAwareNodeDistanceEvaluator;
use cdrs_tokio::retry::{FallthroughRetryPolicy, NeverReconnectionPolicy};
#[cfg(since = "7.0")]
use cqldyno_driver_api::ErrorKind;
use cqldyno_driver_api::{ConnectOptions, DriverError, Settings, Tls};

use crate::adapter::Authenticator;
use crate::options::Chosen;
use crate::session::{DriverSession, Routing};
use crate::{CONNECTS_WITHIN, errors};

/// What opens connections.
pub(crate) type Manager = TcpConnectionManager;

/// Makes connections outside of a session, each with one attempt.
pub(crate) fn connections(
    authenticator: Authenticator,
    keyspace: Arc<KeyspaceHolder>,
    chosen: &Chosen,
    _: Option<&Tls>,
) -> Result<Manager, DriverError> {
    Ok(TcpConnectionManager::new(
        authenticator,
        keyspace,
        Arc::new(NeverReconnectionPolicy),
        #[cfg(since = "7.0")]
        Box::new(ProtocolFrameEncodingFactory),
        chosen.compression,
        chosen.buffer,
        chosen.nodelay,
        Version::V4,
    ))
}

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
    #[cfg(before = "7.0")]
    return Ok(builder.build());
    #[cfg(since = "7.0")]
    builder.build().map_err(|error| DriverError::new(ErrorKind::Connect, error))
}
