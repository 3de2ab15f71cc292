//! The hot path.

use std::future::Future;

use cdrs_tokio::cluster::TcpConnectionPool;
use cdrs_tokio::load_balancing::RoundRobin;
use cdrs_tokio::query::{
    BatchExecutor, BatchQueryBuilder, ExecExecutor, PrepareExecutor, PreparedQuery, QueryExecutor, QueryValues,
};
use cqldyno_driver_api::{BatchRows, ConnectOptions, DriverError, Rows, Session, Value};

use crate::before::requests::{Columns, Requests};
use crate::names::BatchType;
use crate::{errors, values};

type DriverSession = cdrs_tokio::cluster::session::Session<RoundRobin<TcpConnectionPool>>;

/// A connected session of the crate `cdrs-tokio`.
pub struct CdrsTokioSession {
    session: DriverSession,
    requests: Requests,
}

/// A prepared statement.
pub struct CdrsTokioStatement {
    prepared: PreparedQuery,
    columns: Columns,
}

impl CdrsTokioSession {
    pub(crate) fn new(session: DriverSession, options: &ConnectOptions) -> CdrsTokioSession {
        CdrsTokioSession { session, requests: Requests::new(options) }
    }
}

impl Session for CdrsTokioSession {
    type Statement = CdrsTokioStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        let answer = self.session.query_with_params(cql, self.requests.parameters(&[], None, None)).await;
        answer.map(drop).map_err(errors::execution)
    }

    async fn prepare(&self, cql: &str) -> Result<CdrsTokioStatement, DriverError> {
        let prepared = self.session.prepare(cql).await.map_err(errors::execution)?;
        Ok(CdrsTokioStatement { prepared, columns: Columns::default() })
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
                let page_size = if statement.columns.may_be_there() { self.requests.page_size } else { None };
                let parameters = self.requests.parameters(values, page_size, paging_state);
                let answer = self.session.exec_with_params(&statement.prepared, parameters).await;
                let answer = answer.map_err(errors::execution)?;
                let columns = statement.columns.of(&answer)?;
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
        let mut batch = BatchQueryBuilder::new().batch_type(BatchType::Unlogged).consistency(self.requests.consistency);
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
            let parameters = self.requests.parameters(values, self.requests.page_size, paging_state);
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
