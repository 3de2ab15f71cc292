//! The server's side of the window: its CPU time by the parent's clock, its count of EXECUTEs, and data connections.

use cqldyno_measure::list::declared;

use crate::cpu_time::processes_cpu_ns;
use crate::meter::{Both, at_edges, difference, per_statement};
use crate::{Attachment, Declaration, Meter, Outcome, ServerWindow, Subject, Window};

const MEASURES: [Declaration; 5] = [
    declared::SERVER_CPU,
    declared::SERVER_CPU_PER_STATEMENT,
    declared::SERVER_EXECUTES,
    declared::CONTROL_REQUESTS,
    declared::CONNECTIONS,
];

/// The server's CPU time, the EXECUTEs it counted, control requests, and data connections.
pub const SERVER_SIDE: Meter = Meter::new("the server's side", &MEASURES, attach)
    .needs("the embedded cluster, or a Cassandra of ours for CPU time; other targets have no process to measure");

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let server = subject.server.clone();
    let look = move |_| {
        let used = processes_cpu_ns(&server.clone()?);
        used.map_err(|error| format!("The server's CPU clock could not be read: {error}."))
    };
    at_edges(look, figures)
}

fn figures(clock: Both<u64>, window: &Window) -> Outcome {
    let cpu = difference(clock);
    let mut findings = Vec::new();
    if let (Ok(clock), Ok(told)) = (&cpu, &window.server) {
        findings.extend(disagreement(told.cpu_ns, *clock));
    }
    let each = cpu.clone().and_then(|ns| per_statement(ns as f64 / 1e3, window));
    let told =
        |pick: fn(&ServerWindow) -> u64| window.server.as_ref().map(|told| pick(told) as f64).map_err(Clone::clone);
    let values = [
        cpu.map(|ns| ns as f64 / 1e9),
        each,
        told(|server| server.executes),
        told(|server| server.control_requests),
        window.connections.as_ref().map(|&count| count as f64).map_err(Clone::clone),
    ];
    Outcome { findings, ..Outcome::of(&MEASURES, values) }
}

/// A sentence if the server's account and the parent's clock are more than 5 % and more than 20 ms apart. The server's
/// snapshots lie outside the parent's readings.
fn disagreement(told_ns: u64, clock_ns: u64) -> Option<String> {
    let apart = told_ns.abs_diff(clock_ns);
    (apart > 20_000_000 && apart * 20 > told_ns.max(clock_ns)).then(|| {
        format!(
            "The server says that it used {:.3} s of CPU time in the window, its process clock says {:.3} s.",
            told_ns as f64 / 1e9,
            clock_ns as f64 / 1e9
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{subject, window};

    #[test]
    fn without_a_server_process_every_measure_says_why() {
        let why = "The target is not ours.".to_owned();
        let mut attached = SERVER_SIDE.attach(&Subject { server: Err(why.clone()), ..subject(1) });
        attached.at_go();
        let outcome =
            attached.at_end()(&Window { server: Err(why.clone()), connections: Err(why.clone()), ..window() });
        assert!(outcome.readings.iter().all(|reading| reading.value == Err(why.clone())), "{outcome:?}");
    }

    #[test]
    fn accounts_far_apart_are_a_finding() {
        assert!(disagreement(1_000_000_000, 1_010_000_000).is_none());
        assert!(disagreement(1_000_000_000, 2_000_000_000).unwrap().contains("2.000 s"));
    }
}
