//! The hot path of `cdrs-tokio` 5, and of `cdrs`.

use std::sync::OnceLock;

use cqldyno_driver_api::{BatchRows, ConnectOptions, DriverError, Rows, Session, Value};
use driver::consistency::Consistency;
use driver::query::{QueryParams, QueryParamsBuilder, QueryValues};
use driver::types::CBytes;

use crate::before::pool::{Pool, Prepared, failed};
use crate::errors;
use crate::names::{Answer, page};
use crate::values::{self, Kind};

/// A connected session of the crate.
pub struct CdrsTokioSession {
    pool: Pool,
    consistency: Consistency,
    /// Rows per page, or `None` for the driver's own default.
    page_size: Option<i32>,
}

/// A prepared statement.
pub struct CdrsTokioStatement {
    prepared: Prepared,
    /// The types of its columns from its first answer, none if that was not of kind Rows: the driver keeps nothing of PREPARED but
    /// the id.
    columns: OnceLock<Vec<Kind>>,
}

impl CdrsTokioStatement {
    /// Whether answers have rows; assumed until the first one.
    fn may_have_rows(&self) -> bool {
        self.columns.get().is_none_or(|columns| !columns.is_empty())
    }

    fn columns_of(&self, answer: &Answer) -> Result<&[Kind], DriverError> {
        if let Some(columns) = self.columns.get() {
            return Ok(columns);
        }
        let columns = match page(answer).map_err(errors::codec)? {
            Some(page) => page.metadata.col_specs.iter().map(Kind::of).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(self.columns.get_or_init(|| columns))
    }
}

impl CdrsTokioSession {
    pub(crate) fn new(pool: Pool, options: &ConnectOptions) -> CdrsTokioSession {
        let (consistency, page_size) = values::consistency_and_page_size(options);
        CdrsTokioSession { pool, consistency, page_size }
    }

    /// The parameters of a request.
    fn parameters(&self, values: &[Value<'_>], page_size: Option<i32>, paging_state: Option<CBytes>) -> QueryParams {
        let mut parameters = QueryParamsBuilder::new().consistency(self.consistency);
        if let Some(values) = values::bind(values) {
            parameters = parameters.values(values);
        }
        if let Some(page_size) = page_size {
            parameters = parameters.page_size(page_size);
        }
        if let Some(paging_state) = paging_state {
            parameters = parameters.paging_state(paging_state);
        }
        parameters.finalize()
    }
}

impl Session for CdrsTokioSession {
    type Statement = CdrsTokioStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        self.pool.query(cql, self.parameters(&[], None, None)).await.map(drop).map_err(failed)
    }

    async fn prepare(&self, cql: &str) -> Result<CdrsTokioStatement, DriverError> {
        let prepared = self.pool.prepare(cql).await.map_err(failed)?;
        Ok(CdrsTokioStatement { prepared, columns: OnceLock::new() })
    }

    #[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments twice: once as given, once as used")]
    fn execute(
        &self,
        statement: &CdrsTokioStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<(), DriverError>> + Send {
        async move {
            let mut paging_state = None;
            loop {
                let page_size = if statement.may_have_rows() { self.page_size } else { None };
                let parameters = self.parameters(values, page_size, paging_state);
                let answer = self.pool.execute(&statement.prepared, parameters).await.map_err(failed)?;
                let columns = statement.columns_of(&answer)?;
                if !values::is_page(&answer) {
                    return Ok(());
                }
                paging_state = values::decode(&answer, columns, rows)?;
                if paging_state.is_none() {
                    return Ok(());
                }
            }
        }
    }

    async fn batch(&self, statement: &CdrsTokioStatement, rows: BatchRows<'_>) -> Result<(), DriverError> {
        let values = rows.iter().map(|row| values::bind(row).unwrap_or(QueryValues::SimpleValues(Vec::new())));
        let kind = if rows.is_logged { BatchType::Logged } else { BatchType::Unlogged };
        self.pool.batch(&statement.prepared, (kind, self.consistency), values).await.map(drop).map_err(failed)
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        let mut paging_state = None;
        loop {
            let parameters = self.parameters(values, self.page_size, paging_state);
            let answer = self.pool.query(cql, parameters).await.map_err(failed)?;
            if !values::is_page(&answer) {
                return Ok(());
            }
            paging_state = values::decode(&answer, &[], rows)?;
            if paging_state.is_none() {
                return Ok(());
            }
        }
    }
}
