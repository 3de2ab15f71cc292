//! What `compare` and `run` are asked alike, and the plan that it makes.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use cqldyno_bench::{Arrangement, Contender, Deadlines, KNOWN, Pin, Plan, Programs, Target};
use cqldyno_cluster::Answers;
use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_protocol::JobCredentials;
use cqldyno_reports::Pass;

use crate::command::scenarios;
use crate::count::{bytes, count, count_or_none, duration, parts};
use crate::outcome::usage;
use crate::password::Login;
use cqldyno_scenarios::suggestion;

/// Statements a cell where none were asked for.
const COUNT: u64 = 250_000;
/// Statements in flight where nobody says.
const CONCURRENCY: u64 = 1_024;
/// Statements a cell from which on one block is run unless more are asked for: such a cell takes as long as many short ones.
const CLASSIC_COUNT: u64 = 5_000_000;
/// Blocks and statements a cell of a run that is to be published.
const PUBLISHED: (u32, u64) = (20, 1_000_000);
/// The most blocks of a run, against a slip of the hand.
const MOST_BLOCKS: u32 = 100_000;
/// How often a block is run at most because others disturbed it.
const MOST_ATTEMPTS: u32 = 3;

/// What differs between the commands that carry out a plan.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Blocks where neither blocks nor a count from [`CLASSIC_COUNT`] on were asked for.
    pub blocks: u32,
    /// Whether contenders are compared, so that the reference runs twice.
    pub compares: bool,
    /// The time that a run is given where the size of the run was left to us.
    pub within: Option<Duration>,
}

