//! What a published run must be, checked when it is published and in every test run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use cqldyno_reports::measure::{CONNECTIONS, ERRORS, SERVER_EXECUTES, STATEMENTS, VERIFIED};
use cqldyno_reports::{Analysis, Cell, Combined, Contender, Pass, Recorded, Role, Run, plain, read_cells, share};
use serde_json::Value;

use crate::archive::unpack;
use crate::page::page;
use crate::path::{machine_path, without_code};
use crate::store::{
    CELLS, CHART, FILES, NOTES, PAGE, PublishedRun, README, RUN, TABLE, everybody, folders, is_inside, is_of_a_plan,
    is_published, name_of, named, unnumbered,
};
use crate::strangers::{files_in, stranger, strangers};

/// The least number of blocks from which a published run must have a control.
const CONTROL_BLOCKS: u32 = 3;

/// What is wrong with the runs of one date, each a full sentence that names the file and, where it is about one, the cell.
///
/// Every run can be read, ended and is complete; its control is what its reference is, and its versions are known. No cell failed
/// or is void unless `notes.md` names it, and the server counted what each worker issued. Every file that a cell names is there
/// and no other, none names a folder of the machine, and the page holds the run's cells.
pub fn check(date: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let notes = fs::read_to_string(date.join(NOTES)).unwrap_or_default();
    let shown = name_of(date);
    let folders = match folders(date) {
        Ok(folders) if !folders.is_empty() => folders,
        Ok(_) => return vec![format!("{shown}: it holds no run; remove the folder, or publish a run of that date.")],
        Err(error) => return vec![format!("{error:#}.")],
    };
    for name in files_in(date) {
        if ![README, CHART, NOTES].contains(&name.as_str()) {
            found.push(stranger(&shown, &name));
        }
    }
    if let Some(path) = machine_path(&notes) {
        found.push(of_the_machine(&format!("{shown}/{NOTES}"), path));
    }
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
    let PublishedRun { folder, recorded, .. } = published;
    let Recorded { run, cells, .. } = recorded;
    let mut say = |file: &str, what: String| found.push(format!("{shown}/{file}{what}"));
    if run.interrupted || run.ended.is_none() {
        say(RUN, ": the run has no end, or was ended early; publish one that was finished.".to_owned());
    }
    if run.cut_short.is_some() && !run.plan.is_open() {
        let (blocks, asked) = (run.blocks(), run.plan.blocks);
        say(
            RUN,
            format!(
                ": it was cut short after {blocks} of {asked} {}s; go on with `cqldyno compare --resume DIR` and publish all.",
                run.plan.repeated()
            ),
        );
    }
    let is_default = run.plan.releases.is_empty() && is_of_a_plan(&published.name);
    contenders(run, is_default, notes, &mut |what| say(RUN, what));
    let analysis = Analysis::new(run, cells);
    let compares_drivers = run.plan.releases.is_empty();
    if compares_drivers && run.plan.blocks >= CONTROL_BLOCKS && !has_control(&analysis) {
        say(
            RUN,
            format!(
                ": it has {} blocks and no control; from {CONTROL_BLOCKS} blocks on a published run must have one.",
                run.plan.blocks
            ),
        );
    }
    let counted: Vec<(usize, &Cell)> = cells.iter().enumerate().filter(|(_, cell)| analysis.counts(cell)).collect();
    for (at, cell) in &counted {
        if let Some(what) = of_cell(run, cell, notes) {
            say(CELLS, format!(", cell {} ({}): {what}", at + 1, name(cell)));
        }
    }
    completeness(run, &counted, &mut |what| say(CELLS, what));
    for doubt in analysis.doubts().iter().filter(|doubt| !tell(notes, doubt)) {
        say(CELLS, format!(": {doubt}"));
    }
    if let Some(too_few) = analysis.rounds().sentence().filter(|_| analysis.has_too_few_rounds()) {
        say(CELLS, format!(": {too_few}"));
    }
    if let Some(noise) = analysis.noise().filter(|noise| 2 * noise.disturbed > noise.blocks) {
        say(
            CELLS,
            format!(": {} of {} blocks were disturbed; measure on a quiet machine.", noise.disturbed, noise.blocks),
        );
    }
    let files = unpack(&folder.join(FILES)).unwrap_or_else(|error| {
        say(FILES, format!(": it cannot be read ({error}); publish the run again."));
        BTreeMap::new()
    });
    for (at, cell) in cells.iter().enumerate() {
        for (kind, file) in cell.files.iter().filter(|(kind, _)| is_published(cell, kind)) {
            if !is_inside(file) {
                let who = name(cell);
                say(CELLS, format!(", cell {} ({who}): its {kind} {file:?} does not lie in the run's folder.", at + 1));
            } else if !files.is_empty() && !files.contains_key(file) {
                say(file, format!(": this {kind} of cell {} ({}) is missing.", at + 1, name(cell)));
            }
        }
    }
    let histograms = files.keys().filter(|name| name.starts_with("hdr/")).count();
    let least = cells.iter().filter(|cell| cell.failed.is_none() && cell.round.is_none()).count();
    if histograms < least {
        say(FILES, format!(": it holds {histograms} histograms, and {least} cells ended."));
    }
    let own = [RUN, TABLE].map(|file| (file, fs::read(folder.join(file)).unwrap_or_default()));
    let mut packed = Vec::new();
    drop(read_cells(folder).and_then(|mut cells| cells.read_to_end(&mut packed)));
    let own = own.into_iter().chain([(CELLS, packed)]).collect::<Vec<_>>();
    let own = own.iter().map(|(file, bytes)| (*file, bytes));
    let named: BTreeSet<String> = named(run, cells).into_iter().filter(|file| is_inside(file)).collect();
    let packed = named.iter().filter_map(|file| Some((file.as_str(), files.get(file)?)));
    for (file, bytes) in own.chain(packed) {
        let text = String::from_utf8_lossy(bytes);
        let text = if is_drawing(file) { without_code(&text) } else { text };
        if let Some(path) = machine_path(&text) {
            found.push(of_the_machine(&format!("{shown}/{file}"), path));
        }
    }
    let mut say = |file: &str, what: String| found.push(format!("{shown}/{file}{what}"));
    page(folder, recorded, &mut |what| say(PAGE, what));
    if !folder.join(TABLE).is_file() {
        say(TABLE, ": it is missing; publish the run again.".to_owned());
    }
    strangers(folder, &named, files.keys(), shown, found);
}

