//! Page faults, from the worker's rusage.

use crate::meter::from_worker;
use crate::{Better, Declaration, Meter, Outcome, Pass, Unit, Window};

const MEASURES: [Declaration; 2] = [
    faults("minor_faults", "page faults of the worker that needed no I/O").titled("minor\nfaults"),
    faults("major_faults", "page faults of the worker that needed I/O").titled("major\nfaults"),
];

const fn faults(id: &'static str, about: &'static str) -> Declaration {
    Declaration::new(Pass::Timing, id, Unit::Count, Better::Lower, about)
}

/// Page faults of the worker in the window.
pub const FAULTS: Meter =
    Meter::new("page faults", &MEASURES, |_| from_worker(figures)).needs("getrusage in the worker");

fn figures(window: &Window) -> Outcome {
    Outcome::of(&MEASURES, [window.minor_faults, window.major_faults].map(|count| Ok(count as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    #[test]
    fn faults_are_told_by_the_worker() {
        let outcome = figures(&Window { minor_faults: 7, major_faults: 2, ..window() });
        let values: Vec<_> =
            outcome.readings.iter().map(|reading| (reading.measure.id, reading.value.clone())).collect();
        assert_eq!(values, [("minor_faults", Ok(7.0)), ("major_faults", Ok(2.0))]);
    }
}
