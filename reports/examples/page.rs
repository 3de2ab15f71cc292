//! Renders a run folder as a page: `cargo run -p cqldyno-reports --example page FOLDER > page.html`.

use std::error::Error;
use std::path::PathBuf;

use cqldyno_reports::{Cell, Run, html};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("Name a run folder.")?);
    let run = Run::from_json(&std::fs::read_to_string(folder.join("run.json"))?)?;
    let cells = std::fs::read_to_string(folder.join("cells.jsonl"))?;
    let cells: Vec<Cell> = cells.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    print!("{}", html(&run, &cells)?);
    Ok(())
}
