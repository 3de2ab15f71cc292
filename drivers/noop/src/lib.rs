//! A contender that sends nothing: what the harness itself costs.
//!
//! `noop` answers later, from another task, so that every slot really waits, as with a driver that waits for a socket. On a
//! current-thread runtime all slots wait before the first is answered. Several worker threads answer smaller batches, and the
//! figure includes the wake-ups between threads that a driver pays, too. `noop+form=ready` answers at once: what the load
//! generator costs without waiting.
//!
//! It declares [`Capability::Offline`] and returns no rows. The load generator puts the expected rows in their place, so that
//! decoding and checking rows are part of the figure.
#![deny(missing_docs)]

mod queue;
mod session;

use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverError, DriverInfo, ErrorKind, Setting};
use cqldyno_worker::lock;

pub use session::NoopSession;

/// The driver that sends nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noop;

/// When a statement is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Later, by another task.
    Pending,
    /// At once.
    Ready,
}

impl Form {
    fn of(options: &ConnectOptions) -> Result<Form, DriverError> {
        options.refuse_unknown("noop", &["form"])?;
        match options.options.get("form").map(String::as_str) {
            None | Some("pending") => Ok(Form::Pending),
            Some("ready") => Ok(Form::Ready),
            Some(other) => Err(DriverError::new(
                ErrorKind::Other,
                format!("noop was asked for the form `{other}`; it has `pending`, the default, and `ready`"),
            )),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Form::Pending => "pending",
            Form::Ready => "ready",
        }
    }
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
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        match Form::of(options) {
            Ok(form) => vec![Setting::taken("form", form.name())],
            Err(error) => vec![Setting::refused("form", error.message())],
        }
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<NoopSession, DriverError> {
        Ok(match Form::of(options)? {
            Form::Pending => NoopSession::pending(),
            Form::Ready => NoopSession::ready(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_chosen_by_an_option_and_others_are_refused_by_name() {
        let mut options = ConnectOptions::new(Vec::new());
        assert_eq!(Form::of(&options), Ok(Form::Pending));
        options.options.insert("form".to_owned(), "ready".to_owned());
        assert_eq!(Form::of(&options), Ok(Form::Ready));
        assert_eq!(Noop.settings(&options), [Setting::taken("form", "ready")]);
        options.options.insert("form".to_owned(), "later".to_owned());
        assert!(Form::of(&options).unwrap_err().message().contains("`later`"));
        options.options.clear();
        options.options.insert("speed".to_owned(), "9".to_owned());
        assert!(Form::of(&options).unwrap_err().message().contains("`speed`"));
    }
}
