//! A shard of a table without clustering columns: one row per partition, each a record in the arena.

use super::arena::{Arena, words_for};
use super::index::{Index, Lookup};
use super::record::{self, CellSource, GREATEST_WORDS, Head, KEY_AT, Row};
use super::{Key, Mutation, StorageFull, Stored};

#[derive(Debug)]
pub struct RowShard {
    index: Index,
    arena: Arena,
    /// Live rows, with those that have expired.
    live: u64,
    /// Whether there ever was a row with a TTL.
    expiring: bool,
    columns: usize,
    scratch: Vec<u8>,
}

/// The cells of an INSERT of all columns, some perhaps unset, as `[value]`s in the table's order.
#[derive(Clone, Copy, Debug)]
pub struct PlainCells<'a> {
    pub bytes: &'a [u8],
    pub unset: bool,
}

impl RowShard {
    /// With `columns` cells per row, and memory for `rows` rows of `row_len` bytes.
    pub fn new(columns: usize, rows: usize, row_len: usize) -> Self {
        let arena = if rows == 0 { Arena::default() } else { Arena::with_room_for(rows * row_len) };
        RowShard { index: Index::with_room_for(rows), arena, live: 0, expiring: false, columns, scratch: Vec::new() }
    }

    /// Loads the start of a search for `hash`.
    #[inline]
    pub fn touch_index(&self, hash: u32) -> u64 {
        self.index.touch(hash)
    }

    /// Loads the two ends of the record that `hash` most likely leads to.
    #[inline]
    pub fn touch_record(&self, hash: u32, row_len: usize) -> u8 {
        match self.index.candidate(hash) {
            Some(address) => {
                let record = self.arena.get(address);
                let first = record.first().copied().unwrap_or(0);
                first ^ record.get(row_len.wrapping_sub(1)).copied().unwrap_or(0)
            }
            None => 0,
        }
    }

    #[inline]
    fn find(&self, hash: u32, key: &[u8]) -> Lookup {
        self.index.find(hash, |address| record::key(self.arena.get(address)) == key)
    }

    /// The record of a key, perhaps without a live row.
    #[inline]
    pub fn get(&self, hash: u32, key: &[u8]) -> Option<&[u8]> {
        match self.find(hash, key) {
            Lookup::At(_, address) => Some(self.arena.get(address)),
            Lookup::Belongs(_) => None,
        }
    }

    /// INSERT of all columns. `timestamp` gets the record's greatest timestamp, or [`record::NEVER`].
    #[inline]
    pub fn insert(
        &mut self,
        (hash, key): Key<'_>,
        cells: PlainCells<'_>,
        timestamp: impl FnOnce(i64) -> i64,
    ) -> Stored {
        let flags = if cells.unset { record::UNSET } else { 0 };
        let words = words_for(record::plain_len(key, cells.bytes));
        match self.find(hash, key) {
            Lookup::Belongs(at) => {
                if words > GREATEST_WORDS {
                    return Err(StorageFull);
                }
                let address = self.arena.allocate(words)?;
                let head = Head { timestamp: timestamp(record::NEVER), flags, words, key_len: key.len() };
                put_plain(self.arena.get_mut(address), head, key, cells.bytes);
                self.index.insert(hash, at, address)?;
                self.live += 1;
                Ok(())
            }
            Lookup::At(at, address) => {
                let record = self.arena.get_mut(address);
                let old = record::head(record);
                let timestamp = timestamp(old.timestamp);
                if timestamp > old.timestamp && !cells.unset && old.flags & record::MIXED == 0 && words <= old.words {
                    let was_live = record::is_live(record, self.columns);
                    let cells_at = KEY_AT + key.len();
                    record::put_head(record, Head { timestamp, flags, ..old });
                    record[cells_at..cells_at + cells.bytes.len()].copy_from_slice(cells.bytes);
                    self.live += u64::from(!was_live);
                    return Ok(());
                }
                self.insert_into((at, address), (hash, key), cells.bytes, timestamp)
            }
        }
    }

    #[cold]
    fn insert_into(&mut self, (at, address): (usize, u32), key: Key<'_>, cells: &[u8], timestamp: i64) -> Stored {
        let mut cells_at = 0;
        let values: Vec<_> = (0..self.columns)
            .map(|column| {
                let (value, end) = record::value_at(cells, cells_at);
                cells_at = end;
                (column, value)
            })
            .collect();
        let mutation = Mutation { insert: true, delete: false, cells: &values, until: record::FOREVER };
        self.change(key, Lookup::At(at, address), &mutation, timestamp)
    }

