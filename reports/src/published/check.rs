//! What a published run must be, checked wherever one is: when it is published and in every test run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value;

use super::{CELLS, CHART, NOTES, PAGE, PublishError, PublishedRun, README, RUN, TABLE, folders, name_of};
use crate::attempts::Attempts;
use crate::measure::{CONNECTIONS, ERRORS, SERVER_EXECUTES, STATEMENTS, VERIFIED};
use crate::{Cell, Contender, PAGE_LIMIT, Pass, Recorded, Role, Run, Summary, plain};

/// Who is in every published run.
const EVERYBODY: [&str; 5] = ["scylla", "cdrs-tokio", "cassandra-cpp", "floor", "noop"];

/// What is wrong with the runs of one date, each a full sentence that names the file and, where it is about one, the cell.
///
/// Of every run: it can be read (schema version, and the checksum from version 2 on), it ended, every contender ran every
/// scenario in every arrangement and block, no cell failed or is void that `notes.md` does not tell of, no statement failed,
/// the server counted what the worker issued, the control is what the reference is, all versions are known, no file names a
/// folder of the machine, every histogram is there, and the page holds the cells of the run.
pub fn check(date: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let notes = fs::read_to_string(date.join(NOTES)).unwrap_or_default();
    let shown = name_of(date);
    let folders = match folders(date) {
        Ok(folders) if !folders.is_empty() => folders,
        Ok(_) => return vec![format!("{shown}: it holds no run; remove the folder, or publish a run of that date.")],
        Err(error) => return vec![format!("{error}.")],
    };
    strangers(date, &[README, CHART, NOTES], &shown, &mut found);
    let mut days = Vec::new();
    for folder in folders {
        let shown = format!("{shown}/{}", name_of(&folder));
        match PublishedRun::read(&folder) {
            Ok(run) => {
                days.push(run.recorded.run.started.strftime("%Y-%m-%d").to_string());
                of_run(&run, &shown, &notes, &mut found);
            }
            Err(PublishError::Run { error, .. }) => found.push(format!("{shown}: {error}.")),
            Err(error) => found.push(format!("{shown}: {error}.")),
        }
    }
    if days.iter().min().is_some_and(|first| *first != shown) {
        found.push(format!(
            "{shown}: its runs are of {}; a folder is named by the day of the first.",
            days.join(" and ")
        ));
    }
    found
}

fn of_run(published: &PublishedRun, shown: &str, notes: &str, found: &mut Vec<String>) {
    let PublishedRun { folder, recorded, .. } = published;
    let Recorded { run, cells, .. } = recorded;
    let mut say = |file: &str, what: String| found.push(format!("{shown}/{file}{what}"));
    if run.interrupted || run.ended.is_none() {
        say(RUN, ": the run has no end, or was ended early; publish one that was finished.".to_owned());
    }
    contenders(run, notes, &mut |what| say(RUN, what));
    let of = Attempts::of(cells);
    let counted: Vec<(usize, &Cell)> = cells.iter().enumerate().filter(|(_, cell)| of.counts(cell)).collect();
    for (at, cell) in &counted {
        if let Some(what) = of_cell(run, cell, notes) {
            say(CELLS, format!(", cell {} ({}): {what}", at + 1, name(cell)));
        }
    }
    completeness(run, &counted, &mut |what| say(CELLS, what));
    for warning in Summary::new(run, cells).warnings {
        say(CELLS, format!(": {warning}"));
    }
    for (at, cell) in cells.iter().enumerate() {
        for (kind, file) in &cell.files {
            if !folder.join(file).is_file() {
                say(file, format!(": this {kind} of cell {} ({}) is missing.", at + 1, name(cell)));
            }
        }
    }
    let histograms = fs::read_dir(folder.join("hdr")).map_or(0, Iterator::count);
    let least = cells.iter().filter(|cell| cell.failed.is_none()).count();
    if histograms < least {
        say("hdr", format!(": it holds {histograms} histograms, and {least} cells ended."));
    }
    for file in [RUN, CELLS, TABLE] {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
        if let Some(path) = machine_path(&text) {
            say(
                file,
                format!(": it names {path}, which is a folder of the machine that measured; nobody else has it."),
            );
        }
    }
    page(folder, recorded, &mut |what| say(PAGE, what));
    if !folder.join(TABLE).is_file() {
        say(TABLE, ": it is missing; publish the run again.".to_owned());
    }
    strangers(folder, &[RUN, CELLS, PAGE, TABLE], shown, found);
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

fn contenders(run: &Run, notes: &str, say: &mut impl FnMut(String)) {
    let missing: Vec<&str> = EVERYBODY.into_iter().filter(|id| run.contender(id).is_none()).collect();
    if !missing.is_empty() {
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
        say(format!(": {what} is not told."));
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
            if !notes.contains(&one.id) {
                say(format!(": {id} could not be asked, and {NOTES} does not tell of it: {}", plain(why)));
            }
            continue;
        }
        let mut versions = vec![("version", &one.version), ("build", &one.build), ("compiler", &one.compiler)];
        if run.schema > 1 {
            versions.push(("executable", &one.executable));
        }
        for (what, _) in versions.iter().filter(|(_, value)| value.is_empty()) {
            say(format!(": the {what} of {id} is not told."));
        }
    }
}

