//! What the page holds, and that nothing in it is more than text.

use serde_json::Value;

use super::*;
use crate::{ArrangementInfo, Measure, Series, Setting, Unit, csv, sample};

/// A run with everything that a page can show: two arrangements, a control, seconds, system calls by name, latency below
/// saturation, a void, a failed and a server-bound row, and a driver that is missing.
pub fn rich() -> (Run, Vec<Cell>) {
    let (mut run, mut cells) = sample::blocks(12);
    run.plan.passes = vec![Pass::Counting, Pass::Latency, Pass::Syscalls];
    run.plan.reference = Some("scylla".to_owned());
    let first: Vec<Cell> = cells.iter().filter(|cell| cell.pass == Pass::Counting).cloned().collect();
    for cell in first {
        let weight = cell.get(crate::measure::SYSCALLS_PER_STATEMENT).unwrap_or(0.1);
        let calls = [("sendmsg", 0.6), ("recvmsg", 0.25), ("epoll_wait", 0.1), ("futex", 0.05)];
        let calls = calls.map(|(name, share)| (name.to_owned(), share * weight)).into();
        let breakdowns = [("syscalls".to_owned(), calls)].into();
        cells.push(Cell { pass: Pass::Syscalls, breakdowns, measures: Default::default(), ..cell.clone() });
        let mut latency = Cell { pass: Pass::Latency, step: Some("rate".to_owned()), ..cell };
        latency.measures.clear();
        for (digits, us) in [("50", 41.0), ("90", 66.0), ("99", 140.0), ("999", 900.0), ("9999", 2_400.0)] {
            let id = format!("response_p{digits}");
            latency.measures.insert(id, Measure::value(us * (1.0 + weight), Unit::Microseconds));
        }
        cells.push(latency);
    }
    for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Timing) {
        let rate = (1e6 / cell.get(crate::measure::CPU_PER_STATEMENT).unwrap()) as u64;
        let answered = (0..7).map(|second| rate - rate / 40 * (second % 3)).collect();
        cell.series = Series { answered, ..Series::default() };
        cell.measures.insert(crate::measure::THROUGHPUT.to_owned(), Measure::value(rate as f64, Unit::PerSecond));
    }
    let current =
        ArrangementInfo { id: "current".to_owned(), runtime: "current".to_owned(), ..run.plan.arrangements[0].clone() };
    run.plan.arrangements.push(current);
    let again: Vec<Cell> =
        cells.iter().map(|cell| Cell { arrangement: "current".to_owned(), ..cell.clone() }).collect();
    cells.extend(again);
    let troubled = |cell: &&mut Cell| {
        cell.contender == "cdrs-tokio"
            && cell.scenario == "reads"
            && cell.arrangement == "current"
            && cell.pass == Pass::Timing
    };
    for (nth, cell) in cells.iter_mut().filter(troubled).enumerate() {
        match nth {
            0 => cell.failed = Some("The worker ended with signal 11 before `end`.".to_owned()),
            1 => cell.void = Some("2 of 500,000 statements failed (2 request timeouts).".to_owned()),
            _ => {}
        }
    }
    (run, cells)
}

/// Every text of the run, hostile.
pub fn hostile() -> (Run, Vec<Cell>) {
    const NAME: &str = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{202e}<!--&amp;";
    let (mut run, mut cells) = rich();
    for (nth, one) in run.contenders.iter_mut().enumerate() {
        one.label = format!("{NAME}{nth}");
        one.caveats = vec![format!("Says {NAME}")];
        one.settings = vec![Setting { name: NAME.to_owned(), value: NAME.to_owned(), as_asked: false }];
        one.libraries[..].iter_mut().for_each(|library| library.origin = Some(NAME.to_owned()));
        (one.build, one.compiler) = (NAME.to_owned(), NAME.to_owned());
        one.unavailable = one.unavailable.as_ref().map(|_| NAME.to_owned());
    }
    for scenario in &mut run.scenarios {
        let name = format!("{NAME}{}", scenario.name);
        cells.iter_mut().filter(|cell| cell.scenario == scenario.name).for_each(|cell| cell.scenario = name.clone());
        (scenario.name, scenario.about) = (name, NAME.to_owned());
        scenario.definition = Some(Value::String(NAME.to_owned()));
    }
    run.plan.target.about = NAME.to_owned();
    run.plan.consistency = NAME.to_owned();
    run.plan.serve_arguments = vec![NAME.to_owned()];
    run.environment.cpu = NAME.to_owned();
    run.environment.more = [(NAME.to_owned(), NAME.to_owned())].into();
    run.cqldyno = NAME.to_owned();
    for cell in &mut cells {
        cell.findings = vec![NAME.to_owned()];
        cell.failed = cell.failed.as_ref().map(|_| NAME.to_owned());
        cell.void = cell.void.as_ref().map(|_| NAME.to_owned());
        for figures in cell.breakdowns.values_mut() {
            figures.insert(NAME.to_owned(), 0.5);
        }
    }
    (run, cells)
}

/// The text of the element that `start` begins, up to `end`.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    page.split_once(start).unwrap().1.split_once(end).unwrap().0
}

#[test]
fn a_page_is_one_file_below_its_limit_that_names_nothing_elsewhere() {
    let (run, cells) = rich();
    let page = html(&run, &cells).unwrap();
    assert!(page.len() < PAGE_LIMIT, "{}", page.len());
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
    let said = headline_of(&page);
    assert!(
        said.starts_with("cdrs-tokio needed 56 % more CPU time than scylla for writes on multi:2 (95 % interval"),
        "{said}"
    );
}

