//! INSERT, UPDATE and DELETE.

use std::collections::{BTreeMap, BTreeSet};

use super::{Analyzer, find, missing};
use crate::cql::{self, AssignmentTarget};
use crate::error::{CqlError, invalid};
use crate::plan::{Assignment, Condition, Delete, Insert, OneOf, PartitionSelection, Term, Update};
use crate::schema::{Column, Table};

const CUSTOM_TIMESTAMP: &str = "Cannot provide custom timestamp for conditional updates";

/// Refuses what a conditional statement cannot have: a timestamp, and keys in a list. `what` is updates or deletions.
fn check_conditional(
    condition: Option<&Condition>,
    timestamp: Option<&Term>,
    (partition, rows): (&PartitionSelection, &[OneOf]),
    what: &str,
) -> Result<(), CqlError> {
    if condition.is_none() {
        return Ok(());
    }
    if timestamp.is_some() {
        return invalid(CUSTOM_TIMESTAMP);
    }
    if !matches!(partition, PartitionSelection::One(_)) {
        return invalid(format!("IN on the partition key is not supported with conditional {what}"));
    }
    if rows.iter().any(|part| !matches!(part, OneOf::Term(_))) {
        return invalid(format!("IN on the clustering key columns is not supported with conditional {what}"));
    }
    Ok(())
}

/// A literal null cannot be part of a key.
fn check_key_term(term: &Term, column: &Column) -> Result<(), CqlError> {
    match term {
        Term::Constant(None) => invalid(format!("Invalid null value in condition for column {}", column.name)),
        _ => Ok(()),
    }
}

