//! DESCRIBE, as Cassandra answers it since 4.0.

use std::collections::BTreeMap;

use super::definitions::VIRTUAL_SCHEMA;
use super::local::STORAGE_PORT;
use super::{NodeIdentity, PARTITIONER, SystemView};
use crate::codec::response::{MadeRows, Rows};
use crate::cql::{Describe, Described, Element, TableName};
use crate::error::{CqlError, Result, invalid};
use crate::ring::Replicas;
use crate::schema::{Catalog, Keyspace, Table, is_of_the_system};
use crate::types::{self as values, ColumnSpec, CqlType, Quoted, UserType};

/// What the node answers; `keyspace` is the one in use, and `owners` has the nodes of its ranges and all nodes.
///
/// # Errors
/// There is no such element, or no keyspace that it could be in.
pub fn describe(
    describe: &Describe,
    keyspace: Option<&str>,
    owners: Option<(&Replicas, &[NodeIdentity])>,
    view: &SystemView<'_>,
) -> Result<MadeRows> {
    let found = Finder { catalog: view.catalog, keyspace, internals: describe.internals };
    match &describe.what {
        Described::Cluster => Ok(cluster(owners, view)),
        Described::Names(element) => Ok(found.names(*element)),
        Described::Schema { full } => {
            let keyspaces = found.keyspaces().into_iter().filter(|one| *full || !is_of_the_system(&one.name));
            Ok(found.made(keyspaces.map(|keyspace| (keyspace, false))))
        }
        Described::Keyspace { name, only } => {
            let name = name.as_deref().or(keyspace).ok_or_else(no_keyspace)?;
            Ok(found.made([(found.keyspace(name)?, *only)]))
        }
        Described::One(element, name) => found.one(*element, name),
        Described::Any(name) => found.any(name),
    }
}

fn no_keyspace() -> CqlError {
    CqlError::invalid("No keyspace specified and no current keyspace")
}

fn column(name: &str, ty: CqlType) -> ColumnSpec {
    ColumnSpec::special(("system", "describe"), name, ty)
}

fn columns(names: &[&str]) -> Vec<ColumnSpec> {
    names.iter().map(|name| column(name, CqlType::Text)).collect()
}

fn cluster(owners: Option<(&Replicas, &[NodeIdentity])>, view: &SystemView<'_>) -> MadeRows {
    let partitioner = PARTITIONER.rsplit('.').next().unwrap_or(PARTITIONER);
    // The snitch around SimpleSnitch that Cassandra has by default.
    let names = [&view.node.cluster_name, partitioner, "DynamicEndpointSnitch"];
    let (mut columns, mut made) = (columns(&["cluster", "partitioner", "snitch"]), Rows::default());
    let owners = owners.map(|(replicas, nodes)| {
        let owners = CqlType::List(Box::new(CqlType::Text));
        columns.push(column("range_ownership", CqlType::Map(Box::new([CqlType::Text, owners]))));
        let address = |node: &usize| Some(format!("/{}:{STORAGE_PORT}", nodes.get(*node)?.address));
        let list = |owners: Vec<usize>| {
            let addresses: Vec<String> = owners.iter().filter_map(address).collect();
            values::write_list(addresses.iter().map(String::as_bytes))
        };
        let ranges: BTreeMap<String, Vec<u8>> =
            replicas.ranges().map(|(token, owners)| (token.to_string(), list(owners))).collect();
        values::write_map(&CqlType::Text, ranges.iter().map(|(token, list)| (token.as_bytes(), &list[..])).collect())
    });
    made.push(names.iter().map(|name| Some(name.as_bytes())).chain(owners.as_ref().map(|owners| Some(&owners[..]))));
    (columns, made)
}

struct Finder<'f> {
    catalog: &'f Catalog,
    keyspace: Option<&'f str>,
    internals: bool,
}

