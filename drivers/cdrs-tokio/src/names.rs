//! The driver's names, and what goes by another name or has other fields in some releases.

use driver::Error;
use driver::types::rows::Row;
#[cfg(since = "6.0")]
use driver::{
    consistency::Consistency,
    query::{PreparedQuery, QueryParams, QueryValues},
    statement::StatementParams,
    types::CBytes,
};

#[cfg(since = "7.0")]
pub(crate) use driver::frame::{Envelope as Answer, message_result::*};
#[cfg(before = "7.0")]
pub(crate) use driver::frame::{Frame as Answer, frame_result::*};

#[cfg(before = "7.0")]
use driver::frame::frame_response::ResponseBody;
#[cfg(since = "7.0")]
use driver::frame::message_response::ResponseBody;

#[cfg(before = "7.0")]
pub(crate) use driver::frame::frame_batch::BatchType;
#[cfg(since = "7.0")]
pub(crate) use driver::frame::message_batch::BatchType;

pub(crate) use driver::types::value::Value as DriverValue;

/// As `Session::prepare` does; protocol v4 has no id of the result's metadata.
#[cfg(since = "6.0")]
pub(crate) fn prepared(cql: &str, answer: BodyResResultPrepared) -> PreparedQuery {
    PreparedQuery {
        id: answer.id,
        query: cql.to_owned(),
        keyspace: answer.metadata.global_table_spec.map(|table| table.ks_name),
        pk_indexes: answer.metadata.pk_indexes,
        #[cfg(since = "7.0")]
        result_metadata_id: Default::default(),
    }
}

/// The parameters of a statement: every field by name, so that it is written in place. A default or a builder costs 100
/// instructions more per statement.
#[cfg(since = "6.0")]
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
            #[cfg(since = "7.0")]
            keyspace: None,
            #[cfg(since = "7.0")]
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
        #[cfg(since = "7.0")]
        beta_protocol: false,
    }
}

/// The value null.
#[inline(always)]
pub(crate) fn null() -> DriverValue {
    #[cfg(before = "6.0")]
    return DriverValue::new_null();
    #[cfg(since = "6.0")]
    DriverValue::Null
}

/// The page of rows in an answer, or `None` if it is something else.
#[inline]
#[cfg_attr(
    since = "7.0",
    expect(clippy::result_large_err, reason = "the driver's own error; it is mapped where it is met")
)]
pub(crate) fn page(answer: &Answer) -> Result<Option<BodyResResultRows>, Error> {
    #[cfg(before = "6.0")]
    let body = ResponseBody::from(&answer.body, &answer.opcode)?;
    #[cfg(since = "6.0")]
    let body = answer.response_body()?;
    Ok(match body {
        ResponseBody::Result(ResResultBody::Rows(page)) => Some(page),
        _ => None,
    })
}

/// The rows of a page.
#[inline]
pub(crate) fn rows(page: BodyResResultRows) -> Vec<Row> {
    #[cfg(before = "7.0")]
    return Row::from_frame_body(page);
    #[cfg(since = "7.0")]
    Row::from_body(page)
}
