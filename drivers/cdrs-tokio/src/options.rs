//! The options of `cdrs-tokio+KEY=VALUE`.

use cdrs_tokio::cluster::connection_pool::ConnectionPoolConfig;
use cdrs_tokio::cluster::session::DEFAULT_TRANSPORT_BUFFER_SIZE;
use cdrs_tokio::compression::Compression;
use cqldyno_driver_api::{ConnectOptions, DriverError, DriverOption, Settings};

use crate::connect;

/// Those that the release has.
pub(crate) const OPTIONS: &[DriverOption] = &[
    DriverOption::new(
        "routing",
        "token-aware|round-robin",
        "token-aware",
        "Its TopologyAwareLoadBalancingStrategy, or its RoundRobinLoadBalancingStrategy.",
    ),
    DriverOption::tried(
        "buffer",
        "COUNT",
        "1024",
        "Requests that the channel to each connection holds (its transport buffer size); more wait for room.",
        "128",
    ),
    DriverOption::new(
        "compression",
        "none|lz4|snappy",
        "none",
        "Compression of frames, which the server has to offer.",
    ),
    DriverOption::new(
        "nodelay",
        "on|off",
        "on",
        "Whether TCP_NODELAY is set on its connections, so that the kernel sends small requests at once.",
    ),
    #[cfg(since = "8.1")]
    DriverOption::new(
        "heartbeat",
        "SECONDS",
        "30",
        "Time between two OPTIONS requests that keep each data connection alive.",
    ),
];

/// What the options choose.
#[cfg_attr(since = "8.1", derive(Clone))]
pub(crate) struct Chosen {
    pub(crate) is_token_aware: bool,
    pub(crate) buffer: usize,
    pub(crate) compression: Compression,
    pub(crate) nodelay: bool,
    pub(crate) pool: ConnectionPoolConfig,
}

impl Chosen {
    /// Reads the options; what is not set is as the equal settings have it, or as the documentation's first example.
    pub(crate) fn of(options: &ConnectOptions) -> Result<Chosen, DriverError> {
        options.check("cdrs-tokio", OPTIONS)?;
        Ok(Chosen {
            is_token_aware: match options.option("routing") {
                Some(routing) => routing == "token-aware",
                None => options.settings == Settings::Equal,
            },
            buffer: options
                .number("cdrs-tokio", "buffer")?
                .map_or(DEFAULT_TRANSPORT_BUFFER_SIZE, |count| count as usize),
            compression: match options.option("compression") {
                Some("lz4") => Compression::Lz4,
                Some("snappy") => Compression::Snappy,
                _ => Compression::None,
            },
            nodelay: options.option("nodelay") != Some("off"),
            pool: connect::pool(options)?,
        })
    }
}
