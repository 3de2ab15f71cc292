//! Instructions, cycles and misses in user mode by the processor's counters: perf_event_open(2), attached to the process before it starts the
//! worker's program, so that every thread counts.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};
use std::sync::OnceLock;

use super::{CounterRefusal, is_under_valgrind};
use crate::kernel::{Counts, HardwareEvent, open_hardware};
use crate::meter::{UNFINISHED, per_statement};
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Subject, Unit, Window};

/// Instructions, cycles, cache misses and branch misses a statement.
pub struct ProcessorCounters;

const fn counted(id: &'static str, about: &'static str) -> Declaration {
    Declaration::new(Pass::Instructions, id, Unit::Count, Better::Lower, about)
}

const MEASURES: [Declaration; 4] = [
    counted("processor_instructions_per_statement", "instructions in user mode per verified statement, by the processor")
        .titled("instructions,\nuser mode,\nprocessor"),
    counted("processor_cycles_per_statement", "cycles in user mode per verified statement, by the processor")
        .titled("cycles,\nuser mode"),
    counted("processor_cache_misses_per_statement", "misses of the last cache in user mode per verified statement")
        .titled("cache\nmisses"),
    counted("processor_branch_misses_per_statement", "branches predicted wrongly in user mode per verified statement")
        .titled("branch\nmisses"),
];

const EVENTS: [HardwareEvent; 4] =
    [HardwareEvent::Instructions, HardwareEvent::Cycles, HardwareEvent::CacheMisses, HardwareEvent::BranchMisses];

/// Turns of the self-test's loop; each is an instruction at least.
const TRIAL_TURNS: u64 = 1_000_000;

impl ProcessorCounters {
    /// Tries whether this machine counts instructions. Tried once a process.
    ///
    /// # Errors
    /// Why not, with what to change.
    pub fn check() -> Result<(), CounterRefusal> {
        static TRIED: OnceLock<Result<(), CounterRefusal>> = OnceLock::new();
        TRIED.get_or_init(self_test).clone()
    }
}

/// Opens a counter on a thread of our own and turns a loop: that it opened proves nothing.
fn self_test() -> Result<(), CounterRefusal> {
    let trial = std::thread::spawn(|| -> io::Result<u64> {
        let counter = open_hardware(HardwareEvent::Instructions, 0, Counts::FromNow)?;
        let before = Value::of(&counter)?;
        for turn in 0..TRIAL_TURNS {
            black_box(turn);
        }
        Ok(Value::of(&counter)?.since(before).unwrap_or(0.0) as u64)
    });
    match trial.join() {
        Ok(Ok(counted)) if counted >= TRIAL_TURNS => Ok(()),
        Ok(Ok(counted)) => Err(CounterRefusal::CountsNothing { made: TRIAL_TURNS, counted }),
        Ok(Err(error)) => Err(CounterRefusal::of_open(&error)),
        Err(_) => Err(CounterRefusal::CountsNothing { made: TRIAL_TURNS, counted: 0 }),
    }
}

/// What a counter holds: with more counters than the processor has, each counts for a part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Value {
    count: u64,
    enabled_ns: u64,
    running_ns: u64,
}

impl Value {
    fn of(mut counter: &File) -> io::Result<Value> {
        let mut bytes = [0; 24];
        counter.read_exact(&mut bytes)?;
        let word = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
        Ok(Value { count: word(0), enabled_ns: word(8), running_ns: word(16) })
    }

    /// How much was counted since, as if the counter had counted all the time; nothing when it never did.
    fn since(self, before: Value) -> Option<f64> {
        let enabled = self.enabled_ns.saturating_sub(before.enabled_ns) as f64;
        let running = self.running_ns.saturating_sub(before.running_ns) as f64;
        (running > 0.0).then(|| self.count.saturating_sub(before.count) as f64 * enabled / running)
    }
}

