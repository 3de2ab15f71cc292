//! Plays the parent for one cell and prints what it cost: for engineers of workers, and to try one by hand.
//!
//! ```text
//! cargo run --release -p cqldyno-worker --example cell -- target/release/cqldyno-driver-noop --count 10M --option form=ready
//! ```

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_protocol::{
    Credentials, Done, End, Job, Mode, ParentMessage, Runtime, Trace, WorkerMessage, decode, encode,
};
use cqldyno_scenarios::{Scenario, builtin};
use hdrhistogram::serialization::Deserializer;

const USAGE: &str = "\
cell WORKER [--target HOST:PORT]... [--scenario NAME|FILE] [--count N] [--warmup N] [--concurrency N] [--rate N]
     [--runtime current|multi:N] [--mode measure|connect|load|read_back] [--connections N] [--seed N] [--settings equal|default]
     [--trace PATIENCE_MS] [--option KEY=VALUE]... [--user NAME, with the password in CQLDYNO_PASSWORD]
Counts take k and M.";

struct Arguments {
    worker: PathBuf,
    job: Job,
}

fn main() -> ExitCode {
    let outcome = arguments().and_then(|arguments| run(&arguments));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut words = env::args().skip(1);
    let worker = words.next().filter(|word| !word.starts_with('-')).ok_or(USAGE)?;
    let mut job = Job {
        mode: Mode::Measure,
        scenario: builtin("writes").ok_or("there is no scenario writes")?,
        count: 1_000_000,
        warmup: 20_000,
        concurrency: 1_024,
        rate: None,
        seed: 1,
        runtime: Runtime::Multi { workers: 2 },
        target: Vec::new(),
        credentials: None,
        tls: None,
        datacenter: None,
        connections: 1,
        consistency: Consistency::LocalOne,
        page_size: 5_000,
        request_timeout_ms: None,
        settings: Settings::Equal,
        options: BTreeMap::new(),
        turns: 1,
        progress_ms: 1_000,
        trace: None,
        slice: None,
        tape: None,
    };
    while let Some(flag) = words.next() {
        let value = words.next().ok_or_else(|| format!("{flag} needs a value\n{USAGE}"))?;
        match flag.as_str() {
            "--target" => job.target.push(value.parse::<SocketAddr>()?),
            "--scenario" => job.scenario = scenario(&value)?,
            "--count" => job.count = count(&value)?,
            "--warmup" => job.warmup = count(&value)?,
            "--concurrency" => job.concurrency = usize::try_from(count(&value)?)?,
            "--rate" => job.rate = Some(count(&value)?),
            "--connections" => job.connections = value.parse()?,
            "--seed" => job.seed = value.parse()?,
            "--runtime" => job.runtime = runtime(&value)?,
            "--trace" => job.trace = Some(Trace { patience_ms: count(&value)? }),
            "--mode" if value == "measure" => job.mode = Mode::Measure,
            "--mode" if value == "connect" => job.mode = Mode::Connect,
            "--mode" if value == "load" => job.mode = Mode::Load,
            "--mode" if value == "read_back" => job.mode = Mode::ReadBack,
            "--settings" if value == "equal" => job.settings = Settings::Equal,
            "--settings" if value == "default" => job.settings = Settings::Default,
            "--option" => {
                let (key, value) = value.split_once('=').ok_or("--option needs KEY=VALUE")?;
                job.options.insert(key.to_owned(), value.to_owned());
            }
            "--user" => {
                let password = env::var("CQLDYNO_PASSWORD")?;
                job.credentials = Some(Credentials { user: value, password });
            }
            _ => return Err(format!("{flag} {value} is not known\n{USAGE}").into()),
        }
    }
    Ok(Arguments { worker: worker.into(), job })
}

fn scenario(name: &str) -> Result<Scenario, Box<dyn Error>> {
    match builtin(name) {
        Some(scenario) => Ok(scenario),
        None => Ok(Scenario::from_toml(&std::fs::read_to_string(name)?, name)?),
    }
}

fn runtime(text: &str) -> Result<Runtime, Box<dyn Error>> {
    match text.split_once(':') {
        None if text == "current" => Ok(Runtime::Current),
        Some(("multi", workers)) => Ok(Runtime::Multi { workers: workers.parse()? }),
        _ => Err(format!("--runtime {text} is not known: current or multi:N").into()),
    }
}

fn count(text: &str) -> Result<u64, Box<dyn Error>> {
    let (digits, factor) = match text.strip_suffix('M') {
        Some(digits) => (digits, 1_000_000),
        None => text.strip_suffix('k').map_or((text, 1), |digits| (digits, 1_000)),
    };
    Ok(digits.parse::<u64>()? * factor)
}

