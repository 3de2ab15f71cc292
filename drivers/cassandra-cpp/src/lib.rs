//! The adapter for the crate [cassandra-cpp](https://docs.rs/cassandra-cpp), which binds the C/C++ driver `libcassandra`.
//!
//! Statements are bound and rows read through the crate's own typed API. [`library`] asks the loaded libcassandra for its
//! version.
#![deny(missing_docs)]

mod errors;
pub mod library;
mod options;
mod session;
mod tls;
mod types;
mod values;

use std::collections::BTreeMap;
use std::time::Duration;

use cassandra_cpp::{Cluster, LogLevel, RetryPolicy, TimestampGen, set_level};
use cqldyno_driver_api::{
    Capability, ConnectOptions, Driver, DriverError, DriverInfo, ErrorKind, Library, Setting, Settings,
};
use cqldyno_worker::lock;

pub use session::{CassandraCppSession, CassandraCppStatement};

/// The name of the environment variable that asks for libcassandra's log on stderr: a level such as `WARN` or `DEBUG`.
pub const LOG_VARIABLE: &str = "CQLDYNO_LIBCASSANDRA_LOG";

/// Requests that libcassandra's queue holds by default; a statement that finds it full fails.
const REQUEST_QUEUE: usize = 8_192;

/// The driver cassandra-cpp.
#[derive(Debug, Default)]
pub struct CassandraCpp;

impl Driver for CassandraCpp {
    type Session = CassandraCppSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        set_log_level();
        let loaded = library::loaded()?;
        Ok(DriverInfo {
            name: "cassandra-cpp".to_owned(),
            version: lock::version_used_by(env!("CARGO_PKG_NAME"), "cassandra-cpp")?.to_owned(),
            variant: format!("lib={}-{}", loaded.short_name(), loaded.version),
            libraries: vec![
                Library {
                    name: format!("libcassandra ({})", loaded.name),
                    version: loaded.version.clone(),
                    origin: Some(loaded.origin()),
                },
                lock::library("tokio")?,
            ],
            capabilities: Capability::all_but(&[]).into_iter().chain([Capability::Tls]).collect(),
            lacks_types: types::LACKS.map(Into::into).into(),
            caveats: [
                "It runs one I/O thread in C++ beside the runtime's workers, or as many as `io-threads` says.",
                "It always skips the result's metadata, so its answers to a SELECT are shorter.",
                "It waits up to 200 us for further requests before it writes; the crate cannot set that.",
                "It records the latency of every request in a histogram of its own, which cannot be switched off.",
                "It cannot compress.",
                "It sends what a bootstrapping node refuses (0x1002) to the next node, despite the retry policy.",
                "After a server error (code 0) it drops the connection and reconnects in about two seconds.",
                "The crate takes a blob as an owned vector, so binding one costs a copy.",
            ]
            .map(str::to_owned)
            .to_vec(),
            options: Some(options::ALL.to_vec()),
            most_in_flight: BTreeMap::from([(Settings::Default, REQUEST_QUEUE)]),
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        let own: Vec<(&str, &str)> = match options.settings {
            Settings::Equal => vec![],
            Settings::Default => vec![
                ("protocol version", "negotiated by libcassandra"),
                ("consistency", "LOCAL_ONE"),
                ("retries", "libcassandra's default policy"),
                ("connections", "1 per node"),
                ("page size", "no paging"),
                ("request timeout", "12s"),
                ("timestamps", "client"),
            ],
        };
        let mut own: Vec<Setting> = own.into_iter().map(|(name, value)| Setting::taken(name, value)).collect();
        own.extend(options::settings(options));
        Setting::equal(options, own)
    }

    fn connections(&self, options: &ConnectOptions) -> usize {
        options.connections * options::io_threads(options)
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<CassandraCppSession, DriverError> {
        set_log_level();
        options.check("cassandra-cpp", &options::ALL)?;
        // The parent has applied `lib=PATH` through the environment.
        if let Some(path) = options.option("lib") {
            library::loaded()?.check_lies_at(path)?;
        }
        let mut cluster = cluster(options)?;
        let session = cluster.connect().await.map_err(errors::at_connect)?;
        Ok(CassandraCppSession::new(session, options))
    }
}

/// libcassandra prints warnings to stderr by default, one per connection to Cassandra. Here it prints only if asked.
fn set_log_level() {
    let asked = std::env::var(LOG_VARIABLE).ok().and_then(|level| level.parse().ok());
    set_level(asked.unwrap_or(LogLevel::DISABLED));
}

fn cluster(options: &ConnectOptions) -> Result<Cluster, DriverError> {
    let mut cluster = Cluster::default();
    let (hosts, port) = hosts_and_port(options)?;
    cluster.set_contact_points(&hosts).map_err(errors::at_connect)?;
    cluster.set_port(port).map_err(errors::at_connect)?;
    if let Some(credentials) = &options.credentials {
        cluster.set_credentials(&credentials.user, &credentials.password).map_err(errors::at_connect)?;
    }
    if let Some(tls) = &options.tls {
        cluster.set_ssl(tls::ssl(tls)?);
    }
    if options.settings == Settings::Equal {
        let connections = u32::try_from(options.connections).unwrap_or(u32::MAX);
        cluster.set_protocol_version(4).map_err(errors::at_connect)?;
        // libcassandra opens so many connections per I/O thread, so there is one thread unless more are asked for.
        cluster.set_num_threads_io(1).map_err(errors::at_connect)?;
        cluster.set_core_connections_per_host(connections).map_err(errors::at_connect)?;
        if options.in_flight > REQUEST_QUEUE {
            let queue = u32::try_from(options.in_flight).unwrap_or(u32::MAX);
            cluster.set_queue_size_io(queue).map_err(errors::at_connect)?;
        }
        cluster.set_retry_policy(RetryPolicy::fallthrough_new());
        cluster.set_token_aware_routing(true);
        if let Some(datacenter) = &options.datacenter {
            cluster.set_load_balance_dc_aware::<&str>(datacenter, 0, false).map_err(errors::at_connect)?;
        }
        // 0 is libcassandra's word for no limit.
        cluster.set_request_timeout(options.request_timeout.unwrap_or_default());
        cluster.set_timestamp_gen(&TimestampGen::gen_server_side_new());
        cluster.set_tcp_keepalive(false, Duration::ZERO);
    }
    options::apply(options, &mut cluster)?;
    Ok(cluster)
}

/// libcassandra takes one port for all contact points.
fn hosts_and_port(options: &ConnectOptions) -> Result<(String, u16), DriverError> {
    let Some(first) = options.contact_points.first() else {
        return Err(DriverError::new(ErrorKind::Connect, "no address to connect to was given"));
    };
    if let Some(other) = options.contact_points.iter().find(|address| address.port() != first.port()) {
        return Err(DriverError::new(
            ErrorKind::Connect,
            format!("libcassandra wants one port for all nodes, but {first} and {other} differ"),
        ));
    }
    let hosts: Vec<String> = options.contact_points.iter().map(|address| address.ip().to_string()).collect();
    Ok((hosts.join(","), first.port()))
}
