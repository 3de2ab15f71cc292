//! The crate's errors as [`DriverError`]s, by the code that libcassandra gave.

use cassandra_cpp::{CassErrorCode, Error};
use cqldyno_driver_api::{DriverError, ErrorKind};

/// An error of connecting.
#[cold]
pub(crate) fn at_connect(error: Error) -> DriverError {
    mapped(&error, |code| match code {
        CassErrorCode::LIB_NO_HOSTS_AVAILABLE
        | CassErrorCode::LIB_UNABLE_TO_CONNECT
        | CassErrorCode::LIB_HOST_RESOLUTION
        | CassErrorCode::LIB_REQUEST_TIMED_OUT
        | CassErrorCode::LIB_UNABLE_TO_DETERMINE_PROTOCOL => Some(ErrorKind::Connect),
        _ => None,
    })
}

/// An error of a statement or a preparation.
#[cold]
pub(crate) fn at_execute(error: Error) -> DriverError {
    mapped(&error, |_| None)
}

/// An error of binding values, or of reading those of an answer.
#[cold]
pub(crate) fn at_value(error: Error) -> DriverError {
    mapped(&error, |_| Some(ErrorKind::Codec))
}

/// More or fewer values than markers.
#[cold]
pub(crate) fn wrong_number_of_values(markers: usize, values: usize) -> DriverError {
    let message = format_args!("the statement has {markers} markers and {values} values were bound");
    DriverError::new(ErrorKind::Codec, message)
}

fn mapped(error: &Error, here: impl Fn(CassErrorCode) -> Option<ErrorKind>) -> DriverError {
    let kind = match error.kind() {
        cassandra_cpp::ErrorKind::CassError(code, _) | cassandra_cpp::ErrorKind::CassErrorResult(code, ..) => {
            here(*code).unwrap_or_else(|| kind(*code))
        }
        cassandra_cpp::ErrorKind::InvalidUtf8(_)
        | cassandra_cpp::ErrorKind::StringContainsNul(_)
        | cassandra_cpp::ErrorKind::UnsupportedType(..) => ErrorKind::Codec,
        _ => ErrorKind::Other,
    };
    DriverError::new(kind, error)
}

fn kind(code: CassErrorCode) -> ErrorKind {
    match code {
        CassErrorCode::SERVER_BAD_CREDENTIALS => ErrorKind::BadCredentials,
        CassErrorCode::SERVER_PROTOCOL_ERROR | CassErrorCode::LIB_UNEXPECTED_RESPONSE => ErrorKind::Protocol,
        CassErrorCode::SERVER_UNAVAILABLE => ErrorKind::Unavailable,
        CassErrorCode::SERVER_OVERLOADED => ErrorKind::Overloaded,
        CassErrorCode::SERVER_IS_BOOTSTRAPPING => ErrorKind::Bootstrapping,
        CassErrorCode::SERVER_WRITE_TIMEOUT | CassErrorCode::SERVER_READ_TIMEOUT => ErrorKind::ServerTimeout,
        CassErrorCode::SERVER_SYNTAX_ERROR => ErrorKind::Syntax,
        CassErrorCode::SERVER_UNAUTHORIZED => ErrorKind::Unauthorized,
        CassErrorCode::SERVER_INVALID_QUERY => ErrorKind::Invalid,
        CassErrorCode::SERVER_ALREADY_EXISTS => ErrorKind::AlreadyExists,
        CassErrorCode::SERVER_UNPREPARED => ErrorKind::Unprepared,
        CassErrorCode::SERVER_SERVER_ERROR
        | CassErrorCode::SERVER_TRUNCATE_ERROR
        | CassErrorCode::SERVER_READ_FAILURE
        | CassErrorCode::SERVER_WRITE_FAILURE
        | CassErrorCode::SERVER_FUNCTION_FAILURE
        | CassErrorCode::SERVER_CONFIG_ERROR => ErrorKind::Server,
        CassErrorCode::LIB_REQUEST_TIMED_OUT => ErrorKind::RequestTimeout,
        CassErrorCode::LIB_REQUEST_QUEUE_FULL | CassErrorCode::LIB_NO_STREAMS => ErrorKind::QueueFull,
        CassErrorCode::LIB_NO_HOSTS_AVAILABLE
        | CassErrorCode::LIB_WRITE_ERROR
        | CassErrorCode::LIB_UNABLE_TO_CONNECT
        | CassErrorCode::LIB_UNABLE_TO_CLOSE => ErrorKind::ConnectionLost,
        CassErrorCode::LIB_MESSAGE_ENCODE
        | CassErrorCode::LIB_INDEX_OUT_OF_BOUNDS
        | CassErrorCode::LIB_INVALID_ITEM_COUNT
        | CassErrorCode::LIB_INVALID_VALUE_TYPE
        | CassErrorCode::LIB_NULL_VALUE
        | CassErrorCode::LIB_PARAMETER_UNSET
        | CassErrorCode::LIB_INVALID_DATA
        | CassErrorCode::LIB_NOT_ENOUGH_DATA => ErrorKind::Codec,
        _ => ErrorKind::Other,
    }
}
