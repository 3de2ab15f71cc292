//! The pool of `cdrs`, which blocks the thread that asks.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use cdrs::authenticators::{Authenticator, NoneAuthenticator, StaticPasswordAuthenticator};
use cdrs::cluster::session::{self, Session};
use cdrs::cluster::{ClusterTcpConfig, NodeTcpConfigBuilder, TcpConnectionPool, startup};
use cdrs::consistency::Consistency;
use cdrs::load_balancing::RoundRobin;
use cdrs::query::{
    BatchExecutor, BatchQueryBuilder, ExecExecutor, PrepareExecutor, PreparedQuery, QueryExecutor, QueryParams,
    QueryValues,
};
use cdrs::transport::TransportTcp;
use cdrs::types::CBytes;
use cqldyno_driver_api::{ConnectOptions, DriverError, ErrorKind, Settings};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::before::threads::Threads;
use crate::names::{Answer, BatchType};
use crate::{CONNECTS_WITHIN, errors, try_one_connection};

pub(crate) const NAME: &str = "cdrs";
/// The library that pools its connections.
pub(crate) const POOL: &str = "r2d2";

/// With a password or without one, as one type, so that the session has one, too.
#[derive(Clone)]
enum Login {
    Password(StaticPasswordAuthenticator),
    None(NoneAuthenticator),
}

impl Authenticator for Login {
    fn get_auth_token(&self) -> CBytes {
        match self {
            Login::Password(login) => login.get_auth_token(),
            Login::None(login) => login.get_auth_token(),
        }
    }

    fn get_cassandra_name(&self) -> Option<&str> {
        match self {
            Login::Password(login) => login.get_cassandra_name(),
            Login::None(login) => login.get_cassandra_name(),
        }
    }
}

type DriverSession = Session<RoundRobin<TcpConnectionPool<Login>>>;

pub(crate) struct Pool(Threads<DriverSession>);

/// One for each thread, because the driver's cannot be used by two at once.
pub(crate) struct Prepared(Arc<Vec<Mutex<PreparedQuery>>>);

/// An error is mapped on the way from its thread.
pub(crate) fn failed(error: DriverError) -> DriverError {
    error
}

impl Pool {
    pub(crate) async fn connect(options: &ConnectOptions) -> Result<Pool, DriverError> {
        let login = match &options.credentials {
            Some(credentials) => {
                Login::Password(StaticPasswordAuthenticator::new(&credentials.user, &credentials.password))
            }
            None => Login::None(NoneAuthenticator),
        };
        let blocked = |error| DriverError::new(ErrorKind::Connect, error);
        try_one_connection(options, |address| {
            let login = login.clone();
            let opened =
                spawn_blocking(move || startup(&RefCell::new(TransportTcp::new(&address.to_string())?), &login));
            async move { opened.await.map_err(|error| cdrs::Error::General(error.to_string()))? }
        })
        .await?;
        let equal = u32::try_from(options.connections).ok().filter(|_| options.settings == Settings::Equal);
        let addresses: Vec<String> = options.contact_points.iter().map(ToString::to_string).collect();
        let connecting = spawn_blocking(move || {
            let node = |address| {
                let node = NodeTcpConfigBuilder::new(address, login.clone());
                match equal {
                    Some(connections) => node.max_size(connections).connection_timeout(CONNECTS_WITHIN),
                    None => node,
                }
                .build()
            };
            let nodes = ClusterTcpConfig(addresses.iter().map(|address| node(address)).collect());
            session::new(&nodes, RoundRobin::new()).map_err(errors::connect)
        });
        let session = timeout(CONNECTS_WITHIN, connecting).await.map_err(errors::silent)?.map_err(blocked)??;
        Threads::start(session, options.connections * options.contact_points.len()).map(Pool)
    }

    pub(crate) async fn prepare(&self, cql: &str) -> Result<Prepared, DriverError> {
        let cql = cql.to_owned();
        let prepared = self.0.run(move |session, _| session.prepare(cql)).await?.map_err(errors::execution)?;
        Ok(Prepared(Arc::new((0..self.0.count()).map(|_| Mutex::new(prepared.clone())).collect())))
    }

    pub(crate) async fn execute(&self, prepared: &Prepared, parameters: QueryParams) -> Result<Answer, DriverError> {
        let prepared = Arc::clone(&prepared.0);
        let execute = move |session: &DriverSession, thread: usize| {
            let Some(query) = prepared.get(thread) else { return Err("there is no such thread".into()) };
            session.exec_with_params(&query.lock().unwrap_or_else(PoisonError::into_inner), parameters)
        };
        self.0.run(execute).await?.map_err(errors::execution)
    }

    pub(crate) async fn query(&self, cql: &str, parameters: QueryParams) -> Result<Answer, DriverError> {
        let cql = cql.to_owned();
        self.0.run(move |session, _| session.query_with_params(cql, parameters)).await?.map_err(errors::execution)
    }

    pub(crate) async fn batch(
        &self,
        prepared: &Prepared,
        (kind, consistency): (BatchType, Consistency),
        values: impl Iterator<Item = QueryValues>,
    ) -> Result<Answer, DriverError> {
        let (prepared, values) = (Arc::clone(&prepared.0), values.collect::<Vec<_>>());
        let send = move |session: &DriverSession, thread: usize| {
            let mut batch = BatchQueryBuilder::new().batch_type(kind).consistency(consistency);
            if let Some(query) = prepared.get(thread) {
                let query = query.lock().unwrap_or_else(PoisonError::into_inner);
                for values in values {
                    batch = batch.add_query_prepared(query.clone(), values);
                }
            }
            session.batch_with_params(batch.finalize()?)
        };
        self.0.run(send).await?.map_err(errors::execution)
    }
}
