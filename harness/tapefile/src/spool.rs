//! Records that were made of a file's rows, and the tapes that are made of them.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use cqldyno_protocol::tape::MAGIC;
use tempfile::{NamedTempFile, TempPath};

const ROOM: usize = 1 << 20;
/// The most rows that are read back.
const MOST_READ_BACK: usize = 1_000;

/// A tape that was made.
#[derive(Clone, Debug)]
pub struct Made {
    /// Where it is, as long as somebody has this.
    pub path: Arc<TempPath>,
    /// Its tickets, without a warm-up.
    pub tickets: u64,
}

/// Records one after the other, each after its length, in a file without a name.
#[derive(Debug)]
pub(crate) struct Spool {
    file: File,
    pub(crate) bytes: u64,
    pub(crate) records: u64,
}

pub(crate) struct SpoolWriter {
    out: BufWriter<File>,
    bytes: u64,
    records: u64,
}

impl SpoolWriter {
    pub(crate) fn new() -> io::Result<SpoolWriter> {
        Ok(SpoolWriter { out: BufWriter::with_capacity(ROOM, tempfile::tempfile()?), bytes: 0, records: 0 })
    }

    pub(crate) fn push(&mut self, record: &[u8]) -> io::Result<()> {
        put_record(&mut self.out, record)?;
        self.bytes += record.len() as u64 + 4;
        self.records += 1;
        Ok(())
    }

    pub(crate) fn end(self) -> io::Result<Spool> {
        let SpoolWriter { out, bytes, records } = self;
        Ok(Spool { file: out.into_inner().map_err(io::IntoInnerError::into_error)?, bytes, records })
    }
}

fn put_record(out: &mut impl Write, record: &[u8]) -> io::Result<()> {
    out.write_all(&u32::try_from(record.len()).map_err(io::Error::other)?.to_be_bytes())?;
    out.write_all(record)
}

/// A row to read back: its number in the file, the bytes that select it, and its whole record.
struct BackRow {
    row: u64,
    key: u64,
    content: u64,
    ticket: Vec<u8>,
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl BackRow {
    /// As [`back_record`] made it.
    fn read(record: &[u8]) -> Option<BackRow> {
        let (row, rest) = record.split_first_chunk()?;
        let (length, ticket) = rest.split_first_chunk()?;
        let (key, content) = ticket.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        Some(BackRow { row: u64::from_be_bytes(*row), key: hash(key), content: hash(content), ticket: ticket.to_vec() })
    }
}

/// A record of a spool of rows to read back: of the ticket the first bytes up to `key` say which row it is.
pub(crate) fn back_record(row: u64, key: usize, ticket: &[u8]) -> Vec<u8> {
    let key = u32::try_from(key).unwrap_or(u32::MAX);
    [&row.to_be_bytes()[..], &key.to_be_bytes(), ticket].concat()
}

impl Spool {
    /// Gives `each` every record until it says that it has enough.
    fn each(&self, mut each: impl FnMut(&[u8]) -> io::Result<bool>) -> io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        let (mut reader, mut record) = (BufReader::with_capacity(ROOM, file), Vec::new());
        for _ in 0..self.records {
            let mut length = [0; 4];
            reader.read_exact(&mut length)?;
            record.resize(u32::from_be_bytes(length) as usize, 0);
            reader.read_exact(&mut record)?;
            if !each(&record)? {
                break;
            }
        }
        Ok(())
    }

    /// A tape of so many records from `start` on for its warm-up, and of so many from there for its window. After the last record comes
    /// the first one.
    pub(crate) fn tape(&self, start: u64, warmup: u64, count: u64) -> io::Result<Made> {
        let mut tape = TapeWriter::begin()?;
        for many in [warmup, count] {
            let (mut skip, mut left) = (start % self.records.max(1), many);
            while left > 0 && self.records > 0 {
                self.each(|record| {
                    if skip > 0 {
                        skip -= 1;
                        return Ok(true);
                    }
                    put_record(&mut tape.out, record)?;
                    left -= 1;
                    Ok(left > 0)
                })?;
            }
        }
        tape.end(count)
    }

    /// A tape that reads back a sample of the rows that a window wrote: of those of the file's `rows` from `start` on so many. Rows that
    /// the file writes with several contents are left out; which one was last is unknown.
    pub(crate) fn read_back(&self, rows: u64, start: u64, count: u64) -> io::Result<Made> {
        let (mut sample, mut step, mut seen): (Vec<BackRow>, u64, u64) = (Vec::new(), 1, 0);
        self.each(|record| {
            let Some(back) = BackRow::read(record) else { return Ok(true) };
            if (back.row + rows - start % rows.max(1)) % rows.max(1) < count {
                if seen.is_multiple_of(step) {
                    sample.push(back);
                }
                seen += 1;
                if sample.len() > MOST_READ_BACK {
                    let mut nth = 0;
                    sample.retain(|_| {
                        nth += 1;
                        nth % 2 == 1
                    });
                    step *= 2;
                }
            }
            Ok(true)
        })?;
        let mut contents: HashMap<u64, Option<u64>> = sample.iter().map(|one| (one.key, Some(one.content))).collect();
        self.each(|record| {
            if let Some(back) = BackRow::read(record)
                && let Some(content) = contents.get_mut(&back.key)
            {
                *content = content.filter(|content| *content == back.content);
            }
            Ok(true)
        })?;
        let (mut tape, mut tickets) = (TapeWriter::begin()?, 0);
        for back in sample.iter().filter(|one| contents.get(&one.key).is_some_and(Option::is_some)) {
            put_record(&mut tape.out, &back.ticket)?;
            tickets += 1;
        }
        tape.end(tickets)
    }
}

struct TapeWriter {
    out: BufWriter<NamedTempFile>,
}

impl TapeWriter {
    /// Without a pool.
    fn begin() -> io::Result<TapeWriter> {
        let prefix = format!("cqldyno-tape-{}-", std::process::id());
        let mut out = BufWriter::with_capacity(ROOM, NamedTempFile::with_prefix(prefix)?);
        out.write_all(MAGIC)?;
        out.write_all(&[0; 4])?;
        Ok(TapeWriter { out })
    }

    fn end(self, tickets: u64) -> io::Result<Made> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Made { path: Arc::new(file.into_temp_path()), tickets })
    }
}
