//! Instructions by callgrind (valgrind's tool): it counts nothing until the window begins, is told so through vgdb, and writes what it
//! has counted when the window is over.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use super::{CallgrindRefusal, ProcessorCounters, is_under_valgrind};
use crate::meter::{UNFINISHED, per_statement};
use crate::tool::run;
use crate::{Artifact, Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Subject, Unit, Window};

/// Instructions a statement under callgrind.
pub struct Callgrind;

const MEASURES: [Declaration; 1] = [Declaration::new(
    Pass::Instructions,
    "callgrind_instructions_per_statement",
    Unit::Count,
    Better::Lower,
    "instructions of the worker per verified statement under callgrind: user mode, one thread at a time",
)
.titled("instructions,\nuser mode,\nserialised")];

/// Its own output, in the cell's own folder; the process id follows, and the number of the dump.
const OUTPUT: &str = "callgrind";
/// What the names of the pipes begin with through which it is reached.
const PIPES: &str = "vgdb";
/// How long it may take to follow a command, which it does when the worker runs or is stopped for it.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(60);

impl Callgrind {
    /// The program with its arguments, behind which a worker is started that is to be counted in the folder `scratch`; nothing where
    /// that is not possible.
    pub fn in_front(scratch: &Path) -> Vec<OsString> {
        match Callgrind::check() {
            Ok(()) => arguments(scratch),
            Err(_) => Vec::new(),
        }
    }

    /// Tries whether this machine counts with callgrind. Tried once a process.
    ///
    /// # Errors
    /// Why not, with what to change.
    pub fn check() -> Result<(), CallgrindRefusal> {
        static TRIED: OnceLock<Result<(), CallgrindRefusal>> = OnceLock::new();
        TRIED.get_or_init(trial).clone()
    }
}

fn trial() -> Result<(), CallgrindRefusal> {
    for (program, argument) in [("valgrind", "--version"), ("vgdb", "--help")] {
        run(Command::new(program).arg(argument), FOLLOWS_WITHIN).map_err(CallgrindRefusal::NotInstalled)?;
    }
    let mut shell = Command::new("valgrind");
    shell.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "sh", "-c", ":"]);
    run(&mut shell, FOLLOWS_WITHIN).map(drop).map_err(CallgrindRefusal::TrialFailed)
}

fn arguments(scratch: &Path) -> Vec<OsString> {
    let with = |flag: &str, value: PathBuf| {
        let mut argument = OsString::from(flag);
        argument.push(value);
        argument
    };
    vec![
        "valgrind".into(),
        "--tool=callgrind".into(),
        "--quiet".into(),
        "--instr-atstart=no".into(),
        // Whoever waits for the one core that there is gets it in turn, so that runs are alike.
        "--fair-sched=try".into(),
        with("--callgrind-out-file=", scratch.join(format!("{OUTPUT}.%p"))),
        with("--vgdb-prefix=", scratch.join(PIPES)),
    ]
}

impl Meter for Callgrind {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "callgrind"
    }

    fn needs(&self) -> &'static str {
        "valgrind with vgdb, and ptrace(2)"
    }

    fn costs(&self) -> Option<&'static str> {
        Some("fifty times the time: its cells have few statements")
    }

    fn probe(&self) -> Probe {
        match Callgrind::check() {
            Ok(()) => Probe::Available,
            Err(refusal) => Probe::Unavailable { sentence: refusal.to_string(), remedy: refusal.remedy().to_owned() },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        Box::new(Valgrind { worker: subject.worker, scratch: subject.scratch.clone(), state: State::Before })
    }
}

enum State {
    Before,
    /// The cell is another meter's.
    Elsewhere,
    Counting,
    Counted {
        instructions: u64,
        dump: Vec<u8>,
    },
    Refused(CallgrindRefusal),
}

struct Valgrind {
    worker: i32,
    scratch: PathBuf,
    state: State,
}

impl Valgrind {
    fn begin(&self) -> State {
        match Callgrind::check() {
            Err(refusal) if ProcessorCounters::check().is_err() => State::Refused(refusal),
            Err(_) => State::Elsewhere,
            Ok(()) if is_under_valgrind(self.worker) => {
                self.tell(&["instrumentation", "on"]).map_or_else(State::Refused, |()| State::Counting)
            }
            Ok(()) if ProcessorCounters::check().is_ok() => State::Elsewhere,
            Ok(()) => State::Refused(CallgrindRefusal::NotUnder(self.worker)),
        }
    }

