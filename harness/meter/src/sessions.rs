//! What sessions leave behind that were opened for one statement and closed: memory of both sides, and connections.

use crate::meter::{Both, at_edges};
use crate::process::resident_bytes;
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Refusal, Subject, Unit, Window};

const MEASURES: [Declaration; 3] = [
    Declaration::new(
        Pass::Timing,
        "memory_per_session",
        Unit::Bytes,
        Better::Lower,
        "growth of the worker's resident memory in the window, per session that was opened and closed",
    )
    .titled("bytes\n/session"),
    Declaration::new(
        Pass::Timing,
        "server_memory_per_session",
        Unit::Bytes,
        Better::Lower,
        "growth of the server's resident memory in the window, per session that was opened and closed",
    )
    .titled("server bytes\n/session"),
    Declaration::new(
        Pass::Timing,
        "connections_left_open",
        Unit::Count,
        Better::Lower,
        "connections of closed sessions that the server had open 100 ms after the window",
    )
    .titled("connections\nleft open"),
];

/// Memory and connections that sessions leave behind; nothing if the scenario opens none in its window.
pub const SESSIONS: Meter = Meter::new("sessions", &MEASURES, attach)
    .needs("/proc, a server that runs here for its memory, and the embedded cluster for open connections")
    .probed(|| {
        let own = resident_bytes(std::process::id().cast_signed());
        own.map(drop).map_err(|why| Refusal::new(UNREAD, why, "Mount /proc."))
    });

const UNREAD: &str = "Resident memory cannot be read";
const NOT_COUNTED: &str = "The server was not asked for its open connections.";

/// Resident bytes of worker and server, each or why it cannot be read.
type Resident = [Result<u64, String>; 2];

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let (worker, server) = (subject.worker, subject.server.clone());
    let read = |pid: &i32| resident_bytes(*pid).map_err(|why| format!("{UNREAD}: {why}."));
    let look = move |_| Ok([read(&worker), server.clone().and_then(|all| all.iter().map(read).sum())]);
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
    let left_open = window.left_open.map(|count| count as f64);
    let unknown = || window.server.as_ref().err().cloned().unwrap_or_else(|| NOT_COUNTED.to_owned());
    Outcome::of(&MEASURES, [growth(0), growth(1), left_open.ok_or_else(unknown)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{NO_PROCESS, subject, window};
    use std::hint::black_box;

    const MIB: usize = 1 << 20;

    #[test]
    fn memory_that_stays_is_shared_among_the_sessions_of_either_side() {
        let own = std::process::id().cast_signed();
        let mut attached = SESSIONS.attach(&Subject { server: Ok(vec![own]), ..subject(own) });
        attached.at_go();
        let kept = black_box(vec![1u8; 64 * MIB]);
        let outcome = attached.at_end()(&Window { sessions: 16, left_open: Some(2), ..window() });
        drop(kept);
        let values: Vec<f64> = outcome.readings.into_iter().map(|reading| reading.value.unwrap()).collect();
        assert!(values[..2].iter().all(|bytes| *bytes > 3.0 * MIB as f64), "{values:?}");
        assert_eq!(values[2], 2.0);
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
        assert!(why[0].contains("/proc/4194305/status") && why[1..] == ["There is no server."; 2], "{why:?}");
    }
}
