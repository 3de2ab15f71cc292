//! A comparison as headings, tables and notes: what `table` and `markdown` show alike.

use std::collections::BTreeSet;

use crate::against::turned;
use crate::attempts::Attempts;
use crate::column::{Column, Entry, Row, Standing, columns, times};
use crate::comparison::is_control;
use crate::head::{arrangement, head, judgement};
use crate::measure::{PEAK_RSS, THREADS, WALL};
use crate::ranking::changes;
use crate::summary::{cells_of, places};
use crate::text::plain;
use crate::{ArrangementInfo, Cell, Contender, Pass, Role, Run, ScenarioInfo, Setting, Summary, SummaryRow, reference};

/// A cell, or a whole row, without figures.
const FAILED: &str = "failed";
/// A field of a row without figures.
const NOTHING: &str = "-";

/// A comparison, ready to be set.
pub(crate) struct Document {
    /// What was run, on what; a name and a sentence each.
    pub head: Vec<(&'static str, String)>,
    /// What makes the whole doubtful.
    pub warnings: Vec<String>,
    /// What is said of the tables together.
    pub overview: Vec<String>,
    pub tables: Vec<Table>,
    /// Numbered notes from 1, to which the tables refer.
    pub notes: Vec<String>,
    /// What helps to read the whole.
    pub remarks: Vec<String>,
}

/// One scenario in one arrangement.
pub(crate) struct Table {
    pub title: String,
    pub about: String,
    pub arrangement: String,
    /// The table itself, then what else was read off.
    pub sheets: Vec<Sheet>,
    /// Why rows are void or failed, and what was noticed.
    pub remarks: Vec<String>,
}

/// Rows and columns.
pub(crate) struct Sheet {
    /// What it shows; empty for the first of a table.
    pub title: String,
    /// The heading over the rows' labels.
    pub first: String,
    /// The other columns' headings, in lines.
    pub columns: Vec<Vec<String>>,
    /// The drivers, then what is set apart from them.
    pub groups: Vec<Vec<TableRow>>,
    /// What becomes of the columns where a terminal is too narrow for all of them.
    pub narrow: Narrow,
}

/// What becomes of a sheet on a narrow terminal.
pub(crate) enum Narrow {
    /// Columns are left out: for each one its name and when it goes, the lowest first, equal ones together; what is greatest of
    /// all stays.
    LeaveOut(Vec<(String, usize)>),
    /// Every column is a contender or a run, of which none may be missing: they stand in several tables below each other.
    Stack,
}

pub(crate) struct TableRow {
    pub label: String,
    /// The number of the note on the contender, behind the label.
    pub note: Option<usize>,
    /// Behind both, what the reader must not miss: `void` or `failed 1/3`; empty where every block counts.
    pub trouble: String,
    /// One a column.
    pub fields: Vec<Field>,
    /// Whether the row has no figures, and the first field says why.
    pub is_empty: bool,
}

impl TableRow {
    /// A row of which nothing is said but its figures.
    pub fn of(label: &str, fields: Vec<Field>) -> TableRow {
        TableRow { label: plain(label), note: None, trouble: String::new(), fields, is_empty: false }
    }
}

#[derive(Clone)]
pub(crate) struct Field {
    pub text: String,
    /// The number of the note on it, behind the text.
    pub note: Option<usize>,
    /// Whether the reader must not miss it.
    pub is_bad: bool,
}

impl Field {
    /// What is nothing but read.
    pub fn of(text: impl Into<String>) -> Field {
        Field { text: text.into(), note: None, is_bad: false }
    }

    /// What the reader must not miss.
    pub fn bad(text: impl Into<String>) -> Field {
        Field { is_bad: true, ..Field::of(text) }
    }

    /// Why there is no figure is the note of that number.
    pub fn missing(note: usize) -> Field {
        Field { note: Some(note), ..Field::of("n/a") }
    }

