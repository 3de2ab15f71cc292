//! Stands in for `cqldyno` (gate and server) and for workers in the tests of supervision: what it does follows from the name
//! that it is called by. `cqldyno-driver-honest` keeps to the worker protocol, the others break it in the way that their name
//! says.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{abort, exit};
use std::thread::sleep;
use std::time::Duration;

use cqldyno_cluster::{ConnectionSnapshot, Listening, Snapshot};
use cqldyno_driver_api::{Capability, DriverInfo, ErrorKind, Setting};
use cqldyno_protocol::{
    BuildInfo, Done, End, ErrorCount, Failed, FailureKind, Hello, Job, Mode, PROTOCOL_VERSION, ParentMessage, Ready,
    WorkerMessage, decode, encode, tickets,
};

const INSERT: &str = "INSERT INTO cqldyno.bench (pk, v1, v2) VALUES (?, ?, ?)";

fn main() {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_default();
    let called = Path::new(&called).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut arguments = arguments.peekable();
    if arguments.next_if(|argument| argument == cqldyno_bench::gate::SUBCOMMAND).is_some() {
        cqldyno_bench::gate::main(arguments);
    }
    if arguments.next_if(|argument| argument == "serve").is_some() {
        let rest: Vec<String> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
        return serve(called.strip_prefix("cqldyno-").unwrap_or_default(), &rest);
    }
    eprintln!("pid {}", std::process::id());
    worker(called.strip_prefix("cqldyno-driver-").unwrap_or(&called));
}

/// A server that listens nowhere: its second snapshot says that connection 1 inserted as many rows as were expected, or N if it is
/// called `claim-N`. As `turns-N` it gives two snapshots per turn, and each turn inserted its share. As `crash` it gives no second one,
/// as `close` it closes its output instead, and as `stop` it stops itself after the first.
fn serve(way: &str, arguments: &[String]) {
    let expected = arguments.iter().skip_while(|argument| *argument != "--expect-rows").nth(1).map(String::as_str);
    let claim = way.strip_prefix("claim-").or(expected).and_then(|claim| claim.parse().ok()).unwrap_or(0);
    let turns = way.strip_prefix("turns-").and_then(|turns| turns.parse().ok()).unwrap_or(1);
    reply(&Listening {
        listening: ([127, 0, 0, 1], 1).into(),
        nodes: Vec::new(),
        version: String::new(),
        release_version: String::new(),
        pid: std::process::id(),
    });
    for (nth, _) in io::stdin().lock().lines().map_while(Result::ok).enumerate() {
        if nth == 1 && way == "crash" {
            eprintln!("out of order");
            exit(9);
        }
        if nth == 1 && way == "close" {
            close();
        }
        let count = tickets(claim, turns, nth as u32 / 2 + nth as u32 % 2).start;
        let executes = [("aa".to_owned(), count)].into();
        reply(&Snapshot {
            connections: vec![ConnectionSnapshot { id: 1, executes, ..ConnectionSnapshot::default() }],
            frames: count,
            prepared: [("aa".to_owned(), INSERT.to_owned())].into(),
            rows: count,
            ..Snapshot::default()
        });
        if way == "stop" {
            let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGSTOP);
        }
    }
}

fn reply(message: &impl serde::Serialize) {
    println!("{}", serde_json::to_string(message).unwrap_or_default());
}

fn say(message: &WorkerMessage) {
    let line = encode(message).unwrap_or_default();
    let mut out = io::stdout().lock();
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        exit(2);
    }
}

fn hear() -> ParentMessage {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => exit(2),
        Ok(_) => match decode(&line) {
            Ok(message) => message,
            Err(_) => exit(3),
        },
    }
}

fn close() -> ! {
    eprintln!("no more words");
    // Standard output is closed when both are gone.
    drop(io::stdout().lock().flush());
    let _ = nix::unistd::close(1);
    hang()
}

fn hang() -> ! {
    loop {
        sleep(Duration::from_secs(3600));
    }
}

