//! Whether runs have one plan: the same question to the same contenders. Machines may differ.

use crate::conditions::{differing, of_plan};
use crate::text::{list, plain, short_hash, unique};
use crate::{Analysis, Contender, Environment, Run};

/// Refuses runs of other plans, and a run that was named twice.
///
/// # Errors
/// What differs between the first run and another one, and what to do.
pub(super) fn same(named: &[(String, Analysis)]) -> Result<(), String> {
    for (at, (name, one)) in named.iter().enumerate() {
        let is_it = |(_, other): &&(String, Analysis)| {
            one.run.started == other.run.started && one.every_cell == other.every_cell
        };
        if let Some((other, _)) = named[..at].iter().find(is_it) {
            return Err(format!(
                "{} and {} are one and the same run, of {}; name another run of this plan.",
                plain(other),
                plain(name),
                one.run.started
            ));
        }
    }
    let fields = |one: &Analysis| of_plan(one.run, one.reference);
    let (first, known) = (&named[0].0, fields(&named[0].1));
    for (name, other) in &named[1..] {
        let found = fields(other);
        let said = |text: &str| if text.is_empty() { "unknown".to_owned() } else { plain(text) };
        let differs = differing(&known, &found)
            .into_iter()
            .map(|[what, was, is]| format!("{what} ({} and {})", said(was), said(is)));
        let differs: Vec<String> = differs.chain(builds(&named[0].1, other)).collect();
        if !differs.is_empty() {
            return Err(format!(
                "{} and {} differ in {}. Only runs of one plan are combined: repeat a run with its own command.",
                plain(first),
                plain(name),
                list(&differs)
            ));
        }
    }
    Ok(())
}

/// The contenders whose executables differ, with both.
fn executables<'a>(one: &'a Run, other: &'a Run) -> impl Iterator<Item = (&'a Contender, String)> {
    one.contenders.iter().filter(|mine| !mine.control).filter_map(|mine| {
        let theirs = other.contenders.iter().find(|theirs| theirs.label == mine.label)?;
        let differ =
            mine.executable != theirs.executable && !mine.executable.is_empty() && !theirs.executable.is_empty();
        differ.then(|| (mine, format!("{} and {}", short_hash(&mine.executable), short_hash(&theirs.executable))))
    })
}

/// Executables that differ on one machine: somebody changed an adapter or its build in between.
fn builds(one: &Analysis, other: &Analysis) -> Vec<String> {
    let machine = |one: &Analysis| {
        let Environment { cpu, cores, memory_bytes, kernel, .. } = one.run.environment.clone();
        (cpu, cores, memory_bytes, kernel)
    };
    if machine(one) != machine(other) {
        return Vec::new();
    }
    let found = executables(one.run, other.run);
    found.map(|(contender, both)| format!("the executable of {} ({both})", plain(&contender.label))).collect()
}

/// A sentence on executables that differ between machines, and on cqldyno's own.
pub(super) fn other_builds(named: &[(String, Analysis)]) -> Vec<String> {
    let first = named[0].1.run;
    let differing = named[1..].iter().flat_map(|(_, other)| executables(first, other.run));
    let labels = unique(differing.map(|(contender, _)| plain(&contender.label)));
    let of_workers = (!labels.is_empty()).then(|| {
        format!(
            "The machines have builds of their own of {}, so what changes between runs holds that, too.",
            list(&labels)
        )
    });
    let is_other = named[1..].iter().any(|(_, other)| other.run.executable != first.executable);
    let of_ours =
        is_other.then(|| "The runs have other executables of cqldyno, and so of the embedded cluster.".to_owned());
    of_workers.into_iter().chain(of_ours).collect()
}
