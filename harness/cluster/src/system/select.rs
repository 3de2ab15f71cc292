//! A SELECT over rows that are all at hand.

use std::borrow::Cow;

use bytes::Bytes;

use super::{Row, SystemView, rows};
use crate::plan::{
    CqlError, Evaluated, EvaluatedFilter, EvaluatedRange, PartitionSelection, Select, Selector, Term, TokenRange, Value,
};
use crate::schema::Table;
use crate::token;

/// The rows of a SELECT from a virtual table, one cell for each selector. They are never paged: there are few.
///
/// # Errors
/// [`CqlError::Invalid`] for values that do not fit their columns.
pub fn select(select: &Select, values: &[Value<'_>], view: &SystemView<'_>) -> Result<Vec<Row>, CqlError> {
    let table = &*select.table;
    let matcher = Matcher::new(select, values)?;
    let mut found = rows(table, view);
    found.retain(|row| matcher.matches(row));
    if select.reversed {
        found.reverse();
    }
    let key = |row: &Row| row.get(..table.partition_key_len).map(<[_]>::to_vec);
    if select.distinct {
        found.dedup_by_key(|row| key(row));
    }
    if let Some(limit) = limit(select.per_partition_limit.as_ref(), values)? {
        let mut last = (None, 0);
        found.retain(|row| {
            let key = key(row);
            last = if last.0 == key { (key, last.1 + 1) } else { (key, 1) };
            last.1 <= limit
        });
    }
    if select.aggregate {
        let count = |selector: &Selector| {
            let counted = match selector {
                Selector::CountColumn(index) => found.iter().filter(|row| cell(row, *index).is_some()).count(),
                _ => found.len(),
            };
            Some(Bytes::copy_from_slice(&(counted as i64).to_be_bytes()))
        };
        return Ok(vec![select.selectors.iter().map(count).collect()]);
    }
    if let Some(limit) = limit(select.limit.as_ref(), values)? {
        found.truncate(limit);
    }
    found.iter().map(|row| select.selectors.iter().map(|selector| project(*selector, row, table)).collect()).collect()
}

fn cell(row: &Row, index: usize) -> Option<&Bytes> {
    row.get(index).and_then(Option::as_ref)
}

fn limit(term: Option<&Term>, values: &[Value<'_>]) -> Result<Option<usize>, CqlError> {
    let Some(term) = term else { return Ok(None) };
    let bytes = match term.evaluate(values)? {
        Evaluated::Bytes(bytes) => bytes,
        Evaluated::Unset => return Ok(None),
        Evaluated::Null => return Err(CqlError::invalid("Invalid null value of limit")),
    };
    let Ok(bytes) = <[u8; 4]>::try_from(&*bytes) else {
        return Err(CqlError::Invalid(format!("Expected 4 or 0 byte int ({})", bytes.len())));
    };
    match usize::try_from(i32::from_be_bytes(bytes)) {
        Ok(limit) if limit > 0 => Ok(Some(limit)),
        _ => Err(CqlError::invalid("LIMIT must be strictly positive")),
    }
}

fn project(selector: Selector, row: &Row, table: &Table) -> Result<Option<Bytes>, CqlError> {
    Ok(match selector {
        Selector::Column(index) => cell(row, index).cloned(),
        Selector::ToJson(index) => {
            let mut json = String::new();
            if let Some(column) = table.columns.get(index) {
                column.ty.write_json(cell(row, index).map(|cell| &**cell), &mut json).map_err(CqlError::Invalid)?;
            }
            Some(json.into())
        }
        Selector::Token => Some(Bytes::copy_from_slice(&row_token(row, table).to_be_bytes())),
        // Made-up cells were written at no time; counts have a row of their own.
        Selector::WriteTime(_) | Selector::Ttl(_) | Selector::CountRows | Selector::CountColumn(_) => None,
    })
}

fn row_token(row: &Row, table: &Table) -> i64 {
    let key = row.get(..table.partition_key_len).unwrap_or_default();
    let mut routing_key = Vec::new();
    token::routing_key(key.iter().map(|cell| cell.as_deref().unwrap_or_default()), &mut routing_key);
    token::token(&routing_key)
}

/// All restrictions with their values.
struct Matcher<'a> {
    table: &'a Table,
    /// For some of the columns, by index: the values that they may have.
    equal: Vec<(usize, Vec<Cow<'a, [u8]>>)>,
    /// A range over clustering columns, from the one of the index on.
    range: Option<(usize, EvaluatedRange<'a>)>,
    tokens: TokenRange,
    filters: Vec<EvaluatedFilter<'a>>,
}

impl<'a> Matcher<'a> {
    fn new(select: &'a Select, values: &[Value<'a>]) -> Result<Self, CqlError> {
        let table = &*select.table;
        let mut equal = Vec::new();
        let mut tokens = TokenRange::default();
        match &select.partition {
            PartitionSelection::One(terms) => {
                for (index, (term, column)) in terms.iter().zip(&table.columns).enumerate() {
                    equal.push((index, vec![term.evaluate_key(column, values)?]));
                }
            }
            PartitionSelection::Product(parts) => {
                for (index, (part, column)) in parts.iter().zip(&table.columns).enumerate() {
                    equal.push((index, part.evaluate(column, values)?));
                }
            }
            PartitionSelection::Tokens(range) => {
                tokens = range.tokens(values)?;
            }
        }
        for (part, (index, column)) in
            select.clustering.prefix.iter().zip(table.columns.iter().enumerate().skip(table.clustering_start()))
        {
            equal.push((index, part.evaluate(column, values)?));
        }
        let next = table.clustering_start() + select.clustering.prefix.len();
        let columns = table.columns.get(next..).unwrap_or_default();
        let range = select.clustering.range.as_ref().map(|range| range.evaluate(columns, values)).transpose()?;
        let filters = select.filters.iter().map(|filter| filter.evaluate(&table.columns, values));
        let filters = filters.collect::<Result<_, _>>()?;
        Ok(Matcher { table, equal, range: range.map(|range| (next, range)), tokens, filters })
    }

    fn matches(&self, row: &Row) -> bool {
        let equal = self
            .equal
            .iter()
            .all(|(index, values)| cell(row, *index).is_some_and(|cell| values.iter().any(|value| **value == **cell)));
        let in_range = self.range.as_ref().is_none_or(|(first, range)| {
            let columns = self.table.columns.get(*first..).unwrap_or_default();
            let cells = row.iter().skip(*first).map(|cell| cell.as_deref().unwrap_or_default());
            range.contains(columns, &cells.collect::<Vec<_>>())
        });
        let in_tokens = self.tokens == TokenRange::default() || self.tokens.contains(row_token(row, self.table));
        let filtered =
            || self.filters.iter().all(|filter| filter.matches(cell(row, filter.column).map(|cell| &**cell)));
        equal && in_range && in_tokens && filtered()
    }
}
