//! What the page holds, and that nothing in it is more than text.

use std::io::Read;

use serde_json::Value;

use super::*;
use crate::export::shown::{csv, html, markdown};
use crate::sample;
use crate::sample::rich::{hostile, rich};
use crate::{ArrangementInfo, Cell, CutShort, Measure, Pass, Series, Setting, Unit};

/// 20 blocks of six contenders, three scenarios and two arrangements, with as many digits as a real run has.
fn large() -> (Run, Vec<Cell>) {
    let (mut run, base) = sample::blocks(20);
    let mut seed = 1u64;
    let mut digits = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        0.97 + (seed >> 33) as f64 / (1u64 << 31) as f64 * 0.06
    };
    let cpp = run.contenders.iter_mut().find(|one| one.id == "cassandra-cpp").unwrap();
    cpp.unavailable = None;
    let mut scenarios = run.scenarios.clone();
    scenarios.push(crate::ScenarioInfo { name: "mixed".to_owned(), ..scenarios[0].clone() });
    let current =
        ArrangementInfo { id: "current".to_owned(), runtime: "current".to_owned(), ..run.plan.arrangements[0].clone() };
    run.plan.arrangements.push(current);
    run.plan.passes = vec![Pass::Counting, Pass::Latency, Pass::Syscalls];
    let settings: Vec<Setting> = ["protocol version", "consistency", "compression", "retries", "routing", "page size"]
        .map(|name| Setting { name: name.to_owned(), value: "as the others".to_owned(), as_asked: true })
        .into();
    let mut cells = Vec::new();
    for scenario in &scenarios {
        for arrangement in &run.plan.arrangements {
            let of = |cell: &&Cell| cell.scenario == "writes";
            let mut mine: Vec<Cell> = base.iter().filter(of).cloned().collect();
            let like = |cell: &Cell| Cell {
                contender: "cassandra-cpp".to_owned(),
                label: "cassandra-cpp".to_owned(),
                ..cell.clone()
            };
            mine.extend(base.iter().filter(of).filter(|cell| cell.contender == "cdrs-tokio").map(like));
            let counting: Vec<Cell> = mine.iter().filter(|cell| cell.pass == Pass::Counting).cloned().collect();
            for cell in counting {
                let calls = ["sendto", "recvfrom", "epoll_wait", "futex", "write", "read", "epoll_ctl", "mmap", "brk"];
                let calls = calls.map(|name| (name.to_owned(), digits() * 0.1)).into();
                mine.push(Cell {
                    pass: Pass::Syscalls,
                    breakdowns: [("syscalls".to_owned(), calls)].into(),
                    ..cell.clone()
                });
                for step in ["rate", "1", "16", "256"] {
                    let kind = if step == "rate" { "response".to_owned() } else { format!("service_{step}") };
                    let measures = ["50", "90", "99", "999"].map(|share| {
                        (format!("{kind}_p{share}"), Measure::value(100.0 * digits(), Unit::Microseconds))
                    });
                    let step = Some(step.to_owned());
                    mine.push(Cell { pass: Pass::Latency, step, measures: measures.into(), ..cell.clone() });
                }
            }
            for cell in &mut mine {
                (cell.scenario, cell.arrangement) = (scenario.name.clone(), arrangement.id.clone());
                cell.settings = Setting::shared(settings.clone());
                cell.files.insert("hdr".to_owned(), format!("hdr/{}-{}.hlog", cell.label, cell.block));
                for nth in 0..20 {
                    cell.measures.insert(format!("figure_{nth}"), Measure::value(1_000.0 * digits(), Unit::Count));
                }
                for measure in cell.measures.values_mut() {
                    if let Measure::Value { value, .. } = measure {
                        *value *= digits();
                    }
                }
                let second = || (0..5).map(|nth| 400_000 + (nth * 7_919) % 20_000).collect::<Vec<u64>>();
                cell.series = Series::new(second(), second(), second());
            }
            cells.extend(mine);
        }
    }
    run.scenarios = scenarios;
    (run, cells)
}

/// The text of the element that `start` begins, up to `end`.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    page.split_once(start).unwrap().1.split_once(end).unwrap().0
}

