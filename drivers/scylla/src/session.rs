//! Preparing, and everything that is not the hot path.

use std::pin::Pin;
use std::sync::OnceLock;

#[cfg(before = "0.8")]
use cqldyno_driver_api::Settings;
use cqldyno_driver_api::{BatchRows, ConnectOptions, DriverError, Rows, Session, Value};

use crate::names::{self, Batch, BatchType, PreparedStatement};
use crate::{bound, errors, pages};

/// A request other than the hot path's, compiled apart from it.
///
/// The driver's requests share small async functions, which the compiler inlines only if they have one caller. Compiled together
/// with other requests, EXECUTE would cost 2 to 3 % more instructions than in a user's program. A trait object from a function
/// without type parameters is compiled with this crate, EXECUTE with the worker. This costs one allocation per request.
pub(crate) type Aside<'a, T> = Pin<Box<dyn Future<Output = Result<T, DriverError>> + Send + 'a>>;

/// A connected session of the crate `scylla`.
pub struct ScyllaSession {
    pub(crate) session: names::Session,
    /// Rows per page, or `None` for the driver's own default.
    pub(crate) page_size: Option<i32>,
    /// Whether rows come from the driver's pager.
    pub(crate) has_pager: bool,
    /// Of each statement: the session has no setting for it.
    #[cfg(before = "0.3")]
    pub(crate) consistency: Option<scylla::statement::Consistency>,
    /// Whether statements go without a serial consistency, for which the session has no setting.
    #[cfg(all(since = "0.3", before = "0.8"))]
    pub(crate) has_no_serial: bool,
    /// Whether the result's metadata comes with PREPARE only.
    #[cfg(since = "0.13")]
    cached_metadata: bool,
}

/// Batches are kept below so many rows. All of these sizes have some two thousand statements together, and larger ones are cheap to build
/// beside their rows.
const KEPT_BATCHES: usize = 65;

/// A prepared statement.
pub struct ScyllaStatement {
    pub(crate) prepared: PreparedStatement,
    /// Whether its answers have rows.
    pub(crate) has_rows: bool,
    /// The batches made of it, by their number of rows and whether they are logged. A batch holds no values, so that each is made once
    /// and reused.
    batches: OnceLock<Box<[OnceLock<Batch>]>>,
}

/// Sets what the session of some releases cannot.
macro_rules! set_consistency {
    ($session:expr, $statement:expr) => {
        #[cfg(before = "0.3")]
        if let Some(consistency) = $session.consistency {
            $statement.set_consistency(consistency);
        }
        #[cfg(all(since = "0.3", before = "0.8"))]
        if $session.has_no_serial {
            $statement.set_serial_consistency(None);
        }
    };
}
#[cfg(before = "0.14")]
pub(crate) use set_consistency;

impl ScyllaSession {
    pub(crate) fn new(session: names::Session, options: &ConnectOptions, page_size: Option<i32>) -> ScyllaSession {
        ScyllaSession {
            session,
            page_size,
            has_pager: options.option("api") == Some("pager"),
            #[cfg(before = "0.3")]
            consistency: (options.settings == Settings::Equal).then(|| crate::consistency::level(options.consistency)),
            #[cfg(all(since = "0.3", before = "0.8"))]
            has_no_serial: options.settings == Settings::Equal,
            #[cfg(since = "0.13")]
            cached_metadata: options.option("metadata") == Some("cached"),
        }
    }

    fn query_aside<'a>(&'a self, cql: &'a str) -> Aside<'a, ()> {
        #[cfg(before = "0.14")]
        let answer = self.session.query(cql, ());
        #[cfg(since = "0.14")]
        let answer = self.session.query_unpaged(cql, ());
        Box::pin(async move { answer.await.map(drop).map_err(errors::execution) })
    }

    fn batch_aside<'a>(&'a self, batch: &'a Batch, rows: BatchRows<'a>) -> Aside<'a, ()> {
        Box::pin(async move { self.session.batch(batch, bound::rows(rows)).await.map(drop).map_err(errors::execution) })
    }

    fn new_batch(&self, prepared: &PreparedStatement, (rows, is_logged): (usize, bool)) -> Batch {
        let mut batch = Batch::new(if is_logged { BatchType::Logged } else { BatchType::Unlogged });
        for _ in 0..rows {
            batch.append_statement(prepared.clone());
        }
        set_consistency!(self, batch);
        batch
    }
}

#[cfg(since = "0.14")]
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
        if let Some(page_size) = pages::size(self, cql) {
            prepared.set_page_size(page_size);
        }
        set_consistency!(self, prepared);
        #[cfg(since = "0.13")]
        if self.cached_metadata {
            prepared.set_use_cached_result_metadata(true);
        }
        Ok(ScyllaStatement {
            #[cfg(since = "0.14")]
            has_rows: has_rows(&prepared),
            #[cfg(before = "0.14")]
            has_rows: pages::is_select(cql),
            prepared,
            batches: OnceLock::new(),
        })
    }

    #[inline]
    fn execute(
        &self,
        statement: &ScyllaStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<(), DriverError>> + Send {
        pages::execute(self, statement, values, rows)
    }

    async fn batch(&self, statement: &ScyllaStatement, rows: BatchRows<'_>) -> Result<(), DriverError> {
        let (count, is_logged) = (rows.len(), rows.is_logged);
        let new = || self.new_batch(&statement.prepared, (count, is_logged));
        let batches = statement.batches.get_or_init(|| (0..2 * KEPT_BATCHES).map(|_| OnceLock::new()).collect());
        match batches.get(2 * count + usize::from(is_logged)) {
            Some(known) => self.batch_aside(known.get_or_init(new), rows).await,
            None => self.batch_aside(&new(), rows).await,
        }
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        pages::query(self, cql, values, rows).await
    }
}
