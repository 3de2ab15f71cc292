//! Context switches, by the worker's rusage: perf's own switch counter reads 0 where the kernel is excluded.

use cqldyno_measure::list::declared;

use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Subject, Unit, Window};

/// Context switches of the worker in the window.
pub struct Switches;

const MEASURES: [Declaration; 3] = [
    declared::CONTEXT_SWITCHES,
    switches("voluntary_switches", "context switches because the worker waited"),
    switches("involuntary_switches", "context switches because the kernel gave the core to another thread"),
];

const fn switches(id: &'static str, about: &'static str) -> Declaration {
    Declaration::new(Pass::Timing, id, Unit::Count, Better::Lower, about)
}

impl Meter for Switches {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "context switches"
    }

    fn needs(&self) -> &'static str {
        "getrusage in the worker"
    }

    fn attach(&self, _: &Subject) -> Box<dyn Attachment> {
        Box::new(Told)
    }
}

struct Told;

impl Attachment for Told {
    fn read(&mut self, window: &Window) -> Outcome {
        let counts = [
            window.voluntary_switches + window.involuntary_switches,
            window.voluntary_switches,
            window.involuntary_switches,
        ];
        Outcome::of(&MEASURES, counts.map(|count| Ok(count as f64)))
    }
}
