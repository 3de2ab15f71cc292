//! A real browser through chromedriver.
//!
//! Without chromedriver nothing is tried, and the test says so; with `CQLDYNO_BROWSER=required` it then fails. With
//! `CQLDYNO_PAGE_PICTURES=DIR` it leaves pictures of the page in that folder.

use std::fs;
use std::future::Future;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::error::CmdError;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use url::{ParseError, Url};

const PATIENCE: Duration = Duration::from_secs(60);

/// How often chromedriver is started: it ends if the free port that it found for IPv4 is taken for IPv6.
const STARTS: usize = 20;

pub struct Browser {
    runtime: Runtime,
    client: Client,
    driver: Child,
    _profile: tempfile::TempDir,
}

/// A command that only chromedriver has.
#[derive(Debug)]
struct Own {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Own {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}

impl Browser {
    /// A browser of its own; `None` without chromedriver.
    pub fn start() -> Option<Browser> {
        let mut started = start_driver()?;
        for _ in 1..STARTS {
            started = started.map_or_else(start_driver, |done| Some(Some(done)))?;
        }
        let (driver, port) = started.expect("chromedriver ended before it had a port");
        let profile = tempfile::tempdir().unwrap();
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--hide-scrollbars",
            &format!("--user-data-dir={}", profile.path().display()),
        ];
        let wanted = json!({
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        });
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            builder.capabilities(wanted.as_object().cloned().unwrap());
            builder.connect(&format!("http://127.0.0.1:{port}")).await.unwrap()
        });
        Some(Browser { runtime, client, driver, _profile: profile })
    }

    fn done<T>(&self, work: impl Future<Output = Result<T, CmdError>>) -> T {
        self.runtime.block_on(work).unwrap()
    }

    pub fn open(&self, page: &Path) {
        self.done(self.client.goto(&format!("file://{}", page.display())));
    }

    /// What the script returns.
    pub fn run(&self, script: &str) -> Value {
        self.done(self.client.execute(script, Vec::new()))
    }

    /// Waits until the script returns true.
    pub fn until(&self, script: &str) {
        let end = Instant::now() + PATIENCE;
        while self.run(script) != true {
            assert!(Instant::now() < end, "{script}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the file has the text: Chromium may write it in pieces, under another name or this one.
    pub fn saved(&self, file: &Path, text: &str) {
        let end = Instant::now() + PATIENCE;
        while fs::read_to_string(file).ok().as_deref() != Some(text) {
            let bytes = file.metadata().map(|one| one.len());
            assert!(Instant::now() < end, "{}: {bytes:?} bytes, {} wanted", file.display(), text.len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn text(&self, script: &str) -> String {
        self.run(script).as_str().unwrap_or_default().to_owned()
    }

    /// Clicks as a user does: the element must be visible.
    pub fn click(&self, selector: &str) {
        self.done(async { self.client.find(Locator::Css(selector)).await?.click().await });
    }

    /// Presses a key so many times.
    pub fn key(&self, value: char, times: usize) {
        let press = [KeyAction::Down { value }, KeyAction::Up { value }];
        let presses = press.iter().cycle().take(2 * times).cloned();
        let all = presses.fold(KeyActions::new("keys".to_owned()), InputSource::then);
        self.done(self.client.perform_actions(all));
    }

    pub fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.own("goog/cdp/execute", json!({"cmd": command, "params": parameters}))
    }

    fn own(&self, path: &'static str, body: Value) -> Value {
        self.done(self.client.issue_cmd(Own { path, body }))
    }

    pub fn size(&self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics);
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        self.own("se/log", json!({"type": kind})).as_array().cloned().unwrap()
    }

    /// Errors in the console since the last call.
    pub fn errors(&self) -> Vec<Value> {
        self.log("browser").into_iter().filter(|line| line["level"] == "SEVERE" || line["level"] == "WARNING").collect()
    }

    /// Network requests since the last call.
    pub fn requests(&self) -> Vec<String> {
        let sent = self.log("performance").into_iter().filter_map(|line| {
            let message: Value = serde_json::from_str(line["message"].as_str()?).ok()?;
            let message = &message["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            is_request.then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
        });
        // The browser's own first page is `chrome:`; what a page saves is `blob:`.
        sent.filter(|address| !["file:", "data:", "blob:", "chrome:"].iter().any(|own| address.starts_with(own)))
            .collect()
    }

    pub fn picture(&self, file: &Path, width: u32, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", features);
        self.size(width, 900);
        let height = self.run("return document.documentElement.scrollHeight").as_u64().unwrap() as u32;
        self.size(width, height.min(12_000));
        fs::write(file, self.done(self.client.screenshot())).unwrap();
    }

    pub fn print(&self, file: &Path) {
        fs::write(file, self.done(self.client.print(Default::default()))).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser, which outlives chromedriver otherwise.
        let _ = self.runtime.block_on(self.client.clone().close());
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// chromedriver and its port; nothing inside if it ended at once, nothing at all if it is absent.
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
