//! The cqldyno worker for the crate scylla.

fn main() -> std::process::ExitCode {
    cqldyno_worker::main::<cqldyno_driver_scylla::Scylla>()
}
