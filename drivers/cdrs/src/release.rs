//! What `cdrs` 4 names and does otherwise than its successor.

use cdrs::frame::frame_response::ResponseBody;
use cqldyno_driver_api::ErrorKind;

pub(crate) use cdrs::Error;
pub(crate) use cdrs::consistency::Consistency;
pub(crate) use cdrs::frame::frame_result::{BodyResResultRows, ColSpec, ColType, ResResultBody};
pub(crate) use cdrs::frame::{Frame as Answer, Opcode};
pub(crate) use cdrs::query::QueryValues;
pub(crate) use cdrs::types::blob::Blob;
pub(crate) use cdrs::types::rows::Row;
pub(crate) use cdrs::types::value::Value as DriverValue;
pub(crate) use cdrs::types::{ByIndex, CBytes, IntoRustByIndex};

/// The kind of an error while connecting.
pub(crate) fn kind_at_connect(error: &Error) -> ErrorKind {
    match error {
        Error::Server(body) => ErrorKind::from_code(body.error_code),
        _ => ErrorKind::Connect,
    }
}

/// The kind of an error of a statement or a preparation. The driver's general error means a connection that is gone or missing.
pub(crate) fn kind_at_execution(error: &Error) -> ErrorKind {
    match error {
        Error::Server(body) => ErrorKind::from_code(body.error_code),
        Error::Io(_) | Error::General(_) => ErrorKind::ConnectionLost,
        _ => ErrorKind::Codec,
    }
}

/// The value null.
#[inline(always)]
pub(crate) fn null() -> DriverValue {
    DriverValue::new_null()
}

/// The page of rows in an answer, or `None` if it is something else.
#[inline]
pub(crate) fn page(answer: &Answer) -> Result<Option<BodyResResultRows>, Error> {
    Ok(match answer.get_body()? {
        ResponseBody::Result(ResResultBody::Rows(page)) => Some(page),
        _ => None,
    })
}

/// The rows of a page.
#[inline]
pub(crate) fn rows(page: BodyResResultRows) -> Vec<Row> {
    Row::from_frame_body(page)
}
