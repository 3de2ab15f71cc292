//! Everything that is published is what it must be; damage is reported with its file and cell.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cqldyno_reports::measure::{CPU_PER_STATEMENT, ERRORS, SERVER_EXECUTES, STATEMENTS, VERIFIED};
use cqldyno_reports::{Analysis, BuiltOnDemand, Cell, Checksum, CutShort, Measure, Pass, Recorded, Run, Unit};
use jsonschema::Validator;
use serde_json::Value;
use tempfile::TempDir;

use crate::check::check;
use crate::make::{Asked, render_again};
use crate::readme::{generated, write};
use crate::store::{CELLS, CHART, FILES, NOTES, PAGE, README, RUN, TABLE, folders, named, pack, runs, unpack};
use crate::{make, sample};

mod several;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A validator of the committed schema.
fn validator(name: &str) -> Validator {
    let text = fs::read_to_string(repository().join(format!("reports/schema/{name}.schema.json"))).unwrap();
    jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap()
}

/// What the schema says of `value`, each with where it is.
fn complaints(validator: &Validator, value: &Value) -> Vec<String> {
    let said = validator.iter_errors(value);
    said.map(|error| format!("at {}: {error}", error.instance_path())).collect()
}

#[test]
fn every_published_run_is_what_it_must_be() {
    let published = repository().join("reports/published");
    let dates = folders(&published).unwrap();
    assert!(!dates.is_empty());
    for date in dates {
        let found = check(&date);
        assert!(found.is_empty(), "what is published does not hold:\n{}", found.join("\n"));
        for run in runs(&date).unwrap() {
            // As they are read: the schemas do not hold for what earlier versions wrote.
            let Recorded { run: asked, cells, .. } = &run.recorded;
            let asked = serde_json::to_value(asked).unwrap();
            assert_eq!(complaints(&validator("run"), &asked), [""; 0], "{}", run.folder.display());
            let validator = validator("cell");
            for (at, cell) in cells.iter().enumerate() {
                let said = complaints(&validator, &serde_json::to_value(cell).unwrap());
                assert!(said.is_empty(), "{}/{CELLS}, cell {}: {said:?}", run.folder.display(), at + 1);
            }
        }
    }
}

#[test]
fn a_published_run_has_at_most_six_files_and_the_rest_of_it_in_one_archive() {
    let entries =
        |folder: &Path| -> Vec<PathBuf> { fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let dates = entries(&repository().join("reports/published"));
    for run in dates.iter().filter(|date| date.is_dir()).flat_map(|date| entries(date)).filter(|run| run.is_dir()) {
        assert!(entries(&run).len() <= 6, "{}", run.display());
    }
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
    for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
        let cost = cell.get(CPU_PER_STATEMENT).unwrap() * factor;
        cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(cost, Unit::Microseconds));
    }
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
    for file in named(run, cells) {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "a histogram").unwrap();
    }
    for other in ["result.json", "cells.csv", "table.txt", "time.txt"] {
        fs::write(folder.path().join(other), "rendered").unwrap();
    }
    folder
}

/// Publishes the runs under the names of their plans.
fn publish(folders: &[PathBuf], published: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let asked = |folder: &PathBuf| Asked { name: None, folder: folder.clone() };
    make::publish(&folders.iter().map(asked).collect::<Vec<_>>(), published)
}

/// A repository in which the runs are published.
fn repository_with(all: &[(Run, Vec<Cell>)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let folders: Vec<TempDir> = all.iter().map(kept).collect();
    let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.path().to_path_buf()).collect();
    publish(&paths, &root.path().join("reports/published")).unwrap_or_else(|error| panic!("{error}"));
    root
}

fn date(root: &TempDir) -> PathBuf {
    root.path().join("reports/published/2026-01-02")
}

/// What is said of a published run after its cells were changed, with a checksum that fits the change.
fn said_of(change: impl FnOnce(&mut Run, &mut Vec<Cell>)) -> Vec<String> {
    said_in(&repository_with(&[sound()]), change)
}

