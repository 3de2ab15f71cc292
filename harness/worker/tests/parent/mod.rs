//! Plays the parent of the test driver's worker.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_protocol::{
    Done, End, Failed, FailureKind, Hello, Job, Mode, ParentMessage, Ready, Runtime, WorkerMessage, decode, encode,
};
use cqldyno_scenarios::builtin;

/// Beyond this a test is stuck; it says nothing about speed.
const STUCK: Duration = Duration::from_secs(60);

pub fn job(scenario: &str, count: u64) -> Job {
    Job {
        mode: Mode::Measure,
        scenario: builtin(scenario).unwrap(),
        count,
        warmup: 100,
        concurrency: 64,
        rate: None,
        seed: 7,
        runtime: Runtime::Current,
        target: vec![([127, 0, 0, 1], 9).into()],
        credentials: None,
        tls: None,
        datacenter: None,
        connections: 1,
        consistency: Consistency::LocalOne,
        page_size: 77,
        request_timeout_ms: None,
        settings: Settings::Equal,
        options: BTreeMap::new(),
        turns: 1,
        progress_ms: 0,
        trace: None,
        slice: None,
        tape: None,
    }
}

pub fn faulty(scenario: &str, count: u64, fault: &str) -> Job {
    let mut job = job(scenario, count);
    job.warmup = 0;
    job.options.insert("fault".to_owned(), fault.to_owned());
    job
}

pub struct Worker {
    process: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Worker {
    pub fn start() -> Worker {
        Worker::start_with(&[])
    }

    pub fn start_with(environment: &[(&str, &str)]) -> Worker {
        let mut process = Command::new(env!("CARGO_BIN_EXE_cqldyno-worker-test-driver"))
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                if sender.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        Worker { process, input, lines }
    }

    /// A worker that said `hello`, was given `job` and said `ready`.
    pub fn ready(job: Job) -> Worker {
        let mut worker = Worker::start();
        worker.hello();
        worker.say(&ParentMessage::Job(Box::new(job)));
        worker.hear_ready();
        worker
    }

    /// A worker in its window.
    pub fn going(job: Job) -> Worker {
        let mut worker = Worker::ready(job);
        worker.say(&ParentMessage::Go { at_ns: None });
        worker
    }

    pub fn say(&mut self, message: &ParentMessage) {
        self.say_raw(&encode(message).unwrap());
    }

    pub fn say_raw(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// The next message; `None` when the worker closed its output.
    pub fn hear(&mut self) -> Option<WorkerMessage> {
        match self.lines.recv_timeout(STUCK) {
            Ok(line) => Some(decode(&line).unwrap()),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("the worker is stuck"),
        }
    }

    pub fn hello(&mut self) -> Hello {
        match self.hear() {
            Some(WorkerMessage::Hello(hello)) => *hello,
            other => panic!("hello was expected, {other:?} came"),
        }
    }

    pub fn hear_ready(&mut self) -> Ready {
        match self.hear() {
            Some(WorkerMessage::Ready(ready)) => ready,
            other => panic!("ready was expected, {other:?} came"),
        }
    }

    pub fn end(&mut self) -> End {
        match self.hear() {
            Some(WorkerMessage::End(end)) => end,
            other => panic!("end was expected, {other:?} came"),
        }
    }

    pub fn done(&mut self) -> Done {
        match self.hear() {
            Some(WorkerMessage::Done(done)) => *done,
            other => panic!("done was expected, {other:?} came"),
        }
    }

    /// `failed` as the last message, with its exit code.
    pub fn failed(&mut self, kind: FailureKind) -> String {
        let Some(WorkerMessage::Failed(Failed { kind: found, message })) = self.hear() else {
            panic!("failed was expected");
        };
        assert_eq!(found, kind, "{message}");
        assert_eq!(self.hear(), None);
        assert_eq!(self.exit_code(), Some(1));
        message
    }

    /// `end`, `ack`, `done` and the end of the process.
    pub fn finish(&mut self) -> (End, Done) {
        let end = self.end();
        self.say(&ParentMessage::Ack);
        let done = self.done();
        assert_eq!(self.hear(), None);
        assert_eq!(self.exit_code(), Some(0));
        (end, done)
    }

    pub fn exit_code(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

/// One cell from start to end.
pub fn cell(job: Job) -> (End, Done) {
    Worker::going(job).finish()
}

/// The message of a cell that fails before `ready`.
pub fn refused(job: Job, kind: FailureKind) -> String {
    let mut worker = Worker::start();
    worker.hello();
    worker.say(&ParentMessage::Job(Box::new(job)));
    worker.failed(kind)
}
