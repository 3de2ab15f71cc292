//! Everything that is published is what it must be, and follows from what was measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use cqldyno_reports::measure::STATEMENTS;
use cqldyno_reports::{BuiltOnDemand, CELLS, Cell, Checksum, Pass, Recorded, Run, sample};
use jsonschema::Validator;
use serde_json::Value;
use tempfile::TempDir;

use crate::check::{check, inspected};
use crate::make::{self, Asked};
use crate::readme::{generated, write};
use crate::store::{CHART, FILES, NOTES, PAGE, README, RUN, TABLE, folders, is_inside, name_of, named, runs, unpack};

mod damage;
mod several;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn published(repository: &Path) -> PathBuf {
    repository.join("reports/published")
}

/// A validator of the committed schema.
fn validator(name: &str) -> Validator {
    let text = fs::read_to_string(repository().join(format!("reports/schema/{name}.schema.json"))).unwrap();
    jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap()
}

/// What the schema says of `value`, each with where it is.
fn complaints(validator: &Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("at {}: {error}", error.instance_path())).collect()
}

#[test]
fn every_published_run_is_what_it_must_be() {
    let [of_run, of_cell] = ["run", "cell"].map(validator);
    let dates = folders(&published(&repository())).unwrap();
    assert!(!dates.is_empty());
    let of_date = |date: &Path| {
        let (runs, found) = inspected(date);
        assert!(found.is_empty(), "what is published does not hold:\n{}", found.join("\n"));
        for run in runs {
            // As they are read: the schemas do not hold for what earlier versions wrote.
            let (Recorded { run: asked, cells, .. }, folder) = (&run.recorded, run.folder.display());
            assert_eq!(complaints(&of_run, &serde_json::to_value(asked).unwrap()), [""; 0], "{folder}");
            for (cell, nth) in cells.iter().zip(1..) {
                let said = complaints(&of_cell, &serde_json::to_value(cell).unwrap());
                assert_eq!(said, [""; 0], "{folder}/{CELLS}, cell {nth}");
            }
        }
    };
    std::thread::scope(|threads| dates.iter().for_each(|date| drop(threads.spawn(|| of_date(date)))));
}

#[test]
fn the_readme_is_what_follows_from_the_newest_published_runs() {
    let stale = stale(&repository());
    assert!(stale.is_empty(), "{stale:?} differ; run `make readme`, and change the generator instead of the files");
}

/// The files that are not what would be generated.
fn stale(repository: &Path) -> Vec<PathBuf> {
    let all = generated(repository).unwrap().into_iter();
    all.filter(|(path, text)| fs::read_to_string(path).ok().as_ref() != Some(text)).map(|(path, _)| path).collect()
}

/// A run that may be published: five contenders and a control, 12 blocks.
fn sound() -> (Run, Vec<Cell>) {
    again(0, 1.0)
}

/// The same plan so many days later; cdrs-tokio costs `factor` times as much.
fn again(days: u32, factor: f64) -> (Run, Vec<Cell>) {
    let (mut run, mut cells) = sample::repeated(12, days);
    sample::cost(&mut cells, "cdrs-tokio", factor);
    for one in &mut run.contenders {
        one.executable = "ab".repeat(32);
        one.build = "b1".to_owned();
        if one.unavailable.take().is_some() {
            (one.label, one.version) = ("cassandra-cpp@3.0.2".to_owned(), "3.0.2".to_owned());
        }
    }
    let built = BuiltOnDemand { lock_file: "locks/scylla.lock".to_owned(), ..BuiltOnDemand::default() };
    run.contenders[0].built = Some(built);
    let of_cdrs: Vec<Cell> = cells.iter().filter(|cell| cell.contender == "cdrs-tokio").cloned().collect();
    let as_cpp = |cell| Cell { contender: "cassandra-cpp".to_owned(), label: "cassandra-cpp@3.0.2".to_owned(), ..cell };
    cells.extend(of_cdrs.into_iter().map(as_cpp));
    for (nth, cell) in cells.iter_mut().enumerate() {
        cell.issued_by_statement.insert("insert".to_owned(), cell.get(STATEMENTS).unwrap() as u64);
        cell.files.insert("hdr".to_owned(), format!("hdr/{:03}.hlog", nth + 1));
    }
    (run, cells)
}

