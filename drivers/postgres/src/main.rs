//! The cqldyno worker for the crate tokio-postgres.

fn main() -> std::process::ExitCode {
    cqldyno_worker::main::<cqldyno_driver_postgres::Postgres>()
}
