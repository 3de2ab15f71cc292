//! All keyspaces of a node, and the changes that DDL makes to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use md5::{Digest, Md5};
use uuid::{Builder, Uuid};

use super::{Ddl, Definition, Keyspace, Table, TableId};
use crate::error::{CqlError, Result};

/// What happened to a keyspace or table (native_protocol_v4.spec section 4.2.5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `CREATED`
    Created,
    /// `UPDATED`
    Updated,
    /// `DROPPED`
    Dropped,
}

/// A change that was made: for the result of the statement, the events, and the tables' storage.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaChange {
    /// What happened.
    pub change: Change,
    /// The keyspace.
    pub keyspace: Arc<str>,
    /// The table; `None` when the keyspace itself was changed.
    pub table: Option<Arc<str>>,
    /// The new table.
    pub created: Option<Arc<Table>>,
    /// The tables that are gone.
    pub dropped: Vec<Arc<Table>>,
}

/// The keyspaces of a node, including the system's.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    keyspaces: BTreeMap<String, Keyspace>,
    changes: u64,
    next_table: u32,
}

impl Catalog {
    /// The catalog of a new node, with the system's keyspaces.
    pub fn new(system: Vec<Keyspace>) -> Self {
        let mut catalog = Catalog::default();
        for mut keyspace in system {
            for table in keyspace.tables.values_mut() {
                *table = Arc::new(catalog.identified(Table::clone(table)));
            }
            catalog.keyspaces.insert(keyspace.name.to_string(), keyspace);
        }
        catalog
    }

    /// The keyspace of this name.
    pub fn keyspace(&self, name: &str) -> Option<&Keyspace> {
        self.keyspaces.get(name)
    }

    /// All keyspaces by name.
    pub fn keyspaces(&self) -> impl Iterator<Item = &Keyspace> {
        self.keyspaces.values()
    }

    /// The table of this name.
    pub fn table(&self, keyspace: &str, name: &str) -> Option<&Arc<Table>> {
        self.keyspaces.get(keyspace)?.tables.get(name)
    }

    /// Changes with every change of the schema, and only then.
    pub fn schema_version(&self) -> Uuid {
        name_uuid(&format!("schema {}", self.changes))
    }

    fn identified(&mut self, mut table: Table) -> Table {
        table.id = TableId(self.next_table);
        table.uuid = name_uuid(&format!("table {} {}.{}", self.next_table, table.keyspace, table.name));
        self.next_table += 1;
        table
    }

    /// Makes the change; `None` when `IF [NOT] EXISTS` makes it none.
    pub fn apply(&mut self, ddl: &Ddl) -> Result<Option<SchemaChange>> {
        let creates = matches!(ddl.definition, Definition::CreateKeyspace(_) | Definition::CreateTable(_));
        match self.make(&ddl.definition) {
            Ok(change) => {
                self.changes += 1;
                Ok(Some(change))
            }
            // IF EXISTS also covers a keyspace that is missing, IF NOT EXISTS does not.
            Err(error) if ddl.conditional && (!creates || matches!(error, CqlError::AlreadyExists { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn make(&mut self, definition: &Definition) -> Result<SchemaChange> {
        match definition {
            Definition::CreateKeyspace(new) => {
                if self.keyspaces.contains_key(&*new.name) {
                    return Err(CqlError::AlreadyExists { keyspace: new.name.to_string(), table: None });
                }
                self.keyspaces.insert(new.name.to_string(), new.clone());
                Ok(SchemaChange::new(Change::Created, &new.name))
            }
            Definition::AlterKeyspace(new) => {
                let keyspace = self.keyspaces.get_mut(&*new.name).ok_or_else(|| no_keyspace(&new.name))?;
                if !new.replication.is_empty() {
                    keyspace.replication.clone_from(&new.replication);
                }
                keyspace.durable_writes = new.durable_writes;
                Ok(SchemaChange::new(Change::Updated, &new.name))
            }
            Definition::DropKeyspace(name) => {
                let keyspace = self.keyspaces.remove(name).ok_or_else(|| no_keyspace(name))?;
                let dropped = keyspace.tables.into_values().collect();
                Ok(SchemaChange { dropped, ..SchemaChange::new(Change::Dropped, &keyspace.name) })
            }
            Definition::CreateTable(new) => {
                let keyspace = self.keyspaces.get(&*new.keyspace).ok_or_else(|| no_keyspace(&new.keyspace))?;
                if keyspace.tables.contains_key(&*new.name) {
                    let (keyspace, table) = (new.keyspace.to_string(), Some(new.name.to_string()));
                    return Err(CqlError::AlreadyExists { keyspace, table });
                }
                let table = Arc::new(self.identified(Table::clone(new)));
                if let Some(keyspace) = self.keyspaces.get_mut(&*new.keyspace) {
                    keyspace.tables.insert(new.name.to_string(), table.clone());
                }
                Ok(SchemaChange { created: Some(table), ..SchemaChange::of_table(Change::Created, new) })
            }
            Definition::DropTable { keyspace, table: name } => {
                let of = self.keyspaces.get_mut(keyspace).ok_or_else(|| no_keyspace(keyspace))?;
                let missing = || CqlError::Invalid(format!("Table '{keyspace}.{name}' doesn't exist"));
                let table = of.tables.remove(name).ok_or_else(missing)?;
                Ok(SchemaChange { dropped: vec![table.clone()], ..SchemaChange::of_table(Change::Dropped, &table) })
            }
        }
    }
}

impl SchemaChange {
    fn new(change: Change, keyspace: &Arc<str>) -> Self {
        SchemaChange { change, keyspace: keyspace.clone(), table: None, created: None, dropped: Vec::new() }
    }

    /// A change of a table, which also is the event for one that went with its keyspace.
    pub(crate) fn of_table(change: Change, table: &Table) -> Self {
        SchemaChange { table: Some(table.name.clone()), ..SchemaChange::new(change, &table.keyspace) }
    }
}

fn no_keyspace(name: &str) -> CqlError {
    CqlError::Invalid(format!("Keyspace '{name}' doesn't exist"))
}

/// A UUID that is a function of the name (version 3).
pub fn name_uuid(name: &str) -> Uuid {
    Builder::from_md5_bytes(Md5::digest(name.as_bytes()).into()).into_uuid()
}
