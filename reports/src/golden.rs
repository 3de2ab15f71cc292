//! What the exporters make of sound, failed, void and hostile results, kept as files.

#[cfg(test)]
mod climbing;
#[cfg(test)]
mod trouble;

use expect_test::expect_file;

use self::trouble::troubled;
use crate::export::shown::{at, json, markdown, story, table, times, wide};
use crate::measure::{CPU_PER_STATEMENT, USER};
use crate::{Analysis, Cell, Look, Measure, Pass, Role, Run, Setting, sample};

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
fn response_times_stand_below_the_short_tables_if_they_were_taken() {
    let (run, cells) = crate::sample::rich::rich();
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
