//! Lightweight transactions: the conditions and the writes of one partition under one lock.

use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;

use super::rows::RowView;
use super::select::values_of;
use super::values::{ClusteringKey, clustering_keys, key_components, partition_keys};
use super::write::{Target, TimestampSource, modify};
use crate::codec::response::{MadeRows, Rows};
use crate::error::{CqlError, Result, invalid};
use crate::prepared::{Condition, Modification, ModificationKind};
use crate::schema::Table;
use crate::storage::clock::Clock;
use crate::storage::record::{self, Row};
use crate::storage::table::{Shard, TableStore};
use crate::token;
use crate::types::{ColumnSpec, CqlType, Value};

pub type BoundStatement<'s> = (&'s Modification, &'s [Value<'s>]);

/// A condition and the row it is about.
struct About<'c> {
    condition: &'c Condition,
    values: &'c [Value<'c>],
    /// `None` for the static columns of a table that has clustering columns.
    row: Option<ClusteringKey>,
}

/// The rows of a partition that conditions are checked against, without expired values.
struct Current<'r> {
    statics: Option<Row<'r>>,
    /// For each condition the live row that it is about, with its clustering key.
    rows: Vec<Option<(Row<'r>, &'r [u8])>>,
    /// The clustering key of the first live row, which Cassandra shows beside static columns.
    first: Option<&'r [u8]>,
}

/// Runs the statements if all conditions hold. The answer says whether they did, and what was there if not.
///
/// # Errors
/// Statements on several partitions, values that a statement cannot take, or no more room.
pub fn conditional<'s>(
    store: &TableStore,
    statements: &[BoundStatement<'s>],
    clock: &Clock,
    is_batch: bool,
) -> Result<MadeRows> {
    let table = &*store.table;
    let key = only_partition(table, statements)?;
    let conditions = conditions(table, statements)?;
    for (plan, values) in statements {
        modify(store, plan, values, TimestampSource::Fixed(0), Target::Nowhere)?;
    }
    let place = store.place(token::token(&key));
    let mut shard = store.shards[place.shard].lock_current()?;
    let current = current(&shard, store, (place.hash, &key), &conditions);
    let components = key_components(table, &key);
    for (at, about) in conditions.iter().enumerate() {
        let row = current.rows[at].as_ref();
        let clustering = row.map_or(Vec::new(), |(_, wire)| values_of(wire, table.clustering_len));
        let statics = current.statics.as_ref();
        let cells = row.map(|(row, _)| row);
        let view = RowView { key: &key, components: &components, clustering: &clustering, statics, cells };
        if !about.holds(table, view)? {
            return Ok(not_applied(table, (&key, &components), &conditions, &current, is_batch));
        }
    }
    // Taken under the lock, so that it is later than all that the conditions saw.
    let timestamp = clock.begin().timestamp;
    for (plan, values) in statements {
        // As in Cassandra, a deletion takes nothing of what is written with it.
        let source = TimestampSource::Fixed(timestamp - i64::from(plan.kind == ModificationKind::Delete));
        modify(store, plan, values, source, Target::Locked(&mut shard))?;
    }
    let mut applied = Rows::default();
    applied.push([Some(&[1][..])]);
    Ok((vec![applied_spec(table)], applied))
}

/// The key of the one partition that all statements are about.
fn only_partition(table: &Table, statements: &[BoundStatement<'_>]) -> Result<Vec<u8>> {
    let mut only: Option<Vec<u8>> = None;
    for (plan, values) in statements {
        if plan.table.id != table.id {
            return invalid("Batch with conditions cannot span multiple tables");
        }
        for key in partition_keys(table, &plan.partition, values)? {
            if *only.get_or_insert_with(|| key.clone()) != key {
                return invalid("Batch with conditions cannot span multiple partitions");
            }
        }
    }
    only.ok_or_else(CqlError::not_in_a_batch)
}

fn conditions<'s>(table: &Table, statements: &[BoundStatement<'s>]) -> Result<Vec<About<'s>>> {
    let mut found: Vec<About<'s>> = Vec::new();
    for (plan, values) in statements {
        let Some(condition) = &plan.condition else { continue };
        let names_row = plan.clustering.prefix.len() == table.clustering_len;
        let prefix = &plan.clustering.prefix;
        let keys = if names_row { clustering_keys(table, prefix, values)? } else { Vec::new() };
        let about = About { condition, values, row: keys.into_iter().next() };
        for other in found.iter().filter(|other| other.row == about.row) {
            check_mix(other.condition, condition)?;
        }
        found.push(about);
    }
    Ok(found)
}

/// Refuses two conditions on one row that contradict each other by their kinds.
fn check_mix(before: &Condition, after: &Condition) -> Result<()> {
    use Condition as C;
    match (before, after) {
        (C::NotExists, C::Exists) | (C::Exists, C::NotExists) => {
            invalid("Cannot mix IF EXISTS and IF NOT EXISTS conditions for the same row")
        }
        (C::Columns(_), C::Exists) => invalid("Cannot mix IF conditions and IF EXISTS for the same row"),
        (C::Columns(_), C::NotExists) | (C::NotExists | C::Exists, C::Columns(_)) => {
            invalid("Cannot mix IF conditions and IF NOT EXISTS for the same row")
        }
        _ => Ok(()),
    }
}

