//! Things of one name that differ between runs: their figures stand apart, with the reason.

use crate::ArrangementInfo;
use crate::conditions::on_cores;
use crate::text::{grouped, plain, short_hash, unique};

use super::{Key, Member, unversioned};

/// A name, and what it stands for.
pub(super) type Variant<T> = (String, T);

/// An arrangement's id with the cores of worker and server.
pub(super) fn cores_of(arrangement: &ArrangementInfo) -> Variant<(Vec<u32>, Vec<u32>)> {
    (arrangement.id.clone(), (arrangement.worker_cores.clone(), arrangement.server_cores.clone()))
}

/// All scenarios, arrangements and contenders of a group, those of the newest run first.
pub(super) struct Variants {
    scenarios: Vec<Known<String>>,
    arrangements: Vec<Known<(Vec<u32>, Vec<u32>)>>,
    contenders: Vec<String>,
}

/// A variant and its runs, the newest first.
type Known<T> = (Variant<T>, Vec<String>);

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
        let (scenario, hash) = &key.scenario;
        let scenario = match of(&self.scenarios, scenario).count() {
            0 | 1 => scenario.clone(),
            _ => format!("{scenario} ({})", short_hash(hash)),
        };
        let (arrangement, (worker, server)) = &key.arrangement;
        let arrangement = match of(&self.arrangements, arrangement).count() {
            0 | 1 => arrangement.clone(),
            _ => format!("{arrangement} ({})", on_cores(worker, server)),
        };
        let contender = if key.contender.is_empty() { String::new() } else { format!("{}, ", key.contender) };
        format!("{contender}{scenario} on {arrangement}: {words}")
    }

    /// Why figures of one name stand apart, as full sentences.
    pub fn sentences(&self) -> Vec<String> {
        let scenarios = apart(&self.scenarios, "scenario", |hash| format!("hash {}", short_hash(hash)));
        let arrangements = apart(&self.arrangements, "arrangement", |(worker, server)| on_cores(worker, server));
        scenarios.chain(arrangements).collect()
    }
}

fn apart<T>(all: &[Known<T>], what: &str, told: impl Fn(&T) -> String) -> impl Iterator<Item = String> {
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

fn of<'a, T>(all: &'a [Known<T>], name: &str) -> impl Iterator<Item = &'a Known<T>> {
    all.iter().filter(move |((known, _), _)| known == name)
}

/// The place of the name, and then of the variant.
fn place<T: PartialEq>(all: &[Known<T>], is: &Variant<T>) -> (Option<usize>, Option<usize>) {
    (all.iter().position(|(known, _)| known.0 == is.0), all.iter().position(|(known, _)| known == is))
}

fn runs(names: &[String]) -> String {
    names.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ")
}
