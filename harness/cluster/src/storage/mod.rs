//! The rows of tables, in memory: sharded by token, each shard behind a lock of its own.
//!
//! `index` finds a partition by its hash, `arena` holds the bytes of rows, `record` says what those bytes are and how writes with timestamps
//! change them, `rows` and `partitions` are the shards of tables without and with clustering columns, `clustering` orders rows
//! within a partition, `range_deletions` says what of it was deleted, `table` puts shards together.

pub mod arena;
pub mod clustering;
pub mod index;
#[cfg(test)]
mod order_tests;
pub mod partitions;
pub mod range_deletions;
pub mod record;
pub mod rows;
pub mod table;

use crate::plan::Value;
use record::Row;

/// A shard can take no more: its 32 GiB of addresses are used, or a row is longer than 128 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The embedded node can hold no more rows: a shard of a table is limited to 32 GiB, a row to 128 MiB")]
pub struct StorageFull;

impl From<arena::OutOfAddresses> for StorageFull {
    fn from(_: arena::OutOfAddresses) -> Self {
        StorageFull
    }
}

impl From<index::Full> for StorageFull {
    fn from(_: index::Full) -> Self {
        StorageFull
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
}

impl<'v> Mutation<'v> {
    /// Applies it to a row at a timestamp.
    pub fn apply<'a>(&self, row: &mut Row<'a>, timestamp: i64)
    where
        'v: 'a,
    {
        if self.delete {
            row.delete(timestamp);
        }
        if self.insert {
            row.insert(timestamp);
        }
        for (column, value) in self.cells {
            row.write(*column, *value, timestamp);
        }
    }
}
