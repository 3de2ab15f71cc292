//! A trial from its start to its result: carried out, kept in every format, and shown.

use std::fs::{self, File};
use std::io::{BufWriter, Write};

use anyhow::{Context, Result, anyhow};
use cqldyno_bench::{BenchError, Cancel, Finished, FolderError, Plan, Programs, Workshop};
use cqldyno_builder::cache;
use cqldyno_reports::{
    Analysis, Cell, Climbed, Contender, CutShort, EXPORTERS, LEAST_BLOCKS, Look, Recorded, Role, Run, climbed, count,
    plain, why_cut_short, why_passes_left_out,
};

use crate::format::{Format, is_table, page, print};
use crate::interrupt::on_interrupt;
use crate::outcome::{Outcome, usage};
use crate::progress::Progress;
use crate::{repetition, terminal};

/// So many cells take a second or more to write.
const MANY: usize = 5_000;

/// The kind of an error of a driver whose queue is full, as the worker protocol names it.
const QUEUE_FULL: &str = "queue_full";

/// Carries out a run, with its progress on standard error.
pub fn conduct(
    quiet: bool,
    carry_out: impl FnOnce(&mut Progress, &Cancel) -> Result<Finished, BenchError>,
) -> Result<Finished> {
    supervised(quiet, "Ending: what is finished will be shown.", |progress, cancel| ended(carry_out(progress, cancel)))
}

/// Works with progress on standard error until it is done, or Ctrl-C raises the flag; `ending` then says what becomes of the work.
pub fn supervised<T>(
    quiet: bool,
    ending: &'static str,
    work: impl FnOnce(&mut Progress, &Cancel) -> Result<T>,
) -> Result<T> {
    let cancel = Cancel::new();
    let mut progress = Progress::new(quiet, terminal::draws_progress());
    on_interrupt(&cancel, progress.voice(), ending)?;
    let done = work(&mut progress, &cancel);
    progress.end();
    done
}

/// The programs with workers of these drivers, built where they are missing, and sentences about those that cannot be.
pub fn with_workers<'n>(
    programs: &Programs,
    names: impl IntoIterator<Item = &'n str>,
    progress: &mut Progress,
    cancel: &Cancel,
) -> (Programs, Vec<String>) {
    let log = |name: &str| {
        // Not in the folder for temporary files, where others can put a link at this name. Without a cache nothing is built.
        let folder = cache().map(|cache| cache.join("logs")).unwrap_or_default();
        let _ = fs::create_dir_all(&folder);
        let path = folder.join(format!("build-{name}.log"));
        // A build adds to its log.
        let _ = fs::remove_file(&path);
        (path.clone(), path.display().to_string())
    };
    Workshop::default().completed(programs, names, log, progress, cancel)
}

/// A run that ended, with the command that repeats it.
pub fn ended(finished: Result<Finished, BenchError>) -> Result<Finished> {
    let mut finished = finished.map_err(|error| match error {
        BenchError::Plan(error) => usage(error),
        BenchError::Build(error) => usage(error),
        BenchError::Folder(error @ (FolderError::Foreign(_) | FolderError::Taken(_))) => usage(error),
        error => anyhow::Error::new(error),
    })?;
    finished.run.command = Some(repetition::command(&finished.run));
    Ok(finished)
}

/// Carries out the plan of one question, and keeps its run with the `command` that asks it again.
pub fn carried_out(plan: &Plan, programs: &Programs, quiet: bool, command: Option<String>) -> Result<Recorded> {
    let ending = "Ending: what is finished is kept.";
    let mut finished =
        supervised(quiet, ending, |progress, cancel| ended(cqldyno_bench::run(plan, programs, progress, cancel)))?;
    finished.run.command = command.or(finished.run.command);
    kept(finished)
}

/// The time as it stands in the name of a folder.
pub fn stamp() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ").to_string()
}

/// Keeps the result of one of several runs in its folder, and returns it.
pub fn kept(finished: Finished) -> Result<Recorded> {
    keep(&finished, &Analysis::new(&finished.run, &finished.cells))?;
    match finished.trouble {
        Some(trouble) => Err(anyhow!("{trouble}")),
        None => Ok(Recorded { run: finished.run, cells: finished.cells, notes: Vec::new() }),
    }
}

