//! What a published run must be, checked when it is published and in every test run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use cqldyno_reports::measure::{SERVER_EXECUTES, STATEMENTS, VERIFIED};
use cqldyno_reports::{
    Analysis, CELLS, Cell, Combined, Contender, Look, Measure, PACKED_CELLS, Pass, PublishedRun, Recorded, Role, Run,
    exporter, grouped, is_of_a_plan, plain, read_cells, share,
};
use serde_json::Value;

use crate::page::page;
use crate::path::{of_the_machine, without_code};
use crate::store::{
    CHART, FILES, NOTES, PAGE, README, RUN, TABLE, everybody, folders, is_inside, is_published, name_of, named, read,
    unpack,
};

/// The least number of blocks from which a published run must have a control.
const CONTROL_BLOCKS: u32 = 3;

/// A runtime with one thread, as [`cqldyno_reports::ArrangementInfo::runtime`] has it.
const ONE_THREAD: &str = "current";

/// What is wrong with the runs of one date, each a full sentence that names the file and, where it is about one, the cell.
///
/// Every run can be read, ended and is complete; its control is what its reference is, and its versions are known. No cell failed
/// or is void, and few rounds are no noise, unless `notes.md` says so. Every file that a cell names is there and no other, none names a folder of the machine, and
/// the page holds the run's cells.
pub fn check(date: &Path) -> Vec<String> {
    inspected(date).1
}

/// The runs of one date, and what is wrong with them as [`check`] says it.
pub(crate) fn inspected(date: &Path) -> (Vec<PublishedRun>, Vec<String>) {
    let shown = name_of(date);
    let nothing = |why: String| (Vec::new(), vec![why]);
    let folders = match folders(date) {
        Ok(folders) if !folders.is_empty() => folders,
        Ok(_) => {
            return nothing(format!("{shown}: it holds no run; remove the folder, or publish a run of that date."));
        }
        Err(error) => return nothing(format!("{error:#}.")),
    };
    let notes = fs::read_to_string(date.join(NOTES)).unwrap_or_default();
    let mut found = strangers(date, &shown, &[README, CHART, NOTES]);
    found.extend(of_the_machine(&notes).map(|wrong| format!("{shown}/{NOTES}{wrong}")));
    let mut runs = Vec::new();
    for folder in folders {
        let shown = format!("{shown}/{}", name_of(&folder));
        match read(&folder) {
            Ok(run) => {
                let mut check = Check { run: &run, analysis: run.analysis(), shown, notes: &notes, found: Vec::new() };
                check.all();
                found.extend(check.found);
                runs.push(run);
            }
            Err(error) => found.push(format!("{shown}: {}.", error.root_cause())),
        }
    }
    found.extend(together(&runs).into_iter().map(|wrong| format!("{shown}: {wrong}")));
    let days: Vec<String> = runs.iter().map(|run| run.recorded.run.started.strftime("%Y-%m-%d").to_string()).collect();
    if days.iter().min().is_some_and(|first| *first != shown) {
        let days = days.join(" and ");
        found.push(format!("{shown}: its runs are of {days}; a folder is named by the day of the first."));
    }
    (runs, found)
}

/// Runs that are numbered are of one plan, and their control does not differ.
fn together(runs: &[PublishedRun]) -> Vec<String> {
    let plans = grouped(runs.iter().map(|run| (run.plan(), run))).into_iter();
    let of = |(_, plan): (&str, Vec<&PublishedRun>)| {
        let named: Vec<(String, Analysis)> = plan.iter().map(|run| (run.name.clone(), run.analysis())).collect();
        Combined::of(&named).map_or_else(|why| vec![why], |combined| combined.analysis.doubts)
    };
    plans.filter(|(_, plan)| plan.len() > 1).flat_map(of).collect()
}

/// A published run under its name in sentences, and what was found so far.
struct Check<'a> {
    run: &'a PublishedRun,
    analysis: Analysis<'a>,
    shown: String,
    notes: &'a str,
    found: Vec<String>,
}