impl About<'_> {
    fn holds(&self, table: &Table, view: RowView<'_>) -> Result<bool> {
        let exists = if self.row.is_some() { view.cells.is_some() } else { view.statics.is_some() };
        match self.condition {
            Condition::NotExists => Ok(!exists),
            Condition::Exists => Ok(exists),
            Condition::Columns(filters) => {
                for filter in filters {
                    if !filter.holds(table, view.value(table, filter.column), self.values)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Whether static columns decide it.
    fn reads_statics(&self, table: &Table) -> bool {
        match self.condition {
            Condition::Columns(filters) => filters.iter().any(|filter| table.is_static(filter.column)),
            Condition::Exists | Condition::NotExists => self.row.is_none(),
        }
    }
}

fn current<'r>(
    shard: &'r Shard,
    store: &TableStore,
    (hash, key): (u32, &[u8]),
    conditions: &[About<'_>],
) -> Current<'r> {
    let cells = store.cells;
    let live = |record: &'r [u8]| {
        let row = Row::decode(record, cells);
        row.is_live().then(|| (row, record::key(record)))
    };
    match shard {
        Shard::Moved => Current { statics: None, rows: conditions.iter().map(|_| None).collect(), first: None },
        Shard::Rows(shard) => {
            let record = shard.get(hash, key);
            let rows = conditions.iter().map(|_| record.and_then(live)).collect();
            Current { statics: None, rows, first: None }
        }
        Shard::Partitions(shard) => {
            let partition = shard.get(hash, key);
            let statics = partition.and_then(|partition| partition.statics.as_deref());
            let statics = statics.map(|record| Row::decode(record, store.table.static_len)).filter(Row::is_live);
            let row = |about: &About<'_>| live(partition?.row(&about.row.as_ref()?.sortable)?);
            let mut all = partition.into_iter().flat_map(|one| one.rows(Unbounded, Unbounded));
            Current {
                statics,
                rows: conditions.iter().map(row).collect(),
                first: all.find_map(|(_, record)| live(record).map(|(_, wire)| wire)),
            }
        }
    }
}

/// The answer if a condition fails: `[applied]` is false, beside the columns in conditions of each row that exists.
fn not_applied(
    table: &Table,
    (key, components): (&[u8], &[&[u8]]),
    conditions: &[About<'_>],
    current: &Current<'_>,
    is_batch: bool,
) -> MadeRows {
    let mut selected: Vec<usize> = if is_batch { (0..table.static_start()).collect() } else { Vec::new() };
    for about in conditions {
        match about.condition {
            Condition::Columns(filters) => {
                for filter in filters {
                    if !selected.contains(&filter.column) {
                        selected.push(filter.column);
                    }
                }
            }
            Condition::Exists | Condition::NotExists => {
                selected = (0..table.columns.len()).collect();
                break;
            }
        }
    }
    let statics = current.statics.as_ref();
    let by_key: BTreeMap<&[u8], &(Row<'_>, &[u8])> = conditions
        .iter()
        .zip(&current.rows)
        .filter_map(|(about, row)| Some((about.row.as_ref()?.sortable.as_slice(), row.as_ref()?)))
        .collect();
    let mut rows: Vec<(Vec<&[u8]>, Option<&Row<'_>>)> =
        by_key.values().map(|(row, wire)| (values_of(wire, table.clustering_len), Some(row))).collect();
    if rows.is_empty() && statics.is_some() && conditions.iter().any(|about| about.reads_statics(table)) {
        rows.push((current.first.map_or(Vec::new(), |wire| values_of(wire, table.clustering_len)), None));
    }
    let mut columns = vec![applied_spec(table)];
    if !rows.is_empty() {
        columns.extend(selected.iter().filter_map(|column| Some(table.spec(table.columns.get(*column)?))));
    }
    let mut made = Rows::default();
    let no = Some(&[0][..]);
    if rows.is_empty() {
        made.push([no]);
    }
    for (clustering, cells) in &rows {
        let view = RowView { key, components, clustering, statics, cells: *cells };
        made.push(std::iter::once(no).chain(selected.iter().map(|column| view.value(table, *column))));
    }
    (columns, made)
}

fn applied_spec(table: &Table) -> ColumnSpec {
    table.special("[applied]", CqlType::Boolean)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::analyze::analyze;
    use crate::prepared::CqlPlan;
    use crate::storage::database::Database;

    #[test]
    fn a_write_is_later_than_what_came_while_its_transaction_waited_for_the_lock() {
        let database = Database::new(crate::system::catalog(), 0);
        let plan = |cql: &str| analyze(cql, &database.catalog(), None).unwrap().plan;
        for cql in [
            "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE ks.t (pk int PRIMARY KEY, v int)",
        ] {
            let CqlPlan::Ddl(ddl) = plan(cql) else { panic!("{cql} is no DDL") };
            database.apply(&ddl, |_| ()).unwrap();
        }
        let modification = |cql: &str| match plan(cql) {
            CqlPlan::Modify(modification) => modification,
            other => panic!("{other:?}"),
        };
        let insert = modification("INSERT INTO ks.t (pk, v) VALUES (1, 2) IF NOT EXISTS");
        let delete = modification("DELETE FROM ks.t WHERE pk = 1");
        let store = database.store(&insert.table).unwrap();
        let mut shard = store.shards[store.place(token::token(&1i32.to_be_bytes())).shard].lock();
        thread::scope(|scope| {
            let inserted = scope.spawn(|| conditional(&store, &[(&insert, &[])], &database.clock, false));
            // Time for the transaction to come as far as the lock.
            thread::sleep(Duration::from_millis(50));
            let source = TimestampSource::Fixed(database.clock.begin().timestamp);
            modify(&store, &delete, &[], source, Target::Locked(&mut shard)).unwrap();
            drop(shard);
            inserted.join().unwrap().unwrap();
        });
        assert_eq!(store.live(), 1);
    }
}
