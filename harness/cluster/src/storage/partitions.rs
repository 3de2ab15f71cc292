//! A shard of a table with clustering columns: partitions of rows in clustering order.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::index::{Index, Lookup};
use super::range_deletions::RangeDeletions;
use super::record::{self, CellSource, NEVER, Row};
use super::{Key, PartitionUpdate, StorageFull, Stored};

/// A partition, perhaps without a live row.
#[derive(Debug)]
pub struct Partition {
    pub key: Box<[u8]>,
    deleted: i64,
    ranges: RangeDeletions,
    /// The record of the static columns, if one was ever written.
    pub statics: Option<Box<[u8]>>,
    rows: BTreeMap<Box<[u8]>, Box<[u8]>>,
    /// The greatest timestamp in it.
    latest: i64,
}

impl Partition {
    /// The sortable keys and records in `start..end`, including those without a live row.
    pub fn rows(&self, start: Bound<&[u8]>, end: Bound<&[u8]>) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        // BTreeMap::range panics on such bounds.
        let is_empty = match (start, end) {
            (Bound::Included(start), Bound::Included(end)) => start > end,
            (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) => {
                start >= end
            }
            _ => false,
        };
        let range = if is_empty { None } else { Some(self.rows.range::<[u8], _>((start, end))) };
        range.into_iter().flatten().map(|(key, record)| (&**key, &**record))
    }

    pub fn row(&self, sortable: &[u8]) -> Option<&[u8]> {
        self.rows.get(sortable).map(|record| &**record)
    }

    /// Returns by how much the number of live rows changes.
    fn apply(&mut self, (cells, statics): (usize, usize), update: &PartitionUpdate<'_>, timestamp: i64) -> i64 {
        self.latest = self.latest.max(timestamp);
        let mut gone = 0;
        match update {
            PartitionUpdate::Row((sortable, clustering), mutation) => {
                let mut row = match self.rows.get(*sortable) {
                    Some(record) => Row::decode(record, cells),
                    None => Row { deleted: self.deleted.max(self.ranges.over(sortable)), ..Row::empty(cells) },
                };
                gone = i64::from(row.is_live());
                mutation.apply(&mut row, timestamp);
                gone -= i64::from(row.is_live());
                if row.latest() != NEVER {
                    let record = row.encoded(clustering);
                    self.rows.insert((*sortable).into(), record);
                }
            }
            PartitionUpdate::Statics(mutation) => {
                let mut row = match &self.statics {
                    Some(record) => Row::decode(record, statics),
                    None => Row { deleted: self.deleted, ..Row::empty(statics) },
                };
                mutation.apply(&mut row, timestamp);
                self.statics = Some(row.encoded(&[]));
            }
            PartitionUpdate::Partition if timestamp > self.deleted => {
                self.deleted = timestamp;
                self.ranges.forget_until(timestamp);
                self.rows.retain(|_, record| {
                    let keep = delete_in(record, cells, timestamp, &mut gone);
                    // The partition's deletion replaces those of its rows.
                    keep || record::head(record).timestamp > timestamp
                });
                if let Some(record) = &mut self.statics {
                    delete_in(record, statics, timestamp, &mut 0);
                }
            }
            PartitionUpdate::Range(start, end) if timestamp > self.deleted && start < end => {
                self.ranges.add(start, end, timestamp);
                let bounds = (Bound::Included(*start), Bound::Excluded(*end));
                for (_, record) in self.rows.range_mut::<[u8], _>(bounds) {
                    delete_in(record, cells, timestamp, &mut gone);
                }
            }
            PartitionUpdate::Partition | PartitionUpdate::Range(..) => {}
        }
        -gone
    }
}

#[derive(Debug)]
pub struct PartitionShard {
    index: Index,
    partitions: Vec<Partition>,
    /// Live rows, with those that have expired.
    live: u64,
    /// Whether there ever was a row with a TTL.
    expiring: bool,
    cells: usize,
    statics: usize,
}

impl PartitionShard {
    /// With `cells` regular columns and `statics` static ones.
    pub fn new(cells: usize, statics: usize) -> Self {
        PartitionShard {
            index: Index::with_room_for(0),
            partitions: Vec::new(),
            live: 0,
            expiring: false,
            cells,
            statics,
        }
    }

    fn find(&self, hash: u32, key: &[u8]) -> Lookup {
        self.index.find(hash, |at| *self.partitions[at as usize].key == *key)
    }

    pub fn get(&self, hash: u32, key: &[u8]) -> Option<&Partition> {
        match self.find(hash, key) {
            Lookup::At(_, at) => self.partitions.get(at as usize),
            Lookup::Belongs(_) => None,
        }
    }

    /// The number of live rows. They are counted if some may have expired.
    pub fn live(&self) -> u64 {
        if !self.expiring {
            return self.live;
        }
        let records = self.partitions.iter().flat_map(|partition| partition.rows.values());
        records.filter(|record| record::is_live(record, self.cells)).count() as u64
    }

    /// Gives the rows other cells, and partitions other static ones.
    pub fn set_cells(&mut self, cells: &[CellSource], statics: &[CellSource]) {
        self.live = 0;
        for partition in &mut self.partitions {
            let live = &mut self.live;
            partition.rows.retain(|_, record| {
                let (old, mut filled) = (Row::decode(record, self.cells), Vec::new());
                let row = old.with_cells(cells, &mut filled);
                *live += u64::from(row.is_live());
                let (changed, keep) = (row.encoded(record::key(record)), row.latest() != NEVER);
                *record = changed;
                keep
            });
            if let Some(record) = &mut partition.statics {
                let (old, mut filled) = (Row::decode(record, self.statics), Vec::new());
                let changed = old.with_cells(statics, &mut filled).encoded(&[]);
                *record = changed;
            }
        }
        (self.cells, self.statics) = (cells.len(), statics.len());
    }

