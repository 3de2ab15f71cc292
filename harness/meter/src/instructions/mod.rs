//! Instructions of the worker in user mode: by the processor's counters where the machine has them, and by callgrind, which runs the
//! worker on a processor made of software, one thread at a time.
//!
//! The two need cells of their own, because the processor would count valgrind's instructions for the worker's: in each cell only the
//! meter speaks to which it belongs, and both where neither could be used.

mod callgrind;
mod counters;
mod refusal;

pub use callgrind::Callgrind;
pub use counters::ProcessorCounters;
pub use refusal::{CallgrindRefusal, CounterRefusal};

/// Whether the process runs under valgrind: its executable is then that of a tool of valgrind's.
fn is_under_valgrind(pid: i32) -> bool {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("callgrind-"))
}
