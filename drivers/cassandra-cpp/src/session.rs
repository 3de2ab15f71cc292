//! Preparing and executing.

use cassandra_cpp::{BatchType, CassResult, PreparedStatement, Statement};
use cqldyno_driver_api::{BatchRows, ConnectOptions, Consistency, DriverError, Rows, Session, Settings, Value};

use crate::values::Columns;
use crate::{errors, values};

/// A connected cassandra-cpp.
#[derive(Debug)]
pub struct CassandraCppSession {
    session: cassandra_cpp::Session,
    /// Set on every statement, because the crate has no setting for a session; `None` is libcassandra's own.
    consistency: Option<cassandra_cpp::Consistency>,
    /// Rows per page, set on statements that return rows; `None` is libcassandra's own: no pages.
    page_size: Option<i32>,
}

/// A prepared statement.
#[derive(Debug)]
pub struct CassandraCppStatement {
    prepared: PreparedStatement,
    markers: usize,
    /// The result's columns as the first answer had them: libcassandra does not expose those of PREPARED.
    columns: Columns,
}

impl CassandraCppSession {
    pub(crate) fn new(session: cassandra_cpp::Session, options: &ConnectOptions) -> CassandraCppSession {
        match options.settings {
            Settings::Equal => CassandraCppSession {
                session,
                // LOCAL_ONE is libcassandra's default (cassandra.h, cass_statement_set_consistency).
                consistency: (options.consistency != Consistency::LocalOne).then(|| consistency(options.consistency)),
                page_size: Some(options.page_size),
            },
            Settings::Default => CassandraCppSession { session, consistency: None, page_size: None },
        }
    }

    #[inline(always)]
    fn bind(&self, prepared: &CassandraCppStatement, values: &[Value<'_>]) -> Result<Statement, DriverError> {
        if values.len() != prepared.markers {
            // libcassandra would send the missing ones as not set.
            return Err(errors::wrong_number_of_values(prepared.markers, values.len()));
        }
        let mut statement = prepared.prepared.bind();
        if let Some(consistency) = self.consistency {
            statement.set_consistency(consistency).map_err(errors::at_value)?;
        }
        if let Some(page_size) = self.page_size
            && prepared.columns.may_be_answered()
        {
            statement.set_paging_size(page_size).map_err(errors::at_value)?;
        }
        values::bind(&mut statement, values, Some(&prepared.prepared))?;
        Ok(statement)
    }

    /// Fetches the pages behind `page`.
    #[cold]
    async fn next_pages(
        &self,
        prepared: &CassandraCppStatement,
        values: &[Value<'_>],
        mut page: CassResult,
        rows: &mut Rows,
    ) -> Result<(), DriverError> {
        loop {
            // Executing consumes a statement, so the next page needs a new one.
            let mut statement = self.bind(prepared, values)?;
            statement.set_paging_state(page).map_err(errors::at_value)?;
            page = statement.execute().await.map_err(errors::at_execute)?;
            if !values::decode(&page, &prepared.columns, rows)? || !page.has_more_pages() {
                return Ok(());
            }
        }
    }

    /// A statement that is not prepared.
    fn text(&self, cql: &str) -> Result<Statement, DriverError> {
        let mut statement = self.session.statement(cql);
        if let Some(consistency) = self.consistency {
            statement.set_consistency(consistency).map_err(errors::at_value)?;
        }
        Ok(statement)
    }

    /// The same with values and pages.
    fn unprepared(&self, cql: &str, values: &[Value<'_>]) -> Result<Statement, DriverError> {
        let mut statement = self.text(cql)?;
        if let Some(page_size) = self.page_size {
            statement.set_paging_size(page_size).map_err(errors::at_value)?;
        }
        values::bind(&mut statement, values, None)?;
        Ok(statement)
    }
}

impl Session for CassandraCppSession {
    type Statement = CassandraCppStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        self.text(cql)?.execute().await.map(drop).map_err(errors::at_execute)
    }

    async fn prepare(&self, cql: &str) -> Result<CassandraCppStatement, DriverError> {
        let prepared = self.session.prepare(cql).await.map_err(errors::at_execute)?;
        // The crate tells the markers' names, but not their number.
        let markers = (0..).take_while(|index| prepared.parameter_name(*index).is_ok()).count();
        Ok(CassandraCppStatement { prepared, markers, columns: Columns::default() })
    }

    #[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments twice: once as given, once as used")]
    fn execute(
        &self,
        prepared: &CassandraCppStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<(), DriverError>> + Send {
        async move {
            // No map_err, which would move 152 bytes for an error after every answer.
            let page = match self.bind(prepared, values)?.execute().await {
                Ok(page) => page,
                Err(error) => return Err(errors::at_execute(error)),
            };
            if values::decode(&page, &prepared.columns, rows)? && page.has_more_pages() {
                // Boxed, so that a statement with one page does not carry it along.
                return Box::pin(self.next_pages(prepared, values, page, rows)).await;
            }
            Ok(())
        }
    }

    async fn batch(&self, prepared: &CassandraCppStatement, rows: BatchRows<'_>) -> Result<(), DriverError> {
        let kind = if rows.is_logged { BatchType::LOGGED } else { BatchType::UNLOGGED };
        let mut batch = self.session.batch(kind);
        if let Some(consistency) = self.consistency {
            batch.set_consistency(consistency).map_err(errors::at_value)?;
        }
        for row in rows.iter() {
            if row.len() != prepared.markers {
                return Err(errors::wrong_number_of_values(prepared.markers, row.len()));
            }
            let mut statement = prepared.prepared.bind();
            values::bind(&mut statement, row, Some(&prepared.prepared))?;
            batch.add_statement(statement).map_err(errors::at_value)?;
        }
        batch.execute().await.map(drop).map_err(errors::at_execute)
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        let columns = Columns::default();
        let mut statement = self.unprepared(cql, values)?;
        loop {
            let page = statement.execute().await.map_err(errors::at_execute)?;
            if !values::decode(&page, &columns, rows)? || !page.has_more_pages() {
                return Ok(());
            }
            statement = self.unprepared(cql, values)?;
            statement.set_paging_state(page).map_err(errors::at_value)?;
        }
    }
}

pub(crate) fn consistency(asked: Consistency) -> cassandra_cpp::Consistency {
    match asked {
        Consistency::One => cassandra_cpp::Consistency::ONE,
        Consistency::Two => cassandra_cpp::Consistency::TWO,
        Consistency::Three => cassandra_cpp::Consistency::THREE,
        Consistency::Quorum => cassandra_cpp::Consistency::QUORUM,
        Consistency::All => cassandra_cpp::Consistency::ALL,
        Consistency::LocalQuorum => cassandra_cpp::Consistency::LOCAL_QUORUM,
        Consistency::EachQuorum => cassandra_cpp::Consistency::EACH_QUORUM,
        Consistency::LocalOne => cassandra_cpp::Consistency::LOCAL_ONE,
    }
}
