//! What is checked, and what was found.

use std::collections::BTreeMap;

use cqldyno_driver_api::words;

words! {
    /// One thing that the worker protocol asks for, in the order in which it is shown.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Check {
        /// `hello`, in time and of this version.
        Hello = "hello",
        /// A message out of order is answered with `failed`.
        Order = "order",
        /// An unknown option is refused by name.
        Refusal = "refusal",
        /// Connects, prepares, warms up, and says `ready`.
        Ready = "ready",
        /// `end` after the last answer.
        Window = "window",
        /// `done` after `ack`.
        Done = "done",
        /// As many statements as asked for, for the worker and for the server.
        Count = "count",
        /// Rows are right, and rows that are not are found.
        Rows = "rows",
        /// Data connections are as many as asked for.
        Connections = "connections",
        /// The histogram can be read and has every answer.
        Histogram = "histogram",
        /// Operations besides `execute` that the worker declares.
        Operations = "operations",
        /// `stop` ends a turn.
        Stop = "stop",
        /// Times fit those that server and system saw.
        Time = "time",
        /// An open loop keeps its account.
        Rate = "rate",
        /// Every turn of several is a turn of its own.
        Turns = "turns",
        /// The exit code is 0 after `done`.
        Exit = "exit",
        /// It ends when the parent is gone.
        Parent = "parent",
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It holds.
    Holds,
    /// It was not asked for, as the sentence says; no deviation.
    LeftOut(String),
    /// It does not hold: a sentence for each deviation.
    Deviates(Vec<String>),
    /// The worker did not come so far.
    NotReached,
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Findings(BTreeMap<Check, Found>);

impl Findings {
    /// These deviations; without any it holds, unless it did not before.
    pub(super) fn judge(&mut self, check: Check, deviations: impl IntoIterator<Item = String>) {
        let mut all: Vec<String> = deviations.into_iter().collect();
        match self.0.get_mut(&check) {
            Some(Found::Deviates(before)) => {
                all.retain(|one| !before.contains(one));
                before.extend(all);
            }
            _ if all.is_empty() => drop(self.0.insert(check, Found::Holds)),
            _ => drop(self.0.insert(check, Found::Deviates(all))),
        }
    }

    pub(super) fn deviates(&self, check: Check) -> bool {
        matches!(self.0.get(&check), Some(Found::Deviates(_)))
    }

    /// It was not asked for.
    pub(super) fn leave_out(&mut self, check: Check, why: &str) {
        self.0.insert(check, Found::LeftOut(why.to_owned()));
    }

    pub(super) fn into_all(mut self) -> Vec<(Check, Found)> {
        Check::ALL.into_iter().map(|check| (check, self.0.remove(&check).unwrap_or(Found::NotReached))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_stays_and_is_told_once() {
        let mut findings = Findings::default();
        findings.judge(Check::Exit, None);
        findings.judge(Check::Exit, ["One.".to_owned()]);
        findings.judge(Check::Exit, ["One.".to_owned(), "Two.".to_owned()]);
        findings.judge(Check::Exit, None);
        findings.leave_out(Check::Rate, "It refuses a rate.");
        let all = findings.into_all();
        let of = |check| all.iter().find(|(one, _)| *one == check).map(|(_, found)| found.clone());
        assert_eq!(of(Check::Exit), Some(Found::Deviates(vec!["One.".to_owned(), "Two.".to_owned()])));
        assert_eq!(of(Check::Rate), Some(Found::LeftOut("It refuses a rate.".to_owned())));
        assert_eq!((of(Check::Hello), all.len()), (Some(Found::NotReached), Check::ALL.len()));
    }
}
