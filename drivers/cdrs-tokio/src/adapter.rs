//! The driver's description, settings and connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cdrs_tokio::authenticators::{
    NoneAuthenticatorProvider, SaslAuthenticatorProvider, StaticPasswordAuthenticatorProvider,
};
use cdrs_tokio::cluster::{ConnectionManager, KeyspaceHolder};
use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverError, DriverInfo, Setting, Settings};
use cqldyno_worker::lock;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::options::{Chosen, OPTIONS};
use crate::session::CdrsTokioSession;
use crate::{CONNECTS_WITHIN, connect, errors, try_one_connection, types};

pub(crate) type Authenticator = Arc<dyn SaslAuthenticatorProvider + Send + Sync>;

/// What the release cannot do. Releases 7 read on from a connection that the server closed, and go on without a control connection.
const LACKS: &[Capability] = &[
    Capability::RequestTimeout,
    #[cfg(any(before = "7.0", since = "8.1"))]
    Capability::ControlConnection,
    #[cfg(before = "7.0")]
    Capability::Reprepare,
    #[cfg(before = "7.0")]
    Capability::Reconnect,
    #[cfg(all(since = "7.0", before = "8.1"))]
    Capability::NoticesClose,
    #[cfg(before = "8.1")]
    Capability::ClosesSessions,
];

const LEAVES_OPEN: &str = "A session that is dropped leaves its connections open.";

const CAVEATS: &[&str] = &[
    "It never skips the result's metadata, so its answers to a SELECT are longer.",
    "It sends a batch to any node, not to a replica of its first row.",
    "Before its first session the adapter opens and closes one connection, because a refused session reports nothing.",
    "It does not check the types of bound values; the server does.",
    "Its channel to a connection holds 1,024 requests unless `buffer` is set; with more in flight, some wait for room.",
    #[cfg(since = "7.0")]
    "It decodes every answer twice: once to look for a new metadata id, and once for the caller.",
    #[cfg(before = "7.0")]
    "Every error of the server breaks its connection, and all statements in flight there fail with that error.",
    #[cfg(before = "7.0")]
    "If only its control connection breaks, it gives up every node that reports its broadcast port (Cassandra 4.0 and later).",
    #[cfg(all(since = "7.0", before = "8.1"))]
    "It does not notice that the server closed a connection.",
    #[cfg(before = "8.1")]
    LEAVES_OPEN,
    #[cfg(since = "8.1")]
    "If only its control connection breaks, it gives up every node that reports its broadcast port (Cassandra 4.0 and later), \
     until its control connection breaks again.",
];

/// What releases 8.1.N lack that later ones have, each with its first N and a sentence.
const SINCE_8_1: [(u32, Capability, &str); 3] = [
    (
        1,
        Capability::Reprepare,
        "Every error of the server breaks its connection, and for a while the driver finds no node.",
    ),
    (4, Capability::NoticesClose, "It does not notice that the server closed a connection."),
    (9, Capability::ClosesSessions, LEAVES_OPEN),
];

/// The crate `cdrs-tokio`.
#[derive(Debug, Default)]
pub struct CdrsTokio {
    /// Whether it had a session: what the adapter does before the first one is part of no later one.
    is_let_in: AtomicBool,
}

impl Driver for CdrsTokio {
    type Session = CdrsTokioSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        let version = lock::version_used_by(env!("CARGO_PKG_NAME"), "cdrs-tokio")?;
        let patch = version.strip_prefix("8.1.").and_then(|patch| patch.parse().ok()).unwrap_or(u32::MAX);
        let lacking: Vec<_> = SINCE_8_1.into_iter().filter(|(since, ..)| patch < *since).collect();
        let lacks: Vec<_> = LACKS.iter().copied().chain(lacking.iter().map(|(_, lacks, _)| *lacks)).collect();
        let caveats = CAVEATS.iter().copied().chain(lacking.iter().map(|(.., words)| *words));
        let mut capabilities = Capability::all_but(&lacks);
        capabilities.extend(cfg!(since = "8.1").then_some(Capability::Tls));
        Ok(DriverInfo {
            name: "cdrs-tokio".to_owned(),
            version: version.to_owned(),
            libraries: vec![lock::library("cassandra-protocol")?, lock::library("tokio")?],
            capabilities,
            lacks_types: types::LACKS.iter().map(|name| (*name).into()).collect(),
            caveats: caveats.map(str::to_owned).collect(),
            options: Some(OPTIONS.to_vec()),
            queue_per_connection: Some(1_024),
            queue_option: Some("buffer".to_owned()),
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        const NO_LIMIT: &str = "none: the driver has no time limit per statement";
        let mut own = match options.settings {
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
        own.extend(
            ["routing", "compression"].iter().filter_map(|name| Some(Setting::taken(name, options.option(name)?))),
        );
        let is_token_aware = Chosen::of(options).is_ok_and(|chosen| chosen.is_token_aware);
        if options.datacenter.is_some() && !is_token_aware {
            own.push(Setting::refused("routing", "round robin over all datacenters"));
        } else if let Some(datacenter) = &options.datacenter {
            own.push(Setting::taken("routing", format_args!("token-aware in {datacenter}")));
        }
        Setting::equal(options, own)
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<CdrsTokioSession, DriverError> {
        let chosen = Chosen::of(options)?;
        let authenticator: Authenticator = match &options.credentials {
            Some(credentials) => {
                Arc::new(StaticPasswordAuthenticatorProvider::new(&credentials.user, &credentials.password))
            }
            None => Arc::new(NoneAuthenticatorProvider),
        };
        let is_let_in = self.is_let_in.load(Ordering::Relaxed);
        if !is_let_in {
            let (keyspace, _receiver) = watch::channel(None);
            let keyspace = Arc::new(KeyspaceHolder::new(keyspace));
            let connections = connect::connections(authenticator.clone(), keyspace, &chosen, options.tls.as_ref())?;
            try_one_connection(options, |address| connections.connection(None, None, address)).await?;
        }
        let connecting = async {
            let session = CdrsTokioSession::new(connect::session(options, chosen, authenticator).await?, options);
            session.know_cluster().await;
            if !is_let_in {
                session.open_pools().await?;
            }
            self.is_let_in.store(true, Ordering::Relaxed);
            Ok(session)
        };
        timeout(CONNECTS_WITHIN, connecting).await.map_err(errors::silent)?
    }
}