/// Whether a file may hold a script of its own.
fn is_drawing(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "svg")
}

fn of_the_machine(file: &str, path: &str) -> String {
    format!("{file}: it names {path}, which is a folder of the machine that measured; nobody else has it.")
}

/// Whether the reference runs a second time under another name.
fn has_control(analysis: &Analysis) -> bool {
    analysis.run().contenders.iter().any(|one| analysis.is_control(one) && one.unavailable.is_none())
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
    format!(
        "{}, {}, {}, {}, block {}",
        plain(&cell.contender),
        plain(&cell.scenario),
        plain(&cell.arrangement),
        cell.pass.name(),
        cell.block
    )
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
        if run.schema > 1 {
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
    let value = |id: &str| cell.get(id);
    if cell.measures.values().all(|measure| measure.get().is_none()) {
        let why = cell.measures.values().find_map(|measure| measure.reason()).map(plain).unwrap_or_default();
        return Some(
            format!("it was not measured; measure where that is possible, or without the pass. {why}")
                .trim_end()
                .to_owned(),
        );
    }
    let errors = cell.error_kinds.iter().map(|line| line.count).sum::<u64>().max(cell.errors());
    if errors > 0 || value(ERRORS).is_none() {
        return Some(format!("it had {errors} errors and is not void; a statement that failed voids its cell."));
    }
    let Some(statements) = value(STATEMENTS) else {
        return Some("the number of its statements is missing.".to_owned());
    };
    let issued = cell.issued_by_statement.values().sum::<u64>() as f64;
    if issued != statements {
        return Some(format!("it issued {statements} statements, and {issued} by name."));
    }
    let asked = asked(run, cell);
    if let Some(asked) = asked.filter(|asked| *asked as f64 != statements) {
        return Some(format!("it issued {statements} statements, and {asked} were asked for."));
    }
    let verified = value(VERIFIED).unwrap_or_default();
    if verified != statements {
        return Some(format!("it issued {statements} statements, and {verified} were verified."));
    }
    let contender = run.contender(&cell.contender)?;
    if !run.plan.target.embedded || contender.role == Role::Noop || !executes_only(run, cell) {
        return None;
    }
    let executes = value(SERVER_EXECUTES).unwrap_or_default();
    if executes != statements {
        return Some(format!("it issued {statements} statements, and the server counted {executes} EXECUTEs."));
    }
    let connections = value(CONNECTIONS).unwrap_or_default();
    let asked = run.plan.connections as f64;
    let one_node = run.plan.serve_arguments.is_empty() && run.plan.settings == "equal";
    (one_node && connections != asked)
        .then(|| format!("its statements came over {connections} data connections, and {asked} were asked for."))
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
        // There for scale, in one turn of a generation, or without turns.
        _ => issued,
    })
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
fn completeness(run: &Run, counted: &[(usize, &Cell)], say: &mut impl FnMut(String)) {
    let mut blocks: BTreeMap<(&str, &str, &str, Pass), Vec<u32>> = BTreeMap::new();
    for (_, cell) in counted {
        let place = (cell.contender.as_str(), cell.scenario.as_str(), cell.arrangement.as_str(), cell.pass);
        blocks.entry(place).or_default().push(cell.block);
    }
    let all: Vec<u32> = (1..=run.blocks()).collect();
    // Instructions are counted on one thread alone where that is an arrangement.
    let one_thread = run.plan.arrangements.iter().any(|one| one.runtime == ONE_THREAD);
    let mut asked = |contender: &Contender, scenario: &str, arrangement: &str, pass: Pass| {
        let key = (contender.id.as_str(), scenario, arrangement, pass);
        let mut ran = blocks.get(&key).cloned().unwrap_or_default();
        ran.sort_unstable();
        // A generation has several turns.
        if run.plan.turns.is_some() {
            ran.dedup();
        }
        let whole = if pass == Pass::Timing { ran == all } else { !ran.is_empty() };
        if !whole {
            let expected = if pass == Pass::Timing {
                format!("{}s 1 to {} once each", run.plan.repeated(), run.blocks())
            } else {
                "one".to_owned()
            };
            say(format!(
                ": {}, {}, {}, {} has cells of {} blocks ({ran:?}), and {expected} were expected.",
                plain(&contender.id),
                plain(scenario),
                plain(arrangement),
                pass.name(),
                ran.len(),
            ));
        }
    };
    let mut passes: BTreeSet<Pass> = run.plan.passes.iter().copied().collect();
    passes.insert(Pass::Timing);
    if run.plan.counting_count > 0 {
        passes.insert(Pass::Counting);
    }
    for scenario in &run.scenarios {
        for arrangement in &run.plan.arrangements {
            let can = |one: &&Contender| one.unavailable.is_none() && !scenario.left_out.contains_key(&one.id);
            for contender in run.contenders.iter().filter(can) {
                let is_counted =
                    |pass: &&Pass| **pass != Pass::Instructions || !one_thread || arrangement.runtime == ONE_THREAD;
                for pass in passes.iter().filter(is_counted) {
                    // A control runs in timing blocks only.
                    if *pass == Pass::Timing || !contender.control {
                        asked(contender, &scenario.name, &arrangement.id, *pass);
                    }
                }
            }
        }
    }
}
