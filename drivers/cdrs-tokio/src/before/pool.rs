//! The pool of `cdrs-tokio` 5, whose connections have one request in flight each.

use std::sync::Arc;

use cdrs_tokio::authenticators::{
    NoneAuthenticatorProvider, SaslAuthenticatorProvider, StaticPasswordAuthenticatorProvider,
};
use cdrs_tokio::cluster::session::{self, Session};
use cdrs_tokio::cluster::{ClusterTcpConfig, KeyspaceHolder, NodeTcpConfigBuilder, TcpConnectionPool, startup};
use cdrs_tokio::consistency::Consistency;
use cdrs_tokio::error::Result;
use cdrs_tokio::load_balancing::RoundRobin;
pub(crate) use cdrs_tokio::query::PreparedQuery as Prepared;
use cdrs_tokio::query::{
    BatchExecutor, BatchQueryBuilder, ExecExecutor, PrepareExecutor, QueryExecutor, QueryParams, QueryValues,
};
use cdrs_tokio::retry::{DefaultRetryPolicy, FallthroughRetryPolicy, RetryPolicy};
use cdrs_tokio::transport::TransportTcp;
use cqldyno_driver_api::{ConnectOptions, DriverError, Settings};
use tokio::sync::Mutex;
use tokio::time::timeout;

pub(crate) use crate::errors::execution as failed;
use crate::names::{Answer, BatchType};
use crate::{CONNECTS_WITHIN, errors, try_one_connection};

pub(crate) const NAME: &str = "cdrs-tokio";
/// The library that pools its connections.
pub(crate) const POOL: &str = "bb8";

pub(crate) struct Pool(Session<RoundRobin<TcpConnectionPool>>);

impl Pool {
    pub(crate) async fn connect(options: &ConnectOptions) -> std::result::Result<Pool, DriverError> {
        let authenticator: Arc<dyn SaslAuthenticatorProvider + Send + Sync> = match &options.credentials {
            Some(credentials) => {
                Arc::new(StaticPasswordAuthenticatorProvider::new(&credentials.user, &credentials.password))
            }
            None => Arc::new(NoneAuthenticatorProvider),
        };
        let login = &*authenticator;
        try_one_connection(options, |address| async move {
            let keyspace = Arc::new(KeyspaceHolder::default());
            let transport = TransportTcp::new(&address.to_string(), Arc::clone(&keyspace)).await?;
            startup(&Mutex::new(transport), login, &keyspace).await
        })
        .await?;

        let is_equal = options.settings == Settings::Equal;
        let connections = u32::try_from(options.connections).unwrap_or(u32::MAX);
        let node = |address: &std::net::SocketAddr| {
            let node = NodeTcpConfigBuilder::new(address, authenticator.clone());
            match is_equal {
                true => node.max_size(connections).min_idle(Some(connections)).connection_timeout(CONNECTS_WITHIN),
                false => node,
            }
            .build()
        };
        let nodes = ClusterTcpConfig(options.contact_points.iter().map(node).collect());
        let retries: Box<dyn RetryPolicy + Send + Sync> = match is_equal {
            true => Box::new(FallthroughRetryPolicy),
            false => Box::new(DefaultRetryPolicy),
        };
        let session = timeout(CONNECTS_WITHIN, session::new(&nodes, RoundRobin::new(), retries)).await;
        session.map_err(errors::silent)?.map(Pool).map_err(errors::connect)
    }

    pub(crate) async fn prepare(&self, cql: &str) -> Result<Prepared> {
        self.0.prepare(cql).await
    }

    pub(crate) fn execute<'a>(
        &'a self,
        prepared: &'a Prepared,
        parameters: QueryParams,
    ) -> impl Future<Output = Result<Answer>> + Send + 'a {
        self.0.exec_with_params(prepared, parameters)
    }

    pub(crate) async fn query(&self, cql: &str, parameters: QueryParams) -> Result<Answer> {
        self.0.query_with_params(cql, parameters).await
    }

    pub(crate) async fn batch(
        &self,
        prepared: &Prepared,
        (kind, consistency): (BatchType, Consistency),
        values: impl Iterator<Item = QueryValues>,
    ) -> Result<Answer> {
        let batch = BatchQueryBuilder::new().batch_type(kind).consistency(consistency);
        let batch = values.fold(batch, |batch, values| batch.add_query_prepared(prepared.clone(), values));
        self.0.batch_with_params(batch.finalize()?).await
    }
}
