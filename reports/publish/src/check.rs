//! What a published run must be, checked when it is published and in every test run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use cqldyno_reports::measure::{SERVER_EXECUTES, STATEMENTS, VERIFIED};
use cqldyno_reports::{
    Analysis, Cell, Combined, Contender, Measure, PACKED_CELLS, Pass, Recorded, Role, Run, plain, read_cells, share,
};
use serde_json::Value;

use crate::archive::unpack;
use crate::page::page;
use crate::path::{machine_path, of_the_machine, without_code};
use crate::store::{
    CELLS, CHART, FILES, NOTES, PAGE, PublishedRun, README, RUN, TABLE, everybody, folders, has_own_histogram,
    is_inside, is_of_a_plan, is_published, name_of, named, unnumbered,
};

/// The least number of blocks from which a published run must have a control.
const CONTROL_BLOCKS: u32 = 3;

/// What is wrong with the runs of one date, each a full sentence that names the file and, where it is about one, the cell.
///
/// Every run can be read, ended and is complete; its control is what its reference is, and its versions are known. No cell failed
/// or is void unless `notes.md` names it. Every file that a cell names is there and no other, none names a folder of the machine, and
/// the page holds the run's cells.
pub fn check(date: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let notes = fs::read_to_string(date.join(NOTES)).unwrap_or_default();
    let shown = name_of(date);
    let folders = match folders(date) {
        Ok(folders) if !folders.is_empty() => folders,
        Ok(_) => return vec![format!("{shown}: it holds no run; remove the folder, or publish a run of that date.")],
        Err(error) => return vec![format!("{error:#}.")],
    };
    strangers(date, &shown, &[README, CHART, NOTES], &mut found);
    found.extend(machine_path(&notes).map(|path| format!("{shown}/{NOTES}{}", of_the_machine(path))));
    let mut days = Vec::new();
    let mut runs = Vec::new();
    for folder in folders {
        let shown = format!("{shown}/{}", name_of(&folder));
        match PublishedRun::read(&folder) {
            Ok(run) => {
                days.push(run.recorded.run.started.strftime("%Y-%m-%d").to_string());
                of_run(&run, &shown, &notes, &mut found);
                runs.push(run);
            }
            Err(error) => found.push(format!("{shown}: {}.", error.root_cause())),
        }
    }
    together(&runs, &shown, &mut found);
    if days.iter().min().is_some_and(|first| *first != shown) {
        found.push(format!(
            "{shown}: its runs are of {}; a folder is named by the day of the first.",
            days.join(" and ")
        ));
    }
    found
}

/// Runs that are numbered are of one plan, and their control does not differ.
fn together(runs: &[PublishedRun], shown: &str, found: &mut Vec<String>) {
    let mut plans: BTreeMap<&str, Vec<(String, Analysis)>> = BTreeMap::new();
    for PublishedRun { name, recorded: Recorded { run, cells, .. }, .. } in runs {
        plans.entry(unnumbered(name)).or_default().push((name.clone(), Analysis::new(run, cells)));
    }
    for plan in plans.values().filter(|plan| plan.len() > 1) {
        match Combined::of(plan) {
            Ok(combined) => found.extend(combined.analysis().doubts().iter().map(|doubt| format!("{shown}: {doubt}"))),
            Err(why) => found.push(format!("{shown}: {why}")),
        }
    }
}

