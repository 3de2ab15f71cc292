//! What a misbehaving worker is tried with, by the name that this is called by: `cqldyno` is the gate and the embedded node,
//! `cqldyno-driver-floor` is floor.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use cqldyno_bench::gate;
use cqldyno_cluster::{NodeOptions, ServeOptions, Topology, serve};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_default();
    if Path::new(&called).file_name().is_some_and(|name| name == "cqldyno-driver-floor") {
        return cqldyno_worker::main::<cqldyno_driver_floor::Floor>();
    }
    let arguments: Vec<OsString> = arguments.collect();
    if arguments.first().is_some_and(|argument| argument == gate::SUBCOMMAND) {
        gate::main(arguments.into_iter().skip(1));
    }
    let number = |flag: &str| {
        let given = arguments.iter().skip_while(|argument| *argument != flag).nth(1);
        given.and_then(|number| number.to_str()?.parse().ok())
    };
    let topology = Topology::new(number("--nodes").unwrap_or(1), 1, 1, None).unwrap_or_default();
    let expect_rows = number("--expect-rows").unwrap_or(0);
    let node = NodeOptions { port: 0, topology, expect_rows, ..NodeOptions::default() };
    match serve(ServeOptions { node, control: true }) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
