//! The driver's description and settings, and how it connects.

use std::net::SocketAddr;

use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverError, DriverInfo, ErrorKind, Scalar, Setting};
use cqldyno_worker::lock;
use futures_util::future::try_join_all;
use tokio_postgres::{Client, Config, NoTls};

use crate::session::{PostgresSession, error};
use crate::translate::TYPES;

/// The database that every server has.
const DATABASE: &str = "postgres";

/// The crate `tokio-postgres`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Postgres;

impl Driver for Postgres {
    type Session = PostgresSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        let lacks = Scalar::ALL.iter().map(|one| one.name()).filter(|name| TYPES.iter().all(|(cql, _)| cql != name));
        let nested = ["counter", "list", "set", "map", "tuple", "udt", "vector"];
        let caveats = [
            "PostgreSQL commits one transaction after the other on a connection, so it has a connection per statement in flight.",
            "The adapter takes a connection from a queue behind a lock for each statement.",
        ];
        Ok(DriverInfo {
            name: "postgres".to_owned(),
            version: lock::version_used_by(env!("CARGO_PKG_NAME"), "tokio-postgres")?.to_owned(),
            libraries: vec![lock::library("tokio")?],
            capabilities: [Capability::Credentials, Capability::ClosesSessions].into(),
            lacks_types: lacks.chain(nested).map(Into::into).collect(),
            caveats: caveats.map(str::to_owned).to_vec(),
            options: Some(Vec::new()),
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        let own = [
            Setting::taken("protocol version", "PostgreSQL's, 3.0"),
            Setting::taken("consistency", "one server; its synchronous_commit says when a commit is on the disk"),
            Setting::taken("routing", "none: one server"),
            Setting::taken("connections", format_args!("{}, one per statement in flight", self.connections(options))),
            Setting::taken("page size", "none: a result comes whole"),
            Setting::taken("timestamps", "none"),
        ];
        Setting::equal(options, own)
    }

    fn connections(&self, options: &ConnectOptions) -> usize {
        options.in_flight.max(options.connections)
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<PostgresSession, DriverError> {
        options.check("postgres", &[])?;
        let Some(server) = options.contact_points.first() else {
            return Err(DriverError::new(ErrorKind::Connect, "no address of a server was given; give one"));
        };
        let each = (0..self.connections(options)).map(|_| connect(*server, options));
        Ok(PostgresSession::new(try_join_all(each).await?))
    }
}

/// One connection, whose task ends with its client.
async fn connect(server: SocketAddr, options: &ConnectOptions) -> Result<Client, DriverError> {
    let mut config = Config::new();
    config.host(server.ip().to_string()).port(server.port()).dbname(DATABASE).keepalives(false);
    if let Some(credentials) = &options.credentials {
        config.user(&credentials.user).password(&credentials.password);
    }
    let (client, connection) = config.connect(NoTls).await.map_err(|failed| error(&failed))?;
    // Whoever waits for an answer hears of its end.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}
