//! What is said of results that are failed, void, doubtful, hostile, or fewer than were asked for.

use expect_test::expect_file;

use super::widest;
use crate::export::shown::{at, csv, html, json, markdown, story, table, times, wide};
use crate::measure::{ERRORS, SYSCALLS, SYSCALLS_PER_STATEMENT, USER, WALL};
use crate::{Analysis, Cell, CutShort, Look, Measure, Pass, Run, Unit, sample, wrap};

/// cassandra-cpp is there under its long name, cdrs-tokio fails in a block and has errors in reads, system calls cannot be
/// counted, floor crashes, and the run was ended early.
pub(super) fn troubled() -> (Run, Vec<Cell>) {
    let (mut run, mut cells) = sample::run();
    run.interrupted = true;
    let cpp = &mut run.contenders[2];
    cpp.unavailable = None;
    cpp.label = "cassandra-cpp@3.0.2+lib=scylla-2.16.2".to_owned();
    let scylla: Vec<Cell> = cells.iter().filter(|cell| cell.contender == "scylla").cloned().collect();
    cells.extend(scylla.into_iter().filter(|cell| cell.scenario == "writes").map(|cell| Cell {
        contender: "cassandra-cpp".to_owned(),
        label: "cassandra-cpp@3.0.2+lib=scylla-2.16.2".to_owned(),
        findings: vec!["The worker's CPU time and the kernel's differ by 2.1 %.".to_owned()],
        ..cell
    }));
    for cell in &mut cells {
        for id in [SYSCALLS, SYSCALLS_PER_STATEMENT] {
            let why = "The kernel does not let this user count system calls (EACCES); run `cqldyno doctor`.";
            cell.measures.insert(id.to_owned(), Measure::unavailable(why));
        }
        match (cell.contender.as_str(), cell.scenario.as_str()) {
            ("cdrs-tokio", "reads") if cell.pass == Pass::Timing => {
                cell.measures.insert(ERRORS.to_owned(), Measure::value(2.0, Unit::Count));
                cell.void = Some("2 of 500,000 statements failed (2 request timeouts).".to_owned());
            }
            ("cdrs-tokio", "writes") if cell.block == 2 => {
                cell.measures.clear();
                cell.failed = Some("The worker ended with signal 11 before `end`.".to_owned());
            }
            ("floor", _) => {
                cell.measures.clear();
                cell.failed = Some("The worker did not answer within 30 s.".to_owned());
            }
            _ => {}
        }
    }
    (run, cells)
}

/// Names that would break a table, a terminal, a Markdown page or a CSV file.
fn hostile() -> (Run, Vec<Cell>) {
    let (mut run, mut cells) = sample::run();
    let name = "\u{1b}[31mred|*bold*,\"quoted\"\r\n<script>\u{202e}`x`";
    let long = format!("driver@{}+lib=/{}", "9".repeat(90), "很长".repeat(20));
    run.contenders.truncate(2);
    run.scenarios.truncate(1);
    cells.retain(|cell| cell.scenario == "writes" && cell.block == 1 && cell.pass == Pass::Timing);
    cells.retain(|cell| ["scylla", "cdrs-tokio"].contains(&cell.contender.as_str()));
    for (contender, label) in run.contenders.iter_mut().zip([name, long.as_str()]) {
        for cell in cells.iter_mut().filter(|cell| cell.contender == contender.id) {
            cell.label = label.to_owned();
            cell.void = Some(format!("Said {name}"));
            cell.measures.retain(|id, _| [WALL, USER].contains(&id));
        }
        contender.label = label.to_owned();
        contender.caveats = vec![format!("Says {name}")];
    }
    (run, cells)
}

