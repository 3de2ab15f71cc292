//! What is wrong with a plan, before anything is started.

use std::time::Duration;

use cqldyno_cassandra::plays;
use cqldyno_cluster::check_keyspace;
use cqldyno_protocol::{LONGEST_TRACE, MOST_IN_FLIGHT, MOST_TRACED};
use cqldyno_reports::{Pass, Role, whole};
use cqldyno_scenarios::{Operation, Scenario, Statement, Workload};

use crate::plan::contender::Contender;
use crate::plan::error::{MOST_CONNECTIONS, OTHER_FILES, PlanError, STREAMS};
use crate::plan::pass::kind;
use crate::plan::placement::{Placement, place};
use crate::plan::target::Target;
use crate::plan::topology::Topology;
use crate::plan::{PATIENCE, POSTGRES, Plan, opens_sessions};

/// As long as the longest ending of a name of a keyspace: an id of the run and the number of the contender.
const LONGEST_SUFFIX: &str = "_01234567_99";

/// Statements in flight on PostgreSQL; some connections are left for us.
const MOST_BACKENDS: usize = cqldyno_postgres::MOST_CONNECTIONS - 100;

/// Data connections of a session have so many control connections beside them at most.
const CONTROL_CONNECTIONS: usize = 2;

impl Plan {
    /// Checks what can be checked before anything is started, and gives each arrangement its cores on this machine.
    ///
    /// # Errors
    /// The first thing that is wrong, with what to do.
    pub fn check(&self, topology: &Topology) -> Result<Vec<Placement>, PlanError> {
        let lists = [
            ("contender", self.contenders.is_empty()),
            ("scenario", self.scenarios.is_empty()),
            ("arrangement", self.arrangements.is_empty()),
        ];
        if let Some((what, _)) = lists.iter().find(|(_, empty)| *empty) {
            return Err(PlanError::Nothing(what));
        }
        let numbers = [
            ("the count", self.count == 0),
            ("the concurrency", self.concurrency == 0),
            ("the number of generations", self.blocks == 0),
            ("the number of statements of a turn", self.turns.count == 0),
            ("the number of rounds", self.turns.rounds == 0),
            ("the rate", self.rate == Some(0) || (self.faults && self.rate.is_none())),
            ("the time of the run", self.within_ms == Some(0)),
            ("the number of connections", self.connections == 0),
        ];
        if let Some((what, _)) = numbers.iter().find(|(_, zero)| *zero) {
            return Err(PlanError::Zero(what));
        }
        self.check_concurrency()?;
        self.check_protocol()?;
        self.unshared().map_or(Ok(()), |why| Err(PlanError::Loaders(why)))?;
        self.contenders.iter().try_for_each(|contender| contender.check(self.settings))?;
        let has_tls = self.target.is_embedded() || self.access.tls.is_some();
        if let Some(one) = self.contenders.iter().find(|one| one.own.tls && !has_tls) {
            return Err(PlanError::Unencrypted(one.to_string(), self.target.clone()));
        }
        for (at, scenario) in self.scenarios.iter().enumerate() {
            if self.scenarios[..at].iter().any(|other| other.label() == scenario.label()) {
                return Err(PlanError::Twice("scenario", scenario.label()));
            }
            self.check_scenario(scenario)?;
        }
        if let Some(reference) = &self.reference {
            let ids = self.ids();
            if !ids.contains(reference) {
                return Err(PlanError::NoReference(reference.clone(), ids.join(", ")));
            }
        }
        let placements = place(&self.arrangements, &self.pin, topology, self.target.is_embedded())?;
        let pinned = placements.iter().find(|one| one.arrangement.pinned);
        if let (Some(pinned), Target::Cassandra(_) | Target::Postgres(_)) = (pinned, &self.target) {
            return Err(PlanError::Unplaced(pinned.arrangement, self.target.clone()));
        }
        for (at, one) in placements.iter().enumerate() {
            if placements[..at].iter().any(|other| other.arrangement == one.arrangement) {
                return Err(PlanError::Twice("arrangement", one.arrangement.to_string()));
            }
        }
        Ok(placements)
    }

