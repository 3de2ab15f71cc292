//! Writes a tape from a scenario.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use cqldyno_driver_api::wire::{self, ColumnType};
use cqldyno_driver_api::{DriverError, ErrorKind, Value};
use cqldyno_protocol::tape::{DUE_INLINE, DUE_POOLED, MAGIC, NOTHING_DUE, POOLED_ANSWER, TICKET, WINDOW};
use cqldyno_protocol::{Failed, Job, Tape};
use cqldyno_scenarios::{Column, Kind, Operation, RowCheck, Statement, Streams, Workload};

use super::{NoRecord, Types, refused, types_of};
use crate::binding::Columns;
use crate::cell::columns_of;

/// Texts and blobs from this length on are windows into the pool.
const LEAST_WINDOW: usize = 64;

/// Writes the tape of the job's warm-up and window.
pub(crate) fn write(job: &Job, tape: &Tape, workload: &Workload) -> Result<(), Failed> {
    let types = types_of(job, tape)?;
    let columns: Vec<_> = (0..types.len()).map(|index| columns_of(job, workload, index)).collect();
    let streams = has_windows(&job.scenario.statements).then(Streams::made);
    let failed = |why: &dyn Display| {
        refused(format!("the tape {} could not be written: {why}; make room there", tape.path.display()))
    };
    let file = File::create(&tape.path).map_err(|error| failed(&error))?;
    let mut writer =
        Writer { out: BufWriter::with_capacity(1 << 20, file), record: Vec::new(), answers: HashMap::new(), streams };
    writer.begin().map_err(|error| failed(&error))?;
    let warmup = (0..workload.warmup()).map(|ticket| workload.warmup_issue(ticket));
    for issue in warmup.chain((0..workload.count()).map(|ticket| workload.issue(ticket))) {
        let index = issue.statement;
        let all = types.get(index).zip(columns.get(index)).zip(job.scenario.statements.get(index));
        let Some(((types, columns), statement)) = all else { continue };
        writer.ticket((index, statement), issue.key, columns, types).map_err(|error| match error {
            NoRecord::File(error) => failed(&error),
            NoRecord::Value(error) => failed(&format!("statement {}: {}", statement.name, error.message())),
        })?;
    }
    writer.out.flush().map_err(|error| failed(&error))
}

/// Whether a value of the statements may be a window into the pool.
fn has_windows(statements: &[Statement]) -> bool {
    let expected = |one: &Statement| one.expect.iter().flat_map(|expect| expect.columns.clone()).collect::<Vec<_>>();
    let is_long = |column: &Column| match column.kind {
        Kind::Text { length, .. } | Kind::Ascii { length, .. } | Kind::Blob { length, .. } => {
            length.most() >= LEAST_WINDOW
        }
        _ => false,
    };
    statements.iter().any(|one| one.values.iter().any(is_long) || expected(one).iter().any(is_long))
}

/// Whether the answers of a statement come again.
fn repeats(statement: &Statement) -> bool {
    statement.keys.is_some()
        || statement.keys_of.is_some()
        || statement.expect.as_ref().is_some_and(|expect| expect.ranges.is_some())
}

/// A length or an index as the tape has it.
fn number(number: usize) -> Result<[u8; 4], DriverError> {
    let number = u32::try_from(number);
    number.map(u32::to_be_bytes).map_err(|_| DriverError::new(ErrorKind::Codec, "it is more than a tape can hold"))
}

struct Writer {
    out: BufWriter<File>,
    record: Vec<u8>,
    /// The index of each pooled answer, by statement and key.
    answers: HashMap<(usize, u64), usize>,
    /// What the pool consists of.
    streams: Option<Streams>,
}

impl Writer {
    fn begin(&mut self) -> io::Result<()> {
        self.out.write_all(MAGIC)?;
        let streams = || self.streams.iter().flat_map(Streams::iter);
        let length = u32::try_from(streams().map(<[u8]>::len).sum::<usize>()).map_err(io::Error::other)?;
        self.out.write_all(&length.to_be_bytes())?;
        streams().collect::<Vec<_>>().into_iter().try_for_each(|stream| self.out.write_all(stream))
    }