fn of_run(published: &PublishedRun, shown: &str, notes: &str, found: &mut Vec<String>) {
    let Recorded { run, cells, .. } = &published.recorded;
    let analysis = Analysis::new(run, cells);
    let mut say = |file: &str, what: String| found.push(format!("{shown}/{file}{what}"));
    if run.interrupted || run.ended.is_none() {
        say(RUN, ": the run has no end, or was ended early; publish one that was finished.".to_owned());
    }
    if run.cut_short.is_some() && !run.plan.is_open() {
        let ran = format!("{} of {} generations", run.blocks(), run.plan.blocks);
        let advice = "go on with `cqldyno compare --resume DIR` and publish all.";
        say(RUN, format!(": it was cut short after {ran}; {advice}"));
    }
    let (blocks, compares_drivers) = (run.plan.blocks, run.plan.releases.is_empty());
    contenders(run, compares_drivers && is_of_a_plan(&published.name), notes, &mut |what| say(RUN, what));
    let is_control = |one: &Contender| analysis.is_control(one) && one.unavailable.is_none();
    if compares_drivers && blocks >= CONTROL_BLOCKS && !run.contenders.iter().any(is_control) {
        let needed = format!("from {CONTROL_BLOCKS} blocks on a published run must have one.");
        say(RUN, format!(": it has {blocks} blocks and no control; {needed}"));
    }
    for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| analysis.counts(cell)) {
        of_cell(run, cell, notes).into_iter().for_each(|what| say(CELLS, format!(", {}: {what}", nth(at, cell))));
    }
    completeness(&analysis, &mut |what| say(CELLS, what));
    let doubts = analysis.doubts().iter().filter(|doubt| !tell(notes, doubt)).cloned();
    let too_few = analysis.rounds().sentence().filter(|_| analysis.has_too_few_rounds());
    doubts.chain(too_few).for_each(|what| say(CELLS, format!(": {what}")));
    of_files(published, shown, found);
}

/// What is wrong with the files of a run: each that a cell names is there and no other, and none names a folder of the machine.
fn of_files(PublishedRun { folder, recorded, .. }: &PublishedRun, shown: &str, found: &mut Vec<String>) {
    let Recorded { run, cells, .. } = recorded;
    let mut say = |file: &str, what: String| found.push(format!("{shown}/{file}{what}"));
    let files = unpack(&folder.join(FILES)).unwrap_or_else(|error| {
        say(FILES, format!(": it cannot be read ({error}); publish the run again."));
        BTreeMap::new()
    });
    for (at, cell) in cells.iter().enumerate() {
        for (kind, file) in cell.files.iter().filter(|(kind, _)| is_published(cell, kind)) {
            if !is_inside(file) {
                say(CELLS, format!(", {}: its {kind} {file:?} does not lie in the run's folder.", nth(at, cell)));
            } else if !files.is_empty() && !files.contains_key(file) {
                say(file, format!(": this {kind} of {} is missing.", nth(at, cell)));
            }
        }
    }
    let histograms = files.keys().filter(|name| name.starts_with("hdr/")).count();
    let least = cells.iter().filter(|cell| cell.failed.is_none() && has_own_histogram(cell)).count();
    if histograms < least {
        say(FILES, format!(": it holds {histograms} histograms, and {least} cells ended."));
    }
    let mut lines = Vec::new();
    drop(read_cells(folder).and_then(|mut cells| cells.read_to_end(&mut lines)));
    let [of_run, table] = [RUN, TABLE].map(|file| fs::read(folder.join(file)).unwrap_or_default());
    let named: BTreeSet<String> = named(run, cells).into_iter().filter(|file| is_inside(file)).collect();
    let packed = named.iter().filter_map(|file| Some((file.as_str(), files.get(file)?)));
    for (file, bytes) in [(RUN, &of_run), (TABLE, &table), (CELLS, &lines)].into_iter().chain(packed) {
        let text = String::from_utf8_lossy(bytes);
        // A drawing may hold a script of its own.
        let text = if file.ends_with(".svg") { without_code(&text) } else { text };
        machine_path(&text).into_iter().for_each(|path| say(file, of_the_machine(path)));
    }
    page(folder, recorded, &mut |what| say(PAGE, what));
    if !folder.join(TABLE).is_file() {
        say(TABLE, ": it is missing; publish the run again.".to_owned());
    }
    for inner in folders(folder).unwrap_or_default() {
        say(&name_of(&inner), "/: it is no folder of a published run; remove it.".to_owned());
    }
    // A run of the first version does not name its histograms.
    let is_named = |name: &str| if named.is_empty() { name.starts_with("hdr/") } else { named.contains(name) };
    for name in files.keys().filter(|name| !is_named(name)) {
        say(FILES, format!(": nothing names its {name}; publish the run again."));
    }
    strangers(folder, shown, &[RUN, CELLS, PACKED_CELLS, FILES, PAGE, TABLE], found);
}

