//! A row as bytes, and what writes and deletions make of it.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | the greatest timestamp in the record, microseconds, little-endian |
//! | 4 | the words that the record may fill, above eight bits of flags |
//! | 4 + n | the key as `[bytes]`: of a partition, or the clustering columns of a row in one |
//! | rest | a cell for each column |
//!
//! In the plain form everything was written at the record's timestamp, and a cell is a `[value]` of the protocol (-1: deleted,
//! -2: never written). So rows are copied from requests and to answers unchanged. In the [`MIXED`] form the timestamps of the
//! row's existence and deletion precede the cells, and each cell's timestamp precedes its value. The [`EXPIRING`] form is mixed, too:
//! there the second in which a value expires follows each timestamp but that of the deletion. An expired value is read as deleted at
//! the time it was written. No thread removes it, so rows without a TTL pay nothing.
//!
//! The last write wins as in Cassandra (org.apache.cassandra.db.rows.Cells.reconcile): the greater timestamp, then a deletion,
//! then what expires later, then the greater value. The deletion of a row hides what was written at its timestamp or before.

use std::sync::Arc;

use super::clock;
use crate::types::{UserType, Value};

/// The timestamp of what never happened; the protocol excludes it.
pub const NEVER: i64 = i64::MIN;

/// The second in which a value without a TTL expires.
pub const FOREVER: u32 = 0;

/// The second in which the existence of a row has expired.
const EXPIRED: u32 = 1;

/// Bytes before the key.
pub const KEY_AT: usize = 16;

/// Where the key with its length begins.
pub const KEY_WIRE_AT: usize = 12;

/// Timestamps differ within the record, or it keeps a deletion besides cells.
pub const MIXED: u8 = 0x01;
/// The record is a deletion and nothing else.
pub const DELETED: u8 = 0x02;
/// The row was not inserted but updated: it exists as long as a cell does.
pub const UPDATED: u8 = 0x04;
/// At least one cell was never written.
pub const UNSET: u8 = 0x08;
/// Something in the record has a TTL; always with [`MIXED`].
pub const EXPIRING: u8 = 0x10;

const UNSET_LEN: i32 = -2;
const NULL_LEN: i32 = -1;

/// Greatest number of words that fit beside the flags.
pub const GREATEST_WORDS: usize = (1 << 24) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub timestamp: i64,
    pub flags: u8,
    pub words: usize,
    pub key_len: usize,
}

#[inline]
pub fn head(record: &[u8]) -> Head {
    let Some(&[t0, t1, t2, t3, t4, t5, t6, t7, flags, w0, w1, w2, k0, k1, k2, k3]) = record.first_chunk::<KEY_AT>()
    else {
        return Head { timestamp: NEVER, flags: DELETED, words: 0, key_len: 0 };
    };
    Head {
        timestamp: i64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
        flags,
        words: u32::from_le_bytes([w0, w1, w2, 0]) as usize,
        key_len: u32::from_be_bytes([k0, k1, k2, k3]) as usize,
    }
}

/// Writes the fixed part; the key follows at [`KEY_AT`].
#[inline]
pub fn put_head(record: &mut [u8], head: Head) {
    if let Some(bytes) = record.first_chunk_mut::<KEY_AT>() {
        let [t0, t1, t2, t3, t4, t5, t6, t7] = head.timestamp.to_le_bytes();
        let [w0, w1, w2, _] = (head.words as u32).to_le_bytes();
        let [k0, k1, k2, k3] = (head.key_len as u32).to_be_bytes();
        *bytes = [t0, t1, t2, t3, t4, t5, t6, t7, head.flags, w0, w1, w2, k0, k1, k2, k3];
    }
}

#[inline]
pub fn put_words(record: &mut [u8], words: usize) {
    let old = head(record);
    put_head(record, Head { words, ..old });
}

#[inline]
pub fn key(record: &[u8]) -> &[u8] {
    &record[KEY_AT..KEY_AT + head(record).key_len]
}

