//! Sessions that are opened for one statement and closed: the time until its answer, and what they leave behind.

use crate::meter::{Both, Edge, at_edges, lower};
use crate::process::{high_water_mark, reset, resident_bytes};
use crate::{Attachment, Declaration, Latencies, Meter, Outcome, Refusal, Subject, Unit, Window};

const MEASURES: [Declaration; 6] = [
    lower("first_answer_p50", Unit::Microseconds, "time from opening a session to its first answer: median")
        .titled("first answer\np50 us"),
    lower("first_answer_p99", Unit::Microseconds, "time from opening a session to its first answer: 99th percentile")
        .titled("first answer\np99 us"),
    lower(
        "memory_per_session",
        Unit::Bytes,
        "growth of the worker's resident memory in the window, per session that was opened and closed",
    )
    .titled("bytes\n/session"),
    lower(
        "server_memory_per_session",
        Unit::Bytes,
        "growth of the server's resident memory in the window, per session that was opened and closed",
    )
    .titled("server bytes\n/session"),
    lower("server_peak_rss", Unit::Bytes, "most memory that the server had resident in the window")
        .titled("server\npeak"),
    lower(
        "connections_left_open",
        Unit::Count,
        "connections of closed sessions that the server still had open 5 s after the window",
    )
    .titled("connections\nleft open"),
];

/// Time until the first answer, memory, and connections left open; nothing if the scenario opens no sessions in its window.
pub const SESSIONS: Meter = Meter::new("sessions", &MEASURES, attach)
    .needs("/proc, a server that runs here for its memory, and the embedded cluster for open connections")
    .probed(|| {
        let own = resident_bytes(std::process::id().cast_signed());
        own.map(drop).map_err(|why| Refusal::new(UNREAD, why, "Mount /proc."))
    });

const UNREAD: &str = "Resident memory cannot be read";
const NOT_COUNTED: &str = "The server was not asked for its open connections.";
const NO_LATENCIES: &str = "The worker does not tell how long each session took, or other statements were among them.";

/// Resident bytes of worker and server, and the server's peak, each or why it cannot be read.
type Resident = [Result<u64, String>; 3];

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let (worker, server) = (subject.worker, subject.server.clone());
    let told = |why| format!("{UNREAD}: {why}.");
    let look = move |edge| {
        let peak = move |pid: i32| match edge {
            Edge::Go => reset(pid).map(|()| 0),
            Edge::End => high_water_mark(pid),
        };
        let of = |read: &dyn Fn(i32) -> Result<u64, String>| -> Result<u64, String> {
            server.clone()?.iter().map(|pid| read(*pid).map_err(told)).sum()
        };
        Ok([resident_bytes(worker).map_err(told), of(&resident_bytes), of(&peak)])
    };
    at_edges(look, figures)
}

fn figures(both: Both<Resident>, window: &Window) -> Outcome {
    if window.sessions == 0 {
        return Outcome::default();
    }
    let growth = |side: usize| {
        let (go, end) = both.clone()?;
        Ok((end[side].clone()? as f64 - go[side].clone()? as f64) / window.sessions as f64)
    };
    let peak = both.clone().and_then(|(go, end)| go[2].clone().and(end[2].clone())).map(|bytes| bytes as f64);
    let answers = match &window.latencies {
        Some(Latencies::ClosedLoop { driver, .. }) if window.sessions == window.issued => {
            [Ok(driver.p50), driver.beyond(0.99, driver.p99)]
        }
        _ => [(); 2].map(|()| Err(NO_LATENCIES.to_owned())),
    };
    let [p50, p99] = answers;
    let left_open = window.left_open.map(|count| count as f64);
    let unknown = || window.server.as_ref().err().cloned().unwrap_or_else(|| NOT_COUNTED.to_owned());
    let findings = window.left_open.filter(|left| *left > 0).map(|left| {
        format!("Of the connections of {} closed sessions the server still had {left} open 5 s later.", window.sessions)
    });
    let values = [p50, p99, growth(0), growth(1), peak, left_open.ok_or_else(unknown)];
    Outcome { findings: findings.into_iter().collect(), ..Outcome::of(&MEASURES, values) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Percentiles;
    use crate::meter::{NO_PROCESS, alone, subject, window};
    use std::hint::black_box;

    const MIB: usize = 1 << 20;

    #[test]
    fn memory_that_stays_is_shared_among_the_sessions_of_either_side() {
        let (_alone, own) = (alone(), std::process::id().cast_signed());
        let mut attached = SESSIONS.attach(&Subject { server: Ok(vec![own]), ..subject(own) });
        attached.at_go();
        let kept = black_box(vec![1u8; 64 * MIB]);
        let driver = Percentiles { count: 16, p50: 5.0, p99: 9.0, ..Percentiles::default() };
        let latencies = Some(Latencies::ClosedLoop { in_flight: 4, driver });
        let outcome =
            attached.at_end()(&Window { sessions: 16, issued: 16, left_open: Some(2), latencies, ..window() });
        drop(kept);
        assert_eq!(
            outcome.findings,
            ["Of the connections of 16 closed sessions the server still had 2 open 5 s later."]
        );
        let values: Vec<_> = outcome.readings.into_iter().map(|reading| reading.value).collect();
        assert_eq!((&values[0], &values[5]), (&Ok(5.0), &Ok(2.0)));
        assert!(values[1].as_ref().unwrap_err().contains("there is no 99th percentile"), "{values:?}");
        assert!(values[2..4].iter().all(|bytes| *bytes.as_ref().unwrap() > 3.0 * MIB as f64), "{values:?}");
        assert!(*values[4].as_ref().unwrap() > 64.0 * MIB as f64, "{values:?}");
    }

    #[test]
    fn nothing_is_told_without_sessions_and_what_cannot_be_read_says_why() {
        let outcome = |sessions| {
            let mut attached = SESSIONS.attach(&subject(NO_PROCESS));
            attached.at_go();
            let server = Err("There is no server.".to_owned());
            attached.at_end()(&Window { sessions, server, ..window() })
        };
        assert_eq!(outcome(0), Outcome::default());
        let why: Vec<String> = outcome(3).readings.into_iter().map(|reading| reading.value.unwrap_err()).collect();
        assert_eq!(why[..2], [NO_LATENCIES; 2]);
        assert!(why[2].contains("/proc/4194305/status") && why[3..] == ["There is no server."; 3], "{why:?}");
    }
}
