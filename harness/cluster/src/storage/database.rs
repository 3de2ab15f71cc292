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

    /// The rows of a table; `None` for a virtual one, and for what was dropped or altered meanwhile.
    pub fn store(&self, table: &Table) -> Option<Arc<TableStore>> {
        let stores = self.stores.read().unwrap_or_else(PoisonError::into_inner);
        stores.get(&table.id).filter(|store| store.table.version == table.version).cloned()
    }

    pub fn rows_by_table(&self) -> BTreeMap<String, u64> {
        let stores: Vec<_> = self.stores.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let name = |table: &Table| format!("{}.{}", table.keyspace, table.name);
        stores.iter().map(|store| (name(&store.table), store.live())).collect()
    }

    /// Makes the change; `None` when there is nothing to change. Before rows move, `forget` removes the statements on tables that
    /// are altered or dropped, while nobody can prepare new ones.
    pub fn apply(&self, ddl: &Ddl, forget: impl FnOnce(&SchemaChange)) -> Result<Option<SchemaChange>> {
        // Before the lock is taken: memory for millions of rows takes a moment.
        let ready = match &ddl.definition {
            Definition::CreateTable(table) => {
                check_sortable(table)?;
                Some(TableStore::new(Arc::new(Table::clone(table)), self.shards, *self.expect_rows()))
            }
            _ => None,
        };
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = catalog.clone();
        let Some(change) = next.apply(ddl)? else { return Ok(None) };
        forget(&change);
        let mut dropped = Vec::new();
        {
            let mut stores = self.stores.write().unwrap_or_else(PoisonError::into_inner);
            if let (Some(table), Some(mut store)) = (&change.created, ready) {
                *self.expect_rows() = 0;
                store.table = table.clone();
                stores.insert(table.id, Arc::new(store));
            }
            for altered in change.altered.iter().filter(|altered| altered.affects_statements()) {
                if let Some(store) = stores.get_mut(&altered.new.id) {
                    let new = Arc::new(store.altered(&altered.new)?);
                    dropped.push(std::mem::replace(store, new));
                }
            }
            dropped.extend(change.dropped.iter().filter_map(|table| stores.remove(&table.id)));
        }
        *catalog = next;
        drop(catalog);
        // After the lock is released: millions of rows take a moment to free.
        drop(dropped);
        Ok(Some(change))
    }

    fn expect_rows(&self) -> MutexGuard<'_, u64> {
        self.expect_rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
