//! `cqldyno drivers`: who can be compared.

use anyhow::{Context, Result};
use cqldyno_bench::builder::{Builder, Family, Sources};
use cqldyno_bench::{
    BUILDER_KEYS, COMMON_KEYS, COMPARED, Cancel, DriverListing, KNOWN, Programs, common_keys, drivers,
};
use cqldyno_driver_api::{Capability, DriverInfo, Settings};
use cqldyno_protocol::Hello;
use cqldyno_reports::{pair, plain};

use crate::known::Known;
use crate::names::drivers;
use crate::outcome::Outcome;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  cqldyno drivers                all of them, with versions and options
  cqldyno drivers --all          and what each can, its caveats and its worker
  cqldyno drivers scylla         its options, and the releases that can be built
  cqldyno compare java           build one that is missing, and run it

CQLDYNO_WORKERS names folders with further workers, CQLDYNO_CACHE the folder of
those that are built on demand.
Exit codes: 0 done, even if a driver is missing, 2 wrong usage.";

/// List the drivers, or the options and releases of those you name
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Show the options and releases of these drivers
    #[arg(value_parser = Known(drivers::names), hide_possible_values = true)]
    name: Vec<String>,
    /// Show all that is known of every driver
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

/// Where the second column begins.
const COLUMN: usize = 16;
/// The same where the first one has options with their values.
const WIDE_COLUMN: usize = 38;

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let width = terminal::columns();
    let builder = Builder::find();
    let listed = drivers(&programs, &Cancel::new());
    let families =
        |name: &str| builder.as_ref().ok().and_then(|builder| builder.any_families(name).ok()).unwrap_or_default();
    let known = |name: &String| listed.iter().any(|driver| driver.name == *name) || !families(name).is_empty();
    if let Some(unknown) = arguments.name.iter().find(|name| !known(name)) {
        return Err(drivers::no_driver(unknown, &programs));
    }
    let of = |driver: &DriverListing| {
        let (families, releases) = (families(&driver.name), programs.releases(&driver.name));
        list(lines(driver, &families, &releases, arguments.all), COLUMN, width)
    };
    let text = match arguments.name.as_slice() {
        [] if !arguments.all => {
            let is_known = |driver: &&DriverListing| KNOWN.contains(&&*driver.name) || driver.hello.is_err();
            let (known, others): (Vec<&DriverListing>, Vec<&DriverListing>) = listed.iter().partition(is_known);
            let others: Vec<String> = others.into_iter().map(DriverListing::label).collect();
            let others =
                (!others.is_empty()).then(|| pair("Others here", &plain(&others.join(", ")), COLUMN, width) + "\n");
            let more = "`cqldyno drivers NAME` explains options; --all says what each driver can.\n";
            known.into_iter().map(of).chain(others).chain([more.to_owned()]).collect::<String>()
        }
        [] => listed.iter().map(of).collect::<Vec<_>>().join("\n"),
        names => names
            .iter()
            .map(|name| {
                let driver = listed.iter().find(|driver| driver.name == *name);
                let info = driver.and_then(|driver| Some(&driver.hello.as_ref().ok()?.driver));
                let label = driver.map_or_else(|| name.clone(), |driver| driver.label());
                let sources = builder.as_ref().ok().map(Builder::sources);
                let families = families(name);
                let families = sources.filter(|_| !families.is_empty()).map(|sources| releases(&families, sources));
                let by_cargo = builder.as_ref().is_ok_and(|builder| builder.families(name).is_ok());
                let text = list(described_in_full(label, info, families, by_cargo), WIDE_COLUMN, width);
                let why = builder.as_ref().err().map(|why| format!("No other release can be built: {why}.\n"));
                text + &why.unwrap_or_default()
            })
            .collect::<Vec<_>>()
            .join("\n"),
    };
    terminal::print(&text)?;
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

