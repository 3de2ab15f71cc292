//! A contender that sends nothing: what the harness itself costs.
//!
//! `noop` answers later, from another task, so that every slot really waits, as with a driver that waits for a socket. On a
//! current-thread runtime all slots wait before the first is answered. Several threads answer smaller batches, and the
//! figure includes the wake-ups between threads that a driver pays, too. `noop+form=ready` answers at once: what the load
//! generator costs without waiting. `noop+form=oneshot` answers at once, too, but each statement awaits a oneshot channel of
//! tokio, which counts against the cooperative budget of its task.
//!
//! It declares [`Capability::Offline`] and returns no rows. The load generator puts the expected rows in their place, so that
//! decoding and checking rows are part of the figure.
#![deny(missing_docs)]

mod queue;
mod session;

use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverError, DriverInfo, DriverOption, Setting};
use cqldyno_worker::lock;

use session::Form;

pub use session::NoopSession;

/// The driver that sends nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noop;

/// The options of `noop+KEY=VALUE`.
const OPTIONS: [DriverOption; 1] = [DriverOption::new(
    "form",
    "pending|ready|oneshot",
    "pending",
    "Answers each statement later from another task, at once, or at once through a channel of tokio.",
)];

/// The form that the options choose.
fn form(options: &ConnectOptions) -> &str {
    options.option("form").unwrap_or("pending")
}

impl Driver for Noop {
    type Session = NoopSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        Ok(DriverInfo {
            name: "noop".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            libraries: vec![lock::library("tokio")?],
            capabilities: [Capability::Offline, Capability::Batch, Capability::Unprepared].into(),
            caveats: vec![
                "It sends nothing: this is what the harness itself costs. The load generator puts expected rows in place and \
                 checks them."
                    .to_owned(),
            ],
            options: Some(OPTIONS.to_vec()),
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        vec![Setting::taken("form", form(options))]
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<NoopSession, DriverError> {
        options.check("noop", &OPTIONS)?;
        Ok(NoopSession(match form(options) {
            "ready" => Form::Ready,
            "oneshot" => Form::Oneshot,
            _ => Form::later(),
        }))
    }
}
