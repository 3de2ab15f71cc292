//! The data behind the page, to be downloaded from it.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::PageError;
use crate::{Cell, Run, csv, json};

/// A file in the page.
pub struct Download {
    pub name: &'static str,
    pub about: String,
    /// `data:` and the file, compressed.
    pub address: String,
    /// Its size in bytes, compressed.
    pub bytes: usize,
}

/// The files that have room in `room` bytes, and a sentence where they are not everything.
///
/// # Errors
/// When the model cannot be written as JSON, or not be compressed.
pub fn downloads(run: &Run, cells: &[Cell], room: usize) -> Result<(Vec<Download>, Option<String>), PageError> {
    let whole =
        file("result.json.gz", "run, cells, summary and warnings, as --format json gives them", &json(run, cells)?)?;
    let table = file("cells.csv.gz", "one row a measure", &csv(run, cells))?;
    let sizes = (whole.address.len(), table.address.len());
    if sizes.0 + sizes.1 <= room {
        return Ok((vec![whole, table], None));
    }
    if sizes.0 <= room {
        return Ok((vec![whole], None));
    }
    let small: Vec<Cell> = cells.iter().map(without_large_parts).collect();
    let slim =
        file("result.json.gz", "run, cells without their large parts, summary and warnings", &json(run, &small)?)?;
    if slim.address.len() <= room {
        let left = "The cells in it have no series by second, breakdowns, findings and settings, for which the page has no room; \
                    the run's folder has them.";
        return Ok((vec![slim], Some(left.to_owned())));
    }
    let none = "The page has no room for the cells of this run; the run's folder has them.";
    Ok((Vec::new(), Some(none.to_owned())))
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

fn file(name: &'static str, about: &str, text: &str) -> Result<Download, PageError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).map_err(PageError::Compress)?;
    let bytes = encoder.finish().map_err(PageError::Compress)?;
    let address = format!("data:application/gzip;base64,{}", STANDARD.encode(&bytes));
    Ok(Download { name, about: about.to_owned(), address, bytes: bytes.len() })
}
