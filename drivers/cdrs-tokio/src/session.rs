//! The hot path.

use std::future::Future;
use std::time::Duration;

use cdrs_tokio::cluster::ClusterMetadata;
use cdrs_tokio::consistency::Consistency;
use cdrs_tokio::load_balancing::{
    LoadBalancingStrategy, QueryPlan, Request, RoundRobinLoadBalancingStrategy, TopologyAwareLoadBalancingStrategy,
};
use cdrs_tokio::query::{BatchQueryBuilder, PreparedQuery, QueryValues};
use cdrs_tokio::transport::TransportTcp;
use cdrs_tokio::types::CBytes;
use cqldyno_driver_api::{BatchRows, ConnectOptions, DriverError, Rows, Session, Value};
use tokio::time::sleep;

use crate::connect::Manager;
use crate::errors;
use crate::names::{self, BatchType};
use crate::values::{self, Kind};

/// How long to wait before looking again whether a session knows the cluster.
const LOOKS_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// One of the driver's own strategies.
///
/// The driver's session type names its strategy. One type for both compiles the driver's code for a statement once, as in a
/// program that uses one strategy.
pub(crate) enum Routing {
    TokenAware(TopologyAwareLoadBalancingStrategy<TransportTcp, Manager>),
    RoundRobin(RoundRobinLoadBalancingStrategy<TransportTcp, Manager>),
}

impl Routing {
    pub(crate) fn new(is_token_aware: bool) -> Routing {
        match is_token_aware {
            true => Routing::TokenAware(TopologyAwareLoadBalancingStrategy::new(None, false)),
            false => Routing::RoundRobin(RoundRobinLoadBalancingStrategy::new()),
        }
    }
}

impl LoadBalancingStrategy<TransportTcp, Manager> for Routing {
    #[inline]
    fn query_plan(
        &self,
        request: Option<Request<'_>>,
        cluster: &ClusterMetadata<TransportTcp, Manager>,
    ) -> QueryPlan<TransportTcp, Manager> {
        match self {
            Routing::TokenAware(strategy) => strategy.query_plan(request, cluster),
            Routing::RoundRobin(strategy) => strategy.query_plan(request, cluster),
        }
    }
}

pub(crate) type DriverSession = cdrs_tokio::cluster::session::Session<TransportTcp, Manager, Routing>;

/// A connected session of the crate `cdrs-tokio`.
pub struct CdrsTokioSession {
    session: DriverSession,
    consistency: Consistency,
    /// Rows per page, or `None` for the driver's own default.
    page_size: Option<i32>,
}

/// A prepared statement, and the types of its result's columns.
pub struct CdrsTokioStatement {
    prepared: PreparedQuery,
    columns: Vec<Kind>,
}

impl CdrsTokioSession {
    pub(crate) fn new(session: DriverSession, options: &ConnectOptions) -> CdrsTokioSession {
        let (consistency, page_size) = values::consistency_and_page_size(options);
        CdrsTokioSession { session, consistency, page_size }
    }

    /// Waits until it knows the cluster: sessions of older releases are there before, and cannot send a statement.
    pub(crate) async fn know_cluster(&self) {
        while !self.session.cluster_metadata().has_nodes() {
            sleep(LOOKS_AGAIN_AFTER).await;
        }
    }

    /// Opens every node's pool now; by itself the driver does that at the first statement.
    pub(crate) async fn open_pools(&self) -> Result<(), DriverError> {
        for node in self.session.cluster_metadata().nodes().values() {
            node.persistent_connection().await.map_err(errors::connect)?;
        }
        Ok(())
    }

    /// Fetches the pages from `paging_state` on.
    async fn next_pages(
        &self,
        statement: &CdrsTokioStatement,
        values: &[Value<'_>],
        paging_state: CBytes,
        rows: &mut Rows,
    ) -> Result<(), DriverError> {
        let mut paging_state = Some(paging_state);
        while paging_state.is_some() {
            let parameters = names::parameters(self.consistency, values::bind(values), self.page_size, paging_state);
            let answer = self.session.exec_with_params(&statement.prepared, &parameters);
            let answer = answer.await.map_err(errors::execution)?;
            if !values::is_page(&answer) {
                return Ok(());
            }
            paging_state = values::decode(&answer, &statement.columns, rows)?;
        }
        Ok(())
    }
}

impl Session for CdrsTokioSession {
    type Statement = CdrsTokioStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        let parameters = names::parameters(self.consistency, None, None, None);
        let answer = self.session.query_with_params(cql, parameters).await;
        answer.map(drop).map_err(errors::execution)
    }

    async fn prepare(&self, cql: &str) -> Result<CdrsTokioStatement, DriverError> {
        let answer = self.session.prepare_raw(cql).await;
        let answer = answer.map_err(errors::execution)?;
        let columns = answer.result_metadata.col_specs.iter().map(Kind::of).collect::<Result<_, _>>()?;
        let prepared = names::prepared(cql, answer);
        Ok(CdrsTokioStatement { prepared, columns })
    }

    #[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments twice: once as given, once as used")]
    fn execute(
        &self,
        statement: &CdrsTokioStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<(), DriverError>> + Send {
        async move {
            let page_size = if statement.columns.is_empty() { None } else { self.page_size };
            let parameters = names::parameters(self.consistency, values::bind(values), page_size, None);
            // An answer with a name here would be moved into the future.
            let paging_state = match self.session.exec_with_params(&statement.prepared, &parameters).await {
                Ok(answer) if values::is_page(&answer) => values::decode(&answer, &statement.columns, rows)?,
                Ok(_) => return Ok(()),
                Err(error) => return Err(errors::execution(error)),
            };
            match paging_state {
                None => Ok(()),
                // Boxed, so that a statement with one page does not carry it along.
                Some(paging_state) => Box::pin(self.next_pages(statement, values, paging_state, rows)).await,
            }
        }
    }

    async fn batch(&self, statement: &CdrsTokioStatement, rows: BatchRows<'_>) -> Result<(), DriverError> {
        let kind = if rows.is_logged { BatchType::Logged } else { BatchType::Unlogged };
        let mut batch = BatchQueryBuilder::new().with_batch_type(kind).with_consistency(self.consistency);
        for row in rows.iter() {
            let values = values::bind(row).unwrap_or(QueryValues::SimpleValues(Vec::new()));
            batch = batch.add_query_prepared(&statement.prepared, values);
        }
        let batch = batch.build().map_err(errors::execution)?;
        self.session.batch(batch).await.map(drop).map_err(errors::execution)
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        let mut paging_state = None;
        loop {
            let parameters = names::parameters(self.consistency, values::bind(values), self.page_size, paging_state);
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
