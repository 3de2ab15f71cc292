//! All keyspaces of a node, and the changes that DDL makes to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use md5::{Digest, Md5};
use uuid::{Builder, Uuid};

use super::alteration::altered_table;
use super::user_types::{altered_type, check_size};
use super::{Ddl, Definition, Keyspace, Table, TableId};
use crate::error::{CqlError, Result, invalid};
use crate::types::{CqlType, UserType};

/// What happened to a keyspace or table (native_protocol_v4.spec section 4.2.5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeType {
    /// `CREATED`
    Created,
    /// `UPDATED`
    Updated,
    /// `DROPPED`
    Dropped,
}

/// What was changed within a keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The keyspace itself.
    Keyspace,
    /// The table of this name.
    Table(Arc<str>),
    /// The user-defined type of this name.
    Type(Arc<str>),
}

/// A table before and after a change of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Altered {
    /// Before.
    pub old: Arc<Table>,
    /// After.
    pub new: Arc<Table>,
}

impl Altered {
    /// Whether statements that were prepared before are wrong now.
    pub(crate) fn affects_statements(&self) -> bool {
        self.old.version != self.new.version
    }
}

/// A change that was made: for the result of the statement, the events, and the tables' storage.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaChange {
    /// What happened.
    pub change: ChangeType,
    /// The keyspace.
    pub keyspace: Arc<str>,
    /// What it happened to.
    pub changed: Changed,
    /// The new table.
    pub created: Option<Arc<Table>>,
    /// The tables that are different now.
    pub altered: Vec<Altered>,
    /// The tables that are gone.
    pub dropped: Vec<Arc<Table>>,
    /// The types that changed or are gone: those that use a changed type, and those of a dropped keyspace.
    pub types: Vec<Arc<str>>,
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

    /// Makes the change; `None` when there is nothing to change.
    pub fn apply(&mut self, ddl: &Ddl) -> Result<Option<SchemaChange>> {
        let change = self.change(ddl)?;
        self.changes += u64::from(change.is_some());
        Ok(change)
    }

    fn change(&mut self, ddl: &Ddl) -> Result<Option<SchemaChange>> {
        let name = &*ddl.keyspace;
        let refused = |error: CqlError| if ddl.conditional { Ok(None) } else { Err(error) };
        // What is not there: the keyspace, or something within it.
        let missing = |is_within: bool| {
            let what = match (&ddl.definition, is_within) {
                (Definition::AlterTable(table, _), _) | (Definition::DropTable(table), true) => {
                    format!("Table '{name}.{table}'")
                }
                (Definition::AlterType(of, _), _) => format!("Type {name}.{of}"),
                (Definition::DropType(of), _) => format!("Type '{name}.{of}'"),
                _ => format!("Keyspace '{name}'"),
            };
            CqlError::Invalid(format!("{what} doesn't exist"))
        };
        let Some(keyspace) = self.keyspaces.get_mut(name) else {
            return match &ddl.definition {
                Definition::CreateKeyspace(new) => {
                    self.keyspaces.insert(name.to_owned(), new.clone());
                    Ok(Some(SchemaChange::new(ChangeType::Created, &new.name)))
                }
                // IF NOT EXISTS does not cover a keyspace that is missing.
                Definition::CreateTable(_) | Definition::CreateType(_) => Err(missing(false)),
                _ => refused(missing(false)),
            };
        };
        Ok(Some(match &ddl.definition {
            Definition::CreateKeyspace(_) => {
                return refused(CqlError::AlreadyExists { keyspace: name.to_owned(), table: None });
            }
            Definition::AlterKeyspace(new) => {
                if !new.replication.is_empty() {
                    keyspace.replication.clone_from(&new.replication);
                }
                keyspace.durable_writes = new.durable_writes;
                SchemaChange::new(ChangeType::Updated, &new.name)
            }
            Definition::DropKeyspace => {
                let change = SchemaChange {
                    dropped: keyspace.tables.values().cloned().collect(),
                    types: keyspace.types.values().map(|ty| ty.name.clone()).collect(),
                    ..SchemaChange::new(ChangeType::Dropped, &keyspace.name)
                };
                self.keyspaces.remove(name);
                change
            }
            Definition::CreateTable(new) => {
                if keyspace.tables.contains_key(&*new.name) {
                    let (keyspace, table) = (name.to_owned(), Some(new.name.to_string()));
                    return refused(CqlError::AlreadyExists { keyspace, table });
                }
                keyspace.check_known(new.columns.iter().map(|column| &column.ty))?;
                let table = Arc::new(self.identified(Table::clone(new)));
                if let Some(keyspace) = self.keyspaces.get_mut(name) {
                    keyspace.tables.insert(new.name.to_string(), table.clone());
                }
                SchemaChange { created: Some(table), ..SchemaChange::of_table(ChangeType::Created, new) }
            }
            Definition::AlterTable(table, alteration) => {
                let Some(old) = keyspace.tables.get(table).cloned() else { return refused(missing(true)) };
                let new = Arc::new(altered_table(&old, alteration, &keyspace.types)?);
                if new == old {
                    return Ok(None);
                }
                keyspace.tables.insert(table.clone(), new.clone());
                SchemaChange {
                    altered: vec![Altered { old, new: new.clone() }],
                    ..SchemaChange::of_table(ChangeType::Updated, &new)
                }
            }
            Definition::DropTable(table) => {
                let Some(table) = keyspace.tables.remove(table) else { return refused(missing(true)) };
                SchemaChange { dropped: vec![table.clone()], ..SchemaChange::of_table(ChangeType::Dropped, &table) }
            }
            Definition::CreateType(new) => {
                if keyspace.types.contains_key(&*new.name) {
                    let text = format!("A user type with name '{}' already exists", new.name);
                    return refused(CqlError::Invalid(text));
                }
                keyspace.check_known(new.types.iter())?;
                keyspace.types.insert(new.name.to_string(), new.clone());
                SchemaChange::of_type(ChangeType::Created, &new.keyspace, &new.name)
            }
            Definition::AlterType(of, alteration) => {
                let Some(old) = keyspace.types.get(of) else { return refused(missing(true)) };
                let new = Arc::new(altered_type(old, alteration, &keyspace.types)?);
                if new == *old {
                    return Ok(None);
                }
                let (types, altered) = keyspace.replace_type(&new)?;
                SchemaChange { types, altered, ..SchemaChange::of_type(ChangeType::Updated, &new.keyspace, &new.name) }
            }
            Definition::DropType(of) => {
                let Some(old) = keyspace.types.get(of).cloned() else { return refused(missing(true)) };
                keyspace.check_unused(&old)?;
                keyspace.types.remove(of);
                SchemaChange::of_type(ChangeType::Dropped, &old.keyspace, &old.name)
            }
        }))
    }
}

