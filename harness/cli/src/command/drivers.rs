//! `cqldyno drivers`: who can be compared.

use anyhow::{Context, Result};
use cqldyno_bench::builder::{Builder, Family, Sources};
use cqldyno_bench::{COMMON_KEYS, COMPARED, Cancel, DriverListing, KNOWN, Programs, drivers};
use cqldyno_driver_api::{Capability, DriverOption, Settings};
use cqldyno_protocol::Hello;
use cqldyno_reports::{pair, plain};
use cqldyno_scenarios::suggestion;

use crate::known::Known;
use crate::outcome::{Outcome, usage};
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  cqldyno drivers                all of them, with versions
  cqldyno drivers scylla         its options, and the releases that can be built
  make build                     build those that are missing

Exit codes: 0 done, even if a driver is missing, 2 wrong usage.";

/// List the drivers, or the options and releases of those you name
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Show the options and releases of these drivers
    #[arg(value_parser = Known(names), hide_possible_values = true)]
    name: Vec<String>,
}

/// Where the second column begins.
const COLUMN: usize = 16;
/// The same where the first one has options with their values.
const WIDE_COLUMN: usize = 38;

/// The drivers of this project, for completion.
pub fn names() -> Vec<String> {
    KNOWN.iter().map(|name| (*name).to_owned()).collect()
}

/// Those that a comparison without names has.
pub fn compared() -> Vec<String> {
    COMPARED.iter().map(|name| (*name).to_owned()).collect()
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let width = terminal::columns();
    let builder = Builder::find(&programs.cqldyno);
    let listed = drivers(&programs, &Cancel::new());
    let families =
        |name: &str| builder.as_ref().ok().and_then(|builder| builder.families(name).ok()).unwrap_or_default();
    let known = |name: &String| listed.iter().any(|driver| driver.name == *name) || !families(name).is_empty();
    if let Some(unknown) = arguments.name.iter().find(|name| !known(name)) {
        let names: Vec<&str> = listed.iter().map(|driver| driver.name.as_str()).collect();
        return Err(usage(format!(
            "there is no driver {unknown:?}: there are {}.{}",
            names.join(", "),
            suggestion(unknown, names.iter().copied())
        )));
    }
    let texts: Vec<String> = match arguments.name.as_slice() {
        [] => listed
            .iter()
            .map(|driver| {
                let releases = programs.releases(&driver.name);
                list(lines(driver, &families(&driver.name), &releases), COLUMN, width)
            })
            .collect(),
        names => names
            .iter()
            .map(|name| {
                let driver = listed.iter().find(|driver| driver.name == *name);
                let options = driver.and_then(|driver| driver.hello.as_ref().ok()?.driver.options.as_deref());
                let label = driver.map_or_else(|| name.clone(), |driver| driver.label());
                let sources = builder.as_ref().map(Builder::sources);
                let families = sources.map(|sources| releases(&families(name), sources)).unwrap_or_default();
                let text = list(described_in_full(label, options.unwrap_or_default(), families), WIDE_COLUMN, width);
                let why = builder.as_ref().err().map(|why| format!("No other release can be built: {why}.\n"));
                text + &why.unwrap_or_default()
            })
            .collect(),
    };
    terminal::print(&texts.join("\n"))?;
    Ok(Outcome::Done)
}

/// Lines without a name are titles.
fn list(lines: Vec<(String, String)>, column: usize, width: usize) -> String {
    let line = |(name, value): (String, String)| match name.as_str() {
        "" => format!("{}\n", plain(&value)),
        name => format!("{}\n", pair(&format!("  {name}"), &plain(&value), column, width)),
    };
    lines.into_iter().map(line).collect()
}

