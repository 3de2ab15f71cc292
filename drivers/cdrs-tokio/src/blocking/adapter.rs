//! The driver's description, settings and connection.

use std::cell::RefCell;

use cdrs::authenticators::{Authenticator, NoneAuthenticator, StaticPasswordAuthenticator};
use cdrs::cluster::{ClusterTcpConfig, NodeTcpConfigBuilder, session, startup};
use cdrs::load_balancing::RoundRobin;
use cdrs::transport::TransportTcp;
use cdrs::types::CBytes;
use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverError, DriverInfo, ErrorKind, Setting, Settings};
use cqldyno_worker::lock;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::session::{CdrsSession, DriverSession};
use super::threads::Threads;
use crate::before::requests;
use crate::{CONNECTS_WITHIN, errors, types};

const CAVEATS: [&str; 6] = [
    "It blocks, so a connection has one request in flight: the row has its own concurrency, and no verdict.",
    "Each connection has a thread of its own. Handing a statement over to it costs some 7 to 11 us of CPU time.",
    "It asks with OPTIONS before every statement whether the connection still answers.",
    "It reads an answer from the socket in six parts, without a buffer.",
    "It knows only the addresses that it is given: it has no control connection and no token-aware routing.",
    "It never skips the result's metadata, so its answers to a SELECT are longer.",
];

/// With a password or without one, as one type, so that the session has one, too.
#[derive(Clone)]
pub(crate) enum Login {
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

/// The blocking crate `cdrs`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cdrs;

impl Driver for Cdrs {
    type Session = CdrsSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        Ok(DriverInfo {
            name: "cdrs".to_owned(),
            version: lock::version_used_by(env!("CARGO_PKG_NAME"), "cdrs")?.to_owned(),
            libraries: vec![lock::library("r2d2")?, lock::library("tokio")?],
            capabilities: Capability::all_but(&[Capability::RequestTimeout]),
            lacks_types: types::LACKS.iter().map(|name| (*name).into()).collect(),
            caveats: CAVEATS.map(str::to_owned).to_vec(),
            options: Some(Vec::new()),
            in_flight_per_connection: Some(1),
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        requests::settings(options, [Setting::taken("connections", "10 per node")])
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<CdrsSession, DriverError> {
        options.check("cdrs", &[])?;
        let (connect, connections) = (options.clone(), requests::connections(options)?);
        let connecting = timeout(CONNECTS_WITHIN, spawn_blocking(move || connect_blocking(&connect, connections)));
        let session = connecting.await.map_err(errors::silent)?;
        let session = session.map_err(|error| DriverError::new(ErrorKind::Connect, error))??;
        let threads = Threads::start(session, options.connections * options.contact_points.len())?;
        Ok(CdrsSession::new(threads, options))
    }
}

fn connect_blocking(options: &ConnectOptions, connections: u32) -> Result<DriverSession, DriverError> {
    let login = match &options.credentials {
        Some(credentials) => {
            Login::Password(StaticPasswordAuthenticator::new(&credentials.user, &credentials.password))
        }
        None => Login::None(NoneAuthenticator),
    };
    let addresses: Vec<String> = options.contact_points.iter().map(ToString::to_string).collect();
    try_one_connection(&addresses, &login)?;
    let node = |address| {
        let node = NodeTcpConfigBuilder::new(address, login.clone());
        match options.settings {
            Settings::Equal => node.max_size(connections).connection_timeout(CONNECTS_WITHIN),
            Settings::Default => node,
        }
        .build()
    };
    let nodes = ClusterTcpConfig(addresses.iter().map(|address| node(address)).collect());
    session::new(&nodes, RoundRobin::new()).map_err(errors::connect)
}

/// Opens and closes one connection, to learn of a refusal: the pool tries for ever and reports no kind of error.
fn try_one_connection(addresses: &[String], login: &Login) -> Result<(), DriverError> {
    let mut last = DriverError::new(ErrorKind::Connect, "no contact point was given; give at least one address");
    for address in addresses {
        let connection = TransportTcp::new(address).map_err(|error| errors::connect(error.into()));
        match connection.and_then(|connection| startup(&RefCell::new(connection), login).map_err(errors::connect)) {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}
