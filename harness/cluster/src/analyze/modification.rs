//! INSERT, UPDATE and DELETE.

use std::collections::BTreeMap;

use super::{Analyzer, find, missing};
use crate::cql::{self, AssignmentTarget, RawTerm, Statement};
use crate::error::{CqlError, Result, invalid};
use crate::prepared::{
    Assignment, ClusteringSelection, Condition, Edit, Modification, ModificationKind, OneOf, PartitionSelection, Term,
};
use crate::schema::{Column, Table};
use crate::types::{ColumnSpec, CqlType, UserType};

const CUSTOM_TIMESTAMP: &str = "Cannot provide custom timestamp for conditional updates";

impl Analyzer<'_> {
    pub(super) fn modification(&mut self, statement: &Statement) -> Result<Modification> {
        match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Modify(modification) => self.update_or_delete(modification),
            _ => Err(CqlError::not_in_a_batch()),
        }
    }

    fn insert(&mut self, insert: &cql::Insert) -> Result<Modification> {
        if insert.json {
            return Err(CqlError::unsupported("INSERT JSON"));
        }
        let table = self.table_to_modify(&insert.table)?;
        if table.has_counters() {
            return invalid("INSERT statements are not allowed on counter tables, use UPDATE instead");
        }
        if insert.columns.len() != insert.values.len() {
            return invalid("Unmatched column names/values");
        }
        let mut terms = BTreeMap::new();
        for (name, raw) in insert.columns.iter().zip(&insert.values) {
            let (index, column) = find(&table, name)?;
            let term = self.term(raw, &table.spec(column))?;
            if index < table.static_start() && term == Term::Constant(None) {
                return invalid(format!("Invalid null value in condition for column {}", column.name));
            }
            if terms.insert(index, term).is_some() {
                return invalid("The column names contains duplicates");
            }
        }
        let [timestamp, ttl] = self.using(&insert.using, (&table.keyspace, &table.name))?;
        if insert.condition.is_some() && timestamp.is_some() {
            return invalid(CUSTOM_TIMESTAMP);
        }

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
        Ok(Modification {
            kind: ModificationKind::Insert,
            partition: PartitionSelection::One(terms.into_values().collect()),
            clustering: ClusteringSelection {
                prefix: clustering.into_values().map(OneOf::Term).collect(),
                range: None,
            },
            assignments: assignments(rest),
            condition: self.condition(insert.condition.as_ref(), &table)?,
            timestamp,
            ttl,
            table,
        })
    }

    fn update_or_delete(&mut self, raw: &cql::Modification) -> Result<Modification> {
        let table = self.table_to_modify(&raw.table)?;
        let deletes = raw.kind == ModificationKind::Delete;
        // In the order of the text: markers get their types as they come.
        let [timestamp, ttl] = self.using(&raw.using, (&table.keyspace, &table.name))?;
        let mut assigned: Vec<Assignment> = Vec::with_capacity(raw.assignments.len());
        for (assigned_to, value) in &raw.assignments {
            let (index, column) = target(assigned_to, &table)?;
            let name = &column.name;
            if index < table.static_start() {
                return invalid(match deletes {
                    true => format!("Invalid identifier {name} for deletion (should not be a PRIMARY KEY part)"),
                    false => format!("PRIMARY KEY part {name} found in SET part"),
                });
            }
            let assignment = self.assignment((index, deletes), assigned_to, value, &table.spec(column))?;
            let is_element = |one: &Assignment| matches!(one.edit, Some(Edit::Element(_) | Edit::Field(_)));
            let fit = |one: &Assignment, other: &Assignment| match (&one.edit, &other.edit) {
                (Some(Edit::Field(one)), Some(Edit::Field(other))) => one != other,
                (Some(_), Some(_)) if column.ty == CqlType::Counter => true,
                _ => is_element(one) && is_element(other),
            };
            match assigned.iter().find(|other| other.column == index && !fit(other, &assignment)) {
                Some(_) => {
                    if !deletes {
                        return Err(CqlError::Syntax(format!("Multiple incompatible setting of column {name}")));
                    }
                    // Without the column there are no elements.
                    if !is_element(&assignment) {
                        assigned.retain(|other| other.column != index);
                        assigned.push(assignment);
                    }
                }
                _ => assigned.push(assignment),
            }
        }
        assigned.sort_by_key(|assignment| assignment.column);
        let mut restrictions = self.restrictions(&raw.relations, &table)?;
        let condition = self.condition(raw.condition.as_ref(), &table)?;
        let partition = restrictions.whole_partitions(&table)?;
        let clustering = restrictions.rows(&table);
        if !deletes && clustering.range.is_some() {
            return invalid("Slice restrictions are not supported on the clustering columns in UPDATE statements");
        }
        restrictions.refuse_rest(&table)?;
        let static_columns = !assigned.is_empty() && assigned.iter().all(|one| table.is_static(one.column));
        let plan = Modification {
            kind: raw.kind,
            partition,
            clustering,
            assignments: assigned.into(),
            condition,
            timestamp,
            ttl,
            table,
        };
        check_rows(&plan, static_columns)?;
        check_counter(&plan)?;
        Ok(plan)
    }
}

