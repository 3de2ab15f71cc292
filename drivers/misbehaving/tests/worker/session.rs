//! The session: floor's, with one thing done otherwise.

use std::collections::HashMap;
use std::future::pending;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cqldyno_driver_api::{BatchRows, DriverError, ErrorKind, Rows, Session, Value};
use cqldyno_driver_floor::{FloorSession, FloorStatement};

use crate::how::How;
use crate::lies;
use crate::textbook;

/// Every row of the built-in scenarios' table.
const WHOLE_TABLE: &str = "SELECT pk, v1, v2 FROM cqldyno.bench";
/// Statements of the tests' warm-up, in which the driver behaves, so that only the window can find it out.
const WARM_UP: u64 = 500;
/// The statement of a window in which a driver breaks.
const MIDDLE: u64 = 3_000;
/// What a driver that leaks keeps of each statement.
const LEAK_BYTES: usize = 1 << 20;

/// After so long without a statement it is another's turn.
const IDLE: Duration = Duration::from_millis(2);
/// So long without a statement is none of a turn's pauses.
const ASLEEP: Duration = Duration::from_millis(60);
/// By so much a driver grows that does so asleep.
const GROWTH_BYTES: usize = 64 << 20;
/// A driver that pauses does so from the middle of each second on.
const HALF: Duration = Duration::from_millis(500);
/// For so long.
const PAUSE: Duration = Duration::from_millis(200);

/// A session of floor and how to misbehave with it.
pub struct MisbehavingSession {
    how: How,
    floor: Arc<FloorSession>,
    /// A session to each node, for a driver that routes.
    by_node: Vec<FloorSession>,
    cache: HashMap<i64, [i64; 3]>,
    /// Statements executed so far, the warm-up's too.
    executed: Arc<AtomicU64>,
    leaked: Mutex<Vec<Vec<u8>>>,
    connected: Instant,
    /// The statement of a driver that prepares only one.
    prepared: Mutex<Option<Arc<FloorStatement>>>,
}

/// A prepared statement.
pub struct MisbehavingStatement {
    floor: Arc<FloorStatement>,
    /// The same under another text.
    other: Option<FloorStatement>,
    selects: bool,
}

fn bigint(value: Option<&Value<'_>>) -> i64 {
    match value {
        Some(Value::Bigint(value)) => *value,
        _ => 0,
    }
}

fn push(rows: &mut Rows, row: [i64; 3]) {
    row.into_iter().for_each(|value| rows.push_bigint(value));
    rows.end_row();
}

impl MisbehavingSession {
    pub async fn new(
        how: How,
        floor: Arc<FloorSession>,
        by_node: Vec<FloorSession>,
    ) -> Result<MisbehavingSession, DriverError> {
        let mut cache = HashMap::new();
        if how == How::AnswersFromCache {
            let all = floor.prepare(WHOLE_TABLE).await?;
            let mut rows = Rows::new();
            floor.execute(&all, &[], &mut rows).await?;
            for row in (0..).map_while(|index| rows.get(index)) {
                let column = |index| bigint(row.get(index).as_ref());
                cache.insert(column(0), [column(0), column(1), column(2)]);
            }
        }
        let leaked = Mutex::default();
        Ok(MisbehavingSession {
            how,
            floor,
            by_node,
            cache,
            executed: Arc::default(),
            leaked,
            connected: Instant::now(),
            prepared: Mutex::default(),
        })
    }

    /// Breaks when it is time to.
    async fn break_down(&self, how: How, nth: u64) {
        match how {
            How::HangsInWarmUp => pending().await,
            How::Pauses => {
                let in_second = Duration::from_nanos(self.connected.elapsed().subsec_nanos().into());
                if (HALF..HALF + PAUSE).contains(&in_second) {
                    tokio::time::sleep(HALF + PAUSE - in_second).await;
                }
            }
            How::Hangs if nth >= MIDDLE => pending().await,
            How::LosesAnAnswer if nth == MIDDLE => pending().await,
            How::Leaks => {
                let mut leaked = self.leaked.lock().unwrap_or_else(PoisonError::into_inner);
                leaked.push(vec![1; LEAK_BYTES]);
            }
            #[expect(clippy::panic, reason = "one of the ways")]
            How::Panics if nth == MIDDLE => panic!("statement {nth} is cursed"),
            How::Aborts if nth == MIDDLE => {
                eprintln!("about to abort");
                std::process::abort()
            }
            How::Exits if nth == MIDDLE => {
                eprintln!("about to exit");
                std::process::exit(7)
            }
            How::FloodsLog => {
                let line = [b'x'; 8_192];
                let _ = std::io::stderr().write_all(&line);
            }
            How::PrintsGarbage if nth == MIDDLE => lies::print_garbage(),
            How::NeverSleeps if nth == WARM_UP + 1 => drop(std::thread::spawn(|| {
                for _ in 0..1_000_000 {
                    let began = Instant::now();
                    while began.elapsed() < IDLE {
                        std::hint::spin_loop();
                    }
                    std::thread::sleep(IDLE);
                }
            })),
            How::ExitsAsleep if nth == WARM_UP + 1 => self.when_asleep(|| std::process::exit(7)),
            How::GrowsAsleep if nth == WARM_UP + 1 => self.when_asleep(|| std::mem::forget(vec![1_u8; GROWTH_BYTES])),
            _ => {}
        }
    }

    /// Does it once, as soon as nothing was executed for a while.
    fn when_asleep(&self, does: fn()) {
        let executed = Arc::clone(&self.executed);
        std::thread::spawn(move || {
            let mut before = 0;
            while std::mem::replace(&mut before, executed.load(Ordering::Relaxed)) != before {
                std::thread::sleep(ASLEEP);
            }
            does();
        });
    }

