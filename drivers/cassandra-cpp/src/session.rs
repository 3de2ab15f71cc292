//! Preparing and executing.

use cassandra_cpp::{PreparedStatement, Statement};
use cqldyno_driver_api::{ConnectOptions, Consistency, DriverError, Rows, Session, Settings, Value};

use crate::{errors, values};

/// A connected cassandra-cpp.
#[derive(Debug)]
pub struct CassandraCppSession {
    session: cassandra_cpp::Session,
    /// Set on every statement, because the crate has no such setting for a session; `None` leaves the driver's default.
    per_statement: Option<PerStatement>,
}

#[derive(Debug)]
struct PerStatement {
    consistency: cassandra_cpp::Consistency,
    page_size: i32,
}

/// A prepared statement.
#[derive(Debug)]
pub struct CassandraCppStatement {
    prepared: PreparedStatement,
    markers: usize,
}

impl CassandraCppSession {
    pub(crate) fn new(session: cassandra_cpp::Session, options: &ConnectOptions) -> CassandraCppSession {
        let per_statement = match options.settings {
            Settings::Equal => {
                Some(PerStatement { consistency: consistency(options.consistency), page_size: options.page_size })
            }
            Settings::Default => None,
        };
        CassandraCppSession { session, per_statement }
    }

    #[inline]
    fn configure(&self, statement: &mut Statement) -> Result<(), DriverError> {
        if let Some(settings) = &self.per_statement {
            statement.set_consistency(settings.consistency).map_err(errors::at_bind)?;
            statement.set_paging_size(settings.page_size).map_err(errors::at_bind)?;
        }
        Ok(())
    }

    #[inline]
    fn bind(&self, prepared: &CassandraCppStatement, values: &[Value<'_>]) -> Result<Statement, DriverError> {
        if values.len() != prepared.markers {
            // libcassandra would send the missing ones as not set.
            return Err(errors::wrong_number_of_values(prepared.markers, values.len()));
        }
        let mut statement = prepared.prepared.bind();
        self.configure(&mut statement)?;
        values::bind(&mut statement, values)?;
        Ok(statement)
    }
}

impl Session for CassandraCppSession {
    type Statement = CassandraCppStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        let mut statement = self.session.statement(cql);
        self.configure(&mut statement)?;
        statement.execute().await.map_err(errors::at_execute)?;
        Ok(())
    }

    async fn prepare(&self, cql: &str) -> Result<CassandraCppStatement, DriverError> {
        let prepared = self.session.prepare(cql).await.map_err(errors::at_execute)?;
        // The crate tells the markers' names, but not how many there are.
        let markers = (0..).take_while(|index| prepared.parameter_name(*index).is_ok()).count();
        Ok(CassandraCppStatement { prepared, markers })
    }

    async fn execute(
        &self,
        prepared: &CassandraCppStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<(), DriverError> {
        let mut statement = self.bind(prepared, values)?;
        loop {
            let page = statement.execute().await.map_err(errors::at_execute)?;
            values::decode(&page, rows)?;
            if !page.has_more_pages() {
                return Ok(());
            }
            // Executing consumes a statement, so the next page wants a new one.
            statement = self.bind(prepared, values)?;
            statement.set_paging_state(page).map_err(errors::at_bind)?;
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
