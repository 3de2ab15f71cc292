//! The cqldyno worker for the crate cassandra-cpp.

fn main() -> std::process::ExitCode {
    cqldyno_worker::main::<cqldyno_driver_cassandra_cpp::CassandraCpp>()
}
