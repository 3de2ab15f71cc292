//! `cqldyno pr`: whether a change makes a driver dearer.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cqldyno_bench::{Arrangement, Plan, Programs};
use cqldyno_reports::measure::{CPU_TIME, Figure, SYSTEM_CALLS};
use cqldyno_reports::{Analysis, Pass, Verdict};
use cqldyno_scenarios::Scenario;

use crate::count::{count_or_none, patience};
use crate::heading::{OUTPUT, SIZE, WHAT};
use crate::known::Known;
use crate::names::scenarios;
use crate::outcome::{Outcome, usage};
use crate::plan::EXPLAINING_PASSES;
use crate::pr::comment::Comment;
use crate::pr::plan::{self as change, Change};
use crate::pr::verdict::{Judged, confirm, judge, unjudged, why};
use crate::progress::Progress;
use crate::terminal;
use crate::trial::carried_out;

const EXAMPLES: &str = "\
Examples:
  cqldyno pr main HEAD                         the commits of this branch
  cqldyno pr HEAD .                            what is not committed yet
  cqldyno pr main HEAD --exact                 counts only, in less time

Run it in a checkout of the driver. It builds both commits, runs each twice, and
prints a comment of at most twenty lines. Findings are measured once more.
Exit codes: 0 no finding or cheaper, 1 dearer, 2 wrong usage, 3 cannot be judged
here, 130 Ctrl-C.";

/// Say whether a commit makes a driver dearer, for its CI
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The commit, tag or branch before the change
    base: String,
    /// The commit with the change, or `.` for the working tree
    head: String,
    /// The driver's checkout [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR", help_heading = WHAT)]
    checkout: Option<PathBuf>,
    /// The driver [default: the one whose crate is here]
    #[arg(long, value_name = "NAME", value_parser = Known(crate::names::drivers::names), help_heading = WHAT)]
    #[arg(hide_possible_values = true)]
    driver: Option<String>,
    /// Name or TOML file; several times for several [default: writes, reads]
    #[arg(long, value_name = "NAME|FILE", help_heading = WHAT)]
    #[arg(value_parser = Known(scenarios::names), hide_possible_values = true)]
    scenario: Vec<String>,
    /// Runtime: current or multi:N
    ///
    /// Counts are steadiest on `current`, which is one thread.
    #[arg(long, value_name = "NAME", default_value = "current", help_heading = WHAT)]
    #[arg(value_parser = str::parse::<Arrangement>)]
    arrangement: Arrangement,
    /// Judge counts only, in less time
    ///
    /// These are instructions, system calls and allocations.
    #[arg(long, help_heading = SIZE)]
    exact: bool,
    /// Name the calls that a dearer head has more of
    ///
    /// These are its functions and its system calls.
    #[arg(long, help_heading = WHAT)]
    explain: bool,
    /// Time limit, not counting builds
    #[arg(long, value_name = "TIME", value_parser = patience, default_value = "5min", help_heading = SIZE)]
    #[arg(conflicts_with = "exact")]
    within: Duration,
    /// Seed for the order of contenders and keys
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "1", help_heading = SIZE)]
    #[arg(hide_short_help = true)]
    seed: u64,
    /// Print no comment if there is no finding
    ///
    /// A change that cannot be judged has a comment, too.
    #[arg(long, help_heading = OUTPUT)]
    only_findings: bool,
    /// Folder of the runs [default: runs/TIME in the cache]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Only errors and failures on standard error
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let began = Instant::now();
    let programs = Programs::find().context("the program does not know where it lies")?;
    let here = match &arguments.checkout {
        Some(folder) => folder.canonicalize().map_err(|error| {
            let shown = folder.display();
            usage(format!(
                "-C {shown} was given, and it cannot be used ({error}); name the folder of the driver's checkout"
            ))
        })?,
        None => std::env::current_dir().context("the current folder is not known")?,
    };
    let change = Change::find(&programs, &here, arguments.driver.as_deref(), [&arguments.base, &arguments.head])?;
    let scenarios = scenarios::named(&arguments.scenario)?;
    let out = change.folder(arguments.out.as_deref())?;
    let time = (!arguments.exact).then_some(arguments.within);
    let plan = |scenarios, time, seed, part: &str| {
        change.plan(scenarios, arguments.arrangement, time, seed).with(|plan| plan.out = Some(out.join(part)))
    };
    let run_one = |plan: &Plan| carried_out(plan, &programs, arguments.quiet, None);
    let first = run_one(&plan(scenarios.clone(), time, arguments.seed, "first"))?;
    let analysis = Analysis::new(&first.run, &first.cells);
    let mut all = judge(&analysis);
    let mut interrupted = first.run.interrupted;
    let mut explained = arguments.explain.then(Vec::new);
    if !interrupted && all.iter().any(Judged::is_change) {
        let is_suspected = |figure: &Figure| all.iter().any(|one| one.figure == figure && one.is_change());
        let time = time.filter(|_| is_suspected(&CPU_TIME));
        let is_in = |one: &&Scenario| all.iter().any(|found| found.scenario == one.label() && found.is_change());
        let suspected = scenarios.iter().filter(is_in).cloned().collect();
        let mut second = plan(suspected, time, arguments.seed.wrapping_add(1), "second");
        match arguments.explain {
            true => second.passes.extend(EXPLAINING_PASSES.iter().filter(|pass| !change::PASSES.contains(pass))),
            false => second.passes.extend(is_suspected(&SYSTEM_CALLS).then_some(Pass::Syscalls)),
        }
        let again = run_one(&second)?;
        let of_again = Analysis::new(&again.run, &again.cells);
        confirm(&mut all, &judge(&of_again));
        if arguments.explain {
            explained = Some(why(&of_again, &all));
        }
        interrupted = again.run.interrupted;
    }
    Progress::new(arguments.quiet, false).say(&format!("The runs are kept in {}.", out.display()));
    // An interrupted run has no comment.
    if interrupted {
        return Ok(Outcome::Interrupted);
    }
    let outcome = outcome(&all, !first.run.passes_left_out.is_empty());
    if !arguments.only_findings || outcome != Outcome::Done || all.iter().any(|one| one.confirmed == Some(true)) {
        let lasted = began.elapsed();
        let comment =
            Comment { change: &change, analysis: &analysis, all: &all, scenarios: &scenarios, explained, lasted };
        terminal::print(&comment.text())?;
    }
    Ok(outcome)
}

/// What all figures come to; `lacks_counts` says that the time limit had no room for all of them.
fn outcome(all: &[Judged], lacks_counts: bool) -> Outcome {
    if all.iter().any(|one| one.is_found(Verdict::Dearer)) {
        Outcome::Failed
    } else if all.is_empty() || !unjudged(all).is_empty() || lacks_counts || all.iter().any(Judged::is_open) {
        Outcome::Unmeasurable
    } else {
        Outcome::Done
    }
}
