//! What the exporters make of sound, failed, void and hostile results, kept as files.

use expect_test::expect_file;

use crate::export::shown::{at, csv, html, json, markdown, story, table, times, wide};
use crate::measure::{CPU_PER_STATEMENT, ERRORS, SYSCALLS, SYSCALLS_PER_STATEMENT, USER, WALL};
use crate::{Analysis, Cell, CutShort, Look, Measure, Pass, Role, Run, Setting, Unit, sample, wrap};

/// cassandra-cpp is there under its long name, cdrs-tokio fails in a block and has errors in reads, system calls cannot be
/// counted, floor crashes, and the run was ended early.
fn troubled() -> (Run, Vec<Cell>) {
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

fn widest(text: &str) -> usize {
    text.lines().map(tabled::grid::util::string::get_string_width).max().unwrap_or(0)
}

/// Widths of terminals: the least, a usual one, from where a table is wide, and a large one.
const WIDTHS: [usize; 4] = [80, 100, 120, 160];

#[test]
fn a_sound_run_fits_80_100_120_and_160_columns_short_and_wide() {
    let (run, cells) = sample::run();
    for width in WIDTHS {
        for text in [table(&run, &cells, at(width)), wide(&run, &cells, width)] {
            assert!(widest(&text) <= width, "{text}");
        }
    }
    expect_file!["golden/a_sound_run.txt"].assert_eq(&table(&run, &cells, at(80)));
    expect_file!["golden/a_sound_run_wide_at_80_columns.txt"].assert_eq(&wide(&run, &cells, 80));
}

#[test]
fn twelve_blocks_have_verdicts_at_80_100_120_and_160_columns() {
    let (run, cells) = sample::blocks(12);
    for width in WIDTHS {
        for text in [table(&run, &cells, at(width)), wide(&run, &cells, width)] {
            assert!(widest(&text) <= width, "{text}");
        }
    }
    expect_file!["golden/twelve_blocks_at_80_columns.txt"].assert_eq(&table(&run, &cells, at(80)));
    expect_file!["golden/twelve_blocks_at_160_columns.txt"].assert_eq(&table(&run, &cells, at(160)));
    expect_file!["golden/twelve_blocks_wide_at_160_columns.txt"].assert_eq(&wide(&run, &cells, 160));
}

#[test]
fn the_default_output_of_one_scenario_fits_80_by_24_and_of_three_80_by_60() {
    let (mut run, mut cells) = sample::blocks(12);
    let lines = |run: &Run, cells: &[Cell]| {
        let text = table(run, cells, at(80));
        assert!(widest(&text) <= 80, "{text}");
        // The caller adds up to two lines that say what shows more.
        text.lines().count() + 2
    };
    let mixed = crate::ScenarioInfo { name: "mixed".to_owned(), ..run.scenarios[0].clone() };
    let more: Vec<Cell> = cells.iter().filter(|cell| cell.scenario == "writes").cloned().collect();
    cells.extend(more.into_iter().map(|cell| Cell { scenario: "mixed".to_owned(), ..cell }));
    run.scenarios.push(mixed);
    assert!(lines(&run, &cells) <= 60);
    run.scenarios.truncate(1);
    assert!(lines(&run, &cells) <= 24);
}

#[test]
fn a_ratio_on_a_short_line_is_the_quotient_of_the_figures_beside_it() {
    let (run, cells) = sample::blocks(12);
    let analysis = Analysis::new(&run, &cells);
    let base = analysis.reference.unwrap();
    for place in analysis.places() {
        for one in run.contenders.iter().filter(|one| !one.control) {
            let row = |who| analysis.row(place, who, CPU_PER_STATEMENT).unwrap();
            let Some((ratio, level)) = row(one).ratio.zip(row(one).level) else { continue };
            assert!((level / row(base).level.unwrap() - ratio).abs() < 1e-9, "{}", one.id);
        }
    }
    let text = table(&run, &cells, at(80));
    let numbers = |who: &str| -> Vec<f64> {
        let line = text.lines().find(|line| line.trim_start().starts_with(who)).unwrap_or_else(|| panic!("{text}"));
        line.split([' ', '(']).filter_map(|word| word.parse().ok()).collect()
    };
    let (scylla, cdrs) = (numbers("scylla"), numbers("cdrs-tokio"));
    // The server's CPU time stands between the cost and its ratio.
    assert!((cdrs[0] / scylla[0] - cdrs[2]).abs() < 0.01, "{text}");
}

#[test]
fn short_tables_leave_floor_noop_and_the_control_to_the_wide_ones() {
    let (run, cells) = sample::blocks(12);
    let short = table(&run, &cells, at(80));
    let wide = wide(&run, &cells, 80);
    for ours in ["floor", "noop", "#control"] {
        assert!(!short.contains(ours) && wide.contains(ours), "{ours}: {short}");
    }
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
fn response_times_stand_below_the_short_tables_if_they_were_taken() {
    let (run, cells) = crate::rich::rich();
    assert!(cells.iter().any(|cell| cell.pass == Pass::Latency));
    for text in [table(&run, &cells, at(80)), markdown(&run, &cells)] {
        assert!(text.to_lowercase().contains("response times at a fixed rate, in us"), "{text}");
    }
    let (run, cells) = sample::blocks(12);
    assert!(!table(&run, &cells, at(80)).contains("response times"));
}

#[test]
fn a_file_has_every_column_beside_each_other() {
    let (run, cells) = sample::blocks(12);
    let text = table(&run, &cells, Look::default());
    let titles = text.lines().find(|line| line.starts_with("contender ")).unwrap();
    for title in ["real", "/statement", "(95 % interval)", "difference", "(over noop)", "(its own)", "errors"] {
        assert!(titles.contains(title), "{titles}");
    }
}

#[test]
fn a_narrow_terminal_has_every_column_in_tables_below_each_other() {
    let (run, cells) = sample::blocks(12);
    let text = table(&run, &cells, Look { wide: true, ..at(80) });
    assert_eq!(text.matches("(95 % interval)").count(), 4, "of CPU time and of statements per second: {text}");
    for title in ["real  ", "smallest", "(over noop)", "(its own)", "errors"] {
        assert_eq!(text.matches(title).count(), 2, "{title}, once per scenario: {text}");
    }
}

#[test]
fn a_row_without_figures_says_why_at_every_width() {
    let (run, cells) = sample::blocks(12);
    for width in [40, 60, 80, 160, 240] {
        let text = wide(&run, &cells, width);
        let row = text.lines().find(|line| line.starts_with("cassandra-cpp ")).unwrap();
        assert!(row.contains("missing"), "{text}");
    }
}

#[test]
fn the_classic_table_has_three_lines_per_driver_and_a_column_per_scenario() {
    let (run, cells) = sample::blocks(12);
    let text = times(&run, &cells, at(80));
    assert!(widest(&text) <= 80, "{text}");
    assert!(
        text.replace("\n  ", " ").contains("the one of 12 turns with the median") && !text.contains("#control"),
        "{text}"
    );
    expect_file!["golden/the_classic_table_has_three_lines_per_driver_and_a_column_per_scenario.txt"].assert_eq(&text);
    let (run, cells) = troubled();
    let text = times(&run, &cells, at(80));
    assert!(widest(&text) <= 80, "{text}");
    expect_file!["golden/the_classic_table_of_a_troubled_run.txt"].assert_eq(&text);
}

#[test]
fn the_classic_table_has_its_scenarios_below_each_other_where_there_are_many() {
    let (mut run, mut cells) = sample::run();
    for nth in 0..6 {
        let mut more = run.scenarios[0].clone();
        more.name = format!("writes-{nth}");
        let of: Vec<Cell> = cells.iter().filter(|cell| cell.scenario == "writes").cloned().collect();
        cells.extend(of.into_iter().map(|cell| Cell { scenario: more.name.clone(), ..cell }));
        run.scenarios.push(more);
    }
    let text = times(&run, &cells, at(80));
    assert!(widest(&text) <= 80, "{text}");
    assert_eq!(text.matches("\ncontender  ").count(), 2, "{text}");
    let text = times(&run, &cells, Look::default());
    assert_eq!(text.matches("\ncontender  ").count(), 1, "{text}");
}

/// The control costs 5 % more than the reference, a generation was run again, cdrs-tokio crashed once in
/// reads, and there is a second arrangement.
fn doubtful() -> (Run, Vec<Cell>) {
    let (mut run, mut cells) = sample::blocks(12);
    run.plan.noise_share = Some(0.1);
    for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
        let cost = cell.get(CPU_PER_STATEMENT).unwrap();
        cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(cost * 1.05, Unit::Microseconds));
    }
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
fn a_control_that_differs_is_said_and_takes_the_verdicts_away() {
    let (run, cells) = doubtful();
    let text = table(&run, &cells, at(100));
    assert!(widest(&text) <= 100);
    assert!(text.contains("Warning: The control is scylla@1.9.0 once more") && text.contains("withheld"), "{text}");
    assert!(!text.contains("dearer") && !text.contains("cheaper"), "{text}");
    expect_file!["golden/a_control_that_differs_is_said_and_takes_the_verdicts_away.txt"]
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
fn an_arrangement_with_a_note_ends_with_one_full_stop_in_markdown() {
    let (mut run, cells) = sample::run();
    let text = markdown(&run, &cells);
    assert!(
        text.contains("- Arrangement multi:2: unpinned, runtime multi:2, ") && text.contains("cores 0-1.\n"),
        "{text}"
    );
    run.plan.arrangements[0].note = Some("They share the 2 cores, and there are 2.".to_owned());
    let text = markdown(&run, &cells);
    assert!(text.contains("cores 0-1. They share the 2 cores, and there are 2.\n"), "{text}");
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
fn notes_of_wide_tables_are_numbered_without_gaps_and_each_is_referred_to() {
    let (mut run, mut cells) = sample::blocks(12);
    let missing = |id: &str, why: &str| (id.to_owned(), Measure::unavailable(why));
    for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla") {
        cell.measures.extend([missing(crate::measure::THREADS, "Nobody counted threads."), missing(USER, "No clock.")]);
    }
    run.contenders[1].caveats.push("It is written [7] in another way.".to_owned());
    for width in [60, 80, 160, 400] {
        let text = wide(&run, &cells, width);
        let notes = || text.lines().filter(|line| line.starts_with('['));
        assert!(notes().count() >= 3, "{text}");
        for (number, line) in (1..).zip(notes()) {
            assert!(line.starts_with(&format!("[{number}] ")), "{width}: {text}");
            let mark = format!(" [{number}]");
            assert!(text.lines().any(|line| !line.starts_with('[') && line.contains(&mark)), "{width} {mark}: {text}");
        }
        assert!(text.contains("Nobody counted threads."), "{width}: {text}");
    }
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
    expect_file!["golden/a_troubled_run_says_so_at_160_columns.txt"].assert_eq(&text);
}

#[test]
fn a_troubled_run_says_so_at_80_columns() {
    let (run, cells) = troubled();
    let text = table(&run, &cells, at(80)) + "\n==========\n\n" + &wide(&run, &cells, 80);
    assert!(widest(&text) <= 80);
    expect_file!["golden/a_troubled_run_says_so_at_80_columns.txt"].assert_eq(&text);
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
    expect_file!["golden/a_troubled_run_says_so_in_markdown.txt"].assert_eq(&markdown(&run, &cells));
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
    expect_file!["golden/a_troubled_run_says_so_in_csv.txt"].assert_eq(&csv(&run, &cells).replace("\r\n", "\n"));
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
    expect_file!["golden/hostile_names_stay_in_their_fields.txt"].assert_eq(&texts);
}

#[test]
fn several_arrangements_are_a_block_each_with_their_name_and_said_once_in_the_notes() {
    let (mut run, mut cells) = sample::run();
    let mut current = run.plan.arrangements[0].clone();
    current.id = "pinned+current".to_owned();
    current.runtime = "current".to_owned();
    (current.worker_cores, current.server_cores) = (vec![1], vec![0]);
    run.plan.arrangements.push(current);
    cells.extend(cells.clone().into_iter().map(|cell| Cell { arrangement: "pinned+current".to_owned(), ..cell }));
    let text = table(&run, &cells, at(80));
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ') && !line.is_empty()).collect();
    let blocks = ["multi:2 (2 tokio threads)", "writes", "reads", "pinned+current (1 tokio thread)", "writes", "reads"];
    assert_eq!(lines[1..7], blocks, "{text}");
    let text = wide(&run, &cells, 160);
    assert_eq!(text.matches("Arrangement multi:2: unpinned, runtime multi:2, worker on cores 0-1").count(), 1);
    let pinned = "Arrangement pinned+current: pinned, runtime current, worker on core 1, server on core 0";
    assert_eq!(text.matches(pinned).count(), 1, "{text}");
    assert!(text.contains("\nwrites on pinned+current\n"), "{text}");
}

#[test]
fn colours_are_only_where_they_were_asked_for() {
    let (run, cells) = troubled();
    let plain = wide(&run, &cells, 160);
    let coloured = table(&run, &cells, Look { colour: true, wide: true, notes: true, ..at(160) });
    assert!(!plain.contains('\u{1b}') && coloured.contains('\u{1b}'));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    let trimmed: Vec<&str> = stripped.lines().map(str::trim_end).collect();
    assert_eq!(trimmed, plain.lines().collect::<Vec<_>>());
}

#[test]
fn json_holds_run_cells_and_summary_and_reads_back_equal() {
    let (run, cells) = troubled();
    let whole: serde_json::Value = serde_json::from_str(&json(&run, &cells)).unwrap();
    let keys: Vec<&String> = whole.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["cells", "findings", "run", "summary", "warnings"]);
    assert_eq!(Run::from_json(&whole["run"].to_string()).unwrap(), run);
    assert!(serde_json::from_value::<Vec<Cell>>(whole["cells"].clone()).unwrap() == cells);
    for key in [
        "contender",
        "scenario",
        "meter",
        "median",
        "level",
        "ratio",
        "interval",
        "verdict",
        "control",
        "void",
        "exploratory",
        "detectable",
        "blocks",
        "no_interval",
        "bottleneck",
    ] {
        assert!(whole["summary"][0].as_object().unwrap().contains_key(key), "{key}");
    }
}

#[test]
fn the_wide_table_of_one_contender_has_every_measure_of_every_cell() {
    let (mut run, mut cells) = sample::run();
    run.contenders.retain(|contender| contender.id == "cdrs-tokio");
    run.scenarios.truncate(1);
    cells.retain(|cell| cell.contender == "cdrs-tokio" && cell.scenario == "writes" && cell.block == 1);
    for cell in &mut cells {
        cell.latency = Some(crate::Latency {
            p50_us: 2_900.0,
            p90_us: 3_500.0,
            p99_us: 6_100.0,
            p999_us: 9_000.0,
            max_us: 12_345.6,
        });
        cell.issued_by_statement.insert("insert".to_owned(), 500_000);
        cell.log = Some("logs/cdrs-tokio.writes.1.log".to_owned());
    }
    expect_file!["golden/the_wide_table_of_one_contender_has_every_measure_of_every_cell.txt"].assert_eq(&format!(
        "{}\n==========\n\n{}",
        table(&run, &cells, at(80)),
        wide(&run, &cells, 100)
    ));
}

#[test]
fn the_settings_shown_are_those_of_the_first_cell_that_ended() {
    let (mut run, mut cells) = sample::run();
    run.contenders.retain(|contender| contender.id == "cdrs-tokio");
    run.scenarios.truncate(1);
    cells.retain(|cell| cell.contender == "cdrs-tokio" && cell.scenario == "writes" && cell.pass == Pass::Timing);
    let setting =
        |name: &str, value: &str, as_asked| Setting { name: name.to_owned(), value: value.to_owned(), as_asked };
    run.contenders[0].settings =
        vec![setting("data connections", "1 a node", true), setting("paging", "of hello", false)];
    cells[0].failed = Some("It crashed.".to_owned());
    cells[0].settings = &[];
    for cell in &mut cells[1..] {
        cell.settings =
            Setting::shared(vec![setting("data connections", "4 a node", true), setting("retries", "3", false)]);
        cell.measures.clear();
    }
    let ran = wide(&run, &cells, 100);
    assert!(!ran.contains("of hello") && !ran.contains("1 a node"), "{ran}");
    expect_file!["golden/the_settings_shown_are_those_of_the_first_cell_that_ended.txt"].assert_eq(&ran);
    cells.truncate(1);
    let failed = story(&run, &cells, at(100));
    assert!(failed.contains("Its setting `paging` is not as asked for (of hello)."), "{failed}");
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
fn a_cluster_that_is_not_ours_is_named_by_its_addresses() {
    let (mut run, cells) = sample::run();
    run.plan.target = crate::TargetInfo {
        id: "10.0.0.1:9042,10.0.0.2:9042".to_owned(),
        about: "an existing cluster".to_owned(),
        embedded: false,
    };
    run.plan.request_timeout_ms = None;
    let text = wide(&run, &cells, 160);
    assert!(text.contains("in flight on multi:2; target 10.0.0.1:9042,10.0.0.2:9042, 2 cores\n"), "{text}");
    assert!(text.contains("target   10.0.0.1:9042,10.0.0.2:9042, an existing cluster"), "{text}");
    assert!(text.contains("no time limit"), "{text}");
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
    expect_file!["golden/labels_with_options_and_long_notes_fit_80_columns.txt"].assert_eq(&text);
}

#[test]
fn a_run_without_cells_or_drivers_is_still_a_table() {
    let (mut run, _) = sample::run();
    run.interrupted = true;
    assert!(table(&run, &[], at(80)).contains("not run") && wide(&run, &[], 80).contains("not run"));
    run.contenders.retain(|contender| contender.role == Role::Noop);
    assert!(table(&run, &[], at(80)).contains("noop"));
    run.contenders.clear();
    assert!(wide(&run, &[], 80).contains("contender"));
}

#[test]
fn the_published_run_can_still_be_read_and_shown() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("published/2026-11-20/classic");
    let run = std::fs::read_to_string(folder.join("run.json")).unwrap();
    let crate::Recorded { run, cells, .. } =
        crate::Recorded::from_folder(&run, crate::read_cells(&folder).unwrap()).unwrap();
    let text = wide(&run, &cells, 400);
    assert!(text.contains("0m16.222s"), "{text}");
    assert!(text.contains("verdicts none. An interval needs at least 8 generations"), "{text}");
}

#[test]
fn who_is_not_asked_a_scenario_is_a_row_with_the_reason_and_a_table_says_what_a_statement_is() {
    let (mut run, mut cells) = sample::run();
    let writes = &mut run.scenarios[0];
    writes.asked = Some("A statement batch is one unlogged BATCH of 64 rows.".to_owned());
    writes.left_out.insert("scylla".to_owned(), "It does not declare the capability.".to_owned());
    cells.retain(|cell| (cell.contender.as_str(), cell.scenario.as_str()) != ("scylla", "writes"));
    for text in [wide(&run, &cells, 400), markdown(&run, &cells)] {
        assert!(text.contains("A statement batch is one unlogged BATCH of 64 rows."), "{text}");
        assert!(text.contains("scylla@1.9.0 is not asked: It does not declare the capability."), "{text}");
        assert!(text.lines().any(|line| line.contains("scylla@1.9.0") && line.contains("n/a")), "{text}");
        assert!(!text.contains("not run"), "{text}");
    }
    let analysis = Analysis::new(&run, &cells);
    let row = analysis.rows.iter().find(|row| row.contender == "scylla" && row.scenario == "writes").unwrap();
    assert_eq!(row.unavailable.as_deref(), Some("It does not declare the capability."));
}

/// The drivers of the sample at two distances: one step of scylla is disturbed, and cdrs-tokio's search has no end at the second one.
fn climbing() -> (Run, Vec<Cell>) {
    let (mut run, _) = sample::run();
    let ladder = crate::LadderInfo { meter: "response_p99".to_owned(), below_us: 5_000.0, lasts_ms: 3_000 };
    (run.plan.ladder, run.plan.passes, run.plan.counting_count) = (Some(ladder), vec![Pass::Latency], 0);
    run.scenarios.truncate(1);
    let at = |ns: u64| {
        let point =
            crate::PointInfo { of: "writes".to_owned(), in_flight: 1_024, delay_ns: Some(ns), ..Default::default() };
        let name = format!("writes, 1024 in flight with delay {}us", ns / 1_000);
        crate::ScenarioInfo { name, point: Some(point), ..run.scenarios[0].clone() }
    };
    run.scenarios = vec![at(0), at(200_000)];
    run.contenders.retain(|one| one.role != Role::Noop);
    let mut cells = Vec::new();
    for (place, scenario) in run.scenarios.iter().enumerate() {
        for (nth, one) in run.contenders.iter().enumerate().filter(|(_, one)| one.unavailable.is_none()) {
            let most = 100_000 + 20_000 * nth as u64 - 10_000 * place as u64;
            for block in 1.. {
                let ladder = crate::Ladder::of(&run, &cells, [&one.id, &scenario.name, "multi:2"]);
                let is_cut = (one.id.as_str(), place, block) == ("cdrs-tokio", 1, 5);
                let Some(rate) = ladder.next().filter(|_| !is_cut) else { break };
                let is_disturbed = (one.id.as_str(), place, block) == ("scylla", 0, 2);
                let holds = rate <= most && !is_disturbed;
                let of = |id: &str, value, unit| (id.to_owned(), Measure::value(value, unit));
                let measures = [
                    of("response_p99", if holds { 800.0 + rate as f64 / 100.0 } else { 6_500.0 }, Unit::Microseconds),
                    of("rate", rate as f64, Unit::PerSecond),
                    of("rate_held", if rate > 2 * most { 61.0 } else { 100.0 }, Unit::Percent),
                    of("statements", 3.0 * rate as f64, Unit::Count),
                    of("cpu_per_statement", 5.0 + nth as f64, Unit::Microseconds),
                ];
                cells.push(Cell {
                    contender: one.id.clone(),
                    label: one.label.clone(),
                    scenario: scenario.name.clone(),
                    arrangement: "multi:2".to_owned(),
                    block,
                    pass: Pass::Latency,
                    attempt: 1,
                    step: Some(crate::Ladder::step_name(rate)),
                    measures: measures.into_iter().collect(),
                    started: run.started,
                    ..Cell::default()
                });
            }
        }
    }
    (run, cells)
}

#[test]
fn a_ladder_says_what_each_contender_holds_at_each_distance_and_every_step_on_request() {
    let (run, cells) = climbing();
    expect_file!["golden/a_ladder_says_what_each_contender_holds_at_each_distance_and_every_step_on_request.txt"]
        .assert_eq(&format!("{}\n==========\n\n{}", table(&run, &cells, at(80)), wide(&run, &cells, 160)));
    let document: serde_json::Value = serde_json::from_str(&json(&run, &cells)).unwrap();
    let ladders = document["ladders"].as_array().unwrap();
    assert_eq!((ladders.len(), &ladders[0]["contender"], &ladders[0]["finished"]), (6, &"scylla".into(), &true.into()));
    assert_eq!(ladders[4]["finished"], false);
    let rows: Vec<String> =
        csv(&run, &cells).lines().filter(|line| line.contains("ladder_held")).map(str::to_owned).collect();
    assert_eq!((rows.len(), rows[0].ends_with(",1/s,,true,,")), (6, true), "{rows:?}");
    let page = html(&run, &cells);
    assert!(page.contains("Highest rate held, over the delay of answers") && page.contains("Every step"), "{page}");
    let text = markdown(&run, &cells);
    assert!(text.contains("| contender | delay 0 | delay 0.2ms |") && text.contains("every step"), "{text}");
}
