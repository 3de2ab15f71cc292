//! What stands beside each other, in every format.

use super::*;
use crate::export::shown::{csv, several};
use crate::measure::WALL;
use crate::{Cell, Checksum, CutShort, Look, Pass, sample};

const EVIL: &str = "a|b</title><script>alert(1)</script>\u{1b}[31m\"";

/// A sound run, and one of another machine, version and scenario of the same name, in which everything is void.
fn two() -> [(String, Recorded); 2] {
    let (run, cells) = sample::blocks(12);
    let one = Recorded { run, cells, notes: Vec::new() };
    let mut other = one.clone();
    other.run.environment.cpu = "Another 1".to_owned();
    other.run.scenarios[0].hash = "0100".to_owned();
    other.cells.iter_mut().filter(|cell| cell.scenario == "reads").for_each(|cell| {
        cell.void = Some("A row was wrong.".to_owned());
    });
    for cell in other.cells.iter_mut().filter(|cell| cell.scenario == "writes") {
        cell.scenario_hash = "0100".to_owned();
    }
    other.notes.push("It has no end: it broke off.".to_owned());
    [("runs/laptop".to_owned(), one), ("runs/server".to_owned(), other)]
}

fn html_of_runs(named: &[(String, &Recorded)]) -> String {
    several("html", named, Look::default())
}

fn named(runs: &[(String, Recorded)]) -> Vec<(String, &Recorded)> {
    runs.iter().map(|(name, one)| (name.clone(), one)).collect()
}

