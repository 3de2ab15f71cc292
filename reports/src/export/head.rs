//! What was run, on what, and how it is judged.

use std::time::Duration;

use crate::conditions::{on_cores, time_limit};
use crate::quantity::{lasting, memory, short_count, whole};
use crate::text::{count, plain, sentence, unique};
use crate::{Analysis, ArrangementInfo, LadderInfo, PointInfo, Run, why_cut_short, why_passes_left_out};

pub(crate) fn title(run: &Run) -> String {
    let plan = &run.plan;
    let blocks = if run.blocks() > 1 && !run.is_open() { format!("{} x ", run.blocks()) } else { String::new() };
    let on = match plan.arrangements.as_slice() {
        [only] => format!(" on {}", plain(&only.id)),
        _ => String::new(),
    };
    let is_swept = run.scenarios.iter().any(|one| one.point.is_some());
    let statements = match is_swept {
        true => format!("up to {}", short_count(plan.statements())),
        false => run.statements(short_count),
    };
    let turns = match (plan.turns.rounds, plan.blocks) {
        (1, 1) => String::new(),
        (1, _) => format!("{}turns of ", blocks.replace("x ", "")),
        (rounds, _) => format!("{blocks}{rounds} turns of "),
    };
    let mut asked = vec![format!("{turns}{statements} statements"), format!("{}{on}", run.in_flight())];
    if let Some(rate) = plan.rate.filter(|_| plan.faults) {
        asked = vec![format!("{statements} statements per day at {} per second{on}", whole(rate as f64))];
        asked.extend(plan.request_timeout_ms.map(|ms| format!("time limit {ms} ms with equal settings")));
    }
    if let Some(ladder) = &plan.ladder {
        let bound = format!("{} below {}", ladder.percentile(), ladder.bound());
        asked = vec![format!("highest rate with {bound}"), steps(ladder), format!("up to {}{on}", run.in_flight())];
    }
    if plan.connections != 1 {
        asked.push(connections(run, "connection"));
    }
    let shards = points(run).filter_map(|point| point.shards).max();
    asked.extend(shards.map(|most| format!("up to {}", count(most, "shard"))));
    if plan.settings == "default" {
        asked.push("default settings".to_owned());
    }
    let target = match plan.target.started() {
        Some(started) => plain(started),
        None if plan.target.embedded => "embedded cluster".to_owned(),
        None => format!("target {}", plain(&plan.target.id)),
    };
    format!("{}; {target}, {}", asked.join(", "), count(run.environment.cores.into(), "core"))
}

pub(crate) fn steps(ladder: &LadderInfo) -> String {
    format!("steps of {}", lasting(Duration::from_millis(ladder.lasts_ms)))
}

fn points(run: &Run) -> impl Iterator<Item = &PointInfo> {
    run.scenarios.iter().filter_map(|scenario| scenario.point.as_ref())
}

/// How many connections there are, or the most of a sweep.
fn connections(run: &Run, what: &str) -> String {
    let most = if points(run).any(|point| point.connections.or(point.shards).is_some()) { "up to " } else { "" };
    format!("{most}{}", count(run.plan.connections, what))
}

pub(crate) fn threads(arrangement: &ArrangementInfo) -> String {
    match arrangement.runtime.split_once(':') {
        Some(("multi", "1")) => "1 tokio thread".to_owned(),
        Some(("multi", threads)) => format!("{} tokio threads", plain(threads)),
        None if arrangement.runtime == "current" => "1 tokio thread".to_owned(),
        _ => format!("runtime {}", plain(&arrangement.runtime)),
    }
}