impl Analyzer<'_> {
    pub(super) fn insert(&mut self, insert: &cql::Insert) -> Result<Insert, CqlError> {
        if insert.json {
            return invalid("INSERT JSON is not supported by the embedded cluster: name the columns and their values");
        }
        let table = self.table_to_modify(&insert.table)?;
        if insert.columns.len() != insert.values.len() {
            return invalid("Unmatched column names/values");
        }
        let mut terms = BTreeMap::new();
        for (name, raw) in insert.columns.iter().zip(&insert.values) {
            let (index, column) = find(&table, name)?;
            let term = self.term(raw, &table.spec(column))?;
            if index < table.static_start() {
                check_key_term(&term, column)?;
            }
            if terms.insert(index, term).is_some() {
                return invalid("The column names contains duplicates");
            }
        }
        let timestamp = self.using_timestamp(&insert.using, (&table.keyspace, &table.name))?;
        if insert.if_not_exists && timestamp.is_some() {
            return invalid(CUSTOM_TIMESTAMP);
        }
        let ttl = self.using_ttl(&insert.using, (&table.keyspace, &table.name))?;

        let rest = terms.split_off(&table.static_start());
        let clustering = terms.split_off(&table.partition_key_len);
        if let Some(names) = missing(table.partition_key(), |index| terms.contains_key(&index)) {
            return invalid(format!("Some partition key parts are missing: {names}"));
        }
        let static_row = clustering.is_empty() && !rest.is_empty() && rest.keys().all(|index| table.is_static(*index));
        let is_given = |index: usize| clustering.contains_key(&(table.partition_key_len + index));
        if let Some(names) = missing(table.clustering(), is_given)
            && !static_row
        {
            return invalid(format!("Some clustering keys are missing: {names}"));
        }
        Ok(Insert {
            partition: terms.into_values().collect(),
            clustering: clustering.into_values().collect(),
            assignments: rest.into_iter().map(|(column, value)| Assignment { column, value }).collect(),
            condition: insert.if_not_exists.then_some(Condition::NotExists),
            timestamp,
            ttl,
            table,
        })
    }

    pub(super) fn update(&mut self, update: &cql::Update) -> Result<Update, CqlError> {
        let table = self.table_to_modify(&update.table)?;
        // In the order of the text: markers get their types as they come.
        let timestamp = self.using_timestamp(&update.using, (&table.keyspace, &table.name))?;
        let ttl = self.using_ttl(&update.using, (&table.keyspace, &table.name))?;
        let mut assigned = BTreeMap::new();
        for (assigned_to, value) in &update.assignments {
            let (index, column) = target(assigned_to, &table)?;
            if index < table.static_start() {
                return invalid(format!("PRIMARY KEY part {} found in SET part", column.name));
            }
            let term = self.term(value, &table.spec(column))?;
            if assigned.insert(index, term).is_some() {
                return invalid(format!("Multiple incompatible setting of column {}", column.name));
            }
        }
        let mut restrictions = self.restrictions(&update.relations, &table)?;
        let condition = self.condition(update.condition.as_ref(), &table)?;
        let partition = restrictions.whole_partitions(&table)?;
        let rows = restrictions.rows(&table);
        if rows.range.is_some() {
            return invalid("Slice restrictions are not supported on the clustering columns in UPDATE statements");
        }
        restrictions.refuse_rest(&table)?;
        check_conditional(condition.as_ref(), timestamp.as_ref(), (&partition, &rows.prefix), "updates")?;
        let static_condition = condition.as_ref().is_none_or(|condition| condition.is_static(&table));
        let all_static = assigned.keys().all(|index| table.is_static(*index)) && static_condition;
        if all_static && !rows.prefix.is_empty() {
            return invalid(
                "Invalid restrictions on clustering columns since the UPDATE statement modifies only static columns",
            );
        }
        if let Some(names) = missing(table.clustering(), |index| index < rows.prefix.len())
            && !all_static
        {
            return invalid(format!("Some clustering keys are missing: {names}"));
        }
        Ok(Update {
            partition,
            clustering: rows.prefix,
            assignments: assigned.into_iter().map(|(column, value)| Assignment { column, value }).collect(),
            condition,
            timestamp,
            ttl,
            table,
        })
    }

    pub(super) fn delete(&mut self, delete: &cql::Delete) -> Result<Delete, CqlError> {
        let table = self.table_to_modify(&delete.table)?;
        let mut columns = BTreeSet::new();
        for name in &delete.targets {
            let (index, column) = target(name, &table)?;
            if index < table.static_start() {
                return invalid(format!(
                    "Invalid identifier {} for deletion (should not be a PRIMARY KEY part)",
                    column.name
                ));
            }
            columns.insert(index);
        }
        let timestamp = self.using_timestamp(&delete.using, (&table.keyspace, &table.name))?;
        let mut restrictions = self.restrictions(&delete.relations, &table)?;
        let condition = self.condition(delete.condition.as_ref(), &table)?;
        let partition = restrictions.whole_partitions(&table)?;
        let clustering = restrictions.rows(&table);
        restrictions.refuse_rest(&table)?;
        check_conditional(condition.as_ref(), timestamp.as_ref(), (&partition, &clustering.prefix), "deletions")?;
        let static_columns = !columns.is_empty() && columns.iter().all(|index| table.is_static(*index));
        let static_condition = condition.as_ref().is_none_or(|condition| condition.is_static(&table));
        let all_static = static_columns && static_condition;
        if all_static && !clustering.is_all() {
            return invalid(
                "Invalid restrictions on clustering columns since the DELETE statement modifies only static columns",
            );
        }
        let whole_row = clustering.range.is_none() && clustering.prefix.len() == table.clustering_len;
        if condition.is_some() && !all_static && !whole_row {
            let what =
                if static_columns { "use IF condition on non static columns" } else { "delete non static columns" };
            return invalid(format!(
                "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to {what}"
            ));
        }
        if !columns.is_empty() && !all_static && !whole_row {
            return invalid("Range deletions are not supported for specific columns");
        }
        Ok(Delete { partition, clustering, columns: columns.into_iter().collect(), condition, timestamp, table })
    }
}

fn target<'t>(target: &AssignmentTarget, table: &'t Table) -> Result<(usize, &'t Column), CqlError> {
    match target {
        AssignmentTarget::Column(name) => find(table, name),
        AssignmentTarget::Element(name) => {
            let (_, column) = find(table, name)?;
            invalid(format!(
                "Setting or deleting elements of {} is not supported by the embedded cluster: set the whole collection",
                column.name
            ))
        }
    }
}