    fn end(&self) -> Result<State, CallgrindRefusal> {
        self.tell(&["dump"])?;
        // The first dump; what is written when the process ends has no number.
        let path = self.scratch.join(format!("{OUTPUT}.{}.1", self.worker));
        let nothing = || CallgrindRefusal::NoCount(format!("{OUTPUT}.{}.1", self.worker));
        let dump = fs::read(&path).map_err(|_| nothing())?;
        let instructions = total(&dump).ok_or_else(nothing)?;
        Ok(State::Counted { instructions, dump })
    }

    /// Tells callgrind through vgdb; the worker waits for its parent meanwhile.
    fn tell(&self, words: &[&str]) -> Result<(), CallgrindRefusal> {
        let mut prefix = OsString::from("--vgdb-prefix=");
        prefix.push(self.scratch.join(PIPES));
        let mut vgdb = Command::new("vgdb");
        vgdb.arg(format!("--pid={}", self.worker)).arg("--wait=10").arg(prefix).args(words);
        run(&mut vgdb, FOLLOWS_WITHIN).map(drop).map_err(CallgrindRefusal::OutOfReach)
    }
}

impl Attachment for Valgrind {
    fn at_go(&mut self) {
        self.state = self.begin();
    }

    fn at_end(&mut self) {
        if matches!(self.state, State::Counting) {
            self.state = self.end().unwrap_or_else(State::Refused);
        }
    }

    fn read(&mut self, window: &Window) -> Outcome {
        match std::mem::replace(&mut self.state, State::Elsewhere) {
            State::Elsewhere => Outcome::default(),
            State::Before | State::Counting => Outcome::of(&MEASURES, [Err(UNFINISHED.to_owned())]),
            State::Refused(refusal) => Outcome::of(&MEASURES, [Err(format!("{refusal} {}", refusal.remedy()))]),
            State::Counted { instructions, dump } => Outcome {
                files: vec![Artifact { kind: "callgrind", extension: "out", bytes: dump }],
                ..Outcome::of(&MEASURES, [per_statement(instructions as f64, window)])
            },
        }
    }
}

/// The sum over all functions, in a file of callgrind's format (valgrind manual, "Callgrind Format Specification").
fn total(dump: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(dump);
    let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse().ok());
    of("summary:").or_else(|| of("totals:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{subject, window};
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;

    #[test]
    fn the_sum_is_read_from_a_dump() {
        assert_eq!(total(b"events: Ir\nsummary: 54273496\n\nfn=(1) main\n12 3\n"), Some(54_273_496));
        assert_eq!(total(b"events: Ir\nfn=(1) main\n12 3\ntotals: 77\n"), Some(77));
        assert_eq!(total(b"events: Ir\nfn=(1) main\n"), None);
    }

    #[test]
    fn probing_gives_either_callgrind_or_a_sentence_with_a_remedy() {
        if let Probe::Unavailable { sentence, remedy } = Callgrind.probe() {
            assert!(!sentence.is_empty() && !remedy.is_empty());
        }
    }

    /// Instructions that a shell needs to count to `turns` in the window, by callgrind.
    fn counted(turns: u64) -> f64 {
        let scratch = tempfile::tempdir().unwrap();
        let front = Callgrind::in_front(scratch.path());
        let script = "echo ready; read turns; i=0; while [ $i -lt $turns ]; do i=$((i+1)); done; echo end; read line";
        let mut command = Command::new(&front[0]);
        command.args(&front[1..]).args(["sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let subject = Subject { scratch: scratch.path().to_path_buf(), ..subject(child.id().cast_signed()) };
        let mut counter = Callgrind.attach(&subject);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        counter.at_go();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{turns}").unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "end");
        counter.at_end();
        drop(input);
        child.wait().unwrap();
        let outcome = counter.read(&window());
        assert_eq!((outcome.files.len(), outcome.files[0].kind), (1, "callgrind"));
        // The window of the test has a million statements.
        outcome.readings[0].value.clone().unwrap() * 1e6
    }

    #[test]
    fn only_the_window_is_counted_and_it_repeats() {
        if let Probe::Unavailable { sentence, remedy } = Callgrind.probe() {
            eprintln!("not tested here: {sentence} {remedy}");
            return;
        }
        let (few, many, again) = (counted(100), counted(1_100), counted(1_100));
        assert!((many - again).abs() <= many / 100.0, "{many} and {again}");
        // A shell starts with hundreds of thousands of instructions, none of which belong to the window.
        let each = (many - few) / 1_000.0;
        assert!(each > 50.0 && few < each * 100.0 * 3.0, "{few} for 100 turns, {each} a turn");
    }

    #[test]
    fn a_process_that_does_not_run_under_valgrind_is_told() {
        let refusal = CallgrindRefusal::NotUnder(std::process::id().cast_signed());
        assert!(!is_under_valgrind(std::process::id().cast_signed()));
        assert!(refusal.to_string().contains("does not run under valgrind"));
    }
}