/// The control costs 5 % more than the reference, a generation was run again, cdrs-tokio crashed once in
/// reads, and there is a second arrangement.
fn doubtful() -> (Run, Vec<Cell>) {
    let (mut run, mut cells) = sample::blocks(12);
    run.plan.noise_share = Some(0.1);
    sample::cost(&mut cells, "scylla#control", 1.05);
    let is =
        |cell: &Cell, scenario, block| cell.scenario == scenario && cell.block == block && cell.pass == Pass::Timing;
    let mut again: Vec<Cell> = cells.iter().filter(|cell| is(cell, "writes", 3)).cloned().collect();
    again.iter_mut().for_each(|cell| cell.attempt = 2);
    cells.extend(again);
    let crashed = cells.iter_mut().find(|cell| is(cell, "reads", 5) && cell.contender == "cdrs-tokio").unwrap();
    crashed.failed = Some("The worker ended with signal 11 before `end`.".to_owned());
    let mut current = run.plan.arrangements[0].clone();
    current.id = "current".to_owned();
    run.plan.arrangements.push(current);
    cells.extend(cells.clone().into_iter().map(|cell| Cell { arrangement: "current".to_owned(), ..cell }));
    (run, cells)
}

#[test]
fn who_failed_or_is_missing_stays_in_a_short_table_with_the_reason() {
    let (run, cells) = troubled();
    let text = table(&run, &cells, at(80));
    assert!(text.contains("cdrs-tokio     failed 1/3: The worker ended with signal 11"), "{text}");
    assert!(text.contains("void"), "{text}");
    let (run, cells) = sample::run();
    let text = table(&run, &cells, at(80));
    assert!(text.contains("cassandra-cpp  missing, see below\n"), "{text}");
    let whole = "\ncassandra-cpp: missing: The worker cqldyno-driver-cassandra-cpp was not built,";
    assert!(text.contains(whole), "{text}");
}

#[test]
fn a_run_that_ended_early_or_was_cut_short_says_so_after_a_short_table() {
    let (mut run, cells) = sample::blocks(9);
    run.interrupted = true;
    let text = table(&run, &cells, at(80));
    let why = "The run was stopped, so it gives no verdicts; `cqldyno compare --resume DIR` finishes it.";
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(why), "{text}");
    for text in [text, wide(&run, &cells, 160), markdown(&run, &cells), html(&run, &cells), json(&run, &cells)] {
        assert!(text.contains("The run was stopped, so") && text.contains("This run gives no verdict."), "{text}");
        for word in ["dearer", "slower"] {
            assert!(!text.contains(&format!(") {word}")) && !text.contains(&format!(">{word}</")), "{text}");
            assert!(!text.contains(&format!("\"verdict\": \"{word}\"")), "{text}");
        }
    }
    let text = table(&run, &cells, at(80));
    assert!(text.contains("vs scylla (95 %)") && !text.contains("withheld"), "{text}");
    run.interrupted = false;
    let text = table(&run, &cells, at(80));
    assert!(text.contains(") dearer") && text.contains("slower"), "finished, it has verdicts again: {text}");
    (run.plan.blocks, run.plan.within_ms) = (12, Some(300_000));
    run.cut_short = Some(CutShort { within_ms: 300_000, blocks: 9, missing_ms: 72_000 });
    assert!(table(&run, &cells, at(80)).contains("9 of 12 generations of every scenario"));
}

#[test]
fn nine_of_twelve_generations_say_so_at_80_and_160_columns() {
    let (mut run, cells) = sample::blocks(9);
    (run.plan.blocks, run.plan.within_ms) = (12, Some(300_000));
    run.cut_short = Some(CutShort { within_ms: 300_000, blocks: 9, missing_ms: 72_000 });
    for width in [80, 160] {
        let text = wide(&run, &cells, width);
        assert!(widest(&text) <= width, "{text}");
        assert!(
            text.starts_with("9 turns of 500k statements") && text.contains("9 of 12 generations of every scenario"),
            "{text}"
        );
    }
    assert!(
        times(&run, &cells, at(80)).replace("\n  ", " ").contains("of the one of 9 turns with the median real time")
    );
}

/// Two in three rounds of each scenario are disturbed.
#[test]
fn a_run_that_others_disturbed_has_ratios_and_no_verdict_in_every_format() {
    let (mut run, mut cells) = sample::blocks(12);
    crate::rounds::tests::disturb(&mut run, &mut cells, |cell| cell.block <= 8);
    let short = table(&run, &cells, at(80));
    assert!(short.contains(") too noisy") && short.contains("Warning: 16 of 24 rounds do not count"), "{short}");
    for text in [short, wide(&run, &cells, 160), markdown(&run, &cells), html(&run, &cells)] {
        assert!(text.contains("too noisy") && text.contains("This run gives no verdict"), "{text}");
        assert!(!text.contains("dearer</span>") && !text.contains(") dearer"), "{text}");
    }
    assert!(json(&run, &cells).contains("\"verdict\": \"too_noisy\""));
}