#[test]
fn every_format_has_every_run_and_says_why_there_is_no_ratio_and_what_differs() {
    let runs = two();
    let named = named(&runs);
    let differ = "These runs differ in: processor, what writes asks.";
    let table = several("table", &named, Look { width: 2_000, ..Look::default() });
    let texts = [
        table,
        several("markdown", &named, Look::default()),
        html_of_runs(&named),
        several("json", &named, Look::default()),
    ];
    for text in &texts {
        for part in ["runs/laptop", "runs/server", NO_RATIOS, differ, "Another 1", "A row was wrong.", "It has no end"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    for text in texts[..3].iter().filter_map(|text| text.split("</style>").last()) {
        assert!(!text.contains("ratio to") && !text.contains("faster") && !text.contains("slower"), "{text}");
    }
}

#[test]
fn a_run_that_was_cut_short_says_how_many_generations_it_has() {
    let mut runs = two();
    runs[1].1.run.plan.blocks = 20;
    runs[1].1.run.cut_short = Some(CutShort { within_ms: 300_000, blocks: 11, missing_ms: 72_000 });
    let named = named(&runs);
    let table = several("table", &named, Look { width: 2_000, ..Look::default() });
    for text in [table, several("markdown", &named, Look::default()), html_of_runs(&named)] {
        assert!(text.contains("; 12 generations of ") && text.contains("; 11 generations of "), "{text}");
    }
}

#[test]
fn a_run_whose_control_differs_is_warned_of_by_its_name_in_every_format() {
    let mut runs = two();
    sample::cost(&mut runs[0].1.cells, "scylla#control", 1.05);
    let named = named(&runs);
    let table = several("table", &named, Look { width: 2_000, ..Look::default() });
    for text in [table, several("markdown", &named, Look::default()), html_of_runs(&named)] {
        assert!(text.contains("runs/laptop: The control is scylla@1.9.0 once more and should cost"), "{text}");
    }
}

#[test]
fn the_page_has_a_section_a_scenario_and_arrangement_and_a_column_a_run_that_leads_to_what_is_known_of_it() {
    let runs = two();
    let page = html_of_runs(&named(&runs));
    assert_eq!(page.matches("<h2 id=\"place-").count(), 2, "{page}");
    let tables = page.matches("<table class=\"sortable\">").count();
    assert!(tables >= 4, "{page}");
    for at in 0..2 {
        let link = format!("<th class=\"num\" scope=\"col\"><a href=\"#run-{at}\">");
        assert_eq!(page.matches(&link).count(), tables, "{link}: {page}");
        assert_eq!(page.matches(&format!("<div id=\"run-{at}\">")).count(), 1, "{page}");
    }
    for part in [
        "Example 9000, 2 cores",
        "tokio 1.54.0",
        "cqldyno compare scylla cdrs-tokio",
        "<td class=\"num bad\">void</td>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.contains("script-src 'none'; ") && !page.contains("<script"), "{page}");
}

#[test]
fn the_csv_is_that_of_each_run_with_its_name_before_it() {
    let runs = two();
    let text = several("csv", &named(&runs), Look::default());
    let mut expected = String::new();
    for (at, (name, one)) in runs.iter().enumerate() {
        let own = csv(&one.run, &one.cells);
        for line in own.lines().skip(usize::from(at > 0)) {
            expected.push_str(&format!("{},{line}\r\n", if line.starts_with("contender,") { "run" } else { name }));
        }
    }
    assert_eq!(text, expected);
}

#[test]
fn each_run_of_the_json_is_a_document_that_is_read_as_the_run_that_it_was() {
    let mut runs = two();
    for (_, one) in &mut runs {
        one.run.checksum = Some(Checksum::of_cells(&one.cells));
        one.notes.clear();
    }
    let whole: serde_json::Value = serde_json::from_str(&several("json", &named(&runs), Look::default())).unwrap();
    assert_eq!(whole["remarks"][0], NO_RATIOS);
    for (at, (name, one)) in runs.iter().enumerate() {
        assert_eq!(whole["runs"][at]["name"], *name);
        assert_eq!(Recorded::from_document(&whole["runs"][at].to_string()).unwrap(), *one);
    }
}

#[test]
fn hostile_names_stay_text_in_every_format() {
    let mut runs = two();
    let evil = |text: &mut String| *text = EVIL.to_owned();
    evil(&mut runs[1].0);
    let Recorded { run, cells, notes } = &mut runs[1].1;
    evil(&mut run.environment.cpu);
    run.contenders.iter_mut().for_each(|one| {
        evil(&mut one.label);
        one.caveats = vec![EVIL.to_owned()];
        one.libraries.iter_mut().for_each(|library| evil(&mut library.name));
    });
    evil(&mut run.scenarios[1].about);
    notes.push(EVIL.to_owned());
    let is_void = |cell: &&mut Cell| cell.pass == Pass::Timing && cell.measures.contains_key(WALL);
    cells.iter_mut().filter(is_void).for_each(|cell| cell.void = Some(EVIL.to_owned()));
    let named = named(&runs);
    let page = html_of_runs(&named);
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
    assert_eq!(page.matches("</title>").count(), 1, "{page}");
    let markdown = several("markdown", &named, Look::default());
    assert!(!markdown.contains("<script") && markdown.contains("a\\|b"), "{markdown}");
    let table = several("table", &named, Look::default());
    for text in
        [page, markdown, table, several("csv", &named, Look::default()), several("json", &named, Look::default())]
    {
        assert!(!text.contains('\u{1b}') && text.contains("script"), "{text}");
    }
}

/// Three sound runs of one plan on two machines; cdrs-tokio costs a little more in each.
fn three() -> [(String, Recorded); 3] {
    let of = |name: &str, days: u32, factor: f64| {
        let (run, mut cells) = sample::repeated(12, days);
        sample::cost(&mut cells, "cdrs-tokio", factor);
        (name.to_owned(), Recorded { run, cells, notes: Vec::new() })
    };
    let mut runs = [of("runs/monday", 0, 0.995), of("runs/tuesday", 1, 1.0), of("runs/server", 2, 1.005)];
    runs[2].1.run.environment.cpu = "Another 1".to_owned();
    runs
}

#[test]
fn runs_of_one_plan_are_a_combined_table_in_every_format_that_shows_several() {
    let runs = three();
    let named = named(&runs);
    expect_test::expect_file!["golden/runs_of_one_plan_are_a_combined_table_in_every_format_that_shows_several.txt"]
        .assert_eq(&several("table", &named, Look { width: 80, ..crate::export::shown::at(80) }));
    let table = several("table", &named, Look { width: 2_000, ..Look::default() });
    let markdown = several("markdown", &named, Look::default());
    for text in [table.clone(), markdown.clone(), html_of_runs(&named)] {
        for part in [
            "3 runs of 12 turns of 500k statements",
            "vs scylla (95 %)",
            "3 of 3",
            "2 of 2 verdicts on CPU time held in all runs.",
            "4 of 6 differences between two runs lie within their 90 % intervals; nine of ten should.",
            "These runs differ in: processor.",
            "scylla needed the least CPU time for writes and reads.",
            "runs/monday",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("No ratio is taken"), "{text}");
    }
    assert!(markdown.contains("| held |") && markdown.contains("| dearer | 3 of 3 |"), "{markdown}");
    // Each run's own ratio stands below, where there is room.
    let own = "CPU time over the reference's, within the run";
    let short = several("table", &named, crate::export::shown::at(80));
    assert!(table.contains(own) && markdown.contains(own) && !short.contains(own), "{short}");
}

#[test]
fn the_document_of_runs_of_one_plan_has_the_combined_table_and_csv_stays_as_it_is() {
    let runs = three();
    let text = several("json", &named(&runs), Look::default());
    let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
    let combined = &whole["combined"];
    assert_eq!((&combined["reference"], &combined["agreement"]["of"]), (&"scylla".into(), &6.into()));
    let rows = combined["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["contender"] == "cdrs-tokio" && row["scenario"] == "writes").unwrap();
    assert_eq!((&row["held"], &row["verdict"]), (&3.into(), &"dearer".into()));
    assert_eq!(row["runs"].as_array().unwrap().len(), 3);
    assert!(several("csv", &named(&runs), Look::default()).starts_with("run,contender,"));
    let other = two();
    let text = several("json", &named(&other), Look::default());
    assert!(!text.contains("\"combined\""), "{text}");
}

#[test]
fn runs_of_other_plans_stand_beside_each_other_with_the_field_that_differs() {
    let mut runs = three();
    runs[2].1.run.plan.turns.count = 1_000_000;
    let named = named(&runs);
    let expected = "There is no combined table, because runs/monday and runs/server differ in the count (500,000 statements per turn \
                    and 1,000,000 statements per turn). Only runs of one plan are combined: repeat a run with its own command.";
    for format in ["table", "markdown", "html", "json"] {
        let text = several(format, &named, Look { width: 2_000, ..Look::default() });
        assert!(
            text.contains(expected) && text.contains(NO_RATIOS) && !text.contains("held in all runs"),
            "{format}: {text}"
        );
    }
}
