//! The driver's description, settings and connection.

use std::sync::Arc;

use cdrs_tokio::authenticators::{
    NoneAuthenticatorProvider, SaslAuthenticatorProvider, StaticPasswordAuthenticatorProvider,
};
use cdrs_tokio::cluster::{ClusterTcpConfig, KeyspaceHolder, NodeTcpConfigBuilder, session, startup};
use cdrs_tokio::load_balancing::RoundRobin;
use cdrs_tokio::retry::{DefaultRetryPolicy, FallthroughRetryPolicy, RetryPolicy};
use cdrs_tokio::transport::TransportTcp;
use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverError, DriverInfo, ErrorKind, Setting, Settings};
use cqldyno_worker::lock;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::before::requests;
use crate::session::CdrsTokioSession;
use crate::{CONNECTS_WITHIN, errors, types};

type Authenticator = Arc<dyn SaslAuthenticatorProvider + Send + Sync>;

const CAVEATS: [&str; 7] = [
    "Each connection has one request in flight; other statements wait in the driver's pool, for 10 seconds at most.",
    "It asks with OPTIONS whether a connection that lay idle still answers, before it executes a statement on it.",
    "It reads an answer from the socket in six parts, without a buffer.",
    "It knows only the addresses that it is given: it has no control connection and no token-aware routing.",
    "It never skips the result's metadata, so its answers to a SELECT are longer.",
    "The adapter opens and closes one connection first, because the pool tries for ever and reports no kind of error.",
    "It does not check the types of bound values; the server does.",
];

/// The crate `cdrs-tokio`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CdrsTokio;

impl Driver for CdrsTokio {
    type Session = CdrsTokioSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        Ok(DriverInfo {
            name: "cdrs-tokio".to_owned(),
            version: lock::version_used_by(env!("CARGO_PKG_NAME"), "cdrs-tokio")?.to_owned(),
            libraries: vec![lock::library("bb8")?, lock::library("tokio")?],
            capabilities: Capability::all_but(&[Capability::RequestTimeout]),
            lacks_types: types::LACKS.iter().map(|name| (*name).into()).collect(),
            caveats: CAVEATS.map(str::to_owned).to_vec(),
            options: Some(Vec::new()),
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        let own = [
            Setting::taken("retries", "the driver's default policy"),
            Setting::taken("connections", "up to 10 per node"),
        ];
        requests::settings(options, own)
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<CdrsTokioSession, DriverError> {
        options.check("cdrs-tokio", &[])?;
        let connections = requests::connections(options)?;
        let authenticator: Authenticator = match &options.credentials {
            Some(credentials) => {
                Arc::new(StaticPasswordAuthenticatorProvider::new(&credentials.user, &credentials.password))
            }
            None => Arc::new(NoneAuthenticatorProvider),
        };
        try_one_connection(options, &authenticator).await?;

        let is_equal = options.settings == Settings::Equal;
        let node = |address: &std::net::SocketAddr| {
            let node = NodeTcpConfigBuilder::new(address, authenticator.clone());
            match is_equal {
                true => node.max_size(connections).min_idle(Some(connections)).connection_timeout(CONNECTS_WITHIN),
                false => node,
            }
            .build()
        };
        let nodes = ClusterTcpConfig(options.contact_points.iter().map(node).collect());
        let retries: Box<dyn RetryPolicy + Send + Sync> = match is_equal {
            true => Box::new(FallthroughRetryPolicy),
            false => Box::new(DefaultRetryPolicy),
        };
        let session = timeout(CONNECTS_WITHIN, session::new(&nodes, RoundRobin::new(), retries)).await;
        let session = session.map_err(errors::silent)?.map_err(errors::connect)?;
        Ok(CdrsTokioSession::new(session, options))
    }
}

/// Opens and closes one connection, to learn of a refusal.
async fn try_one_connection(options: &ConnectOptions, authenticator: &Authenticator) -> Result<(), DriverError> {
    let mut last = DriverError::new(ErrorKind::Connect, "no contact point was given; give at least one address");
    for address in &options.contact_points {
        let connecting = async {
            let keyspace = Arc::new(KeyspaceHolder::default());
            let transport = TransportTcp::new(&address.to_string(), Arc::clone(&keyspace)).await;
            let transport = transport.map_err(|error| errors::connect(error.into()))?;
            startup(&Mutex::new(transport), &**authenticator, &keyspace).await.map_err(errors::connect)
        };
        match timeout(CONNECTS_WITHIN, connecting).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => last = error,
            Err(elapsed) => last = errors::silent(elapsed),
        }
    }
    Err(last)
}
