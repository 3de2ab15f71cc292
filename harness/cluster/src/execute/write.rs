//! INSERT, UPDATE and DELETE.

use super::values::{
    ClusteringKey, check_combinations, clustering_keys, one_clustering_key, partition_key, partition_keys, slices,
};
use crate::error::{CqlError, invalid};
use crate::plan::{Assignment, Delete, Evaluated, Insert, PartitionSelection, Plan, Term, Update};
use crate::schema::{MAX_TTL, Table};
use crate::storage::clock::{Moment, seconds};
use crate::storage::record::FOREVER;
use crate::storage::table::{LockedShard, TableStore};
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
    Server(Moment<'m>),
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

/// The last second in which something may expire: the greatest that Cassandra stores by default.
const LAST_SECOND: i64 = i32::MAX as i64 - 1;

/// The second in which what a statement writes expires, by its `USING TTL` or the table's default.
fn until(table: &Table, ttl: Option<&Term>, values: &[Value<'_>]) -> Result<u32, CqlError> {
    let default = i64::from(table.options.default_time_to_live());
    let ttl = match ttl {
        // As in Cassandra, null is no TTL, and what is not set is the default.
        Some(term) if term.evaluate(values)? == Evaluated::Null => 0,
        Some(term) => term.number("ttl", values)?.unwrap_or(default),
        None => default,
    };
    if ttl < 0 {
        return invalid(format!("A TTL must be greater or equal to 0, but was {ttl}"));
    }
    if ttl > i64::from(MAX_TTL) {
        return invalid(format!("ttl is too large. requested ({ttl}) maximum ({MAX_TTL})"));
    }
    if ttl == 0 {
        return Ok(FOREVER);
    }
    let until = i64::from(seconds()) + ttl;
    if until > LAST_SECOND {
        return invalid(format!(
            "Request on table {}.{} with {}ttl of {ttl} seconds exceeds maximum supported expiration date of \
             2038-01-19T03:14:06+00:00. In order to avoid this use a lower TTL, change the expiration date overflow policy or \
             upgrade to a version where this limitation is fixed. See CASSANDRA-14092 and CASSANDRA-14227 for more details.",
            table.keyspace,
            table.name,
            if ttl == default { "default " } else { "" }
        ));
    }
    Ok(u32::try_from(until).unwrap_or(FOREVER))
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

/// Runs an INSERT, UPDATE or DELETE, whatever its conditions are.
pub fn modify(
    store: &TableStore,
    plan: &Plan,
    values: &[Value<'_>],
    source: TimestampSource<'_>,
    mode: Mode,
) -> Result<(), CqlError> {
    write(store, plan, values, source, (mode, None))
}

/// As [`modify`], in a partition whose shard is locked.
pub fn modify_locked<'s>(
    store: &'s TableStore,
    plan: &Plan,
    values: &[Value<'_>],
    timestamp: i64,
    shard: &mut LockedShard<'s>,
) -> Result<(), CqlError> {
    write(store, plan, values, TimestampSource::Fixed(timestamp), (Mode::Apply, Some(shard)))
}

fn write<'s>(
    store: &'s TableStore,
    plan: &Plan,
    values: &[Value<'_>],
    source: TimestampSource<'_>,
    (mode, held): (Mode, Option<&mut LockedShard<'s>>),
) -> Result<(), CqlError> {
    let (timestamp, until) = match plan {
        Plan::Insert(plan) => (&plan.timestamp, until(&plan.table, plan.ttl.as_ref(), values)?),
        Plan::Update(plan) => (&plan.timestamp, until(&plan.table, plan.ttl.as_ref(), values)?),
        Plan::Delete(plan) => (&plan.timestamp, FOREVER),
        _ => return Err(not_in_a_batch()),
    };
    let source = using_timestamp(timestamp.as_ref(), values)?.map_or(source, TimestampSource::Fixed);
    let write = Write { store, values, source, until, mode, held };
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

struct Write<'w, 's> {
    store: &'s TableStore,
    values: &'w [Value<'w>],
    source: TimestampSource<'w>,
    until: u32,
    mode: Mode,
    held: Option<&'w mut LockedShard<'s>>,
}

impl<'w, 's> Write<'w, 's> {
    fn insert(mut self, plan: &Insert) -> Result<(), CqlError> {
        let table = &plan.table;
        let key = partition_key(table, &plan.partition, self.values)?;
        let cells = evaluate(table, &plan.assignments, self.values)?;
        let row_is_named = table.clustering_len == 0 || !plan.clustering.is_empty();
        let (values, until) = (self.values, self.until);
        let mut target = self.target(&key);
        if row_is_named {
            let row = one_clustering_key(table, &plan.clustering, values)?;
            target.mutate(&row, &Mutation { insert: true, delete: false, cells: &borrowed(&cells.regular), until })?;
        }
        if !cells.statics.is_empty() {
            target.mutate_statics(&borrowed(&cells.statics))?;
        }
        Ok(())
    }

    fn update(mut self, plan: &Update) -> Result<(), CqlError> {
        let table = &plan.table;
        let (cells, until) = (evaluate(table, &plan.assignments, self.values)?, self.until);
        let (regular, statics) = (borrowed(&cells.regular), borrowed(&cells.statics));
        let row_is_named = table.clustering_len == 0 || !plan.clustering.is_empty();
        let rows = if row_is_named { clustering_keys(table, &plan.clustering, self.values)? } else { Vec::new() };
        for key in self.keys(table, &plan.partition, rows.len())? {
            let mut target = self.target(&key);
            for row in &rows {
                target.mutate(row, &Mutation { insert: false, delete: false, cells: &regular, until })?;
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
                    let delete = plan.columns.is_empty();
                    target.mutate(row, &Mutation { insert: false, delete, cells: &cells, until: FOREVER })?;
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

    fn target<'t>(&'t mut self, key: &'t [u8]) -> Target<'t, 'w, 's> {
        let place = self.store.place(token::token(key));
        let shard = match (self.mode, &mut self.held) {
            (Mode::Check, _) => None,
            (Mode::Apply, Some(held)) => Some(Holding::Lent(held)),
            (Mode::Apply, None) => Some(Holding::Own(self.store.lock(place.shard))),
        };
        Target { shard, hash: place.hash, key, source: &mut self.source, until: self.until }
    }
}

/// The lock of a shard: the statement's own, or that of a transaction around it.
enum Holding<'t, 's> {
    Own(LockedShard<'s>),
    Lent(&'t mut LockedShard<'s>),
}

/// A partition to change; without a shard there is nothing to apply.
struct Target<'t, 'w, 's> {
    shard: Option<Holding<'t, 's>>,
    hash: u32,
    key: &'t [u8],
    source: &'t mut TimestampSource<'w>,
    until: u32,
}

impl<'s> Target<'_, '_, 's> {
    /// Changes the shard, with its place in it and the timestamp after the latest one.
    fn change(
        &mut self,
        change: impl FnOnce(&mut LockedShard<'s>, u32, &[u8], &mut dyn FnMut(i64) -> i64) -> Result<(), StorageFull>,
    ) -> Result<(), StorageFull> {
        let shard = match &mut self.shard {
            None => return Ok(()),
            Some(Holding::Own(shard)) => shard,
            Some(Holding::Lent(shard)) => *shard,
        };
        change(shard, self.hash, self.key, &mut |latest| self.source.after(latest))
    }

    fn mutate(&mut self, row: &ClusteringKey, mutation: &Mutation<'_>) -> Result<(), StorageFull> {
        self.change(|shard, hash, key, after| shard.mutate(hash, key, (&row.sortable, &row.wire), mutation, after))
    }

    /// Does nothing in a table without clustering columns, which has no static columns.
    fn mutate_statics(&mut self, cells: &[(usize, Value<'_>)]) -> Result<(), StorageFull> {
        let mutation = Mutation { insert: false, delete: false, cells, until: self.until };
        self.change(|shard, hash, key, after| match shard.partitions() {
            Some(shard) => shard.mutate_statics(hash, key, &mutation, after),
            None => Ok(()),
        })
    }

    fn delete_partition(&mut self) -> Result<(), StorageFull> {
        self.change(|shard, hash, key, after| match shard.partitions() {
            Some(shard) => shard.delete_partition(hash, key, after),
            None => Ok(()),
        })
    }

    fn delete_range(&mut self, range: (&[u8], &[u8])) -> Result<(), StorageFull> {
        self.change(|shard, hash, key, after| match shard.partitions() {
            Some(shard) => shard.delete_range(hash, key, range, after),
            None => Ok(()),
        })
    }
}
