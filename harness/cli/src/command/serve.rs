//! `cqldyno serve`: the embedded cluster on its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use cqldyno_bench::{AskedDelay, open_files};
use cqldyno_cluster::{Answers, NodeOptions, ServeOptions, Topology, serve};
use cqldyno_meter::available_memory;
use cqldyno_reports::{memory, whole};
use cqldyno_script::Step;
use tempfile::{Builder, TempPath};

use crate::count::{count, count_or_none, delay, pause};
use crate::heading::SETUP;
use crate::login::Login;
use crate::nodes::Nodes;
use crate::outcome::{Outcome, text_of, usage};

const EXAMPLES: &str = "\
Examples:
  cqldyno serve                                     a node on 127.0.0.1:9042
  cqldyno serve --port 0                            on a free port
  cqldyno serve --nodes 3,tokens=16                 on 127.0.0.1 to 127.0.0.3
  CQLDYNO_PASSWORD=secret cqldyno serve --user ada  with a password
  cqldyno serve --tls ca.pem                        with TLS; clients take ca.pem
  cqldyno serve --script bad-day.toml               closes, delays, forgets as it says
  cqldyno compare --target 127.0.0.1:9042           from another terminal

Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 it cannot serve, 2 wrong usage.";

/// Serve CQL from memory until Ctrl-C, for any client
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// IPv4 loopback address to listen on, or a name for one
    #[arg(long, value_name = "ADDRESS", value_parser = loopback, default_value = "127.0.0.1")]
    address: Ipv4Addr,
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", value_parser = port, default_value = "9042")]
    port: u16,
    #[command(flatten)]
    nodes: Nodes,
    /// Shards of each node, with ScyllaDB's sharding extension [default: without it]
    #[arg(long, value_name = "N", value_parser = count, help_heading = SETUP)]
    shards: Option<u64>,
    #[command(flatten, next_help_heading = SETUP)]
    login: Login,
    /// Encrypt with TLS, and write the certificate of the CA to FILE [default: a temporary file]
    ///
    /// CA and certificate are made anew at each start, for the nodes' addresses. Clients take FILE: `compare --target ADDRESS
    /// --tls ca=FILE`.
    #[arg(long, value_name = "FILE", num_args = 0..=1, help_heading = SETUP)]
    tls: Option<Option<PathBuf>>,
    /// Delay each answer by this long, such as 100us or 0.5ms±20%
    ///
    /// As a server at that distance would. With ±20%, or +-20%, each write is late by a time between 80% and 120% of it, evenly drawn.
    #[arg(long, value_name = "TIME[±N%]", value_parser = delay, default_value = "0")]
    delay: AskedDelay,
    /// Sleep this long after a read of fewer than 16 requests
    ///
    /// Idle threads that sleep are slow with few statements in flight, and fast with many. `compare --concurrency 1,2,4,...,8192`
    /// flags this anomaly.
    #[arg(long, value_name = "TIME", value_parser = pause, default_value = "0")]
    nap: Duration,
    /// How answers are written: batched, each, reordered or COUNT
    ///
    /// `batched` answers all requests of one read with one write. `each` makes one write per answer. `reordered` is batched in
    /// random order. COUNT limits the answers per write.
    #[arg(long, value_name = "HOW", default_value = "batched")]
    answers: Answers,
    /// Rows to reserve memory for in the first table, such as 10M
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "0")]
    expect_rows: u64,
    /// A TOML file with [[script]] tables: what the cluster does on purpose, and when
    ///
    /// Steps such as close, delay, drop, forget, event, stop and error are in scenarios/SCRIPT.md. The clock starts with the first
    /// connection. At the end each step says what it did.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Threads that serve connections [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// Take commands as lines of JSON on standard input, and answer on standard output
    #[arg(long, hide = true)]
    control: bool,
}

/// Threads that may be asked for on any machine; more than cores help nobody.
const MOST_THREADS: usize = 256;

/// Memory of the smallest row with its place in the index: fewer bytes than any table takes.
const LEAST_ROW_BYTES: u64 = 40;

fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "write a port from 1 to 65535, or 0 for a free one".to_owned())
}

fn loopback(text: &str) -> Result<Ipv4Addr, String> {
    let what = "the embedded cluster listens on IPv4 loopback addresses only; use localhost, 127.0.0.1 or another address of 127.0.0.0/8";
    let found = (text, 0).to_socket_addrs().map_err(|error| format!("it is no address ({error}); {what}"))?;
    let mut addresses = found.map(|address: SocketAddr| address.ip());
    let is_loopback = |address| match address {
        IpAddr::V4(address) if address.is_loopback() => Some(address),
        _ => None,
    };
    addresses.find_map(is_loopback).ok_or_else(|| what.to_owned())
}

fn threads(text: &str) -> Result<usize, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = MOST_THREADS.max(cores);
    let asked = usize::try_from(count(text)?).ok().filter(|asked| *asked <= most);
    asked.ok_or_else(|| {
        format!("ask for at most {most} threads; one per core is enough, and there are {cores} cores here")
    })
}

/// The steps of a file, which a cluster like this one can play.
fn script(file: &Path, topology: Topology) -> Result<Vec<Step>> {
    let name = file.display().to_string();
    let text = text_of("script", file, "give the path of a TOML file with [[script]] tables")?;
    let steps = cqldyno_scenarios::script(&text, &name).map_err(usage)?;
    steps.iter().try_for_each(|step| step.fits(topology.nodes(), topology.shards())).map_err(usage)?;
    Ok(steps)
}

/// A file for a certificate; it is removed at the end.
fn temporary_file() -> Result<TempPath> {
    let made = Builder::new().prefix("cqldyno-ca-").suffix(".pem").tempfile();
    Ok(made.context("a temporary file cannot be made; name one with --tls FILE")?.into_temp_path())
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let credentials = arguments.login.read()?;
    let needed = arguments.expect_rows.saturating_mul(LEAST_ROW_BYTES);
    if let Some(there) = available_memory().filter(|there| needed > *there) {
        return Err(usage(format!(
            "--expect-rows {} takes at least {}, and {} are available here; ask for fewer rows",
            whole(arguments.expect_rows as f64),
            memory(needed),
            memory(there)
        )));
    }
    // Where they may not be had, accepting says so.
    open_files();
    let topology = arguments.nodes.topology(arguments.shards)?;
    let script = arguments.script.as_deref().map(|file| script(file, topology)).transpose()?.unwrap_or_default();
    let mut node = NodeOptions {
        address: arguments.address,
        port: arguments.port,
        topology,
        credentials,
        delay: arguments.delay.delay,
        answers: arguments.answers,
        nap: arguments.nap,
        expect_rows: arguments.expect_rows,
        threads: arguments.threads,
        script: script.clone(),
        ..NodeOptions::default()
    };
    let mut temporary = None;
    if let Some(file) = &arguments.tls {
        let tls = node.encryption()?;
        let file = match file {
            Some(file) => file.as_path(),
            None => temporary.insert(temporary_file()?),
        };
        std::fs::write(file, &tls.ca)
            .with_context(|| format!("the CA's certificate cannot be written to {}", file.display()))?;
        if !arguments.control {
            eprintln!("TLS with the CA in {}", file.display());
        }
        node.tls = Some(tls);
    }
    let played = serve(ServeOptions { node, control: arguments.control })?;
    for (step, played) in script.iter().zip(played) {
        eprintln!("{}", step.told(played, |number| whole(number as f64)));
    }
    Ok(Outcome::Done)
}
