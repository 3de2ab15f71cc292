//! `cqldyno report`: earlier runs rendered again.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use cqldyno_reports::{Analysis, Listed, Look, Recorded, chart_titles, count, plain, site};

use crate::format::{Shown, explained, has, page, print};
use crate::heading::OUTPUT;
use crate::outcome::{Outcome, usage};
use crate::recorded::{LATEST, path_of, read, runs_in};
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  cqldyno report                               the newest run in cqldyno-runs
  cqldyno report latest --wide                 with all columns
  cqldyno report RUN --format markdown
  cqldyno report RUN --reference cdrs-tokio    against another reference
  cqldyno report MONDAY TUESDAY FRIDAY         runs of one plan, combined
  cqldyno report LAPTOP SERVER --format html > both.html
  cqldyno report RUN --format svg --out chart.svg
  cqldyno report cqldyno-runs --site site      one page over all runs

Runs of one plan (the same contenders and builds, scenarios, arrangements, count
and settings; machines may differ) have a combined table: its intervals hold what
changes between runs, and `held` says in how many runs the verdict was the same.
--wide shows each run below it. Other runs stand side by side, without ratios.
Exit codes: 0 done, 1 a run cannot be read, 2 wrong usage.";

/// Show earlier runs again; runs of one plan combined
#[derive(clap::Args)]
#[command(after_help = "Example: cqldyno report latest --wide\nAll options: cqldyno report --help")]
#[command(after_long_help = format!("{EXAMPLES}\n\n{}", explained()))]
pub struct Arguments {
    /// Run folders, files from `--format json`, or `latest`
    #[arg(value_name = "RUN", default_value = LATEST)]
    run: Vec<PathBuf>,
    /// Take ratios against this contender [default: the run's own reference]
    #[arg(long, value_name = "CONTENDER")]
    #[arg(value_parser = crate::known::Known(crate::names::drivers::names), hide_possible_values = true)]
    reference: Option<String>,
    #[command(flatten)]
    shown: Shown,
    /// Which chart of the run, for --format svg [default: 1]
    #[arg(long, value_name = "NUMBER", help_heading = OUTPUT)]
    chart: Option<usize>,
    /// Write into this file instead of to standard output
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Make one page in this folder over all runs in the folders given
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    #[arg(conflicts_with_all = ["reference", "format", "wide", "notes", "chart", "out"])]
    site: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let paths = arguments.run.iter().map(|given| path_of(given)).collect::<Result<Vec<PathBuf>>>()?;
    if let Some(folder) = &arguments.site {
        return make_site(&paths, folder);
    }
    let format = arguments.shown.format;
    if arguments.chart.is_some() && format.name() != "svg" {
        return Err(usage(format!(
            "--chart was given for `{}`, which shows no single chart; add --format svg",
            format.name()
        )));
    }
    if arguments.chart.is_some() && paths.len() > 1 {
        return Err(usage("--chart was given for several runs, and picks one of a run's charts; name one run"));
    }
    let shown = terminal::look(&arguments.shown.detail);
    let look = match arguments.out {
        Some(_) => Look { wide: shown.wide, notes: shown.notes, ..Look::default() },
        None => shown,
    };
    let runs = paths.iter().map(|path| read(path)).collect::<Result<Vec<Recorded>>>()?;
    match runs.as_slice() {
        [one] => {
            let reference = arguments.reference.as_ref().map(|asked| known(one, asked)).transpose()?;
            one.notes.iter().for_each(|note| terminal::say(note));
            let analysis = Analysis::against(&one.run, &one.cells, reference.as_deref());
            has(format, &analysis)?;
            let look = Look { chart: chart(arguments, &analysis)?, ..look };
            match &arguments.out {
                Some(file) => keep(file, &format.one(&analysis, look)?)?,
                None => print(format, &analysis, look, &paths[0])?,
            }
        }
        several => {
            let text = beside(arguments, &paths, several, look)?;
            arguments.out.as_ref().map_or_else(|| terminal::print(&text), |file| keep(file, &text))?;
        }
    }
    Ok(Outcome::Done)
}

fn keep(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("The result could not be written into {}", file.display()))
}

/// The place of the chart that was asked for; names the others if the run has several and none was.
fn chart(arguments: &Arguments, analysis: &Analysis) -> Result<usize> {
    if arguments.shown.format.name() != "svg" {
        return Ok(0);
    }
    let titles = chart_titles(analysis);
    let charts = count(titles.len() as u64, "chart");
    match arguments.chart {
        Some(number) if (1..=titles.len()).contains(&number) => return Ok(number - 1),
        Some(number) => {
            let others = "leave --chart out to see what they show";
            return Err(usage(format!("chart {number} was asked for, and the run has {charts}; {others}")));
        }
        None if titles.len() > 1 => {
            terminal::say(&format!("This is the first of {charts}; --chart picks another one:"))
        }
        None => return Ok(0),
    }
    (1..).zip(&titles).for_each(|(number, title)| terminal::say(&format!("{number}  {title}")));
    Ok(0)
}