    fn end_record(&mut self) -> Result<(), NoRecord> {
        self.out.write_all(&number(self.record.len())?)?;
        self.out.write_all(&self.record)?;
        self.record.clear();
        Ok(())
    }

    fn ticket(
        &mut self,
        (index, statement): (usize, &Statement),
        key: u64,
        (values, expect): &(Columns, Option<Columns>),
        types: &Types,
    ) -> Result<(), NoRecord> {
        let pooled = match expect {
            Some(expect) if repeats(statement) => Some(self.pooled(index, key, expect, types)?),
            _ => None,
        };
        let answer = statement.answer();
        let rows = match statement.operation {
            Operation::Batch => {
                let first = key.wrapping_mul(answer.most());
                first..first.saturating_add(answer.rows(key))
            }
            Operation::Prepare => 0..0,
            _ => key..key.saturating_add(1),
        };
        self.record.push(TICKET);
        self.record.extend_from_slice(&u16::try_from(index).unwrap_or(u16::MAX).to_be_bytes());
        self.record.extend_from_slice(&number((rows.end - rows.start) as usize * values.len())?);
        for row in rows {
            self.row(row, values, &types.values)?;
        }
        match (pooled, expect) {
            (Some(pooled), _) => {
                self.record.push(DUE_POOLED);
                self.record.extend_from_slice(&number(pooled)?);
            }
            (None, Some(expect)) => {
                self.record.push(DUE_INLINE);
                self.answer(key, expect, types)?;
            }
            (None, None) => self.record.push(NOTHING_DUE),
        }
        self.end_record()
    }

    /// The index of the pooled answer for `key`, which is written first if it is new.
    fn pooled(&mut self, index: usize, key: u64, expect: &Columns, types: &Types) -> Result<usize, NoRecord> {
        let same = expect.range(key).map_or(key, |(range, _)| range);
        let next = self.answers.len();
        if let Some(known) = self.answers.get(&(index, same)) {
            return Ok(*known);
        }
        self.answers.insert((index, same), next);
        self.record.push(POOLED_ANSWER);
        self.answer(key, expect, types)?;
        self.end_record()?;
        Ok(next)
    }

    fn answer(&mut self, key: u64, expect: &Columns, types: &Types) -> Result<(), DriverError> {
        let (due, check) = (expect.rows_of(key), expect.check());
        self.record.push(match check {
            RowCheck::Order => 0,
            RowCheck::Content => 1,
            RowCheck::Count => 2,
        });
        self.record.extend_from_slice(&number(due.count as usize)?);
        let columns = if check == RowCheck::Count { 0 } else { expect.len() };
        self.record.extend_from_slice(&number(columns)?);
        if columns > 0 {
            due.numbers().try_for_each(|row| self.row(row, expect, &types.columns))?;
        }
        Ok(())
    }

    /// The cells of the row with this number.
    fn row(&mut self, row: u64, columns: &Columns, types: &[ColumnType]) -> Result<(), DriverError> {
        let Writer { record, streams, .. } = self;
        if columns.len() != types.len() {
            return Err(DriverError::new(
                ErrorKind::Codec,
                format_args!("it has {} values, and {} types were given", columns.len(), types.len()),
            ));
        }
        (0..columns.len()).zip(types).try_for_each(|(index, wanted)| {
            columns.with_value(row, index, |value| {
                let value = value.unwrap_or(Value::Null);
                let long = match value {
                    Value::Text(text) => text.as_bytes(),
                    Value::Blob(bytes) => bytes,
                    _ => &[],
                };
                let place = streams.as_ref().filter(|_| long.len() >= LEAST_WINDOW).and_then(|all| all.place(long));
                let Some(place) = place else { return wire::encode(&value, wanted, record) };
                record.extend_from_slice(&WINDOW.to_be_bytes());
                record.extend_from_slice(&number(place)?);
                record.extend_from_slice(&number(long.len())?);
                Ok(())
            })
        })
    }
}
