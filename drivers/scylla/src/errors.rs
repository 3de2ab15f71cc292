//! The driver's errors, by kind.

use cqldyno_driver_api::{DriverError, ErrorKind};
use scylla::client::pager::{NextPageError, NextRowError};
use scylla::errors::{
    ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, ExecutionError, MetadataError,
    NewSessionError, PagerExecutionError, PrepareError, RequestAttemptError, RequestError,
};

use crate::driver::server_kind;

/// An error of `SessionBuilder::build`.
pub(crate) fn connect(error: NewSessionError) -> DriverError {
    let kind = match &error {
        NewSessionError::MetadataError(MetadataError::ConnectionPoolError(pool)) => pool_kind(pool, ErrorKind::Connect),
        _ => ErrorKind::Connect,
    };
    DriverError::new(kind, error)
}

/// An error of `Session::prepare`.
pub(crate) fn prepare(error: PrepareError) -> DriverError {
    DriverError::new(prepare_kind(&error), error)
}

/// An error of `Session::query_unpaged`, `execute_unpaged` and `execute_single_page`.
#[cold]
pub(crate) fn execution(error: ExecutionError) -> DriverError {
    let kind = match &error {
        ExecutionError::BadQuery(_) => ErrorKind::Codec,
        ExecutionError::EmptyPlan => ErrorKind::ConnectionLost,
        ExecutionError::PrepareError(error) => prepare_kind(error),
        ExecutionError::ConnectionPoolError(error) => pool_kind(error, ErrorKind::ConnectionLost),
        ExecutionError::LastAttemptError(error) => attempt_kind(error),
        ExecutionError::RequestTimeout(_) => ErrorKind::RequestTimeout,
        _ => ErrorKind::Other,
    };
    DriverError::new(kind, error)
}

/// An error of `Session::execute_iter`.
#[cold]
pub(crate) fn pager(error: PagerExecutionError) -> DriverError {
    let kind = match &error {
        PagerExecutionError::PrepareError(error) => prepare_kind(error),
        PagerExecutionError::SerializationError(_) => ErrorKind::Codec,
        PagerExecutionError::NextPageError(error) => page_kind(error),
        _ => ErrorKind::Other,
    };
    DriverError::new(kind, error)
}

/// An error of the stream of rows.
#[cold]
pub(crate) fn next_row(error: NextRowError) -> DriverError {
    let kind = match &error {
        NextRowError::NextPageError(error) => page_kind(error),
        NextRowError::RowDeserializationError(_) => ErrorKind::Codec,
        _ => ErrorKind::Other,
    };
    DriverError::new(kind, error)
}

fn page_kind(error: &NextPageError) -> ErrorKind {
    match error {
        NextPageError::RequestFailure(RequestError::EmptyPlan) => ErrorKind::ConnectionLost,
        NextPageError::RequestFailure(RequestError::ConnectionPoolError(error)) => {
            pool_kind(error, ErrorKind::ConnectionLost)
        }
        NextPageError::RequestFailure(RequestError::RequestTimeout(_)) => ErrorKind::RequestTimeout,
        NextPageError::RequestFailure(RequestError::LastAttemptError(error)) => attempt_kind(error),
        NextPageError::PartitionKeyError(_) | NextPageError::ResultMetadataParseError(_) => ErrorKind::Codec,
        _ => ErrorKind::Other,
    }
}

fn prepare_kind(error: &PrepareError) -> ErrorKind {
    match error {
        PrepareError::ConnectionPoolError(error) => pool_kind(error, ErrorKind::ConnectionLost),
        PrepareError::AllAttemptsFailed { first_attempt } => attempt_kind(first_attempt),
        _ => ErrorKind::Other,
    }
}

fn pool_kind(error: &ConnectionPoolError, otherwise: ErrorKind) -> ErrorKind {
    let ConnectionPoolError::Broken { last_connection_error: ConnectionError::ConnectionSetupRequestError(setup) } =
        error
    else {
        return otherwise;
    };
    match &setup.error {
        ConnectionSetupRequestErrorKind::DbError(error, _) => server_kind(error),
        ConnectionSetupRequestErrorKind::MissingAuthentication => ErrorKind::BadCredentials,
        _ => otherwise,
    }
}

fn attempt_kind(error: &RequestAttemptError) -> ErrorKind {
    match error {
        RequestAttemptError::DbError(error, _) => server_kind(error),
        RequestAttemptError::BrokenConnectionError(_) => ErrorKind::ConnectionLost,
        RequestAttemptError::UnableToAllocStreamId => ErrorKind::QueueFull,
        RequestAttemptError::SerializationError(_)
        | RequestAttemptError::CqlRequestSerialization(_)
        | RequestAttemptError::BodyExtensionsParseError(_)
        | RequestAttemptError::CqlResultParseError(_)
        | RequestAttemptError::CqlErrorParseError(_) => ErrorKind::Codec,
        _ => ErrorKind::Other,
    }
}