/// The same in a repository where [`sound`] is published.
fn said_in(root: &TempDir, change: impl FnOnce(&mut Run, &mut Vec<Cell>)) -> Vec<String> {
    let (mut run, mut cells) = sound();
    change(&mut run, &mut cells);
    keep(&date(root).join("blocks"), &run, &cells);
    check(&date(root))
}

#[track_caller]
fn assert_said(said: &[String], expected: &str) {
    assert!(said.iter().any(|one| one.starts_with(expected)), "{expected:?} is not in {said:#?}");
    assert!(said.iter().all(|one| one.starts_with("2026-01-02") && one.ends_with(['.', ')'])), "{said:#?}");
}

fn set(cell: &mut Cell, id: &str, value: f64) {
    cell.measures.insert(id.to_owned(), Measure::value(value, Unit::Count));
}

/// The first timing cell of scylla, and its place.
fn scylla(cells: &mut [Cell]) -> (usize, &mut Cell) {
    let is = |cell: &Cell| cell.contender == "scylla" && cell.pass == Pass::Timing;
    let at = cells.iter().position(is).unwrap();
    (at + 1, &mut cells[at])
}

#[test]
fn what_was_measured_is_published_whole_and_what_was_rendered_before_is_not() {
    let (run, cells) = sound();
    let root = repository_with(&[(run.clone(), cells.clone()), once()]);
    assert_eq!(check(&date(&root)), [""; 0]);
    let folder = date(&root).join("blocks");
    let mut names: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [CELLS, FILES, PAGE, RUN, TABLE]);
    let files = unpack(&folder.join(FILES)).unwrap();
    assert_eq!(files.len(), cells.len() + 1, "a histogram for each, and a lock file");
    assert!(files.contains_key("locks/scylla.lock") && files.values().all(|bytes| bytes == b"a histogram"));
    assert!(date(&root).join("classic").is_dir());
    let again = kept(&(run, cells));
    let error = publish(&[again.path().to_path_buf()], &root.path().join("reports/published")).unwrap_err().to_string();
    assert!(error.contains("which is there already; remove that first to replace it"), "{error}");
    assert_eq!(check(&date(&root)), [""; 0], "what was there stays");
}

#[test]
fn a_cell_without_figures_that_count_is_reported_by_its_file_and_place() {
    type Damage = fn(&mut Cell);
    let cases: [(Damage, &str); 6] = [
        (
            |cell| [STATEMENTS, VERIFIED, SERVER_EXECUTES].iter().for_each(|id| drop(cell.measures.remove(id))),
            "the number of its statements is missing.",
        ),
        (
            |cell| set(cell, SERVER_EXECUTES, 499_999.0),
            "it issued 500000 statements and is not void, and 499999 were EXECUTEs that the server counted.",
        ),
        (
            |cell| set(cell, VERIFIED, 499_000.0),
            "it issued 500000 statements and is not void, and 499000 were verified.",
        ),
        (
            |cell| cell.measures = [(ERRORS.to_owned(), Measure::unavailable("Not allowed."))].into(),
            "it was not measured; measure where that is possible, or without the pass. Not allowed.",
        ),
        (
            |cell| cell.void = Some("A statement failed.".to_owned()),
            "it is void, and notes.md does not name it: A statement failed.",
        ),
        (|cell| cell.failed = Some("It crashed.".to_owned()), "it failed, and notes.md does not name it: It crashed."),
    ];
    let root = repository_with(&[sound()]);
    for (change, expected) in cases {
        let mut place = 0;
        let said = said_in(&root, |_, cells| {
            let (at, cell) = scylla(cells);
            place = at;
            change(cell);
        });
        let start = format!(
            "2026-01-02/blocks/cells.jsonl, cell {place} (scylla, writes, multi:2, timing, block 1): {expected}"
        );
        assert_said(&said, &start);
        // The page still holds what was measured.
        assert_said(&said, "2026-01-02/blocks/page.html: the data in it are not those of run.json and cells.jsonl");
    }
}

