//! The cqldyno worker for noop.

fn main() -> std::process::ExitCode {
    cqldyno_worker::main::<cqldyno_driver_noop::Noop>()
}
