//! The adapter for the crate `cdrs-tokio`: its description, settings and connection.
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

/// The time limit for a connection and for the whole session: the driver itself tries for ever.
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
                "It has no time limit per statement: it waits for a lost answer until the connection breaks.".to_owned(),
                "If only its control connection breaks, it gives up every node that reports its broadcast port (Cassandra 4.0 \
                 and later), until its control connection breaks again."
                    .to_owned(),
                "It never skips the result's metadata, so its answers to a SELECT are longer."
                    .to_owned(),
                "It decodes every answer twice: once to look for a new metadata id, and once for the caller."
                    .to_owned(),
                "It sends a batch to any node, not to a replica of its first row.".to_owned(),
                "The adapter opens and closes one connection first, because a refused session reports nothing."
                    .to_owned(),
                "It does not check the types of bound values; the server does.".to_owned(),
                "Its channel to a connection holds 1,024 requests; with more statements in flight, some wait for room."
                    .to_owned(),
            ],
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        const NO_LIMIT: &str = "none: the driver has no time limit per statement";
        let own = match options.settings {
            Settings::Equal => {
                options.request_timeout.map(|_| Setting::refused("request timeout", NO_LIMIT)).into_iter().collect()
            }
            Settings::Default => vec![
                Setting::taken("consistency", "ONE"),
                Setting::taken("retries", "the driver's default policy"),
                Setting::taken("routing", "round robin, as in the documentation's first example"),
                Setting::taken("connections", "1 per node"),
                Setting::taken("page size", "none: a result comes in one page"),
                Setting::taken("request timeout", NO_LIMIT),
            ],
        };
        Setting::equal(options, own)
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<CdrsTokioSession, DriverError> {
        options.check("cdrs-tokio", &[])?;
        if options.connections == 0 {
            return Err(DriverError::new(
                ErrorKind::Other,
                "0 connections per node were asked for; ask for at least 1",
            ));
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

/// Opens and closes one connection with the driver's own connection manager, to learn of a refusal: a refused session reports
/// nothing and tries again for ever.
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
