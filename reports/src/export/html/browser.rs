//! A real browser, by WebDriver (W3C Recommendation) through chromedriver.
//!
//! Without chromedriver nothing is tried, and the test says so; with `CQLDYNO_BROWSER=required` it then fails. With
//! `CQLDYNO_PAGE_PICTURES=DIR` it leaves pictures of the page in that folder.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long is waited for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often chromedriver is started: it looks for a free port for IPv4 and takes the same for IPv6, and ends where another of those
/// that start at once has it.
const STARTS: usize = 20;

pub struct Browser {
    driver: Child,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// A browser of its own, or nothing where there is no chromedriver.
    pub fn start() -> Option<Browser> {
        let mut started = start_driver()?;
        for _ in 1..STARTS {
            match started {
                Some(_) => break,
                None => started = start_driver()?,
            }
        }
        let (driver, port) = started.expect("chromedriver ended before it had a port");
        let base = format!("http://127.0.0.1:{port}/session");
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

    pub fn ask(&self, path: &str, body: Value) -> Value {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let mut answer = agent.post(format!("{}{path}", self.session)).send_json(body).unwrap();
        let answer: Value = answer.body_mut().with_config().limit(64 << 20).read_json().unwrap();
        assert!(answer["value"]["error"].is_null(), "{path}: {answer}");
        answer["value"].clone()
    }

    pub fn open(&self, page: &Path) {
        self.ask("/url", json!({"url": format!("file://{}", page.display())}));
    }

    /// What the script gives.
    pub fn run(&self, script: &str) -> Value {
        self.ask("/execute/sync", json!({"script": script, "args": []}))
    }

    /// Waits until the script gives true.
    pub fn until(&self, script: &str) {
        let end = Instant::now() + PATIENCE;
        while self.run(script) != true {
            assert!(Instant::now() < end, "{script}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for a whole file of that name.
    pub fn saved(&self, file: &Path) -> String {
        let end = Instant::now() + PATIENCE;
        // Chromium saves under another name and renames at the end.
        while !file.exists() {
            assert!(Instant::now() < end, "{} was not saved", file.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        std::fs::read_to_string(file).unwrap()
    }

    pub fn text(&self, script: &str) -> String {
        self.run(script).as_str().unwrap_or_default().to_owned()
    }

    /// Clicks as a user does: the element must be there to be seen.
    pub fn click(&self, selector: &str) {
        let found = self.ask("/element", json!({"using": "css selector", "value": selector}));
        let id = found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
        self.ask(&format!("/element/{id}/click"), json!({}));
    }

    /// Presses a key so many times.
    pub fn key(&self, key: &str, times: usize) {
        let press = [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})];
        let press: Vec<Value> = press.iter().cycle().take(2 * times).cloned().collect();
        self.ask("/actions", json!({"actions": [{"type": "key", "id": "keys", "actions": press}]}));
    }

    pub fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.ask("/goog/cdp/execute", json!({"cmd": command, "params": parameters}))
    }

    pub fn size(&self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics);
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        self.ask("/se/log", json!({"type": kind})).as_array().cloned().unwrap()
    }

    /// Errors in the console since the last call.
    pub fn errors(&self) -> Vec<Value> {
        self.log("browser").into_iter().filter(|line| line["level"] == "SEVERE" || line["level"] == "WARNING").collect()
    }

    /// What was asked of a network since the last call.
    pub fn requests(&self) -> Vec<String> {
        let sent = self.log("performance").into_iter().filter_map(|line| {
            let message: Value = serde_json::from_str(line["message"].as_str()?).ok()?;
            let message = &message["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            is_request.then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
        });
        // The browser's own first page is `chrome:`.
        sent.filter(|address| !["file:", "data:", "chrome:"].iter().any(|own| address.starts_with(own))).collect()
    }

    pub fn picture(&self, folder: &Path, name: &str, width: u32, dark: bool) {
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

pub fn keep(folder: &Path, name: &str, base64: &str) {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
    std::fs::write(folder.join(name), bytes).unwrap();
}

/// chromedriver and its port, if it has one; nothing where it is absent.
fn start_driver() -> Option<Option<(Child, String)>> {
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
    if port.is_none() {
        let _ = driver.kill();
        let _ = driver.wait();
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(port.map(|port| (driver, port)))
}