/// Options, releases, and the keys that every driver takes.
fn described_in_full(
    label: String,
    options: &[DriverOption],
    releases: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let title = |text: &str| (String::new(), text.to_owned());
    let key = |name: &str, values: &str, default: &str, about: &str| {
        (format!("+{name}={values}"), format!("{about} [default: {default}]"))
    };
    let mut lines = vec![title(&label), title("Options of its adapter")];
    lines.extend(options.iter().map(|one| key(&one.name, &one.values, &one.default, &one.about)));
    if options.is_empty() {
        lines.push(("none".to_owned(), String::new()));
    }
    lines.push(title("Options of every driver"));
    lines.extend(COMMON_KEYS.map(|(name, values, default, about)| key(name, values, default, about)));
    if !releases.is_empty() {
        lines.push(title("Releases that are built on demand, such as NAME@1.2.3, NAME@1.2, NAME@newest"));
        lines.extend(releases);
        lines.push(("@path:DIR".to_owned(), "A folder with the driver's sources.".to_owned()));
        lines.push(("@git:URL#REV".to_owned(), "A commit, tag or branch.".to_owned()));
    }
    lines
}

/// The releases that each adapter speaks.
fn releases(families: &[Family], sources: &Sources) -> Vec<(String, String)> {
    let ours = families.iter().filter(|family| family.library.is_some());
    let tested = |family: &Family| {
        let tested: Vec<String> = family.tested.iter().map(ToString::to_string).collect();
        format!("{} (adapter {}; tested: {})", family.versions, family.name(sources), tested.join(", "))
    };
    ours.map(|family| {
        (format!("@{}", family.tested.last().map(ToString::to_string).unwrap_or_default()), tested(family))
    })
    .collect()
}

/// The label without a name, then names and values.
fn lines(driver: &DriverListing, families: &[Family], releases: &[String]) -> Vec<(String, String)> {
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    let worker = driver.worker.as_ref().map(|worker| ("worker", worker.display().to_string()));
    let spoken: Vec<&str> =
        families.iter().filter(|one| one.library.is_some()).map(|family| family.versions.as_str()).collect();
    let spoken = (!spoken.is_empty()).then(|| ("can be built", spoken.join(" and ")));
    let of = match &driver.hello {
        Ok(hello) => described(hello),
        Err(why) => vec![("not available", why.clone())],
    };
    let built = (!releases.is_empty()).then(|| ("other releases here", releases.join(", ")));
    let named = (KNOWN.contains(&&*driver.name) && !COMPARED.contains(&&*driver.name))
        .then(|| ("compared", "only if it is named".to_owned()));
    let title = ("", driver.label());
    std::iter::once(title).chain(of).chain(spoken).chain(built).chain(named).chain(worker).map(owned).collect()
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
    let options: Vec<&str> = driver.options.iter().flatten().map(|option| &*option.name).collect();
    let mut lines = vec![("runs on", libraries.join(", ")), ("can", can.join(", "))];
    let lacks: Vec<&str> = driver.lacks_types.iter().map(|name| &**name).collect();
    lines.extend((!lacks.is_empty()).then(|| ("cannot", format!("bind or decode {}", lacks.join(", ")))));
    lines.extend((!options.is_empty()).then(|| ("options", options.join(", "))));
    lines.extend(driver.caveats.iter().map(|caveat| ("caveat", caveat.clone())));
    for (settings, most) in &driver.most_in_flight {
        let settings = match settings {
            Settings::Equal => "equal",
            Settings::Default => "default",
        };
        lines.push(("in flight", format!("at most {most} statements with --settings {settings}")));
    }
    if let Some(most) = driver.in_flight_per_connection {
        lines.push(("in flight", format!("at most {most} per connection: it has its own concurrency and no verdict")));
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
        Capability::NoticesClose => "notice that the server closed a connection",
        Capability::Credentials => "log in",
        Capability::Tls => "encrypt with TLS",
        Capability::Offline => "run without a cluster",
        Capability::Batch => "send batches",
        Capability::Unprepared => "send values unprepared",
        Capability::Prepare => "prepare again and again",
        Capability::Connect => "connect again and again",
    }
}
