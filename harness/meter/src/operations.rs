//! What statements that are no EXECUTEs were: rows in them, requests and connections that they took.

use crate::meter::per_statement;
use crate::{Attachment, Better, Declaration, Hook, Meter, Outcome, Pass, Subject, Window};

/// Rows, requests and connections of statements other than EXECUTEs; nothing where all statements are.
pub struct Operations;

const ROWS: [Declaration; 3] = [
    measure("rows", "1", Better::Neither, "rows that the statements wrote or asked for", None),
    measure(
        "rows_per_second",
        "1/s",
        Better::Higher,
        "rows of verified statements a second of wall time",
        Some("rows/s"),
    ),
    measure(
        "cpu_per_row",
        "us",
        Better::Lower,
        "CPU time of the worker a row of a verified statement",
        Some("CPU us\na row"),
    ),
];

const SERVER: [Declaration; 2] = [
    measure(
        "requests_per_statement",
        "1",
        Better::Lower,
        "requests that the server received a statement, the driver's own with them",
        Some("requests\na statement"),
    ),
    measure(
        "connections_per_statement",
        "1",
        Better::Lower,
        "connections opened a statement",
        Some("connections\na statement"),
    ),
];

const ALL: [Declaration; 5] = [ROWS[0], ROWS[1], ROWS[2], SERVER[0], SERVER[1]];

const fn measure(
    id: &'static str,
    unit: &'static str,
    better: Better,
    about: &'static str,
    column: Option<&'static str>,
) -> Declaration {
    Declaration { id, unit, better, pass: Pass::Timing, hook: Hook::FromWorker, about, column }
}

impl Meter for Operations {
    fn declarations(&self) -> &'static [Declaration] {
        &ALL
    }

    fn name(&self) -> &'static str {
        "operations"
    }

    fn attach(&self, _: &Subject) -> Box<dyn Attachment> {
        Box::new(Told)
    }
}

struct Told;

impl Attachment for Told {
    fn read(&mut self, window: &Window) -> Outcome {
        let Some(rows) = window.rows else { return Outcome::default() };
        let mut outcome = Outcome::default();
        if rows != window.issued {
            // All statements of such a scenario have as many rows, or are few beside those that do.
            let verified = rows as f64 * window.verified as f64 / window.issued.max(1) as f64;
            let cpu_us = (window.user_us + window.sys_us) as f64;
            let of = |amount: f64, by: f64| match by > 0.0 {
                true => Ok(amount / by),
                false => {
                    Err("No row was written or read as the scenario says, so there is nothing to divide by.".to_owned())
                }
            };
            let values = [Ok(rows as f64), of(verified * 1e9, window.wall_ns as f64), of(cpu_us, verified)];
            outcome.readings.extend(Outcome::of(&ROWS, values).readings);
        }
        let told = |pick: fn(&crate::ServerWindow) -> u64| match &window.server {
            Ok(server) => per_statement(pick(server) as f64, window),
            Err(why) => Err(why.clone()),
        };
        let values = [told(|server| server.requests), told(|server| server.opened)];
        outcome.readings.extend(Outcome::of(&SERVER, values).readings);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    fn values(window: &Window) -> Vec<(&'static str, f64)> {
        let read = Told.read(window).readings;
        read.into_iter().map(|reading| (reading.measure.id, reading.value.unwrap())).collect()
    }

    #[test]
    fn a_batch_of_64_rows_counts_64_times() {
        let issued = window().issued;
        let of = Window { rows: Some(64 * issued), ..window() };
        let found = values(&of);
        assert_eq!(found[0], ("rows", 64.0 * issued as f64));
        let cpu = (of.user_us + of.sys_us) as f64 / (64.0 * of.verified as f64);
        assert!((found[2].1 - cpu).abs() < 1e-9, "{found:?}");
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn nothing_is_told_of_executes_and_no_rows_of_statements_with_one() {
        assert_eq!(values(&window()), []);
        let one = Window { rows: Some(window().issued), ..window() };
        assert_eq!(
            values(&one).iter().map(|(id, _)| *id).collect::<Vec<_>>(),
            ["requests_per_statement", "connections_per_statement"]
        );
    }
}