fn headline_of(page: &str) -> &str {
    between(page, "<h1>", "</h1>")
}

#[test]
fn tables_charts_caveats_environment_and_data_are_there() {
    let (run, cells) = rich();
    let page = html(&run, &cells).unwrap();
    for part in [
        "cqldyno compare scylla cdrs-tokio cassandra-cpp floor noop --reference scylla",
        "<caption class=\"unseen\">",
        "<th scope=\"row\">",
        "CPU time a statement over that of scylla",
        "CPU time a statement over that of cdrs-tokio",
        "Throughput over that of scylla",
        "Statements a second over time",
        "Response time by percentile, at a fixed rate",
        "System calls a statement by name",
        "CPU time a statement, block by block, in us",
        "It has no time limit a statement of its own.",
        "was not built, because libcassandra was not found",
        "not as asked",
        "void 1/12, failed 1/12",
        "server-bound",
        "Example 9000, 2 cores",
        "download=\"result.json.gz\" href=\"data:application/gzip;base64,",
        "<title>cdrs-tokio@9.0.2, block 3: ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let pictures = page.matches("<svg ").count();
    assert_eq!(pictures, page.matches("role=\"img\" aria-label=\"").count());
    // In each of four places; where cdrs-tokio is void, nothing is compared with it.
    assert_eq!(pictures, 4 * 9 - 2);
}

#[test]
fn what_stands_in_the_page_for_another_reference_is_what_the_same_method_gives() {
    let (run, cells) = rich();
    let page = html(&run, &cells).unwrap();
    let data: Value = serde_json::from_str(between(&page, "id=\"page-data\">", "</script>")).unwrap();
    assert_eq!(data["names"], serde_json::json!(["scylla", "cdrs-tokio"]));
    let (_, summary) = crate::against(&run, &cells, "cdrs-tokio");
    let row =
        summary.rows.iter().find(|row| row.contender == "scylla" && row.meter == crate::measure::CPU_PER_STATEMENT);
    let (ratio, [low, high]) = row.and_then(|row| row.ratio.zip(row.interval)).unwrap();
    let shown = &data["fields"][1]["o-0-0"];
    assert_eq!(shown[1], format!("{ratio:.3} ({low:.3} to {high:.3}) faster"));
    assert_eq!(shown[2], "faster");
}

#[test]
fn a_measure_that_nobody_could_take_says_why_in_a_note() {
    let (run, cells) = rich();
    let page = html(&run, &cells).unwrap();
    assert!(page.contains("noop sends nothing, so no server took part.</li>"), "{page}");
}

#[test]
fn hostile_names_are_text_everywhere() {
    let (run, cells) = hostile();
    let page = html(&run, &cells).unwrap();
    assert_eq!(page.matches("<script").count(), 2, "the data and the page's own");
    assert_eq!(page.matches("</script>").count(), 2);
    for live in ["<img", "<!--", "\u{202e}"] {
        let found = page.find(live).map(|at| page[at.saturating_sub(80)..].chars().take(160).collect::<String>());
        assert_eq!(found, None, "{live:?}");
    }
    let data = between(&page, "id=\"page-data\">", "</script>");
    assert!(!data.contains('<'));
    assert!(serde_json::from_str::<Value>(data).is_ok());
}

#[test]
fn one_run_each_or_nobody_at_all_is_a_page_too() {
    let (run, cells) = sample::run();
    let page = html(&run, &cells).unwrap();
    assert!(headline_of(&page).starts_with("This run calls no driver faster or slower."), "{}", headline_of(&page));
    assert!(page.contains("Latency was not measured in this run"));
    assert!(page.contains("Verdicts: none. An interval needs") && !page.contains("blocks.."));
    let (mut run, _) = sample::run();
    run.contenders.clear();
    run.interrupted = true;
    let page = html(&run, &[]).unwrap();
    assert!(page.contains("Ended early.") && headline_of(&page).contains("nothing to compare"));
}

#[test]
fn a_run_that_is_too_large_has_fewer_charts_and_less_data_and_says_so() {
    let (mut run, cells) = rich();
    let mut many = Vec::new();
    for nth in 0..16 {
        let id = format!("multi:{}", nth + 1);
        run.plan.arrangements.truncate(1);
        many.extend(
            cells
                .iter()
                .filter(|cell| cell.arrangement == "current")
                .map(|cell| Cell { arrangement: id.clone(), ..cell.clone() }),
        );
    }
    run.plan.arrangements = (0..16)
        .map(|nth| ArrangementInfo { id: format!("multi:{}", nth + 1), ..run.plan.arrangements[0].clone() })
        .collect();
    let page = html(&run, &many).unwrap();
    assert!(page.len() < PAGE_LIMIT, "{}", page.len());
    assert!(page.contains("room for the charts of CPU time only"));
}

#[test]
fn data_that_have_no_room_are_left_out_by_a_sentence() {
    let (run, cells) = rich();
    let (all, none) = raw::downloads(&run, &cells, usize::MAX).unwrap();
    assert_eq!((all.len(), none), (2, None));
    let size = |at: usize| all[at].address.len();
    let (without_table, none) = raw::downloads(&run, &cells, size(0)).unwrap();
    assert_eq!((without_table.len(), none), (1, None));
    let (small, said) = raw::downloads(&run, &cells, size(0) - 1).unwrap();
    assert!(small[0].address.len() < size(0) && said.unwrap().contains("no series by second"));
    let (nothing, said) = raw::downloads(&run, &cells, 10).unwrap();
    assert!(nothing.is_empty() && said.unwrap().contains("no room for the cells"));
    assert!(!csv(&run, &cells).is_empty());
}
