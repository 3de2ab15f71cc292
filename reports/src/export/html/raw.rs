//! The data of the page, for download.

use std::io::{self, BufWriter, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Serialize, Serializer};

use crate::attempts::Attempts;
use crate::export::csv::Csv;
use crate::export::exporter::{ExportError, Exporter, Look};
use crate::export::json::{Json, Whole, write};
use crate::{Analysis, Cell, Run};

/// What a page may weigh, in bytes.
pub const PAGE_LIMIT: usize = 1_500_000;

const WHOLE: (&str, &str) = ("result.json", "application/json");
const TABLE: (&str, &str) = ("cells.csv", "text/csv");

const WITHOUT_TABLE: &str =
    "The page has no room for the same figures as CSV; `cqldyno report` makes them from the JSON.";
const WITHOUT_PARTS: &str = "The page has no room for attempts that do not count, nor for the cells' series by second, breakdowns, findings \
                             and settings. The run's folder has them, and the checksum.";
const WITHOUT_CELLS: &str = "The page has no room for the cells of this run. The run's folder has them.";

/// So many bytes are packed at a time.
const PART: usize = 64 * 1024;

pub struct Download {
    /// What it is called once it is unpacked.
    pub name: &'static str,
    pub media: &'static str,
    pub about: String,
    /// `data:` and the file, compressed.
    pub address: String,
    /// Its size in bytes, compressed.
    pub packed: usize,
    pub bytes: usize,
}

/// The run and its cells, packed: whole, and what stands for them if the page has no room. What no page has room for is not among them.
pub struct Packed {
    /// The best first, each with what it lacks.
    results: Vec<(Download, Option<&'static str>)>,
    table: Option<Download>,
}

impl Packed {
    /// # Errors
    /// When the model cannot be written as JSON, or not be compressed.
    pub fn of(analysis: &Analysis) -> Result<Packed, ExportError> {
        let about = "run, cells, summary and warnings, as the JSON format gives them and `cqldyno report` reads them";
        let whole = file(WHOLE, about, |out| Json.write(analysis, Look::default(), out))?;
        let table = match &whole {
            None => None,
            Some(_) => file(TABLE, "one row per measure", |out| Csv.write(analysis, Look::default(), out))?,
        };
        let (run, cells) = stand_ins(analysis.run, analysis.every_cell);
        let mut results: Vec<_> = whole.into_iter().map(|whole| (whole, None)).collect();
        // Attempts that do not count and large parts of cells leave the summary as it is.
        let less = Whole::of(analysis, &run, Each(|| cells.clone()));
        let about = "run, the cells that count without their large parts, summary and warnings";
        results.extend(file(WHOLE, about, |out| write(&less, out))?.map(|file| (file, Some(WITHOUT_PARTS))));
        Ok(Packed { results, table })
    }

    /// Whether everything that was measured has room in so many bytes.
    pub fn is_whole_in(&self, room: usize) -> bool {
        self.results.first().is_some_and(|(whole, lacks)| lacks.is_none() && whole.address.len() <= room)
    }

    /// Whether there is anything that has room in so many bytes.
    pub fn is_any_in(&self, room: usize) -> bool {
        self.results.iter().any(|(result, _)| result.address.len() <= room)
    }

    /// The files that have room in so many bytes, and a sentence if they are not everything. The first to go is what the rest can make
    /// again: the table, then attempts that do not count and large parts of cells, then all cells.
    pub fn within(self, room: usize) -> (Vec<Download>, Option<&'static str>) {
        let Packed { results, table } = self;
        match results.into_iter().find(|(result, _)| result.address.len() <= room) {
            Some((result, None)) => match table.filter(|table| result.address.len() + table.address.len() <= room) {
                Some(table) => (vec![result, table], None),
                None => (vec![result], Some(WITHOUT_TABLE)),
            },
            Some((result, lacks)) => (vec![result], lacks),
            None => (Vec::new(), Some(WITHOUT_CELLS)),
        }
    }
}

/// Cells that are made as they are written.
struct Each<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// What a page keeps of a run if it has no room for all of it: the run without its checksum, which is that of the cells as they were
/// measured, and the cells that count without their large parts.
pub fn stand_ins<'a>(run: &Run, cells: &'a [Cell]) -> (Run, impl Iterator<Item = Cell> + Clone + use<'a>) {
    let attempts = Attempts::of(cells);
    let counted: Vec<&Cell> = cells.iter().filter(|cell| attempts.counts(cell)).collect();
    let small = counted.into_iter().map(|cell| Cell {
        series: Default::default(),
        breakdowns: Default::default(),
        files: Default::default(),
        findings: Vec::new(),
        settings: &[],
        ..cell.clone()
    });
    (Run { checksum: None, ..run.clone() }, small)
}

/// Packs as much as the whole page may weigh.
struct Packing {
    encoder: GzEncoder<Vec<u8>>,
    /// Those that it took.
    bytes: usize,
    is_full: bool,
}

impl Write for Packing {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        self.is_full = self.encoder.get_ref().len() > PAGE_LIMIT;
        if self.is_full {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let taken = self.encoder.write(more)?;
        self.bytes += taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What `put` writes, packed; `None` if that is more than a page may weigh, of which the rest is not made.
fn file(
    (name, media): (&'static str, &'static str),
    about: &str,
    put: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
) -> Result<Option<Download>, ExportError> {
    let encoder = GzEncoder::new(Vec::new(), Compression::best());
    let mut packing = Packing { encoder, bytes: 0, is_full: false };
    let mut out = BufWriter::with_capacity(PART, &mut packing);
    let written = put(&mut out).and_then(|()| out.flush().map_err(ExportError::Compress));
    drop(out);
    if packing.is_full {
        return Ok(None);
    }
    written?;
    let packed = packing.encoder.finish().map_err(ExportError::Compress)?;
    let address = format!("data:application/gzip;base64,{}", STANDARD.encode(&packed));
    Ok(Some(Download { name, media, about: about.to_owned(), address, packed: packed.len(), bytes: packing.bytes }))
}