/// What was run, on what: a name and a sentence each.
pub(crate) fn head(run: &Run) -> Vec<(String, String)> {
    let plan = &run.plan;
    let timeout = time_limit(run);
    let settings = if plan.settings == "default" {
        "the default settings of each driver's documentation (connections, consistency, pages and time limits differ)"
            .to_owned()
    } else {
        format!(
            "{} per node, {} settings, {}, pages of {} rows, {timeout}",
            connections(run, "data connection"),
            plain(&plan.settings),
            plain(&plan.consistency),
            whole(f64::from(plan.page_size)),
        )
    };
    let asked = format!(
        "{} after {} to warm up, {}, {settings}, seed {}",
        plan.ladder.as_ref().map_or_else(|| run.size(), steps),
        run.warmup(),
        run.in_flight(),
        plan.seed,
    );
    let counted = match plan.counting_count {
        0 => "system calls were not counted".to_owned(),
        n => format!("system calls are counted in separate cells of {} statements", whole(n as f64)),
    };
    let target = match plan.target.embedded || plan.target.started().is_some() {
        true => plain(&plan.target.about),
        false => format!("{}, {}", plain(&plan.target.id), plain(&plan.target.about)),
    };
    let program = [&run.cqldyno, &run.environment.compiler, &run.environment.profile].map(|part| plain(part));
    let program = format!("cqldyno {}", program.join(", "));
    let mut head = vec![("asked", asked), ("passes", counted), ("target", target), ("machine", machine(run))];
    head.push(("program", program));
    if run.interrupted {
        head.push(("ended", "early: unfinished cells are missing".to_owned()));
    }
    head.extend(why_cut_short(run).map(|sentence| ("cut short", sentence)));
    head.extend(why_passes_left_out(run).map(|sentence| ("left out", sentence)));
    head.into_iter().map(|(name, said)| (name.to_owned(), said)).collect()
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

pub(crate) fn arrangement(arrangement: &ArrangementInfo) -> String {
    // Without a server of ours, being pinned concerns the worker alone.
    let pinned = if arrangement.id.contains("pinned") { "pinned" } else { "unpinned" };
    let note = arrangement.note.as_ref().map(|note| format!(". {}", plain(note))).unwrap_or_default();
    sentence(&format!(
        "arrangement {}: {pinned}, runtime {}, {}{note}",
        plain(&arrangement.id),
        plain(&arrangement.runtime),
        on_cores(&arrangement.worker_cores, &arrangement.server_cores),
    ))
}

/// How many rounds count, and why others do not; nothing if nobody looked.
pub(crate) fn rounds(analysis: &Analysis) -> Option<String> {
    let (counting, all) = analysis.rounds.counting()?;
    let why = analysis.rounds.sentence().map_or(String::new(), |why| format!(". {why}"));
    Some(format!("{} of {} count{why}", whole(counting as f64), whole(all as f64)))
}

const WHOLE: &str = "Each contender issued all its statements in one piece, so the ratios compare stretches of time as well as drivers.";

/// How the size of the run came about: in one piece or one after the other, why it ended, and how many rounds count if not all do and
/// enough for a verdict.
pub(crate) fn sized(analysis: &Analysis) -> Vec<String> {
    let run = analysis.run;
    let apart = unique(run.scenarios.iter().filter_map(|one| one.apart.as_deref().map(plain)));
    let fewer = analysis.rounds.counting().filter(|(counting, all)| counting < all);
    let fewer = fewer.filter(|_| !analysis.has_too_few_rounds()).map(|(counting, all)| {
        let [counting, all] = [counting, all].map(|number| whole(number as f64));
        format!("{counting} of {all} rounds count; in the others {}.", analysis.rounds.because())
    });
    let whole = run.plan.whole.then(|| WHOLE.to_owned());
    whole.into_iter().chain(apart).chain(analysis.until.clone()).chain(fewer).collect()
}

/// How to read figures and verdicts, or why there are no verdicts; nothing if there is nobody to compare.
pub(crate) fn verdicts(analysis: &Analysis) -> Option<String> {
    let reference = analysis.reference?;
    let primary = || analysis.rows.iter().filter(|row| row.is_primary());
    let hold = match primary().filter(|row| row.interval.is_some()).count() {
        0 => return primary().find_map(|row| row.no_interval.as_ref()).map(|why| format!("none. {}", plain(why))),
        1 => "The 95 % interval holds for this comparison".to_owned(),
        more => format!("The 95 % intervals hold for all {more} comparisons of CPU time at once"),
    };
    Some(format!(
        "Figures of short tables are means over all turns, those of wide tables are medians over rounds{summed}. A ratio is the level of CPU time \
         per statement over that of {}, in the same rounds. {hold}. Cheaper or dearer means that the whole interval lies beyond the band, \
         or beyond 1 % if both are the same driver; same means that all of it lies within. Faster or slower says the same of statements \
         per second, beyond the band for every driver; their intervals hold all at once, too. The band is {}. The smallest difference \
         is what this run would have found with a chance of 90 %. Server is the server's CPU us per statement. Every other figure is exploratory.",
        plain(&reference.label),
        analysis.bands(),
        summed = match analysis.run.plan.total {
            Some(_) => ", but real, user and sys are sums over all turns",
            None => "",
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadersInfo, sample};

    #[test]
    fn threads_are_said_in_few_words() {
        let (run, _) = sample::run();
        let mut one = run.plan.arrangements[0].clone();
        assert_eq!(threads(&one), "2 tokio threads");
        one.runtime = "multi:1".to_owned();
        assert_eq!(threads(&one), "1 tokio thread");
        one.runtime = "current".to_owned();
        assert_eq!(threads(&one), "1 tokio thread");
        one.runtime = "goroutines".to_owned();
        assert_eq!(threads(&one), "runtime goroutines");
    }

    #[test]
    fn a_first_line_has_the_numbers_that_ran_and_not_those_that_were_asked_for() {
        let (mut run, _) = sample::run();
        (run.plan.turns.count, run.plan.concurrency, run.plan.warmup) = (100_000, 64, 10);
        let limited = serde_json::json!({"limits": {"count": 100, "concurrency": 1, "warmup": 3}});
        run.scenarios[0].definition = Some(limited.clone());
        assert!(title(&run).contains("100 to 100k statements, 1 to 64 in flight"), "{}", title(&run));
        run.scenarios.iter_mut().for_each(|one| one.definition = Some(limited.clone()));
        assert!(title(&run).contains(" 100 statements, 1 in flight"), "{}", title(&run));
        let asked = &head(&run)[0].1;
        assert!(asked.contains(" of 100 statements after 3 to warm up, 1 in flight, "), "{asked}");
        assert!(run.size().ends_with(" of 100 statements"), "{}", run.size());
        let sequential = serde_json::json!({"submit": "sequential"});
        run.scenarios.iter_mut().for_each(|one| one.definition = Some(sequential.clone()));
        assert!(title(&run).contains("100k statements, 1 in flight"), "{}", title(&run));
        run.plan.loaders = Some(LoadersInfo { number: 2, ..LoadersInfo::default() });
        assert!(title(&run).contains("100k statements, 1 in flight from 2 loaders on "), "{}", title(&run));
    }
}
