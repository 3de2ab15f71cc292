//! The log of a search: what was asked, then a line per step. A search goes on from it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cqldyno_bench::Arrangement;
use serde::{Deserialize, Serialize};

use super::judge::Searched;
use super::search::Seen;
use crate::count::{count, patience};
use crate::heading::{SIZE, WHAT};
use crate::known::Known;
use crate::names::{drivers, scenarios};
use crate::outcome::usage;

const FILE: &str = "steps.jsonl";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
pub struct SearchOptions {
    /// Driver, such as scylla; for commits scylla@path:DIR
    #[arg(value_parser = Known(drivers::names), hide_possible_values = true, requires = "good", requires = "bad")]
    #[arg(required = false, required_unless_present = "resume")]
    pub driver: String,
    /// The good end: a release, or a commit, tag or branch
    #[arg(long, value_name = "VERSION", required = false, requires = "driver", help_heading = WHAT)]
    pub good: String,
    /// The bad end
    #[arg(long, value_name = "VERSION", required = false, requires = "driver", help_heading = WHAT)]
    pub bad: String,
    /// syscalls, allocations, instructions or cpu
    #[arg(long, value_name = "METER", default_value = "syscalls", help_heading = WHAT, hide_possible_values = true)]
    #[arg(requires = "driver")]
    pub meter: Searched,
    /// Name or TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "writes", help_heading = WHAT, requires = "driver")]
    #[arg(value_parser = Known(scenarios::names), hide_possible_values = true)]
    pub scenario: String,
    /// Runtime: current or multi:N
    #[arg(long, value_name = "NAME", default_value = "current", help_heading = WHAT, requires = "driver")]
    #[arg(value_parser = |text: &str| text.parse::<Arrangement>().map(|one| one.to_string()))]
    pub arrangement: String,
    /// Statements of each cell that counts
    #[arg(short = 'n', long, value_name = "N", value_parser = count, default_value = "100k", help_heading = SIZE)]
    #[arg(requires = "driver")]
    pub count: u64,
    /// Statements in flight
    #[arg(short, long, value_name = "N", value_parser = count, default_value = "1024", help_heading = SIZE)]
    #[arg(requires = "driver")]
    pub concurrency: u64,
    /// Time of each step that measures CPU time
    #[arg(id = "within", long, value_name = "TIME", default_value = "5min", help_heading = SIZE)]
    #[arg(value_parser = |text: &str| patience(text).map(|time| time.as_secs()), requires = "driver")]
    pub within_s: u64,
}

/// The versions of the range: fixed at the start, because further ones may come out meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The older ones first: the version as a contender has it, and its name for people.
    pub versions: Vec<(String, String)>,
    /// Whether the good end is the newer one.
    pub good_is_newer: bool,
}

/// One step: a version beside both ends, or two versions beside each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchStep {
    /// The place in the range of the version that was judged.
    pub at: usize,
    /// The version that it was measured beside, in the place of both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<usize>,
    /// What was found; two versions that differ as the ends do are `newer`.
    pub seen: Seen,
    /// Per statement: at the older end or the version beside it, at the newer end if both were measured, and here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<f64>,
    /// Whether every figure came out the same twice.
    #[serde(default)]
    pub exact: bool,
    /// The folder of its adapter if the version beside it has another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// Why it was skipped or is unclear, as a full sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The folder of its runs in that of the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Asked(SearchOptions),
    Versions(Versions),
    Step(SearchStep),
}

pub struct Log {
    pub folder: PathBuf,
    file: File,
    pub asked: SearchOptions,
    pub range: Versions,
    pub steps: Vec<SearchStep>,
}

impl Log {
    /// Begins the log in `folder`, which is made.
    pub fn begin(folder: &Path, asked: SearchOptions, range: Versions) -> Result<Log> {
        let shown = folder.display();
        let path = folder.join(FILE);
        if path.exists() {
            return Err(usage(format!(
                "the folder {shown} holds a search; continue it with --resume {shown}, or name another folder with --out"
            )));
        }
        std::fs::create_dir_all(folder).with_context(|| format!("the folder {shown} cannot be made"))?;
        let file = File::create_new(&path).with_context(|| format!("{} cannot be written", path.display()))?;
        let mut log = Log { folder: folder.to_path_buf(), file, asked, range, steps: Vec::new() };
        log.write(&Entry::Asked(log.asked.clone()))?;
        log.write(&Entry::Versions(log.range.clone()))?;
        Ok(log)
    }

