//! How often the futures of statements were polled: an exact count, whatever the load of the machine.

use crate::meter::{from_worker, per_statement};
use crate::{Better, Declaration, Meter, Outcome, Pass, Unit, Window};

const MEASURES: [Declaration; 1] = [Declaration {
    // It is the same in every pass.
    pass: None,
    ..Declaration::new(
        Pass::Timing,
        "polls_per_statement",
        Unit::Count,
        Better::Lower,
        "polls of a statement's future, if the way of submitting counts them",
    )
    .titled("polls/\nstatement")
}];

/// Polls of the statements' futures, if the way of submitting counts them.
pub const POLLS: Meter = Meter::new("polls of futures", &MEASURES, |_| from_worker(figures));

fn figures(window: &Window) -> Outcome {
    let polls = window.polls.map(|polls| per_statement(polls as f64, window));
    Outcome::of(&MEASURES, polls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    #[test]
    fn polls_are_shared_among_the_statements_and_are_no_measure_where_nobody_counts_them() {
        assert_eq!(figures(&window()), Outcome::default());
        let counted = Window { polls: Some(5 * window().verified / 4), ..window() };
        assert_eq!(figures(&counted).readings[0].value, Ok(1.25));
    }
}
