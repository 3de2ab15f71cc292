//! Preparing and executing.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cqldyno_driver_api::wire::{ColumnType, malformed};
use cqldyno_driver_api::{BatchRows, ConnectOptions, Consistency, DriverError, ErrorKind, Rows, Session, Value};
use tokio::task::JoinHandle;

use crate::answers::{Answer, Prepared};
use crate::connection::Connection;
use crate::requests::{self, ExecuteTemplate};
use crate::socket::{Login, tend};

const DATACENTER: &str = "SELECT data_center FROM system.local";
const SCHEMA_VERSION: &str = "SELECT schema_version FROM system.local";
/// How often nodes are asked for their schema, and how many times.
const AGREE_EVERY: Duration = Duration::from_millis(20);
const AGREE_LOOKS: u32 = 500;

/// A connected floor: so many connections to each of the given addresses.
#[derive(Debug)]
pub struct FloorSession {
    /// First all of the first round over the nodes, then all of the second, and so on.
    connections: Box<[Arc<Connection>]>,
    tasks: Box<[JoinHandle<()>]>,
    nodes: usize,
    consistency: Consistency,
    page_size: i32,
}

/// A prepared statement.
#[derive(Debug)]
pub struct FloorStatement {
    cql: Box<str>,
    id: Box<[u8]>,
    columns: Box<[ColumnType]>,
    execute: ExecuteTemplate,
}

impl FloorSession {
    pub(crate) async fn connect(options: &ConnectOptions) -> Result<FloorSession, DriverError> {
        if options.contact_points.is_empty() {
            return Err(DriverError::new(ErrorKind::Connect, "no contact point was given; give at least one address"));
        }
        let tls = options.tls.as_ref().map(cqldyno_driver_tls::client_config).transpose()?.map(Arc::new);
        let (mut connections, mut tasks) = (Vec::new(), Vec::new());
        for _ in 0..options.connections {
            for address in &options.contact_points {
                let login = Login { address: *address, credentials: options.credentials.clone(), tls: tls.clone() };
                let (reader, writer) = login.open().await?;
                let connection = Arc::new(Connection::new(writer));
                tasks.push(tokio::spawn(tend(Arc::clone(&connection), reader, login)));
                connections.push(connection);
            }
        }
        let session = FloorSession {
            connections: connections.into(),
            tasks: tasks.into(),
            nodes: options.contact_points.len(),
            consistency: options.consistency,
            page_size: options.page_size,
        };
        if let Some(datacenter) = &options.datacenter {
            session.check_datacenter(datacenter, &options.contact_points).await?;
        }
        Ok(session)
    }

