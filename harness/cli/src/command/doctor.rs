//! `cqldyno doctor`: what this machine can measure.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use cqldyno_bench::{Cancel, Programs, drivers};
use cqldyno_meter::Environment;
use cqldyno_protocol::Hello;
use cqldyno_reports::{pair, plain};

use crate::outcome::Outcome;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  cqldyno doctor          what this machine can measure and what to change
  sudo cqldyno doctor     the same for root, who may usually count system calls

Exit codes: 0 done, whatever was found, 2 wrong usage.";

/// Says what this machine can measure and what to change: meters, cores, noise, the drivers' workers, limits.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {}

/// Where the second column begins.
const COLUMN: usize = 20;

pub fn run(_: &Arguments, out: &mut impl Write) -> Result<Outcome> {
    let mut page = Page { out, width: terminal::look().width };
    page.machine()?;
    page.meters()?;
    page.workers()?;
    Ok(Outcome::Done)
}

struct Page<'a, W> {
    out: &'a mut W,
    width: usize,
}

impl<W: Write> Page<'_, W> {
    fn title(&mut self, title: &str) -> Result<()> {
        Ok(writeln!(self.out, "\n{title}")?)
    }

    fn line(&mut self, name: &str, value: &str) -> Result<()> {
        Ok(writeln!(self.out, "{}", pair(&format!("  {name}"), &plain(value), COLUMN, self.width))?)
    }

    fn machine(&mut self) -> Result<()> {
        let machine = Environment::read();
        let unknown = || "unknown".to_owned();
        writeln!(self.out, "machine")?;
        self.line("processor", &machine.cpu.clone().unwrap_or_else(unknown))?;
        self.line("cores", &cores(&machine.cores))?;
        self.line("memory", &machine.memory_bytes.map_or_else(unknown, cqldyno_reports::memory))?;
        self.line("kernel", &machine.kernel.clone().unwrap_or_else(unknown))?;
        self.line("noise", &noise(&machine))?;
        self.line("open files", &open_files())
    }

    fn meters(&mut self) -> Result<()> {
        self.title("meters")?;
        for meter in cqldyno_meter::all() {
            let costs = meter.costs().map(|costs| format!("; costs {costs}")).unwrap_or_default();
            let needs = format!("needs {}{costs}", meter.needs());
            match meter.probe() {
                Ok(()) => self.line(meter.name(), &format!("available; {needs}"))?,
                Err(refusal) => {
                    self.line(meter.name(), &format!("not available: {}", refusal.sentence()))?;
                    self.line("", &refusal.remedy)?;
                    self.line("", &needs)?;
                }
            }
        }
        Ok(())
    }

    fn workers(&mut self) -> Result<()> {
        self.title("drivers")?;
        let programs = Programs::find().context("the program does not know where it lies")?;
        let mut native = None;
        for driver in drivers(&programs, &Cancel::new()) {
            match &driver.hello {
                Ok(hello) => {
                    let worker = driver.worker.as_deref().unwrap_or(Path::new("")).display().to_string();
                    self.line(&driver.name, &format!("available: {}, {worker}", hello.driver.label()))?;
                    native = native.or_else(|| native_library(hello));
                }
                Err(why) => self.line(&driver.name, &format!("not available: {why}"))?,
            }
        }
        match native {
            Some(found) => self.line(NATIVE_LIBRARY, &found),
            None => {
                self.line(NATIVE_LIBRARY, "not loaded by any driver here; `make build` provides it for cassandra-cpp")
            }
        }
    }
}

/// The shared library that cassandra-cpp runs on.
const NATIVE_LIBRARY: &str = "libcassandra";

fn native_library(hello: &Hello) -> Option<String> {
    let library = hello.driver.libraries.iter().find(|library| library.name.contains(NATIVE_LIBRARY))?;
    let origin = library.origin.as_deref().unwrap_or("its origin is unknown");
    let name = library.name.replace(NATIVE_LIBRARY, "");
    Some(format!("{} {}, {origin}", name.trim(), library.version))
}

fn cores(cores: &[usize]) -> String {
    match cores.len() {
        1 => "1; worker and server share it: no arrangement can be pinned, and every figure holds both".to_owned(),
        2 => "2; with the arrangement pinned+multi:1 worker and server have one each".to_owned(),
        n => format!("{n}; with a pinned arrangement the server has {} of them and the worker the others", n / 2),
    }
}

fn noise(machine: &Environment) -> String {
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|text| text.split(' ').next()).and_then(|text| text.parse::<f64>().ok());
    let mut parts = vec![match load {
        Some(load) if load > 0.3 => {
            format!("{load} processes wanted to run over the last minute: end them before you compare")
        }
        Some(load) => format!("quiet: {load} processes wanted to run over the last minute"),
        None => "unknown: /proc/loadavg cannot be read".to_owned(),
    }];
    if machine.virtual_machine {
        parts.push("a virtual machine: others on its host are not seen; trust CPU time more than wall time".to_owned());
    }
    match machine.governor.as_deref() {
        Some("performance") | None => {}
        Some(governor) => parts.push(format!("frequency governor {governor}: choose performance before you compare")),
    }
    parts.join("; ")
}

/// Open files that a process may have (proc(5), /proc/PID/limits).
fn open_files() -> String {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let soft = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .and_then(|line| line.split_whitespace().next())
        .and_then(|soft| soft.parse::<u64>().ok());
    match soft {
        Some(soft) if soft < 1_024 => format!("{soft}: too few for many connections; raise it with `ulimit -n 65536`"),
        Some(soft) => format!("{soft}, of which every connection takes one at each end"),
        None => "no limit is known".to_owned(),
    }
}
