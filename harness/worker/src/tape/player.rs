//! Reads a tape turn by turn.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use cqldyno_driver_api::wire::{self, Body, ColumnType};
use cqldyno_driver_api::{DriverError, ErrorKind, Rows, Scalar, Value};
use cqldyno_protocol::tape::{DUE_INLINE, DUE_POOLED, MAGIC, NOTHING_DUE, NULL, POOLED_ANSWER, TICKET, UNSET, WINDOW};
use cqldyno_protocol::{Failed, Job, Tape};
use cqldyno_scenarios::{Operation, RowCheck};

use super::reel::{Answer, Due, Reel, Ticket};
use super::{NoRecord, Types, refused, types_of};

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
