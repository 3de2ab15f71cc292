//! How sessions and single connections are opened.

use std::sync::Arc;
use std::time::Duration;

use cdrs_tokio::cluster::KeyspaceHolder;
use cdrs_tokio::cluster::connection_pool::{ConnectionPoolConfig, ConnectionPoolConfigBuilder};
use cdrs_tokio::cluster::session::{
    NodeDistanceEvaluatorWrapper, ReconnectionPolicyWrapper, RetryPolicyWrapper, connect_generic,
};
use cdrs_tokio::load_balancing::node_distance_evaluator::{
    AllLocalNodeDistanceEvaluator, NodeDistanceEvaluator, TopologyAwareNodeDistanceEvaluator,
};
use cdrs_tokio::retry::{DefaultRetryPolicy, ExponentialReconnectionPolicy, FallthroughRetryPolicy, RetryPolicy};
use cqldyno_driver_api::{ConnectOptions, DriverError, ErrorKind, Settings, Tls};

use crate::CONNECTS_WITHIN;
use crate::adapter::Authenticator;
use crate::manager::ConnectionConfig;
pub(crate) use crate::manager::Manager;
use crate::options::Chosen;
use crate::session::{DriverSession, Routing};

/// Makes connections outside of a session.
///
/// # Errors
/// When a file of `tls` cannot be used.
pub(crate) fn connections(
    authenticator: Authenticator,
    keyspace: Arc<KeyspaceHolder>,
    chosen: &Chosen,
    tls: Option<&Tls>,
) -> Result<Manager, DriverError> {
    Ok(Manager::new(&ConnectionConfig::of(authenticator, chosen, tls)?, keyspace))
}

/// The pool of a node: as many connections as asked for (or the driver's own number), and the heartbeat.
pub(crate) fn pool(options: &ConnectOptions) -> Result<ConnectionPoolConfig, DriverError> {
    let mut pool = ConnectionPoolConfigBuilder::new();
    if options.settings == Settings::Equal {
        let connections = options.connections;
        pool =
            pool.with_local_size(connections).with_remote_size(connections).with_connect_timeout(Some(CONNECTS_WITHIN));
    }
    if let Some(seconds) = options.number("cdrs-tokio", "heartbeat")? {
        pool = pool.with_heartbeat_interval(Duration::from_secs(seconds.into()));
    }
    Ok(pool.build())
}

/// Connects a session, with what the driver's own builder of sessions takes by default.
pub(crate) async fn session(
    options: &ConnectOptions,
    chosen: Chosen,
    authenticator: Authenticator,
) -> Result<DriverSession, DriverError> {
    let config = ConnectionConfig::of(authenticator, &chosen, options.tls.as_ref())?;
    let retries: Box<dyn RetryPolicy + Send + Sync> = match options.settings {
        Settings::Equal => Box::new(FallthroughRetryPolicy),
        Settings::Default => Box::<DefaultRetryPolicy>::default(),
    };
    let distance: Box<dyn NodeDistanceEvaluator + Send + Sync> = match &options.datacenter {
        Some(datacenter) => Box::new(TopologyAwareNodeDistanceEvaluator::new(datacenter.clone())),
        None => Box::<AllLocalNodeDistanceEvaluator>::default(),
    };
    connect_generic(
        &config,
        options.contact_points.iter().copied(),
        Routing::new(chosen.is_token_aware),
        RetryPolicyWrapper(retries),
        ReconnectionPolicyWrapper(Arc::new(ExponentialReconnectionPolicy::default())),
        NodeDistanceEvaluatorWrapper(distance),
        None,
    )
    .await
    .map_err(|error| DriverError::new(ErrorKind::Connect, error))
}