/// Bytes of a plain record with this key and these cells.
#[inline]
pub fn plain_len(key: &[u8], cells: &[u8]) -> usize {
    KEY_AT + key.len() + cells.len()
}

/// The end of `count` values that begin at `at`.
#[inline]
pub fn end_of_values(bytes: &[u8], at: usize, count: usize) -> usize {
    (0..count).fold(at, |at, _| at + 4 + usize::try_from(int_at(bytes, at)).unwrap_or(0))
}

#[inline]
fn int_at(bytes: &[u8], at: usize) -> i32 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        Some(chunk) => i32::from_be_bytes(*chunk),
        None => UNSET_LEN,
    }
}

fn long_at(bytes: &[u8], at: usize) -> i64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(chunk) => i64::from_le_bytes(*chunk),
        None => NEVER,
    }
}

fn second_at(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        Some(chunk) => u32::from_le_bytes(*chunk),
        None => FOREVER,
    }
}

/// The `[value]` at `at`, and where it ends.
#[inline]
pub fn value_at(bytes: &[u8], at: usize) -> (Value<'_>, usize) {
    match int_at(bytes, at) {
        len @ 0.. => {
            let end = at + 4 + len as usize;
            (Value::Bytes(&bytes[at + 4..end]), end)
        }
        NULL_LEN => (Value::Null, at + 4),
        _ => (Value::Unset, at + 4),
    }
}

pub fn put_value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Bytes(bytes) => {
            out.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
            out.extend_from_slice(bytes);
        }
        Value::Null => out.extend_from_slice(&NULL_LEN.to_be_bytes()),
        Value::Unset => out.extend_from_slice(&UNSET_LEN.to_be_bytes()),
    }
}

/// Whether the record holds a live row; `columns` is its number of cells.
#[inline]
pub fn is_live(record: &[u8], columns: usize) -> bool {
    let head = head(record);
    if head.flags & (MIXED | DELETED | UPDATED) == 0 {
        return true;
    }
    head.flags & DELETED == 0 && Row::decode(record, columns).is_live()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// When it was written; [`NEVER`] with [`Value::Unset`].
    pub timestamp: i64,
    /// The second in which it expires, or [`FOREVER`].
    pub until: u32,
    pub value: Value<'a>,
}

/// Where a cell of an altered table comes from.
#[derive(Clone, Debug)]
pub struct CellSource {
    /// The old cell; none was never written.
    pub from: Option<usize>,
    /// The type that has more fields now than the value may have.
    pub user: Option<Arc<UserType>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// When it was inserted last, or [`NEVER`].
    pub inserted: i64,
    /// The second in which that expires, or [`FOREVER`].
    pub inserted_until: u32,
    /// When it was deleted last, or [`NEVER`].
    pub deleted: i64,
    /// A cell for each column; none of them is older than the deletion.
    pub cells: Vec<Cell<'a>>,
}

const NEVER_WRITTEN: Cell<'static> = Cell { timestamp: NEVER, until: FOREVER, value: Value::Unset };

impl<'a> Row<'a> {
    pub fn empty(columns: usize) -> Self {
        Row { inserted: NEVER, inserted_until: FOREVER, deleted: NEVER, cells: vec![NEVER_WRITTEN; columns] }
    }

