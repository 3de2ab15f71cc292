//! Instructions by callgrind (a tool of valgrind): commands through vgdb make it count from the beginning of the window, and write
//! its count at the end.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use cqldyno_measure::list::declared;

use super::{PROCESSOR_COUNTERS, is_under_valgrind};
use crate::meter::{Edge, at_edges, per_statement};
use crate::tool::run;
use crate::{Artifact, Attachment, Declaration, Meter, Outcome, Probe, Refusal, Subject};

const MEASURES: [Declaration; 1] = [declared::CALLGRIND_INSTRUCTIONS.titled("instructions,\nuser mode,\nserialised")];

/// Its own output, in the cell's own folder; the process id follows, and the number of the dump.
const OUTPUT: &str = "callgrind";
/// How the names of the pipes to it begin.
const PIPES: &str = "vgdb";
/// Settings of Go's runtime (<https://pkg.go.dev/runtime#hdr-Environment_Variables>), in which the last one counts.
const GODEBUG: &str = "GODEBUG";
/// How long it may take to follow a command.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(60);

/// The program with its arguments that starts the worker to be counted, with files in the folder `scratch`; nothing if this
/// machine cannot count so.
pub fn callgrind_in_front(scratch: &Path) -> Vec<OsString> {
    if TRIED.is_ok() { arguments(scratch) } else { Vec::new() }
}

/// Further environment variables of the worker to be counted: valgrind 3.19 fails when a Go program interrupts threads of its own with
/// a signal, which it does for its garbage collector.
pub fn callgrind_environment() -> Vec<(OsString, OsString)> {
    vec![(GODEBUG.into(), without_signals(std::env::var_os(GODEBUG)))]
}

fn without_signals(inherited: Option<OsString>) -> OsString {
    let mut settings = inherited.unwrap_or_default();
    if !settings.is_empty() {
        settings.push(",");
    }
    settings.push("asyncpreemptoff=1");
    settings
}

fn refuse(why: impl ToString, remedy: &str) -> Refusal {
    Refusal::new("Instructions cannot be counted with callgrind", why, remedy)
}

fn trial() -> Result<(), Refusal> {
    for (program, argument) in [("valgrind", "--version"), ("vgdb", "--help")] {
        run(Command::new(program).arg(argument), FOLLOWS_WITHIN).map_err(|why| {
            refuse(why, "Install valgrind with its program vgdb (`apt-get install valgrind`, `dnf install valgrind`).")
        })?;
    }
    let mut shell = Command::new("valgrind");
    shell.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "sh", "-c", ":"]);
    run(&mut shell, FOLLOWS_WITHIN).map(drop).map_err(|why| {
        refuse(
            format!("in a trial with `sh`, {why}"),
            "Install a valgrind for this processor, and on some systems the C library's debugging symbols (`apt-get install \
             libc6-dbg`).",
        )
    })
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
        // Threads get the one core in turn, so that runs are alike.
        "--fair-sched=try".into(),
        with("--callgrind-out-file=", scratch.join(format!("{OUTPUT}.%p"))),
        with("--vgdb-prefix=", scratch.join(PIPES)),
    ]
}

/// Instructions per statement under callgrind.
pub const CALLGRIND: Meter = Meter::new("callgrind", &MEASURES, attach)
    .needs("valgrind with vgdb, and ptrace(2)")
    .costs("fifty times the time: its cells have few statements")
    .at_worker()
    .probed(|| TRIED.clone());

static TRIED: LazyLock<Probe> = LazyLock::new(trial);

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let valgrind = Valgrind { worker: subject.worker, scratch: subject.scratch.clone() };
    // The number of the window, and whether its cell is this meter's.
    let (mut windows, mut is_here) = (0, false);
    let look = move |edge| match edge {
        Edge::Go => {
            windows += 1;
            is_here = valgrind.begin().map_err(|refusal| refusal.to_string())?;
            Ok(None)
        }
        Edge::End if is_here => valgrind.end(windows).map(Some).map_err(|refusal| refusal.to_string()),
        Edge::End => Ok(None),
    };
    at_edges(look, |both, window| match both {
        Ok((_, None)) => Outcome::default(),
        Ok((_, Some((instructions, dump)))) => Outcome {
            files: vec![Artifact { kind: "callgrind", extension: "out", bytes: dump.clone() }],
            ..Outcome::of(&MEASURES, [per_statement(*instructions as f64, window)])
        },
        Err(why) => Outcome::of(&MEASURES, [Err(why)]),
    })
}

struct Valgrind {
    worker: i32,
    scratch: PathBuf,
}

