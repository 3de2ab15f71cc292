//! A pool of connections, each with one statement at a time.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use cqldyno_driver_api::{DriverError, ErrorKind, Rows, Session, Value};
use futures_util::future::try_join_all;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

use crate::translate::sql;
use crate::values::{Bound, decode};

/// A pool of connections.
pub struct PostgresSession {
    clients: Vec<Client>,
    /// Those without a statement, the one that has waited longest first.
    idle: Mutex<VecDeque<usize>>,
}

/// A statement that is prepared on every connection.
pub struct PostgresStatement {
    each: Vec<Statement>,
    has_rows: bool,
}

/// A connection with one statement, which is idle again when this is dropped.
struct Taken<'a> {
    session: &'a PostgresSession,
    at: usize,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.session.queue(|idle| idle.push_back(self.at));
    }
}

impl PostgresSession {
    pub(crate) fn new(clients: Vec<Client>) -> PostgresSession {
        let idle = Mutex::new((0..clients.len()).collect());
        PostgresSession { clients, idle }
    }

    fn queue<T>(&self, work: impl FnOnce(&mut VecDeque<usize>) -> T) -> T {
        work(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self) -> Result<Taken<'_>, DriverError> {
        match self.queue(VecDeque::pop_front) {
            Some(at) => Ok(Taken { session: self, at }),
            None => Err(DriverError::new(ErrorKind::QueueFull, "every connection has a statement")),
        }
    }
}

impl Session for PostgresSession {
    type Statement = PostgresStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        let (sql, taken) = (sql(cql)?, self.take()?);
        self.clients[taken.at].batch_execute(&sql).await.map_err(|failed| error(&failed))
    }

    async fn prepare(&self, cql: &str) -> Result<PostgresStatement, DriverError> {
        let sql = sql(cql)?;
        let each = try_join_all(self.clients.iter().map(|client| client.prepare(&sql))).await;
        let each = each.map_err(|failed| error(&failed))?;
        Ok(PostgresStatement { has_rows: each.iter().any(|one| !one.columns().is_empty()), each })
    }

    async fn execute(
        &self,
        statement: &PostgresStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<(), DriverError> {
        let taken = self.take()?;
        let (client, prepared) = (&self.clients[taken.at], &statement.each[taken.at]);
        if !statement.has_rows {
            let bound = values.iter().map(Bound);
            return client.execute_raw(prepared, bound).await.map(drop).map_err(|failed| error(&failed));
        }
        let bound: Vec<Bound<'_>> = values.iter().map(Bound).collect();
        let bound: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|one| one as _).collect();
        let found = client.query(prepared, &bound).await.map_err(|failed| error(&failed))?;
        found.iter().try_for_each(|row| decode(row, rows))?;
        rows.end_page();
        Ok(())
    }
}

/// The driver's error by kind, with its cause.
#[cold]
pub(crate) fn error(failed: &Error) -> DriverError {
    let kind = match failed.code() {
        Some(code) if *code == SqlState::INVALID_PASSWORD => ErrorKind::BadCredentials,
        Some(code) if *code == SqlState::SYNTAX_ERROR => ErrorKind::Syntax,
        Some(code) if *code == SqlState::UNDEFINED_TABLE => ErrorKind::Invalid,
        Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS => ErrorKind::Overloaded,
        Some(_) => ErrorKind::Server,
        None if failed.is_closed() => ErrorKind::ConnectionLost,
        None => ErrorKind::Other,
    };
    let cause = std::error::Error::source(failed).map_or(String::new(), |cause| format!(": {cause}"));
    DriverError::new(kind, format_args!("{failed}{cause}"))
}
