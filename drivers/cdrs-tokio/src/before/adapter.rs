//! The description and the settings of `cdrs-tokio` 5, and of `cdrs`.

use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverError, DriverInfo, Setting, Settings};
use cqldyno_worker::lock;

use crate::before::pool::{NAME, POOL, Pool};
use crate::session::CdrsTokioSession;
use crate::types;

const CAVEATS: &[&str] = &[
    #[cfg(before = "5.0")]
    "It blocks, so a connection has one request in flight: the row has its own concurrency, and no verdict.",
    #[cfg(before = "5.0")]
    "Each connection has a thread of its own. Handing a statement over to it costs some 7 to 11 us of CPU time.",
    #[cfg(before = "5.0")]
    "It asks with OPTIONS before every statement whether the connection still answers.",
    #[cfg(since = "5.0")]
    "Each connection has one request in flight; other statements wait in the driver's pool, for 10 seconds at most.",
    #[cfg(since = "5.0")]
    "It asks with OPTIONS whether a connection that lay idle still answers, before it executes a statement on it.",
    "It reads an answer from the socket in six parts, without a buffer.",
    "It knows only the addresses that it is given: it has no control connection and no token-aware routing.",
    "It never skips the result's metadata, so its answers to a SELECT are longer.",
    #[cfg(since = "5.0")]
    "The adapter opens and closes one connection first, because the pool tries for ever and reports no kind of error.",
    #[cfg(since = "5.0")]
    "It does not check the types of bound values; the server does.",
];

/// The crate `cdrs-tokio`, or `cdrs`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CdrsTokio;

impl Driver for CdrsTokio {
    type Session = CdrsTokioSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        Ok(DriverInfo {
            name: NAME.to_owned(),
            version: lock::version_used_by(env!("CARGO_PKG_NAME"), NAME)?.to_owned(),
            libraries: vec![lock::library(POOL)?, lock::library("tokio")?],
            capabilities: Capability::all_but(&[Capability::RequestTimeout]),
            lacks_types: types::LACKS.iter().map(|name| (*name).into()).collect(),
            caveats: CAVEATS.iter().map(|caveat| (*caveat).to_owned()).collect(),
            options: Some(Vec::new()),
            in_flight_per_connection: cfg!(before = "5.0").then_some(1),
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        let no_limit = "none: the driver has no time limit per statement";
        let routing = "round robin over the addresses given";
        let own = match options.settings {
            Settings::Equal => {
                let limit = options.request_timeout.map(|_| Setting::refused("request timeout", no_limit));
                limit.into_iter().chain([Setting::refused("routing", routing)]).collect()
            }
            Settings::Default => vec![
                Setting::taken("consistency", "ONE"),
                Setting::taken("routing", routing),
                Setting::taken("page size", "none: a result comes in one page"),
                Setting::taken("request timeout", no_limit),
                #[cfg(before = "5.0")]
                Setting::taken("connections", "10 per node"),
                #[cfg(since = "5.0")]
                Setting::taken("connections", "up to 10 per node"),
                #[cfg(since = "5.0")]
                Setting::taken("retries", "the driver's default policy"),
            ],
        };
        Setting::equal(options, own)
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<CdrsTokioSession, DriverError> {
        options.check(NAME, &[])?;
        Ok(CdrsTokioSession::new(Pool::connect(options).await?, options))
    }
}
