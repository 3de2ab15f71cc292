//! ALTER TABLE: the table that it makes of one, with Cassandra's checks.

use std::time::{SystemTime, UNIX_EPOCH};

use super::definition::check_columns;
use super::user_types::{UserTypes, resolve};
use super::{Column, ColumnKind, DroppedColumn, Table};
use crate::cql::{ColumnDefinition, TableAlteration};
use crate::error::{CqlError, Result, invalid};
use crate::types::CqlType;

/// The table after ALTER TABLE; equal if that changes nothing.
pub fn altered_table(table: &Table, alteration: &TableAlteration, types: &UserTypes) -> Result<Table> {
    let mut new = table.clone();
    match alteration {
        TableAlteration::With(properties) => new.options = new.options.with(properties)?,
        TableAlteration::Add { columns, conditional } => {
            for column in columns {
                if new.column(&column.name).is_none() {
                    add(&mut new, column, types)?;
                } else if !conditional {
                    return invalid(format!("Column with name '{}' already exists", column.name));
                }
            }
        }
        TableAlteration::Drop { columns, conditional } => {
            for name in columns {
                drop_column(&mut new, name, *conditional)?;
            }
        }
        TableAlteration::Rename(columns) => {
            for (from, to) in columns {
                rename(&mut new, from, to)?;
            }
        }
    }
    check_columns(&new)?;
    let affects =
        |table: &Table| (table.options.default_time_to_live, table.options.text("gc_grace_seconds").to_owned());
    new.version += u32::from(new.columns != table.columns || affects(&new) != affects(table));
    Ok(new)
}

fn add(table: &mut Table, column: &ColumnDefinition, types: &UserTypes) -> Result<()> {
    let ColumnDefinition { name, ty, is_static } = column;
    let ty = resolve(ty, &table.keyspace, types)?;
    let kind = if *is_static { ColumnKind::Static } else { ColumnKind::Regular };
    if let Some(dropped) = table.dropped.iter().find(|dropped| *dropped.name == **name) {
        if dropped.ty.clone().freeze() != ty.clone().freeze() {
            return invalid(format!(
                "Cannot add a column '{name}' of type {ty}, incompatible with previously dropped column '{name}' of type {}",
                dropped.ty
            ));
        }
        if dropped.kind != kind {
            let word = |kind| if kind == ColumnKind::Static { "STATIC" } else { "REGULAR" };
            return invalid(format!(
                "Cannot re-add previously dropped column '{name}' of kind {}, incompatible with previous kind {}",
                word(kind),
                word(dropped.kind)
            ));
        }
        if ty == CqlType::Counter {
            return invalid(format!("Cannot re-add previously dropped counter column {name}"));
        }
    }
    let counts = table.has_counters();
    if counts != (ty == CqlType::Counter) {
        let (not, table_not) = if counts { ("non counter", "counter") } else { ("counter", "non counter") };
        return Err(CqlError::Config(format!(
            "{}.{}: Cannot have a {not} column (\"{name}\") in a {table_not} table",
            table.keyspace, table.name
        )));
    }
    table.columns.push(Column { name: name.as_str().into(), ty, kind, descending: false });
    table.static_len += usize::from(*is_static);
    order(table);
    Ok(())
}

/// The key's columns stay where they are, the others are by name.
fn order(table: &mut Table) {
    let start = table.static_start();
    table.columns[start..].sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
}

fn drop_column(table: &mut Table, name: &str, conditional: bool) -> Result<()> {
    let Some((index, column)) = table.column(name) else {
        if conditional {
            return Ok(());
        }
        return invalid(format!("Column {name} was not found in table '{}.{}'", table.keyspace, table.name));
    };
    if index < table.static_start() {
        return invalid(format!("Cannot drop PRIMARY KEY column {name}"));
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let Column { name, ty, kind, .. } = column.clone();
    table.static_len -= usize::from(kind == ColumnKind::Static);
    table.columns.remove(index);
    table.dropped.retain(|dropped| dropped.name != name);
    table.dropped.push(DroppedColumn { name, ty, kind, millis });
    Ok(())
}

fn rename(table: &mut Table, from: &str, to: &str) -> Result<()> {
    let shown = format!("{}.{}", table.keyspace, table.name);
    let Some((index, _)) = table.column(from) else {
        return invalid(format!("Undefined column name {from} in table {shown}"));
    };
    if index >= table.static_start() {
        return invalid(format!("Cannot rename non PRIMARY KEY column {from}"));
    }
    if table.column(to).is_some() {
        return invalid(format!(
            "Cannot rename column {from} to {to} in table '{shown}'; another column with that name already exists"
        ));
    }
    table.columns[index].name = to.into();
    Ok(())
}
