//! Whether the conditions of `IF` hold.

use std::borrow::Cow;

use super::{Condition, Filter, OneOf, Term};
use crate::cql::Operator;
use crate::error::{CqlError, Result, invalid};
use crate::schema::{Column, Table};
use crate::types::{Evaluated, Value};

impl Condition {
    /// Whether it is about static columns only, so that no row needs to be named.
    pub fn is_static(&self, table: &Table) -> bool {
        match self {
            Condition::NotExists | Condition::Exists => true,
            Condition::Columns(filters) => filters.iter().all(|filter| table.is_static(filter.column)),
        }
    }
}

impl Filter {
    /// Whether a cell is as a condition asks. Unlike in WHERE, null equals null and differs from all else.
    pub fn holds(&self, table: &Table, cell: Option<&[u8]>, values: &[Value<'_>]) -> Result<bool> {
        let Some(column) = table.columns.get(self.column) else { return Ok(false) };
        let wanted: Vec<Option<Cow<'_, [u8]>>> = match &self.value {
            OneOf::Term(_) if matches!(self.operator, Operator::Contains | Operator::ContainsKey) => {
                return Ok(self.evaluate(&table.columns, values)?.matches(cell));
            }
            OneOf::Term(term) => vec![wanted_value(term, column, values)?],
            OneOf::Terms(terms) => {
                terms.iter().map(|term| wanted_value(term, column, values)).collect::<Result<_, _>>()?
            }
            list @ OneOf::List(_) => list.evaluate(column, values)?.into_iter().map(Some).collect(),
        };
        let equal = wanted.iter().any(|wanted| match (wanted, cell) {
            (Some(wanted), Some(cell)) => column.ty.compare(cell, wanted).is_eq(),
            (wanted, cell) => wanted.is_none() && cell.is_none(),
        });
        match self.operator {
            Operator::Equal | Operator::In => Ok(equal),
            Operator::NotEqual => Ok(!equal),
            operator => match (wanted.as_slice(), cell) {
                _ if wanted.contains(&None) => {
                    invalid(format!("Invalid comparison with null for operator \"{operator}\""))
                }
                ([Some(wanted)], Some(cell)) => Ok(operator.takes(column.ty.compare(cell, wanted))),
                _ => Ok(false),
            },
        }
    }
}

/// The value that a cell is compared with; `None` is null.
fn wanted_value<'a>(term: &'a Term, column: &Column, values: &[Value<'a>]) -> Result<Option<Cow<'a, [u8]>>> {
    match term.evaluate(values)? {
        Evaluated::Null => Ok(None),
        Evaluated::Unset => invalid("Invalid 'unset' value in condition"),
        Evaluated::Bytes(bytes) => {
            if !matches!(term, Term::Constant(_)) {
                column.ty.validate(&bytes).map_err(CqlError::Invalid)?;
            }
            Ok(column.ty.normalise(bytes))
        }
    }
}
