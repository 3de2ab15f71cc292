//! SELECT.

use super::restrictions::NEEDS_FILTERING;
use super::terms::{generated, no_signature};
use super::{Analyzer, find, names, unknown_function};
use crate::cql::{self, OrderBy, RawSelector};
use crate::error::{CqlError, Result, invalid};
use crate::prepared::{Conversion, PartitionSelection, Select, Selector};
use crate::schema::{Column, ColumnKind, Table};
use crate::types::{ColumnSpec, CqlType};

impl Analyzer<'_> {
    pub(super) fn select(&mut self, select: &cql::Select) -> Result<(Select, Vec<ColumnSpec>)> {
        if select.json {
            return Err(CqlError::unsupported("SELECT JSON"));
        }
        if select.group_by {
            return Err(CqlError::unsupported("GROUP BY"));
        }
        let table = self.table(&select.table)?;
        let (selectors, result_columns) = resolve_selectors(&select.selectors, &table)?;
        let aggregate = selectors.iter().any(Selector::is_count);
        if aggregate && !selectors.iter().all(Selector::is_count) {
            return invalid("the select clause must either contain only aggregates or no aggregate");
        }
        if select.distinct {
            check_distinct(&selectors, &table)?;
        }
        // Virtual tables are small: filtering costs nothing.
        let filtering = select.allow_filtering || table.is_virtual;
        let mut restrictions = self.restrictions(&select.relations, &table)?;
        let partition = restrictions.some_partitions(&table, filtering)?;
        let clustering = restrictions.rows(&table);
        if matches!(partition, PartitionSelection::Tokens(_)) && !clustering.is_all() && !filtering {
            return invalid(NEEDS_FILTERING);
        }
        let filters = restrictions.filters(&table, filtering)?;
        let reversed = reversed(&select.order_by, &table, &partition)?;
        let per_partition_limit = self.limit(select.per_partition_limit.as_ref(), "[per_partition_limit]", &table)?;
        let limit = self.limit(select.limit.as_ref(), "[limit]", &table)?;
        let plan = Select {
            table,
            selectors: selectors.into(),
            aggregate,
            distinct: select.distinct,
            partition,
            clustering,
            filters,
            reversed,
            limit,
            per_partition_limit,
        };
        Ok((plan, result_columns))
    }
}

const MAX_SELECTORS: usize = 65_535;

type Resolved = (Vec<Selector>, Vec<ColumnSpec>);

fn resolve_selectors(raw: &[(RawSelector, Option<String>)], table: &Table) -> Result<Resolved> {
    if raw.is_empty() {
        let all = table.columns.iter().enumerate();
        return Ok(all.map(|(index, column)| (Selector::Column(index), table.spec(column))).unzip());
    }
    if raw.len() > MAX_SELECTORS {
        return invalid(format!("A SELECT can have at most {MAX_SELECTORS} columns, got {}", raw.len()));
    }
    let resolved = raw.iter().map(|(selector, alias)| {
        let (selector, mut spec) = resolve_selector(selector, table)?;
        if let Some(alias) = alias {
            spec.name = alias.as_str().into();
        }
        Ok((selector, spec))
    });
    Ok(resolved.collect::<Result<Vec<_>>>()?.into_iter().unzip())
}

