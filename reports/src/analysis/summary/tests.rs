use super::*;
use crate::measure::CPU_PER_STATEMENT;
use crate::{Analysis, Unit, Verdict, sample};

fn summary(run: &Run, cells: &[Cell]) -> Vec<SummaryRow> {
    Analysis::new(run, cells).rows
}

fn find<'a>(rows: &'a [SummaryRow], contender: &str, meter: &str) -> &'a SummaryRow {
    find_in(rows, "writes", contender, meter)
}

fn find_in<'a>(rows: &'a [SummaryRow], scenario: &str, contender: &str, meter: &str) -> &'a SummaryRow {
    let is = |row: &&SummaryRow| row.contender == contender && row.meter == meter && row.scenario == scenario;
    rows.iter().find(is).unwrap()
}

#[test]
fn the_median_is_the_middle_or_the_mean_of_the_two_middle_values() {
    assert_eq!(median(&mut []), None);
    assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
}

#[test]
fn a_row_holds_the_median_of_its_blocks_and_the_ratio_to_the_first_driver() {
    let (run, cells) = sample::run();
    let rows = summary(&run, &cells);
    let scylla = find(&rows, "scylla", measure::WALL);
    assert_eq!((scylla.n, scylla.ratio), (3, Some(1.0)));
    let cdrs = find(&rows, "cdrs-tokio", measure::WALL);
    let ratio = cdrs.median.unwrap() / scylla.median.unwrap();
    assert_eq!(cdrs.ratio, Some(ratio));
    assert!(rows.iter().all(|row| row.interval.is_none() && row.verdict.is_none()));
}

#[test]
fn a_burst_of_work_at_the_edge_of_a_turn_counts_and_what_edges_usually_cost_does_not() {
    let (_, cells) = sample::run();
    let turn = |round: u32, at_edges: f64| {
        let value = |id: &str, value, unit| (id.to_owned(), Measure::value(value, unit));
        let measures = [
            value(CPU, (2.0 + at_edges) * 20_000.0 / 1e6, Unit::Seconds),
            value(WALL, (1.0 + at_edges) * 20_000.0 / 1e6, Unit::Seconds),
            value(VERIFIED, 20_000.0, Unit::Count),
        ];
        Cell { round: Some(round), measures: measures.into_iter().collect(), ..cells[0].clone() }
    };
    let turns: Vec<Cell> = [0.1, 0.2, 1.4, 0.1, 0.2].into_iter().zip(1..).map(|(edges, at)| turn(at, edges)).collect();
    for (id, value, with_burst) in [(CPU_PER_STATEMENT, 2.0, 3.25), (THROUGHPUT, 1e6, 1e6 / 2.25)] {
        let mut told: Vec<(&Cell, f64)> = turns.iter().map(|cell| (cell, value)).collect();
        add_bursts(id, &mut told);
        assert_eq!([told[0].1, told[1].1, told[3].1, told[4].1], [value; 4]);
        assert!((told[2].1 / with_burst - 1.0).abs() < 1e-9, "{id}: {}", told[2].1);
    }
}

#[test]
fn system_calls_come_from_the_counting_cells_only() {
    let (run, mut cells) = sample::run();
    for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Timing) {
        cell.measures.insert(measure::SYSCALLS.to_owned(), Measure::value(1e9, Unit::Count));
    }
    let rows = summary(&run, &cells);
    let row = find(&rows, "scylla", measure::SYSCALLS);
    assert_eq!(row.n, 1);
    assert!(row.median.unwrap() < 1e9);
}

#[test]
fn a_void_cell_voids_the_ratios_of_its_row_but_not_its_medians() {
    let (run, mut cells) = sample::run();
    let cell = cells.iter_mut().find(|cell| cell.contender == "cdrs-tokio" && cell.pass == Pass::Timing).unwrap();
    cell.void = Some("3 of 500,000 statements failed.".to_owned());
    let rows = summary(&run, &cells);
    let row = find(&rows, "cdrs-tokio", measure::WALL);
    assert_eq!((row.ratio, row.n), (None, 3));
    assert_eq!(row.void.as_deref(), Some("3 of 500,000 statements failed."));
    assert!(find(&rows, "cdrs-tokio", measure::SYSCALLS).ratio.is_some(), "the counting pass was sound");
}

#[test]
fn a_void_reference_leaves_no_ratio_at_all() {
    let (run, mut cells) = sample::run();
    cells.iter_mut().filter(|cell| cell.contender == "scylla").for_each(|cell| cell.void = Some("No.".to_owned()));
    let rows = summary(&run, &cells);
    assert!(rows.iter().filter(|row| row.scenario == "writes").all(|row| row.ratio.is_none()));
}

