//! Connects with the settings that were asked for, in releases with execution profiles (0.8 and later).

use std::num::NonZeroUsize;
use std::sync::Arc;
#[cfg(since = "0.10")]
use std::time::Duration;

use cqldyno_driver_api::{ConnectOptions, DriverError, Settings};
#[cfg(since = "1.9")]
use scylla::cluster::metadata::PeriodicFetchMode;
#[cfg(since = "1.0")]
use scylla::policies::timestamp_generator::MonotonicTimestampGenerator;

use crate::names::{
    Compression, DefaultPolicy, ExecutionProfile, FallthroughRetryPolicy, LoadBalancingPolicy, Policy, PoolSize,
    SessionBuilder,
};
use crate::session::ScyllaSession;
use crate::{consistency, errors};

/// Opens the session.
pub(crate) async fn connect(options: &ConnectOptions) -> Result<ScyllaSession, DriverError> {
    let mut builder = SessionBuilder::new().known_nodes_addr(&options.contact_points);
    if let Some(credentials) = &options.credentials {
        builder = builder.user(&credentials.user, &credentials.password);
    }
    // The driver's own TLS by rustls, which compares a certificate with the node's address.
    #[cfg(since = "1.0")]
    if let Some(tls) = &options.tls {
        builder = builder.tls_context(Some(Arc::new(cqldyno_driver_tls::client_config(tls)?)));
    }
    let mut profile = ExecutionProfile::builder();
    let mut page_size = None;
    if options.settings == Settings::Equal {
        let connections = NonZeroUsize::new(options.connections).unwrap_or(NonZeroUsize::MIN);
        profile = profile
            .consistency(consistency::level(options.consistency))
            .serial_consistency(None)
            .request_timeout(options.request_timeout)
            .retry_policy(Policy::new(FallthroughRetryPolicy::new()))
            .speculative_execution_policy(None)
            .load_balancing_policy(routing(true, options));
        builder = builder.pool_size(PoolSize::PerHost(connections)).compression(None);
        page_size = Some(options.page_size);
    }
    for (name, value) in &options.options {
        match (name.as_str(), value.as_str()) {
            ("routing", value) => profile = profile.load_balancing_policy(routing(value == "token-aware", options)),
            ("compression", "lz4") => builder = builder.compression(Some(Compression::Lz4)),
            ("compression", "snappy") => builder = builder.compression(Some(Compression::Snappy)),
            ("schema", value) => builder = builder.fetch_schema_metadata(value == "fetched"),
            #[cfg(since = "0.9")]
            ("coalescing", value) => builder = builder.write_coalescing(value == "on"),
            #[cfg(since = "1.9")]
            ("refresh-mode", "full") => builder = builder.periodic_metadata_fetch_mode(PeriodicFetchMode::FullMetadata),
            #[cfg(since = "1.0")]
            ("timestamps", "client") => {
                builder = builder.timestamp_generator(Arc::new(MonotonicTimestampGenerator::new()));
            }
            _ => {}
        }
    }
    #[cfg(since = "0.10")]
    if let Some(seconds) = options.number("scylla", "refresh")? {
        builder = builder.cluster_metadata_refresh_interval(Duration::from_secs(seconds.into()));
    }
    let builder = builder.default_execution_profile_handle(profile.build().into_handle());
    let session = builder.build().await.map_err(errors::connect)?;
    Ok(ScyllaSession::new(session, options, page_size))
}

fn routing(is_token_aware: bool, options: &ConnectOptions) -> Arc<dyn LoadBalancingPolicy> {
    let policy = DefaultPolicy::builder().token_aware(is_token_aware);
    match &options.datacenter {
        Some(datacenter) => policy.prefer_datacenter(datacenter.clone()),
        None => policy,
    }
    .build()
}