fn resolve_selector(raw: &RawSelector, table: &Table) -> Result<(Selector, ColumnSpec)> {
    let spec = |name: String, ty: CqlType| table.special(&name, ty);
    let (function, arguments) = match raw {
        RawSelector::Column(name) => {
            let (index, column) = find(table, name)?;
            return Ok((Selector::Column(index), table.spec(column)));
        }
        RawSelector::Field(name, field) => {
            let (index, column) = find(table, name)?;
            let Some(user) = column.ty.user() else {
                return invalid(format!("Invalid field selection: {name} of type {} is not a user type", column.ty));
            };
            let Some(at) = user.names.iter().position(|one| **one == *field) else {
                return invalid(format!("{name} of type {} has no field {field}", column.ty));
            };
            let spec =
                ColumnSpec { name: format!("{name}.{field}").into(), ty: user.types[at].clone(), ..table.spec(column) };
            return Ok((Selector::Field(index, at), spec));
        }
        RawSelector::CountRows => return Ok((Selector::CountRows, spec("count".to_owned(), CqlType::Bigint))),
        RawSelector::Unsupported(what) => return Err(CqlError::unsupported(what)),
        RawSelector::Function(function, arguments) => (function.as_str(), arguments.as_slice()),
    };
    let found = match arguments {
        [] => generated(function, false).zip(Some("")),
        [RawSelector::Function(now, none)] if now == "now" && none.is_empty() => {
            generated(function, true).zip(Some("system.now()"))
        }
        _ => None,
    };
    if let Some(((generated, ty), argument)) = found {
        return Ok((Selector::Generated(generated), spec(format!("system.{function}({argument})"), ty)));
    }
    let conversion = Conversion::named(function);
    if conversion.is_none() && !["count", "tojson", "to_json", "writetime", "ttl", "token"].contains(&function) {
        return Err(unknown_function(function, "in a SELECT clause"));
    }
    let column = |argument: &RawSelector| match argument {
        RawSelector::Column(name) => Some(name.clone()),
        _ => None,
    };
    let Some(arguments) = arguments.iter().map(column).collect::<Option<Vec<String>>>() else {
        return Err(CqlError::unsupported(format!("The function {function} of anything but columns")));
    };
    if function == "token" {
        let key = names(table.partition_key());
        if arguments != key {
            return invalid(format!("token() takes the partition key in its order: {}", key.join(", ")));
        }
        return Ok((Selector::Token, spec(format!("system.token({})", key.join(", ")), CqlType::Bigint)));
    }
    let [name] = arguments.as_slice() else {
        if let Some(conversion) = conversion.filter(|conversion| conversion.arguments().len() > 1) {
            return Err(no_signature(conversion, function));
        }
        return invalid(format!(
            "Invalid number of arguments in call to function {function}: 1 required but {} provided",
            arguments.len()
        ));
    };
    let (index, column) = find(table, name)?;
    if let Some(conversion) = conversion {
        if !conversion.arguments().contains(&column.ty) {
            return Err(match conversion.arguments() {
                [only] => CqlError::Invalid(format!(
                    "Type error: {name} cannot be passed as argument 0 of function system.{function} of type {only}"
                )),
                _ => no_signature(conversion, function),
            });
        }
        let spec = spec(format!("system.{function}({name})"), conversion.result());
        return Ok((Selector::Converted(conversion, index), spec));
    }
    let (selector, ty) = match function {
        "count" => (Selector::CountColumn(index), CqlType::Bigint),
        "writetime" => (Selector::WriteTime(cell(index, column, function)?), CqlType::Bigint),
        "ttl" => (Selector::Ttl(cell(index, column, function)?), CqlType::Int),
        _ => (Selector::ToJson(index), CqlType::Text),
    };
    let system = if matches!(selector, Selector::WriteTime(_) | Selector::Ttl(_)) { "" } else { "system." };
    Ok((selector, spec(format!("{system}{function}({name})"), ty)))
}

/// Only a column outside the primary key has a cell, with a time of writing.
fn cell(index: usize, column: &Column, function: &str) -> Result<usize> {
    match column.kind {
        ColumnKind::PartitionKey | ColumnKind::Clustering => {
            invalid(format!("Cannot use selection function {function} on PRIMARY KEY part {}", column.name))
        }
        _ => Ok(index),
    }
}

fn check_distinct(selectors: &[Selector], table: &Table) -> Result<()> {
    for selector in selectors {
        let (Selector::Column(index)
        | Selector::Field(index, _)
        | Selector::ToJson(index)
        | Selector::Converted(_, index)) = selector
        else {
            continue;
        };
        let Some(column) = table.columns.get(*index) else { continue };
        if !matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Static) {
            let name = &column.name;
            return invalid(format!(
                "SELECT DISTINCT queries must only request partition key columns and/or static columns (not {name})"
            ));
        }
    }
    Ok(())
}

fn reversed(order_by: &[OrderBy], table: &Table, partition: &PartitionSelection) -> Result<bool> {
    if order_by.is_empty() {
        return Ok(false);
    }
    match partition {
        PartitionSelection::One(_) => {}
        PartitionSelection::Product(_) => {
            return Err(CqlError::unsupported("ORDER BY with an IN restriction on the partition key"));
        }
        PartitionSelection::Tokens(_) => {
            return invalid("ORDER BY is only supported when the partition key is restricted by an EQ or an IN.");
        }
    }
    let mut reversed = None;
    let mut clustering = table.clustering().iter();
    for order in order_by {
        let (_, column) = find(table, &order.column)?;
        if column.kind != ColumnKind::Clustering {
            let name = &column.name;
            return invalid(format!(
                "Order by is currently only supported on the clustered columns of the PRIMARY KEY, got {name}"
            ));
        }
        if clustering.next().is_none_or(|next| next.name != column.name) {
            return invalid(
                "Order by currently only supports the ordering of columns following their declared order in the PRIMARY KEY",
            );
        }
        let against = order.descending != column.descending;
        if against != *reversed.get_or_insert(against) {
            return invalid("Unsupported order by relation");
        }
    }
    Ok(reversed.unwrap_or(false))
}