#[test]
fn a_later_attempt_replaces_an_earlier_one() {
    let (run, mut cells) = sample::run();
    let is_first = |cell: &&Cell| cell.scenario == "writes" && cell.block == 1 && cell.pass == Pass::Timing;
    let again: Vec<Cell> = cells.iter().filter(is_first).map(|cell| Cell { attempt: 2, ..cell.clone() }).collect();
    cells.iter_mut().filter(|cell| is_first(&&**cell)).for_each(|cell| cell.failed = Some("It crashed.".to_owned()));
    cells.extend(again);
    let rows = summary(&run, &cells);
    assert_eq!(find(&rows, "scylla", measure::WALL).failed, None);
    assert_eq!(find(&rows, "scylla", measure::WALL).n, 3);
}

#[test]
fn a_contender_that_could_not_be_asked_has_rows_that_say_why() {
    let (run, cells) = sample::run();
    let rows = summary(&run, &cells);
    let row = find(&rows, "cassandra-cpp", measure::WALL);
    assert_eq!(row.median, None);
    assert_eq!(row.unavailable, run.contender("cassandra-cpp").unwrap().unavailable);
}

#[test]
fn a_measure_of_another_version_is_summed_up_as_well() {
    let (run, mut cells) = sample::run();
    cells[0].measures.insert("allocations".to_owned(), Measure::value(7.0, Unit::Count));
    let contender = cells[0].contender.clone();
    assert_eq!(find(&summary(&run, &cells), &contender, "allocations").median, Some(7.0));
}

#[test]
fn the_verdict_is_read_from_the_interval_that_is_printed() {
    let (run, cells) = sample::blocks(12);
    let analysis = Analysis::new(&run, &cells);
    let (rows, warnings) = (&analysis.rows, &analysis.warnings);
    assert!(warnings.is_empty(), "{warnings:?}");
    let cdrs = find(rows, "cdrs-tokio", CPU_PER_STATEMENT);
    let [low, high] = cdrs.interval.unwrap();
    assert!(low <= cdrs.ratio.unwrap() && cdrs.ratio.unwrap() <= high && low > 1.02, "{cdrs:?}");
    assert_eq!((cdrs.verdict, cdrs.exploratory, cdrs.blocks), (Some(Verdict::Dearer), false, Some(12)));
    assert!(cdrs.detectable.unwrap() > 0.02);
    let reference = find(rows, "scylla", CPU_PER_STATEMENT);
    assert_eq!((reference.ratio, reference.interval, reference.verdict), (Some(1.0), None, None));
    let control = find(rows, "scylla#control", CPU_PER_STATEMENT);
    let [low, high] = control.interval.unwrap();
    assert!(low <= 1.0 && high >= 1.0 && control.verdict.is_none(), "{control:?}");
    let floor = find(rows, "floor", CPU_PER_STATEMENT);
    assert!(floor.ratio.is_some() && floor.interval.is_none() && floor.verdict.is_none(), "{floor:?}");
}

#[test]
fn every_meter_without_a_verdict_is_exploratory_and_its_interval_holds_by_itself() {
    let (run, mut cells) = sample::blocks(12);
    for cell in &mut cells {
        let cpu = cell.measures.get(CPU_PER_STATEMENT).unwrap().clone();
        cell.measures.insert(measure::SERVER_CPU_PER_STATEMENT.to_owned(), cpu);
    }
    let rows = summary(&run, &cells);
    let primary = find(&rows, "cdrs-tokio", CPU_PER_STATEMENT).interval.unwrap();
    let other = find(&rows, "cdrs-tokio", measure::SERVER_CPU_PER_STATEMENT);
    let narrower = other.interval.unwrap();
    assert!(other.exploratory && other.verdict.is_none());
    assert!(primary[0] < narrower[0] && narrower[1] < primary[1], "{primary:?} {narrower:?}");
    assert!(rows.iter().all(|row| row.exploratory != JUDGED.contains(&row.meter.as_str())));
}

