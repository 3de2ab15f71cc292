//! Binding the values of a request to a statement's markers, and making keys from them.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::codec::request::Values;
use crate::error::{CqlError, Result};
use crate::prepared::{ClusteringSelection, OneOf, PartitionSelection};
use crate::schema::{Column, Table};
use crate::storage::clustering;
use crate::token;
use crate::types::{ColumnSpec, Value, write};

/// The longest partition key, and the longest component: their lengths are shorts.
const LONGEST_KEY: usize = u16::MAX as usize;

const MOST_COMBINATIONS: usize = 100_000;

/// The values in the order of the markers, each valid for its marker's type. `wrong_number` makes the refusal from the number of
/// markers and that of values.
pub fn bind<'v, 'a>(
    markers: &[ColumnSpec],
    values: &'v Values<'a>,
    wrong_number: fn(usize, usize) -> String,
) -> Result<Cow<'v, [Value<'a>]>> {
    let bound: Cow<'v, [Value<'a>]> = match values {
        Values::Positional(values) => Cow::Borrowed(&values[..]),
        Values::Named(named) => {
            let mut by_name = HashMap::with_capacity(named.len());
            for (name, value) in named {
                // The first value of a name counts.
                by_name.entry(*name).or_insert(*value);
            }
            markers.iter().filter_map(|marker| by_name.get(&*marker.name).copied()).collect()
        }
    };
    if bound.len() != markers.len() {
        return Err(CqlError::Invalid(wrong_number(markers.len(), bound.len())));
    }
    for (value, marker) in bound.iter().zip(markers) {
        if let Value::Bytes(bytes) = value {
            marker.ty.validate(bytes).map_err(CqlError::Invalid)?;
        }
    }
    Ok(bound)
}

/// The serialised keys of a statement's partitions, in the order of their values; none for a range of tokens.
pub fn partition_keys(table: &Table, selection: &PartitionSelection, values: &[Value<'_>]) -> Result<Vec<Vec<u8>>> {
    match selection {
        PartitionSelection::One(terms) => {
            let components = terms.iter().zip(table.partition_key());
            let components = components.map(|(term, column)| term.evaluate_key(column, values));
            Ok(vec![routing_key(&components.collect::<Result<Vec<_>>>()?)?])
        }
        PartitionSelection::Product(choices) => {
            let choices = choices.iter().zip(table.partition_key());
            let found: Vec<_> = choices.map(|(one, column)| one.evaluate(column, values)).collect::<Result<_, _>>()?;
            product(&found)?.into_iter().map(|components| routing_key(&components)).collect()
        }
        PartitionSelection::Tokens(_) => Ok(Vec::new()),
    }
}

fn routing_key<B: AsRef<[u8]>>(components: &[B]) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    for component in components {
        let length = component.as_ref().len();
        if length > LONGEST_KEY {
            return Err(CqlError::Invalid(format!("Key length of {length} is longer than maximum of {LONGEST_KEY}")));
        }
    }
    token::routing_key(components.iter().map(AsRef::as_ref), &mut key);
    if key.is_empty() {
        return Err(CqlError::invalid("Key may not be empty"));
    }
    if key.len() > LONGEST_KEY {
        return Err(CqlError::Invalid(format!("Key length of {} is longer than maximum of {LONGEST_KEY}", key.len())));
    }
    Ok(key)
}

pub fn key_components<'k>(table: &Table, key: &'k [u8]) -> Vec<&'k [u8]> {
    if table.partition_key_len == 1 {
        return vec![key];
    }
    let mut rest = key;
    (0..table.partition_key_len)
        .map(|_| {
            let Some((length, after)) = rest.split_first_chunk::<2>() else { return &rest[..0] };
            let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
            rest = after.get(length + 1..).unwrap_or_default();
            &after[..length]
        })
        .collect()
}

/// Refuses a statement with too many combinations of keys in `IN` restrictions.
pub fn check_combinations(numbers: impl IntoIterator<Item = usize>) -> Result<()> {
    let combinations = numbers.into_iter().fold(1usize, usize::saturating_mul);
    if combinations > MOST_COMBINATIONS {
        return Err(CqlError::Invalid(format!(
            "The cartesian product of the IN restrictions has {combinations} elements, the embedded cluster takes at most \
             {MOST_COMBINATIONS}"
        )));
    }
    Ok(())
}

