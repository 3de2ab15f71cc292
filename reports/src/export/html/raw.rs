//! The data of the page, for download.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::attempts::Attempts;
use crate::export::json::{Whole, text};
use crate::export::{ExportError, Exporter, Look, csv::Csv};
use crate::{Analysis, Cell, Run};

const WHOLE: (&str, &str) = ("result.json", "application/json");
const TABLE: (&str, &str) = ("cells.csv", "text/csv");

const WITHOUT_TABLE: &str =
    "The page has no room for the same figures as CSV; `cqldyno report` makes them from the JSON.";
const WITHOUT_ATTEMPTS: &str = "The page has no room for the attempts at a block that do not count, nor for the checksum. The run's folder \
                                has them.";
const WITHOUT_PARTS: &str = "The page has no room for attempts that do not count, nor for the cells' series by second, breakdowns, findings \
                             and settings. The run's folder has them, and the checksum.";
const WITHOUT_CELLS: &str = "The page has no room for the cells of this run. The run's folder has them.";

/// A file in the page.
pub struct Download {
    /// What it is called once it is unpacked.
    pub name: &'static str,
    /// Its media type once it is unpacked.
    pub media: &'static str,
    pub about: String,
    /// `data:` and the file, compressed.
    pub address: String,
    /// Its size in bytes, compressed.
    pub packed: usize,
    /// Its size in bytes.
    pub bytes: usize,
}

/// The run and its cells, packed: whole, and what stands for them if the page has no room.
pub struct Packed {
    /// The best first, each with what it lacks.
    results: Vec<(Download, Option<&'static str>)>,
    table: Download,
}

impl Packed {
    /// # Errors
    /// When the model cannot be written as JSON, or not be compressed.
    pub fn of(analysis: &Analysis) -> Result<Packed, ExportError> {
        let cells = analysis.every_cell();
        let StandIns { run: unsealed, counted, small } = StandIns::of(analysis.run(), cells);
        // Attempts that do not count and large parts of cells leave the summary as it is.
        let less = |cells| Whole { run: &unsealed, cells, ..Whole::of(analysis) };
        let all = "run, cells, summary and warnings, as the JSON format gives them and `cqldyno report` reads them";
        let mut results = vec![(file(WHOLE, all, &text(&Whole::of(analysis))?)?, None)];
        if counted.len() < cells.len() {
            let about = "run, the cells that count, summary and warnings";
            results.push((file(WHOLE, about, &text(&less(&counted))?)?, Some(WITHOUT_ATTEMPTS)));
        }
        let about = "run, the cells that count without their large parts, summary and warnings";
        results.push((file(WHOLE, about, &text(&less(&small))?)?, Some(WITHOUT_PARTS)));
        let table = file(TABLE, "one row per measure", &Csv.one(analysis, Look::default())?)?;
        Ok(Packed { results, table })
    }

    /// Whether everything that was measured has room in so many bytes.
    pub fn is_whole_in(&self, room: usize) -> bool {
        self.results.first().is_some_and(|(whole, _)| whole.address.len() <= room)
    }

    /// Whether there is anything that has room in so many bytes.
    pub fn is_any_in(&self, room: usize) -> bool {
        self.results.iter().any(|(result, _)| result.address.len() <= room)
    }

    /// The files that have room in so many bytes, and a sentence if they are not everything. The first to go is what the rest can make
    /// again: the table, then attempts that do not count, then large parts of cells, then all cells.
    pub fn within(self, room: usize) -> (Vec<Download>, Option<&'static str>) {
        let Packed { results, table } = self;
        match results.into_iter().find(|(result, _)| result.address.len() <= room) {
            Some((result, None)) if result.address.len() + table.address.len() <= room => (vec![result, table], None),
            Some((result, lacks)) => (vec![result], Some(lacks.unwrap_or(WITHOUT_TABLE))),
            None => (Vec::new(), Some(WITHOUT_CELLS)),
        }
    }
}

/// What a page keeps of a run if it has no room for all of it.
pub struct StandIns {
    /// Without its checksum, which is that of the cells as they were measured.
    pub run: Run,
    /// Without the attempts at a block that do not count.
    pub counted: Vec<Cell>,
    /// The same without the large parts of cells.
    pub small: Vec<Cell>,
}

impl StandIns {
    /// What a page may hold of the run.
    pub fn of(run: &Run, cells: &[Cell]) -> StandIns {
        let attempts = Attempts::of(cells);
        let counted: Vec<Cell> = cells.iter().filter(|cell| attempts.counts(cell)).cloned().collect();
        let small = counted.iter().map(without_large_parts).collect();
        StandIns { run: Run { checksum: None, ..run.clone() }, counted, small }
    }
}

fn without_large_parts(cell: &Cell) -> Cell {
    let mut small = cell.clone();
    small.series = Default::default();
    small.breakdowns.clear();
    small.files.clear();
    small.findings.clear();
    small.settings.clear();
    small
}

fn file((name, media): (&'static str, &'static str), about: &str, text: &str) -> Result<Download, ExportError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).map_err(ExportError::Compress)?;
    let packed = encoder.finish().map_err(ExportError::Compress)?;
    let address = format!("data:application/gzip;base64,{}", STANDARD.encode(&packed));
    Ok(Download { name, media, about: about.to_owned(), address, packed: packed.len(), bytes: text.len() })
}
