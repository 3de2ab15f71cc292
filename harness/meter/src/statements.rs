//! What was asked and what came back, as the worker counted it.

use cqldyno_measure::list::declared;

use crate::meter::from_worker;
use crate::{Declaration, Meter, Outcome, Window};

const MEASURES: [Declaration; 4] =
    [declared::STATEMENTS, declared::VERIFIED, declared::ERRORS, declared::BELOW_CONCURRENCY];

const NOT_COUNTED: &str = "The worker does not count statements issued below the concurrency.";

/// Statements, verified answers, errors, and statements issued below the concurrency.
pub const STATEMENTS: Meter = Meter::new("statements", &MEASURES, |_| from_worker(figures));

fn figures(window: &Window) -> Outcome {
    let below = window.below_concurrency.ok_or_else(|| NOT_COUNTED.to_owned());
    let counts = [Ok(window.issued), Ok(window.verified), Ok(window.errors), below];
    Outcome::of(&MEASURES, counts.map(|count| count.map(|count| count as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    #[test]
    fn a_count_that_a_worker_does_not_give_is_told_and_is_no_zero() {
        let below = |window: &Window| {
            let found = figures(window).readings.into_iter().find(|one| one.measure.id == "below_concurrency");
            found.unwrap().value
        };
        assert_eq!(below(&window()), Ok(100.0));
        assert_eq!(below(&Window { below_concurrency: None, ..window() }), Err(NOT_COUNTED.to_owned()));
    }
}
