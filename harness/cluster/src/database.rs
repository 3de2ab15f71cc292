//! What outlives a restart of the node: the catalog, and the rows of its tables.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use crate::clock::Clock;
use crate::execute::check_sortable;
use crate::plan::{CqlError, Ddl};
use crate::schema::{Catalog, SchemaChange, Table, TableId};
use crate::storage::table::{TableStore, shards_for};

/// See the module.
#[derive(Debug)]
pub struct Database {
    catalog: RwLock<Catalog>,
    stores: RwLock<HashMap<TableId, Arc<TableStore>>>,
    clock: Clock,
    shards: usize,
    /// Rows for which the first table is to have memory at hand; taken by that table.
    expect_rows: Mutex<u64>,
}

impl Database {
    /// Without keyspaces but those of the system. Memory for `expect_rows` rows is got ready with the first table.
    pub fn new(expect_rows: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Database {
            catalog: RwLock::new(Catalog::new()),
            stores: RwLock::new(HashMap::new()),
            clock: Clock::default(),
            shards: shards_for(cores),
            expect_rows: Mutex::new(expect_rows),
        }
    }

    /// The catalog as it is now.
    pub fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock of writes.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The rows of a table; none for a virtual or dropped one.
    pub fn store(&self, table: &Table) -> Option<Arc<TableStore>> {
        self.stores.read().unwrap_or_else(PoisonError::into_inner).get(&table.id).cloned()
    }

    /// Rows to be seen, by table (`keyspace.table`).
    pub fn rows_by_table(&self) -> BTreeMap<String, u64> {
        let stores: Vec<_> = self.stores.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let name = |table: &Table| format!("{}.{}", table.keyspace, table.name);
        stores.iter().map(|store| (name(store.table()), store.live())).collect()
    }

    /// Makes the change that a DDL statement asks for; `None` when `IF [NOT] EXISTS` makes it none.
    ///
    /// # Errors
    /// As [`Catalog::apply`], and for clustering columns that cannot be sorted.
    pub fn apply(&self, ddl: &Ddl) -> Result<Option<SchemaChange>, CqlError> {
        if let Ddl::CreateTable { table, .. } = ddl {
            check_sortable(table)?;
        }
        // Memory for millions of rows takes a moment to get ready: before the lock is taken.
        let ready = match ddl {
            Ddl::CreateTable { table, .. } => {
                Some(TableStore::new(Arc::new(Table::clone(table)), self.shards, *self.expect_rows()))
            }
            _ => None,
        };
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        let Some(change) = catalog.apply(ddl)? else { return Ok(None) };
        let mut dropped = Vec::new();
        {
            let mut stores = self.stores.write().unwrap_or_else(PoisonError::into_inner);
            if let (Some(table), Some(store)) = (&change.created, ready) {
                *self.expect_rows() = 0;
                stores.insert(table.id, Arc::new(store.identified(table.clone())));
            }
            dropped.extend(change.dropped.iter().filter_map(|table| stores.remove(&table.id)));
        }
        drop(catalog);
        // Millions of rows take a moment to free: not under a lock.
        drop(dropped);
        Ok(Some(change))
    }

    fn expect_rows(&self) -> MutexGuard<'_, u64> {
        self.expect_rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
