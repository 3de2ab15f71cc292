//! What a run takes in memory per cell, to be read and shown in every format.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use cqldyno_reports::{Analysis, Cell, EXPORTERS, Look, Recorded, Run, read_cells};

/// A cell takes 3 kB in its file, and several times as much in memory if it has its own copy of every name.
const MOST: u64 = 8_000;

fn published() -> Recorded {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("published/2026-11-22/blocks");
    let run = fs::read_to_string(folder.join("run.json")).unwrap();
    Recorded::from_folder(&run, read_cells(&folder).unwrap()).unwrap()
}

/// Writes the run so many times over, each time with blocks of its own; returns how many cells that are.
fn repeated(times: u32, folder: &Path) -> usize {
    let Recorded { run, cells, .. } = published();
    let blocks = cells.iter().map(|cell| cell.block).max().unwrap();
    let mut file = BufWriter::new(File::create(folder.join("cells.jsonl")).unwrap());
    for time in 0..times {
        for cell in &cells {
            let cell = Cell { block: cell.block + time * blocks, ..cell.clone() };
            writeln!(file, "{}", serde_json::to_string(&cell).unwrap()).unwrap();
        }
    }
    file.flush().unwrap();
    let run = serde_json::to_string(&Run { checksum: None, ..run }).unwrap();
    fs::write(folder.join("run.json"), run).unwrap();
    cells.len() * times as usize
}

fn show(folder: &Path) {
    let run = fs::read_to_string(folder.join("run.json")).unwrap();
    let Recorded { run, cells, .. } = Recorded::from_folder(&run, read_cells(folder).unwrap()).unwrap();
    let analysis = Analysis::new(&run, &cells);
    EXPORTERS.iter().for_each(|one| one.write(&analysis, Look::default(), &mut io::sink()).unwrap());
}

/// The most resident memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_further_cell_takes_a_few_kilobytes() {
    let [(few, before), (many, after)] = [1, 6].map(|times| {
        let folder = tempfile::tempdir().unwrap();
        let cells = repeated(times, folder.path());
        show(folder.path());
        (cells, peak())
    });
    let each = (after - before) / (many - few) as u64;
    assert!(each < MOST, "{each} bytes per cell");
}