#[test]
fn a_table_whose_rows_the_run_does_not_give_is_reported() {
    let root = repository_with(&[sound()]);
    let table = date(&root).join("blocks").join(TABLE);
    let text = fs::read_to_string(&table).unwrap();
    fs::write(&table, text.replacen("| scylla", "| Scylla", 1)).unwrap();
    assert_said(&check(&date(&root)), "2026-01-02/blocks/table.md: its rows are not those that the run gives");
    fs::write(&table, format!("Other words.\n{text}")).unwrap();
    assert_eq!(check(&date(&root)), [""; 0]);
}

#[test]
fn a_comparison_of_releases_has_a_folder_of_its_own_and_is_no_front() {
    let (mut run, mut cells) = again(1, 1.0);
    run.plan.releases = vec!["scylla@all".to_owned()];
    run.contenders.retain(|one| one.id == "scylla");
    cells.retain(|cell| cell.contender == "scylla");
    let root = repository_with(&[sound(), (run, cells)]);
    let later = root.path().join("reports/published/2026-01-03");
    assert_eq!([check(&date(&root)), check(&later)], [[""; 0]; 2]);
    assert!(later.join("releases-scylla").is_dir());
    let lines = "<!-- generated from reports/published/0 -->\n<!-- end of what is generated -->\n";
    fs::write(root.path().join(README), lines).unwrap();
    write(root.path()).unwrap();
    assert_eq!(stale(root.path()), [""; 0].map(PathBuf::from));
    let [front, of_later] = [root.path(), &later].map(|folder| fs::read_to_string(folder.join(README)).unwrap());
    assert!(front.contains("(reports/published/2026-01-02)") && !front.contains("2026-01-03"), "{front}");
    assert!(of_later.contains("## [releases-scylla](releases-scylla)") && !of_later.contains(CHART), "{of_later}");
}

