use std::time::Duration;

use cqldyno_reports::{BuiltOnDemand, Cell, Run};

use super::*;
use crate::names::scenarios;
use crate::pr::verdict::tests::measured;
use crate::pr::verdict::{confirm, judge, why};

fn change(head: &str) -> Change {
    let side = |name: &str| Side { name: name.to_owned(), contender: "scylla@git:/x#a".parse().unwrap() };
    let (base, head) = (side("main"), side(head));
    let calls = [("execute", "`Session::execute_unpaged` of prepared statements"), ("batch", "`Session::batch`")];
    let calls = calls.map(|(operation, call)| (operation.to_owned(), call.to_owned()));
    let calls = [("drivers/scylla".to_owned(), calls.into())].into();
    Change { driver: "scylla".to_owned(), base, head, root: "/x".into(), cache: "/c".into(), calls }
}

/// The comment on such a run, whose changes a second run confirms or not.
fn comment(head: &str, measured: (Run, Vec<Cell>), confirms: bool) -> String {
    commented(head, measured, confirms, false)
}

/// The same, explained or not.
fn commented(head: &str, (mut run, cells): (Run, Vec<Cell>), confirms: bool, explains: bool) -> String {
    for (at, one) in run.contenders.iter_mut().enumerate() {
        let revision = Some([["1111111111", "2222222222"][at / 2]].concat());
        let adapter = "drivers/scylla".to_owned();
        one.built = Some(BuiltOnDemand { adapter, revision, dirty: at > 1 && head == ".", ..BuiltOnDemand::default() });
    }
    let analysis = Analysis::new(&run, &cells);
    let mut lines = judge(&analysis);
    let mut second = lines.clone();
    let unchanged = if confirms { &mut [][..] } else { &mut second[..] };
    unchanged.iter_mut().for_each(|line| line.verdict = Ok(Verdict::Same));
    second
        .iter_mut()
        .filter(|line| line.scenario == "writes")
        .for_each(|line| line.more = Some("`send` (+1.00)".to_owned()));
    confirm(&mut lines, &second);
    let explained = explains.then(|| why(&analysis, &lines));
    let text = Comment {
        change: &change(head),
        analysis: &analysis,
        all: &lines,
        scenarios: &scenarios::find("writes").unwrap(),
        explained,
        lasted: Duration::from_secs(700),
    };
    let text = text.text();
    assert!(text.lines().count() <= 20, "{text}");
    text
}

/// Head has one system call more per statement.
fn one_call_more() -> (Run, Vec<Cell>) {
    measured([1.0; 4], |who, count| if who > 1 && count == 1 { 1.0 } else { 0.0 })
}

