//! Preparing and executing.

use std::sync::{Arc, Mutex, PoisonError};

use cdrs::cluster::TcpConnectionPool;
use cdrs::load_balancing::RoundRobin;
use cdrs::query::{
    BatchExecutor, BatchQueryBuilder, ExecExecutor, PrepareExecutor, PreparedQuery, QueryExecutor, QueryParams,
    QueryValues,
};
use cqldyno_driver_api::{BatchRows, ConnectOptions, DriverError, Rows, Session, Value};

use super::adapter::Login;
use super::threads::Threads;
use crate::before::requests::{Columns, Requests};
use crate::names::{Answer, BatchType};
use crate::{errors, values};

pub(crate) type DriverSession = cdrs::cluster::session::Session<RoundRobin<TcpConnectionPool<Login>>>;

/// A connected session of the crate `cdrs`.
pub struct CdrsSession {
    threads: Threads<DriverSession>,
    requests: Requests,
}

/// A prepared statement.
pub struct CdrsStatement(Arc<Prepared>);

struct Prepared {
    /// One for each thread, because the driver's cannot be used by two at once.
    queries: Vec<Mutex<PreparedQuery>>,
    columns: Columns,
}

impl Prepared {
    /// Executes on this thread.
    fn execute(&self, session: &DriverSession, thread: usize, parameters: QueryParams) -> Result<Answer, cdrs::Error> {
        let Some(query) = self.queries.get(thread) else { return Err("there is no such thread".into()) };
        session.exec_with_params(&query.lock().unwrap_or_else(PoisonError::into_inner), parameters)
    }
}

impl CdrsSession {
    pub(crate) fn new(threads: Threads<DriverSession>, options: &ConnectOptions) -> CdrsSession {
        CdrsSession { threads, requests: Requests::new(options) }
    }

    /// Executes unprepared text.
    async fn unprepared(&self, cql: String, parameters: QueryParams) -> Result<Answer, DriverError> {
        let answer = self.threads.run(move |session, _| session.query_with_params(cql, parameters)).await?;
        answer.map_err(errors::execution)
    }
}

impl Session for CdrsSession {
    type Statement = CdrsStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        self.unprepared(cql.to_owned(), self.requests.parameters(&[], None, None)).await.map(drop)
    }

    async fn prepare(&self, cql: &str) -> Result<CdrsStatement, DriverError> {
        let cql = cql.to_owned();
        let prepared = self.threads.run(move |session, _| session.prepare(cql)).await?.map_err(errors::execution)?;
        let queries = (0..self.threads.count()).map(|_| Mutex::new(prepared.clone())).collect();
        Ok(CdrsStatement(Arc::new(Prepared { queries, columns: Columns::default() })))
    }

    async fn execute(
        &self,
        statement: &CdrsStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<(), DriverError> {
        let prepared = &statement.0;
        let mut paging_state = None;
        loop {
            let page_size = if prepared.columns.may_be_there() { self.requests.page_size } else { None };
            let parameters = self.requests.parameters(values, page_size, paging_state);
            let query = Arc::clone(prepared);
            let answer = self.threads.run(move |session, thread| query.execute(session, thread, parameters)).await?;
            let answer = answer.map_err(errors::execution)?;
            let columns = prepared.columns.of(&answer)?;
            if !values::is_page(&answer) {
                return Ok(());
            }
            paging_state = values::decode(&answer, columns, rows)?;
            if paging_state.is_none() {
                return Ok(());
            }
        }
    }

    async fn batch(&self, statement: &CdrsStatement, rows: BatchRows<'_>) -> Result<(), DriverError> {
        let consistency = self.requests.consistency;
        let prepared = Arc::clone(&statement.0);
        let values: Vec<_> =
            rows.iter().map(|row| values::bind(row).unwrap_or(QueryValues::SimpleValues(Vec::new()))).collect();
        let send = move |session: &DriverSession, thread: usize| {
            let mut batch = BatchQueryBuilder::new().batch_type(BatchType::Unlogged).consistency(consistency);
            if let Some(query) = prepared.queries.get(thread) {
                let query = query.lock().unwrap_or_else(PoisonError::into_inner);
                for values in values {
                    batch = batch.add_query_prepared(query.clone(), values);
                }
            }
            session.batch_with_params(batch.finalize()?)
        };
        self.threads.run(send).await?.map(drop).map_err(errors::execution)
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        let mut paging_state = None;
        loop {
            let parameters = self.requests.parameters(values, self.requests.page_size, paging_state);
            let answer = self.unprepared(cql.to_owned(), parameters).await?;
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
