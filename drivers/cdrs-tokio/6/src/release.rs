//! What `cdrs-tokio` 6 names and does otherwise than other releases.

use std::sync::Arc;

use cdrs_tokio::Error;
use cdrs_tokio::cluster::session::{SessionBuilder, TcpSessionBuilder};
use cdrs_tokio::cluster::{KeyspaceHolder, TcpConnectionManager};
use cdrs_tokio::consistency::Consistency;
use cdrs_tokio::frame::Version;
use cdrs_tokio::frame::frame_response::ResponseBody;
use cdrs_tokio::query::{PreparedQuery, QueryParams, QueryValues};
use cdrs_tokio::retry::NeverReconnectionPolicy;
use cdrs_tokio::statement::StatementParams;
use cdrs_tokio::types::CBytes;
use cdrs_tokio::types::rows::Row;
use cqldyno_driver_api::{Capability, DriverError, ErrorKind, Tls};

pub(crate) use cdrs_tokio::frame::Frame as Answer;
pub(crate) use cdrs_tokio::frame::frame_batch::BatchType;
pub(crate) use cdrs_tokio::frame::frame_result::{
    BodyResResultPrepared, BodyResResultRows, ColSpec, ColType, ColTypeOption, ResResultBody,
};
pub(crate) use cdrs_tokio::types::value::Value as DriverValue;

use crate::adapter::Authenticator;
pub(crate) use crate::before_8::*;
pub(crate) use crate::before_8_1::*;
use crate::options::Chosen;
use crate::session::{DriverSession, Routing};

/// What these releases cannot do.
pub(crate) const LACKS: &[Capability] = &[
    Capability::RequestTimeout,
    Capability::ControlConnection,
    Capability::Reprepare,
    Capability::Reconnect,
    Capability::Connect,
];

/// What holds for these releases and not for all.
pub(crate) const CAVEATS: &[&str] = &[
    "Every error of the server breaks its connection, and all statements in flight there fail with that error.",
    "If only its control connection breaks, it gives up every node that reports its broadcast port (Cassandra 4.0 and later).",
];

/// The kind of an error while connecting.
pub(crate) fn kind_at_connect(error: &Error) -> ErrorKind {
    match error {
        Error::Server(body) => ErrorKind::from_code(body.error_code),
        Error::General(message) => code_in(message).map_or(ErrorKind::Connect, ErrorKind::from_code),
        _ => ErrorKind::Connect,
    }
}

/// The kind of an error of a statement or a preparation. The driver's general error means a connection that is gone or missing.
pub(crate) fn kind_at_execution(error: &Error) -> ErrorKind {
    match error {
        Error::Server(body) => ErrorKind::from_code(body.error_code),
        Error::General(message) => code_in(message).map_or(ErrorKind::ConnectionLost, ErrorKind::from_code),
        Error::Io(_) | Error::Timeout(_) => ErrorKind::ConnectionLost,
        _ => ErrorKind::Codec,
    }
}

/// The server's error code, which these releases only leave in the text of the error that breaks the connection.
fn code_in(message: &str) -> Option<i32> {
    let (_, code) = message.split_once("error_code: ")?;
    code.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Makes connections outside of a session, each with one attempt.
pub(crate) fn connections(
    authenticator: Authenticator,
    keyspace: Arc<KeyspaceHolder>,
    chosen: &Chosen,
    _: Option<&Tls>,
) -> Result<Manager, DriverError> {
    Ok(TcpConnectionManager::new(
        authenticator,
        keyspace,
        Arc::new(NeverReconnectionPolicy),
        chosen.compression,
        chosen.buffer,
        chosen.nodelay,
        Version::V4,
    ))
}

/// Builds the session, which goes on connecting by itself.
pub(crate) async fn build(builder: TcpSessionBuilder<Routing>) -> Result<DriverSession, DriverError> {
    Ok(builder.build())
}

/// As `Session::prepare` does.
pub(crate) fn prepared(cql: &str, answer: BodyResResultPrepared) -> PreparedQuery {
    PreparedQuery {
        id: answer.id,
        query: cql.to_owned(),
        keyspace: answer.metadata.global_table_spec.map(|table| table.ks_name),
        pk_indexes: answer.metadata.pk_indexes,
    }
}

/// The parameters of a statement.
#[inline(always)]
pub(crate) fn parameters(
    consistency: Consistency,
    values: Option<QueryValues>,
    page_size: Option<i32>,
    paging_state: Option<CBytes>,
) -> StatementParams {
    StatementParams {
        query_params: QueryParams {
            consistency,
            with_names: false,
            values,
            page_size,
            paging_state,
            serial_consistency: None,
            timestamp: None,
        },
        is_idempotent: false,
        keyspace: None,
        token: None,
        routing_key: None,
        tracing: false,
        warnings: false,
        speculative_execution_policy: None,
        retry_policy: None,
    }
}

/// The value null.
#[inline(always)]
pub(crate) fn null() -> DriverValue {
    DriverValue::Null
}

/// The page of rows in an answer, or `None` if it is something else.
#[inline]
pub(crate) fn page(answer: &Answer) -> Result<Option<BodyResResultRows>, Error> {
    Ok(match answer.response_body()? {
        ResponseBody::Result(ResResultBody::Rows(page)) => Some(page),
        _ => None,
    })
}

/// The rows of a page.
#[inline]
pub(crate) fn rows(page: BodyResResultRows) -> Vec<Row> {
    Row::from_frame_body(page)
}
