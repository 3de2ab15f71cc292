//! A run that is given a time leaves generations out for want of it, says so, and is a run like any other.

use std::path::Path;
use std::process::Output;

use crate::schema::check_schema;
use crate::support::{cqldyno, drivers, json, refused, run, stderr, stdout, words};
use cqldyno_reports::{Cell, Pass, Run};
use serde_json::Value;

/// More blocks than a second has room for on any machine: each starts processes.
const BLOCKS: u32 = 2_000;

fn kept(folder: &Path) -> (Run, Vec<Cell>) {
    let text = |name: &str| std::fs::read_to_string(folder.join("kept").join(name)).unwrap();
    let cells = text("cells.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (Run::from_json(&text("run.json")).unwrap(), cells)
}

/// `compare` with these contenders, in far more blocks than there is time for.
fn compare(folder: &Path, contenders: &[&str], further: &[&str]) -> Output {
    let blocks = BLOCKS.to_string();
    let asked = ["--scenario", "writes", "--count", "1k", "--warmup", "0", "--limits", "noise=none", "--within", "1s"];
    let arguments = [&["compare"], contenders, &asked, &["--blocks", &blocks, "--out", "kept"], further].concat();
    cqldyno(folder, &arguments).output().unwrap()
}

fn of_pass(cells: &[Cell], pass: Pass) -> Vec<u32> {
    cells.iter().filter(|cell| cell.pass == pass).map(|cell| cell.block).collect()
}

#[test]
fn a_run_for_whose_blocks_there_is_no_time_is_done_says_how_many_there_are_and_can_be_gone_on_with() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let output = compare(folder.path(), &["noop"], &["--format", "json"]);
    let said = words(&stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{said}");
    let (run, cells) = kept(folder.path());
    let cut_short = run.cut_short.unwrap();
    let blocks = cut_short.blocks;
    assert!((1..BLOCKS).contains(&blocks) && cut_short.within_ms == 1_000, "{cut_short:?}");
    assert_eq!((run.plan.within_ms, run.interrupted, run.ended.is_some()), (Some(1_000), false, true));
    assert_eq!(of_pass(&cells, Pass::Timing), (1..=blocks).collect::<Vec<_>>());
    // Where a second is too short to count system calls, too, that is said.
    let counted = of_pass(&cells, Pass::Counting);
    assert_eq!(run.passes_left_out.is_empty(), counted == [1, 2, 3], "{counted:?}");
    assert_eq!(said.contains("The rest of the pass counting is left out:"), counted != [1, 2, 3], "{said}");
    assert!(said.contains("It stops after 1 s: nothing starts that would not end in time."), "{said}");
    assert!(said.contains(&format!("There was time for {blocks} of 2,000 generations within 1 s")), "{said}");
    let how_many = format!("{blocks} of 2,000 generation");
    assert!(said.contains(&how_many) && said.contains("Go on with `cqldyno compare --resume kept`."), "{said}");
    assert_eq!(json(&output)["run"]["cut_short"]["blocks"], blocks);
    check_schema(&folder.path().join("kept"));
    for (format, file) in [("table", "table.txt"), ("markdown", "table.md"), ("html", "page.html")] {
        let text = std::fs::read_to_string(folder.path().join("kept").join(file)).unwrap();
        assert!(words(&text).contains(&how_many), "{text}");
        let report =
            cqldyno(folder.path(), &["report", "kept", "--wide", "--notes", "--format", format]).output().unwrap();
        assert_eq!(report.status.code(), Some(0), "{}", stderr(&report));
        assert!(words(&stdout(&report)).contains(&how_many), "{}", stdout(&report));
    }

    let resume = |further: &[&str]| {
        let arguments = [&["compare", "--resume", "kept"], further].concat();
        let output = cqldyno(folder.path(), &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        kept(folder.path())
    };
    let (further, all) = resume(&["--within", "1s"]);
    let more = further.cut_short.unwrap().blocks;
    assert!(more > blocks && further.resumed.len() == 1, "{more} after {blocks}");
    assert_eq!(of_pass(&all, Pass::Timing), (1..=more).collect::<Vec<_>>());
    assert!(
        of_pass(&all, Pass::Counting).starts_with(&counted) && all[..cells.len()] == cells[..],
        "nothing is run twice"
    );

    // Without a time it goes on to the end of its plan, which is brought near. It has as much time again, which must be enough.
    let path = folder.path().join("kept/run.json");
    let mut near: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    near["plan"]["blocks"] = (more + 2).into();
    near["plan"]["within_ms"] = 600_000.into();
    std::fs::write(&path, near.to_string()).unwrap();
    let (whole, all) = resume(&[]);
    assert_eq!((whole.cut_short, whole.interrupted, whole.plan.within_ms), (None, false, Some(600_000)));
    assert_eq!(of_pass(&all, Pass::Timing), (1..=more + 2).collect::<Vec<_>>());
    assert!(
        !std::fs::read_to_string(folder.path().join("kept/table.txt")).unwrap().contains("generations ran, because")
    );
}

#[test]
fn too_few_blocks_for_an_interval_say_so_where_they_are_shown_and_judged() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let output = compare(folder.path(), &["scylla", "cdrs-tokio"], &["--pass", "none"]);
    let (said, why) = (words(&stderr(&output)), "because the time limit was 1 s");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(kept(folder.path()).0.cut_short.unwrap().blocks < 8, "a block takes more than an eighth of a second");
    let shown = words(&stdout(&output));
    assert!(shown.contains("This run calls no driver cheaper or dearer.") && shown.contains(why), "{shown}");
    let check = cqldyno(folder.path(), &["check", "kept"]).output().unwrap();
    assert_eq!((check.status.code(), stdout(&check).as_str()), (Some(2), ""), "{}", stderr(&check));
    assert!(words(&stderr(&check)).contains(why), "{}", stderr(&check));
    assert!(said.contains("`cqldyno compare --resume kept`"), "{said}");
    let history = cqldyno(folder.path(), &["history", "."]).output().unwrap();
    assert_eq!(history.status.code(), Some(0), "{}", stderr(&history));
    assert!(stdout(&history).contains("scylla"), "{}", stdout(&history));
}

#[test]
fn generations_of_a_fixed_number_can_be_given_a_time_too() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["compare", "noop", "--scenario", "writes", "--count", "1k", "--blocks", "2000", "--within", "1s"];
    let output = cqldyno(folder.path(), &arguments).arg("--notes").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(words(&stdout(&output)).contains("of 2,000 generations ran"), "{}", stdout(&output));
}