/// What is wrong with a cell that counts.
fn of_cell(run: &Run, cell: &Cell, notes: &str) -> Option<String> {
    let trouble = match (&cell.failed, &cell.void) {
        (Some(why), _) => Some(("failed", why)),
        (None, Some(why)) => Some(("is void", why)),
        (None, None) => None,
    };
    if let Some((what, why)) = trouble {
        let told = notes.contains(&name(cell)) && !why.trim().is_empty();
        return (!told).then(|| format!("it {what}, and {NOTES} does not tell of it: {}", plain(why)));
    }
    let value = |id: &str| cell.get(id);
    let errors = cell.error_kinds.iter().map(|line| line.count).sum::<u64>().max(cell.errors());
    if errors > 0 || value(ERRORS).is_none() {
        return Some(format!("it had {errors} errors and is not void; a statement that failed voids its cell."));
    }
    let Some(statements) = value(STATEMENTS) else {
        return Some("it does not tell how many statements were issued.".to_owned());
    };
    let issued = cell.issued_by_statement.values().sum::<u64>() as f64;
    if issued != statements {
        return Some(format!("it issued {statements} statements, and by name {issued}."));
    }
    let verified = value(VERIFIED).unwrap_or_default();
    if verified != statements {
        return Some(format!("it issued {statements} statements, and {verified} were answered as they should be."));
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

/// Whether every statement of the cell's scenario is an EXECUTE.
fn executes_only(run: &Run, cell: &Cell) -> bool {
    let scenario = run.scenarios.iter().find(|one| one.name == cell.scenario);
    let statements = scenario.and_then(|one| one.definition.as_ref()?.get("statement")?.as_array());
    let is_execute = |one: &Value| one.get("operation").is_none_or(|operation| operation == "execute");
    statements.is_none_or(|all| all.iter().all(is_execute))
}

/// Every contender that can be asked, in every place, block and pass, once.
fn completeness(run: &Run, counted: &[(usize, &Cell)], say: &mut impl FnMut(String)) {
    let mut blocks: BTreeMap<(&str, &str, &str, Pass), Vec<u32>> = BTreeMap::new();
    for (_, cell) in counted {
        let place = (cell.contender.as_str(), cell.scenario.as_str(), cell.arrangement.as_str(), cell.pass);
        blocks.entry(place).or_default().push(cell.block);
    }
    let all: Vec<u32> = (1..=run.plan.blocks).collect();
    let mut asked = |contender: &Contender, scenario: &str, arrangement: &str, pass: Pass| {
        let key = (contender.id.as_str(), scenario, arrangement, pass);
        let mut ran = blocks.get(&key).cloned().unwrap_or_default();
        ran.sort_unstable();
        let whole = if pass == Pass::Timing { ran == all } else { !ran.is_empty() };
        if !whole {
            let expected = if pass == Pass::Timing {
                format!("blocks 1 to {} once each", run.plan.blocks)
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
                for pass in &passes {
                    // A control is for the blocks: it is asked for nothing else.
                    if *pass == Pass::Timing || !contender.control {
                        asked(contender, &scenario.name, &arrangement.id, *pass);
                    }
                }
            }
        }
    }
}

/// The data in the page must be the raw cells: the page itself would change with every change of what makes it.
fn page(folder: &Path, recorded: &Recorded, say: &mut impl FnMut(String)) {
    let page = fs::read_to_string(folder.join(PAGE)).unwrap_or_default();
    if page.is_empty() {
        return say(": it is missing; publish the run again.".to_owned());
    }
    if page.len() > PAGE_LIMIT {
        say(format!(": it has {} bytes, and a page has at most {PAGE_LIMIT}.", page.len()));
    }
    let Some(data) = data(&page) else {
        if !page.contains("The page has no room for the cells of this run") {
            say(": the data that it offers for download cannot be read; publish the run again.".to_owned());
        }
        return;
    };
    match Recorded::from_document(&data) {
        Ok(found) if found.run == recorded.run && found.cells == recorded.cells => {}
        _ if slim(&data).is_some_and(|found| stands_for(&found, &recorded.cells)) => {}
        _ => say(format!(": the data in it are not those of {CELLS}; publish the run again.")),
    }
}

/// `result.json` of the page.
fn data(page: &str) -> Option<String> {
    let (_, behind) = page.split_once("download=\"result.json.gz\"")?;
    let (_, behind) = behind.split_once("base64,")?;
    let (encoded, _) = behind.split_once('"')?;
    let bytes = STANDARD.decode(encoded).ok()?;
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What a page keeps of its cells where it has no room for all: who, where and what was read off.
fn slim(data: &str) -> Option<Vec<Cell>> {
    let cells = serde_json::from_str::<Value>(data).ok()?.get_mut("cells")?.take();
    serde_json::from_value::<Vec<Cell>>(cells).ok().map(|cells| slim_cells(&cells))
}

/// Whether those are all cells, or all that count: attempts that do not are left out first.
fn stands_for(found: &[Cell], cells: &[Cell]) -> bool {
    let attempts = Attempts::of(cells);
    let counted: Vec<Cell> = cells.iter().filter(|cell| attempts.counts(cell)).cloned().collect();
    found == slim_cells(cells) || found == slim_cells(&counted)
}

fn slim_cells(cells: &[Cell]) -> Vec<Cell> {
    let slim = |cell: &Cell| Cell {
        series: Default::default(),
        breakdowns: BTreeMap::new(),
        files: BTreeMap::new(),
        findings: Vec::new(),
        settings: Vec::new(),
        ..cell.clone()
    };
    cells.iter().map(slim).collect()
}

/// The first absolute path of a machine in a text; those of the kernel are the same everywhere.
fn machine_path(text: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(at) = text[from..].find('/').map(|at| from + at) {
        from = at + 1;
        let starts = text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "\"'`=(:,".contains(c));
        let end = text[at..]
            .find(|c: char| c.is_whitespace() || "\"'`),;|<>\\".contains(c))
            .map_or(text.len(), |end| at + end);
        let path = &text[at..end];
        let is_path = path.matches('/').count() > 1 && path.len() > 3 && !path.starts_with("//");
        let of_kernel = ["/proc/", "/sys/", "/dev/"].iter().any(|root| path.starts_with(root));
        if starts && is_path && !of_kernel {
            return Some(path);
        }
    }
    None
}

/// Files of which nobody knows what they are.
fn strangers(folder: &Path, known: &[&str], shown: &str, found: &mut Vec<String>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.path().is_file()) {
        let name = name_of(&entry.path());
        if !known.contains(&name.as_str()) {
            found.push(format!("{shown}/{name}: it is no file of a published run; remove it."));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_the_attempts_that_do_not_count_stands_for_its_run_and_one_without_a_cell_does_not() {
        let (_, mut cells) = crate::sample::run();
        let again: Vec<Cell> =
            cells.iter().filter(|cell| cell.block == 1).map(|cell| Cell { attempt: 2, ..cell.clone() }).collect();
        cells.extend(again);
        let attempts = Attempts::of(&cells);
        let mut counted: Vec<Cell> = cells.iter().filter(|cell| attempts.counts(cell)).cloned().collect();
        assert!(counted.len() < cells.len());
        assert!(stands_for(&slim_cells(&cells), &cells) && stands_for(&slim_cells(&counted), &cells));
        counted.pop();
        assert!(!stands_for(&slim_cells(&counted), &cells));
    }
}
