//! INSERT, UPDATE and DELETE.

use std::sync::MutexGuard;

use super::values::{
    ClusteringKey, check_combinations, clustering_keys, one_clustering_key, partition_key, partition_keys, slices,
};
use crate::error::CqlError;
use crate::plan::{Assignment, Delete, Evaluated, Insert, PartitionSelection, Plan, Term, Update};
use crate::schema::Table;
use crate::storage::clock::Moment;
use crate::storage::partitions::PartitionShard;
use crate::storage::table::{Place, Shards, TableStore};
use crate::storage::{Mutation, StorageFull};
use crate::token;
use crate::types::Value;

/// Whether a write is done or only checked: a batch checks all statements before it writes the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Check,
    Apply,
}

/// The source of a write's timestamp, unless the statement has one.
#[derive(Debug)]
pub enum TimestampSource<'m> {
    /// The request, or one for a whole batch.
    Fixed(i64),
    Server(&'m mut Moment),
}

impl TimestampSource<'_> {
    fn after(&mut self, latest: i64) -> i64 {
        match self {
            TimestampSource::Fixed(timestamp) => *timestamp,
            TimestampSource::Server(moment) => moment.after(latest),
        }
    }
}

/// The timestamp of `USING TIMESTAMP`, if it is set.
pub fn using_timestamp(term: Option<&Term>, values: &[Value<'_>]) -> Result<Option<i64>, CqlError> {
    let Some(term) = term else { return Ok(None) };
    match term.number("timestamp", values)? {
        Some(i64::MIN) => {
            Err(CqlError::invalid("Out of bound timestamp, must be in [-9223372036854775807, 9223372036854775807]"))
        }
        timestamp => Ok(timestamp),
    }
}

fn refuse_ttl(term: Option<&Term>, values: &[Value<'_>]) -> Result<(), CqlError> {
    let Some(term) = term else { return Ok(()) };
    // As in Cassandra, null is no TTL.
    match term.number("ttl", values).unwrap_or(None) {
        Some(seconds) if seconds < 0 => {
            Err(CqlError::Invalid(format!("A TTL must be greater or equal to 0, but was {seconds}")))
        }
        Some(seconds) if seconds > 0 => Err(CqlError::invalid(
            "USING TTL is not supported by the embedded cluster, which keeps rows until they are deleted: leave it out",
        )),
        _ => Ok(()),
    }
}

struct Cells<'a> {
    statics: Vec<(usize, Evaluated<'a>)>,
    regular: Vec<(usize, Evaluated<'a>)>,
}

fn evaluate<'a>(table: &Table, assignments: &'a [Assignment], values: &[Value<'a>]) -> Result<Cells<'a>, CqlError> {
    let mut cells = Cells { statics: Vec::new(), regular: Vec::with_capacity(assignments.len()) };
    for assignment in assignments {
        let mut value = assignment.value.evaluate(values)?;
        let Some(column) = table.columns.get(assignment.column) else { continue };
        if column.ty.is_collection()
            && let Evaluated::Bytes(bytes) = &value
        {
            value = match column.ty.normalise(bytes) {
                Some(normal) => Evaluated::Bytes(normal.into_owned().into()),
                None => Evaluated::Null,
            };
        }
        if assignment.column < table.regular_start() {
            cells.statics.push((assignment.column - table.static_start(), value));
        } else {
            cells.regular.push((assignment.column - table.regular_start(), value));
        }
    }
    Ok(cells)
}

fn borrowed<'e>(cells: &'e [(usize, Evaluated<'_>)]) -> Vec<(usize, Value<'e>)> {
    let borrow = |value: &'e Evaluated<'_>| match value {
        Evaluated::Bytes(bytes) => Value::Bytes(bytes),
        Evaluated::Null => Value::Null,
        Evaluated::Unset => Value::Unset,
    };
    cells.iter().map(|(column, value)| (*column, borrow(value))).collect()
}

pub fn modify(
    store: &TableStore,
    plan: &Plan,
    values: &[Value<'_>],
    source: TimestampSource<'_>,
    mode: Mode,
) -> Result<(), CqlError> {
    let (timestamp, ttl) = match plan {
        Plan::Insert(plan) => (&plan.timestamp, &plan.ttl),
        Plan::Update(plan) => (&plan.timestamp, &plan.ttl),
        Plan::Delete(plan) => (&plan.timestamp, &None),
        _ => return Err(not_in_a_batch()),
    };
    let source = using_timestamp(timestamp.as_ref(), values)?.map_or(source, TimestampSource::Fixed);
    refuse_ttl(ttl.as_ref(), values)?;
    let write = Write { store, values, source, mode };
    match plan {
        Plan::Insert(plan) => write.insert(plan),
        Plan::Update(plan) => write.update(plan),
        Plan::Delete(plan) => write.delete(plan),
        _ => Err(not_in_a_batch()),
    }
}

/// The refusal of a SELECT in a batch.
pub fn not_in_a_batch() -> CqlError {
    CqlError::invalid("Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed.")
}

struct Write<'w> {
    store: &'w TableStore,
    values: &'w [Value<'w>],
    source: TimestampSource<'w>,
    mode: Mode,
}

impl<'w> Write<'w> {
    fn insert(mut self, plan: &Insert) -> Result<(), CqlError> {
        let table = &plan.table;
        let key = partition_key(table, &plan.partition, self.values)?;
        let cells = evaluate(table, &plan.assignments, self.values)?;
        let row_is_named = table.clustering_len == 0 || !plan.clustering.is_empty();
        let values = self.values;
        let mut target = self.target(&key);
        if row_is_named {
            let row = one_clustering_key(table, &plan.clustering, values)?;
            target.mutate(&row, &Mutation { insert: true, delete: false, cells: &borrowed(&cells.regular) })?;
        }
        if !cells.statics.is_empty() {
            target.mutate_statics(&borrowed(&cells.statics))?;
        }
        Ok(())
    }

    fn update(mut self, plan: &Update) -> Result<(), CqlError> {
        let table = &plan.table;
        let cells = evaluate(table, &plan.assignments, self.values)?;
        let (regular, statics) = (borrowed(&cells.regular), borrowed(&cells.statics));
        let row_is_named = table.clustering_len == 0 || !plan.clustering.is_empty();
        let rows = if row_is_named { clustering_keys(table, &plan.clustering, self.values)? } else { Vec::new() };
        for key in self.keys(table, &plan.partition, rows.len())? {
            let mut target = self.target(&key);
            for row in &rows {
                target.mutate(row, &Mutation { insert: false, delete: false, cells: &regular })?;
            }
            if !statics.is_empty() {
                target.mutate_statics(&statics)?;
            }
        }
        Ok(())
    }

    fn delete(mut self, plan: &Delete) -> Result<(), CqlError> {
        let table = &plan.table;
        let nulls = |columns: &mut dyn Iterator<Item = usize>| columns.map(|column| (column, Value::Null)).collect();
        let (statics, regular) = (table.static_start(), table.regular_start());
        let of_statics = &mut plan.columns.iter().filter(|column| **column < regular).map(|column| column - statics);
        let static_cells: Vec<(usize, Value<'_>)> = nulls(of_statics);
        let of_rows = &mut plan.columns.iter().filter(|column| **column >= regular).map(|column| column - regular);
        let cells: Vec<(usize, Value<'_>)> = nulls(of_rows);
        let in_full = plan.clustering.prefix.len() == table.clustering_len && plan.clustering.range.is_none();
        let rows = clustering_keys(table, &plan.clustering.prefix, self.values)?;
        let ranges = if in_full { Vec::new() } else { slices(table, &plan.clustering, self.values)? };
        for key in self.keys(table, &plan.partition, rows.len().max(ranges.len()))? {
            let mut target = self.target(&key);
            if !static_cells.is_empty() {
                target.mutate_statics(&static_cells)?;
            }
            if !plan.columns.is_empty() && cells.is_empty() {
                continue;
            }
            if in_full {
                for row in &rows {
                    target.mutate(row, &Mutation { insert: false, delete: plan.columns.is_empty(), cells: &cells })?;
                }
            } else if plan.clustering.is_all() {
                target.delete_partition()?;
            } else {
                for (start, end) in &ranges {
                    target.delete_range((start, end))?;
                }
            }
        }
        Ok(())
    }

    /// The keys of the partitions, with `named` rows or ranges of rows in each.
    fn keys(&self, table: &Table, selection: &PartitionSelection, named: usize) -> Result<Vec<Vec<u8>>, CqlError> {
        let keys = partition_keys(table, selection, self.values)?;
        check_combinations([keys.len(), named])?;
        Ok(keys)
    }

    fn target<'t>(&'t mut self, key: &'t [u8]) -> Target<'t, 'w> {
        let place = self.store.place(token::token(key));
        Target { store: self.store, key, place, source: &mut self.source, mode: self.mode }
    }
}

struct Target<'t, 'w> {
    store: &'t TableStore,
    key: &'t [u8],
    place: Place,
    source: &'t mut TimestampSource<'w>,
    mode: Mode,
}

impl<'t> Target<'t, '_> {
    /// The shard for a change that needs clustering columns; `None` when there is nothing to apply.
    fn partitions(&self) -> Option<MutexGuard<'t, PartitionShard>> {
        match &self.store.shards {
            Shards::Partitions(shards) if self.mode == Mode::Apply => Some(shards[self.place.shard].lock()),
            Shards::Partitions(_) | Shards::Rows(_) => None,
        }
    }

    fn mutate(&mut self, row: &ClusteringKey, mutation: &Mutation<'_>) -> Result<(), StorageFull> {
        if self.mode == Mode::Check {
            return Ok(());
        }
        let (Place { shard, hash }, key) = (self.place, self.key);
        let timestamp = |latest| self.source.after(latest);
        match &self.store.shards {
            Shards::Rows(shards) => shards[shard].lock().mutate(hash, key, mutation, timestamp),
            Shards::Partitions(shards) => {
                shards[shard].lock().mutate_row(hash, key, (&row.sortable, &row.wire), mutation, timestamp)
            }
        }
    }

    fn mutate_statics(&mut self, cells: &[(usize, Value<'_>)]) -> Result<(), StorageFull> {
        let Some(mut shard) = self.partitions() else { return Ok(()) };
        let mutation = Mutation { insert: false, delete: false, cells };
        shard.mutate_statics(self.place.hash, self.key, &mutation, |latest| self.source.after(latest))
    }

    fn delete_partition(&mut self) -> Result<(), StorageFull> {
        let Some(mut shard) = self.partitions() else { return Ok(()) };
        shard.delete_partition(self.place.hash, self.key, |latest| self.source.after(latest))
    }

    fn delete_range(&mut self, range: (&[u8], &[u8])) -> Result<(), StorageFull> {
        let Some(mut shard) = self.partitions() else { return Ok(()) };
        shard.delete_range(self.place.hash, self.key, range, |latest| self.source.after(latest))
    }
}
