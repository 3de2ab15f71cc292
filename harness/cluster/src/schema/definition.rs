//! CREATE KEYSPACE and CREATE TABLE: definitions, with Cassandra's checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::user_types::{UserTypes, resolve};
use super::{Column, ColumnKind, Keyspace, Table, TableId, TableOptions};
use crate::cql::{CreateTable, PrimaryKey, Properties, PropertyValue};
use crate::error::{CqlError, Result, invalid};
use crate::types::CqlType;

const MAX_NAME_LENGTH: usize = 48;

/// The longest name of a column, type or field, in bytes: it must fit into a `[string]`, perhaps with more around it.
const MAX_LENGTH: usize = 1024;

const MAX_COLUMNS: usize = 4096;

/// The system's keyspaces, here or in Cassandra.
const SYSTEM_KEYSPACES: &str =
    "system system_auth system_distributed system_schema system_traces system_views system_virtual_schema";

pub fn is_of_the_system(keyspace: &str) -> bool {
    SYSTEM_KEYSPACES.split(' ').any(|system| system == keyspace)
}

pub fn check_modifiable(keyspace: &str) -> Result<()> {
    if is_of_the_system(keyspace) {
        return Err(CqlError::Unauthorized(format!("{keyspace} keyspace is not user-modifiable.")));
    }
    Ok(())
}

fn check_name(what: &str, name: &str) -> Result<()> {
    let word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || name.len() > MAX_NAME_LENGTH || !word {
        return invalid(format!(
            "{what} name must not be empty, more than {MAX_NAME_LENGTH} characters long, or contain \
             non-alphanumeric-underscore characters (got \"{name}\")"
        ));
    }
    Ok(())
}

/// A keyspace from the properties after WITH; `current` is what ALTER starts from, `None` for CREATE.
pub fn define_keyspace(name: &str, properties: &Properties, current: Option<Option<&Keyspace>>) -> Result<Keyspace> {
    check_modifiable(name)?;
    check_name("Keyspace", name)?;
    let mut replication = BTreeMap::new();
    let mut durable_writes = current.flatten().is_none_or(|keyspace| keyspace.durable_writes);
    for (property, value) in properties {
        match (property.as_str(), value) {
            ("replication", PropertyValue::Map(options)) => replication = define_replication(options.clone())?,
            ("durable_writes", PropertyValue::Text(text)) => match text.to_ascii_lowercase().as_str() {
                "true" => durable_writes = true,
                "false" => durable_writes = false,
                _ => return Err(CqlError::Syntax(format!("Invalid boolean value {text} for 'durable_writes'"))),
            },
            ("replication" | "durable_writes", _) => {
                return Err(CqlError::Syntax(format!("Invalid value for property '{property}'")));
            }
            // Of ScyllaDB, whose clients' examples set it; it changes nothing here.
            ("tablets", _) => {}
            _ => return Err(CqlError::Syntax(format!("Unknown property '{property}'"))),
        }
    }
    if replication.is_empty() && current.is_none() {
        return Err(CqlError::config("Missing mandatory option 'replication'"));
    }
    Ok(Keyspace { name: name.into(), replication, durable_writes, tables: BTreeMap::new(), types: UserTypes::new() })
}