/// What is asked of every contender.
#[derive(clap::Args)]
pub struct Asked {
    /// What is asked: a built-in scenario (`cqldyno scenarios` lists them), or the path of a TOML file. Give it several times
    /// for several [default: writes, reads and mixed]
    #[arg(long, value_name = "NAME|FILE")]
    scenario: Vec<String>,
    /// Statements a cell, for example 10M or 250k [default: 250k]
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true)]
    count: Option<u64>,
    /// Statements in flight [default: 1024]
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true)]
    concurrency: Option<u64>,
    /// How often every contender is run on each scenario in each arrangement [default: 12, with `run` 3; 1 where the count is
    /// 5M or more]. From 3 blocks on `compare` runs the reference twice, the second time as a control
    #[arg(long, value_name = "N", value_parser = blocks, allow_hyphen_values = true)]
    blocks: Option<u32>,
    /// Measure as for publication: 20 blocks of 1M statements a cell
    #[arg(long, conflicts_with_all = ["count", "blocks"])]
    publish: bool,
    /// Run a block again, whole and up to twice, when others used more than this share of the cores' time in one of its
    /// windows (steal included), for example 10%, or `none`. Every attempt is kept and the last whole one counts; repeats
    /// take at most half as long again as the blocks, and leave them the time of --within
    #[arg(long, value_name = "SHARE|none", value_parser = noise_share, default_value = "10%", allow_hyphen_values = true)]
    noise_share: NoiseShare,
    /// End within this time, from 1s to a day (1440min), or `none`: no further round of blocks (one of each scenario and arrangement)
    /// and no repeat is begun that would end later by what such blocks took so far, and a quarter of a round and 2 % of the time
    /// beside it. The first round and the other passes are always
    /// run; with --resume it is the time from then on [default: 5min with `compare` and the embedded target, unless --count,
    /// --blocks, --publish, --scenario, a second arrangement, --pass, --rate, --counting-count, --concurrency or --delay says
    /// how much is run]
    #[arg(long, value_name = "TIME|none", value_parser = within, allow_hyphen_values = true)]
    within: Option<Within>,
    /// Statements before each window, which are not measured
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "20k", allow_hyphen_values = true)]
    warmup: u64,
    /// Who answers: `embedded`, a node of ours in memory, or the addresses of an existing cluster
    #[arg(long, value_name = "embedded|HOST[:PORT],...", default_value = "embedded", allow_hyphen_values = true)]
    target: String,
    #[command(flatten)]
    login: Login,
    /// `equal`: the same settings for every driver; `default`: every driver as its documentation's first example would
    #[arg(long, value_name = "equal|default", default_value = "equal", hide_possible_values = true)]
    settings: SettingsChoice,
    /// Data connections that every driver has to each node
    #[arg(long, value_name = "N", value_parser = count, default_value = "1", allow_hyphen_values = true)]
    connections: u64,
    /// How client and server sit on the machine: `current` or `multi:N` (tokio's runtime, with N worker threads), with
    /// `pinned+` before it to give both cores of their own. Several with commas: each is asked of every contender
    #[arg(
        long,
        value_name = "ARRANGEMENT,...",
        value_delimiter = ',',
        default_value = "multi:2",
        allow_hyphen_values = true
    )]
    arrangement: Vec<String>,
    /// Which physical cores worker and server have for themselves: `auto` shares them out where there are four or more and no
    /// arrangement says `pinned+`, `off` lets both use all, and 2-3/0-1 names the worker's and the server's
    #[arg(long, value_name = "auto|off|WORKER/SERVER", value_parser = str::parse::<Pin>, default_value = "auto", allow_hyphen_values = true)]
    pin: Pin,
    /// Rows that a page of an answer has at most; a scenario may ask for fewer
    #[arg(long, value_name = "N", value_parser = page_size, default_value = "5000", allow_hyphen_values = true)]
    page_size: i32,
    /// How many replicas answer for a statement to count: ONE, QUORUM, LOCAL_ONE and so on
    #[arg(long, value_name = "LEVEL", value_parser = consistency, default_value = "LOCAL_ONE", allow_hyphen_values = true)]
    consistency: Consistency,
    /// The driver's own time limit for a statement, for example 5s, or `none`
    #[arg(long, value_name = "TIME|none", value_parser = time_limit, default_value = "30s", allow_hyphen_values = true)]
    request_timeout: TimeLimit,
    /// How the embedded node writes answers: `batched`, the answers to one read with one write; `each`, one write an answer;
    /// `reordered`, as batched, but in random order [default: batched]
    #[arg(long, value_name = "HOW", allow_hyphen_values = true)]
    answers: Option<Answers>,
    /// Let the embedded node hold each answer back for this long, for example 100us [default: 0]
    #[arg(long, value_name = "TIME", value_parser = delay, allow_hyphen_values = true)]
    delay: Option<String>,
    /// End a worker that has issued nothing new for this long, from 1s to a day
    #[arg(long, value_name = "TIME", value_parser = stall, default_value = "30s", allow_hyphen_values = true)]
    stall: Duration,
    /// End a worker whose resident memory exceeds this, for example 512M or 4G [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = bytes, allow_hyphen_values = true)]
    memory: Option<u64>,
    /// The number from which the order of the blocks, of the contenders within each, and of the keys follows
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "1", allow_hyphen_values = true)]
    seed: u64,
    /// What else is measured, in short cells behind those that take time: `syscalls` (by name), `allocations`, `instructions`,
    /// `latency` (response times below saturation), `flamegraph`; several with commas, or `all`. `counting` (how many system calls)
    /// is always one of them but with --no-counting
    #[arg(long, value_name = "PASS,...", value_delimiter = ',')]
    pass: Vec<String>,
    /// Do not count system calls, which takes a short cell more for each contender, scenario and arrangement
    #[arg(long)]
    no_counting: bool,
    /// Statements of a cell that counts system calls [default: as many as any cell, 250k at most]
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "no_counting", allow_hyphen_values = true)]
    counting_count: Option<u64>,
    /// Take latency at this many statements a second, the same for every contender; adds the pass `latency` [default: half of what
    /// the slowest driver reached in the cells that take time]
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true)]
    rate: Option<u64>,
    /// Keep the run in the folder DIR [default: one below cqldyno-runs/ named by the time]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Say nothing on standard error but errors, and who is missing, failed or void
    #[arg(short, long)]
    pub quiet: bool,
}

/// The longest time that may be asked for.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A time limit, or none, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimeLimit(Option<u64>);

/// A share of the cores' time from 0 to 1, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NoiseShare(Option<f64>);

/// The time that a run is given, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Within(Option<Duration>);

#[derive(Clone, Copy, ValueEnum)]
enum SettingsChoice {
    Equal,
    Default,
}

