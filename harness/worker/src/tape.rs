//! The tape: what is issued and what must come back, as a file (`drivers/PROTOCOL.md`).
//!
//! A worker that loads rows writes it from the scenario. One that plays it reads a turn at a time, and binds and compares what it read.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use cqldyno_driver_api::wire::{self, Body, ColumnType};
use cqldyno_driver_api::{DriverError, ErrorKind, Row, Rows, Scalar, Value};
use cqldyno_protocol::tape::{DUE_INLINE, DUE_POOLED, MAGIC, NOTHING_DUE, NULL, POOLED_ANSWER, TICKET, UNSET, WINDOW};
use cqldyno_protocol::{Failed, FailureKind, Job, Tape};
use cqldyno_scenarios::{Column, Kind, Operation, RowCheck, Statement, Streams, Workload};

use crate::binding::Columns;
use crate::cell::columns_of;
use crate::generator::of_statement;
use crate::partition::in_any_order;
use crate::verify::{rows, shown, wrong};

/// Texts and blobs from this length on are windows into the pool.
const LEAST_WINDOW: usize = 64;

fn refused(message: String) -> Failed {
    Failed { kind: FailureKind::Job, message }
}

/// The types of a statement's markers and columns.
struct Types {
    values: Box<[ColumnType]>,
    columns: Box<[ColumnType]>,
}

fn types_of(job: &Job, tape: &Tape) -> Result<Vec<Types>, Failed> {
    let (asked, found) = (job.scenario.statements.len(), tape.statements.len());
    if asked != found {
        return Err(refused(format!(
            "the scenario {} has {asked} statements, and the job has the types of {found} for its tape; give those of each",
            job.scenario.name
        )));
    }
    let read = |types: &Vec<String>, name: &str| -> Result<Box<[ColumnType]>, Failed> {
        let types: Result<_, _> = types.iter().map(|one| one.parse()).collect();
        types.map_err(|error: DriverError| {
            refused(format!("the types of the statement {name} on the tape cannot be read: {}", error.message()))
        })
    };
    let each = tape.statements.iter().zip(&job.scenario.statements);
    each.map(|(types, one)| {
        Ok(Types { values: read(&types.values, &one.name)?, columns: read(&types.columns, &one.name)? })
    })
    .collect()
}

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

/// Why a record is neither written nor read.
#[derive(Debug, thiserror::Error)]
enum NoRecord {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Value(#[from] DriverError),
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

/// What must come back.
#[derive(Clone, Debug)]
struct Answer {
    check: RowCheck,
    count: usize,
    /// Where its rows begin.
    first: usize,
}

#[derive(Clone, Debug)]
enum Due {
    Nothing,
    Inline(Answer),
    /// With its own rows, which begin at 0.
    Pooled(Arc<(Answer, Rows)>),
}

#[derive(Clone, Debug)]
struct Ticket {
    statement: usize,
    /// The rows of its values: those of a batch, else one.
    bound: Range<usize>,
    due: Due,
}

/// The tickets of one turn, or of the warm-up, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reel {
    /// The number of the first one.
    first: u64,
    tickets: Vec<Ticket>,
    bound: Rows,
    due: Rows,
}

/// A pooled answer. Its types are those of the first ticket that is due it.
struct Pooled {
    bytes: Box<[u8]>,
    decoded: Option<(usize, Arc<(Answer, Rows)>)>,
}

/// Reads a tape turn by turn.
pub(crate) struct Player {
    file: BufReader<File>,
    path: String,
    types: Vec<Types>,
    operations: Vec<Operation>,
    /// Leaked: values are windows into it.
    pool: &'static [u8],
    pooled: Vec<Pooled>,
    record: Vec<u8>,
}

/// What a record that no writer wrote has.
#[cold]
fn unknown(what: impl Display) -> DriverError {
    DriverError::new(ErrorKind::Protocol, what)
}

impl Player {
    /// Opens the tape and reads its pool.
    pub(crate) fn open(job: &Job, tape: &Tape) -> Result<Player, Failed> {
        let path = tape.path.display().to_string();
        let types = types_of(job, tape)?;
        let unread = |error: io::Error| {
            refused(format!("the tape {path} could not be read: {error}; give a file that this worker may read"))
        };
        let mut file = BufReader::with_capacity(1 << 20, File::open(&tape.path).map_err(unread)?);
        let mut magic = Vec::new();
        file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(unread)?;
        if magic != MAGIC {
            let found = String::from_utf8_lossy(&magic);
            return Err(refused(format!(
                "a tape begins with \"CQLTAPE1\", and {path} begins with {found:?}; give a tape of this version"
            )));
        }
        let mut pool = Vec::new();
        let mut player =
            Player { file, path, types, operations: Vec::new(), pool: &[], pooled: Vec::new(), record: Vec::new() };
        player.bytes(&mut pool).map_err(|failed| player.failed("its pool", failed))?;
        if !pool.is_empty() {
            player.pool = pool.leak();
        }
        player.operations = job.scenario.statements.iter().map(|one| one.operation).collect();
        Ok(player)
    }

