//! `cqldyno compare`: contenders side by side.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cqldyno_bench::{BenchError, Cancel, Finished, FolderError, KNOWN, Plan, Programs, resume, run as carry_out};
use cqldyno_protocol::JobCredentials;
use cqldyno_reports::{Analysis, Cell, Contender, EXPORTERS, Look, Role, plain, pointers, why_cut_short};

use crate::format::{Format, explained, formats, names, render};
use crate::interrupt::on_interrupt;
use crate::outcome::{Outcome, usage};
use crate::plan::{Asked, Kind};
use crate::progress::Progress;
use crate::{repetition, terminal};

const EXAMPLES: &str = "\
Examples:
  cqldyno compare                         all drivers and scenarios, as 5 min allow
  cqldyno compare --count 10M             10 million statements each, once
  cqldyno compare --publish               20 blocks of a million statements
  cqldyno compare --publish --within 10min           as many rounds of them as that allows
  cqldyno compare --resume cqldyno-runs/2026-01-02T03-04-05Z
  cqldyno compare scylla cdrs-tokio --scenario reads
  cqldyno compare --arrangement multi:2,current      a table for each of both
  cqldyno compare --target 10.0.0.1,10.0.0.2 --user ada --password-file ~/.ada
  cqldyno compare --count 10M --format time          the classic table of real, user and sys
  cqldyno compare --format json > result.json        run, cells, summary and warnings
  cqldyno compare --format html > page.html          a page to publish

A contender is NAME[@VERSION][+KEY=VALUE], for example scylla@1.9.0 or
cassandra-cpp+lib=/opt/lib/libcassandra.so.2.

Exit codes: 0 done, 1 a contender failed, is void, or was named and is missing,
2 wrong usage, 130 ended by Ctrl-C; what is finished is shown and kept.";

/// Runs every contender on every scenario and shows them side by side.
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", explained()))]
pub struct Arguments {
    #[arg(help = format!("Who is compared [default: {}]", KNOWN.join(" ")))]
    contender: Vec<String>,
    #[command(flatten)]
    asked: Asked,
    /// The contender that ratios are taken against [default: the first driver]
    #[arg(long, value_name = "CONTENDER")]
    reference: Option<String>,
    #[arg(long, value_name = "FORMAT", value_parser = formats(), default_value = "table", hide_possible_values = true)]
    #[arg(help = format!("How the result is printed on standard output: {}", names()))]
    format: Format,
    /// Go on with the run in the folder DIR, which was ended, broke off or was cut short: whole blocks stay, the one under way starts
    /// again. Everything that was asked is in its run.json; only a user and a password, where the cluster asks for them, are given
    /// again, and --within where it is to be cut short again
    #[arg(long, value_name = "DIR", conflicts_with_all = PLANNED)]
    resume: Option<PathBuf>,
}

/// The arguments that a plan is made of.
const PLANNED: [&str; 27] = [
    "contender",
    "reference",
    "scenario",
    "count",
    "concurrency",
    "blocks",
    "publish",
    "noise_share",
    "warmup",
    "target",
    "settings",
    "connections",
    "arrangement",
    "pin",
    "page_size",
    "consistency",
    "request_timeout",
    "answers",
    "delay",
    "stall",
    "memory",
    "seed",
    "pass",
    "no_counting",
    "counting_count",
    "rate",
    "out",
];

/// The page in the run's folder.
const PAGE: &str = "page.html";

/// The time that a comparison is given where its size was left to us.
const WITHIN: Duration = Duration::from_secs(5 * 60);

/// Blocks of a comparison where nothing was said: enough for intervals of some percent.
const BLOCKS: u32 = 12;

