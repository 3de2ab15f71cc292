//! What single flags of `compare` take.

use std::num::NonZeroUsize;
use std::time::Duration;

use cqldyno_bench::Deadlines;
use cqldyno_cluster::Answers;
use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_meter::NOISE_SHARE;
use cqldyno_reports::LoadersInfo;

use crate::count::{Limit, ONE_PART, bytes, options, or, parts, patience};

/// How answers are written.
#[derive(Clone, Copy, Debug)]
pub enum Writing {
    /// As Cassandra 5.0 writes (harness/cluster/ANSWERS.md).
    Cassandra,
    /// In one of the ways of `cqldyno serve`.
    As(Answers),
}

impl Writing {
    /// How a connection with so many statements in flight is answered.
    pub fn on_connection(self, in_flight: u64) -> Answers {
        match self {
            Writing::As(answers) => answers,
            Writing::Cassandra => {
                let most = usize::try_from(in_flight.isqrt()).unwrap_or(usize::MAX);
                Answers::UpTo(NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN))
            }
        }
    }
}

/// Reads what `--answers` takes.
pub fn answers(text: &str) -> Result<Writing, String> {
    match text {
        "cassandra" => Ok(Writing::Cassandra),
        "reordered" => {
            let serve = "`cqldyno serve --answers reordered`";
            Err(format!("answers are reordered by {serve} alone; start it, and name its address with --target"))
        }
        other => other.parse().map(Writing::As).map_err(|_| {
            format!("answers can be written batched, as cassandra does, each or at most COUNT per write, not {text:?}")
        }),
    }
}

/// What `--pass` takes.
pub fn passes() -> impl Iterator<Item = &'static str> {
    cqldyno_bench::passes().map(|(pass, _)| pass.name()).chain(["all", "none", "explain"])
}

/// The most loaders of a contender.
const MOST_LOADERS: u32 = 1_000;

/// What `--loaders` takes.
pub fn loaders(text: &str) -> Result<LoadersInfo, String> {
    let how = || format!("write how many there are, from 1 to {MOST_LOADERS}, or their hosts with commas between");
    let hosts: Vec<String> = match text.parse::<u32>() {
        Ok(_) => Vec::new(),
        Err(_) => text.split(',').map(|host| host.trim().to_owned()).collect(),
    };
    let is_named = hosts.iter().all(|host| !host.is_empty() && !host.contains(char::is_whitespace));
    let number = text.parse().or_else(|_| u32::try_from(hosts.len())).map_err(|_| how())?;
    let is_known = is_named && (1..=MOST_LOADERS).contains(&number);
    is_known.then(|| LoadersInfo { number, hosts, launch: String::new() }).ok_or_else(how)
}

pub fn settings(name: String) -> Settings {
    if name == "default" { Settings::Default } else { Settings::Equal }
}

pub fn consistency(text: &str) -> Result<Consistency, String> {
    let level = text.to_ascii_uppercase().replace('-', "_");
    let found = Consistency::ALL.into_iter().find(|one| one.name() == level);
    found.ok_or_else(|| format!("write one of {}", Consistency::ALL.map(Consistency::name).join(", ")))
}

fn noise_share(text: &str) -> Result<f64, String> {
    let share = parts(text).filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "write a share above 0, at most 100%, such as 10% or 0.1".to_owned())
}

/// What leaves a round out, and what ends a worker.
#[derive(Clone, Copy, Debug)]
pub struct AskedLimits {
    /// The share of the cores that others may use.
    pub noise: Option<f64>,
    /// How long a worker may issue nothing.
    pub stall: Duration,
    /// Resident memory in bytes.
    pub memory: Option<u64>,
}

/// Reads what `--limits` takes; what it does not name keeps its default.
pub fn limits(text: &str) -> Result<AskedLimits, String> {
    let (other, found) = options(text, &["noise", "stall", "memory"].map(|key| (key, ONE_PART)))?;
    if !other.is_empty() || found.is_empty() {
        return Err("write noise=SHARE or noise=none, stall=TIME and memory=BYTES with commas between".to_owned());
    }
    let usual = AskedLimits { noise: Some(NOISE_SHARE), stall: Deadlines::default().stall, memory: None };
    found.iter().try_fold(usual, |limits, (key, value)| {
        let limits = match *key {
            "noise" => or("none", noise_share)(value).map(|Limit(noise)| AskedLimits { noise, ..limits }),
            "stall" => patience(value).map(|stall| AskedLimits { stall, ..limits }),
            _ => bytes(value).map(|memory| AskedLimits { memory: Some(memory), ..limits }),
        };
        limits.map_err(|why| format!("{key} cannot be {value:?}: {why}"))
    })
}

/// The half width of an interval, as a share.
pub fn width(text: &str) -> Result<f64, String> {
    let share = text.ends_with('%').then(|| parts(text)).flatten().filter(|share| (0.001..=0.5).contains(share));
    share.ok_or_else(|| "write a percentage from 0.1% to 50%, such as 2% or 2.5%".to_owned())
}
