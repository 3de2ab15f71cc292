//! The cqldyno worker for floor.

fn main() -> std::process::ExitCode {
    cqldyno_worker::main::<cqldyno_driver_floor::Floor>()
}
