//! `api=pager`: a stream of rows, behind which the driver fetches the pages.

use cqldyno_driver_api::{Rows, Value};
use futures_util::StreamExt;

use crate::bound::Bound;
use crate::errors;
use crate::rows;
use crate::session::{Aside, ScyllaSession, ScyllaStatement};

/// Executes through `Session::execute_iter`. How many pages came, the driver does not tell.
pub(crate) fn execute<'a>(
    session: &'a ScyllaSession,
    statement: &'a ScyllaStatement,
    values: &'a [Value<'_>],
    into: &'a mut Rows,
) -> Aside<'a, ()> {
    Box::pin(async move {
        let pager = session.session.execute_iter(statement.prepared.clone(), Bound(values)).await;
        let mut stream = rows::stream(pager.map_err(errors::pager)?)?;
        while let Some(row) = stream.next().await {
            rows::take(row.map_err(errors::next_row)?, into)?;
        }
        Ok(())
    })
}