#[test]
fn a_page_is_one_file_below_its_limit_that_names_nothing_elsewhere() {
    let (run, cells) = rich();
    let page = html(&run, &cells);
    assert!(page.len() < PAGE_LIMIT, "{}", page.len());
    for outside in ["http:", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    // A link is followed by readers alone.
    assert_eq!(page.matches("https:").count(), page.matches("<a href=\"https:").count());
    assert!(page.contains("default-src 'none'"));
    let said = headline_of(&page);
    assert!(said.starts_with("On multi:2, scylla needed the least CPU time for writes and reads."), "{said}");
}

fn headline_of(page: &str) -> &str {
    between(page, "<h1>", "</h1>")
}

#[test]
fn tables_charts_caveats_environment_and_data_are_there() {
    let (run, cells) = rich();
    let page = html(&run, &cells);
    for part in [
        "<a href=\"#repeat\">",
        "id=\"repeat\"",
        "id=\"source\"",
        "id=\"method\"",
        "<caption class=\"unseen\">",
        "<th scope=\"row\">",
        "CPU time per statement over that of scylla",
        "CPU time per statement over that of cdrs-tokio",
        "Throughput over that of scylla",
        "Statements per second over time",
        "Response time by percentile, at a fixed rate",
        "System calls per statement by name",
        "CPU time per statement, by generation, in us",
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
    let pictures = page.matches("<svg viewBox").count();
    assert_eq!(pictures, page.matches("role=\"img\" aria-label=\"").count());
    // In each of four places; where cdrs-tokio is void, nothing is compared with it.
    assert_eq!(pictures, 4 * 9 - 2);
}

#[test]
fn what_stands_in_the_page_for_another_reference_is_what_the_same_method_gives() {
    let (run, cells) = rich();
    let page = html(&run, &cells);
    let data: Value = serde_json::from_str(between(&page, "id=\"page-data\">", "</script>")).unwrap();
    assert_eq!(data["names"], serde_json::json!(["scylla", "cdrs-tokio"]));
    let analysis = Analysis::against(&run, &cells, Some("cdrs-tokio"));
    let place = analysis.places().next().unwrap();
    let row = analysis.row(place, run.contender("scylla").unwrap(), CPU_PER_STATEMENT).unwrap();
    let (ratio, [low, high]) = row.ratio.zip(row.interval).unwrap();
    let shown = &data["fields"][1]["r-0-0-0"];
    assert_eq!(shown[0], format!("{ratio:.3} ({low:.3} to {high:.3})"));
    assert_eq!((&shown[1], &shown[2]), (&json!("cheaper"), &json!("cheaper")));
}

#[test]
fn both_verdicts_have_a_colour_and_words_and_an_exploratory_figure_has_none() {
    let (run, cells) = rich();
    let page = html(&run, &cells);
    let fields = |heading: &str| -> Vec<String> {
        let column = page.split("<th class=\"num m-").find(|rest| between(rest, ">", "</th>") == heading).unwrap();
        let class = format!("<td class=\"num m-{} ", column.split('"').next().unwrap());
        page.split(&class).skip(1).map(|rest| rest.split("</td>").next().unwrap().to_owned()).collect()
    };
    let class = |field: &String| field.split('"').next().unwrap().to_owned();
    let is_coloured = |field: &&String| {
        ["cheaper", "dearer", "faster", "slower"].iter().any(|verdict| class(field).contains(verdict))
    };
    for (heading, words) in
        [("verdict on CPU time", ["cheaper", "dearer"]), ("verdict on statements/s", ["faster", "slower"])]
    {
        let verdicts = fields(heading);
        let has_both =
            |field: &&String| is_coloured(field) && words.iter().any(|word| field.contains(&format!(">{word}<")));
        assert!(verdicts.iter().any(|field| has_both(&field)), "{heading}: {verdicts:?}");
    }
    assert_eq!(fields("server CPU us /statement").iter().find(is_coloured), None);
}

#[test]
fn the_reference_that_was_asked_for_is_shown_first_and_the_data_are_the_run_s() {
    let (run, cells) = rich();
    let page = Html.one(&Analysis::against(&run, &cells, Some("cdrs-tokio")), Look::default()).unwrap();
    let data: Value = serde_json::from_str(between(&page, "id=\"page-data\">", "</script>")).unwrap();
    assert_eq!(data["names"], serde_json::json!(["cdrs-tokio", "scylla"]));
    assert!(page.contains("data-reference=\"0\" aria-pressed=\"true\">cdrs-tokio<"), "{page}");
}

#[test]
fn a_measure_that_nobody_could_take_says_why_in_a_note() {
    let (run, cells) = rich();
    let page = html(&run, &cells);
    assert!(page.contains("noop sends nothing, so no server took part.</li>"), "{page}");
}

#[test]
fn hostile_names_are_text_everywhere() {
    let (run, cells) = hostile();
    let page = html(&run, &cells);
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
    let page = html(&run, &cells);
    assert!(page.contains("This run has no latency pass"));
    assert!(page.contains("Verdicts: none. An interval needs") && !page.contains("blocks.."));
    let (mut run, _) = sample::run();
    run.contenders.clear();
    run.interrupted = true;
    let page = html(&run, &[]);
    assert!(
        page.contains("The run was stopped, so it gives no verdicts;")
            && headline_of(&page).contains("nothing to compare")
    );
    let (mut run, cells) = sample::blocks(9);
    run.plan.blocks = 12;
    run.cut_short = Some(CutShort { within_ms: 300_000, blocks: 9, missing_ms: 72_000 });
    let page = html(&run, &cells);
    assert!(
        page.contains("Cut short.")
            && page.contains("9 of 12 generations of every scenario and arrangement ran, because"),
        "{page}"
    );
    assert!(page.contains("1,024 in flight, 9 generations of 1 round, against"), "{page}");
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
    let page = html(&run, &many);
    assert!(page.len() < PAGE_LIMIT, "{}", page.len());
    assert!(page.contains("room for the charts of CPU time only"));
}

#[test]
fn data_that_have_no_room_are_left_out_by_a_sentence() {
    let (run, cells) = rich();
    let mut again = cells.clone();
    again.retain(|cell| cell.block == 1);
    again.iter_mut().for_each(|cell| cell.attempt = 2);
    again.extend(cells);
    let cells = again;
    let within = |room: usize| raw::Packed::of(&Analysis::new(&run, &cells)).unwrap().within(room);
    let (all, none) = within(usize::MAX);
    assert_eq!((all.len(), none), (2, None));
    let size = |files: &[raw::Download]| files[0].address.len();
    let (without_table, said) = within(size(&all));
    assert_eq!((without_table.len(), size(&without_table)), (1, size(&all)));
    assert!(said.unwrap().contains("no room for the same figures as CSV"));
    let (small, said) = within(size(&all) - 1);
    let said = said.unwrap();
    assert!(
        size(&small) < size(&all) && said.contains("attempts that do not count") && said.contains("series by second")
    );
    let (nothing, said) = within(10);
    assert!(nothing.is_empty() && said.unwrap().contains("no room for the cells"));
    // What is left out is no longer sealed as measured, and everything is read back.
    for (files, count) in [
        (&all, cells.len()),
        (&small, cells.len() - cells.iter().filter(|cell| cell.block == 1 && cell.attempt == 1).count()),
    ] {
        let read = Recorded::from_document(&unpacked(&files[0].address)).unwrap();
        assert_eq!(read.cells.len(), count);
    }
    assert_eq!(unpacked(&all[1].address), csv(&run, &cells));
}

/// The file that an address in the page holds.
pub fn unpacked(address: &str) -> String {
    use base64::Engine;
    let packed = address.strip_prefix("data:application/gzip;base64,").unwrap();
    let packed = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_large_run_has_all_its_tables_charts_and_cells_below_the_limit() {
    let (run, cells) = large();
    let page = html(&run, &cells);
    assert!(page.len() < PAGE_LIMIT, "{}", page.len());
    assert!(!page.contains("This run has so many cells"), "all charts, with their titles");
    let pictures = page.matches("<svg viewBox").count();
    assert!(pictures >= 6 * (2 * 3 + 2 + 4 + 1), "{pictures}");
    let whole =
        Recorded::from_document(&unpacked(between(&page, "download=\"result.json.gz\" href=\"", "\""))).unwrap();
    assert_eq!((whole.cells.len(), cells.len()), (900, 900));
    assert_eq!(whole.cells, cells);
    assert!(page.contains("no room for the same figures as CSV"));
}

#[test]
fn the_files_of_a_hostile_run_are_json_that_is_read_back_and_csv_with_as_many_fields_in_every_row() {
    let (run, cells) = hostile();
    let page = html(&run, &cells);
    let file = |name: &str| unpacked(between(&page, &format!("download=\"{name}.gz\" href=\""), "\""));
    let read = Recorded::from_document(&file("result.json")).unwrap();
    assert_eq!((read.run, read.cells), (run, cells));
    let table = file("cells.csv");
    let mut rows = table.split("\r\n").filter(|row| !row.is_empty());
    let columns = rows.next().unwrap().split(',').count();
    let mut count = 0;
    for row in rows {
        // A comma counts outside of quotes, and a quote in quotes is doubled.
        let outside = row.split('"').step_by(2).collect::<Vec<_>>().concat();
        assert_eq!(outside.matches(',').count() + 1, columns, "{row}");
        assert!(!row.contains(|c: char| c.is_control()), "{row:?}");
        count += 1;
    }
    assert!(count > 1_000, "{count}");
}

#[test]
fn every_field_for_a_reference_is_what_a_run_with_that_reference_shows() {
    let (mut run, mut cells) = rich();
    // A control is the reference's: with another reference there is another one.
    run.contenders.retain(|one| !one.control);
    cells.retain(|cell| cell.contender != "scylla#control");
    let analysis = Analysis::new(&run, &cells);
    let others: Vec<Analysis> = vec![analysis.turned("cdrs-tokio")];
    let page = Page::new(std::iter::once(&analysis).chain(&others).map(View::of).collect());
    let names: Vec<&str> = page.views.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(names, ["scylla", "cdrs-tokio"]);
    for (at, reference) in names.iter().enumerate() {
        let mut turned = run.clone();
        turned.plan.reference = Some((*reference).to_owned());
        let other = Analysis::new(&turned, &cells);
        let other = Page::new(vec![View::of(&other)]);
        let shown = |field: &Field| (field.text.clone(), field.sub.clone(), field.class.clone(), field.sort);
        let fields = |of: &Fields| of.iter().map(|(id, field)| (id.clone(), shown(field))).collect::<Vec<_>>();
        assert_eq!(fields(&page.fields[at]), fields(&other.fields[0]), "{reference}");
        assert_eq!(page.views[at].analysis.findings, other.analysis.findings);
        // And that is what the program prints.
        let printed = bare(&markdown(&turned, &cells));
        let ratio = page.fields[at].values().filter(|field| field.class.contains("keep") && !field.sub.is_empty());
        let cpu: Vec<&Field> = ratio.filter(|field| !field.sub.starts_with('×')).collect();
        assert!(cpu.len() >= 3, "{reference}: {cpu:?}");
        for field in cpu {
            assert!(printed.contains(&format!("{} ({})", field.text, field.sub)), "{field:?} {printed}");
        }
    }
}

/// A Markdown text without what only sets it.
fn bare(markdown: &str) -> String {
    markdown.replace(['*', '\\'], "")
}

#[test]
fn a_reader_switches_between_five_measures_without_a_script_and_sees_a_bar_per_figure() {
    let (run, cells) = rich();
    let page = html(&run, &cells);
    let first = between(&page, "<section class=\"first\"", "</section>");
    for (at, name) in ["CPU time", "Statements/s", "Server's CPU time", "Latency", "System calls"].iter().enumerate() {
        let checked = if at == 0 { " checked" } else { "" };
        let choice = format!("<label><input type=\"radio\" name=\"lens\" id=\"lens-{at}\"{checked}> {name}</label>");
        assert!(first.contains(&choice), "{first}");
        let of = between(first, &format!("class=\"by-lens by-lens-{at}\""), "</table>");
        // Two scenarios in two arrangements with three drivers; floor, noop and the control are not among them.
        assert_eq!(of.matches("<svg class=\"bar ").count(), 12, "{of}");
        assert!(of.contains("width=\"1000\""), "the greatest has the whole width: {of}");
    }
    assert!(!first.contains("floor") && !first.contains("#control"), "{first}");
    let (run, cells) = sample::run();
    assert!(html(&run, &cells).contains("This run has no latency pass."));
}

#[test]
fn a_noisy_run_says_so_before_anything_else_but_the_findings() {
    let (mut run, mut cells) = rich();
    crate::rounds::tests::disturb(&mut run, &mut cells, |cell| cell.block < 8);
    let page = html(&run, &cells);
    let banner = page.find("do not count, because").unwrap();
    assert!(banner < page.find("<p class=\"lead\">").unwrap(), "{banner}");
}
