//! The hot path of releases before 0.14.

use std::pin::Pin;
use std::sync::OnceLock;

use cqldyno_driver_api::{BatchRows, ConnectOptions, DriverError, Rows, Session, Settings, Value};
use scylla::batch::{Batch, BatchType};
use scylla::prepared_statement::PreparedStatement;
use scylla::query::Query;

use crate::bound::{self, Bound};
use crate::errors;
use crate::rows::decode;

/// A request other than the hot path's, compiled apart from it: see the newest adapter's session.
type Aside<'a, T> = Pin<Box<dyn Future<Output = Result<T, DriverError>> + Send + 'a>>;

/// A connected session of the crate `scylla`.
pub struct ScyllaSession {
    session: scylla::Session,
    /// Of each statement: the session has no setting for it.
    #[cfg(before = "0.3")]
    consistency: Option<scylla::statement::Consistency>,
    /// Whether statements go without a serial consistency, which is sent by default.
    #[cfg(since = "0.3")]
    has_no_serial: bool,
    /// Whether the result's metadata comes with PREPARE only.
    #[cfg(since = "0.13")]
    cached_metadata: bool,
    /// Rows per page of a SELECT, or `None` for the driver's own default.
    page_size: Option<i32>,
}

/// A prepared statement.
pub struct ScyllaStatement {
    prepared: PreparedStatement,
    /// The first batch made of it, with its number of rows. A batch holds no values, so that it is made once and reused.
    batch: OnceLock<(usize, Batch)>,
}

/// Sets what the session of some releases cannot: the consistency before 0.3, and from then on that none is serial.
macro_rules! set_consistency {
    ($session:expr, $statement:expr) => {
        #[cfg(before = "0.3")]
        if let Some(consistency) = $session.consistency {
            $statement.set_consistency(consistency);
        }
        #[cfg(since = "0.3")]
        if $session.has_no_serial {
            $statement.set_serial_consistency(None);
        }
    };
}

impl ScyllaStatement {
    fn new_batch(&self, rows: usize, session: &ScyllaSession) -> Batch {
        let mut batch = Batch::new(BatchType::Unlogged);
        for _ in 0..rows {
            batch.append_statement(self.prepared.clone());
        }
        set_consistency!(session, batch);
        batch
    }
}

impl ScyllaSession {
    pub(crate) fn new(session: scylla::Session, options: &ConnectOptions, page_size: Option<i32>) -> ScyllaSession {
        let is_equal = options.settings == Settings::Equal;
        ScyllaSession {
            session,
            #[cfg(before = "0.3")]
            consistency: is_equal.then(|| crate::consistency::level(options.consistency)),
            #[cfg(since = "0.3")]
            has_no_serial: is_equal,
            #[cfg(since = "0.13")]
            cached_metadata: options.option("metadata") == Some("cached"),
            page_size,
        }
    }

    /// The page size for a statement of this text: these releases announce no columns when they prepare.
    fn page_size(&self, cql: &str) -> Option<i32> {
        let is_select = cql.trim_start().get(..6).is_some_and(|verb| verb.eq_ignore_ascii_case("select"));
        self.page_size.filter(|_| is_select)
    }

    fn query_aside<'a>(&'a self, cql: &'a str) -> Aside<'a, ()> {
        Box::pin(async move { self.session.query(cql, ()).await.map(drop).map_err(errors::execution) })
    }

    fn batch_aside<'a>(&'a self, statements: &'a Batch, rows: BatchRows<'a>) -> Aside<'a, ()> {
        Box::pin(
            async move { self.session.batch(statements, bound::rows(rows)).await.map(drop).map_err(errors::execution) },
        )
    }

    fn query_pages_aside<'a>(&'a self, cql: &'a str, values: &'a [Value<'_>], rows: &'a mut Rows) -> Aside<'a, ()> {
        Box::pin(async move {
            let mut query = Query::from(cql);
            if let Some(page_size) = self.page_size(cql) {
                query.set_page_size(page_size);
            }
            set_consistency!(self, query);
            let mut next = None;
            loop {
                let page = self.session.query_paged(query.clone(), Bound(values), next).await;
                let mut page = page.map_err(errors::execution)?;
                next = page.paging_state.take();
                decode(page, rows)?;
                if next.is_none() {
                    return Ok(());
                }
            }
        })
    }
}

impl Session for ScyllaSession {
    type Statement = ScyllaStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        self.query_aside(cql).await
    }

    async fn prepare(&self, cql: &str) -> Result<ScyllaStatement, DriverError> {
        let mut prepared = self.session.prepare(cql).await.map_err(errors::prepare)?;
        if let Some(page_size) = self.page_size(cql) {
            prepared.set_page_size(page_size);
        }
        set_consistency!(self, prepared);
        #[cfg(since = "0.13")]
        if self.cached_metadata {
            prepared.set_use_cached_result_metadata(true);
        }
        Ok(ScyllaStatement { prepared, batch: OnceLock::new() })
    }

    #[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments twice: once as given, once as used")]
    fn execute(
        &self,
        statement: &ScyllaStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<(), DriverError>> + Send {
        async move {
            let mut next = None;
            loop {
                match self.session.execute_paged(&statement.prepared, Bound(values), next).await {
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

    async fn batch(&self, statement: &ScyllaStatement, rows: BatchRows<'_>) -> Result<(), DriverError> {
        let new = || statement.new_batch(rows.len(), self);
        let (size, known) = statement.batch.get_or_init(|| (rows.len(), new()));
        match *size == rows.len() {
            true => self.batch_aside(known, rows).await,
            false => self.batch_aside(&new(), rows).await,
        }
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        self.query_pages_aside(cql, values, rows).await
    }
}
