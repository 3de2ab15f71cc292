//! INSERT, UPDATE and DELETE.

use super::edit::{BoundEdit, edited};
use super::values::{check_combinations, clustering_keys, partition_keys, slices};
use crate::error::{CqlError, Result, invalid};
use crate::prepared::{Assignment, Modification, ModificationKind, Term};
use crate::schema::{MAX_TTL, Table};
use crate::storage::clock::{Moment, seconds};
use crate::storage::record::FOREVER;
use crate::storage::table::{LockedShard, TableStore};
use crate::storage::{Mutation, PartitionUpdate};
use crate::token;
use crate::types::{Evaluated, Value};

/// Where a write goes.
#[derive(Debug)]
pub enum Target<'t, 's> {
    /// Nowhere: a batch checks all statements before it writes the first.
    Nowhere,
    /// Into shards that are locked for it, one by one.
    Shards,
    /// Into the shard that a transaction has locked.
    Locked(&'t mut LockedShard<'s>),
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
pub fn using_timestamp(term: Option<&Term>, values: &[Value<'_>]) -> Result<Option<i64>> {
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
fn until(table: &Table, ttl: Option<&Term>, values: &[Value<'_>]) -> Result<u32> {
    let default = i64::from(table.options.default_time_to_live);
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

/// The columns that are written, with their values.
fn evaluate<'a>(plan: &'a Modification, values: &[Value<'a>]) -> Result<Vec<(usize, Evaluated<'a>)>> {
    let whole = plan.assignments.iter().filter(|assignment| assignment.edit.is_none());
    let cell = |assignment: &'a Assignment| {
        let column = assignment.column;
        let value = match (assignment.value.evaluate(values)?, plan.table.columns.get(column)) {
            (Evaluated::Bytes(bytes), Some(of)) => of.ty.normalise(bytes).map_or(Evaluated::Null, Evaluated::Bytes),
            (value, _) => value,
        };
        Ok((column, value))
    };
    whole.map(cell).collect()
}

/// The columns of which parts are changed.
fn bound_edits<'a>(plan: &'a Modification, values: &[Value<'a>]) -> Result<Vec<BoundEdit<'a>>> {
    let of = |assignment: &'a Assignment| {
        let column = plan.table.columns.get(assignment.column)?;
        BoundEdit::of(assignment, &column.ty, values).transpose()
    };
    plan.assignments.iter().filter_map(of).collect()
}

const NO_MUTATION: Mutation<'static> = Mutation { insert: false, delete: false, cells: &[], until: FOREVER };

/// Runs an INSERT, UPDATE or DELETE, whatever its conditions are.
pub fn modify<'s>(
    store: &'s TableStore,
    plan: &Modification,
    values: &[Value<'_>],
    source: TimestampSource<'_>,
    mut target: Target<'_, 's>,
) -> Result<()> {
    let (table, rows) = (&plan.table, &plan.clustering);
    let is_delete = plan.kind == ModificationKind::Delete;
    let until = if is_delete { FOREVER } else { until(table, plan.ttl.as_ref(), values)? };
    let mut source = using_timestamp(plan.timestamp.as_ref(), values)?.map_or(source, TimestampSource::Fixed);
    let keys = partition_keys(table, &plan.partition, values)?;
    let evaluated = evaluate(plan, values)?;
    let cells = |from: usize, to: usize| -> Vec<(usize, Value<'_>)> {
        let of_kind = evaluated.iter().filter(|(column, _)| (from..to).contains(column));
        of_kind.map(|(column, value)| (column - from, value.map(|bytes| &**bytes))).collect()
    };
    let statics = cells(table.static_start(), table.regular_start());
    let regular = cells(table.regular_start(), table.columns.len());
    let edits = bound_edits(plan, values)?;
    let (static_edits, regular_edits) = edits.split_at(edits.partition_point(|one| table.is_static(one.column)));
    let (mut named, mut ranges, mut updates) = (Vec::new(), Vec::new(), Vec::new());
    if plan.names_rows() {
        named = clustering_keys(table, &rows.prefix, values)?;
        if plan.kind == ModificationKind::Insert
            || plan.deletes_rows()
            || !regular.is_empty()
            || !regular_edits.is_empty()
        {
            let insert = plan.kind == ModificationKind::Insert;
            let mutation = Mutation { insert, delete: plan.deletes_rows(), cells: &regular, until };
            updates.extend(named.iter().map(|row| PartitionUpdate::Row((&row.sortable, &row.wire), mutation)));
        }
    } else if plan.deletes_rows() && rows.is_all() {
        updates.push(PartitionUpdate::Partition);
    } else if plan.deletes_rows() {
        ranges = slices(table, rows, values)?;
        updates.extend(ranges.iter().map(|(start, end)| PartitionUpdate::Range(start, end)));
    }
    check_combinations([keys.len(), named.len().max(ranges.len())])?;
    if !statics.is_empty() || !static_edits.is_empty() {
        updates.push(PartitionUpdate::Statics(Mutation { insert: false, delete: false, cells: &statics, until }));
    }
    for key in &keys {
        let place = store.place(token::token(key));
        let mut own;
        let shard = match &mut target {
            Target::Nowhere => return Ok(()),
            Target::Locked(shard) => &mut **shard,
            Target::Shards => {
                own = store.shards[place.shard].lock_current()?;
                &mut own
            }
        };
        let key = (place.hash, &key[..]);
        for update in &updates {
            let (edits, first, mutation) = match update {
                PartitionUpdate::Row(_, mutation) => (regular_edits, table.regular_start(), mutation),
                PartitionUpdate::Statics(mutation) => (static_edits, table.static_start(), mutation),
                _ => (&[][..], 0, &NO_MUTATION),
            };
            if edits.is_empty() {
                shard.apply(key, update, |latest| source.after(latest))?;
                continue;
            }
            let (made, latest_cell) = edited(edits, first, shard, store, key, update)?;
            let made = made.iter().map(|(at, value)| (*at, value.as_deref().map_or(Value::Null, Value::Bytes)));
            let cells: Vec<_> = mutation.cells.iter().copied().chain(made).collect();
            let mutation = Mutation { cells: &cells, ..*mutation };
            let update = match update {
                PartitionUpdate::Row(row, _) => PartitionUpdate::Row(*row, mutation),
                _ => PartitionUpdate::Statics(mutation),
            };
            // What was read is to be replaced, whatever the statement's timestamp is.
            shard.apply(key, &update, |latest| source.after(latest).max(latest_cell.saturating_add(1)))?;
        }
    }
    Ok(())
}
