//! What the exporters make of sound, failed, void and hostile results, kept as files.

use insta::assert_snapshot;

use crate::measure::{CPU_PER_STATEMENT, ERRORS, SYSCALLS, SYSCALLS_PER_STATEMENT, USER, WALL};
use crate::{
    Cell, CutShort, Look, Measure, Pass, Role, Run, Setting, Unit, csv, json, markdown, sample, story, table, times,
};

fn at(width: usize) -> Look {
    Look { width, colour: false, all_columns: false }
}

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
            cell.measures.retain(|id, _| [WALL, USER].contains(&id.as_str()));
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
fn a_sound_run_leaves_columns_out_at_80_100_120_and_160_columns() {
    let (run, cells) = sample::run();
    for width in WIDTHS {
        let text = table(&run, &cells, at(width));
        assert!(widest(&text) <= width, "{text}");
        assert_snapshot!(format!("a_sound_run_at_{width}_columns"), text);
    }
}

#[test]
fn twelve_blocks_have_verdicts_at_80_100_120_and_160_columns() {
    let (run, cells) = sample::blocks(12);
    for width in WIDTHS {
        let text = table(&run, &cells, at(width));
        assert!(widest(&text) <= width, "{text}");
        assert_snapshot!(format!("twelve_blocks_have_verdicts_at_{width}_columns"), text);
    }
}

#[test]
fn nine_of_twelve_blocks_say_so_at_80_and_160_columns() {
    let (mut run, cells) = sample::blocks(9);
    (run.plan.blocks, run.plan.within_ms) = (12, Some(300_000));
    run.cut_short = Some(CutShort { within_ms: 300_000, blocks: 9, missing_ms: 72_000 });
    for width in [80, 160] {
        let text = table(&run, &cells, at(width));
        assert!(widest(&text) <= width, "{text}");
        assert_snapshot!(format!("nine_of_twelve_blocks_at_{width}_columns"), text);
    }
    let text = times(&run, &cells, at(80));
    assert!(text.contains("medians of 9 blocks") && text.contains("9 of 12 blocks were run"), "{text}");
}

#[test]
fn a_file_has_every_column_and_nothing_is_said_to_be_left_out() {
    let (run, cells) = sample::blocks(12);
    let text = table(&run, &cells, Look::default());
    assert!(!text.contains("Left out"), "{text}");
    let titles = text.lines().find(|line| line.starts_with("contender ")).unwrap();
    for title in ["real", "/statement", "(95 % interval)", "difference", "(over noop)", "(its own)", "errors"] {
        assert!(titles.contains(title), "{titles}");
    }
}

#[test]
fn a_row_without_figures_says_why_whatever_columns_are_left_out() {
    let (run, cells) = sample::blocks(12);
    for width in [40, 60, 80, 160, 240] {
        let text = table(&run, &cells, at(width));
        let row = text.lines().find(|line| line.starts_with("cassandra-cpp ")).unwrap();
        assert!(row.contains("missing"), "{text}");
    }
}

#[test]
fn the_classic_table_has_three_lines_a_driver_and_a_column_a_scenario() {
    let (run, cells) = sample::blocks(12);
    let text = times(&run, &cells, at(80));
    assert!(widest(&text) <= 80, "{text}");
    assert!(text.contains("medians of 12 blocks") && !text.contains("#control"), "{text}");
    assert_snapshot!(text);
    let (run, cells) = troubled();
    let text = times(&run, &cells, at(80));
    assert!(widest(&text) <= 80, "{text}");
    assert_snapshot!("the_classic_table_of_a_troubled_run", text);
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

/// The control costs 5 % more than the reference, a block was run again, another one stayed noisy, cdrs-tokio crashed once in
/// reads, and there is a second arrangement.
fn doubtful() -> (Run, Vec<Cell>) {
    let (mut run, mut cells) = sample::blocks(12);
    (run.plan.noise_share, run.plan.most_attempts) = (Some(0.1), 2);
    for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
        let cost = cell.get(CPU_PER_STATEMENT).unwrap();
        cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(cost * 1.05, Unit::Microseconds));
    }
    let is =
        |cell: &Cell, scenario, block| cell.scenario == scenario && cell.block == block && cell.pass == Pass::Timing;
    let mut again: Vec<Cell> = cells.iter().filter(|cell| is(cell, "writes", 3)).cloned().collect();
    again.iter_mut().for_each(|cell| cell.attempt = 2);
    again[1].noisy = Some("Steal and others used 14 % of the cores.".to_owned());
    cells.iter_mut().find(|cell| is(cell, "writes", 3)).unwrap().noisy =
        Some("Steal and others used 31 % of the cores.".to_owned());
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
fn a_control_that_differs_is_said_over_every_table_and_takes_the_verdicts_away() {
    let (run, cells) = doubtful();
    let text = table(&run, &cells, at(100));
    assert!(widest(&text) <= 100);
    assert!(
        text.find("Warning: The control is scylla@1.9.0 once more").unwrap() < text.find("writes: ").unwrap(),
        "{text}"
    );
    assert!(
        !text.contains(" slower") || text.matches(" slower").count() == 1,
        "only what slower means is said: {text}"
    );
    assert_snapshot!(text);
    let whole: serde_json::Value = serde_json::from_str(&json(&run, &cells).unwrap()).unwrap();
    assert_eq!(whole["warnings"].as_array().unwrap().len(), 1);
    assert!(whole["summary"].as_array().unwrap().iter().all(|row| row["verdict"].is_null()));
    let coloured = table(&run, &cells, Look { width: 100, colour: true, all_columns: false });
    assert!(coloured.contains("\u{1b}[1m\u{1b}[31mWarning: The control is"), "{coloured:?}");
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
        text.contains(" Arrangement multi:2: unpinned, runtime multi:2, ") && text.contains("cores 0-1.\n"),
        "{text}"
    );
    run.plan.arrangements[0].note = Some("They share the 2 cores, and there are 2.".to_owned());
    let text = markdown(&run, &cells);
    assert!(text.contains("cores 0-1. They share the 2 cores, and there are 2.\n"), "{text}");
}

