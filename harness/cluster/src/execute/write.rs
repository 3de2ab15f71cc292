//! INSERT, UPDATE and DELETE.

use super::values::{
    Number, check_combinations, clustering_keys, number, one_clustering_key, partition_key, partition_keys, slices,
};
use crate::clock::Moment;
use crate::codec::response::ErrorAnswer;
use crate::plan::{Assignment, CqlError, Delete, Evaluated, Insert, Plan, Term, Update, Value};
use crate::schema::Table;
use crate::storage::table::{Place, Shards, TableStore};
use crate::storage::{Mutation, StorageFull};
use crate::token;

/// Whether a write is done, or only looked at for errors: all statements of a batch are, before the first is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Find errors.
    Check,
    /// Do it.
    Apply,
}

/// Where the timestamp of a write comes from when the statement has none itself.
#[derive(Debug)]
pub enum TimestampSource<'m> {
    /// The request, or one for a whole batch.
    Fixed(i64),
    /// The node's clock.
    Server(&'m mut Moment),
}

impl TimestampSource<'_> {
    fn after(&mut self, latest: i64) -> i64 {
        match self {
            TimestampSource::Fixed(timestamp) => *timestamp,
            TimestampSource::Server(moment) => moment.after(latest),
        }
    }

    fn reborrow(&mut self) -> TimestampSource<'_> {
        match self {
            TimestampSource::Fixed(timestamp) => TimestampSource::Fixed(*timestamp),
            TimestampSource::Server(moment) => TimestampSource::Server(moment),
        }
    }
}

impl From<StorageFull> for ErrorAnswer {
    fn from(full: StorageFull) -> Self {
        ErrorAnswer::Server(full.to_string())
    }
}

