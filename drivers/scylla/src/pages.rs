//! The hot path: statements with their values, and pages of rows.

use cqldyno_driver_api::{DriverError, Rows, Value};

use crate::bound::Bound;
use crate::errors;
use crate::names::{PagingState, PagingStateResponse, QueryResult, Statement};
use crate::pager;
use crate::rows::decode;
use crate::session::{Aside, ScyllaSession, ScyllaStatement};

/// Rows per page of a statement of this text.
pub(crate) fn size(session: &ScyllaSession, _: &str) -> Option<i32> {
    session.page_size
}

#[inline]
#[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments twice: once as given, once as used")]
pub(crate) fn execute(
    session: &ScyllaSession,
    statement: &ScyllaStatement,
    values: &[Value<'_>],
    rows: &mut Rows,
) -> impl Future<Output = Result<(), DriverError>> + Send {
    async move {
        if session.has_pager && statement.has_rows {
            return pager::execute(session, statement, values, rows).await;
        }
        if !statement.has_rows {
            return match session.session.execute_unpaged(&statement.prepared, Bound(values)).await {
                // A lightweight transaction's PREPARED announces no columns, and its answer has a row.
                Ok(result) => decode(result, rows),
                Err(error) => Err(errors::execution(error)),
            };
        }
        let first = PagingState::start();
        // A page with a name here would be moved into the future.
        let next = match session.session.execute_single_page(&statement.prepared, Bound(values), first).await {
            Ok((page, next)) => {
                decode(page, rows)?;
                next
            }
            Err(error) => return Err(errors::execution(error)),
        };
        match next {
            PagingStateResponse::NoMorePages => Ok(()),
            // Boxed, so that a statement with one page does not carry it along.
            PagingStateResponse::HasMorePages { state } => next_pages(session, statement, values, state, rows).await,
        }
    }
}

/// Fetches the pages from `page` on.
fn next_pages<'a>(
    session: &'a ScyllaSession,
    statement: &'a ScyllaStatement,
    values: &'a [Value<'_>],
    mut page: PagingState,
    rows: &'a mut Rows,
) -> Aside<'a, ()> {
    Box::pin(async move {
        loop {
            let result = session.session.execute_single_page(&statement.prepared, Bound(values), page).await;
            let (result, next) = result.map_err(errors::execution)?;
            decode(result, rows)?;
            page = match next {
                PagingStateResponse::HasMorePages { state } => state,
                PagingStateResponse::NoMorePages => return Ok(()),
            };
        }
    })
}

/// Executes unprepared text.
pub(crate) async fn query(
    session: &ScyllaSession,
    cql: &str,
    values: &[Value<'_>],
    rows: &mut Rows,
) -> Result<(), DriverError> {
    let statement = || match session.page_size {
        Some(page_size) => Statement::new(cql).with_page_size(page_size),
        None => Statement::new(cql),
    };
    let mut page = PagingState::start();
    loop {
        let (result, next) = query_page_aside(session, statement(), values, page).await?;
        decode(result, rows)?;
        page = match next {
            PagingStateResponse::HasMorePages { state } => state,
            PagingStateResponse::NoMorePages => return Ok(()),
        };
    }
}

fn query_page_aside<'a>(
    session: &'a ScyllaSession,
    statement: Statement,
    values: &'a [Value<'_>],
    page: PagingState,
) -> Aside<'a, (QueryResult, PagingStateResponse)> {
    Box::pin(async move {
        session.session.query_single_page(statement, Bound(values), page).await.map_err(errors::execution)
    })
}