/// Files in the folder that have none of the names.
fn strangers(folder: &Path, shown: &str, names: &[&str], found: &mut Vec<String>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut strangers: Vec<String> = entries.filter(|path| !path.is_dir()).map(|path| name_of(&path)).collect();
    strangers.retain(|name| !names.contains(&name.as_str()));
    strangers.sort();
    found.extend(strangers.iter().map(|name| format!("{shown}/{name}: it is no file of a published run; remove it.")));
}

/// Whether `notes` hold the whole `phrase`: block 10 is not block 1. Line breaks and backticks do not matter.
fn tell(notes: &str, phrase: &str) -> bool {
    let words = |text: &str| text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ");
    let (notes, phrase) = (words(notes), words(phrase));
    let mut places = notes.match_indices(&phrase);
    places.any(|(at, _)| {
        let before = notes[..at].chars().next_back();
        let after = notes[at + phrase.len()..].chars().next();
        before.is_none_or(|c| !(c.is_alphanumeric() || "-_@#+=./".contains(c)))
            && after.is_none_or(|c| !c.is_alphanumeric())
    })
}

/// A cell, as messages and notes name it.
fn name(cell: &Cell) -> String {
    let place = [&cell.contender, &cell.scenario, &cell.arrangement].map(|part| plain(part)).join(", ");
    format!("{place}, {}, block {}", cell.pass.name(), cell.block)
}

fn nth(at: usize, cell: &Cell) -> String {
    format!("cell {} ({})", at + 1, name(cell))
}

fn contenders(run: &Run, is_default: bool, notes: &str, say: &mut impl FnMut(String)) {
    let missing: Vec<&str> = everybody().filter(|id| run.contender(id).is_none()).collect();
    if is_default && !missing.is_empty() {
        say(format!(": {} took no part, and a published run has all contenders.", missing.join(", ")));
    }
    let environment = &run.environment;
    let known = [
        ("cqldyno's version", &run.cqldyno),
        ("the processor", &environment.cpu),
        ("the kernel", &environment.kernel),
        ("the compiler", &environment.compiler),
    ];
    for (what, _) in known.iter().filter(|(_, value)| value.is_empty()) {
        say(format!(": {what} is unknown."));
    }
    if environment.profile != "release" {
        say(format!(
            ": the program was built as {:?}; only what a release build measures is published.",
            environment.profile
        ));
    }
    for one in &run.contenders {
        let id = plain(&one.id);
        if let Some(why) = &one.unavailable {
            if !tell(notes, &format!("{id} could not be asked")) {
                say(format!(
                    ": {id} could not be asked, and {NOTES} does not say \"{id} could not be asked\": {}",
                    plain(why)
                ));
            }
            continue;
        }
        let mut versions = vec![("version", &one.version), ("compiler", &one.compiler)];
        // A worker in another language has a load generator of its own, which has no build.
        versions.extend(is_default.then_some(("build", &one.build)));
        if run.checksum.is_some() {
            versions.push(("executable", &one.executable));
        }
        for (what, _) in versions.iter().filter(|(_, value)| value.is_empty()) {
            say(format!(": the {what} of {id} is unknown."));
        }
    }
}

/// What is wrong with a cell that counts, if anything.
fn of_cell(run: &Run, cell: &Cell, notes: &str) -> Option<String> {
    let trouble = match (&cell.failed, &cell.void) {
        (Some(why), _) => Some(("failed", why)),
        (None, Some(why)) => Some(("is void", why)),
        (None, None) => None,
    };
    if let Some((what, why)) = trouble {
        let told = tell(notes, &name(cell)) && !why.trim().is_empty();
        return (!told).then(|| format!("it {what}, and {NOTES} does not name it: {}", plain(why)));
    }
    let why = cell.measures.values().find_map(Measure::reason).map(plain).unwrap_or_default();
    if cell.measures.values().all(|measure| measure.get().is_none()) {
        let said = format!("it was not measured; measure where that is possible, or without the pass. {why}");
        return Some(said.trim_end().to_owned());
    }
    let Some(issued) = cell.get(STATEMENTS) else {
        return Some("the number of its statements is missing.".to_owned());
    };
    let [verified, executes] = [VERIFIED, SERVER_EXECUTES].map(|id| cell.get(id).unwrap_or_default());
    let is_counted = run.plan.target.embedded && executes_only(run, cell) && !is_noop(run, cell);
    let seen = [
        (Some(verified), "were verified"),
        (asked(run, cell).map(|asked| asked as f64), "were asked for"),
        (Some(executes).filter(|_| is_counted), "were EXECUTEs that the server counted"),
    ];
    let told = |(number, how): (Option<f64>, &str)| {
        let number = number.filter(|number| *number != issued)?;
        Some(format!("it issued {issued} statements and is not void, and {number} {how}."))
    };
    seen.into_iter().find_map(told)
}

