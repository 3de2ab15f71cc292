//! The hot path: EXECUTEs of an INSERT of a whole row, or a SELECT of a row, by full primary key, in groups.
//!
//! A lookup in a large table is two cache misses, and a lock between two lookups keeps their misses from overlapping. So the point
//! statements that came with one read of the socket are put in order of their shards; a few shards are locked at a time; one loop
//! loads the index slots, another the records, and only then they are executed one after the other. Statements on one key
//! are in one shard, and keep their order.

use std::sync::Arc;

use crate::clock::Moment;
use crate::codec::frame::{Header, Opcode};
use crate::codec::request::{QUERY_NAMED_VALUES, QUERY_SKIP_METADATA, QUERY_TIMESTAMP, QUERY_VALUES};
use crate::codec::response::{self, ErrorAnswer, ReplyTo};
use crate::codec::{Reader, write};
use crate::plan::{PartitionSelection, Plan, Prepared, Selector, Term, Value};
use crate::statement::rows_head;
use crate::stats::Tally;
use crate::storage::StorageFull;
use crate::storage::record::{self, KEY_WIRE_AT, MIXED, Row, UNSET};
use crate::storage::rows::{PlainCells, RowShard};
use crate::storage::table::{Place, Shard, Shards, TableStore};
use crate::token;
use crate::types::CqlType;

/// Statements that make it worth to lock shards one by one: with fewer, several shards are locked together.
const OPS_A_LOCK: usize = 48;

/// Rows found may be this long together; what is found beyond is looked up again when its answer is written.
const ROWS_LEN: usize = 8 * 1024 * 1024;

/// How a value of a marker is found to be valid without a look at its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// This many bytes, or none.
    Length(usize),
    /// UTF-8.
    Text,
    /// Anything.
    Any,
}

impl Check {
    fn of(ty: &CqlType) -> Option<Check> {
        Some(match ty {
            CqlType::Bigint | CqlType::Double | CqlType::Timestamp => Check::Length(8),
            CqlType::Int | CqlType::Float => Check::Length(4),
            CqlType::Uuid => Check::Length(16),
            CqlType::Text => Check::Text,
            CqlType::Blob => Check::Any,
            _ => return None,
        })
    }

    #[inline]
    fn passes(self, bytes: &[u8]) -> bool {
        match self {
            Check::Length(length) => bytes.len() == length || bytes.is_empty(),
            Check::Text => std::str::from_utf8(bytes).is_ok(),
            Check::Any => true,
        }
    }
}

/// Where a cell of an INSERT comes from.
#[derive(Clone, Debug)]
enum CellSource {
    /// The marker of this index.
    Marker(usize),
    /// A `[value]`: a constant, or unset for a column that is not mentioned.
    Wire(Vec<u8>),
}

/// What a point statement does.
#[derive(Debug)]
enum Action {
    /// INSERT. `in_order`: the markers are the key and then all cells in the table's order.
    Insert { cells: Box<[CellSource]>, in_order: bool, unset: bool },
    /// SELECT. `whole`: all columns in the table's order.
    Select { columns: Box<[usize]>, whole: bool },
}

/// A statement of the hot path.
#[derive(Debug)]
pub struct Point {
    checks: Box<[Check]>,
    key_marker: usize,
    action: Action,
    /// For SELECT, by version (3, 4) and skipped metadata: the answer's frame up to the number of rows.
    templates: [[Vec<u8>; 2]; 2],
}

