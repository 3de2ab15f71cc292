//! `cqldyno doctor`: what this machine can measure.

use std::path::Path;

use anyhow::{Context, Result};
use cqldyno_bench::builder::Builder;
use cqldyno_bench::{Cancel, Programs, Topology, drivers};
use cqldyno_meter::{Environment, crowding, in_words};
use cqldyno_protocol::Hello;
use cqldyno_reports::{Part, count, memory};

use crate::outcome::Outcome;
use crate::terminal::{self, named};

const EXAMPLES: &str = "\
Examples:
  cqldyno doctor          what is missing on this machine, and what to change
  cqldyno doctor --all    machine, meters and drivers, too
  sudo cqldyno doctor     the same for root, who may usually count system calls

Exit codes: 0 done, whatever was found, 2 wrong usage.";

/// Show what this machine cannot measure, and what to change
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Show what is in order, too: machine, meters, drivers
    #[arg(long)]
    all: bool,
}

/// Something that was looked at.
struct Finding {
    name: String,
    /// What was found, then what to do about it.
    says: Vec<String>,
    /// Only shown with `--all`.
    further: Option<String>,
    is_missing: bool,
}

impl Finding {
    fn new(name: &str, is_missing: bool, says: impl Into<String>) -> Finding {
        Finding { name: name.to_owned(), says: vec![says.into()], further: None, is_missing }
    }
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let rooms = [("machine", machine()), ("meters", meters()), ("drivers", workers()?)];
    let section = |title: &str, findings: &[&Finding]| {
        let lines = |finding: &&Finding| {
            let further = finding.further.iter().filter(|_| arguments.all);
            named(&finding.name, finding.says.iter().chain(further).cloned())
        };
        [Part::Title(title.to_owned()), Part::Pairs(findings.iter().flat_map(lines).collect())]
    };
    let (missing, fine): (Vec<&Finding>, Vec<&Finding>) =
        rooms.iter().flat_map(|(_, findings)| findings).partition(|finding| finding.is_missing);
    let mut parts = match missing.is_empty() {
        true => vec![Part::Text("Nothing is missing.".to_owned())],
        false => section("Missing, or to change", &missing).into(),
    };
    if arguments.all {
        for (title, findings) in &rooms {
            let fine: Vec<&Finding> = findings.iter().filter(|finding| !finding.is_missing).collect();
            parts.extend(section(title, &fine));
        }
    } else {
        let others = count(fine.len() as u64, "other check");
        parts.push(Part::Text(format!("{others} are in order; `cqldyno doctor --all` shows them.")));
    }
    terminal::print_parts(&parts)?;
    Ok(Outcome::Done)
}

fn machine() -> Vec<Finding> {
    let machine = Environment::read();
    let known = |name: &str, value: Option<String>| Finding::new(name, false, value.unwrap_or("unknown".to_owned()));
    let mut all = vec![
        known("processor", machine.cpu.clone()),
        cores(&machine),
        known("memory", machine.memory_bytes.map(memory)),
        known("kernel", machine.kernel.clone()),
        noise(machine.virtual_machine),
        open_files(),
    ];
    all.extend(machine.facts().map(|(name, fact)| match fact {
        Ok(governor) if name == "governor" && governor != "performance" => {
            Finding::new(name, true, format!("{governor}: choose performance before you compare"))
        }
        fact => Finding::new(name, false, in_words(fact)),
    }));
    all
}

fn meters() -> Vec<Finding> {
    let finding = |meter: &cqldyno_meter::Meter| {
        let costs = meter.costs.map(|costs| format!("; costs {costs}")).unwrap_or_default();
        let needs = format!("needs {}{costs}", meter.needs);
        match meter.probe() {
            Ok(()) => Finding::new(meter.name, false, format!("available; {needs}")),
            Err(refusal) => {
                let mut found = Finding::new(meter.name, true, format!("not available: {}", refusal.sentence()));
                found.says.push(refusal.remedy);
                Finding { further: Some(needs), ..found }
            }
        }
    };
    cqldyno_meter::ALL.iter().map(finding).collect()
}

