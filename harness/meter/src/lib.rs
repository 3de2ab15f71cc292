//! What a cell reads off: one file or folder per source of figures.
//!
//! A [`Meter`] declares its measures ([`Declaration`]) and says whether this machine allows them ([`Meter::probe`]), which
//! `cqldyno doctor` prints. It attaches to the worker of each cell before the worker's program starts ([`Meter::attach`]).
//! The bench calls [`Attachment::at_go`] and [`Attachment::at_end`] at the edges of each window, and the [`Seen`] that the latter
//! returns after the worker has reported its counts. Meters [`Meter::over_idle`] are read at the edges of the idle span instead.
//!
//! CONTRIBUTING.md says how to add a meter. [`Outcome`] also takes breakdowns by name, files, findings, and what voids the cell.

mod account;
mod allocations;
mod bad_day;
mod calibration;
mod cpu_time;
mod environment;
mod flamegraph;
mod instructions;
mod latency;
mod meter;
mod noise;
mod operations;
mod perf_event;
mod process;
mod series;
mod server;
mod sessions;
mod skew;
mod sockets;
mod syscalls;
mod tool;
mod wall;
mod wire;

pub use cqldyno_measure::{Better, Declaration, Pass, Unit};

pub use account::{FAULTS, POLLS, STATEMENTS, SWITCHES};
pub use allocations::{ALLOCATIONS, allocations_environment};
pub use bad_day::{BAD_DAY, BadDay};
pub use calibration::crowding;
pub use cpu_time::{CPU_TIME, cpu_disagreement, process_cpu_ns, untold_us};
pub use environment::{Environment, Known, available_memory, cores, in_words};
pub use flamegraph::{FLAME_GRAPHS, PictureError, STACKS, differential, picture};
pub use instructions::{CALLGRIND, PROCESSOR_COUNTERS, callgrind_environment, callgrind_in_front};
pub use latency::{LATENCY, Latencies, Percentiles};
pub use meter::{
    Artifact, Asleep, Attachment, Meter, Outcome, Probe, Reading, Refusal, Seen, ServerWindow, Span, Subject, Window,
};
pub use noise::{Had, NOISE, NOISE_SHARE, Others};
pub use operations::OPERATIONS;
pub use process::{PEAK_MEMORY, PROPORTIONAL_MEMORY, THREADS, resident_bytes};
pub use series::SERIES;
pub use server::SERVER_SIDE;
pub use sessions::SESSIONS;
pub use skew::{SKEW, Skew};
pub use sockets::{Carried, Traffic, busy_connections, busy_traffic, local_servers};
pub use syscalls::{RECEIVES_WHILE_IDLE, SYSTEM_CALLS, SYSTEM_CALLS_BY_NAME};
pub use wall::{WALL, monotonic_ns};
pub use wire::WIRE;

/// Every meter, in the order of reading at the end of the window. At `go` the order is reversed, so that the cheapest and most
/// exact meters are closest to the window.
pub static ALL: [Meter; 25] = [
    SYSTEM_CALLS,
    SYSTEM_CALLS_BY_NAME,
    RECEIVES_WHILE_IDLE,
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
    SESSIONS,
    BAD_DAY,
    SKEW,
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