    /// Checks one scenario.
    fn check_scenario(&self, scenario: &Scenario) -> Result<(), PlanError> {
        // A scenario whose way of submitting was set on the command line was not checked with it.
        scenario.validate(&scenario.label())?;
        if scenario.tape.is_some() && !self.recordings.contains_key(&scenario.kind()) {
            return Err(PlanError::Unread(scenario.label()));
        }
        for cql in scenario.schema.iter().filter(|_| self.target.is_embedded()) {
            let checked = check_keyspace(cql, self.ring(Some(scenario)));
            checked.map_err(|why| PlanError::Replication(scenario.label(), why))?;
        }
        self.check_script(scenario).map_err(|why| PlanError::Script(scenario.label(), why))?;
        let is_others = !self.keep && matches!(self.target, Target::Addresses { .. });
        if is_others && scenario.with_own_keyspaces(LONGEST_SUFFIX).is_none() {
            return Err(PlanError::OthersKeyspace(scenario.label()));
        }
        if self.passes.contains(&Pass::Latency) && !scenario.submit.has_slots() {
            return Err(PlanError::NoRate(scenario.label(), scenario.submit));
        }
        if self.ladder.is_some() {
            unclimbable(scenario).map_or(Ok(()), |why| Err(PlanError::Unclimbable(scenario.label(), why)))?;
        }
        if self.faults {
            untraceable(scenario, self.count, self.rate.unwrap_or(1))
                .map_or(Ok(()), |why| Err(PlanError::Untraceable(scenario.label(), why)))?;
        }
        let others = self.passes.iter().flat_map(|pass| (kind(*pass).steps)(self));
        let ends = [1, self.blocks].map(|number| self.issued_in(number));
        for count in ends.into_iter().chain(others.map(|step| step.load.count)) {
            let limits = &scenario.limits;
            Workload::new(scenario, limits.count(count), limits.warmup(self.warmup), self.seed)?;
        }
        Ok(())
    }

    /// Why loaders cannot share the load, as the rest of a sentence, if so.
    fn unshared(&self) -> Option<String> {
        let loaders = self.loaders.as_ref()?;
        let number = u64::from(loaders.number);
        let Some(words) = self.launch_words() else {
            return Some(format!("--launch {:?} cannot be read as words of a shell; close its quotes", loaders.launch));
        };
        let names_host = words.iter().any(|word| word.contains("{host}"));
        if loaders.hosts.is_empty() && names_host {
            return Some("--launch has {host}, but --loaders names no host; write --loaders a,b,c".to_owned());
        }
        if !loaders.hosts.is_empty() && !names_host {
            return Some(
                "it names hosts, but --launch has no {host}; write --launch 'ssh {host}', or --loaders N".to_owned(),
            );
        }
        if matches!(self.target, Target::Postgres(_)) || self.faults {
            let what = if self.faults { "a bad day" } else { "PostgreSQL" };
            return Some(format!("{what} runs with one worker only; leave --loaders out"));
        }
        let shared = [Pass::Counting, Pass::Syscalls, Pass::Latency];
        if let Some(pass) = self.passes.iter().find(|pass| !shared.contains(pass)) {
            return Some(format!("the pass {} works with one worker only; leave it out", pass.name()));
        }
        if let Some(rate) = self.rate.filter(|rate| *rate < number) {
            return Some(format!(
                "--rate {rate} is less than one statement per second for each of {number} loaders; raise --rate"
            ));
        }
        self.scenarios.iter().find_map(|scenario| {
            let (label, in_flight) = (scenario.label(), self.in_flight(scenario) as u64);
            match () {
                () if opens_sessions(scenario) || scenario.idle.is_some() || !scenario.script.is_empty() => {
                    Some(format!("the scenario {label} opens sessions, idles or has a script, which needs a single worker; leave the scenario or --loaders out"))
                }
                () if in_flight < number => Some(format!(
                    "the scenario {label} has {in_flight} in flight, fewer than {number} loaders; raise --concurrency, or use fewer loaders"
                )),
                () => None,
            }
        })
    }

    /// Checks that contenders and target speak one protocol, and that PostgreSQL is asked what it can answer.
    fn check_protocol(&self) -> Result<(), PlanError> {
        let is_postgres = |one: &&Contender| one.name() == POSTGRES;
        let other = |one: &Contender, what| Err(PlanError::OtherProtocol(one.to_string(), self.target.clone(), what));
        if !matches!(self.target, Target::Postgres(_)) {
            let found = self.contenders.iter().find(is_postgres);
            return found.map_or(Ok(()), |one| other(one, "add --target postgres"));
        }
        if let Some(one) = self.contenders.iter().find(|one| !is_postgres(one)) {
            return other(one, "name the contender `postgres` alone, or leave --target out");
        }
        let begins = |cql: &str| cql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        for scenario in &self.scenarios {
            let is_known = |one: &Statement| {
                one.operation == Operation::Execute && ["INSERT", "SELECT"].contains(&begins(&one.cql).as_str())
            };
            if let Some(one) = scenario.statements.iter().find(|one| !is_known(one)) {
                return Err(PlanError::NotInSql(scenario.label(), one.name.clone()));
            }
            // The control is one more.
            let (in_flight, sides) = (self.in_flight(scenario), self.contenders.len() + usize::from(self.control));
            if in_flight.saturating_mul(sides) > MOST_BACKENDS {
                return Err(PlanError::Backends(in_flight, sides, MOST_BACKENDS));
            }
        }
        Ok(())
    }