/// The same with every cell run once.
fn once() -> (Run, Vec<Cell>) {
    let (mut run, mut cells) = sound();
    run.contenders.retain(|one| !one.control);
    run.plan.blocks = 1;
    cells.retain(|cell| cell.block == 1 && cell.contender != "scylla#control");
    (run, cells)
}

/// The ninth cell, after those of the counting pass: the first timing cell of scylla.
fn scylla(cells: &mut [Cell]) -> &mut Cell {
    let cell = &mut cells[8];
    assert_eq!((cell.contender.as_str(), cell.pass), ("scylla", Pass::Timing));
    cell
}

fn keep(folder: &Path, run: &Run, cells: &[Cell]) {
    let run = Run { checksum: Some(Checksum::of_cells(cells)), ..run.clone() };
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(RUN), serde_json::to_string_pretty(&run).unwrap()).unwrap();
    let lines: String = cells.iter().map(|cell| serde_json::to_string(cell).unwrap() + "\n").collect();
    fs::write(folder.join(CELLS), lines).unwrap();
}

/// A run folder as `cqldyno compare` leaves it.
fn kept((run, cells): &(Run, Vec<Cell>)) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    keep(folder.path(), run, cells);
    for file in named(run, cells).iter().filter(|file| is_inside(file)) {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "a histogram").unwrap();
    }
    for other in ["result.json", "cells.csv", "table.txt", "time.txt"] {
        fs::write(folder.path().join(other), "rendered").unwrap();
    }
    folder
}

/// A repository without a published run, whose README has a place for figures.
fn empty() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let readme = "# title\n\n<!-- generated from reports/published/0 by make readme -->\nold\n\
                  <!-- end of what is generated -->\n\nbehind\n";
    fs::write(root.path().join(README), readme).unwrap();
    root
}

/// Publishes the runs under the names of their plans.
fn publish(all: &[(Run, Vec<Cell>)], root: &TempDir) -> anyhow::Result<Vec<PathBuf>> {
    publish_kept(&all.iter().map(kept).collect::<Vec<_>>(), root)
}

fn publish_kept(folders: &[TempDir], root: &TempDir) -> anyhow::Result<Vec<PathBuf>> {
    let asked = |folder: &TempDir| Asked { name: None, folder: folder.path().to_path_buf() };
    make::publish(&folders.iter().map(asked).collect::<Vec<_>>(), &published(root.path()))
}

fn refusal(all: &[(Run, Vec<Cell>)], root: &TempDir) -> String {
    publish(all, root).unwrap_err().to_string()
}

/// A repository in which the runs are published.
fn repository_with(all: &[(Run, Vec<Cell>)]) -> TempDir {
    let root = empty();
    publish(all, &root).unwrap();
    root
}

fn date(root: &TempDir) -> PathBuf {
    published(root.path()).join("2026-01-02")
}

fn put_notes(root: &TempDir, notes: &str) {
    fs::create_dir_all(date(root)).unwrap();
    fs::write(date(root).join(NOTES), notes).unwrap();
}

/// The READMEs of the repository and of the date, written again.
fn readmes(root: &TempDir) -> [String; 2] {
    write(root.path()).unwrap();
    [root.path(), &date(root)].map(|folder| fs::read_to_string(folder.join(README)).unwrap())
}

#[track_caller]
fn assert_said(said: &[String], expected: &str) {
    assert!(said.iter().any(|one| one.starts_with(expected)), "{expected:?} is not in {said:#?}");
    assert!(said.iter().all(|one| one.starts_with("2026-01-02") && one.ends_with(['.', ')'])), "{said:#?}");
}

