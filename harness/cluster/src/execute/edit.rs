//! Changes of counters and of parts of collections and user-defined types: the whole value is read and written again, under the lock
//! of its shard.

use std::borrow::Cow;

use crate::error::{CqlError, Result, invalid};
use crate::prepared::{Assignment, Edit};
use crate::storage::record::{self, Row};
use crate::storage::table::{Shard, TableStore};
use crate::storage::{Key, PartitionUpdate};
use crate::types::{self, CqlType, Evaluated, Value};

/// A change of a part of a column, with its values.
#[derive(Debug)]
pub(super) struct BoundEdit<'a> {
    pub(super) column: usize,
    ty: &'a CqlType,
    edit: &'a Edit,
    /// Of [`Edit::Element`].
    element: Option<Cow<'a, [u8]>>,
    value: Evaluated<'a>,
}

impl<'a> BoundEdit<'a> {
    /// `None` if the assignment sets the whole column, or if its value is not set.
    ///
    /// # Errors
    /// The element is null or not set, or a value within a value is.
    pub(super) fn of(
        assignment: &'a Assignment,
        ty: &'a CqlType,
        values: &[Value<'a>],
    ) -> Result<Option<BoundEdit<'a>>> {
        let Some(edit) = &assignment.edit else { return Ok(None) };
        let value = assignment.value.evaluate(values)?;
        if *ty == CqlType::Counter {
            check_count(edit, &value)?;
        }
        let what = match ty {
            CqlType::List(_) => "list index",
            CqlType::Map(_) => "map key",
            _ => "set element",
        };
        let element = match edit {
            Edit::Element(term) => match term.evaluate(values)? {
                Evaluated::Bytes(bytes) => Some(bytes),
                Evaluated::Null => return invalid(format!("Invalid null {what}")),
                Evaluated::Unset => return invalid(format!("Invalid unset value for {what}")),
            },
            _ => None,
        };
        let is_unset = value == Evaluated::Unset;
        Ok((!is_unset).then_some(BoundEdit { column: assignment.column, ty, edit, element, value }))
    }

    /// The value after the change; `None` if nothing is in it.
    ///
    /// # Errors
    /// A list has no such index.
    fn apply(&self, current: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        if *self.ty == CqlType::Counter {
            return Ok(Some(self.count(current).to_be_bytes().to_vec()));
        }
        if let (CqlType::User(user), Edit::Field(at)) = (self.ty, self.edit) {
            let mut fields = user.fields(current.unwrap_or_default());
            if let Some(field) = fields.get_mut(*at) {
                *field = self.given();
            }
            return Ok(user.write(&fields));
        }
        let step = if matches!(self.ty, CqlType::Map(_)) { 2 } else { 1 };
        let mut parts: Vec<&[u8]> = current.into_iter().flat_map(types::elements).flatten().collect();
        let given = self.given();
        let of_given = || given.into_iter().flat_map(types::elements).flatten();
        match (self.edit, self.element.as_deref()) {
            (Edit::Append, _) => parts.extend(of_given()),
            (Edit::Prepend, _) => parts = of_given().chain(parts).collect(),
            (Edit::Remove, _) => {
                let gone: Vec<&[u8]> = of_given().collect();
                remove(&mut parts, step, |part| gone.contains(&part));
            }
            (Edit::Element(_), Some(index)) if matches!(self.ty, CqlType::List(_)) => {
                let at = list_index(index, parts.len(), given.is_none())?;
                match given {
                    Some(value) => parts[at] = value,
                    None => drop(parts.remove(at)),
                }
            }
            (Edit::Element(_), Some(key)) => match given {
                Some(value) => parts.extend([key, value]),
                None => remove(&mut parts, step, |part| part == key),
            },
            (Edit::Element(_), None) | (Edit::Field(_), _) => {}
        }
        Ok((!parts.is_empty()).then(|| self.ty.write_collection(&parts)))
    }

