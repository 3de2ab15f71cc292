//! What survives a restart of the node: the catalog and the rows of its tables.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use super::clock::Clock;
use super::clustering::check_sortable;
use super::table::{TableStore, shards_for};
use crate::error::Result;
use crate::schema::{Catalog, Ddl, Definition, SchemaChange, Table, TableId};

#[derive(Debug)]
pub struct Database {
    catalog: RwLock<Catalog>,
    stores: RwLock<HashMap<TableId, Arc<TableStore>>>,
    pub clock: Clock,
    shards: usize,
    expect_rows: Mutex<u64>,
}

impl Database {
    /// With this catalog and no rows. The first table gets memory for `expect_rows` rows.
    pub fn new(catalog: Catalog, expect_rows: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Database {
            catalog: RwLock::new(catalog),
            stores: RwLock::new(HashMap::new()),
            clock: Clock::default(),
            shards: shards_for(cores),
            expect_rows: Mutex::new(expect_rows),
        }
    }

    pub fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of a table; `None` for a virtual or dropped one.
    pub fn store(&self, table: &Table) -> Option<Arc<TableStore>> {
        self.stores.read().unwrap_or_else(PoisonError::into_inner).get(&table.id).cloned()
    }

    pub fn rows_by_table(&self) -> BTreeMap<String, u64> {
        let stores: Vec<_> = self.stores.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let name = |table: &Table| format!("{}.{}", table.keyspace, table.name);
        stores.iter().map(|store| (name(&store.table), store.live())).collect()
    }

    /// Makes the change; `None` when `IF [NOT] EXISTS` makes it none.
    pub fn apply(&self, ddl: &Ddl) -> Result<Option<SchemaChange>> {
        // Before the lock is taken: memory for millions of rows takes a moment.
        let ready = match &ddl.definition {
            Definition::CreateTable(table) => {
                check_sortable(table)?;
                Some(TableStore::new(Arc::new(Table::clone(table)), self.shards, *self.expect_rows()))
            }
            _ => None,
        };
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        let Some(change) = catalog.apply(ddl)? else { return Ok(None) };
        let mut dropped = Vec::new();
        {
            let mut stores = self.stores.write().unwrap_or_else(PoisonError::into_inner);
            if let (Some(table), Some(mut store)) = (&change.created, ready) {
                *self.expect_rows() = 0;
                store.table = table.clone();
                stores.insert(table.id, Arc::new(store));
            }
            dropped.extend(change.dropped.iter().filter_map(|table| stores.remove(&table.id)));
        }
        drop(catalog);
        // After the lock is released: millions of rows take a moment to free.
        drop(dropped);
        Ok(Some(change))
    }

    fn expect_rows(&self) -> MutexGuard<'_, u64> {
        self.expect_rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
