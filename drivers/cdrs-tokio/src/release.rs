//! What `cdrs-tokio` from 8.1.0 on does otherwise than older releases.

use std::sync::Arc;
use std::time::Duration;

use cdrs_tokio::Error;
use cdrs_tokio::cluster::KeyspaceHolder;
use cdrs_tokio::cluster::connection_pool::{ConnectionPoolConfig, ConnectionPoolConfigBuilder};
use cdrs_tokio::cluster::session::{
    NodeDistanceEvaluatorWrapper, ReconnectionPolicyWrapper, RetryPolicyWrapper, connect_generic,
};
use cdrs_tokio::load_balancing::node_distance_evaluator::{
    AllLocalNodeDistanceEvaluator, NodeDistanceEvaluator, TopologyAwareNodeDistanceEvaluator,
};
use cdrs_tokio::retry::{DefaultRetryPolicy, ExponentialReconnectionPolicy, FallthroughRetryPolicy, RetryPolicy};
use cqldyno_driver_api::{Capability, ConnectOptions, DriverError, DriverOption, ErrorKind, Settings, Tls};

use crate::adapter::{Authenticator, CONNECTS_WITHIN};
pub(crate) use crate::manager::Manager;
use crate::manager::{Nodes, Way};
use crate::options::{self, Chosen};
use crate::session::{DriverSession, Routing};
pub(crate) use crate::since_7::*;
pub(crate) use crate::types::*;

/// The options that these releases have.
pub(crate) const OPTIONS: &[DriverOption] =
    &[options::ROUTING, options::BUFFER, options::COMPRESSION, options::NODELAY, HEARTBEAT];

const HEARTBEAT: DriverOption = DriverOption::new(
    "heartbeat",
    "SECONDS",
    "30",
    "Time between two OPTIONS requests that keep each data connection alive.",
);

/// What these releases cannot do.
pub(crate) const LACKS: &[Capability] = &[Capability::RequestTimeout, Capability::ControlConnection];

/// The types that these releases lack: their `Duration` has not Cassandra's encoding.
pub(crate) const LACKS_TYPES: &[&str] = &["duration"];

/// What these releases have that not all have.
pub(crate) const FURTHER: &[Capability] = &[Capability::Tls];

/// What holds for these releases and not for all.
pub(crate) const CAVEATS: &[&str] = &[
    DECODES_TWICE,
    "If only its control connection breaks, it gives up every node that reports its broadcast port (Cassandra 4.0 and later), \
     until its control connection breaks again.",
];

/// The kind of an error while connecting.
pub(crate) fn kind_at_connect(error: &Error) -> ErrorKind {
    match error {
        Error::Server { body, .. } => ErrorKind::from_code(body.ty.to_error_code()),
        Error::InvalidProtocol(_) => ErrorKind::Protocol,
        _ => ErrorKind::Connect,
    }
}

/// The kind of an error of a statement or a preparation. The driver's general error means a connection that is gone or missing.
pub(crate) fn kind_at_execution(error: &Error) -> ErrorKind {
    match error {
        Error::Server { body, .. } => ErrorKind::from_code(body.ty.to_error_code()),
        Error::Io(_) | Error::General(_) | Error::Timeout(_) => ErrorKind::ConnectionLost,
        Error::InvalidProtocol(_) => ErrorKind::Protocol,
        Error::UnexpectedAuthResponse(_) | Error::UnexpectedStartupResponse(_) => ErrorKind::Other,
        _ => ErrorKind::Codec,
    }
}

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
    Ok(Manager::new(&Way::of(authenticator, chosen, tls)?, keyspace))
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
    let way = Way::of(authenticator, &chosen, options.tls.as_ref())?;
    let retries: Box<dyn RetryPolicy + Send + Sync> = match options.settings {
        Settings::Equal => Box::new(FallthroughRetryPolicy),
        Settings::Default => Box::<DefaultRetryPolicy>::default(),
    };
    let distance: Box<dyn NodeDistanceEvaluator + Send + Sync> = match &options.datacenter {
        Some(datacenter) => Box::new(TopologyAwareNodeDistanceEvaluator::new(datacenter.clone())),
        None => Box::<AllLocalNodeDistanceEvaluator>::default(),
    };
    connect_generic(
        &Nodes { way, pool: chosen.pool },
        options.contact_points.iter().copied(),
        Routing::new(chosen.is_token_aware),
        RetryPolicyWrapper(retries),
        ReconnectionPolicyWrapper(Arc::new(ExponentialReconnectionPolicy::default())),
        NodeDistanceEvaluatorWrapper(distance),
        None,
    )
    .await
    .map_err(no_session)
}