    /// The text and the number of its note, for example `n/a [3]`.
    pub fn shown(&self) -> String {
        format!("{}{}", self.text, mark(self.note))
    }
}

/// How a text refers to the note of that number; empty without one.
pub(crate) fn mark(note: Option<usize>) -> String {
    note.map(|number| format!(" [{number}]")).unwrap_or_default()
}

impl Document {
    /// With ratios against the contender of that id, or against the run's own reference where none is named.
    pub fn against(run: &Run, cells: &[Cell], reference_id: Option<&str>) -> Document {
        let mut notes = Notes::default();
        let (run, Summary { rows, warnings }) = turned(run, cells, reference_id);
        let run = &run;
        let attempts = Attempts::of(cells);
        let counted: Vec<&Cell> = cells.iter().filter(|cell| attempts.counts(cell)).collect();
        let columns = columns(&rows);
        let of = |(scenario, arrangement)| Place { run, cells: &counted, columns: &columns, scenario, arrangement };
        let tables = places(run).map(|place| of(place).table(&rows, &mut notes)).collect();
        let mut head = head(run);
        head.extend(judgement(run, cells, &rows));
        let overview = changes(run, &rows, reference(run));
        Document { head, warnings, overview, tables, notes: notes.sentences, remarks: remarks(run) }
    }

    /// Only what Linux' `time` prints of each contender, without the control, which is the reference once more.
    pub fn of_times(run: &Run, cells: &[Cell]) -> Document {
        let mut notes = Notes::default();
        let Summary { rows, warnings } = Summary::new(run, cells);
        let attempts = Attempts::of(cells);
        let counted: Vec<&Cell> = cells.iter().filter(|cell| attempts.counts(cell)).collect();
        let mut shown = run.clone();
        shown.contenders.retain(|contender| !contender.control);
        let columns = times();
        let of = |(scenario, arrangement)| {
            let place = Place { run: &shown, cells: &counted, columns: &columns, scenario, arrangement };
            place.main(&rows, &mut notes)
        };
        let tables = places(run).map(of).collect();
        Document {
            head: head(run).into_iter().filter(|(name, _)| *name != "passes").collect(),
            warnings,
            overview: Vec::new(),
            tables,
            notes: notes.sentences,
            remarks: remarks(&shown),
        }
    }
}

impl Document {
    /// Keeps the notes of these numbers, numbered from 1 again, in the order in which they were.
    pub fn keep_notes(&mut self, kept: &BTreeSet<usize>) {
        let again = |number: usize| kept.contains(&number).then(|| kept.range(..=number).count());
        for row in
            self.tables.iter_mut().flat_map(|table| &mut table.sheets).flat_map(|sheet| &mut sheet.groups).flatten()
        {
            row.note = row.note.and_then(again);
            row.fields.iter_mut().for_each(|field| field.note = field.note.and_then(again));
        }
        let mut number = 0;
        self.notes.retain(|_| {
            number += 1;
            kept.contains(&number)
        });
    }
}

/// Numbered sentences, each once.
#[derive(Default)]
pub(crate) struct Notes {
    sentences: Vec<String>,
}

impl Notes {
    /// Those sentences, from 1.
    pub(crate) fn of(sentences: Vec<String>) -> Notes {
        Notes { sentences }
    }

    pub(crate) fn sentences(&self) -> &[String] {
        &self.sentences
    }

    pub(crate) fn number(&mut self, sentence: &str) -> usize {
        let sentence = plain(sentence);
        match self.sentences.iter().position(|known| *known == sentence) {
            Some(place) => place + 1,
            None => {
                self.sentences.push(sentence);
                self.sentences.len()
            }
        }
    }
}

pub(crate) struct Place<'a> {
    pub run: &'a Run,
    /// Those of the attempts that count.
    pub cells: &'a [&'a Cell],
    pub columns: &'a [&'static Column],
    pub scenario: &'a ScenarioInfo,
    pub arrangement: &'a ArrangementInfo,
}

