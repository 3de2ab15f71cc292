//! All keyspaces of a node, and the changes that DDL makes to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use md5::{Digest, Md5};
use uuid::{Builder, Uuid};

use super::{Ddl, Keyspace, Table, TableId};
use crate::error::CqlError;

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
    pub fn apply(&mut self, ddl: &Ddl) -> Result<Option<SchemaChange>, CqlError> {
        let made = match ddl {
            Ddl::CreateKeyspace { keyspace, if_not_exists } => self.create_keyspace(keyspace, *if_not_exists),
            Ddl::AlterKeyspace { keyspace, if_exists } => self.alter_keyspace(keyspace, *if_exists),
            Ddl::DropKeyspace { keyspace, if_exists } => self.drop_keyspace(keyspace, *if_exists),
            Ddl::CreateTable { table, if_not_exists } => self.create_table(table, *if_not_exists),
            Ddl::DropTable { keyspace, table, if_exists } => self.drop_table(keyspace, table, *if_exists),
        }?;
        self.changes += u64::from(made.is_some());
        Ok(made)
    }

    fn create_keyspace(&mut self, new: &Keyspace, if_not_exists: bool) -> Result<Option<SchemaChange>, CqlError> {
        if self.keyspaces.contains_key(&*new.name) {
            let error = CqlError::AlreadyExists { keyspace: new.name.to_string(), table: String::new() };
            return if if_not_exists { Ok(None) } else { Err(error) };
        }
        self.keyspaces.insert(new.name.to_string(), new.clone());
        Ok(Some(SchemaChange::of_keyspace(Change::Created, &new.name)))
    }

    fn alter_keyspace(&mut self, new: &Keyspace, if_exists: bool) -> Result<Option<SchemaChange>, CqlError> {
        let Some(keyspace) = self.keyspaces.get_mut(&*new.name) else {
            return if if_exists { Ok(None) } else { Err(no_keyspace(&new.name)) };
        };
        if !new.replication.is_empty() {
            keyspace.replication.clone_from(&new.replication);
        }
        keyspace.durable_writes = new.durable_writes;
        Ok(Some(SchemaChange::of_keyspace(Change::Updated, &new.name)))
    }

    fn drop_keyspace(&mut self, name: &str, if_exists: bool) -> Result<Option<SchemaChange>, CqlError> {
        let Some(keyspace) = self.keyspaces.remove(name) else {
            return if if_exists { Ok(None) } else { Err(no_keyspace(name)) };
        };
        let mut change = SchemaChange::of_keyspace(Change::Dropped, &keyspace.name);
        change.dropped = keyspace.tables.into_values().collect();
        Ok(Some(change))
    }

    fn create_table(&mut self, new: &Table, if_not_exists: bool) -> Result<Option<SchemaChange>, CqlError> {
        let Some(keyspace) = self.keyspaces.get(&*new.keyspace) else { return Err(no_keyspace(&new.keyspace)) };
        if keyspace.tables.contains_key(&*new.name) {
            let error = CqlError::AlreadyExists { keyspace: new.keyspace.to_string(), table: new.name.to_string() };
            return if if_not_exists { Ok(None) } else { Err(error) };
        }
        let table = Arc::new(self.identified(new.clone()));
        if let Some(keyspace) = self.keyspaces.get_mut(&*new.keyspace) {
            keyspace.tables.insert(new.name.to_string(), table.clone());
        }
        Ok(Some(SchemaChange {
            change: Change::Created,
            keyspace: new.keyspace.clone(),
            table: Some(new.name.clone()),
            created: Some(table),
            dropped: Vec::new(),
        }))
    }

    fn drop_table(&mut self, keyspace: &str, name: &str, if_exists: bool) -> Result<Option<SchemaChange>, CqlError> {
        let Some(of) = self.keyspaces.get_mut(keyspace) else {
            return if if_exists { Ok(None) } else { Err(no_keyspace(keyspace)) };
        };
        let Some(table) = of.tables.remove(name) else {
            let error = CqlError::Invalid(format!("Table '{keyspace}.{name}' doesn't exist"));
            return if if_exists { Ok(None) } else { Err(error) };
        };
        Ok(Some(SchemaChange {
            change: Change::Dropped,
            keyspace: of.name.clone(),
            table: Some(table.name.clone()),
            created: None,
            dropped: vec![table],
        }))
    }
}

impl SchemaChange {
    /// The event for a table that went with its keyspace.
    pub(crate) fn of_dropped_table(table: &Table) -> Self {
        let mut change = SchemaChange::of_keyspace(Change::Dropped, &table.keyspace);
        change.table = Some(table.name.clone());
        change
    }

    fn of_keyspace(change: Change, keyspace: &Arc<str>) -> Self {
        SchemaChange { change, keyspace: keyspace.clone(), table: None, created: None, dropped: Vec::new() }
    }
}

fn no_keyspace(name: &str) -> CqlError {
    CqlError::Invalid(format!("Keyspace '{name}' doesn't exist"))
}

/// A UUID that is a function of the name (version 3).
pub fn name_uuid(name: &str) -> Uuid {
    Builder::from_md5_bytes(Md5::digest(name.as_bytes()).into()).into_uuid()
}
