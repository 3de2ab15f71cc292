//! The adapter for the crate `cdrs-tokio`: how it describes itself, connects, and what it makes of the settings.
#![deny(missing_docs)]

mod errors;
mod session;
mod values;

use std::sync::Arc;
use std::time::Duration;

use cdrs_tokio::authenticators::{
    NoneAuthenticatorProvider, SaslAuthenticatorProvider, StaticPasswordAuthenticatorProvider,
};
use cdrs_tokio::cluster::connection_pool::ConnectionPoolConfigBuilder;
use cdrs_tokio::cluster::session::{DEFAULT_TRANSPORT_BUFFER_SIZE, SessionBuilder, TcpSessionBuilder};
use cdrs_tokio::cluster::{ConnectionManager, KeyspaceHolder, NodeTcpConfigBuilder, TcpConnectionManager};
use cdrs_tokio::compression::Compression;
use cdrs_tokio::frame::Version;
use cdrs_tokio::frame_encoding::ProtocolFrameEncodingFactory;
use cdrs_tokio::load_balancing::{RoundRobinLoadBalancingStrategy, TopologyAwareLoadBalancingStrategy};
use cdrs_tokio::retry::FallthroughRetryPolicy;
use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverError, DriverInfo, ErrorKind, Setting, Settings};
use cqldyno_worker::lock;
use tokio::sync::watch;
use tokio::time::timeout;

use session::Routing;
pub use session::{CdrsTokioSession, CdrsTokioStatement};

/// For how long a connection, and then the whole session, may take: the driver itself tries for ever.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

type Authenticator = Arc<dyn SaslAuthenticatorProvider + Send + Sync>;

/// The crate `cdrs-tokio`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CdrsTokio;

impl Driver for CdrsTokio {
    type Session = CdrsTokioSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        Ok(DriverInfo {
            name: "cdrs-tokio".to_owned(),
            version: lock::version_used_by(env!("CARGO_PKG_NAME"), "cdrs-tokio")?.to_owned(),
            variant: String::new(),
            libraries: vec![lock::library("cassandra-protocol")?, lock::library("tokio")?],
            capabilities: [
                Capability::Paging,
                Capability::Reprepare,
                Capability::Reconnect,
                Capability::Credentials,
                Capability::Batch,
                Capability::Unprepared,
                Capability::Prepare,
                Capability::Connect,
            ]
            .into(),
            caveats: vec![
                "It has no time limit a statement: a lost answer is waited for until the connection breaks.".to_owned(),
                "When only its control connection breaks, it gives up every node that tells its broadcast port, as Cassandra 4.0 \
                 and later do, until its control connection breaks once more."
                    .to_owned(),
                "It never asks to skip the result's metadata, so a select's answer is longer than for a driver that does."
                    .to_owned(),
                "It decodes every answer twice: once itself, in search of a new metadata id, and once for the caller."
                    .to_owned(),
                "It sends a batch to any node, not to one that has its first row.".to_owned(),
                "The adapter opens and closes one connection before the session's, because a session that is refused tells nobody."
                    .to_owned(),
                "It does not check the types of bound values; the server does.".to_owned(),
            ],
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        match options.settings {
            Settings::Equal => vec![
                Setting::taken("protocol version", "v4"),
                Setting::taken("consistency", options.consistency),
                Setting::taken("compression", "none"),
                Setting::taken("retries", "none"),
                Setting::taken("speculative execution", "none"),
                Setting::taken("routing", "token-aware"),
                Setting::taken("connections", format!("{} a node", options.connections)),
                Setting::taken("page size", options.page_size),
                match options.request_timeout {
                    None => Setting::taken("request timeout", "none"),
                    Some(_) => Setting::refused("request timeout", "none: the driver has no time limit a statement"),
                },
            ],
            Settings::Default => vec![
                Setting::taken("protocol version", "v4"),
                Setting::taken("consistency", "ONE"),
                Setting::taken("compression", "none"),
                Setting::taken("retries", "the driver's default policy"),
                Setting::taken("speculative execution", "none"),
                Setting::taken("routing", "round robin, as in the documentation's first example"),
                Setting::taken("connections", "1 a node"),
                Setting::taken("page size", "none: a result comes in one page"),
                Setting::taken("request timeout", "none: the driver has no time limit a statement"),
            ],
        }
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<CdrsTokioSession, DriverError> {
        options.refuse_unknown("cdrs-tokio", &[])?;
        if options.connections == 0 {
            return Err(DriverError::new(ErrorKind::Other, "0 connections a node were asked for; ask for at least 1"));
        }
        let authenticator: Authenticator = match &options.credentials {
            Some(credentials) => {
                Arc::new(StaticPasswordAuthenticatorProvider::new(&credentials.user, &credentials.password))
            }
            None => Arc::new(NoneAuthenticatorProvider),
        };
        try_one_connection(options, authenticator.clone()).await?;

        let contact_points = options.contact_points.iter().map(|&address| address.into()).collect();
        let nodes = NodeTcpConfigBuilder::new()
            .with_contact_points(contact_points)
            .with_authenticator_provider(authenticator)
            .with_version(Version::V4)
            .build()
            .await
            .map_err(errors::connect)?;
        let session = match options.settings {
            Settings::Equal => {
                let pool = ConnectionPoolConfigBuilder::new()
                    .with_local_size(options.connections)
                    .with_remote_size(options.connections)
                    .with_connect_timeout(Some(CONNECTS_WITHIN))
                    .build();
                let builder = TcpSessionBuilder::new(
                    Routing::TokenAware(TopologyAwareLoadBalancingStrategy::new(None, false)),
                    nodes,
                )
                .with_compression(Compression::None)
                .with_retry_policy(Box::new(FallthroughRetryPolicy))
                .with_connection_pool_config(pool);
                let session = timeout(CONNECTS_WITHIN, builder.build()).await.map_err(errors::silent)?;
                CdrsTokioSession::equal(session.map_err(errors::build)?, options)
            }
            Settings::Default => {
                let builder =
                    TcpSessionBuilder::new(Routing::RoundRobin(RoundRobinLoadBalancingStrategy::new()), nodes);
                let session = timeout(CONNECTS_WITHIN, builder.build()).await.map_err(errors::silent)?;
                CdrsTokioSession::default(session.map_err(errors::build)?)
            }
        };
        timeout(CONNECTS_WITHIN, session.open_pools()).await.map_err(errors::silent)??;
        Ok(session)
    }
}

/// Opens and closes one connection with the driver's own connection manager, to learn of a refusal: a session that is
/// refused tells nobody and tries again for ever.
async fn try_one_connection(options: &ConnectOptions, authenticator: Authenticator) -> Result<(), DriverError> {
    let (keyspace, _receiver) = watch::channel(None);
    let connections = TcpConnectionManager::new(
        authenticator,
        Arc::new(KeyspaceHolder::new(keyspace)),
        Box::new(ProtocolFrameEncodingFactory),
        Compression::None,
        DEFAULT_TRANSPORT_BUFFER_SIZE,
        true,
        Version::V4,
    );
    let mut last = DriverError::new(ErrorKind::Connect, "no contact point was given; give at least one address");
    for &address in &options.contact_points {
        match timeout(CONNECTS_WITHIN, connections.connection(None, None, address)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => last = errors::connect(error),
            Err(elapsed) => last = errors::silent(elapsed),
        }
    }
    Err(last)
}
