//! The hot path.

use std::pin::Pin;
use std::sync::OnceLock;

use cqldyno_driver_api::{BatchRows, ConnectOptions, DriverError, Rows, Session, Value};

use crate::bound::{self, Bound};
use crate::errors;
use crate::names::{
    self, Batch, BatchType, PagingState, PagingStateResponse, PreparedStatement, QueryResult, Statement,
};
use crate::rows::decode;

/// A request other than the hot path's, compiled apart from it.
///
/// The driver's requests share small async functions, which the compiler inlines only if they have one caller. Compiled together
/// with other requests, EXECUTE would cost 2 to 3 % more instructions than in a user's program. A trait object from a function
/// without type parameters is compiled with this crate, EXECUTE with the worker. This costs one allocation per request.
type Aside<'a, T> = Pin<Box<dyn Future<Output = Result<T, DriverError>> + Send + 'a>>;

/// A connected session of the crate `scylla`.
pub struct ScyllaSession {
    session: names::Session,
    /// Rows per page, or `None` for the driver's own default.
    page_size: Option<i32>,
    /// Whether the result's metadata comes with PREPARE only.
    cached_metadata: bool,
}

/// A prepared statement, and whether its answers have rows.
pub struct ScyllaStatement {
    prepared: PreparedStatement,
    has_rows: bool,
    /// The first batch made of it, with its number of rows. A batch holds no values, so that it is made once and reused.
    batch: OnceLock<(usize, Batch)>,
}

impl ScyllaStatement {
    fn new_batch(&self, rows: usize) -> Batch {
        let statements = std::iter::repeat_n(&self.prepared, rows).map(|prepared| prepared.clone().into());
        Batch::new_with_statements(BatchType::Unlogged, statements.collect())
    }
}

impl ScyllaSession {
    pub(crate) fn new(session: names::Session, options: &ConnectOptions, page_size: Option<i32>) -> ScyllaSession {
        ScyllaSession { session, page_size, cached_metadata: options.option("metadata") == Some("cached") }
    }

    /// Fetches the pages from `page` on.
    fn next_pages<'a>(
        &'a self,
        statement: &'a ScyllaStatement,
        values: &'a [Value<'_>],
        mut page: PagingState,
        rows: &'a mut Rows,
    ) -> Aside<'a, ()> {
        Box::pin(async move {
            loop {
                let result = self.session.execute_single_page(&statement.prepared, Bound(values), page).await;
                let (result, next) = result.map_err(errors::execution)?;
                decode(result, rows)?;
                page = match next {
                    PagingStateResponse::HasMorePages { state } => state,
                    PagingStateResponse::NoMorePages => return Ok(()),
                };
            }
        })
    }

    fn query_aside<'a>(&'a self, cql: &'a str) -> Aside<'a, ()> {
        Box::pin(async move { self.session.query_unpaged(cql, ()).await.map(drop).map_err(errors::execution) })
    }

    fn batch_aside<'a>(&'a self, batch: &'a Batch, rows: BatchRows<'a>) -> Aside<'a, ()> {
        Box::pin(async move { self.session.batch(batch, bound::rows(rows)).await.map(drop).map_err(errors::execution) })
    }

    fn query_page_aside<'a>(
        &'a self,
        statement: Statement,
        values: &'a [Value<'_>],
        page: PagingState,
    ) -> Aside<'a, (QueryResult, PagingStateResponse)> {
        Box::pin(async move {
            self.session.query_single_page(statement, Bound(values), page).await.map_err(errors::execution)
        })
    }
}

/// Whether answers to the statement have rows, as the server announced when it was prepared.
#[allow(deprecated, clippy::len_zero, reason = "not every release has the methods that would replace these")]
fn has_rows(prepared: &PreparedStatement) -> bool {
    prepared.get_result_set_col_specs().len() > 0
}

impl Session for ScyllaSession {
    type Statement = ScyllaStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        self.query_aside(cql).await
    }

    async fn prepare(&self, cql: &str) -> Result<ScyllaStatement, DriverError> {
        let mut prepared = self.session.prepare(cql).await.map_err(errors::prepare)?;
        if let Some(page_size) = self.page_size {
            prepared.set_page_size(page_size);
        }
        if self.cached_metadata {
            prepared.set_use_cached_result_metadata(true);
        }
        let has_rows = has_rows(&prepared);
        Ok(ScyllaStatement { prepared, has_rows, batch: OnceLock::new() })
    }

    #[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments twice: once as given, once as used")]
    fn execute(
        &self,
        statement: &ScyllaStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<(), DriverError>> + Send {
        async move {
            if !statement.has_rows {
                return match self.session.execute_unpaged(&statement.prepared, Bound(values)).await {
                    // A lightweight transaction's PREPARED announces no columns, and its answer has a row.
                    Ok(result) => decode(result, rows),
                    Err(error) => Err(errors::execution(error)),
                };
            }
            let first = PagingState::start();
            // A page with a name here would be moved into the future.
            let next = match self.session.execute_single_page(&statement.prepared, Bound(values), first).await {
                Ok((page, next)) => {
                    decode(page, rows)?;
                    next
                }
                Err(error) => return Err(errors::execution(error)),
            };
            match next {
                PagingStateResponse::NoMorePages => Ok(()),
                // Boxed, so that a statement with one page does not carry it along.
                PagingStateResponse::HasMorePages { state } => self.next_pages(statement, values, state, rows).await,
            }
        }
    }

    async fn batch(&self, statement: &ScyllaStatement, rows: BatchRows<'_>) -> Result<(), DriverError> {
        let (size, known) = statement.batch.get_or_init(|| (rows.len(), statement.new_batch(rows.len())));
        let other;
        let batch = match *size == rows.len() {
            true => known,
            false => {
                other = statement.new_batch(rows.len());
                &other
            }
        };
        self.batch_aside(batch, rows).await
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        let statement = || match self.page_size {
            Some(page_size) => Statement::new(cql).with_page_size(page_size),
            None => Statement::new(cql),
        };
        let mut page = PagingState::start();
        loop {
            let (result, next) = self.query_page_aside(statement(), values, page).await?;
            decode(result, rows)?;
            page = match next {
                PagingStateResponse::HasMorePages { state } => state,
                PagingStateResponse::NoMorePages => return Ok(()),
            };
        }
    }
}
