//! Several runs of one plan in one folder.

use super::*;

#[test]
fn runs_of_one_plan_have_one_folder_and_the_readme_has_their_combined_table() {
    // Whatever the order in which they are named.
    let root = repository_with(&[again(2, 1.01), sound(), again(1, 0.99), once()]);
    let names: Vec<String> = runs(&date(&root)).unwrap().into_iter().map(|run| run.name).collect();
    assert_eq!(names, ["blocks", "blocks-2", "blocks-3", "classic"]);
    assert_eq!(check(&date(&root)), [""; 0]);
    let [front, of_date] = readmes(&root);
    for text in [&front, &of_date] {
        for said in [
            "**dearer** |",
            "3 runs of 12, 12 and 12 generations of 1 round, with turns of 500,000",
            "Measured from 2026-01-02 to 2026-01-04",
            "differences between two runs lie within their 90 % intervals; ",
            "#does-it-hold-tomorrow",
        ] {
            assert!(text.contains(said) && !text.contains("3 of 3 |"), "{said}: {text}");
        }
    }
    for said in ["## All runs on the embedded cluster together", "## [blocks-3](blocks-3)"] {
        assert!(of_date.contains(said), "{of_date}");
    }
    assert!(fs::read_to_string(date(&root).join(CHART)).unwrap().contains("3 runs, lines are"));
    assert!(front.lines().count() < 60 && front.split_whitespace().count() < 700, "{front}");
    assert!(stale(root.path()).is_empty());
}

#[test]
fn two_runs_of_one_day_and_other_plans_are_refused_with_what_differs() {
    let (mut run, cells) = again(0, 1.0);
    run.started = "2026-01-02T04:04:05Z".parse().unwrap();
    run.plan.warmup = 5;
    let root = empty();
    let error = refusal(&[sound(), (run, cells)], &root);
    for said in [
        "cannot be published beside the other run of its day. There is no combined table",
        "the statements before the window (10,000 and 5)",
    ] {
        assert!(error.contains(said), "{error}");
    }
    assert!(!published(root.path()).exists(), "nothing is left behind");
}

#[test]
fn numbered_runs_that_are_not_of_one_plan_are_reported() {
    let root = repository_with(&[sound(), again(1, 1.0)]);
    let (mut run, cells) = again(1, 1.0);
    run.plan.warmup = 5;
    keep(&date(&root).join("blocks-2"), &run, &cells);
    assert_said(&check(&date(&root)), "2026-01-02: There is no combined table, because blocks and blocks-2 differ in");
    let [front, _] = readmes(&root);
    assert!(!front.contains("2 of 2"), "{front}");
}