    /// Applies a mutation to the row of a key. `timestamp` gets the record's greatest timestamp, or [`record::NEVER`].
    pub fn mutate(&mut self, key: Key<'_>, mutation: &Mutation<'_>, timestamp: impl FnOnce(i64) -> i64) -> Stored {
        self.expiring |= mutation.until != record::FOREVER;
        let found = self.find(key.0, key.1);
        let latest = match found {
            Lookup::At(_, address) => record::head(self.arena.get(address)).timestamp,
            Lookup::Belongs(_) => record::NEVER,
        };
        self.change(key, found, mutation, timestamp(latest))
    }

    fn change(&mut self, (hash, key): Key<'_>, found: Lookup, mutation: &Mutation<'_>, timestamp: i64) -> Stored {
        let mut scratch = std::mem::take(&mut self.scratch);
        let (mut row, words) = match found {
            Lookup::At(_, address) => {
                let record = self.arena.get(address);
                (Row::decode(record, self.columns), record::head(record).words)
            }
            Lookup::Belongs(_) => (Row::empty(self.columns), 0),
        };
        let was_live = row.is_live();
        mutation.apply(&mut row, timestamp);
        let (is_live, is_nothing) = (row.is_live(), row.latest() == record::NEVER);
        row.encode(key, &mut scratch);
        self.scratch = scratch;
        match found {
            Lookup::Belongs(_) if is_nothing => return Ok(()),
            Lookup::Belongs(at) => {
                let address = self.store_scratch()?;
                self.index.insert(hash, at, address)?;
            }
            Lookup::At(_, address) if words_for(self.scratch.len()) <= words => {
                record::put_words(&mut self.scratch, words);
                self.arena.get_mut(address)[..self.scratch.len()].copy_from_slice(&self.scratch);
            }
            Lookup::At(at, address) => {
                let moved = self.store_scratch()?;
                self.index.set(at, moved)?;
                self.arena.free(address, words);
            }
        }
        self.live = self.live + u64::from(is_live) - u64::from(was_live);
        Ok(())
    }

    fn store_scratch(&mut self) -> Stored<u32> {
        let words = words_for(self.scratch.len());
        if words > GREATEST_WORDS {
            return Err(StorageFull);
        }
        let address = self.arena.allocate(words)?;
        record::put_words(&mut self.scratch, words);
        self.arena.get_mut(address)[..self.scratch.len()].copy_from_slice(&self.scratch);
        Ok(address)
    }

    /// A copy whose rows have other cells.
    pub fn with_cells(&self, sources: &[CellSource]) -> Stored<RowShard> {
        let mut new = RowShard { expiring: self.expiring, ..RowShard::new(sources.len(), 0, 0) };
        for (hash, record) in self.records_from(0) {
            let (old, mut filled) = (Row::decode(record, self.columns), Vec::new());
            let row = old.with_cells(sources, &mut filled);
            if row.latest() == record::NEVER {
                continue;
            }
            let key = record::key(record);
            row.encode(key, &mut new.scratch);
            new.live += u64::from(row.is_live());
            let address = new.store_scratch()?;
            if let Lookup::Belongs(at) = new.find(hash, key) {
                new.index.insert(hash, at, address)?;
            }
        }
        Ok(new)
    }

    /// The number of live rows. They are counted if some may have expired.
    pub fn live(&self) -> u64 {
        if !self.expiring {
            return self.live;
        }
        self.records_from(0).filter(|(_, record)| record::is_live(record, self.columns)).count() as u64
    }

    /// The records from `hash` on in ascending order, with their hashes, including those without a live row.
    pub fn records_from(&self, hash: u32) -> impl Iterator<Item = (u32, &[u8])> {
        self.index.from(hash).map(|(hash, address)| (hash, self.arena.get(address)))
    }
}

