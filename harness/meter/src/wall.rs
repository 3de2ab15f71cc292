//! Wall time and throughput, by the worker's monotonic clock. Two others check it: when the server received the statements,
//! and the parent's clock.

use std::io;

use cqldyno_measure::list::declared;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

use crate::meter::{Both, at_edges, per_steady_statement};
use crate::{Attachment, Declaration, Meter, Outcome, Subject, Window};

const MEASURES: [Declaration; 2] = [declared::WALL, declared::THROUGHPUT];

/// Wall time of the window and verified statements per second.
pub const WALL: Meter = Meter::new("wall time", &MEASURES, attach).needs("a monotonic clock");

fn attach(_: &Subject) -> Box<dyn Attachment> {
    let failed = |error| format!("The worker's wall time could not be cross-checked: {error}.");
    at_edges(move |_| monotonic_ns().map_err(failed), figures)
}

/// Readings of one clock in several processes may differ by this much, because cores may not agree exactly.
const SAME_MOMENT_NS: u64 = 50_000;

/// The parent may see the window last this much longer, and [`LATE_PERCENT`] of its time on top, because a busy machine lets
/// the parent wait. This check runs only if no server says when it received the statements.
const LATE_NS: u64 = 250_000_000;
const LATE_PERCENT: u64 = 2;

/// CLOCK_MONOTONIC in nanoseconds.
///
/// # Errors
/// When the system does not tell it.
pub fn monotonic_ns() -> io::Result<u64> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.num_nanoseconds().unsigned_abs())
}

/// `clock` is the parent's.
fn figures(clock: Both<u64>, window: &Window) -> Outcome {
    let seconds = window.end.wall_ns as f64 / 1e9;
    let rate = match window.end.wall_ns {
        0 => Err("The window took no time at all, so there is no rate.".to_owned()),
        _ => per_steady_statement(|steady| steady.wall_ns as f64 / 1e9, seconds, window).map(|each| 1.0 / each),
    };
    let mut outcome = Outcome::of(&MEASURES, [Ok(seconds), rate]);
    outcome.voids.extend(longer_at_the_server(window));
    match clock {
        Ok((go, end)) => outcome.voids.extend(other_for_the_parent(window, *go, *end)),
        Err(why) => outcome.findings.push(why),
    }
    outcome
}

/// Sentences if the server received the statements over a longer time than the window, or outside of it.
fn longer_at_the_server(window: &Window) -> Vec<String> {
    let Some(received) = window.server.as_ref().ok().and_then(|server| server.received) else { return Vec::new() };
    let mut voids = Vec::new();
    let took = received.last_ns.saturating_sub(received.first_ns);
    if took > window.end.wall_ns + SAME_MOMENT_NS {
        voids.push(format!(
            "The worker says that its window took {}, and the server received the statements over {}.",
            seconds(window.end.wall_ns),
            seconds(took)
        ));
    }
    if let Some(at_ns) = window.end.at_ns {
        let began_ns = at_ns.saturating_sub(window.end.wall_ns);
        if received.first_ns + SAME_MOMENT_NS < began_ns {
            let early = seconds(began_ns - received.first_ns);
            voids
                .push(format!("The server received the first statement {early} before the worker says that it began."));
        }
        if received.last_ns > at_ns + SAME_MOMENT_NS {
            let late = seconds(received.last_ns - at_ns);
            voids.push(format!(
                "The server received the last statement {late} after the worker says that it had the last answer."
            ));
        }
    }
    voids
}

/// Sentences if the window does not fit the parent's clock, read just before `go` and just after `end`.
fn other_for_the_parent(window: &Window, go_ns: u64, end_ns: u64) -> Vec<String> {
    let mut voids = Vec::new();
    if let Some(at_ns) = window.end.at_ns
        && (at_ns.saturating_sub(window.end.wall_ns) + SAME_MOMENT_NS < go_ns || at_ns > end_ns + SAME_MOMENT_NS)
    {
        voids.push("The worker says that its window began before `go`, or ended after its `end`.".to_owned());
    }
    let seen = end_ns.saturating_sub(go_ns);
    let is_witnessed = window.server.as_ref().is_ok_and(|server| server.received.is_some());
    if !is_witnessed && window.end.wall_ns + LATE_NS + seen / 100 * LATE_PERCENT < seen {
        voids.push(format!(
            "The worker says that its window took {}, and {} passed between `go` and `end`.",
            seconds(window.end.wall_ns),
            seconds(seen)
        ));
    }
    voids
}

