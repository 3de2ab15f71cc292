//! The page over many runs in a real browser.

use cqldyno_reports::sample::rich::hostile;
use cqldyno_reports::{Cell, Listed, Recorded, Run, sample, site};
use serde_json::{Value, json};

use super::browser::Browser;

/// What a reader sees of the first three columns.
const ROWS: &str = "return Array.from(document.querySelectorAll('table.main tbody tr:not(.place)')).filter(row => row.checkVisibility())
    .map(row => Array.from(row.cells).slice(0, 3).map(cell => cell.textContent).join(' '))";

/// Two runs of one plan, one of another server, one of releases, and one of bad days.
fn runs() -> Vec<(&'static str, Recorded)> {
    let of = |(run, cells): (Run, Vec<Cell>)| Recorded { run, cells, notes: Vec::new() };
    let mut cassandra = of(sample::repeated(12, 2));
    cassandra.run.plan.target.embedded = false;
    cassandra.run.plan.target.id = "cassandra:5.0.9".to_owned();
    cassandra.run.plan.target.about = "Apache Cassandra 5.0.9".to_owned();
    let mut releases = of(sample::repeated(12, 3));
    releases.run.contenders.truncate(2);
    for (one, version) in releases.run.contenders.iter_mut().zip(["1.0.0", "1.1.0"]) {
        (one.label, one.version) = (format!("scylla@{version}"), version.to_owned());
    }
    releases.cells.retain(|cell| releases.run.contender(&cell.contender).is_some());
    for cell in &mut releases.cells {
        cell.label = releases.run.contender(&cell.contender).unwrap().label.clone();
        cell.contender = cell.label.clone();
    }
    releases.run.contenders.iter_mut().for_each(|one| one.id = one.label.clone());
    releases.run.plan.reference = Some("scylla@1.1.0".to_owned());
    (releases.run.plan.releases, releases.run.plan.exact) = (vec!["scylla@all".to_owned()], true);
    let mut days = of(sample::repeated(1, 4));
    days.run.plan.faults = true;
    days.run.command = Some("cqldyno faults scylla".to_owned());
    vec![
        ("monday", of(sample::repeated(12, 0))),
        ("tuesday", of(sample::repeated(12, 1))),
        ("cassandra", cassandra),
        ("releases-scylla", releases),
        ("bad-days", days),
    ]
}

fn page(runs: &[(&str, Recorded)]) -> String {
    let listed = runs.iter().map(|(name, recorded)| Listed {
        name: (*name).to_owned(),
        link: format!("../runs/{name}/page.html"),
        recorded,
    });
    site(&listed.collect::<Vec<_>>()).unwrap()
}

fn showing(runs: &[(&str, Recorded)]) -> Option<(Browser, tempfile::TempDir)> {
    let browser = Browser::start()?;
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index.html");
    std::fs::write(&index, page(runs)).unwrap();
    browser.size(1280, 900);
    browser.open(&index);
    Some((browser, folder))
}

#[test]
fn without_a_script_the_page_is_a_plain_table_with_links_and_commands() {
    let page = page(&runs());
    let table = page.split("<table").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(!table.contains(" hidden") && page.contains("id=\"choices\" hidden"), "{table}");
    // The runs of one plan have a group of rows together, which links to both.
    let group = table.split("<tbody>").find(|group| group.contains("monday")).unwrap();
    for part in ["../runs/monday/page.html", "../runs/tuesday/page.html", "cqldyno compare scylla cdrs-tokio", "dearer"]
    {
        assert!(group.contains(part), "{part}: {group}");
    }
    assert!(group.contains(" to ") && group.contains("class=\"sub\""), "intervals: {group}");
    assert_eq!(table.matches("<tbody>").count(), 2, "{table}");
    let listed = page.split("id=\"others\"").nth(1).unwrap();
    assert!(listed.contains("bad-days") && listed.contains("cqldyno faults scylla"), "{listed}");
    assert_eq!(page.matches("<script").count(), 2, "the data and the page's own");
    assert!(!page.contains("http://") && !page.contains("https://") && page.contains("default-src 'none'"));
}

#[test]
fn a_reader_chooses_what_is_shown_of_all_runs_without_a_network() {
    let Some((browser, _folder)) = showing(&runs()) else { return };
    let rows =
        || browser.run(ROWS).as_array().unwrap().iter().map(|row| row.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let date = "select[name=date] option[value='']";
    // The newest date with figures is chosen already.
    assert!(
        rows().len() == 4 && browser.text("return document.querySelector('select[name=date]').value") == "2026-01-04"
    );
    browser.click(date);
    assert_eq!(rows().len(), 8, "{:?}", rows());
    browser.click("#choices button:nth-of-type(2)");
    browser.click("select[name=scenario] option[value=reads]");
    assert!(rows() == ["cdrs-tokio@9.0.2 reads multi:2"; 2], "{:?}", rows());
    assert_eq!(browser.text("return document.querySelector('.status').textContent"), "2 of 8 rows.");
    browser.click("select[name=server] option[value='cassandra:5.0.9']");
    assert_eq!(rows().len(), 1);
    let shown = |selector: &str| {
        let script = format!(
            "return Array.from(document.querySelectorAll({selector:?})).filter(one => one.checkVisibility()).length"
        );
        browser.run(&script).as_u64().unwrap()
    };
    assert_eq!((shown("figure"), shown("section[aria-labelledby=others] .run")), (0, 0));
    browser.click("#choices button:nth-of-type(2)");
    browser.click("#choices button:nth-of-type(1)");
    assert!(rows() == ["scylla@1.9.0 reads multi:2"], "{:?}", rows());
    assert_eq!(shown("figure"), 1, "the history is of every date and server");
    browser.click("select[name=server] option[value='']");
    assert_eq!(shown("section[aria-labelledby=others] .run"), 1);
    for width in [1280, 400] {
        browser.size(width, 900);
        browser.until(&format!("return document.documentElement.clientWidth <= {width}"));
        let over = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(browser.run(over), 0, "nothing is wider than {width}");
    }
    let named = "return Array.from(document.querySelectorAll('button, a[href], select')).filter(
        one => !(one.textContent.trim() || one.ariaLabel || one.closest('label'))).length";
    assert_eq!(browser.run(named), 0, "all that can be used has a name");
    assert_eq!(browser.errors(), Vec::<Value>::new());
    assert_eq!(browser.requests(), Vec::<String>::new());
}

#[test]
fn hostile_texts_of_many_runs_are_text_and_run_nothing() {
    let (run, cells) = hostile();
    let Some((browser, _folder)) = showing(&[("<b>run", Recorded { run, cells, notes: Vec::new() })]) else { return };
    let live = "return [document.images.length, document.scripts.length, document.querySelectorAll('b, iframe, [onerror]').length]";
    assert_eq!(browser.run(live), json!([0, 2, 0]));
    assert_eq!(browser.errors(), Vec::<Value>::new());
}
