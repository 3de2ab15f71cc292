//! The shards of a table.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::partitions::PartitionShard;
use super::record::KEY_AT;
use super::rows::RowShard;
use super::{Change, StorageFull};
use crate::schema::Table;

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

/// A shard and its lock, on separate cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub struct Shard<T>(Mutex<T>);

impl<T> Shard<T> {
    fn new(content: T) -> Self {
        Shard(Mutex::new(content))
    }

    /// Locks it. A thread that panicked with the lock leaves a usable shard.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub enum Shards {
    Rows(Box<[Shard<RowShard>]>),
    Partitions(Box<[Shard<PartitionShard>]>),
}

/// A shard of either kind, locked.
#[derive(Debug)]
pub enum LockedShard<'t> {
    Rows(MutexGuard<'t, RowShard>),
    Partitions(MutexGuard<'t, PartitionShard>),
}

impl LockedShard<'_> {
    /// `timestamp` gets the latest one of what is there.
    pub fn apply(
        &mut self,
        hash: u32,
        key: &[u8],
        change: &Change<'_>,
        timestamp: impl FnOnce(i64) -> i64,
    ) -> Result<(), StorageFull> {
        match (self, change) {
            (LockedShard::Partitions(shard), _) => shard.apply(hash, key, change, timestamp),
            (LockedShard::Rows(shard), Change::Row(_, mutation)) => shard.mutate(hash, key, mutation, timestamp),
            // Without clustering columns a partition is a row.
            (LockedShard::Rows(_), _) => Ok(()),
        }
    }
}

#[derive(Debug)]
pub struct TableStore {
    pub table: Arc<Table>,
    pub shards: Shards,
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
        let shards = if table.clustering_len == 0 {
            Shards::Rows((0..shards).map(|_| Shard::new(RowShard::new(cells, expected, row_len))).collect())
        } else {
            let shard = || Shard::new(PartitionShard::new(cells, table.static_len));
            Shards::Partitions((0..shards).map(|_| shard()).collect())
        };
        TableStore { table, shards, shard_bits, cells, first_cell, row_len, expected_rows }
    }

    #[inline]
    pub fn shard_count(&self) -> usize {
        1 << self.shard_bits
    }

    /// The place of a token's partitions: places ascend with tokens.
    #[inline]
    pub fn place(&self, token: i64) -> Place {
        let ordered = (token as u64) ^ (1 << 63);
        let shard = (ordered >> 1) >> (63 - self.shard_bits);
        Place { shard: shard as usize, hash: ((ordered << self.shard_bits) >> 32) as u32 }
    }

    /// Locks a shard by its number.
    pub fn lock(&self, shard: usize) -> LockedShard<'_> {
        match &self.shards {
            Shards::Rows(shards) => LockedShard::Rows(shards[shard].lock()),
            Shards::Partitions(shards) => LockedShard::Partitions(shards[shard].lock()),
        }
    }

    /// The number of live rows.
    pub fn live(&self) -> u64 {
        match &self.shards {
            Shards::Rows(shards) => shards.iter().map(|shard| shard.lock().live()).sum(),
            Shards::Partitions(shards) => shards.iter().map(|shard| shard.lock().live()).sum(),
        }
    }

    /// Removes all rows and deletions.
    pub fn truncate(&self) {
        let empty = TableStore::new(self.table.clone(), self.shard_count(), self.expected_rows);
        match (&self.shards, &empty.shards) {
            (Shards::Rows(old), Shards::Rows(new)) => {
                old.iter().zip(new).for_each(|(old, new)| std::mem::swap(&mut *old.lock(), &mut *new.lock()));
            }
            (Shards::Partitions(old), Shards::Partitions(new)) => {
                old.iter().zip(new).for_each(|(old, new)| std::mem::swap(&mut *old.lock(), &mut *new.lock()));
            }
            _ => {}
        }
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
            uuid: Default::default(),
            keyspace: "k".into(),
            name: "t".into(),
            columns: Vec::new(),
            partition_key_len: 0,
            clustering_len: 0,
            static_len: 0,
            is_virtual: false,
            options: Default::default(),
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
