//! The adapter for the crate `scylla`: its description, settings and connection.
#![deny(missing_docs)]

mod errors;
mod session;
mod values;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverError, DriverInfo, ErrorKind, Setting, Settings};
use cqldyno_worker::lock;
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::load_balancing::DefaultPolicy;
use scylla::policies::retry::FallthroughRetryPolicy;

pub use session::{ScyllaSession, ScyllaStatement};

/// Time for further connections: `Session::connect` returns with the first one to each node and does not report the others.
const POOL_FILLS_WITHIN: Duration = Duration::from_millis(250);

/// The crate `scylla`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scylla;

impl Driver for Scylla {
    type Session = ScyllaSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        Ok(DriverInfo {
            name: "scylla".to_owned(),
            version: lock::version_used_by(env!("CARGO_PKG_NAME"), "scylla")?.to_owned(),
            libraries: vec![lock::library("tokio")?],
            capabilities: [
                Capability::RequestTimeout,
                Capability::Paging,
                Capability::Reprepare,
                Capability::Reconnect,
                Capability::ControlConnection,
                Capability::Credentials,
                Capability::Batch,
                Capability::Unprepared,
                Capability::Prepare,
                Capability::Connect,
            ]
            .into(),
            caveats: vec![
                "It does not skip the result's metadata (a setting of the statement, off by default), so its answers to a \
                 SELECT are longer."
                    .to_owned(),
                "It prepares and executes an unprepared statement with values: two requests, one after the other."
                    .to_owned(),
                "The adapter allocates once per batch, per page of an unprepared statement, and per answer of several pages; \
                 never for an EXECUTE with one page."
                    .to_owned(),
                "It sends a serial consistency with every statement and no timestamp.".to_owned(),
                "It reads the cluster's metadata every 60 seconds and after schema changes, also within the window."
                    .to_owned(),
            ],
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        let own: &[_] = match options.settings {
            Settings::Equal => &[],
            Settings::Default => &[
                ("consistency", "LOCAL_QUORUM"),
                ("retries", "the driver's default policy"),
                ("connections", "1 per shard, or 1 per node without shards"),
                ("page size", "5000"),
                ("request timeout", "30s"),
            ],
        };
        Setting::equal(options, own.iter().map(|(name, value)| Setting::taken(name, value)))
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<ScyllaSession, DriverError> {
        options.check("scylla", &[])?;
        let mut builder = SessionBuilder::new().known_nodes_addr(&options.contact_points);
        if let Some(credentials) = &options.credentials {
            builder = builder.user(&credentials.user, &credentials.password);
        }
        let page_size = match options.settings {
            Settings::Default => None,
            Settings::Equal => {
                let connections = NonZeroUsize::new(options.connections).ok_or_else(|| {
                    DriverError::new(ErrorKind::Other, "0 connections per node were asked for; ask for at least 1")
                })?;
                let profile = ExecutionProfile::builder()
                    .consistency(values::consistency(options.consistency))
                    .request_timeout(options.request_timeout)
                    .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
                    .speculative_execution_policy(None)
                    .load_balancing_policy(DefaultPolicy::builder().token_aware(true).build())
                    .build();
                builder = builder
                    .default_execution_profile_handle(profile.into_handle())
                    .pool_size(PoolSize::PerHost(connections))
                    .compression(None);
                Some(options.page_size)
            }
        };
        let session = builder.build().await.map_err(errors::connect)?;
        if options.connections > 1 {
            tokio::time::sleep(POOL_FILLS_WITHIN).await;
        }
        Ok(ScyllaSession::new(session, page_size))
    }
}
