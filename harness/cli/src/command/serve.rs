//! `cqldyno serve`: the embedded cluster on its own.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result};
use cqldyno_cluster::{Answers, Credentials, NodeOptions, ServeOptions, serve};

use crate::count::{count, count_or_none, duration};
use crate::outcome::Outcome;
use crate::password::Login;

const EXAMPLES: &str = "\
Examples:
  cqldyno serve                                     a node on 127.0.0.1:9042
  cqldyno serve --port 0                            on a free port
  CQLDYNO_PASSWORD=secret cqldyno serve --user ada  with a password
  cqldyno compare --target 127.0.0.1:9042           from another terminal

Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 it cannot serve, 2 wrong usage.";

/// Serves CQL from memory until Ctrl-C or SIGTERM: the embedded cluster on its own, for any client.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The address to listen on, one of the loopback interface
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    address: Ipv4Addr,
    /// The port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", value_parser = port, default_value = "9042", allow_hyphen_values = true)]
    port: u16,
    #[command(flatten)]
    login: Login,
    /// Hold each answer back for this long, for example 100us
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0", allow_hyphen_values = true)]
    delay: Duration,
    /// How answers are written: `batched`, the answers to one read with one write; `each`, one write an answer; `reordered`,
    /// as batched, but in random order
    #[arg(long, value_name = "HOW", default_value = "batched", allow_hyphen_values = true)]
    answers: Answers,
    /// Rows for which the first table has memory at hand, for example 10M
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "0", allow_hyphen_values = true)]
    expect_rows: u64,
    /// Threads that serve connections [default: one a core]
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true)]
    threads: Option<u64>,
    /// Take commands as lines of JSON on standard input, and answer on standard output
    #[arg(long, hide = true)]
    control: bool,
}

fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "write a port from 1 to 65535, or 0 for a free one".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let credentials = arguments.login.read()?.map(|login| Credentials::new(login.user, login.password));
    let threads = arguments.threads.map(usize::try_from).transpose().context("too many threads were asked for")?;
    serve(ServeOptions {
        node: NodeOptions {
            address: arguments.address,
            port: arguments.port,
            credentials,
            delay: arguments.delay,
            answers: arguments.answers,
            expect_rows: arguments.expect_rows,
            threads,
            ..NodeOptions::default()
        },
        control: arguments.control,
    })?;
    Ok(Outcome::Done)
}