#[test]
fn what_was_measured_is_published_whole_and_what_was_rendered_before_is_not() {
    let root = repository_with(&[sound(), once()]);
    assert_eq!(check(&date(&root)), [""; 0]);
    let folder = date(&root).join("blocks");
    let entries = fs::read_dir(&folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| name_of(&entry.unwrap().path())).collect();
    names.sort();
    assert_eq!(names, [CELLS, FILES, PAGE, RUN, TABLE]);
    let files = unpack(&folder.join(FILES)).unwrap();
    assert_eq!(files.len(), sound().1.len() + 1, "a histogram for each, and a lock file");
    assert!(files.contains_key("locks/scylla.lock") && files.values().all(|bytes| bytes == b"a histogram"));
    assert!(date(&root).join("classic").is_dir());
    let error = refusal(&[sound()], &root);
    assert!(error.contains("which is there already; remove that first to replace it"), "{error}");
    assert_eq!(check(&date(&root)), [""; 0], "what was there stays");
}

#[test]
fn a_comparison_of_releases_has_a_folder_of_its_own_and_is_no_front() {
    let (mut run, mut cells) = again(1, 1.0);
    run.plan.releases = vec!["scylla@all".to_owned()];
    run.contenders.retain(|one| one.id == "scylla");
    cells.retain(|cell| cell.contender == "scylla");
    let root = repository_with(&[sound(), (run, cells)]);
    let later = date(&root).with_file_name("2026-01-03");
    assert_eq!([check(&date(&root)), check(&later)], [[""; 0]; 2]);
    assert!(later.join("releases-scylla").is_dir());
    let [front, _] = readmes(&root);
    assert!(stale(root.path()).is_empty());
    let of_later = fs::read_to_string(later.join(README)).unwrap();
    assert!(front.contains("(reports/published/2026-01-02)") && !front.contains("2026-01-03"), "{front}");
    assert!(of_later.contains("## [releases-scylla](releases-scylla)") && !of_later.contains(CHART), "{of_later}");
}

#[test]
fn a_run_with_a_name_may_lack_contenders_and_is_not_in_the_readme() {
    let (mut run, mut cells) = once();
    run.contenders.retain(|one| one.id != "noop");
    cells.retain(|cell| cell.contender != "noop");
    let (root, run) = (repository_with(&[sound()]), (run, cells));
    let error = refusal(from_ref(&run), &root);
    assert!(error.contains("noop took no part, and a published run has all contenders."), "{error}");
    let folder = kept(&run);
    let asked = Asked::parse(&format!("one-time={}", folder.path().display())).unwrap();
    make::publish(&[asked], &published(root.path())).unwrap();
    assert_eq!(check(&date(&root)), [""; 0]);
    let [_, of_date] = readmes(&root);
    assert!(of_date.contains("## [one-time](one-time)") && of_date.contains("real 0m"), "{of_date}");
    fs::remove_dir_all(date(&root).join("blocks")).unwrap();
    let error = generated(root.path()).unwrap_err().to_string();
    assert!(error.contains("holds no published run that compares drivers"), "{error}");
}

#[test]
fn a_name_is_no_plans_and_is_one_of_a_folder() {
    for (text, name, folder) in [
        ("runs/a", None, "runs/a"),
        ("runs/a=b", None, "runs/a=b"),
        ("2021-cassandra=runs/a", Some("2021-cassandra"), "runs/a"),
    ] {
        let asked = Asked::parse(text).unwrap();
        assert_eq!((asked.name.as_deref(), asked.folder), (name, PathBuf::from(folder)));
    }
    for text in ["--other", "blocks=a", "classic=a", "releases-x=a", "=a", "a=", "", "x-2=a"] {
        assert!(Asked::parse(text).is_none(), "{text}");
    }
}