impl Analyzer<'_> {
    /// What an UPDATE or DELETE does to a column or to an element of it.
    fn assignment(
        &mut self,
        (column, deletes): (usize, bool),
        to: &AssignmentTarget,
        value: &RawTerm,
        spec: &ColumnSpec,
    ) -> Result<Assignment> {
        let ty = spec.ty.clone();
        if let AssignmentTarget::Element(name, element) = to {
            let (of_element, of_value, what) = match &ty {
                CqlType::Map(entry) => (entry[0].clone(), entry[1].clone(), "key"),
                CqlType::List(element) => (CqlType::Int, (**element).clone(), "idx"),
                CqlType::Set(element) if deletes => ((**element).clone(), ty.clone(), "value"),
                _ => return invalid(format!("Invalid operation ({name}[...] = ...) for {} column {name}", kind(&ty))),
            };
            let part = |what: &str, ty| ColumnSpec { name: format!("{what}({name})").into(), ty, ..spec.clone() };
            let element = self.term(element, &part(what, of_element))?;
            let value = self.term(value, &part("value", of_value))?;
            return Ok(Assignment { column, value, edit: Some(Edit::Element(element)) });
        }
        if let AssignmentTarget::Field(name, field) = to {
            let (user, at) = settable_field(deletes, (name, field), &ty)?;
            let spec =
                ColumnSpec { name: format!("{name}.{field}").into(), ty: user.types[at].clone(), ..spec.clone() };
            return Ok(Assignment { column, value: self.term(value, &spec)?, edit: Some(Edit::Field(at)) });
        }
        if deletes {
            return Ok(Assignment { column, value: Term::Constant(None), edit: None });
        }
        let RawTerm::Sum(sign, operands) = value else {
            if ty == CqlType::Counter && *value != RawTerm::Null {
                return invalid(format!(
                    "Cannot set the value of counter column {} (counters can only be incremented/decremented, not set)",
                    spec.name
                ));
            }
            return Ok(Assignment { column, value: self.term(value, spec)?, edit: None });
        };
        let is_column = |raw: &RawTerm| matches!(raw, RawTerm::Column(name) if **name == *spec.name);
        let (edit, value) = match (sign, &**operands) {
            ('+', [left, right]) if is_column(left) => (Edit::Append, right),
            ('-', [left, right]) if is_column(left) => (Edit::Remove, right),
            ('+', [left, right]) if is_column(right) && matches!(ty, CqlType::List(_)) => (Edit::Prepend, left),
            _ => {
                let text = format!("Only expressions of the form X = X {sign}<value> are supported.");
                return Err(CqlError::Syntax(text));
            }
        };
        if ty != CqlType::Counter && !(ty.is_multi_cell() && ty.is_collection()) {
            let kind = match ty.unfrozen() {
                CqlType::Tuple(_) | CqlType::User(_) => "tuple",
                _ if ty.is_collection() => "frozen collection",
                _ => "non counter",
            };
            return invalid(format!("Invalid operation ({0} = {0} {sign} ...) for {kind} column {0}", spec.name));
        }
        let receiver = match (&edit, &ty) {
            (Edit::Remove, CqlType::Map(entry)) => {
                ColumnSpec { ty: CqlType::Set(Box::new(entry[0].clone())), ..spec.clone() }
            }
            _ => spec.clone(),
        };
        Ok(Assignment { column, value: self.term(value, &receiver)?, edit: Some(edit) })
    }
}