    /// The next tickets, which have these numbers.
    pub(crate) fn read(&mut self, tickets: Range<u64>) -> Result<Reel, Failed> {
        let mut reel = Reel { first: tickets.start, ..Reel::default() };
        for ticket in tickets {
            while !self.record(&mut reel).map_err(|failed| self.failed(&format!("its ticket {ticket}"), failed))? {}
        }
        Ok(reel)
    }

    fn failed(&self, what: &str, failed: NoRecord) -> Failed {
        let path = &self.path;
        refused(match failed {
            NoRecord::File(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                format!("the tape {path} ends before {what} does; give a whole one")
            }
            NoRecord::File(error) => format!("the tape {path} could not be read at {what}: {error}"),
            NoRecord::Value(error) => {
                format!("the tape {path} cannot be played from {what} on: {}; write it anew", error.message())
            }
        })
    }

    /// Reads a length and so many bytes.
    fn bytes(&mut self, into: &mut Vec<u8>) -> Result<(), NoRecord> {
        let mut length = [0; 4];
        self.file.read_exact(&mut length)?;
        let length = u64::from(u32::from_be_bytes(length));
        into.clear();
        match self.file.by_ref().take(length).read_to_end(into)? as u64 == length {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }

    /// Reads a record; whether it was a ticket.
    fn record(&mut self, reel: &mut Reel) -> Result<bool, NoRecord> {
        let mut record = take(&mut self.record);
        self.bytes(&mut record)?;
        let mut body = Body { rest: &record };
        let is_ticket = match body.byte()? {
            POOLED_ANSWER => {
                self.pooled.push(Pooled { bytes: body.rest.into(), decoded: None });
                false
            }
            TICKET => {
                let ticket = self.ticket(&mut body, reel)?;
                if !body.rest.is_empty() {
                    return Err(unknown(format_args!("{} bytes follow it", body.rest.len())).into());
                }
                reel.tickets.push(ticket);
                true
            }
            other => return Err(unknown(format_args!("a record is of kind {other}, and 0 and 1 are known")).into()),
        };
        self.record = record;
        Ok(is_ticket)
    }

    fn ticket(&mut self, body: &mut Body<'_>, reel: &mut Reel) -> Result<Ticket, DriverError> {
        let statement = usize::from(body.short()?);
        let Some((types, operation)) = self.types.get(statement).zip(self.operations.get(statement)) else {
            let statements = self.types.len();
            return Err(unknown(format_args!(
                "it is of the statement {statement}, and there are {statements}, from 0"
            )));
        };
        let (count, width, first) = (body.count()?, types.values.len(), reel.bound.len());
        let rows = match operation {
            Operation::Batch => count.checked_div(width).unwrap_or(0),
            Operation::Prepare => 0,
            _ => 1,
        };
        if count != rows * width {
            return Err(unknown(format_args!("it binds {count} values, and its statement has {width} markers")));
        }
        for _ in 0..rows {
            row(body, &types.values, self.pool, &mut reel.bound)?;
        }
        let due = match body.byte()? {
            NOTHING_DUE => Due::Nothing,
            DUE_INLINE => Due::Inline(answer(body, &types.columns, self.pool, &mut reel.due)?),
            DUE_POOLED => Due::Pooled(self.pooled_answer(body.count()?, statement)?),
            other => return Err(unknown(format_args!("it is due {other}, and 0, 1 and 2 are known"))),
        };
        Ok(Ticket { statement, bound: first..first + rows, due })
    }

    fn pooled_answer(&mut self, index: usize, statement: usize) -> Result<Arc<(Answer, Rows)>, DriverError> {
        let found = self.pooled.len();
        let Some((pooled, types)) = self.pooled.get_mut(index).zip(self.types.get(statement)) else {
            return Err(unknown(format_args!("it is due the pooled answer {index}, and {found} came before it")));
        };
        if let Some((_, decoded)) = pooled.decoded.as_ref().filter(|(of, _)| *of == statement) {
            return Ok(Arc::clone(decoded));
        }
        let mut rows = Rows::new();
        let answer = answer(&mut Body { rest: &pooled.bytes }, &types.columns, self.pool, &mut rows)?;
        let decoded = Arc::new((answer, rows));
        pooled.decoded = Some((statement, Arc::clone(&decoded)));
        Ok(decoded)
    }
}

fn answer(
    body: &mut Body<'_>,
    types: &[ColumnType],
    pool: &'static [u8],
    rows: &mut Rows,
) -> Result<Answer, DriverError> {
    let check = match body.byte()? {
        0 => RowCheck::Order,
        1 => RowCheck::Content,
        2 => RowCheck::Count,
        other => return Err(unknown(format_args!("an answer is checked by {other}, and 0, 1 and 2 are known"))),
    };
    let (count, width, first) = (body.count()?, body.count()?, rows.len());
    if check == RowCheck::Count {
        return Ok(Answer { check, count, first });
    }
    if width != types.len() {
        return Err(unknown(format_args!("an answer has {width} columns, and its statement has {}", types.len())));
    }
    (0..count).try_for_each(|_| row(body, types, pool, rows))?;
    Ok(Answer { check, count, first })
}

/// Decodes the cells of a row.
fn row(body: &mut Body<'_>, types: &[ColumnType], pool: &'static [u8], rows: &mut Rows) -> Result<(), DriverError> {
    for wanted in types {
        match body.int()? {
            NULL => rows.push_null(),
            WINDOW => {
                let (offset, length) = (body.count()?, body.count()?);
                let bytes = offset.checked_add(length).and_then(|end| pool.get(offset..end)).ok_or_else(|| {
                    unknown(format_args!("{length} bytes from {offset} on are due, and the pool has {}", pool.len()))
                })?;
                match wanted {
                    ColumnType::Scalar(Scalar::Text) => rows.push_static(Value::Text(wire::text(bytes)?)),
                    ColumnType::Scalar(Scalar::Blob) => rows.push_static(Value::Blob(bytes)),
                    other => wire::decode(Some(bytes), other, rows)?,
                }
            }
            UNSET => return Err(unknown("a value is not set, and this worker binds nulls only")),
            length => match usize::try_from(length) {
                Ok(length) => wire::decode(Some(body.take(length)?), wanted, rows)?,
                Err(_) => return Err(unknown(format_args!("a value is {length} bytes long"))),
            },
        }
    }
    rows.end_row();
    Ok(())
}

impl Reel {
    fn ticket(&self, ticket: u64) -> Option<&Ticket> {
        self.tickets.get(usize::try_from(ticket.checked_sub(self.first)?).ok()?)
    }