/// How many statements the plan asks for, within the scenario's limits; `None` if the pass has a count of its own.
fn asked(run: &Run, cell: &Cell) -> Option<u64> {
    let count = match cell.pass {
        Pass::Timing => run.plan.issued_in(cell.block),
        Pass::Counting => run.plan.counting_count,
        _ => return None,
    };
    let Some(scenario) = run.scenarios.iter().find(|one| one.name == cell.scenario) else { return Some(count) };
    let issued = scenario.count(count);
    Some(match cell.round {
        Some(round) if run.contender(&cell.contender)?.role == Role::Driver => {
            share(issued, run.rounds(scenario), round)
        }
        // There for scale, in one turn of a generation, or in another pass.
        _ => issued,
    })
}

/// Whether nothing was sent.
fn is_noop(run: &Run, cell: &Cell) -> bool {
    run.contender(&cell.contender).is_some_and(|one| one.role == Role::Noop)
}

/// Whether every statement of the cell's scenario is an EXECUTE.
fn executes_only(run: &Run, cell: &Cell) -> bool {
    let scenario = run.scenarios.iter().find(|one| one.name == cell.scenario);
    let statements = scenario.and_then(|one| one.definition.as_ref()?.get("statement")?.as_array());
    let is_execute = |one: &Value| one.get("operation").is_none_or(|operation| operation == "execute");
    statements.is_none_or(|all| all.iter().all(is_execute))
}

/// A runtime with one thread, as [`cqldyno_reports::ArrangementInfo::runtime`] has it.
const ONE_THREAD: &str = "current";

/// Every contender that can be asked, in every place, block and pass, once.
fn completeness(analysis: &Analysis, say: &mut impl FnMut(String)) {
    let run = analysis.run();
    let all: Vec<u32> = (1..=run.blocks()).collect();
    // Instructions are counted on one thread alone where that is an arrangement.
    let one_thread = run.plan.arrangements.iter().any(|one| one.runtime == ONE_THREAD);
    let passes: BTreeSet<Pass> = run.plan.passes.iter().copied().chain([Pass::Timing]).collect();
    for place in analysis.places() {
        let can = |one: &&Contender| one.unavailable.is_none() && !place.scenario.left_out.contains_key(&one.id);
        let is_counted =
            |pass: Pass| pass != Pass::Instructions || !one_thread || place.arrangement.runtime == ONE_THREAD;
        for contender in run.contenders.iter().filter(can) {
            // A control runs in timing blocks only.
            for pass in passes.iter().filter(|pass| **pass == Pass::Timing || !contender.control && is_counted(**pass))
            {
                let cells = analysis.cells_of(place, contender, *pass);
                let mut ran: Vec<u32> = cells.iter().map(|cell| cell.block).collect();
                ran.sort_unstable();
                // A generation has several turns.
                ran.dedup();
                let expected = match pass {
                    Pass::Timing if ran != all => format!("generations 1 to {} once each", run.blocks()),
                    Pass::Timing => continue,
                    _ if ran.is_empty() => "one".to_owned(),
                    _ => continue,
                };
                let names =
                    [&contender.id, &place.scenario.name, &place.arrangement.id].map(|part| plain(part)).join(", ");
                let number = ran.len();
                say(format!(
                    ": {names}, {} has cells of {number} blocks ({ran:?}), and {expected} were expected.",
                    pass.name()
                ));
            }
        }
    }
}