#[test]
fn a_time_that_is_none_is_refused_with_how_to_write_one() {
    for text in ["0s", "0", "soon", "999ms", "5", "-1s", "1441min"] {
        let error = refused(&["compare", "noop", &format!("--within={text}")]);
        assert!(error.contains("--within") && error.contains("write a time from 1s to a day (1440min)"), "{error}");
    }
}

/// A driver and its control in short turns, until their interval is very wide.
#[test]
fn a_comparison_until_a_width_ends_there_says_so_and_has_nothing_left() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let asked = ["compare", "scylla", "--scenario", "writes", "--turn", "2k", "--warmup", "0", "--pass", "none"];
    let limits = ["--limits", "noise=none", "--until", "50%", "--within", "10min", "--out", "kept"];
    let output = cqldyno(folder.path(), &[&asked[..], &limits].concat()).output().unwrap();
    let said = words(&stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{said}");
    let (run, cells) = kept(folder.path());
    let generations = run.cut_short.unwrap().blocks;
    assert!((8..100).contains(&generations) && run.plan.until == Some(0.5), "{generations}");
    let result = std::fs::read_to_string(folder.path().join("kept/result.json")).unwrap();
    assert!(result.contains(" --within 600000ms --until 50% "), "the command that repeats it");
    let sentence = format!("All intervals were within 50 % after {generations} generations.");
    assert!(words(&stdout(&output)).contains(&sentence), "{}", stdout(&output));
    assert!(
        said.contains("From generation 8 on it ends once all intervals are within 50 %. It stops after 10 min"),
        "{said}"
    );
    assert!(
        said.contains(" rounds of 2,000 statements of every scenario and arrangement.") && !said.contains("cell"),
        "{said}"
    );
    let lines: Vec<String> =
        stderr(&output).lines().filter(|line| line.starts_with("generation ")).map(str::to_owned).collect();
    assert_eq!(lines.len(), generations as usize, "a line per generation: {lines:?}");
    assert!(
        lines[0].starts_with("generation 1 of ") && lines[0].contains(" us") && lines[0].ends_with(" left"),
        "{lines:?}"
    );
    check_schema(&folder.path().join("kept"));

    let output = cqldyno(folder.path(), &["compare", "--resume", "kept"]).output().unwrap();
    assert!(stderr(&output).contains("nothing was left to do"), "{}", stderr(&output));
    // Narrower than it can get, it goes on from where it was.
    let path = folder.path().join("kept/run.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"until\": 0.5", "\"until\": 0.001", 1)).unwrap();
    let output = cqldyno(folder.path(), &["compare", "--resume", "kept", "--within", "1s"]).output().unwrap();
    let said = words(&stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains(&format!("{} turns are there already.", cells.len())), "{said}");
    let (further, _) = kept(folder.path());
    assert!(further.cut_short.unwrap().blocks > generations && further.plan.until == Some(0.001), "{further:?}");
    let why = "The time of 1 s was over before all intervals were within 0.1 %: the widest is ";
    assert!(words(&stdout(&output)).contains(why), "{}", stdout(&output));
    assert!(said.contains("Go on with `cqldyno compare --resume kept`."), "{said}");
}

