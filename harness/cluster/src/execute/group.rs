//! The hot path: EXECUTEs of point statements, in groups.
//!
//! A lookup in a large table is two cache misses, and a lock between two lookups keeps their misses from overlapping. So the point
//! statements that came with one read of the socket are put in order of their shards; a few shards are locked at a time; one loop
//! loads the index slots, another the records, and only then they are executed one after the other. Statements on one key
//! are in one shard, and keep their order.

use std::sync::Arc;

use super::operation::{FAILED, HAS_UNSET, LATE, Op, SCRATCH, SKIP_METADATA};
use super::point::{Action, Point, put_row};
use crate::clock::Moment;
use crate::codec::frame::Header;
use crate::codec::response::{self, ErrorAnswer, ReplyTo};
use crate::stats::Tally;
use crate::storage::StorageFull;
use crate::storage::record;
use crate::storage::rows::{PlainCells, RowShard};
use crate::storage::table::{Shard, Shards, TableStore};

/// Statements that make it worth to lock shards one by one: with fewer, several shards are locked together.
const OPS_A_LOCK: usize = 48;

/// Rows found may be this long together; what is found beyond is looked up again when its answer is written.
const ROWS_LEN: usize = 8 * 1024 * 1024;

/// The statements that a group is about: a connection's cache of prepared statements.
pub trait PointStatements {
    /// The point statement of this number.
    fn point(&self, number: u16) -> Option<&Point>;
}

/// Point statements that wait to be executed together, and the buffers for it.
#[derive(Debug, Default)]
pub struct PointGroup {
    store: Option<Arc<TableStore>>,
    ops: Vec<Op>,
    /// How many of them are answered.
    answered: usize,
    /// Cells that were put in order.
    scratch: Vec<u8>,
    /// Values of the rows that were found.
    rows: Vec<u8>,
    /// Numbers of `ops`, by shard.
    order: Vec<u32>,
    /// Where each shard's begin in `order`.
    starts: Vec<u32>,
}

/// Why an EXECUTE does not belong to the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAdded {
    /// It is about another table than those that wait: execute those first.
    OtherTable,
    /// It is to be looked at with care, alone.
    NotPlain,
}

impl PointGroup {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    fn clear(&mut self) {
        self.ops.clear();
        self.answered = 0;
        self.scratch.clear();
        self.scratch.shrink_to(ROWS_LEN);
        self.rows.clear();
        self.rows.shrink_to(ROWS_LEN);
        self.store = None;
    }

    /// Adds the EXECUTE whose query parameters begin at `at` of `input` and end at `end`.
    ///
    /// # Errors
    /// When it cannot be one of the group; nothing is added then.
    #[inline]
    pub fn add(
        &mut self,
        point: &Point,
        store: &Arc<TableStore>,
        statement: u16,
        header: &Header,
        input: &[u8],
        (at, end): (usize, usize),
    ) -> Result<(), NotAdded> {
        match &self.store {
            Some(waiting) if Arc::ptr_eq(waiting, store) => {}
            Some(_) => return Err(NotAdded::OtherTable),
            None => self.store = Some(store.clone()),
        }
        let op =
            Op::read(&mut self.scratch, point, store, statement, header, input, (at, end)).ok_or(NotAdded::NotPlain);
        match op {
            Ok(op) => {
                self.ops.push(op);
                Ok(())
            }
            Err(not) => {
                if self.ops.is_empty() {
                    self.clear();
                }
                Err(not)
            }
        }
    }

    /// Executes all that wait. Their answers are for [`PointGroup::answer`].
    pub fn execute(&mut self, statements: &impl PointStatements, input: &[u8], moment: &mut Moment) {
        let Some(store) = self.store.clone() else { return };
        if let Shards::Rows(shards) = store.shards() {
            self.sort_by_shard(shards.len());
            // Few statements: several shards at a time, so that there are enough misses to overlap.
            let shards_a_lock = (shards.len() * OPS_A_LOCK / self.ops.len().max(1)).clamp(1, shards.len());
            let order = std::mem::take(&mut self.order);
            for first in (0..shards.len()).step_by(shards_a_lock) {
                let last = (first + shards_a_lock).min(shards.len());
                let group = &order[self.starts[first] as usize..self.starts[last] as usize];
                if !group.is_empty() {
                    let context = (statements, input, &mut *moment);
                    self.execute_locked(context, &store, (&shards[first..last], first), group);
                }
            }
            self.order = order;
        }
    }

    fn sort_by_shard(&mut self, shards: usize) {
        self.starts.clear();
        self.starts.resize(shards + 2, 0);
        for op in &self.ops {
            self.starts[op.shard as usize + 2] += 1;
        }
        for shard in 2..shards + 2 {
            self.starts[shard] += self.starts[shard - 1];
        }
        self.order.resize(self.ops.len(), 0);
        for (number, op) in self.ops.iter().enumerate() {
            let next = &mut self.starts[op.shard as usize + 1];
            self.order[*next as usize] = number as u32;
            *next += 1;
        }
    }

