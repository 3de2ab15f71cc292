//! `cqldyno bisect`: which version changed a meter.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use cqldyno_bench::builder::{BuildError, Range, Version, Watch};
use cqldyno_bench::{BenchError, Cancel, Contender, DEFAULT_PARENT, Programs, Workshop};
use cqldyno_reports::{NOTHING_EXPLAINS, Part};

use crate::bisect::bench::{Bench, scenario};
use crate::bisect::judge::Beside;
use crate::bisect::log::{Log, SearchOptions, SearchStep, Versions};
use crate::bisect::search::{Next, Seen, next, steps_left};
use crate::bisect::text::{Answer, answer, found, table};
use crate::heading::{OUTPUT, WHAT};
use crate::outcome::{Outcome, usage};
use crate::plan::contender;
use crate::progress::Progress;
use crate::terminal;
use crate::trial::{stamp, supervised};

const SHORT_EXAMPLES: &str = "\
Example: cqldyno bisect scylla --good 0.3.1 --bad 0.3.0
How it searches: cqldyno bisect --help";

const EXAMPLES: &str = "\
Examples:
  cqldyno bisect scylla --good 0.3.1 --bad 0.3.0
  cqldyno bisect scylla --good 1.7.0 --bad 1.9.0 --meter allocations
  cqldyno bisect scylla@path:../checkout --good v1.8.0 --bad main --meter cpu
  cqldyno bisect --resume cqldyno-runs/bisect-2026-11-23T20-00-00Z

Each step builds one version between the ends and measures it beside both.
Either end may be the newer one. Releases go by number. Commits go by first
parents, so that a merge is one step. What cannot be built is skipped.

Exit codes: 0 found, 1 not found (equal ends, contradictory steps, or skipped
versions hide the change), 2 wrong usage, 3 cannot be measured here, 130 Ctrl-C.";

/// Find the release or commit that changed a figure
#[derive(clap::Args)]
#[command(after_help = SHORT_EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    asked: Option<SearchOptions>,
    /// Name what the dearer version does more of
    #[arg(long, help_heading = WHAT)]
    explain: bool,
    /// Continue the search in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "out", help_heading = OUTPUT)]
    resume: Option<PathBuf>,
    /// Folder of the search [default: cqldyno-runs/bisect-TIME]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Only errors and failures on standard error
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let mut log = match &arguments.resume {
        Some(folder) => Some(resumed(folder, arguments.asked.as_ref())?),
        None => None,
    };
    let ended =
        supervised(arguments.quiet, "Ending: the finished steps of the search are kept.", |progress, cancel| {
            let mut workshop = Workshop::default();
            let log = match &mut log {
                Some(log) => log,
                none => none.insert(began(arguments, &programs, &mut workshop, progress, cancel)?),
            };
            let bench = Bench { programs: &programs, workshop, progress, cancel, adapters: Vec::new() };
            Search { log, bench }.run(arguments.explain)
        });
    if matches!(&ended, Err(error) if matches!(error.downcast_ref(), Some(BenchError::Ended))) {
        if let Some(log) = log {
            let shown = log.folder.display();
            terminal::say(&format!("Continue the search with `cqldyno bisect --resume {shown}`."));
        }
        return Ok(Outcome::Interrupted);
    }
    let (by, explained) = ended?;
    let log = log.context("a search has a log")?;
    let steps = if log.steps.is_empty() { Vec::new() } else { table(&log) };
    let sentences = std::iter::once(answer(&log, &by)).chain(explained).map(Part::Text);
    terminal::print_parts(&sentences.chain(steps).collect::<Vec<_>>())?;
    if !arguments.quiet {
        terminal::say(&format!("The search and its runs are kept in {}.", log.folder.display()));
    }
    Ok(match by {
        Answer::Found(..) => Outcome::Done,
        Answer::NoFigure(..) => Outcome::Unmeasurable,
        Answer::Equal | Answer::Hidden(..) | Answer::Contradiction(..) => Outcome::Failed,
    })
}