/// Keeps the result in the run's folder and prints it; `named` says whether the user named the contenders.
pub fn show(finished: &Finished, format: Format, look: Look, quiet: bool, named: bool) -> Result<Outcome> {
    let Finished { run, cells, folder, .. } = finished;
    let progress = Progress::new(quiet, false);
    writing(cells.len()).iter().for_each(|line| progress.say(line));
    let analysis = Analysis::new(run, cells);
    let resume = format!("Go on with `cqldyno compare --resume {}`.", folder.display());
    let kept = match &finished.trouble {
        Some(trouble) => Err(anyhow!("{trouble}. The result above has the cells that were finished. {resume}")),
        None => keep(finished, &analysis),
    };
    if kept.is_ok() {
        let shown = folder.display().to_string();
        let mut lines = vec![match finished.nothing_left {
            true => format!("The run in {shown} had ended; nothing was left to do, and its files are as they were."),
            false => format!("The run is kept in {shown}."),
        }];
        lines.extend(why_cut_short(run).into_iter().chain(why_passes_left_out(run)).map(|why| why + "."));
        let has_enough = |cut: CutShort| run.plan.is_open() && cut.blocks as usize >= LEAST_BLOCKS;
        let is_wide = run.plan.until.is_some_and(|until| !analysis.is_within(until));
        let is_short = is_wide || run.cut_short.is_some_and(|cut| !has_enough(cut));
        let can_make_up = analysis.has_too_few_rounds() && run.plan.is_open();
        let is_open = climbed(run, cells).iter().any(|one| one.ladder.next().is_some());
        if run.interrupted || is_open || can_make_up || is_short || !run.passes_left_out.is_empty() {
            lines.push(resume);
        }
        if !is_table(format) {
            lines.extend(analysis.warnings.iter().map(|warning| format!("Warning: {}", plain(warning))));
            lines.extend(analysis.until.clone());
            lines.extend(analysis.findings.iter().cloned());
            lines.push(format!("The page is {}.", page(folder).display()));
        }
        lines.iter().for_each(|line| progress.say(line));
    }
    print(format, &analysis, look, folder)?;
    kept?;
    Ok(outcome(&analysis, named))
}

/// What is said before the results of a run are written that has so many cells that it takes seconds.
fn writing(cells: usize) -> Option<String> {
    (cells >= MANY).then(|| format!("Writing the results of {}.", count(cells as u64, "cell")))
}

/// Whether every contender did what was asked. A driver that is not here counts as a failure only if it was `named` by itself, which a
/// release of `NAME@all` was not.
pub fn outcome(analysis: &Analysis, named: bool) -> Outcome {
    let run = analysis.run;
    let by_itself = |one: &Contender| named && (run.plan.releases.is_empty() || run.plan.releases.contains(&one.id));
    let is_here = |one: &Contender| one.unavailable.is_none() || (!by_itself(one) && one.role == Role::Driver);
    let has_figure = |one: &Climbed| {
        let steps = &one.ladder.steps;
        steps.is_empty() || steps.iter().any(|step| step.percentile_us.is_some())
    };
    if run.interrupted {
        Outcome::Interrupted
    } else if analysis.cells.iter().all(|cell| cell.counts() || shows_a_limit(run, cell) || run.plan.ladder.is_some())
        && climbed(run, analysis.every_cell).iter().all(has_figure)
        && run.contenders.iter().all(is_here)
    {
        Outcome::Done
    } else {
        Outcome::Failed
    }
}

/// Whether the cell shows no more than where a driver's queue is full: a point of a sweep, and no failure.
fn shows_a_limit(run: &Run, cell: &Cell) -> bool {
    let is_point = run.scenarios.iter().any(|one| one.name == cell.scenario && one.point.is_some());
    // A worker names the kind of error that ended its warm-up.
    let in_warm_up = cell.failed.as_ref().is_some_and(|why| why.contains(&format!("of kind {QUEUE_FULL}")));
    let mut kinds = cell.error_kinds.iter();
    let in_window = cell.failed.is_none() && kinds.len() > 0 && kinds.all(|line| line.kind == QUEUE_FULL);
    is_point && (in_warm_up || in_window)
}

