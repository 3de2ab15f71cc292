//! The driver's description and settings, and the kinds of its server's errors, for all releases.

use std::time::Duration;

use cqldyno_driver_api::{
    Capability, ConnectOptions, Driver, DriverError, DriverInfo, ErrorKind, LATER_TYPES, Setting, Settings,
};
use cqldyno_worker::lock;
#[cfg(since = "1.0")]
use scylla::errors::DbError;
#[cfg(before = "1.0")]
use scylla::transport::errors::DbError;

use crate::options::OPTIONS;
use crate::session::ScyllaSession;
use crate::{compression, connect, consistency};

/// Time for further connections: a session is there with the first one to each node, and the driver does not report the others.
const POOL_FILLS_WITHIN: Duration = Duration::from_millis(250);

/// The crate `scylla`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scylla;

impl Driver for Scylla {
    type Session = ScyllaSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        let lacks = if cfg!(since = "0.5") { &[][..] } else { &[Capability::RequestTimeout] };
        let lacks_types = if cfg!(since = "1.0") { &[][..] } else { &LATER_TYPES };
        let mut capabilities = Capability::all_but(lacks);
        capabilities.extend(cfg!(since = "1.0").then_some(Capability::Tls));
        Ok(DriverInfo {
            name: "scylla".to_owned(),
            version: lock::version_used_by(env!("CARGO_PKG_NAME"), "scylla")?.to_owned(),
            libraries: vec![lock::library("tokio")?],
            capabilities,
            lacks_types: lacks_types.iter().map(|name| (*name).into()).collect(),
            caveats: caveats(),
            options: Some(OPTIONS.to_vec()),
            // `mpsc::channel(1024)` of its connection's router; earlier releases were not looked at.
            queue_per_connection: cfg!(since = "1.0").then_some(1_024),
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        let mut own = match options.settings {
            Settings::Equal => equal(options),
            Settings::Default => defaults(),
        };
        let set = ["compression", "routing", "timestamps"];
        let set = set.map(|name| {
            let value = options.option(name)?;
            Some(match &options.datacenter {
                Some(datacenter) if name == "routing" => Setting::taken(name, format_args!("{value} in {datacenter}")),
                _ => Setting::taken(name, value),
            })
        });
        own.extend(set.into_iter().flatten());
        Setting::equal(options, own)
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<ScyllaSession, DriverError> {
        options.check("scylla", OPTIONS)?;
        if let Some(refused) = equal(options).iter().find(|setting| setting.name == "connections") {
            return Err(DriverError::new(
                ErrorKind::Other,
                format_args!(
                    "{} connections per node were asked for, and scylla has {} before 0.3; ask for 1 or take a later release",
                    options.connections, refused.value
                ),
            ));
        }
        compression::check(options).await?;
        connect::connect(options).await
    }

    async fn settle(&self, options: &ConnectOptions) {
        if options.connections > 1 {
            tokio::time::sleep(POOL_FILLS_WITHIN).await;
        }
    }
}

/// What the release makes of the equal settings, where that is something else.
fn equal(options: &ConnectOptions) -> Vec<Setting> {
    let mut own = Vec::new();
    if options.request_timeout.is_some() && cfg!(before = "0.5") {
        own.push(Setting::refused("request timeout", NO_LIMIT));
    }
    if options.datacenter.is_some() && cfg!(before = "0.8") {
        own.push(Setting::refused(
            "routing",
            "token-aware in all datacenters: the adapter for the release knows no other",
        ));
    }
    if options.connections > 1 && cfg!(before = "0.3") {
        own.push(Setting::refused("connections", "1 per node: the release has no setting for it"));
    }
    own
}

/// What the release does by itself.
fn defaults() -> Vec<Setting> {
    vec![
        Setting::taken("consistency", consistency::default()),
        Setting::taken("retries", "the driver's default policy"),
        Setting::taken("connections", "1 per shard, or 1 per node without shards"),
        Setting::taken("page size", if cfg!(since = "0.14") { "5000" } else { "none: a result comes in one page" }),
        Setting::taken("request timeout", if cfg!(since = "0.5") { "30s" } else { NO_LIMIT }),
        Setting::taken("serial consistency", if cfg!(since = "0.3") { "LOCAL_SERIAL" } else { "none" }),
    ]
}

const NO_LIMIT: &str = "none: the release has no time limit per statement";

fn caveats() -> Vec<String> {
    let caveats = [
        (
            cfg!(since = "0.13"),
            "It asks for the result's metadata with every SELECT unless `metadata=cached` is set, so its answers are longer.",
        ),
        (cfg!(before = "0.13"), "It never skips the result's metadata, so its answers to a SELECT are longer."),
        (
            cfg!(before = "0.15"),
            "It decodes every row into a `Vec` of `CqlValue`, its own API until 0.14: one allocation per row, and one per \
             text or blob.",
        ),
        (cfg!(before = "0.11"), "It does not check the types of bound values; the server does."),
        (cfg!(before = "0.4"), "If the server refuses a password (0x0100), it reports only that it has no connection."),
        (cfg!(before = "0.3"), "It opens one data connection per node, and has no setting for more."),
        (
            cfg!(since = "0.11"),
            "It prepares and executes an unprepared statement with values: two requests, one after the other.",
        ),
        (
            true,
            "The adapter allocates once per batch (twice before 0.11), per page of an unprepared statement, and per answer of \
             several pages; never for an EXECUTE with one page. With `api=pager` it allocates once per SELECT and copies each row.",
        ),
        (
            cfg!(since = "0.9"),
            "Before each write it lets other tasks run once, so that their requests go out with it, unless `coalescing=off` is set.",
        ),
        (true, "Its channel to a connection holds 1,024 requests; with more in flight, some wait for room."),
        (
            cfg!(before = "1.9"),
            "It reads the cluster's metadata every 60 seconds and after schema changes, also within the window.",
        ),
        (cfg!(since = "1.9"), "It reads the cluster's metadata after changes, also within the window."),
    ];
    caveats.into_iter().filter(|(holds, _)| *holds).map(|(_, caveat)| caveat.to_owned()).collect()
}

/// A server's error, by kind.
#[allow(clippy::unneeded_struct_pattern, reason = "a variant without fields in releases before 0.3")]
pub(crate) fn server_kind(error: &DbError) -> ErrorKind {
    match error {
        DbError::ProtocolError => ErrorKind::Protocol,
        DbError::AuthenticationError => ErrorKind::BadCredentials,
        DbError::Unavailable { .. } => ErrorKind::Unavailable,
        DbError::Overloaded => ErrorKind::Overloaded,
        DbError::IsBootstrapping => ErrorKind::Bootstrapping,
        DbError::WriteTimeout { .. } | DbError::ReadTimeout { .. } => ErrorKind::ServerTimeout,
        DbError::SyntaxError => ErrorKind::Syntax,
        DbError::Unauthorized => ErrorKind::Unauthorized,
        DbError::Invalid => ErrorKind::Invalid,
        DbError::AlreadyExists { .. } => ErrorKind::AlreadyExists,
        DbError::Unprepared { .. } => ErrorKind::Unprepared,
        DbError::Other(code) => ErrorKind::from_code(*code),
        _ => ErrorKind::Server,
    }
}