impl Place<'_> {
    fn table(&self, summary: &[SummaryRow], notes: &mut Notes) -> Table {
        let mut table = self.main(summary, notes);
        table.remarks.extend(self.fewer_blocks(summary));
        table.sheets.extend(self.more(summary, notes));
        table
    }

    /// The first of its tables, and what makes it doubtful.
    fn main(&self, summary: &[SummaryRow], notes: &mut Notes) -> Table {
        let mut remarks = Vec::new();
        let mut findings = Findings::default();
        let (mut drivers, mut apart) = (Vec::new(), Vec::new());
        // In the order in which they are shown, so that notes are numbered from above.
        let (first, then): (Vec<_>, Vec<_>) =
            self.run.contenders.iter().partition(|contender| contender.role == Role::Driver);
        for contender in first.into_iter().chain(then) {
            let row = self.row(summary, contender);
            let group = if contender.role == Role::Driver { &mut drivers } else { &mut apart };
            let caveats: Vec<String> = caveats(contender, self.cells.iter().copied()).collect();
            let note =
                (!caveats.is_empty()).then(|| notes.number(&format!("{}: {}", contender.label, caveats.join(" "))));
            let left_out = self.scenario.left_out.get(&contender.id);
            let fields = fields(&row, left_out.is_some(), self.columns, notes);
            // A row without any figure says so in its first field already.
            let trouble = trouble(&self.cells_of(contender, Pass::Timing));
            let trouble = if fields[0].text == trouble && trouble == FAILED { String::new() } else { trouble };
            group.push(TableRow {
                label: plain(&contender.label),
                note,
                trouble,
                is_empty: fields.iter().skip(1).all(|field| field.text == NOTHING),
                fields,
            });
            self.remark(contender, &mut remarks, &mut findings);
        }
        remarks.extend(findings.sentences());
        let main = Sheet {
            title: String::new(),
            first: "contender".to_owned(),
            columns: self
                .columns
                .iter()
                .map(|column| column.title.iter().map(|&line| line.to_owned()).collect())
                .collect(),
            groups: [drivers, apart].into_iter().filter(|group| !group.is_empty()).collect(),
            narrow: Narrow::LeaveOut(
                self.columns.iter().map(|column| (column.name.to_owned(), column.stays.into())).collect(),
            ),
        };
        Table {
            title: plain(&self.scenario.name),
            about: self.about(),
            arrangement: arrangement(self.arrangement),
            sheets: vec![main],
            remarks,
        }
    }

    /// The scenario's sentence, and what of it need be said.
    fn about(&self) -> String {
        let asked = self.scenario.asked.iter();
        std::iter::once(&self.scenario.about).chain(asked).map(|text| plain(text)).collect::<Vec<_>>().join(" ")
    }

    /// What the contender's row of the main table is made of.
    pub(crate) fn row<'s>(&'s self, summary: &'s [SummaryRow], contender: &'s Contender) -> Row<'s> {
        let noop = self.run.contenders.iter().find(|contender| contender.role == Role::Noop);
        let of_noop =
            |meter: &str| self.figures(summary, noop?).find(|row| row.meter == meter).and_then(|row| row.median);
        Row {
            contender,
            figures: self.figures(summary, contender).map(|row| (row.meter.as_str(), row)).collect(),
            errors: self.cells_of(contender, Pass::Timing).iter().map(|cell| cell.errors()).sum(),
            noop_peak: of_noop(PEAK_RSS),
            noop_threads: of_noop(THREADS),
            standing: self.standing(contender),
        }
    }

    pub(crate) fn figures<'s>(
        &self,
        summary: &'s [SummaryRow],
        contender: &Contender,
    ) -> impl Iterator<Item = &'s SummaryRow> {
        summary.iter().filter(|row| {
            row.contender == contender.id
                && row.scenario == self.scenario.name
                && row.arrangement == self.arrangement.id
        })
    }

    fn standing(&self, contender: &Contender) -> Standing {
        match reference(self.run) {
            _ if contender.role != Role::Driver => Standing::Apart,
            Some(reference) if reference.id == contender.id => Standing::Reference,
            Some(reference) if is_control(&contender.id, contender.control, reference) => Standing::Control,
            _ => Standing::Compared,
        }
    }

    /// Of how many blocks the intervals are where that is not all of them.
    fn fewer_blocks(&self, summary: &[SummaryRow]) -> Option<String> {
        let mut here = self.run.contenders.iter().flat_map(|contender| self.figures(summary, contender));
        let blocks = here.find_map(|row| row.blocks.filter(|_| !row.exploratory))?;
        (blocks < self.run.blocks() as usize).then(|| {
            format!(
                "The intervals are of {blocks} of {} blocks: those in which every driver that is compared ran to its end.",
                self.run.blocks()
            )
        })
    }

    pub(crate) fn cells_of(&self, contender: &Contender, pass: Pass) -> Vec<&Cell> {
        cells_of(self.cells, contender, self.scenario, self.arrangement, pass)
    }

    /// Why the contender's row is missing, failed or void, and what was noticed.
    fn remark(&self, contender: &Contender, remarks: &mut Vec<String>, findings: &mut Findings) {
        let label = plain(&contender.label);
        if let Some(why) = &contender.unavailable {
            remarks.push(format!("{label} is missing: {}", plain(why)));
        }
        if let Some(why) = self.scenario.left_out.get(&contender.id).filter(|_| !contender.control) {
            remarks.push(format!("{label} is not asked: {}", plain(why)));
        }
        let mut said: Vec<&String> = Vec::new();
        for pass in Pass::ALL {
            let mine = self.cells_of(contender, pass);
            let all = mine.len();
            let of = |some: usize| match (pass, all) {
                (Pass::Timing, all) if some == all => String::new(),
                (Pass::Timing, _) => format!(" in {some} of {all} blocks"),
                _ => format!(" in the {} pass", pass.name()),
            };
            let failed: Vec<&String> = mine.iter().filter_map(|cell| cell.failed.as_ref()).collect();
            if let Some(why) = failed.first().filter(|why| !said.contains(why)) {
                said.push(why);
                remarks.push(format!("{label} failed{}: {}", of(failed.len()), plain(why)));
            }
            let void: Vec<&String> = mine.iter().filter_map(|cell| cell.void.as_ref()).collect();
            if let Some(why) = void.first().filter(|why| !said.contains(why)) {
                said.push(why);
                remarks.push(format!("{label} is void{}: {}", of(void.len()), plain(why)));
            }
            for finding in mine.iter().flat_map(|cell| &cell.findings) {
                findings.add(&label, &plain(finding));
            }
        }
    }
}