impl Check<'_> {
    fn say(&mut self, file: &str, what: impl AsRef<str>) {
        self.found.push(format!("{}/{file}{}", self.shown, what.as_ref()));
    }

    fn all(&mut self) {
        let Recorded { run, cells, .. } = &self.run.recorded;
        if run.interrupted || run.ended.is_none() {
            self.say(RUN, ": the run has no end, or was ended early; publish one that was finished.");
        }
        if run.cut_short.is_some() && !run.plan.is_open() {
            let ran = format!("{} of {} generations", run.blocks(), run.plan.blocks);
            let advice = "go on with `cqldyno compare --resume DIR` and publish all.";
            self.say(RUN, format!(": it was cut short after {ran}; {advice}"));
        }
        let (blocks, compares_drivers) = (run.plan.blocks, run.plan.releases.is_empty());
        self.contenders(compares_drivers && is_of_a_plan(&self.run.name));
        let is_control = |one: &Contender| self.analysis.is_control(one) && one.unavailable.is_none();
        let takes_turns = run.scenarios.iter().any(|one| one.apart.is_none());
        if compares_drivers && takes_turns && blocks >= CONTROL_BLOCKS && !run.contenders.iter().any(is_control) {
            let needed = format!("from {CONTROL_BLOCKS} blocks on a published run must have one.");
            self.say(RUN, format!(": it has {blocks} blocks and no control; {needed}"));
        }
        // One sentence of the notes is enough for a contender of which every cell failed.
        let (notes, ended) = (self.notes, cells.iter().filter(|cell| cell.failed.is_none()));
        let ended: BTreeSet<&str> = ended.map(|cell| &*cell.contender).collect();
        let is_excused = |who: &str, why: &str| {
            !why.trim().is_empty() && !ended.contains(who) && tell(notes, &format!("{} never ran", plain(who)))
        };
        for (at, cell) in cells.iter().enumerate() {
            let excused = cell.failed.as_ref().is_some_and(|why| is_excused(&cell.contender, why));
            if let Some(what) = of_cell(run, cell, notes).filter(|_| self.analysis.counts(cell) && !excused) {
                self.say(CELLS, format!(", {}: {what}", nth(at, cell)));
            }
        }
        self.completeness();
        let too_few = self.analysis.rounds.sentence().filter(|_| self.analysis.has_too_few_rounds());
        let doubts = self.analysis.doubts.iter().cloned().chain(too_few).filter(|doubt| !tell(self.notes, doubt));
        doubts.collect::<Vec<String>>().iter().for_each(|what| self.say(CELLS, format!(": {what}")));
        self.files();
    }

    /// Each file that a cell names is there and no other, and none names a folder of the machine.
    fn files(&mut self) {
        let PublishedRun { folder, recorded, .. } = self.run;
        let Recorded { run, cells, .. } = recorded;
        let files = unpack(&folder.join(FILES)).unwrap_or_else(|error| {
            self.say(FILES, format!(": it cannot be read ({error}); publish the run again."));
            BTreeMap::new()
        });
        for (at, cell) in cells.iter().enumerate() {
            for (kind, file) in cell.files.iter().filter(|(kind, file)| is_published(kind, file)) {
                if !is_inside(file) {
                    let what = format!(", {}: its {kind} {file:?} does not lie in the run's folder.", nth(at, cell));
                    self.say(CELLS, what);
                } else if !files.is_empty() && !files.contains_key(file) {
                    self.say(file, format!(": this {kind} of {} is missing.", nth(at, cell)));
                }
            }
        }
        let histograms = files.keys().filter(|name| name.starts_with("hdr/")).count();
        let has_own =
            |cell: &Cell| cell.files.get("hdr").map_or(cell.round.is_none(), |file| is_published("hdr", file));
        let ended = |cell: &&Cell| cell.failed.is_none() && is_measured(cell) && has_own(cell);
        let least = cells.iter().filter(ended).count();
        if histograms < least {
            self.say(FILES, format!(": it holds {histograms} histograms, and {least} cells ended."));
        }
        let mut lines = Vec::new();
        drop(read_cells(folder).and_then(|mut cells| cells.read_to_end(&mut lines)));
        let [of_run, table] = [RUN, TABLE].map(|file| fs::read(folder.join(file)).unwrap_or_default());
        let named = named(run, cells);
        let packed = named.iter().filter_map(|file| Some((file.as_str(), files.get(file)?)));
        for (file, bytes) in [(RUN, &of_run), (TABLE, &table), (CELLS, &lines)].into_iter().chain(packed) {
            let text = String::from_utf8_lossy(bytes);
            // A drawing may hold a script of its own.
            let text = if file.ends_with(".svg") { without_code(&text) } else { text };
            of_the_machine(&text).into_iter().for_each(|wrong| self.say(file, wrong));
        }
        page(folder, recorded, &mut |what| self.say(PAGE, what));
        let rows = |text: &str| -> Vec<String> {
            text.lines().filter(|line| line.starts_with('|')).map(str::to_owned).collect()
        };
        let again = exporter("markdown").and_then(|table| table.one(&self.analysis, Look::default()).ok());
        if !folder.join(TABLE).is_file() {
            self.say(TABLE, ": it is missing; publish the run again.");
        } else if rows(&again.unwrap_or_default()) != rows(&String::from_utf8_lossy(&table)) {
            self.say(TABLE, ": its rows are not those that the run gives; publish the run again.");
        }
        for inner in folders(folder).unwrap_or_default() {
            self.say(&name_of(&inner), "/: it is no folder of a published run; remove it.");
        }
        // A run of the first version does not name its histograms.
        let is_named = |name: &str| if named.is_empty() { name.starts_with("hdr/") } else { named.contains(name) };
        for name in files.keys().filter(|name| !is_named(name)) {
            self.say(FILES, format!(": nothing names its {name}; publish the run again."));
        }
        self.found.extend(strangers(folder, &self.shown, &[RUN, CELLS, PACKED_CELLS, FILES, PAGE, TABLE]));
    }

    fn contenders(&mut self, is_default: bool) {
        let run = &self.run.recorded.run;
        let missing: Vec<&str> = everybody().filter(|id| run.contender(id).is_none()).collect();
        if is_default && !missing.is_empty() {
            let missing = missing.join(", ");
            self.say(RUN, format!(": {missing} took no part, and a published run has all contenders."));
        }
        let environment = &run.environment;
        let mut known = vec![
            ("cqldyno's version".to_owned(), &run.cqldyno),
            ("the processor".to_owned(), &environment.cpu),
            ("the kernel".to_owned(), &environment.kernel),
            ("the compiler".to_owned(), &environment.compiler),
        ];
        for one in run.contenders.iter().filter(|one| one.unavailable.is_none()) {
            let id = plain(&one.id);
            let mut versions = vec![("version", &one.version), ("compiler", &one.compiler)];
            // A worker in another language has a load generator of its own, which has no build.
            versions.extend((is_default && everybody().any(|id| id == one.id)).then_some(("build", &one.build)));
            versions.extend((run.checksum.is_some()).then_some(("executable", &one.executable)));
            known.extend(versions.into_iter().map(|(what, value)| (format!("the {what} of {id}"), value)));
        }
        for (what, _) in known.iter().filter(|(_, value)| value.is_empty()) {
            self.say(RUN, format!(": {what} is unknown."));
        }
        if environment.profile != "release" {
            let built = format!(": the program was built as {:?}", environment.profile);
            self.say(RUN, format!("{built}; only what a release build measures is published."));
        }
        for (one, why) in run.contenders.iter().filter_map(|one| Some((one, one.unavailable.as_ref()?))) {
            let said = format!("{} could not be asked", plain(&one.id));
            if !tell(self.notes, &said) {
                self.say(RUN, format!(": {said}, and {NOTES} does not say \"{said}\": {}", plain(why)));
            }
        }
    }

    /// Every contender that can be asked, in every place, block and pass, once.
    fn completeness(&mut self) {
        let run = &self.run.recorded.run;
        let all: Vec<u32> = (1..=run.blocks()).collect();
        // Instructions are counted on one thread alone where that is an arrangement.
        let one_thread = run.plan.arrangements.iter().any(|one| one.runtime == ONE_THREAD);
        let passes: BTreeSet<Pass> = run.plan.passes.iter().copied().chain([Pass::Timing]).collect();
        let places: Vec<_> = self.analysis.places().collect();
        for place in places {
            let can = |one: &&Contender| one.unavailable.is_none() && !place.scenario.left_out.contains_key(&one.id);
            let counts =
                |pass: Pass| pass != Pass::Instructions || !one_thread || place.arrangement.runtime == ONE_THREAD;
            for one in run.contenders.iter().filter(can) {
                // A control runs in timing blocks only.
                for pass in passes.iter().filter(|pass| **pass == Pass::Timing || !one.control && counts(**pass)) {
                    // A generation has several turns. It is there as often as one of them.
                    let (mut times, mut ran) = (BTreeMap::new(), BTreeSet::new());
                    for cell in self.analysis.cells_of(place, one, *pass) {
                        let times: &mut u32 = times.entry((cell.block, cell.round)).or_default();
                        *times += 1;
                        ran.insert((cell.block, *times));
                    }
                    let ran: Vec<u32> = ran.into_iter().map(|(block, _)| block).collect();
                    let expected = match (*pass, ran.is_empty()) {
                        // A ladder has steps at rates alone.
                        (Pass::Timing, _) if run.plan.ladder.is_some() => continue,
                        (Pass::Timing, _) if ran != all => format!("generations 1 to {} once each", run.blocks()),
                        (Pass::Timing, _) | (_, false) => continue,
                        (_, true) => "one".to_owned(),
                    };
                    let names = [&one.id, &place.scenario.name, &place.arrangement.id].map(|part| plain(part));
                    let (names, number) = (names.join(", "), ran.len());
                    let has = format!("{names}, {} has cells of {number} blocks ({ran:?})", pass.name());
                    self.say(CELLS, format!(": {has}, and {expected} were expected."));
                }
            }
        }
    }
}

