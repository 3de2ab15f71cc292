//! `cqldyno drivers`: who can be compared.

use anyhow::{Context, Result};
use cqldyno_bench::{Cancel, DriverListing, KNOWN, Programs, drivers};
use cqldyno_driver_api::{Capability, Settings};
use cqldyno_protocol::Hello;
use cqldyno_reports::{pair, plain};

use crate::outcome::Outcome;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  cqldyno drivers                what there is, with versions
  make build                     build those that are missing

Exit codes: 0 done, whatever is missing, 2 wrong usage.";

/// List the drivers, and say why one is missing
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {}

/// Where the second column begins.
const COLUMN: usize = 16;

/// The drivers of this project, for completion.
pub fn names() -> Vec<String> {
    KNOWN.iter().map(|name| (*name).to_owned()).collect()
}

pub fn run() -> Result<Outcome> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let width = terminal::columns();
    let line = |(name, value): (&str, String)| match name {
        "" => format!("{}\n", plain(&value)),
        name => format!("{}\n", pair(&format!("  {name}"), &plain(&value), COLUMN, width)),
    };
    let listed = drivers(&programs, &Cancel::new());
    let listed: Vec<String> = listed.iter().map(|driver| lines(driver).into_iter().map(line).collect()).collect();
    terminal::print(&listed.join("\n"))?;
    Ok(Outcome::Done)
}

/// The label without a name, then names and values.
fn lines(driver: &DriverListing) -> Vec<(&'static str, String)> {
    let worker = driver.worker.as_ref().map(|worker| ("worker", worker.display().to_string()));
    match &driver.hello {
        Ok(hello) => std::iter::once(("", hello.driver.label())).chain(described(hello)).chain(worker).collect(),
        Err(why) => [("", driver.name.clone()), ("not available", why.clone())].into_iter().chain(worker).collect(),
    }
}

fn described(hello: &Hello) -> Vec<(&'static str, String)> {
    let driver = &hello.driver;
    let libraries: Vec<String> = driver
        .libraries
        .iter()
        .map(|library| match &library.origin {
            Some(origin) => format!("{} {} ({origin})", library.name, library.version),
            None => format!("{} {}", library.name, library.version),
        })
        .collect();
    let can: Vec<&str> = driver.capabilities.iter().copied().map(words).collect();
    let mut lines = vec![("runs on", libraries.join(", ")), ("can", can.join(", "))];
    lines.extend(driver.caveats.iter().map(|caveat| ("caveat", caveat.clone())));
    for (settings, most) in &driver.most_in_flight {
        let settings = match settings {
            Settings::Equal => "equal",
            Settings::Default => "default",
        };
        lines.push(("in flight", format!("at most {most} statements with --settings {settings}")));
    }
    let refused = hello.settings.iter().filter(|setting| !setting.as_asked);
    lines.extend(refused.map(|setting| ("not as asked", format!("{}: {}", setting.name, setting.value))));
    lines.push(("built by", format!("{}, {}", hello.build.compiler, hello.build.profile)));
    lines
}

fn words(capability: Capability) -> &'static str {
    match capability {
        Capability::RequestTimeout => "limit the time per statement",
        Capability::Paging => "read page by page",
        Capability::Reprepare => "prepare again if the server forgot",
        Capability::Reconnect => "reconnect",
        Capability::ControlConnection => "survive a broken control connection",
        Capability::Credentials => "log in",
        Capability::Offline => "run without a cluster",
        Capability::Batch => "send batches",
        Capability::Unprepared => "send values unprepared",
        Capability::Prepare => "prepare again and again",
        Capability::Connect => "connect again and again",
    }
}
