//! What statements other than EXECUTEs were, and what the server got besides them: PREPAREs, statements of the driver's own, and
//! connections.

use crate::meter::{from_worker, lower, per_statement, timed};
use crate::{Better, Declaration, Meter, Outcome, ServerWindow, Unit, Window};

const MEASURES: [Declaration; 9] = [
    timed("rows", Unit::Count, Better::Neither, "rows that the statements wrote or asked for"),
    timed("rows_per_second", Unit::PerSecond, Better::Higher, "rows of verified statements per second of wall time")
        .titled("rows/s"),
    lower("cpu_per_row", Unit::Microseconds, "CPU time of the worker per row of a verified statement")
        .titled("CPU us\n/row"),
    lower("requests_per_statement", Unit::Count, "requests per statement, including the driver's own")
        .titled("requests\n/statement"),
    lower(
        "own_statements_per_statement",
        Unit::Count,
        "statements of the driver's own per statement, such as those that read system tables",
    )
    .titled("own\n/statement"),
    lower("connections_per_statement", Unit::Count, "connections opened per statement")
        .titled("connections\n/statement"),
    lower("prepares_per_statement", Unit::Count, "PREPAREs per statement").titled("PREPAREs\n/statement"),
    lower(
        "connections_accepted",
        Unit::Count,
        "connections that the server accepted in the window, and in the idle span after it",
    )
    .titled("connections\naccepted"),
    timed(
        "busiest_node",
        Unit::Percent,
        Better::Neither,
        "share of the scenario's EXECUTEs that came to the node that got most of them",
    )
    .titled("busiest\nnode"),
];

/// PREPAREs, own statements, connections and the busiest node; rows and requests only of other statements than EXECUTEs, or under a
/// script.
pub const OPERATIONS: Meter = Meter::new("operations", &MEASURES, |_| from_worker(figures))
    .needs("the embedded cluster, which counts requests and connections");

fn figures(window: &Window) -> Outcome {
    let asked =
        |pick: fn(&ServerWindow) -> u64| window.server.as_ref().map(|told| pick(told) as f64).map_err(Clone::clone);
    let told = |pick: fn(&ServerWindow) -> u64| per_statement(asked(pick)?, window);
    let [rows, rate, cpu] = window.rows.filter(|rows| *rows != window.issued).map_or([None, None, None], |rows| {
        // The few statements that have another number of rows do not shift the mean.
        let verified = rows as f64 * window.verified as f64 / window.issued.max(1) as f64;
        let over = |amount: f64, by: f64| match by > 0.0 {
            true => Ok(amount / by),
            false => {
                Err("No row was written or read as the scenario says, so there is nothing to divide by.".to_owned())
            }
        };
        let cpu_us = (window.end.user_us + window.end.sys_us) as f64;
        [Ok(rows as f64), over(verified * 1e9, window.end.wall_ns as f64), over(cpu_us, verified)].map(Some)
    });
    let [requests, opened] =
        [told(|server| server.requests), told(|server| server.opened)].map(|value| window.rows.map(|_| value));
    let own = Some(told(|server| server.own_statements));
    let prepares = Some(told(|server| server.prepares));
    let accepted = Some(asked(|server| server.opened));
    // One node has all of them.
    let busiest = window.server.as_ref().ok().and_then(|server| server.busiest_share).map(|share| Ok(100.0 * share));
    Outcome::of_those(&MEASURES, [rows, rate, cpu, requests, own, opened, prepares, accepted, busiest])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    fn values(window: &Window) -> Vec<(&'static str, f64)> {
        let read = figures(window).readings;
        read.into_iter().map(|reading| (reading.measure.id, reading.value.unwrap())).collect()
    }

    #[test]
    fn a_batch_of_64_rows_counts_64_times() {
        let issued = window().issued;
        let of = Window { rows: Some(64 * issued), ..window() };
        let found = values(&of);
        assert_eq!(found[0], ("rows", 64.0 * issued as f64));
        let cpu = (of.end.user_us + of.end.sys_us) as f64 / (64.0 * of.verified as f64);
        assert!((found[2].1 - cpu).abs() < 1e-9, "{found:?}");
        assert_eq!(found.len(), 8);
    }

    #[test]
    fn of_executes_only_what_the_server_got_besides_them_is_told_and_no_rows_of_statements_with_one() {
        let of = |window: &Window| values(window).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        let besides = ["own_statements_per_statement", "prepares_per_statement", "connections_accepted"];
        assert_eq!(of(&window()), besides);
        let one = Window { rows: Some(window().issued), ..window() };
        assert_eq!(
            of(&one),
            ["requests_per_statement", besides[0], "connections_per_statement", besides[1], besides[2]]
        );
    }

    #[test]
    fn what_the_server_got_besides_executes_is_counted_and_the_busiest_node_has_its_share() {
        let told = ServerWindow {
            prepares: 3_000_000,
            own_statements: 500_000,
            opened: 4,
            busiest_share: Some(0.75),
            ..window().server.unwrap()
        };
        let expected = [
            ("own_statements_per_statement", 0.5),
            ("prepares_per_statement", 3.0),
            ("connections_accepted", 4.0),
            ("busiest_node", 75.0),
        ];
        assert_eq!(values(&Window { server: Ok(told), ..window() }), expected);
    }

    #[test]
    fn a_server_that_does_not_count_is_the_reason_of_every_figure() {
        let why = "The target is not ours.".to_owned();
        let read = figures(&Window { server: Err(why.clone()), ..window() }).readings;
        assert!(read.len() == 3 && read.iter().all(|reading| reading.value == Err(why.clone())), "{read:?}");
    }
}
