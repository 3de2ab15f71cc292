//! The hot path: statements with their values, and pages of rows.

use cqldyno_driver_api::{DriverError, Rows, Value};

use crate::bound::Bound;
use crate::errors;
use crate::names::Statement;
use crate::pager;
use crate::rows::decode;
use crate::session::{Aside, ScyllaSession, ScyllaStatement, set_consistency};

/// Rows per page of a statement of this text: these releases announce no columns when they prepare.
pub(crate) fn size(session: &ScyllaSession, cql: &str) -> Option<i32> {
    session.page_size.filter(|_| is_select(cql))
}

/// Whether answers to the text have rows.
pub(crate) fn is_select(cql: &str) -> bool {
    cql.trim_start().get(..6).is_some_and(|verb| verb.eq_ignore_ascii_case("select"))
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
        let mut next = None;
        loop {
            match session.session.execute_paged(&statement.prepared, Bound(values), next).await {
                Ok(mut page) => {
                    next = page.paging_state.take();
                    decode(page, rows)?;
                }
                Err(error) => return Err(errors::execution(error)),
            }
            if next.is_none() {
                return Ok(());
            }
        }
    }
}

/// Executes unprepared text.
pub(crate) fn query<'a>(
    session: &'a ScyllaSession,
    cql: &'a str,
    values: &'a [Value<'_>],
    rows: &'a mut Rows,
) -> Aside<'a, ()> {
    Box::pin(async move {
        let mut statement = Statement::from(cql);
        if let Some(page_size) = size(session, cql) {
            statement.set_page_size(page_size);
        }
        set_consistency!(session, statement);
        let mut next = None;
        loop {
            let page = session.session.query_paged(statement.clone(), Bound(values), next).await;
            let mut page = page.map_err(errors::execution)?;
            next = page.paging_state.take();
            decode(page, rows)?;
            if next.is_none() {
                return Ok(());
            }
        }
    })
}