    pub(crate) fn count(&self) -> u64 {
        self.tickets.len() as u64
    }

    pub(crate) fn statement(&self, ticket: u64) -> usize {
        self.ticket(ticket).map_or(0, |one| one.statement)
    }

    /// Appends the values of a ticket, row after row; returns the number of rows.
    pub(crate) fn bind<'a>(&'a self, ticket: u64, values: &mut Vec<Value<'a>>) -> u64 {
        let rows = self.ticket(ticket).map_or(0..0, |one| one.bound.clone());
        let count = rows.len() as u64;
        for row in rows.filter_map(|row| self.bound.get(row)) {
            values.extend((0..row.len()).filter_map(|index| row.get(index)));
        }
        count
    }

    /// What is due: `None` for no rows at all.
    fn due(&self, ticket: u64) -> Option<(&Answer, impl Iterator<Item = Row<'_>> + Clone)> {
        let (answer, rows) = match &self.ticket(ticket)?.due {
            Due::Nothing => return None,
            Due::Inline(answer) => (answer, &self.due),
            Due::Pooled(pooled) => (&pooled.0, &pooled.1),
        };
        let Answer { first, count, .. } = *answer;
        Some((answer, (first..first + count).filter_map(move |row| rows.get(row))))
    }

    /// Puts the rows that are due into `rows`, as an adapter that received them does.
    fn fill(&self, ticket: u64, rows: &mut Rows) {
        let Some((answer, due)) = self.due(ticket) else { return };
        for row in due {
            (0..row.len()).filter_map(|index| row.get(index)).for_each(|value| rows.push(value));
            rows.end_row();
        }
        // Of those that are only counted the tape has none.
        (rows.len()..answer.count).for_each(|_| rows.end_row());
        rows.end_page();
    }

