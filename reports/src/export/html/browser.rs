//! The page in a real browser, by WebDriver (W3C Recommendation) through chromedriver.
//!
//! Without chromedriver nothing is tried, and the test says so; with `CQLDYNO_BROWSER=required` it then fails. With
//! `CQLDYNO_PAGE_PICTURES=DIR` it leaves pictures of the page in that folder.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::html;
use super::tests::{hostile, rich};

struct Browser {
    driver: Child,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// A browser of its own, or nothing where there is no chromedriver.
    fn start() -> Option<Browser> {
        let started = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut driver) = started else {
            assert_ne!(
                std::env::var("CQLDYNO_BROWSER").as_deref(),
                Ok("required"),
                "chromedriver was not found; install the packages chromium and chromium-driver"
            );
            eprintln!("The page was not tried in a browser, because chromedriver was not found.");
            return None;
        };
        let said = BufReader::new(driver.stdout.take().unwrap());
        let port = said.lines().map_while(Result::ok).find_map(|line| {
            line.split_once("successfully on port ").map(|(_, port)| port.trim_end_matches('.').to_owned())
        });
        let base = format!("http://127.0.0.1:{}/session", port.unwrap());
        let profile = tempfile::tempdir().unwrap();
        let folder = format!("--user-data-dir={}", profile.path().display());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--hide-scrollbars",
            &folder,
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let mut browser = Browser { driver, session: base.clone(), _profile: profile };
        let answer = browser.ask("", wanted);
        browser.session = format!("{base}/{}", answer["sessionId"].as_str().unwrap());
        Some(browser)
    }

    fn ask(&self, path: &str, body: Value) -> Value {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let mut answer = agent.post(format!("{}{path}", self.session)).send_json(body).unwrap();
        let answer: Value = answer.body_mut().with_config().limit(64 << 20).read_json().unwrap();
        assert!(answer["value"]["error"].is_null(), "{path}: {answer}");
        answer["value"].clone()
    }

    fn open(&self, page: &Path) {
        self.ask("/url", json!({"url": format!("file://{}", page.display())}));
    }

    /// What the script gives.
    fn run(&self, script: &str) -> Value {
        self.ask("/execute/sync", json!({"script": script, "args": []}))
    }

    fn text(&self, script: &str) -> String {
        self.run(script).as_str().unwrap_or_default().to_owned()
    }

    /// Clicks as a user does: the element must be there to be seen.
    fn click(&self, selector: &str) {
        let found = self.ask("/element", json!({"using": "css selector", "value": selector}));
        let id = found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
        self.ask(&format!("/element/{id}/click"), json!({}));
    }

    fn key(&self, key: &str) {
        let press = json!([{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]);
        self.ask("/actions", json!({"actions": [{"type": "key", "id": "keys", "actions": press}]}));
    }

    fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.ask("/goog/cdp/execute", json!({"cmd": command, "params": parameters}))
    }

    fn size(&self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics);
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        self.ask("/se/log", json!({"type": kind})).as_array().cloned().unwrap()
    }

    /// Errors in the console since the last call.
    fn errors(&self) -> Vec<Value> {
        self.log("browser").into_iter().filter(|line| line["level"] == "SEVERE" || line["level"] == "WARNING").collect()
    }

    /// What was asked of a network since the last call.
    fn requests(&self) -> Vec<String> {
        let sent = self.log("performance").into_iter().filter_map(|line| {
            let message: Value = serde_json::from_str(line["message"].as_str()?).ok()?;
            let message = &message["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            is_request.then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
        });
        // The browser's own first page is `chrome:`.
        sent.filter(|address| !["file:", "data:", "chrome:"].iter().any(|own| address.starts_with(own))).collect()
    }

    fn picture(&self, folder: &Path, name: &str, width: u32, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", features);
        self.size(width, 900);
        let height = self.run("return document.documentElement.scrollHeight").as_u64().unwrap() as u32;
        self.size(width, height.min(12_000));
        let taken = self.devtools("Page.captureScreenshot", json!({"format": "png"}));
        keep(folder, name, taken["data"].as_str().unwrap());
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser; chromedriver ends by itself only when it is told.
        let _ = ureq::delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn keep(folder: &Path, name: &str, base64: &str) {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
    std::fs::write(folder.join(name), bytes).unwrap();
}

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

#[test]
fn a_reader_chooses_the_reference_sorts_and_hides_without_a_network() {
    let Some(browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let (run, cells) = rich();
    std::fs::write(&page, html(&run, &cells).unwrap()).unwrap();
    browser.size(1280, 900);
    browser.open(&page);

    assert!(browser.text(HEADLINE).starts_with("cdrs-tokio needed 56 % more CPU time than scylla"));
    assert_eq!(browser.text("return document.querySelector('#o-0-0 .sub').textContent"), "reference");
    browser.click("button[data-reference='1']");
    assert!(
        browser.text(HEADLINE).starts_with("scylla needed 36 % less CPU time than cdrs-tokio"),
        "{}",
        browser.text(HEADLINE)
    );
    let shown = browser.text("return document.querySelector('#o-0-0 .sub').textContent");
    let (_, summary) = crate::against(&run, &cells, "cdrs-tokio");
    let row =
        summary.rows.iter().find(|row| row.contender == "scylla" && row.meter == crate::measure::CPU_PER_STATEMENT);
    let (ratio, [low, high]) = row.and_then(|row| row.ratio.zip(row.interval)).unwrap();
    assert_eq!(shown, format!("{ratio:.3} ({low:.3} to {high:.3}) faster"));
    assert_eq!(browser.text("return document.querySelector('.status').textContent"), "Compared with cdrs-tokio.");
    let pressed = "return document.querySelector('[data-reference=\"1\"]').getAttribute('aria-pressed')";
    assert_eq!(browser.text(pressed), "true");
    let pictures = "return Array.from(document.querySelectorAll('figure')).filter(one => one.checkVisibility())
        .map(one => one.textContent).join(' ')";
    let pictures = browser.text(pictures);
    assert!(pictures.contains("over that of cdrs-tokio") && !pictures.contains("over that of scylla"), "{pictures}");
    browser.click("button[data-reference='0']");

    let before = browser.text(NAMES);
    assert!(before.starts_with("scylla cdrs-tokio"), "{before}");
    let of_cost = "table.main thead th.m-4 button";
    browser.click(of_cost);
    browser.click(of_cost);
    assert!(browser.text(NAMES).starts_with("cdrs-tokio scylla"), "{}", browser.text(NAMES));
    let sorted = "return document.querySelector('table.main th.m-4').getAttribute('aria-sort')";
    assert_eq!(browser.text(sorted), "descending");
    browser.run("document.querySelector('table.main thead th.m-4 button').focus()");
    browser.key("\u{e007}");
    assert_eq!(browser.text(sorted), "ascending", "by the keyboard");

    browser.click(".choices summary");
    browser.click("input[data-hides='c-1']");
    let left = "return Array.from(document.querySelectorAll('.c-1')).filter(one => one.checkVisibility()).length";
    assert_eq!(browser.run(left), 0);
    browser.click("input[data-hides='c-1']");
    assert!(browser.run(left).as_u64().unwrap() > 10);
    let column = "return document.querySelector('table.main th.m-0').checkVisibility()";
    assert_eq!(browser.run(column), false);
    browser.click("input[data-hides='m-0']");
    assert_eq!(browser.run(column), true);
    browser.click("input[data-hides='m-0']");
    browser.click(".choices summary");

    let named = "return Array.from(document.querySelectorAll('button, a[href], input, [role=region], svg[role=img], section')).filter(
        one => !(one.textContent.trim() || one.ariaLabel || one.closest('label'))).length";
    assert_eq!(browser.run(named), 0, "all that can be used or is a picture has a name");
    for (width, least) in [(1280, 12.0), (400, 11.0)] {
        browser.size(width, 900);
        let found = browser.run(SMALLEST);
        assert!(found[0].as_f64().unwrap() >= least, "{width}: {found}");
        let over = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(browser.run(over), 0, "nothing is wider than {width}");
    }
    assert_eq!(browser.errors(), Vec::<Value>::new());
    assert_eq!(browser.requests(), Vec::<String>::new());

    if let Some(pictures) = std::env::var_os("CQLDYNO_PAGE_PICTURES") {
        let pictures = Path::new(&pictures);
        browser.picture(pictures, "light.png", 1280, false);
        browser.picture(pictures, "dark.png", 1280, true);
        browser.picture(pictures, "narrow.png", 400, false);
        keep(pictures, "print.pdf", browser.ask("/print", json!({})).as_str().unwrap());
    }

    let (run, cells) = hostile();
    std::fs::write(&page, html(&run, &cells).unwrap()).unwrap();
    browser.size(1280, 900);
    browser.open(&page);
    assert!(
        browser.text("return document.querySelector('tbody th').textContent").starts_with("</script><script>alert(1)")
    );
    browser.click("button[data-reference='1']");
    assert_eq!(browser.run("return document.images.length + document.scripts.length"), 2);
    assert_eq!(browser.errors(), Vec::<Value>::new());
    assert_eq!(browser.requests(), Vec::<String>::new());
}
