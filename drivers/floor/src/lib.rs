//! `floor`: the least that a CQL client can cost on a machine, and what loads the data.
//!
//! A client of protocol v4 without anything that a statement does not need: EXECUTE frames are written by hand into a
//! buffer that the connection's statements share, the buffer goes out in one write when the statements that can be sent
//! now are in it, and answers are matched by stream id and decoded straight into the caller's [`Rows`]. Nothing is
//! allocated per statement.
//!
//! [`Rows`]: cqldyno_driver_api::Rows
#![deny(missing_docs)]

mod answers;
mod connection;
mod errors;
#[cfg(feature = "parts")]
pub mod parts;
mod requests;
mod session;
mod socket;
mod values;

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
            variant: String::new(),
            libraries: vec![lock::library("tokio")?],
            capabilities: [
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
            caveats: [
                "It is no driver but a lower bound: no metadata, no events, no policies, no request timeout.",
                "It asks the server to leave out the result's metadata.",
                "It sends statements to the given addresses in turn, whatever the partition key.",
            ]
            .map(str::to_owned)
            .to_vec(),
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        vec![
            Setting::taken("protocol version", "v4"),
            Setting::taken("consistency", options.consistency),
            Setting::taken("compression", "none"),
            Setting::taken("retries", "none"),
            Setting::taken("speculative execution", "none"),
            match options.contact_points.len() {
                0 | 1 => Setting::taken("routing", "one node"),
                _ => Setting::refused("routing", "the given addresses in turn"),
            },
            Setting::taken("connections", format!("{} a node", options.connections)),
            Setting::taken("page size", options.page_size),
            match options.request_timeout {
                Some(_) => Setting::refused("request timeout", "none"),
                None => Setting::taken("request timeout", "none"),
            },
        ]
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<FloorSession, DriverError> {
        options.refuse_unknown("floor", &[])?;
        FloorSession::connect(options).await
    }
}