#[test]
fn a_run_with_a_name_may_lack_contenders_and_is_not_in_the_readme() {
    let (mut run, mut cells) = once();
    run.contenders.retain(|one| one.id != "noop");
    cells.retain(|cell| cell.contender != "noop");
    let root = repository_with(&[sound()]);
    let published = root.path().join("reports/published");
    let folder = kept(&(run, cells));
    let error = publish(&[folder.path().to_path_buf()], &published).unwrap_err().to_string();
    assert!(error.contains("noop took no part, and a published run has all contenders."), "{error}");
    let asked = Asked::parse(&format!("one-time={}", folder.path().display())).unwrap();
    make::publish(&[asked], &published).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(check(&date(&root)), [""; 0]);
    let readme = root.path().join(README);
    fs::write(&readme, "<!-- generated from reports/published/0 -->\n<!-- end of what is generated -->\n").unwrap();
    write(root.path()).unwrap();
    let of_date = fs::read_to_string(date(&root).join(README)).unwrap();
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
fn a_void_cell_that_the_notes_tell_of_may_be_published() {
    let (run, mut cells) = sound();
    scylla(&mut cells).1.void = Some("A statement failed.".to_owned());
    let root = tempfile::tempdir().unwrap();
    let published = root.path().join("reports/published");
    let folder = kept(&(run, cells));
    let error = publish(&[folder.path().to_path_buf()], &published).unwrap_err().to_string();
    assert!(
        error.starts_with("nothing was published, because this was found:\n2026-01-02/blocks/cells.jsonl, cell "),
        "{error}"
    );
    assert!(
        error.contains("name the cell that failed or is void as above, or repeat the sentence on noise, in"),
        "{error}"
    );
    assert!(!date(&root).exists(), "nothing is left behind");
    fs::create_dir_all(date(&root)).unwrap();
    let told = "In the first block a statement of scylla failed: scylla, writes, multi:2, timing, block 1 is void.";
    fs::write(date(&root).join(NOTES), told).unwrap();
    publish(&[folder.path().to_path_buf()], &published).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(check(&date(&root)), [""; 0]);
    fs::write(
        root.path().join(README),
        "<!-- generated from reports/published/0 -->\n<!-- end of what is generated -->\n",
    )
    .unwrap();
    write(root.path()).unwrap();
    let text = fs::read_to_string(root.path().join(README)).unwrap();
    assert!(text.contains("**void**"), "{text}");
    let of_date = fs::read_to_string(date(&root).join(README)).unwrap();
    assert!(of_date.contains(told), "{of_date}");
}

#[test]
fn a_note_on_block_10_excuses_no_failure_in_block_1() {
    let (run, mut cells) = sound();
    scylla(&mut cells).1.void = Some("A statement failed.".to_owned());
    let root = repository_with(&[sound()]);
    keep(&date(&root).join("blocks"), &run, &cells);
    render_again(&root.path().join("reports/published")).unwrap();
    let said_with = |notes: &str| {
        fs::write(date(&root).join(NOTES), notes).unwrap();
        check(&date(&root))
    };
    for notes in
        ["scylla, writes, multi:2, timing, block 10 is void.", "x-scylla, writes, multi:2, timing, block 1 is void."]
    {
        let said = said_with(notes);
        assert!(said.iter().any(|one| one.contains("it is void, and notes.md does not name it")), "{notes}: {said:?}");
    }
    for notes in
        ["scylla, writes, multi:2, timing, block 1 is void.", "Void: `scylla, writes,\nmulti:2, timing, block 1`."]
    {
        assert_eq!(said_with(notes), [""; 0], "{notes}");
    }
}

#[test]
fn a_driver_that_is_missing_is_excused_by_a_sentence_that_says_so() {
    let (mut run, mut cells) = sound();
    cells.retain(|cell| cell.contender != "cassandra-cpp");
    for one in run.contenders.iter_mut().filter(|one| one.id == "cassandra-cpp") {
        one.unavailable = Some("libcassandra was not found.".to_owned());
    }
    let root = tempfile::tempdir().unwrap();
    let published = root.path().join("reports/published");
    let folder = kept(&(run, cells));
    let publish_with = |notes: &str| {
        fs::create_dir_all(date(&root)).unwrap();
        fs::write(date(&root).join(NOTES), notes).unwrap();
        publish(&[folder.path().to_path_buf()], &published)
    };
    let error = publish_with("This machine has no cassandra-cpp package of its own.").unwrap_err().to_string();
    let expected = "run.json: cassandra-cpp could not be asked, and notes.md does not say \"cassandra-cpp could not be \
                    asked\": libcassandra was not found.";
    assert!(error.contains(expected), "{error}");
    publish_with("`cassandra-cpp` could not be asked: there was no libcassandra.")
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_cell_has_as_many_statements_as_its_pass_and_its_scenarios_limits_ask_for() {
    let all = |cell: &mut Cell, count: f64| {
        for id in [STATEMENTS, VERIFIED, SERVER_EXECUTES] {
            set(cell, id, count);
        }
    };
    let told = |said: &[String]| -> Vec<String> {
        said.iter().filter(|one| one.contains("were asked for")).cloned().collect()
    };
    let root = repository_with(&[sound()]);
    let counting = |cell: &&mut Cell| cell.pass == Pass::Counting && cell.contender == "floor";
    let said = said_in(&root, |_, cells| cells.iter_mut().filter(counting).for_each(|cell| all(cell, 500_000.0)));
    assert_eq!(told(&said).len(), 2, "{said:#?}");
    assert!(
        told(&said)[0].ends_with("it issued 500000 statements and is not void, and 100000 were asked for."),
        "{said:#?}"
    );
    let limited = |count: f64| {
        said_in(&root, |run, cells| {
            run.scenarios[0].definition = Some(serde_json::json!({"limits": {"count": 20_000}}));
            cells.iter_mut().filter(|cell| cell.scenario == "writes").for_each(|cell| all(cell, count));
        })
    };
    assert_eq!(told(&limited(20_000.0)), [""; 0]);
    assert!(told(&limited(500_000.0))[0].ends_with("and 20000 were asked for."));
}

#[test]
fn a_run_of_three_blocks_without_a_control_is_reported() {
    let without = |blocks: u32| {
        let root = repository_with(&[sound()]);
        said_in(&root, |run, cells| {
            run.plan.blocks = blocks;
            run.contenders.retain(|one| !one.control);
            cells.retain(|cell| cell.block <= blocks && cell.contender != "scylla#control");
        })
    };
    assert_said(&without(3), "2026-01-02/blocks/run.json: it has 3 blocks and no control; from 3 blocks on");
    let said = without(2);
    assert!(!said.iter().any(|one| one.contains("no control")), "{said:?}");
}

#[test]
fn a_page_that_drops_parts_of_cells_or_tells_of_another_plan_is_reported() {
    let (run, cells) = sound();
    let sealed = Run { checksum: Some(Checksum::of_cells(&cells)), ..run.clone() };
    let root = repository_with(&[(run, cells.clone())]);
    let page = date(&root).join("blocks").join(PAGE);
    let said_of_page = |run: &Run, cells: &[Cell]| {
        let html = cqldyno_reports::exporter("html").unwrap();
        fs::write(&page, html.one(&Analysis::new(run, cells), Default::default()).unwrap()).unwrap();
        check(&date(&root))
    };
    let mut dropped = cells.clone();
    dropped.iter_mut().for_each(|cell| cell.files.clear());
    let unsealed = Run { checksum: None, ..sealed.clone() };
    let mut other = sealed.clone();
    other.plan.seed += 1;
    for (run, cells) in [(&unsealed, &dropped), (&other, &cells)] {
        let said = said_of_page(run, cells);
        assert_said(&said, "2026-01-02/blocks/page.html: the data in it are not those of run.json and cells.jsonl");
    }
    assert_eq!(said_of_page(&sealed, &cells), [""; 0]);
}

#[test]
fn a_file_outside_the_runs_folder_is_neither_copied_nor_looked_at() {
    for file in ["../secret", "/etc/hostname", "hdr/../../secret", "./secret", ""] {
        let (run, mut cells) = sound();
        let kept = kept(&(run.clone(), cells.clone()));
        cells[0].files.insert("log".to_owned(), file.to_owned());
        keep(kept.path(), &run, &cells);
        let root = tempfile::tempdir().unwrap();
        let error = publish(&[kept.path().to_path_buf()], root.path()).unwrap_err().to_string();
        let expected =
            format!("it names the file {file:?}, which does not lie in the run's folder; take the files as they");
        assert!(error.contains(&expected), "{error}");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "nothing is left behind");
    }
    let said = said_of(|_, cells| drop(cells[0].files.insert("log".to_owned(), "../notes.md".to_owned())));
    assert!(
        said.iter().any(|one| one.ends_with("its log \"../notes.md\" does not lie in the run's folder.")),
        "{said:?}"
    );
}

#[test]
fn a_control_that_differs_is_reported_with_the_place() {
    let said = said_of(|_, cells| {
        for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
            let slower = cell.get(CPU_PER_STATEMENT).unwrap() * 1.05;
            cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(slower, Unit::Microseconds));
        }
    });
    assert_said(
        &said,
        "2026-01-02/blocks/cells.jsonl: The control is scylla@1.9.0 once more and should cost the same, but",
    );
}