    /// Checks that the cluster plays scripts, and has the nodes and shards that the scenario's names.
    fn check_script(&self, scenario: &Scenario) -> Result<(), String> {
        match &self.target {
            _ if scenario.script.is_empty() => return Ok(()),
            Target::Cassandra(order) if self.faults => {
                return scenario.script.iter().try_for_each(|step| plays(step, order.nodes.into()));
            }
            Target::Embedded => {}
            _ => {
                return Err(format!(
                    "`compare` plays scripts on the embedded cluster only; leave --target {} out, or [[script]] in the scenario, or run \
                     `cqldyno faults --target cassandra`",
                    self.target
                ));
            }
        }
        let ring = self.ring(Some(scenario));
        scenario.script.iter().try_for_each(|step| step.fits(ring.nodes(), ring.shards()))
    }

    /// Checks that so many statements can be in flight, all of them on one node if their keys are there.
    fn check_concurrency(&self) -> Result<(), PlanError> {
        if let Some(connections) = self.connections_each(None).find(|connections| *connections > MOST_CONNECTIONS) {
            return Err(PlanError::Ports(connections));
        }
        for scenario in &self.scenarios {
            let most = self.in_flight(scenario);
            let asked = scenario.point.map_or(self.concurrency as usize, |_| most);
            if most > MOST_IN_FLIGHT {
                return Err(PlanError::Concurrency(asked));
            }
            let fewest = self.connections_each(Some(scenario)).min().filter(|_| self.target.is_embedded());
            if let Some(fewest) = fewest.filter(|fewest| most > fewest.saturating_mul(STREAMS)) {
                return Err(PlanError::Streams(asked, fewest));
            }
        }
        Ok(())
    }

    /// Checks that worker and node may open the connections where a process may have `files` open.
    ///
    /// # Errors
    /// When they may not.
    pub fn check_connections(&self, files: u64) -> Result<(), PlanError> {
        let most = self.connections_each(None).max().unwrap_or_default().saturating_mul(self.ring(None).nodes());
        let free = files.saturating_sub(OTHER_FILES);
        if most as u64 > free {
            return Err(PlanError::Files(most, files));
        }
        for scenario in self.scenarios.iter().filter(|one| opens_sessions(one)) {
            let data = self.connections_each(Some(scenario)).max().unwrap_or_default();
            let each = data.saturating_mul(self.ring(Some(scenario)).nodes()).saturating_add(CONTROL_CONNECTIONS);
            let at_once = self.in_flight(scenario);
            if at_once.saturating_mul(each) as u64 > free {
                return Err(PlanError::SessionFiles(scenario.label(), at_once, each, files));
            }
        }
        Ok(())
    }

    /// The connections per node of each contender that sends something: all but noop do.
    fn connections_each(&self, scenario: Option<&Scenario>) -> impl Iterator<Item = usize> {
        let sending = self.contenders.iter().filter(|contender| contender.role() != Role::Noop);
        sending.map(move |contender| contender.own.in_force(self, scenario).connections)
    }
}

/// Why single statements of the scenario cannot be tracked, as a clause with what to do, if so.
fn untraceable(scenario: &Scenario, count: u64, rate: u64) -> Option<String> {
    if !scenario.submit.has_slots() {
        return Some(format!("the way of submitting {} keeps no rate; submit by slots", scenario.submit));
    }
    if opens_sessions(scenario) {
        return Some("a statement opens a session of its own; leave `operation` out".to_owned());
    }
    if scenario.tape.is_some() {
        return Some("its statements come from a tape; leave the tape out".to_owned());
    }
    let lasts = Duration::from_secs(count / rate.max(1)).saturating_add(PATIENCE);
    if lasts > LONGEST_TRACE {
        let [lasts, most] = [lasts, LONGEST_TRACE].map(|time| time.as_secs());
        return Some(format!(
            "with its patience it would take {lasts} s, and at most {most} s are possible; lower --lasts"
        ));
    }
    (count > MOST_TRACED).then(|| {
        let [count, most] = [count, MOST_TRACED].map(|number| whole(number as f64));
        format!("{count} statements were asked for, and at most {most} can be tracked; lower --rate or --lasts")
    })
}

/// Why response times of the scenario at a rate are none that a ladder can bound, as a clause with what to do, if so.
fn unclimbable(scenario: &Scenario) -> Option<&'static str> {
    if !scenario.script.is_empty() {
        return Some(
            "its script disturbs statements on purpose; leave [[script]] out, or run it with `cqldyno faults`",
        );
    }
    let sessions = "each of its statements opens a session of its own; name a scenario of EXECUTEs, such as mixed";
    opens_sessions(scenario).then_some(sessions)
}

#[cfg(test)]
mod tests;
