//! A file of rows as the scenario that it makes, and as the tapes of its windows.

use std::io;
use std::sync::{Mutex, PoisonError};

use arrow_array::ArrayRef;
use cqldyno_cluster::types::{ColumnSpec, Given, Value};
use cqldyno_protocol::tape::{DUE_INLINE, NOTHING_DUE, TICKET};
use cqldyno_scenarios::{
    Column, Expectation, Load, Operation, Order, OwnRows, ReadBack, RowCheck, Scenario, Statement,
};

use crate::TapeError;
use crate::file::RowFile;
use crate::fit::kind;
use crate::mapping::{Answer, Binding, Mapping, Role};
use crate::spool::{Made, Spool, SpoolWriter, back_record};

/// The most bytes of a tape.
const MOST_BYTES: u64 = 2 << 30;
/// Rows of a page, unless the scenario says otherwise.
const PAGE_ROWS: usize = 5_000;

/// Start, warm-up and count of a tape.
type Which = (u64, u64, u64);

/// What was made of a file: its rows, those to load and those to read back, as records of a tape.
#[derive(Debug)]
pub struct Recording {
    shown: String,
    rows: u64,
    tickets: Spool,
    loads: Option<Spool>,
    backs: Option<Spool>,
    /// The last tape: contenders of a generation share theirs.
    made: Mutex<Option<(Which, Made)>>,
}

impl Recording {
    /// How many rows the file has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The tape of a window of `count` rows from the row `start` on, after a warm-up of the same rows. After the last row comes the
    /// first one.
    ///
    /// # Errors
    /// A full sentence, when it would be too large or there is no room.
    pub fn tape(&self, start: u64, warmup: u64, count: u64) -> Result<Made, String> {
        let asked = (start % self.rows.max(1), warmup, count);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = made.as_ref().filter(|(of, _)| *of == asked) {
            return Ok(known.clone());
        }
        let bytes = self.tickets.bytes / self.rows.max(1) * (warmup + count);
        if bytes > MOST_BYTES {
            return Err(format!(
                "The tape {} would have about {:.1} GiB for {count} statements, and at most {} GiB are written; ask for fewer with --count.",
                self.shown,
                bytes as f64 / f64::from(1 << 30),
                MOST_BYTES >> 30
            ));
        }
        let tape = self.tickets.tape(asked.0, warmup, count).map_err(|error| self.unwritten(&error))?;
        *made = Some((asked, tape.clone()));
        Ok(tape)
    }

    /// The tape that loads what statements read, if any does.
    ///
    /// # Errors
    /// As [`Recording::tape`].
    pub fn loads(&self) -> Result<Option<Made>, String> {
        let made = self.loads.as_ref().map(|loads| loads.tape(0, 0, loads.records));
        made.transpose().map_err(|error| self.unwritten(&error))
    }

    /// The tape that reads back a sample of what a window wrote, if that can be read back.
    ///
    /// # Errors
    /// As [`Recording::tape`].
    pub fn read_back(&self, start: u64, count: u64) -> Result<Option<Made>, String> {
        let made = self.backs.as_ref().map(|backs| backs.read_back(self.rows, start, count));
        made.transpose().map_err(|error| self.unwritten(&error))
    }

    fn unwritten(&self, error: &io::Error) -> String {
        format!("A tape of {} could not be written: {error}; make room in the folder for temporary files.", self.shown)
    }
}

/// Reads the rows of a scenario's tape. Its statements get the types of the file's values, and the scenario the number of rows.
///
/// # Errors
/// When the file cannot be read, or the first column or value that does not fit.
pub fn recorded(scenario: &Scenario) -> Result<Option<(Scenario, Recording)>, TapeError> {
    let Some(tape) = &scenario.tape else { return Ok(None) };
    let file = RowFile::open(&tape.path)?;
    let mapping = Mapping::of(scenario, &file)?;
    let mut reading = Reading::new(&mapping, &file, scenario)?;
    if mapping.roles.iter().any(|role| role.load.is_some()) {
        file.each(|row, batch, at| reading.load(row, (batch, at)))?;
    }
    let rows = file.each(|row, batch, at| reading.ticket(row, (batch, at)))?;
    if rows == 0 {
        return Err(TapeError(format!(
            "the tape {} has no rows, and each row is one execution of a statement; write at least one",
            file.shown()
        )));
    }
    let made = reading.scenario(OwnRows { path: tape.path.clone(), rows: Some(rows), hash: Some(file.hash()?) })?;
    Ok(Some((made, reading.end(rows)?)))
}