#[test]
fn a_run_that_is_not_whole_is_reported() {
    let said = said_of(|_, cells| {
        cells.retain(|cell| !(cell.contender == "noop" && cell.block == 7 && cell.scenario == "reads"));
    });
    let expected = "2026-01-02/blocks/cells.jsonl: noop, reads, multi:2, timing has cells of 11 blocks ([1, 2, 3, 4, 5, 6, 8, 9, 10, \
                    11, 12]), and generations 1 to 12 once each were expected.";
    assert_said(&said, expected);
    let said = said_of(|_, cells| {
        let is = |cell: &&Cell| cell.contender == "noop" && cell.block == 7 && cell.pass == Pass::Timing;
        let twice = cells.iter().find(|cell| is(cell) && cell.scenario == "reads").unwrap().clone();
        cells.push(twice);
    });
    let expected = "2026-01-02/blocks/cells.jsonl: noop, reads, multi:2, timing has cells of 13 blocks ([1, 2, 3, 4, 5, 6, 7, 7, 8, \
                    9, 10, 11, 12]), and generations 1 to 12 once each were expected.";
    assert_said(&said, expected);
    let said = said_of(|run, _| run.contenders.retain(|one| one.id != "floor"));
    assert!(said.iter().any(|one| one.contains("its contender \"floor\" is none of the run's")), "{said:?}");
    let said = said_of(|run, cells| {
        run.contenders.retain(|one| one.id != "floor");
        cells.retain(|cell| cell.contender != "floor");
    });
    assert_said(&said, "2026-01-02/blocks/run.json: floor took no part, and a published run has all contenders.");
    let said = said_of(|run, _| run.interrupted = true);
    assert_said(&said, "2026-01-02/blocks/run.json: the run has no end, or was ended early");
    let said = said_of(|run, _| run.cut_short = Some(CutShort { within_ms: 1_000, blocks: 11, missing_ms: 500 }));
    assert_said(&said, "2026-01-02/blocks/run.json: it was cut short after 11 of 12 generations; go on with");
}

