//! The page in a real browser: clicks, keys, paper and hostile texts.

mod browser;
mod site;

use std::path::Path;

use cqldyno_reports::measure::CPU_PER_STATEMENT;
use cqldyno_reports::sample::rich::{hostile, rich};
use cqldyno_reports::{Analysis, Cell, Look, Recorded, Run, exporter, sample};
use serde_json::{Value, json};

use self::browser::Browser;

/// The smallest text that is to be seen, in pixels of the screen, and what it says.
const SMALLEST: &str = "let least = [1000, ''];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const element = node.parentElement;
        if (!node.textContent.trim() || !element.checkVisibility() || element.closest('.unseen, script, title')) continue;
        let size = parseFloat(getComputedStyle(element).fontSize);
        if (element.ownerSVGElement) size *= element.getScreenCTM().a;
        if (size < least[0]) least = [size, node.textContent];
    }
    return least;";

const NAMES: &str = "return Array.from(document.querySelectorAll('table.main')[0].tBodies[0].rows, row =>
    row.cells[0].textContent.trim().split('@')[0]).join(' ')";

const HEADLINE: &str = "return Array.from(document.querySelectorAll('h1')).filter(one => one.checkVisibility()).map(one => one.textContent).join('|')";

/// How many pixels the bars of the first table have for one microsecond.
const SCALES: &str = "return Array.from(document.querySelectorAll('.by-lens-0 tr:has(rect.f)')).filter(row => row.checkVisibility())
    .map(row => row.querySelector('rect.f').getBoundingClientRect().width / parseFloat(row.querySelector('td.num .v').textContent))
    .filter(scale => scale > 0)";

