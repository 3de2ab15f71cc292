//! Conditions of `IF`, and what columns are compared with there and in WHERE.

use super::{Analyzer, find};
use crate::cql::{self, Operator, RawTerm, Relation};
use crate::error::{Result, invalid};
use crate::prepared::{Condition, Filter, OneOf};
use crate::schema::{ColumnKind, Table};
use crate::types::{ColumnSpec, CqlType};

impl Analyzer<'_> {
    pub(super) fn condition(
        &mut self,
        raw: Option<&cql::Condition<Relation>>,
        table: &Table,
    ) -> Result<Option<Condition>> {
        let Some(raw) = raw else { return Ok(None) };
        Ok(Some(match raw {
            cql::Condition::NotExists => Condition::NotExists,
            cql::Condition::Exists => Condition::Exists,
            cql::Condition::Columns(relations) => {
                let filters = relations.iter().map(|relation| self.column_condition(relation, table));
                Condition::Columns(filters.collect::<Result<_>>()?)
            }
        }))
    }

    fn column_condition(&mut self, relation: &Relation, table: &Table) -> Result<Filter> {
        match relation {
            Relation::Single(name, operator, raw) => {
                let (index, column) = find(table, name)?;
                if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
                    return invalid(format!("PRIMARY KEY column '{name}' cannot have IF conditions"));
                }
                let value = self.compared(raw, *operator, &table.spec(column))?;
                Ok(Filter { column: index, operator: *operator, value })
            }
            Relation::Refused(why) => Err(why.clone()),
            Relation::Multi(..) | Relation::Token(..) => {
                invalid("IF takes conditions on single columns, not on tuples or token()")
            }
        }
    }

    /// What a column is compared with.
    pub(super) fn compared(&mut self, raw: &RawTerm, operator: Operator, column: &ColumnSpec) -> Result<OneOf> {
        let ty = match (operator, raw) {
            (Operator::In, RawTerm::Tuple(items)) => {
                return items.iter().map(|item| self.term(item, column)).collect::<Result<_>>().map(OneOf::Terms);
            }
            (Operator::In, RawTerm::Marker { index, name: given }) => {
                let name = given.clone().unwrap_or_else(|| format!("in({})", column.name)).into();
                let ty = CqlType::List(Box::new(column.ty.clone()));
                self.set_marker(*index, ColumnSpec { name, ty, ..column.clone() });
                return Ok(OneOf::List(*index));
            }
            (Operator::In, _) => {
                return invalid(format!("IN on column {} takes a list in parentheses or a bind marker", column.name));
            }
            (Operator::Contains | Operator::ContainsKey, _) => {
                let keys = operator == Operator::ContainsKey;
                let Some(ty) = column.ty.contained(keys) else {
                    let lacking = if keys { "non-map" } else { "non-collection" };
                    return invalid(format!("Cannot use {operator} on {lacking} column {}", column.name));
                };
                ty
            }
            _ => return self.term(raw, column).map(OneOf::Term),
        };
        let name = format!("value({})", column.name).into();
        self.term(raw, &ColumnSpec { name, ty: ty.clone(), ..column.clone() }).map(OneOf::Term)
    }
}
