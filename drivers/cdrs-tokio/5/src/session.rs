//! The hot path.

use std::future::Future;
use std::sync::OnceLock;

use cdrs_tokio::cluster::TcpConnectionPool;
use cdrs_tokio::frame::frame_batch::BatchType;
use cdrs_tokio::load_balancing::RoundRobin;
use cdrs_tokio::query::{
    BatchExecutor, BatchQueryBuilder, ExecExecutor, PrepareExecutor, PreparedQuery, QueryExecutor, QueryParams,
    QueryParamsBuilder, QueryValues,
};
use cqldyno_driver_api::{BatchRows, ConnectOptions, DriverError, Rows, Session, Settings, Value};

use crate::errors;
use crate::release::{self, Answer, CBytes, Consistency};
use crate::values::{self, Kind};

type DriverSession = cdrs_tokio::cluster::session::Session<RoundRobin<TcpConnectionPool>>;

/// A connected session of the crate `cdrs-tokio`.
pub struct CdrsTokioSession {
    session: DriverSession,
    consistency: Consistency,
    /// Rows per page, or `None` for the driver's own default.
    page_size: Option<i32>,
}

/// A prepared statement.
pub struct CdrsTokioStatement {
    prepared: PreparedQuery,
    /// The types of the result's columns from the first answer, none if it was not of kind Rows: the driver keeps nothing of
    /// PREPARED but the id.
    columns: OnceLock<Vec<Kind>>,
}

impl CdrsTokioSession {
    pub(crate) fn new(session: DriverSession, options: &ConnectOptions) -> CdrsTokioSession {
        let (consistency, page_size) = match options.settings {
            Settings::Equal => (values::consistency(options.consistency), Some(options.page_size)),
            Settings::Default => (Consistency::default(), None),
        };
        CdrsTokioSession { session, consistency, page_size }
    }

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

impl CdrsTokioStatement {
    /// Whether answers have rows; assumed until the first one.
    fn may_be_answered(&self) -> bool {
        self.columns.get().is_none_or(|columns| !columns.is_empty())
    }

    /// The types of the columns of such answers.
    fn columns(&self, answer: &Answer) -> Result<&[Kind], DriverError> {
        if let Some(columns) = self.columns.get() {
            return Ok(columns);
        }
        let columns = match release::page(answer).map_err(errors::codec)? {
            Some(page) => page.metadata.col_specs.iter().map(Kind::of).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(self.columns.get_or_init(|| columns))
    }
}

impl Session for CdrsTokioSession {
    type Statement = CdrsTokioStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        let answer = self.session.query_with_params(cql, self.parameters(&[], None, None)).await;
        answer.map(drop).map_err(errors::execution)
    }

    async fn prepare(&self, cql: &str) -> Result<CdrsTokioStatement, DriverError> {
        let prepared = self.session.prepare(cql).await.map_err(errors::execution)?;
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
                let page_size = if statement.may_be_answered() { self.page_size } else { None };
                let parameters = self.parameters(values, page_size, paging_state);
                let answer = self.session.exec_with_params(&statement.prepared, parameters).await;
                let answer = answer.map_err(errors::execution)?;
                let columns = statement.columns(&answer)?;
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
        let mut batch = BatchQueryBuilder::new().batch_type(BatchType::Unlogged).consistency(self.consistency);
        for row in rows.iter() {
            let values = values::bind(row).unwrap_or(QueryValues::SimpleValues(Vec::new()));
            batch = batch.add_query_prepared(statement.prepared.clone(), values);
        }
        let batch = batch.finalize().map_err(errors::execution)?;
        self.session.batch_with_params(batch).await.map(drop).map_err(errors::execution)
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        let mut paging_state = None;
        loop {
            let parameters = self.parameters(values, self.page_size, paging_state);
            let answer = self.session.query_with_params(cql, parameters).await;
            let answer = answer.map_err(errors::execution)?;
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