#[test]
fn a_reader_chooses_the_reference_sorts_and_hides_without_a_network() {
    let Some(browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let (run, cells) = rich();
    std::fs::write(&page, text("html", &run, &cells)).unwrap();
    browser.size(1280, 900);
    browser.open(&page);

    assert!(browser.text(HEADLINE).starts_with("On multi:2, scylla needed the least CPU time for writes and reads."));
    assert_eq!(browser.text("return document.querySelector('#r-0-0-0 .sub').textContent"), "reference");
    browser.click("button[data-reference='1']");
    assert!(!browser.text(HEADLINE).contains('|'), "the findings of one reference are shown");
    let shown = browser.text("return document.querySelector('#r-0-0-0').textContent");
    let analysis = Analysis::against(&run, &cells, Some("cdrs-tokio"));
    let row = analysis.rows.iter().find(|row| row.contender == "scylla" && row.meter == CPU_PER_STATEMENT);
    let (ratio, [low, high]) = row.and_then(|row| row.ratio.zip(row.interval)).unwrap();
    assert_eq!(shown, format!("{ratio:.3} ({low:.3} to {high:.3})cheaper"));
    assert_eq!(browser.text(STATUS), "Compared with cdrs-tokio.");
    let pressed = "return document.querySelector('[data-reference=\"1\"]').getAttribute('aria-pressed')";
    assert_eq!(browser.text(pressed), "true");
    let pictures = "return Array.from(document.querySelectorAll('figure')).filter(one => one.checkVisibility())
        .map(one => one.textContent).join(' ')";
    let pictures = browser.text(pictures);
    assert!(pictures.contains("over that of cdrs-tokio") && !pictures.contains("over that of scylla"), "{pictures}");
    browser.click("button[data-reference='0']");

    // Another measure in the first table, without the page's script.
    let measures =
        "return Array.from(document.querySelectorAll('.by-lens')).map(one => one.checkVisibility()).join(' ')";
    assert_eq!(browser.text(measures), "true false false false false");
    browser.click("#lens-2");
    assert_eq!(browser.text(measures), "false false true false false");
    browser.click("#lens-0");

    let before = browser.text(NAMES);
    assert!(before.starts_with("scylla cdrs-tokio"), "{before}");
    let of_cost = "table.main thead th.m-4 button";
    browser.click(of_cost);
    browser.click(of_cost);
    assert!(browser.text(NAMES).starts_with("cdrs-tokio scylla"), "{}", browser.text(NAMES));
    let sorted = "return document.querySelector('table.main th.m-4').getAttribute('aria-sort')";
    assert_eq!(browser.text(sorted), "descending");
    browser.run("document.querySelector('table.main thead th.m-4 button').focus()");
    browser.key('\u{e007}', 1);
    assert_eq!(browser.text(sorted), "ascending", "by the keyboard");

    browser.click(".choices summary");
    browser.click("input[data-hides='c-1']");
    let left = "return Array.from(document.querySelectorAll('.c-1')).filter(one => one.checkVisibility()).length";
    assert_eq!(browser.run(left), 0);
    assert_eq!(browser.text(STATUS), "Contenders: cdrs-tokio@9.0.2 is hidden.");
    browser.click("input[data-hides='c-1']");
    assert!(browser.run(left).as_u64().unwrap() > 10);
    assert_eq!(browser.text(STATUS), "Contenders: cdrs-tokio@9.0.2 is shown.");
    // A meter in its columns, and in its charts.
    let column = "return document.querySelector('table.main th.m-0').checkVisibility()";
    assert_eq!(browser.run(column), false);
    browser.click("input[data-hides='m-0']");
    assert_eq!(browser.run(column), true);
    browser.click("input[data-hides='m-0']");
    assert_eq!(browser.text(STATUS), "Meters: real is hidden.");
    let charts =
        "return Array.from(document.querySelectorAll('figure.g-latency')).filter(one => one.checkVisibility()).length";
    assert_eq!(browser.run(charts), 4);
    browser.click("input[data-hides='g-latency']");
    assert_eq!(browser.run(charts), 0);
    let faults = "return Array.from(document.querySelectorAll('.y-0-0')).filter(one => !one.matches('.off')).length";
    assert!(browser.run(faults).as_u64().unwrap() > 8, "a meter of a further table");
    browser.click("input[data-hides='y-0-0']");
    assert_eq!(browser.run(faults), 0);
    assert_eq!(browser.text(STATUS), "More of the same cells: page faults is hidden.");
    let table =
        "return Array.from(document.querySelectorAll('details.x-0')).filter(one => one.checkVisibility()).length";
    assert_eq!(browser.run(table), 4);
    browser.click("input[data-hides='x-0']");
    assert_eq!(browser.run(table), 0);
    // Another reference does not bring back what is hidden.
    browser.click("input[data-hides='g-cpu']");
    browser.click("button[data-reference='1']");
    let of_cpu =
        "return Array.from(document.querySelectorAll('figure.g-cpu')).filter(one => one.checkVisibility()).length";
    assert_eq!(browser.run(of_cpu), 0);
    browser.click("button[data-reference='0']");
    browser.click("input[data-hides='g-cpu']");
    browser.click("input[data-hides='g-latency']");
    browser.click(".choices summary");

    // Versions, settings and caveats are one click away.
    let opened = "return document.querySelector('#contender-1').open && document.querySelector('#contender-1 table').checkVisibility()";
    assert_eq!(browser.run(opened), false);
    browser.click("table.main a[href='#contender-1']");
    browser.until(opened);
    browser.run("scrollTo(0, 0)");

    let named = "return Array.from(document.querySelectorAll('button, a[href], input, [role=region], svg[role=img], section')).filter(
        one => !(one.textContent.trim() || one.ariaLabel || one.closest('label'))).length";
    assert_eq!(browser.run(named), 0, "all that can be used or is a picture has a name");
    for (width, least) in [(1280, 12.0), (400, 11.0)] {
        browser.size(width, 900);
        let found = browser.run(SMALLEST);
        assert!(found[0].as_f64().unwrap() >= least, "{width}: {found}");
        let over = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(browser.run(over), 0, "nothing is wider than {width}");
        let tables = "return Array.from(document.querySelectorAll('table.bars, .scroll:has(table.main)'))
            .filter(one => one.scrollWidth > one.clientWidth + 1)
            .map(one => [one.className, one.textContent.slice(0, 60), one.scrollWidth, one.clientWidth])";
        assert!(width > 400 || browser.run(tables) == json!([]), "{}", browser.run(tables));
    }
    // A row without an interval has little text at the right, and its bar is drawn to the same scale.
    for width in [400, 800, 1280] {
        browser.size(width, 900);
        browser.until(&format!("return document.documentElement.clientWidth <= {width}"));
        let scales = browser.run(SCALES);
        let scales: Vec<f64> = scales.as_array().unwrap().iter().map(|scale| scale.as_f64().unwrap()).collect();
        let (least, most) = scales.iter().fold((f64::MAX, 0.0), |(a, b): (f64, f64), one| (a.min(*one), b.max(*one)));
        assert!(scales.len() > 6 && most < 1.02 * least, "{width}: {scales:?}");
    }
    assert_eq!(browser.errors(), Vec::<Value>::new());
    assert_eq!(browser.requests(), Vec::<String>::new());

    if let Some(pictures) = std::env::var_os("CQLDYNO_PAGE_PICTURES") {
        let pictures = Path::new(&pictures);
        browser.picture(&pictures.join("light.png"), 1280, false);
        browser.picture(&pictures.join("dark.png"), 1280, true);
        browser.picture(&pictures.join("narrow.png"), 400, false);
        browser.print(&pictures.join("print.pdf"));
    }
}

