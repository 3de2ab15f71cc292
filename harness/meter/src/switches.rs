//! Context switches, from the worker's rusage: perf's own counter of switches reads 0 if the kernel is excluded.

use cqldyno_measure::list::declared;

use crate::meter::from_worker;
use crate::{Better, Declaration, Meter, Outcome, Pass, Unit, Window};

const MEASURES: [Declaration; 3] = [
    declared::CONTEXT_SWITCHES,
    switches("voluntary_switches", "context switches because the worker waited"),
    switches("involuntary_switches", "context switches because the kernel gave the core to another thread"),
];

const fn switches(id: &'static str, about: &'static str) -> Declaration {
    Declaration::new(Pass::Timing, id, Unit::Count, Better::Lower, about)
}

/// Context switches of the worker in the window.
pub const SWITCHES: Meter =
    Meter::new("context switches", &MEASURES, |_| from_worker(figures)).needs("getrusage in the worker");

fn figures(window: &Window) -> Outcome {
    let (voluntary, involuntary) = (window.voluntary_switches, window.involuntary_switches);
    let counts = [voluntary + involuntary, voluntary, involuntary];
    Outcome::of(&MEASURES, counts.map(|count| Ok(count as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    #[test]
    fn switches_of_both_kinds_add_up() {
        let outcome = figures(&Window { voluntary_switches: 3, involuntary_switches: 4, ..window() });
        let values: Vec<_> = outcome.readings.into_iter().map(|reading| reading.value.unwrap()).collect();
        assert_eq!(values, [7.0, 3.0, 4.0]);
    }
}
