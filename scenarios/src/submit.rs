//! How statements are submitted to a driver: which tasks issue them, and what starts the next one.

use std::str::FromStr;

use cqldyno_driver_api::words;
use serde::{Deserialize, Serialize};

use crate::{Point, Scenario};

words! {
    /// A way of submitting. It decides as much about a figure as the driver does.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Submit {
        /// A task per statement in flight, each with a plain loop.
        #[default]
        Slots = "slots",
        /// One `buffer_unordered` of futures-util per thread of the runtime, each with its share of the statements in flight.
        Stream = "stream",
        /// The same, with tokio's cooperative budget off (`tokio::task::unconstrained`).
        StreamUnconstrained = "stream-unconstrained",
        /// A task per statement, spawned as soon as there is a permit for it.
        Spawn = "spawn",
        /// A task per statement, all spawned at once. Each waits for its permit itself.
        SpawnAll = "spawn-all",
        /// A task per statement, all at once, without a limit.
        Unlimited = "unlimited",
        /// One at a time, on one task.
        Sequential = "sequential",
    }
}

impl Submit {
    /// What it is, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Submit::Slots => "a task with a plain loop per statement in flight",
            Submit::Stream => "one buffer_unordered per thread, with its share of the statements in flight",
            Submit::StreamUnconstrained => "one buffer_unordered per thread, without tokio's cooperative budget",
            Submit::Spawn => "a task per statement, spawned when a semaphore has a permit",
            Submit::SpawnAll => "a task per statement, all spawned at once; each waits for a permit of a semaphore",
            Submit::Unlimited => "a task per statement, all at once, without a limit",
            Submit::Sequential => "one at a time on one task",
        }
    }

    /// Whether the load generator's slots issue the statements, which can keep a rate and issue every operation.
    pub fn has_slots(self) -> bool {
        matches!(self, Submit::Slots | Submit::Sequential)
    }
}

impl FromStr for Submit {
    type Err = String;

    fn from_str(text: &str) -> Result<Submit, String> {
        let names = || Submit::ALL.map(Submit::name).join(", ");
        let known = Submit::ALL.into_iter().find(|way| way.name() == text);
        known.ok_or_else(|| format!("there is no way of submitting {text:?}: there are {}", names()))
    }
}

impl Scenario {
    /// What results call it: [`Scenario::kind`], and which point of a sweep it is.
    pub fn label(&self) -> String {
        let kind = self.kind();
        let Some(Point { in_flight, connections, shards, delay_ns }) = self.point else { return kind };
        let part = |number: Option<u64>, before: &str, what: &str| {
            let plural = if number == Some(1) { "" } else { "s" };
            number.map_or(String::new(), |number| format!(" {before} {number} {what}{plural}"))
        };
        let over = part(connections, "over", "connection");
        let delay = delay_ns.map_or(String::new(), |ns| match ns {
            0 => " with delay 0".to_owned(),
            ns if ns.is_multiple_of(100_000) => format!(" with delay {}ms", ns as f64 / 1e6),
            ns => format!(" with delay {}us", ns as f64 / 1e3),
        });
        format!("{kind}, {in_flight} in flight{over}{}{delay}", part(shards, "on", "shard"))
    }

    /// Its name, and `+` with the way of submitting unless that is the default.
    pub fn kind(&self) -> String {
        match self.submit {
            Submit::Slots => self.name.clone(),
            way => format!("{}+{way}", self.name),
        }
    }

    /// Statements in flight if `asked` are asked for.
    pub fn in_flight(&self, asked: usize) -> usize {
        let own = self.point.and_then(|point| usize::try_from(point.in_flight).ok());
        match self.submit {
            Submit::Sequential => 1,
            _ => self.limits.concurrency(own.map_or(asked, |own| asked.min(own))),
        }
    }

    /// The scenario at a point of a sweep.
    ///
    /// # Errors
    /// When it never has as many in flight: the number that it has.
    pub fn at(&self, point: Point) -> Result<Scenario, u64> {
        let scenario = Scenario { point: Some(point), ..self.clone() };
        match scenario.in_flight(usize::MAX) as u64 {
            own if own < point.in_flight => Err(own),
            _ => Ok(scenario),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_named_as_it_is_written() {
        for way in Submit::ALL {
            assert_eq!(serde_json::to_value(way).unwrap(), way.name());
            assert_eq!(way.name().parse::<Submit>().unwrap(), way);
        }
        let error = "streams".parse::<Submit>().unwrap_err();
        assert!(error.starts_with("there is no way of submitting \"streams\": there are slots, stream, "), "{error}");
    }

    #[test]
    fn only_a_scenario_with_another_way_than_slots_is_called_otherwise() {
        let reads = crate::builtin("reads").unwrap();
        assert_eq!((reads.label().as_str(), reads.in_flight(64)), ("reads", 64));
        assert!(serde_json::to_value(&reads).unwrap().get("submit").is_none(), "its hash is what it was");
        let stream = Scenario { submit: Submit::Stream, ..reads.clone() };
        assert_eq!((stream.label().as_str(), stream.in_flight(64)), ("reads+stream", 64));
        assert_eq!(Scenario { submit: Submit::Sequential, ..reads.clone() }.in_flight(64), 1);
        let limits = crate::Limits { concurrency: Some(8), ..reads.limits };
        assert_eq!(Scenario { limits, ..reads }.in_flight(64), 8, "its own limit holds");
    }

    #[test]
    fn a_point_of_a_sweep_is_named_and_has_its_own_number_in_flight_unless_the_scenario_has_fewer() {
        let point = |in_flight, connections| Point { in_flight, connections, ..Point::default() };
        let reads = crate::builtin("reads").unwrap();
        let at = reads.at(point(64, None)).unwrap();
        assert_eq!((at.label().as_str(), at.in_flight(1_024), at.in_flight(16)), ("reads, 64 in flight", 64, 16));
        assert_eq!(reads.at(point(64, Some(2))).unwrap().label(), "reads, 64 in flight over 2 connections");
        let sharded = |connections, shards| Point { shards: Some(shards), ..point(64, connections) };
        assert_eq!(reads.at(sharded(None, 1)).unwrap().label(), "reads, 64 in flight on 1 shard");
        assert_eq!(reads.at(sharded(Some(1), 4)).unwrap().label(), "reads, 64 in flight over 1 connection on 4 shards");
        for (ns, delay) in [(0, "0"), (1_500, "1.5us"), (200_000, "0.2ms"), (1_000_000, "1ms")] {
            let delayed = reads.at(Point { delay_ns: Some(ns), ..point(64, None) }).unwrap();
            assert_eq!(delayed.label(), format!("reads, 64 in flight with delay {delay}"));
        }
        assert_eq!(crate::builtin("batch").unwrap().at(point(1_024, None)), Err(64));
        assert_eq!(Scenario { submit: Submit::Sequential, ..reads }.at(point(2, None)), Err(1));
    }
}