#[test]
fn notes_are_numbered_without_gaps_where_columns_are_left_out() {
    let (mut run, mut cells) = sample::blocks(12);
    // Notes on columns that are left out first, and on ones that stay.
    let missing = |id: &str, why: &str| (id.to_owned(), Measure::unavailable(why));
    for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla") {
        cell.measures.extend([missing(crate::measure::THREADS, "Nobody counted threads."), missing(USER, "No clock.")]);
    }
    run.contenders[1].caveats.push("It is written [7] in another way.".to_owned());
    for width in [60, 80, 100, 120, 160, 400] {
        let text = table(&run, &cells, at(width));
        let notes = || text.lines().filter(|line| line.starts_with('['));
        for (number, line) in (1..).zip(notes()) {
            assert!(line.starts_with(&format!("[{number}] ")), "{width}: {text}");
        }
        for number in 1..=notes().count() {
            let mark = format!("[{number}]");
            assert!(text.lines().any(|line| !line.starts_with('[') && line.contains(&mark)), "{width} {mark}: {text}");
        }
        let none = format!(" [{}]", notes().count() + 1);
        assert!(!text.lines().any(|line| line.contains("n/a") && line.contains(&none)), "{width}: {text}");
        assert_eq!(text.contains("Nobody counted threads."), width == 400, "{width}: {text}");
    }
}

#[test]
fn too_few_blocks_have_no_verdict_and_say_why() {
    let (run, cells) = sample::blocks(7);
    let text = table(&run, &cells, at(160));
    assert!(text.contains("verdicts none. An interval needs at least 8 blocks"), "{text}");
    assert!(!text.contains("(95 % interval)"), "{text}");
}

#[test]
fn a_troubled_run_says_so_at_160_columns() {
    let (run, cells) = troubled();
    let text = table(&run, &cells, at(160));
    assert!(widest(&text) <= 160);
    assert_snapshot!(text);
}

#[test]
fn a_troubled_run_says_so_at_80_columns() {
    let (run, cells) = troubled();
    let text = table(&run, &cells, at(80));
    assert!(widest(&text) <= 80);
    assert_snapshot!(text);
}

#[test]
fn a_troubled_run_says_so_in_markdown() {
    let (run, cells) = troubled();
    assert_snapshot!(markdown(&run, &cells));
}

#[test]
fn a_troubled_run_says_so_in_csv() {
    let (mut run, mut cells) = troubled();
    run.contenders[0].unavailable = Some("It is not there, \"yet\".".to_owned());
    cells.retain(|cell| cell.scenario == "writes" && cell.block == 2);
    for cell in &mut cells {
        cell.measures.retain(|id, _| ["wall", "syscalls"].contains(&id.as_str()));
    }
    assert_snapshot!(csv(&run, &cells));
}

