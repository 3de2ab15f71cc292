//! How connections are opened, in plain text or with TLS.
//!
//! The driver's own feature for TLS verifies one name, whichever node it dials. So a stream of rustls is made here, as that feature
//! makes it, and verified for the node's address; the driver's own transport takes it from there. Statements run through one type of
//! session either way, and those in plain text through the same code as without TLS.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use cdrs_tokio::Error;
use cdrs_tokio::cluster::connection_pool::ConnectionPoolConfig;
use cdrs_tokio::cluster::{ConnectionManager, GenericClusterConfig, KeyspaceHolder, TcpConnectionManager, startup};
use cdrs_tokio::frame::{Envelope, Version};
use cdrs_tokio::frame_encoding::{FrameEncodingFactory, ProtocolFrameEncodingFactory};
use cdrs_tokio::transport::TransportTcp;
use cqldyno_driver_api::{DriverError, Tls};
use cqldyno_driver_tls::{ClientConfig, client_config};
use tokio::sync::mpsc::Sender;

use crate::adapter::Authenticator;
use crate::options::Chosen;

/// Events that wait for a listener at most, as in the driver's own builder of sessions.
const EVENTS: usize = 128;

type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// What connections and sessions are opened with.
#[derive(Clone)]
pub(crate) struct ConnectionConfig {
    authenticator: Authenticator,
    chosen: Chosen,
    tls: Option<Arc<ClientConfig>>,
}

impl ConnectionConfig {
    /// # Errors
    /// When a file of `tls` cannot be used.
    pub(crate) fn of(authenticator: Authenticator, chosen: &Chosen, tls: Option<&Tls>) -> Result<Self, DriverError> {
        let tls = tls.map(client_config).transpose()?.map(Arc::new);
        Ok(ConnectionConfig { authenticator, chosen: chosen.clone(), tls })
    }
}

/// Opens connections.
pub(crate) enum Manager {
    /// The driver's own.
    Plain(TcpConnectionManager),
    Tls(ConnectionConfig, Arc<ClientConfig>, Arc<KeyspaceHolder>),
}

impl Manager {
    pub(crate) fn new(config: &ConnectionConfig, keyspace: Arc<KeyspaceHolder>) -> Manager {
        match &config.tls {
            Some(tls) => Manager::Tls(config.clone(), Arc::clone(tls), keyspace),
            None => Manager::Plain(TcpConnectionManager::new(
                Arc::clone(&config.authenticator),
                keyspace,
                Box::new(ProtocolFrameEncodingFactory),
                config.chosen.compression,
                config.chosen.buffer,
                config.chosen.nodelay,
                Version::V4,
            )),
        }
    }
}

impl ConnectionManager<TransportTcp> for Manager {
    fn connection(
        &self,
        events: Option<Sender<Envelope>>,
        errors: Option<Sender<Error>>,
        address: SocketAddr,
    ) -> Later<'_, TransportTcp> {
        let (config, tls, keyspace) = match self {
            Manager::Plain(manager) => return manager.connection(events, errors, address),
            Manager::Tls(config, tls, keyspace) => (config, tls, keyspace),
        };
        Box::pin(async move {
            let stream = cqldyno_driver_tls::connect(Arc::clone(tls), address, config.chosen.nodelay).await?;
            let frames = ProtocolFrameEncodingFactory;
            let transport = TransportTcp::with_stream(
                stream,
                address,
                Arc::clone(keyspace),
                events,
                errors,
                config.chosen.compression,
                frames.create_encoder(Version::V4, config.chosen.compression),
                frames.create_decoder(Version::V4, config.chosen.compression),
                config.chosen.buffer,
            )?;
            startup(&transport, &*config.authenticator, keyspace, config.chosen.compression, Version::V4).await?;
            Ok(transport)
        })
    }
}

impl GenericClusterConfig<TransportTcp, Manager> for ConnectionConfig {
    fn create_manager(&self, keyspace: Arc<KeyspaceHolder>) -> Later<'_, Manager> {
        Box::pin(std::future::ready(Ok(Manager::new(self, keyspace))))
    }

    fn event_channel_capacity(&self) -> usize {
        EVENTS
    }

    fn version(&self) -> Version {
        Version::V4
    }

    fn connection_pool_config(&self) -> ConnectionPoolConfig {
        self.chosen.pool
    }
}