/// The run in that format.
fn text(format: &str, run: &Run, cells: &[Cell]) -> String {
    exporter(format).unwrap().one(&Analysis::new(run, cells), Look::default()).unwrap()
}

const STATUS: &str = "return document.querySelector('.status').textContent";

/// A browser that shows the page of a run, and the folder that holds it.
fn showing(run: &Run, cells: &[Cell]) -> Option<(Browser, tempfile::TempDir)> {
    let browser = Browser::start()?;
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    std::fs::write(&page, text("html", run, cells)).unwrap();
    browser.size(1280, 900);
    browser.open(&page);
    Some((browser, folder))
}

/// Every field that depends on the reference: what it shows, how it is coloured, what it is sorted by.
const FIELDS: &str = "return Array.from(document.querySelectorAll('td[id]'), field => [field.id,
    field.querySelector('.v').textContent, field.querySelector('.sub').textContent.replace(/^\\[\\d+\\]/, ''),
    Array.from(field.classList).sort().join(' '), field.dataset.sort ?? ''].join('|')).join('\\n')";

#[test]
fn another_reference_chosen_by_a_click_shows_what_the_page_of_a_run_with_that_reference_shows() {
    let (mut run, mut cells) = rich();
    // A control is the reference's: with another reference there is another one.
    run.contenders.retain(|one| !one.control);
    cells.retain(|cell| cell.contender != "scylla#control");
    let Some((browser, folder)) = showing(&run, &cells) else { return };
    let before = browser.text(FIELDS);
    browser.click("button[data-reference='1']");
    let (clicked, said) = (browser.text(FIELDS), browser.text(HEADLINE));
    browser.click("button[data-reference='0']");
    assert_eq!(browser.text(FIELDS), before, "and back");
    run.plan.reference = Some("cdrs-tokio".to_owned());
    let page = folder.path().join("other.html");
    std::fs::write(&page, text("html", &run, &cells)).unwrap();
    browser.open(&page);
    assert_eq!(browser.text(FIELDS), clicked);
    assert_eq!(browser.text(HEADLINE), said);
    assert_ne!(before, clicked);
}

#[test]
fn the_data_are_saved_as_plain_files_without_a_network() {
    let (run, cells) = rich();
    let Some((browser, folder)) = showing(&run, &cells) else { return };
    let to = folder.path().join("saved");
    std::fs::create_dir(&to).unwrap();
    browser.devtools("Browser.setDownloadBehavior", json!({"behavior": "allow", "downloadPath": to}));
    browser.click("a[data-name='result.json']");
    let document = text("json", &run, &cells);
    browser.saved(&to.join("result.json"), &document);
    let read = Recorded::from_document(&document).unwrap();
    assert_eq!((read.run, read.cells), (run.clone(), cells.clone()));
    assert_eq!(browser.text(STATUS), "result.json is handed to the browser.");
    browser.click("a[data-name='cells.csv']");
    browser.saved(&to.join("cells.csv"), &text("csv", &run, &cells));
    assert_eq!(browser.errors(), Vec::<Value>::new());
    assert_eq!(browser.requests(), Vec::<String>::new());
}