/// The user-defined type of a column and the place of one of its fields, if that can be set by itself.
fn settable_field<'t>(deletes: bool, (name, field): (&str, &str), ty: &'t CqlType) -> Result<(&'t UserType, usize)> {
    match (ty.user(), deletes) {
        (None, false) => invalid(format!("Invalid operation ({name}.{field} = ...) for non-UDT column {name}")),
        (None, true) => invalid(format!("Invalid field deletion operation for non-UDT column {name}")),
        (Some(_), false) if !ty.is_multi_cell() => {
            invalid(format!("Invalid operation ({name}.{field} = ...) for frozen UDT column {name}"))
        }
        (Some(_), true) if !ty.is_multi_cell() => {
            invalid(format!("Frozen UDT column {name} does not support field deletions"))
        }
        (Some(user), _) => match user.names.iter().position(|one| **one == *field) {
            Some(at) => Ok((user, at)),
            None => invalid(format!("UDT column {name} does not have a field named {field}")),
        },
    }
}

/// Refuses what counters cannot do.
fn check_counter(plan: &Modification) -> Result<()> {
    if !plan.table.has_counters() {
        return Ok(());
    }
    match plan.condition {
        Some(Condition::Columns(_)) => return invalid("Conditions on counters are not supported"),
        Some(_) => return invalid("Conditional updates are not supported on counter tables"),
        None => {}
    }
    if plan.timestamp.is_some() {
        return invalid("Cannot provide custom timestamp for counter updates");
    }
    if plan.ttl.is_some() {
        return invalid("Cannot provide custom TTL for counter updates");
    }
    Ok(())
}

/// What a column without elements of its own is called in Cassandra's refusals.
fn kind(ty: &CqlType) -> &'static str {
    match ty {
        CqlType::Set(_) => "set",
        CqlType::Frozen(_) => "frozen collection",
        _ => "non collection",
    }
}

fn assignments(terms: BTreeMap<usize, Term>) -> Box<[Assignment]> {
    terms.into_iter().map(|(column, value)| Assignment { column, value, edit: None }).collect()
}

/// Refuses an UPDATE or DELETE that names too few rows or too many for what it writes and for its conditions.
fn check_rows(plan: &Modification, static_columns: bool) -> Result<()> {
    let (table, rows) = (&plan.table, &plan.clustering.prefix);
    let (statement, what) = match plan.kind {
        ModificationKind::Delete => ("DELETE", "deletions"),
        _ => ("UPDATE", "updates"),
    };
    if plan.condition.is_some() {
        if plan.timestamp.is_some() {
            return invalid(CUSTOM_TIMESTAMP);
        }
        if !matches!(plan.partition, PartitionSelection::One(_)) {
            return invalid(format!("IN on the partition key is not supported with conditional {what}"));
        }
        if rows.iter().any(|part| !matches!(part, OneOf::Term(_))) {
            return invalid(format!("IN on the clustering key columns is not supported with conditional {what}"));
        }
    }
    let static_condition = plan.condition.as_ref().is_none_or(|condition| condition.is_static(table));
    if static_columns && static_condition {
        if !plan.clustering.is_all() {
            return invalid(format!(
                "Invalid restrictions on clustering columns since the {statement} statement modifies only static columns"
            ));
        }
        return Ok(());
    }
    if plan.kind == ModificationKind::Update {
        return match missing(table.clustering(), |index| index < rows.len()) {
            Some(names) => invalid(format!("Some clustering keys are missing: {names}")),
            None => Ok(()),
        };
    }
    if plan.condition.is_some() && !plan.names_rows() {
        let what = if static_columns { "use IF condition on non static columns" } else { "delete non static columns" };
        return invalid(format!(
            "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to {what}"
        ));
    }
    if !plan.assignments.is_empty() && !plan.names_rows() {
        return invalid("Range deletions are not supported for specific columns");
    }
    Ok(())
}

fn target<'t>(target: &AssignmentTarget, table: &'t Table) -> Result<(usize, &'t Column)> {
    match target {
        AssignmentTarget::Column(name) | AssignmentTarget::Element(name, _) | AssignmentTarget::Field(name, _) => {
            find(table, name)
        }
    }
}