#[test]
fn a_control_that_differs_is_said_and_takes_the_verdicts_away() {
    let (run, cells) = doubtful();
    let text = table(&run, &cells, at(100));
    assert!(widest(&text) <= 100);
    assert!(text.contains("Warning: The control is scylla@1.9.0 once more") && text.contains("withheld"), "{text}");
    assert!(!text.contains("dearer") && !text.contains("cheaper"), "{text}");
    expect_file!["a_control_that_differs_is_said_and_takes_the_verdicts_away.txt"]
        .assert_eq(&(text + "\n==========\n\n" + &wide(&run, &cells, 100)));
    let whole: serde_json::Value = serde_json::from_str(&json(&run, &cells)).unwrap();
    assert_eq!(whole["warnings"].as_array().unwrap().len(), 1);
    assert!(whole["summary"].as_array().unwrap().iter().all(|row| row["verdict"].is_null()));
    let coloured = table(&run, &cells, Look { colour: true, ..at(100) });
    assert!(coloured.contains("\u{1b}[1;31mWarning: The control is"), "{coloured:?}");
}

#[test]
fn a_control_that_differs_is_said_in_markdown() {
    let (run, cells) = doubtful();
    let text = markdown(&run, &cells);
    assert!(text.contains("> **Warning.** The control is scylla@1.9.0 once more"), "{text}");
    assert!(text.contains("| withheld |"), "{text}");
}

#[test]
fn an_arrangement_with_more_threads_than_cores_has_a_warning() {
    let (mut run, cells) = sample::run();
    let warnings = |run: &Run| Analysis::new(run, &cells).warnings;
    let before = warnings(&run);
    run.plan.arrangements[0].runtime = "multi:99".to_owned();
    let after = warnings(&run);
    let said =
        "multi:2 gives the worker 99 threads on 2 cores, so threads wait for one another; ask for at most multi:2.";
    assert_eq!(after[before.len()..], [said.to_owned()]);
}

#[test]
fn too_few_generations_have_no_verdict_and_say_why() {
    let (run, cells) = sample::blocks(7);
    let text = wide(&run, &cells, 160);
    assert!(text.contains("verdicts none. An interval needs at least 8 generations"), "{text}");
    assert!(!text.contains("(95 %"), "{text}");
    let text = table(&run, &cells, at(80)).replace("\n  ", " ");
    assert!(text.contains("An interval needs at least 8 generations") && !text.contains(" 1.5"), "{text}");
}

#[test]
fn a_troubled_run_says_so_at_160_columns() {
    let (run, cells) = troubled();
    let text = table(&run, &cells, at(160)) + "\n==========\n\n" + &wide(&run, &cells, 160);
    assert!(widest(&text) <= 160);
    expect_file!["a_troubled_run_says_so_at_160_columns.txt"].assert_eq(&text);
}

#[test]
fn a_troubled_run_says_so_at_80_columns() {
    let (run, cells) = troubled();
    let text = table(&run, &cells, at(80)) + "\n==========\n\n" + &wide(&run, &cells, 80);
    assert!(widest(&text) <= 80);
    expect_file!["a_troubled_run_says_so_at_80_columns.txt"].assert_eq(&text);
}

#[test]
fn a_reason_without_room_stands_whole_below_the_short_tables_once() {
    let why = "Cannot connect to 127.0.0.1:9042: the server closed the connection while the driver read its answer to OPTIONS. So the \
               worker cqldyno-driver-cdrs-tokio failed while it connected, prepared and warmed up, before `ready`.";
    let (run, mut cells) = sample::run();
    for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
        cell.failed = Some(why.to_owned());
    }
    for width in [80, 160] {
        let text = table(&run, &cells, at(width));
        assert!(widest(&text) <= width && !text.contains('…'), "{text}");
        assert_eq!(text.matches("  cdrs-tokio     failed, see below\n").count(), 2, "{text}");
        let whole = format!("\n{}\n", wrap(&format!("cdrs-tokio: failed: {why}"), width, 2));
        assert_eq!(text.matches(&whole).count(), 1, "{text}");
    }
}

