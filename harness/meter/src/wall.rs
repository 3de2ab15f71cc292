//! Wall time and throughput, by the worker's monotonic clock.

use crate::meter::per_statement;
use crate::{Attachment, Better, Declaration, Hook, Meter, Outcome, Pass, Probe, Subject, Window};

/// Wall time of the window and verified statements a second.
pub struct Wall;

const MEASURES: [Declaration; 2] = [
    Declaration {
        id: "wall",
        unit: "s",
        better: Better::Lower,
        pass: Pass::Timing,
        hook: Hook::FromWorker,
        about: "from the first statement issued to the last answer",
    },
    Declaration {
        id: "throughput",
        unit: "1/s",
        better: Better::Higher,
        pass: Pass::Timing,
        hook: Hook::FromWorker,
        about: "statements answered as the scenario says, a second",
    },
];

impl Meter for Wall {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "wall time"
    }

    fn needs(&self) -> &'static str {
        "a monotonic clock"
    }

    fn probe(&self) -> Probe {
        Probe::Available
    }

    fn attach(&self, _: &Subject) -> Box<dyn Attachment> {
        Box::new(Told)
    }
}

struct Told;

impl Attachment for Told {
    fn read(&mut self, window: &Window) -> Outcome {
        let seconds = window.wall_ns as f64 / 1e9;
        let rate = match window.wall_ns {
            0 => Err("The window took no time at all, so there is no rate.".to_owned()),
            _ => per_statement(seconds, window).map(|each| 1.0 / each),
        };
        Outcome::of(&MEASURES, [Ok(seconds), rate])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    #[test]
    fn throughput_divides_verified_answers_only() {
        let outcome = Told.read(&Window { verified: 500_000, ..window() });
        assert_eq!(outcome.readings[0].value, Ok(2.0));
        assert_eq!(outcome.readings[1].value, Ok(250_000.0));
    }

    #[test]
    fn without_a_verified_answer_there_is_no_rate_but_a_reason() {
        let outcome = Told.read(&Window { verified: 0, ..window() });
        assert!(outcome.readings[1].value.as_ref().unwrap_err().contains("No statement was answered"));
    }
}
