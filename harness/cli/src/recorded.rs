//! A run as it was kept: a run folder, or what `--format json` printed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cqldyno_reports::Recorded;

use crate::outcome::usage;
use crate::repetition;

/// Reads the run in `path`.
///
/// # Errors
/// When there is none, or it is of another version, damaged, or was changed afterwards: a full sentence with the path.
pub fn read(path: &Path) -> Result<Recorded> {
    let shown = path.display();
    if !path.exists() {
        return Err(usage(format!(
            "the run {shown} was asked for, and there is no such file or folder; name a run folder, or a file that `cqldyno \
             compare --format json` wrote"
        )));
    }
    let text = |path: PathBuf| {
        std::fs::read(&path).with_context(|| {
            format!(
                "the run {shown} was asked for, and {} cannot be read; name a run folder or a result in JSON",
                path.display()
            )
        })
    };
    let found = match path.is_dir() {
        true => {
            let run = String::from_utf8_lossy(&text(path.join("run.json"))?).into_owned();
            Recorded::from_folder(&run, &text(path.join("cells.jsonl"))?)
        }
        false => Recorded::from_document(&String::from_utf8_lossy(&text(path.to_path_buf())?)),
    };
    let mut found = found.map_err(|error| anyhow::anyhow!("the run {shown} cannot be used: {error}"))?;
    found.run.command = Some(repetition::command(&found.run));
    Ok(found)
}
