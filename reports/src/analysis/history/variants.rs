//! Things of one name that differ between runs: their figures stand apart, with the reason.

use crate::ArrangementInfo;
use crate::conditions::on_cores;
use crate::text::{grouped, plain, short_hash, unique};

use super::{Key, Member, unversioned};

/// A name, and what it stands for: the hash of a scenario, or the cores of an arrangement in words.
pub(super) type Variant = (String, String);

pub(super) fn cores_of(arrangement: &ArrangementInfo) -> Variant {
    (arrangement.id.clone(), on_cores(&arrangement.worker_cores, &arrangement.server_cores))
}

/// All scenarios, arrangements and contenders of a group, those of the newest run first.
pub(super) struct Variants {
    scenarios: Vec<Known>,
    arrangements: Vec<Known>,
    contenders: Vec<String>,
}

/// A variant and its runs, the newest first.
type Known = (Variant, Vec<String>);

impl Variants {
    /// Of runs in the order of their dates.
    pub fn of(members: &[Member]) -> Variants {
        let newest = || members.iter().rev();
        let scenarios = newest().flat_map(|Member { name, run, .. }| {
            run.scenarios.iter().map(|one| ((one.name.clone(), one.hash.clone()), (*name).to_owned()))
        });
        let arrangements = newest().flat_map(|Member { name, run, .. }| {
            run.plan.arrangements.iter().map(|one| (cores_of(one), (*name).to_owned()))
        });
        Variants {
            scenarios: grouped(scenarios),
            arrangements: grouped(arrangements),
            contenders: unique(newest().flat_map(|one| &one.run.contenders).map(unversioned)),
        }
    }

    /// The sort key of a panel: variants of one name are neighbours.
    pub fn place(&self, key: &Key) -> impl Ord + use<> {
        let contender = self.contenders.iter().position(|one| *one == key.contender);
        (place(&self.scenarios, &key.scenario), place(&self.arrangements, &key.arrangement), key.meter, contender)
    }

    /// The panel's heading, which tells variants of one name apart.
    pub fn title(&self, key: &Key, words: &str) -> String {
        let named = |all: &[Known], name: &str, is: &str| match of(all, name).count() {
            0 | 1 => name.to_owned(),
            _ => format!("{name} ({is})"),
        };
        let scenario = named(&self.scenarios, &key.scenario.0, short_hash(&key.scenario.1));
        let arrangement = named(&self.arrangements, &key.arrangement.0, &key.arrangement.1);
        let contender = if key.contender.is_empty() { String::new() } else { format!("{}, ", key.contender) };
        format!("{contender}{scenario} on {arrangement}: {words}")
    }

    /// Why figures of one name stand apart, as full sentences.
    pub fn sentences(&self) -> Vec<String> {
        let scenarios = apart(&self.scenarios, "scenario", |hash| format!("hash {}", short_hash(hash)));
        let arrangements = apart(&self.arrangements, "arrangement", str::to_owned);
        scenarios.chain(arrangements).collect()
    }
}

fn apart(all: &[Known], what: &str, told: impl Fn(&str) -> String) -> impl Iterator<Item = String> {
    let names = unique(all.iter().map(|((name, _), _)| name.as_str()));
    names.into_iter().filter(|name| of(all, name).count() > 1).map(move |name| {
        let each = of(all, name).map(|((_, is), names)| format!("{} in {}", told(is), runs(names)));
        format!(
            "{} is not the same {what} in all of these runs ({}), so only the figures of the same one are joined.",
            plain(name),
            each.collect::<Vec<_>>().join("; ")
        )
    })
}

fn of<'a>(all: &'a [Known], name: &str) -> impl Iterator<Item = &'a Known> {
    all.iter().filter(move |((known, _), _)| known == name)
}

/// The place of the name, and then of the variant.
fn place(all: &[Known], is: &Variant) -> (Option<usize>, Option<usize>) {
    (all.iter().position(|(known, _)| known.0 == is.0), all.iter().position(|(known, _)| known == is))
}

fn runs(names: &[String]) -> String {
    names.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ")
}
