//! The cqldyno worker for the blocking crate cdrs.

fn main() -> std::process::ExitCode {
    cqldyno_worker::main::<cqldyno_driver_cdrs::CdrsTokio>()
}
