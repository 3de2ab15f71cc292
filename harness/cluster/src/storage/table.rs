//! The shards of a table.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::partitions::PartitionShard;
use super::record::{CellSource, KEY_AT};
use super::rows::RowShard;
use super::{Key, PartitionUpdate, Stored};
use crate::error::CqlError;
use crate::schema::{Column, Table};
use crate::types::CqlType;

/// Bytes of a text or blob in the memory that is prepared for rows.
const USUAL_LEN: usize = 16;

const LEAST_SHARDS: usize = 16;
const SHARDS_PER_CORE: usize = 8;
const MOST_SHARDS: usize = 256;

/// The place of a token's partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub shard: usize,
    /// The key in the shard's index.
    pub hash: u32,
}

/// A part of a table: of one without or with clustering columns.
#[derive(Debug)]
pub enum Shard {
    Rows(RowShard),
    Partitions(PartitionShard),
    /// Its rows are in the shard of a store that ALTER made.
    Moved,
}

/// A shard behind its lock, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub struct ShardLock(Mutex<Shard>);

pub type LockedShard<'t> = MutexGuard<'t, Shard>;

impl ShardLock {
    /// Locks it. A thread that panicked with the lock leaves a usable shard.
    #[inline]
    pub fn lock(&self) -> LockedShard<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks it for a statement that is no longer right if the rows have moved.
    pub fn lock_current(&self) -> Result<LockedShard<'_>, CqlError> {
        let shard = self.lock();
        if matches!(*shard, Shard::Moved) { Err(CqlError::Stale) } else { Ok(shard) }
    }
}

/// Where the new cells of rows come from.
#[derive(Debug)]
struct Cells {
    regular: Vec<CellSource>,
    statics: Vec<CellSource>,
    are_as_before: bool,
}

impl Cells {
    fn of(old: &Table, new: &Table) -> Cells {
        let [old_statics, old_regular] = [old.static_columns(), old.regular_columns()];
        let [statics, regular] = [new.static_columns(), new.regular_columns()];
        let sources = |old: &[Column], new: &[Column]| -> Vec<CellSource> {
            let source = |column: &Column| {
                let from = old.iter().position(|other| other.name == column.name);
                let user = match &column.ty {
                    CqlType::User(user) if from.is_some_and(|from| old[from].ty != column.ty) => Some(user.clone()),
                    _ => None,
                };
                CellSource { from, user }
            };
            new.iter().map(source).collect()
        };
        let is_same = |old: &[Column], new: &[Column]| {
            let same = |(old, new): (&Column, &Column)| {
                old.name == new.name && !(matches!(new.ty, CqlType::User(_)) && old.ty != new.ty)
            };
            old.len() == new.len() && old.iter().zip(new).all(same)
        };
        Cells {
            are_as_before: is_same(old_statics, statics) && is_same(old_regular, regular),
            regular: sources(old_regular, regular),
            statics: sources(old_statics, statics),
        }
    }
}

impl Shard {
    /// `timestamp` gets the latest one of what is there.
    pub fn apply(&mut self, key: Key<'_>, update: &PartitionUpdate<'_>, timestamp: impl FnOnce(i64) -> i64) -> Stored {
        match (self, update) {
            (Shard::Partitions(shard), _) => shard.apply(key, update, timestamp),
            (Shard::Rows(shard), PartitionUpdate::Row(_, mutation)) => shard.mutate(key, mutation, timestamp),
            // Without clustering columns a partition is a row. Nobody writes to a shard that has moved.
            (Shard::Rows(_) | Shard::Moved, _) => Ok(()),
        }
    }

    pub fn live(&self) -> u64 {
        match self {
            Shard::Rows(shard) => shard.live(),
            Shard::Partitions(shard) => shard.live(),
            Shard::Moved => 0,
        }
    }
}

#[derive(Debug)]
pub struct TableStore {
    pub table: Arc<Table>,
    pub shards: Box<[ShardLock]>,
    shard_bits: u32,
    /// The number of regular columns: cells in a row's record.
    pub cells: usize,
    /// The index of the first regular column among the table's columns.
    pub first_cell: usize,
    /// Bytes of a record of usual values.
    pub row_len: usize,
    expected_rows: u64,
}

/// The number of shards of a table on a machine with this many cores: a power of two.
pub fn shards_for(cores: usize) -> usize {
    (cores * SHARDS_PER_CORE).next_power_of_two().clamp(LEAST_SHARDS, MOST_SHARDS)
}

