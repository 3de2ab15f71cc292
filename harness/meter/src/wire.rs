//! Traffic of the worker's data connections, as the kernel counts it; the counts are read outside of the window. A TCP segment
//! holds what the path allows: up to 64 KiB on loopback, less than 1.5 KB over a network.

use crate::meter::{Both, at_edges, lower, per_statement, timed};
use crate::sockets::{Carried, Traffic, busy_traffic};
use crate::{Attachment, Better, Declaration, Meter, Outcome, Subject, Unit, Window};

const MEASURES: [Declaration; 6] = [
    lower("bytes_sent_per_statement", Unit::Bytes, "bytes sent per verified statement, without TCP and IP headers")
        .titled("bytes\nsent\n/statement"),
    lower(
        "bytes_received_per_statement",
        Unit::Bytes,
        "bytes received per verified statement, without TCP and IP headers",
    )
    .titled("bytes\nreceived\n/statement"),
    lower("segments_sent_per_statement", Unit::Count, "TCP segments with data sent per verified statement"),
    lower("segments_received_per_statement", Unit::Count, "TCP segments with data received per verified statement"),
    higher("statements_per_segment_sent", "verified statements per TCP segment with data sent")
        .titled("statements\n/segment\nsent"),
    higher("statements_per_segment_received", "verified statements per TCP segment with data received")
        .titled("statements\n/segment\nreceived"),
];

const fn higher(id: &'static str, about: &'static str) -> Declaration {
    timed(id, Unit::Count, Better::Higher, about)
}

/// Bytes and TCP segments of the worker's data connections per statement, each way.
pub const WIRE: Meter = Meter::new("on the wire", &MEASURES, attach)
    .needs("sock_diag(7) for TCP, and /proc/PID/fd")
    .at_worker()
    .probed(|| Traffic::of(std::process::id().cast_signed(), &[]).map(drop));

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let (pid, nodes) = (subject.worker, subject.nodes.clone());
    let unknown = match (nodes.is_empty(), &subject.server) {
        (false, _) => None,
        (true, Err(why)) => Some(why.clone()),
        (true, Ok(_)) => Some("The nodes' addresses are not known.".to_owned()),
    };
    let look = move |_| match &unknown {
        None => Traffic::of(pid, &nodes).map_err(|error| error.to_string()),
        Some(why) => Err(why.clone()),
    };
    at_edges(look, figures)
}

const NOT_BUSY: &str =
    "A connection of the worker closed in the window, or none was busy, so its traffic is not known.";

const CLOSED: &str = "The connections of these sessions were closed in the window, so nobody knows their segments.";

/// Of sessions that end in the window: the server's account of bytes.
fn of_sessions(window: &Window) -> Outcome {
    let bytes = |way: usize| per_statement(window.server.as_ref().map_err(Clone::clone)?.bytes[way] as f64, window);
    let closed = || Err(CLOSED.to_owned());
    Outcome::of(&MEASURES, [bytes(0), bytes(1), closed(), closed(), closed(), closed()])
}

fn figures(both: Both<Traffic>, window: &Window) -> Outcome {
    if window.sessions > 0 {
        return of_sessions(window);
    }
    let carried = both.and_then(|(go, end)| busy_traffic(go, end).ok_or_else(|| NOT_BUSY.to_owned()));
    let of = |pick: fn(&Carried) -> u64| carried.as_ref().map(pick).map_err(Clone::clone);
    let each = |pick: fn(&Carried) -> u64| per_statement(of(pick)? as f64, window);
    let per_segment = |pick: fn(&Carried) -> u64| match of(pick)? {
        0 => Err("No segment with data was counted, so there is nothing to divide by.".to_owned()),
        segments => Ok(window.verified as f64 / segments as f64),
    };
    let values = [
        each(|carried| carried.bytes_sent),
        each(|carried| carried.bytes_received),
        each(|carried| carried.segments_sent),
        each(|carried| carried.segments_received),
        per_segment(|carried| carried.segments_sent),
        per_segment(|carried| carried.segments_received),
    ];
    Outcome::of(&MEASURES, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{NO_PROCESS, subject, window};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn figures_are_those_of_the_window_per_statement() {
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = target.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let (mut end, _) = target.accept().unwrap();
        let mut exchange = |bytes: usize| {
            client.write_all(&vec![0; bytes]).unwrap();
            end.read_exact(&mut vec![0; bytes]).unwrap();
            end.write_all(&vec![0; 2 * bytes]).unwrap();
            client.read_exact(&mut vec![0; 2 * bytes]).unwrap();
        };
        exchange(5_000);
        let mut wire = WIRE.attach(&Subject { nodes: vec![address], ..subject(std::process::id().cast_signed()) });
        wire.at_go();
        exchange(1_000);
        exchange(1_000);
        let seen = wire.at_end();
        exchange(7_000);
        let outcome = seen(&Window { verified: 20, ..window() });
        let values: Vec<f64> = outcome.readings.iter().map(|reading| reading.value.clone().unwrap()).collect();
        assert_eq!(values, [100.0, 200.0, 0.1, 0.1, 10.0, 10.0]);
    }

    #[test]
    fn bytes_of_sessions_are_those_that_the_server_counted() {
        let mut wire = WIRE.attach(&subject(NO_PROCESS));
        wire.at_go();
        let readings = wire.at_end()(&Window { sessions: 1_000_000, ..window() }).readings;
        let values: Vec<_> = readings.into_iter().map(|reading| reading.value).collect();
        assert_eq!(values[..2], [Ok(90.0), Ok(180.0)]);
        assert!(values[2..].iter().all(|value| value.as_ref().unwrap_err() == CLOSED), "{values:?}");
    }

    #[test]
    fn without_nodes_or_a_worker_every_measure_says_why() {
        let why = |nodes| {
            let mut wire = WIRE.attach(&Subject { nodes, ..subject(NO_PROCESS) });
            wire.at_go();
            let outcome = wire.at_end()(&window());
            let sentences: Vec<String> =
                outcome.readings.into_iter().map(|reading| reading.value.unwrap_err()).collect();
            assert_eq!(sentences.len(), MEASURES.len());
            assert!(sentences.iter().all(|sentence| *sentence == sentences[0]));
            sentences[0].clone()
        };
        assert_eq!(why(Vec::new()), "There is no server.");
        assert!(why(vec![([127, 0, 0, 1], 9_042).into()]).contains("process 4194305"));
    }
}