/// Writes the result into the run's folder in every format, and the run with its command; if nothing was left to do, only files that are
/// missing.
pub fn keep(finished: &Finished, analysis: &Analysis) -> Result<()> {
    let write = |file: &str, content: &dyn Fn(&mut dyn Write) -> Result<()>| -> Result<()> {
        let path = finished.folder.join(file);
        if finished.nothing_left && path.exists() {
            return Ok(());
        }
        let part = finished.folder.join(format!("{file}.part"));
        let written = || -> Result<()> {
            let mut out = BufWriter::new(File::create(&part)?);
            content(&mut out)?;
            out.flush()?;
            Ok(fs::rename(&part, &path)?)
        };
        written().with_context(|| format!("the result cannot be kept in {}", path.display()))
    };
    for exporter in EXPORTERS.into_iter().filter(|one| one.lacks(analysis).is_none()) {
        write(exporter.file(), &|out| Ok(exporter.write(analysis, Look::default(), out)?))?;
    }
    write("run.json", &|out| {
        serde_json::to_writer_pretty(&mut *out, &finished.run)?;
        Ok(out.write_all(b"\n")?)
    })
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::{ErrorLine, Pass, PointInfo};

    use super::*;
    use crate::sample;

    #[test]
    fn a_driver_that_is_not_here_is_a_failure_only_if_it_was_named() {
        let (run, cells) = sample::run();
        let analysis = Analysis::new(&run, &cells);
        assert_eq!((outcome(&analysis, false), outcome(&analysis, true)), (Outcome::Done, Outcome::Failed));
        let run = Run { interrupted: true, ..run };
        assert_eq!(outcome(&Analysis::new(&run, &cells), false), Outcome::Interrupted);
    }

    #[test]
    fn the_results_of_many_cells_are_announced() {
        assert_eq!(writing(4_999), None);
        assert_eq!(writing(36_096).unwrap(), "Writing the results of 36,096 cells.");
    }

    #[test]
    fn a_cell_whose_block_was_run_again_does_not_decide_how_the_program_ends() {
        let (run, cells) = sample::run();
        let is_first = |cell: &Cell| cell.block == 1 && cell.scenario == "writes" && cell.pass == Pass::Timing;
        let ends = |void_attempt: u32| {
            let again = cells.iter().filter(|cell| is_first(cell)).map(|cell| Cell { attempt: 2, ..cell.clone() });
            let mut cells: Vec<Cell> = cells.iter().cloned().chain(again).collect();
            for cell in cells.iter_mut().filter(|cell| is_first(cell) && cell.attempt == void_attempt) {
                cell.void = Some("No.".to_owned());
            }
            outcome(&Analysis::new(&run, &cells), false)
        };
        assert_eq!((ends(1), ends(2)), (Outcome::Done, Outcome::Failed));
    }

    #[test]
    fn a_full_queue_is_a_failure_unless_it_is_a_point_of_a_sweep() {
        let (mut run, mut cells) = sample::run();
        cells[0].void = Some("No.".to_owned());
        cells[0].error_kinds = vec![ErrorLine { kind: QUEUE_FULL.to_owned(), count: 3, first: "full".to_owned() }];
        assert_eq!(outcome(&Analysis::new(&run, &cells), false), Outcome::Failed);
        let point = PointInfo { of: "writes".to_owned(), in_flight: 9_000, ..Default::default() };
        run.scenarios.iter_mut().for_each(|scenario| scenario.point = Some(point.clone()));
        assert_eq!(outcome(&Analysis::new(&run, &cells), false), Outcome::Done);
        cells[0].error_kinds[0].kind = "server".to_owned();
        assert_eq!(outcome(&Analysis::new(&run, &cells), false), Outcome::Failed);
    }
}