#[test]
fn a_level_over_the_references_is_the_ratio_of_every_row_but_a_controls() {
    let (run, mut cells) = sample::blocks(12);
    for cell in &mut cells {
        let rate = 1e6 / cell.get(CPU_PER_STATEMENT).unwrap();
        cell.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
    }
    let rows = summary(&run, &cells);
    let mut compared = 0;
    for row in rows.iter().filter(|row| row.ratio.is_some() && !row.control) {
        let base = find_in(&rows, &row.scenario, "scylla", &row.meter).level.unwrap();
        let ratio = row.ratio.unwrap();
        assert!((row.level.unwrap() / base - ratio).abs() < 1e-9 * ratio, "{row:?}");
        compared += usize::from(row.interval.is_some());
    }
    assert!(compared > 2, "{compared} rows have intervals");
    let (own, control) = (find(&rows, "scylla", CPU_PER_STATEMENT), find(&rows, "scylla#control", CPU_PER_STATEMENT));
    let pooled = own.level.unwrap();
    assert!(pooled != own.median.unwrap() && (pooled / control.level.unwrap() - 1.0).abs() < 0.02, "{own:?}");
    let floor = find(&rows, "floor", CPU_PER_STATEMENT);
    assert_eq!((floor.level, floor.interval), (floor.median, None));
}

#[test]
fn without_an_interval_the_level_is_the_median_and_a_void_row_has_none() {
    let (run, mut cells) = sample::run();
    cells.iter_mut().find(|cell| cell.contender == "cdrs-tokio").unwrap().void = Some("No.".to_owned());
    let rows = summary(&run, &cells);
    let row = find(&rows, "scylla", measure::WALL);
    assert_eq!((row.level, row.interval), (row.median, None));
    assert_eq!(find(&rows, "cdrs-tokio", measure::WALL).level, None);
}

#[test]
fn cpu_time_is_cheaper_or_dearer_and_statements_per_second_are_faster_or_slower() {
    let both = [cqldyno_statistics::Verdict::Better, cqldyno_statistics::Verdict::Worse];
    let words = |meter| both.map(|one| Verdict::of(one, meter).name());
    assert_eq!(words(CPU_PER_STATEMENT), ["cheaper", "dearer"]);
    assert_eq!(words(THROUGHPUT), ["faster", "slower"]);
}

#[test]
fn nobody_that_served_more_is_called_slower() {
    let (run, mut cells) = sample::blocks(12);
    for cell in &mut cells {
        // cdrs-tokio needs more CPU time and serves more.
        let rate = cell.get(CPU_PER_STATEMENT).unwrap() * 1e5;
        cell.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
    }
    let rows = summary(&run, &cells);
    let of = |meter| find(&rows, "cdrs-tokio", meter).verdict;
    assert_eq!((of(CPU_PER_STATEMENT), of(THROUGHPUT)), (Some(Verdict::Dearer), Some(Verdict::Faster)));
    for row in rows.iter().filter(|row| row.meter == THROUGHPUT) {
        assert!(row.verdict != Some(Verdict::Slower) || row.ratio.unwrap() < 1.0, "{row:?}");
    }
}

#[test]
fn intervals_of_statements_per_second_hold_at_once_as_those_of_cpu_time_do() {
    let (run, mut cells) = sample::blocks(12);
    for cell in &mut cells {
        let cpu = cell.measures.get(CPU_PER_STATEMENT).unwrap().clone();
        cell.measures.insert(measure::THROUGHPUT.to_owned(), cpu);
    }
    let rows = summary(&run, &cells);
    let interval = |meter| find(&rows, "cdrs-tokio", meter).interval.unwrap();
    assert_eq!(interval(THROUGHPUT), interval(CPU_PER_STATEMENT));
}

#[test]
fn a_control_whose_rate_differs_takes_the_verdicts_on_rates_away_and_no_other() {
    let (run, mut cells) = sample::blocks(12);
    for cell in &mut cells {
        let faster = if cell.contender == "scylla#control" { 1.1 } else { 1.0 };
        let rate = faster * 1e6 / cell.get(CPU_PER_STATEMENT).unwrap();
        cell.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
    }
    for reference in ["scylla", "cdrs-tokio"] {
        let analysis = Analysis::against(&run, &cells, Some(reference));
        let verdicts =
            |meter: &str| analysis.rows.iter().filter(|row| row.meter == meter && row.verdict.is_some()).count();
        assert!(verdicts(CPU_PER_STATEMENT) > 0 && verdicts(THROUGHPUT) == 0, "{reference}");
        assert!(analysis.warnings[0].contains("should serve the same, but its statements per second"), "{reference}");
    }
}

#[test]
fn every_verdict_is_a_word_of_the_glossary() {
    let method = include_str!("../../../../harness/METHOD.md");
    let glossary =
        method.split("## What does a verdict mean?").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let all = [
        Verdict::Cheaper,
        Verdict::Dearer,
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Same,
        Verdict::Inconclusive,
        Verdict::TooNoisy,
    ];
    for word in all.iter().map(|one| one.name()).chain(["server-bound", "no verdict", "withheld"]) {
        assert!(glossary.to_lowercase().contains(&format!("*{word}*")), "{word}");
    }
}

