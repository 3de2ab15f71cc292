//! The adapter for the crate `scylla`: how it describes itself, connects, and what it makes of the settings.
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

/// What `Session::connect` leaves open: it returns with the first connection to each node and says nothing about the
/// others, so they are given this long.
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
            variant: String::new(),
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
                "It asks for the result's metadata with every row (skipping it is a setting of the statement, off by \
                 default), so a select's answer is longer than for a driver that skips it."
                    .to_owned(),
                "A statement with values that is not prepared it prepares and executes: two requests, one after the other."
                    .to_owned(),
                "The adapter makes one allocation of its own for a batch, for each page of a statement that is not \
                 prepared and for an answer of several pages; for an EXECUTE with one page it makes none."
                    .to_owned(),
                "It sends a serial consistency with every statement and no timestamp.".to_owned(),
                "It reads the cluster's metadata again every 60 seconds and after schema changes; that is control \
                 traffic and within the window."
                    .to_owned(),
            ],
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        let rows = match options.settings {
            Settings::Equal => [
                ("protocol version", "v4".to_owned()),
                ("consistency", options.consistency.to_string()),
                ("compression", "none".to_owned()),
                ("retries", "none".to_owned()),
                ("speculative execution", "none".to_owned()),
                ("routing", "token-aware".to_owned()),
                ("connections", format!("{} a node", options.connections)),
                ("page size", options.page_size.to_string()),
                ("request timeout", options.request_timeout.map_or("none".to_owned(), |limit| format!("{limit:?}"))),
            ],
            Settings::Default => [
                ("protocol version", "v4".to_owned()),
                ("consistency", "LOCAL_QUORUM".to_owned()),
                ("compression", "none".to_owned()),
                ("retries", "the driver's default policy".to_owned()),
                ("speculative execution", "none".to_owned()),
                ("routing", "token-aware".to_owned()),
                ("connections", "1 a shard, or 1 a node without shards".to_owned()),
                ("page size", "5000".to_owned()),
                ("request timeout", "30s".to_owned()),
            ],
        };
        rows.into_iter().map(|(name, value)| Setting::taken(name, value)).collect()
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<ScyllaSession, DriverError> {
        options.refuse_unknown("scylla", &[])?;
        let mut builder = SessionBuilder::new().known_nodes_addr(&options.contact_points);
        if let Some(credentials) = &options.credentials {
            builder = builder.user(&credentials.user, &credentials.password);
        }
        let page_size = match options.settings {
            Settings::Default => None,
            Settings::Equal => {
                let connections = NonZeroUsize::new(options.connections).ok_or_else(|| {
                    DriverError::new(ErrorKind::Other, "0 connections a node were asked for; ask for at least 1")
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
