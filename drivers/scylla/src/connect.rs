//! Connects with the settings that were asked for, in releases with execution profiles (0.8 and later).

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use cqldyno_driver_api::{ConnectOptions, DriverError, Settings};

use crate::errors;
// All of it, because it has methods that the release lacks.
use crate::release::*;
use crate::session::ScyllaSession;
use crate::shared::consistency;

/// Opens the session.
pub(crate) async fn connect(options: &ConnectOptions) -> Result<ScyllaSession, DriverError> {
    let mut builder = SessionBuilder::new().known_nodes_addr(&options.contact_points);
    if let Some(credentials) = &options.credentials {
        builder = builder.user(&credentials.user, &credentials.password);
    }
    builder = tls(builder, options)?;
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
            ("coalescing", value) => builder = builder.write_coalescing(value == "on"),
            ("timestamps", "client") => builder = timestamps(builder),
            _ => {}
        }
    }
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