    /// Compares every column of every row with what is due to a ticket of the statement `name`. Offline they take an answer's place.
    pub(crate) fn check(&self, ticket: u64, offline: bool, rows: &mut Rows, name: &str) -> Result<(), DriverError> {
        if offline {
            self.fill(ticket, rows);
        }
        self.compare(ticket, rows).map_err(|error| of_statement(name, &error))
    }

    fn compare(&self, ticket: u64, found: &Rows) -> Result<(), DriverError> {
        let Some((answer, due)) = self.due(ticket) else {
            return if found.is_empty() { Ok(()) } else { Err(wrong_count(ticket, 0, found.len())) };
        };
        if found.len() != answer.count {
            return Err(wrong_count(ticket, answer.count, found.len()));
        }
        match answer.check {
            RowCheck::Count => Ok(()),
            RowCheck::Content if in_any_order(due.clone()) == in_any_order(found.iter()) => Ok(()),
            RowCheck::Content => Err(wrong(format_args!(
                "the {} rows of ticket {ticket} are not those that are due, in whatever order",
                answer.count
            ))),
            RowCheck::Order => due.zip(found.iter()).zip(1..).try_for_each(|((due, found), nth)| {
                let is_right = |index: &usize| due.get(*index).is_some_and(|value| found.holds(*index, value));
                match (0..due.len().max(found.len())).find(|index| !is_right(index)) {
                    None => Ok(()),
                    Some(index) => Err(wrong(format_args!(
                        "in row {nth} of ticket {ticket} column {} should be {}, and {} was found",
                        index + 1,
                        shown(due.get(index)),
                        shown(found.get(index))
                    ))),
                }
            }),
        }
    }
}

#[cold]
fn wrong_count(ticket: u64, due: usize, found: usize) -> DriverError {
    let were = if due > 1 { "were" } else { "was" };
    wrong(format_args!("for ticket {ticket} {} {were} due, and {} came back", rows(due), rows(found)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_protocol::{Mode, TapeTypes};
    use cqldyno_scenarios::{Issue, Scenario, builtins};

    fn job(scenario: &Scenario, path: &std::path::Path) -> Job {
        let of = |columns: &[Column]| columns.iter().map(|column| column.kind.cql()).collect();
        let types = |one: &Statement| TapeTypes {
            values: of(&one.values),
            columns: one.expect.as_ref().map(|expect| of(&expect.columns)).unwrap_or_default(),
        };
        let statements = scenario.statements.iter().map(types).collect();
        Job {
            mode: Mode::Load,
            scenario: scenario.clone(),
            count: 90,
            turns: 1,
            warmup: 20,
            concurrency: 1,
            rate: None,
            seed: 7,
            runtime: cqldyno_protocol::Runtime::Current,
            target: Vec::new(),
            credentials: None,
            tls: None,
            datacenter: None,
            connections: 1,
            consistency: cqldyno_driver_api::Consistency::One,
            page_size: 5_000,
            request_timeout_ms: None,
            settings: cqldyno_driver_api::Settings::Equal,
            options: Default::default(),
            progress_ms: 0,
            trace: None,
            slice: None,
            tape: Some(Tape { path: path.to_path_buf(), statements }),
        }
    }

    /// What the load generator binds for an issue.
    fn bound<'a>(statement: &Statement, columns: &Columns, key: u64, room: &'a mut [u8]) -> Vec<Value<'a>> {
        let (mut values, answer) = (Vec::new(), statement.answer());
        match statement.operation {
            Operation::Prepare => {}
            Operation::Batch => {
                let first = key * answer.most();
                columns.bind_rows(first..first + answer.rows(key), &mut values, room);
            }
            _ => drop(columns.bind_into(key, &mut values, room).len()),
        }
        values
    }

    #[test]
    fn a_tape_has_what_the_load_generator_binds_and_expects_for_every_builtin_scenario() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for scenario in builtins() {
            let job = job(&scenario, file.path());
            let tape = job.tape.clone().unwrap();
            let workload = Workload::new(&scenario, job.count, job.warmup, job.seed).unwrap();
            write(&job, &tape, &workload).unwrap();
            let mut player = Player::open(&job, &tape).unwrap();
            let (warmup, first, second) = (player.read(0..20), player.read(0..45), player.read(45..90));
            let columns: Vec<_> = (0..scenario.statements.len()).map(|at| columns_of(&job, &workload, at)).collect();
            let check = |reel: &Reel, ticket: u64, Issue { statement, key }: Issue| {
                let (one, (values, expect)) = (&scenario.statements[statement], &columns[statement]);
                assert_eq!(reel.statement(ticket), statement, "{}", scenario.name);
                let mut played = Vec::new();
                reel.bind(ticket, &mut played);
                let mut room = vec![0; values.room() * usize::try_from(one.answer().most()).unwrap()];
                assert_eq!(played, bound(one, values, key, &mut room), "{} {ticket}", scenario.name);
                let mut rows = Rows::new();
                expect.iter().for_each(|expect| expect.fill(key, &mut rows));
                assert_eq!(reel.check(ticket, false, &mut rows, "a"), Ok(()), "{} {ticket}", scenario.name);
                rows.clear();
                assert_eq!(reel.check(ticket, true, &mut rows, "a"), Ok(()), "{} {ticket}", scenario.name);
                // One row more.
                rows.push_null();
                rows.end_row();
                assert!(reel.check(ticket, false, &mut rows, "a").is_err());
            };
            let (warmup, first, second) = (warmup.unwrap(), first.unwrap(), second.unwrap());
            (0..20).for_each(|ticket| check(&warmup, ticket, workload.warmup_issue(ticket)));
            (0..45).for_each(|ticket| check(&first, ticket, workload.issue(ticket)));
            (45..90).for_each(|ticket| check(&second, ticket, workload.issue(ticket)));
            let message = player.read(90..91).unwrap_err().message;
            assert!(message.ends_with("ends before its ticket 90 does; give a whole one"), "{message}");
        }
    }