    /// Refuses addresses of another datacenter: drivers would find no node for their statements.
    async fn check_datacenter(&self, wanted: &str, nodes: &[SocketAddr]) -> Result<(), DriverError> {
        for (connection, node) in self.connections.iter().zip(nodes) {
            let rows = self.ask(connection, DATACENTER).await?;
            let found = match rows.only().and_then(|row| row.get(0)) {
                Some(Value::Text(found)) => found.to_owned(),
                _ => "unknown".to_owned(),
            };
            if found != wanted {
                return Err(DriverError::new(
                    ErrorKind::Connect,
                    format_args!(
                        "the datacenter {wanted} was asked for, and {node} is in {found}; name one or the other"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The rows that answer a query without values.
    async fn ask(&self, connection: &Connection, cql: &str) -> Result<Rows, DriverError> {
        let mut rows = Rows::new();
        let encode = |out: &mut Vec<u8>| requests::query_values(cql, Consistency::One, &[], self.page_size, None, out);
        connection.exchange(encode, |answer| answer.into_rows(&[], &mut rows).map(drop)).await?;
        Ok(rows)
    }

    /// Connections in turn, counted per thread so that threads share nothing.
    #[inline]
    fn next_connection(&self) -> Result<&Connection, DriverError> {
        thread_local!(static TURN: Cell<usize> = const { Cell::new(0) });
        let index = match self.connections.len() {
            1 => 0,
            several => TURN.with(|turn| turn.replace(turn.get().wrapping_add(1))) % several,
        };
        self.connections.get(index).map(|connection| &**connection).ok_or_else(|| malformed("there is no connection"))
    }

    /// Waits until all nodes have one schema.
    async fn agree(&self) -> Result<(), DriverError> {
        for _ in 0..AGREE_LOOKS {
            let mut versions = BTreeSet::new();
            for connection in self.connections.iter().take(self.nodes) {
                let rows = self.ask(connection, SCHEMA_VERSION).await?;
                versions.insert(match rows.only().and_then(|row| row.get(0)) {
                    Some(Value::Uuid(version)) => Some(version),
                    _ => None,
                });
            }
            if versions.len() == 1 {
                return Ok(());
            }
            tokio::time::sleep(AGREE_EVERY).await;
        }
        Err(DriverError::new(ErrorKind::Server, "the nodes did not agree on a schema within 10 s"))
    }

    async fn prepare_on(&self, connection: &Connection, cql: &str) -> Result<Prepared, DriverError> {
        connection.exchange(|out| requests::prepare(cql, out), |answer| answer.into_prepared()).await
    }

    /// Executes once; returns the paging state if there are more pages.
    #[inline]
    async fn page(
        &self,
        connection: &Connection,
        statement: &FloorStatement,
        values: &[Value<'_>],
        paging_state: Option<&[u8]>,
        rows: &mut Rows,
    ) -> Result<Option<Vec<u8>>, DriverError> {
        connection
            .exchange(
                |out| statement.execute.encode(values, paging_state, out),
                |answer| answer.into_rows(&statement.columns, rows).map(|state| state.map(<[u8]>::to_vec)),
            )
            .await
    }

    /// Prepares again on a node that no longer knows the statement.
    #[cold]
    async fn prepare_again(&self, connection: &Connection, statement: &FloorStatement) -> Result<(), DriverError> {
        let prepared = self.prepare_on(connection, &statement.cql).await?;
        match prepared.id == statement.id && prepared.columns == statement.columns {
            true => Ok(()),
            false => Err(DriverError::new(
                ErrorKind::Unprepared,
                "the server no longer knows the statement, and prepared again it has another id or other columns",
            )),
        }
    }

    async fn batch_on(
        &self,
        connection: &Connection,
        statement: &FloorStatement,
        rows: BatchRows<'_>,
    ) -> Result<(), DriverError> {
        let encode =
            |out: &mut Vec<u8>| requests::batch(&statement.id, &statement.execute, rows, self.consistency, out);
        connection.exchange(encode, |answer| answer.into_done()).await
    }
}

impl Session for FloorSession {
    type Statement = FloorStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        let connection = self.next_connection()?;
        connection.exchange(|out| requests::query(cql, self.consistency, out), |answer| answer.into_done()).await?;
        // The next statement goes to another node, which may not have heard of this one.
        if self.nodes > 1 { self.agree().await } else { Ok(()) }
    }

    async fn prepare(&self, cql: &str) -> Result<FloorStatement, DriverError> {
        let mut first: Option<Prepared> = None;
        for connection in self.connections.iter().take(self.nodes) {
            let prepared = self.prepare_on(connection, cql).await?;
            match &first {
                None => first = Some(prepared),
                Some(first) if first.id == prepared.id => {}
                Some(_) => return Err(malformed("two nodes gave different ids to one prepared statement")),
            }
        }
        let Prepared { id, markers, columns } = first.ok_or_else(|| malformed("there is no connection"))?;
        let execute = ExecuteTemplate::new(&id, markers, !columns.is_empty(), self.consistency, self.page_size)?;
        Ok(FloorStatement { cql: cql.into(), id, columns, execute })
    }

    #[inline]
    async fn execute(
        &self,
        statement: &FloorStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<(), DriverError> {
        let connection = self.next_connection()?;
        let mut next = match self.page(connection, statement, values, None, rows).await {
            Err(error) if error.kind() == ErrorKind::Unprepared => {
                self.prepare_again(connection, statement).await?;
                self.page(connection, statement, values, None, rows).await?
            }
            page => page?,
        };
        while let Some(state) = next {
            next = self.page(connection, statement, values, Some(&state), rows).await?;
        }
        Ok(())
    }

    async fn batch(&self, statement: &FloorStatement, rows: BatchRows<'_>) -> Result<(), DriverError> {
        let connection = self.next_connection()?;
        match self.batch_on(connection, statement, rows).await {
            Err(error) if error.kind() == ErrorKind::Unprepared => {
                self.prepare_again(connection, statement).await?;
                self.batch_on(connection, statement, rows).await
            }
            done => done,
        }
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        let connection = self.next_connection()?;
        let mut paging_state: Option<Vec<u8>> = None;
        loop {
            let encode = |out: &mut Vec<u8>| {
                let state = paging_state.as_deref();
                requests::query_values(cql, self.consistency, values, self.page_size, state, out)
            };
            let decode = |answer: Answer<'_>| answer.into_rows(&[], rows).map(|state| state.map(<[u8]>::to_vec));
            match connection.exchange(encode, decode).await? {
                None => return Ok(()),
                next => paging_state = next,
            }
        }
    }
}

impl Drop for FloorSession {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