/// The search in `folder`. What is asked again must be what was asked.
fn resumed(folder: &Path, asked: Option<&SearchOptions>) -> Result<Log> {
    let log = Log::open(folder)?;
    if let Some(asked) = asked.filter(|asked| **asked != log.asked) {
        let text = |asked: &SearchOptions| serde_json::to_value(asked);
        let (now, then) = (text(asked)?, text(&log.asked)?);
        let fields = now.as_object().into_iter().flatten();
        let other = fields.map(|(name, now)| (name, now, &then[name])).find(|(_, now, then)| now != then);
        let (name, now, then) = other.context("the searches differ in nothing that has a name")?;
        return Err(usage(format!(
            "the search in {} has {name} {then}, and {name} {now} was asked for; leave all but --resume out, or start another search",
            folder.display()
        )));
    }
    Ok(log)
}

/// A new search with all versions of its range.
fn began(
    arguments: &Arguments,
    programs: &Programs,
    workshop: &mut Workshop,
    progress: &Progress,
    cancel: &Cancel,
) -> Result<Log> {
    let asked = arguments.asked.clone().context("clap lets nobody through without a driver and both ends")?;
    let driver = contender(&asked.driver, programs)?;
    scenario(&asked.scenario)?;
    let [good, bad] = ends(&driver, [&asked.good, &asked.bad])?;
    let cancelled = || cancel.is_cancelled();
    let found = workshop.builder()?.range(
        driver.name(),
        [&good, &bad],
        &mut Watch { progress: &mut |_| (), cancelled: &cancelled, log: None },
    );
    let Range { points, reversed } = match found {
        Err(BuildError::Cancelled) => return Err(BenchError::Ended.into()),
        Err(error @ (BuildError::Checkout(..) | BuildError::NoAdapter(..) | BuildError::NoOtherVersion(_))) => {
            return Err(usage(error));
        }
        found => found?,
    };
    if points.len() < 2 {
        return Err(usage(format!("--good {} and --bad {} are the same version; name two", asked.good, asked.bad)));
    }
    let versions = points.into_iter().map(|point| (point.version.to_string(), point.name)).collect();
    let folder = arguments.out.clone().unwrap_or_else(|| Path::new(DEFAULT_PARENT).join(format!("bisect-{}", stamp())));
    let log = Log::begin(&folder, asked, Versions { versions, good_is_newer: reversed })?;
    let between = cqldyno_reports::count(log.range.versions.len() as u64 - 2, "version");
    progress.say(&format!("Between the ends: {between}."));
    Ok(log)
}

/// The versions of both ends: releases of a driver, or commits of its checkout.
fn ends(driver: &Contender, ends: [&str; 2]) -> Result<[Version; 2]> {
    let end = |end: &str| {
        let commit = |folder: &Path| format!("git:{}#{end}", folder.display()).parse::<Version>();
        match &driver.order.version {
            Some(Version::Path(folder)) => commit(folder).map_err(|why| usage(format!("the end {end:?} {why}"))),
            None => match end.parse() {
                Ok(version @ Version::Release(_)) => Ok(version),
                _ => Err(usage(format!(
                    "{end:?} is no whole release of {0}; write one such as 1.9.0, or name a checkout as {0}@path:DIR to search commits",
                    driver.name()
                ))),
            },
            Some(version) => Err(usage(format!(
                "{}@{version} was asked for, and a search has two ends; write {0}, or {0}@path:DIR for the commits of a checkout",
                driver.name()
            ))),
        }
    };
    Ok([end(ends[0])?, end(ends[1])?])
}

struct Search<'a> {
    log: &'a mut Log,
    bench: Bench<'a>,
}