#[test]
fn contenders_that_live_one_after_the_other_are_told_of_at_the_start_and_above_the_tables() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let asked =
        ["compare", "floor", "--scenario", "connect", "--turn", "1k", "--pass", "none", "--within", "1s", "--notes"];
    let output = cqldyno(folder.path(), &[&asked[..], &["--out", "kept"]].concat()).output().unwrap();
    let said = words(&stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{said}");
    let sentence = "The contenders of connect live one after the other, because it opens a session per statement.";
    assert!(said.find(sentence).is_some_and(|at| Some(at) < said.find("This takes about")), "{said}");
    assert!(words(&stdout(&output)).contains(sentence), "{}", stdout(&output));
    assert_eq!(kept(folder.path()).0.scenarios[0].apart.as_deref(), Some(sentence));
    check_schema(&folder.path().join("kept"));
}

#[test]
fn what_the_limits_of_a_scenario_drop_is_said_at_the_start_and_the_first_line_has_what_ran() {
    drivers();
    let asked =
        ["compare", "floor", "--scenario", "connect", "-n", "100k", "-c", "64", "--blocks", "1", "--pass", "none"];
    let output = run(&asked);
    let said = words(&stderr(&output));
    let dropped = "The limits of the scenario connect leave 1,000 statements per generation instead of 100,000.";
    assert!(said.find(dropped).is_some_and(|at| Some(at) < said.find("This takes about")), "{said}");
    assert!(words(&stdout(&output)).contains("1k statements, 64 in flight on multi:2"), "{}", stdout(&output));
}

#[test]
fn one_generation_is_said_as_one() {
    drivers();
    let asked = [
        "compare",
        "noop",
        "--scenario",
        "writes",
        "--count",
        "1k",
        "--warmup",
        "0",
        "--blocks",
        "1",
        "--pass",
        "none",
    ];
    let said = words(&stderr(&run(&asked)));
    assert!(
        said.contains(": 1 generation of 1 round of 1,000 statements of every scenario and arrangement."),
        "{said}"
    );
}
