//! Recorded sessions of drivers: `recorded/README.md` shows these commands in use.
//!
//! `exchange record HOST:PORT FILE -- COMMAND...` runs a command with the address of a relay as its last argument, and writes the
//! requests that passed. `exchange answers HOST:PORT REQUESTS FILE` sends them to a server and writes its answers. `exchange
//! compare HOST:PORT REQUESTS ANSWERS` sends them and prints each difference from the written answers.

use std::error::Error;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::{Command, ExitCode};

use exchange::{DELIBERATE, KEYSPACE, Recording, Relay, Replayed, differences, replay};

#[path = "../tests/cluster/recorded/exchange/mod.rs"]
mod exchange;

const USAGE: &str = "exchange record HOST:PORT FILE -- COMMAND... | answers HOST:PORT REQUESTS FILE | compare HOST:PORT REQUESTS ANSWERS";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["record", server, file, "--", program, rest @ ..] => record(address(server)?, file, program, rest),
        ["answers", server, requests, file] => {
            let (_, answers) = answers(address(server)?, requests, None)?;
            std::fs::write(file, answers.to_lines())?;
            eprintln!("{} answers and {} events are in {file}", answers.answers.len(), answers.event_count());
            Ok(ExitCode::SUCCESS)
        }
        ["compare", server, requests, file] => compare(address(server)?, requests, file),
        _ => Err(USAGE.into()),
    }
}

fn address(text: &str) -> Result<SocketAddr, Box<dyn Error>> {
    text.to_socket_addrs()?.next().ok_or_else(|| format!("{text} is no HOST:PORT").into())
}

fn record(server: SocketAddr, file: &str, program: &str, arguments: &[&str]) -> Result<ExitCode, Box<dyn Error>> {
    let relay = Relay::start(server)?;
    let status = Command::new(program).args(arguments).arg(relay.address().to_string()).status()?;
    if !status.success() {
        return Err(format!("{program} {status}, so nothing was recorded").into());
    }
    let recording = Recording::of(&relay.passed())?;
    std::fs::write(file, recording.to_lines())?;
    eprintln!("{} requests are in {file}", recording.requests.len());
    Ok(ExitCode::SUCCESS)
}

fn answers(server: SocketAddr, requests: &str, events: Option<usize>) -> Result<(Recording, Replayed), Box<dyn Error>> {
    let recording = Recording::from_lines(&std::fs::read_to_string(requests)?)?;
    let answers = replay(&recording, server, events)?.masked(KEYSPACE);
    Ok((recording, answers))
}

fn compare(server: SocketAddr, requests: &str, file: &str) -> Result<ExitCode, Box<dyn Error>> {
    let expected = Replayed::from_lines(&std::fs::read_to_string(file)?)?;
    let (recording, found) = answers(server, requests, Some(expected.event_count()))?;
    let mut unmeant = 0;
    for difference in differences(&recording, &expected, &found) {
        match DELIBERATE.iter().find(|deliberate| deliberate.covers(&difference)) {
            Some(deliberate) => println!("meant: {difference}\n       {}", deliberate.why),
            None => {
                unmeant += 1;
                println!("{difference}");
            }
        }
    }
    eprintln!("{} answers, {unmeant} differences that are not meant to be", expected.answers.len());
    Ok(if unmeant == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
