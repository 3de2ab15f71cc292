//! What nodes go through on purpose: a script's steps that a real Cassandra can play, by signals to its processes.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use cqldyno_script::{Action, Event, Step};

/// Something done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Kill,
    Start,
    Freeze,
    Thaw,
}

/// A script under way.
#[derive(Debug)]
pub(crate) struct Play {
    began: Instant,
    /// What is still to be done, when, and to which node, from 0.
    due: VecDeque<(Duration, Deed, usize)>,
    /// Nodes that are killed, frozen, or not there again, with what was done last.
    pub away: BTreeMap<usize, Deed>,
    /// What was done, as clauses, by node.
    done: BTreeMap<usize, Vec<String>>,
}

/// Whether a Cassandra of so many nodes can play a step. Its nodes tell of each other by themselves, so `up` and `down` are left to them.
///
/// # Errors
/// A full sentence without its full stop.
pub fn plays(step: &Step, nodes: usize) -> Result<(), String> {
    let tells = matches!(step.event, Some(Event::Up | Event::Down));
    let is_of_node = step.node.is_some() && step.shard.is_none() && step.kind.is_none() && step.at.is_some();
    match step.action {
        Action::Event if tells => Ok(()),
        Action::Stop | Action::Start | Action::Hold if is_of_node => match step.node {
            Some(node) if node > nodes => Err(format!(
                "the step {} names node {node}, and Cassandra has {nodes}; ask for more with --target cassandra,nodes={node}",
                step.action
            )),
            _ => Ok(()),
        },
        action => Err(format!(
            "Apache Cassandra cannot play the step {action}: it plays stop, start and hold of a whole node at a time; leave --target \
             out, or the step"
        )),
    }
}

impl Play {
    pub fn new(script: &[Step]) -> Play {
        let mut due: Vec<(Duration, Deed, usize)> = script.iter().flat_map(deeds).collect();
        due.sort_by_key(|(at, ..)| *at);
        Play { began: Instant::now(), due: due.into(), away: BTreeMap::new(), done: BTreeMap::new() }
    }

    /// What is to be done now.
    pub fn next(&mut self) -> Option<(Deed, usize)> {
        let (_, deed, node) = self.due.pop_front_if(|(at, ..)| *at <= self.began.elapsed())?;
        Some((deed, node))
    }

    /// Notes what was done to a node just now.
    pub fn note(&mut self, deed: Deed, node: usize) {
        match deed {
            Deed::Thaw => drop(self.away.remove(&node)),
            Deed::Kill | Deed::Start | Deed::Freeze => drop(self.away.insert(node, deed)),
        }
        let word = match deed {
            Deed::Kill => "was killed",
            Deed::Start => "was started",
            Deed::Freeze => "was frozen",
            Deed::Thaw => "went on",
        };
        self.say(node, word);
    }

    /// Notes that a started node listens again.
    pub fn returned(&mut self, node: usize) {
        self.away.remove(&node);
        self.say(node, "listened for CQL again");
    }

    fn say(&mut self, node: usize, word: &str) {
        let at = self.began.elapsed().as_secs_f64();
        self.done.entry(node).or_default().push(format!("{word} after {at:.1} s"));
    }

    /// What was done, a sentence for each node.
    pub fn told(&self) -> Vec<String> {
        let sentence = |(node, done): (&usize, &Vec<String>)| format!("Node {} {}.", node + 1, done.join(", "));
        self.done.iter().map(sentence).collect()
    }
}

fn deeds(step: &Step) -> Vec<(Duration, Deed, usize)> {
    let (Some(at), Some(node)) = (step.at, step.node) else { return Vec::new() };
    let (at, node) = (at.duration(), node.saturating_sub(1));
    match step.action {
        Action::Stop => vec![(at, Deed::Kill, node)],
        Action::Start => vec![(at, Deed::Start, node)],
        Action::Hold => {
            let end = at + step.lasts.unwrap_or_default().duration();
            vec![(at, Deed::Freeze, node), (end, Deed::Thaw, node)]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(json: &str) -> Vec<Step> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn whole_nodes_stop_start_and_hold_and_everything_else_is_refused() {
        let plays = |json: &str| script(json).iter().try_for_each(|step| plays(step, 3));
        assert_eq!(
            plays(r#"[{"do":"stop","at":"1s","node":2},{"do":"event","at":"1s","event":"down","node":2}]"#),
            Ok(())
        );
        assert_eq!(plays(r#"[{"do":"hold","at":"1s","for":"1s","node":3}]"#), Ok(()));
        let many = plays(r#"[{"do":"start","at":"1s","node":4}]"#).unwrap_err();
        assert_eq!(
            many,
            "the step start names node 4, and Cassandra has 3; ask for more with --target cassandra,nodes=4"
        );
        for other in [
            r#"[{"do":"close","at":"1s"}]"#,
            r#"[{"do":"stop","every":5,"node":2}]"#,
            r#"[{"do":"hold","at":"1s","for":"1s"}]"#,
            r#"[{"do":"hold","at":"1s","for":"1s","node":1,"kind":"query"}]"#,
            r#"[{"do":"event","at":"1s","event":"schema"}]"#,
        ] {
            let refused = plays(other).unwrap_err();
            assert!(refused.starts_with("Apache Cassandra cannot play the step "), "{refused}");
        }
    }

    #[test]
    fn steps_are_due_in_the_order_of_their_times_and_told_by_node() {
        let mut play = Play::new(&script(
            r#"[{"do":"start","at":"1us","node":2},{"do":"stop","at":"0s","node":2},{"do":"hold","at":"2us","for":"600s","node":1}]"#,
        ));
        let mut next = || loop {
            if let Some(found) = play.next() {
                play.note(found.0, found.1);
                return found;
            }
        };
        assert_eq!([next(), next(), next()], [(Deed::Kill, 1), (Deed::Start, 1), (Deed::Freeze, 0)]);
        assert_eq!(play.next(), None, "the end of the hold is far");
        assert_eq!(play.away, [(0, Deed::Freeze), (1, Deed::Start)].into());
        play.returned(1);
        play.note(Deed::Thaw, 0);
        assert!(play.away.is_empty());
        assert_eq!(
            play.told(),
            [
                "Node 1 was frozen after 0.0 s, went on after 0.0 s.",
                "Node 2 was killed after 0.0 s, was started after 0.0 s, listened for CQL again after 0.0 s."
            ]
        );
    }
}