    pub fn partitions_from(&self, hash: u32) -> impl Iterator<Item = (u32, &Partition)> {
        self.index.from(hash).map(|(hash, at)| (hash, &self.partitions[at as usize]))
    }

    fn get_or_add(&mut self, (hash, key): Key<'_>) -> Stored<&mut Partition> {
        let at = match self.find(hash, key) {
            Lookup::At(_, at) => at as usize,
            Lookup::Belongs(belongs) => {
                let at = self.partitions.len();
                self.index.insert(hash, belongs, u32::try_from(at).map_err(|_| StorageFull)?)?;
                self.partitions.push(Partition {
                    key: key.into(),
                    deleted: NEVER,
                    ranges: RangeDeletions::default(),
                    statics: None,
                    rows: BTreeMap::new(),
                    latest: NEVER,
                });
                at
            }
        };
        self.partitions.get_mut(at).ok_or(StorageFull)
    }

    /// `timestamp` gets the greatest timestamp of the partition, or [`NEVER`].
    pub fn apply(&mut self, key: Key<'_>, update: &PartitionUpdate<'_>, timestamp: impl FnOnce(i64) -> i64) -> Stored {
        self.expiring |= matches!(update, PartitionUpdate::Row(_, mutation) if mutation.until != record::FOREVER);
        let lens = (self.cells, self.statics);
        let partition = self.get_or_add(key)?;
        let timestamp = timestamp(partition.latest);
        let more = partition.apply(lens, update, timestamp);
        self.live = self.live.saturating_add_signed(more);
        Ok(())
    }
}

/// Deletes the row in a record as it was up to `timestamp`, and counts it in `gone` if it dies. Returns whether it lives.
fn delete_in(record: &mut Box<[u8]>, cells: usize, timestamp: i64, gone: &mut i64) -> bool {
    let mut row = Row::decode(record, cells);
    let was_live = row.is_live();
    row.delete(timestamp);
    let is_live = row.is_live();
    *gone += i64::from(was_live && !is_live);
    *record = row.encoded(record::key(record));
    is_live
}

#[cfg(test)]
mod tests {
    use super::super::Mutation;
    use super::*;
    use crate::types::Value;

    fn insert(shard: &mut PartitionShard, row: u8, timestamp: i64) {
        let cells = [(0, Value::Bytes(b"v"))];
        let write = Mutation { insert: true, delete: false, cells: &cells, until: record::FOREVER };
        shard.apply((1, b"p"), &PartitionUpdate::Row((&[2, row], &[0, 0, 0, 1, row]), write), |_| timestamp).unwrap();
    }

    fn live_rows(shard: &PartitionShard) -> Vec<u8> {
        let rows = shard.get(1, b"p").unwrap().rows(Bound::Unbounded, Bound::Unbounded);
        let live: Vec<_> = rows.filter(|(_, record)| record::is_live(record, 1)).map(|(key, _)| key[1]).collect();
        assert_eq!(live.len() as u64, shard.live());
        live
    }

    #[test]
    fn rows_are_kept_in_order() {
        let mut shard = PartitionShard::new(1, 0);
        [5, 1, 3].into_iter().for_each(|row| insert(&mut shard, row, 1));
        assert_eq!(live_rows(&shard), [1, 3, 5]);
        let partition = shard.get(1, b"p").unwrap();
        let some = partition.rows(Bound::Excluded(&[2, 1]), Bound::Excluded(&[2, 5]));
        assert_eq!(some.map(|(key, _)| key[1]).collect::<Vec<_>>(), [3]);
        assert_eq!(partition.rows(Bound::Included(&[2, 9]), Bound::Excluded(&[2, 1])).count(), 0);
        assert_eq!(partition.rows(Bound::Excluded(&[2, 1]), Bound::Excluded(&[2, 1])).count(), 0);
    }

    #[test]
    fn a_range_deletion_hides_older_rows_before_and_after_it_comes() {
        let mut shard = PartitionShard::new(1, 0);
        (1..=5).for_each(|row| insert(&mut shard, row, 10));
        insert(&mut shard, 3, 30);
        shard.apply((1, b"p"), &PartitionUpdate::Range(&[2, 2], &[2, 5]), |_| 20).unwrap();
        assert_eq!(live_rows(&shard), [1, 3, 5]);
        insert(&mut shard, 4, 15);
        assert_eq!(live_rows(&shard), [1, 3, 5]);
        insert(&mut shard, 4, 21);
        assert_eq!(live_rows(&shard), [1, 3, 4, 5]);
    }

    #[test]
    fn a_partition_deletion_hides_all_that_is_older_and_gives_memory_back() {
        let mut shard = PartitionShard::new(1, 0);
        (1..=5).for_each(|row| insert(&mut shard, row, 10));
        insert(&mut shard, 3, 30);
        shard.apply((1, b"p"), &PartitionUpdate::Partition, |_| 20).unwrap();
        assert_eq!(live_rows(&shard), [3]);
        assert_eq!(shard.get(1, b"p").unwrap().rows.len(), 1);
        insert(&mut shard, 1, 20);
        assert_eq!(live_rows(&shard), [3]);
        insert(&mut shard, 1, 21);
        assert_eq!(live_rows(&shard), [1, 3]);
    }
}