/// The timestamp that `USING TIMESTAMP` gives, if it is there and set.
///
/// # Errors
/// Invalid, for null and for what no timestamp can be.
pub fn using_timestamp(term: Option<&Term>, values: &[Value<'_>]) -> Result<Option<i64>, CqlError> {
    let Some(term) = term else { return Ok(None) };
    match number(term, values)? {
        Number::Of(i64::MIN) => {
            Err(CqlError::invalid("Out of bound timestamp, must be in [-9223372036854775807, 9223372036854775807]"))
        }
        Number::Of(timestamp) => Ok(Some(timestamp)),
        Number::Null => Err(CqlError::invalid("Invalid null value of timestamp")),
        Number::Unset => Ok(None),
    }
}

fn refuse_ttl(term: Option<&Term>, values: &[Value<'_>]) -> Result<(), CqlError> {
    let Some(term) = term else { return Ok(()) };
    match number(term, values)? {
        Number::Of(seconds) if seconds < 0 => {
            Err(CqlError::Invalid(format!("A TTL must be greater or equal to 0, but was {seconds}")))
        }
        Number::Of(seconds) if seconds > 0 => Err(CqlError::invalid(
            "USING TTL is not supported by the embedded node, which keeps all rows until they are deleted: leave it out",
        )),
        _ => Ok(()),
    }
}

/// Values of cells that may be owned, by column.
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

/// Runs INSERT, UPDATE or DELETE.
///
/// # Errors
/// Invalid values, no more room, or another statement.
pub fn modify(
    store: &TableStore,
    plan: &Plan,
    values: &[Value<'_>],
    source: TimestampSource<'_>,
    mode: Mode,
) -> Result<(), ErrorAnswer> {
    match plan {
        Plan::Insert(plan) => insert(store, plan, values, source, mode),
        Plan::Update(plan) => update(store, plan, values, source, mode),
        Plan::Delete(plan) => delete(store, plan, values, source, mode),
        _ => Err(not_in_a_batch().into()),
    }
}

/// What is said of a SELECT in a batch.
pub fn not_in_a_batch() -> CqlError {
    CqlError::invalid("Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed.")
}

fn insert(
    store: &TableStore,
    plan: &Insert,
    values: &[Value<'_>],
    source: TimestampSource<'_>,
    mode: Mode,
) -> Result<(), ErrorAnswer> {
    let table = &plan.table;
    let mut source = using_timestamp(plan.timestamp.as_ref(), values)?.map_or(source, TimestampSource::Fixed);
    refuse_ttl(plan.ttl.as_ref(), values)?;
    let key = partition_key(table, &plan.partition, values)?;
    let cells = evaluate(table, &plan.assignments, values)?;
    let row_is_named = table.clustering_len == 0 || !plan.clustering.is_empty();
    let target = Target::of(store, &key, mode);
    if row_is_named {
        let clustering = one_clustering_key(table, &plan.clustering, values)?;
        let mutation = Mutation { insert: true, delete: false, cells: &borrowed(&cells.regular) };
        target.mutate((&clustering.sortable, &clustering.wire), &mutation, source.reborrow())?;
    }
    if !cells.statics.is_empty() {
        target.mutate_statics(&borrowed(&cells.statics), source)?;
    }
    Ok(())
}

fn update(
    store: &TableStore,
    plan: &Update,
    values: &[Value<'_>],
    source: TimestampSource<'_>,
    mode: Mode,
) -> Result<(), ErrorAnswer> {
    let table = &plan.table;
    let mut source = using_timestamp(plan.timestamp.as_ref(), values)?.map_or(source, TimestampSource::Fixed);
    refuse_ttl(plan.ttl.as_ref(), values)?;
    let cells = evaluate(table, &plan.assignments, values)?;
    let (regular, statics) = (borrowed(&cells.regular), borrowed(&cells.statics));
    let row_is_named = table.clustering_len == 0 || !plan.clustering.is_empty();
    let rows = if row_is_named { clustering_keys(table, &plan.clustering, values)? } else { Vec::new() };
    let keys = partition_keys(table, &plan.partition, values)?;
    check_combinations([keys.len(), rows.len()])?;
    for key in keys {
        let target = Target::of(store, &key, mode);
        for row in &rows {
            let mutation = Mutation { insert: false, delete: false, cells: &regular };
            target.mutate((&row.sortable, &row.wire), &mutation, source.reborrow())?;
        }
        if !statics.is_empty() {
            target.mutate_statics(&statics, source.reborrow())?;
        }
    }
    Ok(())
}

fn delete(
    store: &TableStore,
    plan: &Delete,
    values: &[Value<'_>],
    source: TimestampSource<'_>,
    mode: Mode,
) -> Result<(), ErrorAnswer> {
    let table = &plan.table;
    let mut source = using_timestamp(plan.timestamp.as_ref(), values)?.map_or(source, TimestampSource::Fixed);
    let nulls = |columns: &mut dyn Iterator<Item = usize>| columns.map(|column| (column, Value::Null)).collect();
    let (statics, regular) = (table.static_start(), table.regular_start());
    let of_statics = &mut plan.columns.iter().filter(|column| **column < regular).map(|column| column - statics);
    let static_cells: Vec<(usize, Value<'_>)> = nulls(of_statics);
    let of_rows = &mut plan.columns.iter().filter(|column| **column >= regular).map(|column| column - regular);
    let cells: Vec<(usize, Value<'_>)> = nulls(of_rows);
    let in_full = plan.clustering.prefix.len() == table.clustering_len && plan.clustering.range.is_none();
    let rows = clustering_keys(table, &plan.clustering.prefix, values)?;
    let ranges = if in_full { Vec::new() } else { slices(table, &plan.clustering, values)? };
    let keys = partition_keys(table, &plan.partition, values)?;
    check_combinations([keys.len(), rows.len().max(ranges.len())])?;
    for key in keys {
        let target = Target::of(store, &key, mode);
        if !static_cells.is_empty() {
            target.mutate_statics(&static_cells, source.reborrow())?;
        }
        if !plan.columns.is_empty() && cells.is_empty() {
            continue;
        }
        if in_full {
            let mutation = Mutation { insert: false, delete: plan.columns.is_empty(), cells: &cells };
            for row in &rows {
                target.mutate((&row.sortable, &row.wire), &mutation, source.reborrow())?;
            }
        } else if plan.clustering.is_all() {
            target.delete_partition(source.reborrow())?;
        } else {
            for (start, end) in &ranges {
                target.delete_range((start, end), source.reborrow())?;
            }
        }
    }
    Ok(())
}

/// A partition to write to.
struct Target<'t> {
    store: &'t TableStore,
    key: &'t [u8],
    place: Place,
    mode: Mode,
}

impl<'t> Target<'t> {
    fn of(store: &'t TableStore, key: &'t [u8], mode: Mode) -> Self {
        Target { store, key, place: store.place(token::token(key)), mode }
    }

    fn mutate(
        &self,
        clustering: (&[u8], &[u8]),
        mutation: &Mutation<'_>,
        mut source: TimestampSource<'_>,
    ) -> Result<(), StorageFull> {
        if self.mode == Mode::Check {
            return Ok(());
        }
        let (Place { shard, hash }, key) = (self.place, self.key);
        let timestamp = |latest| source.after(latest);
        match self.store.shards() {
            Shards::Rows(shards) => shards[shard].lock().mutate(hash, key, mutation, timestamp),
            Shards::Partitions(shards) => shards[shard].lock().mutate_row(hash, key, clustering, mutation, timestamp),
        }
    }

    fn mutate_statics(&self, cells: &[(usize, Value<'_>)], mut source: TimestampSource<'_>) -> Result<(), StorageFull> {
        if self.mode == Mode::Check {
            return Ok(());
        }
        let mutation = Mutation { insert: false, delete: false, cells };
        match self.store.shards() {
            Shards::Rows(_) => Ok(()),
            Shards::Partitions(shards) => {
                let mut shard = shards[self.place.shard].lock();
                shard.mutate_statics(self.place.hash, self.key, &mutation, |latest| source.after(latest))
            }
        }
    }

    fn delete_partition(&self, mut source: TimestampSource<'_>) -> Result<(), StorageFull> {
        if self.mode == Mode::Check {
            return Ok(());
        }
        match self.store.shards() {
            Shards::Rows(_) => Ok(()),
            Shards::Partitions(shards) => {
                let mut shard = shards[self.place.shard].lock();
                shard.delete_partition(self.place.hash, self.key, |latest| source.after(latest))
            }
        }
    }

    fn delete_range(&self, (start, end): (&[u8], &[u8]), mut source: TimestampSource<'_>) -> Result<(), StorageFull> {
        if self.mode == Mode::Check {
            return Ok(());
        }
        match self.store.shards() {
            Shards::Rows(_) => Ok(()),
            Shards::Partitions(shards) => {
                let mut shard = shards[self.place.shard].lock();
                shard.delete_range(self.place.hash, self.key, (start, end), |latest| source.after(latest))
            }
        }
    }
}
