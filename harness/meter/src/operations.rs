//! What statements other than EXECUTEs were: their rows, requests and connections.

use crate::meter::{from_worker, per_statement};
use crate::{Better, Declaration, Meter, Outcome, Pass, ServerWindow, Unit, Window};

const MEASURES: [Declaration; 7] = [
    timed("rows", Unit::Count, Better::Neither, "rows that the statements wrote or asked for"),
    timed("rows_per_second", Unit::PerSecond, Better::Higher, "rows of verified statements per second of wall time")
        .titled("rows/s"),
    timed("cpu_per_row", Unit::Microseconds, Better::Lower, "CPU time of the worker per row of a verified statement")
        .titled("CPU us\n/row"),
    timed("requests_per_statement", Unit::Count, Better::Lower, "requests per statement, including the driver's own")
        .titled("requests\n/statement"),
    timed(
        "own_statements_per_statement",
        Unit::Count,
        Better::Lower,
        "statements of the driver's own per statement, such as those that read system tables",
    )
    .titled("own\n/statement"),
    timed("connections_per_statement", Unit::Count, Better::Lower, "connections opened per statement")
        .titled("connections\n/statement"),
    timed("prepares_per_statement", Unit::Count, Better::Lower, "PREPAREs of the scenario's statements per statement")
        .titled("PREPAREs\n/statement"),
];

const fn timed(id: &'static str, unit: Unit, better: Better, about: &'static str) -> Declaration {
    Declaration::new(Pass::Timing, id, unit, better, about)
}

/// Rows, requests and connections of statements other than EXECUTEs, or under a script; nothing if all are plain EXECUTEs.
pub const OPERATIONS: Meter = Meter::new("operations", &MEASURES, |_| from_worker(figures));

fn figures(window: &Window) -> Outcome {
    let Some(rows) = window.rows else { return Outcome::default() };
    // The few statements that have another number of rows do not shift the mean.
    let verified = rows as f64 * window.verified as f64 / window.issued.max(1) as f64;
    let over = |amount: f64, by: f64| match by > 0.0 {
        true => Ok(amount / by),
        false => Err("No row was written or read as the scenario says, so there is nothing to divide by.".to_owned()),
    };
    let cpu_us = (window.end.user_us + window.end.sys_us) as f64;
    let of_rows = [Ok(rows as f64), over(verified * 1e9, window.end.wall_ns as f64), over(cpu_us, verified)];
    let [rows, rate, cpu] = of_rows.map(|value| Some(value).filter(|_| rows != window.issued));
    let told = |pick: fn(&ServerWindow) -> u64| {
        let server = window.server.as_ref().map_err(Clone::clone)?;
        per_statement(pick(server) as f64, window)
    };
    let [requests, own, opened] =
        [told(|server| server.requests), told(|server| server.own_statements), told(|server| server.opened)].map(Some);
    let prepares = window.server.as_ref().ok().and_then(|server| server.prepares);
    let prepares = prepares.map(|count| per_statement(count as f64, window));
    Outcome::of_those(&MEASURES, [rows, rate, cpu, requests, own, opened, prepares])
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
        assert_eq!(found.len(), 6);
    }

    #[test]
    fn nothing_is_told_of_executes_and_no_rows_of_statements_with_one() {
        assert_eq!(values(&window()), []);
        let one = Window { rows: Some(window().issued), ..window() };
        assert_eq!(
            values(&one).iter().map(|(id, _)| *id).collect::<Vec<_>>(),
            ["requests_per_statement", "own_statements_per_statement", "connections_per_statement"]
        );
        let server = ServerWindow { prepares: Some(3 * one.verified), ..one.server.clone().unwrap() };
        assert_eq!(values(&Window { server: Ok(server), ..one }).last(), Some(&("prepares_per_statement", 3.0)));
    }
}
