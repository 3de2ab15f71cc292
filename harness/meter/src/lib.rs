//! What is read off: one file a meter.
//!
//! A [`Meter`] declares its measures ([`Declaration`]), says whether this machine allows them ([`Meter::probe`], which
//! `cqldyno doctor` prints) and is attached to the worker of each cell before the worker's program starts
//! ([`Meter::attach`]). The supervisor calls [`Attachment::at_go`] and [`Attachment::at_end`] at the edges of the window and
//! [`Attachment::read`] when the worker has told what it counted.
//!
//! # Adding a meter
//!
//! A new meter is one file here and one line in [`all`]; no exporter, no table and no page of `doctor` is touched. In the file:
//!
//! 1. Its measures, each a [`Declaration`]: the id and unit under which results keep it, the pass in whose cells it is taken
//!    ([`Pass::Timing`] only for what costs nothing in the window), and with `column` the heading under which tables show it.
//! 2. A type that implements [`Meter`]: its name, what it needs of the machine and costs the worker in words, and `probe`, which
//!    tries it out (that something opened proves nothing: count or read something known) and else says in a sentence what
//!    is missing, with a remedy. What needs nothing beyond the worker's own account keeps the defaults.
//! 3. A type that implements [`Attachment`], made by [`Meter::attach`]. What cannot be read is a reading with the reason, and
//!    [`Outcome`] has room for breakdowns by name, files, findings, and what makes a cell worthless.
//!
//! The place in [`all`] is that of being read: who takes long stands last. Counting that disturbs time belongs to a pass of its
//! own, which is one file in the bench.

mod allocations;
mod cpu_time;
mod environment;
mod faults;
mod flamegraph;
mod instructions;
mod kernel;
mod latency;
mod memory;
mod meter;
mod noise;
mod operations;
mod preload;
mod proportional_memory;
mod series;
mod server;
mod sockets;
mod statements;
mod switches;
mod syscalls;
mod threads;
mod tool;
mod wall;
mod wire;

pub use cqldyno_measure::{Better, Declaration, Pass, Unit};

pub use allocations::{Allocations, Refusal as AllocationRefusal};
pub use cpu_time::{CpuTime, process_cpu_ns};
pub use environment::Environment;
pub use faults::Faults;
pub use flamegraph::{
    Frames, LibraryRefusal, NoSampling, PerfRefusal, PictureError, STACKS, Sampling, Stacks, differential, picture,
};
pub use instructions::{Callgrind, CallgrindRefusal, CounterRefusal, ProcessorCounters};
pub use latency::{Latencies, Latency, Percentiles};
pub use memory::{PeakMemory, resident_bytes};
pub use meter::{Artifact, Attachment, Meter, Outcome, Probe, Reading, ServerWindow, Span, Subject, Window};
pub use noise::Noise;
pub use operations::Operations;
pub use proportional_memory::ProportionalMemory;
pub use series::Series;
pub use server::ServerSide;
pub use sockets::{Carried, SocketError, Traffic, busy_connections, busy_traffic};
pub use statements::Statements;
pub use switches::Switches;
pub use syscalls::{BpfRefusal, BpfStep, Refusal, SystemCalls, SystemCallsByName};
pub use threads::{Threads, thread_count};
pub use tool::ToolError;
pub use wall::Wall;
pub use wire::Wire;

/// Every meter. The order is that of reading at the window's end; at `go` they are read the other way round, so that the
/// cheapest and most exact stand closest to the window.
pub fn all() -> Vec<Box<dyn Meter>> {
    vec![
        Box::new(SystemCalls),
        Box::new(SystemCallsByName),
        Box::new(Allocations),
        Box::new(ProcessorCounters),
        Box::new(CpuTime),
        Box::new(ServerSide),
        Box::new(Wall),
        Box::new(Series),
        Box::new(Latency),
        Box::new(Switches),
        Box::new(Faults),
        Box::new(Statements),
        Box::new(Operations),
        Box::new(Threads),
        Box::new(PeakMemory),
        Box::new(Noise),
        Box::new(Wire),
        Box::new(ProportionalMemory),
        Box::new(Callgrind),
        Box::new(Stacks),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_measure::list::DEFINITIONS;
    use std::collections::HashSet;

    #[test]
    fn every_measure_has_an_id_of_its_own() {
        let ids: Vec<&str> = all().iter().flat_map(|meter| meter.declarations()).map(|measure| measure.id).collect();
        let unique: HashSet<&&str> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{ids:?}");
    }

    #[test]
    fn every_measure_that_reports_know_by_name_is_given_by_a_meter_as_it_is_declared() {
        let meters = all();
        let declared: Vec<&Declaration> = meters.iter().flat_map(|meter| meter.declarations()).collect();
        for known in DEFINITIONS {
            assert!(declared.contains(&known), "no meter gives {known:?}");
        }
    }

    #[test]
    fn only_passes_of_their_own_count_system_calls_and_only_the_timing_pass_takes_time() {
        for meter in all() {
            for measure in meter.declarations() {
                match measure.id {
                    "syscalls" | "syscalls_per_statement" => assert_eq!(measure.pass, Some(Pass::Counting)),
                    "syscalls_by_name" => assert_eq!(measure.pass, Some(Pass::Syscalls)),
                    "wall" | "user" | "sys" | "cpu" | "throughput" | "server_cpu" => {
                        assert_eq!(measure.pass, Some(Pass::Timing))
                    }
                    _ => {}
                }
            }
        }
    }
}
