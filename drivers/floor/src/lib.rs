//! `floor`: the least that a CQL client can cost on a machine, and the client that loads rows.
//!
//! It speaks protocol v4 without anything that a statement does not need. EXECUTE frames are written by hand into a buffer that
//! the connection's statements share. One write sends it when all statements that can be sent now are in it. Answers are matched
//! by stream id and decoded straight into the caller's [`Rows`]. Nothing is allocated per statement.
//!
//! [`Rows`]: cqldyno_driver_api::Rows
#![deny(missing_docs)]

mod answers;
mod connection;
#[cfg(feature = "parts")]
pub mod parts;
mod requests;
mod session;
mod socket;

use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverError, DriverInfo, Setting};
use cqldyno_worker::lock;

pub use session::{FloorSession, FloorStatement};

/// The hand-tuned client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Floor;

impl Driver for Floor {
    type Session = FloorSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        Ok(DriverInfo {
            name: "floor".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            libraries: vec![lock::library("tokio")?],
            capabilities: Capability::all_but(&[Capability::RequestTimeout])
                .into_iter()
                .chain([Capability::Tls])
                .collect(),
            caveats: [
                "It is a lower bound, not a driver: no metadata, events, policies or request timeout.",
                "It skips the result's metadata.",
                "It sends statements to the given addresses in turn, without looking at the partition key.",
                "With TLS it is no lower bound: a task of its own encrypts, behind one more pair of sockets.",
            ]
            .map(str::to_owned)
            .to_vec(),
            options: Some(Vec::new()),
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        let routing = match options.contact_points.len() {
            0 | 1 => Setting::taken("routing", "one node"),
            _ => Setting::refused("routing", "the given addresses in turn"),
        };
        let no_limit = options.request_timeout.map(|_| Setting::refused("request timeout", "none"));
        Setting::equal(options, no_limit.into_iter().chain([routing]))
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<FloorSession, DriverError> {
        options.check("floor", &[])?;
        FloorSession::connect(options).await
    }
}
