//! The shards of a table.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::partitions::PartitionShard;
use super::record::KEY_AT;
use super::rows::RowShard;
use super::{Change, Key, Stored};
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

/// A part of a table: of one without or with clustering columns.
#[derive(Debug)]
pub enum Shard {
    Rows(RowShard),
    Partitions(PartitionShard),
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
}

impl Shard {
    /// `timestamp` gets the latest one of what is there.
    pub fn apply(&mut self, key: Key<'_>, change: &Change<'_>, timestamp: impl FnOnce(i64) -> i64) -> Stored {
        match (self, change) {
            (Shard::Partitions(shard), _) => shard.apply(key, change, timestamp),
            (Shard::Rows(shard), Change::Row(_, mutation)) => shard.mutate(key, mutation, timestamp),
            // Without clustering columns a partition is a row.
            (Shard::Rows(_), _) => Ok(()),
        }
    }

    pub fn live(&self) -> u64 {
        match self {
            Shard::Rows(shard) => shard.live(),
            Shard::Partitions(shard) => shard.live(),
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
    pub fn truncate(&self) {
        let empty = TableStore::new(self.table.clone(), self.shards.len(), self.expected_rows);
        let pairs = self.shards.iter().zip(&empty.shards);
        pairs.for_each(|(old, new)| std::mem::swap(&mut *old.lock(), &mut *new.lock()));
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