/// The scenario whose statements load what those of `scenario` read.
pub fn loading(scenario: &Scenario) -> Scenario {
    instead(scenario, |one| one.load.as_ref().map(|load| (load.cql.clone(), load.values.clone(), None)))
}

/// The scenario whose statements read back what those of `scenario` wrote.
pub fn reading_back(scenario: &Scenario) -> Scenario {
    instead(scenario, |one| {
        one.read_back.as_ref().map(|back| (back.cql.clone(), back.values.clone(), Some(back.columns.clone())))
    })
}

fn instead(
    scenario: &Scenario,
    other: impl Fn(&Statement) -> Option<(String, Vec<Column>, Option<Vec<Column>>)>,
) -> Scenario {
    let mut scenario = scenario.clone();
    for statement in &mut scenario.statements {
        let Some((cql, values, columns)) = other(statement) else { continue };
        (statement.cql, statement.values, statement.operation) = (cql, values, Operation::Execute);
        statement.expect = columns.map(|columns| expected(columns, RowCheck::Order));
        (statement.load, statement.read_back) = (None, None);
    }
    scenario
}

fn expected(columns: Vec<Column>, check: RowCheck) -> Expectation {
    Expectation { rows: None, stored: None, from: None, last: false, ranges: None, descending: false, check, columns }
}

/// Values of a record, which are [bytes] one after the other.
fn values(mut cells: &[u8]) -> Vec<Value<'_>> {
    let mut values = Vec::new();
    while let Some((length, rest)) = cells.split_first_chunk() {
        let length = usize::try_from(i32::from_be_bytes(*length));
        let (value, rest) = length.ok().and_then(|length| rest.split_at_checked(length)).unwrap_or((&[], rest));
        values.push(if length.is_ok() { Given::Bytes(value) } else { Given::Null });
        cells = rest;
    }
    values
}

/// A file that is read row by row.
struct Reading<'a> {
    mapping: &'a Mapping<'a>,
    file: &'a RowFile,
    scenario: &'a Scenario,
    tickets: SpoolWriter,
    loads: SpoolWriter,
    backs: SpoolWriter,
    /// The longest value of each column of the file.
    longest: Vec<usize>,
    /// Of each statement: its rows, and whether the rows that come back are only counted.
    seen: Vec<(u64, bool)>,
}

type FileRow<'a> = (&'a [ArrayRef], usize);