pub fn run(arguments: &Arguments, out: &mut impl Write) -> Result<Outcome> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let asked = &arguments.asked;
    let finished = match &arguments.resume {
        Some(folder) => {
            let start = Start::Resume { folder, credentials: asked.credentials()?, within: asked.within_of_resumed() };
            measure(&start, &programs, asked.quiet)?
        }
        None => {
            let contenders = match arguments.contender.as_slice() {
                [] => KNOWN.iter().map(|name| (*name).to_owned()).collect(),
                named => named.to_vec(),
            };
            let kind = Kind { blocks: BLOCKS, compares: true, within: Some(WITHIN) };
            let plan = asked.plan(&contenders, arguments.reference.clone(), &programs, kind)?;
            measure(&Start::Anew(&plan), &programs, asked.quiet)?
        }
    };
    let is_table = arguments.format.name() == EXPORTERS[0].name();
    show(&finished, asked.quiet, out, |finished| {
        let look = terminal::look();
        let text = render(arguments.format, &finished.run, &finished.cells, None, look)?;
        Ok(if is_table { text + &pointers(look, Some(&page(finished))) } else { text })
    })?;
    if !is_table {
        conclude(&finished, asked.quiet);
    }
    Ok(outcome(&finished, !arguments.contender.is_empty()))
}

/// Where a run starts.
pub enum Start<'a> {
    /// From the beginning.
    Anew(&'a Plan),
    /// Behind what there is of it.
    Resume {
        /// The run's folder.
        folder: &'a Path,
        /// For its cluster.
        credentials: Option<JobCredentials>,
        /// The time that it is given.
        within: Option<Duration>,
    },
}

/// Carries out a plan, or what is left of one, with its progress on standard error.
///
/// # Errors
/// When it cannot be carried out, or its result not be kept from the start.
pub fn measure(start: &Start<'_>, programs: &Programs, quiet: bool) -> Result<Finished> {
    let cancel = Cancel::new();
    let mut progress = Progress::new(quiet, terminal::draws_progress());
    on_interrupt(&cancel, progress.voice())?;
    let finished = match start {
        Start::Anew(plan) => carry_out(plan, programs, &mut progress, &cancel),
        Start::Resume { folder, credentials, within } => {
            resume(folder, credentials.clone(), *within, programs, &mut progress, &cancel)
        }
    };
    progress.end();
    let mut finished = finished.map_err(|error| match error {
        BenchError::Plan(error) => usage(error),
        BenchError::Folder(error @ (FolderError::Foreign(_) | FolderError::Taken(_))) => usage(error),
        error => anyhow::Error::new(error),
    })?;
    finished.run.command = Some(repetition::command(&finished.run));
    Ok(finished)
}

/// Writes to `out` what `render` makes of the result, and keeps it in every format beside the results.
///
/// # Errors
/// When the result cannot be kept or written, or could no longer be while it was made: a folder that is full does not cost the
/// result on `out`, nor the other way round.
pub fn show(
    finished: &Finished,
    quiet: bool,
    out: &mut impl Write,
    render: impl FnOnce(&Finished) -> Result<String>,
) -> Result<()> {
    let text = render(finished)?;
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    let progress = Progress::new(quiet, false);
    if let Some(trouble) = &finished.trouble {
        bail!("{trouble}. The result above is of the cells that were finished. {}", go_on(finished));
    }
    keep(finished)?;
    progress.say(&if finished.nothing_left {
        format!(
            "The run in {} had ended and lacks nothing: nothing was left to do, and its files are as they were.",
            finished.folder.display()
        )
    } else {
        format!("The run is kept in {}.", finished.folder.display())
    });
    if finished.run.interrupted {
        progress.say(&go_on(finished));
    } else if let Some(why) = why_cut_short(&finished.run, Some(&finished.folder.display().to_string())) {
        progress.say(&format!("{why}."));
    }
    written?;
    Ok(())
}

/// Says what the run says of its drivers, and where its page is.
fn conclude(finished: &Finished, quiet: bool) {
    let progress = Progress::new(quiet, false);
    let analysis = Analysis::new(&finished.run, &finished.cells);
    analysis.warnings().iter().for_each(|warning| progress.say(&format!("Warning: {}", plain(warning))));
    analysis.findings().iter().for_each(|finding| progress.say(finding));
    progress.say(&format!("The page is {}.", page(finished)));
}

