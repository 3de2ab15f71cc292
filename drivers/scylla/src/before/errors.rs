//! The errors of releases before 1.0, by kind.

use cqldyno_driver_api::{DriverError, ErrorKind};
use scylla::transport::errors::{NewSessionError, QueryError};

use crate::driver::server_kind;

/// An error of `SessionBuilder::build`.
pub(crate) fn connect(error: NewSessionError) -> DriverError {
    let kind = match &error {
        NewSessionError::DbError(error, _) => server_kind(error),
        // From 0.4 on, the server's error stands in a text, and before that nowhere.
        other if other.to_string().contains("bad credentials") => ErrorKind::BadCredentials,
        _ => ErrorKind::Connect,
    };
    DriverError::new(kind, error)
}

/// An error of `Session::prepare`.
pub(crate) fn prepare(error: QueryError) -> DriverError {
    execution(error)
}

/// An error of `Session::execute_iter`, or of its rows.
pub(crate) use execution as pager;
pub(crate) use execution as next_row;

/// An error of any request.
#[cold]
pub(crate) fn execution(error: QueryError) -> DriverError {
    let kind = match &error {
        QueryError::DbError(error, _) => server_kind(error),
        QueryError::BadQuery(_) => ErrorKind::Codec,
        // No release has all of the others, so they go by the names that `Debug` gives them.
        other => named(&format!("{other:?}")),
    };
    DriverError::new(kind, error)
}

fn named(error: &str) -> ErrorKind {
    match error.split(['(', ' ']).next().unwrap_or_default() {
        "InvalidMessage" if ["io error", "early eof"].iter().any(|end| error.contains(end)) => {
            ErrorKind::ConnectionLost
        }
        "ProtocolError" if error.contains("No pk indexes") => ErrorKind::Codec,
        "IoError" | "BrokenConnection" | "ConnectionPoolError" | "EmptyPlan" => ErrorKind::ConnectionLost,
        "RequestTimeout" => ErrorKind::RequestTimeout,
        "UnableToAllocStreamId" => ErrorKind::QueueFull,
        "CqlRequestSerialization"
        | "BodyExtensionsParseError"
        | "CqlResultParseError"
        | "CqlErrorParseError"
        | "InvalidMessage" => ErrorKind::Codec,
        _ => ErrorKind::Other,
    }
}