fn define_replication(mut replication: BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    const PACKAGE: &str = "org.apache.cassandra.locator.";
    let Some(class) = replication.get("class") else {
        return Err(CqlError::config("Missing replication strategy class"));
    };
    let short = class.strip_prefix(PACKAGE).unwrap_or(class).to_owned();
    let factors = replication.iter().filter(|(option, _)| *option != "class");
    match short.as_str() {
        "SimpleStrategy" => {
            if !replication.contains_key("replication_factor") {
                return Err(CqlError::config("SimpleStrategy requires a replication_factor strategy option."));
            }
            if let Some((option, _)) = factors.clone().find(|(option, _)| *option != "replication_factor") {
                return Err(CqlError::Config(format!(
                    "Unrecognized strategy option {{{option}}} passed to SimpleStrategy for keyspace: it takes replication_factor"
                )));
            }
        }
        "NetworkTopologyStrategy" => {}
        "LocalStrategy" => {
            let text = "Unable to use given strategy class: LocalStrategy is reserved for internal use.";
            return Err(CqlError::Config(text.to_owned()));
        }
        other => {
            return Err(CqlError::Config(format!("Unable to find replication strategy class '{PACKAGE}{other}'")));
        }
    }
    for (_, factor) in factors {
        // A number, or `3/1` with transient replication.
        let number = factor.split('/').next().unwrap_or_default();
        if number.parse::<u16>().is_err() {
            return Err(CqlError::Config(format!("Replication factor must be numeric; found {factor}")));
        }
    }
    replication.insert("class".to_owned(), format!("{PACKAGE}{short}"));
    Ok(replication)
}

/// A table from CREATE TABLE, without its ids, in a keyspace with these types.
pub fn define_table(create: &CreateTable, keyspace: &str, types: &UserTypes) -> Result<Table> {
    let name = &create.table.name;
    check_name("Table", name)?;
    if create.compact_storage {
        return invalid("COMPACT STORAGE tables are not allowed starting with version 4.0");
    }
    let key = match create.primary_keys.as_slice() {
        [key] => key,
        [] => return invalid(format!("No PRIMARY KEY specifed for table '{name}' (exactly one required)")),
        _ => return invalid(format!("Multiple PRIMARY KEYs specified for table '{name}' (exactly one required)")),
    };
    let columns = ordered_columns(create, key, (keyspace, types))?;
    let count = |kind| columns.iter().filter(|column| column.kind == kind).count();
    let (partition_key_len, clustering_len) = (count(ColumnKind::PartitionKey), count(ColumnKind::Clustering));
    let static_len = count(ColumnKind::Static);
    let table = Table {
        id: TableId(0),
        version: 0,
        uuid: Uuid::nil(),
        keyspace: keyspace.into(),
        name: name.as_str().into(),
        columns,
        partition_key_len,
        clustering_len,
        static_len,
        is_virtual: false,
        options: TableOptions::define(&create.properties)?,
        dropped: Vec::new(),
    };
    check_columns(&table)?;
    let others = &table.columns[table.static_start()..];
    if table.has_counters() && others.iter().any(|column| column.ty != CqlType::Counter) {
        return invalid("Cannot mix counter and non counter columns in the same table");
    }
    Ok(table)
}

/// Refuses the name of a column, type or field that is too long.
pub(super) fn check_length(what: &str, name: &str) -> Result<()> {
    if name.len() > MAX_LENGTH {
        let length = name.len();
        return invalid(format!("The name of a {what} is {length} bytes long: at most {MAX_LENGTH} are taken"));
    }
    Ok(())
}

/// What holds of the columns of every table.
pub(super) fn check_columns(table: &Table) -> Result<()> {
    if table.columns.len() > MAX_COLUMNS {
        return invalid(format!("A table can have at most {MAX_COLUMNS} columns, got {}", table.columns.len()));
    }
    table.columns.iter().try_for_each(|column| check_length("column", &column.name))?;
    if table.static_len > 0 && table.clustering_len == 0 {
        return invalid(
            "Static columns are only useful (and thus allowed) if the table has at least one clustering column",
        );
    }
    let others = &table.columns[table.static_start()..];
    let nests = |ty: &CqlType| matches!(ty, CqlType::User(user) if user.types.iter().any(CqlType::is_multi_cell));
    if others.iter().any(|column| nests(&column.ty)) {
        return invalid("Non-frozen UDTs with nested non-frozen collections are not supported");
    }
    if table.has_counters() && table.options.default_time_to_live > 0 {
        return invalid("Cannot set default_time_to_live on a table with counters");
    }
    Ok(())
}