#[test]
fn versions_that_are_not_told_and_a_debug_build_are_reported() {
    let said = said_of(|run, _| {
        run.contenders[0].version.clear();
        run.contenders[1].executable.clear();
        run.environment.kernel.clear();
        run.environment.profile = "debug".to_owned();
    });
    for expected in [
        "the version of scylla is unknown.",
        "the executable of cdrs-tokio is unknown.",
        "the kernel is unknown.",
        "the program was built as \"debug\"; only what a release build measures is published.",
    ] {
        assert_said(&said, &format!("2026-01-02/blocks/run.json: {expected}"));
    }
}

#[test]
fn a_folder_of_the_machine_is_reported_and_one_that_every_machine_has_is_not() {
    let said = said_of(|run, cells| {
        run.contenders[0].caveats =
            vec!["It reads /proc/self/stat and ../lib/libcassandra.so, at 1/s or 10/20/30.".to_owned()];
        scylla(cells).1.findings = vec!["Its log is in /home/ada/run/logs.".to_owned()];
    });
    assert_said(
        &said,
        "2026-01-02/blocks/cells.jsonl: it names /home/ada/run/logs., which is a folder of the machine that measured",
    );
    assert!(!said.iter().any(|one| one.starts_with("2026-01-02/blocks/run.json: it names")), "{said:?}");
}

#[test]
fn a_folder_of_the_machine_is_reported_in_notes_page_and_whatever_a_cell_left() {
    let (run, mut cells) = sound();
    cells[0].findings = vec!["It is at file:///home/ada/run.".to_owned()];
    cells[0].files.insert("flamegraph".to_owned(), "flamegraph/1.svg".to_owned());
    let folder = kept(&(run.clone(), cells.clone()));
    let drawing = "<svg><script>t.replace(/abc/g, '')</script><title>[/opt/lib/a.so]</title></svg>";
    fs::write(folder.path().join("flamegraph/1.svg"), drawing).unwrap();
    let published = tempfile::tempdir().unwrap();
    let error = publish(&[folder.path().to_path_buf()], published.path()).unwrap_err().to_string();
    for expected in [
        "2026-01-02/blocks/cells.jsonl: it names /home/ada/run.",
        "2026-01-02/blocks/page.html: it names /home/ada/run.",
        "2026-01-02/blocks/flamegraph/1.svg: it names /opt/lib/a.so,",
    ] {
        assert!(error.contains(expected), "{error}");
    }
    let root = repository_with(&[sound()]);
    fs::write(date(&root).join(NOTES), "The runs were in /tmp until now.").unwrap();
    assert_eq!(
        check(&date(&root)),
        ["2026-01-02/notes.md: it names /tmp, which is a folder of the machine that measured; nobody else has it."]
    );
}

