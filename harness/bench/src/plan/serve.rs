//! What the embedded cluster is started with: types in a plan, words in results and on its command line.

use std::str::FromStr;
use std::time::Duration;

use cqldyno_cluster::{Answers, Delay, Topology};
use cqldyno_reports::PlanInfo;
use cqldyno_scenarios::Scenario;
use jiff::SignedDuration;

use crate::plan::Plan;

/// The flag with which the embedded cluster encrypts.
const TLS: &str = "--tls";

/// The arguments of `cqldyno serve` that were asked for; `None` for its own defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Serve {
    /// How many nodes there are, with tokens and racks.
    pub nodes: Option<Topology>,
    /// Shards of each node, with ScyllaDB's sharding extension.
    pub shards: Option<u64>,
    /// How answers are written.
    pub answers: Option<Answers>,
    /// The delay of each answer.
    pub delay: Option<AskedDelay>,
    /// What `--nap` takes, which runs of earlier versions could ask for.
    pub nap: Option<String>,
    /// Whether connections are encrypted.
    pub tls: bool,
}

impl Serve {
    /// What a run was started with; `None` if some of its words are none of this version's.
    pub fn of(run: &PlanInfo) -> Option<Serve> {
        let of = |flag| run.serve_argument(flag);
        let serve = Serve {
            nodes: of("--nodes").map(str::parse).transpose().ok()?,
            shards: of("--shards").map(str::parse).transpose().ok()?,
            answers: of("--answers").map(str::parse).transpose().ok()?,
            delay: of("--delay").map(str::parse).transpose().ok()?,
            nap: of("--nap").map(str::to_owned),
            tls: run.serve_arguments.iter().any(|word| word == TLS),
        };
        (serve.words().len() == run.serve_arguments.len()).then_some(serve)
    }

    /// The words after `cqldyno serve`.
    pub fn words(&self) -> Vec<String> {
        let values = [
            ("--nodes", self.nodes.map(|nodes| nodes.to_string())),
            ("--shards", self.shards.map(|shards| shards.to_string())),
            ("--answers", self.answers.map(|answers| answers.to_string())),
            ("--delay", self.delay.as_ref().map(|delay| delay.text.clone())),
            ("--nap", self.nap.clone()),
        ];
        let values = values.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?])).flatten();
        values.chain(self.tls.then(|| TLS.to_owned())).collect()
    }
}

/// A delay of answers, with its text, which results show as it was typed.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedDelay {
    text: String,
    /// The time and its jitter.
    pub delay: Delay,
}

/// Reads a time, with `±20%` or `+-20%` after it for a jitter.
impl FromStr for AskedDelay {
    type Err = String;

    fn from_str(text: &str) -> Result<AskedDelay, String> {
        Ok(AskedDelay { text: text.to_owned(), delay: Delay::parse(text, duration)? })
    }
}

impl AskedDelay {
    /// A point of a sweep has a delay in nanoseconds.
    fn at_point(ns: u64) -> AskedDelay {
        AskedDelay { text: format!("{}us", ns as f64 / 1e3), delay: Duration::from_nanos(ns).into() }
    }
}

/// Reads a time: `100us`, `2ms`, `1.5s`, `1min`; `0` is none.
///
/// # Errors
/// How a time is written.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = if text == "0" { "0s" } else { text };
    let time = text.parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
    time.ok_or_else(|| "write a time such as 100us, 2ms, 1.5s or 1min".to_owned())
}

impl Plan {
    /// What the embedded cluster is started with for the scenario: a point of a sweep may have shards or a delay of its own.
    pub(crate) fn served(&self, scenario: Option<&Scenario>) -> Serve {
        let (serve, point) = (self.serve.clone(), scenario.and_then(|scenario| scenario.point));
        Serve {
            shards: serve.shards.or(point.and_then(|point| point.shards)),
            delay: serve.delay.or_else(|| point?.delay_ns.map(AskedDelay::at_point)),
            ..serve
        }
    }

    /// How long the embedded cluster delays each answer of the scenario.
    pub(crate) fn delay(&self, scenario: Option<&Scenario>) -> Delay {
        self.served(scenario).delay.map_or_else(Delay::default, |asked| asked.delay)
    }

    /// How many nodes the embedded cluster has for the scenario, and what each has.
    pub(crate) fn ring(&self, scenario: Option<&Scenario>) -> Topology {
        let Serve { nodes, shards, .. } = self.served(scenario);
        nodes.unwrap_or_default().with_shards(shards).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Option<Serve> {
        let serve_arguments = words.split_whitespace().map(str::to_owned).collect();
        Serve::of(&PlanInfo { serve_arguments, ..PlanInfo::default() })
    }

    #[test]
    fn the_words_of_a_run_are_read_and_come_out_as_they_were_typed() {
        for words in [
            "",
            "--nodes 24,tokens=256,racks=3 --shards 2 --answers each --delay 0.5ms±20% --tls",
            "--nodes 1 --answers 64 --delay 0",
            "--answers reordered --delay 50us+-20% --nap 1ms",
        ] {
            assert_eq!(read(words).unwrap().words().join(" "), words);
        }
        let other_order = read("--tls --delay 1ms --nodes 3").unwrap();
        assert_eq!(other_order.words().join(" "), "--nodes 3 --delay 1ms --tls");
        assert_eq!(other_order.delay.unwrap().delay.mean(), Duration::from_millis(1));
    }

    #[test]
    fn words_of_another_version_are_not_read() {
        for words in ["--later", "--later 1", "--nodes", "--nodes many", "--delay 5", "--nodes 3 --nodes 4"] {
            assert_eq!(read(words), None, "{words}");
        }
    }
}