impl Point {
    /// For a statement that is one, on the rows of its table.
    pub fn of(prepared: &Prepared, store: &TableStore) -> Option<Point> {
        let table = store.table();
        if !matches!(store.shards(), Shards::Rows(_)) || table.partition_key_len != 1 {
            return None;
        }
        let checks = prepared.bind_markers.iter().map(|marker| Check::of(&marker.ty)).collect::<Option<_>>()?;
        let (key, action) = match &prepared.plan {
            Plan::Insert(insert) if insert.timestamp.is_none() && insert.ttl.is_none() => {
                let mut cells = vec![CellSource::Wire((-2i32).to_be_bytes().to_vec()); store.cells()];
                for assignment in &insert.assignments {
                    let cell = cells.get_mut(assignment.column.checked_sub(store.first_cell())?)?;
                    *cell = match &assignment.value {
                        Term::Marker(marker) => CellSource::Marker(usize::from(*marker)),
                        Term::Constant(constant) => {
                            let mut wire = Vec::new();
                            write::bytes(&mut wire, constant.as_deref());
                            CellSource::Wire(wire)
                        }
                        Term::Computed(_) => return None,
                    };
                }
                let in_order = prepared.bind_markers.len() == cells.len() + 1
                    && cells.iter().enumerate().all(|(at, cell)| matches!(cell, CellSource::Marker(m) if *m == at + 1));
                let unset = insert.assignments.len() < cells.len();
                (&insert.partition, Action::Insert { cells: cells.into(), in_order, unset })
            }
            Plan::Select(select) => {
                let PartitionSelection::One(key) = &select.partition else { return None };
                let plain = !select.aggregate
                    && !select.distinct
                    && select.filters.is_empty()
                    && select.limit.is_none()
                    && select.per_partition_limit.is_none();
                let column = |selector: &Selector| match selector {
                    Selector::Column(column) => Some(*column),
                    _ => None,
                };
                let columns: Box<[usize]> = select.selectors.iter().map(column).collect::<Option<_>>()?;
                if !plain {
                    return None;
                }
                let whole = columns.iter().copied().eq(0..table.columns.len());
                (key, Action::Select { columns, whole })
            }
            _ => return None,
        };
        let [Term::Marker(key_marker)] = &key[..] else { return None };
        let key_marker = usize::from(*key_marker);
        // In order, the cells follow the key.
        if matches!(action, Action::Insert { in_order: true, .. }) && key_marker != 0 {
            return None;
        }
        let template = |version: u8, skip: bool| {
            let mut frame = Vec::new();
            response::begin(&mut frame, ReplyTo { version, stream: 0 }, Opcode::Result);
            frame.extend_from_slice(&rows_head(version, &prepared.result_columns, skip));
            frame
        };
        let templates = [3, 4].map(|version| [false, true].map(|skip| template(version, skip)));
        Some(Point { checks, key_marker, action, templates })
    }
}

/// An EXECUTE of a point statement, as places in the buffer that it was read into.
#[derive(Clone, Copy, Debug)]
struct Op {
    /// The client's timestamp, or [`record::NEVER`].
    timestamp: i64,
    hash: u32,
    shard: u32,
    key_at: u32,
    key_len: u32,
    /// Of an INSERT: where its cells are, in the read buffer or, if they had to be put in order, in the scratch buffer.
    cells_at: u32,
    cells_len: u32,
    /// Of a SELECT that found its row: where its values are.
    rows_at: u32,
    rows_len: u32,
    statement: u16,
    stream: i16,
    version: u8,
    flags: u8,
}