fn ordered_columns(create: &CreateTable, key: &PrimaryKey, scope: (&str, &UserTypes)) -> Result<Vec<Column>> {
    let name = &create.table.name;
    let mut defined = BTreeMap::new();
    for column in &create.columns {
        let ty = resolve(&column.ty, scope.0, scope.1)?;
        if defined.insert(column.name.as_str(), (ty, column.is_static)).is_some() {
            return invalid(format!("Duplicate column '{}' declaration for table '{name}'", column.name));
        }
    }
    let mut seen = BTreeSet::new();
    for column in key.partition.iter().chain(&key.clustering) {
        if !seen.insert(column) {
            return invalid(format!("Duplicate column '{column}' in PRIMARY KEY clause for table '{name}'"));
        }
    }
    let descending = clustering_order(create, key)?;
    let mut columns = Vec::with_capacity(defined.len());
    let parts = key.partition.iter().map(|part| (part, ColumnKind::PartitionKey));
    for (part, kind) in parts.chain(key.clustering.iter().map(|part| (part, ColumnKind::Clustering))) {
        let Some((ty, is_static)) = defined.remove(part.as_str()) else {
            return invalid(format!("Unknown column '{part}' referenced in PRIMARY KEY for table '{name}'"));
        };
        check_key_column(part, &ty, is_static)?;
        let descending = kind == ColumnKind::Clustering && descending.get(part.as_str()).copied().unwrap_or(false);
        columns.push(Column { name: part.as_str().into(), ty, kind, descending });
    }
    for kind in [ColumnKind::Static, ColumnKind::Regular] {
        let of_kind = defined.iter().filter(|(_, (_, is_static))| *is_static == (kind == ColumnKind::Static));
        columns.extend(of_kind.map(|(name, (ty, _))| Column {
            name: Arc::from(*name),
            ty: ty.clone(),
            kind,
            descending: false,
        }));
    }
    Ok(columns)
}

fn check_key_column(name: &str, ty: &CqlType, is_static: bool) -> Result<()> {
    if is_static {
        return invalid(format!("Static column '{name}' cannot be part of the PRIMARY KEY"));
    }
    if let CqlType::User(user) = ty {
        let shown = format!("{}.{}", user.keyspace, user.name);
        return invalid(format!("Invalid non-frozen user-defined type \"{shown}\" for PRIMARY KEY column '{name}'"));
    }
    if *ty == CqlType::Counter {
        return invalid(format!("counter type is not supported for PRIMARY KEY column '{name}'"));
    }
    if ty.is_multi_cell() {
        return invalid(format!("Invalid non-frozen collection type {ty} for PRIMARY KEY column '{name}'"));
    }
    if *ty == CqlType::Duration {
        return invalid(format!("duration type is not supported for PRIMARY KEY column '{name}'"));
    }
    Ok(())
}

fn clustering_order<'c>(create: &'c CreateTable, key: &PrimaryKey) -> Result<BTreeMap<&'c str, bool>> {
    let mut order = BTreeMap::new();
    for by in &create.order {
        if !key.clustering.contains(&by.column) {
            return invalid(format!(
                "Only clustering key columns can be defined in CLUSTERING ORDER directive: [{}] are not clustering columns",
                by.column
            ));
        }
        order.insert(by.column.as_str(), by.descending);
    }
    // The order names the first clustering columns, and the others are ASC.
    for (by, column) in create.order.iter().zip(&key.clustering) {
        if by.column != *column && order.contains_key(column.as_str()) {
            return invalid(format!(
                "The order of columns in the CLUSTERING ORDER directive must match that of the clustering columns \
                 ({column} must appear before {})",
                by.column
            ));
        }
        if by.column != *column {
            return invalid(format!("Missing CLUSTERING ORDER for column {column}"));
        }
    }
    Ok(order)
}
