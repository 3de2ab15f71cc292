//! Conditions of `IF`, and the terms that they share with WHERE.

use super::{Analyzer, find};
use crate::cql::{self, Operator, RawTerm, Relation};
use crate::error::{CqlError, invalid};
use crate::plan::{Condition, Filter, OneOf, Term};
use crate::schema::{ColumnKind, Table};
use crate::types::{ColumnSpec, CqlType};

impl Analyzer<'_> {
    pub(super) fn condition(
        &mut self,
        raw: Option<&cql::Condition>,
        table: &Table,
    ) -> Result<Option<Condition>, CqlError> {
        match raw {
            None => Ok(None),
            Some(cql::Condition::Exists) => Ok(Some(Condition::Exists)),
            Some(cql::Condition::Columns(relations)) => {
                let filters = relations.iter().map(|relation| self.column_condition(relation, table));
                Ok(Some(Condition::Columns(filters.collect::<Result<_, _>>()?)))
            }
        }
    }

    fn column_condition(&mut self, relation: &Relation, table: &Table) -> Result<Filter, CqlError> {
        let about = |name: &str| {
            let (index, column) = find(table, name)?;
            if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
                return invalid(format!("PRIMARY KEY column '{name}' cannot have IF conditions"));
            }
            Ok((index, table.spec(column)))
        };
        let (column, operator, value) = match relation {
            Relation::Single(name, operator, raw) => {
                let (column, spec) = about(name)?;
                let term = match operator {
                    Operator::Contains | Operator::ContainsKey => self.contained(raw, *operator, &spec)?,
                    _ => self.term(raw, &spec)?,
                };
                (column, *operator, OneOf::Term(term))
            }
            Relation::InTerms(name, items) => {
                let (column, spec) = about(name)?;
                let terms = items.iter().map(|item| self.term(item, &spec)).collect::<Result<_, _>>()?;
                (column, Operator::In, OneOf::Terms(terms))
            }
            Relation::InMarker(name, raw) => {
                let (column, spec) = about(name)?;
                (column, Operator::In, self.in_marker(raw, &spec)?)
            }
            Relation::Unsupported(what) => return Err(CqlError::unsupported(what)),
            Relation::Refused(why) => return invalid(*why),
            Relation::Multi(..) | Relation::Token(..) => {
                return invalid("IF takes conditions on single columns, not on tuples or token()");
            }
        };
        Ok(Filter { column, operator, value })
    }

    /// `column IN ?`.
    pub(super) fn in_marker(&mut self, raw: &RawTerm, column: &ColumnSpec) -> Result<OneOf, CqlError> {
        let RawTerm::Marker { index, name: given } = raw else {
            return invalid(format!("IN on column {} takes a list in parentheses or a bind marker", column.name));
        };
        let name = given.clone().unwrap_or_else(|| format!("in({})", column.name)).into();
        let ty = CqlType::List(Box::new(column.ty.clone()));
        self.set_marker(*index, ColumnSpec { name, ty, ..column.clone() });
        Ok(OneOf::List(*index))
    }

    /// The value of CONTAINS or CONTAINS KEY.
    pub(super) fn contained(
        &mut self,
        raw: &RawTerm,
        operator: Operator,
        column: &ColumnSpec,
    ) -> Result<Term, CqlError> {
        let ty = match (operator, column.ty.unfrozen()) {
            (Operator::ContainsKey, CqlType::Map(entry)) => entry.0.clone(),
            (Operator::ContainsKey, _) => {
                return invalid(format!("Cannot use CONTAINS KEY on non-map column {}", column.name));
            }
            (_, CqlType::List(element) | CqlType::Set(element)) => (**element).clone(),
            (_, CqlType::Map(entry)) => entry.1.clone(),
            _ => return invalid(format!("Cannot use CONTAINS on non-collection column {}", column.name)),
        };
        let name = format!("value({})", column.name).into();
        self.term(raw, &ColumnSpec { name, ty, ..column.clone() })
    }
}