fn product<'c, 'v>(choices: &'c [Vec<Cow<'v, [u8]>>]) -> Result<Vec<Vec<&'c [u8]>>> {
    check_combinations(choices.iter().map(Vec::len))?;
    Ok(choices.iter().fold(vec![Vec::new()], |combinations, choice| {
        combinations
            .iter()
            .flat_map(|combination| {
                choice.iter().map(move |value| {
                    let mut longer = combination.clone();
                    longer.push(&**value);
                    longer
                })
            })
            .collect()
    }))
}

/// A clustering key in sortable form, and as one `[bytes]` per column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusteringKey {
    pub sortable: Vec<u8>,
    pub wire: Vec<u8>,
}

/// The clustering keys of the rows that a statement names completely.
pub fn clustering_keys(table: &Table, choices: &[OneOf], values: &[Value<'_>]) -> Result<Vec<ClusteringKey>> {
    let of_one = choices.iter().zip(table.clustering()).map(|(one, column)| match one {
        OneOf::Term(term) => Some(term.evaluate_key(column, values)),
        _ => None,
    });
    // Most statements name one row.
    if let Some(components) = of_one.collect::<Option<Result<Vec<_>>>>() {
        return Ok(vec![clustering_key(table.clustering(), &components?)]);
    }
    let choices = choices.iter().zip(table.clustering());
    let found: Vec<_> = choices.map(|(one, column)| one.evaluate(column, values)).collect::<Result<_, _>>()?;
    Ok(product(&found)?.into_iter().map(|components| clustering_key(table.clustering(), &components)).collect())
}

fn clustering_key<B: AsRef<[u8]>>(columns: &[Column], components: &[B]) -> ClusteringKey {
    let mut key = ClusteringKey::default();
    for (column, component) in columns.iter().zip(components) {
        clustering::put_component(&mut key.sortable, column, component.as_ref());
        write::bytes(&mut key.wire, Some(component.as_ref()));
    }
    key
}

/// Ranges of sortable clustering keys, without their ends.
pub type Slices = Vec<(Vec<u8>, Vec<u8>)>;

/// The rows of a statement within a partition, as ascending ranges that do not overlap.
pub fn slices(table: &Table, selection: &ClusteringSelection, values: &[Value<'_>]) -> Result<Slices> {
    let after_prefix = table.clustering().get(selection.prefix.len()..).unwrap_or_default();
    let prefixes = clustering_keys(table, &selection.prefix, values)?;
    let mut found = Slices::with_capacity(prefixes.len());
    let range = selection.range.as_ref().map(|range| range.evaluate(after_prefix, values)).transpose()?;
    for prefix in prefixes {
        let Some([lower, upper]) = &range else {
            found.push((prefix.sortable.clone(), clustering::after(prefix.sortable)));
            continue;
        };
        let width = [lower, upper].into_iter().flatten().map(|(limit, _)| limit.len()).max().unwrap_or(0);
        let descending = after_prefix.first().is_some_and(|column| column.descending);
        if after_prefix.iter().take(width).any(|column| column.descending != descending) {
            return Err(CqlError::unsupported("A range over several columns whose clustering orders differ"));
        }
        let with = |limit: &[Cow<'_, [u8]>]| {
            let mut key = prefix.sortable.clone();
            for (column, value) in after_prefix.iter().zip(limit) {
                clustering::put_component(&mut key, column, value);
            }
            key
        };
        let (first, last) = if descending { (upper, lower) } else { (lower, upper) };
        let start = match first {
            Some((limit, true)) => with(limit),
            Some((limit, false)) => clustering::after(with(limit)),
            None => prefix.sortable.clone(),
        };
        let end = match last {
            Some((limit, true)) => clustering::after(with(limit)),
            Some((limit, false)) => with(limit),
            None => clustering::after(prefix.sortable.clone()),
        };
        if start < end {
            found.push((start, end));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}
