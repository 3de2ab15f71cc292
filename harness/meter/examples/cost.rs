//! Prints the cost of counting system calls: CPU time per call, of the counted process and of another one on the machine, over
//! the same calls uncounted. The ways of counting take turns; each figure is the median of the differences within a round.
//!
//! `cargo run --release -p cqldyno-meter --example cost [ROUNDS]`

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use cqldyno_meter::{Attachment, Meter, SYSTEM_CALLS, SYSTEM_CALLS_BY_NAME, Subject, process_cpu_ns};

type Fallible<T> = Result<T, Box<dyn Error>>;

const CALLS: u32 = 200_000;
const CALLER: &str = "--caller";

fn main() -> Fallible<()> {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some(CALLER) {
        return call();
    }
    let rounds: usize = argument.map_or(Ok(25), |rounds| rounds.parse())?;
    SYSTEM_CALLS.probe()?;
    SYSTEM_CALLS_BY_NAME.probe()?;
    let ways = [None, Some(&SYSTEM_CALLS), Some(&SYSTEM_CALLS_BY_NAME)];
    let mut costs: Vec<Vec<Cost>> = Vec::new();
    for round in 0..rounds {
        let mut of_round: Vec<Option<Cost>> = ways.iter().map(|_| None).collect();
        for turn in 0..ways.len() {
            let way = (round + turn) % ways.len();
            of_round[way] = Some(cost(ways[way])?);
        }
        costs.push(of_round.into_iter().flatten().collect());
    }
    println!("{rounds} rounds of {CALLS} calls of getppid");
    for (way, meter) in ways.iter().enumerate() {
        let middle = |pick: &dyn Fn(&Cost) -> f64| median(costs.iter().map(|round| pick(&round[way])).collect());
        let added = |pick: &dyn Fn(&Cost) -> f64| {
            median(costs.iter().map(|round| pick(&round[way]) - pick(&round[0])).collect())
        };
        println!(
            "{:14} counted process {:6.1} ns per call ({:+6.1}), another process {:6.1} ns per call ({:+6.1}), to attach {:5.2} ms, \
             to read {:6.1} us, to detach {:5.1} ms",
            meter.as_ref().map_or("not counted", |meter| meter.name),
            middle(&|cost| cost.counted_ns),
            added(&|cost| cost.counted_ns),
            middle(&|cost| cost.other_ns),
            added(&|cost| cost.other_ns),
            middle(&|cost| cost.attach.as_secs_f64() * 1e3),
            middle(&|cost| cost.read.as_secs_f64() * 1e6),
            middle(&|cost| cost.detach.as_secs_f64() * 1e3),
        );
    }
    Ok(())
}

struct Cost {
    counted_ns: f64,
    other_ns: f64,
    attach: Duration,
    read: Duration,
    detach: Duration,
}

/// Runs two callers, the first of which `meter` counts.
fn cost(meter: Option<&Meter>) -> Fallible<Cost> {
    let (mut counted, mut other) = (Caller::start()?, Caller::start()?);
    let start = Instant::now();
    let subject = Subject {
        worker: counted.pid(),
        server: Err(String::new()),
        cores: Vec::new(),
        scratch: std::env::temp_dir(),
        nodes: Vec::new(),
    };
    let mut attachment: Option<Box<dyn Attachment>> = meter.map(|meter| meter.attach(&subject));
    let attach = start.elapsed();
    counted.ask()?;
    other.ask()?;
    let counted_ns = counted.ns_a_call()?;
    let other_ns = other.ns_a_call()?;
    let start = Instant::now();
    if let Some(attachment) = &mut attachment {
        drop(attachment.at_end());
    }
    let read = start.elapsed();
    let start = Instant::now();
    drop(attachment);
    Ok(Cost { counted_ns, other_ns, attach, read, detach: start.elapsed() })
}

/// A process that waits, becomes this program, and makes calls for each line.
struct Caller {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Caller {
    fn start() -> Fallible<Caller> {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read line; exec \"$0\" \"$1\""]).arg(std::env::current_exe()?).arg(CALLER);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Caller { child, lines })
    }

    fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    fn ask(&mut self) -> Fallible<()> {
        self.child.stdin.as_mut().ok_or("no input")?.write_all(b"go\n")?;
        let mut line = String::new();
        match self.lines.read_line(&mut line)? {
            0 => Err("the caller has ended".into()),
            _ => Ok(()),
        }
    }

    fn ns_a_call(&mut self) -> Fallible<f64> {
        let before = process_cpu_ns(self.pid())?;
        self.ask()?;
        Ok((process_cpu_ns(self.pid())? - before) as f64 / f64::from(CALLS))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The caller: says that it is there, and makes calls for each line.
fn call() -> Fallible<()> {
    println!("ready");
    for line in std::io::stdin().lines() {
        line?;
        for _ in 0..CALLS {
            nix::unistd::getppid();
        }
        println!("done");
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