impl Asked {
    /// The plan for `contenders`, each as it was written.
    ///
    /// # Errors
    /// When something cannot be meant; the error is one of usage.
    pub fn plan(
        &self,
        contenders: &[String],
        reference: Option<String>,
        programs: &Programs,
        kind: Kind,
    ) -> Result<Plan> {
        let scenarios: Vec<String> = match self.scenario.as_slice() {
            [] => cqldyno_scenarios::defaults().into_iter().map(|scenario| scenario.name).collect(),
            named => named.to_vec(),
        };
        let target = Target::parse(&self.target).map_err(usage)?;
        let credentials = self.login.read()?;
        if target.is_embedded() && credentials.is_some() {
            return Err(usage(
                "a user was given for the embedded target, which asks for none; name a cluster with --target, or leave \
                 --user out",
            ));
        }
        let serve_arguments = self.serve_arguments();
        if let (false, Some(flag)) = (target.is_embedded(), serve_arguments.first()) {
            return Err(usage(format!(
                "{flag} was given with the target {target}, which is not ours to set; leave {flag} out, or start a cluster with \
                 `cqldyno serve {}` and name its address",
                serve_arguments.join(" ")
            )));
        }
        Ok(Plan {
            contenders: contenders.iter().map(|text| contender(text, programs)).collect::<Result<_>>()?,
            scenarios: scenarios.iter().map(|name| scenarios::find(name)).collect::<Result<Vec<_>>>()?.concat(),
            arrangements: self
                .arrangement
                .iter()
                .map(|text| text.parse::<Arrangement>().map_err(usage))
                .collect::<Result<_>>()?,
            pin: self.pin.clone(),
            count: match self.publish {
                true => PUBLISHED.1,
                false => self.count.unwrap_or(COUNT),
            },
            concurrency: usize::try_from(self.concurrency.unwrap_or(CONCURRENCY)).map_err(usage)?,
            warmup: self.warmup,
            blocks: self.blocks(kind),
            passes: self.passes()?,
            rate: self.rate,
            counting_count: self.counting_count,
            control: kind.compares,
            noise_share: self.noise_share.0,
            within: self.within(kind, target.is_embedded()),
            most_attempts: if self.noise_share.0.is_some() { MOST_ATTEMPTS } else { 1 },
            connections: usize::try_from(self.connections).map_err(usage)?,
            page_size: self.page_size,
            consistency: self.consistency,
            request_timeout_ms: self.request_timeout.0,
            settings: match self.settings {
                SettingsChoice::Equal => Settings::Equal,
                SettingsChoice::Default => Settings::Default,
            },
            target,
            credentials,
            seed: self.seed,
            reference,
            serve_arguments,
            deadlines: Deadlines { stall: self.stall, ..Deadlines::default() },
            memory_limit_bytes: self.memory,
            out: self.out.clone(),
        })
    }

    /// The passes behind the timing blocks, in the order in which they run.
    fn passes(&self) -> Result<Vec<Pass>> {
        let known: Vec<Pass> = cqldyno_bench::passes().map(|(pass, _)| pass).collect();
        let mut asked = vec![Pass::Counting];
        asked.extend(self.rate.map(|_| Pass::Latency));
        for name in &self.pass {
            match known.iter().find(|pass| pass.name() == name) {
                _ if name == "all" => asked.extend(&known),
                Some(pass) => asked.push(*pass),
                None => {
                    let names: Vec<&str> = known.iter().map(|pass| pass.name()).collect();
                    return Err(usage(format!(
                        "there is no pass {name:?}: there are {}, and `all`.{}",
                        names.join(", "),
                        suggestion(name, names.iter().copied())
                    )));
                }
            }
        }
        let is_asked = |pass: &Pass| asked.contains(pass) && !(self.no_counting && *pass == Pass::Counting);
        Ok(known.into_iter().filter(is_asked).collect())
    }

    fn blocks(&self, kind: Kind) -> u32 {
        match (self.publish, self.blocks, self.count) {
            (true, ..) => PUBLISHED.0,
            (false, Some(blocks), _) => blocks,
            (false, None, Some(count)) if count >= CLASSIC_COUNT => 1,
            (false, None, _) => kind.blocks,
        }
    }

    /// Whoever says how much is run is given the time that it takes.
    fn within(&self, kind: Kind, embedded: bool) -> Option<Duration> {
        let is_sized = self.publish
            || !self.scenario.is_empty()
            || self.arrangement.len() > 1
            || !self.pass.is_empty()
            || self.blocks.is_some()
            || self.delay.is_some()
            || [self.count, self.concurrency, self.rate, self.counting_count].iter().any(Option::is_some);
        match self.within {
            Some(Within(asked)) => asked,
            None => kind.within.filter(|_| embedded && !is_sized),
        }
    }