fn seconds(ns: u64) -> String {
    format!("{:.6} s", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;
    use crate::{ServerWindow, Span};
    use cqldyno_protocol::End;

    /// A window of two seconds that ended at 10 s, whose statements the server received from `first_ns` to `last_ns`.
    fn received(first_ns: u64, last_ns: u64) -> Window {
        let of = window();
        let server =
            of.server.clone().map(|server| ServerWindow { received: Some(Span { first_ns, last_ns }), ..server });
        Window { end: End { at_ns: Some(10_000_000_000), ..of.end }, server, ..of }
    }

    #[test]
    fn throughput_divides_verified_answers_only() {
        let outcome = figures(Ok((&0, &0)), &Window { verified: 500_000, ..window() });
        assert_eq!(outcome.readings[0].value, Ok(2.0));
        assert_eq!(outcome.readings[1].value, Ok(250_000.0));
    }

    #[test]
    fn without_a_verified_answer_there_is_no_rate_but_a_reason() {
        let outcome = figures(Ok((&0, &0)), &Window { verified: 0, ..window() });
        assert!(outcome.readings[1].value.as_ref().unwrap_err().contains("No statement was answered"));
    }

    #[test]
    fn a_window_that_the_server_saw_last_longer_is_void() {
        assert!(longer_at_the_server(&received(8_000_010_000, 9_999_990_000)).is_empty());
        assert!(longer_at_the_server(&Window { server: Err("none".to_owned()), ..window() }).is_empty());
        let whole = received(8_000_010_000, 9_999_990_000);
        let told_half = Window { end: End { wall_ns: 1_000_000_000, at_ns: None, ..whole.end.clone() }, ..whole };
        assert_eq!(
            longer_at_the_server(&told_half),
            [
                "The worker says that its window took 1.000000 s, and the server received the statements over 1.999980 s."
            ]
        );
    }

    #[test]
    fn statements_before_and_after_the_window_are_void() {
        let before = longer_at_the_server(&received(7_999_000_000, 9_000_000_000));
        assert_eq!(
            before,
            ["The server received the first statement 0.001000 s before the worker says that it began."]
        );
        let after = longer_at_the_server(&received(9_000_000_000, 10_000_100_000));
        assert_eq!(
            after,
            ["The server received the last statement 0.000100 s after the worker says that it had the last answer."]
        );
    }

    #[test]
    fn without_a_server_the_parents_clock_bounds_what_is_told() {
        let alone = Window { server: Err("none".to_owned()), ..window() };
        assert!(other_for_the_parent(&alone, 8_000_000_000, 10_080_000_000).is_empty());
        assert_eq!(
            other_for_the_parent(&alone, 8_000_000_000, 10_500_000_000),
            ["The worker says that its window took 2.000000 s, and 2.500000 s passed between `go` and `end`."]
        );
        // With one, how long the parent had to wait says nothing.
        assert!(
            other_for_the_parent(&received(8_000_010_000, 9_999_990_000), 7_000_000_000, 11_000_000_000).is_empty()
        );
    }

    #[test]
    fn a_window_outside_of_what_the_parent_saw_is_void() {
        let told = received(8_000_010_000, 9_999_990_000);
        for (go_ns, end_ns) in [(8_000_100_000, 10_000_000_000), (8_000_000_000, 9_999_900_000)] {
            let voids = other_for_the_parent(&told, go_ns, end_ns);
            assert!(voids[0].contains("began before `go`, or ended after its `end`"), "{voids:?}");
        }
    }

    #[test]
    fn the_parents_clock_is_read_at_the_edges() {
        let mut attached = WALL.attach(&crate::meter::subject(1));
        let never_began = attached.at_end()(&window());
        assert_eq!(never_began.findings, ["The window never began."]);
        attached.at_go();
        assert_eq!(attached.at_end()(&window()).findings, [""; 0]);
    }
}
