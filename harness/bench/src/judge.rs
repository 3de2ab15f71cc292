//! What judges a cell: whether its figures count, and in which form results hold them.

pub(crate) mod agreement;
pub(crate) mod bad_day;
pub(crate) mod due;
pub(crate) mod latency;
pub(crate) mod merged;
pub(crate) mod readings;
pub(crate) mod redaction;
pub(crate) mod script;

use cqldyno_protocol::{Done, Tickets};
use cqldyno_reports::{Measure, Unit, whole};
use cqldyno_scenarios::{Operation, Scenario, Workload};

use self::agreement::{Counted, connection_void, may_idle, node_void, rows_not_counted, voids};
use self::due::sessions;
use self::latency::not_paced;
use crate::plan::pass::{Load, Shape};

pub(crate) struct Evidence<'a> {
    pub scenario: &'a Scenario,
    pub workload: &'a Workload,
    /// What was asked for.
    pub load: &'a Load,
    /// Statements of this window.
    pub asked: u64,
    /// The worker's account.
    pub done: &'a Done,
    pub wall_ns: u64,
    /// The server's account, if it is ours.
    pub counted: Option<&'a Counted>,
    /// Sentences that PostgreSQL's log has other commits and rows than the worker says.
    pub uncommitted: &'a [String],
    /// Whether it is a bad day, whose errors and counts are figures.
    pub is_bad_day: bool,
    /// Whether its connections were to be encrypted.
    pub is_encrypted: bool,
    /// Connections that carried the statements, those asked for per node, and nodes; `None` where they are unknown or the driver's choice.
    pub connections: Option<(u64, u64, u64)>,
    pub workers: u64,
}

impl Evidence<'_> {
    /// Sentences that void the window's figures.
    pub(crate) fn voids(&self) -> Vec<String> {
        let Evidence { scenario, done, .. } = *self;
        if self.is_bad_day {
            // Without any answer a worker tells of no rate.
            let unpaced = not_paced(done, self.load.shape).filter(|_| done.answered > 0);
            return unpaced.into_iter().chain(bad_day::voids(done, self.asked)).collect();
        }
        let sessions = sessions(scenario, done);
        let played = self.counted.map_or(&[][..], |counted| &counted.played);
        let mut reasons = voids(&script::without_expected(&scenario.script, played, done), self.asked);
        reasons.extend(not_paced(done, self.load.shape));
        reasons.extend_from_slice(self.uncommitted);
        if let Some(counted) = self.counted {
            reasons.extend(counted.disagreements(scenario, self.workload, done));
            // Every session asks for schema and topology of its own.
            if self.load.shape != Shape::Connecting {
                reasons.extend(counted.own_statements_void(done.issued, sessions + self.workers - 1, self.wall_ns));
            }
            reasons.extend(counted.rows_void(scenario, self.workload, done));
            reasons.extend(counted.plain_void().filter(|_| self.is_encrypted));
        }
        // At a rate, statements may come one by one.
        let in_flight = match self.load.shape {
            Shape::AtRate(_) => 1,
            _ => scenario.in_flight(self.load.concurrency) as u64,
        };
        let idle = |(found, asked, nodes): &_| sessions == 0 && may_idle(*found, *asked, *nodes, in_flight);
        // Those that a script closed may be opened again.
        let is_again =
            |(found, asked, nodes): &(u64, u64, u64)| script::may_be(&scenario.script, played, *found, asked * nodes);
        if let Some((found, asked, nodes)) = self.connections.filter(|one| !is_again(one) && !idle(one)) {
            let ready = self.counted.filter(|_| sessions == 0).map(|counted| counted.ready_by_node(asked));
            let is_ready = ready.as_ref().is_some_and(|ready| ready.values().sum::<u64>() == asked * nodes);
            // Some statements use the worker's own.
            let has_own = scenario.statements.iter().any(|one| one.operation != Operation::Connect);
            let of_all = || connection_void(found, asked, nodes, sessions, has_own).filter(|_| !is_ready);
            let of_node = || ready.as_ref().and_then(|ready| node_void(ready, asked, nodes));
            reasons.extend(of_all().or_else(of_node));
        }
        reasons
    }

    /// Sentences about what is no fault of the driver and explains its figures.
    pub(crate) fn findings(&self) -> Vec<String> {
        let Some(counted) = self.counted else { return Vec::new() };
        // Each session chooses anew.
        let connections = self.connections.filter(|_| sessions(self.scenario, self.done) == 0);
        let hot = connections.and_then(|(_, asked, nodes)| counted.hot_node(asked, nodes));
        hot.into_iter().chain(counted.encrypted_by()).chain(rows_not_counted(self.scenario)).collect()
    }
}

