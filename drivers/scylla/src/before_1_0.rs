//! The types that adapters for releases before 1.0 leave out: all but the commonest.

use cqldyno_driver_api::Value;
use scylla::frame::response::result::ColumnType;
use scylla::serialize::SerializationError;
use scylla::serialize::writers::{CellWriter, WrittenCellProof};

#[derive(Debug, thiserror::Error)]
#[error("this adapter does not bind a value of type {0}")]
struct Lacking(&'static str);

/// Refuses a value that is not of the commonest types.
#[cold]
pub(crate) fn serialize<'b>(
    value: &Value<'_>,
    _: &ColumnType,
    _: CellWriter<'b>,
) -> Result<WrittenCellProof<'b>, SerializationError> {
    Err(SerializationError::new(Lacking(value.type_name())))
}
