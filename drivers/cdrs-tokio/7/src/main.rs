//! The cqldyno worker for the crate cdrs-tokio.

fn main() -> std::process::ExitCode {
    cqldyno_worker::main::<cqldyno_driver_cdrs_tokio::CdrsTokio>()
}