    pub fn decode(record: &'a [u8], columns: usize) -> Self {
        let head = head(record);
        let mut at = KEY_AT + head.key_len;
        if head.flags & DELETED != 0 {
            return Row { deleted: head.timestamp, ..Row::empty(columns) };
        }
        let mut cells = Vec::with_capacity(columns);
        if head.flags & MIXED == 0 {
            for _ in 0..columns {
                let (value, end) = value_at(record, at);
                let timestamp = if value == Value::Unset { NEVER } else { head.timestamp };
                cells.push(Cell { timestamp, until: FOREVER, value });
                at = end;
            }
            let inserted = if head.flags & UPDATED != 0 { NEVER } else { head.timestamp };
            return Row { inserted, inserted_until: FOREVER, deleted: NEVER, cells };
        }
        let (inserted, deleted) = (long_at(record, at), long_at(record, at + 8));
        at += 16;
        let (mut inserted_until, mut until_len, mut now) = (FOREVER, 0, 0);
        if head.flags & EXPIRING != 0 {
            (until_len, now) = (4, clock::seconds());
            inserted_until = match second_at(record, at) {
                until @ 1.. if until <= now => EXPIRED,
                until => until,
            };
            at += until_len;
        }
        for _ in 0..columns {
            let timestamp = long_at(record, at);
            let until = if until_len > 0 { second_at(record, at + 8) } else { FOREVER };
            let (value, end) = value_at(record, at + 8 + until_len);
            cells.push(match until {
                1.. if until <= now => Cell { timestamp, until: FOREVER, value: Value::Null },
                _ => Cell { timestamp, until, value },
            });
            at = end;
        }
        Row { inserted, inserted_until, deleted, cells }
    }

    /// Inserts the row at `timestamp`: it exists until the second `until`, whatever its cells are.
    pub fn insert(&mut self, timestamp: i64, until: u32) {
        // At equal timestamps a row that expires wins, then the one that expires later; an expired one counts as the latest.
        let rank = |until| if until == EXPIRED { u32::MAX } else { until };
        if timestamp > self.deleted && (timestamp, rank(until)) > (self.inserted, rank(self.inserted_until)) {
            (self.inserted, self.inserted_until) = (timestamp, until);
        }
    }

    /// Writes a cell that expires in the second `until`; null deletes it and unset leaves it alone.
    pub fn write(&mut self, column: usize, value: Value<'a>, timestamp: i64, until: u32) {
        if timestamp <= self.deleted || value == Value::Unset {
            return;
        }
        let new = Cell { timestamp, until: if value == Value::Null { FOREVER } else { until }, value };
        if let Some(cell) = self.cells.get_mut(column)
            && wins(&new, cell)
        {
            *cell = new;
        }
    }

    /// Deletes the row as it was up to `timestamp`.
    pub fn delete(&mut self, timestamp: i64) {
        if timestamp <= self.deleted {
            return;
        }
        self.deleted = timestamp;
        if self.inserted <= timestamp {
            (self.inserted, self.inserted_until) = (NEVER, FOREVER);
        }
        for cell in &mut self.cells {
            if cell.timestamp <= timestamp {
                *cell = NEVER_WRITTEN;
            }
        }
    }

    /// The row with other cells. `filled` takes the values that get more fields.
    pub fn with_cells<'b>(&'b self, sources: &[CellSource], filled: &'b mut Vec<Option<Vec<u8>>>) -> Row<'b> {
        let old = |source: &CellSource| source.from.and_then(|at| self.cells.get(at).copied()).unwrap_or(NEVER_WRITTEN);
        let more = |source: &CellSource| {
            let value = old(source).value.bytes()?;
            source.user.as_ref().and_then(|user| user.write(&user.fields(value)))
        };
        *filled = sources.iter().map(more).collect();
        let cell = |(source, filled): (&CellSource, &'b Option<Vec<u8>>)| match filled {
            Some(value) => Cell { value: Value::Bytes(value), ..old(source) },
            None => old(source),
        };
        Row { cells: sources.iter().zip(filled.iter()).map(cell).collect(), ..*self }
    }

    pub fn is_live(&self) -> bool {
        let exists = self.inserted != NEVER && self.inserted_until != EXPIRED;
        exists || self.cells.iter().any(|cell| matches!(cell.value, Value::Bytes(_)))
    }

    pub fn latest(&self) -> i64 {
        self.cells.iter().map(|cell| cell.timestamp).fold(self.inserted.max(self.deleted), i64::max)
    }

    /// The record in its shortest form, for itself.
    pub fn encoded(&self, key: &[u8]) -> Box<[u8]> {
        let mut record = Vec::new();
        self.encode(key, &mut record);
        record.into()
    }