/// Makes the page over all runs in and below `given`. A run that cannot be used is named and left out.
fn make_site(given: &[PathBuf], folder: &Path) -> Result<Outcome> {
    let mut left_out = Vec::new();
    let runs = found(given, &mut left_out)?;
    left_out.iter().for_each(|why| terminal::say(&format!("Left out: {why}")));
    if runs.is_empty() {
        bail!("none of the runs can be used; the reasons are above");
    }
    let index = folder.join("index.html");
    let unwritable = || format!("The page could not be written into {}", folder.display());
    fs::create_dir_all(folder).with_context(unwritable)?;
    let from = folder.canonicalize().with_context(unwritable)?;
    // Names are told from the folder on that all runs have in common.
    let first = runs[0].0.parent().unwrap_or(Path::new(""));
    let is_above = |one: &&Path| runs.iter().all(|(path, _)| path.starts_with(one) && path != one);
    let shared = first.ancestors().find(is_above).unwrap_or(first);
    let listed = runs.iter().map(|(path, recorded)| {
        let opened = Some(page(path)).filter(|page| page.is_file()).unwrap_or_else(|| path.clone());
        let name = path.strip_prefix(shared).unwrap_or(path).display().to_string();
        Listed { name, link: address(&from, &opened), recorded }
    });
    let text = site(&listed.collect::<Vec<Listed>>())?;
    fs::write(&index, text).with_context(unwritable)?;
    terminal::say(&format!("The page over {} is {}.", count(runs.len() as u64, "run"), index.display()));
    Ok(if left_out.is_empty() { Outcome::Done } else { Outcome::Failed })
}

/// The runs in and below `given`, each once with its whole path. Why others cannot be used is added to `left_out`.
fn found(given: &[PathBuf], left_out: &mut Vec<String>) -> Result<Vec<(PathBuf, Recorded)>> {
    let mut runs: Vec<(PathBuf, Recorded)> = Vec::new();
    for path in given {
        // What is no folder is a result in JSON, or refused.
        let (found, unreadable) = if path.is_dir() { runs_in(path) } else { (vec![path.clone()], Vec::new()) };
        if found.is_empty() && unreadable.is_empty() {
            let what = format!("{} holds no run (a run.json)", path.display());
            return Err(usage(format!("{what}; name run folders, or a folder with some")));
        }
        left_out.extend(unreadable.into_iter().map(|(_, why)| why));
        for path in found {
            let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
            match read(&path) {
                _ if runs.iter().any(|(known, _)| *known == whole) => {}
                Ok(recorded) => runs.push((whole, recorded)),
                Err(error) if path.exists() => left_out.push(format!("{error:#}")),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(runs)
}

/// The address of a file or folder relative to a folder; both are whole paths.
fn address(from: &Path, to: &Path) -> String {
    let shared = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(shared).map(|_| "..".to_owned());
    let down = to.components().skip(shared).filter_map(|part| match part {
        Component::Normal(name) => Some(encoded(&name.to_string_lossy())),
        _ => None,
    });
    let parts: Vec<String> = up.chain(down).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// Percent-encoded, but for what RFC 3986 lets stand.
fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+=@,".contains(&byte);
    name.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The id of the contender with this id or label.
pub fn known(recorded: &Recorded, asked: &str) -> Result<String> {
    let run = &recorded.run;
    let found = run.contenders.iter().find(|one| (one.id == asked || one.label == asked) && !one.control);
    found.map(|one| one.id.clone()).ok_or_else(|| {
        let ids: Vec<String> = run.contenders.iter().filter(|one| !one.control).map(|one| plain(&one.id)).collect();
        usage(format!("the reference {asked:?} is none of the run's contenders: {}", ids.join(", ")))
    })
}

fn beside(arguments: &Arguments, paths: &[PathBuf], runs: &[Recorded], look: Look) -> Result<String> {
    if arguments.reference.is_some() {
        return Err(usage(
            "a reference was named for several runs, which keep their own; name one run, or leave --reference out",
        ));
    }
    let names = paths.iter().map(|path| path.display().to_string());
    let named: Vec<(String, &Recorded)> = names.zip(runs).collect();
    // Only CSV has no place for the notes.
    for (name, one) in named.iter().filter(|_| arguments.shown.format.name() == "csv") {
        one.notes.iter().for_each(|note| terminal::say(&format!("{name}: {note}")));
    }
    let text = arguments.shown.format.several(&named, look).ok_or_else(|| {
        let name = arguments.shown.format.name();
        usage(format!(
            "several runs were asked for as `{name}`, which shows one; use another format, or show one run at a time"
        ))
    })?;
    Ok(text?)
}