impl TableStore {
    /// An empty table of `shards` shards, a power of two, with memory for `expected_rows` rows.
    pub fn new(table: Arc<Table>, shards: usize, expected_rows: u64) -> Self {
        let first_cell = table.partition_key_len + table.clustering_len + table.static_len;
        let cells = table.columns.len() - first_cell;
        let row_len = KEY_AT
            + table.columns[..table.partition_key_len]
                .iter()
                .map(|column| column.ty.longest().unwrap_or(USUAL_LEN))
                .sum::<usize>()
            + table.columns[first_cell..]
                .iter()
                .map(|column| 4 + column.ty.longest().unwrap_or(USUAL_LEN))
                .sum::<usize>();
        let row_len = row_len.next_multiple_of(super::arena::WORD);
        let shards = shards.next_power_of_two();
        let shard_bits = shards.trailing_zeros();
        // Tokens are not even: a little more room than the mean.
        let expected = usize::try_from(expected_rows).unwrap_or(usize::MAX).div_ceil(shards);
        let expected = expected.saturating_add(expected / 128);
        let shard = |_| match table.clustering_len {
            0 => Shard::Rows(RowShard::new(cells, expected, row_len)),
            _ => Shard::Partitions(PartitionShard::new(cells, table.static_len)),
        };
        let shards = (0..shards).map(shard).map(|shard| ShardLock(Mutex::new(shard))).collect();
        TableStore { table, shards, shard_bits, cells, first_cell, row_len, expected_rows }
    }

    /// The place of a token's partitions: places ascend with tokens.
    #[inline]
    pub fn place(&self, token: i64) -> Place {
        let ordered = (token as u64) ^ (1 << 63);
        let shard = (ordered >> 1) >> (63 - self.shard_bits);
        Place { shard: shard as usize, hash: ((ordered << self.shard_bits) >> 32) as u32 }
    }

    pub fn live(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().live()).sum()
    }

    /// Removes all rows and deletions.
    pub fn truncate(&self) -> Result<(), CqlError> {
        let empty = TableStore::new(self.table.clone(), self.shards.len(), self.expected_rows);
        for (old, new) in self.shards.iter().zip(&empty.shards) {
            std::mem::swap(&mut *old.lock_current()?, &mut *new.lock());
        }
        Ok(())
    }

    /// The store of the altered table, into which all rows move. Nothing moves if there is no room for them.
    pub fn altered(&self, new: &Arc<Table>) -> Stored<TableStore> {
        let store = TableStore::new(new.clone(), self.shards.len(), 0);
        let cells = Cells::of(&self.table, new);
        // In ascending order, as everywhere.
        let mut locked: Vec<_> = self.shards.iter().map(ShardLock::lock).collect();
        if !cells.are_as_before {
            for (old, new) in locked.iter_mut().zip(&store.shards) {
                match &mut **old {
                    Shard::Rows(rows) => *new.lock() = Shard::Rows(rows.with_cells(&cells.regular)?),
                    Shard::Partitions(partitions) => partitions.set_cells(&cells.regular, &cells.statics),
                    Shard::Moved => {}
                }
            }
        }
        for (mut old, new) in locked.into_iter().zip(&store.shards) {
            let moved = std::mem::replace(&mut *old, Shard::Moved);
            if cells.are_as_before || matches!(moved, Shard::Partitions(_)) {
                *new.lock() = moved;
            }
        }
        Ok(store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::TableId;

    #[test]
    fn places_ascend_as_tokens_do() {
        let table = Table {
            id: TableId(1),
            version: 0,
            uuid: Default::default(),
            keyspace: "k".into(),
            name: "t".into(),
            columns: Vec::new(),
            partition_key_len: 0,
            clustering_len: 0,
            static_len: 0,
            is_virtual: false,
            options: Default::default(),
            dropped: Vec::new(),
        };
        for shards in [1, 16, 256] {
            let store = TableStore::new(Arc::new(table.clone()), shards, 0);
            let tokens = [i64::MIN, i64::MIN + 1, -(1 << 40), -1, 0, 1, 1 << 33, i64::MAX];
            let places = tokens.map(|token| store.place(token)).map(|place| (place.shard, place.hash));
            assert!(places.is_sorted(), "{places:?}");
            assert_eq!(places[0], (0, 0));
            assert_eq!(places[7], (shards - 1, u32::MAX));
        }
    }
}
