//! The types that adapters for releases before 8.1.0, and for `cdrs`, leave out: all but the commonest.

use cqldyno_driver_api::{DriverError, LATER_TYPES, Rows, Value};
use driver::types::rows::Row;

use crate::names::{BodyResResultRows, ColTypeOption, DriverValue, null};
use crate::values::Kind;

/// The types that these releases lack.
pub(crate) const LACKS: &[&str] = &LATER_TYPES;

/// There is none of them.
#[derive(Clone, Debug)]
pub(crate) enum Type {}

impl Type {
    pub(crate) fn of(_: &ColTypeOption) -> Option<Type> {
        None
    }
}

/// Not reached: a scenario with such a value is not asked of this driver.
pub(crate) fn bind(_: Value<'_>) -> DriverValue {
    null()
}

/// There are no cells of such types.
pub(crate) struct Apart;

pub(crate) fn apart(_: &mut BodyResResultRows, _: &[Kind]) -> Apart {
    Apart
}

pub(crate) fn decode(kind: &Type, _: &Row, _: usize, _: &mut Apart, _: &mut Rows) -> Result<(), DriverError> {
    match *kind {}
}