/// What the worker's name says that it does at this step.
fn at(step: &str, name: &str, count: u64) {
    let Some(way) = name.strip_suffix(step).and_then(|way| way.strip_suffix("-at-")) else { return };
    match way {
        "crash" => abort(),
        "exit" => {
            eprintln!("something went wrong");
            exit(3)
        }
        "hang" => hang(),
        "garbage" => println!("Segmentation fault (core dumped)"),
        "endless" => {
            let block = vec![b'x'; 1 << 20];
            while io::stdout().lock().write_all(&block).is_ok() {}
        }
        "stall" => loop {
            say(&WorkerMessage::Progress { issued: count / 2 });
            sleep(Duration::from_millis(50));
        },
        "order" => say(&WorkerMessage::Ready(Ready { settings: Vec::new(), connections: None, threads: 1 })),
        "closed" => close(),
        "flood" => {
            let block = vec![b'x'; 1 << 16];
            (0..1_000).for_each(|_| drop(io::stderr().lock().write_all(&block)));
            eprintln!("\nthe flood is over");
            exit(3)
        }
        "grow" => {
            let mut grown = Vec::new();
            loop {
                grown.extend(std::iter::repeat_n(1u8, 8 << 20));
                sleep(Duration::from_millis(10));
            }
        }
        "early-done" => say(&WorkerMessage::Done(Box::default())),
        _ => {}
    }
}

fn worker(name: &str) {
    at("hello", name, 0);
    say(&WorkerMessage::Hello(Box::new(Hello {
        protocol: if name == "other-version" { PROTOCOL_VERSION + 1 } else { PROTOCOL_VERSION },
        driver: DriverInfo {
            name: name.to_owned(),
            version: "1.2.3".to_owned(),
            capabilities: if name.contains("offline") || name == "noop" {
                [Capability::Offline].into()
            } else {
                [].into()
            },
            ..DriverInfo::default()
        },
        settings: vec![Setting::taken("consistency", "LOCAL_ONE")],
        build: BuildInfo { id: build(name).to_owned(), profile: "debug".to_owned(), ..BuildInfo::default() },
        turns: name != "turnless",
        tape: false,
        language: None,
        machine: None,
    })));
    let ParentMessage::Job(job) = hear() else { exit(4) };
    at("ready", name, job.count);
    if name.ends_with("-at-warm-up") {
        say(&WorkerMessage::Progress { issued: 0 });
    }
    at("warm-up", name, job.count);
    match name {
        "leak" => leak(&job, FailureKind::Connect),
        "refused" => leak(&job, FailureKind::BadCredentials),
        // The password straddles the 80th character, where messages are cut.
        "leak-garbage" => println!("{}{}", "x".repeat(74), password(&job)),
        "leak-quoted" => println!("{}{:?}", "x".repeat(60), password(&job)),
        _ => {}
    }
    let settings = vec![Setting::taken("consistency", "LOCAL_ONE")];
    say(&WorkerMessage::Ready(Ready { settings, connections: None, threads: 1 }));
    for turn in 0..job.turns {
        let share = tickets(job.count, job.turns, turn);
        hear();
        at("window", name, job.count);
        say(&WorkerMessage::End(End {
            wall_ns: (share.end - share.start) * 1_000,
            at_ns: None,
            user_us: 100,
            sys_us: 50,
            voluntary_switches: 1,
            involuntary_switches: 2,
            minor_faults: 3,
            major_faults: 0,
            steady: None,
        }));
        hear();
        at("done", name, job.count);
        say(&WorkerMessage::Done(Box::new(done(name, &job, share.end - share.start))));
    }
    at("exit", name, job.count);
}

/// What it says of a window of so many statements.
fn done(name: &str, job: &Job, share: u64) -> Done {
    let count = match (job.mode, name) {
        (Mode::Load, _) => 0,
        (_, "short") => share - 1,
        _ => share,
    };
    let mut errors = BTreeMap::new();
    if name == "wrong-rows" {
        errors.insert(ErrorKind::WrongRow, ErrorCount { count: 2, first: "pk 1 came back as 2".to_owned() });
    }
    let failed: u64 = errors.values().map(|error: &ErrorCount| error.count).sum();
    Done {
        issued: count,
        answered: count,
        verified: count - failed,
        issued_by_statement: job.scenario.statements.iter().take(1).map(|one| (one.name.clone(), count)).collect(),
        errors,
        ..Done::default()
    }
}

/// `other-build` has a load generator of another build, `no-build` one of its own.
fn build(name: &str) -> &str {
    match name {
        "other-build" => "c",
        "no-build" => "",
        _ => "b",
    }
}

fn password(job: &Job) -> &str {
    job.credentials.as_ref().map(|given| given.password.as_str()).unwrap_or_default()
}

/// Shows the password wherever a worker can.
fn leak(job: &Job, kind: FailureKind) {
    let password = password(job);
    eprintln!("the password is {password}");
    eprintln!("{}", serde_json::to_string(&job.credentials).unwrap_or_default());
    say(&WorkerMessage::Failed(Failed { kind, message: format!("the server refused the password {password}") }));
    exit(1);
}