#[test]
fn hostile_names_stay_in_their_fields() {
    let (run, cells) = hostile();
    let texts = [
        table(&run, &cells, at(160)),
        table(&run, &cells, at(80)),
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
    assert_snapshot!(texts.join("\n==========\n\n"));
}

#[test]
fn several_arrangements_are_a_table_each() {
    let (mut run, mut cells) = sample::run();
    let mut current = run.plan.arrangements[0].clone();
    current.id = "pinned+current".to_owned();
    current.runtime = "current".to_owned();
    (current.worker_cores, current.server_cores) = (vec![1], vec![0]);
    run.plan.arrangements.push(current);
    cells.extend(cells.clone().into_iter().map(|cell| Cell { arrangement: "pinned+current".to_owned(), ..cell }));
    let text = table(&run, &cells, at(160));
    assert_eq!(text.matches("arrangement multi:2: unpinned, runtime multi:2, worker on cores 0-1").count(), 2);
    assert_eq!(
        text.matches("arrangement pinned+current: pinned, runtime current, worker on core 1, server on core 0").count(),
        2
    );
}

#[test]
fn colours_are_only_where_they_were_asked_for() {
    let (run, cells) = troubled();
    let plain = table(&run, &cells, at(160));
    let coloured = table(&run, &cells, Look { width: 160, colour: true, all_columns: false });
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
    let whole: serde_json::Value = serde_json::from_str(&json(&run, &cells).unwrap()).unwrap();
    let keys: Vec<&String> = whole.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["cells", "run", "summary", "warnings"]);
    assert_eq!(Run::from_json(&whole["run"].to_string()).unwrap(), run);
    assert!(serde_json::from_value::<Vec<Cell>>(whole["cells"].clone()).unwrap() == cells);
    for key in [
        "contender",
        "scenario",
        "meter",
        "median",
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
fn the_story_of_a_contender_tells_everything() {
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
    assert_snapshot!(story(&run, &cells, at(100)));
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
    cells[0].settings.clear();
    for cell in &mut cells[1..] {
        cell.settings = vec![setting("data connections", "4 a node", true), setting("retries", "3", false)];
        cell.measures.clear();
    }
    let ran = format!("{}\n==========\n\n{}", table(&run, &cells, at(100)), story(&run, &cells, at(100)));
    assert!(!ran.contains("of hello") && !ran.contains("1 a node"), "{ran}");
    assert_snapshot!(ran);
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
    let text = table(&run, &cells, at(160));
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("scylla@1.9.0 ")).collect();
    assert!(rows[0].starts_with("scylla@1.9.0 void 1/3, failed 1/3  "), "{text}");
    assert!(!rows[0].contains("0m1") && rows[0].matches("void").count() == 7, "no time of a void row: {text}");
    assert!(!rows.last().unwrap().contains("scylla@1.9.0 void"), "reads are sound: {text}");
    assert!(markdown(&run, &cells).contains("| scylla@1.9.0 **void 1/3, failed 1/3** | **void** |"));
    let coloured = table(&run, &cells, Look { width: 160, colour: true, all_columns: false });
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
    for text in [table(&run, &cells, at(160)), story(&run, &cells, at(160))] {
        assert!(text.contains("target   10.0.0.1:9042,10.0.0.2:9042, an existing cluster"), "{text}");
        assert!(text.contains("no time limit"), "{text}");
    }
}

#[test]
fn labels_with_options_and_long_notes_fit_80_columns() {
    let (mut run, mut cells) = troubled();
    for contender in &mut run.contenders {
        contender.label.push_str("+form=ready");
        contender.caveats = vec!["Its documentation's first example does otherwise in several ways.".to_owned(); 6];
    }
    cells.iter_mut().filter(|cell| cell.scenario == "reads").for_each(|cell| cell.void = Some("No.".to_owned()));
    let text = table(&run, &cells, at(80));
    assert!(widest(&text) <= 80, "{text}");
    assert!(widest(&table(&run, &cells, at(160))) <= 160);
    let tables = text.split("[1] ").next().unwrap();
    assert!(!tables.contains("documentation"), "notes come once, after the tables: {text}");
    assert_snapshot!(text);
}

#[test]
fn a_run_without_cells_or_drivers_is_still_a_table() {
    let (mut run, _) = sample::run();
    run.interrupted = true;
    assert!(table(&run, &[], at(80)).contains("not run"));
    run.contenders.retain(|contender| contender.role == Role::Noop);
    assert!(table(&run, &[], at(80)).contains("noop"));
    run.contenders.clear();
    assert!(table(&run, &[], at(80)).contains("contender"));
}

#[test]
fn the_published_run_can_still_be_read_and_shown() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("published/2026-11-20/classic");
    let run = Run::from_json(&std::fs::read_to_string(folder.join("run.json")).unwrap()).unwrap();
    let lines = std::fs::read_to_string(folder.join("cells.jsonl")).unwrap();
    let cells: Vec<Cell> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = table(&run, &cells, at(160));
    assert!(text.contains("0m16.222s"), "{text}");
    assert!(text.contains("verdicts none. An interval needs at least 8 blocks"), "{text}");
}

#[test]
fn who_is_not_asked_a_scenario_is_a_row_with_the_reason_and_a_table_says_what_a_statement_is() {
    let (mut run, mut cells) = sample::run();
    let writes = &mut run.scenarios[0];
    writes.asked = Some("A statement batch is one unlogged BATCH of 64 rows.".to_owned());
    writes.left_out.insert("scylla".to_owned(), "It does not declare the capability.".to_owned());
    cells.retain(|cell| (cell.contender.as_str(), cell.scenario.as_str()) != ("scylla", "writes"));
    for text in [table(&run, &cells, at(160)), markdown(&run, &cells)] {
        assert!(text.contains("A statement batch is one unlogged BATCH of 64 rows."), "{text}");
        assert!(text.contains("scylla@1.9.0 is not asked: It does not declare the capability."), "{text}");
        assert!(text.lines().any(|line| line.contains("scylla@1.9.0") && line.contains("n/a")), "{text}");
        assert!(!text.contains("not run"), "{text}");
    }
    let summary = crate::summary(&run, &cells);
    let row = summary.iter().find(|row| row.contender == "scylla" && row.scenario == "writes").unwrap();
    assert_eq!(row.unavailable.as_deref(), Some("It does not declare the capability."));
}