impl<'a> Reading<'a> {
    fn new(mapping: &'a Mapping<'a>, file: &'a RowFile, scenario: &'a Scenario) -> Result<Reading<'a>, TapeError> {
        let spool = || SpoolWriter::new().map_err(|error| unspooled(file, &error));
        Ok(Reading {
            mapping,
            file,
            scenario,
            tickets: spool()?,
            loads: spool()?,
            backs: spool()?,
            longest: vec![1; file.columns.len()],
            seen: vec![(0, false); mapping.roles.len()],
        })
    }

    /// A ticket of the statement `index` up to what is due; where its values begin is returned, too.
    fn bound(
        &mut self,
        row: u64,
        of: FileRow<'_>,
        index: usize,
        name: &str,
        binding: &Binding,
    ) -> Result<(Vec<u8>, usize), TapeError> {
        let mut record = vec![TICKET];
        record.extend_from_slice(&u16::try_from(index).unwrap_or(u16::MAX).to_be_bytes());
        record.extend_from_slice(&number(binding.columns.len()));
        let start = record.len();
        self.mapping.check_key(row, binding, of)?;
        let specs = (binding.columns.as_slice(), binding.rehearsed.markers());
        self.mapping.put(row, of, specs, name, &mut self.longest, &mut record)?;
        Ok((record, start))
    }

    /// Loads what the statement of this row reads.
    fn load(&mut self, row: u64, of: FileRow<'_>) -> Result<(), TapeError> {
        let mapping = self.mapping;
        let index = mapping.statement_of(row, of.0, of.1)?;
        let Some((role, load)) = mapping.roles.get(index).and_then(|role| Some((role, role.load.as_ref()?))) else {
            return Ok(());
        };
        let (mut record, start) = self.bound(row, of, index, &role.name, load)?;
        if mapping.roles.iter().any(|role| matches!(role.answer, Answer::Loaded)) {
            self.rehearsed(row, role, load, record.get(start..).unwrap_or_default())?;
        }
        record.push(NOTHING_DUE);
        self.loads.push(&record).map_err(|error| unspooled(self.file, &error))
    }

    fn rehearsed(&self, row: u64, role: &Role, binding: &Binding, cells: &[u8]) -> Result<(usize, Vec<u8>), TapeError> {
        self.mapping.node.execute(&binding.rehearsed, values(cells)).map_err(|error| {
            TapeError(format!(
                "the tape {} cannot be played in row {}: the embedded cluster refuses the values of the statement {}: {error}; correct the \
                 row",
                self.file.shown(),
                row + 1,
                role.name
            ))
        })
    }

    fn ticket(&mut self, row: u64, of: FileRow<'_>) -> Result<(), TapeError> {
        let mapping = self.mapping;
        let index = mapping.statement_of(row, of.0, of.1)?;
        let Some(role) = mapping.roles.get(index) else { return Ok(()) };
        let (mut record, start) = self.bound(row, of, index, &role.name, &role.own)?;
        match self.due(row, of, role, record.get(start..).unwrap_or_default())? {
            None => record.push(NOTHING_DUE),
            Some((check, rows, columns, cells)) => {
                record.extend_from_slice(&[DUE_INLINE, if check == RowCheck::Count { 2 } else { 0 }]);
                record.extend_from_slice(&number(rows));
                record.extend_from_slice(&number(columns));
                record.extend_from_slice(&cells);
                self.seen[index].1 |= check == RowCheck::Count;
            }
        }
        self.seen[index].0 += 1;
        self.tickets.push(&record).map_err(|error| unspooled(self.file, &error))?;
        self.back(row, of, role)
    }

    /// The check, rows, columns and values of what comes back.
    #[expect(clippy::type_complexity, reason = "it is what an answer on a tape has")]
    fn due(
        &mut self,
        row: u64,
        of: FileRow<'_>,
        role: &Role,
        bound: &[u8],
    ) -> Result<Option<(RowCheck, usize, usize, Vec<u8>)>, TapeError> {
        let specs = role.own.rehearsed.columns();
        let counted = self.expected_rows(row, of, role)?;
        let due = match (&role.answer, counted) {
            (Answer::Nothing, _) => return Ok(None),
            (Answer::Columns(columns), None | Some(1)) => {
                let mut cells = Vec::new();
                self.mapping.put(row, of, (columns, specs), &role.name, &mut self.longest, &mut cells)?;
                (RowCheck::Order, 1, specs.len(), cells)
            }
            (_, Some(0)) => (RowCheck::Order, 0, specs.len(), Vec::new()),
            (_, Some(rows)) => (RowCheck::Count, rows, 0, Vec::new()),
            (_, None) => {
                let (rows, cells) = self.rehearsed(row, role, &role.own, bound)?;
                (RowCheck::Order, rows, specs.len(), cells)
            }
        };
        let page = self.scenario.page_size.map_or(PAGE_ROWS, |rows| rows as usize);
        if due.1 >= page {
            return Err(TapeError(format!(
                "the tape {} has in row {} a statement {} with {} rows that come back, and a page has {page}; bind a LIMIT, or set \
                 page_size in the scenario",
                self.file.shown(),
                row + 1,
                role.name,
                due.1
            )));
        }
        Ok(Some(due))
    }

    /// What the file says of the number of rows that come back; `None` if it has no such column.
    fn expected_rows(&mut self, row: u64, of: FileRow<'_>, role: &Role) -> Result<Option<usize>, TapeError> {
        let place = self.mapping.expected_rows.filter(|_| !matches!(role.answer, Answer::Nothing));
        let Some(place) = place else { return Ok(None) };
        let spec = ColumnSpec {
            keyspace: "".into(),
            table: "".into(),
            name: "".into(),
            ty: cqldyno_cluster::types::CqlType::Int,
        };
        let mut cells = Vec::new();
        let what = format!("{}, whose answer has so many rows,", role.name);
        self.mapping.put(row, of, (&[place], &[spec]), &what, &mut self.longest, &mut cells)?;
        let rows = values(&cells).first().and_then(|value| value.bytes()).and_then(|bytes| bytes.try_into().ok());
        let rows = rows.map(i32::from_be_bytes).and_then(|rows| usize::try_from(rows).ok());
        match (rows, &role.answer) {
            (None, Answer::Counted) => Err(TapeError(format!(
                "the tape {} has in row {} no number of rows that come back for the statement {}; give one from 0 on",
                self.file.shown(),
                row + 1,
                role.name
            ))),
            (rows, _) => Ok(rows),
        }
    }

    /// Keeps how the row that was written is read back.
    fn back(&mut self, row: u64, of: FileRow<'_>, role: &Role) -> Result<(), TapeError> {
        let Some(back) = &role.back else { return Ok(()) };
        let (mut record, _) = self.bound(row, of, back.like, &role.name, &back.binding)?;
        let (key, specs) = (record.len(), back.binding.rehearsed.columns());
        record.extend_from_slice(&[DUE_INLINE, 0]);
        record.extend_from_slice(&number(1));
        record.extend_from_slice(&number(specs.len()));
        self.mapping.put(row, of, (&back.columns, specs), &role.name, &mut self.longest, &mut record)?;
        self.backs.push(&back_record(row, key, &record)).map_err(|error| unspooled(self.file, &error))
    }

    /// The scenario with what the file says of its statements.
    fn scenario(&self, tape: OwnRows) -> Result<Scenario, TapeError> {
        let mut scenario = Scenario { tape: Some(tape), ..self.scenario.clone() };
        let each = scenario.statements.iter_mut().zip(&self.mapping.roles).zip(&self.seen);
        for ((statement, role), (rows, counted)) in each {
            let of = |specs: &[ColumnSpec]| specs.iter().filter_map(|spec| self.column(spec)).collect::<Vec<_>>();
            let check = if *counted { RowCheck::Count } else { RowCheck::Order };
            let reads = !matches!(role.answer, Answer::Nothing);
            *statement = Statement {
                weight: 1,
                size: None,
                logged: false,
                values: of(role.own.rehearsed.markers()),
                keys: role.load.as_ref().map(|_| (*rows).max(1)),
                keys_of: None,
                adds: None,
                order: Order::default(),
                exponent: None,
                expect: reads.then(|| expected(of(role.own.rehearsed.columns()), check)),
                load: statement.load.take().zip(role.load.as_ref()).map(|(load, binding)| Load {
                    values: of(binding.rehearsed.markers()),
                    shift: false,
                    ..load
                }),
                read_back: statement.read_back.take().zip(role.back.as_ref()).map(|(read_back, back)| ReadBack {
                    values: of(back.binding.rehearsed.markers()),
                    columns: of(back.binding.rehearsed.columns()),
                    ..read_back
                }),
                ..statement.clone()
            };
        }
        Ok(scenario)
    }

    fn column(&self, spec: &ColumnSpec) -> Option<Column> {
        let place = self.file.columns.iter().position(|name| **name == *spec.name);
        let longest = place.and_then(|place| self.longest.get(place)).copied().unwrap_or(1);
        kind(&spec.ty, longest).map(Column::from)
    }

    fn end(self, rows: u64) -> Result<Recording, TapeError> {
        let Reading { file, tickets, loads, backs, .. } = self;
        let end = |spool: SpoolWriter| spool.end().map_err(|error| unspooled(file, &error));
        let some = |spool: Spool| Some(spool).filter(|spool| spool.records > 0);
        Ok(Recording {
            shown: file.shown(),
            rows,
            tickets: end(tickets)?,
            loads: some(end(loads)?),
            backs: some(end(backs)?),
            made: Mutex::default(),
        })
    }
}

fn number(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes()
}

fn unspooled(file: &RowFile, error: &io::Error) -> TapeError {
    TapeError(format!(
        "the rows of the tape {} could not be kept in a temporary file: {error}; make room in the folder for them",
        file.shown()
    ))
}
