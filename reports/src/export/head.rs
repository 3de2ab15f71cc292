//! What stands over everything: what was run, on what, and how it is judged.

use crate::attempts::repeats;
use crate::comparison::BAND;
use crate::quantity::{memory, whole};
use crate::text::{count, plain};
use crate::{ArrangementInfo, Cell, Run, SummaryRow, reference, why_cut_short};

/// What was run, on what.
pub(crate) fn head(run: &Run) -> Vec<(&'static str, String)> {
    let plan = &run.plan;
    let timeout = time_limit(run);
    let settings = if plan.settings == "default" {
        "every driver's own default settings, as its documentation's first example has them (connections, consistency, pages and time \
         limits differ)"
            .to_owned()
    } else {
        format!(
            "{} a node, {} settings, {}, pages of {} rows, {timeout}",
            count(plan.connections, "data connection"),
            plain(&plan.settings),
            plain(&plan.consistency),
            whole(f64::from(plan.page_size)),
        )
    };
    let mut head = vec![(
        "asked",
        format!(
            "{} of {} statements after {} to warm up, {} in flight, {settings}, seed {}",
            count(plan.blocks.into(), "block"),
            whole(plan.count as f64),
            whole(plan.warmup as f64),
            whole(plan.concurrency as f64),
            plan.seed,
        ),
    )];
    let median = if run.blocks() > 1 { "figures are medians of the blocks; " } else { "" };
    head.push((
        "passes",
        match plan.counting_count {
            0 => format!("{median}system calls were not counted"),
            n => format!("{median}system calls are counted in a cell of their own, of {} statements", whole(n as f64)),
        },
    ));
    let about = plain(&plan.target.about);
    head.push(("target", if plan.target.embedded { about } else { format!("{}, {about}", plain(&plan.target.id)) }));
    head.push(("machine", machine(run)));
    head.push((
        "program",
        format!(
            "cqldyno {}, {}, {}",
            plain(&run.cqldyno),
            plain(&run.environment.compiler),
            plain(&run.environment.profile)
        ),
    ));
    if run.interrupted {
        head.push(("ended", "early: what was not finished is missing here".to_owned()));
    }
    head.extend(why_cut_short(run, None).map(|sentence| ("blocks", sentence)));
    head
}

/// The time that a statement has.
pub(crate) fn time_limit(run: &Run) -> String {
    let limit = run.plan.request_timeout_ms;
    limit.map_or("no time limit".to_owned(), |ms| format!("a time limit of {} ms", whole(ms as f64)))
}

fn machine(run: &Run) -> String {
    let machine = &run.environment;
    let parts = [
        plain(&machine.cpu),
        count(machine.cores.into(), "core"),
        memory(machine.memory_bytes),
        plain(&machine.kernel),
    ];
    let more = machine.more.iter().map(|(name, value)| format!("{} {}", plain(name), plain(value)));
    parts.into_iter().chain(more).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// An arrangement in words.
pub(crate) fn arrangement(arrangement: &ArrangementInfo) -> String {
    // Without a server of ours, being pinned concerns the worker alone.
    let pinned = if arrangement.id.contains("pinned") { "pinned" } else { "unpinned" };
    let note = arrangement.note.as_ref().map(|note| format!(". {}", plain(note))).unwrap_or_default();
    format!(
        "arrangement {}: {pinned}, runtime {}, {}{note}",
        plain(&arrangement.id),
        plain(&arrangement.runtime),
        on_cores(&arrangement.worker_cores, &arrangement.server_cores)
    )
}

/// Where worker and server ran.
pub(crate) fn on_cores(worker: &[u32], server: &[u32]) -> String {
    let server = match server {
        [] => "server on cores that are not known".to_owned(),
        of => format!("server on {}", cores(of)),
    };
    format!("worker on {}, {server}", cores(worker))
}

/// Cores as the kernel lists them, for example `cores 0-3,6`.
fn cores(cores: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &core in cores {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == core => *last = core,
            _ => runs.push((core, core)),
        }
    }
    let list: Vec<String> = runs
        .iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    let noun = if cores.len() == 1 { "core" } else { "cores" };
    format!("{noun} {}", list.join(","))
}

/// How the figures are judged: what the verdicts are read from, and which blocks were run again.
pub(crate) fn judgement(
    run: &Run,
    cells: &[Cell],
    rows: &[SummaryRow],
) -> impl Iterator<Item = (&'static str, String)> {
    let verdicts = verdicts(run, rows).map(|sentence| ("verdicts", sentence));
    verdicts.into_iter().chain(repeats(run, cells).map(|sentence| ("attempts", sentence)))
}

/// What the verdicts are read from, or why there are none; nothing where there is nobody to compare.
fn verdicts(run: &Run, rows: &[SummaryRow]) -> Option<String> {
    let reference = reference(run)?;
    let primary = || rows.iter().filter(|row| !row.exploratory);
    match primary().filter(|row| row.interval.is_some()).count() {
        0 => primary().find_map(|row| row.no_interval.as_ref()).map(|why| format!("none. {}", plain(why))),
        comparisons => Some(format!(
            "read from the 95 % interval of CPU time a statement over that of {}, within blocks, which holds for {}: \
             faster or slower when all of it lies beyond {:.0} %, same when all of it lies within; the smallest difference is \
             what this run would have found with a chance of 90 %; a ratio is taken within blocks and is not the quotient of the medians \
             shown; every other figure is exploratory",
            plain(&reference.label),
            match comparisons {
                1 => "this one comparison".to_owned(),
                more => format!("all {more} comparisons of this run at once"),
            },
            BAND * 100.0,
        )),
    }
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
