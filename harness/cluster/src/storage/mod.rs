//! The rows of tables in memory, sharded by token, each shard with its own lock.
//!
//! `index` finds a partition from its hash, `arena` holds the bytes of rows, and `record` defines those bytes and how writes
//! change them. `rows` and `partitions` are the shards of tables without and with clustering columns; `clustering` orders rows
//! within a partition, and `range_deletions` keeps its deletions. `table` combines shards, `database` tables and the catalog.

pub mod arena;
pub mod clock;
pub mod clustering;
pub mod database;
pub mod index;
pub mod partitions;
pub mod range_deletions;
pub mod record;
pub mod rows;
pub mod table;

use crate::error::CqlError;
use crate::types::Value;
use record::Row;

/// A shard is full: its 32 GiB of addresses are used, or a row is longer than 128 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The embedded cluster can hold no more rows: a shard of a table is limited to 32 GiB, a row to 128 MiB")]
pub struct StorageFull;

pub type Stored<T = ()> = Result<T, StorageFull>;

/// A partition: its hash and its serialised key.
pub type Key<'k> = (u32, &'k [u8]);

impl From<StorageFull> for CqlError {
    fn from(full: StorageFull) -> Self {
        CqlError::Server(full.to_string())
    }
}

/// What a statement does to one row.
#[derive(Clone, Copy, Debug)]
pub struct Mutation<'v> {
    /// Makes the row exist.
    pub insert: bool,
    /// Deletes the row as it was.
    pub delete: bool,
    /// Cells to write: indexes among the row's cells, with values; null deletes.
    pub cells: &'v [(usize, Value<'v>)],
    /// The second in which what is written expires, or [`record::FOREVER`].
    pub until: u32,
}

/// What a statement does to one partition.
#[derive(Clone, Copy, Debug)]
pub enum PartitionUpdate<'c> {
    /// To the row with this clustering key, in sortable form and as one `[bytes]` per column.
    Row((&'c [u8], &'c [u8]), Mutation<'c>),
    /// To its static columns.
    Statics(Mutation<'c>),
    /// Deletes all of it.
    Partition,
    /// Deletes the rows from the first sortable key up to the second.
    Range(&'c [u8], &'c [u8]),
}

impl<'v> Mutation<'v> {
    pub fn apply<'a>(&self, row: &mut Row<'a>, timestamp: i64)
    where
        'v: 'a,
    {
        if self.delete {
            row.delete(timestamp);
        }
        if self.insert {
            row.insert(timestamp, self.until);
        }
        for (column, value) in self.cells {
            row.write(*column, *value, timestamp, self.until);
        }
    }
}

#[cfg(test)]
mod tests;
