//! Errors between a statement and its answer, with the same kinds for every driver.

use std::fmt;

use serde::{Deserialize, Serialize};

crate::words! {
    /// The kind of a failure, by which errors are counted.
    ///
    /// The kinds with a code are the errors of native_protocol_v4.spec section 9; the others arise in the client.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum ErrorKind {
        /// No connection could be made at all.
        Connect = "connect",
        /// 0x0100: the server refused user or password.
        BadCredentials = "bad credentials",
        /// 0x000A: the server or the client broke the protocol.
        Protocol = "protocol",
        /// 0x1000: not enough replicas are alive.
        Unavailable = "unavailable",
        /// 0x1001: the coordinator is overloaded.
        Overloaded = "overloaded",
        /// 0x1002: the coordinator is starting.
        Bootstrapping = "bootstrapping",
        /// 0x1100 and 0x1200: a write or a read timed out on the server.
        ServerTimeout = "server timeout",
        /// 0x2000: the statement is no CQL.
        Syntax = "syntax",
        /// 0x2100: the user may not do this.
        Unauthorized = "unauthorized",
        /// 0x2200: the statement is impossible, for example because the table does not exist.
        Invalid = "invalid",
        /// 0x2400: keyspace or table exists.
        AlreadyExists = "already exists",
        /// 0x2500: the prepared id is unknown.
        Unprepared = "unprepared",
        /// Any other error code of the server.
        Server = "server",
        /// The client's own time limit ran out.
        RequestTimeout = "request timeout",
        /// The connection broke before the answer, or there was none to send on.
        ConnectionLost = "connection lost",
        /// The driver's queue is full.
        QueueFull = "queue full",
        /// A value could not be encoded, or an answer not be decoded.
        Codec = "codec",
        /// The answer had other rows than the scenario expects.
        WrongRow = "wrong row",
        /// Anything else; the message says what.
        Other = "other",
    }
}

impl ErrorKind {
    /// The kind of the server's error `code` (native_protocol_v4.spec section 9).
    pub fn from_code(code: i32) -> ErrorKind {
        match code {
            0x000A => ErrorKind::Protocol,
            0x0100 => ErrorKind::BadCredentials,
            0x1000 => ErrorKind::Unavailable,
            0x1001 => ErrorKind::Overloaded,
            0x1002 => ErrorKind::Bootstrapping,
            0x1100 | 0x1200 => ErrorKind::ServerTimeout,
            0x2000 => ErrorKind::Syntax,
            0x2100 => ErrorKind::Unauthorized,
            0x2200 => ErrorKind::Invalid,
            0x2400 => ErrorKind::AlreadyExists,
            0x2500 => ErrorKind::Unprepared,
            _ => ErrorKind::Server,
        }
    }
}

/// A failed connection, statement or preparation: its kind and the driver's own words.
///
/// It is a pointer, so that an answer without an error travels in registers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", self.kind(), self.message())]
pub struct DriverError(Box<Told>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    kind: ErrorKind,
    message: String,
}

impl DriverError {
    /// An error of `kind` with the driver's `message`.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl fmt::Display) -> DriverError {
        DriverError(Box::new(Told { kind, message: message.to_string() }))
    }

    /// By which the error is counted.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The driver's message, unchanged; never a password.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The driver's message.
    pub fn into_message(self) -> String {
        self.0.message
    }
}
