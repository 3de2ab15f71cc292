//! `cqldyno report`: earlier runs rendered again.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use cqldyno_reports::{Recorded, plain};

use crate::format::{Format, explained, formats, names, render};
use crate::outcome::{Outcome, usage};
use crate::recorded::read;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  cqldyno report cqldyno-runs/2026-01-02T03-04-05Z                    the tables once more
  cqldyno report cqldyno-runs/2026-01-02T03-04-05Z --format markdown
  cqldyno report RUN --reference cdrs-tokio                           against another reference
  cqldyno report LAPTOP SERVER                                        two runs beside each other
  cqldyno report LAPTOP SERVER --format html > both.html              the same as a page

Of several runs the medians stand beside each other, without ratios: those are only taken within a run.
Exit codes: 0 done, 1 a run cannot be read, 2 wrong usage.";

/// Renders earlier runs again; several stand beside each other, without ratios between them.
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", explained()))]
pub struct Arguments {
    /// A run folder, or a file that `--format json` wrote; several stand beside each other
    #[arg(required = true, value_name = "RUN")]
    run: Vec<PathBuf>,
    #[arg(long, value_name = "FORMAT", value_parser = formats(), default_value = "table", hide_possible_values = true)]
    #[arg(help = format!("How the result is printed on standard output: {}", names()))]
    format: Format,
    /// The contender that ratios are taken against, of a single run [default: the run's own]
    #[arg(long, value_name = "CONTENDER")]
    reference: Option<String>,
}

pub fn run(arguments: &Arguments, out: &mut impl Write) -> Result<Outcome> {
    let runs = arguments.run.iter().map(|path| read(path)).collect::<Result<Vec<Recorded>>>()?;
    let text = match runs.as_slice() {
        [one] => {
            let reference = arguments.reference.as_ref().map(|asked| known(one, asked)).transpose()?;
            for note in &one.notes {
                terminal::say(note);
            }
            render(arguments.format, &one.run, &one.cells, reference.as_deref(), terminal::look())?
        }
        several => beside(arguments, several)?,
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Outcome::Done)
}

/// The id of a contender that was named by it or by its label.
pub fn known(recorded: &Recorded, asked: &str) -> Result<String> {
    let run = &recorded.run;
    let found = run.contenders.iter().find(|one| (one.id == asked || one.label == asked) && !one.control);
    found.map(|one| one.id.clone()).ok_or_else(|| {
        let ids: Vec<String> = run.contenders.iter().filter(|one| !one.control).map(|one| plain(&one.id)).collect();
        usage(format!("the reference {asked:?} is none of the run's contenders: {}", ids.join(", ")))
    })
}

fn beside(arguments: &Arguments, runs: &[Recorded]) -> Result<String> {
    if arguments.reference.is_some() {
        return Err(usage(
            "a reference was named for several runs, and no ratios are taken across runs; name one run, or leave --reference out",
        ));
    }
    let names = arguments.run.iter().map(|path| path.display().to_string());
    let named: Vec<(String, &Recorded)> = names.zip(runs).collect();
    // Only CSV has no place of its own for the notes.
    if arguments.format.name() == "csv" {
        for (name, one) in &named {
            one.notes.iter().for_each(|note| terminal::say(&format!("{name}: {note}")));
        }
    }
    let text = arguments.format.several(&named, terminal::look()).ok_or_else(|| {
        usage(format!(
            "several runs were asked for as `{}`, which shows one; use another format, or render each run by itself",
            arguments.format.name()
        ))
    })?;
    Ok(text?)
}
