//! What `cdrs-tokio` has under the same names since 7.0.0.

use std::fmt::Display;

use cdrs_tokio::Error;
use cdrs_tokio::consistency::Consistency;
use cdrs_tokio::frame::message_response::ResponseBody;
use cdrs_tokio::query::{PreparedQuery, QueryParams, QueryValues};
use cdrs_tokio::statement::StatementParams;
use cdrs_tokio::types::CBytes;
use cdrs_tokio::types::rows::Row;
use cqldyno_driver_api::{DriverError, ErrorKind};

pub(crate) use cdrs_tokio::frame::Envelope as Answer;
pub(crate) use cdrs_tokio::frame::message_batch::BatchType;
pub(crate) use cdrs_tokio::frame::message_result::{
    BodyResResultPrepared, BodyResResultRows, ColSpec, ColType, ColTypeOption, ResResultBody,
};
pub(crate) use cdrs_tokio::types::value::Value as DriverValue;

/// A caveat of all these releases.
pub(crate) const DECODES_TWICE: &str =
    "It decodes every answer twice: once to look for a new metadata id, and once for the caller.";

/// An error of `SessionBuilder::build`.
pub(crate) fn no_session(error: impl Display) -> DriverError {
    DriverError::new(ErrorKind::Connect, error)
}

/// As `Session::prepare` does; protocol v4 has no id of the result's metadata.
pub(crate) fn prepared(cql: &str, answer: BodyResResultPrepared) -> PreparedQuery {
    PreparedQuery {
        id: answer.id,
        query: cql.to_owned(),
        keyspace: answer.metadata.global_table_spec.map(|table| table.ks_name),
        pk_indexes: answer.metadata.pk_indexes,
        result_metadata_id: Default::default(),
    }
}

/// The parameters of a statement: every field by name, so that it is written in place. A default or a builder costs 100
/// instructions more per statement.
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
            keyspace: None,
            now_in_seconds: None,
        },
        is_idempotent: false,
        keyspace: None,
        token: None,
        routing_key: None,
        tracing: false,
        warnings: false,
        speculative_execution_policy: None,
        retry_policy: None,
        beta_protocol: false,
    }
}

/// The value null.
#[inline(always)]
pub(crate) fn null() -> DriverValue {
    DriverValue::Null
}

/// The page of rows in an answer, or `None` if it is something else.
#[inline]
#[expect(clippy::result_large_err, reason = "the driver's own error; it is mapped where it is met")]
pub(crate) fn page(answer: &Answer) -> Result<Option<BodyResResultRows>, Error> {
    Ok(match answer.response_body()? {
        ResponseBody::Result(ResResultBody::Rows(page)) => Some(page),
        _ => None,
    })
}

/// The rows of a page.
#[inline]
pub(crate) fn rows(page: BodyResResultRows) -> Vec<Row> {
    Row::from_body(page)
}
