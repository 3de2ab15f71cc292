//! A run from its start to its result: carried out, kept in every format, and shown.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use cqldyno_bench::{BenchError, Cancel, Finished, FolderError};
use cqldyno_reports::{Cell, Contender, Look, Role, Summary, headline, plain, why_cut_short};

use crate::format::Format;
use crate::interrupt::on_interrupt;
use crate::outcome::{Outcome, usage};
use crate::progress::Progress;
use crate::terminal;

/// The page in the run's folder.
const PAGE: &str = "page.html";

/// Carries out a run, with its progress on standard error.
///
/// # Errors
/// When it cannot start, or its result cannot be kept from the start.
pub fn measure(
    quiet: bool,
    carry_out: impl FnOnce(&mut Progress, &Cancel) -> Result<Finished, BenchError>,
) -> Result<Finished> {
    let cancel = Cancel::new();
    let mut progress = Progress::new(quiet, terminal::draws_progress());
    on_interrupt(&cancel, progress.voice())?;
    let finished = carry_out(&mut progress, &cancel);
    progress.end();
    finished.map_err(|error| match error {
        BenchError::Plan(error) => usage(error),
        BenchError::Folder(error @ (FolderError::Foreign(_) | FolderError::Taken(_))) => usage(error),
        error => anyhow::Error::new(error),
    })
}

/// Keeps the result in the run's folder and prints it; `named` says whether the user named the contenders.
///
/// # Errors
/// When the result cannot be kept or printed. Neither failure costs the other.
pub fn show(finished: &Finished, quiet: bool, named: bool, render: impl FnOnce() -> Result<String>) -> Result<Outcome> {
    let text = render()?;
    let kept = if finished.trouble.is_none() { keep(finished) } else { Ok(()) };
    let progress = Progress::new(quiet, false);
    if kept.is_ok() && finished.trouble.is_none() {
        tell(finished, &progress);
    }
    terminal::print(&text)?;
    if let Some(trouble) = &finished.trouble {
        bail!("{trouble}. The result above has the cells that were finished. {}", resume_with(finished));
    }
    kept?;
    Ok(outcome(finished, named))
}

/// Says where the run is, whether it can go on, and what the tables cannot say.
fn tell(finished: &Finished, progress: &Progress) {
    let folder = finished.folder.display().to_string();
    progress.say(&match finished.nothing_left {
        true => format!("The run in {folder} had ended; nothing was left to do, and its files are as they were."),
        false => format!("The run is kept in {folder}."),
    });
    if finished.run.interrupted {
        progress.say(&resume_with(finished));
    } else if let Some(why) = why_cut_short(&finished.run, Some(&folder)) {
        progress.say(&format!("{why}."));
    }
    let summary = Summary::new(&finished.run, &finished.cells);
    for warning in &summary.warnings {
        progress.say(&format!("Warning: {}", plain(warning)));
    }
    for sentence in headline(&finished.run, &summary) {
        progress.say(&sentence);
    }
    progress.say(&format!("The page is {}.", finished.folder.join(PAGE).display()));
}

fn resume_with(finished: &Finished) -> String {
    format!("Go on with `cqldyno compare --resume {}`.", finished.folder.display())
}

/// Writes the result into the run's folder in every format; if nothing was left to do, only files that are missing.
fn keep(finished: &Finished) -> Result<()> {
    let files = [
        ("table.txt", Format::Table),
        ("time.txt", Format::Time),
        ("table.md", Format::Markdown),
        ("cells.csv", Format::Csv),
        ("result.json", Format::Json),
        (PAGE, Format::Html),
    ];
    for (name, format) in files {
        let path = finished.folder.join(name);
        if finished.nothing_left && path.exists() {
            continue;
        }
        let text = format.render(&finished.run, &finished.cells, None, Look::default())?;
        std::fs::write(&path, text).with_context(|| format!("the result cannot be kept in {}", path.display()))?;
    }
    Ok(())
}

/// The cells without those whose block ran again.
fn latest(cells: &[Cell]) -> impl Iterator<Item = &Cell> {
    let place =
        |cell: &Cell| (cell.contender.clone(), cell.scenario.clone(), cell.arrangement.clone(), cell.block, cell.pass);
    let mut latest = BTreeMap::new();
    for cell in cells {
        let known = latest.entry(place(cell)).or_insert(cell);
        if known.attempt <= cell.attempt {
            *known = cell;
        }
    }
    latest.into_values()
}

/// Whether every contender did what was asked. A driver that is not here counts as a failure only if it was `named`.
fn outcome(finished: &Finished, named: bool) -> Outcome {
    let is_here = |one: &Contender| one.unavailable.is_none() || (!named && one.role == Role::Driver);
    if finished.run.interrupted {
        Outcome::Interrupted
    } else if latest(&finished.cells).all(Cell::counts) && finished.run.contenders.iter().all(is_here) {
        Outcome::Done
    } else {
        Outcome::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_whose_block_was_run_again_does_not_decide_how_the_program_ends() {
        let cell = |attempt: u32, void: &str| -> Cell {
            let text = format!(
                r#"{{"contender":"a","label":"a","scenario":"s","scenario_hash":"","arrangement":"m","block":1,"pass":"timing",
                "attempt":{attempt},"started":"2026-01-02T03:04:05Z","measures":{{}},"void":{void}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let count = |cells: &[Cell]| latest(cells).filter(|cell| cell.counts()).count();
        assert_eq!(count(&[cell(1, "\"No.\""), cell(2, "null")]), 1);
        assert_eq!(count(&[cell(1, "null"), cell(2, "\"No.\"")]), 0);
    }
}
