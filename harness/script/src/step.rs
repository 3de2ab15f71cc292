//! One step, and which of its fields make sense together.

use serde::{Deserialize, Serialize};

use crate::{Action, Answer, Event, Kind, Time};

/// One step of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it does.
    #[serde(rename = "do")]
    pub action: Action,
    /// Once, so long after the script's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// Once, with the statement of this number. QUERYs, EXECUTEs and BATCHes to all nodes count, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// With every statement whose number is a multiple.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u64>,
    /// The node, from 1; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// The shard, from 0; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<usize>,
    /// The kind of request; absent for all, but for QUERY, EXECUTE and BATCH if they get an error or no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The most connections; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Whether it closes the control connections, which asked for events, and no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<bool>,
    /// How long it lasts; absent for up to the script's end.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Time>,
    /// How late answers are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Time>,
    /// One of so many prepared statements or requests; absent for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_in: Option<u64>,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Answer>,
    /// The event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
    /// How many events are in one write; absent for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
}

/// What is wrong with a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field that is wrong, or `do` if one is missing.
    pub field: &'static str,
    /// A full sentence without its full stop.
    pub message: String,
}

/// What a step did while the script was played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// How often it fired.
    pub fired: u64,
    /// The answers or connections that it touched.
    pub touched: u64,
}

impl Step {
    /// The most events of one write.
    pub const MOST_EVENTS: u64 = 10_000;