    /// Replaces `out` by the record in its shortest form. The head's words stay 0.
    pub fn encode(&self, key: &[u8], out: &mut Vec<u8>) {
        let timestamp = self.latest();
        let unset = self.cells.iter().any(|cell| cell.value == Value::Unset);
        let expires = self.inserted_until != FOREVER || self.cells.iter().any(|cell| cell.until != FOREVER);
        let of_one_time = !expires
            && (self.inserted == timestamp || self.inserted == NEVER)
            && self.cells.iter().all(|cell| cell.timestamp == timestamp || cell.value == Value::Unset);
        // A deletion is moot when every cell was written after it.
        let deletion_is_moot = self.deleted == NEVER || (self.inserted != NEVER && !unset);
        let nothing_but_deleted = self.inserted == NEVER && self.cells.iter().all(|cell| cell.value == Value::Unset);
        let mut flags = 0;
        if nothing_but_deleted && self.deleted != NEVER {
            flags = DELETED;
        } else if of_one_time && deletion_is_moot {
            if self.inserted == NEVER {
                flags |= UPDATED;
            }
            if unset {
                flags |= UNSET;
            }
        } else {
            flags = if expires { MIXED | EXPIRING } else { MIXED };
        }
        out.clear();
        out.resize(KEY_AT, 0);
        put_head(out, Head { timestamp, flags, words: 0, key_len: key.len() });
        out.extend_from_slice(key);
        if flags & DELETED != 0 {
            return;
        }
        if flags & MIXED != 0 {
            out.extend_from_slice(&self.inserted.to_le_bytes());
            out.extend_from_slice(&self.deleted.to_le_bytes());
        }
        if expires {
            out.extend_from_slice(&self.inserted_until.to_le_bytes());
        }
        for cell in &self.cells {
            if flags & MIXED != 0 {
                out.extend_from_slice(&cell.timestamp.to_le_bytes());
            }
            if expires {
                out.extend_from_slice(&cell.until.to_le_bytes());
            }
            put_value(out, cell.value);
        }
    }
}