/// What was noticed, each once with those of whom it was.
#[derive(Default)]
struct Findings {
    found: Vec<(String, Vec<String>)>,
}

impl Findings {
    fn add(&mut self, label: &str, finding: &str) {
        match self.found.iter_mut().find(|(known, _)| known == finding) {
            Some((_, labels)) if labels.iter().any(|known| known == label) => {}
            Some((_, labels)) => labels.push(label.to_owned()),
            None => self.found.push((finding.to_owned(), vec![label.to_owned()])),
        }
    }

    fn sentences(self) -> impl Iterator<Item = String> {
        self.found.into_iter().map(|(finding, labels)| format!("{}: {finding}", labels.join(", ")))
    }
}

/// How many of the cells give no figure to compare, for example `void` or `failed 1/3`; empty where all count.
pub(crate) fn trouble(cells: &[&Cell]) -> String {
    let all = cells.len();
    let part = |what: &str, some: usize| match some {
        0 => None,
        _ if some == all => Some(what.to_owned()),
        _ => Some(format!("{what} {some}/{all}")),
    };
    let failed = cells.iter().filter(|cell| cell.failed.is_some()).count();
    let void = cells.iter().filter(|cell| cell.failed.is_none() && cell.void.is_some()).count();
    [part("void", void), part(FAILED, failed)].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// One a column, or a word for the whole row.
fn fields(row: &Row, left_out: bool, columns: &[&Column], notes: &mut Notes) -> Vec<Field> {
    let contender = row.contender;
    let wall = row.figures.get(WALL);
    let state = match wall {
        Some(figure) if figure.median.is_some() => None,
        _ if contender.unavailable.is_some() => Some("missing"),
        _ if left_out => Some("n/a"),
        Some(figure) if figure.failed.is_some() => Some(FAILED),
        _ => Some("not run"),
    };
    match state {
        Some(state) => {
            let mut fields = vec![Field::of(NOTHING); columns.len()];
            fields[0] = if left_out { Field::of(state) } else { Field::bad(state) };
            fields
        }
        None => columns
            .iter()
            .map(|column| match column.entry(row) {
                Entry::Figure(text) => Field::of(text),
                Entry::Noted(text, why) => Field { note: Some(notes.number(&why)), ..Field::of(text) },
                Entry::Void => Field::bad("void"),
                Entry::Missing(why) => Field::missing(notes.number(&why)),
            })
            .collect(),
    }
}

/// What a reader must know of a contender, each a full sentence: its own caveats, and the settings that it did not take as
/// asked.
pub(crate) fn caveats<'a>(
    contender: &'a Contender,
    cells: impl Iterator<Item = &'a Cell>,
) -> impl Iterator<Item = String> + 'a {
    // Those of the contender that it repeats hold for a control as well.
    let (own, settings) = match contender.control {
        true => (&[][..], &[][..]),
        false => (contender.caveats.as_slice(), settings(contender, cells)),
    };
    let settings = settings
        .iter()
        .filter(|setting| !setting.as_asked)
        .map(|setting| format!("Its setting `{}` is not as asked for ({}).", setting.name, setting.value));
    let control = contender
        .control
        .then(|| contender.label.rsplit_once('#').map_or(contender.label.as_str(), |(of, _)| of))
        .map(|of| format!("It is {of} once more, as a control."));
    own.iter().cloned().chain(settings).chain(control)
}