impl Keyspace {
    /// Puts a type in the place of its older version wherever that is used, and returns the types and tables that are different now.
    fn replace_type(&mut self, new: &Arc<UserType>) -> Result<(Vec<Arc<str>>, Vec<Altered>)> {
        let (mut types, mut changed) = (self.types.clone(), Vec::new());
        for ty in types.values_mut() {
            let with_it = CqlType::User(ty.clone()).with_user(new);
            let Some(replaced) = with_it.user().filter(|replaced| *replaced != ty) else { continue };
            check_size(replaced)?;
            changed.push(ty.name.clone());
            *ty = replaced.clone();
        }
        self.types = types;
        let mut altered = Vec::new();
        for table in self.tables.values_mut() {
            if !table.columns.iter().any(|column| column.ty.uses(&new.name)) {
                continue;
            }
            let mut other = Table::clone(table);
            other.columns.iter_mut().for_each(|column| column.ty = column.ty.with_user(new));
            other.version += 1;
            let other = Arc::new(other);
            altered.push(Altered { old: std::mem::replace(table, other.clone()), new: other });
        }
        Ok((changed, altered))
    }

    /// Checks that types have not changed since the statement was read.
    fn check_known<'a>(&self, types: impl Iterator<Item = &'a CqlType>) -> Result<()> {
        match types.flat_map(user_types).find(|ty| self.types.get(&*ty.name) != Some(*ty)) {
            Some(changed) => invalid(format!("Unknown type {}.{}", changed.keyspace, changed.name)),
            None => Ok(()),
        }
    }

    fn check_unused(&self, ty: &UserType) -> Result<()> {
        let refused = |what: &str, users: Vec<&str>| {
            if users.is_empty() {
                return Ok(());
            }
            let shown = format!("{}.{}", ty.keyspace, ty.name);
            invalid(format!("Cannot drop user type '{shown}' as it is still used by {what} {}", users.join(", ")))
        };
        let within = |types: &[CqlType]| types.iter().any(|one| one.uses(&ty.name));
        let types = self.types.values().filter(|other| within(&other.types)).map(|other| &*other.name);
        refused("user types", types.collect())?;
        let uses = |table: &Table| table.columns.iter().any(|column| column.ty.uses(&ty.name));
        refused("tables", self.tables.values().filter(|table| uses(table)).map(|table| &*table.name).collect())
    }
}

/// The user-defined types that a type is or has within, but not those in their fields.
fn user_types(ty: &CqlType) -> Vec<&Arc<UserType>> {
    match ty {
        CqlType::User(user) => vec![user],
        other => other.elements().iter().flat_map(user_types).collect(),
    }
}

impl SchemaChange {
    /// Of a keyspace.
    pub fn new(change: ChangeType, keyspace: &Arc<str>) -> Self {
        SchemaChange {
            change,
            keyspace: keyspace.clone(),
            changed: Changed::Keyspace,
            created: None,
            altered: Vec::new(),
            dropped: Vec::new(),
            types: Vec::new(),
        }
    }

    fn of_table(change: ChangeType, table: &Table) -> Self {
        SchemaChange { changed: Changed::Table(table.name.clone()), ..SchemaChange::new(change, &table.keyspace) }
    }

    fn of_type(change: ChangeType, keyspace: &Arc<str>, name: &Arc<str>) -> Self {
        SchemaChange { changed: Changed::Type(name.clone()), ..SchemaChange::new(change, keyspace) }
    }

    /// All events of the change, in order: of what goes with a keyspace before it, and of the types and tables that use a type.
    pub(crate) fn events(&self) -> Vec<SchemaChange> {
        let table = |table: &Arc<Table>| SchemaChange::of_table(self.change, table);
        let types = self.types.iter().map(|name| SchemaChange::of_type(self.change, &self.keyspace, name));
        match self.changed {
            Changed::Keyspace => self.dropped.iter().map(table).chain(types).chain([self.clone()]).collect(),
            Changed::Type(_) if !self.altered.is_empty() || !self.types.is_empty() => {
                types.chain(self.altered.iter().map(|altered| table(&altered.new))).collect()
            }
            _ => vec![self.clone()],
        }
    }
}

/// A UUID that is a function of the name (version 3).
pub fn name_uuid(name: &str) -> Uuid {
    Builder::from_md5_bytes(Md5::digest(name.as_bytes()).into()).into_uuid()
}