fn workers() -> Result<Vec<Finding>> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let mut native = None;
    let mut all = Vec::new();
    for driver in drivers(&programs, &Cancel::new()) {
        all.push(match &driver.hello {
            Ok(hello) => {
                native = native.or_else(|| native_library(hello));
                let worker = driver.worker.as_deref().unwrap_or(Path::new("")).display();
                Finding::new(&driver.name, false, format!("available: {}, {worker}", hello.driver.label()))
            }
            Err(_) if driver.on_demand => {
                Finding::new(&driver.name, false, format!("not built yet: `cqldyno compare {}` builds it", driver.name))
            }
            Err(why) => Finding::new(&driver.name, true, format!("not available: {why}")),
        });
    }
    all.push(match native {
        Some(found) => Finding::new(NATIVE_LIBRARY, false, found),
        None => Finding::new(NATIVE_LIBRARY, false, "no driver here loads it; a build of cassandra-cpp provides it"),
    });
    all.push(match Builder::find() {
        Ok(builder) => {
            let (from, to) = (builder.sources().folder().display(), builder.cache().display());
            Finding::new("other releases", false, format!("can be built, with adapters from {from}, into {to}"))
        }
        Err(why) => Finding::new("other releases", true, format!("cannot be built: {why}")),
    });
    Ok(all)
}

/// The shared library that cassandra-cpp runs on.
const NATIVE_LIBRARY: &str = "libcassandra";

fn native_library(hello: &Hello) -> Option<String> {
    let library = hello.driver.libraries.iter().find(|library| library.name.contains(NATIVE_LIBRARY))?;
    let origin = library.origin.as_deref().unwrap_or("its origin is unknown");
    let name = library.name.replace(NATIVE_LIBRARY, "");
    Some(format!("{} {}, {origin}", name.trim(), library.version))
}

/// How many there are, and whether each is a core of its own.
fn cores(machine: &Environment) -> Finding {
    let (cores, crowding) = (&machine.cores, crowding(&machine.cores));
    let says = match cores.len() {
        1 => "1; worker and server share it, so no arrangement can be pinned".to_owned(),
        2 => "2; with the arrangement pinned+multi:1 worker and server have one each".to_owned(),
        n => format!("{n}; with a pinned arrangement the server has {} of them and the worker the others", n / 2),
    };
    let virtual_crowding = crowding.as_ref().ok().copied().filter(|_| machine.virtual_machine);
    let one_core = Topology::read(cores).one_core(cores, virtual_crowding);
    let loops = crowding.map(|times| format!("{times:.2} times the time of one core alone"));
    let mut found = Finding::new("cores", cores.len() == 1 || one_core.is_some(), says);
    found
        .says
        .extend(one_core.map(|why| format!("{why} Choose a machine with whole cores, or leave half of them out.")));
    Finding { further: Some(format!("a loop on all of them at once takes {}", in_words(&loops))), ..found }
}

fn noise(virtual_machine: bool) -> Finding {
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|text| text.split(' ').next()).and_then(|text| text.parse::<f64>().ok());
    let (is_noisy, mut says) = match load {
        Some(load) if load > 0.3 => {
            (true, format!("{load} processes ran on average over the last minute: end them before you compare"))
        }
        Some(load) => (false, format!("quiet: {load} processes ran on average over the last minute")),
        None => (true, "unknown: /proc/loadavg cannot be read".to_owned()),
    };
    if virtual_machine {
        says +=
            "; a virtual machine: trust CPU time more than wall time, because other guests of its host are not seen";
    }
    Finding::new("noise", is_noisy, says)
}

/// Open files that a process may ask for (proc(5), /proc/PID/limits): a run takes as many as it may.
fn open_files() -> Finding {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let hard =
        limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().nth(1)?.parse().ok());
    let (is_low, says) = match hard {
        Some(hard @ ..1_024u64) => {
            (true, format!("{hard}: too few for many connections; raise it with `ulimit -Hn 65536`"))
        }
        Some(hard) => (false, format!("{hard}; every connection takes one at each end")),
        None => (false, "no limit is known".to_owned()),
    };
    Finding::new("open files", is_low, says)
}