/// What the contender ran with: as its first cell that ended says; without one, what its worker would make of the defaults.
pub(crate) fn settings<'a>(contender: &'a Contender, mut cells: impl Iterator<Item = &'a Cell>) -> &'a [Setting] {
    let ended = cells.find(|cell| cell.contender == contender.id && cell.failed.is_none());
    ended.map_or(&contender.settings, |cell| &cell.settings)
}

fn remarks(run: &Run) -> Vec<String> {
    let mut remarks: Vec<String> = run
        .contenders
        .iter()
        // A control is another one's program.
        .filter(|contender| !contender.control)
        .filter_map(|contender| libraries(run, contender))
        .collect();
    let has = |role| run.contenders.iter().any(|contender| contender.role == role);
    if has(Role::Floor) {
        remarks
            .push("floor is a minimal client of our own: the least that a client can cost on this machine.".to_owned());
    }
    if has(Role::Noop) {
        remarks.push("noop sends nothing: what the harness itself costs.".to_owned());
    }
    remarks
}

/// The exact versions of what a contender runs on; its compiler where that is another one than the program's.
pub(crate) fn libraries(run: &Run, contender: &Contender) -> Option<String> {
    if contender.libraries.is_empty() {
        return None;
    }
    let libraries: Vec<String> = contender
        .libraries
        .iter()
        .map(|library| match &library.origin {
            Some(origin) => format!("{} {} ({})", plain(&library.name), plain(&library.version), plain(origin)),
            None => format!("{} {}", plain(&library.name), plain(&library.version)),
        })
        .collect();
    let compiler = match contender.compiler.as_str() {
        known if known.is_empty() || known == run.environment.compiler => String::new(),
        other => format!(", built by {}", plain(other)),
    };
    Some(format!("{} runs on {}{compiler}.", plain(&contender.label), libraries.join(", ")))
}