    /// A step without any field but what it does.
    pub fn new(action: Action) -> Step {
        Step { action, ..Step::default() }
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// The first field that does not.
    pub fn check(&self) -> Result<(), Fault> {
        let action = self.action;
        let fault = |field, message| Err(Fault { field, message });
        let (required, optional) = fields(action);
        let whens = [("at", self.at.is_some()), ("after", self.after.is_some()), ("every", self.every.is_some())];
        let mut given = whens.iter().filter(|(_, is_given)| *is_given);
        match (given.next(), given.next()) {
            (None, _) => {
                let message = format!(
                    "the step {action} does not say when; give it at (a time), after or every (a number of statements)"
                );
                return fault("do", message);
            }
            (Some((one, _)), Some((other, _))) => {
                return fault(other, format!("the step {action} has both {one} and {other}; leave one of them out"));
            }
            _ => {}
        }
        let numbers = [self.after, self.every, self.connections, self.one_in, self.times];
        let names = ["after", "every", "connections", "one_in", "times"];
        if let Some((field, _)) = names.into_iter().zip(numbers).find(|(_, number)| *number == Some(0)) {
            return fault(field, format!("{field} of the step {action} is 0; use 1 or more, or leave it out"));
        }
        for (field, is_given) in self.given() {
            if is_given && !required.contains(&field) && !optional.contains(&field) {
                let takes = [required, optional].concat();
                let takes =
                    if takes.is_empty() { "no field but at, after and every".to_owned() } else { takes.join(", ") };
                return fault(
                    field,
                    format!("{field} makes no sense in the step {action}; beside its time it takes {takes}"),
                );
            }
            if !is_given && required.contains(&field) {
                return fault("do", format!("the step {action} has no {field}, and cannot be without one"));
            }
        }
        if self.node == Some(0) {
            return fault("node", format!("node of the step {action} is 0; the first node is 1"));
        }
        if self.every.is_some()
            && self.lasts.is_none()
            && matches!(action, Action::Delay | Action::Drop | Action::Error)
        {
            let message = format!(
                "the step {action} fires every so many statements and does not end; give it for, or use at or after"
            );
            return fault("every", message);
        }
        if let (Some(Event::Schema), Some(_)) = (self.event, self.node) {
            return fault("node", "an event of the schema is about no node; leave node out".to_owned());
        }
        if let (Some(event), None) = (self.event.filter(|event| *event != Event::Schema), self.node) {
            return fault("event", format!("the event {event} is about a node; say which with node"));
        }
        if self.times.is_some_and(|times| times > Step::MOST_EVENTS) {
            return fault("times", format!("a write holds at most {} events; use fewer times", Step::MOST_EVENTS));
        }
        let of_statements = [Answer::Unavailable, Answer::WriteTimeout, Answer::ReadTimeout];
        if let (Some(error), Some(kind)) = (self.error, self.kind)
            && of_statements.contains(&error)
            && !kind.is_statement()
        {
            let message =
                format!("no server answers {kind} with {error}; use kind query, execute or batch, or another error");
            return fault("kind", message);
        }
        Ok(())
    }

    /// Every field beside the times, and whether it is given.
    fn given(&self) -> [(&'static str, bool); 11] {
        [
            ("node", self.node.is_some()),
            ("shard", self.shard.is_some()),
            ("kind", self.kind.is_some()),
            ("connections", self.connections.is_some()),
            ("control", self.control.is_some()),
            ("for", self.lasts.is_some()),
            ("by", self.by.is_some()),
            ("one_in", self.one_in.is_some()),
            ("error", self.error.is_some()),
            ("event", self.event.is_some()),
            ("times", self.times.is_some()),
        ]
    }

    /// Whether a cluster of so many nodes has what it names; `shards` of each node if they have the sharding extension.
    ///
    /// # Errors
    /// A full sentence without its full stop.
    pub fn fits(&self, nodes: usize, shards: Option<usize>) -> Result<(), String> {
        if let Some(node) = self.node.filter(|node| *node > nodes) {
            return Err(format!(
                "the step {} of the script names node {node}, and the embedded cluster has {nodes}; ask for more with --nodes {node}",
                self.action
            ));
        }
        match (self.shard, shards) {
            (Some(shard), None) => Err(format!(
                "the step {} of the script names shard {shard}, and the nodes have no shards; ask for some with --shards",
                self.action
            )),
            (Some(shard), Some(shards)) if shard >= shards => Err(format!(
                "the step {} of the script names shard {shard}, and each node has {shards}; the first is 0",
                self.action
            )),
            _ => Ok(()),
        }
    }

    /// Whether it closes control connections alone.
    pub fn is_of_control(&self) -> bool {
        self.control == Some(true)
    }

    /// Whether data connections may be lost or refused because of it.
    pub fn costs_connections(&self) -> bool {
        let costs = matches!(self.action, Action::Close | Action::HalfClose | Action::Refuse | Action::Stop);
        costs && !self.is_of_control()
    }

    /// Whether answers come late or never because of it.
    pub fn costs_time(&self) -> bool {
        matches!(self.action, Action::Hold | Action::Delay | Action::Drop)
    }

    /// What it touches: one of them, and several.
    fn touches(&self) -> (&'static str, &'static str) {
        match self.action {
            Action::Hold | Action::Delay | Action::Drop | Action::Forget | Action::Error => ("answer", "answers"),
            Action::Close | Action::HalfClose | Action::Refuse | Action::Event | Action::Stop | Action::Start => {
                ("connection", "connections")
            }
        }
    }

    /// The step in a few words: `forget, every 1,000 statements`. `grouped` writes numbers.
    pub fn label(&self, grouped: impl Fn(u64) -> String) -> String {
        let at = self.at.map(|at| format!("at {at}"));
        let after = self.after.map(|after| format!("after {} statements", grouped(after)));
        let every = self.every.map(|every| format!("every {} statements", grouped(every)));
        let detail = self.error.map(|error| error.to_string()).or(self.event.map(|event| event.to_string()));
        let node = self.node.map(|node| format!("node {node}"));
        let shard = self.shard.map(|shard| format!("shard {shard}"));
        let kind = self.kind.map(|kind| kind.to_string());
        let control = self.is_of_control().then(|| "control".to_owned());
        let about: Vec<String> = [detail, node, shard, kind, control].into_iter().flatten().collect();
        let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
        format!("{}{about}, {}", self.action, at.or(after).or(every).unwrap_or_default())
    }

    /// What it did, in a sentence.
    pub fn told(&self, played: Played, grouped: impl Fn(u64) -> String) -> String {
        let label = self.label(&grouped);
        let (one, several) = self.touches();
        match played {
            Played { fired: 0, .. } => format!("The script's step {label}, never fired."),
            Played { fired, touched } => format!(
                "The script's step {label}, fired {} and touched {} {}.",
                if fired == 1 { "once".to_owned() } else { format!("{} times", grouped(fired)) },
                grouped(touched),
                if touched == 1 { one } else { several }
            ),
        }
    }
}

/// The fields that an action needs, and those that it takes.
fn fields(action: Action) -> (&'static [&'static str], &'static [&'static str]) {
    match action {
        Action::Close | Action::HalfClose => (&[], &["node", "shard", "connections", "control"]),
        Action::Refuse => (&["for"], &["node"]),
        Action::Hold => (&["for"], &["node", "shard", "kind"]),
        Action::Delay => (&["by"], &["for", "one_in", "node", "shard", "kind"]),
        Action::Drop => (&[], &["for", "one_in", "node", "shard", "kind"]),
        Action::Forget => (&[], &["node", "one_in"]),
        Action::Event => (&["event"], &["node", "times"]),
        Action::Stop | Action::Start => (&["node"], &[]),
        Action::Error => (&["error"], &["for", "one_in", "node", "shard", "kind"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(json: &str) -> Step {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_step_is_written_as_it_was_read() {
        for json in [
            r#"{"do":"half-close","every":1000,"node":2,"connections":1,"control":true}"#,
            r#"{"do":"delay","at":"0s","kind":"query","by":"2s","one_in":10}"#,
            r#"{"do":"drop","every":1000,"node":2,"shard":0,"for":"2s","one_in":10}"#,
            r#"{"do":"error","at":"20ms","kind":"execute","for":"2s","one_in":10,"error":"write_timeout"}"#,
        ] {
            let step = step(json);
            assert_eq!((step.check(), serde_json::to_string(&step).unwrap().as_str()), (Ok(()), json));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_sentence_about_its_field() {
        let refused = |json: &str, field: &str, message: &str| {
            let fault = step(json).check().unwrap_err();
            assert_eq!(fault.field, field, "{fault:?}");
            assert!(fault.message.contains(message), "{fault:?}");
        };
        refused(r#"{"do":"close"}"#, "do", "does not say when; give it at (a time), after or every");
        refused(r#"{"do":"close","at":"1s","every":5}"#, "every", "has both at and every; leave one of them out");
        refused(r#"{"do":"close","every":0}"#, "every", "every of the step close is 0; use 1 or more");
        refused(r#"{"do":"close","every":5,"kind":"query"}"#, "kind", "takes node, shard, connections, control");
        refused(r#"{"do":"hold","every":5}"#, "do", "the step hold has no for, and cannot be without one");
        refused(r#"{"do":"stop","after":5}"#, "do", "the step stop has no node");
        refused(r#"{"do":"stop","after":5,"node":0}"#, "node", "the first node is 1");
        refused(r#"{"do":"delay","every":5,"by":"1ms"}"#, "every", "does not end; give it for, or use at or after");
        refused(r#"{"do":"drop","every":5}"#, "every", "the step drop fires every so many statements and does not end");
        refused(r#"{"do":"drop","at":"1s","by":"1ms"}"#, "by", "takes for, one_in, node, shard, kind");
        refused(r#"{"do":"delay","at":"1s","by":"1ms","one_in":0}"#, "one_in", "one_in of the step delay is 0");
        refused(r#"{"do":"hold","at":"1s","for":"1ms","one_in":2}"#, "one_in", "takes for, node, shard, kind");
        refused(r#"{"do":"refuse","at":"1s","for":"1s","control":true}"#, "control", "takes for, node");
        refused(r#"{"do":"event","every":5,"event":"up"}"#, "event", "the event up is about a node");
        refused(r#"{"do":"event","every":5,"event":"schema","node":1}"#, "node", "is about no node; leave node out");
        refused(r#"{"do":"event","every":5,"event":"schema","times":20000}"#, "times", "at most 10000 events");
        refused(
            r#"{"do":"error","at":"0s","error":"read_timeout","kind":"options"}"#,
            "kind",
            "no server answers options with read_timeout",
        );
    }

    #[test]
    fn a_node_or_a_shard_that_the_cluster_has_not_is_refused() {
        let two = step(r#"{"do":"stop","after":5,"node":2}"#);
        assert_eq!(two.fits(2, None), Ok(()));
        assert!(
            two.fits(1, None)
                .unwrap_err()
                .ends_with("names node 2, and the embedded cluster has 1; ask for more with --nodes 2")
        );
        let shard = step(r#"{"do":"close","after":5,"shard":4}"#);
        assert_eq!(shard.fits(1, Some(5)), Ok(()));
        assert!(shard.fits(1, Some(4)).unwrap_err().ends_with("and each node has 4; the first is 0"));
        assert!(shard.fits(1, None).unwrap_err().ends_with("the nodes have no shards; ask for some with --shards"));
    }

    #[test]
    fn a_step_that_never_fired_is_told_and_another_one_with_its_counts() {
        let told = |json: &str, fired, touched| step(json).told(Played { fired, touched }, |number| number.to_string());
        assert_eq!(
            told(r#"{"do":"forget","every":9}"#, 0, 0),
            "The script's step forget, every 9 statements, never fired."
        );
        assert_eq!(
            told(r#"{"do":"close","after":9,"node":2}"#, 1, 1),
            "The script's step close (node 2), after 9 statements, fired once and touched 1 connection."
        );
        assert_eq!(
            told(r#"{"do":"close","after":9,"control":true}"#, 1, 2),
            "The script's step close (control), after 9 statements, fired once and touched 2 connections."
        );
        assert_eq!(
            told(r#"{"do":"drop","at":"0s","one_in":5}"#, 1, 1),
            "The script's step drop, at 0s, fired once and touched 1 answer."
        );
        assert_eq!(
            told(r#"{"do":"error","at":"0s","error":"overloaded"}"#, 2, 7),
            "The script's step error (overloaded), at 0s, fired 2 times and touched 7 answers."
        );
    }
}