#[test]
fn a_void_cell_may_be_published_if_the_notes_name_it_and_not_another_block() {
    let (run, mut cells) = sound();
    scylla(&mut cells).void = Some("A statement failed.".to_owned());
    let (root, run) = (empty(), (run, cells));
    let error = refusal(from_ref(&run), &root);
    let said = "nothing was published, because this was found:\n2026-01-02/blocks/cells.jsonl, cell 9 ";
    let advice = "name the cell that failed or is void as above, or repeat the sentence on noise, in";
    assert!(error.starts_with(said) && error.contains(advice), "{error}");
    assert!(!date(&root).exists(), "nothing is left behind");
    let told = "In the first block a statement of scylla failed: scylla, writes, multi:2, timing, block 1 is void.";
    put_notes(&root, told);
    publish(from_ref(&run), &root).unwrap();
    assert_eq!(check(&date(&root)), [""; 0]);
    let [front, of_date] = readmes(&root);
    assert!(front.contains("**void**") && of_date.contains(told), "{front}{of_date}");
    for (notes, is_told) in [
        ("scylla, writes, multi:2, timing, block 10 is void.", false),
        ("x-scylla, writes, multi:2, timing, block 1 is void.", false),
        ("Void: `scylla, writes,\nmulti:2, timing, block 1`.", true),
    ] {
        put_notes(&root, notes);
        let said = check(&date(&root));
        let is_named = !said.iter().any(|one| one.contains("it is void, and notes.md does not name it"));
        assert_eq!(is_named, is_told, "{notes}: {said:?}");
    }
}

#[test]
fn a_driver_that_is_missing_is_excused_by_a_sentence_that_says_so() {
    let (mut run, mut cells) = sound();
    cells.retain(|cell| cell.contender != "cassandra-cpp");
    for one in run.contenders.iter_mut().filter(|one| one.id == "cassandra-cpp") {
        one.unavailable = Some("libcassandra was not found.".to_owned());
    }
    let (root, run) = (empty(), (run, cells));
    put_notes(&root, "This machine has no cassandra-cpp package of its own.");
    let error = refusal(from_ref(&run), &root);
    let expected = "run.json: cassandra-cpp could not be asked, and notes.md does not say \"cassandra-cpp could not be \
                    asked\": libcassandra was not found.";
    assert!(error.contains(expected), "{error}");
    put_notes(&root, "`cassandra-cpp` could not be asked: there was no libcassandra.");
    publish(from_ref(&run), &root).unwrap();
}

#[test]
fn a_contender_of_which_every_cell_failed_is_excused_by_one_sentence() {
    let (run, mut cells) = sound();
    for cell in cells.iter_mut().filter(|cell| cell.contender == "floor") {
        cell.failed = Some("It could not connect.".to_owned());
    }
    let (root, mut run) = (empty(), (run, cells));
    put_notes(&root, "`floor` never ran: the server lacks its protocol.");
    publish(from_ref(&run), &root).unwrap();
    run.1.iter_mut().find(|cell| cell.contender == "floor").unwrap().failed = None;
    let error = refusal(from_ref(&run), &empty());
    assert!(error.contains("it failed, and notes.md does not name it: It could not connect."), "{error}");
}

#[test]
fn the_readme_follows_from_the_runs_there_are_and_a_change_by_hand_is_reported() {
    for (all, has, has_not) in [
        (vec![once()], "| scenario | driver | `multi:2` CPU us |", "**dearer**"),
        (vec![sound(), once()], "**dearer**", "no such text"),
    ] {
        let root = repository_with(&all);
        let [text, _] = readmes(&root);
        assert!(stale(root.path()).is_empty());
        let before = "# title\n\n<!-- generated from reports/published/2026-01-02 by make readme -->\n\n";
        let after = "\n\n<!-- end of what is generated -->\n\nbehind\n";
        assert!(text.starts_with(before) && text.ends_with(after) && !text.contains("\nold\n"), "{text}");
        assert!(text.contains(has) && !text.contains(has_not), "{text}");
        assert!(text.contains("](reports/published/2026-01-02/chart.svg)"), "{text}");
        assert_eq!(check(&date(&root)), [""; 0]);
        let (readme, chart) = (root.path().join(README), date(&root).join(CHART));
        fs::write(&readme, text.replacen("scylla", "gocql", 1)).unwrap();
        fs::remove_file(&chart).unwrap();
        assert_eq!(stale(root.path()), [readme.clone(), chart]);
        fs::write(&readme, "# title\n\nwords\n").unwrap();
        let error = write(root.path()).unwrap_err().to_string();
        assert!(error.contains("has no line that begins with `<!-- generated from reports/published/`"), "{error}");
    }
}