struct Worker {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn start(path: &PathBuf) -> Result<Worker, Box<dyn Error>> {
        let mut process = Command::new(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", path.display()))?;
        let input = process.stdin.take().ok_or("the worker has no standard input")?;
        let output = BufReader::new(process.stdout.take().ok_or("the worker has no standard output")?).lines();
        Ok(Worker { process, input, output })
    }

    fn say(&mut self, message: &ParentMessage) -> Result<(), Box<dyn Error>> {
        self.input.write_all(encode(message)?.as_bytes())?;
        Ok(())
    }

    /// The next message that is no progress, which goes to stderr.
    fn hear(&mut self) -> Result<WorkerMessage, Box<dyn Error>> {
        loop {
            let line = self.output.next().ok_or("the worker ended early; its log on stderr may say why")??;
            match decode(&line)? {
                WorkerMessage::Progress { issued } => eprintln!("  {issued} issued"),
                WorkerMessage::Failed(failed) => {
                    return Err(format!("failed ({:?}): {}", failed.kind, failed.message).into());
                }
                message => return Ok(message),
            }
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut worker = Worker::start(&arguments.worker)?;
    let WorkerMessage::Hello(hello) = worker.hear()? else { return Err("hello was expected".into()) };
    println!("{} build {} {} {}", hello.driver.label(), hello.build.id, hello.build.profile, hello.build.compiler);
    worker.say(&ParentMessage::Job(Box::new(arguments.job.clone())))?;
    let WorkerMessage::Ready(ready) = worker.hear()? else { return Err("ready was expected".into()) };
    for setting in &ready.settings {
        println!("  {}: {}{}", setting.name, setting.value, if setting.as_asked { "" } else { " (not as asked)" });
    }
    worker.say(&ParentMessage::Go { at_ns: None })?;
    let WorkerMessage::End(end) = worker.hear()? else { return Err("end was expected".into()) };
    worker.say(&ParentMessage::Ack)?;
    let WorkerMessage::Done(done) = worker.hear()? else { return Err("done was expected".into()) };
    let status = worker.process.wait()?;
    print(&arguments.job, &end, &done, ready.threads);
    if status.success() { Ok(()) } else { Err(format!("the worker ended with {status}").into()) }
}

fn print(job: &Job, end: &End, done: &Done, threads: u64) {
    let seconds = end.wall_ns as f64 / 1e9;
    let cpu_us = (end.user_us + end.sys_us) as f64;
    println!(
        "{} {} x {} at {} in flight, {}",
        job.scenario.name,
        match job.mode {
            Mode::Measure => "measured",
            Mode::Connect => "connected for",
            Mode::Load => "loaded",
            Mode::ReadBack => "read back",
        },
        done.issued,
        job.concurrency,
        job.runtime
    );
    println!(
        "  real {seconds:.3} s, user {:.3} s, sys {:.3} s; {:.0} statements/s; {:.4} us CPU per statement",
        end.user_us as f64 / 1e6,
        end.sys_us as f64 / 1e6,
        done.answered as f64 / seconds,
        cpu_us / done.answered.max(1) as f64
    );
    println!(
        "  verified {}; below concurrency {}; switches {} + {}, faults {} + {}; threads {threads} then {}",
        done.verified,
        done.below_concurrency.map_or("not counted".to_owned(), |below| {
            format!("{below} ({:.3} %)", 100.0 * below as f64 / done.issued.max(1) as f64)
        }),
        end.voluntary_switches,
        end.involuntary_switches,
        end.minor_faults,
        end.major_faults,
        done.threads
    );
    println!("  by statement {:?}; per second {:?}", done.issued_by_statement, done.per_second);
    percentiles("from issue to answer", done.histogram.as_deref());
    if let Some(pace) = &done.pace {
        let seconds = pace.lasted_ns as f64 / 1e9;
        println!("  asked for {} statements/s, kept {:.1}", pace.rate, done.answered as f64 / seconds);
        percentiles("from intended start to answer", Some(&pace.response));
        percentiles("from intended start to issue", Some(&pace.lateness));
        println!("  {} late, the longest by {:.1} us", pace.late, pace.latest_ns as f64 / 1e3);
    }
    if let Some(trace) = &done.trace {
        let (failed, unanswered) = (trace.failed.count(), trace.unanswered.count());
        println!("  {failed} failed, {unanswered} unanswered; right in each 10 ms: {:?}", trace.answers_per_10ms);
    }
    for (kind, error) in &done.errors {
        println!("  {} errors of kind {kind}, the first: {}", error.count, error.first);
    }
}

fn percentiles(what: &str, histogram: Option<&str>) {
    let bytes = histogram.and_then(|text| BASE64_STANDARD.decode(text).ok()).unwrap_or_default();
    let Ok(histogram) = Deserializer::new().deserialize::<u64, _>(&mut bytes.as_slice()) else { return };
    let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
    println!(
        "  {what}: p50 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1} us",
        at(0.5),
        at(0.99),
        at(0.999),
        histogram.max() as f64 / 1e3
    );
}