#[inline]
fn put_plain(record: &mut [u8], head: Head, key: &[u8], cells: &[u8]) {
    record::put_head(record, head);
    let cells_at = KEY_AT + key.len();
    record[KEY_AT..cells_at].copy_from_slice(key);
    record[cells_at..cells_at + cells.len()].copy_from_slice(cells);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Value;

    fn cells(values: &[Value<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        values.iter().for_each(|value| record::put_value(&mut out, *value));
        out
    }

    fn shard() -> RowShard {
        RowShard::new(2, 0, 0)
    }

    fn insert(shard: &mut RowShard, key: &[u8], values: [Value<'_>; 2], at: i64) {
        let unset = values.contains(&Value::Unset);
        let bytes = cells(&values);
        shard.insert((7, key), PlainCells { bytes: &bytes, unset }, |_| at).unwrap();
    }

    fn row(shard: &RowShard, key: &[u8]) -> Vec<Option<Vec<u8>>> {
        let record = shard.get(7, key).unwrap();
        let row = Row::decode(record, 2);
        assert_eq!(record::is_live(record, 2), row.is_live());
        row.cells
            .iter()
            .map(|cell| if let Value::Bytes(bytes) = cell.value { Some(bytes.to_vec()) } else { None })
            .collect()
    }

    const A: Value<'static> = Value::Bytes(b"a");
    const LONG: Value<'static> = Value::Bytes(b"a long value that does not fit where a short one was");

    #[test]
    fn keys_of_equal_hash_are_told_apart() {
        let mut shard = shard();
        insert(&mut shard, b"x", [A, Value::Null], 1);
        insert(&mut shard, b"y", [Value::Null, A], 1);
        assert_eq!(row(&shard, b"x"), [Some(b"a".to_vec()), None]);
        assert_eq!(row(&shard, b"y"), [None, Some(b"a".to_vec())]);
        assert_eq!(shard.live(), 2);
        assert!(shard.get(7, b"z").is_none());
        assert!(shard.get(8, b"x").is_none());
    }

    #[test]
    fn an_insert_with_an_older_timestamp_changes_nothing_and_a_newer_one_everything() {
        let mut shard = shard();
        insert(&mut shard, b"x", [A, A], 10);
        insert(&mut shard, b"x", [Value::Null, LONG], 9);
        assert_eq!(row(&shard, b"x"), [Some(b"a".to_vec()), Some(b"a".to_vec())]);
        insert(&mut shard, b"x", [Value::Null, LONG], 11);
        assert_eq!(row(&shard, b"x")[0], None);
        assert!(row(&shard, b"x")[1].as_ref().unwrap().len() > 20);
        assert_eq!(shard.live(), 1);
    }

    #[test]
    fn an_unset_value_leaves_the_cell_as_it_is() {
        let mut shard = shard();
        insert(&mut shard, b"x", [A, A], 10);
        insert(&mut shard, b"x", [LONG, Value::Unset], 11);
        assert_eq!(row(&shard, b"x")[1], Some(b"a".to_vec()));
        insert(&mut shard, b"x", [Value::Unset, Value::Null], 12);
        assert!(row(&shard, b"x")[0].is_some());
        assert_eq!(row(&shard, b"x")[1], None);
    }

    #[test]
    fn deleted_rows_are_not_counted_and_come_back_by_a_newer_insert_only() {
        let mut shard = shard();
        insert(&mut shard, b"x", [A, A], 10);
        let delete = Mutation { insert: false, delete: true, cells: &[], until: record::FOREVER };
        shard.mutate((7, b"x"), &delete, |latest| latest + 1).unwrap();
        assert_eq!(shard.live(), 0);
        insert(&mut shard, b"x", [A, A], 11);
        assert_eq!(shard.live(), 0);
        insert(&mut shard, b"x", [A, A], 12);
        assert_eq!(shard.live(), 1);
        shard.mutate((7, b"never"), &delete, |_| 5).unwrap();
        insert(&mut shard, b"never", [A, A], 5);
        assert_eq!(shard.live(), 1);
    }

    #[test]
    fn many_rows_of_changing_length_keep_their_values() {
        let mut shard = shard();
        for round in 0..4usize {
            for key in 0..3_000u32 {
                let text = vec![b'a' + round as u8; (key as usize * 7 + round * 1_000) % 5_000];
                let bytes = cells(&[Value::Bytes(&text), Value::Null]);
                let plain = PlainCells { bytes: &bytes, unset: false };
                shard.insert((key.wrapping_mul(2_654_435_761), &key.to_be_bytes()), plain, |_| round as i64).unwrap();
            }
        }
        assert_eq!(shard.live(), 3_000);
        for key in 0..3_000u32 {
            let record = shard.get(key.wrapping_mul(2_654_435_761), &key.to_be_bytes()).unwrap();
            let Value::Bytes(text) = Row::decode(record, 2).cells[0].value else { panic!("no value") };
            assert_eq!(text.len(), (key as usize * 7 + 3_000) % 5_000);
            assert!(text.iter().all(|byte| *byte == b'd'));
        }
        assert!(shard.records_from(0).map(|(hash, _)| hash).is_sorted());
    }

    #[test]
    fn rows_that_have_expired_are_not_counted_and_can_be_inserted_again() {
        let mut shard = shard();
        let expired = Mutation { insert: true, delete: false, cells: &[(0, A)], until: 1_000_000 };
        shard.mutate((7, b"x"), &expired, |_| 1).unwrap();
        assert_eq!(shard.live(), 0);
        for at in [2, 3] {
            insert(&mut shard, b"x", [A, A], at);
            assert_eq!(shard.live(), 1);
        }
        assert_eq!(row(&shard, b"x"), [Some(b"a".to_vec()), Some(b"a".to_vec())]);
    }
}