const OUT_OF_REACH: &str = "Allow ptrace(2), which a container's filter may forbid (for Docker, `--cap-add SYS_PTRACE`), and have \
                            room in the folder for temporary files.";

fn not_under(worker: i32) -> Refusal {
    let why = format!("the worker's process {worker} does not run under valgrind");
    refuse(why, "The worker has to be the process itself and no script that starts it.")
}

impl Valgrind {
    /// Begins to count; returns whether the cell is this meter's.
    fn begin(&self) -> Result<bool, Refusal> {
        let is_elsewhere = PROCESSOR_COUNTERS.probe().is_ok();
        match TRIED.clone() {
            Ok(()) if is_under_valgrind(self.worker) => {
                // What ran since the window before does not count.
                self.tell(&["instrumentation", "on"]).and_then(|()| self.tell(&["zero"])).map(|()| true)
            }
            _ if is_elsewhere => Ok(false),
            Ok(()) => Err(not_under(self.worker)),
            Err(refusal) => Err(refusal),
        }
    }

    /// The instructions of the window with this number, and callgrind's file.
    fn end(&self, window: u32) -> Result<(u64, Vec<u8>), Refusal> {
        self.tell(&["dump"])?;
        // Dumps are numbered from 1; what callgrind writes when the process ends has no number.
        let name = format!("{OUTPUT}.{}.{window}", self.worker);
        let nothing = || refuse(format!("it left no count of the window in {name}"), OUT_OF_REACH);
        let dump = fs::read(self.scratch.join(&name)).map_err(|_| nothing())?;
        Ok((total(&dump).ok_or_else(nothing)?, dump))
    }

    /// Gives callgrind a command through vgdb, while the worker waits for its parent.
    fn tell(&self, words: &[&str]) -> Result<(), Refusal> {
        let mut prefix = OsString::from("--vgdb-prefix=");
        prefix.push(self.scratch.join(PIPES));
        let mut vgdb = Command::new("vgdb");
        vgdb.arg(format!("--pid={}", self.worker)).arg("--wait=10").arg(prefix).args(words);
        let told = run(&mut vgdb, FOLLOWS_WITHIN).map(drop);
        told.map_err(|why| refuse(format!("at the edge of the window, {why}"), OUT_OF_REACH))
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
        if let Err(refusal) = CALLGRIND.probe() {
            assert!(!refusal.why.is_empty() && !refusal.remedy.is_empty());
        }
    }

    /// Instructions that a shell needs to count to `turns` in the window, by callgrind.
    fn counted(turns: u64) -> f64 {
        let scratch = tempfile::tempdir().unwrap();
        let front = callgrind_in_front(scratch.path());
        let script = "echo ready; read turns; i=0; while [ $i -lt $turns ]; do i=$((i+1)); done; echo end; read line";
        let mut command = Command::new(&front[0]);
        command.args(&front[1..]).args(["sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let subject = Subject { scratch: scratch.path().to_path_buf(), ..subject(child.id().cast_signed()) };
        let mut counter = CALLGRIND.attach(&subject);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        counter.at_go();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{turns}").unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "end");
        let seen = counter.at_end();
        drop(input);
        child.wait().unwrap();
        let outcome = seen(&window());
        assert_eq!((outcome.files.len(), outcome.files[0].kind), (1, "callgrind"));
        // The window of the test has a million statements.
        outcome.readings[0].value.clone().unwrap() * 1e6
    }

    #[test]
    fn only_the_window_is_counted_and_it_repeats() {
        if let Err(refusal) = CALLGRIND.probe() {
            eprintln!("not tested here: {refusal}");
            return;
        }
        let (few, many, again) = (counted(100), counted(1_100), counted(1_100));
        assert!((many - again).abs() <= many / 100.0, "{many} and {again}");
        // A shell starts with hundreds of thousands of instructions, none of which belong to the window.
        let each = (many - few) / 1_000.0;
        assert!(each > 50.0 && few < each * 100.0 * 3.0, "{few} for 100 turns, {each} a turn");
    }

    #[test]
    fn settings_of_go_that_were_inherited_stay() {
        assert_eq!(without_signals(None), "asyncpreemptoff=1");
        assert_eq!(without_signals(Some("".into())), "asyncpreemptoff=1");
        assert_eq!(without_signals(Some("madvdontneed=1".into())), "madvdontneed=1,asyncpreemptoff=1");
    }

    #[test]
    fn a_process_that_does_not_run_under_valgrind_is_told() {
        assert!(!is_under_valgrind(std::process::id().cast_signed()));
        assert!(not_under(7).sentence().ends_with("process 7 does not run under valgrind."));
    }
}
