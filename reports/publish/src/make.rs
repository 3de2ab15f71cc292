//! From run folders to what is published.
//!
//! Runs of one plan that are published together have one folder of a date, and are combined there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cqldyno_reports::{
    CELLS, Combined, Look, PACKED_CELLS, PublishedRun, Recorded, exporter, is_of_a_plan, plan_name, unnumbered,
};

use crate::check::check;
use crate::store::{
    FILES, NOTES, RUN, folders, is_inside, named, pack, pack_cells, read, runs, text, used, without_folders,
};

pub(crate) struct Asked {
    /// The name of its folder, if it is not that of its plan.
    pub name: Option<String>,
    pub folder: PathBuf,
}

impl Asked {
    /// Reads `DIR` or `NAME=DIR`; `None` for an option, and for a name that is a plan's or no name of a folder.
    pub fn parse(text: &str) -> Option<Asked> {
        let (name, folder) = match text.split_once('=') {
            Some((name, folder)) if !name.contains('/') => (Some(name), folder),
            _ => (None, text),
        };
        let fits = |name: &str| {
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                && !is_of_a_plan(name)
                && unnumbered(name) == name
        };
        let known = !folder.is_empty() && !text.starts_with('-') && name.is_none_or(fits);
        known.then(|| Asked { name: name.map(str::to_owned), folder: PathBuf::from(folder) })
    }
}

/// Publishes the runs `asked` for below `published`: copies what was measured, renders page and table, and checks all of it. Runs of
/// one plan come into the folder of the first one's date.
///
/// Returns the folders that were made. The workers' logs, the profiles of callgrind, the histograms of turns and the other renderings are left out.
///
/// # Errors
/// When a run cannot be read, is there already, or is not as a published one must be; nothing is left behind then.
pub fn publish(asked: &[Asked], published: &Path) -> Result<Vec<PathBuf>> {
    let read = |asked: &Asked| {
        let run = read(&asked.folder)?;
        Ok(PublishedRun { name: asked.name.clone().unwrap_or_else(|| plan_name(&run.recorded.run)), ..run })
    };
    let mut all = asked.iter().map(read).collect::<Result<Vec<PublishedRun>>>()?;
    all.sort_by_key(|one| one.recorded.run.started);
    let places = places(&all, published)?;
    let mut made = Vec::new();
    let done = places.iter().try_for_each(|(to, run)| one(run, to, &mut made)).and_then(|()| checked(&made));
    if done.is_err() {
        for path in &made {
            // The error above matters more than a part that stays.
            let _ = fs::remove_dir_all(path);
            let _ = path.parent().map(fs::remove_dir);
        }
    }
    done.map(|()| made)
}

/// # Errors
/// What the check finds in the dates of these folders.
fn checked(made: &[PathBuf]) -> Result<()> {
    for date in made.iter().filter_map(|path| path.parent()).collect::<BTreeSet<&Path>>() {
        let found = check(date);
        if !found.is_empty() {
            bail!(
                "nothing was published, because this was found:\n{}\nMeasure again, or name the cell that failed or is void as \
                 above, or repeat the sentence on noise, in {}. If no cell of a contender ended, write that NAME never ran",
                found.join("\n"),
                date.join(NOTES).display()
            );
        }
    }
    Ok(())
}

/// Where each run is published: below the day of the first of its plan.
///
/// # Errors
/// Two of one day would have one folder and are not of one plan.
fn places<'r>(all: &'r [PublishedRun], published: &Path) -> Result<Vec<(PathBuf, &'r PublishedRun)>> {
    let named: Vec<_> = all.iter().map(|one| (one.folder.display().to_string(), one.analysis())).collect();
    let mut places: Vec<(PathBuf, usize)> = Vec::new();
    for plan in Combined::plans(&named) {
        let PublishedRun { name, recorded, .. } = &all[plan[0]];
        let date = published.join(recorded.run.started.strftime("%Y-%m-%d").to_string());
        for (at, number) in plan.into_iter().zip(1..) {
            let to = if number == 1 { date.join(name) } else { date.join(format!("{name}-{number}")) };
            if let Some((_, other)) = places.iter().find(|(known, _)| *known == to) {
                let why = Combined::of(&[*other, at].map(|at| named[at].clone())).err().unwrap_or_default();
                bail!("{} cannot be published beside the other run of its day. {why}", named[at].0);
            }
            places.push((to, at));
        }
    }
    Ok(places.into_iter().map(|(to, at)| (to, &all[at])).collect())
}

fn one(measured: &PublishedRun, to: &Path, made: &mut Vec<PathBuf>) -> Result<()> {
    let PublishedRun { folder, recorded: Recorded { run, cells, .. }, .. } = measured;
    let files = named(run, cells);
    if let Some(file) = files.iter().find(|file| !is_inside(file)) {
        bail!(
            "the run {} cannot be published: it names the file {file:?}, which does not lie in the run's folder; take the files \
             as they were written, or run the comparison again",
            folder.display()
        );
    }
    if to.exists() {
        bail!(
            "{} was to be published as {}, which is there already; remove that first to replace it",
            folder.display(),
            to.display()
        );
    }
    fs::create_dir_all(to).with_context(used(to))?;
    made.push(to.to_path_buf());
    let copy = |file: &str| fs::copy(folder.join(file), to.join(file)).with_context(used(&folder.join(file)));
    fs::write(to.join(RUN), without_folders(&text(&folder.join(RUN))?)?).with_context(used(&to.join(RUN)))?;
    match run.plan.turns.rounds {
        1 => drop(copy(CELLS)?),
        _ => pack_cells(folder, &to.join(PACKED_CELLS))?,
    }
    pack(folder, &files, &to.join(FILES))?;
    render(&read(to)?)
}

fn render(run: &PublishedRun) -> Result<()> {
    let (folder, analysis) = (&run.folder, run.analysis());
    for format in ["html", "markdown"].into_iter().filter_map(exporter) {
        let text = format.one(&analysis, Look::default());
        let text = text.with_context(|| format!("the page of {} could not be made", folder.display()))?;
        let path = folder.join(format.file());
        fs::write(&path, text).with_context(used(&path))?;
    }
    Ok(())
}

/// Renders page and table of every published run again; returns the runs' folders.
///
/// # Errors
/// When a run cannot be read or its page not be made or written.
pub fn render_again(published: &Path) -> Result<Vec<PathBuf>> {
    let mut done = Vec::new();
    for date in folders(published)? {
        for run in runs(&date)? {
            render(&run)?;
            done.push(run.folder);
        }
    }
    Ok(done)
}