fn first(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[test]
fn a_finding_is_the_first_line_and_its_row_is_bold() {
    let text = comment("HEAD", one_call_more(), true);
    assert_eq!(
        first(&text),
        "scylla at HEAD is dearer: 1.00 more system calls per write (0.090 -> 1.09) and 1.00 more system calls per read (0.090 -> 1.09), \
         confirmed by a second run."
    );
    assert!(text.contains("| per |  | main 1111111 | HEAD 2222222 | change | noise |  |"), "{text}");
    assert!(text.contains("| write | system calls | 0.090 | 1.09 | +1.000 | 0.000 | **dearer** |"), "{text}");
    assert!(text.contains("| read | instructions | 4,000 | 4,000 | +0.0 % | 0.00 % | same |"), "{text}");
    let explain = "`--explain` names the functions and system calls that head has more of.";
    assert!(text.contains(&format!("\n\nMore per write: `send` (+1.00). {explain}\n\n")), "{text}");
    let exercised = "\n\nExercised: `Session::execute_unpaged` of prepared statements. Measured in 12";
    assert!(text.contains(exercised), "{text}");
    assert!(text.contains("Measured in 12 min with builds, on 2 cores and `current`."), "{text}");
    assert!(text.contains("from 12 generations of turns of 50,000 statements."), "{text}");
}

#[test]
fn a_comment_may_say_what_a_dearer_head_has_more_of() {
    let more = measured([1.0; 4], |who, count| if who > 1 && count == 2 { 2.5 } else { 0.0 });
    let text = commented("HEAD", more, true, true);
    assert!(text.contains("Why a write is dearer: it makes 2.50 more allocations."), "{text}");
    assert!(text.contains("Why a read is dearer: it makes 2.50 more allocations."), "{text}");
    assert!(!text.contains("--explain"), "{text}");
    let none = commented("HEAD", measured([1.0; 4], |_, _| 0.0), true, true);
    assert!(!none.contains("Why "), "{none}");
}

#[test]
fn what_a_second_run_does_not_confirm_is_no_finding() {
    let text = comment("HEAD", one_call_more(), false);
    assert!(
        first(&text).starts_with("scylla at HEAD: no finding against main. A second run did not confirm 1.00 more"),
        "{text}"
    );
    assert!(text.contains("not confirmed |") && !text.contains("**"), "{text}");
}

#[test]
fn a_change_of_nothing_is_no_finding_and_fewer_calls_are_cheaper() {
    let text = comment("HEAD", measured([1.0; 4], |_, _| 0.0), true);
    assert_eq!(first(&text), "scylla at HEAD: no finding against main.");
    assert!(!text.contains("--explain"), "{text}");
    let fewer = measured([1.0; 4], |who, count| if who > 1 && count == 0 { -120.0 } else { 0.0 });
    let text = comment("HEAD", fewer, true);
    assert!(
        first(&text).starts_with("scylla at HEAD is cheaper: 3.0 % fewer instructions per write (4,000 -> 3,880) and"),
        "{text}"
    );
    let both = measured([1.0, 1.0, 1.2, 1.2], |who, count| if who > 1 && count == 0 { -120.0 } else { 0.0 });
    let text = comment("HEAD", both, true);
    assert!(first(&text).contains("is dearer: ") && first(&text).contains(" more CPU time per write ("), "{text}");
    assert!(first(&text).contains(" us) and ") && first(&text).contains("It also has 3.0 % fewer"), "{text}");
}

#[test]
fn the_working_tree_is_named_and_said_to_be_dirty() {
    let text = comment(".", one_call_more(), true);
    assert!(first(&text).starts_with("scylla in the working tree is dearer: "), "{text}");
    assert!(text.contains("| main 1111111 | working tree 2222222 dirty |"), "{text}");
}

#[test]
fn what_could_not_be_measured_is_said_with_the_reason() {
    let (run, mut cells) = one_call_more();
    cells.retain(|cell| cell.pass != Pass::Instructions);
    let text = comment("HEAD", (run, cells), true);
    assert!(text.contains("n/a, instructions per write and instructions per read: "), "{text}");
    let (mut run, _) = one_call_more();
    run.contenders[2].unavailable = Some("There is no worker: it could not be built.".to_owned());
    let text = comment("HEAD", (run, Vec::new()), true);
    assert_eq!(first(&text), "scylla at HEAD cannot be judged: There is no worker: it could not be built.");
}

#[test]
fn a_scenario_of_which_nothing_is_known_is_named_in_the_first_line() {
    let (run, mut cells) = measured([1.0; 4], |_, _| 0.0);
    for cell in cells.iter_mut().filter(|cell| cell.scenario == "reads" && cell.contender.contains("#b")) {
        cell.failed = Some("Every read failed.".to_owned());
    }
    let lines = judge(&Analysis::new(&run, &cells));
    assert_eq!(unjudged(&lines), ["reads"]);
    let text = comment("HEAD", (run, cells), true);
    assert_eq!(
        first(&text),
        "scylla at HEAD: no finding against main. It cannot be judged for reads: Every read failed."
    );
}

#[test]
fn however_many_scenarios_there_are_a_comment_has_twenty_lines_and_keeps_its_findings() {
    let (mut run, cells) = one_call_more();
    let mut all = Vec::new();
    let template = run.scenarios[0].clone();
    run.scenarios =
        (0..9).map(|at| cqldyno_reports::ScenarioInfo { name: format!("s{at}"), ..template.clone() }).collect();
    for one in &run.scenarios {
        let here = cells.iter().filter(|cell| cell.scenario == "writes");
        all.extend(here.map(|cell| Cell { scenario: one.name.clone(), ..cell.clone() }));
    }
    let text = comment("HEAD", (run, all), true);
    assert_eq!(text.lines().filter(|line| line.contains("**dearer**")).count(), 9, "{text}");
    assert!(text.contains("Left out: 24 more rows."), "{text}");
    assert!(first(&text).contains(" and 7 more, confirmed"), "{text}");
}