    fn scenario(statement: &str) -> Scenario {
        let schema = r#"name = "a"
            about = "A."
            schema = ["CREATE KEYSPACE a WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
                "CREATE TABLE a.b (pk bigint, ck bigint, v text, PRIMARY KEY (pk, ck))"]
            [[statement]]
            name = "s"
        "#;
        Scenario::from_toml(&format!("{schema}{statement}"), "a").unwrap()
    }

    const ROWS: &str = r#"
        cql = "SELECT ck, v FROM a.b WHERE pk = ?"
        values = [{ type = "bigint" }]
        keys = 3
        load = { cql = "INSERT INTO a.b (pk, ck, v) VALUES (?, ?, ?)", values = [{ type = "bigint", by = "key" }, { type = "bigint", by = "place" }, { type = "text", length = 100 }] }
        expect = { rows = 4, check = "CHECK", columns = [{ type = "bigint", by = "place" }, { type = "text", length = 100 }] }
    "#;

    /// The reel of the window, and the length of the tape.
    fn played(scenario: &Scenario) -> (Reel, Vec<u8>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let job = job(scenario, file.path());
        let (tape, workload) = (job.tape.clone().unwrap(), Workload::new(scenario, 90, 20, 7).unwrap());
        write(&job, &tape, &workload).unwrap();
        let mut player = Player::open(&job, &tape).unwrap();
        player.read(0..20).unwrap();
        (player.read(0..90).unwrap(), std::fs::read(file.path()).unwrap())
    }

