//! A node without clients: what statements bind and give back, and what comes back from rows that were loaded.

use std::io;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::codec::request::{QueryParameters, Values};
use crate::codec::response::Rows;
use crate::error::{CqlError, Result};
use crate::execute::select::select;
use crate::execute::values::bind;
use crate::execute::write::{Target, TimestampSource, modify};
use crate::node::state::{NodeOptions, NodeState};
use crate::node::statement::Statement;
use crate::prepared::CqlPlan;
use crate::storage::database::Database;
use crate::system;
use crate::types::{ColumnSpec, Value};

/// See the module.
#[derive(Debug)]
pub struct Rehearsal {
    runtime: Runtime,
    state: NodeState,
}

/// A statement of a [`Rehearsal`].
#[derive(Debug)]
pub struct Rehearsed(Arc<Statement>);

impl Rehearsal {
    /// A node without tables.
    ///
    /// # Errors
    /// When the system gives it no runtime.
    pub fn new() -> io::Result<Rehearsal> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let database = Arc::new(Database::new(system::catalog(), 0));
        Ok(Rehearsal { runtime, state: NodeState::new(database, NodeOptions::default()) })
    }

    /// Runs a statement of a schema.
    ///
    /// # Errors
    /// When it is refused.
    pub fn define(&self, cql: &str) -> Result<()> {
        match self.state.resolve(cql, None)?.0.plan {
            CqlPlan::Ddl(ddl) => self.state.apply(&ddl).map(drop),
            // Its tables are new.
            CqlPlan::Truncate(_) => Ok(()),
            _ => self.execute(&self.prepare(cql)?, Vec::new()).map(drop),
        }
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// When it is refused.
    pub fn prepare(&self, cql: &str) -> Result<Rehearsed> {
        self.state.prepare(0, cql, None).map(Rehearsed)
    }

    /// Runs a SELECT, or an INSERT, UPDATE or DELETE without IF. Returns the number of rows, and their values as [bytes] one by one.
    ///
    /// # Errors
    /// When it is refused.
    pub fn execute(&self, statement: &Rehearsed, values: Vec<Value<'_>>) -> Result<(usize, Vec<u8>)> {
        let Statement { prepared, store, .. } = &*statement.0;
        let store = store.as_ref().ok_or(CqlError::Stale)?;
        let wrong = |markers, given| format!("there were {markers} markers(?) in CQL but {given} bound variables");
        let values = Values::Positional(values);
        let values = bind(&prepared.bind_markers, &values, wrong)?;
        match &prepared.plan {
            CqlPlan::Select(plan) => {
                let parameters = QueryParameters::default();
                let Rows { count, values, .. } = self.runtime.block_on(select(store, plan, &values, &parameters))?;
                Ok((usize::try_from(count).unwrap_or(0), values))
            }
            CqlPlan::Modify(plan) if plan.condition.is_none() => {
                let source = TimestampSource::Server(self.state.database.clock.begin());
                modify(store, plan, &values, source, Target::Shards)?;
                Ok((0, Vec::new()))
            }
            _ => Err(CqlError::invalid("Only a SELECT, INSERT, UPDATE or DELETE can be rehearsed")),
        }
    }
}

impl Rehearsed {
    /// What its markers take, in their order.
    pub fn markers(&self) -> &[ColumnSpec] {
        &self.0.prepared.bind_markers
    }

    /// The columns of the rows that come back.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.0.prepared.result_columns
    }

    /// The markers of its partition key, if they bind all of it.
    pub fn partition_key(&self) -> &[u16] {
        &self.0.prepared.partition_key_indexes
    }

    /// Its tables, each with its keyspace.
    pub fn tables(&self) -> Vec<String> {
        let tables = self.0.prepared.plan.tables();
        tables.iter().map(|table| format!("{}.{}", table.keyspace, table.name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::CqlType;

    #[test]
    fn a_statement_says_what_it_binds_and_loaded_rows_come_back() {
        let node = Rehearsal::new().unwrap();
        node.define("CREATE KEYSPACE a WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            .unwrap();
        node.define("CREATE TABLE a.t (k text, c int, PRIMARY KEY (k, c))").unwrap();
        let insert = node.prepare("INSERT INTO a.t (k, c) VALUES (:key, ?)").unwrap();
        let markers: Vec<_> = insert.markers().iter().map(|one| (&*one.name, one.ty.clone())).collect();
        assert_eq!(markers, [("key", CqlType::Text), ("c", CqlType::Int)]);
        assert_eq!((insert.partition_key(), insert.tables()), (&[0][..], vec!["a.t".to_owned()]));
        for at in [0u8, 1] {
            node.execute(&insert, vec![Value::Bytes(b"x"), Value::Bytes(&[0, 0, 0, at])]).unwrap();
        }
        let select = node.prepare("SELECT c FROM a.t WHERE k = ?").unwrap();
        let found = node.execute(&select, vec![Value::Bytes(b"x")]).unwrap();
        assert_eq!(found, (2, vec![0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1]));
        assert!(node.execute(&insert, Vec::new()).is_err() && node.define("SELECT d FROM a.t").is_err());
    }
}
