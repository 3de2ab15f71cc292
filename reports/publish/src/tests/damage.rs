//! Damage to what is published is reported with its file and cell.

use std::collections::BTreeSet;

use cqldyno_reports::measure::{ERRORS, SERVER_EXECUTES, VERIFIED};
use cqldyno_reports::{CutShort, Measure, Unit};

use super::*;
use crate::make::render_again;
use crate::store::pack;

/// What is said of [`sound`], published in `root`, after a change, with a checksum that fits the change.
fn said_after(root: &TempDir, change: impl FnOnce(&mut Run, &mut Vec<Cell>)) -> Vec<String> {
    let (mut run, mut cells) = sound();
    change(&mut run, &mut cells);
    keep(&date(root).join("blocks"), &run, &cells);
    check(&date(root))
}

fn set(cell: &mut Cell, id: &str, value: f64) {
    cell.measures.insert(id.to_owned(), Measure::value(value, Unit::Count));
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
        let said = said_after(&root, |_, cells| change(scylla(cells)));
        let cell = "2026-01-02/blocks/cells.jsonl, cell 9 (scylla, writes, multi:2, timing, block 1)";
        assert_said(&said, &format!("{cell}: {expected}"));
        // The page still holds what was measured.
        assert_said(&said, "2026-01-02/blocks/page.html: the data in it are not those of run.json and cells.jsonl");
    }
}

#[test]
fn a_cell_has_as_many_statements_as_its_pass_and_its_scenarios_limits_ask_for() {
    let root = repository_with(&[sound()]);
    let issue = |cell: &mut Cell, count: f64| {
        for id in [STATEMENTS, VERIFIED, SERVER_EXECUTES] {
            set(cell, id, count);
        }
    };
    let told =
        |said: Vec<String>| -> Vec<String> { said.into_iter().filter(|one| one.contains("were asked for")).collect() };
    let counted = told(said_after(&root, |_, cells| {
        let is = |cell: &&mut Cell| cell.pass == Pass::Counting && cell.contender == "floor";
        cells.iter_mut().filter(is).for_each(|cell| issue(cell, 500_000.0));
    }));
    assert_eq!(counted.len(), 2, "{counted:#?}");
    assert!(counted[0].ends_with("it issued 500000 statements and is not void, and 100000 were asked for."));
    let limited = |count: f64| {
        told(said_after(&root, |run, cells| {
            run.scenarios[0].definition = Some(serde_json::json!({"limits": {"count": 20_000}}));
            cells.iter_mut().filter(|cell| cell.scenario == "writes").for_each(|cell| issue(cell, count));
        }))
    };
    assert_eq!(limited(20_000.0), [""; 0]);
    assert!(limited(500_000.0)[0].ends_with("and 20000 were asked for."));
}

#[test]
fn an_archive_without_the_histograms_of_cells_that_ended_is_reported() {
    let root = repository_with(&[sound()]);
    let folder = date(&root).join("blocks");
    pack(&folder, &BTreeSet::new(), &folder.join(FILES)).unwrap();
    assert_said(&check(&date(&root)), "2026-01-02/blocks/files.tar.gz: it holds 0 histograms, and ");
}

