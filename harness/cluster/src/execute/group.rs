//! The hot path: EXECUTEs of point statements, in groups.
//!
//! A lookup in a large table is two cache misses, and a lock between two lookups keeps their misses from overlapping. So the
//! point statements of one read of the socket are sorted by shard, and a shard is locked once for all of its statements. A few
//! shards are locked together when each has few. One loop loads the index slots and another the records before they are executed one
//! after the other. Statements on one key are in one shard and keep their order.

use std::sync::Arc;

use super::operation::{FAILED, HAS_UNSET, LATE, Op, ROWS_LEN, SCRATCH, SKIP_METADATA, STALE};
use super::point::{Action, PointStatement, put_row};
use crate::codec::frame::Header;
use crate::codec::response::{self, ReplyTo};
use crate::counters::stats::Tally;
use crate::error::CqlError;
use crate::prepared::StatementId;
use crate::storage::clock::Moment;
use crate::storage::rows::PlainCells;
use crate::storage::table::{LockedShard, Shard, TableStore};
use crate::storage::{StorageFull, record};

/// Statements under the locks that are held together: enough misses to overlap.
const OPS_LOCKED: usize = 48;

const SHARDS_LOCKED: usize = 8;

/// With fewer statements shards are locked one by one: many connections with few in flight would wait for each other.
const FEW_OPS: usize = 128;

/// The statements of a group: a connection's cache of prepared statements.
pub trait PointStatements {
    fn point(&self, number: u16) -> Option<&PointStatement>;

    /// The id of a statement.
    fn id(&self, number: u16) -> Option<StatementId>;
}

/// Point statements that wait to be executed together, and their buffers.
#[derive(Debug, Default)]
pub struct PointGroup {
    store: Option<Arc<TableStore>>,
    ops: Vec<Op>,
    answered: usize,
    /// Cells in the table's order.
    scratch: Vec<u8>,
    rows: Vec<u8>,
    order: Vec<u32>,
    /// Where each shard's begin in `order`.
    starts: Vec<u32>,
}

impl PointGroup {
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

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

    /// Adds the EXECUTE with the query parameters `input[at..end]`, at a consistency that can be served, and returns its key's token. Returns `None`, and adds nothing, when
    /// statements on another table wait or it needs the general way.
    #[inline]
    pub fn add(
        &mut self,
        point: &PointStatement,
        store: &Arc<TableStore>,
        statement: u16,
        header: &Header,
        input: &[u8],
        (at, end): (usize, usize),
    ) -> Option<i64> {
        match &self.store {
            Some(waiting) if Arc::ptr_eq(waiting, store) => {}
            Some(_) => return None,
            None => self.store = Some(store.clone()),
        }
        match Op::read(&mut self.scratch, point, store, statement, header, input, (at, end)) {
            Some((op, token)) => {
                self.ops.push(op);
                Some(token)
            }
            None => {
                if self.ops.is_empty() {
                    self.clear();
                }
                None
            }
        }
    }