    /// Opens the log in `folder`. A last line that was cut off is dropped: its step is taken again.
    pub fn open(folder: &Path) -> Result<Log> {
        let (shown, path) = (folder.display(), folder.join(FILE));
        let text = std::fs::read_to_string(&path).map_err(|error| {
            usage(format!(
                "{shown} holds no search to continue: {FILE} cannot be read: {error}; name a folder of `cqldyno bisect`"
            ))
        })?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let damaged = |number: usize| {
            usage(format!("the log {} is damaged at line {number}; start the search again", path.display()))
        };
        let (mut asked, mut range, mut steps) = (None, None, Vec::new());
        for (number, line) in (1..).zip(text[..whole].lines()) {
            match serde_json::from_str::<Entry>(line).map_err(|_| damaged(number))? {
                Entry::Asked(one) => asked = Some(one),
                Entry::Versions(one) => range = Some(one),
                Entry::Step(one) => steps.push(one),
            }
        }
        let (Some(asked), Some(range)) = (asked, range) else { return Err(damaged(1)) };
        let count = range.versions.len();
        let is_in = |step: &SearchStep| step.at < count && step.beside.is_none_or(|beside| beside < step.at);
        if count < 2 || !steps.iter().all(is_in) {
            return Err(damaged(2));
        }
        let file = File::options()
            .append(true)
            .open(&path)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        file.set_len(whole as u64).with_context(|| format!("{} cannot be cut", path.display()))?;
        Ok(Log { folder: folder.to_path_buf(), file, asked, range, steps })
    }

    pub fn add(&mut self, step: SearchStep) -> Result<()> {
        self.write(&Entry::Step(step.clone()))?;
        self.steps.push(step);
        Ok(())
    }

    /// A name for the runs of the next step, which no folder has: that of an interrupted one stays as it is.
    pub fn free(&self, what: &str) -> String {
        let name = |number: usize| format!("{number:02}-{what}");
        let is_free = |number: &usize| {
            let begins = format!("{number:02}-");
            let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
            !entries.map(|entry| entry.file_name()).any(|known| known.to_string_lossy().starts_with(&begins))
        };
        (self.steps.len() + 1..).find(is_free).map_or_else(|| name(0), name)
    }

    /// What was seen of the versions that were measured beside both ends.
    pub fn seen(&self) -> Vec<(usize, Seen)> {
        self.steps.iter().filter(|step| step.beside.is_none()).map(|step| (step.at, step.seen)).collect()
    }

    /// The steps that measured these two beside each other.
    pub fn pairs(&self, [before, after]: [usize; 2]) -> Vec<&SearchStep> {
        self.steps.iter().filter(|step| (step.beside, step.at) == (Some(before), after)).collect()
    }

    fn write(&mut self, line: &Entry) -> Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.with_context(|| format!("{} cannot be written", self.folder.join(FILE).display()))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A log of four versions in `folder`.
    pub fn sample(folder: &Path) -> Log {
        let text = |text: &str| text.to_owned();
        let asked = SearchOptions {
            driver: text("a"),
            good: text("1.0.0"),
            bad: text("1.3.0"),
            meter: Searched::Syscalls,
            scenario: text("writes"),
            arrangement: text("current"),
            count: 1_000,
            concurrency: 8,
            within_s: 60,
        };
        let versions = (0..4).map(|minor| (format!("1.{minor}.0"), format!("1.{minor}.0"))).collect();
        Log::begin(folder, asked, Versions { versions, good_is_newer: false }).unwrap()
    }

    pub fn step(at: usize, beside: Option<usize>, seen: Seen, figures: &[f64]) -> SearchStep {
        SearchStep { at, beside, seen, figures: figures.to_vec(), exact: true, adapter: None, why: None, runs: None }
    }

    #[test]
    fn a_log_is_read_as_it_was_written_and_a_line_that_was_cut_off_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/b");
        let mut log = sample(&folder);
        log.add(step(3, Some(0), Seen::Newer, &[3.0, 1.0])).unwrap();
        log.add(step(2, None, Seen::Older, &[3.0, 1.0, 3.0])).unwrap();
        let path = folder.join(FILE);
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"step\":{{\"at\":1")).unwrap();
        let mut again = Log::open(&folder).unwrap();
        assert_eq!((&again.asked, &again.range, &again.steps), (&log.asked, &log.range, &log.steps));
        assert_eq!(again.seen(), [(2, Seen::Older)]);
        assert_eq!(again.pairs([0, 3]).len(), 1);
        again.add(step(1, None, Seen::Skipped, &[])).unwrap();
        assert_eq!(Log::open(&folder).unwrap().steps.len(), 3);
        assert_eq!(again.free("x"), "04-x");
        std::fs::create_dir(folder.join("04-y")).unwrap();
        assert_eq!(again.free("x"), "05-x", "the folder of an interrupted step stays");
    }

    #[test]
    fn what_is_no_log_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let error = |folder: &Path| Log::open(folder).map(drop).unwrap_err().to_string();
        let none = error(dir.path());
        assert!(none.contains("holds no search to continue") && none.ends_with("name a folder of `cqldyno bisect`"));
        let mut log = sample(dir.path());
        let error_of_two = Log::begin(dir.path(), log.asked.clone(), log.range.clone()).map(drop).unwrap_err();
        assert!(error_of_two.to_string().contains("continue it with --resume"), "{error_of_two}");
        log.add(step(7, None, Seen::Older, &[])).unwrap();
        assert!(error(dir.path()).contains("is damaged at line 2; start the search again"));
        std::fs::write(dir.path().join(FILE), "{}\n").unwrap();
        assert!(error(dir.path()).contains("is damaged at line 1"));
    }
}