    /// The time that a run is given from when it is gone on with: none but what is asked for.
    pub fn within_of_resumed(&self) -> Option<Duration> {
        self.within.and_then(|Within(asked)| asked)
    }

    /// User and password, if they were given.
    ///
    /// # Errors
    /// When one is given without the other; the error is one of usage.
    pub fn credentials(&self) -> Result<Option<JobCredentials>> {
        self.login.read()
    }

    /// What the embedded node is started with, as it was written.
    fn serve_arguments(&self) -> Vec<String> {
        let answers = self.answers.map(|how| ["--answers".to_owned(), how.to_string()]);
        let delay = self.delay.clone().map(|time| ["--delay".to_owned(), time]);
        [answers, delay].into_iter().flatten().flatten().collect()
    }
}

fn consistency(text: &str) -> Result<Consistency, String> {
    const LEVELS: [Consistency; 8] = [
        Consistency::LocalOne,
        Consistency::One,
        Consistency::Two,
        Consistency::Three,
        Consistency::Quorum,
        Consistency::LocalQuorum,
        Consistency::EachQuorum,
        Consistency::All,
    ];
    let found = LEVELS.into_iter().find(|level| level.to_string().eq_ignore_ascii_case(&text.replace('-', "_")));
    found.ok_or_else(|| format!("write one of {}", LEVELS.map(|level| level.to_string()).join(", ")))
}

fn noise_share(text: &str) -> Result<NoiseShare, String> {
    if text == "none" {
        return Ok(NoiseShare(None));
    }
    match parts(text) {
        Some(share) if share > 0.0 && share <= 1.0 => Ok(NoiseShare(Some(share))),
        _ => Err("write a share above 0, at most 100%, such as 10% or 0.1, or `none`".to_owned()),
    }
}

fn time_limit(text: &str) -> Result<TimeLimit, String> {
    if text == "none" {
        return Ok(TimeLimit(None));
    }
    let time = duration(text).map_err(|error| format!("{error}, or `none`"))?;
    if time > DAY || time.is_zero() || time.subsec_nanos() % 1_000_000 != 0 {
        return Err("a time limit is a whole number of milliseconds, from 1ms to a day (1440min), or `none`".to_owned());
    }
    u64::try_from(time.as_millis()).map(|ms| TimeLimit(Some(ms))).map_err(|error| error.to_string())
}

fn within(text: &str) -> Result<Within, String> {
    const WRONG: &str = "a run is given a time from 1s to a day (1440min), such as 90s or 5min, or `none` for no limit";
    if text == "none" {
        return Ok(Within(None));
    }
    match duration(text) {
        Ok(time) if (Duration::from_secs(1)..=DAY).contains(&time) => Ok(Within(Some(time))),
        _ => Err(WRONG.to_owned()),
    }
}

/// The text itself, when it is a time.
fn delay(text: &str) -> Result<String, String> {
    match duration(text)? {
        time if time > Duration::from_secs(60) => Err("an answer is held back for a minute at most".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

fn stall(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        time if time < Duration::from_secs(1) || time > DAY => {
            Err("a worker may pause for a time from 1s to a day (1440min)".to_owned())
        }
        time => Ok(time),
    }
}

fn blocks(text: &str) -> Result<u32, String> {
    match u32::try_from(count(text)?) {
        Ok(blocks) if blocks <= MOST_BLOCKS => Ok(blocks),
        _ => Err(format!(
            "a run has at most {MOST_BLOCKS} blocks; ask for fewer, and for more statements a cell with --count"
        )),
    }
}

fn page_size(text: &str) -> Result<i32, String> {
    i32::try_from(count(text)?).map_err(|_| format!("a page has at most {} rows", i32::MAX))
}

/// A contender whose driver is known, built here or not.
fn contender(text: &str, programs: &Programs) -> Result<Contender> {
    let contender: Contender = text.parse().map_err(usage)?;
    let name = contender.name.as_str();
    if KNOWN.contains(&name) || programs.worker(name).is_ok() {
        return Ok(contender);
    }
    let known = programs.names();
    Err(usage(format!(
        "there is no driver {name:?}: there are {}, and any worker `cqldyno-driver-NAME` beside cqldyno or in a folder named in \
         CQLDYNO_WORKERS.{}",
        known.join(", "),
        suggestion(name, known.iter().map(String::as_str))
    )))
}