/// The driver's keys, and the releases that can be built; `None` if there is no adapter to build any from.
fn described_in_full(
    label: String,
    driver: Option<&DriverInfo>,
    releases: Option<Vec<(String, String)>>,
    by_cargo: bool,
) -> Vec<(String, String)> {
    let title = |text: &str| (String::new(), text.to_owned());
    let key = |name: &str, values: &str, default: &str, about: &str| {
        (format!("+{name}={values}"), format!("{about} [default: {default}]"))
    };
    let common = |(name, values, default, about): (&str, &str, &str, &str)| key(name, values, default, about);
    let mut lines = vec![title(&label), title("Options of its adapter")];
    match driver.map(|driver| driver.options.as_deref()) {
        Some(Some([])) => lines.push(("none".to_owned(), String::new())),
        Some(Some(all)) => lines.extend(all.iter().map(|one| key(&one.name, &one.values, &one.default, &one.about))),
        Some(None) => lines.push(("unknown".to_owned(), "Its worker does not list them.".to_owned())),
        None => lines.push(("unknown".to_owned(), "There is no worker here that could list them.".to_owned())),
    }
    lines.push(title("Options of the harness"));
    lines.extend(driver.map_or(COMMON_KEYS.to_vec(), |driver| common_keys(driver).collect()).into_iter().map(common));
    let Some(releases) = releases else { return lines };
    let is_ours = releases.is_empty();
    if by_cargo {
        lines.push(title("Options of the build"));
        lines.extend(BUILDER_KEYS.map(common));
    }
    if !is_ours {
        lines.push(title("Releases that are built on demand, such as NAME@1.2.3, NAME@1.2, NAME@newest"));
        lines.extend(releases);
    }
    if by_cargo && !is_ours {
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

/// The label without a name, then names and values: `all` that is known, or what fits a screen with all drivers.
fn lines(driver: &DriverListing, families: &[Family], releases: &[String], all: bool) -> Vec<(String, String)> {
    let mut lines = vec![("", driver.label())];
    match &driver.hello {
        Ok(hello) if all => lines.extend(described(hello)),
        Ok(hello) => lines.extend(options(hello)),
        // It is built when it is asked for.
        Err(_) if !all && driver.on_demand => {}
        Err(why) => lines.push(("not available", why.clone())),
    }
    let ours: Vec<&Family> = families.iter().filter(|family| family.library.is_some()).collect();
    let tested = || ours.iter().flat_map(|family| &family.tested);
    let is_left_out = KNOWN.contains(&&*driver.name) && !COMPARED.contains(&&*driver.name);
    let here = (!releases.is_empty()).then(|| releases.join(", "));
    if all {
        let spoken: Vec<&str> = ours.iter().map(|family| family.versions.as_str()).collect();
        lines.extend((!spoken.is_empty()).then(|| ("can be built", spoken.join(" or "))));
        lines.extend(here.map(|here| ("other releases here", here)));
    } else {
        let range = tested().min().zip(tested().max());
        let named = if is_left_out { ", and compared only if named" } else { "" };
        lines.extend(range.map(|(first, last)| ("releases", format!("{first} to {last}, built on demand{named}"))));
        lines.extend(here.map(|here| ("releases", format!("{here} here"))));
    }
    lines.extend((is_left_out && all).then(|| ("compared", "only if it is named".to_owned())));
    lines.extend(driver.worker.iter().filter(|_| all).map(|worker| ("worker", worker.display().to_string())));
    lines.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn options(hello: &Hello) -> Option<(&'static str, String)> {
    let options: Vec<&str> = hello.driver.options.iter().flatten().map(|option| &*option.name).collect();
    (!options.is_empty()).then(|| ("options", options.join(", ")))
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
    let lacks: Vec<&str> = driver.lacks_types.iter().map(|name| &**name).collect();
    lines.extend((!lacks.is_empty()).then(|| ("cannot", format!("bind or decode {}", lacks.join(", ")))));
    lines.extend(options(hello));
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
        Capability::ClosesSessions => "close the connections of a closed session",
        Capability::Credentials => "log in",
        Capability::Tls => "encrypt with TLS",
        Capability::Offline => "run without a cluster",
        Capability::Batch => "send batches",
        Capability::Unprepared => "send values unprepared",
        Capability::Prepare => "prepare again and again",
        Capability::Connect => "connect again and again",
    }
}