    /// Executes all that wait, for [`PointGroup::answer`].
    pub fn execute(&mut self, statements: &impl PointStatements, input: &[u8], moment: &mut Moment<'_>) {
        let Some(store) = self.store.clone() else { return };
        let shards = &store.shards;
        self.sort_by_shard(shards.len());
        let order = std::mem::take(&mut self.order);
        let most_locked = if order.len() < FEW_OPS { 1 } else { SHARDS_LOCKED };
        let mut next = 0;
        while next < shards.len() {
            // Always in ascending order, so that two connections never wait for each other.
            let mut locked = [const { None }; SHARDS_LOCKED];
            let (mut count, mut ops) = (0, 0);
            while next < shards.len() && count < most_locked && ops < OPS_LOCKED {
                let group = &order[self.starts[next] as usize..self.starts[next + 1] as usize];
                if !group.is_empty() {
                    locked[count] = Some((shards[next].lock(), group));
                    count += 1;
                    ops += group.len();
                }
                next += 1;
            }
            self.execute_locked((statements, input, &mut *moment), &store, &mut locked[..count]);
        }
        self.order = order;
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

    /// Executes statements by their numbers, each with its shard.
    fn execute_locked(
        &mut self,
        (statements, input, moment): (&impl PointStatements, &[u8], &mut Moment<'_>),
        store: &TableStore,
        locked: &mut [Option<(LockedShard<'_>, &[u32])>],
    ) {
        let row_len = store.row_len;
        let mut touched = 0u64;
        for (shard, group) in locked.iter().flatten() {
            let Shard::Rows(shard) = &**shard else { continue };
            for number in *group {
                touched ^= shard.touch_index(self.ops[*number as usize].hash);
            }
        }
        for (shard, group) in locked.iter().flatten() {
            let Shard::Rows(shard) = &**shard else { continue };
            for number in *group {
                touched ^= u64::from(shard.touch_record(self.ops[*number as usize].hash, row_len));
            }
        }
        // Keeps the compiler from leaving the loads out.
        std::hint::black_box(touched);
        for (shard, group) in locked.iter_mut().flatten() {
            let Shard::Rows(shard) = &mut **shard else {
                group.iter().for_each(|number| self.ops[*number as usize].flags |= STALE);
                continue;
            };
            for number in *group {
                let op = &mut self.ops[*number as usize];
                let Some(point) = statements.point(op.statement) else { continue };
                let key = &input[op.key()];
                match &point.action {
                    Action::Insert { .. } => {
                        let buffer = if op.flags & SCRATCH != 0 { &self.scratch[..] } else { input };
                        let bytes = &buffer[op.cells()];
                        let cells = PlainCells { bytes, unset: op.flags & HAS_UNSET != 0 };
                        let given = op.timestamp;
                        let timestamp = |latest| if given == record::NEVER { moment.after(latest) } else { given };
                        if shard.insert((op.hash, key), cells, timestamp).is_err() {
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
    }

    /// Appends the answers to `out`, in the order of [`PointGroup::add`], until it is `enough` bytes long. Returns whether
    /// these were all; otherwise it must be called again.
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
            tally.totals.answers += 1;
            let Some(point) = statements.point(op.statement) else { continue };
            let [s0, s1] = op.stream.to_be_bytes();
            if op.flags & (FAILED | STALE) != 0 {
                refuse(statements, op, out, tally);
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
                        let rows = &self.rows[op.rows()];
                        out.extend_from_slice(&i32::from(!rows.is_empty()).to_be_bytes());
                        out.extend_from_slice(rows);
                    } else {
                        out.extend_from_slice(&[0; 4]);
                        if !self.put_late(op, input, columns, *whole, out) {
                            out.truncate(start);
                            refuse(statements, op, out, tally);
                            continue;
                        }
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

    /// Looks a row up again that was not kept because those before it are long. Returns whether its shard is still there.
    #[cold]
    fn put_late(&self, op: &Op, input: &[u8], columns: &[usize], whole: bool, out: &mut Vec<u8>) -> bool {
        let Some(store) = &self.store else { return false };
        let Shard::Rows(shard) = &*store.shards[op.shard as usize].lock() else { return false };
        if let Some(record) = shard.get(op.hash, &input[op.key()]) {
            put_row(out, record, store, columns, whole);
        }
        true
    }
}

/// Appends the error of a statement that there was no room for, or whose table was altered.
#[cold]
fn refuse(statements: &impl PointStatements, op: &Op, out: &mut Vec<u8>, tally: &mut Tally) {
    let error = match statements.id(op.statement) {
        Some(id) if op.flags & FAILED == 0 => CqlError::Unprepared(id.to_vec()),
        _ => CqlError::from(StorageFull),
    };
    response::error(out, ReplyTo { version: op.version, stream: op.stream }, &error);
    tally.errors.push(error.code());
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::analyze::analyze;
    use crate::prepared::CqlPlan;
    use crate::storage::clock::Clock;
    use crate::storage::database::Database;
    use crate::token;

    /// One statement, whatever the number.
    struct Only(PointStatement);

    impl PointStatements for Only {
        fn point(&self, _: u16) -> Option<&PointStatement> {
            Some(&self.0)
        }

        fn id(&self, _: u16) -> Option<StatementId> {
            Some([7; 16])
        }
    }

    fn prepared(insert: &str) -> (Arc<TableStore>, Only) {
        let database = Database::new(crate::system::catalog(), 0);
        for text in [
            "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE k.t (pk bigint PRIMARY KEY, v text)",
        ] {
            let CqlPlan::Ddl(ddl) = analyze(text, &database.catalog(), None).unwrap().plan else { panic!("no DDL") };
            database.apply(&ddl, |_| ()).unwrap();
        }
        let prepared = analyze(insert, &database.catalog(), None).unwrap();
        let CqlPlan::Modify(plan) = &prepared.plan else { panic!("no INSERT") };
        let store = database.store(&plan.table).unwrap();
        let point = PointStatement::of(&prepared, &store).unwrap();
        (store, Only(point))
    }

    /// Adds an EXECUTE of the key to the group.
    fn add(group: &mut PointGroup, input: &mut Vec<u8>, only: &Only, store: &Arc<TableStore>, key: i64) -> bool {
        let at = input.len();
        input.extend_from_slice(&[0, 1, 1, 0, 1, 0, 0, 0, 8]);
        input.extend_from_slice(&key.to_be_bytes());
        let header = Header { version: 4, flags: 0, stream: 0, opcode: 10, length: input.len() - at };
        group.add(&only.0, store, 0, &header, input, (at, input.len())).is_some()
    }

    fn shard_of(store: &TableStore, key: i64) -> usize {
        store.place(token::token(&key.to_be_bytes())).shard
    }

    #[test]
    fn a_small_group_locks_only_the_shards_of_its_keys_and_one_at_a_time() {
        let (store, only) = prepared("INSERT INTO k.t (pk, v) VALUES (?, 'v')");
        let shards = &store.shards;
        let (mut group, mut input) = (PointGroup::default(), Vec::new());
        let first = (0..).find(|key| shard_of(&store, *key) == 0).unwrap();
        let third = (0..).find(|key| shard_of(&store, *key) == 2).unwrap();
        assert!(add(&mut group, &mut input, &only, &store, third));
        assert!(add(&mut group, &mut input, &only, &store, first));
        let (done, is_done) = mpsc::channel();
        let waiting = shards[2].lock();
        let unrelated = shards[1].lock();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let clock = Clock::default();
                group.execute(&only, &input, &mut clock.begin());
                done.send(()).unwrap();
            });
            let (seen, is_seen) = mpsc::channel();
            scope.spawn({
                move || {
                    while shards[0].lock().live() == 0 {
                        std::thread::yield_now();
                    }
                    seen.send(()).unwrap();
                }
            });
            let first_is_seen = is_seen.recv_timeout(Duration::from_secs(20));
            drop(waiting);
            let all_is_done = is_done.recv_timeout(Duration::from_secs(20));
            drop(unrelated);
            assert_eq!((first_is_seen, all_is_done), (Ok(()), Ok(())));
        });
        assert_eq!(store.live(), 2);
    }

    #[test]
    fn large_groups_reach_every_shard() {
        let (store, only) = prepared("INSERT INTO k.t (pk, v) VALUES (?, 'v')");
        for (round, count) in [1, FEW_OPS - 1, FEW_OPS, 4_000].into_iter().enumerate() {
            store.truncate().unwrap();
            let (mut group, mut input) = (PointGroup::default(), Vec::new());
            for key in 0..count as i64 {
                assert!(add(&mut group, &mut input, &only, &store, key));
            }
            let clock = Clock::default();
            group.execute(&only, &input, &mut clock.begin());
            assert_eq!(store.live(), count as u64, "round {round}");
        }
        let shards: HashSet<usize> = (0..4_000).map(|key| shard_of(&store, key)).collect();
        assert_eq!(shards.len(), store.shards.len());
    }

    #[test]
    fn constants_of_waiting_statements_are_copied_only_so_far() {
        let constant = "x".repeat(1024 * 1024);
        let (store, only) = prepared(&format!("INSERT INTO k.t (pk, v) VALUES (?, '{constant}')"));
        let (mut group, mut input) = (PointGroup::default(), Vec::new());
        let taken = (0..100).take_while(|key| add(&mut group, &mut input, &only, &store, *key)).count();
        assert!(taken < 10, "{taken}");
        let mut tally = Tally::default();
        group.execute(&only, &input, &mut Clock::default().begin());
        assert!(group.answer(&only, &input, &mut Vec::new(), &mut tally, usize::MAX));
        assert!(add(&mut group, &mut input, &only, &store, 100), "there is room again");
    }
}