    /// Executes the statement again and again, whenever nothing else was executed for some time.
    fn execute_when_idle(&self, statement: &MisbehavingStatement, values: &[Value<'_>]) {
        let (floor, statement) = (Arc::clone(&self.floor), Arc::clone(&statement.floor));
        let (executed, values) = (Arc::clone(&self.executed), values.iter().map(|one| bigint(Some(one))));
        let values: Vec<i64> = values.collect();
        tokio::spawn(async move {
            loop {
                let before = executed.load(Ordering::Relaxed);
                tokio::time::sleep(IDLE).await;
                if executed.load(Ordering::Relaxed) == before {
                    let values: Vec<Value<'_>> = values.iter().copied().map(Value::Bigint).collect();
                    let _ = floor.execute(&statement, &values, &mut Rows::new()).await;
                }
            }
        });
    }

    /// Sends an insert later than a busy machine delays the end of a window, and does not wait for its answer.
    fn send_only(&self, statement: &MisbehavingStatement, values: &[Value<'_>]) {
        let (floor, statement) = (Arc::clone(&self.floor), Arc::clone(&statement.floor));
        let values: Vec<i64> = values.iter().map(|value| bigint(Some(value))).collect();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let values: Vec<Value<'_>> = values.into_iter().map(Value::Bigint).collect();
            floor.execute(&statement, &values, &mut Rows::new()).await
        });
    }
}

impl Session for MisbehavingSession {
    type Statement = MisbehavingStatement;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        self.floor.query(cql).await
    }

    async fn prepare(&self, cql: &str) -> Result<MisbehavingStatement, DriverError> {
        let other = match self.how {
            How::RetriesUnderAnotherText => Some(self.floor.prepare(&cql.replacen(' ', "  ", 1)).await?),
            _ => None,
        };
        let known = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let floor = match known.filter(|_| self.how == How::PreparesOnce) {
            Some(known) => known,
            None => Arc::new(self.floor.prepare(cql).await?),
        };
        *self.prepared.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&floor));
        Ok(MisbehavingStatement { floor, other, selects: cql.starts_with("SELECT") })
    }

    async fn execute(
        &self,
        statement: &MisbehavingStatement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<(), DriverError> {
        let nth = self.executed.fetch_add(1, Ordering::Relaxed) + 1;
        let how = if nth <= WARM_UP && self.how != How::HangsInWarmUp { How::Honestly } else { self.how };
        self.break_down(how, nth).await;
        if self.how == How::ExecutesBetweenTurns && nth == WARM_UP + 1 {
            self.execute_when_idle(statement, values);
        }
        let is_thousandth = nth.is_multiple_of(1_000);
        let key = bigint(values.first());
        let mut unread = Rows::new();
        let node = textbook::owner(textbook::token(key), self.by_node.len());
        let to = self.by_node.get(node).unwrap_or(&self.floor);
        let floor = |rows| to.execute(&statement.floor, values, rows);
        match how {
            How::SkipsDecoding => floor(&mut unread).await,
            How::DecodesOneColumn if statement.selects => {
                floor(&mut unread).await?;
                rows.push_bigint(bigint(unread.get(0).and_then(|row| row.get(0)).as_ref()));
                rows.end_row();
                Ok(())
            }
            How::MakesUpRows if statement.selects => {
                floor(&mut unread).await?;
                push(rows, [key, key.wrapping_mul(2), key.wrapping_mul(3)]);
                Ok(())
            }
            How::AnswersFromCache => {
                // As a driver whose tasks take turns with others.
                tokio::task::yield_now().await;
                match self.cache.get(&key) {
                    Some(row) if statement.selects => push(rows, *row),
                    _ => {}
                }
                Ok(())
            }
            How::DropsEveryThousandth if is_thousandth => Ok(()),
            How::RetriesSilently if is_thousandth => {
                floor(&mut unread).await?;
                floor(rows).await
            }
            How::RetriesUnderAnotherText if is_thousandth => {
                if let Some(other) = &statement.other {
                    self.floor.execute(other, values, &mut unread).await?;
                }
                floor(rows).await
            }
            How::Doubles => {
                floor(&mut unread).await?;
                floor(rows).await
            }
            How::FailsAtOnce => Err(DriverError::new(ErrorKind::Overloaded, "try again later")),
            How::AnswersEarly if !statement.selects => {
                self.send_only(statement, values);
                Ok(())
            }
            How::WritesOtherValues if !statement.selects => {
                let mut other = values.to_vec();
                other.iter_mut().skip(1).for_each(|value| *value = Value::Bigint(0));
                self.floor.execute(&statement.floor, &other, rows).await
            }
            How::WritesFewRows if !statement.selects => {
                let mut same = values.to_vec();
                same.iter_mut().take(1).for_each(|value| *value = Value::Bigint(key % 100));
                self.floor.execute(&statement.floor, &same, rows).await
            }
            _ => floor(rows).await,
        }
    }

    async fn batch(&self, statement: &MisbehavingStatement, rows: BatchRows<'_>) -> Result<(), DriverError> {
        let all: Vec<Value<'_>> = rows.iter().flatten().copied().collect();
        let half = rows.len() / 2;
        if self.how != How::SplitsBatches || half == 0 {
            return self.floor.batch(&statement.floor, rows).await;
        }
        let (first, second) = all.split_at(half * rows.get(0).len());
        self.floor.batch(&statement.floor, BatchRows::new(first, half)).await?;
        self.floor.batch(&statement.floor, BatchRows::new(second, rows.len() - half)).await
    }

    async fn query_values(&self, cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        self.floor.query_values(cql, values, rows).await
    }
}