impl Search<'_> {
    /// Takes all steps that are missing. Returns how the search ended, and the paragraph that explains the change.
    fn run(&mut self, explain: bool) -> Result<(Answer, Option<String>)> {
        let last = self.log.range.versions.len() - 1;
        if self.log.pairs([0, last]).is_empty()
            && let Err((place, why)) = self.pair([0, last])?
        {
            return Ok((Answer::NoFigure(place, why), None));
        }
        if self.log.pairs([0, last]).iter().all(|step| step.seen != Seen::Newer) {
            return Ok((Answer::Equal, None));
        }
        let (before, after) = loop {
            let (seen, count) = (self.log.seen(), last + 1);
            match next(count, &seen) {
                Next::Between(before, after) => break (before, after),
                Next::Try(place) => {
                    let left = u64::from(steps_left(count, &seen));
                    let left = cqldyno_reports::count(left, "step");
                    self.say(&format!("Next is {}; about {left} left.", self.log.range.versions[place].1));
                    self.candidate(place)?;
                }
            }
        };
        // Two steps that contradict each other are measured again, beside each other.
        while !self.log.pairs([before, after]).iter().any(|step| step.seen == Seen::Newer) {
            if self.log.pairs([before, after]).len() >= 2 {
                return Ok((Answer::Contradiction(before, after), None));
            }
            self.pair([before, after])?.map_err(|(place, why)| self.lost(place, &why))?;
        }
        if after - before > 1 {
            return Ok((Answer::Hidden(before, after), None));
        }
        let found = Answer::Found(before, after);
        if !explain {
            return Ok((found, None));
        }
        let cheaper_first = if self.rises([before, after]) { [before, after] } else { [after, before] };
        let runs = self.log.free("explained");
        self.say("The neighbours of the change run once more, to explain it.");
        let told = self.bench.explain(self.log, cheaper_first, &runs)?;
        let [cheaper, dearer] = cheaper_first.map(|place| &self.log.range.versions[place].1);
        let told = told.map(|told| format!("Why {dearer} is dearer than {cheaper}: {told}"));
        Ok((found, Some(told.unwrap_or_else(|| NOTHING_EXPLAINS.to_owned()))))
    }

    /// Builds two versions and measures them beside each other; or the place of the first one without a figure, and the reason.
    fn pair(&mut self, [before, after]: [usize; 2]) -> Result<Result<(), (usize, String)>> {
        for place in [before, after] {
            if let Err(why) = self.bench.build(self.log, place)? {
                return Ok(Err((place, why)));
            }
        }
        let last = self.log.range.versions.len() - 1;
        let is_ends = [before, after] == [0, last];
        let runs = self.log.free(if is_ends { "ends" } else { "neighbours" });
        let ratio = self.ratio().filter(|_| !is_ends);
        let compared = match self.bench.compare(self.log, &[before, after], &runs, ratio)? {
            Ok(compared) => compared,
            Err((at, why)) => return Ok(Err(([before, after][at], why))),
        };
        let rises = compared.rises();
        let differ = rises.is_some() && (is_ends || rises == Some(self.rises([0, last])));
        let seen = if differ { Seen::Newer } else { Seen::Unclear };
        self.add(after, Some(before), seen, Ok(compared), Some(runs)).map(Ok)
    }

    fn lost(&self, place: usize, why: &str) -> anyhow::Error {
        anyhow!("{} had a figure before and has none now: {why}", self.log.range.versions[place].1)
    }

    /// Builds and measures a version beside both ends.
    fn candidate(&mut self, place: usize) -> Result<()> {
        let last = self.log.range.versions.len() - 1;
        if let Err(why) = self.bench.build(self.log, place)? {
            return self.add(place, None, Seen::Skipped, Err(why), None);
        }
        let name = self.log.range.versions[place].1.split(' ').next().unwrap_or_default().to_owned();
        let runs = self.log.free(&name);
        match self.bench.compare(self.log, &[0, last, place], &runs, self.ratio())? {
            Ok(compared) => self.add(place, None, compared.seen(self.rises([0, last])), Ok(compared), Some(runs)),
            Err((2, why)) => self.add(place, None, Seen::Skipped, Err(why), Some(runs)),
            Err((at, why)) => Err(self.lost([0, last][at], &why)),
        }
    }

    fn add(
        &mut self,
        at: usize,
        beside: Option<usize>,
        seen: Seen,
        compared: Result<Beside, String>,
        runs: Option<String>,
    ) -> Result<()> {
        let exact = compared.as_ref().is_ok_and(Beside::has_no_spread);
        let (figures, why) = match compared {
            Ok(compared) => (compared.figures(), None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let adapter = match (beside, self.bench.adapters.as_slice()) {
            (Some(_), [before, .., after]) if before != after => after.clone(),
            _ => None,
        };
        let step = SearchStep { at, beside, seen, figures, exact, adapter, why, runs };
        self.say(&format!("{}.", found(self.log, &step)));
        self.log.add(step)
    }

    /// Whether the second of two versions that were measured beside each other has more.
    fn rises(&self, pair: [usize; 2]) -> bool {
        let pairs = self.log.pairs(pair);
        pairs.last().is_some_and(|step| step.figures.first() < step.figures.last())
    }

    fn ratio(&self) -> Option<f64> {
        let last = self.log.range.versions.len() - 1;
        let step = self.log.pairs([0, last]).pop()?;
        Some(step.figures.last()? / step.figures.first()?)
    }

    fn say(&self, line: &str) {
        self.bench.progress.say(line);
    }
}