    #[test]
    fn answers_of_keys_that_come_again_are_on_the_tape_once_and_long_texts_are_windows() {
        let (reel, tape) = played(&scenario(&ROWS.replace("CHECK", "order")));
        assert!(reel.tickets.iter().all(|one| matches!(one.due, Due::Pooled(_))) && reel.due.is_empty());
        let pool = u32::from_be_bytes(tape[8..12].try_into().unwrap()) as usize;
        // 110 tickets, and answers of three keys of the window and three of the warm-up.
        let ticket = 4 + 1 + 2 + 4 + 12 + 1 + 4;
        let answer = 4 + 1 + 1 + 8 + 4 * (12 + 12);
        assert_eq!(tape.len(), 12 + pool + 110 * ticket + 6 * answer);
    }

    #[test]
    fn rows_are_compared_in_their_order_in_any_or_only_counted() {
        let shuffled = |reel: &Reel, ticket| {
            let (_, due) = reel.due(ticket).unwrap();
            let mut rows = Rows::new();
            for row in due.collect::<Vec<_>>().into_iter().rev() {
                (0..row.len()).for_each(|index| rows.push(row.get(index).unwrap()));
                rows.end_row();
            }
            rows
        };
        let (order, _) = played(&scenario(&ROWS.replace("CHECK", "order")));
        let error = order.check(5, false, &mut shuffled(&order, 5), "s").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongRow);
        assert_eq!(
            error.message(),
            "statement s: in row 1 of ticket 5 column 1 should be bigint 0, and bigint 3 was found"
        );
        let (content, _) = played(&scenario(&ROWS.replace("CHECK", "content")));
        assert_eq!(content.check(5, false, &mut shuffled(&content, 5), "s"), Ok(()));
        let other = (0..90).find(|ticket| order.bind_one(*ticket) != order.bind_one(5)).unwrap();
        let error = content.check(other, false, &mut shuffled(&content, 5), "s").unwrap_err();
        assert!(error.message().ends_with("are not those that are due, in whatever order"), "{error}");
        let (count, _) = played(&scenario(&ROWS.replace("CHECK", "count")));
        assert_eq!(count.check(5, false, &mut shuffled(&content, 5), "s"), Ok(()));
        let error = count.check(5, false, &mut Rows::new(), "s").unwrap_err();
        assert_eq!(error.message(), "statement s: for ticket 5 4 rows were due, and no row came back");
    }

    impl Reel {
        fn bind_one(&self, ticket: u64) -> Vec<Value<'_>> {
            let mut values = Vec::new();
            self.bind(ticket, &mut values);
            values
        }
    }
}