#[test]
fn a_server_bound_row_has_no_verdict_on_throughput_and_keeps_that_on_cpu_time() {
    let (run, mut cells) = sample::blocks(12);
    for cell in &mut cells {
        let rate = 1e6 / cell.get(CPU_PER_STATEMENT).unwrap();
        cell.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
    }
    let rows = summary(&run, &cells);
    let found = find(&rows, "cdrs-tokio", measure::THROUGHPUT);
    assert_eq!(
        (found.verdict, found.exploratory),
        (Some(Verdict::Slower), false),
        "fewer statements a second: {found:?}"
    );
    for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
        let busy = Measure::value(88.0, Unit::Percent);
        cell.measures.insert(measure::SERVER_UTILISATION.to_owned(), busy);
    }
    let rows = summary(&run, &cells);
    let found = find(&rows, "cdrs-tokio", measure::THROUGHPUT);
    let why = "No verdict on statements per second: the server limited this row, not the driver.";
    assert_eq!((found.verdict, found.no_verdict.as_deref()), (None, Some(why)));
    assert!(found.interval.is_some());
    let cpu = find(&rows, "cdrs-tokio", CPU_PER_STATEMENT);
    assert_eq!((cpu.verdict, cpu.bottleneck), (Some(Verdict::Dearer), Some(Bottleneck::Server)));
}

#[test]
fn where_the_reference_or_its_control_is_not_known_to_set_its_own_rate_no_row_has_a_verdict_on_throughput() {
    let (run, mut cells) = sample::blocks(12);
    for cell in &mut cells {
        let rate = 1e6 / cell.get(CPU_PER_STATEMENT).unwrap();
        cell.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
    }
    let verdicts = |who: &str, server: Option<f64>| {
        let mut cells = cells.clone();
        for cell in cells.iter_mut().filter(|cell| cell.contender == who && cell.scenario == "writes") {
            cell.measures.remove(measure::SERVER_UTILISATION);
            if let Some(share) = server {
                cell.measures.insert(measure::SERVER_UTILISATION.to_owned(), Measure::value(share, Unit::Percent));
            }
        }
        let rows = summary(&run, &cells);
        let elsewhere = |row: &&SummaryRow| {
            row.contender == "cdrs-tokio" && row.meter == measure::THROUGHPUT && row.scenario == "reads"
        };
        assert_eq!(rows.iter().find(elsewhere).unwrap().verdict, Some(Verdict::Slower), "another place");
        let here = find(&rows, "cdrs-tokio", measure::THROUGHPUT);
        assert!(here.interval.is_some());
        let says = |what: &str| here.no_verdict.as_ref().is_some_and(|why| why.contains(what));
        match server {
            Some(share) if share < 80.0 => assert_eq!(here.no_verdict, None),
            Some(_) => assert!(says("the server limited the reference"), "{here:?}"),
            None => assert!(says("not known what limited the reference"), "{here:?}"),
        }
        (here.verdict, find(&rows, "cdrs-tokio", CPU_PER_STATEMENT).verdict)
    };
    assert_eq!(verdicts("scylla", Some(12.0)), (Some(Verdict::Slower), Some(Verdict::Dearer)));
    for base in ["scylla", "scylla#control"] {
        for server in [Some(88.0), None] {
            assert_eq!(verdicts(base, server), (None, Some(Verdict::Dearer)), "{base} {server:?}");
        }
    }
}

#[test]
fn a_driver_of_which_a_block_failed_is_compared_with_nobody_and_the_others_keep_their_intervals() {
    let (run, mut cells) = sample::blocks(12);
    let before = find(&summary(&run, &cells), "scylla#control", CPU_PER_STATEMENT).interval;
    cells.iter_mut().find(|cell| cell.contender == "cdrs-tokio" && cell.block == 4).unwrap().failed =
        Some("No.".to_owned());
    let rows = summary(&run, &cells);
    assert_eq!(find(&rows, "cdrs-tokio", CPU_PER_STATEMENT).interval, None);
    assert!(before.is_some() && find(&rows, "scylla#control", CPU_PER_STATEMENT).interval.is_some());
}

#[test]
fn a_second_name_of_another_driver_is_no_control_of_the_reference() {
    let (mut run, mut cells) = sample::blocks(12);
    for contender in run.contenders.iter_mut().filter(|contender| contender.control) {
        contender.id = "cdrs-tokio#control".to_owned();
    }
    for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
        cell.contender = "cdrs-tokio#control".to_owned();
    }
    let rows = summary(&run, &cells);
    assert!(find(&rows, "cdrs-tokio#control", CPU_PER_STATEMENT).verdict.is_some());
}
