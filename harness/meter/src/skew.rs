//! How far apart the loaders of a contender began their windows, and ended them.

use crate::meter::{from_worker, lower};
use crate::{Declaration, Meter, Outcome, Unit, Window};

const MEASURES: [Declaration; 2] = [
    lower("loader_start_skew", Unit::Microseconds, "time from the first loader's start to the last one's")
        .titled("starts\napart us"),
    lower("loader_end_skew", Unit::Microseconds, "time from the first loader's end to the last one's")
        .titled("ends\napart us"),
];

/// The most percent of the window that loaders may begin apart, and end apart. Ends differ because each issues its share as fast as it
/// can. Two loaders on a quiet machine of two cores began 20 to 45 us apart in windows of a second, and ended 6 to 118 ms apart (2026-11-28).
const MOST_PERCENT: [u64; 2] = [1, 10];

/// Times between the first and the last of several loaders, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    /// Of their starts.
    pub starts_ns: u64,
    /// Of their ends.
    pub ends_ns: u64,
}

/// Skew of starts and ends; nothing for one worker.
pub const SKEW: Meter = Meter::new("skew of loaders", &MEASURES, |_| from_worker(figures)).needs("several loaders");

fn figures(window: &Window) -> Outcome {
    let Some(Skew { starts_ns, ends_ns }) = window.skew else { return Outcome::default() };
    let edges = [("started", starts_ns), ("ended", ends_ns)];
    let mut outcome = Outcome::of(&MEASURES, edges.map(|(_, apart_ns)| Ok(apart_ns as f64 / 1e3)));
    let apart = edges.into_iter().zip(MOST_PERCENT);
    let apart =
        apart.filter(|((_, apart_ns), most)| apart_ns.saturating_mul(100) > window.end.wall_ns.saturating_mul(*most));
    outcome.voids.extend(apart.map(|((what, apart_ns), most)| {
        format!(
            "The loaders {what} {:.3} ms apart, more than {most} % of the window of {:.3} ms; take longer turns, or hosts of one kind.",
            apart_ns as f64 / 1e6,
            window.end.wall_ns as f64 / 1e6
        )
    }));
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    #[test]
    fn loaders_that_start_or_end_too_far_apart_void_the_window_and_one_worker_has_no_skew() {
        let of = |starts_ns, ends_ns| figures(&Window { skew: Some(Skew { starts_ns, ends_ns }), ..window() });
        assert_eq!(figures(&window()), Outcome::default());
        let sound = of(20_000_000, 3_000);
        assert_eq!((sound.voids.len(), sound.readings[0].value.clone()), (0, Ok(20_000.0)));
        assert_eq!(
            of(20_000_001, 200_000_000).voids,
            [
                "The loaders started 20.000 ms apart, more than 1 % of the window of 2000.000 ms; take longer turns, or hosts of one kind."
            ]
        );
        assert_eq!(of(30_000_000, 200_000_001).voids.len(), 2);
    }
}