/// Where the page is.
fn page(finished: &Finished) -> String {
    finished.folder.join(PAGE).display().to_string()
}

/// How to go on with a run that was ended.
fn go_on(finished: &Finished) -> String {
    format!("Go on with it by `cqldyno compare --resume {}`.", finished.folder.display())
}

/// Writes the result into the run's folder, in every format; where nothing was left to do, only what is missing.
fn keep(finished: &Finished) -> Result<()> {
    let analysis = Analysis::new(&finished.run, &finished.cells);
    for format in EXPORTERS {
        let path = finished.folder.join(format.file());
        if finished.nothing_left && path.exists() {
            continue;
        }
        let text = format.one(&analysis, Look::default())?;
        std::fs::write(&path, text)
            .with_context(|| format!("the result cannot be kept in {}", Path::display(&path)))?;
    }
    Ok(())
}

/// The cells without those whose block was run again.
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

/// Whether everybody did what was asked. A driver that cannot be asked is no failure unless it was `named`: the table says
/// why.
pub fn outcome(finished: &Finished, named: bool) -> Outcome {
    let could_be_asked = |one: &Contender| one.unavailable.is_none() || (!named && one.role == Role::Driver);
    if finished.run.interrupted {
        Outcome::Interrupted
    } else if latest(&finished.cells).all(Cell::counts) && finished.run.contenders.iter().all(could_be_asked) {
        Outcome::Done
    } else {
        Outcome::Failed
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use cqldyno_reports::{Pass, Run};

    use super::*;
    use crate::arguments;

    /// The run of which the results are published, with values that no argument has by itself.
    fn unusual() -> Run {
        let text = include_str!("../../../../reports/published/2026-11-20/classic/run.json");
        let mut run = Run::from_json(text).unwrap();
        let plan = &mut run.plan;
        (plan.seed, plan.count, plan.blocks, plan.concurrency, plan.warmup) = (7, 123_456, 9, 77, 0);
        (plan.noise_share, plan.connections, plan.page_size) = (Some(0.25), 3, 400);
        plan.within_ms = Some(90_500);
        plan.consistency = "LOCAL_QUORUM".to_owned();
        plan.request_timeout_ms = Some(1_500);
        plan.settings = "default".to_owned();
        plan.reference = Some("cdrs-tokio".to_owned());
        plan.serve_arguments = ["--answers", "each", "--delay", "50us"].map(str::to_owned).to_vec();
        (plan.stall_ms, plan.memory_limit_bytes) = (Some(12_000), Some(1 << 30));
        (plan.passes, plan.counting_count) = (vec![Pass::Counting], 5_000);
        run
    }

    fn parsed(run: &Run) -> Plan {
        let line = repetition::command(run);
        let words: Vec<&str> = line.split(' ').collect();
        let arguments = arguments::Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        let arguments::Command::Compare(found) = arguments.command else { panic!("{line}") };
        let kind = Kind { blocks: BLOCKS, compares: true, within: Some(WITHIN) };
        found.asked.plan(&found.contender, found.reference.clone(), &Programs::find().unwrap(), kind).unwrap()
    }

    #[test]
    fn the_command_that_a_page_gives_for_its_run_asks_for_the_same_run() {
        let run = unusual();
        let (plan, asked) = (parsed(&run), &run.plan);
        let names: Vec<String> = plan.contenders.iter().map(ToString::to_string).collect();
        let drivers: Vec<&str> = run.contenders.iter().filter(|one| !one.control).map(|one| one.id.as_str()).collect();
        assert_eq!(names, drivers);
        let scenarios: Vec<&str> = plan.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
        assert_eq!(scenarios, ["writes", "reads", "mixed"]);
        let arrangements: Vec<String> = plan.arrangements.iter().map(ToString::to_string).collect();
        assert_eq!(arrangements, ["multi:2", "current"]);
        assert_eq!(plan.pin, cqldyno_bench::Pin::Off);
        assert_eq!((plan.seed, plan.count, plan.blocks), (asked.seed, asked.count, asked.blocks));
        assert_eq!((plan.concurrency as u64, plan.warmup), (asked.concurrency, asked.warmup));
        assert_eq!((plan.noise_share, plan.connections as u64), (asked.noise_share, asked.connections));
        assert_eq!((plan.page_size, plan.consistency.to_string()), (asked.page_size, asked.consistency.clone()));
        assert_eq!(plan.within, Some(Duration::from_millis(90_500)));
        assert_eq!((plan.request_timeout_ms, &plan.reference), (asked.request_timeout_ms, &asked.reference));
        assert_eq!(format!("{:?}", plan.settings), "Default");
        assert_eq!(plan.serve_arguments, asked.serve_arguments);
        assert_eq!(plan.deadlines.stall.as_millis(), 12_000);
        assert_eq!((plan.memory_limit_bytes, plan.counting_count), (asked.memory_limit_bytes, Some(5_000)));
        assert_eq!((plan.passes, plan.target.to_string()), (asked.passes.clone(), "embedded".to_owned()));
    }

    #[test]
    fn what_a_run_did_without_its_command_does_without() {
        let mut run = unusual();
        let plan = &mut run.plan;
        (plan.noise_share, plan.request_timeout_ms, plan.memory_limit_bytes) = (None, None, None);
        (plan.passes, plan.counting_count, plan.serve_arguments) = (Vec::new(), 0, Vec::new());
        plan.within_ms = None;
        let plan = parsed(&run);
        assert_eq!((plan.noise_share, plan.request_timeout_ms, plan.memory_limit_bytes), (None, None, None));
        assert_eq!(plan.within, None);
        assert!(plan.passes.is_empty() && plan.serve_arguments.is_empty());
    }

    #[test]
    fn a_comparison_whose_size_is_ours_is_given_five_minutes_and_any_other_what_it_is_asked_to_be() {
        let within = |further: &[&str]| {
            let words = [&["cqldyno", "compare"], further].concat();
            let arguments::Command::Compare(found) = arguments::Arguments::try_parse_from(words).unwrap().command
            else {
                panic!("{further:?}")
            };
            let kind = Kind { blocks: BLOCKS, compares: true, within: Some(WITHIN) };
            let names: Vec<String> = KNOWN.iter().map(|name| (*name).to_owned()).collect();
            found.asked.plan(&names, None, &Programs::find().unwrap(), kind).unwrap().within.map(|time| time.as_secs())
        };
        for ours in [&[][..], &["--seed", "2"], &["--pin", "off"], &["--no-counting"], &["--arrangement", "current"]] {
            assert_eq!(within(ours), Some(300), "{ours:?}");
        }
        for theirs in [
            &["--publish"][..],
            &["--count", "250k"],
            &["--blocks", "12"],
            &["--scenario", "reads"],
            &["--arrangement", "multi:2,current"],
            &["--pass", "latency"],
            &["--rate", "10k"],
            &["--counting-count", "1k"],
            &["--concurrency", "1"],
            &["--concurrency", "1024"],
            &["--delay", "10ms"],
            &["--target", "10.0.0.1"],
            &["--within", "none"],
        ] {
            assert_eq!(within(theirs), None, "{theirs:?}");
        }
        assert_eq!(within(&["--publish", "--within", "20min"]), Some(1_200));
        assert_eq!(within(&["--within", "1s"]), Some(1));
    }

    /// What a plan is made of would be left out without a word where a run goes on.
    #[test]
    fn nothing_that_a_plan_is_made_of_is_taken_for_a_run_that_goes_on() {
        let given_again = ["resume", "format", "within", "quiet", "user", "password_file"];
        let command = <Arguments as clap::Args>::augment_args(clap::Command::new("compare"));
        let others = command.get_arguments().map(|argument| argument.get_id().as_str());
        let mut others: Vec<&str> = others.filter(|name| !given_again.contains(name)).collect();
        let mut planned = PLANNED;
        others.sort_unstable();
        planned.sort_unstable();
        assert_eq!(others, planned);
    }

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