fn wins(new: &Cell<'_>, over: &Cell<'_>) -> bool {
    if new.timestamp != over.timestamp {
        return new.timestamp > over.timestamp;
    }
    match (new.value, over.value) {
        (_, Value::Unset) => true,
        (_, Value::Null) => false,
        (Value::Null, _) => true,
        (Value::Bytes(value), Value::Bytes(old)) => (new.until, value) > (over.until, old),
        (Value::Unset, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through_bytes(row: &Row<'_>) -> (Vec<u8>, u8) {
        let mut out = Vec::new();
        row.encode(b"key", &mut out);
        assert_eq!(key(&out), b"key");
        assert_eq!(head(&out).timestamp, row.latest());
        assert_eq!(is_live(&out, row.cells.len()), row.is_live());
        let flags = head(&out).flags;
        (out, flags)
    }

    fn assert_survives(row: &Row<'_>, flags: u8) {
        let (bytes, found) = through_bytes(row);
        assert_eq!(found, flags);
        assert_eq!(&Row::decode(&bytes, row.cells.len()), row);
    }

    #[test]
    fn each_form_survives_a_round_trip() {
        let mut row = Row::empty(2);
        row.insert(5, FOREVER);
        row.write(0, Value::Bytes(b"a"), 5, FOREVER);
        assert_survives(&row, UNSET);
        row.write(1, Value::Null, 5, FOREVER);
        assert_survives(&row, 0);
        row.write(1, Value::Bytes(b"b"), 6, FOREVER);
        assert_survives(&row, MIXED);
        row.delete(9);
        assert_survives(&row, DELETED);
        row.write(0, Value::Bytes(b""), 10, FOREVER);
        assert_survives(&row, MIXED);
        let mut updated = Row::empty(1);
        updated.write(0, Value::Bytes(b"x"), 1, FOREVER);
        assert_survives(&updated, UPDATED);
    }

    #[test]
    fn the_last_write_wins_whatever_comes_first() {
        let mut row = Row::empty(1);
        row.write(0, Value::Bytes(b"new"), 10, FOREVER);
        row.write(0, Value::Bytes(b"old"), 9, FOREVER);
        assert_eq!(row.cells[0].value, Value::Bytes(b"new"));
        row.write(0, Value::Bytes(b"zzz"), 10, FOREVER);
        assert_eq!(row.cells[0].value, Value::Bytes(b"zzz"), "of two values of one time the greater wins");
        row.write(0, Value::Null, 10, FOREVER);
        assert_eq!(row.cells[0].value, Value::Null, "a deletion wins over a value of the same time");
        row.write(0, Value::Bytes(b"~"), 10, FOREVER);
        assert_eq!(row.cells[0].value, Value::Null);
    }

    #[test]
    fn a_deletion_hides_what_is_older_even_when_that_comes_later() {
        let mut row = Row::empty(2);
        row.delete(10);
        row.insert(10, FOREVER);
        row.write(0, Value::Bytes(b"old"), 10, FOREVER);
        assert!(!row.is_live());
        row.write(1, Value::Bytes(b"new"), 11, FOREVER);
        assert!(row.is_live());
        let (bytes, _) = through_bytes(&row);
        let mut again = Row::decode(&bytes, 2);
        again.write(0, Value::Bytes(b"old"), 9, FOREVER);
        assert_eq!(again.cells[0].value, Value::Unset);
    }

    #[test]
    fn an_updated_row_goes_with_its_last_cell_and_an_inserted_one_stays() {
        let mut updated = Row::empty(1);
        updated.write(0, Value::Bytes(b"x"), 1, FOREVER);
        assert!(updated.is_live());
        updated.write(0, Value::Null, 2, FOREVER);
        assert!(!updated.is_live());
        let mut inserted = Row::empty(1);
        inserted.insert(1, FOREVER);
        inserted.write(0, Value::Null, 2, FOREVER);
        assert!(inserted.is_live());
    }

    #[test]
    fn a_deletion_that_a_whole_insert_covers_is_forgotten() {
        let mut row = Row::empty(1);
        row.delete(1);
        row.insert(2, FOREVER);
        row.write(0, Value::Bytes(b"x"), 2, FOREVER);
        assert_eq!(through_bytes(&row).1, 0);
    }

    #[test]
    fn what_expires_is_read_as_deleted_from_its_second_on() {
        const PAST: u32 = 1_000_000;
        let mut row = Row::empty(2);
        row.insert(5, u32::MAX);
        row.write(0, Value::Bytes(b"a"), 5, u32::MAX);
        row.write(1, Value::Bytes(b"b"), 5, FOREVER);
        assert_survives(&row, MIXED | EXPIRING);
        row.insert(6, PAST);
        row.write(0, Value::Bytes(b"c"), 6, PAST);
        row.write(1, Value::Bytes(b"d"), 6, PAST);
        let mut bytes = Vec::new();
        row.encode(b"key", &mut bytes);
        assert!(!is_live(&bytes, 2));
        let mut read = Row::decode(&bytes, 2);
        assert_eq!(read.cells.iter().map(|cell| cell.value).collect::<Vec<_>>(), [Value::Null; 2]);
        read.insert(5, FOREVER);
        read.write(0, Value::Bytes(b"old"), 6, FOREVER);
        assert!(!read.is_live(), "what has expired hides what is older");
        read.write(0, Value::Bytes(b"new"), 7, FOREVER);
        assert!(read.is_live());
    }

    #[test]
    fn of_one_time_what_expires_wins_and_then_the_later_second() {
        let mut row = Row::empty(1);
        row.write(0, Value::Bytes(b"z"), 1, FOREVER);
        row.write(0, Value::Bytes(b"a"), 1, u32::MAX - 1);
        row.write(0, Value::Bytes(b"b"), 1, u32::MAX);
        row.write(0, Value::Bytes(b"z"), 1, FOREVER);
        assert_eq!((row.cells[0].value, row.cells[0].until), (Value::Bytes(b"b"), u32::MAX));
    }
}