#[test]
fn the_keyboard_reaches_all_that_can_be_used_and_shows_where_it_is() {
    let (run, cells) = rich();
    let Some((browser, _folder)) = showing(&run, &cells) else { return };
    browser.run("document.querySelector('.choices details').open = true");
    let all = "window.usable = Array.from(document.querySelectorAll('a[href], button, input:not([type=radio]:not(:checked)), summary, [tabindex=\"0\"]')).filter(
            one => one.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true}));
        window.reached = new Set(); window.unmarked = [];
        document.addEventListener('focusin', event => {
            window.reached.add(event.target);
            const style = getComputedStyle(event.target);
            if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) window.unmarked.push(event.target.outerHTML.slice(0, 200));
        });
        return window.usable.length";
    let usable = browser.run(all).as_u64().unwrap() as usize;
    assert!(usable > 60, "{usable}");
    browser.key('\u{e004}', usable + 5);
    let missed = "return window.usable.filter(one => !window.reached.has(one)).map(one => one.outerHTML.slice(0, 200))";
    assert_eq!(browser.run(missed), json!([]));
    assert_eq!(browser.run("return window.unmarked"), json!([]));
}

#[test]
fn on_paper_everything_is_open_and_nothing_can_be_pressed() {
    let (run, cells) = rich();
    let Some((browser, _folder)) = showing(&run, &cells) else { return };
    let closed = "return Array.from(document.querySelectorAll('details > :not(summary)')).filter(one =>
        !one.closest('.choices, [data-view][hidden], .off') && !one.checkVisibility()).length";
    assert_ne!(browser.run(closed), 0);
    browser.devtools("Emulation.setEmulatedMedia", json!({"media": "print"}));
    assert_eq!(browser.run(closed), 0);
    let controls = "return Array.from(document.querySelectorAll('.choices, input, .choices button')).filter(one =>
        one.checkVisibility()).length";
    assert_eq!(browser.run(controls), 0);
    let wide = "return Array.from(document.querySelectorAll('.scroll')).filter(one =>
        getComputedStyle(one).overflowX !== 'visible').length";
    assert_eq!(browser.run(wide), 0);
}

#[test]
fn hostile_texts_are_text_and_run_nothing() {
    let (run, cells) = hostile();
    let Some((browser, _folder)) = showing(&run, &cells) else { return };
    assert!(
        browser.text("return document.querySelector('tbody th').textContent").starts_with("</script><script>alert(1)")
    );
    browser.click("button[data-reference='1']");
    browser.click(".choices summary");
    browser.click("input[data-hides='c-1']");
    browser.click("table.main thead th.m-4 button");
    let live = "return [document.images.length, document.scripts.length, document.querySelectorAll('svg script, iframe, [onerror]').length]";
    assert_eq!(browser.run(live), json!([0, 2, 0]));
    assert!(browser.run("return document.title").as_str().unwrap().starts_with("</script><script>alert(1)"));
    assert_eq!(browser.errors(), Vec::<Value>::new());
    assert_eq!(browser.requests(), Vec::<String>::new());
}

#[test]
fn in_a_browser_a_run_s_name_opens_what_is_known_of_it_and_a_narrow_screen_is_not_exceeded() {
    let Some(browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let (run, cells) = sample::blocks(12);
    let one = Recorded { run, cells, notes: vec!["It has no end: it broke off.".to_owned()] };
    let names = ["runs/laptop", "cqldyno-runs/of-another-machine/2026-01-02T03-04-05Z"];
    let runs = names.map(|name| (name.to_owned(), &one));
    let html = exporter("html").unwrap().several(&runs, Look::default()).unwrap().unwrap();
    std::fs::write(&page, html).unwrap();
    browser.size(1280, 900);
    browser.open(&page);
    let is_shown = "return document.querySelector('#run-1').checkVisibility()";
    assert_eq!(browser.run(is_shown), false);
    browser.click("th a[href='#run-1']");
    browser.until(is_shown);
    assert_eq!(browser.run("return document.querySelector('#run-0').checkVisibility()"), false);
    browser.size(400, 900);
    browser.until("return document.documentElement.clientWidth <= 400");
    assert_eq!(browser.run("return document.documentElement.scrollWidth > 400"), false);
    assert_eq!(browser.errors(), Vec::<Value>::new());
    assert_eq!(browser.requests(), Vec::<String>::new());
    if let Some(pictures) = std::env::var_os("CQLDYNO_PAGE_PICTURES") {
        let pictures = Path::new(&pictures);
        browser.picture(&pictures.join("runs.png"), 1280, false);
        browser.picture(&pictures.join("runs-dark.png"), 1280, true);
        browser.picture(&pictures.join("runs-narrow.png"), 400, false);
    }
}
