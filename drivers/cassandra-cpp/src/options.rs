//! The options of `cassandra-cpp+KEY=VALUE`.

use std::time::Duration;

use cassandra_cpp::{Cluster, TimestampGen};
use cqldyno_driver_api::{ConnectOptions, DriverError, DriverOption, Setting};

use crate::errors;

/// What the crate can set on a cluster; libcassandra's coalescing delay is not among it.
pub(crate) const ALL: [DriverOption; 8] = [
    DriverOption::new("lib", "PATH", "the one it was linked with", "The shared library libcassandra that it loads."),
    DriverOption::new(
        "timestamps",
        "server|client",
        "server",
        "Leaves the time of a write to the server, or sends one of the client's own, eight bytes, with every statement.",
    ),
    DriverOption::tried("io-threads", "COUNT", "1", "Its I/O threads in C++; each opens its own connections.", "2"),
    DriverOption::new(
        "routing",
        "token-aware|round-robin",
        "token-aware",
        "Whether statements go to a replica of their key, or to each node in turn.",
    ),
    DriverOption::new(
        "schema",
        "fetched|none",
        "fetched",
        "Whether it keeps the schema's metadata; without it there is no token-aware routing.",
    ),
    DriverOption::new(
        "queue",
        "COUNT",
        "8192, or as many as are in flight",
        "Requests that its queue holds; a statement that finds it full fails.",
    ),
    DriverOption::new(
        "nodelay",
        "on|off",
        "on",
        "Whether TCP_NODELAY is set on its connections, so that the kernel sends small requests at once.",
    ),
    DriverOption::new("heartbeat", "SECONDS", "30", "Time without a request after which it sends OPTIONS."),
];

/// The number of I/O threads that is asked for; one for a number that [`apply`] refuses.
pub(crate) fn io_threads(options: &ConnectOptions) -> usize {
    options.number("cassandra-cpp", "io-threads").ok().flatten().unwrap_or(1) as usize
}

/// The settings that options change.
pub(crate) fn settings(options: &ConnectOptions) -> Vec<Setting> {
    let mut settings = Vec::new();
    settings.extend(options.option("timestamps").map(|value| Setting::taken("timestamps", value)));
    settings.extend(match (options.option("routing"), &options.datacenter) {
        (Some("round-robin"), Some(_)) => Some(Setting::refused("routing", "round robin over all datacenters")),
        (Some(value), None) => Some(Setting::taken("routing", value)),
        _ => None,
    });
    if options.option("schema") == Some("none") {
        settings.push(Setting::taken("routing", "round robin, because it keeps no schema"));
    }
    if let threads @ 2.. = io_threads(options) {
        let connections = options.connections;
        let value = format!("{} per node: {connections} for each of {threads} I/O threads", connections * threads);
        settings.push(Setting::taken("connections", value));
    }
    settings
}

/// Sets what the options say.
pub(crate) fn apply(options: &ConnectOptions, cluster: &mut Cluster) -> Result<(), DriverError> {
    let number = |name| options.number("cassandra-cpp", name);
    match options.option("timestamps") {
        Some("client") => _ = cluster.set_timestamp_gen(&TimestampGen::gen_monotonic_new()),
        Some(_) => _ = cluster.set_timestamp_gen(&TimestampGen::gen_server_side_new()),
        None => {}
    }
    if let Some(threads) = number("io-threads")? {
        cluster.set_num_threads_io(threads).map_err(errors::at_connect)?;
    }
    if options.option("routing") == Some("round-robin") {
        cluster.set_token_aware_routing(false);
        cluster.set_load_balance_round_robin();
    }
    if options.option("schema") == Some("none") {
        cluster.set_use_schema(false);
    }
    if let Some(queue) = number("queue")? {
        cluster.set_queue_size_io(queue).map_err(errors::at_connect)?;
    }
    if options.option("nodelay") == Some("off") {
        cluster.set_tcp_nodelay(false);
    }
    if let Some(seconds) = number("heartbeat")? {
        cluster.set_connection_heartbeat_interval(Duration::from_secs(seconds.into()));
    }
    Ok(())
}