#[test]
fn a_run_that_is_not_whole_or_says_too_little_or_too_much_is_reported() {
    type Damage = fn(&mut Run, &mut Vec<Cell>);
    let cases: [(Damage, &str); 13] = [
        (|run, _| run.interrupted = true, "run.json: the run has no end, or was ended early"),
        (
            |run, _| run.cut_short = Some(CutShort { within_ms: 1_000, blocks: 11, missing_ms: 500 }),
            "run.json: it was cut short after 11 of 12 generations; go on with",
        ),
        (
            |run, cells| {
                run.contenders.retain(|one| one.id != "floor");
                cells.retain(|cell| cell.contender != "floor");
            },
            "run.json: floor took no part, and a published run has all contenders.",
        ),
        (
            |run, cells| {
                run.plan.blocks = 3;
                run.contenders.retain(|one| !one.control);
                cells.retain(|cell| cell.block <= 3 && cell.contender != "scylla#control");
            },
            "run.json: it has 3 blocks and no control; from 3 blocks on",
        ),
        (|run, _| run.contenders[0].version.clear(), "run.json: the version of scylla is unknown."),
        (|run, _| run.contenders[1].executable.clear(), "run.json: the executable of cdrs-tokio is unknown."),
        (|run, _| run.environment.kernel.clear(), "run.json: the kernel is unknown."),
        (
            |run, _| run.environment.profile = "debug".to_owned(),
            "run.json: the program was built as \"debug\"; only what a release build measures is published.",
        ),
        (
            |_, cells| sample::cost(cells, "scylla#control", 1.05),
            "cells.jsonl: The control is scylla@1.9.0 once more and should cost the same, but",
        ),
        (
            |_, cells| {
                cells.retain(|cell| !(cell.contender == "noop" && cell.block == 7 && cell.scenario == "reads"));
            },
            "cells.jsonl: noop, reads, multi:2, timing has cells of 11 blocks ([1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12]), \
             and generations 1 to 12 once each were expected.",
        ),
        (
            |_, cells| {
                let is = |cell: &&Cell| cell.contender == "noop" && cell.block == 7 && cell.pass == Pass::Timing;
                let twice = cells.iter().find(|cell| is(cell) && cell.scenario == "reads").unwrap().clone();
                cells.push(twice);
            },
            "cells.jsonl: noop, reads, multi:2, timing has cells of 13 blocks ([1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, \
             12]), and generations 1 to 12 once each were expected.",
        ),
        (
            |_, cells| scylla(cells).findings = vec!["Its log is in /home/ada/run/logs.".to_owned()],
            "cells.jsonl: it names /home/ada/run/logs., which is a folder of the machine that measured",
        ),
        (
            |_, cells| drop(cells[0].files.insert("log".to_owned(), "../notes.md".to_owned())),
            "cells.jsonl, cell 1 (scylla, writes, multi:2, counting, block 1): its log \"../notes.md\" does not \
             lie in the run's folder.",
        ),
    ];
    let root = repository_with(&[sound()]);
    for (change, expected) in cases {
        assert_said(&said_after(&root, change), &format!("2026-01-02/blocks/{expected}"));
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
fn a_file_outside_the_runs_folder_is_not_copied() {
    for file in ["../secret", "/etc/hostname", "hdr/../../secret", "./secret", ""] {
        let (run, mut cells) = sound();
        cells[0].files.insert("log".to_owned(), file.to_owned());
        let root = empty();
        let error = refusal(&[(run, cells)], &root);
        let names = format!("it names the file {file:?}, which does not lie in the run's folder");
        assert!(error.contains(&names), "{error}");
        assert!(!published(root.path()).exists(), "nothing is left behind");
    }
}

#[test]
fn a_folder_of_the_machine_is_reported_in_notes_page_and_whatever_a_cell_left() {
    let (run, mut cells) = sound();
    cells[0].findings = vec!["It is at file:///home/ada/run.".to_owned()];
    cells[0].files.insert("flamegraph".to_owned(), "flamegraph/1.svg".to_owned());
    let (root, folder) = (empty(), kept(&(run, cells)));
    let drawing = "<svg><script>t.replace(/abc/g, '')</script><title>[/opt/lib/a.so]</title></svg>";
    fs::write(folder.path().join("flamegraph/1.svg"), drawing).unwrap();
    put_notes(&root, "The runs were in /tmp until now.");
    let error = publish_kept(&[folder], &root).unwrap_err().to_string();
    for expected in [
        "2026-01-02/notes.md: it names /tmp, which is a folder of the machine that measured; nobody else has it.",
        "2026-01-02/blocks/cells.jsonl: it names /home/ada/run.",
        "2026-01-02/blocks/page.html: it names /home/ada/run.",
        "2026-01-02/blocks/flamegraph/1.svg: it names /opt/lib/a.so,",
    ] {
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn files_that_were_changed_lost_or_added_are_reported_until_they_are_made_again() {
    let root = repository_with(&[sound()]);
    let folder = date(&root).join("blocks");
    let (archive, source) = (folder.join(FILES), kept(&sound()));
    let mut names: BTreeSet<String> = unpack(&archive).unwrap().into_keys().collect();
    names.remove("hdr/003.hlog");
    names.insert("result.json".to_owned());
    pack(source.path(), &names, &archive).unwrap();
    fs::write(folder.join(PAGE), "<html>another page</html>").unwrap();
    fs::remove_file(folder.join(TABLE)).unwrap();
    fs::write(folder.join("core"), "").unwrap();
    fs::create_dir_all(folder.join("logs/inner")).unwrap();
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
    fs::remove_file(folder.join("core")).unwrap();
    fs::remove_dir_all(folder.join("logs")).unwrap();
    names.remove("result.json");
    names.insert("hdr/003.hlog".to_owned());
    pack(source.path(), &names, &archive).unwrap();
    render_again(&published(root.path())).unwrap();
    assert_eq!(check(&date(&root)), [""; 0], "page and table are there again");

    let other = date(&root).with_file_name("2026-01-03");
    fs::rename(date(&root), &other).unwrap();
    let said = check(&other);
    assert!(said[0].starts_with("2026-01-03: its runs are of 2026-01-02; a folder is named by the day"), "{said:?}");
}
