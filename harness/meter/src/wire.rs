//! What statements take on the wire, seen from the worker: the kernel's own count for each of its connections to the nodes,
//! asked for outside of the window. A segment holds what the path allows: on loopback up to 64 KiB, over a network less than 1.5 KB,
//! however much one `send` takes.

use std::net::SocketAddr;

use crate::meter::{UNFINISHED, per_statement};
use crate::sockets::{Carried, SocketError, Traffic, busy_traffic};
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Subject, Unit, Window};

/// Bytes and TCP segments of the worker's data connections, each way, a statement.
pub struct Wire;

const MEASURES: [Declaration; 6] = [
    lower("bytes_sent_per_statement", Unit::Bytes, "bytes sent per verified statement, without TCP and IP headers")
        .titled("bytes\nsent\n/statement"),
    lower("bytes_received_per_statement", Unit::Bytes, "bytes received per verified statement, without TCP and IP headers")
        .titled("bytes\nreceived\n/statement"),
    lower("segments_sent_per_statement", Unit::Count, "TCP segments with data sent per verified statement"),
    lower("segments_received_per_statement", Unit::Count, "TCP segments with data received per verified statement"),
    higher("statements_per_segment_sent", "verified statements per TCP segment with data sent")
        .titled("statements\n/segment\nsent"),
    higher("statements_per_segment_received", "verified statements per TCP segment with data received")
        .titled("statements\n/segment\nreceived"),
];

const fn lower(id: &'static str, unit: Unit, about: &'static str) -> Declaration {
    Declaration::new(Pass::Timing, id, unit, Better::Lower, about)
}

const fn higher(id: &'static str, about: &'static str) -> Declaration {
    Declaration::new(Pass::Timing, id, Unit::Count, Better::Higher, about)
}

impl Meter for Wire {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "on the wire"
    }

    fn needs(&self) -> &'static str {
        "sock_diag(7) for TCP, and /proc/PID/fd"
    }

    fn probe(&self) -> Probe {
        match Traffic::of(std::process::id().cast_signed(), &[]) {
            Ok(_) => Probe::Available,
            Err(error) => Probe::Unavailable {
                sentence: error.to_string(),
                remedy: "Mount /proc, and run a kernel with CONFIG_INET_DIAG; in a container, a seccomp profile that allows \
                         netlink sockets."
                    .to_owned(),
            },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        let nodes = match (subject.nodes.is_empty(), &subject.server) {
            (false, _) => Ok(subject.nodes.clone()),
            (true, Err(why)) => Err(why.clone()),
            (true, Ok(_)) => Err("The nodes' addresses are not known.".to_owned()),
        };
        Box::new(Connections { pid: subject.worker, nodes, go: None, end: None })
    }
}

struct Connections {
    pid: i32,
    nodes: Result<Vec<SocketAddr>, String>,
    go: Option<Result<Traffic, SocketError>>,
    end: Option<Result<Traffic, SocketError>>,
}

impl Connections {
    fn look(&self) -> Option<Result<Traffic, SocketError>> {
        self.nodes.as_ref().ok().map(|nodes| Traffic::of(self.pid, nodes))
    }

    fn carried(&self) -> Result<Carried, String> {
        self.nodes.as_ref().map_err(Clone::clone)?;
        match (&self.go, &self.end) {
            (Some(Ok(go)), Some(Ok(end))) => busy_traffic(go, end).ok_or_else(|| {
                "A connection of the worker to the nodes was closed in the window, or none was busy: what the statements took on \
                 the wire is not known."
                    .to_owned()
            }),
            (Some(Err(error)), _) | (_, Some(Err(error))) => Err(error.to_string()),
            _ => Err(UNFINISHED.to_owned()),
        }
    }
}

impl Attachment for Connections {
    fn at_go(&mut self) {
        self.go = self.look();
    }

    fn at_end(&mut self) {
        self.end = self.look();
    }

    fn read(&mut self, window: &Window) -> Outcome {
        let carried = self.carried();
        let each =
            |pick: fn(&Carried) -> u64| per_statement(pick(carried.as_ref().map_err(Clone::clone)?) as f64, window);
        let a_segment = |pick: fn(&Carried) -> u64| match pick(carried.as_ref().map_err(Clone::clone)?) {
            0 => Err("No segment with data was counted, so there is nothing to divide by.".to_owned()),
            segments => Ok(window.verified as f64 / segments as f64),
        };
        Outcome::of(
            &MEASURES,
            [
                each(|carried| carried.bytes_sent),
                each(|carried| carried.bytes_received),
                each(|carried| carried.segments_sent),
                each(|carried| carried.segments_received),
                a_segment(|carried| carried.segments_sent),
                a_segment(|carried| carried.segments_received),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{NO_PROCESS, subject, window};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn figures_are_those_of_the_window_a_statement() {
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
        let mut wire = Wire.attach(&Subject { nodes: vec![address], ..subject(std::process::id().cast_signed()) });
        wire.at_go();
        exchange(1_000);
        exchange(1_000);
        wire.at_end();
        exchange(7_000);
        let outcome = wire.read(&Window { verified: 20, ..window() });
        let values: Vec<f64> = outcome.readings.iter().map(|reading| reading.value.clone().unwrap()).collect();
        assert_eq!(values, [100.0, 200.0, 0.1, 0.1, 10.0, 10.0]);
    }

    #[test]
    fn without_nodes_or_a_worker_every_measure_says_why() {
        let why = |nodes| {
            let mut wire = Wire.attach(&Subject { nodes, ..subject(NO_PROCESS) });
            wire.at_go();
            wire.at_end();
            let outcome = wire.read(&window());
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
