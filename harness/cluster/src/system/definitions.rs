//! The catalog of a new node, from the definitions of the system tables as CQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cql::{self, Definition, Statement};
use crate::schema::{Catalog, Keyspace, Table, UserTypes, define_table};

const DEFINITIONS: &str = include_str!("definitions.cql");

/// The keyspace that describes itself in its own tables and not in system_schema.
pub const VIRTUAL_SCHEMA: &str = "system_virtual_schema";

/// The catalog of a new node.
pub fn catalog() -> Catalog {
    let replication = BTreeMap::from([("class".to_owned(), "org.apache.cassandra.locator.LocalStrategy".to_owned())]);
    let mut keyspaces: Vec<Keyspace> = Vec::new();
    for table in DEFINITIONS.split_terminator(";\n").filter_map(table) {
        if keyspaces.last().is_none_or(|keyspace| keyspace.name != table.keyspace) {
            let (name, replication) = (table.keyspace.clone(), replication.clone());
            let (tables, types) = (BTreeMap::new(), UserTypes::new());
            keyspaces.push(Keyspace { name, replication, durable_writes: true, tables, types });
        }
        if let Some(keyspace) = keyspaces.last_mut() {
            keyspace.tables.insert(table.name.to_string(), Arc::new(table));
        }
    }
    Catalog::new(keyspaces)
}

fn table(definition: &str) -> Option<Table> {
    // The definitions are constants, and a test covers all of them.
    let Ok(Statement::Define { definition: Definition::CreateTable(create), .. }) = cql::parse(definition) else {
        return None;
    };
    let mut table = define_table(&create, create.table.keyspace.as_deref()?, &UserTypes::new()).ok()?;
    table.is_virtual = true;
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_becomes_a_table() {
        let tables: usize = catalog().keyspaces().map(|keyspace| keyspace.tables.len()).sum();
        assert_eq!(tables, DEFINITIONS.matches("CREATE TABLE").count());
    }
}
