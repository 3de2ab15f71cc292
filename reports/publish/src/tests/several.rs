//! Several runs of one plan in one folder.

use super::*;

fn with_readme(root: &TempDir) -> [String; 2] {
    let readme = root.path().join(README);
    let text = "<!-- generated from reports/published/0 by make readme -->\n<!-- end of what is generated -->\n";
    fs::write(&readme, text).unwrap();
    write(root.path()).unwrap();
    [readme, date(root).join(README)].map(|path| fs::read_to_string(path).unwrap())
}

#[test]
fn runs_of_one_plan_have_one_folder_and_the_readme_has_their_combined_table() {
    // Whatever the order in which they are named.
    let root = repository_with(&[again(2, 1.01), sound(), again(1, 0.99), once()]);
    let names: Vec<String> = runs(&date(&root)).unwrap().into_iter().map(|run| run.name).collect();
    assert_eq!(names, ["blocks", "blocks-2", "blocks-3", "classic"]);
    assert_eq!(check(&date(&root)), [""; 0]);
    let [front, of_date] = with_readme(&root);
    for text in [&front, &of_date] {
        assert!(
            text.contains("**dearer** |")
                && !text.contains("3 of 3 |")
                && text.contains("3 runs of 12, 12 and 12 generations of 1 round, with turns of 500,000"),
            "{text}"
        );
        assert!(text.contains("Measured from 2026-01-02 to 2026-01-04"), "{text}");
        assert!(
            text.contains("differences between two runs lie within their 90 % intervals; ")
                && text.contains("#does-it-hold-tomorrow"),
            "{text}"
        );
    }
    assert!(
        of_date.contains("## All runs on the embedded cluster together") && of_date.contains("## [blocks-3](blocks-3)"),
        "{of_date}"
    );
    assert!(fs::read_to_string(date(&root).join(CHART)).unwrap().contains("3 runs, lines are"));
    assert!(front.lines().count() < 60 && front.split_whitespace().count() < 700, "{front}");
    assert!(stale(root.path()).is_empty());
}

#[test]
fn two_runs_of_one_day_and_other_plans_are_refused_with_what_differs() {
    let (mut run, cells) = again(0, 1.0);
    run.started = "2026-01-02T04:04:05Z".parse().unwrap();
    run.plan.warmup = 5;
    let folders = [kept(&sound()), kept(&(run, cells))];
    let root = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.path().to_path_buf()).collect();
    let error = publish(&paths, root.path()).unwrap_err().to_string();
    assert!(
        error.contains("cannot be published beside the other run of its day. There is no combined table"),
        "{error}"
    );
    assert!(error.contains("the statements before the window (10,000 and 5)"), "{error}");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn numbered_runs_that_are_not_of_one_plan_are_reported() {
    let root = repository_with(&[sound(), again(1, 1.0)]);
    let (mut run, cells) = again(1, 1.0);
    run.plan.warmup = 5;
    keep(&date(&root).join("blocks-2"), &run, &cells);
    assert_said(&check(&date(&root)), "2026-01-02: There is no combined table, because blocks and blocks-2 differ in");
    let [front, _] = with_readme(&root);
    assert!(!front.contains("2 of 2"), "{front}");
}