/// What floor found when it read rows of the window back.
pub(crate) struct ReadBack {
    /// Rows that were as they should be, or why none was read.
    pub measure: Measure,
    /// Rows that were not.
    pub wrong: u64,
    /// The same by the window's tickets, if all of them were read.
    pub tickets: Option<Tickets>,
    pub doubt: Option<String>,
}

impl ReadBack {
    pub(crate) fn of(done: Done) -> ReadBack {
        let wrong = done.issued - done.verified;
        let first = done.errors.values().next().map(|error| error.first.clone()).unwrap_or_default();
        let doubt = (wrong > 0).then(|| {
            format!(
                "{} of the inserted rows were read back by floor, and {} were not as they should be; the first: {}.",
                whole(done.issued as f64),
                whole(wrong as f64),
                first.trim_end_matches('.')
            )
        });
        // A row that could not be read is neither there nor lost.
        let tickets = done.trace.filter(|traced| traced.unanswered.count() == 0).map(|traced| traced.failed);
        ReadBack { measure: Measure::value(done.verified as f64, Unit::Count), wrong, tickets, doubt }
    }

    /// Takes the doubt away if no more rows are wrong than so many statements that failed for a known reason.
    pub(crate) fn excused(&mut self, failed: u64) -> Option<String> {
        if self.wrong <= failed { self.doubt.take() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_driver_api::ErrorKind;
    use cqldyno_protocol::ErrorCount;
    use cqldyno_scenarios::builtin;

    #[test]
    fn what_the_log_of_a_server_lacks_voids_a_window_that_is_right_otherwise() {
        let scenario = builtin("writes").unwrap();
        let issued_by_statement = [(scenario.statements[0].name.clone(), 100)].into();
        let done = Done { issued: 100, answered: 100, verified: 100, issued_by_statement, ..Done::default() };
        let voids = |uncommitted: &[String]| {
            let evidence = Evidence {
                scenario: &scenario,
                workload: &Workload::new(&scenario, 100, 0, 1).unwrap(),
                load: &Load { count: 100, warmup: 0, concurrency: 1, shape: Shape::Closed },
                asked: 100,
                done: &done,
                wall_ns: 1,
                counted: None,
                uncommitted,
                workers: 1,
                is_bad_day: false,
                is_encrypted: false,
                connections: None,
            };
            evidence.voids()
        };
        assert_eq!(voids(&[]), Vec::<String>::new());
        let lacks = ["PostgreSQL's log has 99 commits.".to_owned()];
        assert_eq!(voids(&lacks), lacks);
    }

    #[test]
    fn rows_that_came_back_otherwise_are_a_doubt_with_the_first_of_them() {
        let done = |verified| {
            let wrong = ErrorCount { count: 1_000 - verified, first: "for key 7 1 row was expected.".to_owned() };
            let errors = [(ErrorKind::WrongRow, wrong)].into();
            Done { issued: 1_000, answered: 1_000, verified, errors, ..Done::default() }
        };
        assert_eq!(ReadBack::of(Done { errors: [].into(), ..done(1_000) }).doubt, None);
        let (mut few, mut more) = (ReadBack::of(done(997)), ReadBack::of(done(997)));
        assert!(few.excused(3).is_some() && few.doubt.is_none());
        assert!(more.excused(2).is_none() && more.doubt.is_some());
        assert_eq!(
            ReadBack::of(done(997)).doubt.unwrap(),
            "1,000 of the inserted rows were read back by floor, and 3 were not as they should be; the first: for key 7 1 row \
             was expected."
        );
    }
}
