//! What must be equal for figures of two runs to be comparable: a list per question, from one that all have in common.

use crate::quantity::whole;
use crate::text::{count, plain, short_hash};
use crate::{Contender, Run};

/// What runs must have in common, by what it is called.
pub(crate) type Conditions = Vec<(String, String)>;

/// The names of which both lists have a value, and not the same one, with both values.
pub(crate) fn differing<'a>(was: &'a Conditions, is: &'a Conditions) -> Vec<[&'a str; 3]> {
    let mut found = Vec::new();
    for (name, was) in was {
        let other = is.iter().find(|(other, _)| other == name);
        found.extend(other.filter(|(_, is)| is != was).map(|(_, is)| [name.as_str(), was, is]));
    }
    found
}

/// Of any two runs: the machine.
fn machine(run: &Run) -> [(&'static str, String); 3] {
    [
        ("the processor", run.environment.cpu.clone()),
        ("the number of cores", run.environment.cores.to_string()),
        ("the kernel", run.environment.kernel.clone()),
    ]
}

/// Of any two runs: what was asked, and of what build.
fn asked(run: &Run) -> [(&'static str, String); 3] {
    let plan = &run.plan;
    let asked = format!(
        "{} in flight, {}, {} settings, {}, pages of {}, {}",
        whole(plan.concurrency as f64),
        count(plan.connections, "connection"),
        plan.settings,
        plan.consistency,
        count(plan.page_size.unsigned_abs().into(), "row"),
        time_limit(run),
    );
    let served = if plan.serve_arguments.is_empty() { "as it does".to_owned() } else { plan.serve_arguments.join(" ") };
    [
        ("the profile", run.environment.profile.clone()),
        ("what was asked", asked),
        ("the server's way of answering", served),
    ]
}

fn target(run: &Run) -> (&'static str, String) {
    let target = &run.plan.target;
    // A cluster that is not ours says the same of itself wherever it is.
    ("the target", if target.embedded { target.about.clone() } else { target.id.clone() })
}

fn collected(all: impl IntoIterator<Item = (&'static str, String)>) -> Conditions {
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Of runs that share a line of a history.
pub(crate) fn of_lines(run: &Run) -> Conditions {
    let plan = &run.plan;
    let size = format!("{}, {} before the window", count(plan.statements(), "statement"), whole(plan.warmup as f64));
    let [profile, asked, served] = asked(run);
    collected(machine(run).into_iter().chain([profile, target(run), asked, served, ("the count", size)]))
}

/// Of runs whose counts are compared.
pub(crate) fn of_counts(run: &Run) -> Conditions {
    let plan = &run.plan;
    let [timed, counted, before] =
        [plan.statements(), plan.counting_count, plan.warmup].map(|count| whole(count as f64));
    let arrangements = plan.arrangements.iter().map(|one| {
        format!("{} with the worker on cores {:?} and the server on {:?}", one.id, one.worker_cores, one.server_cores)
    });
    let [profile, asked, served] = asked(run);
    let own = [
        ("the number of statements", format!("{timed} ({counted} in a cell that counts, {before} before the window)")),
        ("the list of scenarios", scenarios(run)),
        ("the list of arrangements", arrangements.collect::<Vec<_>>().join(", ")),
        ("the load generator", run.load_generators()),
    ];
    collected(machine(run).into_iter().chain([profile, target(run), asked, served]).chain(own))
}

/// Of runs of one plan with this reference: everything but the machine, the time, and how much was run of it.
pub(crate) fn of_plan(run: &Run, reference: Option<&Contender>) -> Conditions {
    let plan = &run.plan;
    let mut labels: Vec<&str> = run.contenders.iter().map(|one| one.label.as_str()).collect();
    labels.sort_unstable();
    let arrangements: Vec<&str> = plan.arrangements.iter().map(|one| one.id.as_str()).collect();
    let own = [
        ("the contenders", labels.join(", ")),
        ("the reference", reference.map_or(String::new(), |one| one.label.clone())),
        ("the scenarios", scenarios(run)),
        ("the arrangements", arrangements.join(", ")),
        ("the count", format!("{} statements per turn", whole(plan.statements() as f64))),
        ("the statements before the window", whole(plan.warmup as f64)),
        ("the orders of functions", plan.layouts.unwrap_or_default().to_string()),
        ("cqldyno's version", run.cqldyno.clone()),
    ];
    // Of an existing cluster only the kind matters: every machine may have its own.
    let target = ("the target", plan.target.about.clone());
    let mut all = collected(own.into_iter().chain(asked(run)).chain([target]));
    all.extend(run.contenders.iter().flat_map(of_contender));
    all
}

/// What a contender is made of.
fn of_contender(one: &Contender) -> Conditions {
    let libraries = one.libraries.iter().map(|library| format!("{} {}", library.name, library.version));
    let of = [
        ("the libraries", libraries.collect::<Vec<_>>().join(", ")),
        ("the compiler", one.compiler.clone()),
        ("the load generator", short_hash(&one.build).to_owned()),
        ("the build on demand", one.built.as_ref().map_or("none", |built| short_hash(&built.key)).to_owned()),
        ("the concurrency", one.in_flight.map_or("the run's".to_owned(), |own| whole(own as f64))),
        ("the availability", if one.unavailable.is_some() { "missing" } else { "there" }.to_owned()),
    ];
    of.map(|(what, value)| (format!("{what} of {}", plain(&one.label)), value)).into()
}

pub(crate) fn time_limit(run: &Run) -> String {
    let limit = run.plan.request_timeout_ms;
    limit.map_or("no time limit".to_owned(), |ms| format!("a time limit of {} ms", whole(ms as f64)))
}

pub(crate) fn on_cores(worker: &[u32], server: &[u32]) -> String {
    let server = match server {
        [] => "server on cores that cqldyno does not set".to_owned(),
        of => format!("server on {}", cores(of)),
    };
    format!("worker on {}, {server}", cores(worker))
}

/// Cores as the kernel lists them, for example `cores 0-3,6`.
fn cores(cores: &[u32]) -> String {
    let part = |run: &[u32]| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(u32::to_string).collect(),
    };
    let list: Vec<String> = cores.chunk_by(|one, next| one + 1 == *next).map(part).collect();
    let noun = if cores.len() == 1 { "core" } else { "cores" };
    format!("{noun} {}", list.join(","))
}

fn scenarios(run: &Run) -> String {
    run.scenarios.iter().map(|one| format!("{} {}", one.name, short_hash(&one.hash))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_listed_as_the_kernel_lists_them() {
        assert_eq!(cores(&[0]), "core 0");
        assert_eq!(cores(&[0, 1, 2, 5]), "cores 0-2,5");
    }
}
