//! Connects with the settings that were asked for, in releases before 0.8.

#[cfg(since = "0.3")]
use std::num::NonZeroUsize;
use std::sync::Arc;

use cqldyno_driver_api::{ConnectOptions, DriverError, Settings};
use scylla::load_balancing::{RoundRobinPolicy, TokenAwarePolicy};

use crate::errors;
#[cfg(since = "0.3")]
use crate::names::PoolSize;
use crate::names::{Compression, FallthroughRetryPolicy, LoadBalancingPolicy, SessionBuilder};
use crate::session::ScyllaSession;

/// Opens the session.
pub(crate) async fn connect(options: &ConnectOptions) -> Result<ScyllaSession, DriverError> {
    let mut builder = SessionBuilder::new().known_nodes_addr(&options.contact_points);
    if let Some(credentials) = &options.credentials {
        builder = builder.user(&credentials.user, &credentials.password);
    }
    let mut page_size = None;
    if options.settings == Settings::Equal {
        builder = builder
            .retry_policy(Box::new(FallthroughRetryPolicy::new()))
            .load_balancing(routing("token-aware"))
            .compression(None);
        page_size = Some(options.page_size);
        // Before, statements have the consistency, and a node has one connection.
        #[cfg(since = "0.3")]
        {
            let connections = NonZeroUsize::new(options.connections).unwrap_or(NonZeroUsize::MIN);
            let consistency = crate::consistency::level(options.consistency);
            builder = builder.default_consistency(consistency).pool_size(PoolSize::PerHost(connections));
        }
        #[cfg(since = "0.5")]
        {
            builder = builder.request_timeout(options.request_timeout);
        }
    }
    for (name, value) in &options.options {
        builder = match (name.as_str(), value.as_str()) {
            ("routing", value) => builder.load_balancing(routing(value)),
            ("compression", "lz4") => builder.compression(Some(Compression::Lz4)),
            ("compression", "snappy") => builder.compression(Some(Compression::Snappy)),
            #[cfg(since = "0.4")]
            ("schema", value) => builder.fetch_schema_metadata(value == "fetched"),
            _ => builder,
        }
    }
    let session = builder.build().await.map_err(errors::connect)?;
    Ok(ScyllaSession::new(session, options, page_size))
}

fn routing(name: &str) -> Arc<dyn LoadBalancingPolicy> {
    match name {
        "token-aware" => Arc::new(TokenAwarePolicy::new(Box::new(RoundRobinPolicy::new()))),
        _ => Arc::new(RoundRobinPolicy::new()),
    }
}