#[test]
fn a_troubled_run_says_so_in_markdown() {
    let (run, cells) = troubled();
    expect_file!["a_troubled_run_says_so_in_markdown.txt"].assert_eq(&markdown(&run, &cells));
}

#[test]
fn a_troubled_run_says_so_in_csv() {
    let (mut run, mut cells) = troubled();
    run.contenders[0].unavailable = Some("It is not there, \"yet\".".to_owned());
    cells.retain(|cell| cell.scenario == "writes" && cell.block == 2);
    for cell in &mut cells {
        cell.measures.retain(|id, _| ["wall", "syscalls"].contains(&id));
    }
    // The macro reads a file with line feeds alone.
    expect_file!["a_troubled_run_says_so_in_csv.txt"].assert_eq(&csv(&run, &cells).replace("\r\n", "\n"));
}

#[test]
fn hostile_names_stay_in_their_fields() {
    let (run, cells) = hostile();
    let texts = [
        wide(&run, &cells, 160),
        table(&run, &cells, at(80)) + &wide(&run, &cells, 80),
        markdown(&run, &cells),
        csv(&run, &cells),
        story(&run, &cells, at(80)),
        times(&run, &cells, at(80)),
    ];
    assert!(widest(&texts[0]) <= 160 && widest(&texts[1]) <= 80);
    for text in &texts {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    }
    assert!(!texts[2].contains("<script>"));
    let texts = texts.join("\n==========\n\n").replace("\r\n", "\n");
    expect_file!["hostile_names_stay_in_their_fields.txt"].assert_eq(&texts);
}

#[test]
fn a_row_says_beside_its_name_how_many_of_its_blocks_count() {
    let (run, mut cells) = sample::run();
    let mut of_scylla: Vec<&mut Cell> = cells
        .iter_mut()
        .filter(|cell| cell.contender == "scylla" && cell.scenario == "writes" && cell.pass == Pass::Timing)
        .collect();
    of_scylla[0].failed = Some("It crashed.".to_owned());
    of_scylla[1].void = Some("A statement failed.".to_owned());
    let text = wide(&run, &cells, 400);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("scylla@1.9.0 ")).collect();
    assert!(rows[0].starts_with("scylla@1.9.0 void 1/3, failed 1/3  "), "{text}");
    assert!(!rows[0].contains("0m1") && rows[0].matches("void").count() == 7, "no time of a void row: {text}");
    assert!(!rows.last().unwrap().contains("scylla@1.9.0 void"), "reads are sound: {text}");
    assert!(markdown(&run, &cells).contains("| scylla@1.9.0 **void 1/3, failed 1/3** | **void** |"));
    let coloured = table(&run, &cells, Look { colour: true, wide: true, ..at(400) });
    assert!(coloured.contains("\u{1b}[1m\u{1b}[31mscylla@1.9.0 void 1/3, failed 1/3"), "{coloured:?}");
}

#[test]
fn labels_with_options_and_long_notes_fit_80_columns() {
    let (mut run, mut cells) = troubled();
    for contender in &mut run.contenders {
        contender.label.push_str("+form=ready");
        contender.caveats = vec!["Its documentation's first example does otherwise in several ways.".to_owned(); 6];
    }
    cells.iter_mut().filter(|cell| cell.scenario == "reads").for_each(|cell| cell.void = Some("No.".to_owned()));
    let text = table(&run, &cells, at(80)) + "\n==========\n\n" + &wide(&run, &cells, 80);
    assert!(widest(&text) <= 80, "{text}");
    assert!(widest(&wide(&run, &cells, 160)) <= 160);
    let tables = text.split("[1] ").next().unwrap();
    assert!(!tables.contains("documentation"), "caveats come once, after the tables: {text}");
    expect_file!["labels_with_options_and_long_notes_fit_80_columns.txt"].assert_eq(&text);
}