const SCRATCH: u8 = 1;
const HAS_UNSET: u8 = 2;
const SKIP_METADATA: u8 = 4;
const FAILED: u8 = 8;
const LATE: u8 = 16;

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
        let op = self.read(point, store, statement, header, input, (at, end)).ok_or(NotAdded::NotPlain);
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

    #[inline]
    fn read(
        &mut self,
        point: &Point,
        store: &TableStore,
        statement: u16,
        header: &Header,
        input: &[u8],
        (at, end): (usize, usize),
    ) -> Option<Op> {
        let mut reader = Reader::new(input.get(at..end)?);
        let consistency = reader.short().ok()?;
        let flags = reader.byte().ok()?;
        if consistency > 0x000A || flags & (QUERY_VALUES | QUERY_NAMED_VALUES) != QUERY_VALUES {
            return None;
        }
        if usize::from(reader.short().ok()?) != point.checks.len() {
            return None;
        }
        let place_of = |reader: &Reader<'_>| end - reader.rest().len();
        let mut key: &[u8] = &[];
        let mut key_at = 0;
        let mut cells_at = 0;
        let mut unset = false;
        for (marker, check) in point.checks.iter().enumerate() {
            let value = reader.value(header.version).ok()?;
            match value {
                Value::Bytes(bytes) => {
                    if !check.passes(bytes) {
                        return None;
                    }
                    if marker == point.key_marker {
                        key = bytes;
                        cells_at = place_of(&reader);
                        key_at = cells_at - bytes.len();
                    }
                }
                Value::Unset => unset = true,
                // Before version 4 any negative length is null: -2 must not be kept as it is.
                Value::Null if header.version < 4 => return None,
                Value::Null => {}
            }
        }
        let cells_len = place_of(&reader) - cells_at;
        if key.is_empty() || key.len() > usize::from(u16::MAX) {
            return None;
        }
        let mut op_flags = if flags & QUERY_SKIP_METADATA != 0 { SKIP_METADATA } else { 0 };
        let timestamp = trailing_timestamp(&mut reader, flags)?;
        let (mut cells_at, mut cells_len) = (cells_at, cells_len);
        if let Action::Insert { cells, in_order, unset: left_out } = &point.action {
            if !in_order {
                cells_at = self.scratch.len();
                put_in_order(&mut self.scratch, cells, input.get(at + 5..end)?, point.checks.len());
                cells_len = self.scratch.len() - cells_at;
                op_flags |= SCRATCH;
            }
            if unset || *left_out {
                op_flags |= HAS_UNSET;
            }
        } else if unset {
            return None;
        }
        let Place { shard, hash } = store.place(token::token(key));
        Some(Op {
            timestamp,
            hash,
            shard: shard as u32,
            key_at: u32::try_from(key_at).ok()?,
            key_len: key.len() as u32,
            cells_at: u32::try_from(cells_at).ok()?,
            cells_len: u32::try_from(cells_len).ok()?,
            rows_at: 0,
            rows_len: 0,
            statement,
            stream: header.stream,
            version: header.version,
            flags: op_flags,
        })
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

/// What follows the values: its timestamp or [`record::NEVER`]; `None` if there is anything unusual.
#[inline]
fn trailing_timestamp(reader: &mut Reader<'_>, flags: u8) -> Option<i64> {
    use crate::codec::request::{QUERY_PAGE_SIZE, QUERY_PAGING_STATE, QUERY_SERIAL_CONSISTENCY};
    if flags & QUERY_PAGE_SIZE != 0 {
        reader.int().ok()?;
    }
    if flags & QUERY_PAGING_STATE != 0 {
        return None;
    }
    if flags & QUERY_SERIAL_CONSISTENCY != 0 && reader.short().ok()? > 0x000A {
        return None;
    }
    if flags & QUERY_TIMESTAMP == 0 {
        return Some(record::NEVER);
    }
    reader.long().ok().filter(|timestamp| *timestamp != record::NEVER)
}

/// Appends the cells in the table's order; `values` begins with the first of `count` values.
fn put_in_order(scratch: &mut Vec<u8>, cells: &[CellSource], values: &[u8], count: usize) {
    for cell in cells {
        match cell {
            CellSource::Wire(wire) => scratch.extend_from_slice(wire),
            CellSource::Marker(marker) if *marker < count => {
                let start = record::end_of_values(values, 0, *marker);
                scratch.extend_from_slice(&values[start..record::end_of_values(values, start, 1)]);
            }
            CellSource::Marker(_) => scratch.extend_from_slice(&(-2i32).to_be_bytes()),
        }
    }
}

/// Appends the values of the row in a record; nothing if there is no row to be seen.
#[inline]
fn put_row(out: &mut Vec<u8>, record: &[u8], store: &TableStore, columns: &[usize], whole: bool) {
    let cells = store.cells();
    let head = record::head(record);
    if !record::is_live(record, cells) {
        return;
    }
    let after_key = record::KEY_AT + head.key_len;
    if whole && head.flags & (MIXED | UNSET) == 0 {
        let end = record::end_of_values(record, after_key, cells);
        out.extend_from_slice(&record[KEY_WIRE_AT..end]);
        return;
    }
    let row = (head.flags & (MIXED | UNSET) != 0).then(|| Row::decode(record, cells));
    for column in columns {
        let Some(cell) = column.checked_sub(store.first_cell()) else {
            out.extend_from_slice(&record[KEY_WIRE_AT..after_key]);
            continue;
        };
        match &row {
            Some(row) => {
                let value = row.cells.get(cell).map_or(Value::Null, |cell| cell.value);
                record::put_value(out, if value == Value::Unset { Value::Null } else { value });
            }
            None => {
                let start = record::end_of_values(record, after_key, cell);
                out.extend_from_slice(&record[start..record::end_of_values(record, start, 1)]);
            }
        }
    }
}