    /// Executes the statements whose numbers are in `group`, all in these shards, of which the first is number `first`.
    fn execute_locked(
        &mut self,
        (statements, input, moment): (&impl PointStatements, &[u8], &mut Moment),
        store: &TableStore,
        (shards, first): (&[Shard<RowShard>], usize),
        group: &[u32],
    ) {
        // Always in ascending order, so that two connections never wait for each other.
        let mut locked: Vec<_> = shards.iter().map(Shard::lock).collect();
        let row_len = store.row_len();
        let mut touched = 0u64;
        for number in group {
            let op = &self.ops[*number as usize];
            touched ^= locked[op.shard as usize - first].touch_index(op.hash);
        }
        for number in group {
            let op = &self.ops[*number as usize];
            touched ^= u64::from(locked[op.shard as usize - first].touch_record(op.hash, row_len));
        }
        // The loads are what was wanted; this keeps them from being left out.
        std::hint::black_box(touched);
        for number in group {
            let op = &mut self.ops[*number as usize];
            let Some(point) = statements.point(op.statement) else { continue };
            let shard = &mut *locked[op.shard as usize - first];
            let key = &input[op.key_at as usize..(op.key_at + op.key_len) as usize];
            match &point.action {
                Action::Insert { .. } => {
                    let buffer = if op.flags & SCRATCH != 0 { &self.scratch[..] } else { input };
                    let bytes = &buffer[op.cells_at as usize..(op.cells_at + op.cells_len) as usize];
                    let cells = PlainCells { bytes, unset: op.flags & HAS_UNSET != 0 };
                    let given = op.timestamp;
                    let timestamp = |latest| if given == record::NEVER { moment.after(latest) } else { given };
                    if shard.insert(op.hash, key, cells, timestamp).is_err() {
                        op.flags |= FAILED;
                    }
                }
                Action::Select { columns, whole } => {
                    if self.rows.len() > ROWS_LEN {
                        op.flags |= LATE;
                    } else if let Some(record) = shard.get(op.hash, key) {
                        op.rows_at = self.rows.len() as u32;
                        put_row(&mut self.rows, record, store, columns, *whole);
                        op.rows_len = self.rows.len() as u32 - op.rows_at;
                    }
                }
            }
        }
    }

    /// Appends the answers of what was executed to `out`, in the order in which the statements were added, until it is `enough` bytes
    /// long. Gives whether that was all; if not, to be called again.
    pub fn answer(
        &mut self,
        statements: &impl PointStatements,
        input: &[u8],
        out: &mut Vec<u8>,
        tally: &mut Tally,
        enough: usize,
    ) -> bool {
        let first = self.answered;
        for op in &self.ops[first..] {
            if out.len() >= enough {
                return false;
            }
            self.answered += 1;
            tally.answers += 1;
            let Some(point) = statements.point(op.statement) else { continue };
            let [s0, s1] = op.stream.to_be_bytes();
            if op.flags & FAILED != 0 {
                let (to, error) = (ReplyTo { version: op.version, stream: op.stream }, ErrorAnswer::from(StorageFull));
                response::error(out, to, &error);
                tally.errors.push(error.code());
                continue;
            }
            match &point.action {
                Action::Insert { .. } => {
                    out.extend_from_slice(&[0x80 | op.version, 0, s0, s1, 8, 0, 0, 0, 4, 0, 0, 0, 1]);
                }
                Action::Select { columns, whole } => {
                    let skip = usize::from(op.flags & SKIP_METADATA != 0);
                    let template = &point.templates[usize::from(op.version > 3)][skip];
                    let start = out.len();
                    out.extend_from_slice(template);
                    out[start + 2..start + 4].copy_from_slice(&[s0, s1]);
                    let rows_at = out.len() + 4;
                    if op.flags & LATE == 0 {
                        let rows = &self.rows[op.rows_at as usize..(op.rows_at + op.rows_len) as usize];
                        out.extend_from_slice(&i32::from(!rows.is_empty()).to_be_bytes());
                        out.extend_from_slice(rows);
                    } else {
                        out.extend_from_slice(&[0; 4]);
                        self.put_late(op, input, columns, *whole, out);
                        let found = i32::from(out.len() > rows_at);
                        out[rows_at - 4..rows_at].copy_from_slice(&found.to_be_bytes());
                    }
                    response::end(out, start);
                }
            }
        }
        self.clear();
        true
    }

    /// A row that had to wait because those before it are long.
    #[cold]
    fn put_late(&self, op: &Op, input: &[u8], columns: &[usize], whole: bool, out: &mut Vec<u8>) {
        let Some(store) = &self.store else { return };
        let Shards::Rows(shards) = store.shards() else { return };
        let key = &input[op.key_at as usize..(op.key_at + op.key_len) as usize];
        if let Some(record) = shards[op.shard as usize].lock().get(op.hash, key) {
            put_row(out, record, store, columns, whole);
        }
    }
}
