//! What a cell reads off: one file per meter.
//!
//! A [`Meter`] declares its measures ([`Declaration`]) and says whether this machine allows them ([`Meter::probe`]), which
//! `cqldyno doctor` prints. It attaches to the worker of each cell before the worker's program starts ([`Meter::attach`]).
//! The bench calls [`Attachment::at_go`] and [`Attachment::at_end`] at the edges of each window, and the [`Seen`] that the latter
//! returns after the worker has reported its counts.
//!
//! # Adding a meter
//!
//! A new meter is one file here, with its lines in this file: `mod`, `pub use` and [`ALL`]. Exporters, tables and `doctor` take it
//! from there. The file has:
//!
//! 1. A [`Declaration`] for each measure: id, unit, direction, and the pass in whose cells it is taken. [`Pass::Timing`] is only
//!    for what costs nothing in the window. [`Declaration::titled`] gives the measure a column in tables. A measure that reports
//!    mention by name is declared in `cqldyno_measure::list` instead.
//! 2. A constant [`Meter`]: its name, what it needs and what it costs. Its `probe` counts or reads something known, because a
//!    counter that opens proves nothing, and else returns a [`Refusal`]: what cannot be done, why, and what to change.
//! 3. A function `attach` that makes an [`Attachment`]. `meter::at_edges` makes one from a look at each edge and a function of both;
//!    `meter::from_worker` makes one from the worker's own account. A figure that cannot be read is a reading with the reason.
//!
//! [`Outcome`] also takes breakdowns by name, files, findings, and what voids the cell. Meters are read in the order of [`ALL`]:
//! slow ones stand last. Counting that disturbs time needs a pass of its own, which is an arm of `kind` in the bench.

mod allocations;
mod calibration;
mod cpu_time;
mod environment;
mod faults;
mod flamegraph;
mod instructions;
mod latency;
mod memory;
mod meter;
mod noise;
mod operations;
mod perf_event;
mod polls;
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

pub use allocations::{ALLOCATIONS, allocations_environment};
pub use calibration::crowding;
pub use cpu_time::{CPU_TIME, cpu_disagreement, process_cpu_ns};
pub use environment::{Environment, Known, available_memory, in_words};
pub use faults::FAULTS;
pub use flamegraph::{FLAME_GRAPHS, PictureError, STACKS, differential, picture};
pub use instructions::{CALLGRIND, PROCESSOR_COUNTERS, callgrind_environment, callgrind_in_front};
pub use latency::{LATENCY, Latencies, Percentiles};
pub use memory::{PEAK_MEMORY, resident_bytes};
pub use meter::{
    Artifact, Asleep, Attachment, Meter, Outcome, Probe, Reading, Refusal, Seen, ServerWindow, Span, Steady, Subject,
    Window,
};
pub use noise::{Had, NOISE, Others};
pub use operations::OPERATIONS;
pub use polls::POLLS;
pub use proportional_memory::PROPORTIONAL_MEMORY;
pub use series::SERIES;
pub use server::SERVER_SIDE;
pub use sockets::{Carried, Traffic, busy_connections, busy_traffic, local_servers};
pub use statements::STATEMENTS;
pub use switches::SWITCHES;
pub use syscalls::{SYSTEM_CALLS, SYSTEM_CALLS_BY_NAME};
pub use threads::{THREADS, thread_count};
pub use wall::WALL;
pub use wire::WIRE;

/// Every meter, in the order of reading at the end of the window. At `go` the order is reversed, so that the cheapest and most
/// exact meters are closest to the window.
pub static ALL: [Meter; 21] = [
    SYSTEM_CALLS,
    SYSTEM_CALLS_BY_NAME,
    ALLOCATIONS,
    PROCESSOR_COUNTERS,
    CPU_TIME,
    SERVER_SIDE,
    WALL,
    SERIES,
    LATENCY,
    SWITCHES,
    FAULTS,
    STATEMENTS,
    OPERATIONS,
    POLLS,
    THREADS,
    PEAK_MEMORY,
    NOISE,
    WIRE,
    PROPORTIONAL_MEMORY,
    CALLGRIND,
    FLAME_GRAPHS,
];

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_measure::list::DEFINITIONS;
    use std::collections::HashSet;

    #[test]
    fn every_measure_has_an_id_of_its_own() {
        let ids: Vec<&str> = ALL.iter().flat_map(|meter| meter.measures).map(|measure| measure.id).collect();
        let unique: HashSet<&&str> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{ids:?}");
    }

    #[test]
    fn every_measure_that_reports_know_by_name_is_given_by_a_meter_as_it_is_declared() {
        let declared: Vec<&Declaration> = ALL.iter().flat_map(|meter| meter.measures).collect();
        for known in DEFINITIONS {
            assert!(declared.contains(&known), "no meter gives {known:?}");
        }
    }

    #[test]
    fn only_passes_of_their_own_count_system_calls_and_only_the_timing_pass_takes_time() {
        for meter in &ALL {
            for measure in meter.measures {
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
