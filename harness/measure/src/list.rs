//! The measures that reports know by name: one row each.

use crate::{Better, Declaration, Pass, Unit};

const TIMING: Option<Pass> = Some(Pass::Timing);
const COUNTING: Option<Pass> = Some(Pass::Counting);
const ALLOCATING: Option<Pass> = Some(Pass::Allocations);
const INSTRUCTING: Option<Pass> = Some(Pass::Instructions);
const EVERY: Option<Pass> = None;

/// The breakdown of system calls per statement, by name.
pub const SYSCALLS_BY_NAME: &str = "syscalls";
/// The breakdown of CPU time in microseconds per statement, by function.
pub const CPU_BY_FUNCTION: &str = "CPU us by function";
/// The name of all functions together that are too rare for one of their own.
pub const OTHER_FUNCTIONS: &str = "other functions";

/// Makes of each row the constant of the id, the declaration under the same name in [`declared`], and its place in the list.
macro_rules! measures {
    ($($(#[$of_list:meta])* $list:ident { $($name:ident $id:literal $unit:ident $better:ident $pass:ident $about:literal)* })*) => {
        $($(#[doc = concat!("The id of: ", $about, ".")] pub const $name: &str = $id;)*)*

        /// The declarations, under the names of their ids.
        pub mod declared {
            use super::{ALLOCATING, Better, COUNTING, Declaration, EVERY, INSTRUCTING, TIMING, Unit};
            $($(
                #[doc = concat!("The declaration of: ", $about, ".")]
                pub const $name: Declaration = Declaration {
                    id: $id,
                    unit: Unit::$unit,
                    better: Better::$better,
                    pass: $pass,
                    about: $about,
                    column: None,
                };
            )*)*
        }

        $($(#[$of_list])* pub const $list: &[Declaration] = &[$(declared::$name),*];)*
    };
}

measures! {
    /// The measures of meters, in the order in which reports list them. A cell may have others.
    DEFINITIONS {
        WALL "wall" Seconds Lower TIMING "time from the parent's go to the last answer"
        USER "user" Seconds Lower TIMING "CPU time of the worker in user mode, sampled by the kernel's tick"
        SYS "sys" Seconds Lower TIMING "CPU time of the worker in the kernel, sampled by the kernel's tick"
        CPU_PER_STATEMENT "cpu_per_statement" Microseconds Lower TIMING "CPU time of the worker per verified statement"
        THROUGHPUT "throughput" PerSecond Higher TIMING "verified statements per second"
        SYSCALLS "syscalls" Count Lower COUNTING "system calls of the worker"
        SYSCALLS_PER_STATEMENT "syscalls_per_statement" Count Lower COUNTING "system calls of the worker per verified statement"
        CONTEXT_SWITCHES "context_switches" Count Lower TIMING "context switches of the worker, voluntary and involuntary"
        PEAK_RSS "peak_rss" Bytes Lower TIMING "peak resident memory of the worker"
        SERVER_CPU "server_cpu" Seconds Neither TIMING "CPU time of the server"
        SERVER_CPU_PER_STATEMENT "server_cpu_per_statement" Microseconds Lower TIMING "CPU time of the server per verified statement"
        SERVER_EXECUTES "server_executes" Count Neither EVERY "EXECUTEs of the scenario that the server counted"
        CONTROL_REQUESTS "control_requests" Count Neither EVERY "other requests that the server counted: the driver's own"
        STATEMENTS "statements" Count Neither EVERY "statements that the worker issued"
        VERIFIED "verified" Count Higher EVERY "statements answered as the scenario says"
        ERRORS "errors" Count Lower EVERY "statements answered with an error or a wrong row"
        CONNECTIONS "connections" Count Neither EVERY "connections that carried the scenario's statements"
        THREADS "threads" Count Neither EVERY "threads of the worker at the end of the window"
        BELOW_CONCURRENCY "below_concurrency" Count Lower EVERY "statements issued below 99 % of the concurrency"
    }

    /// Measures derived from those of the meters and from what the server says: a cell may lack them.
    DERIVED {
        WORKER_UTILISATION "worker_utilisation" Percent Neither TIMING "CPU time of the worker over that of the cores its threads can use"
        SERVER_UTILISATION "server_utilisation" Percent Neither TIMING "CPU time of the server over that of the cores it can use"
        TO_REPLICA "to_replica" Percent Higher TIMING "EXECUTEs that came to a replica of their row"
        TO_SHARD "to_shard" Percent Higher TIMING "EXECUTEs that came to the shard of a replica that serves their row"
        FRAMES_PER_READ "frames_per_read" Count Neither TIMING "frames that one read of the server found, on average"
        BYTES_PER_READ "bytes_per_read" Bytes Neither TIMING "bytes that one read of the server gave, on average"
    }

    /// Counts of passes that only some runs have: their meters measure them, and a run that has them says so.
    COUNTS {
        ALLOCATIONS_PER_STATEMENT "allocations_per_statement" Count Lower ALLOCATING "allocations of the worker per verified statement; a realloc is one"
        ALLOCATED_BYTES_PER_STATEMENT "allocated_bytes_per_statement" Bytes Lower ALLOCATING "bytes allocated per verified statement"
        FREES_PER_STATEMENT "frees_per_statement" Count Neither ALLOCATING "allocations that the worker gives back, per verified statement"
        CALLGRIND_INSTRUCTIONS "callgrind_instructions_per_statement" Count Lower INSTRUCTING "instructions of the worker per verified statement under callgrind: user mode, one thread at a time"
        PROCESSOR_INSTRUCTIONS "processor_instructions_per_statement" Count Lower INSTRUCTING "instructions in user mode per verified statement, by the processor"
    }
}

/// Every measure of this list, in order: [`DEFINITIONS`], then [`DERIVED`].
pub fn definitions() -> impl Iterator<Item = &'static Declaration> {
    DEFINITIONS.iter().chain(DERIVED)
}

/// The declaration of the measure `id`, if this list has it.
pub fn definition(id: &str) -> Option<&'static Declaration> {
    definitions().find(|definition| definition.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_of_the_list_is_found_by_an_id_of_its_own() {
        for declared in definitions() {
            assert_eq!(definition(declared.id), Some(declared));
        }
        assert_eq!(definition("absent"), None);
    }
}