impl<'f> Finder<'f> {
    /// All keyspaces, by name in any case.
    fn keyspaces(&self) -> Vec<&'f Keyspace> {
        let mut all: Vec<&Keyspace> = self.catalog.keyspaces().collect();
        all.sort_by_key(|keyspace| keyspace.name.to_lowercase());
        all
    }

    fn keyspace(&self, name: &str) -> Result<&'f Keyspace> {
        self.catalog.keyspace(name).ok_or_else(|| CqlError::Invalid(format!("'{name}' not found in keyspaces")))
    }

    fn keyspace_of(&self, name: &TableName) -> Result<&'f Keyspace> {
        self.keyspace(name.keyspace.as_deref().or(self.keyspace).ok_or_else(no_keyspace)?)
    }

    /// The names of all elements of a kind in the keyspace in use, or in all.
    fn names(&self, element: Element) -> MadeRows {
        let mut made = (columns(&["keyspace_name", "type", "name"]), Rows::default());
        let mut push = |keyspace: &Keyspace, kind: &str, name: &str| push(&mut made, &keyspace.name, kind, name, None);
        for keyspace in self.keyspaces() {
            match element {
                Element::Keyspace => push(keyspace, "keyspace", &keyspace.name),
                Element::Table if self.keyspace.is_none_or(|used| used == &*keyspace.name) => {
                    tables(keyspace).iter().for_each(|table| push(keyspace, "table", &table.name));
                }
                Element::Type if self.keyspace.is_none_or(|used| used == &*keyspace.name) => {
                    types(keyspace).iter().for_each(|ty| push(keyspace, "type", &ty.name));
                }
                // There are none of the others.
                _ => {}
            }
        }
        made
    }

    /// Each keyspace with its types and tables, or alone.
    fn made(&self, keyspaces: impl IntoIterator<Item = (&'f Keyspace, bool)>) -> MadeRows {
        let mut made = elements();
        for (keyspace, only) in keyspaces {
            let is_virtual = &*keyspace.name == VIRTUAL_SCHEMA;
            push(&mut made, &keyspace.name, "keyspace", &keyspace.name, Some(&keyspace.create_statement(is_virtual)));
            if !only {
                types(keyspace).iter().for_each(|ty| push_type(&mut made, ty));
                tables(keyspace).iter().for_each(|table| self.push_table(&mut made, table));
            }
        }
        made
    }

    fn push_table(&self, made: &mut MadeRows, table: &Table) {
        let text = table.create_statement(&*table.keyspace == VIRTUAL_SCHEMA, self.internals);
        push(made, &table.keyspace, "table", &table.name, Some(&text));
    }

    fn one(&self, element: Element, name: &TableName) -> Result<MadeRows> {
        let keyspace = self.keyspace_of(name)?;
        let (what, place) = match element {
            Element::Keyspace => ("Keyspace", ""),
            Element::Table => ("Table", "keyspace "),
            Element::Type => ("User defined type", ""),
            Element::Function => ("User defined function", ""),
            Element::Aggregate => ("User defined aggregate", ""),
            Element::Index => ("Table for existing index", ""),
            Element::View => ("Materialized view", ""),
        };
        let table = keyspace.tables.get(&name.name).filter(|_| element == Element::Table);
        let ty = keyspace.types.get(&name.name).filter(|_| element == Element::Type);
        let mut made = elements();
        match (table, ty) {
            (Some(table), _) => self.push_table(&mut made, table),
            (_, Some(ty)) => push_type(&mut made, ty),
            _ => return invalid(format!("{what} '{}' not found in {place}'{}'", name.name, keyspace.name)),
        }
        Ok(made)
    }

    /// A keyspace of this name, or else a table.
    fn any(&self, name: &TableName) -> Result<MadeRows> {
        if name.keyspace.is_none() {
            match self.catalog.keyspace(&name.name) {
                Some(keyspace) => return Ok(self.made([(keyspace, false)])),
                None if self.keyspace.is_none() => return self.keyspace(&name.name).map(|_| elements()),
                None => {}
            }
        }
        let keyspace = self.keyspace_of(name)?;
        let Some(table) = keyspace.tables.get(&name.name) else {
            return invalid(format!("'{}' not found in keyspace '{}'", name.name, keyspace.name));
        };
        let mut made = elements();
        self.push_table(&mut made, table);
        Ok(made)
    }
}

/// The tables of a keyspace, by name in any case.
fn tables(keyspace: &Keyspace) -> Vec<&Table> {
    let mut all: Vec<&Table> = keyspace.tables.values().map(AsRef::as_ref).collect();
    all.sort_by_key(|table| table.name.to_lowercase());
    all
}

/// The types of a keyspace, by name in any case.
fn types(keyspace: &Keyspace) -> Vec<&UserType> {
    let mut all: Vec<&UserType> = keyspace.types.values().map(AsRef::as_ref).collect();
    all.sort_by_key(|ty| ty.name.to_lowercase());
    all
}

fn push_type(made: &mut MadeRows, ty: &UserType) {
    push(made, &ty.keyspace, "type", &ty.name, Some(&ty.create_statement()));
}

fn elements() -> MadeRows {
    (columns(&["keyspace_name", "type", "name", "create_statement"]), Rows::default())
}

fn push(made: &mut MadeRows, keyspace: &str, kind: &str, name: &str, text: Option<&str>) {
    let (keyspace, name) = (Quoted(keyspace).to_string(), Quoted(name).to_string());
    made.1.push([&*keyspace, kind, &name].into_iter().chain(text).map(|cell| Some(cell.as_bytes())));
}