    fn given(&self) -> Option<&[u8]> {
        if let Evaluated::Bytes(bytes) = &self.value { Some(bytes) } else { None }
    }

    /// The counter after the change. As in Cassandra, it wraps around.
    fn count(&self, current: Option<&[u8]>) -> i64 {
        let long = |bytes: Option<&[u8]>| bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, i64::from_be_bytes);
        match self.edit {
            Edit::Remove => long(current).wrapping_sub(long(self.given())),
            _ => long(current).wrapping_add(long(self.given())),
        }
    }
}

/// Refuses what cannot be added to a counter.
fn check_count(edit: &Edit, value: &Evaluated<'_>) -> Result<()> {
    let subtracts = matches!(edit, Edit::Remove);
    match value {
        Evaluated::Null => invalid("Invalid null value for counter increment"),
        Evaluated::Bytes(bytes) if subtracts && **bytes == i64::MIN.to_be_bytes() => invalid(format!(
            "The negation of {} overflows supported counter precision (signed 8 bytes integer)",
            i64::MIN
        )),
        _ => Ok(()),
    }
}

/// Removes the elements that are in question, or the entries of such keys.
fn remove(parts: &mut Vec<&[u8]>, step: usize, is_gone: impl Fn(&[u8]) -> bool) {
    *parts = parts.chunks(step).filter(|entry| !is_gone(entry[0])).flatten().copied().collect();
}

/// # Errors
/// Those of Cassandra for an index that the list does not have.
fn list_index(index: &[u8], length: usize, deletes: bool) -> Result<usize> {
    let index = index.try_into().map(i32::from_be_bytes).map_err(|_| CqlError::invalid("Invalid null list index"))?;
    if length == 0 {
        return invalid(match deletes {
            true => "Attempted to delete an element from a list which is null",
            false => "Attempted to set an element on a list which is null",
        });
    }
    let at = usize::try_from(index).ok().filter(|at| *at < length);
    at.ok_or_else(|| CqlError::Invalid(format!("List index {index} out of bound, list has size {length}")))
}

/// New values of cells, and the latest time at which one of the old ones was written.
pub(super) type Edited = (Vec<(usize, Option<Vec<u8>>)>, i64);

/// The cells that `edits` make of those in the row of an update; cells count from the column `first`.
pub(super) fn edited(
    edits: &[BoundEdit<'_>],
    first: usize,
    shard: &Shard,
    store: &TableStore,
    (hash, key): Key<'_>,
    update: &PartitionUpdate<'_>,
) -> Result<Edited> {
    let record = match (shard, update) {
        (Shard::Rows(shard), _) => shard.get(hash, key),
        (Shard::Partitions(shard), PartitionUpdate::Row((sortable, _), _)) => {
            shard.get(hash, key).and_then(|partition| partition.row(sortable))
        }
        (Shard::Partitions(shard), _) => shard.get(hash, key).and_then(|partition| partition.statics.as_deref()),
        (Shard::Moved, _) => None,
    };
    let count = if matches!(update, PartitionUpdate::Statics(_)) { store.table.static_len } else { store.cells };
    let row = record.map_or_else(|| Row::empty(count), |record| Row::decode(record, count));
    let (mut cells, mut latest): Edited = (Vec::new(), record::NEVER);
    for edit in edits {
        let at = edit.column - first;
        let Some(cell) = row.cells.get(at) else { continue };
        // A counter that was deleted stays so, as in Cassandra.
        if *edit.ty == CqlType::Counter && cell.value == Value::Null {
            continue;
        }
        latest = latest.max(cell.timestamp);
        // A statement may change several elements of one column.
        match cells.iter_mut().find(|(column, _)| *column == at) {
            Some((_, value)) => *value = edit.apply(value.as_deref())?,
            None => cells.push((at, edit.apply(cell.value.bytes())?)),
        }
    }
    Ok((cells, latest))
}