fn strangers(folder: &Path, shown: &str, names: &[&str]) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut strangers: Vec<String> = entries.filter(|path| !path.is_dir()).map(|path| name_of(&path)).collect();
    strangers.retain(|name| !names.contains(&name.as_str()));
    strangers.sort();
    strangers.iter().map(|name| format!("{shown}/{name}: it is no file of a published run; remove it.")).collect()
}

/// Whether `notes` hold the whole `phrase`: block 10 is not block 1. Line breaks and backticks do not matter.
fn tell(notes: &str, phrase: &str) -> bool {
    let words = |text: &str| text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ");
    let (notes, phrase) = (words(notes), words(phrase));
    notes.match_indices(&phrase).any(|(at, _)| {
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

/// Whether the cell has any figure.
fn is_measured(cell: &Cell) -> bool {
    cell.measures.values().any(|measure| measure.get().is_some())
}

/// How many statements the plan asks for, within the scenario's limits; `None` if the pass has a count of its own.
fn asked(run: &Run, cell: &Cell) -> Option<u64> {
    let count = match cell.pass {
        // Several servers, each with as many as it takes some seconds for.
        Pass::Timing if run.plan.reference.as_ref().is_some_and(|id| run.contender(id).is_none()) => return None,
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

/// What is wrong with a cell that counts, if anything.
fn of_cell(run: &Run, cell: &Cell, notes: &str) -> Option<String> {
    // A setting such as another allocator may exclude a meter, and then says why.
    let is_further = !matches!(cell.pass, Pass::Timing | Pass::Counting);
    if is_further && cell.contender.contains('+') && cell.failed.is_none() && !is_measured(cell) {
        return None;
    }
    let void = || cell.void.as_ref().map(|why| ("is void", why));
    if let Some((what, why)) = cell.failed.as_ref().map(|why| ("failed", why)).or_else(void) {
        let told = tell(notes, &name(cell)) && !why.trim().is_empty();
        return (!told).then(|| format!("it {what}, and {NOTES} does not name it: {}", plain(why)));
    }
    if !is_measured(cell) {
        let why = cell.measures.values().find_map(Measure::reason).map(plain).unwrap_or_default();
        let said = format!("it was not measured; measure where that is possible, or without the pass. {why}");
        return Some(said.trim_end().to_owned());
    }
    let Some(issued) = cell.get(STATEMENTS) else {
        return Some("the number of its statements is missing.".to_owned());
    };
    // On a bad day differences are figures.
    if run.plan.faults {
        return None;
    }
    let definition = run.scenarios.iter().find(|one| one.name == cell.scenario).and_then(|one| one.definition.as_ref());
    let setting = |name: &str| definition.and_then(|scenario| scenario.get(name));
    let is_execute = |one: &Value| one.get("operation").is_none_or(|operation| operation == "execute");
    let executes = setting("statement").and_then(Value::as_array).is_none_or(|all| all.iter().all(is_execute));
    let sends = run.contender(&cell.contender).is_none_or(|one| one.role != Role::Noop);
    let [verified, counted] = [VERIFIED, SERVER_EXECUTES].map(|id| cell.get(id).unwrap_or_default());
    let differs = |number: f64, how: &str| {
        let what = format!("it issued {issued} statements and is not void, and {number} {how}.");
        (number != issued).then_some(what)
    };
    let asked = || differs(asked(run, cell)? as f64, "were asked for");
    differs(verified, "were verified").or_else(asked).or_else(|| {
        // Each page of an answer is an EXECUTE.
        let is_in_pages = setting("page_size").is_some() && counted > issued;
        let is_counted = sends && run.plan.target.embedded && executes && !is_in_pages;
        differs(counted, "were EXECUTEs that the server counted").filter(|_| is_counted)
    })
}