#[test]
fn files_that_were_changed_lost_or_added_are_reported() {
    let (run, cells) = sound();
    let fresh = || repository_with(&[(run.clone(), cells.clone())]);
    let root = fresh();
    let path = date(&root).join("blocks/cells.jsonl");
    let text = fs::read_to_string(&path).unwrap().replacen("\"value\":1.0", "\"value\":2.0", 1);
    fs::write(&path, text).unwrap();
    assert_said(&check(&date(&root)), "2026-01-02/blocks: its cells are not those that were measured: run.json says");

    let root = fresh();
    fs::write(date(&root).join("blocks/page.html"), "<html>another page</html>").unwrap();
    let archive = date(&root).join("blocks").join(FILES);
    let source = kept(&(run.clone(), cells.clone()));
    let mut names: BTreeSet<String> = unpack(&archive).unwrap().into_keys().collect();
    names.remove("hdr/003.hlog");
    names.insert("result.json".to_owned());
    pack(source.path(), &names, &archive).unwrap();
    fs::remove_file(date(&root).join("blocks/table.md")).unwrap();
    fs::write(date(&root).join("blocks/core"), "").unwrap();
    fs::create_dir_all(date(&root).join("blocks/logs/inner")).unwrap();
    let said = check(&date(&root));
    for expected in [
        "page.html: the data that it offers for download cannot be read",
        "hdr/003.hlog: this hdr of cell 3 (",
        "table.md: it is missing; publish the run again.",
        "core: it is no file of a published run; remove it.",
        "files.tar.gz: nothing names its result.json; publish the run again.",
        "logs/: it is no folder of a published run; remove it.",
    ] {
        assert_said(&said, &format!("2026-01-02/blocks/{expected}"));
    }
    fs::remove_file(date(&root).join("blocks/core")).unwrap();
    fs::remove_dir_all(date(&root).join("blocks/logs")).unwrap();
    names.remove("result.json");
    names.insert("hdr/003.hlog".to_owned());
    pack(source.path(), &names, &archive).unwrap();
    render_again(&root.path().join("reports/published")).unwrap();
    assert_eq!(check(&date(&root)), [""; 0], "page and table are there again");

    let root = fresh();
    let other = date(&root).with_file_name("2026-01-03");
    fs::rename(date(&root), &other).unwrap();
    let said = check(&other);
    assert!(said[0].starts_with("2026-01-03: its runs are of 2026-01-02; a folder is named by the day"), "{said:?}");
}

#[test]
fn the_readme_follows_from_the_runs_there_are_and_a_change_by_hand_is_reported() {
    for (all, has, has_not) in [
        (vec![once()], "| scenario | driver | `multi:2` CPU us |", "**dearer**"),
        (vec![sound()], "**dearer**", "no such text"),
        (vec![sound(), once()], "**dearer**", "no such text"),
    ] {
        let root = repository_with(&all);
        let readme = root.path().join(README);
        fs::write(&readme, "# title\n\nwords\n").unwrap();
        let error = write(root.path()).unwrap_err();
        assert!(
            error.to_string().contains("has no line that begins with `<!-- generated from reports/published/`"),
            "{error}"
        );
        let before = "# title\n\n<!-- generated from reports/published/0 by make readme -->\nold\n";
        fs::write(&readme, format!("{before}<!-- end of what is generated -->\n\nbehind\n")).unwrap();
        write(root.path()).unwrap();
        assert!(stale(root.path()).is_empty());
        let text = fs::read_to_string(&readme).unwrap();
        assert!(
            text.starts_with("# title\n\n<!-- generated from reports/published/2026-01-02 by make readme -->\n\n"),
            "{text}"
        );
        assert!(
            text.ends_with("\n\n<!-- end of what is generated -->\n\nbehind\n") && !text.contains("\nold\n"),
            "{text}"
        );
        assert!(text.contains(has) && !text.contains(has_not), "{text}");
        assert!(text.contains("](reports/published/2026-01-02/chart.svg)"), "{text}");
        assert_eq!(check(&date(&root)), [""; 0]);
        fs::write(&readme, text.replacen("scylla", "gocql", 1)).unwrap();
        fs::remove_file(date(&root).join(CHART)).unwrap();
        let told = stale(root.path());
        assert_eq!(told.len(), 2, "{told:?}");
    }
}
