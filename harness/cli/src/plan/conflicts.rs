//! What cannot be asked of `compare` together.

use anyhow::Result;
use cqldyno_bench::{Contender, Plan, Serve, Target};
use cqldyno_driver_api::{Consistency, Settings};

use super::releases::is_all;
use super::values::Writing;
use super::{Asked, Conditions};
use crate::access::{AskedTarget, AskedTls};
use crate::outcome::usage;

fn first<const N: usize>(given: [(&'static str, bool); N]) -> Option<&'static str> {
    given.into_iter().find_map(|(flag, given)| given.then_some(flag))
}

impl Asked {
    /// Refuses a size without statements, and what belongs to time if releases are compared by counts.
    pub(super) fn check_size(&self, contenders: &[String], exact: bool) -> Result<()> {
        if self.is_whole() && self.count.is_none() {
            return Err(usage(
                "--turn all was given without --count, all of which it issues in one turn; give --count",
            ));
        }
        if self.quick && self.explains() {
            return Err(usage(
                "--quick was given together with --pass explain, which needs intervals; leave out one or the other",
            ));
        }
        let of_time = [
            ("--quick", self.quick),
            ("--publish", self.publish),
            ("--pass explain", self.explains()),
            ("--rate", self.fixed_rate().is_some()),
            ("--layouts", self.layouts.is_some()),
        ];
        let of_time = first(of_time).or(self.of_open());
        match (contenders.iter().find(|text| exact && is_all(text)), of_time) {
            (Some(text), Some(flag)) => Err(usage(format!(
                "{flag} was given, and {text} is compared by counts; add --within 20min, or leave {flag} out"
            ))),
            _ => Ok(()),
        }
    }

    /// What it takes to be let in to a cluster, and that only one that exists is asked for it.
    pub(super) fn access(&self, conditions: &Conditions) -> Result<cqldyno_bench::Access> {
        let AskedTarget { target, datacenter, keep, .. } = &self.target;
        let own = [("`datacenter`", datacenter.is_some()), ("`keep`", *keep)];
        let is_own = matches!(target, Target::Addresses { .. });
        match &conditions.access.tls {
            Some(AskedTls::Own) if is_own => {
                return Err(usage(format!(
                    "--tls was given without a CA for the target {target}; write --tls ca=FILE, or --tls unverified"
                )));
            }
            Some(AskedTls::Existing(_)) if !is_own => {
                let instead = if target.is_embedded() { "write --tls alone" } else { "leave --tls out" };
                return Err(usage(format!(
                    "--tls was given with the target {target} and a value, which existing clusters need; {instead}, or name a cluster of \
                     yours with --target"
                )));
            }
            _ => {}
        }
        if let Some((word, _)) = own.into_iter().find(|(_, given)| *given && !is_own) {
            return Err(usage(format!(
                "{word} was given with the target {target}, which is started for the run; leave {word} out, or name a cluster of yours \
                 with --target"
            )));
        }
        let access = conditions.access.read()?;
        if access.credentials.is_some() && !is_own {
            return Err(usage(format!(
                "a user was given for the target {target}, which is started without users; leave --user out, or name a cluster of yours \
                 with --target"
            )));
        }
        Ok(access)
    }

    /// Refuses what makes no sense with ladders, on another target, or with points of a sweep.
    pub(super) fn check_together(&self, serve: &Serve, releases: bool) -> Result<()> {
        let [.., shards] = self.numbers();
        shards.iter().try_for_each(|number| self.nodes.topology(Some(*number)).map(drop))?;
        self.check_ladder(releases)?;
        self.check_target(serve)?;
        let unfit = first([("NAME@all, whose chart is over releases", releases), ("--publish", self.publish)]);
        if let (Some(flag), true) = (unfit, self.distances().len() > 1) {
            return Err(usage(format!(
                "several times of --delay were given together with {flag}; give one, or leave that out"
            )));
        }
        if let (Some(flag), true) = (self.unfit_for_sweeps(releases), self.is_numbered()) {
            return Err(usage(format!(
                "several numbers of --concurrency, --connections or --shards were given together with {flag}; give one number, or leave that \
                 out"
            )));
        }
        Ok(())
    }

    /// Refuses what makes no sense with ladders.
    fn check_ladder(&self, releases: bool) -> Result<()> {
        if self.ladder().is_none() {
            return Ok(());
        }
        let sizes = [
            ("--pass", !self.pass.is_empty()),
            ("--quick", self.quick),
            ("--count", self.count.is_some()),
            ("--blocks", self.blocks.is_some()),
            ("--publish", self.publish),
            ("--turn", self.turn.is_some()),
            ("--layouts", self.layouts.is_some()),
            ("--until", self.until.is_some()),
            ("--reference", self.reference.is_some()),
            ("NAME@all", releases),
        ];
        if let Some(flag) = first(sizes) {
            return Err(usage(format!(
                "{flag} was given together with --ladder, which chooses rates itself and has no generations; leave one of them out"
            )));
        }
        let mut numbers = ["--concurrency", "--connections", "--shards"].into_iter().zip(self.numbers());
        match numbers.find(|(_, numbers)| numbers.len() > 1) {
            None => Ok(()),
            Some((flag, _)) => Err(usage(format!(
                "several numbers of {flag} were given together with --ladder, whose curves are over --delay; give one number"
            ))),
        }
    }

    /// Refuses for another target what only the embedded cluster is asked.
    fn check_target(&self, serve: &Serve) -> Result<()> {
        let target = &self.target.target;
        if target.is_embedded() {
            return Ok(());
        }
        if let Some(several) = self.shards.as_ref().filter(|all| all.0.len() > 1) {
            return Err(usage(format!(
                "--shards {several} was given with the target {target}, and only the embedded cluster is started for each number of shards; \
                 leave --shards out"
            )));
        }
        if self.distances().len() > 1 {
            return Err(usage(format!(
                "several times of --delay were given with the target {target}, and only the embedded cluster delays answers; leave --delay or \
                 --target out"
            )));
        }
        let words = serve.words();
        match words.first() {
            None => Ok(()),
            Some(flag) => Err(usage(format!(
                "{flag} was given with the target {target}, and works on the embedded cluster alone; leave {flag} out, or start a cluster with `cqldyno \
                 serve {}` and name its address",
                words.join(" ")
            ))),
        }
    }

    /// What was asked for that is of one number in flight, of connections and of shards.
    fn unfit_for_sweeps(&self, releases: bool) -> Option<&'static str> {
        first([
            ("NAME@all, whose chart is over releases", releases),
            ("--publish", self.publish),
            ("--pass explain", self.explains()),
            ("--rate", self.fixed_rate().is_some()),
            ("--pass latency", self.pass.iter().any(|name| ["latency", "all"].contains(&name.as_str()))),
            ("--answers cassandra", matches!(self.answers, Some(Writing::Cassandra))),
        ])
    }

    /// What was asked of runs that go on as long as there is time.
    fn of_open(&self) -> Option<&'static str> {
        first([("--turn", self.turn.is_some() && self.count.is_none()), ("--until", self.until.is_some())])
    }

    /// Refuses for a run of a fixed size what is asked of one that goes on.
    pub(super) fn check_open(&self, is_open: bool) -> Result<()> {
        let Some(flag) = self.of_open().filter(|_| !is_open) else { return Ok(()) };
        let instead = if self.sweeps() { "give one number in flight" } else { "leave out --publish" };
        Err(usage(format!("{flag} was given for a run of a fixed size; leave it out, or {instead}")))
    }

    /// Refuses what the settings `default` leave to drivers.
    pub(super) fn check_settings(&self, plan: &Plan) -> Result<()> {
        let has_default = |one: &Contender| one.own.settings.unwrap_or(plan.settings) == Settings::Default;
        if plan.datacenter.is_some() && plan.contenders.iter().any(has_default) {
            return Err(usage(
                "a datacenter was given together with the settings `default`, under which some drivers ignore it; leave one of them out",
            ));
        }
        let given = [
            ("--connections", self.connections.is_some()),
            ("--request-timeout", self.request_timeout.0.is_some()),
            ("--consistency", self.consistency != Consistency::LocalOne),
        ];
        if let (Some(flag), true) = (first(given), plan.contenders.iter().all(has_default)) {
            return Err(usage(format!(
                "{flag} was given together with the settings `default`, with which every driver keeps its own; leave one of them out"
            )));
        }
        Ok(())
    }
}