impl Meter for ProcessorCounters {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "processor's counters"
    }

    fn needs(&self) -> &'static str {
        "perf_event_open(2) on the processor's counters"
    }

    fn costs(&self) -> Option<&'static str> {
        Some("a little at every switch of threads")
    }

    fn probe(&self) -> Probe {
        match ProcessorCounters::check() {
            Ok(()) => Probe::Available,
            Err(refusal) => Probe::Unavailable { sentence: refusal.to_string(), remedy: refusal.remedy().to_owned() },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        let counters = ProcessorCounters::check().map(|()| {
            EVENTS.map(|event| {
                open_hardware(event, subject.worker, Counts::FromExec).map_err(|error| CounterRefusal::of_open(&error))
            })
        });
        let counters = counters.unwrap_or_else(|refusal| EVENTS.map(|_| Err(refusal.clone())));
        Box::new(Counters { worker: subject.worker, is_here: true, counters: counters.map(Counter::new) })
    }
}

struct Counter {
    file: Result<File, CounterRefusal>,
    go: Option<io::Result<Value>>,
    end: Option<io::Result<Value>>,
}

impl Counter {
    fn new(file: Result<File, CounterRefusal>) -> Counter {
        Counter { file, go: None, end: None }
    }

    fn value(&self) -> Option<io::Result<Value>> {
        self.file.as_ref().ok().map(Value::of)
    }

    fn counted(&self) -> Result<f64, String> {
        if let Err(refusal) = &self.file {
            return Err(format!("{refusal} {}", refusal.remedy()));
        }
        match (&self.go, &self.end) {
            (Some(Ok(go)), Some(Ok(end))) => end.since(*go).ok_or_else(|| {
                "The processor's counter was never at work in the window: others use all of them. End other profilers.".to_owned()
            }),
            (Some(Err(error)), _) | (_, Some(Err(error))) => {
                Err(format!("The processor's counter could not be read: {error}."))
            }
            _ => Err(UNFINISHED.to_owned()),
        }
    }
}

struct Counters {
    worker: i32,
    is_here: bool,
    counters: [Counter; 4],
}

impl Attachment for Counters {
    fn at_go(&mut self) {
        // Callgrind's cell is its own, unless there is no cell of ours that could say why there is no figure.
        self.is_here = ProcessorCounters::check().is_err() || !is_under_valgrind(self.worker);
        self.counters.iter_mut().for_each(|counter| counter.go = counter.value());
    }

    fn at_end(&mut self) {
        self.counters.iter_mut().for_each(|counter| counter.end = counter.value());
    }

    fn read(&mut self, window: &Window) -> Outcome {
        if !self.is_here {
            return Outcome::default();
        }
        let each = |counter: &Counter| counter.counted().and_then(|counted| per_statement(counted, window));
        Outcome::of(&MEASURES, self.counters.iter().map(each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{subject, window};

    #[test]
    fn a_counter_that_was_shared_is_taken_for_its_share_and_one_that_never_ran_for_none() {
        let before = Value { count: 100, enabled_ns: 1_000, running_ns: 500 };
        let value = |count, enabled_ns, running_ns| Value { count, enabled_ns, running_ns }.since(before);
        assert_eq!(value(300, 2_000, 1_500), Some(200.0));
        assert_eq!(value(300, 3_000, 1_500), Some(400.0));
        assert_eq!(value(100, 2_000, 500), None);
    }

    #[test]
    fn without_counters_every_measure_says_why_and_with_them_each_has_a_figure() {
        let mut counters = ProcessorCounters.attach(&subject(std::process::id().cast_signed()));
        counters.at_go();
        counters.at_end();
        let outcome = counters.read(&window());
        assert_eq!(outcome.readings.len(), 4);
        match ProcessorCounters.probe() {
            Probe::Available => {}
            Probe::Unavailable { sentence, remedy } => {
                let why = format!("{sentence} {remedy}");
                assert!(outcome.readings.iter().all(|reading| reading.value == Err(why.clone())), "{outcome:?}");
            }
        }
    }
}
