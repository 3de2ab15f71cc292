//! Instructions of the worker in user mode, by the processor's counters if the machine has them, and by callgrind. Callgrind runs
//! the worker on a simulated processor, one thread at a time.
//!
//! The two need cells of their own, because the processor would count valgrind's instructions as the worker's. In each cell only
//! one of them gives figures; both say why not if neither works.

mod callgrind;
mod counters;

pub use callgrind::{CALLGRIND, callgrind_environment, callgrind_in_front};
pub use counters::PROCESSOR_COUNTERS;

/// Whether the process runs under valgrind: its executable is then a tool of valgrind.
fn is_under_valgrind(pid: i32) -> bool {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("callgrind-"))
}
